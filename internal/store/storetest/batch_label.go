package storetest

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// batchesWithLabel: those of an account and environment with a label, by their ids; none where there are too many.
func batchesWithLabel(f *fixture) {
	var made []store.Batch
	for i := range 205 { // more than a list of numbers has
		b := store.Batch{Account: 1, Environment: chargehand.Live, Workflow: 1 + int64(i%2), Revision: 1, Concurrency: 1, RequestedConcurrency: 1, Total: 1}
		setID(f, &b.ID, startMs+int64(i*7%10))
		setID(f, &b.LastItem, startMs+int64(i*3%10)) // in another order
		b.Labels = []store.Label{{Name: "team", Value: "blue"}, {Name: "n", Value: fmt.Sprint(i / 3)}}
		switch i % 40 {
		case 11:
			b.Account = 2
		case 12:
			b.Environment = chargehand.Test
		case 13:
			b.Labels[0].Value = "red"
		}
		made = append(made, b)
	}
	f.update(func(tx *store.Tx) error {
		for i := range made {
			if err := tx.InsertBatch(&made[i]); err != nil {
				return err
			}
		}
		return nil
	})
	slices.SortFunc(made, func(a, b store.Batch) int { return bytes.Compare(b.ID[:], a.ID[:]) })
	all := store.BatchFilter{Account: 1, Environment: chargehand.Live}
	later, between := all, all
	later.Before = made[100].ID
	between.CreatedAfterMs, between.CreatedBeforeMs = startMs+2, startMs+7
	for _, filter := range []store.BatchFilter{all, later, between} {
		for _, label := range []store.Label{{Name: "team", Value: "blue"}, {Name: "team", Value: "red"}, {Name: "n", Value: "4"}, {Name: "n", Value: "blue"}} {
			var want, got []int64
			with := 0
			for _, b := range made {
				if b.Account != 1 || b.Environment != chargehand.Live || !slices.Contains(b.Labels, label) {
					continue
				}
				with++
				ms := b.ID.Milli()
				if (filter.Before.IsZero() || bytes.Compare(b.ID[:], filter.Before[:]) < 0) && (filter.CreatedAfterMs == 0 || ms > filter.CreatedAfterMs && ms < filter.CreatedBeforeMs) {
					want = append(want, b.No)
				}
			}
			f.view(func(r *store.Reader) error {
				list, few, err := r.BatchesWithLabel(filter, label, with)
				for _, b := range list {
					got = append(got, b.No)
				}
				if !slices.Equal(got, want) || !few || err != nil {
					f.Errorf("%+v with %v: batches %v, %t (%v), want %v", filter, label, got, few, err, want)
				}
				if with == 0 {
					return nil
				}
				if list, few, err = r.BatchesWithLabel(filter, label, with-1); len(list) > 0 || few {
					f.Errorf("%v: %d of too many batches, %t", label, len(list), few)
				}
				return err
			})
		}
	}
}
