package temporal

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/chargehand/chargehand/internal/fair"
	"github.com/chargehand/chargehand/internal/machine/machinetest"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/value"
)

// environment is the simulation of one run.
type environment = *testsuite.TestWorkflowEnvironment

// simulated runs workflows in the SDK's simulation of Temporal, in which timers take no
// time while nothing else happens.
type simulated struct {
	testsuite.WorkflowTestSuite
	workerFixture *workerFixture
	limits        limits
	runs          int
	before        func(environment)   // of each run
	change        func(*WorkerConfig) // of each run's worker
	// perform, if set, stands for the activity.
	perform   func(*activities) func(context.Context, call) (outcome, error)
	during    *testsuite.TestWorkflowEnvironment
	afterRead func() // after each read at events, before the workflow hears of it
	sealer    *secret.Sealer
}

// slot is the postbox of the simulation, which takes everything.
type slot struct{ env environment }

func (s slot) send(_ context.Context, p progress) error {
	if s.env.IsWorkflowCompleted() {
		return errGone
	}
	s.env.SignalWorkflow(streamSignal, p)
	return nil
}

func (s slot) taken(context.Context, int64) (int64, error) { return math.MaxInt64, nil }

// quiet is a simulation that logs nothing.
func quiet() *testsuite.WorkflowTestSuite {
	s := new(testsuite.WorkflowTestSuite)
	s.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	return s
}

// run runs a workflow, and those that it continues as.
func (s *simulated) run(t *testing.T, a argument) {
	t.Helper()
	s.WorkflowTestSuite = *quiet()
	for s.runs = 1; ; s.runs++ {
		env := s.NewTestWorkflowEnvironment()
		env.SetTestTimeout(time.Minute)
		env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: deadlockTime})
		c := s.workerFixture.config()
		if s.change != nil {
			s.change(&c)
		}
		w := newWorker(c, s.limits)
		w.workflows.register(env)
		if s.perform != nil {
			env.RegisterActivityWithOptions(s.perform(w.activities), activity.RegisterOptions{Name: performType})
		} else {
			w.activities.registerPerform(env, fair.NewGate(fair.Limits{Permits: 256}))
		}
		w.activities.postTo = func(string, string) postbox { return slot{env} }
		s.during = env
		w.activities.registerWrites(env)
		if s.afterRead != nil {
			for _, name := range []string{listenType, eventsType} {
				env.RegisterActivityWithOptions(func(ctx context.Context, l readRequest) (eventPages, error) {
					pages, err := w.activities.readSubscriptions(ctx, l)
					s.afterRead()
					return pages, err
				}, activity.RegisterOptions{Name: name})
			}
		}
		env.SetDataConverter(newConverter(s.sealer))
		if s.before != nil {
			s.before(env)
		}
		env.ExecuteWorkflow(workflowType, a)
		w.Stop(context.Background())
		err := env.GetWorkflowError()
		if !env.IsWorkflowCompleted() {
			t.Fatal("the workflow has not completed")
		}
		var next *workflow.ContinueAsNewError
		if !errors.As(err, &next) {
			if err != nil {
				t.Fatal(err)
			}
			return
		}
		a = argument{}
		if err := newConverter(s.sealer).FromPayloads(next.Input, &a); err != nil {
			t.Fatal(err)
		}
		if s.runs > 2000 {
			t.Fatal("the execution does not end")
		}
	}
}

// simulatedRunner runs a script in the simulation.
type simulatedRunner struct {
	limits limits
	before func(environment)
}

func (r simulatedRunner) Run(t *testing.T, p *plan.Plan, input value.Value, w *machinetest.Fixture) machinetest.Result {
	o := newWorkerFixture(t)
	outside := newScripted(w)
	o.outside = outside.Run
	s := &simulated{workerFixture: o, limits: r.limits, before: r.before}
	o.wake = func(int64) {
		s.during.SignalWorkflow(messageSignal, message{No: time.Now().UnixNano(), Kind: kindEvents})
	}
	outside.store = o.publish
	if len(w.Before) > 0 {
		o.publish(w.Envelopes(w.Before))
		eventually(t, "the clock moves", clockMoves())
	}
	a := o.accept(p, input)
	s.afterRead = sync.OnceFunc(func() { o.publish(w.Envelopes(w.Events)) })
	outside.hangs = func() {
		o.cancel(a.No)
		s.during.SignalWorkflow(messageSignal, message{No: 1, Kind: kindCancel, Reason: "by the suite"})
	}
	s.run(t, a)
	return o.result(a, outside.files)
}

// TestLongSuiteSimulated: the workflow means the same as the bare machine.
func TestLongSuiteSimulated(t *testing.T) {
	machinetest.Run(t, func(t *testing.T) machinetest.Runner {
		t.Parallel()
		return simulatedRunner{limits: defaultLimits()}
	})
}

// TestLongSuiteOfEventsSimulated: events and streams mean the same.
func TestLongSuiteOfEventsSimulated(t *testing.T) {
	machinetest.RunEvents(t, func(t *testing.T) machinetest.Runner {
		t.Parallel()
		return simulatedRunner{limits: defaultLimits()}
	})
}

// TestLongSuiteOfEventsInManyRuns: what was listened to in one run is listened to in the next. A stream that
// is begun again hands over again what it had.
func TestLongSuiteOfEventsInManyRuns(t *testing.T) {
	p := defaultLimits()
	p.runSlices = 1
	for _, s := range machinetest.EventScripts() {
		if streams := slices.ContainsFunc(slices.Collect(maps.Values(s.Answers)), func(list []machinetest.Answer) bool {
			return slices.ContainsFunc(list, func(a machinetest.Answer) bool { return len(a.Messages) > 0 })
		}); streams {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			s.Run(t, simulatedRunner{p, func(env environment) { env.SetContinueAsNewSuggested(true) }})
		})
	}
}

// clockMoves reports whether a millisecond has gone since the call.
func clockMoves() func() bool {
	begun := time.Now()
	return func() bool { return time.Since(begun) > 2*time.Millisecond }
}

// TestLongSuiteInManyRuns continues as new whenever it can: after each slice, and after each
// event as soon as nothing runs.
func TestLongSuiteInManyRuns(t *testing.T) {
	p := defaultLimits()
	p.runSlices = 1
	machinetest.Run(t, func(t *testing.T) machinetest.Runner {
		t.Parallel()
		return simulatedRunner{p, func(env environment) { env.SetContinueAsNewSuggested(true) }}
	})
}
