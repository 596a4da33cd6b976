package embedded

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/storetest"
)

var errRefused = errors.New("refused by the caller")

// note remembers a request, as the service does.
func note(tx *store.Tx) error { return tx.SetMeta("note", []byte("made")) }

// refuse writes and then wants nothing of it.
func refuse(tx *store.Tx) error {
	if err := tx.SetMeta("refused", []byte("x")); err != nil {
		return err
	}
	return errRefused
}

func (fx *fixture) meta(name string) bool {
	fx.t.Helper()
	found := false
	fx.view(func(r *store.Reader) error {
		_, err := r.Meta(name)
		found = err == nil
		if errors.Is(err, store.ErrNotFound) {
			err = nil
		}
		return err
	})
	return found
}

// TestCancelAlso: what the caller wants done is done with the cancellation, or neither is.
func TestCancelAlso(t *testing.T) {
	call := "- a: { call: http, with: { method: get, endpoint: http://x/block/gate } }"
	states := map[string]struct {
		run     store.ExecutionState
		prepare func(fx *fixture) store.Execution
		finish  func(release chan struct{}) // after a refusal, to the end
		end     string
	}{
		"running": {run: store.StateActive, end: `"released gate"`,
			prepare: func(fx *fixture) store.Execution { return fx.run(fx.define(call), `{}`) },
			finish:  func(release chan struct{}) { close(release) }},
		"queued": {run: store.StateQueued, end: `"released gate"`,
			prepare: func(fx *fixture) store.Execution {
				rev := fx.define(call)
				fx.run(rev, `{}`)
				return fx.run(rev, `{}`)
			},
			finish: func(release chan struct{}) { close(release) }},
		"waiting": {run: store.StateParked, end: `{"x":1}`,
			prepare: func(fx *fixture) store.Execution {
				return fx.run(fx.define("- a: { wait: { hours: 1 } }\n- b: { set: { x: 1 } }"), `{}`)
			},
			finish: func(chan struct{}) { time.Sleep(time.Hour) }},
	}
	for name, state := range states {
		prepare := func(t *testing.T) (*fixture, chan struct{}, store.Execution) {
			fx := newFixture(t)
			fx.limits.AccountSlots = 1
			fx.start()
			release := fx.outside.block("gate")
			row := state.prepare(fx)
			synctest.Wait()
			if got := fx.read(row.No).State; got != state.run {
				t.Fatalf("execution state %v, want %v", got, state.run)
			}
			return fx, release, row
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fx, _, row := prepare(t)
				defer fx.cutOff()
				if err := fx.engine.Cancel(t.Context(), row.ID, "", note); err != nil {
					t.Fatal(err)
				}
				if !fx.meta("note") || fx.read(row.No).Phase != chargehand.Cancelled {
					t.Fatalf("noted %v, %+v", fx.meta("note"), fx.read(row.No))
				}
				if err := fx.engine.Cancel(t.Context(), row.ID, "", refuse); !errors.Is(err, engine.ErrFinal) {
					t.Fatalf("again: %v", err)
				}
			})
		})
		t.Run(name+", refused", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fx, release, row := prepare(t)
				defer fx.stop()
				for range 2 * maxFailures { // it is no failure of the execution
					if err := fx.engine.Cancel(t.Context(), row.ID, "", note, refuse); !errors.Is(err, errRefused) {
						t.Fatal(err)
					}
				}
				if got := fx.read(row.No); got.State != state.run || fx.meta("note") || fx.meta("refused") {
					t.Fatalf("something was written: %+v", got)
				}
				if n := fx.engine.Stats().Failures; n != 0 || strings.Contains(fx.log.String(), "failed") {
					t.Fatalf("%d failures\n%s", n, fx.log)
				}
				state.finish(release)
				row = fx.finalIn(row, time.Minute)
				if got := fx.result(row.No); got != state.end {
					t.Fatal(got)
				}
				fx.idle(0)
			})
		})
	}
}

// TestCancelAlsoOfMany: several cancellations of one execution bring hooks. A hook that fails
// undoes only the cancellation of its own caller, and one of the other cancellations succeeds.
func TestCancelAlsoOfMany(t *testing.T) {
	fx := newFixture(t)
	fx.start()
	defer fx.stop()
	rev := fx.define("- a: { call: http, with: { method: get, endpoint: http://x/block/never } }")
	for range 20 {
		row := fx.run(rev, `{}`)
		var all sync.WaitGroup
		errs := make([]error, 12)
		for i := range errs {
			hook := note
			if i%2 == 0 {
				hook = refuse
			}
			all.Go(func() { errs[i] = fx.engine.Cancel(t.Context(), row.ID, "", hook) })
		}
		all.Wait()
		won := 0
		for i, err := range errs {
			switch {
			case errors.Is(err, engine.ErrFinal):
			case i%2 == 0 && errors.Is(err, errRefused):
			case i%2 == 1 && err == nil:
				won++
			default:
				t.Fatalf("cancellation %d: %v", i, err)
			}
		}
		if got := fx.read(row.No); won != 1 || got.Phase != chargehand.Cancelled || fx.meta("refused") {
			t.Fatalf("%d have won, %+v", won, got)
		}
	}
	fx.idle(0)
}

// TestCancelAlsoCrash fails the commit of a cancellation before and after it is made, and
// kills the engine then.
func TestCancelAlsoCrash(t *testing.T) {
	for name, after := range map[string]bool{"not made": false, "made": true} {
		t.Run(name, func(t *testing.T) {
			fx, broken := brokenFixture(t)
			row := fx.run(fx.define("- a: { call: http, with: { method: get, endpoint: http://x/block/never } }"), `{}`)
			broken.setFail(func(int) (bool, bool) { return !after, after })
			if err := fx.engine.Cancel(t.Context(), row.ID, "", note); !errors.Is(err, store.ErrUnavailable) {
				t.Fatal(err)
			}
			fx.kill()
			fx.start()
			defer fx.cutOff()
			if noted, final := fx.meta("note"), fx.read(row.No).Status.Final(); noted != after || final != after {
				t.Fatalf("noted %v, final %v", noted, final)
			}
		})
	}
}

func TestCancelBatchAlso(t *testing.T) {
	fx := newFixture(t)
	fx.start()
	defer fx.stop()
	rev := fx.define("- a: { call: http, with: { method: get, endpoint: http://x/block/never } }")
	fx.outside.started = make(chan callSeen, 10)
	b := fx.batch(rev, 2, numbered(5))
	for range 2 {
		fx.blocked()
	}
	if err := fx.engine.CancelBatch(t.Context(), b.ID, "", note, refuse); !errors.Is(err, errRefused) {
		t.Fatal(err)
	}
	if got := fx.readBatch(b.No); got.CancelRequested || got.Failed != 0 || fx.meta("note") {
		t.Fatalf("something was written: %+v", got)
	}
	if err := fx.engine.CancelBatch(t.Context(), b.ID, "", note); err != nil {
		t.Fatal(err)
	}
	if got := fx.readBatch(b.No); got.Status != chargehand.BatchFailed || !fx.meta("note") {
		t.Fatalf("noted %v, %+v", fx.meta("note"), got)
	}
	conflict := func(*store.Tx) error { return store.ErrConflict }
	if err := fx.engine.CancelBatch(t.Context(), b.ID, "", conflict); !errors.Is(err, engine.ErrFinal) {
		t.Fatal(err)
	}
	other := fx.batch(rev, 1, numbered(2))
	err := fx.engine.CancelBatch(t.Context(), other.ID, "", conflict)
	if !errors.Is(err, store.ErrConflict) || errors.Is(err, engine.ErrFinal) {
		t.Fatalf("an error of the caller is taken for one of the engine: %v", err)
	}
	if err := fx.engine.CancelBatch(t.Context(), other.ID, ""); err != nil {
		t.Fatal(err)
	}
}

// TestCancelBatchInDoubt: the mark of a cancelled batch is committed, but the commit is in doubt.
// The batch ends without a restart and without a second request.
func TestCancelBatchInDoubt(t *testing.T) {
	for name, made := range map[string]bool{"made": true, "not made": false} {
		t.Run(name, func(t *testing.T) {
			fx, broken := brokenFixture(t)
			defer fx.stop()
			rev := fx.define("- a: { call: http, with: { method: get, endpoint: http://x/block/never } }")
			fx.outside.started = make(chan callSeen, 10)
			b := fx.batch(rev, 2, numbered(700))
			for range 2 {
				fx.blocked()
			}
			mark := broken.count() + 1
			broken.setFail(func(n int) (bool, bool) { return n == mark && !made, n == mark })
			if err := fx.engine.CancelBatch(t.Context(), b.ID, "enough"); !errors.Is(err, store.ErrUnavailable) {
				t.Fatal(err)
			}
			if made {
				if b = fx.finalBatch(b); b.Status != chargehand.BatchFailed || b.Failed != 700 {
					t.Fatalf("%+v", b)
				}
				return
			}
			if got := fx.readBatch(b.No); got.CancelRequested || got.Status.Final() {
				t.Fatalf("%+v", got)
			}
			if err := fx.engine.CancelBatch(t.Context(), b.ID, "enough"); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestCancelledItemsInDoubt: the queued items of a batch are cancelled, but that commit is in doubt. The watchers of
// the items and of the batch are notified nevertheless.
func TestCancelledItemsInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx, broken := brokenFixture(t)
		defer fx.stop()
		fx.engine.slots.stop() // all items stay queued
		b := fx.batch(fx.define("- a: { set: { x: 1 } }"), 2, numbered(3))
		item := fx.items(b.No)[1]
		itemChanged, leaveItem := fx.engine.Watch(item.ID)
		defer leaveItem()
		batchChanged, leaveBatch := fx.engine.Watch(b.ID)
		defer leaveBatch()
		items := broken.count() + 2 // the mark is the first commit
		broken.setFail(func(n int) (bool, bool) { return false, n == items })
		if err := fx.engine.CancelBatch(t.Context(), b.ID, "enough"); !errors.Is(err, store.ErrUnavailable) {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if got := fx.readBatch(b.No); got.Status != chargehand.BatchFailed || got.Failed != 3 {
			t.Fatalf("%+v", got)
		}
		if !closed(itemChanged) || !closed(batchChanged) {
			t.Errorf("notified: the item's watcher %v, the batch's %v", closed(itemChanged), closed(batchChanged))
		}
	})
}

// TestTransactionsThatRunTwice runs the scripts on a database that runs every transaction
// twice and undoes the first run, as PostgreSQL may ask for.
func TestTransactionsThatRunTwice(t *testing.T) {
	for name, s := range scripts {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				run := func(wrap func(store.DB) store.DB) (ends []string) {
					fx := newFixture(t)
					fx.close()
					fx.wrap = wrap
					fx.openStore()
					fx.start()
					defer fx.stop()
					rev := s.define(fx)
					row := fx.run(rev, s.text())
					items := fx.batch(rev, 2, []string{s.text(), s.text(), s.text()})
					within := max(s.within, time.Minute)
					row = fx.finalIn(row, within)
					ends = append(ends, fx.result(row.No), strings.ReplaceAll(fx.story(row.No), row.ID.String(), "itself"))
					items = awaitChange(fx, items.ID, 3*within, "final", func() (store.Batch, bool) {
						b := fx.readBatch(items.No)
						return b, b.Status.Final()
					})
					for _, item := range fx.items(items.No) {
						ends = append(ends, fx.result(item.No))
					}
					synctest.Wait()
					if n := fx.engine.instances.size(); n != 0 {
						t.Errorf("%d runs are left in memory", n)
					}
					fx.idle(0)
					if strings.Contains(fx.log.String(), "ERROR") {
						t.Errorf("the log has errors:\n%s", fx.log)
					}
					return ends
				}
				once, again := run(nil), run(storetest.Twice)
				if strings.Join(once, "\n") != strings.Join(again, "\n") {
					t.Errorf("once:\n%s\ntwice:\n%s", strings.Join(once, "\n"), strings.Join(again, "\n"))
				}
			})
		})
	}
}

// TestInsertedNumberOfATransactionThatRunsAgain: PostgreSQL gives no number twice, so the second
// attempt of a transaction inserts another number, and the table holds nothing under the first one.
func TestInsertedNumberOfATransactionThatRunsAgain(t *testing.T) {
	var tb table
	inst := &instance{no: 5, driven: true}
	tb.insert(inst)
	tb.takeOut(inst)
	inst.no = 6
	tb.insert(inst)
	if n := tb.size(); n != 1 || inst.removed {
		t.Fatalf("%d runs, gone %v", n, inst.removed)
	}
	if got := tb.lookup(6); got != inst {
		t.Fatal("the run is not found under its number")
	}
}
