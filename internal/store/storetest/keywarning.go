package storetest

import (
	"context"
	"errors"

	"github.com/chargehand/chargehand/internal/store"
)

// keyWarned: each of the times before the end of a key is reported until it is noted, and only the last one that has
// come.
func keyWarned(f *fixture) {
	within := [3]int64{10, 70, 300}
	insert := func(expiresMs int64) store.Key {
		k := f.key()
		k.ExpiresMs = expiresMs
		f.update(func(tx *store.Tx) error { return tx.InsertKey(&k) })
		return k
	}
	key, later, never, revoked := insert(startMs+1000), insert(startMs+2000), insert(0), insert(startMs+1000)
	f.update(func(tx *store.Tx) error { return tx.RevokeKey(revoked.No, startMs) })
	ending := func(nowMs int64) (nos []int64) {
		f.view(func(r *store.Reader) error {
			keys, err := r.EndingKeys(nowMs, within, 10)
			for _, k := range keys {
				nos = append(nos, k.No)
			}
			return err
		})
		return nos
	}
	same(f, "long before", ending(startMs+699), nil)
	same(f, "300 before", ending(startMs+700), []int64{key.No})
	warn := func(k store.Key, dueMs int64) error {
		return f.Update(context.Background(), func(tx *store.Tx) error { return tx.WarnOfKey(&k, dueMs) })
	}
	if err := warn(key, startMs+700); err != nil {
		f.Error(err)
	}
	if err := warn(key, startMs+700); !errors.Is(err, store.ErrConflict) {
		f.Errorf("a second time: %v", err)
	}
	same(f, "after the warning", ending(startMs+929), nil)
	same(f, "70 before", ending(startMs+930), []int64{key.No})
	same(f, "10 before, without the one of 70", ending(startMs+990), []int64{key.No})
	if err := warn(key, startMs+990); err != nil {
		f.Error(err)
	}
	same(f, "all were given", ending(startMs+995), nil)
	same(f, "another key", ending(startMs+1990), []int64{later.No})
	prolonged := later
	prolonged.ExpiresMs = startMs + 9000
	f.update(func(tx *store.Tx) error { return tx.UpdateKey(&prolonged) })
	if err := warn(later, startMs+1990); !errors.Is(err, store.ErrConflict) {
		f.Errorf("a key that ends at another time now: %v", err)
	}
	for _, k := range []store.Key{never, revoked} {
		if err := warn(k, startMs+990); k.No == revoked.No && !errors.Is(err, store.ErrConflict) {
			f.Errorf("a revoked key: %v", err)
		}
	}
}
