package temporal

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/background"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/store"
)

// reconciler makes a reconciler whose rounds the test runs itself.
func (w *rowsFixture) reconciler(to remote) (*reconciler, *atomic.Int64) {
	var freed atomic.Int64
	c := reconcilerConfig{Store: w.store, Remote: to, Node: w.id(), Asking: time.Nanosecond, Grace: time.Nanosecond, Log: slog.New(slog.DiscardHandler),
		Canceller: &canceller{Store: w.store, Relay: w.relayTo(remoteFuncs{onSignal: func(chargehand.ExecutionID, message) error { return nil }}),
			Freed: func(int64) { freed.Add(1) }, Changed: func([16]byte) {}, Now: time.Now, Log: slog.New(slog.DiscardHandler)}}
	return newReconciler(c), &freed
}

// running marks queued rows as running, and drops their messages.
func (w *rowsFixture) running() {
	w.t.Helper()
	positions := queuePositions{}
	_, list := w.marks(&positions)
	w.update(func(tx *store.Tx) error {
		for _, d := range list {
			if err := tx.DeleteOutboxMessages(d.No); err != nil {
				return err
			}
		}
		return tx.SetMeta("clock", nil)
	})
}

func (w *rowsFixture) fault(no int64) engine.Fault {
	w.t.Helper()
	var f engine.Fault
	w.view(func(r *store.Reader) error {
		o, err := r.Outcome(no)
		if err != nil {
			return err
		}
		f, err = engine.DecodeFault(o.Fault)
		return err
	})
	return f
}

func TestEndsInTemporalEndRows(t *testing.T) {
	w := newSQLiteFixture(t)
	b, items := w.batch(2, 2)
	single := w.accept(2)
	w.running()
	var asked []int64
	r, freed := w.reconciler(remoteFuncs{onClosed: func(sinceMs int64, each func(closedWorkflow) error) (int64, error) {
		asked = append(asked, sinceMs)
		return sinceMs + 100, errors.Join(
			each(closedWorkflow{ID: items[0].ID, Status: "terminated", Reason: "by the operator"}),
			each(closedWorkflow{ID: items[1].ID, Status: "failed"}),
			each(closedWorkflow{ID: items[1].ID, Status: "failed"}), // named again
			each(closedWorkflow{ID: single[0].ID, Status: "timed out"}),
			each(closedWorkflow{ID: w.id(), Status: "terminated"})) // of another process
	}})
	for range 2 {
		if err := r.readClosed(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(asked) != 2 || asked[0] != 0 || asked[1] != 100 {
		t.Errorf("asked since %v", asked)
	}
	f := w.fault(items[0].No)
	if f.Origin != "system" || f.Code != "terminated" || !strings.Contains(f.Detail, "by the operator") {
		t.Errorf("fault %+v", f)
	}
	w.view(func(rd *store.Reader) error {
		got, err := rd.BatchByNo(b.No)
		if got.Status != chargehand.BatchFailed || got.Failed != 2 {
			t.Errorf("batch %+v", got)
		}
		row, err2 := rd.ExecutionByNo(single[1].No)
		if row.State != store.StateActive {
			t.Errorf("one that continues: %+v", row)
		}
		return errors.Join(err, err2)
	})
	if freed.Load() != 3 {
		t.Errorf("%d slots were freed, want 3", freed.Load())
	}
	if f := w.fault(items[1].No); f.Code != "terminated" || !strings.Contains(f.Detail, "(failed)") {
		t.Errorf("fault of what failed without a reason: %+v", f)
	}
}

func TestWalkFindsWhatIsGone(t *testing.T) {
	w := newSQLiteFixture(t)
	w.slots = 1000
	rows := w.accept(2*walkPage + 10)
	w.running()
	w.running() // a page marks fewer
	// One is parked, one has a start that is still on its way.
	w.update(func(tx *store.Tx) error {
		_, err := tx.ReportState(rows[3].No, 1, chargehand.Waiting, store.StateParked, false, 0, store.Waits{})
		return errors.Join(err, tx.InsertOutboxMessage(&store.OutboxMessage{Execution: rows[4].No, Kind: store.OutboxStart, DueMs: 1 << 60}))
	})
	gone := map[chargehand.ExecutionID]bool{rows[0].ID: true, rows[3].ID: true, rows[4].ID: true, rows[len(rows)-1].ID: true}
	var mu sync.Mutex
	asked := map[chargehand.ExecutionID]int{}
	r, _ := w.reconciler(remoteFuncs{onOpen: func(id chargehand.ExecutionID) (bool, error) {
		mu.Lock()
		defer mu.Unlock()
		asked[id]++
		return !gone[id], nil
	}})
	past := r.Now
	r.Now = func() time.Time { return past().Add(time.Second) } // no row is too young
	if err := r.walkAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(asked) != len(rows) || asked[rows[0].ID] != 2 || asked[rows[4].ID] != 1 {
		t.Errorf("asked for %d of %d: %v", len(asked), len(rows), asked)
	}
	for i, row := range rows {
		var now store.Execution
		w.view(func(rd *store.Reader) (err error) { now, err = rd.ExecutionByNo(row.No); return err })
		if ended := now.State == store.StateEnded; ended != (gone[row.ID] && i != 4) {
			t.Errorf("row %d has ended: %v", i, ended)
		}
	}
	r.Grace = time.Hour
	clear(asked)
	if err := r.walkAll(t.Context()); err != nil || len(asked) != 0 {
		t.Errorf("asked for %d that have just begun (%v)", len(asked), err)
	}
}

// walkAll walks once through all rows.
func (r *reconciler) walkAll(ctx context.Context) (err error) {
	for state := range walked {
		err = errors.Join(err, r.walk(ctx, state))
	}
	return err
}

// TestWalkGoesOn: one execution that Temporal has no answer for is not in the way of the others, and an outage is not
// asked to its end.
func TestWalkGoesOn(t *testing.T) {
	w := newSQLiteFixture(t)
	w.slots = 1000
	rows := w.accept(2*walkPage + 10)
	w.running()
	w.running()
	var mu sync.Mutex
	asked, down := 0, true
	bad := rows[0].ID
	r, _ := w.reconciler(remoteFuncs{onOpen: func(id chargehand.ExecutionID) (bool, error) {
		mu.Lock()
		defer mu.Unlock()
		asked++
		if down || id == bad {
			return false, errDown
		}
		return true, nil
	}})
	past := r.Now
	r.Now = func() time.Time { return past().Add(time.Second) }
	if err := r.walk(t.Context(), 0); !errors.Is(err, errDown) || asked != walkPage {
		t.Errorf("asked %d times in an outage: %v", asked, err)
	}
	down, asked = false, 0
	if err := r.walk(t.Context(), 0); err != nil || asked != walkPage+10 {
		t.Errorf("asked for %d of the rest: %v", asked, err)
	}
	asked = 0
	if err := r.walk(t.Context(), 0); err != nil || asked != len(rows) {
		t.Errorf("asked for %d of %d, one of which has no answer: %v", asked, len(rows), err)
	}
}

func TestOneNodeReconciles(t *testing.T) {
	w := newSQLiteFixture(t)
	first, _ := w.reconciler(nil)
	second, _ := w.reconciler(nil)
	if err := first.lease(t.Context(), time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := second.lease(t.Context(), time.Hour); !errors.Is(err, store.ErrConflict) {
		t.Errorf("a second node: %v", err)
	}
	if err := first.lease(t.Context(), 0); err != nil { // gives it back
		t.Fatal(err)
	}
	second.Now = func() time.Time { return time.Now().Add(time.Second) }
	if err := second.lease(t.Context(), time.Hour); err != nil {
		t.Errorf("a second node, when the first is gone: %v", err)
	}
}

// TestCutOffCancellationGoesOn marks a batch as cancelled, as a node does that dies then.
func TestCutOffCancellationGoesOn(t *testing.T) {
	w := newSQLiteFixture(t)
	b, items := w.batch(20, 3)
	w.running()
	w.update(func(tx *store.Tx) error {
		_, err := tx.SetBatchCancelled(b.No, "enough")
		return err
	})
	r, freed := w.reconciler(nil)
	r.Verify = func(context.Context) error { return errDown } // that Temporal is away is no reason to wait
	if err := r.cancelBatches(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.allEnd()
	if freed.Load() != 3 {
		t.Errorf("%d slots were freed, want 3", freed.Load())
	}
	for _, row := range items {
		if f := w.fault(row.No); !strings.Contains(f.Detail, "enough") {
			t.Errorf("item %d does not say why it ended: %+v", row.Item, f)
		}
	}
}

func TestReconcilerRuns(t *testing.T) {
	w := newSQLiteFixture(t)
	rows := w.accept(1)
	w.running()
	quiet := slog.New(slog.DiscardHandler)
	to := remoteFuncs{
		onOpen:   func(chargehand.ExecutionID) (bool, error) { return false, nil },
		onClosed: func(sinceMs int64, _ func(closedWorkflow) error) (int64, error) { return sinceMs, nil },
	}
	c, _ := w.reconciler(to)
	r := newReconciler(reconcilerConfig{Store: w.store, Remote: to, Canceller: c.Canceller, Node: w.id(), Every: 10 * time.Millisecond, Round: 10 * time.Millisecond,
		Asking: time.Nanosecond, Grace: time.Millisecond, Log: quiet})
	services := background.NewGroup()
	services.Start("reconciler", r.run)
	w.allEnd()
	if err := services.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if f := w.fault(rows[0].No); f.Code != "terminated" {
		t.Errorf("fault %+v", f)
	}
}

// TestNothingIsEndedFromAnotherNamespace: in a namespace that is not the one of the executions, the
// workflows of all of them seem to be gone.
func TestNothingIsEndedFromAnotherNamespace(t *testing.T) {
	w := newSQLiteFixture(t)
	rows := w.accept(2)
	w.running()
	r, _ := w.reconciler(remoteFuncs{
		onClosed: func(since int64, _ func(closedWorkflow) error) (int64, error) { return since, nil },
		onOpen:   func(chargehand.ExecutionID) (bool, error) { return false, nil },
	})
	elsewhere := errors.New("another namespace")
	r.Verify = func(context.Context) error { return elsewhere }
	for _, err := range []error{r.readClosed(t.Context()), r.walkAll(t.Context())} {
		if !errors.Is(err, elsewhere) {
			t.Fatalf("asked elsewhere: %v", err)
		}
	}
	if w.number(`SELECT COUNT(*) FROM execution WHERE state = 0`) != 0 {
		t.Fatal("the row has ended")
	}
	elsewhere = nil
	if err := errors.Join(r.readClosed(t.Context()), r.walkAll(t.Context())); err != nil {
		t.Fatal(err)
	}
	if got := w.fault(rows[0].No); got.Code != "terminated" {
		t.Errorf("fault %+v", got)
	}
}
