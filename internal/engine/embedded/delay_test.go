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
