package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

var batchTests = map[string]func(*fixture){
	"round trip":                  batchRoundTrip,
	"status follows the items":    batchStatus,
	"counts under concurrency":    batchConcurrent,
	"an undone end is not there":  batchUndone,
	"items that end together":     batchTogether,
	"queued items in order":       queuedItems,
	"cancel queued items":         cancelQueued,
	"reason of a cancelled batch": cancelReason,
	"counts by state":             batchCounts,
	"items in pages":              batchItems,
	"list":                        listBatches,
	"list by label":               batchesWithLabel,
	"concurrency":                 batchConcurrency,
	"refused":                     batchRefused,
}

// batch inserts a batch with n queued items.
func (f *fixture) batch(n int) (store.Batch, []store.Execution) {
	f.Helper()
	b := store.Batch{Account: 1, Environment: chargehand.Live, Workflow: 1, Revision: 1, Concurrency: 5, RequestedConcurrency: 5, Total: int64(n)}
	setID(f, &b.ID, startMs)
	items := make([]store.Execution, n)
	f.update(func(tx *store.Tx) error {
		if err := tx.InsertBatch(&b); err != nil {
			return err
		}
		for i := range items {
			items[i] = f.execution(startMs)
			items[i].Batch, items[i].Item, items[i].ItemID = b.No, int64(i), fmt.Sprintf("item %d", i)
			items[i].Input = inline(fmt.Sprintf(`{"i":%d}`, i))
			if err := tx.InsertExecution(&items[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return b, items
}

func (f *fixture) batchByNo(no int64) (b store.Batch) {
	f.Helper()
	f.view(func(r *store.Reader) (err error) {
		b, err = r.BatchByNo(no)
		return err
	})
	return b
}

func batchRoundTrip(f *fixture) {
	b := store.Batch{Account: 2, Environment: chargehand.Test, Workflow: 3, Revision: 4, Concurrency: 100, RequestedConcurrency: 500, Total: 7}
	setID(f, &b.ID, startMs)
	f.update(func(tx *store.Tx) error { return tx.InsertBatch(&b) })
	if b.Status != chargehand.BatchPending || b.No == 0 {
		f.Errorf("inserted %+v", b)
	}
	f.view(func(r *store.Reader) error {
		byID, err1 := r.BatchByID(2, chargehand.Test, b.ID)
		found, err2 := r.FindBatch(b.ID)
		for _, got := range []store.Batch{byID, found, f.batchByNo(b.No)} {
			if !reflect.DeepEqual(got, b) {
				f.Errorf("read %+v, want %+v", got, b)
			}
		}
		_, foreign := r.BatchByID(1, chargehand.Test, b.ID)
		_, elsewhere := r.BatchByID(2, chargehand.Live, b.ID)
		if !errors.Is(foreign, store.ErrNotFound) || !errors.Is(elsewhere, store.ErrNotFound) {
			f.Errorf("foreign batch: %v, %v, want ErrNotFound", foreign, elsewhere)
		}
		return errors.Join(err1, err2)
	})
	f.refused(store.ErrConflict, func(tx *store.Tx) error { again := b; return tx.InsertBatch(&again) })
}

// batchStatus ends the items of batches in different ways (docs/reference/api.md "Status").
func batchStatus(f *fixture) {
	const ok, bad = true, false
	cases := []struct {
		name      string
		ends      []bool
		cancelled bool
		want      chargehand.BatchStatus
	}{
		{"all finished", []bool{ok, ok}, false, chargehand.BatchCompleted},
		{"one finished", []bool{bad, ok, bad}, false, chargehand.BatchCompleted},
		{"last failed", []bool{ok, bad}, false, chargehand.BatchCompleted},
		{"none finished", []bool{bad, bad}, false, chargehand.BatchFailed},
		{"single", []bool{ok}, false, chargehand.BatchCompleted},
		{"cancelled with successes", []bool{ok, bad}, true, chargehand.BatchFailed},
		{"cancelled, all finished", []bool{ok, ok}, true, chargehand.BatchFailed},
	}
	for _, c := range cases {
		b, items := f.batch(len(c.ends))
		for i := range items { // the first start counts
			f.update(func(tx *store.Tx) error {
				return tx.SetStatus(items[i].No, chargehand.Processing, chargehand.Running, store.StateActive, startMs+10+int64(i), store.Waits{})
			})
		}
		if got := f.batchByNo(b.No); got.Status != chargehand.BatchRunning || got.StartedMs != startMs+10 || got.FinishedMs != 0 {
			f.Errorf("%s: after the starts: %+v", c.name, got)
		}
		if c.cancelled {
			f.update(func(tx *store.Tx) error { return markCancelled(tx, b.No) })
		}
		for i, good := range c.ends {
			last := i == len(c.ends)-1
			f.update(func(tx *store.Tx) error {
				end := fault
				if good {
					end = func(tx *store.Tx, no, ms int64) (bool, error) { return finish(tx, no, ms, "1") }
				}
				final, err := end(tx, items[i].No, startMs+20+int64(i))
				if final != last {
					f.Errorf("%s: item %d says final %v", c.name, i, final)
				}
				return err
			})
			if got := f.batchByNo(b.No); got.Status.Final() != last || got.Finished+got.Failed != int64(i+1) {
				f.Errorf("%s: after item %d: %+v", c.name, i, got)
			}
		}
		got := f.batchByNo(b.No)
		if got.Status != c.want || got.StartedMs != startMs+10 || got.FinishedMs != startMs+19+int64(len(c.ends)) || got.CancelRequested != c.cancelled {
			f.Errorf("%s: at the end: %+v, want %v", c.name, got, c.want)
		}
	}
}

func batchConcurrent(f *fixture) {
	b, items := f.batch(200)
	var wg sync.WaitGroup
	var finals atomic.Int64
	for i, item := range items {
		for range 2 { // every item is ended twice; one of the two loses
			wg.Go(func() {
				err := f.Update(context.Background(), func(tx *store.Tx) error {
					var final bool
					var err error
					if i%3 == 0 {
						final, err = fault(tx, item.No, startMs+1)
					} else {
						final, err = finish(tx, item.No, startMs+1, "1")
					}
					if final {
						finals.Add(1)
					}
					return err
				})
				if err != nil && !errors.Is(err, store.ErrConflict) {
					f.Errorf("item %d: %v", i, err)
				}
			})
		}
	}
	wg.Wait()
	if got := f.batchByNo(b.No); got.Finished != 133 || got.Failed != 67 || got.Status != chargehand.BatchCompleted || finals.Load() != 1 {
		f.Errorf("%+v, final for %d", got, finals.Load())
	}
}

// batchTogether ends items of two batches, each way, once one by one and once together: the rows say the same.
func batchTogether(f *fixture) {
	alone, ones := f.batch(6)
	b, items := f.batch(6)
	f.update(func(tx *store.Tx) error { return tx.CloseRollup(store.RollupCursor{}, startMs) })
	large := strings.Repeat("x", 3000)
	outcomes := func() []store.Outcome {
		return []store.Outcome{
			{Output: inline("1")}, {Fault: []byte(`{"status":500,"code":"one","instance":"/do/0"}`)}, {Output: f.blobPayload('t', 1<<20)},
			{Fault: []byte(`{"status":499}`)}, {Output: inline(`"` + large + `"`), Timeline: []byte("steps"), Files: []byte(`["a"]`)}, {Output: inline("2")},
		}
	}
	end := func(row *store.Execution, i int) {
		row.Status, row.Phase, row.State, row.StartedMs, row.FinishedMs = chargehand.Finished, chargehand.Completed, store.StateEnded, startMs+int64(i), startMs+10+int64(i)
		switch i {
		case 1:
			row.Status, row.Phase = chargehand.Errored, chargehand.Faulted
		case 3:
			row.Status, row.Phase = chargehand.Errored, chargehand.Cancelled
		}
	}
	first := outcomes()
	for i := range ones {
		row := ones[i]
		end(&row, i)
		f.update(func(tx *store.Tx) error {
			final, err := tx.FinishExecution(row.No, row.Status, row.Phase, row.StartedMs, row.FinishedMs, &first[i])
			if final != (i == 5) {
				f.Errorf("item %d alone: final %v", i, final)
			}
			return err
		})
	}
	together := func(want bool, from, to int) func(tx *store.Tx) error {
		second := outcomes()
		return func(tx *store.Tx) error {
			var list []store.EndedItem
			for i := from; i < to; i++ {
				row := items[i]
				end(&row, i)
				list = append(list, store.EndedItem{Row: &row, Outcome: &second[i]})
			}
			final, err := tx.FinishItems(b.No, list)
			if err == nil && final != want {
				f.Errorf("items %d to %d: final %v", from, to, final)
			}
			return err
		}
	}
	f.update(together(false, 0, 5))
	f.refused(store.ErrConflict, together(true, 4, 6)) // one of them has ended
	if got := f.batchByNo(b.No); got.Status != chargehand.BatchRunning || got.StartedMs != startMs || got.Finished != 3 || got.Failed != 2 || got.Cancelled != 1 {
		f.Errorf("after five: %+v", got)
	}
	f.update(together(true, 5, 6))
	got, want := f.batchByNo(b.No), f.batchByNo(alone.No)
	want.No, want.ID, want.StartedMs = got.No, got.ID, startMs // alone: when the first has ended
	if !reflect.DeepEqual(got, want) {
		f.Errorf("together: %+v, alone: %+v", got, want)
	}
	for i := range items {
		got, want := f.byNo(items[i].No), f.byNo(ones[i].No)
		want.No, want.ID, want.Batch = got.No, got.ID, got.Batch
		if !reflect.DeepEqual(got, want) {
			f.Errorf("item %d together: %+v, alone: %+v", i, got, want)
		}
		f.view(func(r *store.Reader) error {
			got, err1 := r.Outcome(items[i].No)
			want, err2 := r.Outcome(ones[i].No)
			want.Execution = got.Execution
			if !reflect.DeepEqual(got, want) {
				f.Errorf("outcome of item %d together: %+v, alone: %+v", i, got, want)
			}
			return errors.Join(err1, err2)
		})
		for _, column := range []string{"bytes", "error_hash", "COALESCE(LENGTH(error_code), 0)", "COALESCE(LENGTH(error_at), 0)"} {
			query := `SELECT ` + column + ` FROM execution WHERE no = ?1`
			if got, want := f.number(query, items[i].No), f.number(query, ones[i].No); got != want {
				f.Errorf("%s of item %d together: %d, alone: %d", column, i, got, want)
			}
		}
		if n := f.number(`SELECT COUNT(*) FROM rollup_ended WHERE execution = ?1`, items[i].No); n != 1 {
			f.Errorf("the end of item %d is noted %d times", i, n)
		}
	}
}

func batchUndone(f *fixture) {
	b, items := f.batch(1)
	f.refused(errUndo, func(tx *store.Tx) error {
		if final, err := finish(tx, items[0].No, startMs+1, "1"); err != nil || !final {
			return fmt.Errorf("final %v, %v", final, err)
		}
		return errUndo
	})
	if got := f.batchByNo(b.No); !reflect.DeepEqual(got, b) {
		f.Errorf("after an undone end: %+v, want %+v", got, b)
	}
}

func (f *fixture) queuedNow(batch int64, limit int) (items []int64) {
	f.Helper()
	f.view(func(r *store.Reader) error {
		list, err := r.QueuedItems(batch, limit)
		for _, e := range list {
			items = append(items, e.Item)
			if want := fmt.Sprintf(`{"i":%d}`, e.Item); string(e.Input.Inline) != want {
				f.Errorf("item %d has input %s", e.Item, e.Input.Inline)
			}
		}
		return err
	})
	return items
}

func queuedItems(f *fixture) {
	f.batch(3)
	b, items := f.batch(6)
	f.batch(3)
	if got := f.queuedNow(b.No, 4); !reflect.DeepEqual(got, []int64{0, 1, 2, 3}) {
		f.Errorf("queued %v", got)
	}
	f.update(func(tx *store.Tx) error {
		_, err := finish(tx, items[2].No, startMs+1, "1")
		return errors.Join(err, tx.SetState(items[0].No, chargehand.Running, store.StateActive, store.Waits{}))
	})
	if got := f.queuedNow(b.No, 9); !reflect.DeepEqual(got, []int64{1, 3, 4, 5}) {
		f.Errorf("queued %v, want those that are neither active nor ended", got)
	}
}

// markCancelled marks a batch as cancelled, without a reason.
func markCancelled(tx *store.Tx, no int64) error {
	_, err := tx.SetBatchCancelled(no, "")
	return err
}

// cancelReason: the first reason stays.
func cancelReason(f *fixture) {
	b, _ := f.batch(2)
	if got := f.batchByNo(b.No); got.CancelRequested || got.Reason != "" {
		f.Errorf("a new batch: %+v", got)
	}
	for _, reason := range []string{"enough\x00 of it", "more than enough"} {
		f.update(func(tx *store.Tx) error {
			first, err := tx.SetBatchCancelled(b.No, reason)
			if first != "enough\x00 of it" {
				f.Errorf("cancelled because of %q", first)
			}
			return err
		})
	}
	if got := f.batchByNo(b.No); !got.CancelRequested || got.Reason != "enough\x00 of it" {
		f.Errorf("%+v", got)
	}
}

func cancelQueued(f *fixture) {
	b, items := f.batch(5)
	f.update(func(tx *store.Tx) error {
		_, err := finish(tx, items[0].No, startMs+1, "1")
		return errors.Join(err, tx.SetStatus(items[1].No, chargehand.Processing, chargehand.Running, store.StateActive, startMs+1, store.Waits{}),
			markCancelled(tx, b.No))
	})
	want := [][]chargehand.ExecutionID{{items[2].ID, items[3].ID}, {items[4].ID}, nil}
	for step, want := range want {
		f.update(func(tx *store.Tx) error {
			ids, final, err := tx.CancelQueuedItems(b.No, 2, startMs+5, []byte(`{"c":1}`))
			if !reflect.DeepEqual(ids, want) || final {
				f.Errorf("step %d cancelled %v (final %v), want %v", step, ids, final, want)
			}
			return err
		})
	}
	e := f.byNo(items[3].No)
	if e.Status != chargehand.Errored || e.Phase != chargehand.Cancelled || e.FinishedMs != startMs+5 || e.StartedMs != 0 {
		f.Errorf("cancelled item: %+v", e)
	}
	f.view(func(r *store.Reader) error {
		o, err := r.Outcome(e.No)
		if string(o.Fault) != `{"c":1}` {
			f.Errorf("fault %s", o.Fault)
		}
		return err
	})
	f.update(func(tx *store.Tx) error {
		final, err := tx.FinishExecution(items[1].No, chargehand.Errored, chargehand.Faulted, startMs+6, startMs+6, &store.Outcome{Fault: []byte(`{"f":1}`)})
		if !final {
			f.Error("the running item was the last one")
		}
		return err
	})
	if got := f.batchByNo(b.No); got.Status != chargehand.BatchFailed || got.Finished != 1 || got.Failed != 4 || got.Cancelled != 3 {
		f.Errorf("%+v", got)
	}
	var shown []string
	list := func(filter store.ItemFilter) []string {
		shown = nil
		filter.Batch, filter.AfterItem = b.No, max(filter.AfterItem, -1)
		f.view(func(r *store.Reader) error {
			return r.ListItems(filter, func(e *store.Execution, fault []byte) error {
				shown = append(shown, fmt.Sprint(e.Item, e.Phase, string(fault), string(e.Input.Inline)))
				return nil
			})
		})
		return shown
	}
	all := []string{
		`0 completed {"i":0}`, `1 faulted {"f":1} {"i":1}`, `2 cancelled {"c":1} {"i":2}`, `3 cancelled {"c":1} {"i":3}`, `4 cancelled {"c":1} {"i":4}`,
	}
	for i := range all {
		all[i] = strings.Join(strings.Fields(all[i]), "")
	}
	for _, c := range []struct {
		filter store.ItemFilter
		want   []string
	}{
		{store.ItemFilter{AfterItem: -1, Limit: 10}, all},
		{store.ItemFilter{AfterItem: 1, Limit: 2}, all[2:4]},
		{store.ItemFilter{AfterItem: -1, Limit: 2, Phases: []chargehand.Phase{chargehand.Cancelled}}, all[2:4]},
		{store.ItemFilter{AfterItem: -1, Limit: 9, Phases: []chargehand.Phase{chargehand.Faulted, chargehand.Completed}}, all[:2]},
		{store.ItemFilter{AfterItem: -1, Limit: 9, Phases: []chargehand.Phase{chargehand.Faulted}, Statuses: []chargehand.Status{chargehand.Finished}}, nil},
	} {
		got := list(c.filter)
		for i := range got {
			got[i] = strings.Join(strings.Fields(got[i]), "")
		}
		if !slices.Equal(got, c.want) {
			f.Errorf("%+v: %q, want %q", c.filter, got, c.want)
		}
	}
	one, items := f.batch(2) // an item that was cancelled by itself counts too
	f.update(func(tx *store.Tx) error {
		_, err := tx.FinishExecution(items[0].No, chargehand.Errored, chargehand.Cancelled, 0, startMs+6, &store.Outcome{})
		return err
	})
	if got := f.batchByNo(one.No); got.Failed != 1 || got.Cancelled != 1 {
		f.Errorf("%+v", got)
	}
	whole, _ := f.batch(3) // nothing runs: the last step ends the batch
	f.update(func(tx *store.Tx) error {
		_, final, err := tx.CancelQueuedItems(whole.No, 10, startMs+5, nil)
		if !final {
			f.Error("all items are cancelled, but the batch is not final")
		}
		return err
	})
}

func batchCounts(f *fixture) {
	f.batch(2)
	b, items := f.batch(9)
	f.update(func(tx *store.Tx) error {
		_, err := finish(tx, items[0].No, startMs, "1")
		return errors.Join(err, tx.SetState(items[1].No, chargehand.Running, store.StateActive, store.Waits{}), tx.SetState(items[2].No, chargehand.Running, store.StateActive, store.Waits{}),
			tx.SetState(items[3].No, chargehand.Waiting, store.StateParked, store.Waits{}), tx.SetState(items[4].No, chargehand.Running, store.StateReady, store.Waits{}))
	})
	f.view(func(r *store.Reader) error {
		got, err := r.CountItems(b.No)
		if want := (store.StateCounts{0, 0, 1, 2, 1}); got != want {
			f.Errorf("counts %v, want %v", got, want)
		}
		for limit, want := range map[int]int{1: 1, 3: 3, 4: 4, 100: 4} {
			some, counted, err := r.CountItemsAtMost(b.No, limit)
			if err != nil || counted != want || limit > want && some != got {
				f.Errorf("at most %d: %d items %v (%v), want %d", limit, counted, some, err, want)
			}
		}
		return err
	})
}

func batchItems(f *fixture) {
	f.batch(3)
	b, items := f.batch(20)
	f.update(func(tx *store.Tx) error {
		for i := range items {
			var err error
			switch i % 3 {
			case 1:
				_, err = finish(tx, items[i].No, startMs+7, "1")
			case 2:
				_, err = fault(tx, items[i].No, startMs+8)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	for i := range items {
		items[i] = f.byNo(items[i].No)
	}
	for _, statuses := range [][]chargehand.Status{nil, {chargehand.Finished}, {chargehand.Errored, chargehand.Initial}, {chargehand.Processing}} {
		want := wanted(items, store.ExecutionFilter{Account: 1, Environment: chargehand.Live, Statuses: statuses})
		for _, limit := range []int{1, 6, 20, 1000} {
			var got []store.Execution
			for after := int64(-1); ; {
				n := 0
				f.view(func(r *store.Reader) error {
					return r.BatchItems(b.No, after, limit, statuses, func(e *store.Execution) error {
						n, after = n+1, e.Item
						got = append(got, *e)
						return nil
					})
				})
				if n < limit {
					break
				}
			}
			if len(got) != len(want) || len(got) > 0 && !reflect.DeepEqual(got, want) {
				f.Errorf("statuses %v by %d: %d items, or others, want %d", statuses, limit, len(got), len(want))
			}
		}
	}
}

func listBatches(f *fixture) {
	var want []int64
	for i := range 7 {
		b := store.Batch{Account: 1, Environment: chargehand.Live, Workflow: 2, Revision: 1, Concurrency: 1, RequestedConcurrency: 1, Total: 1}
		setID(f, &b.ID, startMs+int64(i/3))
		switch i {
		case 3:
			b.Workflow = 3
		case 4:
			b.Environment = chargehand.Test
		}
		f.update(func(tx *store.Tx) error { return tx.InsertBatch(&b) })
		if i != 3 && i != 4 {
			want = append([]int64{b.No}, want...)
		}
	}
	var got []int64
	var before chargehand.BatchID
	for {
		var page []store.Batch
		f.view(func(r *store.Reader) (err error) {
			page, err = r.ListBatches(store.BatchFilter{Account: 1, Environment: chargehand.Live, Workflow: 2, Before: before, Limit: 2})
			return err
		})
		for _, b := range page {
			got, before = append(got, b.No), b.ID
		}
		if len(page) < 2 {
			break
		}
	}
	if !reflect.DeepEqual(got, want) {
		f.Errorf("batches %v, want %v", got, want)
	}
	f.view(func(r *store.Reader) error {
		active, err := r.ActiveBatches()
		if len(active) != 7 || active[0].No != 1 || active[6].No != 7 {
			f.Errorf("%d active batches, want all 7 in order", len(active))
		}
		return err
	})
}

func batchConcurrency(f *fixture) {
	b, items := f.batch(1)
	f.update(func(tx *store.Tx) error { return tx.SetBatchConcurrency(b.No, 7, 700) })
	if got := f.batchByNo(b.No); got.Concurrency != 7 || got.RequestedConcurrency != 700 {
		f.Errorf("%+v", got)
	}
	f.update(func(tx *store.Tx) error { _, err := finish(tx, items[0].No, startMs, "1"); return err })
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.SetBatchConcurrency(b.No, 8, 8) })
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return markCancelled(tx, b.No) })
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return markCancelled(tx, 999) })
	f.view(func(r *store.Reader) error {
		active, err := r.ActiveBatches()
		if len(active) != 0 {
			f.Errorf("%d active batches after the end", len(active))
		}
		return err
	})
}

func batchRefused(f *fixture) {
	for _, b := range []store.Batch{{Total: 0, Concurrency: 1}, {Total: 1, Concurrency: 0}} {
		setID(f, &b.ID, startMs)
		if err := f.Update(context.Background(), func(tx *store.Tx) error { return tx.InsertBatch(&b) }); err == nil {
			f.Errorf("accepted %+v", b)
		}
	}
	b, _ := f.batch(1) // more items than said
	extra := f.execution(startMs)
	extra.Batch, extra.Item = b.No, 1
	f.insert(&extra)
	f.update(func(tx *store.Tx) error { _, err := finish(tx, extra.No, startMs, "1"); return err })
	first := f.number(`SELECT no FROM execution WHERE batch = ?1 AND item = 0`, b.No)
	if err := f.Update(context.Background(), func(tx *store.Tx) error { _, err := finish(tx, first, startMs, "1"); return err }); err == nil {
		f.Error("a batch counts more items than it has")
	}
}
