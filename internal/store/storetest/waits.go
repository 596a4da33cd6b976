package storetest

import (
	"reflect"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

var waitsTests = map[string]func(*fixture){
	"what it waits for":            waitsWritten,
	"marks of faults":              faultMarks,
	"labels":                       labels,
	"labels go with what has them": labelsGo,
	"delayed executions":           delayed,
	"delayed items are cancelled":  delayedItemsCancelled,
}

func waitsWritten(f *fixture) {
	parked := f.execution(startMs)
	parked.State, parked.Waits = store.StateParked, store.Waits{Kind: store.WaitTimer, UntilMs: startMs + 3}
	f.insert(&parked)
	if got := f.byNo(parked.No).Waits; !reflect.DeepEqual(got, parked.Waits) {
		f.Errorf("inserted %+v, want %+v", got, parked.Waits)
	}
	no := f.inserted()
	want := store.Waits{Kind: store.WaitTimer, UntilMs: startMs + 9, Attempt: &store.Attempt{Reference: "/do/0/a", Number: 2, Of: 5, NextMs: startMs + 7}}
	f.update(func(tx *store.Tx) error {
		return tx.SetStatus(no, chargehand.Processing, chargehand.Waiting, store.StateParked, startMs, want)
	})
	if got := f.byNo(no).Waits; !reflect.DeepEqual(got, want) {
		f.Errorf("after SetStatus %+v, want %+v", got, want)
	}
	want = store.Waits{Kind: store.WaitEvent, Types: []string{"order.paid"}}
	f.update(func(tx *store.Tx) error { return tx.SetState(no, chargehand.Waiting, store.StateParked, want) })
	if got := f.byNo(no).Waits; !reflect.DeepEqual(got, want) {
		f.Errorf("after SetState %+v, want %+v", got, want)
	}
	f.update(func(tx *store.Tx) error {
		_, err := tx.ReportState(no, 1, chargehand.Waiting, store.StateParked, false, 0, store.Waits{Kind: store.WaitChild})
		return err
	})
	if got := f.byNo(no).Waits; !reflect.DeepEqual(got, store.Waits{Kind: store.WaitChild}) {
		f.Errorf("after ReportState %+v", got)
	}
	before := f.byNo(no)
	want = store.Waits{Kind: store.WaitRetry, UntilMs: startMs + 20, Attempt: &store.Attempt{Reference: "/do/0/a", Number: 3, NextMs: startMs + 20}}
	for _, number := range []int64{2, 2, 1} { // the second one is repeated, the last one comes late
		var now store.Reported
		f.update(func(tx *store.Tx) (err error) {
			now, err = tx.ReportWaits(no, number, chargehand.Running, false, want)
			return err
		})
		if now.Final || now.Report != 2 || now.State != before.State {
			f.Errorf("report %d: %+v", number, now)
		}
		want.Kind = store.WaitChild
	}
	want.Kind = store.WaitRetry
	before.Waits, before.Phase = want, chargehand.Running
	if got := f.byNo(no); !reflect.DeepEqual(got, before) {
		f.Errorf("after ReportWaits %+v, want %+v", got, before)
	}
	f.update(func(tx *store.Tx) error { _, err := finish(tx, no, startMs+1, `1`); return err })
	f.update(func(tx *store.Tx) error {
		now, err := tx.ReportWaits(no, 3, chargehand.Running, false, want)
		if !now.Final {
			f.Errorf("of one that has ended: %+v", now)
		}
		return err
	})
	if got := f.byNo(no).Waits; !reflect.DeepEqual(got, store.Waits{}) {
		f.Errorf("after the end %+v", got)
	}
}

func faultMarks(f *fixture) {
	marks := func(no int64) (m store.FaultMarks) {
		m.Code = f.text(`SELECT COALESCE(error_code, '-') FROM execution WHERE no = ?1`, no)
		m.At = f.text(`SELECT COALESCE(error_at, '-') FROM execution WHERE no = ?1`, no)
		m.Hash = f.number(`SELECT error_hash FROM execution WHERE no = ?1`, no)
		return m
	}
	failed := func(fault string) int64 {
		no := f.inserted()
		f.update(func(tx *store.Tx) error {
			_, err := tx.FinishExecution(no, chargehand.Errored, chargehand.Faulted, startMs, startMs, &store.Outcome{Fault: []byte(fault)})
			return err
		})
		return no
	}
	first := marks(failed(`{"code":"http_500","instance":"/do/0/a","detail":"Order 17 of \"Ann\" is gone after 1.5s"}`))
	again := marks(failed(`{"code":"http_500","instance":"/do/0/a","detail":"Order 4 of \"Bob\" is gone after 20s"}`))
	other := marks(failed(`{"code":"http_500","detail":"Order 4 was not found"}`))
	if first.Code != "http_500" || first.At != "/do/0/a" || first.Hash == 0 || first != again {
		f.Errorf("the same failure twice: %+v and %+v", first, again)
	}
	if other.Code != "http_500" || other.At != "-" || other.Hash == first.Hash {
		f.Errorf("another failure: %+v beside %+v", other, first)
	}
	at := f.execution(startMs) // one that ends in the transaction that inserts it
	at.Status, at.Phase, at.State, at.FinishedMs = chargehand.Errored, chargehand.Faulted, store.StateEnded, startMs
	f.update(func(tx *store.Tx) error {
		return tx.InsertFinished(&at, &store.Outcome{Fault: []byte(`{"code":"http_500","instance":"/do/0/a","detail":"Order 0 of 'x' is gone after 3s"}`)})
	})
	if got := marks(at.No); got != first {
		f.Errorf("inserted finished: %+v, want %+v", got, first)
	}
	done := f.inserted()
	f.update(func(tx *store.Tx) error { _, err := finish(tx, done, startMs, `1`); return err })
	if got := marks(done); got != (store.FaultMarks{Code: "-", At: "-"}) {
		f.Errorf("one that completed: %+v", got)
	}
}

func labels(f *fixture) {
	single, bare := f.execution(startMs), f.execution(startMs)
	single.Labels = []store.Label{{Name: "team", Value: "blue"}, {Name: "order", Value: "7"}}
	f.insert(&single, &bare)
	b, items := f.labelled(2, store.Label{Name: "team", Value: "red"}, store.Label{Name: "a", Value: ""})
	none, _ := f.labelled(1)
	f.view(func(r *store.Reader) error {
		got, err := r.Labels([]store.Execution{single, bare, items[0], items[1]})
		want := map[int64][]store.Label{
			single.No:   {{Name: "order", Value: "7"}, {Name: "team", Value: "blue"}},
			items[0].No: {{Name: "a", Value: ""}, {Name: "team", Value: "red"}},
			items[1].No: {{Name: "a", Value: ""}, {Name: "own", Value: "1"}, {Name: "team", Value: "mine"}},
		}
		if !reflect.DeepEqual(got, want) {
			f.Errorf("labels %v, want %v", got, want)
		}
		of, err2 := r.BatchLabels(b.No)
		if len(of) != 2 || err2 != nil {
			f.Errorf("labels of the batch %v, %v", of, err2)
		}
		all, err3 := r.LabelsOfBatches([]int64{none.No, b.No, 1 << 40})
		if want := map[int64][]store.Label{b.No: of}; !reflect.DeepEqual(all, want) || err3 != nil {
			f.Errorf("labels of batches %v, %v, want %v", all, err3, want)
		}
		return err
	})
}

// labelled inserts a batch with labels, whose last item has some of its own.
func (f *fixture) labelled(n int, list ...store.Label) (store.Batch, []store.Execution) {
	f.Helper()
	b := store.Batch{
		Account: 1, Environment: chargehand.Live, Workflow: 1, Revision: 1, Concurrency: 2, RequestedConcurrency: 2,
		Total: int64(n), Labels: list,
	}
	setID(f, &b.ID, startMs)
	items := make([]store.Execution, n)
	for i := range items {
		items[i] = f.execution(startMs)
		items[i].Item = int64(i)
	}
	items[n-1].Labels = []store.Label{{Name: "own", Value: "1"}, {Name: "team", Value: "mine"}}
	b.LastItem = items[n-1].ID
	f.update(func(tx *store.Tx) error {
		if err := tx.InsertBatch(&b); err != nil {
			return err
		}
		for i := range items {
			items[i].Batch = b.No
			if err := tx.InsertExecution(&items[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return b, items
}

func labelsGo(f *fixture) {
	single := f.execution(startMs)
	single.Labels = []store.Label{{Name: "team", Value: "blue"}}
	f.insert(&single)
	_, items := f.labelled(2, store.Label{Name: "team", Value: "red"})
	f.update(func(tx *store.Tx) error {
		for _, no := range []int64{single.No, items[0].No, items[1].No} {
			if _, err := finish(tx, no, startMs+1, `1`); err != nil {
				return err
			}
		}
		return nil
	})
	if n := f.deleteEnded(chargehand.Live, startMs+2, 10); n != 4 {
		f.Errorf("%d rows deleted, want 4", n)
	}
	if n := f.number(`SELECT (SELECT COUNT(*) FROM label) + (SELECT COUNT(*) FROM batch_label)`); n != 0 {
		f.Errorf("%d labels are left", n)
	}
}

func delayed(f *fixture) {
	var list []store.Execution
	for i := range 5 {
		e := f.execution(startMs)
		e.State, e.StartMs, e.Workflow, e.StartedBy = store.StateDelayed, startMs+int64(100-i), int64(1+i%2), int64(-i)
		f.insert(&e)
		list = append(list, e)
	}
	f.insert(new(f.execution(startMs)))
	if got := f.byNo(list[0].No); got.Waits.Kind != store.WaitTimer || got.StartMs != startMs+100 || got.State != store.StateDelayed {
		f.Errorf("a delayed one: %+v", got)
	}
	f.view(func(r *store.Reader) error {
		next, err := r.NextDelayedMs()
		if next != startMs+96 {
			f.Errorf("the next one at %d", next-startMs)
		}
		return err
	})
	var first, rest []store.Released
	f.update(func(tx *store.Tx) (err error) { first, err = tx.StartDelayed(startMs+99, 2); return err })
	want := []store.Released{
		{No: list[4].No, Queue: store.QueuedActor{QueuedWorkflow: list[4].Queue(), Actor: -4}},
		{No: list[3].No, Queue: store.QueuedActor{QueuedWorkflow: list[3].Queue(), Actor: -3}},
	}
	if !reflect.DeepEqual(first, want) {
		f.Errorf("released %+v, want %+v", first, want)
	}
	f.update(func(tx *store.Tx) (err error) { rest, err = tx.StartDelayed(startMs+99, 10); return err })
	if len(rest) != 2 || rest[1].No != list[1].No {
		f.Errorf("then %+v", rest)
	}
	if got := f.byNo(list[4].No); got.Waits.Kind != 0 || got.State != store.StateQueued {
		f.Errorf("a released one: %+v", got)
	}
	f.update(func(tx *store.Tx) error { // it can end before its start
		_, err := fault(tx, list[0].No, startMs+1)
		return err
	})
	f.view(func(r *store.Reader) error {
		next, err := r.NextDelayedMs()
		if next != 0 {
			f.Errorf("the next one at %d, although none is delayed", next-startMs)
		}
		return err
	})
}

func delayedItemsCancelled(f *fixture) {
	b, items := f.labelled(3)
	f.raw(`UPDATE execution SET state = 5, start_ms = ?1 WHERE batch = ?2`, int64(startMs+100), b.No)
	f.view(func(r *store.Reader) error {
		n, err := r.CountUnfinished()
		if n[store.StateDelayed] != 3 {
			f.Errorf("items by state %v", n)
		}
		return err
	})
	f.update(func(tx *store.Tx) error { return markCancelled(tx, b.No) })
	f.update(func(tx *store.Tx) error {
		ids, final, err := tx.CancelQueuedItems(b.No, 10, startMs+1, []byte(`{"code":"cancelled"}`))
		if len(ids) != 3 || !final {
			f.Errorf("%d items cancelled, final %v", len(ids), final)
		}
		return err
	})
	if got := f.byNo(items[0].No); got.Phase != chargehand.Cancelled {
		f.Errorf("a cancelled item: %+v", got)
	}
}

// text reads the only column of the only row of a query.
func (f *fixture) text(query string, args ...any) string { return string(f.rawBytes(query, args...)) }
