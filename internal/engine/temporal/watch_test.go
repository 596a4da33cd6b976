package temporal

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// counting counts the Views of a database.
type counting struct {
	store.DB
	views atomic.Int64
}

func (c *counting) View(ctx context.Context, fn func(store.Conn) error) error {
	c.views.Add(1)
	return c.DB.View(ctx, fn)
}

func (w *rowsFixture) watchers() (*watchers, *counting) {
	db := &counting{DB: w.db}
	h := newWatchers(store.New(db))
	w.serve("watchers", h.run)
	return h, db
}

func isClosed(changed <-chan struct{}) bool {
	select {
	case <-changed:
		return true
	case <-time.After(4 * time.Minute):
		return false
	}
}

// await does as the service does: watch, read, wait, until the status is final.
func (w *rowsFixture) await(h *watchers, no int64, id [16]byte) (reads int) {
	for {
		changed, stop := h.watch(id)
		var row store.Execution
		w.view(func(r *store.Reader) (err error) { row, err = r.ExecutionByNo(no); return err })
		reads++
		if row.State == store.StateEnded {
			stop()
			return reads
		}
		ok := isClosed(changed)
		stop()
		if !ok {
			w.t.Errorf("no change of %d was notified", no)
			return reads
		}
	}
}

func TestWatchTellsChanges(t *testing.T) {
	onDialects(t, func(w *rowsFixture) {
		h, _ := w.watchers()
		rows := w.accept(250) // more than are read in one query
		b, _ := w.batch(2, 1)
		batch, stop := h.watch(b.ID)
		defer stop()
		reads := make(chan int)
		for _, row := range rows {
			go func() { reads <- w.await(h, row.No, row.ID) }()
		}
		w.slots = 1000
		w.start(0)
		w.notify()
		for range rows {
			if n := <-reads; n > 6 {
				w.t.Errorf("read %d times for two changes", n)
			}
		}
		if !isClosed(batch) {
			w.t.Error("no change of the batch was notified")
		}
	})
}

// TestWatchTellsWhatChangedBefore changes a status before the hub has read it once.
func TestWatchTellsWhatChangedBefore(t *testing.T) {
	w := newSQLiteFixture(t)
	h, _ := w.watchers()
	row := w.accept(1)[0]
	changed, stop := h.watch(row.ID)
	defer stop()
	// Whatever the hub has read by now: the change comes after the watch.
	w.update(func(tx *store.Tx) error {
		_, err := tx.FinishExecution(row.No, chargehand.Finished, chargehand.Completed, 1, 2, &store.Outcome{})
		return err
	})
	if !isClosed(changed) {
		t.Error("an end was not notified")
	}
}

func TestWatchReadsOnlyWhileWatched(t *testing.T) {
	w := newSQLiteFixture(t)
	h, db := w.watchers()
	row := w.accept(1)[0]
	changed, stop := h.watch(row.ID)
	second, stopSecond := h.watch(row.ID)
	eventually(t, "it is read", func() bool { return db.views.Load() > 3 })
	select {
	case <-changed:
		t.Error("told without a change")
	case <-second:
		t.Error("told without a change")
	default:
	}
	stop()
	stop()
	stopSecond()
	eventually(t, "the reading ends", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.watches) == 0
	})
	before := db.views.Load()
	third, stopThird := h.watch(row.ID)
	defer stopThird()
	eventually(t, "it is read again", func() bool { return db.views.Load() > before })
	h.notify(row.ID)
	if !isClosed(third) {
		t.Error("a change on this node was not notified")
	}
}

// TestWatchReadsLessAndLess bounds what someone costs who waits for a long time.
func TestWatchReadsLessAndLess(t *testing.T) {
	w := newSQLiteFixture(t)
	h, db := w.watchers()
	_, stop := h.watch(w.id())
	defer stop()
	began := time.Now()
	eventually(t, "the longest pause is reached", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, watch := range h.watches {
			return watch.wait == maxPoll
		}
		return false
	})
	if n := db.views.Load(); n > 25 {
		t.Errorf("read %d times in %v", n, time.Since(began))
	}
}
