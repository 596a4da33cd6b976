package temporal

import (
	"errors"
	"sync"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/store"
)

// TestCancelRaces cancels executions while they are queued, marked, started, parked and ended.
// The workflow of one that was started and has lost its row must be notified.
func TestCancelRaces(t *testing.T) {
	onDialects(t, func(w *rowsFixture) {
		stop := w.guard()
		a, b := w.start(0), w.start(0)
		rows := w.accept(60)
		_, items := w.batch(30, 4)
		rows = append(rows, items...)
		var wg sync.WaitGroup
		won := make([]bool, len(rows))
		for i := range rows {
			wg.Go(func() {
				c := a.canceller
				if i%2 == 0 {
					c = b.canceller
				}
				switch err := c.cancel(w.t.Context(), rows[i].ID, "too late"); {
				case err == nil:
					won[i] = true
				case !errors.Is(err, engine.ErrFinal):
					w.t.Error(err)
				}
			})
		}
		wg.Wait()
		w.allEnd()
		stop()
		for i, row := range rows {
			var now store.Execution
			w.view(func(r *store.Reader) (err error) { now, err = r.ExecutionByNo(row.No); return err })
			if won[i] != (now.Phase == chargehand.Cancelled) {
				w.t.Errorf("cancelled: %v, but the row says %+v", won[i], now)
			}
			p := w.stage.play(row.ID)
			if !won[i] || p == nil {
				continue
			}
			// The play waits for what it was notified, or had ended before.
			w.stage.mu.Lock()
			readPosition := p.ended
			for _, m := range p.signals {
				readPosition = readPosition || m.Kind == kindCancel && m.Reason == "too late"
			}
			w.stage.mu.Unlock()
			if !readPosition {
				w.t.Errorf("%v was started and cancelled, and was not notified", row.ID)
			}
		}
	})
}

// TestCancelledBeforeItsStart cancels what is marked and cannot be started yet.
func TestCancelledBeforeItsStart(t *testing.T) {
	w := newSQLiteFixture(t)
	w.stage.down.Store(true)
	n := w.start(0)
	rows := w.accept(w.slots)
	eventually(t, "all are marked", func() bool { return w.number(active) == int64(w.slots) })
	for _, row := range rows {
		if err := n.canceller.cancel(t.Context(), row.ID, ""); err != nil {
			t.Fatal(err)
		}
		if err := n.canceller.cancel(t.Context(), row.ID, ""); !errors.Is(err, engine.ErrFinal) {
			t.Errorf("cancelled twice: %v", err)
		}
	}
	// The node may have the rows in memory as they were marked; another one has not.
	n.dead.Store(true)
	w.update(func(tx *store.Tx) error {
		// their leases are over
		list, err := tx.LeaseOutbox([]store.OutboxKind{store.OutboxStart, store.OutboxGrant, store.OutboxCancel}, 1<<60, 1, 1000)
		if len(list) != 2*w.slots {
			t.Errorf("%d messages, want a start and a cancellation each", len(list))
		}
		return err
	})
	w.stage.down.Store(false)
	w.start(0)
	w.allEnd()
	if len(w.stage.plays) != 0 {
		t.Errorf("%d cancelled executions were started", len(w.stage.plays))
	}
	if err := n.canceller.cancel(t.Context(), chargehand.ExecutionID(w.id()), ""); err == nil {
		t.Error("cancelled what is not there")
	}
}

func TestCancelBatch(t *testing.T) {
	onDialects(t, func(w *rowsFixture) {
		hold := make(chan struct{})
		w.stage.act = func(p *play) {
			select {
			case <-p.arriving: // cancelled
			case <-hold:
			}
			w.stage.leave(p)
		}
		defer close(hold)
		n := w.start(0)
		w.start(0)
		b, _ := w.batch(600, 5)
		eventually(w.t, "items run", func() bool { return w.number(active) == 5 })
		changed, unwatch := n.watchers.watch(b.ID)
		defer unwatch()
		if err := n.canceller.cancelBatch(w.t.Context(), b.ID, "enough"); err != nil {
			w.t.Fatal(err)
		}
		<-changed
		w.view(func(r *store.Reader) error {
			got, err := r.BatchByNo(b.No)
			if got.Status != chargehand.BatchFailed || got.Failed != 600 {
				w.t.Errorf("batch %+v", got)
			}
			return err
		})
		if err := n.canceller.cancelBatch(w.t.Context(), b.ID, ""); !errors.Is(err, engine.ErrFinal) {
			w.t.Errorf("cancelled twice: %v", err)
		}
		w.allEnd()
		if n := w.number(`SELECT COUNT(*) FROM execution WHERE phase = 5 AND status = 5`); n != 600 {
			w.t.Errorf("%d items are cancelled", n)
		}
		for _, p := range w.stage.plays {
			eventually(w.t, "what ran has stopped", func() bool {
				w.stage.mu.Lock()
				defer w.stage.mu.Unlock()
				return p.ended
			})
		}
	})
}
