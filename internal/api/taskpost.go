package api

import (
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"strings"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/form/draft"
	"github.com/chargehand/chargehand/internal/page"
	"github.com/chargehand/chargehand/internal/service"
	"github.com/chargehand/chargehand/internal/value"
)

// sentTask is what the form of a human task has sent.
type sentTask struct {
	do, comment    string
	texts          map[string][]string // by the keys of controls
	files, uploads []string            // texts of uploads: for the answer, and others
	wrong          uploadWrong
}

// postTaskPage does what a button of the form says. Only one of an outcome answers the task.
func (c *call) postTaskPage() error {
	c.unchanged = true
	t, err := c.linkedTask()
	if err != nil {
		return err
	}
	status := linkStates[t.State].status
	switch t.State {
	case service.LinkOpen, service.LinkTaken, service.LinkUsed:
	case service.LinkAnswered:
		return c.drawTaskState(t, http.StatusConflict, page.TaskWord(c.language(), "not-taken"))
	default:
		return c.drawTaskState(t, status, page.TaskWord(c.language(), "not-taken"))
	}
	sent, err := c.readTask()
	if err != nil {
		return err
	}
	f := c.openTaskForm(t)
	if err := c.fillTask(f, sent); err != nil {
		return err
	}
	verb, about, found := strings.Cut(sent.do, ":")
	switch verb += ":"; {
	case found && verb == page.DoAnswer:
		return c.answerTask(f, about)
	case found && (verb == page.DoAdd || verb == page.DoRemove):
		f.changeEntries(verb, about)
		return c.showTask(f)
	}
	return c.checkTask(f)
}

// showTask shows the form again with what was entered.
func (c *call) showTask(f *taskForm) error {
	status := http.StatusOK
	switch {
	case f.task.State == service.LinkUsed:
		return c.drawTaskState(f.task, http.StatusConflict, f.word("not-counted"))
	case f.task.State == service.LinkTaken:
		status, f.status = http.StatusConflict, f.word("taken")
	case f.isWrong():
		status = http.StatusUnprocessableEntity
	}
	return c.drawTask(status, f.page())
}

// readTask reads the form, and stores the files in it as they come. What is wrong with a file does not keep the rest
// from being read.
func (c *call) readTask() (*sentTask, error) {
	c.r.Body = http.MaxBytesReader(c.w, c.r.Body, maxTaskForm)
	parts, err := c.r.MultipartReader()
	if err != nil {
		return nil, badForm("The form cannot be read: Content-Type has no boundary.")
	}
	sent := &sentTask{texts: map[string][]string{}, wrong: uploadWrong{}}
	left := int64(maxTaskTexts)
	for n := 0; ; n++ {
		part, err := parts.NextPart()
		switch {
		case err == io.EOF: //nolint:errorlint // wrapped, it is that of a form that is cut off
			return sent, nil
		case err != nil:
			return nil, sentProblem(err)
		case n >= maxTaskParts:
			return nil, tooLarge(maxTaskForm)
		}
		name := part.FormName()
		for _, value := range part.Header { // with the names of inputs and of files, which may have 10 MiB else
			left -= max(0, int64(len(strings.Join(value, "")))-freeHeader)
		}
		if left < 0 {
			return nil, tooLarge(maxTaskTexts)
		}
		if of, ok := strings.CutPrefix(name, page.TaskUpload); ok {
			if err := c.storeUpload(sent, of, part); err != nil {
				return nil, err
			}
			continue
		}
		text, err := io.ReadAll(io.LimitReader(part, max(left, 0)+1))
		if err != nil {
			return nil, sentProblem(err)
		}
		if left -= int64(len(text)); left < 0 {
			return nil, tooLarge(maxTaskTexts)
		}
		sent.take(name, strings.ToValidUTF8(string(text), "\ufffd"))
	}
}

// freeHeader is how much of a header does not count: what browsers write around names, and short names.
const freeHeader = 64

// maxTaskParts bounds the parts of a form: the texts, the files, and the buttons.
const maxTaskParts = draft.MaxTexts + 4*service.MaxLinkUploads

// take keeps a text of the form. What the form does not have is left out.
func (sent *sentTask) take(name, text string) {
	switch name {
	case page.TaskDo:
		sent.do = text
	case page.TaskComment:
		sent.comment = strings.ReplaceAll(text, "\r\n", "\n") // as browsers send it
	case page.TaskFiles:
		sent.files = append(sent.files, text)
	case page.TaskUploads:
		sent.uploads = append(sent.uploads, text)
	default:
		if key, ok := strings.CutPrefix(name, page.TaskField); ok && (key == "" || key[0] == '/') {
			sent.texts[key] = append(sent.texts[key], text)
		}
	}
}

// sentProblem is the error of a form that does not arrive as a whole.
func sentProblem(err error) error {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return tooLarge(maxTaskForm)
	}
	return formProblem(err)
}

// part is a file that arrives. It remembers why it could not be read, which is no fault of the file.
type part struct {
	io.Reader
	err error
}

func (p *part) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		p.err = err
	}
	return n, err
}

// storeUpload stores a file that is for a field, or for the answer. An input for files in which none was chosen sends
// one without a name.
func (c *call) storeUpload(sent *sentTask, of string, from *multipart.Part) error {
	name := from.FileName()
	if name == "" {
		return nil
	}
	content := &part{Reader: from}
	file, err := c.server.service.UploadByLink(c.r.Context(), c.secret, service.LinkUpload{
		Name: name, ContentType: contentType(from.Header.Get("Content-Type")), Content: content, ForAnswer: of == page.TaskFiles,
	})
	switch {
	case content.err != nil:
		return sentProblem(content.err)
	case err != nil:
		text, ok := c.uploadProblem(name, err)
		if !ok {
			return err
		}
		sent.wrong.add(of, text)
	case of == page.TaskFiles:
		sent.files = append(sent.files, file.Text)
	default:
		sent.uploads = append(sent.uploads, file.Text)
		if key, ok := strings.CutPrefix(of, page.TaskField); ok {
			sent.texts[key] = append(sent.texts[key], string(value.Marshal(file.Reference)))
		}
	}
	return nil
}

// uploadProblem says why a file was not stored; false: that is no matter of the file.
func (c *call) uploadProblem(name string, err error) (text string, ok bool) {
	var word string
	f := &taskForm{lang: c.language()}
	shown, _ := asProblem(err)
	switch shown.Code {
	case chargehand.CodeAnswerInvalid:
		word = "file-refused"
	case chargehand.CodePayloadTooLarge:
		return f.words("file-large", cut(name, 255), page.Size(f.lang, min(c.server.limits.UploadBytes, service.MaxLinkUploadBytes))), true
	case chargehand.CodeStorageReserve, chargehand.CodeQuotaExceeded:
		if word = "file-room"; shown.Quota != nil && shown.Quota.OwnerKind != "environment" {
			word = "file-quota"
		}
	case chargehand.CodeInvalidParameter:
		return f.word("file-name"), true
	case chargehand.CodeStateConflict:
		return f.word("file-many"), true
	case chargehand.CodeFileNotFound:
		word = "file-failed"
	default:
		return "", false
	}
	return f.words(word, cut(name, 255)), true
}

// fillTask puts what was sent into the form.
func (c *call) fillTask(f *taskForm, sent *sentTask) (err error) {
	f.comment, f.uploads, f.uploadWrong = sent.comment, sent.uploads[:min(len(sent.uploads), service.MaxLinkUploads)], sent.wrong
	if f.hasForm {
		if f.draft, err = draft.Decode(&f.whole, sent.texts, &f.draft); err != nil || !f.control() {
			return tooLarge(maxTaskTexts)
		}
	}
	texts := sent.files[:min(len(sent.files), service.MaxLinkUploads)]
	if f.files, err = c.server.service.LinkedFiles(c.r.Context(), c.secret, texts); err != nil {
		return err
	}
	if len(f.files) < len(texts) {
		f.uploadWrong.add(page.TaskFiles, f.word("gone-file"))
	}
	// Of a single file, the one that was added last replaces the one before.
	if u := f.task.Task.Full.Request.Upload; u != nil && u.Max == 1 && len(f.files) > 1 {
		f.files = f.files[len(f.files)-1:]
	}
	return nil
}

// changeEntries adds an entry to the group with a key, or removes the one with it.
func (f *taskForm) changeEntries(verb, key string) {
	role := draft.Group
	if verb == page.DoRemove {
		role = draft.Entered
	}
	for i := range f.controls {
		c := &f.controls[i]
		if c.Role != role || c.Key != key || !c.There || c.Field.ReadOnly {
			continue
		}
		f.focusRole = draft.Group
		if verb == page.DoAdd && c.Extensible() {
			c.Draft.Add(c.Field)
			f.focus, f.focusRole = c.Key+draft.EntryKey(len(c.Draft.Entries)-1), draft.Entered
			if !f.control() { // one too many
				c.Draft.Remove(len(c.Draft.Entries) - 1)
				f.general = append(f.general, page.Wrong{Text: f.word("too-many")})
				f.focus = ""
			}
		} else if group := f.groupOf(i); verb == page.DoRemove && group != nil {
			f.focus = group.Key
			group.Draft.Remove(c.Number)
		}
		f.control()
		return
	}
}

// groupOf is the group of an entry.
func (f *taskForm) groupOf(number int) *draft.Control {
	c := &f.controls[number]
	for i := number - 1; i >= 0; i-- {
		if group := &f.controls[i]; group.Role == draft.Group && group.Depth == c.Depth-1 {
			return group
		}
	}
	return nil
}

// sentAnswer is the form as an answer; false: something is wrong with what was entered.
func (f *taskForm) sentAnswer(secret, outcome string) (service.AnswerByLink, bool) {
	data, ok := f.read()
	q := service.AnswerByLink{Secret: secret, Outcome: outcome, Comment: f.comment, Data: data, Uploads: f.uploads}
	for _, file := range f.files {
		q.Files, q.Uploads = append(q.Files, file.ID.String()), append(q.Uploads, file.Text)
	}
	return q, ok && !f.isWrong()
}

// checkTask says whether what was entered is right, and changes nothing.
func (c *call) checkTask(f *taskForm) error {
	q, ok := f.sentAnswer(c.secret, "")
	if ok {
		err := c.server.service.CheckAnswerByLink(c.r.Context(), q)
		if err != nil && !f.refused(err) {
			return c.missedTask(f, err)
		}
		f.checked = err == nil
	}
	return c.showTask(f)
}

// refused shows what the service says of an answer that can be mended; false: the error is none of that kind.
func (f *taskForm) refused(err error) bool {
	if !isCode(err, chargehand.CodeAnswerInvalid, chargehand.CodeInvalidBody) {
		return false
	}
	shown, _ := asProblem(err)
	f.refuse(shown)
	return true
}

// answerTask answers the task with an outcome.
func (c *call) answerTask(f *taskForm, outcome string) error {
	q, ok := f.sentAnswer(c.secret, outcome)
	if !ok {
		return c.showTask(f)
	}
	err := c.server.service.AnswerTaskByLink(c.r.Context(), q)
	switch {
	case err == nil:
		c.unchanged = false
		c.pageHeaders(page.TaskPolicy, "no-referrer")
		c.seeOther(service.TaskLinkPath + c.secret)
		return nil
	case f.refused(err):
		return c.showTask(f)
	}
	return c.missedTask(f, err)
}

// missedTask reads a task again that cannot be answered any more, or not now, so that the page says why.
func (c *call) missedTask(f *taskForm, err error) error {
	if !isCode(err, chargehand.CodeAnswerConflict, chargehand.CodeTaskWithdrawn, chargehand.CodeStateConflict, chargehand.CodeClaimedByOther,
		chargehand.CodeExcluded, chargehand.CodeNotAssigned) {
		return err
	}
	shown, _ := asProblem(err)
	c.code = shown.Code
	t, again := c.linkedTask()
	switch {
	case again != nil:
		return again
	case t.State == service.LinkOpen: // it was answered by none, and can be: it was taken for a moment
		return &chargehand.Error{Code: chargehand.CodeUnavailable, Detail: "The task has changed meanwhile.", RetryAfter: 1}
	case t.State == service.LinkTaken, t.State == service.LinkUsed:
		f.task = t
		return c.showTask(f)
	case t.State == service.LinkAnswered:
		return c.drawTaskState(t, http.StatusConflict, f.word("not-taken"))
	}
	return c.drawTaskState(t, linkStates[t.State].status, f.word("not-taken"))
}
