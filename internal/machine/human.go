package machine

import (
	"fmt"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/human"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/value"
)

// MaxOpenTasks bounds the human tasks of one execution that are open at the same time. Their requests together are
// bounded like the state.
const MaxOpenTasks = 1000

// CodeTaskLimit is the code of the fault of a task that would be one human task too many.
const CodeTaskLimit = "human_task_limit"

// askPerson opens a human task. The machine keeps only its id: the request is in the row of the task.
func (m *Machine) askPerson(n *node) *node {
	v, f := m.eval(n, n.task.Human.With, inBody, n.input)
	if f != nil {
		return m.fail(n, f)
	}
	size, f := m.checkRequest(n, v)
	if f != nil {
		return m.fail(n, f)
	}
	p := &pending{id: m.lastCommand + 1, node: n, use: useHuman, bytes: size, askedMs: m.nowMs}
	p.task = chargehand.HumanTaskID(m.childID(n, p.id))
	c := Command{
		Kind: OpenTask, Args: v, Task: p.task,
		Reference: n.reference(), Iteration: n.iteration(), Iterations: n.iterations, Attempt: n.attempt,
	}
	if e := n.entryOf(); e != nil {
		c.Seq = e.Seq
	}
	m.issue(c)
	n.question = p.id
	m.pending.add(p)
	m.markEntry(n.entryOf(), chargehand.Waiting)
	if m.lifecycle != nil {
		m.tellWorkflow("correlation-started", "startedAt", nil)
	}
	return nil
}

// checkRequest holds an evaluated request to its contract and its bounds. It returns the size of the request.
func (m *Machine) checkRequest(n *node, v value.Value) (size int, f *Fault) {
	refused := func(detail string) *Fault {
		return newFault(ErrValidation, 400, n.task.Human.With.Path+": "+detail, n.reference())
	}
	size = value.Size(v)
	m.sliceSteps += 4 * size / bytesPerSliceStep // it is looked at several times
	if size <= human.MaxBytes {                  // otherwise it need not be encoded to know that it is too large
		size = len(value.Marshal(v))
	}
	if size > human.MaxBytes {
		return 0, refused(fmt.Sprintf("The request takes more than %d bytes; put what is long into files.", human.MaxBytes))
	}
	request, problems := human.Parse(v, nil)
	if len(problems) > 0 {
		detail := problems[0].Detail
		if more := len(problems) - 1; more > 0 {
			detail = fmt.Sprintf("%s (and %d more)", detail, more)
		}
		return 0, refused(detail)
	}
	if request.Form != nil {
		if _, err := plan.CompileForm(request.Form); err != nil {
			_, detail := plan.FormProblem(err)
			return 0, refused(detail)
		}
	}
	if m.pending.humans >= MaxOpenTasks || m.pending.humanBytes+size > m.plan.Limits.StateBytes {
		f = newFault(ErrRuntime, 500, fmt.Sprintf("%d human tasks of this execution are open, with requests of %d bytes; at most %d and %d bytes are allowed.",
			m.pending.humans, m.pending.humanBytes, MaxOpenTasks, m.plan.Limits.StateBytes), n.reference())
		f.Code = CodeTaskLimit
		return 0, f
	}
	return size, nil
}

// taskAnswered is the answer of a person.
func (m *Machine) taskAnswered(p *pending, ev Event) *node {
	n := p.node
	n.question = 0
	m.record(p, Outcome{Kind: TaskAnswered, Output: ev.Output, Files: ev.Files})
	m.grow(ev.Output)
	if len(ev.Files) > 0 {
		n.files = append(n.files, ev.Files...)
		if e := n.entryOf(); e != nil {
			e.Files = append(e.Files, ev.Files...)
		}
	}
	if m.lifecycle != nil {
		m.tellWorkflow("correlation-completed", "completedAt", map[string]any{"correlationKeys": map[string]any{"task": p.task.String()}})
	}
	return m.complete(n, ev.Output, n.task.Then)
}

// NeedsPerson reports whether a human task is open and nothing else of the execution can continue: timers and
// subscriptions to events do not count, everything that runs or is to run does.
func (m *Machine) NeedsPerson() bool {
	ps := &m.pending
	return m.phase == chargehand.Running && !m.suspended && ps.humans > 0 && ps.activities+ps.retries+ps.children+ps.detached == 0 && m.yield == 0
}

// Question is the open human task of that command. It is answered once.
func (m *Machine) Question(id CommandID) (chargehand.HumanTaskID, bool) {
	if p := m.pending.find(id, isHuman); p != nil && !p.resting {
		return p.task, true
	}
	return chargehand.HumanTaskID{}, false
}

// TimesOut is the OpenTask command that ends when a timer fires: that of the task whose timeout it is. Whether the
// answer or the timeout came first is then to be decided by the row of the human task.
func (m *Machine) TimesOut(timer CommandID) (CommandID, bool) {
	if p := m.pending.find(timer, isTimer); p != nil {
		if q := m.timedOut(p); q != nil && !q.resting {
			return q.id, true
		}
	}
	return 0, false
}

// timedOut is the human task that a timer is the timeout of; nil: it is none. A function that is one human task is
// that task.
func (m *Machine) timedOut(p *pending) *pending {
	if p.use != useTimeout {
		return nil
	}
	n := p.node
	for n != nil && n.question == 0 && n.task != nil && n.task.Call != nil && !n.around.isRunning() {
		n = n.child
	}
	if n == nil || n.question == 0 {
		return nil
	}
	return m.pending.find(n.question, isHuman)
}

// holdTimeout takes in the timeout of a human task while the execution is suspended. It decides at once, as answers do:
// the task is withdrawn, or it was answered before and there is no timeout. It reports whether there is none.
func (m *Machine) holdTimeout(p *pending) (answered bool) {
	q := m.timedOut(p)
	if q == nil {
		return false
	}
	if q.resting {
		m.pending.take(p.id, isTimer)
		return true
	}
	m.why = WithdrawnTimeout
	m.stopQuestion(q.node)
	m.why = 0
	return false
}

// stopQuestion withdraws the open human task of a node. One that was answered while the execution was suspended is
// withdrawn, too: its answer is not used.
func (m *Machine) stopQuestion(n *node) {
	if n.question == 0 {
		return
	}
	if p := m.pending.take(n.question, isHuman); p != nil && !m.retract(p.id) {
		why := m.why
		if why == 0 {
			why = WithdrawnLostBranch
		}
		m.out = append(m.out, Command{Kind: WithdrawTask, ID: p.id, Task: p.task, Why: why})
	}
	n.question = 0
}

// caughtToJump notes that an error was caught by a try that continues elsewhere in its list: what the error has
// withdrawn since the command at first was withdrawn by a jump.
func (m *Machine) caughtToJump(owner *node, first int) {
	if owner.try == nil || !owner.try.handling || owner.task == nil || owner.task.Catch.Then.Kind != dsl.FlowJump {
		return
	}
	for i := range m.out[min(first, len(m.out)):] {
		if c := &m.out[first+i]; c.Kind == WithdrawTask && c.Why == WithdrawnLostBranch {
			c.Why = WithdrawnJump
		}
	}
}
