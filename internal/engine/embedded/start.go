package embedded

import (
	"context"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/store"
)

// Start implements engine.Engine. The new execution goes through the pipeline at once if a slot is
// free. Otherwise its row becomes queued.
func (e *Engine) Start(ctx context.Context, start engine.Start) (store.Execution, error) {
	if !e.requests.Enter() {
		return store.Execution{}, store.ErrUnavailable
	}
	defer e.requests.Leave()
	if start.Row.StartMs > e.nowMs() {
		return e.startDelayed(ctx, start)
	}
	row := start.Row
	row.StartMs = 0 // no delay, or one that is over already: the bound of the queue counts it
	row.Status, row.Phase, row.State = chargehand.Initial, chargehand.Pending, store.StateQueued
	row.Machine, row.StartedMs, row.FinishedMs = machine.Revision, 0, 0
	q, lease := e.slots.acquireNew(row.Account, ownerOf(&row))
	if lease == nil && !e.queued.enter(row.Queue()) {
		return store.Execution{}, engine.ErrQueueFull
	}
	inst := &instance{
		driven: true, loaded: true, row: row, queue: q, lease: lease,
		input: start.Input, inputFiles: start.Files,
	}
	s := &writeSet{inst: inst, insert: true, inTx: start.InTx, row: row}
	err := e.prepareNew(ctx, s, &start)
	if err == nil {
		err = e.commit(ctx, s.alone())
	}
	if err != nil {
		e.failed(s, err)
		return store.Execution{}, e.callerError(ctx, err)
	}
	if s.end != nil && start.Outcome != nil {
		*start.Outcome = s.end.Outcome
	}
	e.completed(s)
	row = inst.row
	if row.State != store.StateEnded && row.State != store.StateQueued {
		e.finishDriving(inst)
	}
	return row, nil
}

// prepareNew is prepare for an execution that has no row yet. Without a lease the execution becomes
// queued, and the write set holds nothing but its row.
func (e *Engine) prepareNew(ctx context.Context, s *writeSet, start *engine.Start) error {
	if s.inst.lease == nil {
		if start.Position == nil {
			return nil
		}
		first, err := engine.StorePosition(ctx, e.config.Blobs, e.config.Sealer, &s.row, start.Plan, start.Position)
		if err == nil {
			s.journal = append(s.journal, *first)
		}
		return err
	}
	var first *machine.Event
	if start.Position != nil {
		event := start.Position.Event(s.row.ID.Milli())
		first = &event
	}
	if err := e.unlessUnrecoverable(s, e.begin(s, start.Plan, first)); err != nil {
		return err
	}
	return e.assemble(ctx, s)
}

// beginQueued applies the first event of an execution that has waited in its queue.
func (e *Engine) beginQueued(s *writeSet) error {
	inst := s.inst
	withdrawn, err := e.cancelWithdrawn(s)
	if err != nil || withdrawn {
		return err
	}
	s.begin = true
	if unknown := engine.CheckRevision(inst.row.Machine); unknown != nil {
		return unknown
	}
	p, err := e.plan(e.ctx, inst.row.Revision)
	if err != nil {
		return err
	}
	if inst.input, err = e.input(e.ctx, &inst.row); err != nil {
		return err
	}
	first, err := engine.ReadPosition(e.ctx, e.store, e.config.Blobs, e.config.Sealer, &inst.row, p)
	if err != nil {
		return err
	}
	return e.begin(s, p, first)
}

// cancelWithdrawn cancels a queued child instead of starting it, if the child is certain to be
// cancelled: it would only start more executions of a tree that ends.
func (e *Engine) cancelWithdrawn(s *writeSet) (withdrawn bool, err error) {
	inst := s.inst
	if inst.row.Batch != 0 || !e.canceller.busy() {
		return false, nil
	}
	var link store.Child
	err = e.store.View(e.ctx, func(rd *store.Reader) (err error) {
		link, withdrawn, err = engine.Withdrawn(rd, inst.no)
		return err
	})
	if err != nil || !withdrawn {
		return false, err
	}
	s.withdrawn = &link
	inst.machine = machine.New(nil, e.identity(&inst.row, nil))
	s.apply(machine.Event{
		Kind: machine.CancelRequested, TimeMs: max(e.nowMs(), inst.row.ID.Milli()), Detail: engine.ChildCancelled,
	})
	return true, nil
}

// begin applies the first events of an execution that holds a lease. first gives it its position; nil: it has none.
func (e *Engine) begin(s *writeSet, p *plan.Plan, first *machine.Event) error {
	inst := s.inst
	s.begin = true
	secrets, err := e.readSecrets(e.ctx, &inst.row, p, engine.ReadSecrets)
	if err != nil {
		return err
	}
	id := e.identity(&inst.row, secrets)
	inst.secrets, inst.machine = secrets, machine.New(p, id)
	nowMs := max(e.nowMs(), inst.row.ID.Milli())
	suspended := inst.row.Phase == chargehand.Suspended
	inst.row.Status, inst.row.Phase, inst.row.State = chargehand.Initial, chargehand.Pending, store.StateQueued
	inst.row.StartedMs = nowMs
	switch {
	case first == nil:
	case s.insert:
		s.apply(*first)
	default: // the journal has it
		inst.machine.Apply(*first)
		inst.seq = 1
	}
	if suspended {
		s.apply(machine.Event{Kind: machine.SuspendRequested, TimeMs: nowMs})
	}
	s.apply(engine.StartedEvent(id, nowMs, inst.input, e.config.Lifecycle))
	return nil
}

func (e *Engine) identity(row *store.Execution, secrets *engine.Secrets) machine.Identity {
	return machine.Identity{
		Execution: row.ID, Revision: row.Machine,
		RuntimeVersion: e.config.RuntimeVersion, RuntimeMetadata: e.config.RuntimeMetadata,
		Secrets: secrets.Values(),
	}
}
