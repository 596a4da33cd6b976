package embedded

import (
	"context"
	"errors"

	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// errEnded says that a write set came too late: another transaction has ended the execution.
var errEnded = errors.New("the execution has ended")

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

// undoInsert forgets a new execution. If it is in doubt, it is looked up by its id when commits
// succeed again: its number may be another execution's by then.
func (e *Engine) undoInsert(s *writeSet, inDoubt bool, queued []queuedRow) {
	inst := s.inst
	if inst.lease == nil { // it is queued itself
		queued = append(queued, queuedRow{inst.row.ID, inst.row.Workflow})
	}
	d := inDoubtStart{id: inst.row.ID, lease: inst.lease, queued: queued}
	inst.lease = nil
	remains := s.outcome == nil || len(s.children) > 0
	if !inDoubt || !remains || !e.outage.remember(d) {
		e.releaseStart(d)
	}
	if inst.no == 0 {
		return
	}
	messages, passed := e.instances.abandon(inst)
	if len(messages) > 0 {
		e.goWork(func() {
			for _, msg := range messages {
				e.send(inst.no, msg)
			}
		})
	}
	if passed {
		e.slots.notifyAllQueued() // its number was another execution's, which is queued
	}
}

// undo gives back what an execution has kept that does not exist.
func (e *Engine) releaseStart(d inDoubtStart) {
	e.slots.release(d.lease)
	for _, row := range d.queued {
		e.queued.leave(row.workflow)
	}
}

// recheck finds out what executions have become whose first commit is in doubt. The Update waits
// for a commit that the database is still working on.
func (e *Engine) recheck(starts []inDoubtStart) {
	const atOnce = 100
	for wait := minBackoff; len(starts) > 0; {
		n := min(len(starts), atOnce)
		rows := make([]store.Execution, n)
		err := e.store.Update(e.ctx, func(tx *store.Tx) error {
			for i, d := range starts[:n] {
				row, err := tx.FindExecution(d.id)
				if err != nil && !errors.Is(err, store.ErrNotFound) {
					return err
				}
				rows[i] = row
			}
			return nil
		})
		switch {
		case err == nil:
			for i, d := range starts[:n] {
				e.resolveStart(d, &rows[i])
			}
			starts, wait = starts[n:], minBackoff
		case errors.Is(err, store.ErrUnavailable):
			for _, d := range starts {
				e.outage.remember(d)
			}
			e.outage.begin()
			return
		case e.ctx.Err() != nil:
			return
		default:
			e.log.Error("look up executions that are in doubt", "count", len(starts), "error", err)
			e.sleep(wait)
			wait = min(2*wait, maxBackoff)
		}
	}
	e.slots.notifyAllQueued() // some may be queued
}

// rechecked brings an execution into memory that turned out to be there. row is zero if it is not.
func (e *Engine) resolveStart(d inDoubtStart, row *store.Execution) {
	switch {
	case row.No == 0:
		e.releaseStart(d)
	case row.State == store.StateEnded:
		e.slots.release(d.lease)
		e.endedInDoubt(*row)
	case row.State == store.StateQueued:
		e.slots.release(d.lease)
	default:
		e.goWork(func() { e.send(row.No, message{kind: recheckStart, lease: d.lease}) })
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
