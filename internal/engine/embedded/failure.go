package embedded

import (
	"context"
	"errors"

	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/pause"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// errEnded says that a write set came too late: another transaction has ended the execution.
var errEnded = errors.New("the execution has ended")

// failed treats a write set whose commit has failed. If the storage was unavailable, the commit may
// have been made all the same: it is in doubt.
func (e *Engine) failed(s *writeSet, err error) {
	e.notifyMatcher(s) // its events may have been written
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

// uncountChildren takes back that children of s are counted as queued. It returns the children that
// stay counted, because a commit in doubt may have started them.
func (e *Engine) uncountChildren(s *writeSet, inDoubt bool) (kept []queuedRow) {
	e.trees.release(s, s.reserved)
	if !s.childrenCounted {
		return nil
	}
	s.childrenCounted = false
	for i, child := range s.children {
		if inDoubt && s.childStarted[i] {
			kept = append(kept, queuedRowOf(&child.Row))
		} else {
			e.queued.leave(child.Row.Queue())
		}
	}
	return kept
}

// forgetTimers takes the timers of an execution out of memory. The next load reads them from the
// store.
func (e *Engine) forgetTimers(s *writeSet) {
	clock := e.timers.of(s.inst.row.Environment)
	for _, t := range s.inst.timers {
		clock.remove(t.Execution, t.Command)
	}
	for _, command := range s.stopTimers {
		clock.remove(s.inst.no, command)
	}
}

// stall treats the failed write set of an execution that has a row. The instance forgets its
// machine, and the messages go back to the mailbox for a later driver, which loads the execution
// again. The instance keeps its lease, because the row may say by now that it needs one.
func (e *Engine) stall(inst *instance, messages []message, err error) {
	var refused *requestError
	again := errors.As(err, &refused) || errors.Is(err, errEnded)
	if !again {
		e.stats.failures.Add(1)
	}
	kept := e.keepMessages(inst, messages, err, refused)
	if len(kept) == 0 {
		kept = []message{{kind: refresh}} // the driver loads what the store says now
	}
	inst.invalidate()
	inst.requeue(kept)
	switch {
	case again: // the other messages are applied without it
		e.goWork(func() { e.drive(inst) })
	case e.ctx.Err() != nil: // the engine has stopped
	case errors.Is(err, store.ErrUnavailable):
		e.outage.stall(inst)
	default:
		inst.failures++
		if inst.failures > maxFailures && inst.row.State == store.StateQueued { // to end it needs no lease
			e.slots.release(inst.lease)
			inst.lease = nil
		}
		e.log.Error("a write set failed", "execution", inst.row.ID, "failures", inst.failures, "error", err)
		e.goWork(func() {
			if pause.For(e.ctx, min(minBackoff<<min(inst.failures, 10), maxBackoff)) == nil {
				e.drive(inst)
			}
		})
	}
}

// keepMessages returns the messages that are to be applied again. A caller that waits for an answer
// gets the error at once; an error of a cancellation's own hook concerns only its caller. If memory
// is short, an outcome is dropped and its activity counts as interrupted.
func (e *Engine) keepMessages(inst *instance, messages []message, err error, refused *requestError) []message {
	var kept []message
	for _, msg := range messages {
		if msg.kind == handled {
			e.stats.retained.Add(-msg.bytes)
			continue
		}
		switch {
		case msg.event.Kind == machine.Progressed: // the stream waits until it is durable
		case errors.Is(err, errEnded): // the row says what to answer
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

// unavailable is the error of a caller whose request could not be written.
func unavailable(err error) error {
	if errors.Is(err, context.Canceled) {
		return store.ErrUnavailable
	}
	return err
}
