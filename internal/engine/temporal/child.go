package temporal

import (
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

const (
	// maxChildSteps and maxChildStepBytes bound the steps of one child activity.
	maxChildSteps     = 100
	maxChildStepBytes = 1 << 20
)

// children holds the steps that a run still has to make for the children of its execution. At most one activity of
// each kind is in flight, so that a child is never withdrawn before it was started.
type children struct {
	queue      []childStep
	sending    workflow.Future
	ended      bool // children have ended
	asking     workflow.Future
	delivered  []int64 // children whose ends the machine has, but their rows do not say so yet
	delivering int     // how many of delivered the request in flight carries
}

func (k *children) idle() bool {
	return k.sending == nil && len(k.queue) == 0 && k.asking == nil && !k.ended
}

// StartChild implements engine.Commands: it queues the start of a child.
func (r *run) StartChild(c *machine.Command) {
	child := c.Child
	r.children.queue = append(r.children.queue, childStep{Command: uint64(c.ID), Start: &childWire{
		ID: child.ID, Namespace: child.Namespace, Name: child.Name, Version: child.Version,
		Input: value.Marshal(r.secrets.Redact(child.Input)), Await: child.Await,
	}})
}

// StopChild implements engine.Commands. A child whose start is still queued is never started.
func (r *run) StopChild(id machine.CommandID) {
	queued := len(r.children.queue)
	started := func(s childStep) bool { return s.Command == uint64(id) && s.Start != nil }
	r.children.queue = slices.DeleteFunc(r.children.queue, started)
	if len(r.children.queue) == queued {
		r.children.queue = append(r.children.queue, childStep{Command: uint64(id)})
	}
}

// sendChildSteps sends the queued steps to the child activity, and asks for the ends of children.
func (r *run) sendChildSteps() {
	k, a := &r.children, r.argument
	if k.sending == nil && len(k.queue) > 0 {
		n, bytes := 0, 0
		for n < len(k.queue) && n < maxChildSteps && bytes <= maxChildStepBytes {
			if start := k.queue[n].Start; start != nil {
				bytes += len(start.Input)
			}
			n++
		}
		k.sending = r.write(childType, childSteps{Execution: a.Execution, No: a.No, Steps: k.queue[:n:n]})
		k.queue = k.queue[n:]
	}
	if k.asking == nil && k.ended && r.finish == nil {
		k.ended, k.delivering = false, len(k.delivered)
		k.asking = r.write(outcomeType, asking{Execution: a.Execution, No: a.No, Delivered: k.delivered})
	}
}

// receiveChildren applies the answers about children: which could not be started, and which have ended.
func (r *run) receiveChildren() {
	k := &r.children
	if k.sending != nil && k.sending.IsReady() {
		var answer childStepsDone
		err := k.sending.Get(r.ctx, &answer)
		k.sending = nil
		switch {
		case err != nil:
			r.failure = fmt.Errorf("start children: %w", err)
		case answer.Final:
			r.endedElsewhere()
		}
		r.childrenEnded(answer.Refused)
	}
	if k.asking != nil && k.asking.IsReady() {
		var answer ends
		err := k.asking.Get(r.ctx, &answer)
		k.asking = nil
		if err != nil {
			r.failure = fmt.Errorf("read the ends of children: %w", err)
			return
		}
		k.delivered = slices.Delete(k.delivered, 0, k.delivering)
		k.ended = k.ended || answer.More
		r.childrenEnded(answer.Ends)
		for _, e := range answer.Ends {
			k.delivered = append(k.delivered, e.No)
		}
	}
}

func (r *run) childrenEnded(list []childEnd) {
	for _, e := range list {
		ev := machine.Event{Kind: machine.ChildEnded, Command: machine.CommandID(e.Command), Fault: e.Fault}
		if e.Fault == nil {
			var err error
			if ev.Output, err = value.Parse(e.Output, value.Limits{Depth: value.MaxDepth}); err != nil {
				detail := "What the started workflow has ended with cannot be read: " + err.Error()
				ev.Fault = engine.SystemFault(engine.CodeInternal, detail)
			}
		}
		r.apply(ev)
	}
}
