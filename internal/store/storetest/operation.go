package storetest

import (
	"errors"
	"slices"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

var operationTests = map[string]func(*fixture){
	"round trip":        operationRoundTrip,
	"selected in parts": operationSelected,
	"each item once":    operationItems,
	"ended before":      operationEnded,
	"lists":             operationLists,
	"kept and deleted":  operationDeleted,
	"state of the work": operationState,
}

// newOperation inserts an operation over executions, or with a filter if there are none.
func (f *fixture) newOperation(ids ...chargehand.ExecutionID) store.Operation {
	f.Helper()
	o := store.Operation{Account: 1, Environment: chargehand.Live, Action: store.OperationCancel, StartedBy: -3, Key: 4, Version: "published", Reason: "enough"}
	if ids == nil {
		o.Filter = []byte(`{"status":["error"]}`)
	}
	setID(f, &o.ID, startMs)
	f.update(func(tx *store.Tx) error { return tx.InsertOperation(&o, ids) })
	return o
}

func (f *fixture) readOperation(no int64) (o store.Operation) {
	f.Helper()
	f.view(func(r *store.Reader) (err error) {
		o, err = r.OperationByNo(no)
		return err
	})
	return o
}

func (f *fixture) executionIDs(n int) (ids []chargehand.ExecutionID) {
	for range n {
		ids = append(ids, executionID(f))
	}
	return ids
}

func operationRoundTrip(f *fixture) {
	want := f.newOperation()
	taken := want
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.InsertOperation(&taken, nil) })
	same(f, "with a filter", f.readOperation(want.No), want)
	same(f, "status", want.Status, store.OperationSelecting)
	named := f.newOperation(f.executionIDs(2)...)
	same(f, "with names", f.readOperation(named.No), named)
	same(f, "status and total", []int64{int64(named.Status), named.Total}, []int64{int64(store.OperationRunning), 2})
	f.view(func(r *store.Reader) error {
		got, err := r.OperationByID(1, chargehand.Live, want.ID)
		same(f, "by its id", got, want)
		_, err1 := r.OperationByID(2, chargehand.Live, want.ID)
		_, err2 := r.OperationByID(1, chargehand.Test, want.ID)
		if !errors.Is(err1, store.ErrNotFound) || !errors.Is(err2, store.ErrNotFound) {
			f.Errorf("others find it: %v, %v", err1, err2)
		}
		return err
	})
}

func operationSelected(f *fixture) {
	o, ids := f.newOperation(), f.executionIDs(5)
	none := chargehand.ExecutionID{}
	f.update(func(tx *store.Tx) error { return tx.SelectItems(o.No, none, ids[3], ids[3:]) })
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.SelectItems(o.No, none, ids[3], ids[3:]) })
	f.update(func(tx *store.Tx) error { return tx.SelectItems(o.No, ids[3], ids[2], nil) }) // it found none there
	f.update(func(tx *store.Tx) error { return tx.SelectItems(o.No, ids[2], ids[0], ids[:2]) })
	got := f.readOperation(o.No)
	same(f, "total and how far it is", []any{got.Total, got.Reached}, []any{int64(4), ids[0]})
	f.update(func(tx *store.Tx) error { return tx.BeginOperation(o.No, startMs) })
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.BeginOperation(o.No, startMs) })
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.SelectItems(o.No, ids[0], ids[0], nil) })
	got = f.readOperation(o.No)
	same(f, "it runs", []any{got.Status, got.EndedMs}, []any{store.OperationRunning, int64(0)})
	f.view(func(r *store.Reader) error {
		pending, err := r.PendingItems(o.No, none, 10)
		same(f, "pending", pending, []chargehand.ExecutionID{ids[0], ids[1], ids[3], ids[4]})
		return err
	})
	empty := f.newOperation()
	f.update(func(tx *store.Tx) error { return tx.BeginOperation(empty.No, startMs+5) })
	got = f.readOperation(empty.No)
	same(f, "one of nothing has ended", []any{got.Status, got.EndedMs}, []any{store.OperationCompleted, int64(startMs + 5)})
}

func operationItems(f *fixture) {
	ids := f.executionIDs(3)
	o := f.newOperation(ids...)
	retried := store.OperationItem{Execution: ids[1], Outcome: store.ItemSucceeded, Started: executionID(f)}
	skipped := store.OperationItem{Execution: ids[0], Outcome: store.ItemSkipped, Code: "state_conflict", Detail: "It has ended."}
	failed := store.OperationItem{Execution: ids[2], Outcome: store.ItemFailed, Code: "input_invalid", Detail: "The input is wrong."}
	resolve := func(i store.OperationItem) func(*store.Tx) error {
		return func(tx *store.Tx) error { return tx.ResolveItem(o.No, &i, startMs+9) }
	}
	f.update(resolve(retried))
	f.refused(store.ErrConflict, resolve(retried))
	f.refused(store.ErrConflict, resolve(store.OperationItem{Execution: executionID(f), Outcome: store.ItemFailed}))
	f.update(resolve(skipped))
	same(f, "it runs on", f.readOperation(o.No).Status, store.OperationRunning)
	f.view(func(r *store.Reader) error {
		all, err1 := r.ListOperationItems(store.OperationItemFilter{Operation: o.No, Limit: 10})
		same(f, "items", all, []store.OperationItem{skipped, retried, {Execution: ids[2]}})
		some, err2 := r.ListOperationItems(store.OperationItemFilter{Operation: o.No, Outcomes: []store.ItemOutcome{store.ItemPending, store.ItemSkipped}, Limit: 10})
		same(f, "by outcomes", some, []store.OperationItem{skipped, {Execution: ids[2]}})
		page, err3 := r.ListOperationItems(store.OperationItemFilter{Operation: o.No, After: ids[0], Limit: 1})
		same(f, "a page", page, []store.OperationItem{retried})
		pending, err4 := r.PendingItems(o.No, ids[0], 10)
		same(f, "pending", pending, ids[2:])
		return errors.Join(err1, err2, err3, err4)
	})
	f.update(resolve(failed))
	got := f.readOperation(o.No)
	same(f, "completed by its last item", []int64{int64(got.Status), got.Total, got.Succeeded, got.Skipped, got.Failed, got.EndedMs},
		[]int64{int64(store.OperationCompleted), 3, 1, 1, 1, startMs + 9})
}

func operationEnded(f *fixture) {
	ids := f.executionIDs(2)
	o := f.newOperation(ids...)
	f.update(func(tx *store.Tx) error {
		return tx.EndOperation(o.No, store.OperationStopped, "insufficient_scope", "The key has ended.", startMs+1)
	})
	want := o
	want.Status, want.Code, want.Detail, want.EndedMs = store.OperationStopped, "insufficient_scope", "The key has ended.", startMs+1
	same(f, "stopped", f.readOperation(o.No), want)
	f.refused(store.ErrConflict, func(tx *store.Tx) error {
		return tx.ResolveItem(o.No, &store.OperationItem{Execution: ids[0], Outcome: store.ItemSucceeded}, startMs)
	})
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.EndOperation(o.No, store.OperationCancelled, "", "", startMs) })
	selecting := f.newOperation()
	f.update(func(tx *store.Tx) error {
		return tx.EndOperation(selecting.No, store.OperationCancelled, "", "", startMs)
	})
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.BeginOperation(selecting.No, startMs) })
}

func operationLists(f *fixture) {
	first, second := f.newOperation(), f.newOperation(f.executionIDs(1)...)
	third := store.Operation{Account: 1, Environment: chargehand.Live, Action: store.OperationRetry, StartedBy: 7, Key: 7, Filter: []byte(`{}`)}
	other := store.Operation{Account: 1, Environment: chargehand.Test, Action: store.OperationRetry, StartedBy: 7, Key: 7, Filter: []byte(`{}`)}
	setID(f, &third.ID, startMs+1)
	setID(f, &other.ID, startMs+1)
	f.update(func(tx *store.Tx) error {
		return errors.Join(tx.InsertOperation(&third, nil), tx.InsertOperation(&other, nil))
	})
	f.update(func(tx *store.Tx) error { return tx.EndOperation(first.No, store.OperationCancelled, "", "", startMs) })
	numbers := func(list []store.Operation) (nos []int64) {
		for i := range list {
			nos = append(nos, list[i].No)
		}
		return nos
	}
	f.view(func(r *store.Reader) error {
		all, err1 := r.ListOperations(store.OperationFilter{Account: 1, Environment: chargehand.Live, Limit: 10})
		same(f, "all, newest first", numbers(all), []int64{third.No, second.No, first.No})
		page, err2 := r.ListOperations(store.OperationFilter{Account: 1, Environment: chargehand.Live, Before: third.ID, Limit: 1})
		same(f, "a page", numbers(page), []int64{second.No})
		own, err3 := r.ListOperations(store.OperationFilter{Account: 1, Environment: chargehand.Live, StartedBy: -3, Limit: 10})
		same(f, "those of a person", numbers(own), []int64{second.No, first.No})
		active, err4 := r.ActiveOperations(10)
		same(f, "active", numbers(active), []int64{second.No, third.No, other.No})
		n, err5 := r.CountActiveOperations(1, chargehand.Live, 10)
		one, err6 := r.CountActiveOperations(1, chargehand.Live, 1)
		kept, err7 := r.KeptOperations(1, chargehand.Live, 10)
		same(f, "counts", []int64{n, one, kept}, []int64{2, 1, 3})
		return errors.Join(err1, err2, err3, err4, err5, err6, err7)
	})
}

func operationDeleted(f *fixture) {
	ids := f.executionIDs(5)
	old, running, late := f.newOperation(ids...), f.newOperation(ids[0]), f.newOperation(ids[1])
	for _, one := range []struct{ no, ms int64 }{{old.No, startMs}, {late.No, startMs + 100}} {
		f.update(func(tx *store.Tx) error { return tx.EndOperation(one.no, store.OperationCancelled, "", "", one.ms) })
	}
	var steps []int
	for n := 3; n == 3; {
		f.update(func(tx *store.Tx) (err error) {
			n, err = tx.DeleteOperations(startMs+1, 3)
			return err
		})
		steps = append(steps, n)
	}
	same(f, "steps", steps, []int{3, 3, 0})
	f.view(func(r *store.Reader) error {
		_, err := r.OperationByNo(old.No)
		if !errors.Is(err, store.ErrNotFound) {
			f.Errorf("it is still there: %v", err)
		}
		left, err := r.ListOperationItems(store.OperationItemFilter{Operation: old.No, Limit: 10})
		if len(left) > 0 {
			f.Errorf("its items are still there: %v", left)
		}
		return err
	})
	f.update(func(tx *store.Tx) error { return tx.HideOperation(1, chargehand.Live) }) // the running one is not hidden
	f.update(func(tx *store.Tx) error { return tx.HideOperation(1, chargehand.Live) }) // there is no other one
	f.view(func(r *store.Reader) error {
		_, gone := r.OperationByID(1, chargehand.Live, late.ID)
		list, err1 := r.ListOperations(store.OperationFilter{Account: 1, Environment: chargehand.Live, Limit: 10})
		kept, err2 := r.KeptOperations(1, chargehand.Live, 10)
		if !errors.Is(gone, store.ErrNotFound) || len(list) != 1 || list[0].No != running.No || kept != 1 {
			f.Errorf("hidden: %v, %d are listed, %d kept", gone, len(list), kept)
		}
		return errors.Join(err1, err2)
	})
	f.update(func(tx *store.Tx) error {
		n, err := tx.DeleteOperations(startMs, 10)
		same(f, "the hidden one is deleted", n, 2)
		return err
	})
}

// operationState: what operators are shown of the work.
func operationState(f *fixture) {
	first, second := f.execution(startMs), f.execution(startMs+1)
	f.insert(&second, &first)
	ended := f.inserted()
	f.update(func(tx *store.Tx) error {
		_, err := finish(tx, ended, startMs, `{}`)
		for i, dueMs := range []int64{5, 6, 7} {
			err = errors.Join(err, tx.PutTimer(store.Timer{Environment: chargehand.Live, Execution: first.No, Command: uint64(i), DueMs: dueMs}))
		}
		return err
	})
	f.view(func(r *store.Reader) error {
		oldest, found, err1 := r.OldestInState(store.StateQueued, 10)
		_, none, err2 := r.OldestInState(store.StateReady, 10)
		if !found || none || oldest != first.ID {
			f.Errorf("the oldest is %v (%t), want %v; ready: %t", oldest, found, first.ID, none)
		}
		due, err3 := r.CountTimersDue(6, 10)
		bounded, err4 := r.CountTimersDue(6, 1)
		if got := []int64{due, bounded}; !slices.Equal(got, []int64{2, 1}) {
			f.Errorf("%v timers are due", got)
		}
		return errors.Join(err1, err2, err3, err4)
	})
}

func executionID(f *fixture) (id chargehand.ExecutionID) {
	setID(f, &id, startMs)
	return id
}
