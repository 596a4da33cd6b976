package machine

import (
	"github.com/chargehand/chargehand"
)

// While an execution is suspended, nothing starts: no node is stepped. Outcomes, timers and ends of children are
// *held*, each with its time, and delivered in their order at the resumption; their commands rest until then.
// Subscriptions are paused, so events stay where they are stored. Activities that have not begun, and streams, which
// would never end by themselves, rest as well: the resumption issues their commands again. Activities that run are left
// to end.

// Suspended reports whether the execution is suspended.
func (m *Machine) Suspended() bool { return m.suspended }

// suspend keeps the execution from starting anything. Events that repeat it name further activities that have not
// begun.
func (m *Machine) suspend(ev Event) {
	if !m.suspended {
		m.suspended = true
		m.yield, m.sliceSteps = 0, 0
		m.stopStreams()
		m.tellSuspended()
	}
	notBegun, _ := ev.Output.([]any)
	for _, item := range notBegun {
		id, _ := item.(int)
		if p := m.pending.find(CommandID(id), isActivity); p != nil {
			m.pending.rest(p)
		}
	}
}

// NotBegun is the Output of a SuspendRequested event that names activities.
func NotBegun(ids []CommandID) []any {
	list := make([]any, len(ids))
	for i, id := range ids {
		list[i] = int(id)
	}
	return list
}

// stopStreams stops the streams that run. The resumption starts them anew, as after an interruption.
func (m *Machine) stopStreams() {
	for _, p := range m.pending.list {
		if p.node == nil || p.use != useActivity || p.node.consumption == nil {
			continue
		}
		m.pending.rest(p)
		if !m.retract(p.id) {
			m.out = append(m.out, Command{Kind: StopActivity, ID: p.id})
		}
	}
}

// hold keeps what has happened to a suspended execution for its resumption. It reports whether nothing else is to be
// done about the event.
func (m *Machine) hold(ev Event) bool {
	var is func(use) bool
	switch ev.Kind {
	case ActivityEnded, Interrupted:
		is = isActivity
	case TimerFired:
		is = isTimer
	case ChildEnded:
		is = isChild
	case TaskAnswered:
		is = isHuman
	case EventReceived, Progressed:
		return true // the subscription is paused, and gets it again
	default:
		return false
	}
	p := m.pending.find(ev.Command, is)
	if p == nil || p.resting {
		return true
	}
	if p.use == useDetached && ev.Kind == ActivityEnded {
		m.pending.take(p.id, is)
		return true
	}
	if ev.Kind == TimerFired && m.holdTimeout(p) {
		return true
	}
	m.pending.rest(p)
	m.held = append(m.held, ev)
	m.grow(ev.Output)
	if m.grown > m.growthAllowance() {
		m.advanceClock(ev.TimeMs)
		m.overgrown(nil)
	}
	return true
}

// resume delivers what was held, as of the time when it happened, and issues the commands again that rest.
func (m *Machine) resume(timeMs int64) {
	if !m.suspended {
		return
	}
	m.suspended = false
	held := m.held
	m.held = nil
	m.tellResumed(max(timeMs, m.nowMs))
	for _, ev := range held {
		p := m.pending.find(ev.Command, func(use) bool { return true })
		if p == nil || !p.resting {
			continue // what was delivered before it has withdrawn its command
		}
		m.pending.wake(p)
		m.advanceClock(ev.TimeMs)
		if m.deliver(ev); m.Done() {
			return
		}
	}
	m.advanceClock(timeMs)
	for _, p := range m.pending.list {
		if p.node != nil && p.resting && p.use != useHuman { // the row of a human task stays open
			m.pending.wake(p)
			p.position = 0
			m.out = append(m.out, m.commandOf(p))
		}
	}
}

// rest takes a command out of the load: nothing of it is in flight.
func (ps *pendings) rest(p *pending) {
	if !p.resting {
		p.resting = true
		ps.count(p, -1)
	}
}

func (ps *pendings) wake(p *pending) {
	p.resting = false
	ps.count(p, 1)
}

// tellSuspended publishes the events about a suspension: of the execution, and of the tasks that have not ended.
func (m *Machine) tellSuspended() {
	if m.lifecycle == nil {
		return
	}
	m.tellWorkflow("suspended", "suspendedAt", nil)
	m.tellOpenTasks("suspended", "suspendedAt")
}

// tellResumed publishes the events about a resumption, which is later than the outcomes that it delivers.
func (m *Machine) tellResumed(timeMs int64) {
	if m.lifecycle == nil {
		return
	}
	now := m.nowMs
	m.nowMs = timeMs
	m.tellWorkflow("resumed", "resumedAt", nil)
	m.tellOpenTasks("resumed", "resumedAt")
	m.nowMs = now
}

func (m *Machine) tellOpenTasks(kind, stamp string) {
	if !m.lifecycle.Tasks || m.root == nil {
		return
	}
	m.root.eachEntry(func(e *Entry) {
		if !e.Ended() {
			m.tellTask(e, kind, stamp, nil)
		}
	})
}

func (w *checkpointWriter) held(events []Event) {
	w.list("held", len(events), func(i int) {
		ev := &events[i]
		w.open('{')
		w.integer("kind", int(ev.Kind))
		w.integer("time_ms", int(ev.TimeMs))
		w.integer("command", int(ev.Command))
		w.value("output", ev.Output)
		w.fault("fault", ev.Fault)
		w.files("files", ev.Files)
		w.text("detail", ev.Detail)
		w.close('}')
	})
}

// held reads the held events. Each must have a command that rests.
func (r *restorer) held(m *Machine, top object) {
	for _, v := range top.list("held") {
		o := top.item(v)
		ev := Event{
			Kind: EventKind(o.integer("kind")), TimeMs: int64(o.integer("time_ms")), Command: CommandID(o.integer("command")),
			Output: r.value(o, "output"), Fault: r.fault(o, "fault"), Files: r.files(o, "files"), Detail: o.text("detail"),
		}
		var is func(use) bool
		switch ev.Kind {
		case ActivityEnded, Interrupted:
			is = isActivity
		case TimerFired:
			is = isTimer
		case ChildEnded:
			is = isChild
		case TaskAnswered:
			is = isHuman
		default:
			*r.bad = true
			return
		}
		if p := m.pending.find(ev.Command, is); p == nil || !p.resting || !m.suspended {
			*r.bad = true
			return
		}
		m.held = append(m.held, ev)
	}
	if m.suspended && m.phase != chargehand.Pending && m.phase != chargehand.Running {
		*r.bad = true
	}
}
