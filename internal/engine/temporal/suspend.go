package temporal

import (
	"context"
	"errors"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

// Suspend implements engine.Engine.
func (e *Engine) Suspend(ctx context.Context, id chargehand.ExecutionID, inTx ...engine.InTx) error {
	return e.canceller.suspend(ctx, id, true, inTx)
}

// Resume implements engine.Engine.
func (e *Engine) Resume(ctx context.Context, id chargehand.ExecutionID, inTx ...engine.InTx) error {
	return e.canceller.suspend(ctx, id, false, inTx)
}

// suspend suspends or resumes an execution. The row decides, and the workflow hears of it from the outbox. A queued
// execution has no workflow yet: its start reads the row.
func (c *canceller) suspend(ctx context.Context, id chargehand.ExecutionID, on bool, inTx []engine.InTx) error {
	row, err := engine.FindUnfinished(ctx, c.Store, id)
	if err != nil {
		return err
	}
	var messages []store.OutboxMessage
	err = c.Store.Update(ctx, func(tx *store.Tx) error {
		messages = nil
		state, err := tx.SetSuspended(row.No, on)
		if errors.Is(err, store.ErrConflict) {
			return whyNotSwitched(&tx.Reader, row.No, on)
		}
		if err != nil {
			return err
		}
		if state != store.StateQueued && state != store.StateDelayed {
			message := store.OutboxMessage{
				Execution: row.No, ID: row.ID, Environment: row.Environment, Workflow: row.Workflow,
				Kind: store.OutboxResume, DueMs: c.Relay.leaseMs(),
			}
			if on {
				message.Kind = store.OutboxSuspend
			}
			if err := tx.InsertOutboxMessage(&message); err != nil {
				return err
			}
			messages = append(messages, message)
		}
		return engine.RunInTx(tx, inTx)
	})
	if err != nil {
		return err
	}
	c.Relay.handMessages(messages)
	c.Changed(row.ID)
	return nil
}

// whyNotSwitched is the error of a request that SetSuspended has refused.
func whyNotSwitched(r *store.Reader, no int64, on bool) error {
	row, err := r.ExecutionByNo(no)
	switch {
	case err != nil:
		return err
	case row.Status.Final():
		return engine.ErrFinal
	}
	return engine.CheckSuspension(on, row.Phase == chargehand.Suspended)
}

// switchSuspension takes in a message that suspends or resumes the execution. Messages may come in another order than
// they were written: an older one than the last one is void.
func (r *run) switchSuspension(m *message) {
	if m.No < r.switched {
		return
	}
	r.switched = m.No
	if m.Kind == kindResume {
		r.apply(machine.Event{Kind: machine.ResumeRequested})
	} else {
		held := r.held
		r.held = nil
		r.suspend(held)
	}
	r.slots.setPhase(r)
}

// suspend tells the machine that the execution is suspended, and which activities have not begun.
func (r *run) suspend(notBegun []machine.Command) {
	ev := machine.Event{Kind: machine.SuspendRequested}
	if len(notBegun) > 0 {
		ids := make([]machine.CommandID, len(notBegun))
		for i := range notBegun {
			ids[i] = notBegun[i].ID
		}
		ev.Output = machine.NotBegun(ids)
	}
	r.apply(ev)
}

// requeue takes back an activity that no worker has begun. Unless the execution is suspended, the machine need not know
// it.
func (r *run) requeue(c *machine.Command) {
	if r.machine.Suspended() {
		r.suspend([]machine.Command{*c})
		return
	}
	r.held = append(r.held, *c)
}
