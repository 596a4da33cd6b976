package embedded

import (
	"context"
	"slices"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

// Suspend implements engine.Engine.
func (e *Engine) Suspend(ctx context.Context, id chargehand.ExecutionID, inTx ...engine.InTx) error {
	return e.requestOf(ctx, id, machine.Event{Kind: machine.SuspendRequested}, inTx)
}

// Resume implements engine.Engine.
func (e *Engine) Resume(ctx context.Context, id chargehand.ExecutionID, inTx ...engine.InTx) error {
	return e.requestOf(ctx, id, machine.Event{Kind: machine.ResumeRequested}, inTx)
}

func (e *Engine) requestOf(ctx context.Context, id chargehand.ExecutionID, event machine.Event, inTx []engine.InTx) error {
	if !e.requests.Enter() {
		return store.ErrUnavailable
	}
	defer e.requests.Leave()
	row, err := engine.FindUnfinished(ctx, e.store, id)
	if err != nil {
		return err
	}
	return e.request(ctx, row.No, event, inTx)
}

// switchSuspension applies the request to suspend or to resume an execution. That of a queued execution is
// in the phase of its row until its first event: it has no machine yet.
func (e *Engine) switchSuspension(s *writeSet, msg *message) {
	inst, ev := s.inst, msg.event
	suspend, queued := ev.Kind == machine.SuspendRequested, !inst.row.State.Begun()
	suspended := inst.row.Phase == chargehand.Suspended
	if !queued {
		suspended = inst.machine.Suspended()
	}
	if err := engine.CheckSuspension(suspend, suspended); err != nil {
		msg.answer(err)
		msg.kind = handled
		return
	}
	s.addHook(msg)
	if queued {
		inst.row.Phase, s.switched = chargehand.Pending, true
		if suspend {
			inst.row.Phase = chargehand.Suspended
		}
		return
	}
	if suspend {
		ids := e.takeNotBegun(s)
		if len(ids) > 0 {
			ev.Output = machine.NotBegun(ids)
		}
	}
	ev.TimeMs = max(inst.timeMs, e.nowMs())
	s.apply(ev)
}

// takeNotBegun returns the activities that have not begun, and keeps them from beginning. What the stop of the
// server has cut off had begun.
func (e *Engine) takeNotBegun(s *writeSet) (ids []machine.CommandID) {
	inst := s.inst
	requeueWaiting(inst)
	for _, c := range inst.machine.InFlight() {
		if c.Kind == machine.RunActivity && inst.callOf(c.ID) == nil && !(inst.recovering && slices.Contains(inst.cutOff, c.ID)) {
			ids = append(ids, c.ID)
		}
	}
	s.activities = slices.DeleteFunc(s.activities, func(c machine.Command) bool { return slices.Contains(ids, c.ID) })
	return ids
}
