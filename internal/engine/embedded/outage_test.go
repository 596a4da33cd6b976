package embedded

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/sample"
	"github.com/chargehand/chargehand/internal/store"
)

// brokenFixture is a fixture with a brokenDB.
func brokenFixture(t *testing.T) (*fixture, *brokenDB) {
	fx := newFixture(t)
	fx.close()
	var broken *brokenDB
	fx.wrap = func(db store.DB) store.DB {
		broken = &brokenDB{DB: db}
		return broken
	}
	fx.openStore()
	fx.start()
	return fx, broken
}

func allFail(int) (bool, bool) { return true, false }

// TestOutageLosesNothing: outcomes, timers, wakes and cancellations that come while the store is unavailable.
func TestOutageLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx, broken := brokenFixture(t)
		defer func() { fx.stop() }()
		release := fx.outside.block("gate")
		fx.outside.started = make(chan callSeen, 10)
		calls := fx.define(`
- a: { call: http, with: { method: get, endpoint: http://x/block/gate } }
- b: { call: http, with: { method: get, endpoint: http://x/echo/one } }
- c: { set: { said: '${ .said }' } }`)
		waits := fx.define(`
- a: { wait: { seconds: 30 } }
- b: { call: http, with: { method: get, endpoint: http://x/echo/two } }
- c: { set: { said: '${ .said }' } }`)
		trivial := fx.define("- a: { set: { x: 1 } }")
		calling, waiting := fx.run(calls, `{}`), fx.run(waits, `{}`)
		fx.blocked()

		broken.setFail(allFail)
		for _, rev := range []int64{trivial, calls, waits} {
			if _, err := fx.startOne(rev, `{}`); !errors.Is(err, store.ErrUnavailable) {
				t.Fatalf("start: %v", err)
			}
		}
		if err := fx.engine.Cancel(t.Context(), waiting.ID, ""); !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("cancel: %v", err)
		}
		close(release) // the outcome cannot be written
		time.Sleep(time.Minute)
		if s := fx.engine.Stats(); !s.StoreUnavailable || s.RetainedBytes == 0 || s.Activities != 1 {
			t.Fatalf("%+v", s)
		}
		if row := fx.read(calling.No); row.Status.Final() {
			t.Fatalf("%+v", row)
		}
		if n := broken.count(); n > 200 {
			t.Fatalf("%d attempts in a minute", n)
		}
		if lines := strings.Count(fx.log.String(), "\n"); lines > 10 {
			t.Fatalf("a noisy log:\n%s", fx.log)
		}

		broken.setFail(nil)
		calling = fx.finalIn(calling, 5*time.Second)
		waiting = fx.finalIn(waiting, 5*time.Second)
		if got := fx.result(calling.No) + fx.result(waiting.No); got != `{"said":"one"}{"said":"two"}` {
			t.Fatal(got)
		}
		for key, n := range fx.outside.allRuns() {
			if n != 1 {
				t.Errorf("%s ran %d times", key, n)
			}
		}
		if _, err := fx.startOne(trivial, `{}`); err != nil {
			t.Fatal(err)
		}
		if s := fx.engine.Stats(); s.StoreUnavailable || s.RetainedBytes != 0 || s.Interruptions != 0 {
			t.Fatalf("%+v", s)
		}
		fx.idle(0)
	})
}

// TestUnknownCommit: the store says that a commit failed although it did not.
func TestUnknownCommit(t *testing.T) {
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fx, broken := brokenFixture(t)
				defer fx.stop()
				rev := script.define(fx)
				trivial := fx.define("- a: { set: { x: 1 } }")
				row := fx.run(rev, script.text())
				want := fx.endOf(row, script.bound())
				for k := 1; ; k++ {
					broken.setFail(nil)
					fx.allEnd(script.bound()) // what is independent, and what is handed out
					synctest.Wait()
					from := broken.count()
					var failed atomic.Bool
					broken.setFail(func(n int) (bool, bool) {
						if n == from+k {
							failed.Store(true)
						}
						return false, n == from+k
					})
					next := fx.row(rev, script.text())
					p, _ := fx.Plan(t.Context(), rev)
					id := next.ID
					next, err := fx.engine.Start(t.Context(), startOf(next, p, parseInput(t, script.text())))
					if (err != nil) != (k == 1) {
						t.Fatalf("write set %d: %v", k, err)
					}
					if k == 1 { // refused, though it is stored; the next commit shows that
						fx.run(trivial, `{}`)
						fx.view(func(r *store.Reader) (err error) {
							next, err = r.FindExecution(id)
							return err
						})
					}
					if got := fx.endOf(next, 2*script.bound()); got.result != want.result || got.status != want.status {
						t.Fatalf("write set %d: %+v, want %+v", k, got, want)
					}
					if !failed.Load() {
						return
					}
				}
			})
		})
	}
}

// TestUnknownCommitOfABatch: the same for the write sets that start and end items.
func TestUnknownCommitOfABatch(t *testing.T) {
	for k := 1; ; k++ {
		failed := false
		synctest.Test(t, func(t *testing.T) {
			fx, broken := brokenFixture(t)
			defer fx.stop()
			rev := fx.define(`
- a: { wait: { milliseconds: 100 } }
- b: { call: http, with: { method: get, endpoint: http://x/slow/100 } }`)
			fx.engine.slots.stop()
			b := fx.batch(rev, 2, numbered(5))
			from := broken.count()
			broken.setFail(func(n int) (bool, bool) {
				failed = failed || n == from+k
				return false, n == from+k
			})
			fx.engine.slots.open()
			b = awaitChange(fx, b.ID, time.Minute, "final", func() (store.Batch, bool) {
				b := fx.readBatch(b.No)
				return b, b.Status.Final()
			})
			if b.Status != chargehand.BatchCompleted || b.Finished != 5 {
				t.Fatalf("write set %d: %+v", k, b)
			}
			if most := fx.outside.most.Load(); most > 2 {
				t.Fatalf("write set %d: %d at once", k, most)
			}
			time.Sleep(2 * maxBackoff) // they are looked up
			synctest.Wait()
			fx.idle(0)
		})
		if !failed {
			return
		}
		if k > 100 {
			t.Fatal("there is no end")
		}
	}
}

// TestFlakyStore lets write sets fail at random and wants every accepted execution and
// every batch to end as it should.
func TestFlakyStore(t *testing.T) {
	first, step := sample.Every(t, 3)
	for seed := first; seed <= 6; seed += step {
		synctest.Test(t, func(t *testing.T) {
			fx, broken := brokenFixture(t)
			defer fx.stop()
			want := make(map[int64]string)
			bound := time.Duration(0)
			for name, script := range scripts {
				if strings.Contains(name, "compete") || name == "timeout" {
					continue // both may end either way when they take long enough
				}
				rev := script.define(fx)
				row := fx.run(rev, `{"x":1}`)
				fx.endOf(row, script.bound())
				want[rev] = fx.result(row.No)
				bound = max(bound, script.bound())
			}
			random := rand.New(rand.NewPCG(uint64(seed), 3))
			broken.setFail(func(int) (before, after bool) {
				return random.IntN(4) == 0, random.IntN(20) == 0
			})
			var rows []store.Execution
			refused := 0
			for range 5 {
				for rev := range want {
					row, err := fx.startOne(rev, `{"x":1}`)
					if err != nil {
						refused++
						continue
					}
					rows = append(rows, row)
				}
			}
			time.Sleep(time.Minute)
			broken.setFail(nil)
			if refused == 0 || len(rows) == 0 {
				t.Fatalf("seed %d: %d refused, %d accepted", seed, refused, len(rows))
			}
			for _, row := range rows {
				if got := fx.endOf(row, 2*bound).result; got != want[row.Revision] {
					t.Fatalf("seed %d: revision %d ended as %s, want %s\n%s", seed, row.Revision, got, want[row.Revision], fx.log)
				}
			}
			fx.idle(0)
			if n := fx.engine.instances.size(); n != 0 {
				t.Errorf("seed %d: %d executions in memory", seed, n)
			}
		})
	}
}

func TestBatchInAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx, broken := brokenFixture(t)
		defer fx.stop()
		rev := fx.define(`
- a: { call: http, with: { method: get, endpoint: http://x/slow/100 } }
- b: { wait: { milliseconds: 100 } }
- c: { set: { n: '${ $workflow.input.n }' } }`)
		b := fx.batch(rev, 5, numbered(100))
		time.Sleep(400 * time.Millisecond)
		broken.setFail(allFail)
		time.Sleep(10 * time.Second)
		if running := fx.outside.running.Load(); running != 0 {
			t.Fatalf("%d calls run", running)
		}
		broken.setFail(nil)
		b = awaitChange(fx, b.ID, time.Minute, "final", func() (store.Batch, bool) {
			b := fx.readBatch(b.No)
			return b, b.Status.Final()
		})
		if b.Status != chargehand.BatchCompleted || b.Finished != 100 {
			t.Fatalf("%+v", b)
		}
		if most := fx.outside.most.Load(); most > 5 {
			t.Fatalf("%d ran at once", most)
		}
		for i, row := range fx.items(b.No) {
			if got, want := fx.result(row.No), fmt.Sprintf(`{"n":%d}`, i); got != want {
				t.Errorf("item %d: %s", i, got)
			}
		}
	})
}

// TestOutcomesBeyondTheMemoryAreRunAgain bounds what an outage may keep.
func TestOutcomesBeyondTheMemoryAreRunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t)
		fx.close()
		var broken *brokenDB
		fx.wrap = func(db store.DB) store.DB {
			broken = &brokenDB{DB: db}
			return broken
		}
		fx.limits.RetainedBytes = 250_000
		fx.start()
		defer fx.stop()
		rev := fx.define(`
- a:
    fork:
      branches:
        - b: { call: http, with: { method: get, endpoint: http://x/slowsize/100000 } }
        - c: { call: http, with: { method: get, endpoint: http://x/slowsize/100000 } }
        - d: { call: http, with: { method: get, endpoint: http://x/slowsize/100000 } }
        - e: { call: http, with: { method: get, endpoint: http://x/slowsize/100000 } }
- f: { set: { lengths: '${ [.[] | length] }' } }`)
		row := fx.run(rev, `{}`)
		broken.setFail(allFail)
		time.Sleep(time.Minute)
		if kept := fx.engine.Stats().RetainedBytes; kept == 0 || kept > 250_000 {
			t.Fatalf("%d bytes are kept", kept)
		}
		broken.setFail(nil)
		row = fx.finalIn(row, time.Minute)
		if got := fx.result(row.No); got != `{"lengths":[100000,100000,100000,100000]}` {
			t.Fatal(got)
		}
		total := 0
		for _, n := range fx.outside.allRuns() {
			total += n
		}
		if total != 6 {
			t.Fatalf("%d runs", total)
		}
	})
}

// TestPoisonedWriteSet: an execution whose write sets fail although the store is available ends
// with an error of the system. Others are not affected.
func TestPoisonedWriteSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t)
		fx.start()
		defer fx.stop()
		// A file of the outcome has a blob that is gone: the statement fails each time.
		fx.poison = errors.New("poison")
		rev := fx.define("- a: { call: http, with: { method: get, endpoint: http://x/size/200000 } }\n" +
			"- b: { wait: { hours: 1 } }")
		row := fx.run(rev, `{}`)
		other := fx.run(fx.define("- a: { call: http, with: { method: get, endpoint: http://x/echo/one } }"), `{}`)
		row = fx.finalIn(row, time.Minute)
		if got := fx.result(row.No); got != "fault internal" {
			t.Fatal(got)
		}
		if fx.final(other).Status != chargehand.Finished {
			t.Fatal("another execution was hurt")
		}
		if n := strings.Count(fx.log.String(), "a write set failed"); n != maxFailures {
			t.Fatalf("%d lines:\n%s", n, fx.log)
		}
	})
}

func TestCancelAfterTheEndOfAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx, broken := brokenFixture(t)
		defer fx.stop()
		row := fx.run(fx.define("- a: { call: http, with: { method: get, endpoint: http://x/block/never } }"), `{}`)
		broken.setFail(allFail)
		if err := fx.engine.Cancel(t.Context(), row.ID, ""); !errors.Is(err, store.ErrUnavailable) {
			t.Fatal(err)
		}
		broken.setFail(nil)
		if err := fx.engine.Cancel(t.Context(), row.ID, "now"); err != nil {
			t.Fatal(err)
		}
		if row := fx.read(row.No); row.Phase != chargehand.Cancelled {
			t.Fatalf("%+v", row)
		}
		if err := fx.engine.Cancel(t.Context(), row.ID, "now"); !errors.Is(err, engine.ErrFinal) {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := fx.outside.running.Load(); n != 0 {
			t.Fatalf("%d calls run", n)
		}
		fx.idle(0)
	})
}
