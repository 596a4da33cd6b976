package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/blob"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/human"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// maxAnswerTries is how often an answer is given again, because the task was changed meanwhile but has not ended.
const maxAnswerTries = 5

// errTaskChanged is returned out of a transaction: the task is not what it was when it was read.
var errTaskChanged = errors.New("the human task was changed meanwhile")

// AnswerHumanTask is the request to answer a task. Body: outcome, data, comment, files, on_behalf_of.
type AnswerHumanTask struct {
	Task        chargehand.HumanTaskID
	Body        value.Value
	Idempotency *Idempotency
}

// AnswerHumanTask answers a task. The same answer of the same person again changes nothing.
// Codes: human_task_not_found, insufficient_scope, not_assigned, excluded, claimed_by_other, invalid_body,
// unknown_field, answer_invalid, answer_conflict, task_withdrawn, idempotency_key_reused, idempotency_in_progress.
func (s *Service) AnswerHumanTask(ctx context.Context, p *Principal, q AnswerHumanTask) (t HumanTask, replayed bool, err error) {
	return guarded(ctx, s, p, q.Idempotency,
		func(c *idempotencyGuard) (HumanTask, error) {
			given, err := readAnswer(q.Body)
			if err == nil {
				err = s.answerTask(ctx, p, q.Task, given, c)
			}
			if err != nil {
				return HumanTask{}, err
			}
			return s.GetHumanTask(ctx, p, q.Task)
		},
		func(c *idempotencyGuard) (HumanTask, error) { return s.GetHumanTask(ctx, p, q.Task) })
}

// errTaskBusy says that a task was changed by others at each try to answer it.
var errTaskBusy = &chargehand.Error{
	Code: chargehand.CodeUnavailable, Detail: "The task changes too often at the moment. Nothing was answered.", RetryAfter: 1,
}

// answerTask answers a task. Errors: errTaskBusy.
func (s *Service) answerTask(ctx context.Context, p *Principal, id chargehand.HumanTaskID, given givenAnswer, c *idempotencyGuard) error {
	for range maxAnswerTries {
		if err := s.tryAnswer(ctx, p, id, given, c); !errors.Is(err, errTaskChanged) {
			return err
		}
	}
	return errTaskBusy
}

// tryAnswer tries once to answer a task. Errors: errTaskChanged: read the task again.
func (s *Service) tryAnswer(ctx context.Context, p *Principal, id chargehand.HumanTaskID, body givenAnswer, c *idempotencyGuard) error {
	row, who, err := s.taskFor(ctx, p, id, body.onBehalfOf)
	if err != nil {
		return err
	}
	return s.answerAs(ctx, p, row, &who, body, func(tx *store.Tx) error { return c.record(tx, statusOK, "human_task", row.ID) })
}

// answerAs tries once to answer a task that was read, as a responder that may answer it. inTx runs in the transaction
// of the answer, and its error undoes that. Errors: errTaskChanged: read the task again.
func (s *Service) answerAs(
	ctx context.Context, p *Principal, row store.HumanTask, who *responder, body givenAnswer, inTx func(*store.Tx) error,
) error {
	request, err := s.taskRequest(ctx, &row)
	if err != nil {
		return err
	}
	answer, files, err := s.checkAnswer(ctx, p, &request, body)
	answer.By = human.By{ID: who.id, Name: who.name, Via: who.via}
	var invalid *chargehand.Error
	if err != nil && !(errors.As(err, &invalid) && invalid.Code == chargehand.CodeAnswerInvalid) {
		return err
	}
	if row.Status > store.TaskClaimed { // what an answer would have to be is of no use any more
		return s.answeredBefore(ctx, &row, who, &answer, err == nil)
	}
	if err != nil {
		return err
	}
	at := max(s.nowMs(), row.CreatedMs)
	answer.At = time.UnixMilli(at).UTC().Format("2006-01-02T15:04:05.000Z")
	output := answer.Output()
	payload, err := s.pack(ctx, value.Marshal(output))
	if err != nil {
		return err
	}
	err = s.engine.AnswerTask(ctx, engine.TaskAnswer{Task: row, Output: output, Write: func(tx *store.Tx, used bool) error {
		task := row // it may run more than once
		err := tx.AnswerTask(&task, who.actor, payload, at, used)
		if errors.Is(err, store.ErrConflict) {
			return errTaskChanged
		}
		for i := 0; i < len(files) && err == nil; i++ {
			err = tx.UseFile(files[i], row.Execution)
		}
		if err != nil {
			return err
		}
		if err := s.audit(ctx, tx, p, audit.TaskAnswered, taskTarget(&row), answerChanges(&answer, p)); err != nil {
			return err
		}
		return inTx(tx)
	}})
	if errors.Is(err, engine.ErrTaskEnded) || errors.Is(err, engine.ErrFinal) {
		return errTaskChanged
	}
	return storageError(err)
}

// taskFor reads a task that a person is to answer or to claim, and that person. Codes: human_task_not_found,
// insufficient_scope, not_assigned, excluded, claimed_by_other.
func (s *Service) taskFor(ctx context.Context, p *Principal, id chargehand.HumanTaskID, onBehalfOf string) (row store.HumanTask, who responder, err error) {
	err = s.view(ctx, func(r *store.Reader) error {
		if row, who, err = s.taskWith(r, p, id, ScopeTasksRespond); err != nil {
			return err
		}
		if onBehalfOf != "" {
			if who, err = s.onBehalfOf(r, p, who, &row, onBehalfOf); err != nil {
				return err
			}
		}
		if err := s.resolveExcluded(r, &row); err != nil {
			return err
		}
		if err := who.mayAct(&row); err != nil {
			return err
		}
		if row.Status == store.TaskClaimed && row.Claimant != who.actor {
			return s.claimedByOther(r, &row)
		}
		return nil
	})
	return row, who, err
}

// givenAnswer is the body of an answer.
type givenAnswer struct {
	outcome, comment, onBehalfOf string
	data                         value.Value
	hasData                      bool
	files                        []string
}

// readAnswer reads the body of an answer. Codes: invalid_body, unknown_field.
func readAnswer(body value.Value) (a givenAnswer, err error) {
	f, err := openBody(body, "outcome", "data", "comment", "files", "on_behalf_of")
	if err != nil {
		return a, err
	}
	a = f.answer()
	a.onBehalfOf, a.files = f.text("on_behalf_of", maxFieldText), f.shortTexts("files", human.MaxFiles)
	return a, f.err()
}

// answer reads what an answer to one task and one to many tasks have in common.
func (f *fields) answer() (a givenAnswer) {
	if !f.has("outcome") {
		f.fail("outcome", "required", "The field \"outcome\" is missing.")
	}
	a.outcome, a.comment = f.text("outcome", maxFieldText), f.text("comment", human.MaxComment)
	a.data, a.hasData = f.values["data"], f.values["data"] != nil
	if size := len(value.Marshal(a.data)); size > human.MaxAnswerBytes {
		f.fail("data", "too_long", fmt.Sprintf("The data takes %d bytes; at most %d are allowed.", size, human.MaxAnswerBytes))
	}
	return a
}

// maxFieldText bounds short texts of a body, in bytes.
const maxFieldText = 500

func answerInvalid(detail string, wrong []chargehand.FieldError) error {
	return chargehand.NewError(chargehand.CodeAnswerInvalid, detail, wrong[:min(len(wrong), maxFields)]...)
}

// checkAnswer holds an answer to the request. It returns the numbers of the files that it names. Codes: answer_invalid.
func (s *Service) checkAnswer(ctx context.Context, p *Principal, request *human.Request, given givenAnswer) (a human.Answer, files []int64, err error) {
	a = human.Answer{Outcome: given.outcome, Comment: given.comment, Data: given.data}
	var wrong []chargehand.FieldError
	if _, known := request.Outcome(given.outcome); !known {
		names := make([]string, len(request.Outcomes))
		for i, o := range request.Outcomes {
			names[i] = o.Name
		}
		detail := "The outcome is one of " + strings.Join(names, ", ") + "."
		if meant := Suggest(given.outcome, names); meant != "" {
			detail = "There is no such outcome. Did you mean \"" + meant + "\"?"
		}
		wrong = append(wrong, chargehand.FieldError{Pointer: "/outcome", Code: "unknown_outcome", Detail: detail})
	}
	ofForm, detail := checkForm(request, &given)
	if wrong = append(wrong, ofForm...); len(wrong) == 0 {
		wrong, err = s.answerFiles(ctx, p, request, &given, &a, &files)
	}
	if err != nil || len(wrong) == 0 {
		return a, files, err
	}
	if detail == "" || len(wrong) > len(ofForm) { // something else comes before the form
		detail = wrong[0].Detail
	}
	return a, nil, answerInvalid(detail, wrong)
}

// checkForm validates the data of an answer by the form. What is wrong is to be shown at the fields, and does not name
// them; detail is the first of it, with its field.
func checkForm(request *human.Request, given *givenAnswer) (wrong []chargehand.FieldError, detail string) {
	if request.Form == nil {
		if given.hasData {
			wrong = []chargehand.FieldError{{Pointer: "/data", Code: "no_form", Detail: "The task asks for no data."}}
		}
		return wrong, ""
	}
	schema, err := plan.CompileForm(request.Form)
	if err != nil { // the machine has compiled it before
		return []chargehand.FieldError{{Pointer: "/data", Code: "no_form", Detail: "The form of the task cannot be read: " + err.Error()}}, ""
	}
	data := given.data
	if data == nil {
		data = map[string]any{}
	}
	for i, problem := range schema.Validate(data) {
		if i == 0 {
			detail = problem.Detail + "."
		}
		wrong = append(wrong, chargehand.FieldError{Pointer: "/data" + problem.Pointer, Code: problem.Keyword, Detail: problem.Predicate + "."})
	}
	given.data = data
	return wrong, detail
}

// answerFiles finds the files that an answer names: those that were uploaded for it, and references in its data. The
// principal must be able to read them, because the execution will.
func (s *Service) answerFiles(
	ctx context.Context, p *Principal, request *human.Request, given *givenAnswer, a *human.Answer, numbers *[]int64,
) (wrong []chargehand.FieldError, err error) {
	a.Data = given.data
	upload := request.Upload
	switch {
	case upload == nil && len(given.files) > 0:
		return []chargehand.FieldError{{Pointer: "/files", Code: "no_upload", Detail: "The task asks for no files."}}, nil
	case upload == nil:
	case len(given.files) > upload.Max:
		return []chargehand.FieldError{{Pointer: "/files", Code: "too_many", Detail: fmt.Sprintf("At most %d files may be given.", upload.Max)}}, nil
	case upload.Required && len(given.files) == 0:
		return []chargehand.FieldError{{Pointer: "/files", Code: "required", Detail: "The task asks for a file."}}, nil
	}
	err = s.view(ctx, func(r *store.Reader) error {
		wrong, a.Files, *numbers = nil, nil, nil
		for i, text := range given.files {
			row, complaint, err := s.answerFile(r, p, upload, text)
			if err != nil {
				return err
			}
			if complaint != "" {
				wrong = append(wrong, chargehand.FieldError{Pointer: "/files/" + strconv.Itoa(i), Code: string(chargehand.CodeFileNotFound), Detail: complaint})
				continue
			}
			*numbers = append(*numbers, row.No)
			a.Files = append(a.Files, fileReference(&row))
		}
		known, err := s.inputFiles(r, p, given.data, "data")
		var invalid *chargehand.Error
		if errors.As(err, &invalid) && invalid.Code == chargehand.CodeInputInvalid {
			wrong = append(wrong, invalid.Fields...)
			return nil
		}
		if err == nil && len(known) > 0 {
			a.Data = withBase(given.data, "", known)
			*numbers = append(*numbers, slices.Collect(maps.Values(known))...)
		}
		return err
	})
	return wrong, err
}

// answerFile finds a file by its id or the address of its reference; complaint says what is wrong with it.
func (s *Service) answerFile(r *store.Reader, p *Principal, upload *human.Upload, text string) (row store.File, complaint string, err error) {
	id, ok := chargehand.ParseFileURI(text)
	if !ok {
		err := id.UnmarshalText([]byte(text))
		ok = err == nil
	}
	may := false
	if ok {
		if may, err = s.mayRead(r, p.reader(), id); err != nil {
			return row, "", err
		}
	}
	if !may {
		return row, "There is no file " + text + " that you may read. Upload it first: POST /files.", nil
	}
	if row, err = r.FileByID(p.AccountNo, p.Environment, id); err != nil {
		return row, "", err
	}
	if !upload.Accepts(row.Name, row.MediaType) {
		return row, "The file " + row.Name + " is none of: " + strings.Join(upload.Accept, ", ") + ".", nil
	}
	return row, "", nil
}

// fileReference is a file as an object in the data (docs/language/files.md).
func fileReference(f *store.File) map[string]any {
	of := machine.File{ID: f.ID.String(), Name: f.Name, MediaType: f.MediaType, Size: f.Size, Digest: "sha256:" + blob.DigestOf(f.Digest).String()}
	return of.Reference()
}

// answeredBefore compares an answer with the one that a task has, from which one that is not valid differs. A person is
// the same one with an id or an e-mail address, which the answer has of those who are no active users (onBehalfOf).
// Codes: answer_conflict, task_withdrawn.
func (s *Service) answeredBefore(ctx context.Context, row *store.HumanTask, who *responder, a *human.Answer, valid bool) error {
	if row.Status == store.TaskWithdrawn {
		return chargehand.NewError(chargehand.CodeTaskWithdrawn,
			"The task was withdrawn ("+machine.Withdrawal(row.Why).String()+") at "+atMs(row.EndedMs).Format(time.RFC3339)+".")
	}
	output, err := s.taskPayload(ctx, row.Answer)
	if err != nil {
		return err
	}
	was := human.AnswerOf(output)
	again := *a
	again.At, again.By.Name, again.By.Via = was.At, was.By.Name, was.By.Via
	if who.is(was.By.ID) {
		again.By.ID = was.By.ID
	}
	if valid && value.Equal(again.Output(), was.Output()) {
		return nil
	}
	return chargehand.NewError(chargehand.CodeAnswerConflict, "The task was answered by "+was.By.Name+" at "+was.At+".")
}

func taskTarget(row *store.HumanTask) audit.Target {
	return audit.Target{Kind: "human_task", ID: row.ID.String(), Name: row.Title}
}

// answerChanges are what the audit log says of an answer. Its data is in the task.
func answerChanges(a *human.Answer, p *Principal) audit.Changes {
	c := audit.Changes{}.Set("outcome", nil, a.Outcome)
	if a.By.ID != p.ActorID() {
		c.Set("on_behalf_of", nil, a.By.ID)
	}
	if a.By.Via.MadeBy != "" {
		c.Set("made_by", nil, a.By.Via.MadeBy)
	}
	if a.By.Via.Behind != "" {
		c.Set("behind", nil, a.By.Via.Behind)
	}
	return c
}
