package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

var secretTests = map[string]func(*fixture){
	"versions":             secretVersions,
	"conflict":             secretConflict,
	"deleted and made new": secretDeleted,
	"list":                 secretList,
	"values":               secretValues,
	"pinned until the end": secretPinned,
	"pinned and cancelled": secretCancelled,
	"limits":               secretLimits,
	"earlier versions":     secretEarlier,
	"users":                secretUsers,
}

func secret(name string, version int64) store.Secret {
	return store.Secret{
		Account: 1, Environment: chargehand.Live, Name: name, Version: version, Sealed: fmt.Appendf(nil, "\x00%s %d\xff", name, version),
		CreatedMs: startMs + version, UpdatedMs: startMs + version,
	}
}

func (f *fixture) putSecret(s store.Secret) store.Secret {
	f.Helper()
	f.update(func(tx *store.Tx) error { return tx.PutSecret(&s) })
	return s
}

func (f *fixture) lastSecret(name string) (s store.Secret) {
	f.Helper()
	f.view(func(r *store.Reader) (err error) {
		s, err = r.LastSecret(1, chargehand.Live, name)
		return err
	})
	return s
}

func (f *fixture) countSecrets() (n int) {
	f.Helper()
	f.view(func(r *store.Reader) (err error) {
		n, err = r.CountSecrets(1, chargehand.Live)
		return err
	})
	return n
}

func secretVersions(f *fixture) {
	first := f.putSecret(secret("token", 1))
	if got := f.lastSecret("token"); !reflect.DeepEqual(got, first) {
		f.Errorf("read %+v, want %+v", got, first)
	}
	second := f.putSecret(secret("token", 2))
	if second.No != first.No || second.CreatedMs != first.CreatedMs {
		f.Errorf("version 2 is row %d of %d, want row %d of %d", second.No, second.CreatedMs, first.No, first.CreatedMs)
	}
	if got := f.lastSecret("token"); !reflect.DeepEqual(got, second) || got.UpdatedMs != startMs+2 {
		f.Errorf("read %+v, want %+v", got, second)
	}
	f.view(func(r *store.Reader) error {
		_, foreign := r.LastSecret(2, chargehand.Live, "token")
		_, elsewhere := r.LastSecret(1, chargehand.Test, "token")
		_, unknown := r.LastSecret(1, chargehand.Live, "Token")
		for _, err := range []error{foreign, elsewhere, unknown} {
			if !errors.Is(err, store.ErrNotFound) {
				f.Errorf("a secret that is not there: %v", err)
			}
		}
		return nil
	})
}

func secretConflict(f *fixture) {
	f.putSecret(secret("token", 1))
	for _, version := range []int64{1, 3} {
		s := secret("token", version)
		f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.PutSecret(&s) })
	}
	never := secret("other", 2)
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.PutSecret(&never) })
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.DeleteSecret(1, chargehand.Live, "other", startMs) })
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.DeleteSecret(1, chargehand.Test, "token", startMs) })
	if got := f.lastSecret("token"); got.Version != 1 || f.countSecrets() != 1 {
		f.Errorf("after refusals version %d, %d secrets", got.Version, f.countSecrets())
	}
}

func secretDeleted(f *fixture) {
	f.putSecret(secret("token", 1))
	f.putSecret(secret("after", 1))
	f.update(func(tx *store.Tx) error { return tx.DeleteSecret(1, chargehand.Live, "token", startMs+5) })
	if got := f.lastSecret("token"); got.Sealed != nil || got.Version != 1 || got.UpdatedMs != startMs+5 {
		f.Errorf("after the deletion %+v", got)
	}
	if n := f.number(`SELECT COUNT(*) FROM secret WHERE sealed IS NOT NULL`); n != 1 || f.countSecrets() != 1 {
		f.Errorf("%d values are left, %d are counted", n, f.countSecrets())
	}
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.DeleteSecret(1, chargehand.Live, "token", startMs) })
	again := secret("token", 1)
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.PutSecret(&again) })
	again = f.putSecret(secret("token", 2))
	if got := f.lastSecret("token"); !reflect.DeepEqual(got, again) || got.CreatedMs != startMs+2 {
		f.Errorf("made anew %+v, want %+v", got, again)
	}
	if after := f.lastSecret("after"); again.No <= after.No {
		f.Errorf("made anew it is row %d, before row %d that is older", again.No, after.No)
	}
}

func secretList(f *fixture) {
	var want []string
	for i := range 7 {
		s := secret(fmt.Sprint("s", i), 1)
		switch i {
		case 1:
			s.Account = 2
		case 2:
			s.Environment = chargehand.Test
		}
		f.putSecret(s)
		if i == 4 {
			f.update(func(tx *store.Tx) error { return tx.DeleteSecret(1, chargehand.Live, s.Name, startMs) })
		}
		if i != 1 && i != 2 && i != 4 {
			want = append([]string{s.Name}, want...)
		}
	}
	var got []string
	for before := int64(0); ; {
		var page []store.Secret
		f.view(func(r *store.Reader) (err error) {
			page, err = r.ListSecrets(1, chargehand.Live, before, 2)
			return err
		})
		for _, s := range page {
			if got, before = append(got, s.Name), s.No; s.Sealed != nil {
				f.Error("a list has a value")
			}
		}
		if len(page) < 2 {
			break
		}
	}
	if !slices.Equal(got, want) {
		f.Errorf("secrets %v, want %v", got, want)
	}
}

func secretValues(f *fixture) {
	var names []string
	for i := range 40 {
		name := fmt.Sprintf("s%02d", i)
		names = append(names, name)
		if i == 7 {
			continue
		}
		f.putSecret(secret(name, 1))
		if i == 9 {
			f.update(func(tx *store.Tx) error { return tx.DeleteSecret(1, chargehand.Live, name, startMs) })
		}
	}
	for _, n := range []int{0, 1, 3, 16, 17, 40} {
		var got []string
		f.view(func(r *store.Reader) error {
			list, err := r.SecretValues(1, chargehand.Live, names[:n])
			for _, s := range list {
				if got = append(got, s.Name); string(s.Sealed) != "\x00"+s.Name+" 1\xff" {
					f.Errorf("value of %s is %q", s.Name, s.Sealed)
				}
			}
			return err
		})
		want := slices.DeleteFunc(slices.Clone(names[:n]), func(name string) bool { return name == "s07" || name == "s09" })
		if slices.Sort(got); !slices.Equal(got, want) {
			f.Errorf("of %d names %v, want %v", n, got, want)
		}
	}
}

func secretPinned(f *fixture) {
	no, other := f.inserted(), f.inserted()
	f.update(func(tx *store.Tx) error {
		return errors.Join(tx.PinSecrets(no, []byte("first")), tx.PinSecrets(no, []byte("second")), tx.PinSecrets(other, []byte("other")))
	})
	pinned := func(no int64) (sealed []byte, err error) {
		f.view(func(r *store.Reader) error {
			sealed, err = r.PinnedSecrets(no)
			return nil
		})
		return sealed, err
	}
	if sealed, err := pinned(no); string(sealed) != "first" || err != nil {
		f.Errorf("pinned are %q, %v; want what was pinned first", sealed, err)
	}
	f.update(func(tx *store.Tx) error {
		_, err := finish(tx, no, startMs, "{}")
		return err
	})
	if sealed, err := pinned(no); !errors.Is(err, store.ErrNotFound) {
		f.Errorf("after the end %q, %v are pinned", sealed, err)
	}
	if sealed, err := pinned(other); string(sealed) != "other" || err != nil {
		f.Errorf("after the end of another one %q, %v", sealed, err)
	}
}

func secretCancelled(f *fixture) {
	b := store.Batch{Account: 1, Environment: chargehand.Live, Workflow: 1, Revision: 1, Total: 3, Concurrency: 1, RequestedConcurrency: 1}
	setID(f, &b.ID, startMs)
	f.update(func(tx *store.Tx) error {
		if err := tx.InsertBatch(&b); err != nil {
			return err
		}
		for i := range 3 {
			e := f.execution(startMs)
			e.Batch, e.Item = b.No, int64(i)
			if err := errors.Join(tx.InsertExecution(&e), tx.PinSecrets(e.No, []byte("sealed"))); err != nil {
				return err
			}
		}
		_, _, err := tx.CancelQueuedItems(b.No, 2, startMs, []byte("{}"))
		return err
	})
	if n := f.number(`SELECT COUNT(*) FROM execution_secret`); n != 1 {
		f.Errorf("%d executions have secrets, want that of the one item that was not cancelled", n)
	}
}

// secretLimits: the lists of a secret and of a revision are read as they were written.
func secretLimits(f *fixture) {
	s := secret("token", 1)
	s.Limits = store.Limits{Workflows: []chargehand.WorkflowID{{7}, {8}}, Namespaces: []string{"finance"}}
	f.putSecret(s)
	s = secret("token", 2)
	s.Limits = store.Limits{Namespaces: []string{"hr", "finance"}}
	f.putSecret(s)
	f.view(func(r *store.Reader) error {
		last, err := r.LastSecret(1, chargehand.Live, "token")
		list, err2 := r.ListSecrets(1, chargehand.Live, 0, 10)
		if !reflect.DeepEqual(last.Limits, s.Limits) || len(list) != 1 || !reflect.DeepEqual(list[0].Limits, s.Limits) {
			f.Errorf("read %+v and %+v, want %+v", last.Limits, list, s.Limits)
		}
		_, missing := r.AuthorOf(1 << 40)
		if !errors.Is(missing, store.ErrNotFound) {
			f.Errorf("the author of no revision: %v", missing)
		}
		return errors.Join(err, err2)
	})
}

func secretEarlier(f *fixture) {
	versions := func(s store.Secret) (list []store.SecretVersion) {
		f.Helper()
		f.view(func(r *store.Reader) (err error) {
			list, err = r.SecretVersions(s.No)
			return err
		})
		return list
	}
	s := f.putSecret(secret("token", 1))
	other := f.putSecret(secret("other", 1))
	if list := versions(s); len(list) != 0 {
		f.Errorf("of version 1 there are %+v before", list)
	}
	for n := int64(2); n <= 15; n++ {
		next := secret("token", n)
		next.Restores = n - 2
		s = f.putSecret(next)
	}
	list := versions(s)
	if len(list) != store.KeptVersions-1 {
		f.Fatalf("%d are kept, want %d", len(list), store.KeptVersions-1)
	}
	for i, got := range list {
		n := int64(14 - i)
		if want := (store.SecretVersion{Version: n, Sealed: secret("token", n).Sealed, SetMs: startMs + n, Restores: n - 2}); !reflect.DeepEqual(got, want) {
			f.Errorf("version %d is %+v, want %+v", n, got, want)
		}
	}
	if got := f.lastSecret("token"); got.Restores != 13 {
		f.Errorf("the newest restores %d", got.Restores)
	}
	f.update(func(tx *store.Tx) error { return tx.DeleteSecret(1, chargehand.Live, "token", startMs) })
	if n := f.number(`SELECT COUNT(*) FROM secret_version`); n != 0 || f.lastSecret("other").No != other.No {
		f.Errorf("%d versions are left", n)
	}
}

func secretUsers(f *fixture) {
	w := f.workflow("orders", startMs)
	var rev store.Revision
	f.update(func(tx *store.Tx) error {
		if err := tx.InsertWorkflow(&w); err != nil {
			return err
		}
		rev = store.Revision{Workflow: w.No, Version: "1.0.0", Definition: 1, CreatedMs: startMs}
		if err := tx.InsertRevision(&rev); err != nil {
			return err
		}
		return tx.UseSecrets(1, rev.No, []string{"a", "b", "a"})
	})
	users := func(account int64, env chargehand.Environment, name string) (nos []int64) {
		f.Helper()
		f.view(func(r *store.Reader) error {
			list, err := r.SecretUsers(account, env, name, 10)
			for _, w := range list {
				nos = append(nos, w.No)
			}
			return err
		})
		return nos
	}
	point := func(published, draft int64) {
		f.Helper()
		f.update(func(tx *store.Tx) error {
			w, err := tx.WorkflowForUpdate(rev.Workflow)
			if err == nil {
				w.Published, w.Draft = published, draft
				err = tx.UpdateWorkflow(&w)
			}
			return err
		})
	}
	want := func(what string, live, test bool) {
		f.Helper()
		for env, is := range map[chargehand.Environment]bool{chargehand.Live: live, chargehand.Test: test} {
			if got := users(1, env, "a"); (len(got) == 1 && got[0] == rev.Workflow) != is || len(got) > 1 {
				f.Errorf("%s, in %v: %v", what, env, got)
			}
		}
	}
	point(0, rev.No)
	want("a draft", false, true)
	point(rev.No, 0)
	want("published", true, true)
	point(rev.No, rev.No+1)
	want("with another draft", true, false)
	point(rev.No, 0)
	if users(2, chargehand.Live, "a") != nil || users(1, chargehand.Live, "c") != nil || len(users(1, chargehand.Live, "b")) != 1 {
		f.Error("users of another account, or of another secret")
	}
}
