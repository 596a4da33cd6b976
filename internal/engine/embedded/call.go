package embedded

import (
	"context"
	"runtime/debug"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/span"
	"github.com/chargehand/chargehand/internal/store"
)

// startActivity puts an activity into its pool. The caller is the driver of r.
func (e *Engine) startActivity(r *run, c *machine.Command) {
	started := &call{
		no: r.no, traced: spanOf(&r.row), command: c.ID, runner: e.config.Activities[c.Activity],
		account: r.row.Account,
		request: activity.Call{
			Environment: r.row.Environment, Execution: r.row.ID, Kind: c.Activity, Args: c.Args, Input: c.Input,
			Reference: c.Reference, Metadata: c.Metadata, Key: c.Key, Attempt: c.Attempt,
		},
	}
	r.calls = append(r.calls, started)
	p := e.calls
	if e.isProcess[c.Activity] {
		p = e.processes
	}
	p.submit(started)
}

// perform carries out a call and delivers its outcome.
func (e *Engine) perform(c *call) {
	ctx, cancel := context.WithCancel(span.Follow(e.activities, c.traced))
	var result activity.Result
	if c.pool.begin(c, cancel) {
		e.stats.activities.Add(1)
		result = e.run(ctx, c)
	}
	cancel()
	if c.pool.release(c) || e.abandon.Load() {
		return // withdrawn, or cut off by Stop: an interruption on the next start
	}
	e.send(c.no, message{kind: deliver, call: c, event: machine.Event{
		Kind: machine.ActivityEnded, Command: c.command,
		Output: result.Output, Fault: result.Fault, Files: result.Files,
	}})
}

// run calls the runner. A panic in it is a fault of the task.
func (e *Engine) run(ctx context.Context, c *call) (result activity.Result) {
	if c.runner == nil {
		return activity.Result{Fault: engine.KindFault(c.request.Kind)}
	}
	account, err := e.account(ctx, c.account)
	if err != nil {
		return activity.Result{Fault: engine.SystemFault(engine.CodeInternal, "The account of the execution cannot be read.")}
	}
	c.request.Account = account
	defer func() {
		if v := recover(); v != nil {
			e.log.Error("an activity panicked", "kind", c.request.Kind, "execution", c.request.Execution,
				"task", c.request.Reference, "panic", v, "stack", string(debug.Stack()))
			result = activity.Result{Fault: engine.PanicFault(v)}
		}
	}()
	return c.runner.Run(ctx, c.request)
}

// spanOf is what the spans of an execution need to know of its row.
func spanOf(row *store.Execution) span.Execution {
	return span.Execution{ID: row.ID, Origin: row.Trace, Item: row.Batch != 0}
}
