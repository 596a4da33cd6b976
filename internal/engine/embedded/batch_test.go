package embedded

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/sample"
	"github.com/chargehand/chargehand/internal/store"
)

func numbered(n int) []string {
	inputs := make([]string, n)
	for i := range inputs {
		inputs[i] = fmt.Sprintf(`{"n":%d}`, i)
	}
	return inputs
}

func TestBatchOfTrivialItems(t *testing.T) {
	fx := newFixture(t)
	fx.start()
	defer fx.stop()
	rev := fx.define("- a: { set: { n: '${ .n * 2 }' } }")
	b := fx.finalBatch(fx.batch(rev, 7, numbered(1000)))
	if b.Status != chargehand.BatchCompleted || b.Finished != 1000 || b.Failed != 0 {
		t.Fatalf("%+v", b)
	}
	var last int64
	for i, row := range fx.items(b.No) {
		if got, want := fx.result(row.No), fmt.Sprintf(`{"n":%d}`, 2*i); got != want {
			t.Fatalf("item %d: %s", i, got)
		}
		if row.StartedMs < last {
			t.Fatalf("item %d started before the one before it", i)
		}
		last = row.StartedMs
	}
}

func TestBatchBoundHoldsAtEveryMoment(t *testing.T) {
	tests := map[string]struct {
		tasks       string
		concurrency int
		items       int
	}{
		"calls": {`
- a: { call: http, with: { method: get, endpoint: http://x/echo/one } }
- b: { call: http, with: { method: get, endpoint: http://x/echo/two } }`, 5, 60},
		"one at a time": {`
- a: { call: http, with: { method: get, endpoint: http://x/slow/10 } }`, 1, 8},
		"slow calls": {`
- a: { call: http, with: { method: get, endpoint: http://x/slow/100 } }`, 3, 20},
		"with waits inside": {`
- a: { call: http, with: { method: get, endpoint: http://x/slow/100 } }
- b: { wait: { milliseconds: 50 } }
- c: { call: http, with: { method: get, endpoint: http://x/slow/70 } }`, 4, 40},
		"with retries inside": {`
- a:
    try:
      - b: { call: http, with: { method: get, endpoint: http://x/slowfail/20 } }
    catch:
      retry: { delay: { milliseconds: 30 }, limit: { attempt: { count: 2 } } }
      do:
        - c: { set: { x: 1 } }`, 3, 12},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fx := newFixture(t)
				fx.start()
				defer fx.stop()
				// The rows are counted while each call runs.
				fx.outside.inspect = func() {
					var n store.StateCounts
					fx.view(func(r *store.Reader) (err error) {
						n, err = r.CountUnfinished()
						return err
					})
					if n[store.StateActive] > int64(test.concurrency) {
						t.Errorf("%d rows are active", n[store.StateActive])
					}
				}
				b := fx.finalBatch(fx.batch(fx.define(test.tasks), test.concurrency, numbered(test.items)))
				if b.Status != chargehand.BatchCompleted || b.Finished != int64(test.items) {
					t.Fatalf("%+v\n%s", b, fx.log)
				}
				most := fx.outside.most.Load()
				if most > int64(test.concurrency) {
					t.Fatalf("%d ran at once", most)
				}
				if most < int64(test.concurrency) && name != "calls" {
					t.Fatalf("only %d ran at once", most)
				}
				synctest.Wait()
				if held := fx.engine.slots.heldBy(fx.account.No); held != 0 {
					t.Fatalf("%d slots are held", held)
				}
			})
		})
	}
}

// TestBatchRunsAsManyAsItMay: also more items than its scheduler is granted at once, while none ends.
func TestBatchRunsAsManyAsItMay(t *testing.T) {
	fx, held := newKeyFixture(t, 0)
	fx.start()
	defer fx.stop()
	batch := fx.batch(fx.define(heldCall), 100, numbered(100))
	for range 100 {
		fx.blocked()
	}
	close(held)
	fx.finalBatch(batch)
}

// TestWokenItemsGoBeforeQueuedOnes: with one slot, an item that was woken continues before
// another one starts.
func TestWokenItemsGoBeforeQueuedOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t)
		fx.start()
		defer fx.stop()
		rev := fx.define(`
- a: { call: http, with: { method: get, endpoint: http://x/slow/100 } }
- b: { wait: { milliseconds: 10 } }
- c: { call: http, with: { method: get, endpoint: http://x/slow/100 } }`)
		b := fx.finalBatch(fx.batch(rev, 1, numbered(6)))
		if b.Status != chargehand.BatchCompleted {
			t.Fatalf("%+v", b)
		}
		// While item 0 waits, item 1 makes its first call. Then item 0 continues, and so on: when an
		// item ends, only the next one has begun.
		items := fx.items(b.No)
		for i, row := range items {
			begun := 0
			for _, other := range items[i+1:] {
				if other.StartedMs < row.FinishedMs {
					begun++
				}
			}
			if begun > 2 {
				t.Errorf("%d items had begun when item %d ended", begun, i)
			}
		}
	})
}

func TestSinglesAndBatchesAlternate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t)
		fx.limits.AccountSlots = 4
		fx.start()
		defer fx.stop()
		rev := fx.define("- a: { call: http, with: { method: get, endpoint: http://x/slow/100 } }")
		b := fx.batch(rev, 100, numbered(40))
		synctest.Wait()
		var singles []store.Execution
		for range 10 {
			singles = append(singles, fx.run(rev, `{}`))
		}
		for _, row := range singles {
			fx.final(row)
		}
		// 10 singles and as many items, four at a time, take 500 ms: by then the batch is not
		// over, but has gone on.
		now := fx.readBatch(b.No)
		if now.Status.Final() || now.Finished < 8 {
			t.Fatalf("after the singles, %d items have ended", now.Finished)
		}
		fx.finalBatch(b)
		if most := fx.outside.most.Load(); most != 4 {
			t.Fatalf("%d ran at once", most)
		}
	})
}

func TestBatchGoesOnAfterACrash(t *testing.T) {
	fx := newFixture(t)
	fx.start()
	rev := fx.define(`
- a: { call: http, with: { method: get, endpoint: http://x/block/gate } }`)
	release := fx.outside.block("gate")
	fx.outside.started = make(chan callSeen, 100)
	b := fx.batch(rev, 3, numbered(10))
	for range 3 {
		fx.blocked()
	}
	fx.kill()
	close(release)
	fx.start()
	defer fx.stop()
	b = fx.finalBatch(b)
	if b.Status != chargehand.BatchCompleted || b.Finished != 10 {
		t.Fatalf("%+v", b)
	}
	if most := fx.outside.most.Load(); most > 3 {
		t.Fatalf("%d ran at once", most)
	}
	if n := fx.engine.Stats().Interruptions; n != 3 {
		t.Fatalf("%d interruptions were counted", n)
	}
}

func TestBatchWithoutBatchReadyContinues(t *testing.T) {
	fx := newFixture(t)
	rev := fx.define("- a: { set: { n: 1 } }")
	fx.start()
	fx.engine.requests.Close() // the crash comes between the commit and the word
	b := fx.batch(rev, 2, numbered(5))
	fx.kill()
	fx.start()
	defer fx.stop()
	if b := fx.finalBatch(b); b.Finished != 5 {
		t.Fatalf("%+v", b)
	}
}

func TestBadItemEndsAlone(t *testing.T) {
	fx := newFixture(t)
	fx.start()
	defer fx.stop()
	rev := fx.define("- a: { set: { n: 1 } }")
	inputs := numbered(20)
	inputs[7] = `{"n":` // damaged in the store
	b := fx.finalBatch(fx.batch(rev, 5, inputs))
	if b.Status != chargehand.BatchCompleted || b.Finished != 19 || b.Failed != 1 {
		t.Fatalf("%+v", b)
	}
	if row := fx.items(b.No)[7]; fx.result(row.No) != "fault internal" {
		t.Fatalf("item 7: %s", fx.result(row.No))
	}
	if !fx.log.contains("ended by the system") {
		t.Fatal("no watcher was notified")
	}
}

func TestCancelBatch(t *testing.T) {
	fx := newFixture(t)
	fx.start()
	defer fx.stop()
	rev := fx.define(`
- s: { switch: [ { first: { when: '.n == 0', then: end } } ] }
- p: { switch: [ { second: { when: '.n == 1', then: w } } ] }
- a: { call: http, with: { method: get, endpoint: http://x/block/never }, then: end }
- w: { wait: { hours: 1 } }`)
	fx.outside.started = make(chan callSeen, 100)
	b := fx.batch(rev, 3, numbered(1200))
	for range 3 {
		fx.blocked()
	}
	if err := fx.engine.CancelBatch(t.Context(), b.ID, "enough"); err != nil {
		t.Fatal(err)
	}
	b = fx.readBatch(b.No)
	if b.Status != chargehand.BatchFailed || b.Finished != 1 || b.Failed != 1199 {
		t.Fatalf("%+v", b)
	}
	for i, row := range fx.items(b.No) {
		want := "fault cancelled"
		if i == 0 {
			want = `{"n":0}`
		}
		if got := fx.result(row.No); got != want || (i > 4) != (row.StartedMs == 0) {
			t.Fatalf("item %d: %s, started %d", i, got, row.StartedMs)
		}
	}
	if err := fx.engine.CancelBatch(t.Context(), b.ID, ""); !errors.Is(err, engine.ErrFinal) {
		t.Fatalf("again: %v", err)
	}
	if err := fx.engine.CancelBatch(t.Context(), chargehand.BatchID{9}, ""); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("unknown: %v", err)
	}
	fx.idle(0)
	if n := fx.engine.timers.held(); n != 0 {
		t.Fatalf("%d timers are kept", n)
	}
}

// TestCancelBatchGoesOnAfterACrash: the mark is durable, the rest was not done.
func TestCancelBatchGoesOnAfterACrash(t *testing.T) {
	fx := newFixture(t)
	fx.start()
	rev := fx.define("- a: { call: http, with: { method: get, endpoint: http://x/block/never } }")
	fx.outside.started = make(chan callSeen, 100)
	b := fx.batch(rev, 2, numbered(30))
	fx.blocked()
	err := fx.store.Update(t.Context(), func(tx *store.Tx) error {
		_, err := tx.SetBatchCancelled(b.No, "enough")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	fx.kill()
	fx.start()
	defer fx.stop()
	b = fx.finalBatch(b)
	if b.Status != chargehand.BatchFailed || b.Failed != 30 {
		t.Fatalf("%+v", b)
	}
	for _, row := range fx.items(b.No) {
		if f := fx.faultOf(row.No); !strings.Contains(f.Detail, "enough") {
			t.Fatalf("item %d, which ended after the restart, does not say why: %+v", row.Item, f)
		}
	}
}

// TestCancelBatchGoesOnWithoutTheCaller: nothing of a marked batch starts any more, so what
// is left must not wait for a second request.
func TestCancelBatchGoesOnWithoutTheCaller(t *testing.T) {
	for name, want := range map[string]error{"gone": context.Canceled, "unavailable": store.ErrUnavailable} {
		t.Run(name, func(t *testing.T) {
			fx, broken := brokenFixture(t)
			defer fx.stop()
			rev := fx.define("- a: { call: http, with: { method: get, endpoint: http://x/block/never } }")
			fx.outside.started = make(chan callSeen, 100)
			b := fx.batch(rev, 2, numbered(1200))
			for range 2 {
				fx.blocked()
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			second := broken.count() + 2 // the first one marks the batch
			broken.setFail(func(n int) (bool, bool) {
				if n != second {
					return false, false
				}
				cancel()
				return name == "unavailable", false
			})
			if err := fx.engine.CancelBatch(ctx, b.ID, "enough"); !errors.Is(err, want) && !errors.Is(err, context.Canceled) {
				t.Fatalf("%v, want %v", err, want)
			}
			b = fx.finalBatch(b)
			if b.Status != chargehand.BatchFailed || b.Failed != 1200 {
				t.Fatalf("%+v", b)
			}
		})
	}
}

// TestCancelBatchWhileItRuns races the scheduler, outcomes and the cancellation.
func TestCancelBatchWhileItRuns(t *testing.T) {
	for round := range 10 {
		fx := newFixture(t)
		fx.start()
		rev := fx.define("- a: { call: http, with: { method: get, endpoint: http://x/echo/one } }")
		b := fx.batch(rev, 20, numbered(300))
		items := fx.items(b.No)
		fx.final(items[round*10])
		err := fx.engine.CancelBatch(t.Context(), b.ID, "")
		if err != nil && !errors.Is(err, engine.ErrFinal) {
			t.Fatal(err)
		}
		b = fx.readBatch(b.No)
		if !b.Status.Final() || b.Finished+b.Failed != b.Total {
			t.Fatalf("%+v", b)
		}
		ended := fx.items(b.No)
		if slices.ContainsFunc(ended, func(row store.Execution) bool { return !row.Status.Final() }) {
			t.Fatal("an item has not ended")
		}
		fx.stop()
		fx.start()
		if !slices.EqualFunc(fx.items(b.No), ended, sameEnd) {
			t.Fatal("an end has changed")
		}
		fx.stop()
	}
}

func sameEnd(a, b store.Execution) bool {
	return a.Status == b.Status && a.Phase == b.Phase && a.FinishedMs == b.FinishedMs && a.State == b.State
}

func TestParkedItemsOfABatchFindTheirBoundAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t)
		fx.start()
		rev := fx.define(`
- a: { wait: { minutes: 10 } }
- b: { call: http, with: { method: get, endpoint: http://x/slow/100 } }`)
		b := fx.batch(rev, 2, numbered(9))
		synctest.Wait()
		time.Sleep(time.Minute)
		var n store.StateCounts
		fx.view(func(r *store.Reader) (err error) {
			n, err = r.CountItems(b.No)
			return err
		})
		if n[store.StateParked] != 9 {
			t.Fatalf("%v", n)
		}
		fx.stop()
		fx.start()
		defer fx.stop()
		time.Sleep(9*time.Minute + 30*time.Second)
		b = fx.finalBatch(b)
		if most := fx.outside.most.Load(); b.Finished != 9 || most != 2 {
			t.Fatalf("%d at once, %+v", most, b)
		}
	})
}

// TestBatchCrashEverywhere crashes at each write set of a batch, before and after it is
// written.
func TestBatchCrashEverywhere(t *testing.T) {
	for _, written := range []bool{false, true} {
		first, step := sample.Every(t, 3)
		for k, crashed := first, true; crashed; k += step {
			synctest.Test(t, func(t *testing.T) {
				fx, broken := brokenFixture(t)
				rev := fx.define(`
- a: { switch: [ { odd: { when: '.n % 2 == 1', then: c } } ] }
- b: { call: http, with: { method: get, endpoint: http://x/slow/100 } }
- c: { wait: { milliseconds: 50 } }
- d: { call: http, with: { method: get, endpoint: http://x/slow/70 } }
- e: { set: { n: '${ $workflow.input.n }' } }`)
				fx.engine.slots.stop()
				b := fx.batch(rev, 2, numbered(7))
				from := broken.count()
				tripped := make(chan struct{})
				broken.setFail(func(n int) (before, after bool) {
					if n == from+k {
						close(tripped)
						return !written, written
					}
					return n > from+k, false
				})
				fx.engine.slots.open()
				synctest.Wait()
				time.Sleep(5 * time.Second)
				select {
				case <-tripped:
				default:
					crashed = false
				}
				fx.kill()
				fx.wrap = nil
				fx.start()
				defer fx.stop()
				b = fx.finalBatch(b)
				if b.Status != chargehand.BatchCompleted || b.Finished != 7 {
					t.Fatalf("write set %d, written: %v: %+v\n%s", k, written, b, fx.log)
				}
				for i, row := range fx.items(b.No) {
					if got, want := fx.result(row.No), fmt.Sprintf(`{"n":%d}`, i); got != want {
						t.Errorf("write set %d, written: %v: item %d is %s", k, written, i, got)
					}
				}
				if most := fx.outside.most.Load(); most > 2 {
					t.Errorf("write set %d, written: %v: %d at once", k, written, most)
				}
				fx.idle(0)
			})
			if k > 200 || t.Failed() {
				t.Fatalf("at write set %d", k)
			}
		}
	}
}
