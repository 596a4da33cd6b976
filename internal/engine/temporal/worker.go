package temporal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/chargehand/chargehand"
	runner "github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/eventstream"
	"github.com/chargehand/chargehand/internal/fair"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/runlog"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
)

// WorkerConfig configures a worker. Client, Namespace, Store, Blobs and Queue are required.
type WorkerConfig struct {
	Client    client.Client // its logger is the worker's
	Namespace string        // that of Client
	Store     *store.Store
	Blobs     engine.Blobs
	Queue     string // prefix of the task queues

	// Activities carries out commands, by kind ("http", "shell" …). A kind without a runner
	// is a configuration fault of the task, so all workers of a queue have the same kinds.
	Activities map[string]runner.Runner
	Sealer     *secret.Sealer // of payloads and timelines of executions with secrets, as Client's; nil: there are none

	// Logs takes what activities write while they run; nil: nothing does. It is stopped after the worker.
	Logs *runlog.Writer

	// Freed is called when an execution has given a slot of an account back, or waits for
	// one. It must not block. Nil: no call.
	Freed func(account int64)
	// Undelivered is called with messages that were written to the outbox, with a lease for this process
	// (Engine.Undelivered), and Published when a stream has new events. They must not block. Nil: some
	// node finds them in a moment.
	Undelivered func(messages []store.OutboxMessage)
	Published   func(account int64, env chargehand.Environment)

	// Tracer makes the spans of executions that end here; nil: none. The runners make the spans of activities.
	Tracer trace.Tracer
	Log    *slog.Logger     // default: slog.Default()
	Now    func() time.Time // wall clock; default: time.Now
	Limits WorkerLimits
}

// WorkerLimits bounds what a worker takes on. A zero field stands for the default.
type WorkerLimits struct {
	AccountSlots        int           // executions of an account that run at once; default 1,000
	Calls               int           // outgoing calls at once; default 256
	Streams             int           // subscriptions of `call: asyncapi` at once; default 1,024
	Processes           int           // processes at once; default 8
	Scripts             int           // scripts in JavaScript at once; default 8
	ActivityOutputBytes int           // JSON of an outcome; default 64 MiB
	Writes              int           // activities that write to the database at once; default 256
	WorkflowTasks       int           // workflow tasks at once, at least 2; default 64
	CachedWorkflows     int           // executions that the process keeps in memory; default 2,000
	Stop                time.Duration // how long a stop waits for running activities; default 30 s
}

func (l WorkerLimits) withDefaults() WorkerLimits {
	l.AccountSlots = cmp.Or(l.AccountSlots, engine.DefaultAccountSlots)
	l.Calls = cmp.Or(l.Calls, 256)
	l.Streams = cmp.Or(l.Streams, 1024)
	l.Processes = cmp.Or(l.Processes, 8)
	l.Scripts = cmp.Or(l.Scripts, 8)
	l.ActivityOutputBytes = cmp.Or(l.ActivityOutputBytes, 64<<20)
	l.Writes = cmp.Or(l.Writes, 256)
	l.WorkflowTasks = cmp.Or(l.WorkflowTasks, 64)
	l.CachedWorkflows = cmp.Or(l.CachedWorkflows, 2000)
	l.Stop = cmp.Or(l.Stop, 30*time.Second)
	return l
}

func (c WorkerConfig) withDefaults() WorkerConfig {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Freed == nil {
		c.Freed = func(int64) {}
	}
	c.Limits = c.Limits.withDefaults()
	return c
}

// reportTime is how long a stopping worker reports to Temporal which activities it has cut off.
const reportTime = 3 * time.Second

// deadlockTime is how long a workflow task may compute without a break. A slice takes milliseconds, but much longer on
// an overloaded computer.
const deadlockTime = 20 * time.Second

// Worker runs workflows and their activities. Any number of workers serve the same queue.
// Methods are safe for concurrent use.
type Worker struct {
	activities *activities
	workflows  *workflows
	cut        context.CancelFunc

	mu    sync.Mutex
	parts []worker.Worker // while it runs
}

// NewWorker makes a worker. The number of cached workflows counts for all workers of the
// process: the SDK has one cache.
func NewWorker(c WorkerConfig) *Worker { return newWorker(c, defaultLimits()) }

func newWorker(c WorkerConfig, p limits) *Worker {
	c = c.withDefaults()
	worker.SetStickyWorkflowCacheSize(c.Limits.CachedWorkflows)
	cut, cancel := context.WithCancel(context.Background())
	a := &activities{WorkerConfig: c, identity: workerName(), cut: cut, reader: eventstream.NewReader(c.Store, c.Blobs)}
	a.postTo = func(workflow, run string) postbox { return mailbox{a.Client, workflow, run} }
	return &Worker{
		activities: a, cut: cancel,
		workflows: &workflows{plans: newPlans(), limits: p},
	}
}

// queues are the workers of the SDK, one for each task queue.
func (w *Worker) queues() []worker.Worker { return append(w.workflowQueues(), w.performers()...) }

// workflowQueues take workflow tasks, and the activities that write to the database.
func (w *Worker) workflowQueues() []worker.Worker {
	var parts []worker.Worker
	a := w.activities
	for revision := 1; revision <= machine.Revision; revision++ {
		if !machine.Knows(revision) {
			continue // its executions wait for a worker that does
		}
		part := worker.New(a.Client, workflowQueue(a.Queue, revision), worker.Options{
			Identity:                               a.identity,
			MaxConcurrentWorkflowTaskExecutionSize: max(a.Limits.WorkflowTasks, 2),
			MaxConcurrentActivityExecutionSize:     a.Limits.Writes,
			WorkflowTaskPollerBehavior:             workflowPollers(max(a.Limits.WorkflowTasks, 2)),
			ActivityTaskPollerBehavior:             pollers(),
			DeadlockDetectionTimeout:               deadlockTime,
			WorkflowPanicPolicy:                    worker.FailWorkflow,
			WorkerStopTimeout:                      a.Limits.Stop + reportTime,
		})
		w.workflows.register(part)
		a.registerWrites(part)
		parts = append(parts, part)
	}
	return parts
}

// performers carry out activities of the language: each class has a queue for each environment.
func (w *Worker) performers() []worker.Worker {
	var parts []worker.Worker
	a := w.activities
	for _, class := range []struct {
		queue   func(prefix string, env chargehand.Environment) string
		permits int
	}{
		{callQueue, a.Limits.Calls}, {streamQueue, a.Limits.Streams},
		{processQueue, a.Limits.Processes}, {scriptQueue, a.Limits.Scripts},
	} {
		permits := fair.NewGate(fair.Limits{Permits: class.permits})
		parts = append(parts,
			a.performer(class.queue(a.Queue, chargehand.Live), class.permits, permits),
			a.performer(class.queue(a.Queue, chargehand.Test), fair.Limits{Permits: class.permits}.OfTest(), permits))
	}
	return parts
}

func pollers() worker.PollerBehavior {
	return worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{})
}

// workflowPollers bounds the polls for workflow tasks. A poll holds the permit of a workflow task before it has got a
// task. Polls for new executions last a minute if there are none. After a burst of starts they would hold nearly all
// permits, and the tasks of executions in memory, which have a queue of their own, would wait for the few others.
func workflowPollers(tasks int) worker.PollerBehavior {
	most := max(1, tasks/4)
	return worker.NewPollerBehaviorAutoscaling(worker.PollerBehaviorAutoscalingOptions{
		InitialNumberOfPollers: min(5, most), MaximumNumberOfPollers: most,
	})
}

// performer is the worker that carries out activities of the language from a queue of one environment. The gate shares
// the permits of a class between both environments.
func (a *activities) performer(queue string, atOnce int, permits *fair.Gate) worker.Worker {
	part := worker.New(a.Client, queue, worker.Options{
		Identity:                           a.identity,
		DisableWorkflowWorker:              true,
		MaxConcurrentActivityExecutionSize: atOnce,
		ActivityTaskPollerBehavior:         pollers(),
		MaxHeartbeatThrottleInterval:       2 * time.Second,
		WorkerStopTimeout:                  a.Limits.Stop + reportTime,
	})
	a.registerPerform(part, permits)
	return part
}

// register names the workflow function.
func (w *workflows) register(r interface {
	RegisterWorkflowWithOptions(w any, o workflow.RegisterOptions)
}) {
	r.RegisterWorkflowWithOptions(w.execute, workflow.RegisterOptions{Name: workflowType})
}

type activityRegistry interface {
	RegisterActivityWithOptions(a any, o activity.RegisterOptions)
}

func (a *activities) registerPerform(r activityRegistry, permits *fair.Gate) {
	perform := func(ctx context.Context, c call) (outcome, error) { return a.performIn(ctx, permits, c) }
	r.RegisterActivityWithOptions(perform, activity.RegisterOptions{Name: performType})
}

// registerWrites registers the activities that write to the database.
func (a *activities) registerWrites(r activityRegistry) {
	r.RegisterActivityWithOptions(a.reportState, activity.RegisterOptions{Name: reportType})
	r.RegisterActivityWithOptions(a.chunk, activity.RegisterOptions{Name: chunkType})
	r.RegisterActivityWithOptions(a.publish, activity.RegisterOptions{Name: publishType})
	r.RegisterActivityWithOptions(a.readSubscriptions, activity.RegisterOptions{Name: listenType})
	r.RegisterActivityWithOptions(a.readSubscriptions, activity.RegisterOptions{Name: eventsType})
	r.RegisterActivityWithOptions(a.child, activity.RegisterOptions{Name: childType})
	r.RegisterActivityWithOptions(a.task, activity.RegisterOptions{Name: taskType})
	r.RegisterActivityWithOptions(a.outcome, activity.RegisterOptions{Name: outcomeType})
	r.RegisterActivityWithOptions(a.finish, activity.RegisterOptions{Name: finishType})
}

func (a *activities) nowMs() int64 { return a.Now().UnixMilli() }

// Start takes up work. Errors: Temporal cannot be reached, or has no such namespace; then
// nothing runs, and Start may be called again.
func (w *Worker) Start() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.parts != nil {
		return errors.New("start worker: it runs already")
	}
	if w.activities.cut.Err() != nil {
		return errors.New("start worker: it has been stopped")
	}
	parts := w.queues()
	for i, part := range parts {
		if err := part.Start(); err != nil {
			for _, p := range parts[:i] {
				p.Stop()
			}
			return fmt.Errorf("start worker: %w", err)
		}
	}
	w.parts = parts
	return nil
}

// Stop takes no more work and waits for running activities, until ctx ends or WorkerLimits.Stop is over. It cuts off
// those that still run then: they run again elsewhere, as often as the language allows (T91). A task that Temporal has
// given to this worker and that has never arrived goes back to the queue, and does not count. Stop may be called again,
// and without Start.
func (w *Worker) Stop(ctx context.Context) {
	w.mu.Lock()
	parts := w.parts
	w.parts = nil
	w.mu.Unlock()
	defer w.cut()
	ctx, cancel := context.WithTimeout(ctx, w.activities.Limits.Stop)
	defer cancel()
	defer context.AfterFunc(ctx, w.cut)()
	if parts == nil {
		return
	}
	begun := time.Now()
	var stopping sync.WaitGroup
	for _, part := range parts {
		stopping.Go(part.Stop)
	}
	stopping.Wait()
	w.returnUnbegun(begun)
}

// returnUnbegun gives back the tasks that were lost by the stop, which began at that time.
func (w *Worker) returnUnbegun(begun time.Time) {
	a := w.activities
	returned, err := a.returnUnbegun(begun)
	if returned > 0 {
		a.Log.Info("gave back tasks that had not begun", "tasks", returned)
	}
	if err != nil {
		a.Log.Warn("look for tasks that were lost by the worker's stop; they count as interrupted", "error", err)
	}
}
