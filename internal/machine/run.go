package machine

import (
	"slices"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/value"
)

// run steps until nothing is ready, the execution has ended, or it is time to yield. While
// a Yield is open, outcomes are taken in, but no task starts.
func (m *Machine) run() {
	for !m.suspended && m.yield == 0 && len(m.ready) > 0 && !m.Done() {
		n := m.nextReady()
		for n != nil {
			if m.sliceSteps >= yieldSteps {
				m.ready = slices.Insert(m.ready, 0, n)
				m.yield = m.issue(Command{Kind: Yield})
				break
			}
			n = m.step(n)
			if m.grown > m.growthAllowance() && !m.Done() && m.overgrown(n) {
				return
			}
		}
	}
}

// nextReady takes the first node out of the line. A short line is moved up, so that its
// memory serves again and again; a long one is not, for that would cost its length each time.
func (m *Machine) nextReady() *node {
	n := m.ready[0]
	if len(m.ready) > 16 {
		m.ready[0] = nil
		m.ready = m.ready[1:]
	} else {
		m.ready = m.ready[:copy(m.ready, m.ready[1:])]
	}
	return n
}

// step lets a node start the next task of its list, or finishes the list. It returns the
// node to step next, nil if all that is left to do depends on an event.
func (m *Machine) step(n *node) *node {
	if n.at >= len(n.list.Tasks) {
		return m.listDone(n)
	}
	if !m.countStep(n) {
		return nil
	}
	return m.begin(n, n.list.Tasks[n.at], n.data)
}

// countStep counts a pure step. It reports false if the execution has ended because there
// were too many.
func (m *Machine) countStep(n *node) bool {
	m.sliceSteps++
	m.pureSteps++
	if m.pureSteps <= m.plan.Limits.PureSteps {
		return true
	}
	m.abort(n, stepLimitFault(m.plan.Limits.PureSteps, n.reference()))
	return false
}

// listDone says what the end of a list means to its owner (docs/language/data-flow.md).
func (m *Machine) listDone(n *node) *node {
	switch {
	case n.around.isRunning():
		return m.aroundDone(n)
	case n.task != nil && n.task.Foreach != nil:
		return m.itemDone(n)
	case n.parent == nil:
		m.finishWorkflow(n.scope, n.data)
		return nil
	case n.task == nil:
		return m.branchDone(n)
	case n.task.Kind == dsl.KindFor:
		return m.nextIteration(n)
	case n.task.Kind == dsl.KindTry:
		return m.tryDone(n)
	default:
		return m.complete(n, n.data, n.task.Then)
	}
}

// advance gives the output of the task that its list is at to the list, and goes where the
// flow directive says (docs/language/flow.md).
func (m *Machine) advance(owner *node, output value.Value, flow plan.Flow) *node {
	owner.data = output
	switch flow.Kind {
	case dsl.FlowExit:
		if owner.around.isRunning() {
			owner.around.bypass = true
		}
		owner.at = len(owner.list.Tasks)
	case dsl.FlowEnd:
		m.end(owner, output)
		return nil
	case dsl.FlowJump:
		owner.at = flow.Target
	default:
		owner.at++
	}
	return owner
}

// start handles the first event: workflow input schema and transformation, then the list.
func (m *Machine) start(input value.Value) {
	p := m.plan
	m.input, m.startedMs, m.phase = input, m.nowMs, chargehand.Running
	m.grow(input)
	root := m.newNode(nil, nil)
	root.scope = &scope{context: map[string]any{}} // T7
	root.attempt, root.childAttempt = 1, 1
	root.list, root.raw, root.data = p.Body, input, input
	m.root = root
	if m.lifecycle != nil {
		m.tellStarted()
		if m.suspended {
			m.tellSuspended()
		}
	}
	if f := m.missingSecrets(); f != nil {
		m.abort(m.root, f)
		return
	}
	if p.Timeout != nil {
		due, f := m.dueTime(root, p.Timeout, inWorkflowInput, input, "/timeout")
		if f != nil {
			m.abort(m.root, f)
			return
		}
		m.timeout = m.startTimer(root, useWorkflowTimeout, due)
	}
	if f := m.checkSchema(p.InputSchema, input, "/input/schema"); f != nil {
		m.abort(m.root, f)
		return
	}
	switch {
	case m.position != nil:
		if f := m.enterAt(root, m.position); f != nil {
			m.abort(m.root, f)
			return
		}
	case p.InputFrom != nil:
		v, f := m.evalAt(root, p.InputFrom, inWorkflowInput, input, "/input/from")
		if f != nil {
			m.abort(m.root, f)
			return
		}
		root.data = v
	}
	m.enqueue(root)
}

// finishWorkflow applies the workflow's own output to the last transformed output.
func (m *Machine) finishWorkflow(s *scope, data value.Value) {
	p := m.plan
	m.root.scope = s // the branch that said `end` speaks for the workflow (T27)
	if p.OutputAs != nil {
		v, f := m.evalAt(m.root, p.OutputAs, inWorkflowOutput, data, "/output/as")
		if f != nil {
			m.abort(m.root, f)
			return
		}
		data = v
	}
	if f := m.checkSchema(p.OutputSchema, data, "/output/schema"); f != nil {
		m.abort(m.root, f)
		return
	}
	if f := checkFiles(data); f != nil {
		m.abort(m.root, f)
		return
	}
	files := m.root.files
	m.finish(Command{Kind: Finish, Phase: chargehand.Completed, Output: data, Files: files})
}

// end finishes the workflow from any depth (T27): the enclosing tasks count as completed,
// their `output` and `export` do not apply, and everything else that runs is cancelled.
func (m *Machine) end(owner *node, output value.Value) {
	s := owner.scope
	for n := owner; n != nil; n = n.parent {
		m.closeEntry(n, chargehand.Completed, output, nil)
		if n.parent != nil {
			n.passFiles()
		}
		if n.isRemote() {
			s = n.parent.scope // a function's own context is none of the workflow's (T37)
		}
	}
	m.finishWorkflow(s, output)
}

// abort ends the execution as faulted, whatever may be there to catch the fault. n is the
// node at fault.
func (m *Machine) abort(n *node, f *Fault) {
	for ; n != nil; n = n.parent {
		m.closeEntry(n, chargehand.Faulted, nil, f)
	}
	m.finish(Command{Kind: Finish, Phase: chargehand.Faulted, Fault: f})
}

// cancel ends the execution as cancelled.
func (m *Machine) cancel(reason string) {
	m.finish(Command{Kind: Finish, Phase: chargehand.Cancelled, Fault: cancelledFault(reason)})
}

// finish issues the last command, after everything in flight was withdrawn but for detached
// processes of an execution that completes.
func (m *Machine) finish(c Command) {
	m.leaveDetached(c.Phase)
	switch {
	case c.Phase == chargehand.Cancelled:
		m.why = WithdrawnCancelled
	case m.why == 0:
		m.why = WithdrawnEnded
	}
	if m.root != nil {
		m.withdraw(m.root)
	}
	m.stopTimer(&m.timeout)
	m.root, m.ready, m.yield, m.free = nil, nil, 0, nil
	m.suspended, m.held = false, nil
	m.phase = c.Phase
	if m.lifecycle != nil {
		m.tellEnded(&c)
	}
	m.issue(c)
}
