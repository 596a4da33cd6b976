package storetest

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

var listTests = map[string]func(*fixture){
	"started by":                       listStartedBy,
	"batches started by":               batchesStartedBy,
	"pages are exact":                  pagesExact,
	"pages stay exact while rows come": pagesStable,
	"items of a batch":                 pagesOfBatch,
	"cursor text":                      cursorText,
}

// phasesOf lists the phases that executions of a status are in.
var phasesOf = map[chargehand.Status][]chargehand.Phase{
	chargehand.Initial:        {chargehand.Pending},
	chargehand.Processing:     {chargehand.Running, chargehand.Waiting},
	chargehand.HumanInTheLoop: {chargehand.Waiting},
	chargehand.Finished:       {chargehand.Completed},
	chargehand.Errored:        {chargehand.Faulted, chargehand.Cancelled},
}

// crowd inserts executions over two accounts, both environments, three workflows and all
// statuses, many of them in the same millisecond, and returns them newest first.
func crowd(f *fixture, n int, r *rand.Rand) []store.Execution {
	all := make([]store.Execution, n)
	f.update(func(tx *store.Tx) error {
		for i := range all {
			e := f.execution(startMs + r.Int64N(int64(n)/10))
			e.Account, e.Environment, e.Workflow = 1+r.Int64N(2), chargehand.Environment(1+r.IntN(2)), 1+r.Int64N(3)
			e.Status, e.State = chargehand.Status(1+r.IntN(5)), store.StateActive
			of := phasesOf[e.Status]
			e.Phase = of[r.IntN(len(of))]
			var err error
			if e.Status.Final() {
				e.State, e.FinishedMs = store.StateEnded, startMs
				err = tx.InsertFinished(&e, &store.Outcome{})
			} else {
				err = tx.InsertExecution(&e)
			}
			if err != nil {
				return err
			}
			e.Input = store.Payload{} // lists leave it out
			all[i] = e
		}
		return nil
	})
	slices.SortFunc(all, func(a, b store.Execution) int { return bytes.Compare(b.ID[:], a.ID[:]) })
	return all
}

// wanted is what a filter means.
func wanted(all []store.Execution, f store.ExecutionFilter) []store.Execution {
	var list []store.Execution
	for _, e := range all {
		if e.Account == f.Account && e.Environment == f.Environment && (f.Workflow == 0 || e.Workflow == f.Workflow) &&
			(f.Batch == 0 || e.Batch == f.Batch) && (len(f.Phases) == 0 || slices.Contains(f.Phases, e.Phase)) && (len(f.Statuses) == 0 || slices.Contains(f.Statuses, e.Status)) &&
			(f.CreatedAfterMs == 0 || e.ID.Milli() > f.CreatedAfterMs) && (f.CreatedBeforeMs == 0 || e.ID.Milli() < f.CreatedBeforeMs) {
			list = append(list, e)
		}
	}
	return list
}

// pages reads a list to its end, handing each cursor on as text.
func (f *fixture) pages(filter store.ExecutionFilter, between func()) []store.Execution {
	f.Helper()
	var list []store.Execution
	for {
		var page []store.Execution
		f.view(func(r *store.Reader) (err error) {
			page, err = r.ListExecutions(filter)
			return err
		})
		list = append(list, page...)
		if len(page) > filter.Limit {
			f.Fatalf("a page of %d, limit %d", len(page), filter.Limit)
		}
		if len(page) < filter.Limit {
			return list
		}
		var err error
		if filter.After, err = store.ParseCursor(store.CursorAt(&page[len(page)-1]).String()); err != nil {
			f.Fatal(err)
		}
		between()
	}
}

func randomFilter(r *rand.Rand) store.ExecutionFilter {
	filter := store.ExecutionFilter{
		Account: 1 + r.Int64N(2), Environment: chargehand.Environment(1 + r.IntN(2)), Workflow: r.Int64N(4), Limit: 1 + r.IntN(40),
	}
	for _, s := range r.Perm(5)[:r.IntN(6)] {
		filter.Statuses = append(filter.Statuses, chargehand.Status(1+s))
	}
	for _, p := range r.Perm(7)[:max(0, r.IntN(6)-3)] {
		filter.Phases = append(filter.Phases, chargehand.Phase(1+p))
	}
	if r.IntN(2) == 0 {
		filter.CreatedAfterMs = startMs + r.Int64N(40)
	}
	if r.IntN(2) == 0 {
		filter.CreatedBeforeMs = startMs + r.Int64N(40)
	}
	return filter
}

func pagesExact(f *fixture) {
	r := rand.New(rand.NewPCG(1, 2))
	all := crowd(f, 400, r)
	for range 150 {
		filter := randomFilter(r)
		got, want := f.pages(filter, func() {}), wanted(all, filter)
		if len(got) != len(want) || len(got) > 0 && !reflect.DeepEqual(got, want) {
			f.Fatalf("filter %+v gives %d executions, want %d", filter, len(got), len(want))
		}
	}
}

func pagesStable(f *fixture) {
	r := rand.New(rand.NewPCG(3, 4))
	all := crowd(f, 200, r)
	for range 20 {
		filter := randomFilter(r)
		filter.CreatedAfterMs, filter.CreatedBeforeMs = 0, 0
		want := wanted(all, filter)
		got := f.pages(filter, func() { // newer ones come in between
			e := f.execution(startMs + 1000)
			e.Account, e.Environment, e.Workflow = filter.Account, filter.Environment, max(filter.Workflow, 1)
			f.insert(&e)
		})
		got = slices.DeleteFunc(got, func(e store.Execution) bool { return e.ID.Milli() == startMs+1000 })
		if len(got) != len(want) || len(got) > 0 && !reflect.DeepEqual(got, want) {
			f.Fatalf("filter %+v gives %d executions, want %d", filter, len(got), len(want))
		}
	}
}

func pagesOfBatch(f *fixture) {
	b, items := f.batch(60)
	other, _ := f.batch(5)
	f.update(func(tx *store.Tx) error {
		for i, e := range items {
			var err error
			switch i % 3 {
			case 1:
				_, err = finish(tx, e.No, startMs, "1")
			case 2:
				_, err = fault(tx, e.No, startMs)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	for i := range items {
		items[i] = f.byNo(items[i].No)
		items[i].Input = store.Payload{}
	}
	slices.Reverse(items)
	for _, statuses := range [][]chargehand.Status{nil, {chargehand.Finished}, {chargehand.Errored, chargehand.Initial}, {chargehand.Processing}} {
		for _, limit := range []int{1, 7, 60, 100} {
			filter := store.ExecutionFilter{Account: 1, Environment: chargehand.Live, Batch: b.No, Statuses: statuses, Limit: limit}
			got, want := f.pages(filter, func() {}), wanted(items, filter)
			if len(got) != len(want) || len(got) > 0 && !reflect.DeepEqual(got, want) {
				f.Fatalf("statuses %v by %d give %d items, want %d", statuses, limit, len(got), len(want))
			}
		}
	}
	foreign := store.ExecutionFilter{Account: 1, Environment: chargehand.Test, Batch: other.No, Limit: 10}
	if got := f.pages(foreign, func() {}); len(got) != 0 {
		f.Errorf("another environment sees %d items", len(got))
	}
}

func cursorText(f *fixture) {
	e := f.execution(startMs)
	e.Item = 1 << 40
	good := store.CursorAt(&e).String()
	if c, err := store.ParseCursor(good); err != nil || c != store.CursorAt(&e) {
		f.Errorf("%s reads as %v (%v)", good, c, err)
	}
	for _, bad := range []string{
		"", "x", good[:10], good + "A", good + "=", " " + good, strings.Repeat("A", 23), strings.Repeat("_", 40), "\x00", strings.Repeat("A", 10_000),
	} {
		if c, err := store.ParseCursor(bad); !errors.Is(err, store.ErrBadCursor) {
			f.Errorf("%.30q reads as %v (%v), want ErrBadCursor", bad, c, err)
		}
	}
}
