package embedded

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/store"
)

// faultyFixture is a fixture with a faultyDB.
func faultyFixture(t *testing.T) (*fixture, *faultyDB) {
	fx := newFixture(t)
	fx.close()
	faulty := &faultyDB{free: make(chan struct{})}
	fx.wrap = func(db store.DB) store.DB {
		faulty.DB = db
		return faulty
	}
	fx.openStore()
	return fx, faulty
}

// awaitBatch waits until a batch has ended, by the clock of the test.
func (fx *fixture) awaitBatch(b store.Batch) store.Batch {
	fx.t.Helper()
	return awaitChange(fx, b.ID, time.Minute, "final", func() (store.Batch, bool) {
		b := fx.readBatch(b.No)
		return b, b.Status.Final()
	})
}

var errPoison = errors.New("test: poison")

// poison refuses statements that are about the executions in which.
func poison(what string, which ...int64) func(string, []any) error {
	return func(statement string, args []any) error {
		if statement != what || len(args) == 0 {
			return nil
		}
		for _, no := range which {
			if args[0] == no {
				return errPoison
			}
		}
		return nil
	}
}

// TestPoisonedStart: a queued execution whose first event can never be written ends as an error of the system. Its
// lease is not lost, and it keeps no other execution from its turn.
func TestPoisonedStart(t *testing.T) {
	for _, concurrency := range []int{1, 6} {
		synctest.Test(t, func(t *testing.T) {
			fx, faulty := faultyFixture(t)
			fx.start()
			defer fx.stop()
			rev := fx.define("- a: { call: http, with: { method: get, endpoint: http://x/slow/10 } }")
			fx.engine.slots.stop()
			b := fx.batch(rev, concurrency, numbered(6))
			first := fx.items(b.No)[0]
			faulty.set(nil, poison("append journal", first.No))
			fx.engine.slots.open()
			b = fx.awaitBatch(b)
			if b.Status != chargehand.BatchCompleted || b.Finished != 5 || b.Failed != 1 {
				t.Errorf("concurrency %d: %+v", concurrency, b)
			}
			if got := fx.result(first.No); got != "fault internal" {
				t.Errorf("the poisoned item ended with %s", got)
			}
			if most := fx.outside.most.Load(); most > int64(concurrency) {
				t.Errorf("%d ran at once, of %d", most, concurrency)
			}
		})
	}
}

// TestPoisonedStartWithoutEnd: nor can its end be written. The others start and end all the same, and it holds no slot.
func TestPoisonedStartWithoutEnd(t *testing.T) {
	for _, concurrency := range []int{1, 6} {
		synctest.Test(t, func(t *testing.T) {
			fx, faulty := faultyFixture(t)
			fx.start()
			defer fx.stop()
			rev := fx.define("- a: { call: http, with: { method: get, endpoint: http://x/slow/10 } }")
			fx.engine.slots.stop()
			b := fx.batch(rev, concurrency, numbered(6))
			bad := fx.items(b.No)[2]
			journal, outcome := poison("append journal", bad.No), poison("insert outcome", bad.No)
			faulty.set(nil, func(what string, args []any) error { return errors.Join(journal(what, args), outcome(what, args)) })
			fx.engine.slots.open()
			for _, row := range fx.items(b.No) {
				if row.No != bad.No {
					fx.finalIn(row, time.Minute)
				}
			}
			time.Sleep(time.Minute)
			if row := fx.read(bad.No); row.State != store.StateQueued {
				t.Errorf("the poisoned item: %+v", row)
			}
			if held := fx.engine.slots.heldBy(fx.account.No); held != 0 {
				t.Errorf("it holds %d slots", held)
			}
			faulty.set(nil, nil) // the defect is mended
			if b = fx.awaitBatch(b); b.Finished != 5 || b.Failed != 1 {
				t.Errorf("%+v", b)
			}
		})
	}
}

// TestNumberIsUsedAgain: two Starts are in doubt, and the items of a batch are given the numbers of their undone rows.
func TestNumberIsUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx, faulty := faultyFixture(t)
		fx.start()
		defer fx.stop()
		rev := fx.define("- a: { call: http, with: { method: get, endpoint: http://x/slow/50 } }")
		faulty.mu.Lock()
		faulty.pair = &pair{done: make(chan error, 1)}
		faulty.mu.Unlock()
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				if _, err := fx.startOne(rev, `{}`); !errors.Is(err, store.ErrUnavailable) {
					t.Errorf("accepted: %v", err)
				}
			})
		}
		both.Wait()
		b := fx.awaitBatch(fx.batch(rev, 1, numbered(8)))
		if most := fx.outside.most.Load(); b.Finished != 8 || most > 1 {
			t.Errorf("%d items of a batch of concurrency 1 ran at once: %+v", most, b)
		}
	})
}

// TestStartInDoubtIsRechecked: a Start that was refused though its commit was made ends, with or without a lease.
func TestStartInDoubtIsRechecked(t *testing.T) {
	for _, queued := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			fx, faulty := faultyFixture(t)
			fx.limits.AccountSlots = 1
			fx.start()
			defer fx.stop()
			rev := fx.define("- a: { call: http, with: { method: get, endpoint: http://x/slow/50 } }")
			if queued {
				fx.run(rev, `{}`)
			}
			faulty.once(1, fault{kind: commitUnknown})
			if _, err := fx.startOne(rev, `{}`); !errors.Is(err, store.ErrUnavailable) {
				t.Fatalf("accepted: %v", err)
			}
			fx.run(fx.define("- a: { wait: { seconds: 1 } }"), `{}`)
			fx.allEnd(time.Minute)
		})
	}
}

// TestQueueCountAfterAStartInDoubt: what was started by a commit in doubt is not counted as queued, and the
// waiters of a batch that ended by one are notified.
func TestQueueCountAfterAStartInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx, faulty := faultyFixture(t)
		fx.limits.AccountSlots = 1
		fx.start()
		defer fx.stop()
		rev := fx.define("- a: { call: http, with: { method: get, endpoint: http://x/slow/30 } }")
		first, second := fx.run(rev, `{}`), fx.run(rev, `{}`)
		faulty.once(2, fault{kind: commitUnknown}) // the end of the first one, the start of the second one
		fx.final(first)
		fx.final(second)
		fx.engine.queued.mu.Lock()
		defer fx.engine.queued.mu.Unlock()
		if len(fx.engine.queued.count) != 0 {
			t.Errorf("nothing is queued, and %v are counted", fx.engine.queued.count)
		}
	})
}

func TestBatchEndsInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx, faulty := faultyFixture(t)
		fx.start()
		defer fx.stop()
		fx.engine.slots.stop()
		b := fx.batch(fx.define("- a: { set: { x: 1 } }"), 1, numbered(1))
		faulty.once(1, fault{kind: commitUnknown})
		changed, stop := fx.engine.Watch(b.ID)
		defer stop()
		fx.engine.slots.open()
		select {
		case <-changed:
		case <-time.After(time.Minute):
			t.Error("the batch is final, and its waiter was not notified")
		}
		if b = fx.readBatch(b.No); !b.Status.Final() {
			t.Errorf("%+v", b)
		}
	})
}

// cancelledFirst makes a batch of one item that is cancelled with its batch just before the next Update.
func cancelledFirst(fx *fixture, faulty *faultyDB, revision int64) store.Execution {
	fx.t.Helper()
	fx.engine.slots.stop()
	b := fx.batch(revision, 1, numbered(1))
	direct, done := store.New(faulty.DB), false
	faulty.set(func() fault {
		if done {
			return fault{}
		}
		done = true
		err := direct.Update(context.Background(), func(tx *store.Tx) error {
			if _, err := tx.SetBatchCancelled(b.No, "enough"); err != nil {
				return err
			}
			_, _, err := tx.CancelQueuedItems(b.No, 10, fx.engine.nowMs(), engine.CancelledFault("enough"))
			return err
		})
		if err != nil {
			fx.t.Error(err)
		}
		return fault{}
	}, nil)
	return fx.items(b.No)[0]
}

// TestItemIsCancelledBeforeItStarts: an item is cancelled with its batch while its first write set,
// which starts a child and ends the item, waits for its commit. Nothing of the write set is
// written.
func TestItemIsCancelledBeforeItStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx, faulty := faultyFixture(t)
		fx.start()
		defer fx.stop()
		fx.deploy("child", "- a: { wait: { seconds: 1 } }")
		item := cancelledFirst(fx, faulty, fx.define("- a: "+workflow("child", ", await: false")))
		fx.engine.slots.open()
		time.Sleep(time.Minute)
		if got, started := fx.result(item.No), fx.childrenOf(item); got != "fault cancelled" || len(started) != 0 {
			t.Errorf("it ended with %s, and has started %+v", got, started)
		}
	})
}

// TestCancelOfACancelledItem: a caller cancels an item while its batch is being cancelled. The
// caller gets the answer that the item has ended.
func TestCancelOfACancelledItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx, faulty := faultyFixture(t)
		fx.start()
		defer fx.stop()
		item := cancelledFirst(fx, faulty, fx.define("- a: { wait: { seconds: 1 } }"))
		if err := fx.engine.Cancel(t.Context(), item.ID, "too late"); !errors.Is(err, engine.ErrFinal) {
			t.Errorf("it was answered %v, want %v", err, engine.ErrFinal)
		}
		fx.engine.slots.open()
	})
}

// TestChildrenInDoubt: the children of a commit in doubt are counted as queued exactly if they
// exist and are queued.
func TestChildrenInDoubt(t *testing.T) {
	for _, kind := range []faultKind{commitFails, commitUnknown, statementFails} {
		for n := 1; n <= 4; n++ {
			synctest.Test(t, func(t *testing.T) {
				fx, faulty := faultyFixture(t)
				fx.limits.AccountSlots = 1
				fx.start()
				defer fx.stop()
				fx.deploy("child", "- a: { wait: { seconds: 1 } }")
				rev := fx.define("- a: { wait: { seconds: 1 } }\n- b: " + workflow("child", "") +
					"\n- c: " + workflow("child", ", await: false"))
				row := fx.run(rev, `{}`)
				faulty.once(n, fault{kind: kind, statement: 3})
				if got := fx.endOf(row, time.Minute); got.status != "finished completed" {
					t.Errorf("%v in Update %d: %+v", kind, n, got)
				}
				fx.allEnd(time.Minute)
			})
		}
	}
}

// TestStopWhileTheDatabaseHangs: Stop keeps its deadline.
func TestStopWhileTheDatabaseHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx, faulty := faultyFixture(t)
		fx.limits.Calls = 1
		fx.start()
		rev := fx.define("- a: { call: http, with: { method: get, endpoint: http://x/block/never } }")
		fx.run(rev, `{}`)
		fx.run(rev, `{}`) // waits for its permit
		for range 3 * cap(fx.engine.timers.live.permits) {
			fx.run(fx.define("- a: { wait: { seconds: 5 } }\n- b: { set: { x: 1 } }"), `{}`)
		}
		synctest.Wait()
		faulty.set(func() fault { return fault{kind: hangs} }, nil)
		time.Sleep(10 * time.Second) // more timers are due than may wake at once
		began := time.Now()
		err := fx.engine.Stop(context.Background())
		if took := time.Since(began); took > stopTime {
			t.Errorf("Stop has returned after %v", took)
		}
		if err == nil {
			t.Fatal("Stop has not said that something keeps running")
		}
		if again := fx.engine.Stop(context.Background()); again != err {
			t.Errorf("the second call returned %v, the first one %v", again, err)
		}
		if strings.Contains(err.Error(), "timers") {
			t.Errorf("the timers keep running: %v", err)
		}
		faulty.set(nil, nil)
		close(faulty.free)
		fx.engine.work.Wait(context.Background())
		fx.close()
		fx.start()
		time.Sleep(time.Second)
		fx.cutOff()
	})
}

// TestCancelWhileStopped: a caller cancels an execution whose write set hangs. The caller gets an
// answer when the engine has stopped.
func TestCancelWhileStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx, faulty := faultyFixture(t)
		fx.start()
		row := fx.run(fx.define("- a: { wait: { seconds: 5 } }\n- b: { set: { x: 1 } }"), `{}`)
		synctest.Wait()
		faulty.set(func() fault { return fault{kind: hangs} }, nil)
		time.Sleep(6 * time.Second)
		answered := make(chan error, 1)
		go func() { answered <- fx.engine.Cancel(context.Background(), row.ID, "enough") }()
		synctest.Wait()
		if err := fx.engine.Stop(context.Background()); err == nil {
			t.Error("Stop has not said that something keeps running")
		}
		if err := <-answered; !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, store.ErrInDoubt) {
			t.Errorf("it was answered %v", err)
		}
		faulty.set(nil, nil)
		close(faulty.free)
		fx.engine.work.Wait(context.Background())
		fx.close()
		fx.start()
		fx.final(row)
		fx.stop()
	})
}

// TestDetachedProcessOutlivesAnEndInDoubt: an execution completes with a commit in doubt. Its
// detached process continues, as after any other completion (T67).
func TestDetachedProcessOutlivesAnEndInDoubt(t *testing.T) {
	for _, kind := range []faultKind{noFault, commitUnknown} {
		synctest.Test(t, func(t *testing.T) {
			fx, faulty := faultyFixture(t)
			fx.start()
			defer fx.stop()
			fx.outside.started = make(chan callSeen, 10)
			release := fx.outside.block("on")
			row := fx.run(fx.define("- a: { run: { shell: { command: sh://x/block/on }, await: false } }\n"+
				"- b: { wait: { seconds: 1 } }"), `{}`)
			fx.blocked()
			faulty.once(1, fault{kind: kind})
			fx.final(row)
			synctest.Wait()
			if n := fx.outside.running.Load(); n != 1 {
				t.Errorf("%v: %d processes run after the end", kind, n)
			}
			close(release)
		})
	}
}

// TestPauseOfAStoppedEngine: the end of an outage, noticed while Stop begins, starts nothing again.
func TestPauseOfAStoppedEngine(t *testing.T) {
	for range 200 {
		fx := newFixture(t)
		fx.start()
		e := fx.engine
		e.pauseAll(true)
		// Both are in the middle of what they change when the other one begins.
		e.calls.mu.Lock()
		e.timers.live.mu.Lock()
		over := make(chan struct{})
		go func() {
			defer close(over)
			e.pauseAll(false)
		}()
		runtime.Gosched()
		stopped := make(chan error, 1)
		go func() { stopped <- e.Stop(context.Background()) }()
		runtime.Gosched()
		e.calls.mu.Unlock()
		e.timers.live.mu.Unlock()
		<-over
		if err := <-stopped; err != nil {
			t.Fatal(err)
		}
		if !e.calls.paused || !e.timers.live.paused || !e.timers.test.paused {
			t.Fatalf("calls are paused: %v, timers: %v and %v", e.calls.paused, e.timers.live.paused, e.timers.test.paused)
		}
		fx.engine = nil
		fx.close()
	}
}
