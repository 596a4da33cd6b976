package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

var executionTests = map[string]func(*fixture){
	"round trip":                       executionRoundTrip,
	"other tenants do not see it":      executionTenancy,
	"id is unique":                     executionIDUnique,
	"numbers ascend":                   executionNumbersAscend,
	"many at once":                     executionsAtOnce,
	"moves":                            executionMoves,
	"final is final":                   finalIsFinal,
	"one of many ends wins":            oneEndWins,
	"the end takes the work away":      endTakesWork,
	"inserted finished":                insertedFinished,
	"wrong calls are refused":          executionWrongCalls,
	"failures are reported":            failuresReported,
	"payload blobs must be reserved":   payloadReserved,
	"queued singles come in order":     queuedSingles,
	"queued singles of an actor":       queuedSinglesOf,
	"by state":                         byState,
	"counted by workflow and by state": counted,
	"status does not rewrite inputs":   inputAside,
	"outcome is missing until the end": outcomeMissing,
}

func (f *fixture) byNo(no int64) (e store.Execution) {
	f.Helper()
	f.view(func(r *store.Reader) (err error) {
		e, err = r.ExecutionByNo(no)
		return err
	})
	return e
}

func executionRoundTrip(f *fixture) {
	blob := f.blobPayload(1, 1<<20)
	for _, input := range []store.Payload{
		inline(`{}`), inline(string(bytes.Repeat([]byte("x"), 1<<10))), inline(string(bytes.Repeat([]byte("x"), 1<<10+1))),
		inline(string(bytes.Repeat([]byte("y"), 128<<10))), inline("\x00\xff"), blob,
	} {
		e := f.execution(startMs)
		e.Environment, e.Account, e.Workflow, e.Revision, e.Machine = chargehand.Test, 5, 6, 7, 8
		e.ItemID, e.Input = "order 7", input
		e.StartedMs = startMs + 1
		e.Status, e.Phase, e.State = chargehand.HumanInTheLoop, chargehand.Waiting, store.StateParked
		setID(f, &e.RetryOf, startMs-1)
		e.Trace, e.Starter = bytes.Repeat([]byte{0xa7}, 25), 9
		e.Cause, e.CauseID, e.Root, e.StartMs, e.RootBy = store.CauseEvent, "event 7", 10, startMs+11, -12
		f.insert(&e)
		f.view(func(r *store.Reader) error {
			byID, err1 := r.ExecutionByID(5, chargehand.Test, e.ID)
			byNo, err2 := r.ExecutionByNo(e.No)
			found, err3 := r.FindExecution(e.ID)
			for _, got := range []store.Execution{byID, byNo, found} {
				if !reflect.DeepEqual(got, e) {
					f.Errorf("read %+v\nwant %+v", got, e)
				}
			}
			return errors.Join(err1, err2, err3)
		})
	}
}

func executionTenancy(f *fixture) {
	e := f.execution(startMs)
	f.insert(&e)
	f.view(func(r *store.Reader) error {
		_, err1 := r.ExecutionByID(2, chargehand.Live, e.ID)
		_, err2 := r.ExecutionByID(1, chargehand.Test, e.ID)
		_, err3 := r.ExecutionByID(1, chargehand.Live, f.execution(1).ID)
		for _, err := range []error{err1, err2, err3} {
			if !errors.Is(err, store.ErrNotFound) {
				f.Errorf("a foreign execution: %v, want ErrNotFound", err)
			}
		}
		return nil
	})
}

func executionIDUnique(f *fixture) {
	e := f.execution(startMs)
	f.insert(&e)
	again := e
	again.Account, again.Environment = 2, chargehand.Test
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.InsertExecution(&again) })
}

func executionNumbersAscend(f *fixture) {
	var last int64
	for i := range 50 {
		e := f.execution(startMs - int64(i))
		f.insert(&e)
		if e.No <= last {
			f.Errorf("number %d after %d", e.No, last)
		}
		last = e.No
	}
}

// executionsAtOnce inserts rows that need several statements: they are there as if each had been inserted alone, in
// their order, and counted; none of them is if one is refused.
func executionsAtOnce(f *fixture) {
	rows := make([]store.Execution, 150)
	for i := range rows {
		e := f.execution(startMs + int64(i))
		e.Batch, e.Item, e.ItemID = 7, int64(i), fmt.Sprint("item ", i)
		switch {
		case i%50 == 49: // another statement
			e.Cause, e.CauseID = store.CauseEvent, fmt.Sprint("event ", i)
		case i%40 == 39: // an input with a row of its own
			e.Input = inline(string(bytes.Repeat([]byte("x"), 1<<10+i)))
		case i == 100:
			e.Labels = []store.Label{{Name: "a", Value: "b"}}
		}
		rows[i] = e
	}
	refused := append(slices.Clone(rows[:70]), rows[3])
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.InsertExecutions(refused) })
	f.update(func(tx *store.Tx) error { return errors.Join(tx.InsertExecutions(nil), tx.InsertExecutions(rows)) })
	f.view(func(r *store.Reader) error {
		labels, err := r.Labels(rows)
		for i := range rows {
			want := rows[i]
			want.Labels = nil
			got, failed := r.ExecutionByID(want.Account, want.Environment, want.ID)
			if err = errors.Join(err, failed); !reflect.DeepEqual(got, want) {
				f.Errorf("row %d: read %+v\nwant %+v", i, got, want)
			}
			if i > 0 && want.No <= rows[i-1].No {
				f.Errorf("row %d: number %d after %d", i, want.No, rows[i-1].No)
			}
			if has := len(labels[want.No]); has != len(rows[i].Labels) {
				f.Errorf("row %d has %d labels", i, has)
			}
		}
		return err
	})
}

func executionMoves(f *fixture) {
	no := f.inserted()
	f.update(func(tx *store.Tx) error {
		return tx.SetStatus(no, chargehand.Processing, chargehand.Running, store.StateActive, startMs+5, store.Waits{})
	})
	f.update(func(tx *store.Tx) error {
		return tx.SetStatus(no, chargehand.HumanInTheLoop, chargehand.Waiting, store.StateParked, startMs+9, store.Waits{})
	})
	e := f.byNo(no)
	if e.Status != chargehand.HumanInTheLoop || e.Phase != chargehand.Waiting || e.State != store.StateParked || e.StartedMs != startMs+5 {
		f.Errorf("after two moves: %+v, want the second status and the first start", e)
	}
	f.update(func(tx *store.Tx) error { return tx.SetState(no, chargehand.Running, store.StateReady, store.Waits{}) })
	e = f.byNo(no)
	if e.Status != chargehand.HumanInTheLoop || e.Phase != chargehand.Running || e.State != store.StateReady {
		f.Errorf("after SetRun: %+v", e)
	}
}

func finalIsFinal(f *fixture) {
	no := f.inserted()
	f.update(func(tx *store.Tx) error { _, err := finish(tx, no, startMs+1, `"first"`); return err })
	attempts := map[string]func(*store.Tx) error{
		"finish": func(tx *store.Tx) error { _, err := finish(tx, no, startMs+2, `"second"`); return err },
		"fault":  func(tx *store.Tx) error { _, err := fault(tx, no, startMs+2); return err },
		"set running": func(tx *store.Tx) error {
			return tx.SetStatus(no, chargehand.Processing, chargehand.Running, store.StateActive, 1, store.Waits{})
		},
		"set run": func(tx *store.Tx) error { return tx.SetState(no, chargehand.Running, store.StateActive, store.Waits{}) },
	}
	for name, attempt := range attempts {
		f.update(func(tx *store.Tx) error { // the error is for the caller to see: the rest continues
			if err := attempt(tx); !errors.Is(err, store.ErrConflict) {
				f.Errorf("%s after the end: %v, want ErrConflict", name, err)
			}
			return tx.SetMeta(name, []byte("beside"))
		})
	}
	f.view(func(r *store.Reader) error {
		o, err := r.Outcome(no)
		e := f.byNo(no)
		if string(o.Output.Inline) != `"first"` || e.Status != chargehand.Finished || e.FinishedMs != startMs+1 {
			f.Errorf("after more ends: %+v with output %s", e, o.Output.Inline)
		}
		if _, err := r.Meta("fault"); err != nil {
			f.Errorf("what stood beside a lost compare-and-set is gone: %v", err)
		}
		return err
	})
	for _, attempt := range attempts { // of an execution that is not there
		no = 999
		f.refused(store.ErrConflict, attempt)
	}
}

func oneEndWins(f *fixture) {
	no := f.inserted()
	var wg sync.WaitGroup
	var wins atomic.Int64
	var winner atomic.Value
	for i := range 50 {
		wg.Go(func() {
			output := fmt.Sprintf(`"%d"`, i)
			err := f.Update(context.Background(), func(tx *store.Tx) error { _, err := finish(tx, no, startMs+int64(i)+1, output); return err })
			switch {
			case err == nil:
				wins.Add(1)
				winner.Store(output)
			case !errors.Is(err, store.ErrConflict):
				f.Errorf("end %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if wins.Load() != 1 {
		f.Fatalf("%d ends won", wins.Load())
	}
	f.view(func(r *store.Reader) error {
		o, err := r.Outcome(no)
		if string(o.Output.Inline) != winner.Load() {
			f.Errorf("output %s, but %s had won", o.Output.Inline, winner.Load())
		}
		return err
	})
}

func endTakesWork(f *fixture) {
	event, state := f.blobPayload(1, 1<<20), f.blobPayload(2, 2<<20)
	ended, other := f.inserted(), f.inserted()
	for _, no := range []int64{ended, other} {
		f.update(func(tx *store.Tx) error {
			return errors.Join(
				tx.AppendJournal(&store.JournalRow{Execution: no, Seq: 1, Event: inline("e")}),
				tx.AppendJournal(&store.JournalRow{Execution: no, Seq: 2, Event: event}),
				tx.PutCheckpoint(&store.Checkpoint{Execution: no, Seq: 1, State: state}),
				tx.PutTimer(store.Timer{Environment: chargehand.Live, Execution: no, Command: 1, DueMs: 5}),
				tx.AppendTimelineChunk(no, []byte("chunk")))
		})
	}
	f.update(func(tx *store.Tx) error { _, err := fault(tx, ended, startMs+1); return err })
	for _, table := range []string{"journal", "checkpoint", "timer"} {
		if n := f.number(`SELECT COUNT(*) FROM `+table+` WHERE execution = ?1`, ended); n != 0 {
			f.Errorf("%d rows of %s are left", n, table)
		}
		if n := f.number(`SELECT COUNT(*) FROM `+table+` WHERE execution = ?1`, other); n == 0 {
			f.Errorf("another execution's %s is gone", table)
		}
	}
	f.view(func(r *store.Reader) error {
		o, err := r.Outcome(ended)
		if o.Output.Inline != nil || string(o.Fault) != `{"status":500}` {
			f.Errorf("outcome %+v", o)
		}
		chunks, err2 := r.TimelineChunks(ended)
		if len(chunks) != 1 {
			f.Errorf("the timeline is gone: %v", chunks)
		}
		return errors.Join(err, err2)
	})
}

func insertedFinished(f *fixture) {
	e := f.execution(startMs)
	e.Status, e.Phase, e.State, e.StartedMs, e.FinishedMs = chargehand.Finished, chargehand.Completed, store.StateEnded, startMs, startMs+1
	o := store.Outcome{Output: f.blobPayload(3, 1<<20), Files: []byte(`["a"]`), Timeline: []byte("t")}
	f.update(func(tx *store.Tx) error { return tx.InsertFinished(&e, &o) })
	if got := f.byNo(e.No); !reflect.DeepEqual(got, e) {
		f.Errorf("read %+v\nwant %+v", got, e)
	}
	f.view(func(r *store.Reader) error {
		got, err := r.Outcome(e.No)
		if !reflect.DeepEqual(got, o) || o.Execution != e.No {
			f.Errorf("outcome %+v\nwant %+v", got, o)
		}
		return err
	})
	f.refused(store.ErrConflict, func(tx *store.Tx) error { _, err := fault(tx, e.No, startMs+2); return err })
}

// failuresReported: who asks learns of executions that ended in error once they are committed, and of no others.
func failuresReported(f *fixture) {
	var reported []store.Failure
	f.OnFailure(func(list []store.Failure) { reported = append(reported, list...) })
	first, second, third, fourth := f.execution(startMs), f.execution(startMs), f.execution(startMs), f.execution(startMs)
	first.Workflow = 7
	f.insert(&first, &second, &third)
	undone := errors.New("undone")
	f.refused(undone, func(tx *store.Tx) error {
		_, err := fault(tx, first.No, startMs)
		return errors.Join(err, undone)
	})
	f.update(func(tx *store.Tx) error { _, err := finish(tx, second.No, startMs, "1"); return err })
	if len(reported) != 0 {
		f.Errorf("reported of %+v before anything was committed", reported)
	}
	fourth.Status, fourth.Phase, fourth.State, fourth.FinishedMs = chargehand.Errored, chargehand.Cancelled, store.StateEnded, startMs
	f.update(func(tx *store.Tx) error {
		_, err := fault(tx, first.No, startMs)
		return errors.Join(err, tx.InsertFinished(&fourth, &store.Outcome{Fault: []byte("{}")}))
	})
	f.refused(store.ErrConflict, func(tx *store.Tx) error { _, err := fault(tx, first.No, startMs+1); return err })
	want := []store.Failure{
		{ID: first.ID, Workflow: 7, Phase: chargehand.Faulted, Fault: []byte(`{"status":500}`)},
		{ID: fourth.ID, Workflow: 1, Phase: chargehand.Cancelled, Fault: []byte("{}")},
	}
	if !reflect.DeepEqual(reported, want) {
		f.Errorf("reported of %+v\nwant %+v", reported, want)
	}
}

func executionWrongCalls(f *fixture) {
	no := f.inserted()
	queued := f.execution(startMs)
	item := f.execution(startMs)
	item.Status, item.State, item.FinishedMs, item.Batch = chargehand.Finished, store.StateEnded, 1, 1
	calls := map[string]func(*store.Tx) error{
		"state ended": func(tx *store.Tx) error {
			return tx.SetStatus(no, chargehand.Processing, 1, store.StateEnded, 1, store.Waits{})
		},
		"final status running": func(tx *store.Tx) error {
			return tx.SetStatus(no, chargehand.Errored, 1, store.StateActive, 1, store.Waits{})
		},
		"SetRun ended": func(tx *store.Tx) error { return tx.SetState(no, 1, store.StateEnded, store.Waits{}) },
		"finish, not final": func(tx *store.Tx) error {
			_, err := tx.FinishExecution(no, chargehand.Processing, 1, 1, 1, &store.Outcome{})
			return err
		},
		"finish without time": func(tx *store.Tx) error {
			_, err := tx.FinishExecution(no, chargehand.Finished, 1, 1, 0, &store.Outcome{})
			return err
		},
		"insert finished, queued": func(tx *store.Tx) error { return tx.InsertFinished(&queued, &store.Outcome{}) },
		"insert finished item":    func(tx *store.Tx) error { return tx.InsertFinished(&item, &store.Outcome{}) },
	}
	for name, call := range calls {
		if err := f.Update(context.Background(), call); err == nil || errors.Is(err, store.ErrConflict) {
			f.Errorf("%s: %v, want an error that is no sentinel", name, err)
		}
	}
	if e := f.byNo(no); e.State != store.StateQueued {
		f.Errorf("refused calls changed %+v", e)
	}
}

func payloadReserved(f *fixture) {
	e := f.execution(startMs)
	e.Input = store.Payload{Blob: make([]byte, 32), Size: 5}
	f.refused(store.ErrNotFound, func(tx *store.Tx) error { return tx.InsertExecution(&e) })
	no := f.inserted()
	f.refused(store.ErrNotFound, func(tx *store.Tx) error {
		return tx.AppendJournal(&store.JournalRow{Execution: no, Seq: 1, Event: e.Input})
	})
	if n := f.number(`SELECT COUNT(*) FROM journal`); n != 0 {
		f.Error("an event without its blob was kept")
	}
}

func queuedSingles(f *fixture) {
	var want []int64
	for i := range 10 {
		e := f.execution(startMs - int64(i)) // ids descend, numbers ascend
		if i == 3 {
			e.State, e.Status = store.StateActive, chargehand.Processing
		}
		if i == 5 {
			e.Batch, e.Item = 9, 0
		}
		if i == 6 {
			e.Environment = chargehand.Test
		}
		if i == 7 {
			e.Workflow++
		}
		f.insert(&e)
		if i != 3 && i != 5 && i != 6 && i != 7 {
			want = append(want, e.No)
		}
	}
	var got []int64
	f.view(func(r *store.Reader) error {
		first := f.execution(startMs)
		page, err := r.QueuedSingles(first.Account, first.Environment, first.Workflow, 100)
		for _, e := range page {
			got = append(got, e.No)
			if string(e.Input.Inline) != `{"n":1}` {
				f.Errorf("input %q", e.Input.Inline)
			}
		}
		few, err2 := r.QueuedSingles(first.Account, first.Environment, first.Workflow, 2)
		if len(few) != 2 || few[0].No != want[0] {
			f.Errorf("the first two are %+v", few)
		}
		all, err3 := r.QueuedWorkflows()
		if len(all) != 3 {
			f.Errorf("workflows with queued executions are %+v", all)
		}
		return errors.Join(err, err2, err3)
	})
	if !reflect.DeepEqual(got, want) {
		f.Errorf("queued %v, want %v", got, want)
	}
}

func byState(f *fixture) {
	want := map[store.ExecutionState][]int64{}
	f.update(func(tx *store.Tx) error {
		b := store.Batch{Account: 1, Environment: chargehand.Live, Workflow: 1, Revision: 1, Concurrency: 1, RequestedConcurrency: 1, Total: 100}
		setID(f, &b.ID, startMs)
		return tx.InsertBatch(&b)
	})
	for _, batch := range []int64{0, 1} { // in the order in which they are to be read
		for i := range 12 {
			e := f.execution(startMs)
			e.State = store.ExecutionState(1 + i%4)
			if e.Batch = batch; batch != 0 {
				e.Item = int64(i)
			}
			f.insert(&e)
			want[e.State] = append(want[e.State], e.No)
		}
	}
	for run := store.StateQueued; run <= store.StateParked; run++ {
		var got []int64
		f.view(func(r *store.Reader) error {
			for last := (*store.Execution)(nil); ; {
				page, err := r.ExecutionsByState(run, last, 2)
				if err != nil || len(page) == 0 {
					return err
				}
				for _, e := range page {
					got = append(got, e.No)
				}
				last = &page[len(page)-1]
			}
		})
		if !reflect.DeepEqual(got, want[run]) {
			f.Errorf("run %d: %v, want %v", run, got, want[run])
		}
	}
}

// queuedSinglesOf: what an actor has queued is what it has started, and what that has started in turn.
func queuedSinglesOf(f *fixture) {
	queue := store.QueuedWorkflow{Account: 1, Environment: chargehand.Live, Workflow: 1}
	want := map[store.QueuedActor][]int64{}
	for i := range 40 {
		e := f.execution(startMs - int64(i)) // ids descend, numbers ascend
		actor := []int64{0, 3, -3, 4}[i%4]
		e.StartedBy = actor
		if i%8 >= 4 { // a child
			e.StartedBy, e.Root, e.RootBy = 0, 7, actor
		}
		switch i {
		case 9: // runs
			e.State, e.Status = store.StateActive, chargehand.Processing
		case 11:
			e.Batch, e.Item = 9, 0
		case 13:
			e.Environment = chargehand.Test
		case 21:
			e.Workflow++
		case 29:
			e.Account++
		}
		if f.insert(&e); i != 9 && i != 11 {
			of := store.QueuedActor{QueuedWorkflow: e.Queue(), Actor: actor}
			want[of] = append(want[of], e.No)
		}
		if e.Actor() != actor {
			f.Errorf("%+v is of %d, want %d", e, e.Actor(), actor)
		}
	}
	f.view(func(r *store.Reader) error {
		all, err := r.QueuedActors()
		if err != nil || len(all) != len(want) || len(all) != 7 {
			f.Errorf("%+v have something queued (%v), want %d", all, err, len(want))
		}
		for _, of := range all {
			page, err := r.QueuedSinglesOf(of.Actor, of.Account, of.Environment, of.Workflow, 100)
			if err != nil {
				return err
			}
			var got []int64
			for _, e := range page {
				got = append(got, e.No)
			}
			if !reflect.DeepEqual(got, want[of]) {
				f.Errorf("%+v has queued %v, want %v", of, got, want[of])
			}
		}
		few, err := r.QueuedSinglesOf(3, queue.Account, queue.Environment, queue.Workflow, 2)
		if len(few) != 2 || few[1].No != want[store.QueuedActor{QueuedWorkflow: queue, Actor: 3}][1] {
			f.Errorf("with a limit of two: %+v", few)
		}
		return err
	})
}

func counted(f *fixture) {
	for i := range 20 {
		e := f.execution(startMs)
		e.Workflow = int64(1 + i%3)
		if i >= 10 {
			e.State, e.Status = store.ExecutionState(2+i%3), chargehand.Processing
		}
		f.insert(&e)
	}
	ended := f.inserted()
	f.update(func(tx *store.Tx) error { _, err := finish(tx, ended, startMs, "1"); return err })
	f.view(func(r *store.Reader) error {
		queued, err1 := r.QueuedWorkflows()
		want := map[store.QueuedWorkflow]int64{}
		for workflow, n := range map[int64]int64{1: 4, 2: 3, 3: 3} {
			want[store.QueuedWorkflow{Account: 1, Environment: chargehand.Live, Workflow: workflow}] = n
		}
		if !reflect.DeepEqual(queued, want) {
			f.Errorf("queued by workflow %v, want %v", queued, want)
		}
		unfinished, err2 := r.CountUnfinished()
		if want := (store.StateCounts{0, 10, 3, 4, 3, 0}); unfinished != want {
			f.Errorf("unfinished %v, want %v", unfinished, want)
		}
		bounded, err3 := r.CountUnfinishedAtMost(4)
		if want := (store.StateCounts{0, 4, 3, 4, 3, 0}); bounded != want {
			f.Errorf("unfinished, at most 4 each, %v, want %v", bounded, want)
		}
		return errors.Join(err1, err2, err3)
	})
}

func inputAside(f *fixture) {
	e := f.execution(startMs)
	e.Input = inline(string(bytes.Repeat([]byte("z"), 100_000)))
	f.insert(&e)
	f.update(func(tx *store.Tx) error {
		return tx.SetStatus(e.No, chargehand.Processing, chargehand.Running, store.StateActive, startMs, store.Waits{})
	})
	if got := f.byNo(e.No); !bytes.Equal(got.Input.Inline, e.Input.Inline) || got.Input.Size != 100_000 {
		f.Errorf("input has %d bytes after a move", len(got.Input.Inline))
	}
	if n := f.number(`SELECT COALESCE(length(input), 0) FROM execution WHERE no = ?1`, e.No); n != 0 {
		f.Errorf("%d bytes of a large input are in the row that every move writes", n)
	}
}

func outcomeMissing(f *fixture) {
	no := f.inserted()
	f.view(func(r *store.Reader) error {
		if _, err := r.Outcome(no); !errors.Is(err, store.ErrNotFound) {
			f.Errorf("outcome before the end: %v, want ErrNotFound", err)
		}
		if _, err := r.ExecutionByNo(999); !errors.Is(err, store.ErrNotFound) {
			f.Errorf("unknown number: %v, want ErrNotFound", err)
		}
		return nil
	})
}
