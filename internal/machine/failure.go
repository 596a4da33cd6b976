package machine

import (
	"slices"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/dsl"
)

// fail ends a task as faulted and looks for a task that handles the fault: a try above whose
// body the task belongs to, or a competing fork with other branches. Everything in between
// faults too (docs/language/errors.md). It returns the node to step next.
func (m *Machine) fail(n *node, f *Fault) *node {
	for first := len(m.out); ; {
		owner := n.parent
		m.closeEntry(n, chargehand.Faulted, nil, f)
		if owner != nil && owner.branches != nil {
			owner.branches[n.index] = nil
		}
		m.withdraw(n)
		m.why = 0 // what is withdrawn from here on did not time out itself
		if owner == nil {
			m.finish(Command{Kind: Finish, Phase: chargehand.Faulted, Fault: f})
			return nil
		}
		switch {
		case owner.task == nil: // root or branch
		case owner.around.isRunning(): // a fault in an extension is one of the task (T35)
		case owner.task.Kind == dsl.KindFork:
			next, fault := m.branchFailed(owner, f)
			if fault == nil {
				return next
			}
			f = fault
		case owner.task.Kind == dsl.KindTry && !owner.try.handling:
			next, fault := m.catch(owner, f, false)
			if fault == nil {
				m.caughtToJump(owner, first)
				return next
			}
			f = fault
		}
		n = owner
	}
}

// withdraw takes a node and all below it out of the tree: running activities and timers are
// stopped, open timeline entries end as cancelled, nothing of it stays ready.
func (m *Machine) withdraw(n *node) {
	m.dismantle(n)
	m.dropGone()
}

// dropGone takes nodes that have been withdrawn out of the line.
func (m *Machine) dropGone() {
	if len(m.ready) > 0 {
		m.ready = slices.DeleteFunc(m.ready, func(r *node) bool { return r.gone })
	}
}

// withdrawChildren is withdraw for what runs below n, which itself stays.
func (m *Machine) withdrawChildren(n *node) {
	if n.child != nil {
		m.withdraw(n.child)
	}
}

func (m *Machine) dismantle(n *node) {
	if n.child != nil {
		m.dismantle(n.child)
	}
	for _, branch := range n.branches {
		if branch != nil {
			m.dismantle(branch)
		}
	}
	if p := m.pending.find(n.activity, isAwaited); p != nil && n.activity != 0 {
		m.keepKey(p)
	}
	m.recordWithdrawn(n)
	m.stopActivity(&n.activity)
	m.stop(&n.subflow, StopChild, isChild)
	m.stopQuestion(n)
	m.stopTimer(&n.delay)
	if n.try != nil {
		n.handKeysOn()
		m.stopTimer(&n.try.attemptTimer)
		m.stopTimer(&n.try.limitTimer)
	}
	if n.consumption != nil {
		m.closeConsumption(n)
		m.giveBack(n)
	}
	m.stopTimer(&n.timer)
	m.closeEntry(n, chargehand.Cancelled, nil, nil)
	m.release(n)
}
