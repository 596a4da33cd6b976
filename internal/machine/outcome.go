package machine

import (
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/value"
)

// The bounds of the outcomes that one timeline entry keeps. They cost storage for as long as the execution is kept, and
// a task that takes in more is no example of anything.
const (
	maxOutcomes     = 200
	maxOutcomeBytes = 256 << 10 // of faults, and of values that the entry has not as its output
)

// Outcome is what came to a task from outside, before `output.as` and whatever else the task makes of it: an execution
// receives by its input and its outcomes. An entry that stands for the tasks of a function has all of theirs.
type Outcome struct {
	// Kind is ActivityEnded, ChildEnded, TaskAnswered, EventReceived or Progressed. 0: the task stopped to wait, and no
	// end came.
	Kind      EventKind
	Reference string // of the command: that of the entry, but for functions that call functions
	AskedMs   int64  // when it was asked for
	AtMs      int64  // when it came
	Output    value.Value
	Fault     *Fault
	Files     []File
	// Lost: there was more than is kept. Of an entry, it is the only outcome then.
	Lost bool

	task *plan.Task
}

// record notes what has come for a pending command.
func (m *Machine) record(p *pending, o Outcome) {
	n := p.node
	e := n.entryOf()
	if e == nil || len(e.Outcomes) == 1 && e.Outcomes[0].Lost {
		return
	}
	o.AskedMs, o.AtMs = p.askedMs, m.nowMs
	if o.task = n.component(); o.task != nil {
		o.Reference = o.task.Reference
	}
	size := o.Fault.size()
	// Where nothing is made of the output, the entry has it anyway.
	if !(o.Kind != EventReceived && o.Kind != Progressed && n.entry == e && n.task.OutputAs == nil) {
		size += value.Size(o.Output)
	}
	e.outcomeBytes += size
	m.trace.bytes += size
	if e.Outcomes == nil {
		e.Outcomes = m.trace.outcomes.next(len(m.plan.Tasks))
		e.Outcomes[0] = o
	} else {
		e.Outcomes = append(e.Outcomes, o)
	}
	if len(e.Outcomes) > maxOutcomes || e.outcomeBytes > maxOutcomeBytes {
		o.Output, o.Fault, o.Files, o.Lost = nil, nil, nil, true
		e.Outcomes = []Outcome{o}
	}
	m.changed(e)
}

// recordWithdrawn notes that a task no longer waits for its activity, its person or the execution that it has started.
func (m *Machine) recordWithdrawn(n *node) {
	for _, id := range [...]CommandID{n.activity, n.subflow, n.question} {
		if id == 0 {
			continue
		}
		if p := m.pending.find(id, func(use) bool { return true }); p != nil {
			m.record(p, Outcome{})
		}
	}
}

// outcomes writes those of an entry of the checkpoint.
func (w *checkpointWriter) outcomes(e *Entry) {
	w.list("outcomes", len(e.Outcomes), func(i int) {
		o := &e.Outcomes[i]
		w.open('{')
		w.integer("kind", int(o.Kind))
		if o.task != nil && o.task != e.task {
			w.key("task")
			w.plainInteger(o.task.Number)
		}
		w.integer("asked_ms", int(o.AskedMs))
		w.integer("at_ms", int(o.AtMs))
		w.value("output", o.Output)
		w.fault("fault", o.Fault)
		w.files("files", o.Files)
		w.flag("lost", o.Lost)
		w.close('}')
	})
	w.integer("outcome_bytes", e.outcomeBytes)
}

func (r *restorer) outcomes(e *Entry, o object) {
	for _, v := range o.list("outcomes") {
		one := o.item(v)
		kind := one.integer("kind")
		if kind < 0 || kind > int(TaskAnswered) {
			*r.bad = true
			return
		}
		outcome := Outcome{
			Kind: EventKind(kind), AskedMs: int64(one.integer("asked_ms")), AtMs: int64(one.integer("at_ms")),
			Output: r.value(one, "output"), Fault: r.fault(one, "fault"), Files: r.files(one, "files"), Lost: one.flag("lost"),
			task: e.task,
		}
		if one.get("task") != nil {
			outcome.task = element(r.bad, r.plan.Tasks, one.integer("task"))
		}
		if *r.bad {
			return
		}
		outcome.Reference = outcome.task.Reference
		e.Outcomes = append(e.Outcomes, outcome)
	}
	e.outcomeBytes = o.integer("outcome_bytes")
}
