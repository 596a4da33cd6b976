package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/chargehand/chargehand/client"
	"github.com/chargehand/chargehand/internal/form"
	"github.com/chargehand/chargehand/internal/form/draft"
	"github.com/chargehand/chargehand/internal/value"
)

// taskForm asks a person for the answer to a human task. What was entered stays until the answer is sent, whatever the
// server says of it.
type taskForm struct {
	*connection
	api   *client.Client
	task  *client.HumanTask
	asker asker
	local draft.Local

	hasForm bool
	whole   form.Field
	draft   draft.Draft
	asked   map[string]bool // controls that the person has seen, by their names
	answer  client.HumanTaskAnswer
}

// answerByForm asks for the answer to a task and sends it.
func (c *connection) answerByForm(ctx context.Context, api *client.Client, t *client.HumanTask, a *answering) error {
	if t.Final() {
		return fmt.Errorf("the task %s is %s: it takes no answer", t.ID, t.Status)
	}
	f := &taskForm{
		connection: c, api: api, task: t, asker: c.newAsker(), local: draft.Local{Zone: time.Local, Now: time.Now()}, asked: map[string]bool{},
		answer: client.HumanTaskAnswer{Comment: a.comment, OnBehalfOf: a.onBehalfOf},
	}
	if err := f.open(); err != nil {
		return err
	}
	if err := uploadAnswerFiles(ctx, api, a.files, &f.answer); err != nil {
		return err
	}
	f.introduce()
	answered, err := f.run(ctx)
	if errors.Is(err, errLeft) {
		fmt.Fprintln(c.err, "nothing was sent: the task stays open")
		return &exitError{code: exitInterrupted}
	}
	if err != nil {
		return err
	}
	return c.answered(answered)
}

// open makes the form of the task.
func (f *taskForm) open() error {
	if len(f.task.Form) == 0 {
		return nil
	}
	outline, err := outlineOf(f.task.Outline)
	if err != nil {
		return err
	}
	var data value.Value
	if len(f.task.Data) > 0 {
		if data, err = parseValue(f.task.Data); err != nil {
			return err
		}
	}
	f.hasForm = true
	f.whole, f.draft = draft.Open(outline, data, f.local)
	return nil
}

// introduce tells the person what is asked.
func (f *taskForm) introduce() {
	t := f.task
	fmt.Fprintf(f.err, "%s\n%s", f.paint("1", printable(t.Title)), printable(t.Workflow))
	if t.DueAt != nil {
		fmt.Fprintf(f.err, ", due %s", exactly(t.DueAt))
	}
	if t.ClaimedBy != nil {
		fmt.Fprintf(f.err, ", claimed by %s", printable(personText(t.ClaimedBy)))
	}
	fmt.Fprintf(f.err, "\n%s", taskContent(t))
	controls, _ := draft.Controls(&f.whole, &f.draft, f.local)
	for i := range controls {
		if c := &controls[i]; c.Field.ReadOnly && c.Role == draft.Leaf && c.There {
			fmt.Fprintf(f.err, "%s: %s\n", f.titleOf(controls, c), f.brief(c))
		}
	}
}

// run asks until an answer is accepted.
func (f *taskForm) run(ctx context.Context) (*client.HumanTask, error) {
	if f.hasForm {
		if err := f.fill(ctx, ""); err != nil {
			return nil, err
		}
	}
	if err := f.askFiles(ctx, ""); err != nil {
		return nil, err
	}
	for {
		data, ok, err := f.read(ctx)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		send, err := f.decide(ctx)
		if err != nil {
			return nil, err
		}
		if !send {
			continue
		}
		f.answer.Data = data
		answered, err := f.api.AnswerHumanTask(ctx, f.task.ID, f.answer)
		if err == nil {
			return answered, nil
		}
		if err := f.refused(ctx, err); err != nil {
			return nil, err
		}
	}
}

// read is what was entered as JSON; ok is false if something was wrong with it, and the person was asked again.
func (f *taskForm) read(ctx context.Context) (data []byte, ok bool, err error) {
	if !f.hasForm {
		return nil, true, nil
	}
	v, wrong := draft.Read(&f.whole, &f.draft, f.local)
	if len(wrong) == 0 {
		return value.Marshal(v), true, nil
	}
	list := make([]client.FieldError, len(wrong))
	for i, w := range wrong {
		list[i] = client.FieldError{Pointer: w.Pointer, Detail: w.Text()}
	}
	return nil, false, f.mend(ctx, list)
}

// decide asks for a comment and the outcome. send is false if something is to be changed before.
func (f *taskForm) decide(ctx context.Context) (send bool, err error) {
	comment := &question{asks: askLine, title: "Comment", text: f.answer.Comment}
	if strings.Contains(f.answer.Comment, "\n") {
		comment.asks = askLines
	}
	decision := &question{asks: askOne, title: "Decision", chosen: []int{0}}
	outcomes := f.task.Outcomes
	for i, o := range outcomes {
		decision.options = append(decision.options, printable(firstOf(o.Title, o.Name)))
		if o.Name == f.answer.Outcome {
			decision.chosen[0] = i
		}
	}
	if f.hasForm || f.task.Upload != nil {
		decision.options = append(decision.options, "(change what was entered)")
	}
	decision.options = append(decision.options, "(leave the task open)")
	if err := f.asker.ask(ctx, "", []*question{comment, decision}); err != nil {
		return false, err
	}
	f.answer.Comment = comment.text
	switch at := decision.chosen[0]; {
	case at < len(outcomes):
		f.answer.Outcome = outcomes[at].Name
		return true, nil
	case at == len(decision.options)-1:
		return false, errLeft
	}
	return false, f.change(ctx)
}

// refused shows what the server says of an answer. It returns an error if no other answer can be accepted.
func (f *taskForm) refused(ctx context.Context, err error) error {
	var answer *client.Error
	switch {
	case ctx.Err() != nil:
		return errLeft
	case errors.As(err, &answer) && answer.Code == "answer_invalid":
		return f.mend(ctx, dataErrors(answer))
	case errors.As(err, &answer) && answer.Status < http.StatusInternalServerError && answer.Status != http.StatusTooManyRequests:
		f.keep()
		return err
	}
	fmt.Fprintf(f.err, "\n%s\nWhat was entered is kept; send it again.\n", printableLines(err.Error()))
	return nil
}

// dataErrors are the problems of an answer with pointers into its data; others have none.
func dataErrors(answer *client.Error) []client.FieldError {
	var list []client.FieldError
	for _, e := range answer.Errors {
		if pointer, ok := strings.CutPrefix(e.Pointer, "/data"); ok {
			list = append(list, client.FieldError{Pointer: pointer, Detail: e.Detail})
		} else if strings.HasPrefix(e.Pointer, "/files") {
			list = append(list, client.FieldError{Pointer: filesPointer, Detail: e.Detail})
		} else {
			list = append(list, client.FieldError{Pointer: elsewhere, Detail: e.Detail})
		}
	}
	if len(list) == 0 {
		list = append(list, client.FieldError{Pointer: elsewhere, Detail: answer.Error()})
	}
	return list
}

// Pointers of what is no part of the form: no JSON pointer begins without a slash.
const (
	filesPointer = "files"
	elsewhere    = "elsewhere"
)

// keep prints what was entered, where it cannot be sent any more.
func (f *taskForm) keep() {
	if !f.hasForm {
		return
	}
	if v, _ := draft.Read(&f.whole, &f.draft, f.local); v != nil {
		fmt.Fprintf(f.err, "what was entered: %s\n", printable(string(value.Marshal(v))))
	}
}
