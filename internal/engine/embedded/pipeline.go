package embedded

import (
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

// step applies messages to one execution and carries the result through the pipeline (DESIGN.md
// "The pipeline"), which is the only way from an event to its effects, for new, queued and running
// executions alike:
//
//	prepare    apply the events to the machine, collect what they cause in a write set
//	commit     write it, together with the write sets of other executions
//	completed  carry out what the events command; or failed
//
// step reports false if the write set failed. Its messages are then back in the mailbox, and
// another goroutine will be the driver.
func (e *Engine) step(inst *instance, messages []message) bool {
	s := nextWriteSet(inst, messages)
	err := e.prepare(s)
	if err == nil && !s.idle && !s.empty() {
		err = e.commit(e.ctx, s.alone())
		if err == nil && s.conflict {
			err = errEnded
		}
	}
	if err != nil {
		e.failed(s, err)
		return false
	}
	e.completed(s)
	return true
}

// prepare applies the messages of s to the machine and makes the write set.
func (e *Engine) prepare(s *writeSet) error {
	inst := s.inst
	if slices.ContainsFunc(s.messages, func(m message) bool { return m.kind == recheckStart }) {
		e.forgetTimers(s) // an event may have loaded the execution before this message
		inst.invalidate()
	}
	if !inst.loaded {
		err := e.load(e.ctx, inst)
		if err := e.unlessUnrecoverable(s, err); err != nil {
			return err
		}
	}
	s.fromSeq = inst.seq
	for s.received < len(s.messages) && inst.row.State != store.StateEnded && s.finish == nil {
		e.receive(s, &s.messages[s.received])
		s.received++
	}
	if inst.row.State == store.StateQueued && s.finish == nil && inst.lease != nil {
		if err := e.unlessUnrecoverable(s, e.beginQueued(s)); err != nil {
			return err
		}
	}
	if inst.row.State == store.StateEnded || !inst.row.State.Begun() && s.finish == nil && !s.begin {
		s.row, s.idle = inst.row, !s.switched
		return nil
	}
	return e.assemble(e.ctx, s)
}

// unlessUnrecoverable makes s end its execution if err says that the execution can never continue.
// It returns any other error.
func (e *Engine) unlessUnrecoverable(s *writeSet, err error) error {
	if err == nil {
		return nil
	}
	var broken *engine.Unrecoverable
	if !errors.As(err, &broken) {
		return err
	}
	e.failExecution(s, broken.Fault)
	return nil
}

// failExecution ends an execution without its machine, mostly with an error of the system.
func (e *Engine) failExecution(s *writeSet, f *machine.Fault) {
	level := slog.LevelError
	if !f.System {
		level = slog.LevelInfo
	}
	e.log.Log(e.ctx, level, "an execution is ended by the system", "execution", s.inst.row.ID, "code", f.Code,
		"detail", s.inst.secrets.RedactText(f.Detail))
	s.fail(f, e.nowMs())
}

// assemble completes the write set after the events: it pulls in events and ends of children,
// decides the state of the row, and moves what is too large for a row into the blob store.
func (e *Engine) assemble(ctx context.Context, s *writeSet) error {
	s.filterSealer = s.inst.secrets.FilterSealer(e.config.Sealer)
	if err := e.pullExternal(s); err != nil {
		return err
	}
	if err := e.decideState(s); err != nil {
		return err
	}
	return s.offload(ctx, e.config.Blobs)
}

// commit makes write sets durable, all or none. A write set in conflict is the exception: its row
// had ended, so nothing of it was written.
func (e *Engine) commit(ctx context.Context, sets []*writeSet) error {
	for _, s := range sets {
		s.childrenCounted = true
		for _, child := range s.children {
			e.queued.add(child.Row.Queue())
		}
	}
	together, others := endTogether(sets)
	err := e.store.Update(ctx, func(tx *store.Tx) error {
		if err := writeEnds(tx, together); err != nil {
			return err
		}
		for _, s := range others {
			if err := e.write(tx, s); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	e.outage.end()
	for _, s := range sets {
		e.trees.release(s, s.reserved)
	}
	return nil
}

// write writes one write set. It runs inside the transaction.
func (e *Engine) write(tx *store.Tx, s *writeSet) error {
	s.conflict, s.rowWritten, s.written = false, false, false
	if s.insert {
		e.instances.takeOut(s.inst) // an attempt that was undone may have inserted it
	}
	if err := s.write(tx); err != nil {
		var refused *requestError // a hook's conflict is its own
		s.conflict = !s.insert && !s.rowWritten && errors.Is(err, store.ErrConflict) && !errors.As(err, &refused)
		if s.conflict {
			return nil
		}
		return err
	}
	if s.insert && s.end == nil && s.row.State != store.StateQueued {
		e.instances.insert(s.inst) // before another request can read the row
	}
	s.written = true
	return nil
}

// completed carries out what a durable write set commands, and answers its messages.
func (e *Engine) completed(s *writeSet) {
	inst := s.inst
	e.trees.release(s, s.reserved)
	if s.idle {
		e.release(inst)
	} else {
		inst.failures, inst.inDoubt = 0, false
		e.dispatch(s)
	}
	for i := range s.messages {
		if i >= s.received {
			e.dropLate(inst, &s.messages[i])
		}
		e.stats.retained.Add(-s.messages[i].bytes)
		s.messages[i].answer(nil)
	}
	s.reuse()
}
