package temporal

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	sdk "go.temporal.io/sdk/temporal"

	"github.com/chargehand/chargehand"
	runner "github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// activities are those of a worker that is not started.
func (o *workerFixture) activities(change func(*WorkerConfig)) *activities {
	c := o.config()
	if change != nil {
		change(&c)
	}
	w := newWorker(c, defaultLimits())
	o.t.Cleanup(w.cut)
	return w.activities
}

// TestReportState: what the row says, and what a late or repeated attempt is answered.
func TestReportState(t *testing.T) {
	t.Parallel()
	o := newWorkerFixture(t)
	a := o.activities(func(c *WorkerConfig) { c.Limits.AccountSlots = 2 })
	p := compile(t, "do: [{a: {set: '${ 1 }'}}]")
	first, second := o.accept(p, 1), o.accept(p, 1)
	reportState := func(x argument, number int64, slot bool, phase chargehand.Phase, want stateAnswer, run store.ExecutionState) {
		t.Helper()
		got, err := a.reportState(t.Context(), stateReport{Execution: x.Execution, No: x.No, Number: number, Slot: slot, Phase: phase.String()})
		if err != nil || got != want {
			t.Errorf("answer %+v, %v; want %+v", got, err, want)
		}
		if row := o.row(x.No); row.State != run {
			t.Errorf("the row says %d, want %d", row.State, run)
		}
	}
	reportState(first, 1, false, chargehand.Waiting, stateAnswer{}, store.StateParked)
	reportState(first, 2, true, chargehand.Running, stateAnswer{Granted: true}, store.StateActive)
	// the answer was lost
	reportState(first, 2, true, chargehand.Running, stateAnswer{Granted: true}, store.StateActive)
	reportState(first, 1, false, chargehand.Waiting, stateAnswer{}, store.StateActive) // late
	reportState(first, 3, false, chargehand.Waiting, stateAnswer{}, store.StateParked)
	reportState(first, 2, true, chargehand.Running, stateAnswer{}, store.StateParked) // late

	third := o.accept(p, 1) // takes the slot
	reportState(first, 4, true, chargehand.Running, stateAnswer{}, store.StateReady)
	reportState(third, 1, false, chargehand.Waiting, stateAnswer{}, store.StateParked)
	// A slot is free, but someone was first.
	reportState(third, 2, true, chargehand.Running, stateAnswer{}, store.StateReady)
	if o.freed == 0 {
		t.Error("no one was notified of the free slot")
	}
	o.cancel(second.No)
	reportState(second, 1, true, chargehand.Running, stateAnswer{Final: true}, store.StateEnded)
	got, err := a.reportState(t.Context(), stateReport{No: 999, Number: 1, Slot: true, Phase: "running"})
	if err != nil || !got.Final {
		t.Errorf("of a row that is gone: %+v, %v", got, err)
	}
	if row := o.row(first.No); row.Phase != chargehand.Running {
		t.Errorf("phase %s", row.Phase)
	}
}

// TestTellsWaits: the row says what an execution waits for also where its slot stays as it is: while it waits for an
// attempt, which keeps the slot, and when one wait follows another. Older executions tell only with their slot.
func TestTellsWaits(t *testing.T) {
	t.Parallel()
	const definition = `
do:
  - pay:
      try: [{call: ` + get + `}]
      catch: {retry: {delay: {seconds: 20}, limit: {attempt: {count: 3}}}}
  - hour: {wait: {hours: 1}}
  - short: {wait: {milliseconds: 1}}
  - event: {listen: {to: {one: {with: {type: com.example.paid}}}}}`
	attempt := func(n int) *store.Attempt { return &store.Attempt{Reference: "/do/0/pay", Number: n, Of: 4} }
	retry := func(n int) store.Waits { return store.Waits{Kind: store.WaitRetry, Attempt: attempt(n)} }
	for name, want := range map[string][]store.Waits{
		"now":   {retry(2), retry(3), {Kind: store.WaitTimer}, {Kind: store.WaitEvent, Types: []string{"com.example.paid"}}},
		"older": {{}, {}, {Kind: store.WaitTimer}, {Kind: store.WaitTimer}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newWorkerFixture(t)
			s := &simulated{workerFixture: o, limits: defaultLimits()}
			a := o.accept(compile(t, definition), 1)
			a.TellsWaits = name == "now"
			calls := 0
			o.outside = func(context.Context, runner.Call) runner.Result {
				if calls++; calls < 3 {
					return runner.Result{Fault: &machine.Fault{Type: machine.ErrCommunication, Status: 503}}
				}
				return runner.Result{}
			}
			var got []store.Waits
			s.before = func(env environment) {
				for _, after := range []time.Duration{10 * time.Second, 30 * time.Second, 30 * time.Minute, 2 * time.Hour} {
					env.RegisterDelayedCallback(func() {
						row := o.row(a.No)
						w := row.Waits
						if known := w.Kind == store.WaitRetry || w.Kind == store.WaitTimer; known != (w.UntilMs > 0) {
							t.Errorf("until %d: %+v", w.UntilMs, w)
						}
						if at := w.Attempt; at != nil {
							if at.NextMs != w.UntilMs || row.State != store.StateActive {
								t.Errorf("%+v, state %d", at, row.State)
							}
							at.NextMs = 0
						}
						w.UntilMs = 0
						got = append(got, w)
					}, after)
				}
				env.RegisterDelayedCallback(func() {
					o.cancel(a.No)
					s.during.SignalWorkflow(messageSignal, message{No: 1, Kind: kindCancel})
				}, 3*time.Hour)
			}
			s.run(t, a)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("the row said\n%+v, want\n%+v", got, want)
			}
		})
	}
}

// TestGrants: without a slot nothing starts, and only the grant that answers the last state report counts.
func TestGrants(t *testing.T) {
	t.Parallel()
	o := newWorkerFixture(t)
	p := compile(t, "do: [{w: {wait: {seconds: 1}}}, {a: "+get+"}, {v: {wait: {seconds: 1}}}, {b: "+get+"}]")
	calls := make(chan string, 10)
	o.outside = func(_ context.Context, c runner.Call) runner.Result {
		calls <- c.Reference
		if row := o.row(o.rowOf(c.Execution)); row.State != store.StateActive {
			t.Errorf("%s runs without a slot: %d", c.Reference, row.State)
		}
		return runner.Result{Output: c.Reference}
	}
	s := &simulated{workerFixture: o, limits: defaultLimits(), change: func(c *WorkerConfig) { c.Limits.AccountSlots = 1 }}
	a := o.accept(p, 1)
	grant := func(message message) func() {
		return func() { s.during.SignalWorkflow(messageSignal, message) }
	}
	s.before = func(env environment) {
		// The slot of the account is taken as soon as the execution waits.
		env.RegisterDelayedCallback(func() { o.accept(p, 1) }, 500*time.Millisecond)
		env.RegisterDelayedCallback(grant(message{No: 1, Kind: kindGrant, Report: 1}), 2*time.Second)
		env.RegisterDelayedCallback(func() {
			if len(calls) != 0 {
				t.Error("a grant of another state report let it run")
			}
			o.update(func(tx *store.Tx) error {
				return tx.SetState(a.No, chargehand.Running, store.StateActive, store.Waits{})
			})
			grant(message{No: 2, Kind: kindGrant, Report: 2})()
			grant(message{No: 2, Kind: kindGrant, Report: 2})()
		}, 3*time.Second)
		// The message comes a third time while the execution asks again.
		env.RegisterDelayedCallback(grant(message{No: 2, Kind: kindGrant, Report: 2}), 6*time.Second)
		env.RegisterDelayedCallback(func() {
			if len(calls) != 1 {
				t.Errorf("%d calls before the second grant", len(calls))
			}
			o.update(func(tx *store.Tx) error {
				return tx.SetState(a.No, chargehand.Running, store.StateActive, store.Waits{})
			})
			// A database that was restored gives a number out again.
			grant(message{No: 2, Kind: kindGrant, Report: 4})()
		}, 7*time.Second)
	}
	s.run(t, a)
	wantOutput(t, o, a, `"/do/3/b"`)
}

// TestFinish: an end is written once, and does not touch what has ended otherwise.
func TestFinish(t *testing.T) {
	t.Parallel()
	o := newWorkerFixture(t)
	a := o.activities(nil)
	p := compile(t, "do: [{a: {set: '${ 1 }'}}]")
	large := make([]byte, 0, 200<<10)
	large = append(large, '"')
	for len(large) < 199<<10 {
		large = append(large, 'x')
	}
	large = append(large, '"')
	x := o.accept(p, 1)
	e := ending{Execution: x.Execution, No: x.No, Phase: "completed", StartedMs: x.StartedMs, FinishedMs: x.StartedMs + 5, Output: large}
	for range 2 {
		if got, err := a.finish(t.Context(), e); err != nil || got.Conflict {
			t.Errorf("%+v, %v", got, err)
		}
	}
	var outcome store.Outcome
	o.view(func(r *store.Reader) (err error) {
		outcome, err = r.Outcome(x.No)
		return err
	})
	if outcome.Output.Blob == nil || outcome.Output.Size != int64(len(large)) {
		t.Errorf("a large output is stored as %d bytes, blob %x", outcome.Output.Size, outcome.Output.Blob)
	}
	y := o.accept(p, 1)
	o.cancel(y.No)
	got, err := a.finish(t.Context(), ending{Execution: y.Execution, No: y.No, Phase: "completed", StartedMs: y.StartedMs, FinishedMs: y.StartedMs + 5, Output: []byte("1")})
	if err != nil || !got.Conflict || o.row(y.No).Phase != chargehand.Cancelled {
		t.Errorf("%+v, %v; the row is %s", got, err, o.row(y.No).Phase)
	}
	z := o.accept(p, 1)
	o.update(func(tx *store.Tx) error {
		_, err := tx.SetSuspended(z.No, true)
		return err
	})
	e = ending{Execution: z.Execution, No: z.No, Phase: "completed", StartedMs: z.StartedMs, FinishedMs: z.StartedMs + 5, Output: []byte("1")}
	e.UnlessSuspended = true
	if got, err := a.finish(t.Context(), e); err != nil || !got.Suspended || o.row(z.No).Phase != chargehand.Suspended {
		t.Errorf("suspended: %+v, %v; the row is %s", got, err, o.row(z.No).Phase)
	}
	e.UnlessSuspended = false // as of a worker that knows nothing of this
	if got, err := a.finish(t.Context(), e); err != nil || got != (finished{}) || o.row(z.No).Phase != chargehand.Completed {
		t.Errorf("suspended, and ended anyway: %+v, %v; the row is %s", got, err, o.row(z.No).Phase)
	}
	if got, err := a.finish(t.Context(), ending{No: 999, Phase: "completed", FinishedMs: 1, Output: []byte("1")}); err != nil || !got.Conflict {
		t.Errorf("of a row that is gone: %+v, %v", got, err)
	}
}

// A finish that fails for whatever reason is repeated, as long as its row is not final: the workflow must not complete
// before the row says the end.
func TestFinishIsRepeated(t *testing.T) {
	t.Parallel()
	for name, cause := range map[string]error{"conflict": store.ErrConflict, "not found": store.ErrNotFound} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := &failingOnce{DB: template.New(t)}
			o := newWorkerFixtureOn(t, db)
			a := o.activities(nil)
			x := o.accept(compile(t, "do: [{a: {set: '${ 1 }'}}]"), 1)
			e := ending{
				Execution: x.Execution, No: x.No, Phase: "completed", StartedMs: x.StartedMs, FinishedMs: x.StartedMs + 5,
				Output: []byte("1"),
			}
			db.fails = cause
			if got, err := a.finish(t.Context(), e); err == nil {
				t.Errorf("a failed end answers %+v; the row is %s", got, o.row(x.No).Phase)
			}
			if got, err := a.finish(t.Context(), e); err != nil || got.Conflict || o.row(x.No).Status != chargehand.Finished {
				t.Errorf("the next attempt answers %+v, %v; the row is %s", got, err, o.row(x.No).Phase)
			}
		})
	}
}

// failingOnce is a database whose next transaction is undone at its end.
type failingOnce struct {
	store.DB
	fails error
}

func (f *failingOnce) Update(ctx context.Context, fn func(store.Conn) error) error {
	err := f.fails
	f.fails = nil
	return f.DB.Update(ctx, func(c store.Conn) error {
		if failed := fn(c); failed != nil {
			return failed
		}
		return err
	})
}

// A row that another process has ended keeps its end, and gets the timeline.
func TestConflict(t *testing.T) {
	t.Parallel()
	var o *workerFixture
	var a argument
	o, _, _ = simulate(t, "do: [{a: "+get+"}, {b: {set: '${ 1 }'}}]", 0, func(context.Context, runner.Call) runner.Result {
		o.cancel(a.No) // the message to the workflow is late
		return runner.Result{}
	}, func(s *simulated, x argument) { o, a = s.workerFixture, x })
	got := o.result(a, nil)
	if got.Phase != chargehand.Cancelled || len(got.Timeline) != 2 {
		t.Errorf("it ended %s with %d entries", got.Phase, len(got.Timeline))
	}
}

// TestChunk: a chunk is written once, the oldest go, and nothing is written for a row that is gone.
func TestChunk(t *testing.T) {
	t.Parallel()
	o := newWorkerFixture(t)
	a := o.activities(nil)
	x := o.accept(compile(t, "do: [{a: {set: '${ 1 }'}}]"), 1)
	for _, c := range []chunk{
		{Execution: x.Execution, No: x.No, Number: 1, Keep: 1, Data: []byte("one")},
		{Execution: x.Execution, No: x.No, Number: 2, Keep: 2, Data: []byte("two")},
		{Execution: x.Execution, No: x.No, Number: 2, Keep: 2, Data: []byte("two")},
		{Execution: x.Execution, No: x.No, Number: 3, Keep: 2, Data: []byte("three")},
		{No: 999, Number: 1, Keep: 1, Data: []byte("gone")},
	} {
		if err := a.chunk(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	read := func(no int64) (chunks [][]byte) {
		o.view(func(r *store.Reader) (err error) {
			chunks, err = r.TimelineChunks(no)
			return err
		})
		return chunks
	}
	if chunks := read(x.No); len(chunks) != 2 || string(chunks[0]) != "two" || string(chunks[1]) != "three" {
		t.Errorf("chunks %q", chunks)
	}
	if chunks := read(999); len(chunks) != 0 {
		t.Errorf("chunks %q of nothing", chunks)
	}
}

// TestPerform: what an attempt makes of its runner.
func TestPerform(t *testing.T) {
	t.Parallel()
	o := newWorkerFixture(t)
	x := o.accept(compile(t, "do: [{a: {set: '${ 1 }'}}]"), 1)
	file := o.hiddenFile()
	perform := func(kind string, outside func(context.Context, runner.Call) runner.Result) (outcome, error) {
		o.outside = outside
		s := quiet()
		env := s.NewTestActivityEnvironment()
		a := o.activities(func(c *WorkerConfig) { c.Limits.ActivityOutputBytes = 100 })
		env.RegisterActivity(a.perform)
		result, err := env.ExecuteActivity(a.perform, call{
			Execution: x.Execution, No: x.No, Kind: kind, Args: []byte("{}"), Input: []byte("[1]"), Metadata: []byte(`{"m": 1}`),
		})
		var got outcome
		if err == nil {
			err = result.Get(&got)
		}
		return got, err
	}
	code := func(got outcome, err error) string {
		if err != nil || got.Fault == nil {
			t.Fatalf("%+v, %v", got, err)
		}
		return got.Fault.Code
	}
	panics := func(context.Context, runner.Call) runner.Result { panic("boom") }
	crash, err := perform("http", panics)
	if got := code(crash, err); got != engine.CodeInternal || strings.Contains(crash.Fault.Detail, "boom") {
		t.Errorf("a panic has code %s and says %q", got, crash.Fault.Detail)
	}
	if got := code(perform("ftp", panics)); got != "run_not_allowed" {
		t.Errorf("an unknown kind has code %s", got)
	}
	long := func(context.Context, runner.Call) runner.Result {
		return runner.Result{Output: string(make([]byte, 200))}
	}
	if got := code(perform("http", long)); got != engine.CodeOutputTooLarge {
		t.Errorf("a large output has code %s", got)
	}
	got, err := perform("http", func(_ context.Context, c runner.Call) runner.Result {
		return runner.Result{Output: c.Metadata["m"], Files: []machine.File{{ID: file.ID.String()}, {ID: "01980000-0000-7000-8000-0000000000ff"}}}
	})
	if err != nil || string(got.Output) != "1" || len(got.Files) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	o.view(func(r *store.Reader) error {
		files, err := r.FilesOf(x.No, 0, 10)
		if len(files) != 1 || files[0].ID != file.ID {
			t.Errorf("the execution has the files %v", files)
		}
		return err
	})
}

// TestDeepArguments: a value of as many levels as any may have is an argument, too.
func TestDeepArguments(t *testing.T) {
	t.Parallel()
	v := strings.Repeat("[", value.MaxDepth) + strings.Repeat("]", value.MaxDepth)
	c := call{Args: []byte(`{"http":{"body":` + v + `}}`), Input: []byte(v), Metadata: []byte(`{}`)}
	if got, err := c.request(); err != nil || string(value.Marshal(got.Args)) != string(c.Args) {
		t.Error(err)
	}
}

// TestCutOff: a worker that stops waits no longer than its stop says.
func TestCutOff(t *testing.T) {
	t.Parallel()
	o := newWorkerFixture(t)
	x := o.accept(compile(t, "do: [{a: {set: '${ 1 }'}}]"), 1)
	w := newWorker(o.config(), defaultLimits())
	o.outside = func(ctx context.Context, _ runner.Call) runner.Result {
		stop, cancel := context.WithCancel(context.Background())
		cancel()
		w.Stop(stop)
		<-ctx.Done()
		return runner.Result{Output: "ignored"}
	}
	s := quiet()
	env := s.NewTestActivityEnvironment()
	env.RegisterActivity(w.activities.perform)
	_, err := env.ExecuteActivity(w.activities.perform, call{Execution: x.Execution, No: x.No, Kind: "http", Args: []byte("{}"), Input: []byte("1")})
	var cut *sdk.ApplicationError
	if !errors.As(err, &cut) || cut.Type() != codeInterrupted || !cut.NonRetryable() {
		t.Errorf("the attempt ended with %v", err)
	}
}

// TestNumberOfAnother: a workflow from before an older state of the database was brought back
// does nothing to the execution that has its number now.
func TestNumberOfAnother(t *testing.T) {
	t.Parallel()
	o := newWorkerFixture(t)
	a := o.activities(nil)
	x := o.accept(compile(t, "do: [{a: {set: '${ 1 }'}}]"), 1)
	before := o.row(x.No)
	stranger := chargehand.ExecutionID{1, 2, 3}
	for _, slot := range []bool{true, false} {
		s, err := a.reportState(t.Context(), stateReport{Execution: stranger, No: x.No, Number: 7, Slot: slot, Phase: "waiting"})
		if err != nil || !s.Final {
			t.Errorf("state report, slot %t: %+v, %v", slot, s, err)
		}
	}
	if err := a.chunk(t.Context(), chunk{Execution: stranger, No: x.No, Number: 1, Keep: 1, Data: []byte("theirs")}); err != nil {
		t.Error(err)
	}
	if err := a.chunk(t.Context(), chunk{Execution: stranger, No: x.No, Last: true, Data: []byte("theirs")}); err != nil {
		t.Error(err)
	}
	e := ending{Execution: stranger, No: x.No, Phase: "completed", StartedMs: x.StartedMs, FinishedMs: x.StartedMs + 5, Output: []byte(`"theirs"`)}
	if got, err := a.finish(t.Context(), e); err != nil || !got.Conflict {
		t.Errorf("finish: %+v, %v", got, err)
	}
	o.view(func(r *store.Reader) error {
		if chunks, err := r.TimelineChunks(x.No); err != nil || len(chunks) != 0 {
			t.Errorf("%d chunks, %v", len(chunks), err)
		}
		return nil
	})
	if now := o.row(x.No); !reflect.DeepEqual(now, before) {
		t.Errorf("the row was\n%+v, and is\n%+v", before, now)
	}
	e.Execution = x.Execution
	if got, err := a.finish(t.Context(), e); err != nil || got.Conflict || o.row(x.No).Status != chargehand.Finished {
		t.Errorf("its own end: %+v, %v", got, err)
	}
}
