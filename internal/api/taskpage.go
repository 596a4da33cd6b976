package api

import (
	"errors"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/page"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/chargehand/chargehand/internal/value"
)

// maxTaskTexts bounds what the form of a human task sends beside files: names and texts, in bytes.
const maxTaskTexts = 1 << 20

// maxTaskForm bounds all that the form sends.
const maxTaskForm = service.MaxLinkUploadBytes + 2*maxTaskTexts

// taskPageEndpoints are the page by which a person answers a human task without signing in. The secret in its address
// is all that is needed. To read it changes nothing: mail scanners follow the address before the person does. Mail
// programs add parameters to addresses.
func taskPageEndpoints() []endpoint {
	const path = service.TaskLinkPath + "{token}"
	form := &body{media: []string{"multipart/form-data"}, stream: true, limit: func(service.Limits) int64 { return maxTaskForm }}
	return []endpoint{
		{method: get, path: path, id: "GET " + path, enters: true, page: true, lenient: true, serve: (*call).getTaskPage},
		{
			method: post, path: path, id: "POST " + path, enters: true, page: true, lenient: true, slow: true, body: form,
			change: "human task answered", serve: (*call).postTaskPage,
		},
	}
}

// linkStates are the states of the page, with the status of the answer.
var linkStates = map[service.LinkState]struct {
	name   string
	status int
}{
	service.LinkOpen:      {page.TaskOpen, http.StatusOK},
	service.LinkTaken:     {page.TaskTaken, http.StatusConflict},
	service.LinkUsed:      {page.TaskUsed, http.StatusOK},
	service.LinkAnswered:  {page.TaskAnswered, http.StatusGone},
	service.LinkWithdrawn: {page.TaskWithdrawn, http.StatusGone},
	service.LinkExpired:   {page.TaskExpired, http.StatusGone},
	service.LinkRevoked:   {page.TaskRevoked, http.StatusGone},
	service.LinkReplaced:  {page.TaskReplaced, http.StatusGone},
	service.LinkRefused:   {page.TaskRefused, http.StatusGone},
}

// linkedTask reads the task of the link. Addresses of files in it begin with a slash, so that they have the origin that
// the policy of the page allows.
func (c *call) linkedTask() (*service.LinkedTask, error) {
	t, err := c.server.service.LinkedTask(c.r.Context(), c.secret, service.View{})
	if err != nil {
		return nil, err
	}
	c.task, c.linked = t.Task.ID, true
	return t, nil
}

func (c *call) getTaskPage() error {
	t, err := c.linkedTask()
	if err != nil {
		return err
	}
	if t.State == service.LinkOpen {
		return c.drawTask(http.StatusOK, c.openTaskForm(t).page())
	}
	return c.drawTaskState(t, linkStates[t.State].status, "")
}

// drawTaskState says why a task cannot be answered by its link. wrong is what else is to be said; empty: nothing.
func (c *call) drawTaskState(t *service.LinkedTask, status int, wrong string) error {
	shown := page.Task{State: linkStates[t.State].name, Given: t.Given, Error: wrong}
	if !t.At.IsZero() {
		shown.At = page.Moment(c.language(), t.At)
	}
	return c.drawTask(status, shown)
}

// drawTask answers with the page of a human task.
func (c *call) drawTask(status int, t page.Task) error {
	t.Lang = c.language()
	text, err := page.DrawTask(t)
	if err != nil {
		return err
	}
	c.pageHeaders(page.TaskPolicy, "no-referrer")
	c.sendEarly(status, []string{"text/html; charset=utf-8"}, text)
	return nil
}

// failTaskPage says what went wrong with a request for the page of a human task, whether a route has its path or not.
func (c *call) failTaskPage(status int, e *chargehand.Error) error {
	lang := c.language()
	t := page.Task{State: page.TaskProblem, Error: page.Translate(lang, e.Detail)}
	switch e.Code {
	case chargehand.CodeTaskLinkNotFound, chargehand.CodeRouteNotFound:
		t.State, t.Error = page.TaskUnknown, ""
	case chargehand.CodePayloadTooLarge:
		t.Error = page.TaskWord(lang, "too-large")
	default:
		t.Again = c.r.Method == post && (status == http.StatusTooManyRequests || status >= http.StatusInternalServerError)
	}
	return c.drawTask(status, t)
}

// facts are what the page of a task shows of it beside its form.
func (f *taskForm) facts() page.Task {
	t, full := f.task, f.task.Task.Full
	shown := page.Task{
		State: page.TaskOpen, Name: t.Name, Title: t.Task.Title, Ends: page.Moment(f.lang, t.Ends), Instructions: apart(full.InstructionsHTML),
	}
	if due := t.Task.DueAt; !due.IsZero() {
		shown.Due, shown.Overdue = page.Moment(f.lang, due), due.Before(f.local.Now)
	}
	if full.Request.Show != nil {
		data := f.shown(full.Request.Show)
		shown.Shown = &data
	}
	for i := range t.Files {
		shown.Files = append(shown.Files, f.file(&t.Files[i]))
	}
	for _, o := range full.Request.Outcomes {
		shown.Outcomes = append(shown.Outcomes, page.Outcome{Name: o.Name, Title: o.Title, Style: o.Style})
	}
	return shown
}

// apart lets links in Markdown, which package markdown has made safe, open beside the page: what is entered there
// stays.
func apart(safe string) template.HTML {
	return template.HTML(strings.ReplaceAll(safe, ` rel="noopener nofollow"`, ` rel="noopener nofollow" target="_blank"`))
}

// images are the media types of what a browser shows as an image, in which no script runs.
var images = []string{"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/svg+xml"}

func (f *taskForm) file(file *service.File) page.File {
	media, _, _ := strings.Cut(strings.ToLower(file.ContentType), ";")
	return page.File{
		Name: file.Name, Size: page.Size(f.lang, file.Size), URL: file.URL, Image: slices.Contains(images, strings.TrimSpace(media)),
	}
}

// shown is data as it is shown, with the files that it refers to.
func (f *taskForm) shown(v value.Value) page.Shown {
	switch v := v.(type) {
	case map[string]any:
		uri, _ := v["uri"].(string)
		if id, ok := chargehand.ParseFileURI(uri); ok {
			if file, known := f.task.Referred[id]; known {
				shown := f.file(&file)
				return page.Shown{Kind: page.ShownFile, File: &shown}
			}
		}
		if len(v) == 0 {
			break
		}
		object := page.Shown{Kind: page.ShownObject}
		for _, name := range value.SortedKeys(v) {
			inner := f.shown(v[name])
			inner.Name = name
			object.List = append(object.List, inner)
		}
		return object
	case []any:
		if len(v) == 0 {
			break
		}
		list := page.Shown{Kind: page.ShownList}
		for _, item := range v {
			list.List = append(list.List, f.shown(item))
		}
		return list
	case string:
		if v != "" {
			return page.Shown{Kind: page.ShownText, Text: v}
		}
	case bool:
		if v {
			return page.Shown{Kind: page.ShownText, Text: f.word("yes")}
		}
		return page.Shown{Kind: page.ShownText, Text: f.word("no")}
	case nil:
	default:
		return page.Shown{Kind: page.ShownText, Text: string(value.Marshal(v))}
	}
	return page.Shown{Kind: page.ShownText, Text: f.word("empty")}
}

// isCode reports whether an error has one of some codes.
func isCode(err error, codes ...chargehand.Code) bool {
	var shown *chargehand.Error
	return errors.As(err, &shown) && slices.Contains(codes, shown.Code)
}
