package embedded

import (
	"slices"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

// receive takes in one message.
func (e *Engine) receive(s *writeSet, msg *message) {
	switch msg.kind {
	case applyEvent:
		e.deliver(s, msg)
	case takeLease:
		e.acceptLease(s, msg)
	case fireTimers:
		e.fireOverdue(s)
	case resumeWork:
		e.countInterruptions(s)
	case recheckStart:
		e.holdLease(s.inst, msg)
	case readEvents:
		s.inst.markWoken(msg.woken)
	case readChildren:
		s.inst.childrenEnded = true
	}
}

// deliver applies the event of a message to the machine, unless the event comes too late.
func (e *Engine) deliver(s *writeSet, msg *message) {
	inst, ev := s.inst, msg.event
	switch ev.Kind {
	case machine.ActivityEnded:
		if !inst.dropCall(msg.call) {
			e.dropLate(inst, msg)
			return
		}
	case machine.Progressed:
		if !e.acceptsProgress(inst, msg) {
			return
		}
	case machine.Interrupted:
		if msg.call != nil && !inst.dropCall(msg.call) {
			return
		}
	case machine.TimerFired:
		if inst.timerAt(ev.Command) < 0 {
			return // it was stopped in the meantime, or has fired already
		}
		s.StopTimer(ev.Command)
	case machine.TaskAnswered:
		if _, open := inst.machine.Question(ev.Command); !open {
			msg.answer(engine.ErrTaskEnded)
			msg.kind = handled
			return
		}
	case machine.SuspendRequested, machine.ResumeRequested:
		e.switchSuspension(s, msg)
		return
	}
	ev.TimeMs = max(inst.timeMs, e.nowMs())
	s.apply(ev)
	if ev.Kind == machine.TaskAnswered {
		s.answers = append(s.answers, hookOf(msg.inTx, msg.reply))
		return
	}
	s.addHook(msg)
}

// dropLate handles a message that arrives after the end of the execution, or after its command was
// withdrawn.
func (e *Engine) dropLate(inst *instance, msg *message) {
	switch {
	case msg.kind == takeLease, msg.kind == recheckStart:
		e.slots.release(msg.lease)
	case msg.kind == applyEvent && msg.event.Kind == machine.Progressed:
		msg.answer(engine.ErrWithdrawn)
	case msg.reply != nil:
		msg.answer(engine.ErrFinal)
	case msg.call != nil && msg.call.detached: // a detached activity may end after its execution
	case msg.kind == applyEvent && msg.event.Kind == machine.ActivityEnded:
		e.stats.late.Add(1)
		e.log.Info("late outcome dropped", "execution", inst.row.ID, "command", msg.event.Command)
	}
	msg.kind = handled
}

// acceptLease takes over the lease that the execution has waited for.
func (e *Engine) acceptLease(s *writeSet, msg *message) {
	e.holdLease(s.inst, msg)
	e.fireOverdue(s)
}

// holdLease moves the lease of a message to its instance. An instance that has a lease keeps its
// own. The instance keeps the lease even if the write set fails, so holdLease clears the message.
func (e *Engine) holdLease(inst *instance, msg *message) {
	if inst.lease == nil {
		inst.lease = msg.lease
	} else {
		e.slots.release(msg.lease)
	}
	msg.kind, msg.lease = handled, nil
}

// fireOverdue applies the timers that are due, in order of due time.
func (e *Engine) fireOverdue(s *writeSet) {
	inst := s.inst
	now := max(inst.timeMs, e.nowMs())
	due := slices.DeleteFunc(slices.Clone(inst.timers), func(t store.Timer) bool { return t.DueMs > now })
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
		if inst.timerAt(command) < 0 {
			continue // the timer before it has stopped it
		}
		s.StopTimer(command)
		s.apply(machine.Event{Kind: machine.TimerFired, TimeMs: now, Command: command})
	}
}

// countInterruptions applies an event for each activity that the stop of the server has cut off.
// The machine answers with the same commands again, or with faults (T91).
func (e *Engine) countInterruptions(s *writeSet) {
	inst := s.inst
	open := make(map[machine.CommandID]bool)
	for _, c := range inst.machine.InFlight() {
		if c.Kind == machine.RunActivity {
			open[c.ID] = true
		}
	}
	now := max(inst.timeMs, e.nowMs())
	for _, id := range inst.cutOff {
		if s.finish != nil {
			return
		}
		if open[id] {
			e.stats.interruptions.Add(1)
			s.apply(machine.Event{Kind: machine.Interrupted, TimeMs: now, Command: id})
		}
	}
	s.resumed = true
}
