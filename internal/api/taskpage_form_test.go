package api

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/form/draft"
	"github.com/chargehand/chargehand/internal/human"
	"github.com/chargehand/chargehand/internal/page"
	"github.com/chargehand/chargehand/internal/value"
	"golang.org/x/tools/txtar"
)

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
