package api

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/form"
	"github.com/chargehand/chargehand/internal/form/draft"
	"github.com/chargehand/chargehand/internal/page"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/chargehand/chargehand/internal/value"
)

// taskForm is the form of a linked task as far as a person has filled it in, and what is wrong with that.
type taskForm struct {
	task  *service.LinkedTask
	lang  string
	local draft.Local // UTC: without script, nothing says where the person is

	hasForm  bool
	whole    form.Field
	draft    draft.Draft
	controls []draft.Control
	comment  string
	files    []service.LinkedFile // for the answer
	uploads  []string             // texts of what else was uploaded

	checked bool
	status  string         // what keeps the answer from being taken at the moment; empty: nothing
	wrong   map[int]string // by number of the control
	uploadWrong
	commentWrong, outcomeWrong string
	general                    []page.Wrong
	focus                      string // key of the group or entry that the page begins at; empty: its top
	focusRole                  draft.Role
}

// uploadWrong is what is wrong with uploads, by the name of what they are for: of a field, or page.TaskFiles.
type uploadWrong map[string]string

// add says that something is wrong with an upload.
func (w uploadWrong) add(name, text string) { w[name] = joined(w[name], text) }

func joined(sentences ...string) string {
	return strings.Join(slices.DeleteFunc(sentences, func(s string) bool { return s == "" }), " ")
}

// openTaskForm is the form with what it begins with.
func (c *call) openTaskForm(t *service.LinkedTask) *taskForm {
	f := &taskForm{
		task: t, lang: c.language(), local: draft.Local{Now: c.began}, hasForm: t.Task.Full.Outline != nil,
		wrong: map[int]string{}, uploadWrong: uploadWrong{},
	}
	if f.hasForm {
		f.whole, f.draft = draft.Open(t.Task.Full.Outline, t.Task.Full.Request.Data, f.local)
		f.control()
	}
	return f
}

// control finds the controls of the form as it is now; false: there are more than a form may have.
func (f *taskForm) control() (ok bool) {
	f.controls, ok = draft.Controls(&f.whole, &f.draft, f.local)
	return ok
}

func (f *taskForm) word(name string) string { return page.TaskWord(f.lang, name) }

func (f *taskForm) words(name string, of ...any) string { return fmt.Sprintf(f.word(name), of...) }

// read is the data of the form; false: something is wrong with what was entered.
func (f *taskForm) read() (value.Value, bool) {
	if !f.hasForm {
		return nil, true
	}
	data, wrong := draft.Read(&f.whole, &f.draft, f.local)
	for _, w := range wrong {
		text := f.word(draftWords[w.Code])
		if w.Detail != "" {
			text += " " + w.Detail
		}
		f.complain(w.Pointer, text)
	}
	return data, len(wrong) == 0
}

// draftWords are the names of the texts for what cannot become a value.
var draftWords = map[draft.Code]string{
	draft.Missing: "missing", draft.NoNumber: "number", draft.NoInteger: "integer", draft.Ambiguous: "ambiguous", draft.NoJSON: "bad-json",
	draft.NoDate: "bad-date", draft.NoTime: "bad-time", draft.NoDateTime: "bad-datetime", draft.BadName: "bad-name", draft.NoSuchValue: "no_option",
}

// complain shows what is wrong with the value at a pointer.
func (f *taskForm) complain(pointer, text string) {
	best := draft.Find(f.controls, pointer)
	for i := range f.controls {
		if &f.controls[i] == best {
			if !strings.Contains(f.wrong[i], text) {
				f.wrong[i] = joined(f.wrong[i], text)
			}
			return
		}
	}
	f.general = append(f.general, page.Wrong{Title: f.word("whole"), Text: text})
}

// refuse shows what the service says of an answer.
func (f *taskForm) refuse(e *chargehand.Error) {
	for _, w := range e.Fields {
		text := f.explain(&w)
		switch {
		case w.Pointer == "/comment":
			f.commentWrong = f.word("comment-large")
		case w.Pointer == "/outcome":
			f.outcomeWrong = f.word("no-outcome")
		case w.Pointer == "/files" || strings.HasPrefix(w.Pointer, "/files/"):
			f.uploadWrong.add(page.TaskFiles, text)
		case w.Pointer == "/data" && w.Code == "too_long":
			f.general = append(f.general, page.Wrong{Title: f.word("whole"), Text: f.word("data-large")})
		case w.Pointer == "/data" || strings.HasPrefix(w.Pointer, "/data/"):
			f.complain(strings.TrimPrefix(w.Pointer, "/data"), text)
		default:
			f.general = append(f.general, page.Wrong{Text: text})
		}
	}
	if len(e.Fields) == 0 {
		f.general = append(f.general, page.Wrong{Text: page.Translate(f.lang, e.Detail)})
	}
}

// schemaWords are the names of the texts for keywords of schemas that a value breaks, and for codes of files.
var schemaWords = map[string]string{
	"required": "missing", "dependentRequired": "missing", "minimum": "wrong-range", "maximum": "wrong-range", "exclusiveMinimum": "wrong-range",
	"exclusiveMaximum": "wrong-range", "multipleOf": "wrong-range", "minLength": "wrong-length", "maxLength": "wrong-length", "pattern": "wrong-form",
	"format": "wrong-form", "type": "wrong-form", "enum": "no_option", "const": "no_option", "minItems": "wrong-items", "maxItems": "wrong-items",
	"minProperties": "wrong-items", "maxProperties": "wrong-items", "uniqueItems": "wrong-twice",
	string(chargehand.CodeFileNotFound): "gone-file",
}

// explain says what is wrong with a value: in English as the schema has it, which knows the bounds, where there is no
// plainer word for it. In other languages the bounds are beside the field.
func (f *taskForm) explain(w *chargehand.FieldError) string {
	name := schemaWords[w.Code]
	switch {
	case strings.HasPrefix(w.Pointer, "/files") && w.Code == "required":
		return f.word("file-missing")
	case strings.HasPrefix(w.Pointer, "/files") && w.Code == "too_many":
		return f.words("too-many-files", fmt.Sprint(f.task.Task.Full.Request.Upload.Max))
	case name == "missing" || name == "gone-file" || name != "" && f.lang != page.English:
		return f.word(name)
	case f.lang != page.English:
		return f.word("wrong")
	}
	return cmp.Or(w.Detail, f.word("wrong"))
}

// page is the whole page, with the form as it is now.
func (f *taskForm) page() page.Task {
	shown := f.facts()
	shown.Checked, shown.Error = f.checked, f.status
	shown.Comment = page.Remark{Text: f.comment, Error: f.commentWrong}
	d := drawer{taskForm: f, page: &shown}
	shown.Fields = d.inside(-1)
	if shown.Upload = f.upload(); shown.Upload != nil && shown.Upload.Error != "" {
		shown.Wrong = append(shown.Wrong, page.Wrong{ID: page.TaskFilesID, Title: f.word("your-files"), Text: shown.Upload.Error})
	}
	if f.commentWrong != "" {
		shown.Wrong = append(shown.Wrong, page.Wrong{ID: page.TaskCommentID, Text: f.commentWrong})
	}
	if f.outcomeWrong != "" {
		shown.Wrong = append(shown.Wrong, page.Wrong{ID: page.TaskAnswerID, Text: f.outcomeWrong})
	}
	delete(f.uploadWrong, page.TaskFiles)
	for _, name := range slices.Sorted(maps.Keys(f.uploadWrong)) { // of fields that are not there any more
		shown.Wrong = append(shown.Wrong, page.Wrong{Text: f.uploadWrong[name]})
	}
	shown.Wrong = append(shown.Wrong, f.general...)
	for _, text := range f.uploads {
		shown.Hidden = append(shown.Hidden, page.Pair{Name: page.TaskUploads, Value: text})
	}
	return shown
}

// upload is what may be given back beside the form; nil: nothing.
func (f *taskForm) upload() *page.Upload {
	u := f.task.Task.Full.Request.Upload
	if u == nil {
		return nil
	}
	shown := &page.Upload{
		ID: page.TaskFilesID, Kept: page.TaskFiles, Name: page.TaskUpload + page.TaskFiles, Accept: strings.Join(u.Accept, ","), Many: u.Max > 1,
		Required: u.Required, Error: f.uploadWrong[page.TaskFiles],
	}
	if len(u.Accept) > 0 {
		shown.Help = f.words("accept", strings.Join(u.Accept, ", "))
	}
	if u.Max > 1 {
		shown.Help = joined(shown.Help, f.words("max-files", fmt.Sprint(u.Max)))
	}
	for i, file := range f.files {
		shown.Files = append(shown.Files, page.Kept{
			ID: fmt.Sprint(page.TaskFilesID, "-", i), Name: file.Name, Size: page.Size(f.lang, file.Size), Value: file.Text,
		})
	}
	if shown.Many && len(f.files) >= u.Max {
		shown.Name = ""
	}
	return shown
}

// isWrong reports whether something is to be mended.
func (f *taskForm) isWrong() bool {
	return len(f.wrong)+len(f.uploadWrong)+len(f.general) > 0 || f.commentWrong != "" || f.outcomeWrong != ""
}
