package embedded

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/pause"
	"github.com/chargehand/chargehand/internal/store"
)

// suspendAndResume suspends and resumes an execution a few times, until it has ended or its engine is gone.
func suspendAndResume(e *Engine, id chargehand.ExecutionID) {
	for range 3 {
		if e.Suspend(e.ctx, id) != nil {
			return
		}
		if pause.For(e.ctx, 1500*time.Millisecond) != nil || e.Resume(e.ctx, id) != nil || pause.For(e.ctx, 700*time.Millisecond) != nil {
			return
		}
	}
}

// staysSuspended checks that an execution that is suspended after a restart starts nothing, and resumes it.
func (fx *fixture) staysSuspended(row store.Execution) {
	fx.t.Helper()
	synctest.Wait()
	if fx.read(row.No).Phase != chargehand.Suspended {
		return
	}
	before := fx.outside.allRuns()
	time.Sleep(10 * time.Second)
	synctest.Wait()
	if now := fx.read(row.No); now.Phase != chargehand.Suspended || now.State == store.StateReady {
		fx.t.Errorf("it did not stay suspended: %+v", now)
	}
	if after := fx.outside.allRuns(); len(after) != len(before) {
		fx.t.Errorf("activities began while it was suspended: %v, before %v", after, before)
	}
	if err := fx.engine.Resume(fx.t.Context(), row.ID); err != nil {
		fx.t.Error(err)
	}
}

// TestLongSuspendCrashEverywhere is TestLongCrashEverywhere for executions that are suspended and resumed.
func TestLongSuspendCrashEverywhere(t *testing.T) {
	suspended := map[string]script{}
	for _, name := range []string{"calls", "fork", "retry", "loop", "yield", "listen", "child"} {
		s := scripts[name]
		s.suspended = true
		suspended[name] = s
	}
	crashEverywhere(t, suspended)
}

func TestSuspendInEveryState(t *testing.T) {
	one := "- a: { call: http, with: { method: get, endpoint: http://x/echo/one } }"
	wait := "- a: { wait: { seconds: 10 } }\n- b: { call: http, with: { method: get, endpoint: http://x/echo/one } }"
	tests := map[string]struct {
		state   store.ExecutionState // before, and of what is suspended
		after   store.ExecutionState
		prepare func(fx *fixture) store.Execution
	}{
		"queued": {state: store.StateQueued, after: store.StateQueued, prepare: func(fx *fixture) store.Execution {
			fx.run(fx.define("- a: { call: http, with: { method: get, endpoint: http://x/slow/60000 } }"), `{}`)
			return fx.run(fx.define(one), `{}`)
		}},
		"running": {state: store.StateActive, after: store.StateActive, prepare: func(fx *fixture) store.Execution {
			return fx.run(fx.define("- a: { call: http, with: { method: get, endpoint: http://x/slow/5000 } }\n- b: { set: { x: 1 } }"), `{}`)
		}},
		"in a retry delay": {state: store.StateActive, after: store.StateParked, prepare: func(fx *fixture) store.Execution {
			return fx.run(fx.define(scripts["retry"].tasks), `{}`)
		}},
		"waiting": {state: store.StateParked, after: store.StateParked, prepare: func(fx *fixture) store.Execution {
			return fx.run(fx.define(wait), `{}`)
		}},
		"woken without a slot": {state: store.StateReady, after: store.StateParked, prepare: func(fx *fixture) store.Execution {
			row := fx.run(fx.define(wait), `{}`)
			fx.run(fx.define("- a: { call: http, with: { method: get, endpoint: http://x/slow/70000 } }"), `{}`)
			time.Sleep(time.Minute)
			return row
		}},
		"after a restart": {state: store.StateActive, after: store.StateActive, prepare: func(fx *fixture) store.Execution {
			row := fx.run(fx.define("- a: { call: http, with: { method: get, endpoint: http://x/slow/5000 } }"), `{}`)
			synctest.Wait()
			fx.kill()
			fx.start()
			return row
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fx := newFixture(t)
				fx.limits.AccountSlots = 1
				fx.start()
				defer func() { fx.stop() }()
				row := test.prepare(fx)
				synctest.Wait()
				if got := fx.read(row.No).State; got != test.state {
					t.Fatalf("execution state %v, want %v", got, test.state)
				}
				status := fx.read(row.No).Status
				if err := fx.engine.Resume(t.Context(), row.ID); !errors.Is(err, engine.ErrNotSuspended) {
					t.Fatalf("resume first: %v", err)
				}
				if err := fx.engine.Suspend(t.Context(), row.ID); err != nil {
					t.Fatal(err)
				}
				if got := fx.read(row.No); got.Phase != chargehand.Suspended || got.Status != status || got.State != test.after {
					t.Fatalf("%+v", got)
				}
				if err := fx.engine.Suspend(t.Context(), row.ID); !errors.Is(err, engine.ErrSuspended) {
					t.Fatalf("again: %v", err)
				}
				time.Sleep(2 * time.Hour)
				synctest.Wait()
				if got := fx.read(row.No); got.Phase != chargehand.Suspended || got.State != store.StateParked || got.Status != chargehand.Processing {
					t.Fatalf("after two hours: %+v", got)
				}
				fx.idle(0)
				fx.kill()
				fx.start()
				if err := fx.engine.Resume(t.Context(), row.ID); err != nil {
					t.Fatal(err)
				}
				if got := fx.finalIn(row, time.Hour); got.Status != chargehand.Finished {
					t.Fatalf("%+v", got)
				}
				if err := fx.engine.Suspend(t.Context(), row.ID); !errors.Is(err, engine.ErrFinal) {
					t.Fatalf("suspend at the end: %v", err)
				}
				if err := fx.engine.Resume(t.Context(), chargehand.ExecutionID{5}); !errors.Is(err, store.ErrNotFound) {
					t.Fatalf("resume what is not there: %v", err)
				}
				fx.allEnd(time.Hour)
				fx.idle(0)
			})
		})
	}
}

// A queued execution that is resumed before its turn runs as if nothing had been; a suspended one can be cancelled.
func TestSuspendWhileQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t)
		fx.limits.AccountSlots = 1
		fx.start()
		defer func() { fx.stop() }()
		first := fx.run(fx.define("- a: { call: http, with: { method: get, endpoint: http://x/slow/5000 } }"), `{}`)
		one := fx.define("- a: { call: http, with: { method: get, endpoint: http://x/echo/one } }")
		resumed, cancelled, started := fx.run(one, `{}`), fx.run(one, `{}`), fx.run(one, `{}`)
		for _, row := range []store.Execution{resumed, cancelled} {
			if err := fx.engine.Suspend(t.Context(), row.ID); err != nil {
				t.Fatal(err)
			}
		}
		if err := fx.engine.Resume(t.Context(), resumed.ID); err != nil {
			t.Fatal(err)
		}
		if got := fx.read(resumed.No); got.Phase != chargehand.Pending || got.State != store.StateQueued {
			t.Fatalf("%+v", got)
		}
		if err := fx.engine.Cancel(t.Context(), cancelled.ID, ""); err != nil {
			t.Fatal(err)
		}
		for _, row := range []store.Execution{first, resumed, started} {
			if got := fx.final(row); got.Status != chargehand.Finished {
				t.Fatalf("%+v", got)
			}
		}
		fx.allEnd(time.Minute)
		fx.idle(0)
	})
}

// An execution that was suspended before its turn, and whose first step faults before a task begins, ends although it
// is suspended.
func TestSuspendedCannotBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t)
		fx.limits.AccountSlots = 1
		fx.start()
		defer func() { fx.stop() }()
		fx.run(fx.define("- a: { call: http, with: { method: get, endpoint: http://x/slow/5000 } }"), `{}`)
		row := fx.run(fx.defineAll("input: { from: '${ error(\"no\") }' }\ndo: [ { a: { set: 1 } } ]"), `{}`)
		if err := fx.engine.Suspend(t.Context(), row.ID); err != nil {
			t.Fatal(err)
		}
		if got := fx.final(row); got.Phase != chargehand.Faulted {
			t.Fatalf("%+v", got)
		}
		fx.allEnd(time.Minute)
		fx.idle(0)
	})
}

// The error of a hook undoes the suspension, and only that.
func TestSuspendHooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t)
		fx.start()
		defer func() { fx.stop() }()
		row := fx.run(fx.define("- a: { wait: { seconds: 10 } }"), `{}`)
		refused := errors.New("no")
		calls := 0
		note := func(*store.Tx) error { calls++; return nil }
		refuse := func(*store.Tx) error { return refused }
		if err := fx.engine.Suspend(t.Context(), row.ID, note, refuse); !errors.Is(err, refused) {
			t.Fatal(err)
		}
		if got := fx.read(row.No); got.Phase != chargehand.Waiting {
			t.Fatalf("%+v", got)
		}
		if err := fx.engine.Suspend(t.Context(), row.ID, note); err != nil || calls != 2 {
			t.Fatal(err, calls)
		}
		if err := fx.engine.Resume(t.Context(), row.ID, note); err != nil || calls != 3 {
			t.Fatal(err, calls)
		}
		fx.finalIn(row, time.Hour)
		fx.idle(0)
	})
}

// A batch continues beside a suspended item, whose slot others get.
func TestSuspendItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t)
		fx.start()
		defer func() { fx.stop() }()
		b := fx.batch(fx.define("- a: { wait: { seconds: 1 } }\n- b: { call: http, with: { method: get, endpoint: http://x/slow/20 } }"), 1, numbered(5))
		time.Sleep(100 * time.Millisecond)
		row := fx.items(b.No)[0]
		if err := fx.engine.Suspend(t.Context(), row.ID); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if got := fx.readBatch(b.No); got.Finished != 4 {
			t.Fatalf("%+v", got)
		}
		if err := fx.engine.Resume(t.Context(), row.ID); err != nil {
			t.Fatal(err)
		}
		if got := fx.finalBatch(b); got.Finished != 5 {
			t.Fatalf("%+v", got)
		}
		fx.idle(0)
	})
}
