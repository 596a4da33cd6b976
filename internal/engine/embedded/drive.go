package embedded

import (
	"slices"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

// send leaves a message for an execution and drives it, unless somebody else does.
func (e *Engine) send(no int64, msg message) {
	if r, drive := e.runs.put(no, msg); drive {
		e.drive(r)
	}
}

// drive is the driver of r until its mailbox is empty, or it has stalled.
func (e *Engine) drive(r *run) {
	for {
		messages := e.take(r)
		if messages == nil {
			return
		}
		if !e.step(r, messages) {
			return
		}
		r.recycle(messages)
	}
}

// take empties the mailbox of r. With nothing in it, the caller is no longer the driver.
func (e *Engine) take(r *run) []message {
	q := r.queue
	messages, passed := e.runs.take(r)
	if passed && q != nil {
		e.slots.queued(q) // it may be queued still
	}
	return messages
}

// finishDriving ends the caller's part as the driver of r. If messages have come in, they get
// a driver of their own.
func (e *Engine) finishDriving(r *run) {
	messages := e.take(r)
	if messages == nil {
		return
	}
	e.goWork(func() {
		if e.step(r, messages) {
			r.recycle(messages)
			e.drive(r)
		}
	})
}

// receive takes in one message.
func (e *Engine) receive(s *writeSet, msg *message) {
	switch msg.kind {
	case deliver:
		e.event(s, msg)
	case grant:
		e.granted(s, msg)
	case overdue:
		e.fireOverdue(s)
	case resume:
		e.countInterruptions(s)
	case recheck:
		e.holdLease(s.run, msg)
	case listen:
		s.run.wake(msg.woken)
	case family:
		s.run.told = true
	}
}

// event hands an event to the machine, unless it is too late for it.
func (e *Engine) event(s *writeSet, msg *message) {
	r, ev := s.run, msg.event
	switch ev.Kind {
	case machine.ActivityEnded:
		if !r.dropCall(msg.call) {
			e.late(r, msg)
			return
		}
	case machine.Progressed:
		if !e.flows(r, msg) {
			return
		}
	case machine.Interrupted:
		if msg.call != nil && !r.dropCall(msg.call) {
			return
		}
	case machine.TimerFired:
		if r.timerAt(ev.Command) < 0 {
			return // stopped in the meantime, or fired already
		}
		s.dropTimer(ev.Command)
	}
	ev.TimeMs = max(r.timeMs, e.nowMs())
	s.apply(ev, e.limits.ActivityOutputBytes)
	if len(msg.also) > 0 {
		s.alsoCancel(msg)
	}
}

// late deals with a message that comes after the end, or after a command was withdrawn.
func (e *Engine) late(r *run, msg *message) {
	switch {
	case msg.kind == grant, msg.kind == recheck:
		e.slots.release(msg.lease)
	case msg.kind == deliver && msg.event.Kind == machine.Progressed:
		msg.answer(errWithdrawn)
	case msg.reply != nil:
		msg.answer(engine.ErrFinal)
	case msg.call != nil && msg.call.detached: // it may end after its execution
	case msg.kind == deliver && msg.event.Kind == machine.ActivityEnded:
		e.stats.late.Add(1)
		e.log.Info("late outcome dropped", "execution", r.row.ID, "command", msg.event.Command)
	}
	msg.kind = nothing
}

// granted takes in the lease that an execution has waited for.
func (e *Engine) granted(s *writeSet, msg *message) {
	e.holdLease(s.run, msg)
	e.fireOverdue(s)
}

// holdLease gives the lease of a message to a run, unless it has one. The run keeps it also
// if the write set fails; so the message must not bring it again.
func (e *Engine) holdLease(r *run, msg *message) {
	if r.lease == nil {
		r.lease = msg.lease
	} else {
		e.slots.release(msg.lease)
	}
	msg.kind, msg.lease = nothing, nil
}

// fireOverdue delivers the timers that are due, by due time.
func (e *Engine) fireOverdue(s *writeSet) {
	r := s.run
	now := max(r.timeMs, e.nowMs())
	due := slices.DeleteFunc(slices.Clone(r.timers), func(t store.Timer) bool { return t.DueMs > now })
	slices.SortFunc(due, func(a, b store.Timer) int {
		if before(a, b) {
			return -1
		}
		return 1
	})
	for _, t := range due {
		if s.finish != nil {
			return
		}
		command := machine.CommandID(t.Command)
		if r.timerAt(command) < 0 {
			continue // stopped by the one before
		}
		s.dropTimer(command)
		s.apply(machine.Event{Kind: machine.TimerFired, TimeMs: now, Command: command}, e.limits.ActivityOutputBytes)
	}
}

// countInterruptions tells the machine which activities the stop of the server cut off.
// It answers with the same commands again, or with faults (T91).
func (e *Engine) countInterruptions(s *writeSet) {
	r := s.run
	open := make(map[machine.CommandID]bool)
	for _, c := range r.machine.InFlight() {
		if c.Kind == machine.RunActivity {
			open[c.ID] = true
		}
	}
	now := max(r.timeMs, e.nowMs())
	for _, id := range r.suspects {
		if s.finish != nil {
			return
		}
		if open[id] {
			e.stats.interruptions.Add(1)
			s.apply(machine.Event{Kind: machine.Interrupted, TimeMs: now, Command: id}, e.limits.ActivityOutputBytes)
		}
	}
	s.resumed = true
}
