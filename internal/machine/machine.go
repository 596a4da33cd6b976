package machine

import (
	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/value"
)

// Revision numbers the semantics of the machine. Execution rows and checkpoints carry it. A change of what the
// machine decides for a journal that exists raises it.
const Revision = 1

// Knows reports whether this build can continue an execution that started under a revision. A build with a new
// revision either keeps the decisions of an older one beside its own, or stops knowing it: builds that do know it
// must then finish its executions.
func Knows(revision int) bool { return revision == Revision }

// yieldSteps is the number of pure steps after which the machine yields.
const yieldSteps = 1000

// Identity has the data of an execution that are known from its start and never change.
type Identity struct {
	Execution chargehand.ExecutionID
	// Revision is the one that the execution started under; 0 stands for the newest.
	Revision int
	// RuntimeVersion is $runtime.version; RuntimeMetadata is $runtime.metadata.
	RuntimeVersion  string
	RuntimeMetadata value.Value
	// Secrets are the values that were pinned at the start (T10); they are no part of the state.
	Secrets map[string]value.Value
}

// Load says what an execution is doing between two events.
type Load struct {
	Activities int // RunActivity commands without an outcome
	Retries    int // retry delays: they keep the slot
	Waits      int // wait tasks: no slot
	Listens    int // subscriptions to events: no slot
	Children   int // executions that are awaited: no slot, for they need their own
	Tasks      int // open human tasks: no slot
	Yielded    bool
	Suspended  bool // retry delays keep no slot
}

// HoldsSlot reports whether the execution counts against a concurrency bound
// (docs/explanation/architecture.md "Slots").
func (l Load) HoldsSlot() bool {
	return l.Activities > 0 || l.Yielded || l.Retries > 0 && !l.Suspended
}

// Machine is one execution: a plan and a state. It is not safe for concurrent use.
type Machine struct {
	plan *plan.Plan
	id   Identity

	nowMs     int64 // time of the event being handled
	startedMs int64
	phase     chargehand.Phase
	input     value.Value // raw workflow input

	root    *node   // nil before the start and after the end
	ready   []*node // nodes to step, first in line first
	pending pendings
	yield   CommandID // the open Yield command, 0 if none
	timeout CommandID // timer of the workflow's timeout, 0 if none

	lastCommand CommandID
	lastSeq     int // of timeline entries
	happened    int // starts and ends of timeline entries

	sliceSteps int // pure steps since the last yield
	pureSteps  int // pure steps since the last effect
	everSpent  int // Spent
	grown      int // bytes of values made since the state was measured
	measured   int // bytes of the state when it was measured last

	consumed map[consumerKey]*consumedEvents

	suspended bool
	held      []Event // that have happened since the suspension

	position *Position // until the first task has begun; nil: it begins with the first

	lifecycle *Lifecycle // nil: no lifecycle events

	trace timeline

	// What follows is scratch or cache and no part of the state.
	why           Withdrawal // of human tasks that are withdrawn; 0: a branch is lost
	out           []Command
	spare         []Command // room for the next out
	outFirst      CommandID // commands from here on were issued by this Apply
	env           env
	free          *node
	spent         int // steps of expressions since an event or a message was looked at first
	workflowValue value.Value
	runtimeValue  value.Value
	observe       func(reference string, b Branch)
}

// New makes the machine of a new execution. Its first event must be Started.
func New(p *plan.Plan, id Identity) *Machine {
	if id.Revision == 0 {
		id.Revision = Revision
	}
	m := &Machine{plan: p, id: id, phase: chargehand.Pending}
	m.env.machine = m
	return m
}

// Phase is the phase of the execution (docs/language/flow.md). Waiting means that nothing but
// wait tasks, events, persons and other executions stand between now and the next step.
func (m *Machine) Phase() chargehand.Phase {
	if m.suspended {
		return chargehand.Suspended
	}
	if m.phase == chargehand.Running && m.pending.waits+m.pending.listens+m.pending.children+m.pending.humans > 0 &&
		m.pending.activities == 0 && m.pending.retries == 0 && m.yield == 0 {
		return chargehand.Waiting
	}
	return m.phase
}

// Done reports whether Finish was issued. Events are ignored from then on.
func (m *Machine) Done() bool { return m.phase >= chargehand.Cancelled }

// Load says what the execution is doing now.
func (m *Machine) Load() Load {
	return Load{
		Activities: m.pending.activities,
		Retries:    m.pending.retries,
		Waits:      m.pending.waits,
		Listens:    m.pending.listens,
		Children:   m.pending.children,
		Tasks:      m.pending.humans,
		Yielded:    m.yield != 0,
		Suspended:  m.suspended,
	}
}

// InFlight returns the RunActivity, StartTimer, Subscribe and StartChild commands without an
// outcome, in the order of their IDs. An engine carries them out again after a crash. Those that rest while
// the execution is suspended are left out.
func (m *Machine) InFlight() []Command {
	var commands []Command
	for _, p := range m.pending.list {
		if p.node != nil && !p.resting && p.use != useHuman {
			commands = append(commands, m.commandOf(p))
		}
	}
	return commands
}

// Apply tells the machine what happened and returns what is to be done, in order. It never
// fails: what goes wrong in a workflow is a fault of the workflow. Outcomes of commands that
// are unknown or withdrawn are ignored, and so is everything after the end.
func (m *Machine) Apply(ev Event) []Command {
	if m.Done() || !m.expects(ev.Kind) {
		return nil
	}
	m.out, m.spare, m.outFirst, m.why = m.spare, nil, m.lastCommand+1, 0
	switch {
	case m.suspended && m.hold(ev):
	case ev.Kind == ResumeRequested:
		m.resume(ev.TimeMs)
	default:
		m.advanceClock(ev.TimeMs)
		m.deliver(ev)
	}
	m.run()
	out := m.out
	m.out = nil
	return out
}

// maxSpare is for how many commands Reuse keeps room.
const maxSpare = 4

// Reuse takes back the list that Apply has returned, for its next call. The caller keeps no pointer into it.
func (m *Machine) Reuse(commands []Command) {
	if cap(commands) <= maxSpare {
		clear(commands[:cap(commands)])
		m.spare = commands[:0]
	}
}

func (m *Machine) advanceClock(timeMs int64) { m.nowMs = max(m.nowMs, timeMs) }

// expects tells what may come before and after the start.
func (m *Machine) expects(k EventKind) bool {
	if m.phase == chargehand.Pending {
		return k == Started || k == CancelRequested || k == SuspendRequested || k == ResumeRequested || k == Positioned
	}
	return k != Started && k != Positioned
}

func (m *Machine) deliver(ev Event) {
	switch ev.Kind {
	case Started:
		if ev.Detail != "" {
			m.id.RuntimeVersion = ev.Detail
		}
		if ev.Runtime != nil {
			m.id.RuntimeMetadata = ev.Runtime
		}
		m.lifecycle = ev.Lifecycle
		m.start(ev.Output)
	case Continued:
		if ev.Command == 0 || ev.Command == m.yield {
			m.yield, m.sliceSteps = 0, 0
		}
	case ActivityEnded:
		if p := m.pending.take(ev.Command, isActivity); p != nil && p.use != useDetached {
			m.resetSteps()
			m.enqueue(m.activityEnded(p, ev))
		}
	case TimerFired:
		if p := m.pending.take(ev.Command, isTimer); p != nil {
			m.resetSteps()
			m.enqueue(m.timerFired(p))
		}
	case Positioned:
		m.position = PositionOf(ev)
	case CancelRequested:
		m.cancel(ev.Detail)
	case SuspendRequested:
		m.suspend(ev)
	case EventReceived:
		if p := m.pending.find(ev.Command, isListen); p != nil && ev.Number > p.position && !m.paused(p) {
			p.position = ev.Number
			m.resetSteps()
			m.enqueue(m.eventReceived(p, ev))
		}
	case Progressed:
		if p := m.pending.find(ev.Command, isAwaited); p != nil && ev.Number > p.position && !m.paused(p) {
			p.position = ev.Number
			m.resetSteps()
			m.enqueue(m.progressed(p, ev))
		}
	case ChildEnded:
		if p := m.pending.take(ev.Command, isChild); p != nil {
			m.resetSteps()
			m.enqueue(m.childEnded(p, ev))
		}
	case TaskAnswered:
		if p := m.pending.take(ev.Command, isHuman); p != nil {
			m.resetSteps()
			m.enqueue(m.taskAnswered(p, ev))
		}
	case Interrupted:
		if p := m.pending.find(ev.Command, isActivity); p != nil && p.use == useDetached {
			m.detachedInterrupted(p)
		} else if p != nil {
			m.enqueue(m.interrupted(p))
		}
	}
}

// resetSteps starts the count of pure steps anew, because something has happened outside of the machine. A
// command that is only issued does not start it anew: a loop could issue commands and withdraw them without end.
func (m *Machine) resetSteps() { m.pureSteps, m.sliceSteps = 0, 0 }

func (m *Machine) enqueue(n *node) {
	if n != nil {
		m.ready = append(m.ready, n)
	}
}

// issue adds a command and numbers it.
func (m *Machine) issue(c Command) CommandID {
	m.lastCommand++
	c.ID = m.lastCommand
	m.out = append(m.out, c)
	return c.ID
}

// retract takes a command of this Apply back before the engine gets it.
func (m *Machine) retract(id CommandID) bool {
	if id < m.outFirst {
		return false
	}
	for i := len(m.out) - 1; i >= 0; i-- {
		if m.out[i].ID != id {
			continue
		}
		switch m.out[i].Kind {
		case RunActivity, StartTimer, Subscribe, StartChild, OpenTask:
			m.out = append(m.out[:i], m.out[i+1:]...)
			return true
		}
	}
	return false
}
