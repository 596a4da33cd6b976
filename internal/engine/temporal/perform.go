package temporal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	sdk "go.temporal.io/sdk/temporal"

	"github.com/chargehand/chargehand"
	runner "github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/eventstream"
	"github.com/chargehand/chargehand/internal/fair"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/pause"
	"github.com/chargehand/chargehand/internal/runlog"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

const (
	// firstBeat spares short calls the heartbeat. Both are well below heartbeatTimeout.
	firstBeat  = 2 * time.Second
	beatPeriod = 5 * time.Second

	minBackoff = 100 * time.Millisecond
	maxBackoff = 5 * time.Second
)

// errCutOff is the reason why a call is cut off: the worker stops and no longer waits for it.
var errCutOff = errors.New("the worker stops")

// activities carries out what workflows ask for. It is safe for concurrent use.
type activities struct {
	WorkerConfig
	identity        string              // of the worker, in Temporal
	startedAttempts startedAttempts     // what perform has begun
	cut             context.Context     // ends when the worker waits no longer for what runs
	reader          *eventstream.Reader // of events

	postTo func(workflow, run string) postbox // of streams; tests have another one
}

// performIn is perform with a permit. An attempt that gets none before the worker stops has not begun.
func (a *activities) performIn(ctx context.Context, permits *fair.Gate, c call) (outcome, error) {
	owner := fair.Owner{Environment: c.Environment}
	waiting, cancel := context.WithCancel(ctx)
	defer context.AfterFunc(a.cut, cancel)()
	stop := beat(ctx)
	err := permits.Enter(waiting, owner)
	stop()
	cancel()
	if err != nil {
		if ctx.Err() != nil {
			return outcome{}, lostError(ctx)
		}
		return outcome{}, errNotBegun()
	}
	defer permits.Leave(owner)
	return a.perform(ctx, c)
}

// perform is the activity that carries out an activity of the language. Faults are
// outcomes. Its error says that the attempt was withdrawn, or cut off by the worker's stop.
func (a *activities) perform(ctx context.Context, c call) (outcome, error) {
	id := attemptOf(activity.GetInfo(ctx))
	if !a.startedAttempts.begin(id) {
		return outcome{}, errNotBegun()
	}
	defer a.startedAttempts.end(id)
	request, err := c.request()
	if err != nil {
		return c.unreadable(err), nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(a.cut, func() { cancel(errCutOff) })()
	defer beat(ctx)()
	if c.Stream != 0 {
		to := activity.GetInfo(ctx).WorkflowExecution
		out := &outflow{post: a.postTo(to.ID, to.RunID), call: &c, limit: a.Limits.ActivityOutputBytes}
		request.Progress = out.progress
	}
	if c.Detached {
		defer a.watchOwner(ctx, &c, ownerPause, cancel)()
	}
	if c.Confidential { // a worker does not know which texts are secret
		request.Redact = func(string) string { return "[redacted]" }
	}
	var task *runlog.Task
	if a.Logs != nil {
		var redactor runlog.Redactor
		if c.Confidential {
			redactor = runlog.RedactorOf(a.Store, a.Sealer, c.No, c.Execution)
		}
		task = a.Logs.Task(c.No, c.Seq, redactor)
		request.Log = task
	}
	began := time.Now()
	result := engine.RunActivity(ctx, a.Log, a.Activities, request)
	task.LoadSecrets(ctx)
	task.End(&request, time.Since(began), result.Fault, ctx.Err() != nil)
	if ctx.Err() != nil {
		return outcome{}, lostError(ctx)
	}
	if c.Detached {
		engine.LogDetached(a.Log, c.Execution, c.Reference, result.Fault)
		result.Output = nil // no one wants it
	}
	engine.BoundOutcome(&result, a.Limits.ActivityOutputBytes)
	o := outcome{Fault: result.Fault, Files: result.Files, Document: result.Document, of: c.owner()}
	if result.Fault == nil && result.Output != nil {
		o.Output = value.Marshal(result.Output)
	}
	if err := a.showFiles(ctx, &c, o.Files); err != nil {
		return outcome{}, lostError(ctx)
	}
	return o, nil
}

// request is the call in the form that its runner takes.
func (c *call) request() (runner.Call, error) {
	r := runner.Call{
		Account: c.Account, Environment: c.Environment, Execution: c.Execution,
		Kind: c.Kind, Reference: c.Reference, Key: c.Key, Attempt: c.Attempt,
	}
	var err error
	// Each argument may be as deep as a value may be; a few objects stand around it.
	if r.Args, err = value.Parse(c.Args, value.Limits{Depth: value.MaxDepth + 16}); err != nil {
		return r, fmt.Errorf("the arguments cannot be read: %w", err)
	}
	if r.Input, err = value.Parse(c.Input, value.Limits{Depth: value.MaxDepth}); err != nil {
		return r, fmt.Errorf("the input cannot be read: %w", err)
	}
	if len(c.Metadata) > 0 {
		metadata, err := value.Parse(c.Metadata, value.Limits{Depth: value.MaxDepth})
		if err != nil {
			return r, fmt.Errorf("the metadata cannot be read: %w", err)
		}
		r.Metadata, _ = metadata.(map[string]any)
	}
	return r, nil
}

// owner is the execution whose outcome has to be sealed; nil if the call is not confidential.
func (c *call) owner() *chargehand.ExecutionID {
	if !c.Confidential {
		return nil
	}
	id := c.Execution
	return &id
}

// unreadable is the outcome of a call that cannot be read. For a confidential call it leaves the reason out, which may
// quote the call in pieces that no redaction finds.
func (c *call) unreadable(reason error) outcome {
	detail := reason.Error()
	if c.Confidential {
		detail = "What the task was called with cannot be read. The reason is left out, because it may show secrets."
	}
	return outcome{Fault: engine.SystemFault(engine.CodeInternal, detail), of: c.owner()}
}

// lostError is the error of an attempt that was withdrawn or cut off.
func lostError(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), errCutOff) {
		return sdk.NewNonRetryableApplicationError("the worker stopped while the task ran", codeInterrupted, nil)
	}
	return ctx.Err()
}

// beat tells Temporal from time to time that the attempt is alive, until the returned function is
// called. In answer to a heartbeat, Temporal cancels ctx if the attempt was withdrawn.
func beat(ctx context.Context) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		timer := time.NewTimer(firstBeat)
		defer timer.Stop()
		for {
			select {
			case <-done:
				return
			case <-timer.C:
				activity.RecordHeartbeat(ctx)
				timer.Reset(beatPeriod)
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// showFiles makes the files of an outcome visible. The workflow cannot do that, because it has no store. So a file may
// be visible although its outcome is lost; it belongs to the execution then. showFiles tries until ctx ends, because
// the effect of the activity has happened.
func (a *activities) showFiles(ctx context.Context, c *call, files []machine.File) error {
	ids := engine.AppendFileIDs(nil, files)
	if len(ids) == 0 {
		return nil
	}
	return pause.Retry(ctx, minBackoff, maxBackoff, func() bool {
		err := a.Store.Update(ctx, func(tx *store.Tx) error {
			_, err := rowOf(&tx.Reader, c.No, c.Execution)
			switch {
			case errors.Is(err, store.ErrNotFound):
				return nil
			case err != nil:
				return err
			}
			return engine.PublishFiles(tx, c.No, ids)
		})
		if err != nil {
			a.Log.Warn("publish files; trying again", "execution", c.Execution, "error", err)
		}
		return err == nil
	})
}
