package embedded

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// timerRows stands for the rows of the store.
type timerRows struct{ rows []store.Timer }

func (tr *timerRows) put(t store.Timer) {
	at, _ := slices.BinarySearchFunc(tr.rows, t, compareTimers)
	tr.rows = slices.Insert(tr.rows, at, t)
}

func (tr *timerRows) remove(t store.Timer) {
	if at, ok := slices.BinarySearchFunc(tr.rows, t, compareTimers); ok {
		tr.rows = slices.Delete(tr.rows, at, at+1)
	}
}

func (tr *timerRows) after(_ context.Context, after store.Timer, limit int) ([]store.Timer, error) {
	at, _ := slices.BinarySearchFunc(tr.rows, after, compareTimers)
	for at < len(tr.rows) && !before(after, tr.rows[at]) {
		at++
	}
	return slices.Clone(tr.rows[at:min(len(tr.rows), at+limit)]), nil
}

func compareTimers(a, b store.Timer) int {
	return cmp.Or(cmp.Compare(a.DueMs, b.DueMs), cmp.Compare(a.Execution, b.Execution), cmp.Compare(a.Command, b.Command))
}

// TestTimersFireInOrderThroughTheWindow uses far more rows than fit, many of them due at
// the same time, adds and removes some, and wants each that is left to fire once, in order.
func TestTimersFireInOrderThroughTheWindow(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 2))
		now := int64(0)
		rows := &timerRows{}
		ts := newClock(chargehand.Live, 16, 1, func() int64 { return now })
		ts.read = rows.after
		next := int64(0)
		add := func() {
			next++
			timer := store.Timer{Execution: next, Command: 1, DueMs: now + 1 + int64(random.IntN(40))}
			rows.put(timer)
			ts.add(timer)
		}
		for range 300 {
			add()
		}
		fired := 0
		var last store.Timer
		for now = 0; len(rows.rows) > 0; {
			if random.IntN(4) == 0 && next < 600 {
				add()
			}
			if random.IntN(4) == 0 {
				gone := rows.rows[random.IntN(len(rows.rows))]
				rows.remove(gone)
				ts.remove(gone.Execution, gone.Command)
			}
			due, wait, short := ts.due(8)
			for _, timer := range due {
				if timer.DueMs > now {
					t.Fatalf("seed %d: %v fired at %d", seed, timer, now)
				}
				if before(timer, last) && timer.DueMs < last.DueMs {
					t.Fatalf("seed %d: %v fired after %v", seed, timer, last)
				}
				if _, ok := slices.BinarySearchFunc(rows.rows, timer, compareTimers); !ok {
					t.Fatalf("seed %d: %v fired twice, or after its removal", seed, timer)
				}
				rows.remove(timer)
				last = timer
				fired++
			}
			if short {
				if err := ts.page(t.Context()); err != nil {
					t.Fatal(err)
				}
			} else if len(due) == 0 {
				if wait == 0 {
					t.Fatalf("seed %d: nothing is due, and nothing to wait for", seed)
				}
				now++
			}
			if now > 10_000 {
				t.Fatalf("seed %d: %d rows never fire", seed, len(rows.rows))
			}
			if n := ts.held(); n > 2*16+1 {
				t.Fatalf("seed %d: %d timers in memory", seed, n)
			}
		}
		if fired < 200 {
			t.Fatalf("seed %d: only %d fired", seed, fired)
		}
	}
}

// TestTimersAddedWhileAPageIsRead are in neither the page nor behind its end.
func TestTimersAddedWhileAPageIsRead(t *testing.T) {
	rows := &timerRows{}
	rows.put(store.Timer{Execution: 1, Command: 1, DueMs: 100})
	rows.put(store.Timer{Execution: 2, Command: 1, DueMs: 50})
	ts := newClock(chargehand.Live, 8, 1, func() int64 { return 1000 })
	ts.read = func(ctx context.Context, after store.Timer, limit int) ([]store.Timer, error) {
		page, err := rows.after(ctx, after, limit)
		ts.add(store.Timer{Execution: 3, Command: 1, DueMs: 70}) // committed after the page was read
		ts.remove(2, 1)                                          // its row is in the page
		return page, err
	}
	if err := ts.page(t.Context()); err != nil {
		t.Fatal(err)
	}
	due, _, _ := ts.due(10)
	if len(due) != 2 || due[0].Execution != 3 || due[1].Execution != 1 {
		t.Fatalf("fired %v", due)
	}
}

// TestTimersStayWhileAPageIsRead: what were left to its row now would be in front of the page
// that is being read, and never be read again.
func TestTimersStayWhileAPageIsRead(t *testing.T) {
	rows := &timerRows{}
	for i := range int64(8) {
		rows.put(store.Timer{Execution: i, Command: 1, DueMs: 500 + i})
	}
	ts := newClock(chargehand.Live, 4, 1, func() int64 { return 1000 })
	ts.read = rows.after
	if err := ts.page(t.Context()); err != nil {
		t.Fatal(err)
	}
	ts.read = func(ctx context.Context, after store.Timer, limit int) ([]store.Timer, error) {
		page, err := rows.after(ctx, after, limit)
		for i := range int64(12) {
			added := store.Timer{Execution: 100 + i, Command: 1, DueMs: 100 + i}
			rows.put(added)
			ts.add(added)
		}
		return page, err
	}
	if err := ts.page(t.Context()); err != nil {
		t.Fatal(err)
	}
	ts.read = rows.after
	fired := 0
	for range 20 {
		due, _, short := ts.due(3)
		fired += len(due)
		if short {
			if err := ts.page(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if fired != 20 {
		t.Fatalf("%d of 20 timers fired", fired)
	}
}

func TestTimersSurviveAFailedRead(t *testing.T) {
	ts := newClock(chargehand.Live, 8, 1, func() int64 { return 1000 })
	fails := errors.New("no")
	ts.read = func(context.Context, store.Timer, int) ([]store.Timer, error) { return nil, fails }
	if err := ts.page(t.Context()); !errors.Is(err, fails) {
		t.Fatal(err)
	}
	rows := &timerRows{}
	rows.put(store.Timer{Execution: 1, Command: 1, DueMs: 100})
	ts.read = rows.after
	if _, _, short := ts.due(1); !short {
		t.Fatal("the page is not read again")
	}
	if err := ts.page(t.Context()); err != nil {
		t.Fatal(err)
	}
	if due, _, _ := ts.due(1); len(due) != 1 {
		t.Fatal("the timer is lost")
	}
}

// A timer that is removed and added again while rows are read is kept: an execution is loaded again so after a commit
// that failed.
func TestTimersAddedAgainWhileReading(t *testing.T) {
	timer := store.Timer{Execution: 1, Command: 2, DueMs: 3}
	ts := newClock(chargehand.Live, 10, 1, func() int64 { return 0 })
	ts.read = func(context.Context, store.Timer, int) ([]store.Timer, error) {
		ts.remove(1, 2)
		ts.add(timer)
		return []store.Timer{timer}, nil
	}
	if err := ts.page(t.Context()); err != nil || ts.held() != 1 {
		t.Fatalf("%d timers are held, %v", ts.held(), err)
	}
	ts = newClock(chargehand.Live, 10, 1, func() int64 { return 0 })
	ts.read = func(context.Context, store.Timer, int) ([]store.Timer, error) {
		ts.add(timer)
		ts.remove(1, 2)
		return []store.Timer{timer}, nil
	}
	if err := ts.page(t.Context()); err != nil || ts.held() != 0 {
		t.Fatalf("%d timers are held, %v", ts.held(), err)
	}
}
