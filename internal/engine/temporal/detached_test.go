package temporal

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	runner "github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/store"
)

// A process that no task awaits keeps no run from continuing: when the history is full, it is begun again by the next
// one, and no interruption is counted.
func TestDetachedAcrossRuns(t *testing.T) {
	t.Parallel()
	p := defaultLimits()
	p.maxEvents, p.moreEvents, p.drainTimeout = 260, 10, 20*time.Millisecond
	e := newInstallation(t, p)
	var begun atomic.Int32
	release := make(chan struct{})
	a := e.start(parse(t, "do: [{x: {run: {shell: {command: x}, await: false}}}, {l: {for: {in: '[range(52)]'}, do: [{c: "+get+"}, {d: {set: '${ . + 1 }'}}]}}]"), 0,
		func(ctx context.Context, c runner.Call) runner.Result {
			if strings.HasSuffix(c.Reference, "/x") {
				begun.Add(1)
				select {
				case <-release:
				case <-ctx.Done():
				}
				return runner.Result{}
			}
			return runner.Result{Output: c.Input}
		})
	e.ended(a)
	wantOutput(t, e.workerFixture, a, "52")
	close(release)
	e.end(a)
	runs := e.histories(a)
	if len(runs) < 2 || int(begun.Load()) < 2 {
		t.Errorf("%d runs, the process began %d times", len(runs), begun.Load())
	}
	for i, h := range runs {
		if err := e.replay(h); err != nil {
			t.Errorf("replay run %d: %v", i+1, err)
		}
	}
}

// A process that no task awaits ends with its execution also where no workflow says so.
func TestOwner(t *testing.T) {
	t.Parallel()
	o := newWorkerFixture(t)
	a := o.activities(nil)
	p := compile(t, "do: [{a: {set: '${ 1 }'}}]")
	watch := func(x argument) (context.Context, func()) {
		ctx, cancel := context.WithCancelCause(t.Context())
		return ctx, a.watchOwner(ctx, &call{Execution: x.Execution, No: x.No}, time.Millisecond, cancel)
	}
	cancelled, completed := o.accept(p, 1), o.accept(p, 1)
	ended, stop := watch(cancelled)
	defer stop()
	goesOn, stopOther := watch(completed)
	defer stopOther()
	o.update(func(tx *store.Tx) error {
		_, err := tx.FinishExecution(completed.No, chargehand.Finished, chargehand.Completed, 1, time.Now().UnixMilli(), &store.Outcome{Output: store.Payload{Inline: []byte("1"), Size: 1}})
		return err
	})
	o.cancel(cancelled.No)
	<-ended.Done()
	if !errors.Is(context.Cause(ended), errDisowned) {
		t.Errorf("it ended with %v", context.Cause(ended))
	}
	gone, stopLast := watch(argument{Execution: chargehand.ExecutionID{9}, No: 999})
	defer stopLast()
	<-gone.Done()
	if goesOn.Err() != nil {
		t.Error("one of a completed execution was stopped")
	}
}

// Large messages of a stream stand outside of the history.
func TestLargeMessages(t *testing.T) {
	t.Parallel()
	e := newInstallation(t, defaultLimits())
	large := strings.Repeat("x", 300<<10)
	a := e.start(parse(t, "do: [{a: {call: asyncapi, with: {document: {endpoint: 'https://example.org/'}, operation: o, subscription: {consume: {amount: 3}}}}}, {z: {set: '${ [.[] | length] }'}}]"), 0,
		func(ctx context.Context, c runner.Call) runner.Result {
			for c.Progress(ctx, large) == nil {
				continue
			}
			return runner.Result{}
		})
	e.ended(a)
	e.end(a)
	wantOutput(t, e.workerFixture, a, "[307200, 307200, 307200]")
}

// What an execution knows of its surroundings stays what it was at its start.
func TestRuntimeMetadata(t *testing.T) {
	t.Parallel()
	e := newInstallation(t, defaultLimits())
	a := e.start(parse(t, "do: [{a: {set: '${ [$runtime.version, $runtime.metadata.name] }'}}]"), 0, nil)
	e.ended(a)
	wantOutput(t, e.workerFixture, a, `["test", "suite"]`)
}
