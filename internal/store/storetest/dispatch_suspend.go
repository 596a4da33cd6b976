package storetest

import (
	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

func (f *fixture) setSuspended(no int64, suspended bool) (state store.ExecutionState) {
	f.Helper()
	f.update(func(tx *store.Tx) (err error) {
		state, err = tx.SetSuspended(no, suspended)
		return err
	})
	return state
}

// suspendAndResume: of a queued execution only the phase changes, and its start keeps it.
func suspendAndResume(f *fixture) {
	no := f.inserted()
	refused := func(suspended bool) {
		f.Helper()
		f.refused(store.ErrConflict, func(tx *store.Tx) error { _, err := tx.SetSuspended(no, suspended); return err })
	}
	refused(false)
	for range 3 {
		f.update(func(tx *store.Tx) error { return tx.CountSuspension(no, 3) })
	}
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.CountSuspension(no, 3) })
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.CountSuspension(999, 3) })
	for _, suspended := range []bool{true, false, true} {
		if state := f.setSuspended(no, suspended); state != store.StateQueued {
			f.Errorf("state %d", state)
		}
		refused(suspended)
		if e := f.byNo(no); (e.Phase == chargehand.Suspended) != suspended || e.Status != chargehand.Initial ||
			!suspended && e.Phase != chargehand.Pending {
			f.Errorf("suspended %v: %+v", suspended, e)
		}
		f.view(func(r *store.Reader) error {
			list, err := r.ListExecutions(store.ExecutionFilter{
				Account: 1, Environment: chargehand.Live, Phases: []chargehand.Phase{chargehand.Suspended}, Limit: 10,
			})
			if found := len(list) == 1 && list[0].No == no; found != suspended {
				f.Errorf("suspended %v: the list of suspended executions is %+v", suspended, list)
			}
			return err
		})
	}
	f.update(func(tx *store.Tx) error {
		rows, err := tx.NextQueued(1, singles, 5)
		if err == nil {
			err = tx.StartQueued(rows, startMs)
		}
		if len(rows) != 1 || rows[0].Phase != chargehand.Suspended {
			f.Errorf("started %+v", rows)
		}
		return err
	})
	if e := f.byNo(no); e.Phase != chargehand.Suspended || e.State != store.StateActive || e.Status != chargehand.Processing {
		f.Errorf("after the start: %+v", e)
	}
	if state := f.setSuspended(no, false); state != store.StateActive || f.byNo(no).Phase != chargehand.Running {
		f.Errorf("resumed while it runs: %+v", f.byNo(no))
	}
	f.update(func(tx *store.Tx) error { _, err := finish(tx, no, startMs, "1"); return err })
	refused(true)
	refused(false)
}

// reportSuspended: reports neither end a suspension nor begin one.
func reportSuspended(f *fixture) {
	no := f.inserted()
	f.reportAs(no, store.StateParked, 0) // number 1
	report := func(number int64, phase chargehand.Phase, state store.ExecutionState) {
		f.update(func(tx *store.Tx) error {
			_, err := tx.ReportState(no, number, phase, state, false, 0, store.Waits{})
			return err
		})
	}
	f.setSuspended(no, true)
	report(2, chargehand.Running, store.StateActive)
	if e := f.byNo(no); e.Phase != chargehand.Suspended || e.State != store.StateActive {
		f.Errorf("a report from before has ended the suspension: %+v", e)
	}
	report(3, chargehand.Suspended, store.StateParked)
	if f.setSuspended(no, false); f.byNo(no).Phase != chargehand.Waiting {
		f.Errorf("resumed while it waits: %+v", f.byNo(no))
	}
	report(4, chargehand.Suspended, store.StateActive)
	if e := f.byNo(no); e.Phase != chargehand.Waiting || e.State != store.StateActive {
		f.Errorf("a late report has suspended it: %+v", e)
	}
}
