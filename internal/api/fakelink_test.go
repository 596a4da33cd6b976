package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/form"
	"github.com/chargehand/chargehand/internal/human"
	"github.com/chargehand/chargehand/internal/page"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/chargehand/chargehand/internal/value"
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
