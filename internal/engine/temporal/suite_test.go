package temporal

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/machine/machinetest"
	"github.com/chargehand/chargehand/internal/plan"
)

// environment is the simulation of one run.
type environment = *testsuite.TestWorkflowEnvironment

// simulated runs workflows in the SDK's simulation of Temporal, in which timers take no
// time while nothing else happens.
type simulated struct {
	testsuite.WorkflowTestSuite
	office *office
	pace   pace
	runs   int
	before func(environment)   // of each run
	change func(*WorkerConfig) // of each run's worker
	// perform, if set, stands for the activity.
	perform func(*activities) func(context.Context, call) (outcome, error)
	during  *testsuite.TestWorkflowEnvironment
}

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
		c := s.office.config()
		if s.change != nil {
			s.change(&c)
		}
		w := newWorker(c, s.pace)
		w.workflows.register(env)
		if s.perform != nil {
			env.RegisterActivityWithOptions(s.perform(w.activities), activity.RegisterOptions{Name: performType})
		} else {
			w.activities.registerPerform(env)
		}
		w.activities.registerWrites(env)
		s.during = env
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
		if err := converter.GetDefaultDataConverter().FromPayloads(next.Input, &a); err != nil {
			t.Fatal(err)
		}
		if s.runs > 2000 {
			t.Fatal("the execution does not end")
		}
	}
}

// simulatedRunner runs a script in the simulation.
type simulatedRunner struct {
	pace   pace
	before func(environment)
}

func (r simulatedRunner) Run(t *testing.T, p *plan.Plan, input expr.Value, w *machinetest.World) machinetest.Result {
	o := newOffice(t)
	outside := newScripted(w)
	o.outside = outside.Run
	s := &simulated{office: o, pace: r.pace, before: r.before}
	a := o.accept(p, input)
	outside.hangs = func() {
		o.cancel(a.No)
		s.during.SignalWorkflow(inboxSignal, message{No: 1, Kind: kindCancel, Reason: "by the suite"})
	}
	s.run(t, a)
	return o.result(a, outside.files)
}

// TestSuiteSimulated: the workflow means the same as the bare machine.
func TestSuiteSimulated(t *testing.T) {
	machinetest.Run(t, func(t *testing.T) machinetest.Runner {
		t.Parallel()
		return simulatedRunner{pace: thePace()}
	})
}

// TestSuiteInManyRuns continues as new whenever it can: after each slice, and after each
// event as soon as nothing runs.
func TestSuiteInManyRuns(t *testing.T) {
	p := thePace()
	p.runSlices = 1
	machinetest.Run(t, func(t *testing.T) machinetest.Runner {
		t.Parallel()
		return simulatedRunner{p, func(env environment) { env.SetContinueAsNewSuggested(true) }}
	})
}
