package temporal

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine/machinetest"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/sample"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// person answers the human tasks of an execution as a script says.
type person struct {
	outside *scripted
	given   map[chargehand.HumanTaskID]bool
	answer  func(task store.HumanTask, output value.Value) error
}

// respond answers what is open now, each task once.
func (p *person) respond(t testing.TB, s *store.Store, execution int64) {
	var tasks []store.HumanTask
	err := s.View(context.Background(), func(r *store.Reader) error {
		row, err := r.ExecutionByNo(execution)
		if err == nil {
			tasks, err = r.HumanTasks(store.TaskFilter{Account: row.Account, Environment: row.Environment, Execution: execution, Limit: 100})
		}
		return err
	})
	if err != nil {
		t.Error(err)
		return
	}
	for _, task := range tasks {
		if p.given[task.ID] {
			continue
		}
		p.given[task.ID] = true
		answer := p.outside.fixture.Answer(task.Reference)
		if !answer.Hang {
			if err := p.answer(task, answer.Value()); err != nil && !errors.Is(err, store.ErrConflict) && !errors.Is(err, engine.ErrFinal) {
				t.Error(err)
			}
		} else if p.outside.fixture.Cancel {
			p.outside.hangs()
		}
	}
}

// write ends the row of a task as the service does.
func write(task store.HumanTask, output value.Value) func(tx *store.Tx, used bool) error {
	return func(tx *store.Tx, used bool) error {
		row := task
		return tx.AnswerTask(&row, -1, engine.Inline(output), task.CreatedMs+1, used)
	}
}

// peopleRunner runs a script of people in the simulation.
type peopleRunner struct {
	simulatedRunner
	crash *commitCrash // nil: none
}

// commitCrash is a crash of a process at its k-th commit since the start of the execution: before it was written, or
// after that. Another process, which Temporal or the client asks then, finds the database well.
type commitCrash struct {
	store.DB
	written bool
	k       atomic.Int64 // commits until then; not positive: none, or it is over
	crashed atomic.Bool
}

func (c *commitCrash) Update(ctx context.Context, fn func(store.Conn) error) error {
	if c.k.Add(-1) != 0 {
		return c.DB.Update(ctx, fn)
	}
	c.crashed.Store(true)
	if c.written {
		if err := c.DB.Update(ctx, fn); err != nil {
			return err
		}
	}
	return store.ErrUnavailable
}

func (r peopleRunner) Run(t *testing.T, p *plan.Plan, input value.Value, w *machinetest.Fixture) machinetest.Result {
	db := template.New(t)
	at := int64(0)
	if r.crash != nil {
		at = r.crash.k.Swap(0)
		r.crash.DB, db = db, r.crash
	}
	o := newWorkerFixtureOn(t, db)
	outside := newScripted(w)
	o.outside = outside.Run
	s := &simulated{workerFixture: o, limits: r.limits}
	a := o.accept(p, input)
	if r.crash != nil {
		r.crash.k.Store(at)
		t.Cleanup(func() { r.crash.k.Store(0) })
	}
	outside.hangs = func() {
		o.cancel(a.No)
		s.during.SignalWorkflow(messageSignal, message{No: 1, Kind: kindCancel, Reason: "by the suite"})
	}
	var number atomic.Int64
	number.Store(100)
	someone := &person{outside: outside, given: map[chargehand.HumanTaskID]bool{}, answer: func(task store.HumanTask, output value.Value) error {
		answer := func(tx *store.Tx) error { return write(task, output)(tx, false) }
		err := o.store.Update(t.Context(), answer)
		if errors.Is(err, store.ErrUnavailable) { // the person tries again
			if err = o.store.Update(t.Context(), answer); errors.Is(err, store.ErrConflict) && r.crash.written {
				err = nil // the answer counts
			}
		}
		if err == nil {
			s.during.SignalWorkflow(messageSignal, message{No: number.Add(1), Kind: kindAnswer, Task: task.Command})
		}
		return err
	}}
	s.before = func(env environment) {
		if r.before != nil {
			r.before(env)
		}
		activities := newWorker(o.config(), r.limits).activities
		env.RegisterActivityWithOptions(func(ctx context.Context, k taskSteps) (taskStepsDone, error) {
			done, err := activities.task(ctx, k)
			if err == nil && slices.ContainsFunc(k.Steps, func(s taskStep) bool { return s.Open != nil }) {
				someone.respond(t, o.store, a.No)
			}
			return done, err
		}, activity.RegisterOptions{Name: taskType})
	}
	s.run(t, a)
	return o.result(a, outside.files)
}

// TestLongSuiteOfPeopleSimulated: human tasks mean the same as on the bare machine.
func TestLongSuiteOfPeopleSimulated(t *testing.T) {
	machinetest.RunHuman(t, func(t *testing.T) machinetest.Runner {
		t.Parallel()
		return peopleRunner{simulatedRunner{limits: defaultLimits()}, nil}
	})
}

// TestLongSuiteOfPeopleInManyRuns continues as new whenever it can.
func TestLongSuiteOfPeopleInManyRuns(t *testing.T) {
	p := defaultLimits()
	p.runSlices = 1
	machinetest.RunHuman(t, func(t *testing.T) machinetest.Runner {
		t.Parallel()
		return peopleRunner{simulatedRunner{p, func(env environment) { env.SetContinueAsNewSuggested(true) }}, nil}
	})
}

// TestLongCrashesInTheSuiteOfPeople: human tasks mean the same when a process dies at any commit of an execution,
// before or after it is written: what opens, withdraws, answers and reads tasks is done again, and once.
func TestLongCrashesInTheSuiteOfPeople(t *testing.T) {
	var total atomic.Int64
	t.Run("scripts", func(t *testing.T) {
		for _, s := range machinetest.HumanScripts() {
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				for _, written := range []bool{false, true} {
					first, step := sample.Every(t, 4)
					for k := first; !t.Failed(); k += step {
						crash := &commitCrash{written: written}
						crash.k.Store(int64(k))
						s.Run(t, peopleRunner{simulatedRunner{limits: defaultLimits()}, crash})
						if t.Failed() {
							t.Logf("crash at commit %d, written: %v", k, written)
						}
						if !crash.crashed.Load() {
							break
						}
						total.Add(1)
					}
				}
			})
		}
	})
	t.Logf("%d crashes", total.Load())
}

// TestSuiteOfPeople: in a whole installation, human tasks mean the same, no row is left open, and every history can be
// replayed.
func TestSuiteOfPeople(t *testing.T) {
	all := newInstallation(t, defaultLimits())
	machinetest.RunHuman(t, func(t *testing.T) machinetest.Runner {
		t.Parallel()
		return installationPeople{all, nil}
	})
}

type installationPeople struct {
	installation *installation
	after        func(e *installation, a argument) // nil: nothing
}

func (r installationPeople) Run(t *testing.T, p *plan.Plan, input value.Value, w *machinetest.Fixture) machinetest.Result {
	e := r.installation.tenant(t)
	outside := newScripted(w)
	r.installation.serverFixture.mu.Lock()
	r.installation.others[e.account.ID] = outside.Run
	r.installation.serverFixture.mu.Unlock()
	a := e.start(p, input, outside.Run)
	outside.hangs = func() {
		if err := e.engine.Cancel(context.Background(), a.Execution, "by the suite"); err != nil {
			t.Error(err)
		}
	}
	someone := &person{outside: outside, given: map[chargehand.HumanTaskID]bool{}, answer: func(task store.HumanTask, output value.Value) error {
		return e.engine.AnswerTask(context.Background(), engine.TaskAnswer{Task: task, Output: output, Write: write(task, output)})
	}}
	eventually(t, "the execution ends", func() bool {
		someone.respond(t, e.store, a.No)
		return e.row(a.No).Status.Final()
	})
	e.ended(a)
	e.end(a)
	e.replayAll(a, defaultLimits())
	if r.after != nil {
		r.after(e, a)
	}
	return e.result(a, outside.files)
}

// The row decides between an answer and the timeout of its task.
func TestAnswerBeforeTheTimeout(t *testing.T) {
	o := newWorkerFixture(t)
	p := parse(t, "do: [{a: {call: 'human:1.0.0@default', with: {title: A, due: PT2H, remind: [PT30M]}, timeout: {after: PT1H}, output: {as: .outcome}}}]")
	s := &simulated{workerFixture: o, limits: defaultLimits()}
	a := o.accept(p, map[string]any{})
	s.before = func(env environment) {
		activities := newWorker(o.config(), defaultLimits()).activities
		env.RegisterActivityWithOptions(func(ctx context.Context, k taskSteps) (taskStepsDone, error) {
			done, err := activities.task(ctx, k)
			if err == nil && k.Steps[0].Open != nil { // it is answered, and the signal is late
				o.update(func(tx *store.Tx) error {
					task, err := tx.HumanTaskOf(a.No, k.Steps[0].Command)
					if err != nil {
						return err
					}
					times, err := tx.TaskTimesDue(chargehand.Live, store.NeverDue, 9)
					const minute = int64(time.Minute / time.Millisecond)
					if err != nil || len(times) != 2 || times[0].DueMs != task.CreatedMs+30*minute || times[1].DueMs != task.DueMs || task.DueMs != task.CreatedMs+120*minute {
						t.Errorf("times %+v of %+v (%v)", times, task, err)
					}
					return write(task, map[string]any{"outcome": "in time"})(tx, false)
				})
			}
			return done, err
		}, activity.RegisterOptions{Name: taskType})
		env.RegisterDelayedCallback(func() {
			env.SignalWorkflow(messageSignal, message{No: 7, Kind: kindAnswer, Task: 2})
		}, 2*time.Hour)
	}
	s.run(t, a)
	if got := o.result(a, nil); got.Output != "in time" {
		t.Errorf("%+v", got)
	}
	o.view(func(r *store.Reader) error {
		task, err := r.HumanTaskOf(a.No, 2)
		if !task.Used || task.Status != store.TaskAnswered {
			t.Errorf("%+v", task)
		}
		if times, err := r.TaskTimesDue(chargehand.Live, store.NeverDue, 9); err != nil || len(times) != 0 {
			t.Errorf("times of a task that has ended: %+v (%v)", times, err)
		}
		return err
	})
}

// An answer that was read for an execution and is dropped, because the execution is cancelled meanwhile, counts as not
// used.
func TestAnswerDroppedByACancellation(t *testing.T) {
	o := newWorkerFixture(t)
	p := parse(t, "do: [{a: {call: 'human:1.0.0@default', with: {title: A}}}]")
	s := &simulated{workerFixture: o, limits: defaultLimits()}
	a := o.accept(p, map[string]any{})
	taskOf := func(command uint64) (task store.HumanTask) {
		o.view(func(r *store.Reader) (err error) {
			task, err = r.HumanTaskOf(a.No, command)
			return err
		})
		return task
	}
	read := uint64(0)
	s.before = func(env environment) {
		activities := newWorker(o.config(), defaultLimits()).activities
		env.RegisterActivityWithOptions(func(ctx context.Context, k taskSteps) (taskStepsDone, error) {
			done, err := activities.task(ctx, k)
			switch step := k.Steps[0]; {
			case err != nil:
			case step.Open != nil:
				task := taskOf(step.Command)
				o.update(func(tx *store.Tx) error { return write(task, map[string]any{"outcome": "yes"})(tx, false) })
				s.during.SignalWorkflow(messageSignal, message{No: 1, Kind: kindAnswer, Task: step.Command})
			case step.Read && len(done.Answers) == 1:
				if read = step.Command; !taskOf(read).Used {
					t.Error("an answer that was read is not used")
				}
				o.cancel(a.No)
				s.during.SignalWorkflow(messageSignal, message{No: 2, Kind: kindCancel, Reason: "enough"})
			}
			return done, err
		}, activity.RegisterOptions{Name: taskType})
	}
	s.run(t, a)
	if got := o.row(a.No); got.Phase != chargehand.Cancelled {
		t.Errorf("%+v", got)
	}
	if task := taskOf(read); task.Used || task.Status != store.TaskAnswered {
		t.Errorf("%+v", task)
	}
}

// Large answers that come at the same time do not come in one result.
func TestAnswersComeInParts(t *testing.T) {
	o := newWorkerFixture(t)
	const branch = "{call: 'human:1.0.0@default', with: {title: A}, output: {as: .outcome}}"
	p := parse(t, "do: [{a: {fork: {branches: [{b: "+branch+"}, {c: "+branch+"}, {d: "+branch+"}, {e: "+branch+"}]}}}]")
	s := &simulated{workerFixture: o, limits: defaultLimits()}
	a := o.accept(p, map[string]any{})
	large := strings.Repeat("x", maxTaskAnswerBytes*3/5)
	most, read := 0, 0
	s.before = func(env environment) {
		activities := newWorker(o.config(), defaultLimits()).activities
		env.RegisterActivityWithOptions(func(ctx context.Context, k taskSteps) (taskStepsDone, error) {
			done, err := activities.task(ctx, k)
			most, read = max(most, len(done.Answers)), read+len(done.Answers)
			for i, step := range k.Steps {
				if err != nil || step.Open == nil {
					continue
				}
				o.update(func(tx *store.Tx) error {
					task, err := tx.HumanTaskOf(a.No, step.Command)
					if err != nil {
						return err
					}
					return write(task, map[string]any{"outcome": "yes", "data": large})(tx, false)
				})
				s.during.SignalWorkflow(messageSignal, message{No: int64(i) + 1, Kind: kindAnswer, Task: step.Command})
			}
			return done, err
		}, activity.RegisterOptions{Name: taskType})
	}
	s.run(t, a)
	if got := o.result(a, nil); !value.Equal(got.Output, []any{"yes", "yes", "yes", "yes"}) || most != 2 || read != 4 {
		t.Errorf("%+v; %d answers, at most %d at a time", got, read, most)
	}
}
