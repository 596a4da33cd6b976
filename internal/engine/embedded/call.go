package embedded

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/span"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// startActivity puts an activity into its pool. The caller is the driver of r.
func (e *Engine) startActivity(inst *instance, c *machine.Command) {
	started := &call{
		no: inst.no, traced: spanOf(&inst.row), command: c.ID, runner: e.config.Activities[c.Activity],
		account: inst.row.Account, workflow: inst.row.Workflow, secrets: inst.secrets,
		request: activity.Call{
			Environment: inst.row.Environment, Execution: inst.row.ID, Kind: c.Activity, Args: c.Args, Input: c.Input,
			Reference: c.Reference, Metadata: c.Metadata, Key: c.Key, Attempt: c.Attempt,
		},
	}
	started.detached = c.Detached
	if c.Stream {
		started.request.Progress = func(ctx context.Context, v value.Value) error { return e.progress(ctx, started, v) }
	}
	inst.calls = append(inst.calls, started)
	e.poolOf(c).submit(started)
}

// poolOf returns the pool in which an activity gets its place.
func (e *Engine) poolOf(c *machine.Command) *pool {
	switch engine.ClassOf(c) {
	case engine.Process:
		return e.processes
	case engine.Script:
		return e.scripts
	case engine.Stream:
		return e.streams
	default:
		return e.calls
	}
}

// perform carries out a call and delivers its outcome.
func (e *Engine) perform(c *call) {
	ctx, cancel := context.WithCancel(span.Follow(e.activities, c.traced))
	var result activity.Result
	if c.pool.begin(c, cancel) {
		e.stats.activities.Add(1)
		result = e.runActivity(ctx, c)
	}
	cancel()
	if c.pool.release(c) || e.abandon.Load() {
		return // withdrawn, or cut off by Stop: an interruption on the next start
	}
	if c.detached {
		engine.LogDetached(e.log, c.request.Execution, c.request.Reference, result.Fault)
	}
	e.send(c.no, message{kind: applyEvent, call: c, event: machine.Event{
		Kind: machine.ActivityEnded, Command: c.command,
		Output: result.Output, Fault: result.Fault, Files: result.Files, Detail: result.Document,
	}})
}

// errWithdrawn tells an activity that nobody wants what it hands over.
var errWithdrawn = errors.New("the activity was withdrawn")

// progress hands over what a stream has brought, and returns when that is durable: so a stream does not run
// ahead of who takes its outcomes. One call at a time.
func (e *Engine) progress(ctx context.Context, c *call, v value.Value) error {
	if size := value.Size(v); size > e.limits.ActivityOutputBytes {
		return fmt.Errorf("what the activity hands over takes %d bytes, more than the limit of %d", size, e.limits.ActivityOutputBytes)
	}
	c.progressed++
	reply := make(chan error, 1)
	inst, drive := e.instances.put(c.no, message{kind: applyEvent, call: c, reply: reply, event: machine.Event{
		Kind: machine.Progressed, Command: c.command, Output: v, Number: c.progressed,
	}})
	if drive {
		e.goWork(func() { e.drive(inst) })
	}
	select {
	case err := <-reply:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// flows reports whether what a stream hands over is to be journaled now. If the machine cannot take it in yet, the
// stream waits; what the machine does not want costs nothing.
func (e *Engine) acceptsProgress(inst *instance, msg *message) bool {
	c := msg.call
	if inst.callOf(c.command) != c {
		msg.answer(errWithdrawn)
		return false
	}
	if streamPaused(inst, c.command) {
		waiting := *msg
		c.waiting = &waiting
		msg.kind, msg.reply = handled, nil
		return false
	}
	return inst.machine.Wants(c.command, msg.event.Output)
}

func streamPaused(inst *instance, command machine.CommandID) bool {
	for _, s := range inst.machine.Streams() {
		if s.Command == command {
			return s.Paused
		}
	}
	return false
}

// resumeStreams lets streams go on that the machine can take in again.
func (e *Engine) resumeStreams(inst *instance) {
	for _, c := range inst.calls {
		if c.waiting != nil && inst.machine != nil && !streamPaused(inst, c.command) {
			msg := *c.waiting
			c.waiting = nil
			e.goWork(func() { e.send(inst.no, msg) })
		}
	}
}

// run calls the runner. A panic in it is a fault of the task.
func (e *Engine) runActivity(ctx context.Context, c *call) (result activity.Result) {
	if c.runner == nil {
		return activity.Result{Fault: engine.KindFault(c.request.Kind)}
	}
	account, err := e.account(ctx, c.account)
	if err != nil {
		return activity.Result{Fault: engine.SystemFault(engine.CodeInternal, "The account of the execution cannot be read.")}
	}
	c.request.Account, c.request.Redact = account, c.secrets.RedactText
	defer func() {
		if v := recover(); v != nil {
			e.log.Error("an activity panicked", "kind", c.request.Kind, "execution", c.request.Execution,
				"task", c.request.Reference, "panic", c.secrets.RedactText(fmt.Sprint(v)), "stack", string(debug.Stack()))
			result = activity.Result{Fault: engine.PanicFault()}
		}
	}()
	return c.runner.Run(ctx, c.request)
}

// spanOf is what the spans of an execution need to know of its row.
func spanOf(row *store.Execution) span.Execution {
	return span.Execution{ID: row.ID, Origin: row.Trace, Item: row.Batch != 0}
}
