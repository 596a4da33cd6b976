package temporal

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// TestBoundsHold lets two nodes hand out slots of one account at once.
func TestBoundsHold(t *testing.T) {
	onDialects(t, func(w *rowsFixture) {
		stop := w.guard()
		w.start(0)
		w.start(0)
		w.accept(30)
		first, _ := w.batch(40, 3)
		second, _ := w.batch(25, 6)
		w.accept(30)
		w.allEnd()
		if most := stop(); most != int64(w.slots) {
			w.t.Errorf("at most %d slots were held at once, want all %d to be of use", most, w.slots)
		}
		if n := w.number(`SELECT COUNT(*) FROM execution WHERE status = 4`); n != 125 {
			w.t.Errorf("%d of 125 executions have finished", n)
		}
		w.view(func(r *store.Reader) error {
			for _, no := range []int64{first.No, second.No} {
				b, err := r.BatchByNo(no)
				if err != nil || b.Status != chargehand.BatchCompleted || b.Finished != b.Total {
					w.t.Errorf("batch %+v (%v)", b, err)
				}
			}
			return nil
		})
		if len(w.stage.plays) != 125 {
			w.t.Errorf("%d workflows were started, want 125", len(w.stage.plays))
		}
	})
}

// TestCrashAfterEveryCommit lets a node die after each of its commits in turn. Another one
// brings everything to its end.
func TestCrashAfterEveryCommit(t *testing.T) {
	for k := int64(1); ; k++ {
		died := false
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			w := newSQLiteFixture(t)
			w.slots, w.lease, w.every = 3, 60*time.Millisecond, 5*time.Millisecond
			w.accept(4)
			w.batch(4, 2)
			first := w.start(k)
			eventually(t, "the node dies, or ends its work", func() bool {
				died = first.dead.Load()
				return died || w.number(`SELECT COUNT(*) FROM execution WHERE state <> 0`)+w.number(`SELECT COUNT(*) FROM outbox`) == 0
			})
			first.dead.Store(true)
			w.start(0)
			w.allEnd()
			if n := w.number(`SELECT COUNT(*) FROM execution WHERE status = 4`); n != 8 {
				t.Errorf("%d of 8 executions have finished", n)
			}
		})
		if !died || t.Failed() {
			if k < 8 {
				t.Errorf("only %d commits: the test does not look at what it should", k)
			}
			return
		}
	}
}

func TestTemporalIsDownForAWhile(t *testing.T) {
	onDialects(t, func(w *rowsFixture) {
		w.lease = 200 * time.Millisecond
		w.stage.down.Store(true)
		w.start(0)
		w.start(0)
		w.accept(20)
		w.batch(10, 4)
		eventually(w.t, "all slots are given out", func() bool { return w.number(active) == int64(w.slots) })
		eventually(w.t, "messages are taken over again and again", func() bool {
			return w.number(`SELECT COUNT(*) FROM outbox WHERE due_ms > ?1`, time.Now().UnixMilli()) > 0
		})
		if n := w.number(`SELECT COUNT(*) FROM execution WHERE state = 0`); n != 0 || len(w.stage.plays) != 0 {
			w.t.Errorf("%d ended while Temporal was down", n)
		}
		w.stage.down.Store(false)
		w.allEnd()
	})
}

// TestDeliveredTwice makes every start take longer than its lease, so that others deliver it
// too.
func TestDeliveredTwice(t *testing.T) {
	w := newSQLiteFixture(t)
	w.lease, w.every = 100*time.Millisecond, 10*time.Millisecond
	w.stage.slow, w.stage.arrived = make(chan struct{}), make(chan chargehand.ExecutionID, 1000)
	w.start(0)
	w.start(0)
	rows := w.accept(3)
	arrived := map[chargehand.ExecutionID]int{}
	for _, row := range rows {
		for arrived[row.ID] < 2 {
			arrived[<-w.stage.arrived]++
		}
	}
	close(w.stage.slow)
	w.allEnd()
	for _, row := range rows {
		if p := w.stage.play(row.ID); p == nil || p.starts < 2 {
			t.Errorf("started as %+v, want it delivered twice", p)
		}
	}
	if n := w.number(`SELECT COUNT(*) FROM execution WHERE status = 4`); n != 3 {
		t.Errorf("%d of 3 executions have finished", n)
	}
}

// marks runs one page for the fixture's account, without any node, and returns the batches of
// what was marked, in order.
func (w *rowsFixture) marks(positions *queuePositions) (batches []int64, list []delivery) {
	w.t.Helper()
	w.update(func(tx *store.Tx) error {
		p := &page{tx: tx, account: w.account.No, positions: *positions, now: time.Now(), dueMs: time.Now().Add(w.lease).UnixMilli()}
		if err := p.fill(w.slots); err != nil {
			return err
		}
		*positions, list = p.positions, p.list
		return nil
	})
	w.view(func(r *store.Reader) error {
		for _, d := range list {
			row, err := r.ExecutionByNo(d.Execution)
			if err != nil {
				return err
			}
			batches = append(batches, row.Batch)
		}
		return nil
	})
	return batches, list
}

func count(list []int64, of int64) (n int) {
	for _, v := range list {
		if v == of {
			n++
		}
	}
	return n
}

func TestQueuesAlternate(t *testing.T) {
	w := newSQLiteFixture(t)
	w.slots = 9
	w.accept(20)
	first, _ := w.batch(20, 10)
	second, _ := w.batch(20, 10)
	positions := queuePositions{}
	got, _ := w.marks(&positions)
	for _, source := range []int64{0, first.No, second.No} {
		if n := count(got, source); n != 3 {
			t.Errorf("source %d has got %d of 9 slots, want 3", source, n)
		}
	}
	// One slot at a time comes to each in turn.
	var order []int64
	for range 6 {
		w.slots++
		got, _ := w.marks(&positions)
		order = append(order, got...)
	}
	for _, source := range []int64{0, first.No, second.No} {
		if n := count(order, source); n != 2 {
			t.Errorf("source %d has got %d of 6 slots that came one by one, want 2: %v", source, n, order)
		}
	}
	// What a batch may not use goes to the others.
	third, _ := w.batch(5, 1)
	w.slots += 11
	got, _ = w.marks(&positions)
	if n := count(got, third.No); n != 1 || len(got) != 11 {
		t.Errorf("%d items of the batch that may run one at a time, %d executions in all", n, len(got))
	}
	if n := w.number(active); n != int64(w.slots) {
		t.Errorf("%d slots are held of %d", n, w.slots)
	}
}

func TestWokenGoFirst(t *testing.T) {
	w := newSQLiteFixture(t)
	w.slots = 4
	b, items := w.batch(10, 2)
	singles := w.accept(10)
	a := w.stage.activities()
	wake := func(row store.Execution, wakeMs int64) {
		w.update(func(tx *store.Tx) error {
			if err := tx.SetStatus(row.No, chargehand.Processing, chargehand.Running, store.StateActive, 1, store.Waits{}); err != nil {
				return err
			}
			_, err := tx.ReportState(row.No, 1, chargehand.Waiting, store.StateReady, false, wakeMs, store.Waits{})
			return err
		})
	}
	for i := range 3 {
		wake(items[5+i], int64(10-i)) // the last one first
	}
	wake(singles[7], 50)
	positions := queuePositions{}
	_, list := w.marks(&positions)
	var grants []int64
	for _, d := range list {
		if d.Kind == store.OutboxGrant {
			if d.Report != 1 {
				t.Errorf("grant %+v", d)
			}
			grants = append(grants, d.Execution)
		}
	}
	// Two of the batch, because more may not run, and the single; the fourth slot starts something.
	if len(list) != 4 || len(grants) != 3 || count(grants, items[7].No) != 1 || count(grants, items[6].No) != 1 || count(grants, singles[7].No) != 1 {
		t.Errorf("granted %v of %d", grants, len(list))
	}
	if n := w.number(`SELECT COUNT(*) FROM execution WHERE state = 3 AND batch = ?1`, b.No); n != 2 {
		t.Errorf("%d items hold a slot", n)
	}
	// Asking behind others of the same source means to wait.
	w.slots = 100
	if got, err := a.reportState(context.Background(), stateReport{Execution: singles[7].ID, No: singles[7].No, Number: 2, Phase: "waiting"}); err != nil || got.Granted {
		t.Fatalf("parked: %+v (%v)", got, err)
	}
	got, err := w.stage.activities().reportState(context.Background(), stateReport{Execution: singles[7].ID, No: singles[7].No, Number: 3, Slot: true, Phase: "running"})
	if err != nil || !got.Granted {
		t.Errorf("asked with room: %+v (%v)", got, err)
	}
}

func TestCancelledBatchStartsNothing(t *testing.T) {
	w := newSQLiteFixture(t)
	b, _ := w.batch(10, 5)
	w.update(func(tx *store.Tx) error {
		_, err := tx.SetBatchCancelled(b.No, "")
		return err
	})
	other := w.accept(1)
	positions := queuePositions{}
	if _, list := w.marks(&positions); len(list) != 1 || list[0].Execution != other[0].No {
		t.Errorf("marked %+v", list)
	}
}

// TestManySources goes through more sources than are read at a time, most of which have no
// room.
func TestManySources(t *testing.T) {
	w := newSQLiteFixture(t)
	w.slots = 1000
	var batches []store.Batch
	for range 2*sourcePage + 5 {
		b, _ := w.batch(2, 1)
		batches = append(batches, b)
	}
	positions := queuePositions{}
	if got, _ := w.marks(&positions); len(got) != len(batches) {
		t.Errorf("%d started, want one of each of %d batches", len(got), len(batches))
	}
	if got, _ := w.marks(&positions); len(got) != 0 {
		t.Errorf("%d more started, but no batch has room", len(got))
	}
	w.accept(1)
	if got, _ := w.marks(&positions); len(got) != 1 {
		t.Errorf("%d started, want the single behind all batches", len(got))
	}
	w.view(func(r *store.Reader) error {
		useful, err := canMark(r, w.account.No, w.slots)
		if useful {
			t.Error("a sweep would lock the account for nothing")
		}
		return err
	})
}

// BenchmarkDispatch measures how fast executions come from queued to started, with a Temporal
// that does nothing.
func BenchmarkDispatch(b *testing.B) {
	onBenchDialects(b, func(b *testing.B, w *rowsFixture) {
		w.slots = b.N + 1000
		done := make(chan struct{}, b.N+1)
		w.stage.act = func(*play) { done <- struct{}{} }
		for left := b.N; left > 0; left -= 1000 {
			w.accept(min(left, 1000))
		}
		b.ResetTimer()
		w.start(0)
		w.notify()
		for range b.N {
			<-done
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "executions/s")
	})
}
