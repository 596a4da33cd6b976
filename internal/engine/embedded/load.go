package embedded

import (
	"context"
	"errors"
	"fmt"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// history is what the store holds of an execution that has not ended.
type history struct {
	checkpoint *store.Checkpoint
	journal    []store.JournalRow // behind the checkpoint
}

func readHistory(r *store.Reader, no int64) (h history, err error) {
	var after int64
	c, err := r.Checkpoint(no)
	switch {
	case err == nil:
		h.checkpoint, after = &c, c.Seq
	case !errors.Is(err, store.ErrNotFound):
		return history{}, err
	}
	err = r.Journal(no, after, func(j *store.JournalRow) error {
		h.journal = append(h.journal, *j)
		return nil
	})
	return h, err
}

// load brings an execution into memory: its row and, unless it has ended, its machine. An
// *engine.Unrecoverable says that the row is there, but the machine can never be built again.
func (e *Engine) load(ctx context.Context, inst *instance) error {
	var row store.Execution
	var h history
	var made, lost []queuedRow
	err := e.store.View(ctx, func(tx *store.Reader) (err error) {
		if made, lost, err = findRows(tx, inst.childrenInDoubt); err != nil {
			return err
		}
		row, err = tx.ExecutionByNo(inst.no)
		if err == nil && row.State.Begun() {
			h, err = readHistory(tx, inst.no)
		}
		return err
	})
	switch {
	case errors.Is(err, store.ErrNotFound): // it was deleted after its end
		row = store.Execution{No: inst.no, State: store.StateEnded}
	case err != nil:
		return fmt.Errorf("load execution: %w", err)
	}
	if row.State != store.StateEnded && inst.queue == nil {
		if inst.queue, err = e.queueOf(&row); err != nil {
			return fmt.Errorf("load execution: %w", err)
		}
	}
	before := inst.row
	inst.row, inst.loaded, inst.machine, inst.secrets, inst.input = row, true, nil, nil, nil
	e.notifyRows(made)
	e.releaseStart(inDoubtStart{queued: lost})
	inst.childrenInDoubt = nil
	if before.No != 0 && before.State == store.StateQueued && row.State != store.StateQueued {
		e.leftQueue(inst, &before, false) // by a commit in doubt
	}
	if row.State == store.StateEnded {
		e.foundEnded(inst, before)
		return nil
	}
	if row.State == store.StateActive && inst.lease == nil {
		// A commit in doubt has started it.
		inst.lease, inst.inDoubt = e.slots.adopt(inst.queue), true
	}
	if inst.failures >= maxFailures {
		return engine.NewUnrecoverable(engine.CodeInternal, "The execution's next step could not be written, although the "+
			"storage is available. The server's log says more.")
	}
	if err := e.revive(ctx, inst, h); err != nil {
		var b *engine.Unrecoverable
		if !errors.As(err, &b) {
			inst.loaded = false
		}
		return err
	}
	return nil
}

// release gives back what an instance holds although its row has ended or is queued.
func (e *Engine) release(inst *instance) {
	withdrawCalls(inst)
	inst.timers = nil
	e.slots.release(inst.lease)
	inst.lease = nil
}

// revive builds the machine from checkpoint and journal, and finds the commands in flight.
func (e *Engine) revive(ctx context.Context, inst *instance, h history) error {
	if !inst.row.State.Begun() { // the only event that it can get here is its cancellation
		inst.machine = machine.New(nil, e.identity(&inst.row, nil))
		return nil
	}
	if unknown := engine.CheckRevision(inst.row.Machine); unknown != nil {
		return unknown
	}
	p, err := e.plan(ctx, inst.row.Revision)
	if err != nil {
		return err
	}
	secrets, err := e.readSecrets(ctx, &inst.row, p, engine.PinnedSecrets)
	if err != nil {
		return err
	}
	inst.secrets = secrets
	m, timeMs, err := e.replay(ctx, p, secrets, &inst.row, h)
	if err != nil {
		return err
	}
	inst.machine = m
	inst.timeMs = max(timeMs, inst.row.StartedMs, inst.row.ID.Milli())
	inst.seq = 0
	if h.checkpoint != nil {
		inst.seq = h.checkpoint.Seq
	}
	if n := len(h.journal); n > 0 {
		inst.seq = h.journal[n-1].Seq
	}
	inst.sinceCheckpoint = len(h.journal)
	inst.commandsPending = inst.row.State == store.StateReady || inst.row.State == store.StateActive
	if err := e.loadSubscriptions(inst); err != nil {
		return err
	}
	if err := e.loadChildren(inst); err != nil {
		return err
	}
	inst.timers = inst.timers[:0]
	var suspects []machine.CommandID
	running := make(map[machine.CommandID]bool)
	for _, c := range m.InFlight() {
		switch c.Kind {
		case machine.StartTimer:
			inst.timers = append(inst.timers, inst.timer(&c))
		case machine.RunActivity:
			running[c.ID] = true
			inst.hasDetached = inst.hasDetached || c.Detached
			suspects = append(suspects, c.ID)
		}
	}
	if inst.inDoubt {
		for _, t := range inst.timers {
			e.timers.of(t.Environment).add(t)
		}
	}
	if inst.recovering && !inst.cutOffKnown {
		inst.cutOff, inst.cutOffKnown = suspects, true
	}
	kept := inst.calls[:0]
	for _, c := range inst.calls {
		if running[c.command] {
			kept = append(kept, c)
		} else {
			c.pool.withdraw(c)
		}
	}
	inst.calls = kept
	return nil
}

// plan returns a compiled definition. Without it an execution can never continue.
func (e *Engine) plan(ctx context.Context, revision int64) (*plan.Plan, error) {
	p, err := e.config.Plans.Plan(ctx, revision)
	if err == nil {
		return p, nil
	}
	if errors.Is(err, store.ErrUnavailable) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("find plan: %w", err)
	}
	return nil, engine.Unreadable("definition", err)
}

// replay applies the journaled events to a machine and compares the digests of its commands.
func (e *Engine) replay(
	ctx context.Context, p *plan.Plan, secrets *engine.Secrets, row *store.Execution, h history,
) (m *machine.Machine, timeMs int64, err error) {
	if h.checkpoint == nil {
		m = machine.New(p, e.identity(row, secrets))
	} else {
		state, err := e.payload(ctx, h.checkpoint.State)
		if err != nil {
			return nil, 0, fmt.Errorf("read checkpoint: %w", err)
		}
		if state, err = secrets.Open(engine.SealedCheckpoint, state); err != nil {
			return nil, 0, engine.SecretsError("state", err)
		}
		m, err = machine.Restore(p, e.identity(row, secrets), state)
		if err != nil {
			return nil, 0, engine.Unreadable("state", err)
		}
	}
	for i := range h.journal {
		j := &h.journal[i]
		data, err := e.payload(ctx, j.Event)
		if err != nil {
			return nil, 0, fmt.Errorf("read event: %w", err)
		}
		if data, err = secrets.Open(engine.SealedEvent, data); err != nil {
			return nil, 0, engine.SecretsError("journal", err)
		}
		ev, err := machine.DecodeEvent(data)
		if err != nil {
			return nil, 0, engine.Unreadable(fmt.Sprintf("event %d", j.Seq), err)
		}
		if ev.Kind == machine.Started {
			if ev.Output, err = e.input(ctx, row); err != nil {
				return nil, 0, err
			}
		}
		if digest := machine.Digest(m.Apply(ev)); digest != j.Digest {
			return nil, 0, engine.NewUnrecoverable(engine.CodeReplayMismatch, fmt.Sprintf(
				"Event %d of the journal led to other commands than when it happened. This version of the server "+
					"decides differently; the execution was stopped rather than continued by guess.", j.Seq))
		}
		timeMs = ev.TimeMs
	}
	return m, timeMs, nil
}

// payload reads a payload from its row or from the blob store.
func (e *Engine) payload(ctx context.Context, p store.Payload) ([]byte, error) {
	return engine.ReadPayload(ctx, e.config.Blobs, p)
}

// input is the raw input of an execution; {} where none was given (T16).
func (e *Engine) input(ctx context.Context, row *store.Execution) (value.Value, error) {
	return engine.ReadInput(ctx, e.config.Blobs, row)
}
