package storetest

import (
	"errors"
	"reflect"

	"github.com/chargehand/chargehand/internal/store"
)

var accountTests = map[string]func(*fixture){
	"round trip": accountRoundTrip,
	"meta":       meta,
}

func accountRoundTrip(f *fixture) {
	a, b := store.Account{Name: "default", CreatedMs: startMs}, store.Account{Name: "second", CreatedMs: startMs + 1}
	setID(f, &a.ID, startMs)
	setID(f, &b.ID, startMs-1)
	f.update(func(tx *store.Tx) error { return errors.Join(tx.InsertAccount(&a), tx.InsertAccount(&b)) })
	f.view(func(r *store.Reader) error {
		all, err1 := r.Accounts()
		if !reflect.DeepEqual(all, []store.Account{a, b}) {
			f.Errorf("accounts %+v", all)
		}
		byID, err2 := r.AccountByID(b.ID)
		byNo, err3 := r.AccountByNo(a.No)
		if byID != b || byNo != a {
			f.Errorf("read %+v and %+v", byID, byNo)
		}
		if _, err := r.AccountByNo(99); !errors.Is(err, store.ErrNotFound) {
			f.Errorf("unknown account: %v", err)
		}
		return errors.Join(err1, err2, err3)
	})
	f.refused(store.ErrConflict, func(tx *store.Tx) error { again := a; return tx.InsertAccount(&again) })
	f.update(func(tx *store.Tx) error { return tx.RenameAccount(b.No, "renamed") })
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.RenameAccount(99, "unknown") })
	f.view(func(r *store.Reader) error {
		all, err := r.Accounts()
		if b.Name = "renamed"; !reflect.DeepEqual(all, []store.Account{a, b}) {
			f.Errorf("renamed: %+v", all)
		}
		return err
	})
}

func meta(f *fixture) {
	f.view(func(r *store.Reader) error {
		if _, err := r.Meta("x"); !errors.Is(err, store.ErrNotFound) {
			f.Errorf("before it is set: %v, want ErrNotFound", err)
		}
		return nil
	})
	f.update(func(tx *store.Tx) error {
		return errors.Join(tx.SetMeta("x", []byte("1")), tx.SetMeta("x", []byte("2")), tx.SetMeta("y", []byte("3")))
	})
	f.view(func(r *store.Reader) error {
		v, err := r.Meta("x")
		if string(v) != "2" {
			f.Errorf("value %s, want the last one", v)
		}
		return err
	})
}
