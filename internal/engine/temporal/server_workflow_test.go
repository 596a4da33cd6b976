package temporal

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/proto"

	"github.com/chargehand/chargehand"
	runner "github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/pause"
	"github.com/chargehand/chargehand/internal/value"
)

// Two loops over calls in a fork beside a wait, on a server that suggests a new run after
// 200 events: all of it continues, messages are taken in once, and every run can be replayed.
func TestServerLoops(t *testing.T) {
	t.Parallel()
	b := newServerFixture(t, defaultLimits())
	loop := "{for: {in: '[range(80)]'}, do: [{b: " + get + "}, {c: {set: '${ . + 1 }'}}]}"
	a := b.begin(compile(t, "do: [{s: {fork: {branches: [{l: "+loop+"}, {r: "+loop+"}, {w: {wait: {milliseconds: 100}}}]}}}]"), 0, echo)
	for range 3 {
		b.signal(a, message{No: 5, Kind: kindGrant, Report: 99})
	}
	b.end(a)
	wantOutput(t, b.workerFixture, a, "[80, 80, 0]")
	if runs := b.replayAll(a, defaultLimits()); runs < 4 {
		t.Errorf("there were %d runs", runs)
	}
	if n := len(b.result(a, nil).Timeline); n != 1+3+2*160 {
		t.Errorf("the timeline has %d entries", n)
	}
	d, err := b.client.DescribeWorkflowExecution(t.Context(), a.Execution.String(), "")
	if err != nil {
		t.Fatal(err)
	}
	if fields := d.GetWorkflowExecutionInfo().GetSearchAttributes().GetIndexedFields(); string(fields[accountKey.GetName()].GetData()) != `"`+a.Account.String()+`"` {
		t.Errorf("the last run has the search attributes %v", fields)
	}
}

// More activities at once than may pend.
func TestServerFork(t *testing.T) {
	t.Parallel()
	b := newServerFixture(t, defaultLimits())
	var branches strings.Builder
	for i := range 520 {
		fmt.Fprintf(&branches, "{b%d: %s}, ", i, get)
	}
	a := b.begin(compile(t, "do: [{s: {fork: {branches: ["+branches.String()+"]}}}, {z: {set: '${ . | length }'}}]"), 1, echo)
	b.end(a)
	wantOutput(t, b.workerFixture, a, "520")
	for _, h := range b.histories(a) {
		open, most := 0, 0
		for _, ev := range h.Events {
			switch ev.EventType {
			case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
				open++
				most = max(most, open)
			case enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
				open--
			}
		}
		if most > defaultLimits().pending {
			t.Errorf("%d activities were pending", most)
		}
	}
	b.replayAll(a, defaultLimits())
}

// Large arguments and outcomes do not are in the history.
func TestServerLarge(t *testing.T) {
	t.Parallel()
	b := newServerFixture(t, defaultLimits())
	large := strings.Repeat("x", 1<<20)
	a := b.begin(compile(t, "do: [{a: "+get+"}, {b: "+get+"}]"), large, echo)
	b.end(a)
	if got := b.result(a, nil); got.Output != large {
		t.Errorf("it ended %s with %d bytes", got.Phase, value.Size(got.Output))
	}
	for _, h := range b.histories(a) {
		if size := proto.Size(h); size > 20<<10 {
			t.Errorf("the history has %d bytes", size)
		}
	}
	b.replayAll(a, defaultLimits())
}

// A worker that stops hands its activity to another one; the workflow answers queries
// meanwhile.
func TestServerRequeue(t *testing.T) {
	t.Parallel()
	b := newServerFixture(t, defaultLimits())
	begun := make(chan struct{}, 2)
	var runs sync.Map
	a := b.begin(compile(t, "do: [{s: {set: '${ 1 }'}}, {a: "+get+"}]"), 0, func(ctx context.Context, c runner.Call) runner.Result {
		if _, again := runs.LoadOrStore(c.Key, true); again {
			return runner.Result{Output: "again"}
		}
		begun <- struct{}{}
		<-ctx.Done()
		return runner.Result{Output: "first"}
	})
	<-begun
	v, err := b.client.QueryWorkflow(t.Context(), a.Execution.String(), "", timelineQuery)
	if err != nil {
		t.Fatal(err)
	}
	var live liveTimeline
	if err := v.Get(&live); err != nil {
		t.Fatal(err)
	}
	entries, _, err := machine.DecodeTimeline(compile(t, "do: [{s: {set: '${ 1 }'}}, {a: "+get+"}]"), live.Entries, 1)
	if err != nil || live.Moving || len(entries) != 2 || entries[1].Name != "a" || entries[1].Phase != chargehand.Running {
		t.Errorf("the timeline is %v, %v", entries, err)
	}
	b.startWorker(defaultLimits())
	stop, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	b.worker.Stop(stop)
	b.end(a)
	wantOutput(t, b.workerFixture, a, `"again"`)
}

// An activity whose worker falls silent runs again elsewhere; one that takes longer than a
// silence may last does not. (That takes as long as heartbeatTimeout.)
func TestServerSilence(t *testing.T) {
	t.Parallel()
	b := newIdleServerFixture(t)
	taken := make(chan struct{})
	released := make(chan struct{})
	silent := worker.New(b.client, callQueue(b.queue, chargehand.Live), worker.Options{DisableWorkflowWorker: true, MaxConcurrentActivityExecutionSize: 1})
	silent.RegisterActivityWithOptions(func(ctx context.Context, _ call) (outcome, error) {
		close(taken)
		<-released
		return outcome{}, ctx.Err()
	}, activity.RegisterOptions{Name: performType})
	if err := silent.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(silent.Stop)
	t.Cleanup(func() { close(released) })
	flows := worker.New(b.client, workflowQueue(b.queue, machine.Revision), worker.Options{LocalActivityWorkerOnly: true})
	(&workflows{plans: newPlans(), limits: defaultLimits()}).register(flows)
	if err := flows.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(flows.Stop)
	var runs atomic.Int32
	slow := func(ctx context.Context, c runner.Call) runner.Result {
		runs.Add(1)
		if err := pause.For(ctx, heartbeatTimeout+time.Second); err != nil {
			t.Errorf("%s was withdrawn: %v", c.Reference, err)
		}
		return runner.Result{Output: 1}
	}
	lost := b.begin(compile(t, "do: [{a: "+get+"}]"), 0, func(context.Context, runner.Call) runner.Result { return runner.Result{Output: "again"} })
	<-taken
	b.startWorker(defaultLimits())
	long := b.begin(compile(t, "do: [{a: "+get+"}]"), 0, slow)
	b.end(lost)
	wantOutput(t, b.workerFixture, lost, `"again"`)
	b.end(long)
	if got := b.result(long, nil); got.Phase != chargehand.Completed || runs.Load() != 1 {
		t.Errorf("it ended %s after %d runs", got.Phase, runs.Load())
	}
}

// What Temporal handed over to a worker that had stopped meanwhile goes back to the queue at
// once and does not count as interrupted; what the worker began stays its own.
func TestServerNotBegun(t *testing.T) {
	t.Parallel()
	b := newIdleServerFixture(t)
	c := b.config()
	c.Client, c.Namespace = b.client, b.remote.namespace
	leaving := newWorker(c, defaultLimits())
	leaving.parts = leaving.workflowQueues() // the test takes its calls
	for _, part := range leaving.parts {
		if err := part.Start(); err != nil {
			t.Fatal(err)
		}
	}
	once := "{call: http, metadata: {onInterrupted: fault}, with: {method: get, endpoint: 'https://example.org/'}}"
	a := b.begin(compile(t, "do: [{s: {fork: {branches: [{l: "+once+"}, {r: "+once+"}]}}}]"), 0, func(context.Context, runner.Call) runner.Result {
		return runner.Result{Output: "again"}
	})
	var polled [2]*workflowservice.PollActivityTaskQueueResponse
	for i := range polled {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		var err error
		polled[i], err = b.client.WorkflowService().PollActivityTaskQueue(ctx, &workflowservice.PollActivityTaskQueueRequest{
			Namespace: c.Namespace, Identity: leaving.activities.identity,
			TaskQueue: &taskqueuepb.TaskQueue{Name: callQueue(b.queue, chargehand.Live), Kind: enumspb.TASK_QUEUE_KIND_NORMAL},
		})
		if err != nil || len(polled[i].GetTaskToken()) == 0 {
			t.Fatalf("poll %d: %v, %v", i, polled[i], err)
		}
	}
	begun := attemptID{run: polled[0].GetWorkflowExecution().GetRunId(), activity: polled[0].GetActivityId()}
	if !leaving.activities.startedAttempts.begin(begun) {
		t.Fatal("a worker that runs begins nothing")
	}
	leaving.activities.startedAttempts.end(begun)
	leaving.Stop(t.Context())
	if leaving.activities.startedAttempts.begin(attemptID{run: "another"}) {
		t.Error("a worker that has stopped begins something")
	}
	b.worker = b.startWorker(defaultLimits())
	if err := b.client.CompleteActivity(t.Context(), polled[0].GetTaskToken(), outcome{Output: []byte(`"first"`)}, nil); err != nil {
		t.Errorf("what the worker had begun was taken from it: %v", err)
	}
	b.end(a)
	got := b.result(a, nil)
	if got.Phase != chargehand.Completed {
		t.Errorf("the execution ended %s: %+v", got.Phase, got)
	}
	lost := 0
	for _, h := range b.histories(a) {
		for _, ev := range h.Events {
			if ev.EventType == enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT {
				t.Error("a task was taken for lost")
			}
			if ev.GetActivityTaskFailedEventAttributes().GetFailure().GetApplicationFailureInfo().GetType() == codeNotBegun {
				lost++
			}
		}
	}
	if lost != 1 {
		t.Errorf("%d tasks were given back", lost)
	}
	b.replayAll(a, defaultLimits())
}

// What has begun is remembered for as long as Temporal may take it for running.
func TestStartedAttempts(t *testing.T) {
	var l startedAttempts
	id := attemptID{run: "r", activity: "1"}
	if l.has(id) || !l.begin(id) || !l.has(id) {
		t.Error("what runs is not known")
	}
	l.end(id)
	for queuePositions, want := range []bool{true, false} {
		l.turned = time.Now().Add(-2 * attemptTime)
		l.end(attemptID{run: "another"})
		if l.has(id) != want {
			t.Errorf("after %d turns it is known: %t", queuePositions+1, !want)
		}
	}
}
