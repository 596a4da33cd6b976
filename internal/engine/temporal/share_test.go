package temporal

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// acceptOf makes n queued singles of a workflow in an environment.
func (w *rowsFixture) acceptOf(env chargehand.Environment, workflow int64, n int) []store.Execution {
	w.t.Helper()
	rows := make([]store.Execution, n)
	w.update(func(tx *store.Tx) error {
		for i := range rows {
			rows[i] = w.row()
			rows[i].Environment, rows[i].Workflow = env, workflow
			if err := tx.InsertExecution(&rows[i]); err != nil {
				return err
			}
		}
		return nil
	})
	w.notify()
	return rows
}

const activeOf = `SELECT COUNT(*) FROM execution WHERE state = 3 AND state <> 0 AND environment = ?1`

// TestTestDoesNotHoldLiveUp lets more executions of test hang than may run.
func TestTestDoesNotHoldLiveUp(t *testing.T) {
	onDialects(t, func(w *rowsFixture) {
		w.slots = 1000
		w.stage.act = func(*play) {} // nothing ends
		w.start(0)
		hanging := w.acceptOf(chargehand.Test, w.workflow.No, 1100)
		eventually(w.t, "half of the slots are taken by test", func() bool {
			return w.number(activeOf, int64(chargehand.Test)) >= 500 && w.number(`SELECT COUNT(*) FROM outbox`) == 0
		})
		begun := time.Now()
		live := w.acceptOf(chargehand.Live, w.workflow.No, 1)
		eventually(w.t, "the execution of live starts", func() bool { return w.stage.play(live[0].ID) != nil })
		w.t.Logf("live has started after %s", time.Since(begun))
		if n := w.number(activeOf, int64(chargehand.Test)); n != 500 {
			w.t.Errorf("test holds %d of 1,000 slots, want half", n)
		}

		// What of test continues after a wait stays within its half too, and live does not.
		a := w.stage.activities()
		ask := func(row store.Execution) bool {
			w.t.Helper()
			for number, slot := range []bool{false, true} {
				got, err := a.reportState(context.Background(), stateReport{No: row.No, Execution: row.ID, Number: int64(number + 1), Slot: slot, Phase: "running"})
				if err != nil {
					w.t.Fatal(err)
				}
				if slot {
					return got.Granted
				}
				eventually(w.t, "others take the slot", func() bool { return w.number(activeOf, int64(chargehand.Test)) == 500 })
			}
			return false
		}
		if ask(hanging[0]) {
			w.t.Error("one more of test continues than may run")
		}
		if !ask(live[0]) {
			w.t.Error("live does not continue, although half of the slots are free")
		}
	})
}

func TestEnvironmentsShareSlots(t *testing.T) {
	w := newSQLiteFixture(t)
	w.slots = 9
	w.acceptOf(chargehand.Test, 1, 30)
	positions := queuePositions{}
	if _, list := w.marks(&positions); len(list) != 4 {
		t.Errorf("test alone has got %d of 9 slots, want 4", len(list))
	}
	w.acceptOf(chargehand.Live, 1, 30)
	if _, list := w.marks(&positions); len(list) != 5 || w.number(activeOf, int64(chargehand.Live)) != 5 {
		t.Errorf("live has got %d of 5 slots", w.number(activeOf, int64(chargehand.Live)))
	}
	w.slots = 19 // who holds fewer goes first, then they take turns
	w.marks(&positions)
	if live, test := w.number(activeOf, int64(chargehand.Live)), w.number(activeOf, int64(chargehand.Test)); live != 10 || test != 9 {
		t.Errorf("live holds %d, test %d of 19 slots", live, test)
	}
	w.view(func(r *store.Reader) error {
		for slots, want := range map[int]bool{19: false, 20: true} {
			useful, err := canMark(r, w.account.No, slots)
			if err != nil || useful != want {
				t.Errorf("with %d slots a pass is of use: %v (%v), want %v", slots, useful, err, want)
			}
		}
		return nil
	})
}

// TestOneSlotIsShared has one slot go from hand to hand.
func TestOneSlotIsShared(t *testing.T) {
	w := newSQLiteFixture(t)
	w.slots = 1
	w.acceptOf(chargehand.Test, 1, 9)
	w.acceptOf(chargehand.Live, 1, 9)
	positions := queuePositions{}
	count := map[chargehand.Environment]int{}
	for range 8 {
		_, list := w.marks(&positions)
		if len(list) != 1 {
			t.Fatalf("%d have got the one slot", len(list))
		}
		count[list[0].row.Environment]++
		w.update(func(tx *store.Tx) error {
			_, err := tx.ReportState(list[0].Execution, 1, chargehand.Waiting, store.StateParked, false, 0, store.Waits{})
			return err
		})
	}
	if count[chargehand.Live] != 4 || count[chargehand.Test] != 4 {
		t.Errorf("turns %v, want 4 each", count)
	}
}

func TestWorkflowsAlternate(t *testing.T) {
	w := newSQLiteFixture(t)
	w.slots = 0
	w.acceptOf(chargehand.Live, 7, 100)
	w.acceptOf(chargehand.Live, 8, 3)
	w.acceptOf(chargehand.Live, 9, 3)
	positions := queuePositions{}
	var order []int64
	for range 9 {
		w.slots++
		_, list := w.marks(&positions)
		for _, d := range list {
			order = append(order, d.row.Workflow)
		}
	}
	for workflow := int64(7); workflow <= 9; workflow++ {
		if n := count(order, workflow); n != 3 {
			t.Errorf("workflow %d has got %d of 9 slots that came one by one, want 3: %v", workflow, n, order)
		}
	}
}

// countingDB counts how often someone counts the slots of an account.
type countingDB struct {
	store.DB
	counts *atomic.Int64
}

type countingConn struct {
	store.Conn
	counts *atomic.Int64
}

func (d countingDB) Update(ctx context.Context, fn func(store.Conn) error) error {
	return d.DB.Update(ctx, func(c store.Conn) error { return fn(countingConn{c, d.counts}) })
}

func (c countingConn) Query(query string, row func(store.Row) error, args ...any) error {
	if strings.HasPrefix(query, "SELECT COUNT(*) FROM (SELECT 1 FROM execution WHERE state = 3 AND state <> 0 AND account") {
		c.counts.Add(1)
	}
	return c.Conn.Query(query, row, args...)
}

// TestFreedSlotsShareACount frees slots one by one where many are held. Each is handed on, but not each costs a count
// of
// all that are held.
func TestFreedSlotsShareACount(t *testing.T) {
	w := newSQLiteFixture(t)
	w.slots = 2*countsFreely + 1000
	w.stage.act = func(*play) {}
	rows := w.accept(w.slots)
	w.update(func(tx *store.Tx) error {
		for _, row := range rows {
			if err := tx.SetStatus(row.No, chargehand.Processing, chargehand.Running, store.StateActive, 1, store.Waits{}); err != nil {
				return err
			}
		}
		return nil
	})
	const freed = 400
	waiting := w.accept(freed)
	var counts atomic.Int64
	db := w.db
	w.open = func() store.DB { return countingDB{db, &counts} }
	w.every = time.Hour // no node searches for what others left
	begun := time.Now()
	w.start(0)
	for _, row := range rows[:freed] {
		w.update(func(tx *store.Tx) error {
			_, err := tx.ReportState(row.No, 1, chargehand.Waiting, store.StateParked, false, 0, store.Waits{})
			return err
		})
		w.notify()
	}
	eventually(t, "all that wait have started", func() bool { return w.stage.play(waiting[freed-1].ID) != nil })
	took := time.Since(begun)
	most := int64(took/(time.Duration(w.slots)*restPerSlot)) + 3
	t.Logf("%d counts in %s", counts.Load(), took)
	if n := counts.Load(); n == 0 || n > most {
		t.Errorf("the slots were counted %d times in %s, want at most %d", n, took, most)
	}
	if n := w.number(active); n != int64(w.slots) {
		t.Errorf("%d slots are held of %d", n, w.slots)
	}
}

// TestAskedSlotsShareACount: where many slots are held, an execution that continues after a wait does not count them:
// the dispatcher
// gives it one, together with others.
func TestAskedSlotsShareACount(t *testing.T) {
	w := newSQLiteFixture(t)
	w.slots = 2*countsFreely + 1000
	w.stage.act = func(*play) {}
	rows := w.accept(countsFreely + 100)
	run := func(row store.Execution, state store.ExecutionState) func(tx *store.Tx) error {
		return func(tx *store.Tx) error {
			return tx.SetStatus(row.No, chargehand.Processing, chargehand.Running, state, 1, store.Waits{})
		}
	}
	w.update(func(tx *store.Tx) error {
		for _, row := range rows {
			if err := run(row, store.StateActive)(tx); err != nil {
				return err
			}
		}
		return nil
	})
	a := w.stage.activities()
	ask := func(row store.Execution) stateAnswer {
		w.update(run(row, store.StateParked))
		got, err := a.reportState(t.Context(), stateReport{No: row.No, Execution: row.ID, Number: 1, Slot: true, Phase: "running"})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if ask(rows[0]).Granted {
		t.Error("an execution has counted all slots that are held")
	}
	w.start(0)
	w.notify()
	eventually(t, "the dispatcher gives it a slot", func() bool {
		return w.number(`SELECT state FROM execution WHERE no = ?1`, rows[0].No) == int64(store.StateActive)
	})
	for _, row := range rows[200:] {
		w.update(run(row, store.StateParked))
	}
	if !ask(rows[1]).Granted {
		t.Error("where few slots are held, an execution does not continue at once")
	}
}
