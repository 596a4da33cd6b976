package storetest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/chargehand/chargehand/internal/store"
)

var lockTests = map[string]func(*fixture){
	"lease":                       lease,
	"a lease goes to one of many": leaseRace,
	"first account":               firstAccount,
	"changes of one row":          changesOfOneRow,
	"what is not there":           lockNothing,
}

func lease(f *fixture) {
	one, two := [16]byte{1}, [16]byte{2}
	take := func(name string, holder [16]byte, nowMs, untilMs int64) func(tx *store.Tx) error {
		return func(tx *store.Tx) error { return tx.TakeLease(name, holder, nowMs, untilMs) }
	}
	f.update(take("a", one, 1000, 2000))
	f.refused(store.ErrConflict, take("a", two, 1000, 3000))
	f.refused(store.ErrConflict, take("a", two, 2000, 3000)) // not over yet
	f.update(take("b", two, 1000, 2000))                     // another one
	f.update(take("a", one, 1500, 2500))                     // prolonged
	f.refused(store.ErrConflict, take("a", two, 2400, 9000))
	f.update(take("a", two, 2501, 4000)) // over
	f.refused(store.ErrConflict, take("a", one, 2501, 9000))
	f.update(take("a", two, 3000, 2999)) // given up
	f.update(take("a", one, 3000, 4000))
}

func leaseRace(f *fixture) {
	var all sync.WaitGroup
	var won atomic.Int64
	for i := range 20 {
		all.Go(func() {
			err := f.Update(context.Background(), func(tx *store.Tx) error {
				return tx.TakeLease("a", [16]byte{byte(i + 1)}, startMs, startMs+1000)
			})
			if err == nil {
				won.Add(1)
			} else if !errors.Is(err, store.ErrConflict) {
				f.Error(err)
			}
		})
	}
	all.Wait()
	if won.Load() != 1 {
		f.Errorf("%d hold the lease", won.Load())
	}
}

func firstAccount(f *fixture) {
	var all sync.WaitGroup
	for range 20 {
		a := store.Account{Name: "a"}
		setID(f, &a.ID, startMs)
		all.Go(func() {
			err := f.Update(context.Background(), func(tx *store.Tx) error {
				if err := tx.LockInstallation(); err != nil {
					return err
				}
				list, err := tx.Accounts()
				if err != nil || len(list) > 0 {
					return err
				}
				return tx.InsertAccount(&a)
			})
			if err != nil {
				f.Error(err)
			}
		})
	}
	all.Wait()
	if n := f.number(`SELECT COUNT(*) FROM account`); n != 1 {
		f.Errorf("there are %d first accounts", n)
	}
}

// changesOfOneRow: who reads with a lock and writes what follows loses no change of another.
func changesOfOneRow(f *fixture) {
	w := f.workflow("a", startMs)
	f.update(func(tx *store.Tx) error { return tx.InsertWorkflow(&w) })
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			err := f.Update(context.Background(), func(tx *store.Tx) error {
				row, err := tx.WorkflowForUpdate(w.No)
				if err != nil {
					return err
				}
				row.UpdatedMs++
				return tx.UpdateWorkflow(&row)
			})
			if err != nil {
				f.Error(err)
			}
		})
	}
	all.Wait()
	f.view(func(r *store.Reader) error {
		got, err := r.WorkflowByNo(w.No)
		if got.UpdatedMs != w.UpdatedMs+20 {
			f.Errorf("%d of 20 changes are there", got.UpdatedMs-w.UpdatedMs)
		}
		return err
	})
}

func lockNothing(f *fixture) {
	f.refused(store.ErrNotFound, func(tx *store.Tx) error { _, err := tx.WorkflowForUpdate(5); return err })
	f.refused(store.ErrNotFound, func(tx *store.Tx) error { _, err := tx.BatchForUpdate(5); return err })
	f.refused(store.ErrNotFound, func(tx *store.Tx) error { _, err := tx.KeyForUpdate(5); return err })
	f.refused(store.ErrNotFound, func(tx *store.Tx) error { return tx.KeepFile(5) })
}
