package embedded

import (
	"context"
	"errors"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// errEnded says that a write set came too late: another transaction has ended the execution.
var errEnded = errors.New("the execution has ended")

// unrecoverableError says that an execution cannot be brought back to life, now or later.
type unrecoverableError struct{ fault *machine.Fault }

func (b *unrecoverableError) Error() string { return b.fault.Error() }

func unrecoverable(code, detail string) *unrecoverableError {
	return &unrecoverableError{engine.SystemFault(code, detail)}
}

// failed treats a write set that could not be written, or so it seems: if the storage was
// unavailable, the commit may have been made all the same, and is in doubt.
func (e *Engine) failed(s *writeSet, err error) {
	e.notifyMatcher(s) // its events may be there
	inDoubt := s.written && errors.Is(err, store.ErrUnavailable)
	queued := e.uncountChildren(s, inDoubt)
	if s.insert {
		e.undoInsert(s, inDoubt, queued)
		return
	}
	s.inst.childrenInDoubt = append(s.inst.childrenInDoubt, queued...)
	e.forgetTimers(s)
	e.stall(s.inst, s.messages, err)
}

// uncount takes back that children of s are counted as queued. It returns those that stay
// counted, because they may be there.
func (e *Engine) uncountChildren(s *writeSet, inDoubt bool) (kept []queuedRow) {
	e.trees.release(s, s.reserved)
	if !s.childrenCounted {
		return nil
	}
	s.childrenCounted = false
	for i, child := range s.children {
		if inDoubt && s.childStarted[i] {
			kept = append(kept, queuedRow{child.Row.ID, child.Row.Workflow})
		} else {
			e.queued.leave(child.Row.Workflow)
		}
	}
	return kept
}

// forgetTimers takes the timers of an execution out of memory. The store says which there are when it is
// loaded again.
func (e *Engine) forgetTimers(s *writeSet) {
	for _, t := range s.inst.timers {
		e.timers.remove(t.Execution, t.Command)
	}
	for _, command := range s.stopTimers {
		e.timers.remove(s.inst.no, command)
	}
}

// stall gives up a write set that failed: the machine is discarded, and the messages are
// delivered again later to the one that is rebuilt from the store. The lease is kept, because
// the row may say so by now.
func (e *Engine) stall(inst *instance, messages []message, err error) {
	var refused *requestError
	again := errors.As(err, &refused) || errors.Is(err, errEnded)
	if !again {
		e.stats.failures.Add(1)
	}
	kept := e.keepMessages(inst, messages, err, refused)
	if len(kept) == 0 {
		kept = []message{{kind: refresh}} // at what the store says now
	}
	inst.invalidate()
	inst.requeue(kept)
	switch {
	case again: // the others go on without it
		e.goWork(func() { e.drive(inst) })
	case e.ctx.Err() != nil: // the engine has stopped
	case errors.Is(err, store.ErrUnavailable):
		e.outage.stall(inst)
	default:
		inst.failures++
		if inst.failures > maxFailures && inst.row.State == store.StateQueued { // its end needs no lease
			e.slots.release(inst.lease)
			inst.lease = nil
		}
		e.log.Error("a write set failed", "execution", inst.row.ID, "failures", inst.failures, "error", err)
		e.goWork(func() {
			if e.sleep(min(minBackoff<<min(inst.failures, 10), maxBackoff)) {
				e.drive(inst)
			}
		})
	}
}

// retain sorts out the messages that are delivered again. Who waits for an answer is told
// at once, but a cancellation that was refused concerns its own caller only. Outcomes beyond
// what may be kept are given up: their activities run again.
func (e *Engine) keepMessages(inst *instance, messages []message, err error, refused *requestError) []message {
	var kept []message
	for _, msg := range messages {
		if msg.kind == handled {
			e.stats.retained.Add(-msg.bytes)
			continue
		}
		switch {
		case msg.event.Kind == machine.Progressed: // whoever has handed it over waits until it is durable
		case errors.Is(err, errEnded): // the row tells what to answer
		case msg.reply != nil && refused == nil:
			msg.answer(unavailable(err))
			continue
		case msg.reply != nil && refused != nil && msg.reply == refused.reply:
			msg.answer(refused.cause)
			continue
		}
		if msg.call != nil && msg.event.Kind == machine.ActivityEnded {
			if msg.bytes == 0 {
				msg.bytes = int64(1 + value.Size(msg.event.Output))
				e.stats.retained.Add(msg.bytes)
			}
			if e.stats.retained.Load() > e.limits.RetainedBytes {
				e.stats.retained.Add(-msg.bytes)
				e.log.Warn("an outcome is given up for lack of memory; its activity will run again",
					"execution", inst.no, "bytes", msg.bytes)
				msg.event = machine.Event{Kind: machine.Interrupted, Command: msg.event.Command}
				msg.bytes = 0
			}
			if inst.callOf(msg.call.command) == nil {
				inst.calls = append(inst.calls, msg.call) // its outcome has not been journaled
			}
		}
		kept = append(kept, msg)
	}
	return kept
}

// unavailable is what a caller is told whose request could not be written.
func unavailable(err error) error {
	if errors.Is(err, context.Canceled) {
		return store.ErrUnavailable
	}
	return err
}
