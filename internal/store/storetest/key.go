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
	"rotated":    keyRotated,
	"personal":   keyPersonal,
	"warned of":  keyWarned,
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
	k.ExpiresMs, k.Rate, k.Preset, k.Addresses, k.Person = startMs+9, 50, "", "192.0.2.0/24 2001:db8::/32", 7
	f.update(func(tx *store.Tx) error { return tx.InsertKey(&k) })
	if got := f.keyByHash(k.Hash); !reflect.DeepEqual(got, k) {
		f.Errorf("read %+v, want %+v", got, k)
	}
	k.Name, k.Scopes, k.Preset, k.Limits, k.Rate, k.ExpiresMs, k.Addresses = "new", "admin", "all", store.Limits{}, 0, 0, ""
	f.update(func(tx *store.Tx) error { return tx.UpdateKey(&k) })
	f.view(func(r *store.Reader) error {
		got, err := r.KeyByID(1, chargehand.Live, k.ID)
		if !reflect.DeepEqual(got, k) {
			f.Errorf("after the update %+v, want %+v", got, k)
		}
		if byNo, err := r.KeyByNo(k.No); err != nil || !reflect.DeepEqual(byNo, k) {
			f.Errorf("by its number %+v, %v", byNo, err)
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

// keyRotated: the hash before finds the key too, until another rotation.
func keyRotated(f *fixture) {
	k := f.key()
	f.update(func(tx *store.Tx) error { return tx.InsertKey(&k) })
	first := k.Hash
	for i := range byte(2) {
		k.OldHash, k.Hash, k.OldUntilMs, k.Prefix, k.Last4 = k.Hash, make([]byte, 32), startMs+int64(i), "sk_live_next", "next"
		k.Rotators += "r "
		k.Hash[31] = i + 1
		f.update(func(tx *store.Tx) error { return tx.RotateKey(&k) })
		for _, hash := range [][]byte{k.Hash, k.OldHash} {
			if got := f.keyByHash(hash); !reflect.DeepEqual(got, k) {
				f.Errorf("read %+v, want %+v", got, k)
			}
		}
	}
	f.view(func(r *store.Reader) error {
		if _, err := r.KeyByHash(first); !errors.Is(err, store.ErrNotFound) {
			f.Errorf("the key before the key before: %v", err)
		}
		return nil
	})
	stale := k
	stale.OldHash, stale.Hash = first, make([]byte, 32)
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.RotateKey(&stale) })
	stale.OldHash = k.Hash
	f.update(func(tx *store.Tx) error { return tx.RevokeKey(k.No, 1) })
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.RotateKey(&stale) })
}

// keyPersonal: those of a person are listed and counted, and revoked together.
func keyPersonal(f *fixture) {
	var want []chargehand.KeyID
	for i := range 9 {
		k := f.key()
		k.Person, k.ExpiresMs = 7, startMs+10
		switch i {
		case 1:
			k.Account = 2
		case 2:
			k.Environment = chargehand.Test
		case 3:
			k.Person = 8
		case 4:
			k.Person = 0
		case 5:
			k.ExpiresMs = startMs
		}
		f.update(func(tx *store.Tx) error {
			err := tx.InsertKey(&k)
			if i == 6 {
				err = errors.Join(err, tx.RevokeKey(k.No, 1))
			}
			return err
		})
		if i == 0 || i == 5 || i > 6 {
			want = append([]chargehand.KeyID{k.ID}, want...)
		}
	}
	list := func() (ids []chargehand.KeyID, n int64) {
		f.view(func(r *store.Reader) error {
			first, err := r.ListPersonalKeys(1, chargehand.Live, 7, chargehand.KeyID{}, 3)
			if err != nil || len(first) < 3 {
				return err
			}
			rest, err := r.ListPersonalKeys(1, chargehand.Live, 7, first[2].ID, 3)
			for _, k := range append(first, rest...) {
				ids = append(ids, k.ID)
			}
			return err
		})
		f.view(func(r *store.Reader) (err error) {
			n, err = r.PersonalKeys(7, startMs)
			here, err1 := r.PersonalKeysIn(1, 7, startMs)
			there, err2 := r.PersonalKeysIn(2, 7, startMs)
			same(f, "keys of the accounts", here+there, n)
			same(f, "keys of the other account", there, 1)
			return errors.Join(err, err1, err2)
		})
		return ids, n
	}
	if got, n := list(); !reflect.DeepEqual(got, want) || n != 5 {
		f.Errorf("%d keys, of which %v are listed, want 5 and %v", n, got, want)
	}
	f.update(func(tx *store.Tx) error { return tx.RevokeKeysOf(1, 7, startMs) })
	if got, n := list(); got != nil || n != 1 {
		f.Errorf("after they were revoked in an account: %d keys, %v", n, got)
	}
	if n := f.number(`SELECT COUNT(*) FROM api_key WHERE revoked_ms = 0`); n != 3 {
		f.Errorf("%d keys are left, want those of others and of the other account", n)
	}
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
