package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/machine/machinetest"
	"github.com/chargehand/chargehand/internal/peer"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/sample"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/postgres/postgrestest"
	"github.com/chargehand/chargehand/internal/value"
)

// suiteOutside answers activities as a script of the suite says. An activity that a crash
// makes run again is answered as the first time.
type suiteOutside struct {
	script *machinetest.Fixture
	mu     sync.Mutex
	given  map[string]machinetest.Answer // by key and attempt: an attempt without an answer leaves its key to the next one
	runs   map[string]int
	files  map[string]machine.File
	hangs  func()

	engine    *Engine // that stores events
	bus       []busEvents
	published bool // the events of the script are on the bus
	hung      bool // an activity hangs
}

func (o *suiteOutside) Run(ctx context.Context, c activity.Call) activity.Result {
	o.mu.Lock()
	attempt := fmt.Sprintf("%s %d", c.Key, c.Attempt)
	answer, again := o.given[attempt]
	if !again {
		answer = o.script.Answer(c.Reference)
		o.given[attempt] = answer
	}
	o.runs[attempt]++
	for _, f := range answer.Files {
		o.files[f.ID] = f
	}
	hangs := o.hangs
	o.hung = o.hung || answer.Hang
	if !again && len(answer.Events) > 0 {
		o.bus = append(o.bus, busEvents{envelopes: o.script.Envelopes(answer.Events)})
	}
	o.mu.Unlock()
	for o.flush() != nil { // the engine is gone; another one comes
		select {
		case <-ctx.Done():
			return activity.Result{}
		case <-time.After(time.Millisecond):
		}
	}
	for _, v := range answer.Values() {
		if err := c.Progress(ctx, v); err != nil {
			return activity.Result{}
		}
	}
	if answer.Hang {
		if o.script.Cancel && hangs != nil {
			hangs()
		}
		<-ctx.Done()
	}
	return activity.Result{Output: answer.Value(), Files: answer.Files, Fault: answer.Fault}
}

// suiteFixture is a fixture for one script.
func suiteFixture(t testing.TB, w *machinetest.Fixture) (*fixture, *suiteOutside) {
	return suiteIn(newFixture(t), w)
}

func suiteIn(fx *fixture, w *machinetest.Fixture) (*fixture, *suiteOutside) {
	outside := &suiteOutside{
		script: w, given: make(map[string]machinetest.Answer), runs: make(map[string]int),
		files: make(map[string]machine.File),
	}
	fx.runner = outside
	return fx, outside
}

// startScript starts an execution of a plan, which is cancelled when an activity hangs, if
// the script says so.
func (fx *fixture) startScript(o *suiteOutside, p *plan.Plan, input value.Value, id func() chargehand.ExecutionID) (store.Execution, error) {
	fx.mu.Lock()
	fx.plans[1] = p
	fx.mu.Unlock()
	if err := fx.storeBefore(o); err != nil {
		return store.Execution{}, err
	}
	row := fx.row(1, string(value.Marshal(input)))
	if id != nil { // it is made after the events before, because it tells when the execution was accepted (T60)
		row.ID = id()
	}
	o.mu.Lock()
	o.engine = fx.engine
	o.hangs = fx.cancels(row.ID)
	o.mu.Unlock()
	return fx.engine.Start(context.Background(), startOf(row, p, input))
}

// cancels makes what cancels an execution on this engine.
func (fx *fixture) cancels(id chargehand.ExecutionID) func() {
	e, t := fx.engine, fx.t
	return func() {
		go func() {
			err := e.Cancel(context.Background(), id, "by the suite")
			if err != nil && !errors.Is(err, engine.ErrFinal) && !errors.Is(err, store.ErrUnavailable) {
				t.Error(err)
			}
		}()
	}
}

// suiteResult reads how an execution ended.
func (fx *fixture) suiteResult(o *suiteOutside, row store.Execution) machinetest.Result {
	fx.t.Helper()
	var outcome store.Outcome
	fx.view(func(r *store.Reader) (err error) {
		outcome, err = r.Outcome(row.No)
		return err
	})
	result := machinetest.Result{Phase: row.Phase, Published: fx.emitted()}
	if outcome.Fault != nil {
		f, err := engine.DecodeFault(outcome.Fault)
		if err != nil {
			fx.t.Fatal(err)
		}
		result.Fault = &machine.Fault{
			Type: f.Type, Status: f.Status, Title: f.Title, Detail: f.Detail, Instance: f.Instance, Code: f.Code,
		}
	} else {
		result.Output = parseInput(fx.t, fx.result(row.No))
	}
	var ids []string
	if outcome.Files != nil {
		if err := json.Unmarshal(outcome.Files, &ids); err != nil {
			fx.t.Fatal(err)
		}
	}
	for _, id := range ids {
		result.Files = append(result.Files, o.files[id])
	}
	timeline, err := fx.engine.Timeline(context.Background(), row.No)
	if err != nil {
		fx.t.Fatal(err)
	}
	result.Timeline = timeline.Records
	return result
}

// engineRunner runs a script on SQLite, or with the fixture that make makes.
type engineRunner struct{ make func(t testing.TB) *fixture }

func (r engineRunner) Run(
	t *testing.T, p *plan.Plan, input value.Value, w *machinetest.Fixture,
) (result machinetest.Result) {
	if r.make == nil {
		r.make = newFixture
	}
	fx, outside := suiteIn(r.make(t), w)
	fx.start()
	defer fx.stop()
	row, err := fx.startScript(outside, p, input, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer fx.publishEvents(outside, row)()
	defer fx.people(outside, row)()
	fx.endOf(row, time.Hour)
	return fx.suiteResult(outside, fx.read(row.No))
}

// TestSuite: the engine means the same as the bare machine.
func TestSuite(t *testing.T) {
	for _, s := range slices.Concat(machinetest.Scripts(), machinetest.EventScripts(), machinetest.HumanScripts()) {
		t.Run(s.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { s.Run(t, engineRunner{}) })
		})
	}
}

// TestSuiteOnPostgres: the database makes no difference. Its connections know no bubble, so
// the scripts take as long as they say, which is milliseconds.
func TestSuiteOnPostgres(t *testing.T) {
	server := peer.StartPostgres(t, peer.PostgresOptions{Careless: true})
	var schemas postgrestest.Schemas
	for _, s := range slices.Concat(machinetest.Scripts(), machinetest.EventScripts(), machinetest.HumanScripts()) {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			s.Run(t, engineRunner{make: func(t testing.TB) *fixture { return newPostgresFixture(t, schemas.New(t, server)) }})
		})
	}
}

// crashRunner crashes at the k-th write set and continues with a new engine.
type crashRunner struct {
	k       int
	written bool
	crashed *bool
}

func (r crashRunner) Run(
	t *testing.T, p *plan.Plan, input value.Value, w *machinetest.Fixture,
) (result machinetest.Result) {
	fx, outside := suiteFixture(t, w)
	if r.k%2 == 0 {
		fx.limits.ReplayEvents = 1 // nothing is replayed, everything restored
	}
	fx.close()
	var broken *brokenDB
	fx.wrap = func(db store.DB) store.DB {
		broken = &brokenDB{DB: db}
		return broken
	}
	fx.openStore()
	fx.start()
	from := broken.count()
	tripped := make(chan struct{})
	broken.setFail(func(n int) (before, after bool) {
		switch {
		case n < from+r.k:
			return false, false
		case n == from+r.k:
			close(tripped)
			return !r.written, r.written
		}
		return true, false
	})
	var id chargehand.ExecutionID
	started, err := fx.startScript(outside, p, input, func() chargehand.ExecutionID {
		id = fx.id()
		return id
	})
	if err == nil && !started.Status.Final() {
		stopPublishing := fx.publishEvents(outside, started)
		defer stopPublishing()
		stopAnswering := fx.people(outside, started)
		defer stopAnswering()
		changed, stop := fx.engine.Watch(id)
		for tripping := false; !tripping && !fx.read(started.No).Status.Final(); {
			select {
			case <-tripped:
				tripping = true
			case <-changed:
				stop()
				changed, stop = fx.engine.Watch(id)
			}
		}
		stop()
	}
	select {
	case <-tripped:
		*r.crashed = true
	default:
	}
	fx.kill()
	fx.wrap = nil
	outside.mu.Lock()
	outside.hung, outside.hangs = false, nil
	outside.mu.Unlock()
	fx.start()
	defer fx.stop()
	outside.mu.Lock()
	outside.engine = fx.engine
	outside.hangs = fx.cancels(id)
	outside.mu.Unlock()
	refused := err
	var row store.Execution
	err = fx.store.View(t.Context(), func(tx *store.Reader) (err error) {
		row, err = tx.FindExecution(id)
		return err
	})
	if errors.Is(err, store.ErrNotFound) && refused != nil {
		// It was never accepted: the client starts it again.
		row, err = fx.startScript(outside, p, input, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer fx.publishEvents(outside, row)()
	defer fx.people(outside, row)()
	synctest.Wait() // until the activity hangs again
	outside.mu.Lock()
	hung := outside.hung
	outside.mu.Unlock()
	if w.Cancel && hung {
		if err := fx.engine.Cancel(t.Context(), row.ID, "by the suite"); err != nil && !errors.Is(err, engine.ErrFinal) {
			t.Error(err)
		}
	}
	fx.endOf(row, time.Hour)
	result = fx.suiteResult(outside, fx.read(row.No))
	for key, runs := range outside.runs {
		if runs > 2 {
			t.Errorf("%s ran %d times", key, runs)
		}
	}
	return result
}

func TestLongCrashEverywhereInTheSuite(t *testing.T) { crashSuite(t, machinetest.Scripts()) }

func TestLongCrashEverywhereInTheEventSuite(t *testing.T) { crashSuite(t, machinetest.EventScripts()) }

func TestLongCrashEverywhereInTheHumanSuite(t *testing.T) { crashSuite(t, machinetest.HumanScripts()) }

// crashSuite runs every script of the suite with a crash at each of its
// write sets, or at a sample of them, before and after it is written.
func crashSuite(t *testing.T, scripts []*machinetest.Script) {
	total := 0
	for _, s := range scripts {
		if streams(s) {
			continue // what was handed over before the crash is handed over again (TestStreamAfterACrash)
		}
		t.Run(s.Name, func(t *testing.T) {
			for _, written := range []bool{false, true} {
				first, step := sample.Every(t, 8)
				for k := first; !t.Failed(); k += step {
					crashed := false
					synctest.Test(t, func(t *testing.T) {
						s.Run(t, crashRunner{k: k, written: written, crashed: &crashed})
						if t.Failed() {
							t.Logf("crash at write set %d, written: %v", k, written)
						}
					})
					if !crashed {
						break
					}
					total++
				}
			}
		})
	}
	t.Logf("%d crashes", total)
}

// streams reports whether a script has an activity that hands over more than its outcome.
func streams(s *machinetest.Script) bool {
	for _, answers := range s.Answers {
		for _, a := range answers {
			if len(a.Messages) > 0 {
				return true
			}
		}
	}
	return false
}
