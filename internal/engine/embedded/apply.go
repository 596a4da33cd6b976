package embedded

import (
	"slices"
	"time"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/eventstream"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

// apply applies an event to the machine and collects what it causes. It returns the size of the
// journaled event.
func (s *writeSet) apply(ev machine.Event) int {
	inst := s.inst
	begin := time.Now()
	commands := inst.machine.Apply(ev)
	inst.computeTime += time.Since(begin)
	inst.timeMs = ev.TimeMs
	engine.Sort(commands, s)
	s.files = engine.AppendFileIDs(s.files, ev.Files)
	if s.finish != nil {
		return 0 // the journal is deleted at the end
	}
	payload := machine.AppendEvent(nil, stripped(ev))
	size := len(payload)
	payload = inst.secrets.Seal(engine.SealedEvent, payload)
	inst.seq++
	inst.sinceCheckpoint++
	s.journal = append(s.journal, store.JournalRow{
		Execution: inst.no, Seq: inst.seq,
		Event:  store.Payload{Inline: payload, Size: int64(len(payload))},
		Digest: machine.Digest(commands),
	})
	inst.machine.Reuse(commands) // those that are still to be carried out were copied
	return size
}

// stripped returns the event as it is journaled. The input of the first event is left out, because
// the row of the execution holds it.
func stripped(ev machine.Event) machine.Event {
	if ev.Kind == machine.Started {
		ev.Output = nil
	}
	return ev
}

// RunActivity implements engine.Commands.
func (s *writeSet) RunActivity(c *machine.Command) {
	s.activities = append(s.activities, *c)
	s.inst.hasDetached = s.inst.hasDetached || c.Detached
}

// StopActivity implements engine.Commands. The activity may not have been started yet.
func (s *writeSet) StopActivity(id machine.CommandID) {
	at := slices.IndexFunc(s.activities, func(a machine.Command) bool { return a.ID == id })
	if at >= 0 {
		s.activities = slices.Delete(s.activities, at, at+1)
	} else {
		s.stopActivities = append(s.stopActivities, id)
	}
}

// StartTimer implements engine.Commands.
func (s *writeSet) StartTimer(c *machine.Command) {
	t := s.inst.timer(c)
	s.inst.timers = append(s.inst.timers, t)
	s.startTimers = append(s.startTimers, t)
}

// Publish implements engine.Commands.
func (s *writeSet) Publish(c *machine.Command) {
	s.publications = append(s.publications, eventstream.Emitted(s.inst.row.ID, c.ID, s.inst.secrets.Redact(c.Args)))
}

// StartChild implements engine.Commands.
func (s *writeSet) StartChild(c *machine.Command) { s.inst.unstarted = append(s.inst.unstarted, *c) }

// Yield implements engine.Commands.
func (s *writeSet) Yield() { s.yielded = true }

// Finish implements engine.Commands.
func (s *writeSet) Finish(c *machine.Command) { s.finish = c }

// StopChild implements engine.Commands. The child may not have been started yet.
func (s *writeSet) StopChild(id machine.CommandID) {
	inst := s.inst
	started := len(inst.unstarted) + len(s.children)
	inst.unstarted = slices.DeleteFunc(inst.unstarted, func(c machine.Command) bool { return c.ID == id })
	s.children = slices.DeleteFunc(s.children, func(c *engine.ChildStart) bool { return c.Link.Command == uint64(id) })
	if len(inst.unstarted)+len(s.children) == started {
		s.stopChildren = append(s.stopChildren, id)
	}
}

// StopTimer implements engine.Commands. It also forgets a timer that has fired.
func (s *writeSet) StopTimer(command machine.CommandID) {
	inst := s.inst
	if at := inst.timerAt(command); at >= 0 {
		inst.timers = slices.Delete(inst.timers, at, at+1)
	}
	at := slices.IndexFunc(s.startTimers, func(t store.Timer) bool { return t.Command == uint64(command) })
	if at >= 0 {
		s.startTimers = slices.Delete(s.startTimers, at, at+1)
		return
	}
	s.stopTimers = append(s.stopTimers, uint64(command))
}
