package machine

import (
	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/value"
)

// begin starts a task: `if`, timeout, input schema, input transformation, then what its kind
// does (docs/language/data-flow.md). It returns the node to step next.
func (m *Machine) begin(owner *node, t *plan.Task, raw value.Value) *node {
	n := m.newNode(owner, t)
	owner.child = n
	n.raw, n.input = raw, raw
	if t.Remote && t.Function != "" {
		n.scope = &scope{context: map[string]any{}} // T37
	}
	if t.If != nil {
		v, f := m.eval(n, t.If, inTaskInput, raw)
		if f != nil {
			m.openEntry(n)
			return m.fail(n, f)
		}
		if !value.Truthy(v) { // the raw input is the output; `then` does not count (T18)
			m.decided(t, BranchIf, 0)
			m.release(n)
			return m.advance(owner, raw, plan.Flow{})
		}
		m.decided(t, BranchIf, 1)
	}
	m.openEntry(n)
	m.decided(t, BranchTask, 0)
	if f := m.prepare(n); f != nil {
		return m.fail(n, f)
	}
	m.tellTask(n.entry, "started", "startedAt", nil)
	return m.enter(n)
}

// prepare starts the clock of the task (T33, T72) and makes its transformed input.
func (m *Machine) prepare(n *node) *Fault {
	t := n.task
	if t.Timeout != nil {
		due, f := m.dueTime(n, t.Timeout, inTaskInput, n.raw, "")
		if f != nil {
			return f
		}
		n.timer = m.startTimer(n, useTimeout, due)
	}
	if f := m.checkSchema(t.InputSchema, n.raw, n.reference()); f != nil {
		return f
	}
	if t.InputFrom != nil {
		v, f := m.eval(n, t.InputFrom, inTaskInput, n.raw)
		if f != nil {
			return f
		}
		n.input = v
		if n.entry != nil {
			n.entry.Input = v
		}
	}
	if t.UsesAuthorization {
		return m.authorize(n)
	}
	return nil
}

// execute does what the kind of the task says, with the transformed input in place.
func (m *Machine) execute(n *node) *node {
	t := n.task
	switch t.Kind {
	case dsl.KindSet:
		v, f := m.eval(n, t.Set, inBody, n.input)
		if f != nil {
			return m.fail(n, f)
		}
		return m.complete(n, v, t.Then)
	case dsl.KindSwitch:
		return m.doSwitch(n)
	case dsl.KindDo:
		n.list, n.data = t.Body, n.input
		return n
	case dsl.KindFor:
		return m.beginFor(n)
	case dsl.KindFork:
		return m.beginFork(n)
	case dsl.KindTry:
		return m.beginTry(n)
	case dsl.KindRaise:
		return m.doRaise(n)
	case dsl.KindWait:
		return m.doWait(n)
	case dsl.KindEmit:
		return m.doEmit(n)
	case dsl.KindListen:
		return m.beginListen(n)
	default:
		if t.Call != nil {
			return m.callFunction(n)
		}
		if t.Child != nil {
			return m.runChild(n)
		}
		if t.Stream != nil {
			return m.beginStream(n)
		}
		if t.Human != nil {
			return m.askPerson(n)
		}
		return m.runActivity(n)
	}
}

// complete ends a task with its raw output: output transformation and schema, export, end of
// the clock. then is the directive to follow. It returns the node to step next.
func (m *Machine) complete(n *node, raw value.Value, then plan.Flow) *node {
	if n.around != nil {
		return m.beginAfter(n, raw, then)
	}
	t, output := n.task, raw
	if t.OutputAs != nil {
		m.env.raw = raw
		v, f := m.eval(n, t.OutputAs, inOutput, raw)
		if f != nil {
			return m.fail(n, f)
		}
		output = v
	}
	if f := m.checkSchema(t.OutputSchema, output, n.reference()); f != nil {
		return m.fail(n, f)
	}
	if t.ExportAs != nil || t.ExportSchema != nil {
		if f := m.export(n, raw, output); f != nil {
			return m.fail(n, f)
		}
	}
	m.stopTimer(&n.timer)
	m.closeEntry(n, chargehand.Completed, output, nil)
	owner := n.parent
	n.passFiles()
	if t.Function != "" {
		then = plan.Flow{} // T37
	}
	m.release(n)
	return m.advance(owner, output, then)
}

// export replaces $context by the result of `export.as` (T8).
func (m *Machine) export(n *node, raw, output value.Value) *Fault {
	context := n.scope.context
	if n.task.ExportAs != nil {
		m.env.raw, m.env.output = raw, output
		v, f := m.eval(n, n.task.ExportAs, inExport, output)
		if f != nil {
			return f
		}
		context = v
	}
	if f := m.checkSchema(n.task.ExportSchema, context, n.reference()); f != nil {
		return f
	}
	if n.task.ExportAs != nil {
		n.scope.context, n.scope.changed = context, true
	}
	return nil
}

// passFiles hands the files of a completed task to its owner: those of a top-level task may
// become the result files of the execution (docs/language/files.md).
func (n *node) passFiles() {
	if len(n.files) == 0 {
		return
	}
	owner := n.parent
	if owner.parent == nil {
		owner.files = n.files // the last top-level task that produced any
		return
	}
	owner.files = append(owner.files, n.files...)
}
