package temporal

import (
	"encoding/json"
	"time"

	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/machine"
)

// maxPublishBytes bounds the events of one publish activity.
const maxPublishBytes = 1 << 20

// bus is the way of events to the installation's bus: in order, one activity at a time.
type bus struct {
	queue   []json.RawMessage
	sending workflow.Future
}

func (b *bus) idle() bool { return b.sending == nil && len(b.queue) == 0 }

// publish sends what is queued, unless something is on its way.
func (r *run) publish() {
	b := &r.bus
	if b.sending != nil || len(b.queue) == 0 {
		return
	}
	n, bytes := 0, 0
	for n < len(b.queue) && (n == 0 || bytes+len(b.queue[n]) <= maxPublishBytes) {
		bytes += len(b.queue[n])
		n++
	}
	a := r.argument
	ctx := workflow.WithActivityOptions(r.ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 10 * time.Second,
		RetryPolicy:         &sdk.RetryPolicy{MaximumAttempts: 1}, // at most once
	})
	b.sending = workflow.ExecuteActivity(ctx, publishType, publishing{
		No: a.No, Environment: a.Environment, Execution: a.Execution, Events: b.queue[:n:n],
	})
	b.queue = b.queue[n:]
}

// receivePublished goes on with the queue. An event that was lost is lost.
func (r *run) receivePublished() {
	if b := &r.bus; b.sending != nil && b.sending.IsReady() {
		b.sending = nil
	}
}

// end writes the end of the execution and completes the workflow.
func (r *run) end() error {
	entries := r.machine.TakeTimeline()
	r.publish()
	err := r.writeEnd(r.finish, entries)
	for !r.bus.idle() {
		_ = workflow.Await(r.ctx, func() bool { return r.bus.sending == nil || r.bus.sending.IsReady() })
		r.receivePublished()
		r.publish()
	}
	return err
}

// writeEnd makes the row final. A row that has ended without this workflow, by a
// cancellation or because the reconciler took it for lost, stays as it is: then only the end of
// the timeline is stored.
func (r *run) writeEnd(c *machine.Command, entries []machine.Entry) error {
	if !r.isFinal {
		e := ending{
			Execution: r.argument.Execution, No: r.argument.No, Phase: c.Phase.String(), StartedMs: r.argument.StartedMs, FinishedMs: r.timeMs,
			Fault: c.Fault, Files: c.Files, Chunks: r.drain.chunks,
		}
		known := []expr.Value{r.input}
		if c.Phase == chargehand.Completed {
			e.Output = expr.Marshal(c.Output)
			known = append(known, c.Output)
		}
		if len(entries) > 0 {
			e.Timeline = machine.EncodeTimeline(nil, entries, known...)
		}
		var done finished
		if err := r.write(finishType, e).Get(r.ctx, &done); err != nil {
			return err
		}
		if !done.Conflict {
			return nil
		}
	}
	// Also without entries: readers wait for it.
	return r.write(chunkType, chunk{
		Execution: r.argument.Execution, No: r.argument.No, Last: true, Data: machine.EncodeTimeline(nil, entries, r.input),
	}).Get(r.ctx, nil)
}

// breakOff ends an execution whose machine cannot go on.
func (r *run) breakOff(f *machine.Fault) error {
	r.timeMs = max(r.argument.StartedMs, workflow.Now(r.ctx).UnixMilli())
	return r.writeEnd(&machine.Command{Kind: machine.Finish, Phase: chargehand.Faulted, Fault: f}, nil)
}
