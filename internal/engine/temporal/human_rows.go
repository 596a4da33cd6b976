package temporal

import (
	"context"
	"errors"
	"fmt"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// AnswerTask implements engine.Engine. The row decides; the workflow hears of it from the outbox.
func (e *Engine) AnswerTask(ctx context.Context, a engine.TaskAnswer) error {
	return e.canceller.answer(ctx, a)
}

func (c *canceller) answer(ctx context.Context, a engine.TaskAnswer) error {
	var message store.OutboxMessage
	err := c.Store.Update(ctx, func(tx *store.Tx) error {
		row, err := tx.ExecutionByNo(a.Task.Execution)
		switch {
		case errors.Is(err, store.ErrNotFound) || err == nil && row.Status.Final():
			return engine.ErrFinal
		case err != nil:
			return err
		}
		if err := a.Write(tx, false); err != nil {
			return err
		}
		message = answerMessage(&a.Task, &row, c.Relay.leaseMs())
		return tx.InsertOutboxMessage(&message)
	})
	if err != nil {
		return err
	}
	c.Relay.handMessages([]store.OutboxMessage{message})
	return nil
}

// task is the activity that opens and withdraws human tasks, and reads their answers, in order. Repeating it changes
// nothing.
func (a *activities) task(ctx context.Context, k taskSteps) (taskStepsDone, error) {
	opened, err := a.openedTasks(ctx, &k)
	if err != nil {
		return taskStepsDone{}, err
	}
	var final bool
	var answered []store.HumanTask
	var made int
	err = a.Store.Update(ctx, func(tx *store.Tx) error {
		final, answered, made = false, nil, 0
		row, err := tx.LockExecution(k.No)
		switch {
		case errors.Is(err, store.ErrNotFound) || err == nil && row.ID != k.Execution:
			final = true
			return nil
		case err == nil && row.State == store.StateEnded:
			final = true
			return a.dropAnswers(tx, &k)
		}
		bytes := int64(0)
		for made < len(k.Steps) && bytes <= maxTaskAnswerBytes && err == nil {
			var task *store.HumanTask
			if task, err = a.taskStep(tx, &row, &k.Steps[made], opened[made]); task != nil {
				answered = append(answered, *task)
				bytes += task.Answer.Size
			}
			made++
		}
		return err
	})
	done := taskStepsDone{Made: made, Final: final, of: k.Execution, confidential: k.Confidential}
	for i := 0; i < len(answered) && err == nil; i++ {
		var output value.Value
		if output, err = engine.ReadAnswer(ctx, a.Blobs, &answered[i]); err == nil {
			done.Answers = append(done.Answers, taskAnswer{Command: answered[i].Command, Output: value.Marshal(output)})
		}
	}
	if err != nil {
		return taskStepsDone{}, fmt.Errorf("open and withdraw human tasks: %w", err)
	}
	return done, nil
}

// dropAnswers has answers count as not used that an execution had read, but no longer took in before it was ended by a
// decision in the database. That withdrew its open tasks.
func (a *activities) dropAnswers(tx *store.Tx, k *taskSteps) error {
	for i := range k.Steps {
		s := &k.Steps[i]
		if s.Withdraw == 0 || s.Timer != 0 {
			continue
		}
		if _, err := engine.WithdrawTask(tx, k.No, s.Command, s.Withdraw, a.nowMs()); err != nil {
			return err
		}
	}
	return nil
}

// openedTasks makes the tasks that are to be opened, by step, with large requests in the blob store.
func (a *activities) openedTasks(ctx context.Context, k *taskSteps) ([]*engine.OpenedTask, error) {
	opened := make([]*engine.OpenedTask, len(k.Steps))
	for i := range k.Steps {
		open := k.Steps[i].Open
		if open == nil {
			continue
		}
		request, err := value.Parse(open.Request, value.Limits{Depth: value.MaxDepth})
		if err != nil {
			return nil, fmt.Errorf("read the request of a human task: %w", err)
		}
		c := machine.Command{
			ID: machine.CommandID(k.Steps[i].Command), Task: open.ID, Args: request, Reference: open.Reference, Iterations: open.Iterations, Seq: open.Seq,
		}
		t := engine.OpenTask(&store.Execution{}, &c, open.OpenedMs, nil) // the workflow has redacted it
		if err := engine.Externalize(ctx, a.Blobs, &t.Row.Request); err != nil {
			return nil, fmt.Errorf("store the request of a human task: %w", err)
		}
		opened[i] = &t
	}
	return opened, nil
}

// taskStep makes one step. It returns the task if the step has found its answer.
func (a *activities) taskStep(tx *store.Tx, row *store.Execution, s *taskStep, open *engine.OpenedTask) (*store.HumanTask, error) {
	switch {
	case open != nil:
		if _, err := tx.HumanTaskOf(row.No, s.Command); !errors.Is(err, store.ErrNotFound) {
			return nil, err // an earlier attempt has opened it
		}
		t := open.Row
		t.Account, t.Environment, t.Workflow, t.Execution, t.Batch, t.Owner = row.Account, row.Environment, row.Workflow, row.No, row.Batch, row.StartedBy
		return nil, tx.OpenTask(&t, open.Candidates, open.RemindMs...)
	case s.Read:
		return usedAnswer(tx, row.No, s.Command)
	}
	status, err := engine.WithdrawTask(tx, row.No, s.Command, s.Withdraw, a.nowMs())
	if err != nil || s.Timer == 0 || status != store.TaskAnswered {
		return nil, err
	}
	return usedAnswer(tx, row.No, s.Command) // it came before the timeout
}

// usedAnswer reads an answer that the execution uses from now on; nil: there is none.
func usedAnswer(tx *store.Tx, execution int64, command uint64) (*store.HumanTask, error) {
	task, err := tx.UseAnswer(execution, command)
	if err != nil || task.Status != store.TaskAnswered {
		return nil, err
	}
	return &task, nil
}
