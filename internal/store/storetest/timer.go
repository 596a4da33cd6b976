package storetest

import (
	"errors"
	"reflect"

	"github.com/chargehand/chargehand/internal/store"
)

var timerTests = map[string]func(*fixture){
	"due in order": timersDue,
	"deleted":      timersDeleted,
	"unique":       timersUnique,
}

func timersDue(f *fixture) {
	a, b := f.inserted(), f.inserted()
	f.view(func(r *store.Reader) error {
		if _, ok, err := r.NextTimerMs(); ok || err != nil {
			f.Errorf("a timer before there is one (%v)", err)
		}
		return nil
	})
	want := []store.Timer{ // by due time, execution, command
		{Execution: b, Command: 9, DueMs: 5}, {Execution: a, Command: 1, DueMs: 10}, {Execution: a, Command: 2, DueMs: 10},
		{Execution: b, Command: 1, DueMs: 10}, {Execution: a, Command: 3, DueMs: 11},
	}
	f.update(func(tx *store.Tx) error {
		for _, i := range []int{4, 2, 0, 3, 1} {
			if err := tx.PutTimer(want[i]); err != nil {
				return err
			}
		}
		return nil
	})
	due := func(uptoMs int64, limit int) (list []store.Timer) {
		f.view(func(r *store.Reader) (err error) {
			list, err = r.TimersDue(uptoMs, limit)
			return err
		})
		return list
	}
	for _, c := range []struct {
		uptoMs int64
		limit  int
		want   []store.Timer
	}{{4, 9, nil}, {5, 9, want[:1]}, {10, 9, want[:4]}, {100, 2, want[:2]}, {100, 9, want}} {
		if got := due(c.uptoMs, c.limit); !reflect.DeepEqual(got, c.want) {
			f.Errorf("due at %d: %v, want %v", c.uptoMs, got, c.want)
		}
	}
	f.view(func(r *store.Reader) error {
		next, ok, err := r.NextTimerMs()
		if next != 5 || !ok {
			f.Errorf("next is %d, %v", next, ok)
		}
		of, err2 := r.Timers(a)
		if !reflect.DeepEqual(of, []store.Timer{want[1], want[2], want[4]}) {
			f.Errorf("timers of one execution: %v", of)
		}
		var behind []store.Timer
		for after := (store.Timer{}); ; {
			page, err := r.TimersAfter(after, 2)
			if err != nil || len(page) == 0 {
				break
			}
			behind = append(behind, page...)
			after = page[len(page)-1]
		}
		if !reflect.DeepEqual(behind, want) {
			f.Errorf("in pages: %v, want %v", behind, want)
		}
		return errors.Join(err, err2)
	})
}

func timersDeleted(f *fixture) {
	a, b := f.inserted(), f.inserted()
	f.update(func(tx *store.Tx) error {
		return errors.Join(
			tx.PutTimer(store.Timer{Execution: a, Command: 1, DueMs: 1}), tx.PutTimer(store.Timer{Execution: a, Command: 2, DueMs: 2}),
			tx.PutTimer(store.Timer{Execution: b, Command: 1, DueMs: 3}),
			tx.DeleteTimer(a, 1), tx.DeleteTimer(a, 1), tx.DeleteTimer(a, 99))
	})
	if n := f.number(`SELECT COUNT(*) FROM timer`); n != 2 {
		f.Errorf("%d timers, want 2", n)
	}
	f.update(func(tx *store.Tx) error { return tx.DeleteTimers(a) })
	f.view(func(r *store.Reader) error {
		left, err := r.TimersDue(100, 10)
		if len(left) != 1 || left[0].Execution != b {
			f.Errorf("left: %v", left)
		}
		return err
	})
}

func timersUnique(f *fixture) {
	no := f.inserted()
	f.update(func(tx *store.Tx) error { return tx.PutTimer(store.Timer{Execution: no, Command: 1, DueMs: 1}) })
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.PutTimer(store.Timer{Execution: no, Command: 1, DueMs: 2}) })
}
