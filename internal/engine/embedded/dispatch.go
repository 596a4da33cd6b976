package embedded

import (
	"slices"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/fair"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

// dispatch carries out what a durable write set commands.
func (e *Engine) dispatch(s *writeSet) {
	inst, before := s.inst, s.inst.row
	inst.row = s.row
	if s.begin {
		e.stats.started.Add(1)
	}
	switch {
	case s.insert && inst.row.State == store.StateQueued:
		e.stats.queued.Add(1)
		e.slots.notifyQueued(inst.queue)
		return
	case !s.insert && !inst.row.State.Begun() && s.end == nil: // its suspension has begun or ended
		e.slots.noteDeparture(inst.queue) // a scheduler may have read the row as it was before
		e.release(inst)
		return
	case !s.insert && before.State == store.StateQueued:
		e.leftQueue(inst, &before, s.grouped)
	}
	if s.resumed {
		inst.recovering, inst.cutOff = false, nil
	}
	if inst.lease != nil && inst.row.State != store.StateActive {
		e.slots.release(inst.lease)
		inst.lease = nil
	}
	if s.awaitsLease {
		e.slots.enqueueReady(inst.queue, inst.no)
	}
	e.updateTimers(s)
	for _, id := range s.stopActivities {
		if c := inst.callOf(id); c != nil {
			inst.dropCall(c)
			c.pool.withdraw(c)
		}
	}
	e.stats.published.Add(int64(len(s.publications)))
	e.notifyMatcher(s)
	e.resumeStreams(inst)
	e.dispatchSubscriptions(s)
	e.dispatchChildren(s)
	if s.end != nil {
		e.releaseEnded(s)
	} else {
		e.dispatchActivities(s)
	}
	if s.refreshAgain && s.end == nil {
		e.goWork(func() { e.send(inst.no, message{kind: refresh}) })
	}
	switch {
	case inst.row.Status == before.Status,
		s.insert && s.end == nil: // who has seen a new row has seen this status
		e.watchers.followers.moved(inst.row.ID)
	default:
		e.watchers.notify(inst.row.ID)
	}
	if inst.row.Batch != 0 && inst.row.State != before.State {
		e.watchers.followers.moved(inst.queue.batchID)
	}
	if s.begin && inst.row.Batch != 0 {
		e.watchers.notify(inst.queue.batchID) // its first execution makes the batch running
	}
}

// leftQueue notes that an execution is no longer queued.
func (e *Engine) leftQueue(inst *instance, before *store.Execution, scheduled bool) {
	if before.Batch == 0 && before.StartMs == 0 { // the bound of the queue counts none that were delayed
		e.queued.leave(before.Queue())
	}
	if !scheduled {
		e.slots.noteDeparture(inst.queue)
	}
}

// updateTimers brings the timers in memory in line with a durable write set.
func (e *Engine) updateTimers(s *writeSet) {
	inst := s.inst
	clock := e.timers.of(inst.row.Environment)
	for _, command := range s.stopTimers {
		clock.remove(inst.no, command)
	}
	if s.end != nil {
		for _, t := range inst.timers {
			clock.remove(t.Execution, t.Command)
		}
		inst.timers = nil
		return
	}
	for _, t := range s.startTimers {
		clock.add(t)
	}
}

// releaseEnded gives back everything that an ended execution holds.
func (e *Engine) releaseEnded(s *writeSet) {
	inst := s.inst
	e.countEnd(&inst.row)
	withdrawCalls(inst)
	if inst.row.Status == chargehand.Finished && !e.stopping.Load() {
		for i := range s.activities {
			if s.activities[i].Detached {
				e.startActivity(inst, &s.activities[i])
			}
		}
	}
	inst.calls, inst.machine, inst.secrets = nil, nil, nil
	inst.row.Input = store.Payload{}
	if s.batchFinal {
		e.slots.forget(inst.row.Batch)
		e.watchers.notify(inst.queue.batchID)
	}
}

// countEnd counts and traces the end of an execution.
func (e *Engine) countEnd(row *store.Execution) {
	if e.config.Tracer != nil && row.Trace != nil {
		row := *row
		e.goWork(func() { engine.TraceEnd(e.ctx, e.config.Tracer, e.store, &row, e.log) })
	}
	if row.Status == chargehand.Finished {
		e.stats.finished.Add(1)
	} else {
		e.stats.failed.Add(1)
	}
}

// withdrawCalls ends the activities of an ended execution. Detached activities continue, unless the
// execution has failed (T67).
func withdrawCalls(inst *instance) {
	for _, c := range inst.calls {
		if !c.detached || inst.row.Status != chargehand.Finished {
			c.pool.withdraw(c)
		}
	}
	inst.calls = nil
}

// dispatchActivities starts activities and answers a yield. Commands that may not start yet are
// found in the machine later.
func (e *Engine) dispatchActivities(s *writeSet) {
	inst := s.inst
	if inst.row.State != store.StateActive || inst.recovering || e.stopping.Load() {
		inst.commandsPending = inst.commandsPending || len(s.activities) > 0 || s.yielded
		return
	}
	activities, yielded := s.activities, s.yielded
	if inst.commandsPending {
		inst.commandsPending = false
		activities = inst.machine.InFlight()
		yielded = inst.machine.Load().Yielded
	}
	for i := range activities {
		c := &activities[i]
		if c.Kind == machine.RunActivity && inst.callOf(c.ID) == nil {
			e.startActivity(inst, c)
		}
	}
	if yielded {
		e.continueYielded(inst)
	}
}

// continueYielded answers a yield when it is this execution's turn to compute.
func (e *Engine) continueYielded(inst *instance) {
	owner := fair.Owner{Environment: inst.row.Environment, Workflow: inst.row.Workflow}
	e.goWork(func() {
		if e.yieldGate.Enter(e.ctx, owner) != nil {
			return // the engine has stopped
		}
		defer e.yieldGate.Leave(owner)
		e.send(inst.no, message{kind: applyEvent, event: machine.Event{Kind: machine.Continued}})
	})
}

// requeueWaiting takes activities that have not started out of their pools, so that the stop of the
// server does not count as an interruption.
func requeueWaiting(inst *instance) {
	for _, c := range slices.Clone(inst.calls) {
		if c.pool.unqueue(c) {
			inst.dropCall(c)
			inst.commandsPending = true
		}
	}
}
