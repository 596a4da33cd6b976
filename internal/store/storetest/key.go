package storetest

import (
	"context"
	"errors"
	"reflect"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

var keyTests = map[string]func(*fixture){
	"round trip": keyRoundTrip,
	"unique":     keyUnique,
	"revoked":    keyRevoked,
	"last used":  keyUsed,
	"list":       keyList,
	"starters":   starters,
}

func (f *fixture) key() store.Key {
	k := store.Key{
		Account: 1, Environment: chargehand.Live, Name: "ci", Scopes: "workflows:read executions:create", Preset: "run",
		Prefix: "sk_live_abcd", Last4: "wxyz", Hash: make([]byte, 32), Rate: -1, Creator: "command line",
	}
	setID(f, &k.ID, startMs)
	k.Hash[0], k.Hash[1] = byte(f.n), byte(f.n>>8)
	return k
}

func (f *fixture) keyByHash(hash []byte) (k store.Key) {
	f.Helper()
	f.view(func(r *store.Reader) (err error) {
		k, err = r.KeyByHash(hash)
		return err
	})
	return k
}

func keyRoundTrip(f *fixture) {
	k := f.key()
	k.Limits = store.Limits{Workflows: []chargehand.WorkflowID{{1}, {2, 0, 3}}, Namespaces: []string{"finance", "h-r"}}
	k.ExpiresMs, k.Rate, k.Preset = startMs+9, 50, ""
	f.update(func(tx *store.Tx) error { return tx.InsertKey(&k) })
	if got := f.keyByHash(k.Hash); !reflect.DeepEqual(got, k) {
		f.Errorf("read %+v, want %+v", got, k)
	}
	k.Name, k.Scopes, k.Preset, k.Limits, k.Rate, k.ExpiresMs = "new", "admin", "all", store.Limits{}, 0, 0
	f.update(func(tx *store.Tx) error { return tx.UpdateKey(&k) })
	f.view(func(r *store.Reader) error {
		got, err := r.KeyByID(1, chargehand.Live, k.ID)
		if !reflect.DeepEqual(got, k) {
			f.Errorf("after the update %+v, want %+v", got, k)
		}
		_, foreign := r.KeyByID(2, chargehand.Live, k.ID)
		_, elsewhere := r.KeyByID(1, chargehand.Test, k.ID)
		_, unknown := r.KeyByHash(make([]byte, 32))
		for _, err := range []error{foreign, elsewhere, unknown} {
			if !errors.Is(err, store.ErrNotFound) {
				f.Errorf("a key that is not there: %v", err)
			}
		}
		return err
	})
}

func keyUnique(f *fixture) {
	k := f.key()
	f.update(func(tx *store.Tx) error { return tx.InsertKey(&k) })
	again := f.key()
	again.Hash = k.Hash
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.InsertKey(&again) })
}

func keyRevoked(f *fixture) {
	k := f.key()
	f.update(func(tx *store.Tx) error { return errors.Join(tx.InsertKey(&k), tx.RevokeKey(k.No, startMs+1)) })
	if got := f.keyByHash(k.Hash); got.RevokedMs != startMs+1 {
		f.Errorf("revoked at %d", got.RevokedMs)
	}
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.RevokeKey(k.No, startMs+2) })
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.UpdateKey(&k) })
}

func keyUsed(f *fixture) {
	k := f.key()
	f.update(func(tx *store.Tx) error {
		return errors.Join(tx.InsertKey(&k), tx.TouchKey(k.No, 10), tx.TouchKey(k.No, 5), tx.TouchKey(999, 5))
	})
	if got := f.keyByHash(k.Hash); got.LastUsedMs != 10 {
		f.Errorf("last used at %d, want 10: the time never goes back", got.LastUsedMs)
	}
}

func keyList(f *fixture) {
	var want []int64
	for i := range 8 {
		k := f.key()
		switch i {
		case 2:
			k.Account = 2
		case 3:
			k.Environment = chargehand.Test
		}
		f.update(func(tx *store.Tx) error {
			err := tx.InsertKey(&k)
			if i == 5 {
				err = errors.Join(err, tx.RevokeKey(k.No, 1))
			}
			return err
		})
		if i != 2 && i != 3 && i != 5 {
			want = append([]int64{k.No}, want...)
		}
	}
	var got []int64
	var before chargehand.KeyID
	for {
		var page []store.Key
		f.view(func(r *store.Reader) (err error) {
			page, err = r.ListKeys(1, chargehand.Live, before, 2)
			return err
		})
		for _, k := range page {
			got, before = append(got, k.No), k.ID
		}
		if len(page) < 2 {
			break
		}
	}
	if !reflect.DeepEqual(got, want) {
		f.Errorf("keys %v, want %v", got, want)
	}
}

// starters: equal ones are stored once, and are read as they were written.
func starters(f *fixture) {
	finance := store.Limits{Namespaces: []string{"finance", "h-r"}}
	mixed := store.Limits{Workflows: []chargehand.WorkflowID{{1}, {2, 0, 3}}, Namespaces: []string{"finance"}}
	var numbers []int64
	for _, s := range []store.Starter{
		{Account: 1, Key: 7, Limits: finance}, {Account: 1, Key: 7, Limits: mixed}, {Account: 1, Key: 8, Limits: finance},
		{Account: 2, Key: 7, Limits: finance}, {Account: 1, Limits: store.NoWorkflow()}, {Account: 1, Key: 7, Limits: finance},
	} {
		f.update(func(tx *store.Tx) error { return tx.PutStarter(&s) })
		f.view(func(r *store.Reader) error {
			got, err := r.StarterByNo(s.No)
			if !reflect.DeepEqual(got, s) {
				f.Errorf("read %+v, want %+v", got, s)
			}
			return err
		})
		numbers = append(numbers, s.No)
	}
	if n := f.number(`SELECT COUNT(*) FROM starter`); n != 5 || numbers[0] != numbers[5] {
		f.Errorf("%d rows for five different starters, with the numbers %v", n, numbers)
	}
	f.view(func(r *store.Reader) error {
		_, missing := r.StarterByNo(1 << 40)
		none, err := r.StarterByNo(0)
		if !errors.Is(missing, store.ErrNotFound) || !none.Limits.All() {
			f.Errorf("a starter that is not there: %v; the one without limits: %+v", missing, none)
		}
		return err
	})
	err := f.Update(context.Background(), func(tx *store.Tx) error { return tx.PutStarter(&store.Starter{Account: 1, Key: 7}) })
	if err == nil {
		f.Error("a starter without limits was stored")
	}
}
