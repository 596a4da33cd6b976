package api

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/form"
	"github.com/chargehand/chargehand/internal/form/draft"
	"github.com/chargehand/chargehand/internal/human"
	"github.com/chargehand/chargehand/internal/page"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/chargehand/chargehand/internal/value"
	"golang.org/x/tools/txtar"
)

const (
	linkSecret = "dGhlLXNlY3JldC1vZi1hLWxpbmstdG8tYS10YXNrLS0"
	pathLink   = "/t/" + linkSecret
)

// fakeLink is a link to a human task. The zero value is open, and takes every answer.
type fakeLink struct {
	state    service.LinkState
	at       time.Time
	request  human.Request
	outline  []form.Field
	files    []service.File
	referred map[chargehand.FileID]service.File
	find     error // of every method
	fail     error // of answers
	check    error
	upload   func(service.LinkUpload) error
	answered func() // is called by each answer

	read    int
	answers []service.AnswerByLink
	stored  map[string]service.LinkedFile // by their texts
}

func (l *fakeLink) task() *service.LinkedTask {
	t := &service.LinkedTask{State: max(l.state, service.LinkOpen), At: l.at, Name: "Eve", Ends: moment0.Add(time.Hour), Files: l.files, Referred: l.referred}
	if t.State > service.LinkUsed {
		return t
	}
	t.Task = service.HumanTask{ID: taskID1, Title: "Approve the invoice", Full: &service.FullTask{Request: l.request, Outline: l.outline}}
	if l.request.Instructions != "" {
		t.Task.Full.InstructionsHTML = "<p>Check the <em>totals</em>, and <a href=\"https://example.com\" rel=\"noopener nofollow\">this</a>.</p>"
	}
	if t.State == service.LinkUsed {
		t.Given = "Approve"
	}
	return t
}

func (f *fake) LinkedTask(context.Context, string, service.View) (*service.LinkedTask, error) {
	if f.link == nil {
		f.link = &fakeLink{}
	}
	f.link.read++
	if f.link.find != nil {
		return nil, f.link.find
	}
	return or(f, f.link.task())
}

func (f *fake) UploadByLink(_ context.Context, _ string, u service.LinkUpload) (service.LinkedFile, error) {
	l := f.link
	if l.upload != nil {
		if err := l.upload(u); err != nil {
			return service.LinkedFile{}, err
		}
	}
	size, err := io.Copy(io.Discard, u.Content)
	if err != nil {
		return service.LinkedFile{}, err
	}
	id := mustID[chargehand.FileID](fmt.Sprintf("0197a5c4-cccc-7000-8000-%012d", len(l.stored)))
	file := service.LinkedFile{ID: id, Text: id.String() + ".1.signed", Name: u.Name, Size: size, Reference: map[string]any{
		"uri": chargehand.FilesPath + id.String(), "name": u.Name, "size": int(size),
	}}
	if l.stored == nil {
		l.stored = map[string]service.LinkedFile{}
	}
	l.stored[file.Text] = file
	return or(f, file)
}

func (f *fake) LinkedFiles(_ context.Context, _ string, texts []string) (list []service.LinkedFile, err error) {
	for _, text := range texts {
		if file, known := f.link.stored[text]; known {
			list = append(list, file)
		}
	}
	return or(f, list)
}

func (f *fake) CheckAnswerByLink(context.Context, service.AnswerByLink) error {
	return errors.Join(f.fail, f.link.check)
}

func (f *fake) AnswerTaskByLink(_ context.Context, q service.AnswerByLink) error {
	if f.link.answered != nil {
		f.link.answered()
	}
	if err := errors.Join(f.fail, f.link.fail); err != nil {
		return err
	}
	f.link.answers = append(f.link.answers, q)
	return nil
}

// taskRequest is a request of a browser, from an address of its own.
func taskRequest(method, path, body string, headers ...string) *http.Request {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	n := requests.Add(1)
	r.RemoteAddr, r.Host = fmt.Sprintf("127.%d.%d.1:5", n>>8&255, n&255), "localhost:8080"
	r.Header.Set("Accept", "text/html")
	if method == "POST" {
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

func linkServer(l *fakeLink) (*Server, *fake) {
	f := &fake{link: l}
	if len(l.request.Outcomes) == 0 {
		l.request.Outcomes = []human.Outcome{{Name: "approve", Title: "Approve", Style: "primary"}, {Name: "reject", Title: "Reject"}}
	}
	return New(Config{Service: f, SignIn: &fakeSignIn{}}), f
}

// outlineOf is the form of a schema in YAML.
func outlineOf(t testing.TB, schema string) (value.Value, []form.Field) {
	t.Helper()
	v, err := dsl.ParseValue([]byte(schema))
	if err != nil {
		t.Fatal(err)
	}
	return v, form.Of(v, nil)
}

// asking is a link to a task with a form.
func asking(t testing.TB, schema string, data value.Value) *fakeLink {
	l := &fakeLink{request: human.Request{Data: data}}
	l.request.Form, l.outline = outlineOf(t, schema)
	return l
}

// wantTask is the form of a page of a task; nil: it has none.
func wantTask(t testing.TB, a answered, status int, parts ...string) *sheet {
	t.Helper()
	h := a.header
	if a.status != status || h.Get("Content-Type") != "text/html; charset=utf-8" || h.Get("Content-Security-Policy") != page.TaskPolicy ||
		h.Get("Cache-Control") != "no-store" || h.Get("Referrer-Policy") != "no-referrer" || h.Get("Set-Cookie") != "" {
		t.Errorf("%d, %v, want %d\n%s", a.status, h, status, a.body)
	}
	for _, part := range parts {
		if !strings.Contains(string(a.body), part) {
			t.Errorf("the page has no %s\n%s", part, a.body)
		}
	}
	if strings.Contains(string(a.body), linkSecret) {
		t.Errorf("the page repeats the secret:\n%s", a.body)
	}
	if !strings.Contains(string(a.body), "<form") {
		return nil
	}
	return openSheet(t, pathLink, a.body)
}

// TestTaskPageReads: to follow the address changes nothing, however often and by which program.
func TestTaskPageReads(t *testing.T) {
	l := asking(t, `{type: object, properties: {total: {type: number}}}`, map[string]any{"total": 5})
	l.request.Instructions = "x"
	s, _ := linkServer(l)
	for range 3 {
		sheet := wantTask(t, serve(s, taskRequest("GET", pathLink+"?utm_source=mail", "")), 200, "Approve the invoice", "Eve", `value="answer:approve"`, `target="_blank"`)
		if sheet.button[0] != "check" || sheet.values("in/total")[0] != "5" {
			t.Errorf("buttons %q, fields %v", sheet.button, sheet.fields)
		}
		if a := serve(s, taskRequest("HEAD", pathLink, "")); a.status != 200 || len(a.body) > 0 {
			t.Errorf("HEAD: %d, %s", a.status, a.body)
		}
	}
	if len(l.answers) > 0 {
		t.Error("the task was answered")
	}
	wantTask(t, serve(s, taskRequest("GET", pathLink, "", "Accept-Language", "de")), 200, `lang="de"`, "Für", "Deine Antwort")
}

// TestTaskPageStates: what cannot be answered any more says so, with its time.
func TestTaskPageStates(t *testing.T) {
	for _, c := range []struct {
		state     service.LinkState
		get, post int
		part      string
	}{
		{service.LinkTaken, 409, 409, "Another person is working on this task"}, {service.LinkUsed, 200, 409, "your answer has arrived"},
		{service.LinkAnswered, 410, 409, "It was answered in another way on 31 January 2026"}, {service.LinkWithdrawn, 410, 410, "31 January 2026"},
		{service.LinkExpired, 410, 410, "31 January 2026"}, {service.LinkRevoked, 410, 410, "31 January 2026"}, {service.LinkRefused, 410, 410, "does not count any more"},
	} {
		l := &fakeLink{}
		s, _ := linkServer(l)
		sheet := wantTask(t, serve(s, taskRequest("GET", pathLink, "")), 200)
		l.state, l.at, l.fail = c.state, moment0, chargehand.NewError(chargehand.CodeStateConflict, "The task cannot be answered by this link any more.")
		if again := wantTask(t, serve(s, taskRequest("GET", pathLink, "")), c.get, c.part); again != nil {
			t.Errorf("in state %d there is a form", c.state)
		}
		again := wantTask(t, serve(s, sheet.fill("comment", "all of it").press("answer:approve")), c.post)
		if (again != nil) != (c.state == service.LinkTaken) {
			t.Errorf("in state %d there is a form: %t", c.state, again != nil)
		}
		if again != nil && again.values("comment")[0] != "all of it" {
			t.Error("the remark is gone")
		}
		if len(l.answers) > 0 {
			t.Errorf("in state %d the task was answered", c.state)
		}
	}
	s, _ := linkServer(&fakeLink{find: chargehand.NewError(chargehand.CodeTaskLinkNotFound, "This link is not known.")})
	for _, path := range []string{pathLink, "/t/x", "/t/", "/t/a/b", "/t/" + strings.Repeat("x", 5000), "/t/%00", "/t/..%2Fsetup", "/t/%ff"} {
		a := serve(s, taskRequest("GET", path, ""))
		wantTask(t, a, 404, "This link is not known")
	}
	wantTask(t, serve(s, taskRequest("POST", pathLink, "x", "Content-Type", "multipart/form-data; boundary=x")), 404)
	if a := serve(s, taskRequest("DELETE", pathLink, "")); a.status != 405 || a.header.Get("Allow") != "GET, HEAD, POST, OPTIONS" {
		t.Errorf("DELETE: %d, %v", a.status, a.header)
	}
	wantProblem(t, serve(s, taskRequest("GET", "/t/", "", "Accept", "application/json")), 404, "route_not_found")
}

// TestTaskPageAnswers: what is entered is checked, mended, and answers the task, once for each button.
func TestTaskPageAnswers(t *testing.T) {
	l := asking(t, `{type: object, required: [total, kind], properties: {total: {type: number, title: Total}, kind: {enum: [card, bill]}, lines: {type: array, items: {type: object, properties: {sku: {type: string}}}}},
		if: {properties: {kind: {const: card}}, required: [kind]}, then: {properties: {number: {type: string}}, required: [number]}}`, map[string]any{"lines": []any{map[string]any{"sku": "a"}}})
	s, _ := linkServer(l)
	sheet := wantTask(t, serve(s, taskRequest("GET", pathLink, "")), 200)
	sheet.fill("in/total", "1,500").fill("comment", " soon\r\n<b>").tick("in/kind", "0")
	sheet = wantTask(t, serve(s, sheet.press("check")), 422, "Something is not right yet", "Write a decimal point", `">Total: Write a decimal point`, `name="in/number"`, "<title>Error:")
	if sheet.values("in/total")[0] != "1,500" || sheet.values("comment")[0] != " soon\r\n<b>" {
		t.Errorf("what was entered is gone: %v", sheet.fields)
	}
	sheet = wantTask(t, serve(s, sheet.fill("in/total", "1500").fill("in/number", "17").press("add:/lines")), 200, "autofocus")
	sheet = wantTask(t, serve(s, sheet.fill("in/lines/~e1/sku", "b").press("add:/lines")), 200)
	sheet = wantTask(t, serve(s, sheet.fill("in/lines/~e2/sku", "c").press("remove:/lines/~e0")), 200)
	sheet = wantTask(t, serve(s, sheet.press("check")), 200, "Everything is filled in correctly")
	if len(l.answers) > 0 {
		t.Fatal("the task was answered")
	}
	a := serve(s, sheet.press("answer:reject"))
	if a.status != 303 || a.header.Get("Location") != pathLink || a.header.Get("Referrer-Policy") != "no-referrer" || a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d %v\n%s", a.status, a.header, a.body)
	}
	want := `{"kind":"card","lines":[{"sku":"b"},{"sku":"c"}],"number":"17","total":1500}`
	if q := l.answers[0]; q.Secret != linkSecret || q.Outcome != "reject" || q.Comment != " soon\n<b>" || string(value.Marshal(q.Data)) != want {
		t.Errorf("answered %+v, want %s", q, want)
	}
	// What another choice hides is kept, and is not in the answer.
	sheet = wantTask(t, serve(s, sheet.fill("in/kind", "1").press("check")), 200)
	if sheet.values("in/number")[0] != "17" || sheet.inputs["in/number"] == nil || attributeOf(sheet.inputs["in/number"], "type") != "hidden" {
		t.Errorf("what is hidden: %v", sheet.fields)
	}
	serve(s, sheet.press("answer:approve"))
	if got := string(value.Marshal(l.answers[1].Data)); strings.Contains(got, "number") {
		t.Errorf("answered %s", got)
	}
}

// TestTaskPageWithoutForm: there is nothing to check, and a button answers.
func TestTaskPageWithoutForm(t *testing.T) {
	l := &fakeLink{}
	s, _ := linkServer(l)
	sheet := wantTask(t, serve(s, taskRequest("GET", pathLink, "")), 200)
	if a := serve(s, sheet.press("answer:approve")); a.status != 303 || len(l.answers) != 1 || l.answers[0].Data != nil || l.answers[0].Files != nil {
		t.Errorf("%d, %+v", a.status, l.answers)
	}
	wantTask(t, serve(s, sheet.press("check")), 200)
}

// TestTaskPageIsRefused: what the server says of an answer is at its field, in the language of the page.
func TestTaskPageIsRefused(t *testing.T) {
	l := asking(t, `{type: object, properties: {a: {type: string, minLength: 2}, ro: {type: string, readOnly: true, title: Kept}}}`, map[string]any{"ro": "same"})
	l.request.Upload = &human.Upload{Max: 2, Accept: []string{".pdf"}}
	l.fail = chargehand.NewError(chargehand.CodeAnswerInvalid, "x",
		chargehand.FieldError{Pointer: "/data/a", Code: "minLength", Detail: "must have 2 <b>characters</b>."}, chargehand.FieldError{Pointer: "/data/ro", Code: "pattern", Detail: "does not fit."},
		chargehand.FieldError{Pointer: "/data/b", Code: "additionalProperties", Detail: "is not allowed."}, chargehand.FieldError{Pointer: "/files", Code: "too_many", Detail: "y"},
		chargehand.FieldError{Pointer: "/outcome", Code: "unknown_outcome", Detail: "z"}, chargehand.FieldError{Pointer: "/comment", Code: "too_long", Detail: "z"})
	s, _ := linkServer(l)
	for lang, parts := range map[string][]string{
		"en": {"must have 2 &lt;b&gt;characters", `id="f0-error"`, `href="#f0"`, `href="#f1"`, `href="#your-files"`, `href="#comment"`, `href="#answer"`, "At most 2 files may be given.", "is not allowed", "The comment is too long"},
		"de": {"Das ist zu kurz oder zu lang.", "Das passt nicht.", "Höchstens 2 Dateien sind erlaubt.", "Der Kommentar ist zu lang"},
	} {
		sheet := wantTask(t, serve(s, taskRequest("GET", pathLink, "", "Accept-Language", lang)), 200)
		sheet = wantTask(t, serve(s, sheet.fill("in/a", "x").press("answer:approve", "Accept-Language", lang)), 422, parts...)
		if sheet.values("in/a")[0] != "x" || sheet.values("in/ro")[0] != "same" {
			t.Errorf("what was entered is gone: %v", sheet.fields)
		}
	}
	// A check says the same, and refusals of one kind have no summary.
	l.check = l.fail
	sheet := wantTask(t, serve(s, taskRequest("GET", pathLink, "")), 200)
	wantTask(t, serve(s, sheet.press("check")), 422, "must have 2")
}

// TestTaskPageLosesARace: the page says what became of the task between its opening and the answer.
func TestTaskPageLosesARace(t *testing.T) {
	for _, c := range []struct {
		state  service.LinkState
		code   chargehand.Code
		status int
		part   string
	}{
		{service.LinkTaken, chargehand.CodeClaimedByOther, 409, "so that your answer was not taken"}, {service.LinkUsed, chargehand.CodeAnswerConflict, 409, "the answer that was given first counts"},
		{service.LinkAnswered, chargehand.CodeAnswerConflict, 409, "was not taken"}, {service.LinkWithdrawn, chargehand.CodeTaskWithdrawn, 410, "was not taken"},
		{service.LinkRevoked, chargehand.CodeStateConflict, 410, "was not taken"}, {service.LinkRefused, chargehand.CodeExcluded, 410, "was not taken"},
		{service.LinkOpen, chargehand.CodeStateConflict, 503, "reload this page"},
	} {
		l := asking(t, `{type: object, properties: {a: {type: string}}}`, nil)
		l.fail = chargehand.NewError(c.code, "x")
		s, _ := linkServer(l)
		sheet := wantTask(t, serve(s, taskRequest("GET", pathLink, "")), 200)
		l.answered = func() { l.state, l.at = c.state, moment0 }
		again := wantTask(t, serve(s, sheet.fill("in/a", "typed").press("answer:approve")), c.status, c.part)
		if c.state == service.LinkTaken && (again == nil || again.values("in/a")[0] != "typed") {
			t.Errorf("what was entered is gone: %v", again)
		}
	}
}

// TestTaskPageUploads: files are stored as they come, stay when something else is wrong, and can be taken out.
func TestTaskPageUploads(t *testing.T) {
	l := asking(t, `{type: object, properties: {scan: {format: file-ref, contentMediaType: image/*}, more: {type: array, items: {format: file-ref}}, n: {type: integer}}}`, nil)
	l.request.Upload = &human.Upload{Max: 3, Accept: []string{"image/*", ".pdf"}}
	s, _ := linkServer(l)
	sheet := wantTask(t, serve(s, taskRequest("GET", pathLink, "")), 200, `accept="image/*,.pdf"`, "multiple")
	sheet.attach("upload:in/scan", "scan.png", "12345").attach("upload:in/more", "../../etc/passwd", "1").attach("upload:in/more", `<b>"x"`, "2").attach("upload:files", "a.pdf", "3")
	sheet = wantTask(t, serve(s, sheet.tick("upload:in/more", "").fill("in/n", "x").press("answer:approve")), 422, "This is not a number", "a.pdf", "scan.png", "&lt;b&gt;")
	if len(l.answers) > 0 || len(l.stored) != 4 || len(sheet.values("uploads")) != 3 || len(sheet.values("files")) != 1 || len(sheet.values("in/more")) != 3 {
		t.Fatalf("%d stored, %v", len(l.stored), sheet.fields)
	}
	// One more for the answer, another scan, and one of two others goes.
	sheet.attach("upload:files", "b.pdf", "4").attach("upload:in/scan", "better.png", "6")
	kept := sheet.values("in/more")[2]
	sheet.fields = deleted(sheet.fields, "in/more")
	if a := serve(s, sheet.tick("in/more", "").tick("in/more", kept).fill("in/n", "1").press("answer:approve")); a.status != 303 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	q := l.answers[0]
	data := q.Data.(map[string]any)
	if data["scan"].(map[string]any)["name"] != "better.png" || len(data["more"].([]any)) != 1 || len(q.Files) != 2 || len(q.Uploads) != 6 {
		t.Errorf("answered %s with files %v, and may use %v", value.Marshal(q.Data), q.Files, q.Uploads)
	}
	// What is not there any more is said.
	sheet = wantTask(t, serve(s, sheet.press("check")), 200)
	l.stored = nil
	wantTask(t, serve(s, sheet.press("check")), 422, "was uploaded more than a day ago")
	// Of one file the last one counts.
	l.request.Upload.Max = 1
	sheet = wantTask(t, serve(s, taskRequest("GET", pathLink, "")), 200)
	sheet = wantTask(t, serve(s, sheet.attach("upload:files", "a.pdf", "1").press("check")), 200, "Instead, another file")
	sheet = wantTask(t, serve(s, sheet.attach("upload:files", "b.pdf", "2").press("check")), 200, "b.pdf")
	if len(sheet.values("files")) != 1 {
		t.Errorf("%v", sheet.fields)
	}
}

// deleted are the fields without those of a name.
func deleted(fields []entered, name string) (rest []entered) {
	for _, f := range fields {
		if f.name != name {
			rest = append(rest, f)
		}
	}
	return rest
}

// TestTaskPageRefusesFiles: with the reason at the file; all else that was entered stays.
func TestTaskPageRefusesFiles(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		part   string
	}{
		{chargehand.NewError(chargehand.CodeAnswerInvalid, "x", chargehand.FieldError{Pointer: "/files", Code: "not_accepted"}), 422, "&lt;i&gt;.exe is not of the kind"},
		{chargehand.NewError(chargehand.CodePayloadTooLarge, "x"), 422, "may have 1.1 GB"}, {chargehand.NewError(chargehand.CodeStorageReserve, "x"), 422, "no room"},
		{chargehand.NewError(chargehand.CodeStateConflict, "x"), 422, "No more files"}, {chargehand.NewError(chargehand.CodeInvalidParameter, "x"), 422, "255 bytes"},
		{errors.New("disk on fire"), 500, "reload this page"},
	} {
		l := asking(t, `{type: object, properties: {a: {type: string}}}`, nil)
		l.request.Upload = &human.Upload{Max: 3}
		l.upload = func(service.LinkUpload) error { return c.err }
		s, f := linkServer(l)
		f.limits.UploadBytes = 2 << 30
		s.limits = f.limits
		sheet := wantTask(t, serve(s, taskRequest("GET", pathLink, "")), 200)
		again := wantTask(t, serve(s, sheet.attach("upload:files", "<i>.exe", strings.Repeat("x", 100_000)).fill("in/a", "typed").press("answer:approve")), c.status, c.part)
		if len(l.answers) > 0 || c.status == 422 && again.values("in/a")[0] != "typed" {
			t.Errorf("%v: %d answers, %v", c.err, len(l.answers), again)
		}
	}
}

// TestTaskPageRefusesForms: those that no page of ours sends, and those that are too large.
func TestTaskPageRefusesForms(t *testing.T) {
	l := asking(t, `{type: object, properties: {a: {type: string}}}`, nil)
	s, _ := linkServer(l)
	const form = "multipart/form-data; boundary=b"
	part := func(name, text string) string {
		return "--b\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + text + "\r\n"
	}
	answer := part("do", "answer:approve")
	for name, c := range map[string]struct {
		media, body string
		headers     []string
		status      int
	}{
		"urlencoded":                    {"application/x-www-form-urlencoded", "do=answer%3Aapprove", nil, 415},
		"JSON":                          {"application/json", `{"do":"answer:approve"}`, nil, 415},
		"no type":                       {"", answer + "--b--", nil, 415},
		"packed":                        {form, answer + "--b--", []string{"Content-Encoding", "gzip"}, 415},
		"no boundary":                   {"multipart/form-data", answer + "--b--", nil, 400},
		"cut off":                       {form, answer, nil, 400},
		"no form":                       {form, "do=answer:approve", nil, 400},
		"another site":                  {form, answer + "--b--", []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.test"}, 403},
		"another origin":                {form, answer + "--b--", []string{"Sec-Fetch-Site", "", "Origin", "https://evil.test"}, 403},
		"no part":                       {form, "--b--", nil, 200},
		"no button":                     {form, part("comment", "x") + "--b--", nil, 200},
		"a strange button":              {form, part("do", "answer") + "--b--", nil, 200},
		"another button":                {form, part("do", "delete:all") + "--b--", nil, 200},
		"nothing to add to":             {form, part("do", "add:/a") + "--b--", nil, 200},
		"nothing to remove":             {form, part("do", "remove:/a/~e99999999999999999999") + "--b--", nil, 200},
		"a long name of a file's field": {form, part(`upload:in/`+strings.Repeat("/", 2*maxTaskTexts)+`"; filename="f`, "x") + answer + "--b--", nil, 413},
		"a long name of a file":         {form, part(`upload:files"; filename="`+strings.Repeat("f", 2*maxTaskTexts), "x") + answer + "--b--", nil, 413},
		"a long text":                   {form, part("in/a", strings.Repeat("x", maxTaskTexts)) + answer + "--b--", nil, 413},
		"long names":                    {form, strings.Repeat(part("in/"+strings.Repeat("x", 1000), ""), 1100) + answer + "--b--", nil, 413},
		"many texts":                    {form, strings.Repeat(part("in/a", "x"), draft.MaxTexts+1) + answer + "--b--", nil, 413},
		"many other parts":              {form, strings.Repeat(part("x", "x"), maxTaskParts) + answer + "--b--", nil, 413},
		"deep names":                    {form, part("in"+strings.Repeat("/x", 5000), "x") + "--b--", nil, 200},
		"bytes that no text":            {form, part("in/a", "\xff\xfe\x00") + "--b--", nil, 200},
	} {
		headers := append([]string{"Content-Type", c.media}, c.headers...)
		a := serve(s, taskRequest("POST", pathLink, c.body, headers...))
		if wantTask(t, a, c.status); len(l.answers) > 0 {
			t.Fatalf("%s: the task was answered", name)
		}
		if t.Failed() {
			t.Fatalf("%s: %d\n%s", name, a.status, a.body)
		}
	}
	large := taskRequest("POST", pathLink, "", "Content-Type", form)
	large.ContentLength = maxTaskForm + 1
	wantTask(t, serve(s, large), 413, "Go back, and send less")
	elsewhere := taskRequest("GET", pathLink, "")
	elsewhere.RemoteAddr = "192.0.2.7:5"
	wantTask(t, serve(s, elsewhere), 403, "https")
	same := taskRequest("GET", pathLink, "")
	serve(s, same)
	for address := range s.entrance.rate.buckets { // they have asked until an hour from now
		s.entrance.rate.buckets[address] = bucket{at: time.Now().Add(time.Hour)}
	}
	wantTask(t, serve(s, same), 429, "Too many requests")
	s, _ = linkServer(&fakeLink{find: errors.New("disk on fire")})
	wantTask(t, serve(s, taskRequest("GET", pathLink, "")), 500, "That did not work")
	standby := New(Config{})
	wantTask(t, serve(standby, taskRequest("GET", pathLink, "")), 503, "standby")
}

// TestHostileTaskPage: what a workflow or a file says is shown as text.
func TestHostileTaskPage(t *testing.T) {
	const hostile = `"><script>alert(1)</script><img src=x onerror=alert(1)>`
	l := asking(t, `{type: object, title: '`+hostile+`', properties: {'`+hostile+`': {type: string, title: '`+hostile+`', description: '`+hostile+`', pattern: '`+hostile+`'}, e: {enum: ['`+hostile+`'], title: E}}}`,
		map[string]any{hostile: hostile})
	l.request.Show = map[string]any{hostile: []any{hostile, nil, true, 1.5, map[string]any{"uri": "javascript:alert(1)"}, map[string]any{}, []any{}, ""}}
	l.request.Outcomes = []human.Outcome{{Name: hostile, Title: hostile, Style: "primary"}}
	l.files = []service.File{{Name: hostile, URL: "/api/v1/files/1/content", ContentType: "image/png"}, {Name: "page.html", URL: "/api/v1/files/2/content", ContentType: "text/html"}}
	s, _ := linkServer(l)
	a := serve(s, taskRequest("GET", pathLink, ""))
	sheet := wantTask(t, a, 200, `<img src="/api/v1/files/1/content"`)
	again := serve(s, sheet.fill("comment", hostile+"</textarea>"+hostile).press("check"))
	for _, text := range []string{string(a.body), string(again.body)} {
		if strings.Contains(text, "<script") || strings.Contains(text, "<img src=x") || strings.Contains(text, `="javascript:`) || strings.Contains(text, `src="/api/v1/files/2`) {
			t.Errorf("the page has what was written:\n%s", text)
		}
	}
	if a := serve(s, sheet.press("answer:"+hostile)); a.status != 303 || l.answers[0].Outcome != hostile || l.answers[0].Data.(map[string]any)[hostile] != hostile {
		t.Errorf("%d, %+v", a.status, l.answers)
	}
}

var updateForms = flag.Bool("update-forms", false, "write the forms of the page of a human task anew")

// TestTaskForms draws every schema that the outline knows, and reads from the page what the form has. Write the forms
// with: go test ./internal/api -run TestTaskForms -update-forms.
func TestTaskForms(t *testing.T) {
	const goldens = "testdata/taskforms.txtar"
	archive, err := txtar.ParseFile("../form/testdata/outlines.txtar")
	if err != nil {
		t.Fatal(err)
	}
	given := map[string]value.Value{
		"list-of-texts": map[string]any{"tags": []any{"a\nb", "c"}}, "longtext": map[string]any{"note": "\nx\ny"}, "boolean": map[string]any{"agree": true},
		"formats": map[string]any{"a": "2026-01-31", "b": "09:30:00-05:00", "c": "2026-07-01T07:30:05Z", "d": "soon"}, "text": map[string]any{"name": "a\nb"},
	}
	var got txtar.Archive
	got.Comment = []byte("The forms of schemas of ../../form/testdata/outlines.txtar on the page of a human task.\n")
	for _, file := range archive.Files {
		if strings.HasSuffix(file.Name, ".outline") {
			continue
		}
		for _, data := range []value.Value{nil, given[file.Name]} {
			l := asking(t, string(file.Data), data)
			s, _ := linkServer(l)
			a := serve(s, taskRequest("GET", pathLink, ""))
			sheet := wantTask(t, a, 200)
			whole, d := draft.Open(l.outline, data, draft.Local{Now: time.Now()})
			want, wrong := draft.Read(&whole, &d, draft.Local{Now: time.Now()})
			status := 303
			if len(wrong) > 0 {
				status = 422
			}
			if a := serve(s, sheet.press("answer:approve")); a.status != status {
				t.Errorf("%s: %d, %v\n%s", file.Name, a.status, wrong, a.body)
			} else if status == 303 && !value.Equal(l.answers[0].Data, want) {
				t.Errorf("%s: the page has %s, want %s", file.Name, value.Marshal(l.answers[0].Data), value.Marshal(want))
			}
			_, fields, _ := strings.Cut(string(a.body), "<form ")
			fields, _, _ = strings.Cut(fields, `<div class="field"><label for="comment"`)
			name := file.Name
			if data != nil {
				name += " with " + string(value.Marshal(data))
			}
			got.Files = append(got.Files, txtar.File{Name: name, Data: []byte(fields)})
			if given[file.Name] == nil {
				break
			}
		}
	}
	text := txtar.Format(&got)
	if *updateForms {
		if err := os.WriteFile(goldens, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want, err := os.ReadFile(goldens); err != nil || string(want) != string(text) {
		t.Errorf("not as in %s (%v); got\n%s", goldens, err, text)
	}
}

// FuzzTaskPage: whatever is sent, there is a page, the server does not fail, and all that was sent is text there.
func FuzzTaskPage(f *testing.F) {
	l := asking(f, `{type: object, properties: {a: {type: string}, n: {type: integer}, b: {type: boolean}, l: {type: array, items: {type: object, properties: {x: {type: string}, y: {format: date}}}},
		m: {type: object, additionalProperties: {type: string}}, o: {oneOf: [{type: string}, {type: object, properties: {z: {enum: [1, 2]}}}]}, f: {format: file-ref}, j: {}}}`, nil)
	l.request.Upload = &human.Upload{Max: 2}
	s, _ := linkServer(l)
	part := func(name, text string) string {
		return "--b\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + text + "\r\n"
	}
	f.Add(part("in/a", "x")+part("in/n", "<script>")+part("in/l", "")+part("in/l/~e0/x", "y")+part("do", "remove:/l/~e0")+"--b--", "b")
	f.Add(part("in/o", "1")+part("in/o/~o1/z", "0")+part("in/m/~e3/~name", "k")+part("in/m/~e3", "v")+part("do", "add:/m")+"--b--", "b")
	f.Add(part("in/f", `{"uri":"/x","name":"<script>","size":-1}`)+part("files", "x")+part("uploads", "y")+part("in/j", "[[[")+part("do", "answer:approve")+"--b--", "b")
	f.Add("--b\r\nContent-Disposition: form-data; name=\"upload:files\"; filename=\"<script>\"\r\nContent-Type: text/html\r\n\r\nx\r\n"+part("comment", "</textarea><script>")+"--b--", "b")
	f.Add("--b\r\nContent-Disposition: form-data; name=\"upload:in/f\"; filename*=UTF-8''%ff%00\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n=\r\n--b--", "b")
	f.Fuzz(func(t *testing.T, body, boundary string) {
		r := taskRequest("POST", pathLink, body, "Content-Type", "multipart/form-data; boundary="+boundary)
		a := serve(s, r)
		if a.status == 303 {
			return
		}
		if a.status >= 500 || a.status < 200 || a.header.Get("Content-Security-Policy") != page.TaskPolicy {
			t.Fatalf("status %d\n%s", a.status, a.body)
		}
		if strings.Contains(strings.ToLower(string(a.body)), "<script") || strings.Contains(string(a.body), linkSecret) {
			t.Errorf("the page has what was sent:\n%s", a.body)
		}
	})
}
