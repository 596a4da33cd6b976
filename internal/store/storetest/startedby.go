package storetest

import (
	"errors"
	"reflect"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// listStartedBy: what a person or a key has started is found in an environment and in a workflow, page by page.
func listStartedBy(f *fixture) {
	want := map[int64][]int64{}
	for i := range 12 {
		e := f.execution(startMs + int64(i))
		e.StartedBy = []int64{-7, 0, 7, -8}[i%4]
		e.Workflow = int64(1 + i%3/2)
		f.insert(&e)
		want[e.StartedBy] = append([]int64{e.No}, want[e.StartedBy]...)
	}
	for _, by := range []int64{-7, 7, -8} {
		var got []int64
		filter := store.ExecutionFilter{Account: 1, Environment: chargehand.Live, StartedBy: by, Limit: 2}
		for {
			var page []store.Execution
			f.view(func(r *store.Reader) (err error) {
				page, err = r.ListExecutions(filter)
				return err
			})
			for i := range page {
				if got = append(got, page[i].No); page[i].StartedBy != by {
					f.Errorf("%d is listed as started by %d", page[i].StartedBy, by)
				}
				filter.After = store.CursorAt(&page[i])
			}
			if len(page) < 2 {
				break
			}
		}
		if !reflect.DeepEqual(got, want[by]) {
			f.Errorf("started by %d: %v, want %v", by, got, want[by])
		}
	}
	f.view(func(r *store.Reader) error {
		of1, err1 := r.ListExecutions(store.ExecutionFilter{Account: 1, Environment: chargehand.Live, Workflow: 1, StartedBy: -7, Limit: 10})
		of2, err2 := r.ListExecutions(store.ExecutionFilter{Account: 1, Environment: chargehand.Live, Workflow: 2, StartedBy: -7, Limit: 10})
		foreign, err3 := r.ListExecutions(store.ExecutionFilter{Account: 2, Environment: chargehand.Live, StartedBy: -7, Limit: 10})
		if len(of1)+len(of2) != 3 || len(of1) == 0 || len(of2) == 0 || len(foreign) != 0 {
			f.Errorf("of the workflows %d and %d, of another account %d", len(of1), len(of2), len(foreign))
		}
		_, found, err4 := r.Examined(store.ExecutionFilter{Account: 1, Environment: chargehand.Live, StartedBy: 7}, 12)
		if !found {
			f.Error("a list of what a key has started looks at all executions, and is not bounded by them")
		}
		return errors.Join(err1, err2, err3, err4)
	})
}

// batchesStartedBy: the batches of a workflow that one has started.
func batchesStartedBy(f *fixture) {
	var want []int64
	for i := range 4 {
		b := store.Batch{
			Account: 1, Environment: chargehand.Live, Workflow: 1, Revision: 1, Total: 1, Concurrency: 1, RequestedConcurrency: 1, StartedBy: -1 - int64(i%2),
		}
		setID(f, &b.ID, startMs)
		e := f.execution(startMs)
		f.update(func(tx *store.Tx) error {
			if err := tx.InsertBatch(&b); err != nil {
				return err
			}
			e.Batch = b.No
			return tx.InsertExecution(&e)
		})
		if b.StartedBy == -2 {
			want = append([]int64{b.No}, want...)
		}
	}
	f.view(func(r *store.Reader) error {
		list, err := r.ListBatches(store.BatchFilter{Account: 1, Environment: chargehand.Live, Workflow: 1, StartedBy: -2, Limit: 10})
		var got []int64
		for _, b := range list {
			got = append(got, b.No)
		}
		if !reflect.DeepEqual(got, want) {
			f.Errorf("batches %v, want %v", got, want)
		}
		return err
	})
}
