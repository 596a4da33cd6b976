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
