package embedded

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/fair"
	"github.com/chargehand/chargehand/internal/store"
)

// TestWokenInDoubt: the first commit of an execution is in doubt, and an event wakes the execution
// before it is looked up. Its timers must not be forgotten.
func TestWokenInDoubt(t *testing.T) {
	for _, name := range []string{"listen", "foreach"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fx, broken := brokenFixture(t)
				defer fx.stop()
				fx.engine.slots.stop()
				row := fx.run(scripts[name].define(fx), `{}`)
				from := broken.count()
				broken.setFail(func(n int) (bool, bool) { return false, n == from+1 })
				fx.engine.slots.open()
				if got := fx.endOf(row, time.Minute).result; got != scripts[name].result {
					t.Errorf("it ends with %s", got)
				}
				fx.idle(0)
			})
		})
	}
}

// TestDoubtComesInBehindAnEvent: the driver that receives a recheckStart message loads the
// execution again, also if other messages come before it and the execution is in memory.
func TestDoubtComesInBehindAnEvent(t *testing.T) {
	for _, loaded := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			fx, _ := brokenFixture(t)
			defer fx.stop()
			row := fx.run(fx.define("- a: { wait: { seconds: 5 } }\n- b: { set: { x: 1 } }"), `{}`)
			fx.view(func(r *store.Reader) error { // as if its commit had seemed to fail
				timers, err := r.TimersAfter(store.Timer{Environment: chargehand.Live}, 10)
				for _, timer := range timers {
					fx.engine.timers.live.remove(timer.Execution, timer.Command)
				}
				return err
			})
			inst, drive := fx.engine.instances.put(row.No, message{kind: refresh})
			if !drive {
				t.Fatal("it is driven")
			}
			if loaded {
				if err := fx.engine.load(t.Context(), inst); err != nil {
					t.Fatal(err)
				}
			}
			fx.engine.instances.put(row.No, message{kind: recheckStart})
			fx.engine.drive(inst)
			if got := fx.endOf(row, time.Minute).result; got != `{"x":1}` {
				t.Errorf("it ends with %s", got)
			}
			fx.idle(0)
		})
	}
}

// TestQueuedBehindACancellation: a scheduler goes past an execution that is being cancelled. When
// the cancellation is undone, the execution starts all the same.
func TestQueuedBehindACancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx, _ := brokenFixture(t)
		defer fx.stop()
		fx.engine.slots.stop()
		row := fx.run(fx.define("- a: { set: { x: 1 } }"), `{}`)
		reached, undo := make(chan struct{}), make(chan struct{})
		answer := make(chan error, 1)
		e := fx.engine
		go func() {
			answer <- e.Cancel(t.Context(), row.ID, "", func(*store.Tx) error {
				close(reached)
				<-undo
				return errRefused
			})
		}()
		<-reached
		fx.engine.slots.open()
		time.Sleep(time.Second) // it is passed over
		close(undo)
		if err := <-answer; !errors.Is(err, errRefused) {
			t.Fatal(err)
		}
		if got := fx.endOf(row, time.Minute).result; got != `{"x":1}` {
			t.Errorf("it ends with %s", got)
		}
		fx.idle(0)
	})
}

// TestCancelledInDoubt: a caller cancels an execution whose first commit is in doubt. The caller
// gets an answer.
func TestCancelledInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx, broken := brokenFixture(t)
		defer fx.stop()
		rev := fx.define("- a: { wait: { hours: 1 } }")
		row := fx.row(rev, `{}`)
		p, _ := fx.Plan(t.Context(), rev)
		from, answer := broken.count(), make(chan error, 1)
		broken.setFail(func(n int) (bool, bool) { return false, n == from+1 })
		broken.made = func() {
			go func() { answer <- fx.engine.Cancel(t.Context(), row.ID, "") }()
			synctest.Wait()
		}
		_, err := fx.engine.Start(t.Context(), startOf(row, p, parseInput(t, `{}`)))
		if !errors.Is(err, store.ErrUnavailable) {
			t.Fatal(err)
		}
		select {
		case err := <-answer:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(time.Minute):
			t.Error("the call has got no answer")
		}
		fx.idle(0)
	})
}

// TestTooManyInDoubt: the store goes away again while starts in doubt are looked up, and more of them
// came meanwhile than are kept. What was kept for those beyond is given back.
func TestTooManyInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx, broken := brokenFixture(t)
		defer fx.stop()
		e := fx.engine
		e.outage.most = 1
		workflow := store.QueuedWorkflow{Account: 1, Environment: chargehand.Live, Workflow: 1}
		starts := make([]inDoubtStart, 3)
		for i := range starts {
			_, l := e.slots.acquireNew(1, fair.Owner{Environment: chargehand.Live, Workflow: 1})
			e.queued.add(workflow)
			starts[i] = inDoubtStart{id: chargehand.ExecutionID{byte(i + 1)}, lease: l, queued: []queuedRow{{owner: store.QueuedActor{QueuedWorkflow: workflow}}}}
		}
		kept := func() (queued int64, inDoubt int) {
			e.queued.mu.Lock()
			defer e.queued.mu.Unlock()
			e.outage.mu.Lock()
			defer e.outage.mu.Unlock()
			return e.queued.count[workflow], len(e.outage.inDoubt)
		}
		broken.setFail(func(int) (bool, bool) { return true, false })
		e.recheck(starts)
		if queued, inDoubt := kept(); queued != 1 || inDoubt != 1 {
			t.Errorf("%d are counted as queued, and %d are in doubt; want 1 of both", queued, inDoubt)
		}
		e.slots.mu.Lock()
		if !starts[1].lease.released || !starts[2].lease.released || starts[0].lease.released {
			t.Error("the leases beyond the bound are not given back, or the one within it is")
		}
		e.slots.mu.Unlock()
		broken.setFail(nil)
		time.Sleep(time.Minute) // it is looked up, and does not exist
		if queued, inDoubt := kept(); queued != 0 || inDoubt != 0 {
			t.Errorf("%d are counted as queued, and %d are in doubt; want none", queued, inDoubt)
		}
		fx.idle(0)
	})
}

// TestChildOfACommitInDoubt: whichever commit is made and seems to have failed, the child that it starts runs, and so
// do executions that it queues.
func TestChildOfACommitInDoubt(t *testing.T) {
	for _, keys := range []int{0, 2} {
		for at := range 8 {
			for _, first := range []string{"", "- w: { wait: { seconds: 1 } }\n"} {
				synctest.Test(t, func(t *testing.T) {
					fx, _ := brokenFixture(t)
					fx.kill()
					fx.limits.AccountSlots, fx.limits.SlotsPerKey, fx.by = 1, keys, func() int64 { return greedy }
					fx.start()
					defer fx.stop()
					broken := fx.db.(*brokenDB)
					fx.deploy("leaf", "- a: { set: { x: 1 } }")
					rev := fx.define(first + "- a: " + workflow("leaf", ""))
					from := broken.count()
					broken.setFail(func(n int) (bool, bool) { return false, n == from+1+at })
					for range 2 {
						if _, err := fx.startOne(rev, `{}`); err != nil && !errors.Is(err, store.ErrUnavailable) {
							t.Fatal(err)
						}
					}
					fx.allEnd(time.Minute)
					fx.idle(0)
				})
			}
		}
	}
}
