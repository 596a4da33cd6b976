package machine

import (
	"fmt"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/value"
)

// MaxDetached bounds the detached processes of one execution that run at the same time. They do
// not count as load (Load.HoldsSlot), so no other limit applies to them.
const MaxDetached = 100

// detach starts a process that its task does not wait for (T67). The task is done; the command stays
// in flight until its outcome, which is dropped.
func (m *Machine) detach(n *node, args value.Value) *node {
	if m.pending.detached >= MaxDetached {
		return m.fail(n, newFault(ErrRuntime, 500, fmt.Sprintf(
			"%d detached processes run already (`await: false`); that is the maximum of one execution.", MaxDetached), n.reference()))
	}
	id := m.lastCommand + 1
	c := m.commandOf(&pending{id: id, node: n, use: useActivity, args: args})
	c.Detached = true
	m.issue(c)
	m.record(&pending{node: n, askedMs: m.nowMs}, Outcome{Kind: ActivityEnded})
	m.pending.add(&pending{id: id, node: m.root, use: useDetached, args: args, detached: &c})
	return m.complete(n, n.input, n.task.Then)
}

// detachedInterrupted runs the process again, unless that happened too often or the author
// forbids it (T91). A fault would have no task to go to, so there is none.
func (m *Machine) detachedInterrupted(p *pending) {
	p.interruptions++
	if p.detached.Metadata["onInterrupted"] == "fault" || p.interruptions > maxInterruptions {
		m.pending.take(p.id, isActivity)
		return
	}
	m.out = append(m.out, *p.detached)
}

// leaveDetached ends what the execution knows of its detached processes. They keep running after it
// has completed, and are stopped if it faulted or was cancelled.
func (m *Machine) leaveDetached(end chargehand.Phase) {
	if m.pending.detached == 0 {
		return
	}
	var ids []CommandID
	for _, p := range m.pending.list {
		if p.node != nil && p.use == useDetached {
			ids = append(ids, p.id)
		}
	}
	for _, id := range ids {
		p := m.pending.take(id, isActivity)
		if end != chargehand.Completed && !p.resting && !m.retract(id) {
			m.out = append(m.out, Command{Kind: StopActivity, ID: id})
		}
	}
}

func (w *checkpointWriter) detached(c *Command) {
	if c == nil {
		return
	}
	w.text("activity", c.Activity)
	w.text("reference", c.Reference)
	w.integer("iteration", c.Iteration)
	w.integer("attempt", c.Attempt)
	w.integer("seq", c.Seq)
	w.text("key", c.Key)
	w.value("input", c.Input)
	if c.Metadata != nil {
		w.value("metadata", c.Metadata)
	}
}

func (r *restorer) detached(p *pending, o object) *Command {
	c := &Command{
		Kind: RunActivity, ID: p.id, Activity: o.text("activity"), Args: p.args, Input: r.value(o, "input"),
		Reference: o.text("reference"), Iteration: o.integer("iteration"), Attempt: o.integer("attempt"),
		Seq: o.integer("seq"), Key: o.text("key"), Detached: true,
	}
	c.Metadata, _ = r.value(o, "metadata").(map[string]any)
	return c
}
