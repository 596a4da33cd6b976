package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"charm.land/huh/v2"
	"golang.org/x/tools/txtar"

	"github.com/chargehand/chargehand/client"
	"github.com/chargehand/chargehand/internal/form"
	"github.com/chargehand/chargehand/internal/form/draft"
	"github.com/chargehand/chargehand/internal/servertest"
	"github.com/chargehand/chargehand/internal/value"
)

// obliging is a person who answers every question with the first thing that fits, and adds one entry to each list. Each
// question is drawn.
type obliging struct {
	t     *testing.T
	asked []string
	added map[string]bool
}

func (p *obliging) ask(_ context.Context, heading string, questions []*question) error {
	var fields []huh.Field
	for _, q := range questions {
		field, _ := fieldOf(q)
		fields = append(fields, field)
	}
	screen := huh.NewForm(huh.NewGroup(fields...).Title(heading)).WithWidth(80)
	screen.Init()
	drawn := screen.View()
	for _, q := range questions {
		p.asked = append(p.asked, q.title)
		if !strings.Contains(drawn, strings.Fields(q.title + " x")[0]) {
			p.t.Errorf("%q is not drawn:\n%s", q.title, drawn)
		}
		if len(q.options) > 0 && q.options[0] == optionContinue {
			key := heading + strings.Split(q.title, ":")[0]
			q.chosen = []int{0}
			if !p.added[key] {
				p.added[key], q.chosen[0] = true, 1
			}
			continue
		}
		p.answer(q)
	}
	return nil
}

func (p *obliging) answer(q *question) {
	if len(q.options) > 0 {
		if len(q.chosen) == 0 {
			q.chosen = []int{0}
		}
		return
	}
	for _, text := range []string{q.text, "", "Aa", "7", "2026-01-31", "09:30", "2026-01-31 09:30", "a@example.com", "{}"} {
		if q.verdict(text, nil) == nil && (text != "" || q.wrong == "") {
			q.text = text
			return
		}
	}
	p.t.Errorf("nothing fits %q", q.title)
}

// newTestForm is the form of a schema, asked by a person.
func newTestForm(t *testing.T, outline []form.Field, a asker) *taskForm {
	t.Helper()
	text, err := json.Marshal(outline)
	if err != nil {
		t.Fatal(err)
	}
	task := &client.HumanTask{ID: "t-1", Title: "T", Form: json.RawMessage("{}"), Outcomes: []client.TaskOutcome{{Name: "done", Title: "Done"}}}
	if err := json.Unmarshal(text, &task.Outline); err != nil {
		t.Fatal(err)
	}
	f := &taskForm{
		connection: &connection{console: console{strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}}}, task: task, asker: a,
		local: draft.Local{Zone: time.UTC, Now: time.Now()}, asked: map[string]bool{},
	}
	if err := f.open(); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestEveryFormIsAsked: every schema of package form is a form on a terminal, and all of it is asked.
func TestEveryFormIsAsked(t *testing.T) {
	archive, err := txtar.ParseFile(filepath.Join(servertest.Root(), "internal", "form", "testdata", "outlines.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range archive.Files {
		name, ok := strings.CutSuffix(file.Name, ".outline")
		if !ok {
			continue
		}
		t.Run(name, func(t *testing.T) {
			var outline []form.Field
			for line := range strings.Lines(string(file.Data)) {
				var f form.Field
				if err := json.Unmarshal([]byte(line), &f); err != nil {
					t.Fatal(err)
				}
				outline = append(outline, f)
			}
			p := &obliging{t: t, added: map[string]bool{}}
			f := newTestForm(t, outline, p)
			if err := f.fill(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
			_, ok, err := f.read(t.Context())
			if !ok && err == nil { // the middle of a tuple was left out, and asked again
				_, ok, err = f.read(t.Context())
			}
			if !ok || err != nil {
				t.Errorf("not mended: %v", err)
			}
			for _, c := range f.controls() {
				if (c.Role == draft.Leaf || c.Role == draft.Variant) && c.There && !c.Field.ReadOnly && !f.asked[controlName(&c)] {
					t.Errorf("%s was not asked", c.Key)
				}
			}
		})
	}
}

// lines is a person who types.
func lines(text string) (asker, *bytes.Buffer) {
	var shown bytes.Buffer
	return newLineAsker(strings.NewReader(text), &shown), &shown
}

func outlineFrom(t *testing.T, schema string) []form.Field {
	t.Helper()
	v, err := value.Parse([]byte(schema), value.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return form.Of(v, nil)
}

// TestLines: what a person types line by line becomes the value.
func TestLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "any.json")
	if err := os.WriteFile(path, []byte(`{"deep": [true]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		schema, data, typed, want string
		shows                     []string
	}{
		"a number, wrong at first": {`{"type":"object","required":["n"],"properties":{"n":{"type":"integer","title":"How\u001b[2Jmany","minimum":1}}}`, "", "x\n\n7\n", `{"n":7}`,
			[]string{"How [2Jmany (required)", "a whole number, at least 1", "Wrong: This is not a number.", "Wrong: Fill this in."}},
		"kept, and emptied": {`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}`, `{"a":"x\u0007y","b":"z"}`, "\n-\n", `{"a":"x\u0007y"}`, []string{"Now: x y\n"}},
		"a choice, choices, a boolean": {
			`{"type":"object","properties":{"a":{"enum":["red","green"]},"b":{"type":"array","uniqueItems":true,"items":{"enum":[1,2,3]}},"c":{"type":"boolean"}}}`, `{"b":[2]}`,
			"9\n2\n1, 3\nno\n2\n", `{"a":"green","b":[1,3],"c":false}`, []string{"* 3. (none)", "* 2. 2", `Wrong: "9" is not a number from 1 to 3`}},
		"several lines, and JSON from a file": {
			`{"type":"object","properties":{"a":{"type":"string","maxLength":1000},"b":{}}}`, "", "one\ntwo\n.\n@" + path + "\n.\n", `{"a":"one\ntwo","b":{"deep":[true]}}`, nil},
		"a list": {
			`{"type":"array","items":{"type":"object","required":["sku"],"properties":{"sku":{"type":"string"},"n":{"type":"integer","default":1}}}}`, `[{"sku":"A"},{"sku":"B"}]`,
			"2\n5\nC\n6\n1\n", `[{"n":1,"sku":"B"},{"n":5,"sku":"C"}]`, []string{"3 entries", "Change 1: n: 1, sku: A"}},
		"a map": {`{"type":"object","additionalProperties":{"type":"number"}}`, "", "2\na/b\n1,5\n1\n", `{"a/b":1.5}`, []string{"Name of entry 1 (required)"}},
		"an alternative": {
			`{"oneOf":[{"type":"object","title":"Card","properties":{"number":{"type":"string"}}},{"type":"object","title":"Bill","properties":{"vat":{"type":"string"}}}]}`, "",
			"2\nDE1\n", `{"vat":"DE1"}`, []string{"2. Bill"}},
		"a condition": {
			`{"type":"object","required":["how"],"properties":{"how":{"enum":["bank","cash"]}},"if":{"properties":{"how":{"const":"bank"}},"required":["how"]},
				"then":{"properties":{"account":{"type":"string"}},"required":["account"]}}`, "", "1\nDE1\n", `{"account":"DE1","how":"bank"}`, nil},
		"nothing of what a condition hides": {
			`{"type":"object","required":["how"],"properties":{"how":{"enum":["bank","cash"]}},"if":{"properties":{"how":{"const":"bank"}},"required":["how"]},
				"then":{"properties":{"account":{"type":"string"}},"required":["account"]}}`, "", "2\n", `{"how":"cash"}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			a, shown := lines(c.typed)
			f := newTestForm(t, outlineFrom(t, c.schema), a)
			if f.task.Data = json.RawMessage(c.data); c.data != "" {
				if err := f.open(); err != nil {
					t.Fatal(err)
				}
			}
			if err := f.fill(t.Context(), ""); err != nil {
				t.Fatal(err, shown)
			}
			v, wrong := draft.Read(&f.whole, &f.draft, f.local)
			if got := string(value.Marshal(v)); got != c.want || len(wrong) > 0 {
				t.Errorf("got %s, %v; want %s\n%s", got, wrong, c.want, shown)
			}
			for _, text := range c.shows {
				if !strings.Contains(shown.String(), text) {
					t.Errorf("%q is not in\n%s", text, shown)
				}
			}
			if strings.ContainsAny(shown.String(), "\x1b\x07") {
				t.Errorf("a control character reaches the terminal: %q", shown)
			}
		})
	}
}

// TestRefusedAnswer: what the server refuses is shown at its field, what was entered stays, and the second answer is
// sent. Where the task has ended, what was entered is printed.
func TestRefusedAnswer(t *testing.T) {
	var sent []string
	refusals := []string{
		`{"status":422,"code":"answer_invalid","title":"T","errors":[{"pointer":"/data/n","code":"minimum","detail":"must be at least 1\u001b[2J."},{"pointer":"/outcome","code":"x","detail":"No."}]}`,
		`{"status":503,"code":"unavailable","title":"busy"}`,
		`{"status":409,"code":"answer_conflict","title":"T","detail":"The task was answered by Bob."}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body bytes.Buffer
		_, _ = body.ReadFrom(r.Body)
		sent = append(sent, body.String())
		var status struct{ Status int }
		_ = json.Unmarshal([]byte(refusals[len(sent)-1]), &status)
		w.WriteHeader(status.Status)
		fmt.Fprint(w, refusals[len(sent)-1])
	}))
	t.Cleanup(server.Close)
	a, shown := lines("0\nkept\n" + "why\n1\n" + "5\n" + "\n\n" + "\n\n")
	f := newTestForm(t, outlineFrom(t, `{"type":"object","properties":{"n":{"type":"integer"},"t":{"type":"string"}}}`), a)
	f.api, f.err = client.New(server.URL, "k", client.WithoutRetries()), shown
	_, err := f.run(t.Context())
	var refused *client.Error
	if !errors.As(err, &refused) || refused.Code != "answer_conflict" {
		t.Fatal(err, shown)
	}
	want := []string{
		`{"outcome":"done","data":{"n":0,"t":"kept"},"comment":"why"}`, `{"outcome":"done","data":{"n":5,"t":"kept"},"comment":"why"}`, `{"outcome":"done","data":{"n":5,"t":"kept"},"comment":"why"}`,
	}
	if strings.Join(sent, "\n") != strings.Join(want, "\n") {
		t.Errorf("sent %s", sent)
	}
	for _, text := range []string{"Wrong: must be at least 1 [2J.", "Now: 0\n", "wrong: No.", "What was entered is kept", `what was entered: {"n":5,"t":"kept"}`} {
		if !strings.Contains(shown.String(), text) {
			t.Errorf("%q is not in\n%s", text, shown)
		}
	}
	if strings.Contains(shown.String(), "\x1b") {
		t.Errorf("an escape reaches the terminal: %q", shown)
	}
}

// TestLeaving: the end of the input, or of the context, sends nothing.
func TestLeaving(t *testing.T) {
	a, _ := lines("")
	f := newTestForm(t, outlineFrom(t, `{"type":"object","properties":{"n":{"type":"integer"}}}`), a)
	if _, err := f.run(t.Context()); !errors.Is(err, errLeft) {
		t.Error(err)
	}
	a, _ = lines("1\n\n3\n")
	f = newTestForm(t, outlineFrom(t, `{"type":"object","properties":{"n":{"type":"integer"}}}`), a)
	if _, err := f.run(t.Context()); !errors.Is(err, errLeft) {
		t.Error(err)
	}
}

// TestUploadFails: a file that cannot be stored is asked for again, and what was entered before is sent.
func TestUploadFails(t *testing.T) {
	var sent string
	uploads := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !strings.HasSuffix(r.URL.Path, "/files"):
			var body bytes.Buffer
			_, _ = body.ReadFrom(r.Body)
			sent = body.String()
			fmt.Fprint(w, `{"id":"t-1","status":"answered"}`)
		case uploads == 0:
			uploads++
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprint(w, `{"status":503,"code":"unavailable","title":"The disk is full."}`)
		default:
			uploads++
			w.WriteHeader(http.StatusCreated)
			fmt.Fprint(w, `{"id":"0198c5f2-0000-7000-8000-000000000001"}`)
		}
	}))
	t.Cleanup(server.Close)
	path := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	a, shown := lines("5\n" + path + "\n.\n" + path + "\n.\n" + "why\n1\n")
	f := newTestForm(t, outlineFrom(t, `{"type":"object","properties":{"n":{"type":"integer"}}}`), a)
	f.task.Upload = &client.TaskUpload{Max: 2, Required: true}
	f.api, f.err = client.New(server.URL, "k", client.WithoutRetries()), shown
	if _, err := f.run(t.Context()); err != nil {
		t.Fatal(err, shown)
	}
	if want := `{"outcome":"done","data":{"n":5},"comment":"why","files":["0198c5f2-0000-7000-8000-000000000001"]}`; sent != want || uploads != 2 {
		t.Errorf("sent %s after %d uploads", sent, uploads)
	}
	if !strings.Contains(shown.String(), "The disk is full.") {
		t.Errorf("it does not say why:\n%s", shown)
	}
}
