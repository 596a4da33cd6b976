package temporal

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	runner "github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/postgres"
)

// suspendedRuns are executions that are suspended, by the names of their recorded histories.
var suspendedRuns = map[string]func(testing.TB, *installation) argument{
	"suspended": runSuspended, "suspended before its start": runSuspendedEarly, "suspended at its end": runSuspendedAtTheEnd,
}

// runSuspended suspends an execution while an activity runs, a timer fires and a subscription waits, and resumes it.
func runSuspended(t testing.TB, e *installation) argument {
	t.Helper()
	begun, opened := make(chan string, 10), make(chan struct{})
	p := compile(t, `
do:
  - all: {fork: {branches: [{a: `+get+`}, {b: {wait: {milliseconds: 50}}}, {c: {listen: {to: {one: {with: {type: x}}}}}}]}}
  - last: `+get)
	a := e.start(p, 0, func(ctx context.Context, c runner.Call) runner.Result {
		name := c.Reference[strings.LastIndexByte(c.Reference, '/')+1:]
		begun <- name
		if name == "a" {
			select {
			case <-opened:
			case <-ctx.Done():
			}
		}
		return runner.Result{Output: name}
	})
	if name := <-begun; name != "a" {
		t.Fatalf("%s began", name)
	}
	if err := e.engine.Suspend(t.Context(), a.Execution); err != nil {
		t.Fatal(err)
	}
	if row := e.row(a.No); row.Phase != chargehand.Suspended || row.Status != chargehand.Processing {
		t.Fatalf("%+v", row)
	}
	if err := e.engine.Suspend(t.Context(), a.Execution); !errors.Is(err, engine.ErrSuspended) {
		t.Fatalf("again: %v", err)
	}
	close(opened)
	eventually(t, "the slot is free", func() bool { return e.row(a.No).State == store.StateParked })
	e.publishAll([]any{map[string]any{"specversion": "1.0", "id": "1", "source": "https://example.org", "type": "x", "data": 1}})
	if row := e.row(a.No); row.Phase != chargehand.Suspended || len(begun) > 0 {
		t.Fatalf("%d activities began: %+v", len(begun), row)
	}
	if err := e.engine.Resume(t.Context(), a.Execution); err != nil {
		t.Fatal(err)
	}
	if row := e.ended(a); row.Status != chargehand.Finished {
		t.Fatalf("%+v", row)
	}
	if err := e.engine.Resume(t.Context(), a.Execution); !errors.Is(err, engine.ErrFinal) {
		t.Fatalf("after its end: %v", err)
	}
	return a
}

// runSuspendedEarly suspends an execution right after its start. Should its activity have begun already, it cannot end
// before the suspension is requested.
func runSuspendedEarly(t testing.TB, e *installation) argument {
	t.Helper()
	var begun atomic.Int32
	requested := make(chan struct{})
	a := e.start(compile(t, "do: [{a: "+get+"}]"), 0, func(context.Context, runner.Call) runner.Result {
		begun.Add(1)
		<-requested
		return runner.Result{}
	})
	err := e.engine.Suspend(t.Context(), a.Execution)
	close(requested)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is parked", func() bool { return e.row(a.No).State == store.StateParked })
	if row := e.row(a.No); row.Phase != chargehand.Suspended {
		t.Fatalf("%+v", row)
	}
	if err := e.engine.Resume(t.Context(), a.Execution); err != nil {
		t.Fatal(err)
	}
	if row := e.ended(a); row.Status != chargehand.Finished || begun.Load() != 1 {
		t.Fatalf("%d activities: %+v", begun.Load(), row)
	}
	return a
}

// runSuspendedAtTheEnd suspends an execution whose workflow ends before it knows of that, and resumes it.
func runSuspendedAtTheEnd(t testing.TB, e *installation) argument {
	t.Helper()
	begun, opened := make(chan struct{}), make(chan struct{})
	a := e.start(compile(t, "do: [{a: "+get+"}]"), 0, func(context.Context, runner.Call) runner.Result {
		close(begun)
		<-opened
		return runner.Result{}
	})
	<-begun
	e.update(func(tx *store.Tx) error { // its message is still on its way
		_, err := tx.SetSuspended(a.No, true)
		return err
	})
	close(opened)
	eventually(t, "it is parked", func() bool { return e.row(a.No).State == store.StateParked })
	if row := e.row(a.No); row.Phase != chargehand.Suspended {
		t.Fatalf("%+v", row)
	}
	if err := e.engine.Resume(t.Context(), a.Execution); err != nil {
		t.Fatal(err)
	}
	if row := e.ended(a); row.Status != chargehand.Finished {
		t.Fatalf("%+v", row)
	}
	return a
}

func TestSuspend(t *testing.T) {
	e := newInstallation(t, defaultLimits())
	for name, run := range suspendedRuns {
		t.Run(name, func(t *testing.T) {
			a := run(t, e)
			for _, h := range e.histories(a) {
				if err := e.replay(h); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestSuspendAcrossRuns: a suspension survives the end of a run, and messages that come late change nothing.
func TestSuspendAcrossRuns(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	var s *simulated
	o, a, _ := simulate(t, "do: [{a: {for: {in: '[range(9)]'}, do: [{b: "+get+"}, {c: {set: '${ . + 1 }'}}]}}]", 0,
		func(_ context.Context, c runner.Call) runner.Result {
			if calls.Add(1) == 5 {
				s.during.SetContinueAsNewSuggested(true)
				s.during.SignalWorkflow(messageSignal, message{No: 20, Kind: kindSuspend})
				s.during.SignalWorkflow(messageSignal, message{No: 10, Kind: kindResume})
			}
			return runner.Result{Output: c.Input}
		}, func(x *simulated, _ argument) {
			s = x
			s.before = func(env environment) {
				if s.runs == 2 {
					env.RegisterDelayedCallback(func() {
						if n := calls.Load(); n != 5 {
							t.Errorf("%d calls before the resumption", n)
						}
						env.SignalWorkflow(messageSignal, message{No: 15, Kind: kindResume})
						env.SignalWorkflow(messageSignal, message{No: 30, Kind: kindResume})
					}, time.Hour)
				}
			}
		})
	wantOutput(t, o, a, "9")
	if s.runs != 2 || calls.Load() != 9 {
		t.Errorf("%d calls in %d runs", calls.Load(), s.runs)
	}
}

// TestSuspendAtTheEnd suspends an execution whose machine ends before the workflow has the message. The row does not
// end before it is resumed, has no slot until then, and no event says that it has ended.
func TestSuspendAtTheEnd(t *testing.T) {
	t.Parallel()
	const definition = "do: [{a: " + get + "}]"
	setSuspended := func(o *workerFixture, no int64, on bool) {
		o.update(func(tx *store.Tx) error {
			_, err := tx.SetSuspended(no, on)
			return err
		})
	}
	for name, tc := range map[string]struct {
		end  func(o *workerFixture, env environment, no int64) // an hour later
		want chargehand.Phase
	}{
		"resumed": {func(o *workerFixture, env environment, no int64) {
			env.SignalWorkflow(messageSignal, message{No: 10, Kind: kindSuspend})
			setSuspended(o, no, false)
			env.SignalWorkflow(messageSignal, message{No: 20, Kind: kindResume})
		}, chargehand.Completed},
		"suspended twice": {func(o *workerFixture, env environment, no int64) {
			env.SignalWorkflow(messageSignal, message{No: 10, Kind: kindResume}) // since then it was suspended again
			env.RegisterDelayedCallback(func() {
				if row := o.row(no); row.Status.Final() {
					t.Errorf("suspended again: %+v", row)
				}
				setSuspended(o, no, false)
				env.SignalWorkflow(messageSignal, message{No: 30, Kind: kindResume})
				env.SignalWorkflow(messageSignal, message{No: 20, Kind: kindSuspend})
			}, time.Hour)
		}, chargehand.Completed},
		"cancelled": {func(o *workerFixture, env environment, no int64) {
			o.cancel(no)
			env.SignalWorkflow(messageSignal, message{No: 10, Kind: kindCancel})
		}, chargehand.Cancelled},
		"cancelled in Temporal": {func(_ *workerFixture, env environment, _ int64) { env.CancelWorkflow() }, chargehand.Completed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newWorkerFixture(t)
			a := o.accept(compile(t, definition), 0)
			a.Lifecycle = &machine.Lifecycle{Prefix: "test"}
			no, endedMs := a.No, int64(0)
			o.outside = func(_ context.Context, c runner.Call) runner.Result {
				setSuspended(o, no, true)
				return runner.Result{Output: c.Input}
			}
			s := &simulated{workerFixture: o, limits: defaultLimits()}
			s.before = func(env environment) {
				env.RegisterDelayedCallback(func() {
					if row := o.row(no); row.State != store.StateParked || row.Phase != chargehand.Suspended || row.Status.Final() {
						t.Errorf("while it is suspended: %+v", row)
					}
					if kinds := o.lifecycle(a.Execution); !slices.Equal(kinds, []string{"started"}) {
						t.Errorf("while it is suspended, its events are %v", kinds)
					}
					var live liveTimeline
					answer, err := env.QueryWorkflow(timelineQuery)
					if err == nil {
						err = answer.Get(&live)
					}
					if err != nil {
						t.Error(err)
					} else if entries, _, err := machine.DecodeTimeline(compile(t, definition), live.Entries, 1); err != nil || len(entries) != 1 {
						t.Errorf("its timeline is %v, %v", entries, err)
					}
					endedMs = env.Now().UnixMilli()
					tc.end(o, env, no)
				}, time.Hour)
			}
			s.run(t, a)
			row := o.row(no)
			if endedMs == 0 || row.State != store.StateEnded || row.Phase != tc.want || tc.want == chargehand.Completed && row.FinishedMs < endedMs {
				t.Errorf("resumed at %d: %+v", endedMs, row)
			}
			if kinds := o.lifecycle(a.Execution); !slices.Equal(kinds, []string{"started", tc.want.String()}) {
				t.Errorf("its events are %v", kinds)
			}
		})
	}
}

// lifecycle are the kinds of the lifecycle events of an execution.
func (o *workerFixture) lifecycle(id chargehand.ExecutionID) (kinds []string) {
	for _, ev := range o.emitted(id) {
		kind, _ := ev.(map[string]any)["type"].(string)
		kinds = append(kinds, strings.TrimSuffix(strings.TrimPrefix(kind, "test.workflow."), ".v1"))
	}
	return kinds
}

// TestResumedAndCancelled: an execution that ends by its resumption, and was cancelled before its workflow knew of
// that, is cancelled by its events too.
func TestResumedAndCancelled(t *testing.T) {
	t.Parallel()
	o := newWorkerFixture(t)
	a := o.accept(compile(t, "do: [{a: "+get+"}]"), 0)
	a.Lifecycle = &machine.Lifecycle{Prefix: "test"}
	s := &simulated{workerFixture: o, limits: defaultLimits()}
	o.outside = func(_ context.Context, c runner.Call) runner.Result {
		s.during.SignalWorkflow(messageSignal, message{No: 10, Kind: kindSuspend})
		return runner.Result{Output: c.Input}
	}
	s.before = func(env environment) {
		env.RegisterDelayedCallback(func() {
			o.cancel(a.No)
			env.SignalWorkflow(messageSignal, message{No: 20, Kind: kindResume})
			env.SignalWorkflow(messageSignal, message{No: 30, Kind: kindCancel})
		}, time.Hour)
	}
	s.run(t, a)
	if row := o.row(a.No); row.Phase != chargehand.Cancelled {
		t.Errorf("%+v", row)
	}
	want := []string{"started", "suspended", "resumed", "cancelled"}
	if kinds := o.lifecycle(a.Execution); !slices.Equal(kinds, want) {
		t.Errorf("its events are %v", kinds)
	}
}

// TestTakeEnd: the event about the end goes to the activity that writes the end, unless the row says the same already.
// The row may have been cancelled while the machine ended otherwise: then that activity stores another event.
func TestTakeEnd(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		lifecycle *machine.Lifecycle
		final     bool
		phase     chargehand.Phase
		taken     bool
	}{
		"ended":                          {&machine.Lifecycle{}, false, chargehand.Completed, true},
		"cancelled in Temporal":          {&machine.Lifecycle{}, false, chargehand.Cancelled, true},
		"cancelled":                      {&machine.Lifecycle{}, true, chargehand.Cancelled, false},
		"ended, and cancelled meanwhile": {&machine.Lifecycle{}, true, chargehand.Completed, true},
		"no lifecycle events":            {nil, false, chargehand.Completed, false},
	} {
		r := &run{
			argument: &argument{TellsEnd: true, Lifecycle: tc.lifecycle}, isFinal: tc.final, finish: &machine.Command{Phase: tc.phase},
			bus: bus{queue: []emitted{{command: 1, event: []byte("{}")}, {command: 2, event: []byte("{}")}}},
		}
		last, rest := r.takeEnd(), len(r.bus.queue)
		if taken := len(last.event) > 0; taken != tc.taken || taken && (last.command != 2 || rest != 1) || !taken && rest != 2 {
			t.Errorf("%s: %+v, %d are left", name, last, rest)
		}
	}
}

// TestSuspendedCannotBegin: an execution that was suspended before its turn, and whose first step faults before a task
// begins, ends although it is suspended.
func TestSuspendedCannotBegin(t *testing.T) {
	t.Parallel()
	o := newWorkerFixture(t)
	a := o.accept(compile(t, "input: {from: '${ error(\"no\") }'}\ndo: [{a: "+get+"}]"), 0)
	a.Suspended, a.Lifecycle = true, &machine.Lifecycle{Prefix: "test"}
	o.update(func(tx *store.Tx) error {
		_, err := tx.SetSuspended(a.No, true)
		return err
	})
	s := &simulated{workerFixture: o, limits: defaultLimits()}
	s.run(t, a)
	if row := o.row(a.No); row.Phase != chargehand.Faulted {
		t.Errorf("%+v", row)
	}
	if kinds := o.lifecycle(a.Execution); len(kinds) == 0 || kinds[len(kinds)-1] != "faulted" {
		t.Errorf("its events are %v", kinds)
	}
}

// TestSuspendDuringTheEnd: an end that comes while another process suspends the execution waits for that.
func TestSuspendDuringTheEnd(t *testing.T) {
	t.Parallel()
	schema := newSchema(t)
	open := func() *postgres.DB {
		db, err := postgres.Open(t.Context(), postgres.Options{URL: schema, Mode: postgres.Shared})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}
	worker, server := open(), open()
	o := newWorkerFixtureOn(t, worker)
	finish := o.activities(nil).finish
	a := o.accept(compile(t, "do: [{a: {set: '${ 1 }'}}]"), 1)
	ended := make(chan finished)
	begin := sync.OnceFunc(func() {
		go func() {
			got, err := finish(t.Context(), ending{
				Execution: a.Execution, No: a.No, Phase: "completed", StartedMs: a.StartedMs, FinishedMs: a.StartedMs + 5,
				Output: []byte("1"), UnlessSuspended: true,
			})
			if err != nil {
				t.Error(err)
			}
			ended <- got
		}()
	})
	err := store.New(server).Update(t.Context(), func(tx *store.Tx) error {
		_, err := tx.SetSuspended(a.No, true)
		begin()
		eventually(t, "the end waits for a lock", func() (waits bool) {
			err := server.View(t.Context(), func(c store.Conn) error {
				return c.Query(`SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
					func(r store.Row) error { waits = r.Int(0) > 0; return nil })
			})
			if err != nil {
				t.Error(err)
			}
			return waits
		})
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if got := <-ended; !got.Suspended || o.row(a.No).Phase != chargehand.Suspended {
		t.Errorf("%+v; the row is %s", got, o.row(a.No).Phase)
	}
}

// TestSuspendRows: the row decides, and the workflow of what was started gets a message.
func TestSuspendRows(t *testing.T) {
	onDialects(t, func(w *rowsFixture) {
		hold := make(chan struct{})
		release := sync.OnceFunc(func() { close(hold) })
		w.t.Cleanup(release)
		w.stage.act = func(p *play) {
			<-hold
			w.stage.finish(p)
		}
		n := w.start(0)
		rows := w.accept(w.slots + 2)
		eventually(w.t, "the slots are taken", func() bool { return w.number(active) == int64(w.slots) })
		var queued []store.Execution
		w.view(func(r *store.Reader) (err error) {
			queued, err = r.ExecutionsByState(store.StateQueued, nil, 10)
			return err
		})
		waiting := queued[0]
		var started store.Execution
		eventually(w.t, "a workflow has begun", func() bool { // later than its row tells
			i := slices.IndexFunc(rows, func(row store.Execution) bool { return w.stage.play(row.ID) != nil })
			if i >= 0 {
				started = rows[i]
			}
			return i >= 0
		})
		var wg sync.WaitGroup
		var done atomic.Int32
		for range 5 { // one of them does it
			wg.Go(func() {
				for _, row := range []store.Execution{waiting, started} {
					switch err := n.canceller.suspend(w.t.Context(), row.ID, true, nil); {
					case err == nil:
						done.Add(1)
					case !errors.Is(err, engine.ErrSuspended):
						w.t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if done.Load() != 2 {
			w.t.Errorf("%d suspensions, want 2", done.Load())
		}
		if err := n.canceller.suspend(w.t.Context(), chargehand.ExecutionID(w.id()), true, nil); !errors.Is(err, store.ErrNotFound) {
			w.t.Errorf("suspend what is not there: %v", err)
		}
		refused := errors.New("no")
		refuse := []engine.InTx{func(*store.Tx) error { return refused }}
		if err := n.canceller.suspend(w.t.Context(), waiting.ID, false, refuse); !errors.Is(err, refused) {
			w.t.Errorf("a hook that fails: %v", err)
		}
		eventually(w.t, "the workflow has its message", func() bool {
			w.stage.mu.Lock()
			defer w.stage.mu.Unlock()
			p := w.stage.plays[started.ID]
			return len(p.signals) == 1 && p.signals[0].Kind == kindSuspend
		})
		release()
		eventually(w.t, "what was queued is started", func() bool { return w.stage.play(waiting.ID) != nil })
		if p := w.stage.play(waiting.ID); !p.argument.Suspended {
			w.t.Error("it was not started as suspended")
		}
		w.allEnd()
	})
}
