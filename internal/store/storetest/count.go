package storetest

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

var countTests = map[string]func(*fixture){
	"keys are those of the list":  keysOfLists,
	"failures by their marks":     failuresRead,
	"failures that are looked at": failuresExamined,
	"what is done now":            countNow,
	"the oldest":                  oldestUnfinished,
}

// conditions are filters of lists beside those of randomFilter, one for each index and each column.
func conditions(first chargehand.ExecutionID) []store.ExecutionFilter {
	with := func(c store.Conditions) store.ExecutionFilter { return store.ExecutionFilter{Conditions: c} }
	team := &store.Label{Name: "team", Value: "a"}
	return []store.ExecutionFilter{
		{}, {Workflow: 1}, {StartedBy: 7}, {StartedBy: -7}, {Workflow: 1, StartedBy: -7}, {Except: []int64{1}}, {StartedBy: 7, Except: []int64{1, 2}},
		{Statuses: []chargehand.Status{chargehand.Errored}}, {Phases: []chargehand.Phase{chargehand.Faulted, chargehand.Waiting}},
		{CreatedAfterMs: startMs + 5, CreatedBeforeMs: startMs + 30}, {Batch: 1}, {Batch: 1, Part: true, StartedBy: 7},
		with(store.Conditions{ErrorCodes: []string{"a"}}), with(store.Conditions{ErrorCodes: []string{"a", "b"}}),
		{Workflow: 1, Conditions: store.Conditions{ErrorCodes: []string{"a"}}}, {Batch: 1, Conditions: store.Conditions{ErrorCodes: []string{"a"}}},
		with(store.Conditions{Waits: []store.WaitKind{store.WaitTimer, store.WaitEvent}}), with(store.Conditions{WaitsForSlot: true}),
		with(store.Conditions{WaitsForSlot: true, Waits: []store.WaitKind{store.WaitTimer}}), {Batch: 1, Conditions: store.Conditions{Label: team}},
		{Batch: 1, Conditions: store.Conditions{Label: team, Inherited: true}}, {Batch: 1, Part: true, Conditions: store.Conditions{Label: team, Inherited: true, ErrorCodes: []string{"a"}}},
		with(store.Conditions{Label: team}), with(store.Conditions{Label: team, ErrorCodes: []string{"a"}}), with(store.Conditions{Labels: []store.Label{*team}}),
		{StartedBy: -7, Conditions: store.Conditions{Label: team}}, with(store.Conditions{Root: 1}), with(store.Conditions{Root: 1, ErrorCodes: []string{"a"}}),
		with(store.Conditions{RetryOf: first}), with(store.Conditions{RetryOf: first, Root: 1, Label: team}), {Workflow: 1, StartedBy: -7, Conditions: store.Conditions{RetryOf: first}},
		{Batch: 1, Conditions: store.Conditions{RetryOf: first}}, with(store.Conditions{RetryOf: first, ErrorCodes: []string{"a"}}),
		with(store.Conditions{Failure: &store.FaultMarks{}}), with(store.Conditions{ErrorCodes: []string{"a"}, Failure: &store.FaultMarks{At: "/do/0/x"}}),
		with(store.Conditions{Causes: []string{"api", "batch", "parent", "schedule", "event", "retry"}}), with(store.Conditions{Causes: []string{"batch"}}),
		with(store.Conditions{Versions: []string{"1.0.0"}}), with(store.Conditions{MinDurationMs: 3, NowMs: startMs + 9}), with(store.Conditions{Search: "a"}),
		with(store.Conditions{Search: "0000000a"}),
	}
}

// failing inserts executions of many kinds, of which some have failed with a few codes and texts, and others were
// cancelled. One batch has some of them. They are returned with the newest first.
func failing(f *fixture, n int) []store.Execution {
	r := rand.New(rand.NewPCG(8, 3))
	b := store.Batch{Account: 1, Environment: chargehand.Live, Workflow: 1, Revision: 1, Concurrency: 2, RequestedConcurrency: 2, Total: 9, Labels: []store.Label{{Name: "team", Value: "a"}}}
	setID(f, &b.ID, startMs)
	all := make([]store.Execution, n)
	for i := range all {
		e := f.execution(startMs + int64(i/3))
		e.Workflow, e.StartedBy = 1+r.Int64N(2), []int64{0, 7, -7}[r.IntN(3)]
		if i%20 == 7 {
			e.Account = 2
		}
		if r.IntN(3) == 0 {
			e.Labels = []store.Label{{Name: "team", Value: string(rune('a' + r.IntN(2)))}}
		}
		if r.IntN(4) == 0 && i > 9 {
			e.State, e.Status, e.Phase, e.StartedMs = store.StateParked, chargehand.Processing, chargehand.Waiting, startMs
			e.Waits = store.Waits{Kind: store.WaitTimer, UntilMs: startMs + 3}
		}
		if i < 9 {
			e.Account, e.Workflow, e.Item, e.Labels = 1, 1, int64(i), nil
			if i == 4 || i == 6 { // of its own, the one of the batch and another one
				e.Labels = []store.Label{{Name: "team", Value: string(rune('a' + (i-4)/2))}}
			}
			b.LastItem = e.ID
		}
		if i > 0 && i%4 == 1 {
			e.RetryOf = all[0].ID
		}
		all[i] = e
	}
	f.update(func(tx *store.Tx) error {
		if err := tx.InsertBatch(&b); err != nil {
			return err
		}
		for i := range all {
			e := &all[i]
			if i < 9 {
				e.Batch = b.No
			}
			if err := tx.InsertExecution(e); err != nil {
				return err
			}
			if e.State == store.StateParked || r.IntN(5) == 0 {
				continue
			}
			e.State, e.FinishedMs, e.Status = store.StateEnded, startMs+r.Int64N(50), chargehand.Errored
			e.Phase = []chargehand.Phase{chargehand.Faulted, chargehand.Faulted, chargehand.Cancelled}[r.IntN(3)]
			text := `{"code":"` + string(rune('a'+r.IntN(2))) + `","instance":"/do/0/x","detail":"order ` + string(rune('0'+r.IntN(9))) + ` is gone"}`
			if _, err := tx.FinishExecution(e.No, e.Status, e.Phase, startMs, e.FinishedMs, &store.Outcome{Fault: []byte(text)}); err != nil {
				return err
			}
		}
		return nil
	})
	slices.SortFunc(all, func(a, b store.Execution) int { return bytes.Compare(b.ID[:], a.ID[:]) })
	return all
}

// keysOfLists: for every condition, in both orders, the keys are those of the rows of a list, and so many are counted;
// failures are those of the rows that have failed. What the items of a batch inherit is what they have.
func keysOfLists(f *fixture) {
	listed, grouped := 0, 0
	for _, filter := range conditions(failing(f, 90)[89].ID) {
		filter.Account, filter.Environment, filter.Limit = 1, chargehand.Live, 1000
		f.view(func(r *store.Reader) error {
			for _, filter.Ascending = range []bool{false, true} {
				rows, err1 := r.ListExecutions(filter)
				keys, err2 := r.ExecutionKeys(filter)
				failed := filter
				failed.Failed = true
				failures, err3 := r.Failures(failed)
				if err := errors.Join(err1, err2, err3); err != nil {
					return err
				}
				var want []store.ExecutionKey
				var wantFailed []store.ExecutionKey
				for i := range rows {
					key := store.ExecutionKey{No: rows[i].No, ID: rows[i].ID}
					if want = append(want, key); rows[i].Phase == chargehand.Faulted {
						wantFailed = append(wantFailed, key)
					}
				}
				var got []store.ExecutionKey
				for _, one := range failures {
					got = append(got, one.ExecutionKey)
				}
				if !slices.Equal(keys, want) || !slices.Equal(got, wantFailed) {
					f.Errorf("%+v lists %d rows, %d keys; %d failures, want %d", filter, len(want), len(keys), len(got), len(wantFailed))
				}
				if filter.Inherited {
					plain := filter
					plain.Inherited = false
					all, err := r.ExecutionKeys(plain)
					if err != nil || !slices.Equal(all, want) || len(all) == 0 {
						f.Errorf("%+v lists %d rows, %d of which have the label (%v)", filter, len(want), len(all), err)
					}
				}
				for _, filter.Limit = range []int{1000, len(want), max(0, len(want)-1)} {
					n, err := r.CountListed(filter)
					if n != int64(min(len(want), filter.Limit)) || err != nil {
						f.Errorf("%+v counts %d rows of %d (%v)", filter, n, len(want), err)
					}
				}
				filter.Limit = 1000
				listed, grouped = listed+len(want), grouped+len(got)
				if filter.Batch == 0 {
					_, _, err1 = r.Examined(filter, 5)
					_, _, err2 = r.Examined(failed, 5)
				}
				if err := errors.Join(err1, err2); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if listed < 500 || grouped < 200 {
		f.Errorf("only %d rows and %d failures were compared", listed, grouped)
	}
}

// failuresRead: details that differ in a number have the same marks, and the columns are those of the execution.
func failuresRead(f *fixture) {
	all := failing(f, 60)
	f.view(func(r *store.Reader) error {
		list, err := r.Failures(store.ExecutionFilter{Account: 1, Environment: chargehand.Live, Failed: true, Limit: 100})
		kinds := map[store.FailureKind]bool{}
		for _, one := range list {
			kinds[one.FailureKind] = true
			at := slices.IndexFunc(all, func(e store.Execution) bool { return e.No == one.No })
			if e := all[at]; e.ID != one.ID || e.Workflow != one.Workflow || e.FinishedMs != one.EndedMs || one.At != "/do/0/x" {
				f.Errorf("%+v of %+v", one, e)
			}
		}
		if len(list) < 10 || len(kinds) != 4 { // two codes in two workflows
			f.Errorf("%d failures of %d kinds", len(list), len(kinds))
		}
		none, err2 := r.Failures(store.ExecutionFilter{Account: 1, Environment: chargehand.Live, Failed: true, Statuses: []chargehand.Status{chargehand.Finished}, Limit: 9})
		if len(none) != 0 {
			f.Errorf("%d failures have finished", len(none))
		}
		return errors.Join(err, err2)
	})
}

// failuresExamined: a floor after n failures keeps a list from looking at more, of all workflows and actors.
func failuresExamined(f *fixture) {
	all := failing(f, 90)
	var ended []chargehand.ExecutionID
	for _, e := range all {
		if e.Account == 1 && e.Status == chargehand.Errored {
			ended = append(ended, e.ID)
		}
	}
	filter := store.ExecutionFilter{Account: 1, Environment: chargehand.Live, Failed: true, Workflow: 2, StartedBy: 7, Limit: 1000}
	f.view(func(r *store.Reader) error {
		id, found, err := r.Examined(filter, 20)
		if !found || id != ended[19] {
			f.Errorf("20 are looked at: %v %v, want %v", id, found, ended[19])
		}
		_, more, err2 := r.Examined(filter, len(ended)+1)
		if more {
			f.Error("more failures are looked at than there are")
		}
		filter.Floor = id
		list, err3 := r.Failures(filter)
		for _, one := range list {
			if bytes.Compare(one.ID[:], id[:]) < 0 {
				f.Errorf("%v is behind the floor", one.ID)
			}
		}
		return errors.Join(err, err2, err3)
	})
}

// nowFilters are one for each query of CountNow and OldestUnfinished.
var nowFilters = []store.NowFilter{
	{}, {Workflow: 1}, {Workflow: 3}, {StartedBy: 7}, {StartedBy: -7}, {Workflow: 2, StartedBy: 7}, {Workflow: 2, StartedBy: -7},
	{Except: []int64{1}}, {StartedBy: -7, Except: []int64{1, 2}}, {StartedBy: 7, Except: []int64{2}},
}

// unfinished inserts executions in all states, and returns those of account 1 in live that have not ended, the oldest
// first.
func unfinished(f *fixture) (open []store.Execution) {
	r := rand.New(rand.NewPCG(5, 9))
	for i := range 120 {
		e := f.execution(startMs + int64(i))
		e.Workflow, e.StartedBy, e.Account = 1+r.Int64N(3), []int64{0, 7, -7}[r.IntN(3)], 1+r.Int64N(8)/7
		switch r.IntN(6) {
		case 0:
			e.State, e.Status, e.Phase = store.StateActive, chargehand.Processing, chargehand.Running
		case 1:
			e.State, e.Status, e.Phase = store.StateParked, chargehand.Processing, chargehand.Waiting
		case 2:
			e.State, e.Status, e.Phase = store.StateParked, chargehand.HumanInTheLoop, chargehand.Waiting
		case 3:
			e.State, e.Status, e.Phase = store.StateReady, chargehand.Processing, chargehand.Running
		case 4:
			e.State, e.StartMs = store.StateDelayed, startMs+1000
		}
		f.insert(&e)
		if i%7 == 3 {
			f.update(func(tx *store.Tx) error { _, err := finish(tx, e.No, startMs, `1`); return err })
		} else if e.Account == 1 {
			open = append(open, e)
		}
	}
	return open
}

func admitted(e *store.Execution, filter *store.NowFilter) bool {
	return (filter.Workflow == 0 || filter.Workflow == e.Workflow) && (filter.StartedBy == 0 || filter.StartedBy == e.StartedBy) &&
		(filter.Workflow != 0 || !slices.Contains(filter.Except, e.Workflow))
}

func countNow(f *fixture) {
	open := unfinished(f)
	for _, filter := range nowFilters {
		filter.Account, filter.Environment = 1, chargehand.Live
		var want store.Now
		for i := range open {
			if e := &open[i]; admitted(e, &filter) {
				switch {
				case e.State == store.StateQueued || e.State == store.StateReady:
					want.Queued++
				case e.State == store.StateActive:
					want.Running++
				case e.State == store.StateDelayed:
					want.Delayed++
				case e.Status == chargehand.HumanInTheLoop:
					want.Human++
					want.Waiting++
				default:
					want.Waiting++
				}
			}
		}
		f.view(func(r *store.Reader) error {
			got, err := r.CountNow(filter, 1000)
			if got != want || want.Queued == 0 || filter.Workflow == 0 && want.Delayed == 0 {
				f.Errorf("%+v: %+v, want %+v", filter, got, want)
			}
			few, err2 := r.CountNow(filter, 1)
			if !few.More || few.Queued > want.Queued || few.Queued+few.Running+few.Waiting+few.Delayed > 5 {
				f.Errorf("%+v, one of each: %+v", filter, few)
			}
			return errors.Join(err, err2)
		})
	}
	f.view(func(r *store.Reader) error {
		none, err := r.CountNow(store.NowFilter{Account: 1, Environment: chargehand.Test}, 10)
		if none != (store.Now{}) {
			f.Errorf("another environment has %+v", none)
		}
		return err
	})
}

func oldestUnfinished(f *fixture) {
	open := unfinished(f)
	for _, filter := range nowFilters {
		filter.Account, filter.Environment = 1, chargehand.Live
		at := slices.IndexFunc(open, func(e store.Execution) bool { return e.State != store.StateDelayed && admitted(&e, &filter) })
		f.view(func(r *store.Reader) error {
			e, err := r.OldestUnfinished(filter, 1000)
			if err == nil && e.No != open[at].No {
				f.Errorf("%+v: %d, want %d", filter, e.No, open[at].No)
			}
			return err
		})
	}
	waiting := f.execution(startMs + 200) // behind more delayed ones than are looked at first
	waiting.Account, waiting.Environment = 7, chargehand.Live
	later := []*store.Execution{&waiting}
	for i := range 60 {
		e := f.execution(startMs + int64(i))
		e.Account, e.Environment, e.State, e.Status, e.Phase, e.StartMs = 7, chargehand.Live, store.StateDelayed, chargehand.Initial, chargehand.Pending, startMs+9000
		later = append(later, &e)
	}
	f.insert(later...)
	f.view(func(r *store.Reader) error {
		if e, err := r.OldestUnfinished(store.NowFilter{Account: 7, Environment: chargehand.Live}, 1000); err != nil || e.No != waiting.No {
			f.Errorf("behind delayed ones: %d (%v), want %d", e.No, err, waiting.No)
		}
		return nil
	})
	f.view(func(r *store.Reader) error {
		if _, err := r.OldestUnfinished(store.NowFilter{Account: 1, Environment: chargehand.Test}, 10); !errors.Is(err, store.ErrNotFound) {
			f.Errorf("another environment: %v", err)
		}
		return nil
	})
}
