package embedded

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chargehand/chargehand/internal/store"
)

// TestWokenInDoubt: the commit that has started an execution seems to fail, and an event wakes it before
// anybody has looked what became of it. Its timers must not be forgotten.
func TestWokenInDoubt(t *testing.T) {
	for _, name := range []string{"listen", "foreach"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, broken := brokenWorld(t)
				defer w.stop()
				w.engine.slots.stop()
				row := w.run(scripts[name].define(w), `{}`)
				from := broken.count()
				broken.setFail(func(n int) (bool, bool) { return false, n == from+1 })
				w.engine.slots.open()
				if got := w.endOf(row, time.Minute).result; got != scripts[name].result {
					t.Errorf("it ends with %s", got)
				}
				w.idle(0)
			})
		})
	}
}

// TestDoubtComesInBehindAnEvent: whoever takes the message that an execution is in doubt looks at the store again,
// also if there are messages before it and the execution is in memory.
func TestDoubtComesInBehindAnEvent(t *testing.T) {
	for _, loaded := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w, _ := brokenWorld(t)
			defer w.stop()
			row := w.run(w.define("- a: { wait: { seconds: 5 } }\n- b: { set: { x: 1 } }"), `{}`)
			w.view(func(r *store.Reader) error { // as if its commit had seemed to fail
				timers, err := r.TimersAfter(store.Timer{}, 10)
				for _, timer := range timers {
					w.engine.timers.remove(timer.Execution, timer.Command)
				}
				return err
			})
			r, drive := w.engine.runs.put(row.No, message{kind: look})
			if !drive {
				t.Fatal("it is driven")
			}
			if loaded {
				if err := w.engine.load(t.Context(), r); err != nil {
					t.Fatal(err)
				}
			}
			w.engine.runs.put(row.No, message{kind: recheck})
			w.engine.drive(r)
			if got := w.endOf(row, time.Minute).result; got != `{"x":1}` {
				t.Errorf("it ends with %s", got)
			}
			w.idle(0)
		})
	}
}

// TestQueuedBehindACancellation: an execution that is passed over, because somebody cancels it, is not
// forgotten when the cancellation is undone.
func TestQueuedBehindACancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := brokenWorld(t)
		defer w.stop()
		w.engine.slots.stop()
		row := w.run(w.define("- a: { set: { x: 1 } }"), `{}`)
		reached, undo := make(chan struct{}), make(chan struct{})
		answer := make(chan error, 1)
		e := w.engine
		go func() {
			answer <- e.Cancel(t.Context(), row.ID, "", func(*store.Tx) error {
				close(reached)
				<-undo
				return errRefused
			})
		}()
		<-reached
		w.engine.slots.open()
		time.Sleep(time.Second) // it is passed over
		close(undo)
		if err := <-answer; !errors.Is(err, errRefused) {
			t.Fatal(err)
		}
		if got := w.endOf(row, time.Minute).result; got != `{"x":1}` {
			t.Errorf("it ends with %s", got)
		}
		w.idle(0)
	})
}

// TestCancelledInDoubt: who cancels an execution while the commit that has started it seems to fail is answered.
func TestCancelledInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, broken := brokenWorld(t)
		defer w.stop()
		rev := w.define("- a: { wait: { hours: 1 } }")
		row := w.row(rev, `{}`)
		p, _ := w.Plan(t.Context(), rev)
		from, answer := broken.count(), make(chan error, 1)
		broken.setFail(func(n int) (bool, bool) { return false, n == from+1 })
		broken.made = func() {
			go func() { answer <- w.engine.Cancel(t.Context(), row.ID, "") }()
			synctest.Wait()
		}
		if _, err := w.engine.Start(t.Context(), startOf(row, p, parseInput(t, `{}`))); !errors.Is(err, store.ErrUnavailable) {
			t.Fatal(err)
		}
		select {
		case err := <-answer:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(time.Minute):
			t.Error("nobody has answered")
		}
		w.idle(0)
	})
}
