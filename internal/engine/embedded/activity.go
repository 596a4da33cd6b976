package embedded

import (
	"context"
	"fmt"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/runlog"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/span"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// startActivity puts an activity into its pool. The caller is the driver of inst.
func (e *Engine) startActivity(inst *instance, c *machine.Command) {
	started := &call{
		no: inst.no, traced: spanOf(&inst.row), command: c.ID, seq: c.Seq,
		account: inst.row.Account, workflow: inst.row.Workflow, key: inst.row.Actor(), secrets: inst.secrets,
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

// poolOf returns the pool in which an activity gets its permit.
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

// perform runs an activity and sends its outcome to the execution.
func (e *Engine) perform(c *call) {
	ctx, cancel := context.WithCancel(span.Follow(e.activities, c.traced))
	var result activity.Result
	if c.pool.begin(c, cancel) {
		e.stats.activities.Add(1)
		result = e.runActivity(ctx, c)
	}
	cancel()
	if c.pool.release(c) || e.abandon.Load() {
		return // it was withdrawn, or Stop has cut it off: the next start counts an interruption
	}
	if c.detached {
		engine.LogDetached(e.log, c.request.Execution, c.request.Reference, result.Fault)
	}
	engine.BoundOutcome(&result, e.limits.ActivityOutputBytes)
	e.send(c.no, message{kind: applyEvent, call: c, event: machine.Event{
		Kind: machine.ActivityEnded, Command: c.command,
		Output: result.Output, Fault: result.Fault, Files: result.Files, Detail: result.Document,
	}})
}

// runActivity runs an activity.
func (e *Engine) runActivity(ctx context.Context, c *call) activity.Result {
	account, err := e.account(ctx, c.account)
	if err != nil {
		const detail = "The account of the execution cannot be read."
		return activity.Result{Fault: engine.SystemFault(engine.CodeInternal, detail)}
	}
	c.request.Account, c.request.Redact = account, c.secrets.RedactText
	if e.config.Logs == nil {
		return engine.RunActivity(ctx, e.log, e.config.Activities, c.request)
	}
	task := e.config.Logs.Task(c.no, c.seq, c.redactor())
	c.request.Log = task
	began := time.Now()
	result := engine.RunActivity(ctx, e.log, e.config.Activities, c.request)
	task.End(&c.request, time.Since(began), result.Fault, ctx.Err() != nil)
	return result
}

// redactor takes the secrets out of what the activity writes.
func (c *call) redactor() runlog.Redactor {
	if c.secrets == nil {
		return nil
	}
	return func(context.Context) (*secret.Redactor, error) { return c.secrets.Redactor(), nil }
}

// account returns the id of an account.
func (e *Engine) account(ctx context.Context, number int64) (chargehand.AccountID, error) {
	if id, ok := e.accounts.Load(number); ok {
		return id.(chargehand.AccountID), nil
	}
	var a store.Account
	err := e.store.View(ctx, func(r *store.Reader) (err error) {
		a, err = r.AccountByNo(number)
		return err
	})
	if err != nil {
		return chargehand.AccountID{}, fmt.Errorf("find account: %w", err)
	}
	e.accounts.Store(number, a.ID)
	return a.ID, nil
}

// spanOf returns what the spans of an execution need of its row.
func spanOf(row *store.Execution) span.Execution {
	return span.Execution{ID: row.ID, Origin: row.Trace, Item: row.Batch != 0}
}
