package operate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/chargehand/chargehand/internal/store"
)

const (
	// recountPage is how many executions the doctor recounts at a time: a long read would keep the write-ahead log.
	recountPage = 2000
	// comparePage is how many counts it compares, or mends, at a time.
	comparePage = 500
	// totalsPage is the time whose totals it adds up at a time.
	totalsPage = 24 * store.HourMs
	// listedCounts bounds the counts that a finding lists.
	listedCounts = 100
)

// counts recounts the executions that are stored, and compares what was counted of them by the hour. Executions are
// deleted and stay counted: a count may be higher than the recount, and is wrong if it is lower.
func (d *doctor) counts(ctx context.Context, rows *store.Store) {
	var recount store.Recount
	faults, err := recountAll(ctx, rows, &recount)
	good := fmt.Sprintf("those of %d executions are by the hour what a recount gives, or more where executions were deleted", recount.Executions)
	if recount.Partial {
		good += "; later executions were not recounted"
	}
	if err == nil && len(faults) > 0 && d.MendCounts {
		if err = mendCounts(ctx, rows, faults); err == nil {
			good, faults = fmt.Sprintf("%d counts were too low, and are mended", len(faults)), nil
		}
	}
	var damages []string
	if err == nil {
		damages, err = describeCounts(ctx, rows, faults)
	}
	d.addDamages("counts by the hour", good, damages, err)
}

// recountAll finds the counts that are too low.
func recountAll(ctx context.Context, rows *store.Store, recount *store.Recount) (faults []store.RollupFault, err error) {
	for more := true; more; {
		var page store.RecountPage
		err := rows.View(ctx, func(r *store.Reader) (err error) {
			page, err = recount.Read(r, recountPage)
			return err
		})
		if err != nil {
			return nil, err
		}
		more = recount.Add(page)
	}
	// An hour that is deleted while it is compared would seem to lack something.
	fromMs := time.Now().Add(-store.RollupLife + 24*time.Hour).UnixMilli()
	for keys := range slices.Chunk(recount.Keys(fromMs), comparePage) {
		var found []store.RollupFault
		err := rows.View(ctx, func(r *store.Reader) (err error) {
			found, err = recount.Compare(r, keys)
			return err
		})
		if err != nil {
			return nil, err
		}
		faults = append(faults, found...)
	}
	totals, err := shortTotals(ctx, rows, fromMs)
	for _, f := range totals {
		if !slices.ContainsFunc(faults, func(known store.RollupFault) bool { return known.Key == f.Key }) {
			faults = append(faults, f)
		}
	}
	return faults, err
}

// shortTotals finds totals of an hour that are less than the counts of its workflows.
func shortTotals(ctx context.Context, rows *store.Store, fromMs int64) (faults []store.RollupFault, err error) {
	for {
		var found []store.RollupFault
		err := rows.View(ctx, func(r *store.Reader) (err error) {
			first, err := r.FirstRollup(fromMs)
			if err == nil {
				fromMs = first
				found, err = r.ShortTotals(first, first+totalsPage)
			}
			return err
		})
		if errors.Is(err, store.ErrNotFound) {
			return faults, nil
		}
		if err != nil {
			return nil, err
		}
		faults, fromMs = append(faults, found...), fromMs+totalsPage
	}
}

func mendCounts(ctx context.Context, rows *store.Store, faults []store.RollupFault) error {
	for some := range slices.Chunk(faults, comparePage) {
		if err := rows.Update(ctx, func(tx *store.Tx) error { return tx.MendRollups(some) }); err != nil {
			return err
		}
	}
	return nil
}

// describeCounts says what the first counts lack.
func describeCounts(ctx context.Context, rows *store.Store, faults []store.RollupFault) (list []string, err error) {
	err = rows.View(ctx, func(r *store.Reader) error {
		list = nil
		for i := range faults {
			if i == listedCounts {
				list = append(list, fmt.Sprintf("and %d more", len(faults)-i))
				return nil
			}
			text, err := describeCount(r, &faults[i])
			if err != nil {
				return err
			}
			list = append(list, text)
		}
		return nil
	})
	return list, err
}

func describeCount(r *store.Reader, f *store.RollupFault) (string, error) {
	of := "all workflows"
	if f.Key.Workflow != 0 {
		w, err := r.WorkflowByNo(f.Key.Workflow)
		switch {
		case errors.Is(err, store.ErrNotFound):
			of = "a workflow that is gone"
		case err != nil:
			return "", err
		default:
			of = w.Namespace + "/" + w.Name
		}
	}
	if f.Key.Actor != 0 {
		of += ", of one user or key"
	}
	text := fmt.Sprintf("%s %s, %s:", time.UnixMilli(f.Key.HourMs).UTC().Format(time.RFC3339), f.Key.Environment, of)
	for _, c := range []struct {
		what      string
		has, want int64
	}{
		{"started", f.Has.Started, f.Want.Started}, {"finished", f.Has.Finished, f.Want.Finished},
		{"failed", f.Has.Failed, f.Want.Failed}, {"cancelled", f.Has.Cancelled, f.Want.Cancelled},
		{"durations", f.Has.Durations.Count(), f.Want.Durations.Count()},
	} {
		if c.has < c.want {
			text += fmt.Sprintf(" %s %d, at least %d;", c.what, c.has, c.want)
		}
	}
	return text[:len(text)-1], nil
}
