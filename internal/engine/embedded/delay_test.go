package embedded

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chargehand/chargehand/internal/store"
)

// startLater starts an execution with a delay.
func (fx *fixture) startLater(revision int64, delay time.Duration) (store.Execution, error) {
	p, err := fx.Plan(context.Background(), revision)
	if err != nil {
		return store.Execution{}, err
	}
	row := fx.row(revision, `{"x":1}`)
	row.StartMs = fx.engine.nowMs() + delay.Milliseconds()
	return fx.engine.Start(context.Background(), startOf(row, p, parseInput(fx.t, `{"x":1}`)))
}

// TestDelayThatIsOver: a delay that is over when the engine looks is none: the execution counts as queued until it
// begins, and not after that.
func TestDelayThatIsOver(t *testing.T) {
	fx := newFixture(t)
	fx.limits.AccountSlots = 1
	fx.start()
	defer fx.stop()
	release := fx.outside.block("gate")
	fx.outside.started = make(chan callSeen, 1)
	hangs := fx.run(fx.define("- a: { call: http, with: { method: get, endpoint: http://x/block/gate } }"), `{}`)
	fx.blocked()
	late, err := fx.startLater(fx.define("- a: { set: { x: 1 } }"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if late.State != store.StateQueued {
		t.Fatalf("%+v", late)
	}
	close(release)
	fx.final(hangs)
	fx.final(late)
}

// TestRestartWithDelayedInTheQueue: what was delayed and is queued does not count at the bound of the queue after a
// restart either.
func TestRestartWithDelayedInTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t)
		fx.limits.AccountSlots = 1
		fx.start()
		release := fx.outside.block("gate")
		fx.outside.started = make(chan callSeen, 2)
		hangs := fx.run(fx.define("- a: { call: http, with: { method: get, endpoint: http://x/block/gate } }"), `{}`)
		fx.blocked()
		late, err := fx.startLater(fx.define("- a: { set: { x: 1 } }"), time.Second)
		if err != nil {
			t.Fatal(err)
		}
		for fx.read(late.No).State != store.StateQueued {
			time.Sleep(time.Second)
		}
		fx.stop() // it looks at the counts, too
		fx.start()
		if n := len(fx.engine.queued.count); n != 0 {
			t.Errorf("%d workflows are counted", n)
		}
		close(release)
		fx.final(hangs)
		fx.final(late)
		fx.stop()
	})
}

// TestDelayedInDoubt: the commit that queues a delayed execution is in doubt. It starts, whether the commit was made or
// not, and counts as queued once.
func TestDelayedInDoubt(t *testing.T) {
	for _, made := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			fx, broken := brokenFixture(t)
			defer fx.stop()
			row, err := fx.startLater(fx.define("- a: { set: { x: 1 } }"), time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			from := broken.count()
			broken.setFail(func(n int) (bool, bool) { return !made && n == from+1, made && n == from+1 })
			if got := fx.endOf(row, time.Hour).result; got != `{"x":1}` {
				t.Errorf("made %v: it ends with %s", made, got)
			}
			if queued := fx.engine.Stats().Queued; broken.count() < from+2 || queued != 1 {
				t.Errorf("made %v: %d executions count as queued after %d commits", made, queued, broken.count()-from)
			}
		})
	}
}
