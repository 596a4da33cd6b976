package storetest

import (
	"errors"
	"reflect"
	"slices"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// singles is the source of what the workflow has that is no item of a batch.
var singles = store.Queue{Environment: chargehand.Live, Workflow: 1}

func of(b store.Batch) store.Queue {
	return store.Queue{Environment: b.Environment, Batch: b.No, Workflow: b.Workflow, Concurrency: b.Concurrency}
}

func sources(f *fixture) {
	first, items := f.batch(5)
	second, _ := f.batch(3)
	third, _ := f.batch(2)
	f.update(func(tx *store.Tx) error { return markCancelled(tx, third.No) })
	single := f.inserted()
	f.inserted()
	f.reportAs(items[0].No, store.StateActive, 0)
	f.reportAs(items[1].No, store.StateReady, 9)
	f.reportAs(items[2].No, store.StateParked, 0)
	f.reportAs(single, store.StateActive, 0)
	foreign := f.execution(startMs)
	foreign.Account = 2
	f.insert(&foreign)
	var others []int64 // of other workflows, in test
	for range 2 {
		for workflow := int64(7); workflow <= 9; workflow++ {
			e := f.execution(startMs)
			e.Environment, e.Workflow = chargehand.Test, workflow
			f.insert(&e)
			others = append(others, e.No)
		}
	}
	f.reportAs(others[0], store.StateActive, 0)
	f.reportAs(others[1], store.StateReady, 9)
	read := func(account int64, run store.ExecutionState, env chargehand.Environment, after store.QueuePosition, limit int) (list []store.Queue) {
		f.view(func(r *store.Reader) (err error) {
			list, err = r.Queues(account, run, env, after, limit)
			return err
		})
		return list
	}
	stopped := of(third)
	stopped.Cancelled = true
	want := []store.Queue{singles, of(first), of(second), stopped}
	if got := read(1, store.StateQueued, chargehand.Live, store.QueuePosition{}, 9); !reflect.DeepEqual(got, want) {
		f.Errorf("sources %+v\nwant %+v", got, want)
	}
	if got := read(1, store.StateQueued, chargehand.Live, singles.Position(), 2); !reflect.DeepEqual(got, want[1:3]) {
		f.Errorf("behind the singles %+v\nwant %+v", got, want[1:3])
	}
	if got := read(1, store.StateReady, chargehand.Live, store.QueuePosition{}, 9); !reflect.DeepEqual(got, want[1:2]) {
		f.Errorf("with woken ones %+v\nwant %+v", got, want[1:2])
	}
	inTest := func(workflow int64) store.Queue {
		return store.Queue{Environment: chargehand.Test, Workflow: workflow}
	}
	if got := read(1, store.StateQueued, chargehand.Test, store.QueuePosition{Workflow: 7}, 9); !reflect.DeepEqual(got, []store.Queue{inTest(8), inTest(9)}) {
		f.Errorf("of test %+v", got)
	}
	if got := read(1, store.StateReady, chargehand.Test, store.QueuePosition{}, 9); !reflect.DeepEqual(got, []store.Queue{inTest(8)}) {
		f.Errorf("of test with woken ones %+v", got)
	}
	if got := read(3, store.StateQueued, chargehand.Live, store.QueuePosition{}, 9); got != nil {
		f.Errorf("of an unknown queue: %+v", got)
	}
	f.view(func(r *store.Reader) error {
		active, err1 := r.CountActive(1, 9)
		inTest, err2 := r.CountActiveOfTest(1, 9)
		inBatch, err3 := r.CountActiveItems(1, first.No, 9)
		if active != 3 || inTest != 1 || inBatch != 1 {
			f.Errorf("%d active, %d of them of test, %d in the batch, want 3, 1 and 1", active, inTest, inBatch)
		}
		if n, err := r.CountActive(1, 2); n != 2 || err != nil {
			f.Errorf("%d active of at most 2 that are counted, %v", n, err)
		}
		ready, err4 := r.ReadyBefore(1, of(first))
		none, err5 := r.ReadyBefore(1, of(second))
		if !ready || none {
			f.Errorf("woken executions: %v in the first batch, %v in the second", ready, none)
		}
		return errors.Join(err1, err2, err3, err4, err5)
	})
	f.nextOf(inTest(8), others[4], others[1])
}

// nextOf asks for what a source has queued and woken.
func (f *fixture) nextOf(s store.Queue, queued, woken int64) {
	f.Helper()
	f.update(func(tx *store.Tx) error {
		waits, err1 := tx.NextQueued(1, s, 9)
		ready, err2 := tx.NextReady(1, s, 9)
		if len(waits) != 1 || waits[0].No != queued || len(ready) != 1 || ready[0].No != woken {
			f.Errorf("%+v has %+v queued, %+v woken, want %d and %d", s, waits, ready, queued, woken)
		}
		return errors.Join(err1, err2)
	})
}

func waitingAccounts(f *fixture) {
	for account := int64(1); account <= 5; account++ {
		for range 3 {
			e := f.execution(startMs)
			e.Account = account
			f.insert(&e)
			switch account {
			case 2: // holds slots only
				f.reportAs(e.No, store.StateActive, 0)
			case 3:
				f.reportAs(e.No, store.StateReady, 1)
			case 4:
				f.reportAs(e.No, store.StateParked, 0)
			}
		}
	}
	f.view(func(r *store.Reader) error {
		got, err := r.WaitingAccounts()
		slices.Sort(got)
		if !reflect.DeepEqual(got, []int64{1, 3, 5}) {
			f.Errorf("accounts %v wait, want 1, 3 and 5", got)
		}
		for account := int64(1); account <= 6; account++ {
			waiting, err := r.Waiting(account)
			if waiting != slices.Contains(got, account) {
				f.Errorf("account %d waits: %v (%v)", account, waiting, err)
			}
		}
		return err
	})
}

func startQueued(f *fixture) {
	b, items := f.batch(3)
	late := f.execution(startMs + 500) // its id is from later than the clock of the process that starts it
	f.insert(&late)
	var rows []store.Candidate
	f.update(func(tx *store.Tx) error {
		some, err1 := tx.NextQueued(1, of(b), 2)
		single, err2 := tx.NextQueued(1, singles, 5)
		rows = append(some, single...)
		return errors.Join(err1, err2, tx.StartQueued(rows, startMs+100))
	})
	if len(rows) != 3 {
		f.Fatalf("%d rows, want 3", len(rows))
	}
	for i, want := range []struct{ no, startedMs int64 }{{items[0].No, startMs + 100}, {items[1].No, startMs + 100}, {late.No, startMs + 500}} {
		e := f.byNo(want.no)
		if e.Status != chargehand.Processing || e.Phase != chargehand.Running || e.State != store.StateActive || e.StartedMs != want.startedMs {
			f.Errorf("row %d says %+v, want it running since %d", want.no, e, want.startedMs)
		}
		if !reflect.DeepEqual(rows[i].Execution, e) {
			f.Errorf("told %+v\nbut it is %+v", rows[i].Execution, e)
		}
	}
	if got := f.batchByNo(b.No); got.Status != chargehand.BatchRunning || got.StartedMs != startMs+100 {
		f.Errorf("batch %+v, want it running", got)
	}
	if e := f.byNo(items[2].No); e.State != store.StateQueued || e.StartedMs != 0 {
		f.Errorf("the item behind the limit: %+v", e)
	}
}

func nextQueued(f *fixture) {
	b, items := f.batch(7)
	var accepted []int64
	for range 5 {
		accepted = append(accepted, f.inserted())
	}
	take := func(from store.Queue, limit int) (nos []int64) {
		f.update(func(tx *store.Tx) error {
			rows, err := tx.NextQueued(1, from, limit)
			if err != nil {
				return err
			}
			nos = nil
			for _, row := range rows {
				nos = append(nos, row.No)
			}
			return tx.StartQueued(rows, startMs)
		})
		return nos
	}
	if got := append(take(singles, 3), take(singles, 3)...); !reflect.DeepEqual(got, accepted) {
		f.Errorf("singles %v, want %v", got, accepted)
	}
	for i := 0; i < 7; i += 2 {
		got := take(of(b), 2)
		for k, no := range got {
			if no != items[i+k].No {
				f.Errorf("items %v at %d", got, i)
			}
		}
	}
	if got := take(of(b), 2); got != nil {
		f.Errorf("%v behind the last one", got)
	}
}

func nextReady(f *fixture) {
	b, items := f.batch(4)
	for i, wakeMs := range []int64{30, 10, 20, 10} {
		f.reportAs(items[i].No, store.StateReady, wakeMs)
	}
	f.reportAs(f.inserted(), store.StateReady, 1)
	var got, reports []int64
	f.update(func(tx *store.Tx) error {
		rows, err := tx.NextReady(1, of(b), 3)
		if err != nil {
			return err
		}
		got, reports = nil, nil
		for _, row := range rows {
			got, reports = append(got, row.No), append(reports, row.Report)
		}
		return tx.GrantReady(rows)
	})
	if want := []int64{items[1].No, items[3].No, items[2].No}; !reflect.DeepEqual(got, want) || !reflect.DeepEqual(reports, []int64{1, 1, 1}) {
		f.Errorf("woken %v with reports %v, want %v", got, reports, want)
	}
	for _, no := range got {
		if e := f.byNo(no); e.State != store.StateActive || e.Phase != chargehand.Waiting || e.Status != chargehand.Processing || e.StartedMs != startMs {
			f.Errorf("granted: %+v", e)
		}
	}
	if e := f.byNo(items[0].No); e.State != store.StateReady {
		f.Errorf("the one behind the limit: %+v", e)
	}
}

func markedTwice(f *fixture) {
	f.inserted()
	f.inserted()
	var rows []store.Candidate
	f.update(func(tx *store.Tx) (err error) {
		rows, err = tx.NextQueued(1, singles, 5)
		return err
	})
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.GrantReady(rows) })
	f.update(func(tx *store.Tx) error { return tx.StartQueued(rows[:1], startMs) })
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.StartQueued(rows, startMs) })
	if e := f.byNo(rows[1].No); e.State != store.StateQueued {
		f.Errorf("a refused mark left %+v", e)
	}
}

func queuedAtLeast(f *fixture) {
	f.batch(5) // items do not count
	var nos []int64
	for range 4 {
		nos = append(nos, f.inserted())
	}
	f.reportAs(nos[0], store.StateActive, 0)
	first := f.execution(startMs)
	other, test := f.execution(startMs), f.execution(startMs)
	other.Workflow, test.Environment = 2, chargehand.Test
	f.insert(&other)
	f.insert(&test)
	f.view(func(r *store.Reader) error {
		for n := 1; n <= 5; n++ {
			if full, err := r.QueuedAtLeast(first.Queue(), n); full != (n <= 3) || err != nil {
				f.Errorf("at least %d queued: %v (%v), but there are 3", n, full, err)
			}
		}
		return nil
	})
}
