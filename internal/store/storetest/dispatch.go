package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

var dispatchTests = map[string]func(*fixture){
	"account is locked":                 accountLocked,
	"sources":                           sources,
	"accounts that wait":                waitingAccounts,
	"start queued":                      startQueued,
	"start queued in turn":              nextQueued,
	"woken in the order of waking":      nextReady,
	"marked twice is a conflict":        markedTwice,
	"report":                            report,
	"report after the end":              reportFinal,
	"suspend and resume":                suspendAndResume,
	"report of a suspended execution":   reportSuspended,
	"queue of a workflow":               queuedAtLeast,
	"numbered timeline chunks":          numberedChunks,
	"last chunk of an end from outside": lastChunk,
	"items to be cancelled":             lockItems,
	"statuses":                          statuses,
	"rows with ids":                     rowsWithIDs,
	"activity":                          activity,
	"scan of unfinished executions":     scanUnfinished,
	"batches that are cancelled":        cancelledBatches,
	"executions with large inputs":      candidateInputs,
	"what is read with a row locked":    lockExecution,
}

func (f *fixture) account() int64 {
	f.Helper()
	a := store.Account{Name: "test", CreatedMs: startMs}
	setID(f, &a.ID, startMs)
	f.update(func(tx *store.Tx) error { return tx.InsertAccount(&a) })
	return a.No
}

func accountLocked(f *fixture) {
	no := f.account()
	f.update(func(tx *store.Tx) error { return tx.LockAccount(no) })
	f.refused(store.ErrNotFound, func(tx *store.Tx) error { return tx.LockAccount(999) })
}

// reportAs moves a queued execution as a dispatcher and its workflow would.
func (f *fixture) reportAs(no int64, run store.ExecutionState, wakeMs int64) {
	f.Helper()
	f.update(func(tx *store.Tx) error {
		if err := tx.SetStatus(no, chargehand.Processing, chargehand.Running, store.StateActive, startMs, store.Waits{}); err != nil {
			return err
		}
		s, err := tx.ReportState(no, 1, chargehand.Waiting, run, false, wakeMs, store.Waits{})
		if !s.Changed || s.State != run {
			f.Errorf("reported %d: %+v", no, s)
		}
		return err
	})
}

func report(f *fixture) {
	no := f.inserted()
	f.reportAs(no, store.StateParked, 5) // number 1
	set := func(number int64, phase chargehand.Phase, run store.ExecutionState) (s store.Reported) {
		f.update(func(tx *store.Tx) (err error) {
			s, err = tx.ReportState(no, number, phase, run, false, 7, store.Waits{})
			return err
		})
		return s
	}
	if got := set(3, chargehand.Running, store.StateReady); !reflect.DeepEqual(got, store.Reported{Changed: true, Report: 3, State: store.StateReady, Account: 1}) {
		f.Errorf("report 3: %+v", got)
	}
	f.update(func(tx *store.Tx) error {
		rows, err := tx.NextReady(1, singles, 1)
		return errors.Join(err, tx.GrantReady(rows))
	})
	for _, number := range []int64{3, 2, 1} { // repeated, and late
		if got := set(number, chargehand.Waiting, store.StateParked); got.Changed || got.Final || got.Report != 3 || got.State != store.StateActive {
			f.Errorf("report %d after 3: %+v", number, got)
		}
	}
	if e := f.byNo(no); e.State != store.StateActive || e.Phase != chargehand.Running {
		f.Errorf("after late attempts: %+v", e)
	}
	if got := set(4, chargehand.Waiting, store.StateParked); !got.Changed || f.byNo(no).Phase != chargehand.Waiting {
		f.Errorf("report 4: %+v", got)
	}
	for _, run := range []store.ExecutionState{store.StateEnded, store.StateQueued} {
		err := f.Update(f.Context(), func(tx *store.Tx) error {
			_, err := tx.ReportState(no, 9, chargehand.Running, run, false, 0, store.Waits{})
			return err
		})
		if err == nil {
			f.Errorf("reported state %d", run)
		}
	}
}

func reportFinal(f *fixture) {
	no := f.inserted()
	f.update(func(tx *store.Tx) error { _, err := finish(tx, no, startMs, "1"); return err })
	for _, no := range []int64{no, 999} {
		f.update(func(tx *store.Tx) error {
			s, err := tx.ReportState(no, 5, chargehand.Running, store.StateReady, false, 1, store.Waits{})
			if !s.Final || s.Changed {
				f.Errorf("reported after the end: %+v", s)
			}
			return err
		})
	}
}

func numberedChunks(f *fixture) {
	no := f.inserted()
	put := func(no, number int64, data string) {
		f.update(func(tx *store.Tx) error { return tx.PutTimelineChunk(no, number, []byte(data)) })
	}
	put(no, 2, "b")
	put(no, 1, "a")
	put(no, 2, "again")
	put(999, 1, "of no account")
	f.view(func(r *store.Reader) error {
		chunks, err := r.TimelineChunks(no)
		if got := string(bytes.Join(chunks, []byte(" "))); got != "a b" {
			f.Errorf("chunks %q", got)
		}
		return err
	})
}

func lastChunk(f *fixture) {
	running, ended := f.inserted(), f.inserted()
	f.update(func(tx *store.Tx) error { _, err := finish(tx, ended, startMs+1, "1"); return err })
	open := func() (open []int64) {
		f.view(func(r *store.Reader) (err error) {
			open, err = r.OpenTimelines([]int64{running, ended, 999})
			return err
		})
		return open
	}
	if got := open(); !slices.Equal(got, []int64{ended}) {
		f.Errorf("timelines are open of %v, want %d", got, ended)
	}
	for _, data := range []string{"a", "b"} { // the first one counts
		f.update(func(tx *store.Tx) error {
			return errors.Join(tx.CompleteTimeline(running, []byte(data)), tx.CompleteTimeline(ended, []byte(data)), tx.CompleteTimeline(999, []byte(data)))
		})
	}
	f.view(func(r *store.Reader) error {
		o, err := r.Outcome(ended)
		if string(o.Timeline) != "a" {
			f.Errorf("the last chunk is %q", o.Timeline)
		}
		return err
	})
	if got := open(); got != nil {
		f.Errorf("timelines are open of %v", got)
	}
}

func lockItems(f *fixture) {
	b, items := f.batch(6)
	f.reportAs(items[0].No, store.StateActive, 0)
	f.reportAs(items[1].No, store.StateParked, 0)
	f.reportAs(items[2].No, store.StateReady, 1)
	f.update(func(tx *store.Tx) error { _, err := finish(tx, items[3].No, startMs, "1"); return err })
	f.inserted()
	ended := 1
	for range 10 {
		f.update(func(tx *store.Tx) error {
			rows, err := tx.LockItems(1, b.No, 2)
			for _, row := range rows {
				if row.State == store.StateEnded || row.Batch != b.No {
					f.Errorf("locked %+v", row)
				}
				_, err := fault(tx, row.No, startMs)
				ended++
				if err != nil {
					return err
				}
			}
			return err
		})
	}
	if ended != 6 || !f.batchByNo(b.No).Status.Final() {
		f.Errorf("%d items have ended, the batch is %+v", ended, f.batchByNo(b.No))
	}
}

func statuses(f *fixture) {
	b, items := f.batch(30)
	ids := [][16]byte{b.ID}
	want := map[[16]byte]int64{b.ID: int64(chargehand.BatchPending)}
	for i := range items {
		ids = append(ids, items[i].ID)
		want[items[i].ID] = int64(chargehand.Initial)
	}
	read := func(ids [][16]byte) map[[16]byte]int64 {
		got := map[[16]byte]int64{}
		f.view(func(r *store.Reader) error {
			return r.Statuses(ids, func(id [16]byte, status int64) { got[id] = status })
		})
		return got
	}
	if got := read(ids); !reflect.DeepEqual(got, want) {
		f.Errorf("statuses %v", got)
	}
	f.reportAs(items[4].No, store.StateActive, 0)
	if got := read(ids); got[items[4].ID] != int64(chargehand.Processing) || got[b.ID] != int64(chargehand.BatchRunning) {
		f.Errorf("after a start: %v", got)
	}
	if got := read([][16]byte{{1, 2, 3}}); len(got) != 0 {
		f.Errorf("of an unknown id: %v", got)
	}
	if got := read(nil); len(got) != 0 {
		f.Errorf("of no id: %v", got)
	}
	err := f.View(f.Context(), func(r *store.Reader) error {
		return r.Statuses(make([][16]byte, store.MaxStatuses+1), func([16]byte, int64) {})
	})
	if err == nil {
		f.Error("too many ids were accepted")
	}
}

func activity(f *fixture) {
	b, items := f.batch(30)
	f.reportAs(items[4].No, store.StateActive, 0)
	f.view(func(r *store.Reader) error {
		a, err := r.WorkflowActivity(b.Workflow, chargehand.Live, 0, 20)
		if err != nil {
			return err
		}
		newest := slices.MaxFunc(items, func(a, b store.Execution) int { return bytes.Compare(a.ID[:], b.ID[:]) })
		if a.Counts[chargehand.Initial] != 20 || a.Counts[chargehand.Processing] != 1 || len(a.Counts) != 2 || a.Last != newest.ID {
			f.Errorf("activity %+v, want the last %s", a, newest.ID)
		}
		if a, err = r.WorkflowActivity(b.Workflow, chargehand.Test, 0, 20); err != nil || len(a.Counts) != 0 || !a.Last.IsZero() {
			f.Errorf("activity in test %+v, %v", a, err)
		}
		if a, err = r.WorkflowActivity(b.Workflow, chargehand.Live, items[29].ID.Time().UnixMilli()+1000, 20); err != nil || len(a.Counts) != 0 || a.Last != newest.ID {
			f.Errorf("activity since later %+v, %v", a, err)
		}
		return nil
	})
}

func rowsWithIDs(f *fixture) {
	b, items := f.batch(30)
	other, _ := f.batch(3)
	no := f.inserted()
	f.reportAs(items[4].No, store.StateActive, 0)
	f.view(func(r *store.Reader) error {
		single, err := r.ExecutionByNo(no)
		if err != nil {
			return err
		}
		list, err := r.ExecutionsWithIDs([][16]byte{items[4].ID, single.ID, {1, 2, 3}})
		if err != nil {
			return err
		}
		for _, e := range list {
			want, err := r.ExecutionByNo(e.No)
			want.Input = e.Input // it is not read
			if err != nil || !reflect.DeepEqual(e, want) {
				f.Errorf("read %+v, want %+v, %v", e, want, err)
			}
		}
		if len(list) != 2 {
			f.Errorf("read %d executions", len(list))
		}
		batches, err := r.BatchesWithIDs([][16]byte{other.ID, b.ID, single.ID})
		if err != nil {
			return err
		}
		for _, got := range batches {
			if want, err := r.BatchByNo(got.No); err != nil || !reflect.DeepEqual(got, want) {
				f.Errorf("read %+v, want %+v, %v", got, want, err)
			}
		}
		counts, err := r.CountItemsOf([]int64{b.No, other.No, 1 << 40})
		if err != nil {
			return err
		}
		for _, no := range []int64{b.No, other.No, 1 << 40} {
			if want, err := r.CountItems(no); err != nil || counts[no] != want {
				f.Errorf("batch %d: counted %v, want %v, %v", no, counts[no], want, err)
			}
		}
		if len(batches) != 2 || counts[b.No] != (store.StateCounts{store.StateActive: 1}) || len(counts) != 1 {
			f.Errorf("read %d batches and the counts %v", len(batches), counts)
		}
		return nil
	})
	err := f.View(f.Context(), func(r *store.Reader) error {
		_, err := r.ExecutionsWithIDs(make([][16]byte, store.MaxStatuses+1))
		return err
	})
	if err == nil {
		f.Error("too many ids were accepted")
	}
}

func scanUnfinished(f *fixture) {
	var want []int64
	for account := int64(1); account <= 3; account++ {
		for i := range 5 {
			e := f.execution(startMs)
			e.Account = account
			f.insert(&e)
			if i != 2 {
				f.reportAs(e.No, store.StateParked, 0)
				want = append(want, e.No)
			}
		}
	}
	var got []int64
	f.view(func(r *store.Reader) error {
		for after := (*store.Execution)(nil); ; {
			page, err := r.ScanUnfinished(store.StateParked, after, 2)
			if err != nil || len(page) == 0 {
				return err
			}
			for _, e := range page {
				got = append(got, e.No)
			}
			after = &page[len(page)-1]
		}
	})
	if !reflect.DeepEqual(got, want) {
		f.Errorf("walked through %v, want %v", got, want)
	}
}

func cancelledBatches(f *fixture) {
	f.batch(1)
	marked, _ := f.batch(1)
	ended, items := f.batch(1)
	f.update(func(tx *store.Tx) error {
		_, err := fault(tx, items[0].No, startMs)
		return errors.Join(markCancelled(tx, marked.No), err)
	})
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return markCancelled(tx, ended.No) })
	f.view(func(r *store.Reader) error {
		list, err := r.CancelledBatches()
		if len(list) != 1 || list[0].ID != marked.ID || !list[0].CancelRequested {
			f.Errorf("cancelled: %+v", list)
		}
		return err
	})
}

func candidateInputs(f *fixture) {
	large := f.execution(startMs)
	large.Input = inline(string(bytes.Repeat([]byte("x"), 1<<10+1)))
	blob := f.execution(startMs)
	blob.Input = f.blobPayload(1, 1<<20)
	none := f.execution(startMs)
	none.Input = store.Payload{}
	small := f.execution(startMs)
	f.insert(&large, &blob, &none, &small)
	f.update(func(tx *store.Tx) error {
		rows, err := tx.NextQueued(1, singles, 9)
		got := ""
		for _, row := range rows {
			got += fmt.Sprintf("%v %d %v,", row.InputApart, len(row.Input.Inline), row.Input.Blob != nil)
		}
		if want := "true 0 false,false 0 true,false 0 false,false 7 false,"; got != want {
			f.Errorf("inputs %q, want %q", got, want)
		}
		return err
	})
}

func lockExecution(f *fixture) {
	no := f.inserted()
	f.update(func(tx *store.Tx) error {
		e, err := tx.LockExecution(no)
		if e.No != no || e.State != store.StateQueued {
			f.Errorf("locked %+v", e)
		}
		if _, err := tx.LockExecution(999); !errors.Is(err, store.ErrNotFound) {
			f.Errorf("locked what is not there: %v", err)
		}
		return err
	})
}
