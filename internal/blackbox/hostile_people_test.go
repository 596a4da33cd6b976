package blackbox_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/chargehand/chargehand/internal/servertest"
	"github.com/chargehand/chargehand/internal/value"
)

// quoted is a hostile text as JSON: what is quoted already stays, and bytes that are no UTF-8 go as they are.
func quoted(text string) string {
	if len(text) > 1 && text[0] == '"' && text[len(text)-1] == '"' && (strings.Contains(text, `\`) || !utf8.ValidString(text)) {
		return text
	}
	if utf8.ValidString(text) {
		encoded, _ := json.Marshal(text)
		return string(encoded)
	}
	return `"` + text + `"`
}

// hostilePeople is a server whose human tasks are attacked.
type hostilePeople struct {
	*testing.T
	server   *server
	flow     string // asks with what its input says
	requests int
	refused  int
}

// some is the whole of a table with CHARGEHAND_FULL on SQLite, otherwise a part of it: a small one where only what is
// stored differs, and the smallest where only who runs the executions does.
func (h *hostilePeople) some(table []string) []string {
	step := map[string]int{servertest.SQLite: 3, servertest.Postgres: 10, servertest.Temporal: 40}[servertest.Setup(h.T)]
	if startFull() {
		step = map[string]int{servertest.SQLite: 1, servertest.Postgres: 3, servertest.Temporal: 10}[servertest.Setup(h.T)]
	}
	var part []string
	for i := 0; i < len(table); i += step {
		part = append(part, table[i])
	}
	return part
}

// send sends a request that is either good, and then returns its answer, or refused with its place.
func (h *hostilePeople) send(what, method, path, body string, headers ...string) (a answer, good bool) {
	h.Helper()
	h.requests++
	a, err := h.server.Try(method, path, body, headers...)
	if err != nil {
		h.Fatalf("%.300q: %v", what, err)
	}
	if a.Status/100 == 2 {
		return a, true
	}
	h.refused++
	wantRefusal(h.T, fmt.Sprintf("%s %.100s: %.300q", method, path, what), a)
	return a, false
}

// same: a text that was taken is stored as it was sent.
func (h *hostilePeople) same(what, sent string, got value.Value) {
	h.Helper()
	want, err := value.Parse([]byte(sent), value.Limits{Depth: 300})
	if err != nil {
		h.Errorf("%.300q: it was taken, and is no JSON: %v", what, err)
	} else if !equal(want, got) {
		h.Errorf("%.300q: stored as %.500s, sent as %.500s", what, value.Marshal(got), sent)
	}
}

// ask starts an execution whose task is made of an input, and returns its path and the id of the task; empty if the
// request of the task was refused.
func (h *hostilePeople) ask(what, input string) (path, task string) {
	h.Helper()
	made, good := h.send(what, "POST", executions(h.flow)+"?wait=60s", `{"input":`+input+`}`)
	if !good {
		return "", ""
	}
	e := made.Object()
	switch e["status"] {
	case "human_in_the_loop":
		task = text(fields(list(e["human_tasks"])[0])["id"])
	case "error":
		problem := fields(e["error"])
		if problem["status"] != 400 || text(problem["instance"]) == "" || text(problem["detail"]) == "" {
			h.Errorf("%.300q: the execution ends with %v", what, problem)
		}
		h.refused++
	default:
		h.Fatalf("%.300q: the task is neither open nor refused: %.500s", what, made.Body)
	}
	return executions(h.flow) + "/" + text(e["execution_id"]), task
}

// TestContractHostileTasks sends hostile Markdown, texts, data, names of files and tokens to everything that people do
// with tasks: each is stored as it was sent, or refused with its place. Nothing of it is a part of the HTML that is
// shown but as text.
func TestContractHostileTasks(t *testing.T) {
	t.Parallel()
	s := start(t)
	h := &hostilePeople{T: t, server: s}
	h.flow = deploy(t, s, `do:
- ask:
    call: human:1.0.0@default
    with:
      title: '${ .title // "Ask" }'
      instructions: '${ .instructions // "" }'
      form: '${ .form // {"type": "object"} }'
      data: '${ .data }'
      show: '${ .show }'
      outcomes: '${ .outcomes // ["done"] }'
      assignees: {users: '${ .users // [] }', groups: '${ .groups // [] }'}
      upload: {max: 3}
`)
	n := len(hostileMarkdown) + len(hostileTexts) + len(hostileData) + len(hostileNames) + len(hostileTokens)
	if n < 200 {
		t.Errorf("only %d inputs are hostile", n)
	}
	for _, text := range h.some(hostileMarkdown) {
		h.markdown(text)
	}
	for _, text := range h.some(hostileTexts) {
		h.texts(text)
	}
	for _, data := range h.some(hostileData) {
		h.data(data)
	}
	for _, name := range h.some(hostileNames) {
		h.file(name)
	}
	for _, token := range h.some(hostileTokens) {
		h.token(token)
	}
	t.Logf("%d hostile inputs, %d requests, %d refused", n, h.requests, h.refused)
	if code := s.Stop(); code != 0 {
		t.Errorf("the server ended with exit code %d", code)
	}
	for line := range strings.Lines(s.Log()) {
		// A busy machine may keep Temporal from answering in time; no input does.
		busy := strings.Contains(line, `msg="Temporal does not take messages`)
		if strings.Contains(line, "panic") || strings.Contains(line, "level=ERROR") && !busy {
			t.Errorf("the log has an error: %.3000s", line)
		}
	}
}

// shownElement is what the HTML of instructions may have: no other element, attribute or address.
var shownElement = regexp.MustCompile(`^(</?(p|strong|em|del|code|pre|ul|li|h[1-6]|blockquote|table|thead|tbody|tr)>|` +
	`<(br|hr)( ?/)?>|<ol( start="[0-9]+")?>|</ol>|</?(th|td)( style="text-align:(left|right|center)")?>|` +
	`<code class="language-[^"<>]*">|<a href="((https?:|mailto:)[^"<>]*)?"( title="[^"<>]*")? rel="noopener nofollow">|</a>)$`)

var anyElement = regexp.MustCompile(`<[^>]*>?`)

// markdown opens a task with instructions.
func (h *hostilePeople) markdown(source string) {
	h.Helper()
	_, task := h.ask(source, `{"instructions":`+quoted(source)+`}`)
	if task == "" {
		return
	}
	read := h.server.Do(h.T, "GET", "/human-tasks/"+task, "").Object()
	h.same(source, quoted(source), read["instructions"])
	shown, given := read["instructions_html"].(string)
	if !given {
		h.Errorf("%.300q: no HTML", source)
	}
	for _, element := range anyElement.FindAllString(shown, -1) {
		if !shownElement.MatchString(element) {
			h.Errorf("%.300q: its HTML has %.200s", source, element)
		}
	}
}

// texts has a text everywhere where people write one, or a definition does.
func (h *hostilePeople) texts(raw string) {
	h.Helper()
	sent := quoted(raw)
	for _, part := range []struct {
		input string
		read  func(task object) value.Value
	}{
		{`{"title":` + sent + `}`, func(task object) value.Value { return task["title"] }},
		{`{"show":{"x":` + sent + `},"data":{"remark":` + sent + `}}`, func(task object) value.Value { return fields(task["data"])["remark"] }},
		{`{"users":[` + sent + `]}`, func(task object) value.Value { return list(fields(task["assignees"])["users"])[0] }},
		{`{"groups":[` + sent + `]}`, func(task object) value.Value { return list(fields(task["assignees"])["groups"])[0] }},
		{`{"outcomes":[` + sent + `]}`, func(task object) value.Value { return fields(list(task["outcomes"])[0])["name"] }},
	} {
		if _, task := h.ask(raw, part.input); task != "" {
			h.same(raw+" in "+part.input[:10], sent, part.read(h.server.Do(h.T, "GET", "/human-tasks/"+task, "").Object()))
		}
	}
	path, task := h.ask("a task", `{}`)
	at := "/human-tasks/" + task
	if a, good := h.send(raw, "POST", at+"/comments", `{"text":`+sent+`}`); good {
		h.same(raw, sent, fields(list(a.Object()["comments"])[0])["text"])
	}
	for name, body := range map[string]string{
		"outcome": `{"outcome":` + sent + `}`, "comment": `{"comment":` + sent + `}`, "data": `{"data":{"remark":` + sent + `}}`, "files": `{"files":[` + sent + `]}`, "unknown": `{` + sent + `:1}`,
	} {
		if a, good := h.send(raw, "PUT", at+"/draft", body); good && name != "unknown" {
			got := h.server.Do(h.T, "GET", at+"/draft", "").Object()
			if !equal(a.Object(), got) {
				h.Errorf("%.300q: a draft is %s, then %s", raw, value.Marshal(a.JSON), value.Marshal(got))
			}
			if sent != `""` {
				whole, err := value.Parse([]byte(body), value.Limits{})
				if err != nil || !equal(got[name], fields(whole)[name]) {
					h.Errorf("%.300q: the draft has %.300s (%v)", raw, value.Marshal(got[name]), err)
				}
			}
		}
	}
	h.send(raw, "POST", at+"/claim", `{"force":`+sent+`}`)
	h.send(raw, "POST", at+"/release", `{"force":`+sent+`}`)
	h.send(raw, "POST", at+"/answer", `{"outcome":"done","on_behalf_of":`+sent+`}`)
	h.send(raw, "POST", at+"/answer", `{"outcome":"done","files":[`+sent+`]}`)
	h.send(raw, "POST", "/human-tasks/answer", `{"outcome":"done","ids":[`+sent+`]}`)
	h.send(raw, "POST", "/human-tasks/answer", `{"outcome":"no such one","filter":{"execution_id":"`+path[len(path)-36:]+`","q":`+sent+`}}`)
	h.send(raw, "POST", "/human-tasks/answer", `{"outcome":"no such one","filter":{"execution_id":"`+path[len(path)-36:]+`","assignee":`+sent+`}}`)
	h.send(raw, "POST", "/human-tasks/answer", `{"outcome":"no such one","ids":["`+task+`"],"comment":`+sent+`}`)
	for _, parameter := range []string{"q", "assignee", "group", "workflow_id", "status", "sort", "cursor"} {
		h.send(raw, "GET", "/human-tasks?"+parameter+"="+url.QueryEscape(raw), "")
	}
	h.send(raw, "POST", at+"/answer", `{"outcome":"done","comment":"x"}`, "Idempotency-Key", strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f { // what no client can send in a header
			return '?'
		}
		return r
	}, raw[:min(len(raw), 2_000)]))
	_, task = h.ask("a task", `{}`)
	at = "/human-tasks/" + task
	for _, who := range []string{"users", "groups"} {
		if a, good := h.send(raw, "POST", at+"/reassign", `{"`+who+`":[`+sent+`]}`); good {
			h.same(raw, sent, list(fields(a.Object()["assignees"])[who])[0])
		}
	}
	if a := h.server.Do(h.T, "POST", at+"/reassign", `{"users":[],"groups":[]}`); a.Status != 200 {
		h.Errorf("reassign: %d %s", a.Status, a.Body)
	}
	if a, good := h.send(raw, "POST", at+"/answer", `{"outcome":`+sent+`}`); good && raw != "done" {
		h.Errorf("%.300q was taken for an outcome: %s", raw, a.Body)
	} else if good {
		return
	}
	if a, good := h.send(raw, "POST", at+"/answer", `{"outcome":"done","comment":`+sent+`,"data":{"remark":`+sent+`}}`); good {
		h.same(raw, sent, fields(fields(a.Object()["answer"])["data"])["remark"])
		if sent != `""` {
			h.same(raw, sent, fields(a.Object()["answer"])["comment"])
		}
	}
}

// data gives hostile data to forms, as their prefilled data, as drafts and as answers.
func (h *hostilePeople) data(sent string) {
	h.Helper()
	if _, task := h.ask(sent, `{"data":`+sent+`}`); task != "" {
		read := h.server.Do(h.T, "GET", "/human-tasks/"+task, "").Object()
		if sent != "null" {
			h.same(sent, sent, read["data"])
		}
	}
	closed := `{"form":{"type":"object","additionalProperties":false,"required":["remark"],"properties":{"remark":{"type":"string","maxLength":20000}}}}`
	for _, form := range []string{`{}`, closed} {
		path, task := h.ask("a task", form)
		at := "/human-tasks/" + task
		if _, good := h.send(sent, "PUT", at+"/draft", `{"data":`+sent+`}`); good && sent != "null" {
			h.same(sent, sent, h.server.Do(h.T, "GET", at+"/draft", "").Object()["data"])
		}
		a, good := h.send(sent, "POST", at+"/answer", `{"outcome":"done","data":`+sent+`}`)
		if !good {
			if a.Status == 422 && !slices.ContainsFunc(list(a.Object()["errors"]), func(e any) bool { return strings.HasPrefix(text(fields(e)["pointer"]), "/data") }) {
				h.Errorf("%.300q: refused without its place: %.500s", sent, a.Body)
			}
			h.send("many", "POST", "/human-tasks/answer", `{"outcome":"done","ids":["`+task+`"],"data":`+sent+`}`)
			continue
		}
		output := fields(finish(h.T, h.server, path)["output"])
		if sent != "null" {
			h.same(sent, sent, output["data"])
		}
	}
}

// file uploads a file of a name, and gives it with an answer.
func (h *hostilePeople) file(name string) {
	h.Helper()
	a, good := h.send(name, "POST", "/files?filename="+url.QueryEscape(name), "content", "Content-Type", "text/html")
	if !good {
		return
	}
	id, stored := text(a.Object()["id"]), text(a.Object()["name"])
	if strings.ContainsAny(stored, "/\\\x00\r\n") || stored == "" || stored == ".." || stored == "." {
		h.Errorf("%.300q: the name is stored as %.300q", name, stored)
	}
	read := h.server.Do(h.T, "GET", "/files/"+id+"/content", "")
	if read.Status != 200 || string(read.Body) != "content" || read.Header.Get("X-Evil") != "" || !strings.HasPrefix(read.Header.Get("Content-Disposition"), "attachment") || read.Header.Get("X-Content-Type-Options") != "nosniff" {
		h.Errorf("%.300q: read with %d %v", name, read.Status, read.Header)
	}
	path, task := h.ask("a task", `{}`)
	answered, good := h.send(name, "POST", "/human-tasks/"+task+"/answer", `{"outcome":"done","files":["`+id+`"]}`)
	if !good {
		return
	}
	given := fields(list(fields(answered.Object()["answer"])["files"])[0])
	used := fields(list(fields(finish(h.T, h.server, path)["output"])["files"])[0])
	if given["name"] != stored || used["name"] != stored {
		h.Errorf("%.300q: stored as %q, in the answer %q, in the output %q", name, stored, given["name"], used["name"])
	}
}

// token has something instead of the id of a task.
func (h *hostilePeople) token(token string) {
	h.Helper()
	at := "/human-tasks/" + url.PathEscape(token)
	for _, try := range [][3]string{
		{"GET", ""}, {"POST", "/claim", "{}"}, {"POST", "/release", "{}"}, {"POST", "/reassign", `{"users":[]}`}, {"POST", "/answer", `{"outcome":"done"}`},
		{"POST", "/comments", `{"text":"x"}`}, {"GET", "/draft", ""}, {"PUT", "/draft", `{"comment":"x"}`},
	} {
		h.requests++
		a, err := h.server.Try(try[0], at+try[1], try[2])
		if err != nil {
			h.Fatalf("%.300q: %v", token, err)
		}
		if a.Status < 400 || a.Status > 499 {
			h.Errorf("%s %.300q: %d %.300s", try[0], at+try[1], a.Status, a.Body)
		}
		h.refused++
	}
	h.send(token, "POST", "/human-tasks/answer", `{"outcome":"done","ids":[`+quoted(token)+`]}`)
	for _, parameter := range []string{"execution_id", "batch_id", "workflow_id", "cursor"} {
		h.send(token, "GET", "/human-tasks?"+parameter+"="+url.QueryEscape(token), "")
	}
}
