package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

var workflowTests = map[string]func(*fixture){
	"round trip":              workflowRoundTrip,
	"created_at is unique":    createdUnique,
	"name is unique":          nameUnique,
	"list":                    listWorkflows,
	"deleted":                 deletedWorkflow,
	"definitions stored once": definitionsOnce,
	"revisions":               revisions,
}

func (f *fixture) workflow(name string, ms int64) store.Workflow {
	w := store.Workflow{Account: 1, Namespace: "shop", Name: name, CreatedMs: ms, UpdatedMs: ms}
	setID(f, &w.ID, ms)
	return w
}

func workflowRoundTrip(f *fixture) {
	w := f.workflow("orders", startMs)
	w.Account, w.Published, w.Draft, w.UpdatedMs = 4, 5, 6, startMs+7
	f.update(func(tx *store.Tx) error { return tx.InsertWorkflow(&w) })
	check := func() {
		f.Helper()
		f.view(func(r *store.Reader) error {
			byID, err1 := r.WorkflowByID(4, w.ID)
			byNo, err2 := r.WorkflowByNo(w.No)
			byName, err3 := r.WorkflowByName(4, "shop", "orders")
			for _, got := range []store.Workflow{byID, byNo, byName} {
				if !reflect.DeepEqual(got, w) {
					f.Errorf("read %+v, want %+v", got, w)
				}
			}
			_, foreign := r.WorkflowByID(1, w.ID)
			_, foreignName := r.WorkflowByName(1, "shop", "orders")
			if !errors.Is(foreign, store.ErrNotFound) || !errors.Is(foreignName, store.ErrNotFound) {
				f.Errorf("foreign workflow: %v, %v", foreign, foreignName)
			}
			return errors.Join(err1, err2, err3)
		})
	}
	check()
	w.UpdatedMs, w.Published, w.Draft = startMs+100, 50, 0
	f.update(func(tx *store.Tx) error { return tx.UpdateWorkflow(&w) })
	check()
}

func createdUnique(f *fixture) {
	f.update(func(tx *store.Tx) error { // the accounts exist, as they always do
		for range 2 {
			a := store.Account{Name: "a"}
			setID(f, &a.ID, startMs)
			if err := tx.InsertAccount(&a); err != nil {
				return err
			}
		}
		return nil
	})
	var wg sync.WaitGroup
	for i := range 60 {
		w := f.workflow(fmt.Sprint(i), startMs)
		w.Account = 1 + int64(i%2)
		wg.Go(func() {
			if err := f.Update(context.Background(), func(tx *store.Tx) error { return tx.InsertWorkflow(&w) }); err != nil {
				f.Errorf("insert: %v", err)
			}
			if w.UpdatedMs != w.CreatedMs {
				f.Errorf("updated at %d, created at %d", w.UpdatedMs, w.CreatedMs)
			}
		})
	}
	wg.Wait()
	for account := int64(1); account <= 2; account++ {
		n := f.number(`SELECT COUNT(DISTINCT created_ms) FROM workflow WHERE account = ?1`, account)
		last := f.number(`SELECT MAX(created_ms) FROM workflow WHERE account = ?1`, account)
		if n != 30 || last != startMs+29 {
			f.Errorf("account %d has %d times up to %d, want 30 in a row", account, n, last-startMs)
		}
	}
}

func nameUnique(f *fixture) {
	w := f.workflow("a", startMs)
	f.update(func(tx *store.Tx) error { return tx.InsertWorkflow(&w) })
	again := f.workflow("a", startMs)
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.InsertWorkflow(&again) })
	elsewhere, foreign := f.workflow("a", startMs), f.workflow("a", startMs)
	elsewhere.Namespace, foreign.Account = "other", 2
	f.update(func(tx *store.Tx) error {
		return errors.Join(tx.InsertWorkflow(&elsewhere), tx.InsertWorkflow(&foreign))
	})
	if elsewhere.CreatedMs != startMs+1 || foreign.CreatedMs != startMs {
		f.Errorf("created at +%d and +%d, want +1 and +0", elsewhere.CreatedMs-startMs, foreign.CreatedMs-startMs)
	}
}

func (f *fixture) workflowPages(drafts bool, limit int) (names []string) {
	f.Helper()
	for before := int64(0); ; {
		var page []store.Workflow
		f.view(func(r *store.Reader) (err error) {
			page, err = r.ListWorkflows(store.WorkflowFilter{Account: 1, Drafts: drafts, BeforeMs: before, Limit: limit})
			return err
		})
		for _, w := range page {
			names, before = append(names, w.Name), w.CreatedMs
		}
		if len(page) < limit {
			return names
		}
	}
}

func listWorkflows(f *fixture) {
	for i := range 9 {
		w := f.workflow(fmt.Sprint(i), startMs)
		if i%3 != 0 {
			w.Published = 1
		}
		if i == 8 {
			w.Account = 2
		}
		f.update(func(tx *store.Tx) error {
			err := tx.InsertWorkflow(&w)
			if i == 4 {
				err = errors.Join(err, tx.DeleteWorkflow(w.No, startMs))
			}
			return err
		})
	}
	for _, limit := range []int{1, 2, 3, 100} {
		if got, want := f.workflowPages(true, limit), "[7 6 5 3 2 1 0]"; fmt.Sprint(got) != want {
			f.Errorf("with drafts by %d: %v, want %s", limit, got, want)
		}
		if got, want := f.workflowPages(false, limit), "[7 5 2 1]"; fmt.Sprint(got) != want {
			f.Errorf("published by %d: %v, want %s", limit, got, want)
		}
	}
	other := f.workflow("5", startMs)
	other.Namespace = "other"
	f.update(func(tx *store.Tx) error { return tx.InsertWorkflow(&other) })
	for _, c := range []struct {
		filter store.WorkflowFilter
		want   string
	}{
		{store.WorkflowFilter{Namespace: "other"}, "[other/5]"},
		{store.WorkflowFilter{Name: "5"}, "[other/5 shop/5]"},
		{store.WorkflowFilter{Namespace: "shop", Name: "5"}, "[shop/5]"},
		{store.WorkflowFilter{Namespace: "shop", Name: "8"}, "[]"},
		{store.WorkflowFilter{Namespace: "sho_"}, "[]"},
		{store.WorkflowFilter{Namespace: "shop", BeforeMs: startMs + 2}, "[shop/1 shop/0]"},
	} {
		c.filter.Account, c.filter.Drafts, c.filter.Limit = 1, true, 10
		names := []string{}
		f.view(func(r *store.Reader) error {
			page, err := r.ListWorkflows(c.filter)
			for _, w := range page {
				names = append(names, w.Namespace+"/"+w.Name)
			}
			return err
		})
		if fmt.Sprint(names) != c.want {
			f.Errorf("%+v: %v, want %s", c.filter, names, c.want)
		}
	}
}

func deletedWorkflow(f *fixture) {
	w := f.workflow("a", startMs)
	f.update(func(tx *store.Tx) error {
		return errors.Join(tx.InsertWorkflow(&w), tx.DeleteWorkflow(w.No, startMs+1))
	})
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.DeleteWorkflow(w.No, startMs+2) })
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.UpdateWorkflow(&w) })
	f.view(func(r *store.Reader) error {
		if _, err := r.WorkflowByName(1, "shop", "a"); !errors.Is(err, store.ErrNotFound) {
			f.Errorf("by name: %v, want ErrNotFound", err)
		}
		got, err := r.WorkflowByID(1, w.ID)
		if got.DeletedMs != startMs+1 {
			f.Errorf("deleted at %d", got.DeletedMs)
		}
		return err
	})
	again := f.workflow("a", startMs)
	f.update(func(tx *store.Tx) error { return tx.InsertWorkflow(&again) })
	if again.CreatedMs != startMs+1 {
		f.Errorf("created at +%d, but the deleted one has that time still", again.CreatedMs-startMs)
	}
}

func definitionsOnce(f *fixture) {
	digest := make([]byte, 32)
	a := store.Definition{Account: 1, Digest: digest, MediaType: "application/yaml", Source: []byte("do: []")}
	same, foreign := a, a
	foreign.Account = 2
	resourceful := a
	resourceful.Digest, resourceful.Resources = append(make([]byte, 31), 1), []byte(`[{"uri":"https://example.com"}]`)
	f.update(func(tx *store.Tx) error {
		return errors.Join(tx.PutDefinition(&a), tx.PutDefinition(&same), tx.PutDefinition(&foreign), tx.PutDefinition(&resourceful))
	})
	if same.No != a.No || foreign.No == a.No {
		f.Errorf("numbers %d %d %d, want the first two the same", a.No, same.No, foreign.No)
	}
	f.view(func(r *store.Reader) error {
		got, err := r.Definition(a.No)
		if !reflect.DeepEqual(got, a) {
			f.Errorf("read %+v, want %+v", got, a)
		}
		if _, err := r.Definition(99); !errors.Is(err, store.ErrNotFound) {
			f.Errorf("unknown definition: %v", err)
		}
		if got, err := r.Definition(resourceful.No); !reflect.DeepEqual(got, resourceful) {
			f.Errorf("read %+v (%v), want %+v", got, err, resourceful)
		}
		return err
	})
}

func revisions(f *fixture) {
	d := store.Definition{Account: 1, Digest: make([]byte, 32), MediaType: "application/yaml", Source: []byte("x")}
	d.Digest[5] = 9
	f.update(func(tx *store.Tx) error { return tx.PutDefinition(&d) })
	add := func(workflow int64, version string, draft bool) store.Revision {
		v := store.Revision{Workflow: workflow, Version: version, Definition: d.No, Digest: d.Digest, Title: "Title " + version, Draft: draft, CreatedMs: startMs, CreatedBy: -7, Message: "why", Tags: `["team:pay"]`}
		if draft {
			v.Files = []chargehand.FileID{{1, 2}, {3}}
		}
		f.update(func(tx *store.Tx) error { return tx.InsertRevision(&v) })
		return v
	}
	first, draft := add(1, "1.0.0", false), add(1, "1.0.0", true)
	other, foreign := add(1, "2.0.0", true), add(2, "1.0.0", false)
	if first.Number != 1 || draft.Number != 2 || other.Number != 1 || foreign.Number != 1 {
		f.Errorf("numbers %d %d %d %d, want 1 2 1 1", first.Number, draft.Number, other.Number, foreign.Number)
	}
	f.view(func(r *store.Reader) error {
		got, err := r.RevisionByNo(draft.No)
		if !reflect.DeepEqual(got, draft) {
			f.Errorf("read %+v, want %+v", got, draft)
		}
		newest, err2 := r.RevisionByVersion(1, "1.0.0", true)
		released, err3 := r.RevisionByVersion(1, "1.0.0", false)
		if newest.No != draft.No || released.No != first.No {
			f.Errorf("of 1.0.0: newest %d, released %d, want %d, %d", newest.No, released.No, draft.No, first.No)
		}
		numbered, err4 := r.RevisionByNumber(1, "1.0.0", 2)
		if numbered.No != draft.No {
			f.Errorf("second of 1.0.0 is %d", numbered.No)
		}
		if _, err := r.RevisionByVersion(1, "2.0.0", false); !errors.Is(err, store.ErrNotFound) {
			f.Errorf("a version with drafts only: %v, want ErrNotFound", err)
		}
		page, err5 := r.ListRevisions(1, 0, 2)
		rest, err6 := r.ListRevisions(1, page[len(page)-1].No, 2)
		if len(page) != 2 || len(rest) != 1 || page[0].No != other.No || page[1].No != draft.No || rest[0].No != first.No {
			f.Errorf("listed %v then %v", page, rest)
		}
		return errors.Join(err, err2, err3, err4, err5, err6)
	})
	f.update(func(tx *store.Tx) error { return tx.SetRevisionDraft(other.No, false) })
	f.view(func(r *store.Reader) error {
		got, err := r.RevisionByVersion(1, "2.0.0", false)
		if got.No != other.No || got.Draft {
			f.Errorf("%+v", got)
		}
		return err
	})
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.SetRevisionDraft(99, false) })
}
