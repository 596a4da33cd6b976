package temporal

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

const (
	// maxTaskSteps and maxTaskStepBytes bound the steps of one activity for human tasks, maxTaskAnswerBytes the answers
	// that it brings: behind the answer with which they are more, it makes no step.
	maxTaskSteps       = 100
	maxTaskStepBytes   = 1 << 20
	maxTaskAnswerBytes = 512 << 10
)

// humanTasks holds the steps that a run still has to make for the human tasks of its execution, in order. At most one
// activity is in flight, so that a task is never withdrawn before it was opened.
type humanTasks struct {
	queue   []taskStep
	sending workflow.Future
	sent    []taskStep // of the activity in flight
}

func (h *humanTasks) idle() bool { return h.sending == nil && len(h.queue) == 0 }

// OpenTask implements engine.Commands: it queues the opening of a task.
func (r *run) OpenTask(c *machine.Command) {
	r.tasks.queue = append(r.tasks.queue, taskStep{Command: uint64(c.ID), Open: &taskWire{
		ID: c.Task, Request: value.Marshal(r.secrets.Redact(c.Args)), Reference: c.Reference, Iterations: c.Iterations, Seq: c.Seq,
		OpenedMs: r.timeMs,
	}})
}

// WithdrawTask implements engine.Commands. A task whose opening is still queued is never opened.
func (r *run) WithdrawTask(c *machine.Command) {
	queued := len(r.tasks.queue)
	of := func(s taskStep) bool { return s.Command == uint64(c.ID) && s.Open != nil }
	r.tasks.queue = slices.DeleteFunc(r.tasks.queue, of)
	if len(r.tasks.queue) == queued {
		r.tasks.queue = append(r.tasks.queue, taskStep{Command: uint64(c.ID), Withdraw: c.Why})
	}
}

// readAnswer queues the reading of an answer, unless the machine does not wait for it any more.
func (r *run) readAnswer(command uint64) {
	if _, open := r.machine.Question(machine.CommandID(command)); open {
		r.tasks.queue = append(r.tasks.queue, taskStep{Command: command, Read: true})
	}
}

// expire queues the timeout of a human task: its row decides whether the answer came first. It reports false if the
// timer is not that of a human task.
func (r *run) expire(f *pendingCommand) bool {
	command, is := r.machine.TimesOut(f.id)
	if is {
		r.tasks.queue = append(r.tasks.queue, taskStep{
			Command: uint64(command), Withdraw: machine.WithdrawnTimeout, Timer: uint64(f.id), DueMs: f.dueMs,
		})
	}
	return is
}

// sendTaskSteps sends the queued steps to the activity for human tasks.
func (r *run) sendTaskSteps() {
	h, a := &r.tasks, r.argument
	if h.sending != nil || len(h.queue) == 0 {
		return
	}
	n, bytes := 0, 0
	for n < len(h.queue) && n < maxTaskSteps && bytes <= maxTaskStepBytes {
		if open := h.queue[n].Open; open != nil {
			bytes += len(open.Request)
		}
		n++
	}
	h.sent, h.queue = h.queue[:n:n], h.queue[n:]
	h.sending = r.write(taskType, taskSteps{Execution: a.Execution, No: a.No, Steps: h.sent, Confidential: a.Confidential})
}

// receiveTasks applies what the activity for human tasks has read: answers, and timeouts that came before an answer.
func (r *run) receiveTasks() {
	h := &r.tasks
	if h.sending == nil || !h.sending.IsReady() {
		return
	}
	var done taskStepsDone
	err := h.sending.Get(r.ctx, &done)
	sent := h.sent
	h.sending, h.sent = nil, nil
	switch {
	case err != nil:
		r.failure = fmt.Errorf("open and withdraw human tasks: %w", err)
		return
	case done.Final:
		r.endedElsewhere()
		return
	}
	// What was not made comes before what was queued meanwhile.
	sent, h.queue = sent[:done.Made], slices.Concat(sent[done.Made:], h.queue)
	for _, answered := range done.Answers {
		output, err := value.Parse(answered.Output, value.Limits{Depth: value.MaxDepth})
		if err != nil {
			r.failure = fmt.Errorf("read the answer of a human task: %w", err)
			return
		}
		r.apply(machine.Event{Kind: machine.TaskAnswered, Command: machine.CommandID(answered.Command), Output: output})
	}
	for i := range sent {
		s := &sent[i]
		answered := func(a taskAnswer) bool { return a.Command == s.Command }
		if s.Timer != 0 && !slices.ContainsFunc(done.Answers, answered) {
			r.apply(machine.Event{Kind: machine.TimerFired, TimeMs: s.DueMs, Command: machine.CommandID(s.Timer)})
		}
	}
}

// answerMessage carries only the command of the task; the activity for human tasks reads the answer.
func answerMessage(t *store.HumanTask, row *store.Execution, dueMs int64) store.OutboxMessage {
	return store.OutboxMessage{
		Execution: row.No, ID: row.ID, Environment: row.Environment, Workflow: row.Workflow,
		Kind: store.OutboxAnswer, Report: int64(t.Command), DueMs: dueMs,
	}
}

var _ engine.Commands = (*run)(nil)
