package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/chargehand/chargehand/internal/human"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/person"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// ErrTaskEnded is returned by AnswerTask for a human task that has been answered or withdrawn.
var ErrTaskEnded = errors.New("human task has ended")

// TaskAnswer is the answer of a person to a human task.
type TaskAnswer struct {
	Task   store.HumanTask // as it was read
	Output value.Value     // of the workflow's task (human.Answer)
	// Write ends the row of the task (store.Tx.AnswerTask) in the transaction that makes the answer decisive, together
	// with everything else that belongs to it. used says that the execution takes it in that transaction. It does
	// nothing but SQL, may run more than once, and its error undoes the answer.
	Write func(tx *store.Tx, used bool) error
}

// OpenedTask is a human task that is to be inserted.
type OpenedTask struct {
	Row        store.HumanTask // complete; No is set by the insertion
	Candidates []store.TaskCandidate
	RemindMs   []int64 // when to remind of it
}

// OpenTask makes the task of an OpenTask command of an execution, without secrets. Its Execution is that of the row,
// which may not be inserted yet.
func OpenTask(row *store.Execution, c *machine.Command, openedMs int64, s *Secrets) OpenedTask {
	request := s.Redact(c.Args)
	read, _ := human.Parse(request, nil) // the machine has held it to its contract
	t := OpenedTask{Row: store.HumanTask{
		ID: c.Task, Account: row.Account, Environment: row.Environment, Workflow: row.Workflow, Execution: row.No, Batch: row.Batch, Owner: row.StartedBy,
		Command: uint64(c.ID), Seq: c.Seq, Reference: c.Reference, Iterations: c.Iterations, Status: store.TaskOpen,
		Priority: read.Priority, DueMs: store.NeverDue, CreatedMs: openedMs, Title: read.Title,
		Assignees: store.TaskAssignees(read.Assignees), Request: Inline(request),
	}}
	if read.Due != nil {
		t.Row.DueMs = machine.AddSpan(openedMs, *read.Due)
	}
	for _, after := range read.Remind {
		t.RemindMs = append(t.RemindMs, machine.AddSpan(openedMs, after))
	}
	t.Candidates = Candidates(t.Row.Assignees)
	return t
}

// Candidates are those in whose lists a task with such assignees is.
func Candidates(a store.TaskAssignees) []store.TaskCandidate {
	list := make([]store.TaskCandidate, 0, len(a.Users)+len(a.Groups))
	for _, user := range a.Users {
		list = append(list, store.TaskCandidate{Kind: store.CandidateUser, Name: PersonKey(user)})
	}
	for _, group := range a.Groups {
		list = append(list, store.TaskCandidate{Kind: store.CandidateGroup, Name: person.Key(group)})
	}
	if len(list) == 0 {
		list = append(list, store.TaskCandidate{Kind: store.CandidateAnybody})
	}
	return list
}

// PersonKey is how a definition names a person, an e-mail address or the id of a user, in the form that is compared.
func PersonKey(text string) string {
	text = strings.TrimSpace(text)
	if _, key, complaint := person.Email(text); complaint == "" {
		return key
	}
	return strings.ToLower(text)
}

// ReadRequest is the request of a human task. Errors: *Unrecoverable, those of Blobs.
func ReadRequest(ctx context.Context, blobs Blobs, t *store.HumanTask) (value.Value, human.Request, error) {
	v, err := readValue(ctx, blobs, t.Request, "request of a human task")
	if err != nil {
		return nil, human.Request{}, err
	}
	request, _ := human.Parse(v, nil)
	return v, request, nil
}

// ReadAnswer is the answer of a human task that has been answered. Errors: *Unrecoverable, those of Blobs.
func ReadAnswer(ctx context.Context, blobs Blobs, t *store.HumanTask) (value.Value, error) {
	return readValue(ctx, blobs, t.Answer, "answer of a human task")
}

// WithoutTask removes the task of a command from a list of tasks to be opened. It reports whether it was there.
func WithoutTask(list []OpenedTask, command machine.CommandID) ([]OpenedTask, bool) {
	at := slices.IndexFunc(list, func(t OpenedTask) bool { return t.Row.Command == uint64(command) })
	if at < 0 {
		return list, false
	}
	return slices.Delete(list, at, at+1), true
}

// WithdrawTask ends the task of a WithdrawTask command.
func WithdrawTask(tx *store.Tx, execution int64, command uint64, why machine.Withdrawal, nowMs int64) (store.TaskStatus, error) {
	status, err := tx.WithdrawTask(execution, command, uint8(why), nowMs)
	if err != nil {
		return 0, fmt.Errorf("withdraw a human task: %w", err)
	}
	return status, nil
}
