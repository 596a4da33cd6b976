package storetest

import (
	"errors"
	"reflect"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

var timerTests = map[string]func(*fixture){
	"due in order": timersDue,
	"deleted":      timersDeleted,
	"unique":       timersUnique,
}

func timersDue(f *fixture) {
	a, b := f.inserted(), f.inserted()
	live := func(execution int64, command uint64, dueMs int64) store.Timer {
		return store.Timer{Environment: chargehand.Live, Execution: execution, Command: command, DueMs: dueMs}
	}
	// By due time, execution, command.
	want := []store.Timer{live(b, 9, 5), live(a, 1, 10), live(a, 2, 10), live(b, 1, 10), live(a, 3, 11)}
	test := store.Timer{Environment: chargehand.Test, Execution: b, Command: 2, DueMs: 7}
	f.update(func(tx *store.Tx) error {
		err := tx.PutTimer(test)
		for _, i := range []int{4, 2, 0, 3, 1} {
			err = errors.Join(err, tx.PutTimer(want[i]))
		}
		return err
	})
	f.view(func(r *store.Reader) error {
		of, err := r.Timers(a)
		if !reflect.DeepEqual(of, []store.Timer{want[1], want[2], want[4]}) {
			f.Errorf("timers of one execution: %v", of)
		}
		for _, c := range []struct {
			env  chargehand.Environment
			want []store.Timer
		}{{chargehand.Live, want}, {chargehand.Test, []store.Timer{test}}} {
			var got []store.Timer
			for after := (store.Timer{Environment: c.env}); ; {
				page, err := r.TimersAfter(after, 2)
				if err != nil {
					return err
				}
				if len(page) == 0 {
					break
				}
				got = append(got, page...)
				after = page[len(page)-1]
			}
			if !reflect.DeepEqual(got, c.want) {
				f.Errorf("in pages, environment %v: %v, want %v", c.env, got, c.want)
			}
		}
		for uptoMs, want := range map[int64]int64{4: 0, 5: 1, 7: 2, 10: 5, 100: 6} {
			n, err2 := r.CountTimersDue(uptoMs, 100)
			if n != want {
				f.Errorf("%d timers are due at %d, want %d", n, uptoMs, want)
			}
			err = errors.Join(err, err2)
		}
		if n, err2 := r.CountTimersDue(100, 3); n != 3 || err2 != nil {
			f.Errorf("%d timers counted up to 3 (%v)", n, err2)
		}
		return err
	})
}

func timersDeleted(f *fixture) {
	a, b := f.inserted(), f.inserted()
	f.update(func(tx *store.Tx) error {
		return errors.Join(
			tx.PutTimer(store.Timer{Environment: chargehand.Live, Execution: a, Command: 1, DueMs: 1}), tx.PutTimer(store.Timer{Environment: chargehand.Live, Execution: a, Command: 2, DueMs: 2}),
			tx.PutTimer(store.Timer{Environment: chargehand.Live, Execution: b, Command: 1, DueMs: 3}),
			tx.DeleteTimer(a, 1), tx.DeleteTimer(a, 1), tx.DeleteTimer(a, 99))
	})
	if n := f.number(`SELECT COUNT(*) FROM timer`); n != 2 {
		f.Errorf("%d timers, want 2", n)
	}
	f.update(func(tx *store.Tx) error { return tx.DeleteTimers(a) })
	f.view(func(r *store.Reader) error {
		left, err := r.Timers(b)
		if len(left) != 1 || left[0].Execution != b {
			f.Errorf("left: %v", left)
		}
		return err
	})
}

func timersUnique(f *fixture) {
	no := f.inserted()
	f.update(func(tx *store.Tx) error {
		return tx.PutTimer(store.Timer{Environment: chargehand.Live, Execution: no, Command: 1, DueMs: 1})
	})
	f.refused(store.ErrConflict, func(tx *store.Tx) error {
		return tx.PutTimer(store.Timer{Environment: chargehand.Live, Execution: no, Command: 1, DueMs: 2})
	})
}
