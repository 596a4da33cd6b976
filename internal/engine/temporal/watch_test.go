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

func (w *town) hub() (*hub, *counting) {
	db := &counting{DB: w.db}
	h := newHub(store.New(db))
	w.t.Cleanup(h.stop)
	return h, db
}

func told(changed <-chan struct{}) bool {
	select {
	case <-changed:
		return true
	case <-time.After(10 * time.Second):
		return false
	}
}

// await does as the service does: watch, read, wait, until the status is final.
func (w *town) await(h *hub, no int64, id [16]byte) (looks int) {
	for {
		changed, stop := h.watch(id)
		var row store.Execution
		w.view(func(r *store.Reader) (err error) { row, err = r.ExecutionByNo(no); return err })
		looks++
		if row.State == store.StateEnded {
			stop()
			return looks
		}
		ok := told(changed)
		stop()
		if !ok {
			w.t.Errorf("no change of %d was told", no)
			return looks
		}
	}
}

func TestWatchTellsChanges(t *testing.T) {
	onDialects(t, func(w *town) {
		h, _ := w.hub()
		rows := w.accept(250) // more than are read in one query
		b, _ := w.batch(2, 1)
		batch, stop := h.watch(b.ID)
		defer stop()
		looks := make(chan int)
		for _, row := range rows {
			go func() { looks <- w.await(h, row.No, row.ID) }()
		}
		w.slots = 1000
		w.start(0)
		w.poke()
		for range rows {
			if n := <-looks; n > 6 {
				w.t.Errorf("read %d times for two changes", n)
			}
		}
		if !told(batch) {
			w.t.Error("no change of the batch was told")
		}
	})
}

// TestWatchTellsWhatChangedBefore changes a status before the hub has read it once.
func TestWatchTellsWhatChangedBefore(t *testing.T) {
	w := sqliteTown(t)
	h, _ := w.hub()
	row := w.accept(1)[0]
	changed, stop := h.watch(row.ID)
	defer stop()
	// Whatever the hub has read by now: the change comes after the watch.
	w.update(func(tx *store.Tx) error {
		_, err := tx.FinishExecution(row.No, chargehand.Finished, chargehand.Completed, 1, 2, &store.Outcome{})
		return err
	})
	if !told(changed) {
		t.Error("an end was not told")
	}
}

func TestWatchReadsOnlyWhileWatched(t *testing.T) {
	w := sqliteTown(t)
	h, db := w.hub()
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
		return !h.polling
	})
	if n := len(h.watches); n != 0 {
		t.Errorf("%d ids are kept", n)
	}
	before := db.views.Load()
	third, stopThird := h.watch(row.ID)
	defer stopThird()
	eventually(t, "it is read again", func() bool { return db.views.Load() > before })
	h.notify(row.ID)
	if !told(third) {
		t.Error("a change on this node was not told")
	}
}

// TestWatchReadsLessAndLess bounds what somebody costs who waits for a long time.
func TestWatchReadsLessAndLess(t *testing.T) {
	w := sqliteTown(t)
	h, db := w.hub()
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
