package storetest

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

var idempotencyTests = map[string]func(*fixture){
	"round trip":               idempotencyRoundTrip,
	"one of many wins":         idempotencyRace,
	"expired rows give way":    idempotencyExpired,
	"expired rows are deleted": idempotencyDeleted,
}

func idempotency(name byte, ms int64) store.Idempotency {
	i := store.Idempotency{
		Hash: make([]byte, 32), Account: 1, Environment: chargehand.Test, BodyHash: make([]byte, 32),
		Status: 201, Kind: "execution", Resource: [16]byte{9, 8}, CreatedMs: ms,
	}
	i.Hash[0], i.BodyHash[0] = name, name
	return i
}

func idempotencyRoundTrip(f *fixture) {
	want := idempotency(1, startMs)
	f.update(func(tx *store.Tx) error { return tx.InsertIdempotency(&want, startMs-1000) })
	f.view(func(r *store.Reader) error {
		got, err := r.FindIdempotency(want.Hash, startMs)
		if !reflect.DeepEqual(got, want) {
			f.Errorf("read %+v, want %+v", got, want)
		}
		if _, err := r.FindIdempotency(want.Hash, startMs+1); !errors.Is(err, store.ErrNotFound) {
			f.Errorf("an expired row: %v, want ErrNotFound", err)
		}
		if _, err := r.FindIdempotency(make([]byte, 32), 0); !errors.Is(err, store.ErrNotFound) {
			f.Errorf("an unknown row: %v, want ErrNotFound", err)
		}
		return err
	})
}

func idempotencyRace(f *fixture) {
	var wg sync.WaitGroup
	var wins atomic.Int64
	for range 40 {
		e := f.execution(startMs)
		wg.Go(func() {
			row := idempotency(1, startMs)
			row.Resource = e.ID
			err := f.Update(context.Background(), func(tx *store.Tx) error {
				if err := tx.InsertExecution(&e); err != nil {
					return err
				}
				return tx.InsertIdempotency(&row, startMs-1000)
			})
			switch {
			case err == nil:
				wins.Add(1)
			case !errors.Is(err, store.ErrConflict):
				f.Errorf("insert: %v", err)
			}
		})
	}
	wg.Wait()
	if n := f.number(`SELECT COUNT(*) FROM execution`); wins.Load() != 1 || n != 1 {
		f.Errorf("%d won and %d executions were made, want 1 and 1", wins.Load(), n)
	}
}

func idempotencyExpired(f *fixture) {
	old, young := idempotency(1, startMs), idempotency(1, startMs+5000)
	young.Status, young.Resource = 202, [16]byte{7}
	f.update(func(tx *store.Tx) error { return tx.InsertIdempotency(&old, 0) })
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.InsertIdempotency(&young, startMs) })
	f.update(func(tx *store.Tx) error { return tx.InsertIdempotency(&young, startMs+1) })
	f.view(func(r *store.Reader) error {
		got, err := r.FindIdempotency(old.Hash, 0)
		if !reflect.DeepEqual(got, young) {
			f.Errorf("read %+v, want %+v", got, young)
		}
		return err
	})
}

func idempotencyDeleted(f *fixture) {
	f.update(func(tx *store.Tx) error {
		for i := range byte(10) {
			row := idempotency(i, startMs+int64(i))
			if err := tx.InsertIdempotency(&row, 0); err != nil {
				return err
			}
		}
		return nil
	})
	for _, want := range []int64{4, 3, 0} {
		f.update(func(tx *store.Tx) error {
			n, err := tx.DeleteIdempotency(startMs+7, 4)
			if n != want {
				f.Errorf("deleted %d, want %d", n, want)
			}
			return err
		})
	}
	if n := f.number(`SELECT MIN(created_ms) FROM idempotency`); n != startMs+7 {
		f.Errorf("the oldest that is left is from +%d, want +7", n-startMs)
	}
}
