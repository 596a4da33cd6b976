package storetest

import (
	"reflect"

	"github.com/chargehand/chargehand/internal/store"
)

var keyringTests = map[string]func(*fixture){
	"wrapped keys": wrappedKeys,
	"nodes":        nodes,
}

func wrappedKeys(f *fixture) {
	key := func(number int64, master string) store.WrappedKey {
		return store.WrappedKey{Number: number, Master: master, Purpose: "data", Wrapped: []byte{0, byte(number)}, CreatedMs: startMs, ActiveMs: startMs + number}
	}
	insert := func(number int64, master string) func(*store.Tx) error {
		k := key(number, master)
		return func(tx *store.Tx) error { return tx.InsertWrappedKey(&k) }
	}
	holds := func(want ...store.WrappedKey) {
		f.Helper()
		f.view(func(r *store.Reader) error {
			got, err := r.WrappedKeys()
			if !reflect.DeepEqual(got, want) {
				f.Errorf("read %+v, want %+v", got, want)
			}
			return err
		})
	}
	holds()
	f.update(insert(2, "old"))
	f.update(insert(1, "old"))
	f.update(insert(1, "new"))
	f.refused(store.ErrConflict, insert(1, "old"))
	holds(key(1, "new"), key(1, "old"), key(2, "old"))
	f.update(func(tx *store.Tx) error { return tx.DeleteWrappedKeys("old") })
	holds(key(1, "new"))
}

func nodes(f *fixture) {
	one := store.Node{ID: [16]byte{1}, Name: "one", File: "/a", Masters: []string{"x", "y"}, SeenMs: startMs}
	two := store.Node{ID: [16]byte{2}, Name: "two", File: "/b", Masters: []string{"x"}, SeenMs: startMs + 1}
	holds := func(want ...store.Node) {
		f.Helper()
		f.view(func(r *store.Reader) error {
			got, err := r.Nodes()
			if !reflect.DeepEqual(got, want) {
				f.Errorf("read %+v, want %+v", got, want)
			}
			return err
		})
	}
	put := func(n store.Node) func(*store.Tx) error { return func(tx *store.Tx) error { return tx.PutNode(&n) } }
	f.update(put(one))
	f.update(put(two))
	holds(two, one)
	one.Masters, one.SeenMs = []string{"y", "z"}, startMs+2
	f.update(put(one))
	holds(one, two)
	f.update(func(tx *store.Tx) error { return tx.DeleteNodes(startMs + 2) })
	holds(one)
	f.update(func(tx *store.Tx) error { return tx.DeleteNode(one.ID) })
	holds()
}
