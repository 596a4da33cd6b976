package embedded

import (
	"slices"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/fair"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

// dispatch carries out what a durable write set asks for.
func (e *Engine) dispatch(s *writeSet) {
	r, before := s.run, s.run.row
	r.row = s.row
	if s.begin {
		e.stats.started.Add(1)
	}
	switch {
	case s.insert && r.row.State == store.StateQueued:
		e.stats.queued.Add(1)
		e.slots.queued(r.queue)
		return
	case !s.insert && before.State == store.StateQueued:
		e.leftQueue(r, &before, s.grouped)
	}
	if s.resumed {
		r.recovering, r.suspects = false, nil
	}
	if r.lease != nil && r.row.State != store.StateActive {
		e.slots.release(r.lease)
		r.lease = nil
	}
	if s.wake {
		e.slots.wake(r.queue, r.no)
	}
	e.moveTimers(s)
	for _, id := range s.stops {
		if c := r.callOf(id); c != nil {
			r.dropCall(c)
			c.pool.withdraw(c)
		}
	}
	e.stats.published.Add(int64(len(s.events)))
	e.pokePump(s)
	e.resumeStreams(r)
	e.listenCommitted(s)
	e.childrenCommitted(s)
	if s.outcome != nil {
		e.ended(s)
	} else {
		e.dispatchActivities(s)
	}
	if s.lookAgain && s.outcome == nil {
		e.goWork(func() { e.send(r.no, message{kind: look}) })
	}
	if r.row.Status != before.Status {
		e.watches.notify(r.row.ID)
	}
	if s.begin && r.row.Batch != 0 {
		e.watches.notify(r.queue.batchID) // the first one makes it running
	}
}

// leftQueue notes that an execution is not queued any more.
func (e *Engine) leftQueue(r *run, before *store.Execution, scheduled bool) {
	if before.Batch == 0 {
		e.queued.leave(before.Workflow)
	}
	if !scheduled {
		e.slots.left(r.queue)
	}
}

func (e *Engine) moveTimers(s *writeSet) {
	r := s.run
	for _, command := range s.stopTimers {
		e.timers.remove(r.no, command)
	}
	if s.outcome != nil {
		for _, t := range r.timers {
			e.timers.remove(t.Execution, t.Command)
		}
		r.timers = nil
		return
	}
	for _, t := range s.startTimers {
		e.timers.add(t)
	}
}

// ended lets go of everything that an execution held.
func (e *Engine) ended(s *writeSet) {
	r := s.run
	e.noteEnd(&r.row)
	withdrawCalls(r)
	if r.row.Status == chargehand.Finished && !e.stopping.Load() {
		for i := range s.activities {
			if s.activities[i].Detached {
				e.startActivity(r, &s.activities[i])
			}
		}
	}
	r.calls, r.machine, r.secrets = nil, nil, nil
	r.row.Input = store.Payload{}
	if s.batchFinal {
		e.slots.forget(r.row.Batch)
		e.watches.notify(r.queue.batchID)
	}
}

// noteEnd counts and traces the end of an execution.
func (e *Engine) noteEnd(row *store.Execution) {
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

// withdrawCalls ends the activities of an execution that has ended. What nothing waits for goes
// on, unless the execution has failed (T67).
func withdrawCalls(r *run) {
	for _, c := range r.calls {
		if !c.detached || r.row.Status != chargehand.Finished {
			c.pool.withdraw(c)
		}
	}
	r.calls = nil
}

// dispatchActivities starts the activities that may start and answers a yield. What may not start yet
// is found in the machine later.
func (e *Engine) dispatchActivities(s *writeSet) {
	r := s.run
	if r.row.State != store.StateActive || r.recovering || e.stopping.Load() {
		r.held = r.held || len(s.activities) > 0 || s.yielded
		return
	}
	activities, yielded := s.activities, s.yielded
	if r.held {
		r.held = false
		activities = r.machine.InFlight()
		yielded = r.machine.Load().Yielded
	}
	for i := range activities {
		c := &activities[i]
		if c.Kind == machine.RunActivity && r.callOf(c.ID) == nil {
			e.startActivity(r, c)
		}
	}
	if yielded {
		e.continueLater(r)
	}
}

// continueLater answers a yield when it is this execution's turn to compute.
func (e *Engine) continueLater(r *run) {
	owner := fair.Owner{Environment: r.row.Environment, Workflow: r.row.Workflow}
	e.goWork(func() {
		if e.yields.Enter(e.ctx, owner) != nil {
			return // the engine has stopped
		}
		defer e.yields.Leave(owner)
		e.send(r.no, message{kind: deliver, event: machine.Event{Kind: machine.Continued}})
	})
}

// requeueWaiting takes activities that have not started out of the line, so that the stop of
// the server does not count as their interruption.
func requeueWaiting(r *run) {
	for _, c := range slices.Clone(r.calls) {
		if c.pool.unqueue(c) {
			r.dropCall(c)
			r.held = true
		}
	}
}
