package temporal

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/chargehand/chargehand"
	runner "github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/machine/machinetest"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

func orders(from, to int) (envelopes []value.Value) {
	for i := from; i < to; i++ {
		envelopes = append(envelopes, map[string]any{
			"specversion": "1.0", "id": fmt.Sprint(i), "source": "/test", "type": "order", "data": i,
		})
	}
	return envelopes
}

// A listen continues across runs: each event comes once and in order, however often it was published, and the slot is
// given back while it waits.
func TestListenAcrossRuns(t *testing.T) {
	t.Parallel()
	e := newInstallation(t, defaultLimits())
	const most = 150
	a := e.start(parse(t, fmt.Sprintf(`
do:
  - l:
      listen: {to: {any: [{with: {type: order}}], until: {one: {with: {type: stop}}}}}
      foreach: {do: [{c: %s}, {d: {set: '${ $item }'}}]}
  - z: {set: '${ [length, (. == [range(%d)])] }'}
`, get, most)), 1, echo)
	eventually(t, "it is parked", func() bool { return e.row(a.No).State == store.StateParked })
	if row := e.row(a.No); row.Phase != chargehand.Waiting {
		t.Errorf("it is %s", row.Phase)
	}
	for from := 0; from < most; from += 15 {
		e.publishAll(orders(max(0, from-20), from+15))
	}
	e.publishAll([]value.Value{map[string]any{"specversion": "1.0", "id": "s", "source": "/test", "type": "stop"}})
	e.ended(a)
	e.end(a)
	wantOutput(t, e.workerFixture, a, fmt.Sprintf("[%d, true]", most))
	runs := e.histories(a)
	if len(runs) < 3 {
		t.Errorf("there were %d runs", len(runs))
	}
	for i, h := range runs {
		if err := e.replay(h); err != nil {
			t.Errorf("replay run %d: %v", i+1, err)
		}
	}
	left := 0
	e.view(func(r *store.Reader) error {
		list, err := r.Subscriptions(a.No)
		left = len(list)
		return err
	})
	if left != 0 {
		t.Errorf("%d subscriptions are left", left)
	}
}

// Filters that are expensive are asked in many workflow tasks, and runs, so that none takes longer than Temporal
// waits: each of them
// gets what it would, and the histories can be replayed.
func TestCostlyFilters(t *testing.T) {
	t.Parallel()
	p := defaultLimits()
	p.sliceSteps, p.taskSlices, p.runSlices = 20_000, 2, 10 // one event in a task, five in a run
	e := newInstallation(t, p)
	const most = 12
	a := e.start(parse(t, fmt.Sprintf(`
do:
  - l:
      listen: {to: {any: [{with: {type: order, data: '${ ([range(10000)] | length) == 10000 and . < %d }'}}], until: {one: {with: {type: stop}}}}}
  - z: {set: '${ [length, (. == [range(%d)])] }'}
`, most, most)), 1, echo)
	eventually(t, "it is parked", func() bool { return e.row(a.No).State == store.StateParked })
	e.publishAll(append(orders(0, most), map[string]any{"specversion": "1.0", "id": "s", "source": "/test", "type": "stop"}))
	e.ended(a)
	e.end(a)
	wantOutput(t, e.workerFixture, a, fmt.Sprintf("[%d, true]", most))
	runs := e.histories(a)
	if len(runs) < 3 {
		t.Errorf("there were %d runs", len(runs))
	}
	tasks := 0
	for i, h := range runs {
		for _, ev := range h.Events {
			if ev.EventType == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
				tasks++
			}
		}
		if err := e.replay(h); err != nil {
			t.Errorf("replay run %d: %v", i+1, err)
		}
	}
	if tasks < most {
		t.Errorf("%d events were asked for in %d workflow tasks", most, tasks)
	}
}

// What is large does not are in the history, and no answer is larger than it may be.
func TestLargeEvents(t *testing.T) {
	t.Parallel()
	o := newWorkerFixture(t)
	a := o.activities(nil)
	x := o.accept(compile(t, "do: [{a: {set: '${ 1 }'}}]"), 1)
	for i := range 8 {
		o.publish([]value.Value{map[string]any{"type": "t", "source": "/s", "id": fmt.Sprint(i), "data": strings.Repeat("x", 200<<10)}})
	}
	after, count := int64(0), 0
	for pages := 0; ; pages++ {
		got, err := a.readSubscriptions(t.Context(), readRequest{Execution: x.Execution, No: x.No, Asked: []asked{{Command: 7, After: after, Filters: []filter{{Type: "t"}}}}})
		if err != nil || len(got.Pages) != 1 || pages > 8 {
			t.Fatalf("%+v, %v", got, err)
		}
		page := got.Pages[0]
		size := 0
		for _, ev := range page.Events {
			size += len(ev.Event)
			count++
			if ev.Number != int64(count) {
				t.Errorf("event %d has number %d", count, ev.Number)
			}
		}
		if size > maxReadBytes+201<<10 {
			t.Errorf("a page has %d bytes", size)
		}
		after = page.Through
		if page.CaughtUp {
			break
		}
	}
	if count != 8 {
		t.Errorf("%d of 8 events were read", count)
	}
	// A repeated attempt reads again what the first one has read, though the row sleeps.
	again, err := a.readSubscriptions(t.Context(), readRequest{Execution: x.Execution, No: x.No, Asked: []asked{{Command: 7, After: 6, Filters: []filter{{Type: "t"}}}}})
	if err != nil || len(again.Pages[0].Events) != 2 || !again.Pages[0].CaughtUp {
		t.Errorf("again: %d events, %v", len(again.Pages[0].Events), err)
	}
	o.cancel(x.No)
	final, err := a.readSubscriptions(t.Context(), readRequest{Execution: x.Execution, No: x.No, Asked: []asked{{Command: 8}}})
	if err != nil || !final.Final {
		t.Errorf("of an execution that has ended: %+v, %v", final, err)
	}
}

// An emit is stored once and in order, however often its activity is repeated.
func TestPublishAgain(t *testing.T) {
	t.Parallel()
	o := newWorkerFixture(t)
	a := o.activities(nil)
	x := o.accept(compile(t, "do: [{a: {set: '${ 1 }'}}]"), 1)
	in := publishing{No: x.No, Execution: x.Execution, Environment: x.Environment, Commands: []uint64{3, 4}}
	for i := range 2 {
		in.Events = append(in.Events, []byte(fmt.Sprintf(`{"type": "t", "source": "/s", "id": "same", "data": %d}`, i)))
	}
	for range 3 {
		if err := a.publish(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	got := o.emitted(x.Execution)
	if len(got) != 2 || !value.Equal(got[1].(map[string]any)["data"], 1) {
		t.Errorf("stored are %v", got)
	}
}

// A stream does not run ahead of the machine that takes its messages; all of them come, in order, also across runs.
func TestStreamAcrossRuns(t *testing.T) {
	t.Parallel()
	e := newInstallation(t, defaultLimits())
	const most = 120
	var ahead, sent, done atomic.Int64
	consume := fmt.Sprintf("{call: asyncapi, with: {document: {endpoint: 'https://example.org/'}, operation: o, subscription: {consume: {amount: %d}, foreach: {item: m, do: [{b: %s}, {c: {set: '${ $m }'}}]}}}}", most, get)
	a := e.start(parse(t, "do: [{a: "+consume+"}, {z: {set: '${ [length, (. == [range("+fmt.Sprint(most)+")])] }'}}]"), 1,
		func(ctx context.Context, c runner.Call) runner.Result {
			if c.Kind == "http" {
				done.Add(1)
				return runner.Result{Output: 1}
			}
			// A source that remembers what it has handed over, as queues do.
			for i := sent.Load(); ; i = sent.Add(1) {
				if err := c.Progress(ctx, int(i)); err != nil {
					return runner.Result{}
				}
				ahead.Store(max(ahead.Load(), i-done.Load()))
			}
		})
	e.ended(a)
	e.end(a)
	wantOutput(t, e.workerFixture, a, fmt.Sprintf("[%d, true]", most))
	runs := e.histories(a)
	if len(runs) < 2 {
		t.Errorf("there were %d runs", len(runs))
	}
	for i, h := range runs {
		if err := e.replay(h); err != nil {
			t.Errorf("replay run %d: %v", i+1, err)
		}
	}
	t.Logf("%d runs, at most %d messages ahead", len(runs), ahead.Load())
}

// The parent's cancellation ends the children that it awaits, and theirs; those that go by themselves continue.
func TestCancelledTree(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"cancelled", "terminated"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			e := newInstallation(t, defaultLimits())
			e.children(&machinetest.Fixture{Children: map[string]string{
				"idle":   "do: [{h: {wait: PT1H}}]",
				"middle": "do: [{i: {run: {workflow: {namespace: suite, name: idle}}}}]",
			}})
			a := e.start(parse(t, "do: [{f: {run: {workflow: {namespace: suite, name: idle}, await: false}}}, {m: {run: {workflow: {namespace: suite, name: middle}}}}]"), 1, nil)
			waiting := func() (n int) {
				e.view(func(r *store.Reader) error {
					unfinished, err := r.CountUnfinished()
					n = int(unfinished[store.StateParked])
					return err
				})
				return n
			}
			eventually(t, "all four wait", func() bool { return waiting() == 4 })
			if way == "cancelled" {
				if err := e.engine.Cancel(t.Context(), a.Execution, "enough"); err != nil {
					t.Fatal(err)
				}
			} else {
				if err := e.client.TerminateWorkflow(t.Context(), a.Execution.String(), "", "gone"); err != nil {
					t.Fatal(err)
				}
				// as the next round would
				if err := e.engine.reconciler.end(t.Context(), a.No, "It is gone."); err != nil {
					t.Fatal(err)
				}
			}
			eventually(t, "the awaited ones end", func() bool { return waiting() == 1 })
			var due []store.Child
			e.view(func(r *store.Reader) (err error) {
				if due, err = r.DueChildren(store.ChildStopped, 0, 10); err == nil && len(due) == 0 {
					due, err = r.DueChildren(store.ChildEnded, 0, 10)
				}
				return err
			})
			if len(due) != 0 {
				t.Errorf("due are %+v", due)
			}
		})
	}
}

// A process that no task awaits continues when the execution has completed, whose row says so; the workflow stays
// for it.
func TestDetachedGoesOn(t *testing.T) {
	t.Parallel()
	e := newInstallation(t, defaultLimits())
	begun, release := make(chan struct{}), make(chan struct{})
	var ended atomic.Bool
	a := e.start(parse(t, "do: [{x: {run: {shell: {command: x}, await: false}}}, {w: {wait: {milliseconds: 5}}}, {y: {set: '${ 2 }'}}]"), 1,
		func(ctx context.Context, _ runner.Call) runner.Result {
			close(begun)
			select {
			case <-release:
				ended.Store(true)
			case <-ctx.Done():
			}
			return runner.Result{Fault: &machine.Fault{Type: machine.ErrRuntime, Status: 500}}
		})
	<-begun
	e.ended(a)
	wantOutput(t, e.workerFixture, a, "2")
	d, err := e.client.DescribeWorkflowExecution(t.Context(), a.Execution.String(), "")
	if err != nil || d.GetWorkflowExecutionInfo().GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		t.Errorf("the workflow is %s, %v", d.GetWorkflowExecutionInfo().GetStatus(), err)
	}
	close(release)
	e.end(a)
	if !ended.Load() {
		t.Error("the process was stopped")
	}
	for _, h := range e.histories(a) {
		if err := e.replay(h); err != nil {
			t.Error(err)
		}
	}
}
