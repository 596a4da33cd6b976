package embedded

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/store"
)

func TestCancelInEveryState(t *testing.T) {
	block := "- a: { call: http, with: { method: get, endpoint: http://x/block/never } }"
	wait := "- a: { wait: { seconds: 10 } }\n- b: { call: http, with: { method: get, endpoint: http://x/echo/one } }"
	retry := `
- a:
    try:
      - b: { call: http, with: { method: get, endpoint: http://x/fail/9 } }
    catch:
      retry: { delay: { hours: 1 }, limit: { attempt: { count: 5 } } }`
	tests := map[string]struct {
		run     store.ExecutionState
		prepare func(fx *fixture) store.Execution
		started bool
	}{
		"queued": {run: store.StateQueued, prepare: func(fx *fixture) store.Execution {
			fx.run(fx.define(block), `{}`)
			return fx.run(fx.define(block), `{}`)
		}},
		"running a call": {run: store.StateActive, started: true, prepare: func(fx *fixture) store.Execution {
			return fx.run(fx.define(block), `{}`)
		}},
		"in a retry delay": {run: store.StateActive, started: true, prepare: func(fx *fixture) store.Execution {
			return fx.run(fx.define(retry), `{}`)
		}},
		"waiting": {run: store.StateParked, started: true, prepare: func(fx *fixture) store.Execution {
			return fx.run(fx.define(wait), `{}`)
		}},
		"woken without a slot": {run: store.StateReady, started: true, prepare: func(fx *fixture) store.Execution {
			row := fx.run(fx.define(wait), `{}`)
			fx.run(fx.define(block), `{}`)
			time.Sleep(time.Minute)
			return row
		}},
		"after a restart": {run: store.StateActive, started: true, prepare: func(fx *fixture) store.Execution {
			row := fx.run(fx.define(block), `{}`)
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
				defer func() { fx.cutOff() }()
				row := test.prepare(fx)
				synctest.Wait()
				if got := fx.read(row.No).State; got != test.run {
					t.Fatalf("execution state %v, want %v", got, test.run)
				}
				changed, stop := fx.engine.Watch(row.ID)
				defer stop()
				if err := fx.engine.Cancel(t.Context(), row.ID, "because"); err != nil {
					t.Fatal(err)
				}
				read := fx.read(row.No)
				if read.Status != chargehand.Errored || read.Phase != chargehand.Cancelled || read.State != store.StateEnded ||
					read.FinishedMs == 0 || (read.StartedMs != 0) != test.started {
					t.Fatalf("%+v", read)
				}
				var o store.Outcome
				fx.view(func(r *store.Reader) (err error) {
					o, err = r.Outcome(row.No)
					return err
				})
				f, err := engine.DecodeFault(o.Fault)
				if err != nil || f.Code != "cancelled" || f.Detail != "because" || f.Origin != "workflow" {
					t.Fatalf("%+v %v", f, err)
				}
				synctest.Wait()
				if !closed(changed) {
					t.Fatal("no watcher was notified")
				}
				if err := fx.engine.Cancel(t.Context(), row.ID, ""); !errors.Is(err, engine.ErrFinal) {
					t.Fatalf("again: %v", err)
				}
				time.Sleep(2 * time.Hour)
				if again := fx.read(row.No); !sameEnd(again, read) {
					t.Fatalf("the end has changed: %+v", again)
				}
				held := 0
				fx.view(func(r *store.Reader) error {
					n, err := r.CountUnfinished()
					held = int(n[store.StateActive])
					return err
				})
				fx.idle(held)
			})
		})
	}
}

func TestCancelOfNobody(t *testing.T) {
	fx := newFixture(t)
	fx.start()
	defer fx.stop()
	if err := fx.engine.Cancel(t.Context(), chargehand.ExecutionID{5}, ""); !errors.Is(err, store.ErrNotFound) {
		t.Fatal(err)
	}
	row := fx.run(fx.define("- a: { set: { x: 1 } }"), `{}`)
	if err := fx.engine.Cancel(t.Context(), row.ID, ""); !errors.Is(err, engine.ErrFinal) {
		t.Fatal(err)
	}
}

// TestRaces: completion, timeout and cancellation come at the same time. There is one end, the
// answer of Cancel agrees with it, and it never changes.
func TestRaces(t *testing.T) {
	fx := newFixture(t)
	fx.start()
	defer func() { fx.stop() }()
	rev := fx.define(`
- a:
    call: http
    with: { method: get, endpoint: http://x/block/gate }
    timeout: { after: { milliseconds: 30 } }`)
	release := fx.outside.block("gate")
	const n = 60
	var rows []store.Execution
	for range n {
		rows = append(rows, fx.run(rev, `{}`))
	}
	time.AfterFunc(30*time.Millisecond, func() { close(release) })
	var all sync.WaitGroup
	cancelled := make([]error, n)
	for i, row := range rows {
		all.Go(func() {
			<-release
			cancelled[i] = fx.engine.Cancel(t.Context(), row.ID, "")
		})
	}
	all.Wait()
	ends := map[string]int{}
	for i, row := range rows {
		row = fx.final(row)
		rows[i] = row
		got := fx.result(row.No)
		ends[got]++
		switch {
		case cancelled[i] == nil && got != "fault cancelled":
			t.Errorf("cancelled, but it ended as %s", got)
		case cancelled[i] != nil && !errors.Is(cancelled[i], engine.ErrFinal):
			t.Error(cancelled[i])
		case cancelled[i] != nil && got == "fault cancelled":
			t.Error("not cancelled, but it says so")
		}
	}
	t.Log(ends)
	fx.idle(0)
	fx.kill()
	fx.start()
	for _, row := range rows {
		if again := fx.read(row.No); !sameEnd(again, row) {
			t.Errorf("the end has changed: %+v, was %+v", again, row)
		}
	}
}

// TestCancelManyAtOnce cancels one execution from many sides: one of them has done it.
func TestCancelManyAtOnce(t *testing.T) {
	fx := newFixture(t)
	fx.start()
	defer fx.stop()
	row := fx.run(fx.define("- a: { call: http, with: { method: get, endpoint: http://x/block/never } }"), `{}`)
	var all sync.WaitGroup
	errs := make([]error, 20)
	for i := range errs {
		all.Go(func() { errs[i] = fx.engine.Cancel(t.Context(), row.ID, "") })
	}
	all.Wait()
	done := 0
	for _, err := range errs {
		if err == nil {
			done++
		} else if !errors.Is(err, engine.ErrFinal) {
			t.Fatal(err)
		}
	}
	if done != 1 {
		t.Fatalf("%d have done it", done)
	}
}
