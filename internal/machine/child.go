package machine

import (
	"fmt"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/value"
)

// runChild starts an execution of another workflow (T51). A child that is not awaited is
// independent from then on (T67).
func (m *Machine) runChild(n *node) *node {
	input := n.input
	if s := n.task.Child.Input; s != nil {
		v, f := m.eval(n, s, inBody, n.input)
		if f != nil {
			return m.fail(n, f)
		}
		input = v
	}
	id := m.lastCommand + 1
	p := &pending{id: id, node: n, use: useChild, args: input, askedMs: m.nowMs}
	p.child = m.childOf(n, m.childID(n, id), input)
	if e := n.entryOf(); e != nil {
		e.Child = p.child.ID
	}
	m.issue(m.commandOf(p))
	if n.task.Detached {
		return m.complete(n, n.input, n.task.Then)
	}
	n.subflow = id
	m.pending.add(p)
	m.markEntry(n.entryOf(), chargehand.Waiting)
	return nil
}

func (m *Machine) childOf(n *node, id chargehand.ExecutionID, input value.Value) *Child {
	c := n.task.Child
	return &Child{ID: id, Namespace: c.Namespace, Name: c.Name, Version: c.Version, Input: input, Await: !n.task.Detached}
}

// childKind stands for the kind of the ids of executions.
type childKind struct{}

// childID is derived from the run of the task, so that starting twice starts one. It looks
// like any id of an execution: a UUID of version 7.
func (m *Machine) childID(n *node, command CommandID) chargehand.ExecutionID {
	sum := m.derive(n, "child", int(command))
	var id chargehand.ExecutionID
	copy(id[:], sum[:])
	for i := range 6 {
		id[i] = byte(m.nowMs >> (8 * (5 - i)))
	}
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	return id
}

// childEnded is the outcome of an awaited execution of another workflow. Its fault is raised
// again by the task; the detail tells where it comes from.
func (m *Machine) childEnded(p *pending, ev Event) *node {
	n := p.node
	n.subflow = 0
	m.record(p, Outcome{Kind: ChildEnded, Output: ev.Output, Fault: ev.Fault})
	if ev.Fault == nil {
		output := ev.Output
		if n.task.Child.NoOutput {
			output = nil
		}
		m.grow(output)
		return m.complete(n, output, n.task.Then)
	}
	f := *ev.Fault
	c := n.task.Child
	where := fmt.Sprintf("in the workflow %s/%s, execution %s", c.Namespace, c.Name, p.child.ID)
	if f.Instance != "" {
		where += " at " + f.Instance
	}
	if f.Detail != "" {
		where = f.Detail + " (" + where + ")"
	}
	f.Detail, f.Instance = where, n.reference()
	if f.Code == CodeCancelled { // the child was; this execution was not
		f.Code = ""
	}
	return m.fail(n, &f)
}
