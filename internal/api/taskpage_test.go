package api

import (
	"strings"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/human"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/chargehand/chargehand/internal/value"
)

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
		{service.LinkExpired, 410, 410, "31 January 2026"}, {service.LinkRevoked, 410, 410, "31 January 2026"},
		{service.LinkReplaced, 410, 410, "newest mail about this task"}, {service.LinkRefused, 410, 410, "does not count any more"},
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
