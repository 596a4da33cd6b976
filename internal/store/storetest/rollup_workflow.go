package storetest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// hoursOf inserts ended executions of a few workflows over the hours of several days, and counts them.
func (f *fixture) hoursOf(days int) (all []store.Execution) {
	f.Helper()
	r := rand.New(rand.NewPCG(11, f.n))
	for range 300 {
		e := f.varied(r)
		at := startMs + r.Int64N(int64(days)*24)*store.HourMs
		e.ID = f.execution(at).ID
		f.update(func(tx *store.Tx) (err error) {
			copied := e
			e, err = ended(tx, &copied, r)
			return err
		})
		all = append(all, e)
	}
	f.countAll(1000)
	return all
}

// rollupsByWorkflow compares sums over times of all kinds with the sums of the hours in them.
func rollupsByWorkflow(f *fixture) {
	f.hoursOf(5)
	first := int64(startMs - startMs%store.HourMs)
	day := int64(startMs-startMs%store.DayMs) + store.DayMs
	for _, span := range [][2]int64{
		{first, first + store.HourMs}, {first, first + 8*24*store.HourMs}, {day, day + store.DayMs}, {day, day},
		{day - store.HourMs, day + store.HourMs}, {day + store.HourMs, day + store.DayMs}, {day, day + store.DayMs + store.HourMs},
		{day - 2*store.HourMs, day + 2*store.DayMs + 3*store.HourMs}, {day + store.HourMs, day + 2*store.DayMs - store.HourMs},
	} {
		for _, of := range []store.RollupKey{
			{Account: 1, Environment: chargehand.Live}, {Account: 2, Environment: chargehand.Test}, {Account: 1, Environment: chargehand.Live, Actor: -1}, {Account: 9, Environment: chargehand.Live},
		} {
			f.view(func(r *store.Reader) error {
				counts, complete, err := r.WorkflowCounts(of, span[0], span[1], 10_000)
				if err != nil {
					return err
				}
				if complete != span[0] {
					f.Errorf("of %v all is counted from %d on", span, complete)
				}
				if err := r.WorkflowDurations(of, span[0], span[1], counts); err != nil {
					return err
				}
				return f.sameByWorkflow(r, of, span[0], span[1], counts)
			})
		}
	}
}

// sameByWorkflow compares counts by workflow with the sums of their hours.
func (f *fixture) sameByWorkflow(r *store.Reader, of store.RollupKey, fromMs, beforeMs int64, counts map[int64]*store.Rollup) error {
	f.Helper()
	for of.Workflow = 1; of.Workflow <= 4; of.Workflow++ {
		var want *store.Rollup
		err := r.Rollups(of, fromMs, beforeMs, func(_ int64, c *store.Rollup) {
			if want == nil {
				want = new(store.Rollup)
			}
			want.Merge(c)
		})
		if err != nil {
			return err
		}
		if got := counts[of.Workflow]; rollupText(got) != rollupText(want) {
			f.Errorf("%+v from %d to %d: %s, want %s", of, fromMs, beforeMs, rollupText(got), rollupText(want))
		}
	}
	if counts[0] != nil {
		f.Errorf("there are counts of no workflow: %s", rollupText(counts[0]))
	}
	return nil
}

// rollupsByWorkflowLimited: what is said to be counted in full is, and a limit costs the beginning.
func rollupsByWorkflowLimited(f *fixture) {
	f.hoursOf(5)
	of := store.RollupKey{Account: 1, Environment: chargehand.Live}
	from, before := int64(startMs-startMs%store.HourMs), int64(startMs-startMs%store.DayMs)+4*store.DayMs+5*store.HourMs
	last := before
	for limit := 1; last > from; limit++ {
		f.view(func(r *store.Reader) error {
			counts, complete, err := r.WorkflowCounts(of, from, before, limit)
			if err != nil {
				return err
			}
			if complete > last || complete < from || complete%store.HourMs != 0 {
				f.Fatalf("with a limit of %d all is counted from %d on, with a lower one from %d on", limit, complete, last)
			}
			last = complete
			full, _, err := r.WorkflowCounts(of, complete, before, 10_000)
			for no, c := range full {
				if counts[no] == nil || counts[no].Started < c.Started || counts[no].Finished < c.Finished || counts[no].Failed < c.Failed || counts[no].Cancelled < c.Cancelled {
					f.Errorf("limit %d: %s, want %s at least", limit, rollupText(counts[no]), rollupText(c))
				}
			}
			return err
		})
	}
}

// BenchmarkByWorkflow reads what an overview needs by workflow, with 500 workflows that had executions in each of 720
// hours.
func BenchmarkByWorkflow(b *testing.B, db store.DB) {
	if testing.Short() {
		b.Skip("it writes 400,000 rows first")
	}
	const workflows, days = 500, 30
	st := store.New(db)
	first := int64(startMs - startMs%store.DayMs)
	for day := range int64(days) {
		values := store.Rollups{}
		for i := range int64(workflows * 24 * 5) {
			e := store.Execution{Account: 1, Environment: chargehand.Live, Workflow: 1 + i%workflows, Status: chargehand.Finished}
			e.StartedMs = first + day*store.DayMs + i/workflows%24*store.HourMs
			e.FinishedMs = e.StartedMs + 1 + (i*i*7919)%(store.HourMs/2)
			values.AddEnded(&e)
		}
		var faults []store.RollupFault
		for key, c := range values {
			faults = append(faults, store.RollupFault{Key: key, Want: *c})
		}
		if err := st.Update(b.Context(), func(tx *store.Tx) error { return tx.MendRollups(faults) }); err != nil {
			b.Fatal(err)
		}
	}
	for _, c := range []struct {
		name     string
		from, to int64 // hours
	}{{"a day", 24*days - 35, 24*days - 11}, {"a week", 24*days - 7*24 - 11, 24*days - 11}, {"30 days", 0, 24 * days}, {"30 days without their first and last hour", 1, 24*days - 1}} {
		b.Run(c.name, func(b *testing.B) {
			of, from, before := store.RollupKey{Account: 1, Environment: chargehand.Live}, first+c.from*store.HourMs, first+c.to*store.HourMs
			for b.Loop() {
				err := st.View(b.Context(), func(r *store.Reader) error {
					counts, complete, err := r.WorkflowCounts(of, from, before, 40_000)
					if err == nil && (len(counts) != workflows || complete != from) {
						err = fmt.Errorf("%d workflows from %d on", len(counts), complete)
					}
					if err != nil {
						return err
					}
					maps.DeleteFunc(counts, func(no int64, _ *store.Rollup) bool { return no > 60 })
					return r.WorkflowDurations(of, from, before, counts)
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
