package embedded

import (
	"context"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

// Human tasks are rows. Their rows are opened and withdrawn in the transaction of the event that asks for it, and
// answered in the transaction of the answer's event. All of this goes through the driver of the execution, so row,
// journal and status of an execution never disagree.

// AnswerTask implements engine.Engine.
func (e *Engine) AnswerTask(ctx context.Context, a engine.TaskAnswer) error {
	if !e.requests.Enter() {
		return store.ErrUnavailable
	}
	defer e.requests.Leave()
	event := machine.Event{Kind: machine.TaskAnswered, Command: machine.CommandID(a.Task.Command), Output: a.Output}
	return e.request(ctx, a.Task.Execution, event, []engine.InTx{func(tx *store.Tx) error { return a.Write(tx, true) }})
}

// OpenTask implements engine.Commands.
func (s *writeSet) OpenTask(c *machine.Command) {
	s.openTasks = append(s.openTasks, engine.OpenTask(&s.inst.row, c, s.inst.timeMs, s.inst.secrets))
}

// WithdrawTask implements engine.Commands. The task may not have been opened yet.
func (s *writeSet) WithdrawTask(c *machine.Command) {
	var found bool
	if s.openTasks, found = engine.WithoutTask(s.openTasks, c.ID); !found {
		s.withdrawTasks = append(s.withdrawTasks, *c)
	}
}

// writeTasks writes the rows of human tasks: answers first, before the end of the execution withdraws what is open. An
// execution that ends opens none.
func (s *writeSet) writeTasks(tx *store.Tx) error {
	for _, answer := range s.answers {
		if err := answer(tx); err != nil {
			return err
		}
	}
	for i := range s.withdrawTasks {
		c := &s.withdrawTasks[i]
		if _, err := engine.WithdrawTask(tx, s.inst.no, uint64(c.ID), c.Why, s.inst.timeMs); err != nil {
			return err
		}
	}
	if s.end != nil {
		return nil
	}
	for i := range s.openTasks {
		t := s.openTasks[i] // a copy: an attempt that is undone must leave no number
		t.Row.Execution = s.inst.no
		if err := tx.OpenTask(&t.Row, t.Candidates, t.RemindMs...); err != nil {
			return err
		}
	}
	return nil
}
