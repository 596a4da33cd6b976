package storetest

import (
	"context"
	"errors"
	"reflect"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

var auditTests = map[string]func(*fixture){
	"round trip": auditRoundTrip,
	"filters":    auditFilters,
	"counted":    auditCounted,
	"undone":     auditUndone,
	"since":      auditSince,
	"retention":  auditRetention,
}

// entry is an entry of account 1 made at ms.
func (f *fixture) entry(ms int64, action string) store.Audit {
	a := store.Audit{
		Account: 1, Environment: chargehand.Live, ActorKind: "key", ActorID: "k1", ActorName: "deploy", Action: action,
		TargetKind: "secret", TargetID: "s1", TargetName: "token", Address: "192.0.2.1", RequestID: "r1", Changes: []byte(`{"a":1}`), Occurred: 1,
	}
	setID(f, &a.ID, ms)
	return a
}

// record appends entries in one Update.
func (f *fixture) record(list ...store.Audit) {
	f.Helper()
	f.update(func(tx *store.Tx) error {
		for i := range list {
			if err := tx.InsertAudit(&list[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// audited lists the ids of what a filter selects.
func (f *fixture) audited(q store.AuditFilter) (ids []chargehand.AuditID) {
	f.Helper()
	q.Account = max(q.Account, 1)
	if q.Limit == 0 {
		q.Limit = 10
	}
	f.view(func(r *store.Reader) error {
		rows, err := r.ListAudit(q)
		ids = nil
		for i := range rows {
			ids = append(ids, rows[i].ID)
		}
		return err
	})
	return ids
}

func auditRoundTrip(f *fixture) {
	full := f.entry(startMs, "secret.set")
	bare := store.Audit{Account: 1, ActorKind: "system", ActorID: "system", Action: "key.created", Occurred: 1}
	setID(f, &bare.ID, startMs+1)
	other := f.entry(startMs, "secret.set")
	other.Account = 2
	f.record(full, bare, other)
	f.view(func(r *store.Reader) error {
		rows, err := r.ListAudit(store.AuditFilter{Account: 1, Limit: 10})
		for i := range rows {
			if rows[i].No == 0 {
				f.Error("an entry has no number")
			}
			rows[i].No = 0
		}
		if want := []store.Audit{bare, full}; !reflect.DeepEqual(rows, want) {
			f.Errorf("read %+v, want %+v", rows, want)
		}
		return err
	})
}

func auditFilters(f *fixture) {
	a, b, c := f.entry(startMs, "key.created"), f.entry(startMs+1000, "secret.set"), f.entry(startMs+2000, "secret.set")
	a.TargetID, b.ActorID, c.Environment = "t2", "k2", chargehand.Test
	f.record(a, b, c)
	type ids = []chargehand.AuditID
	for name, q := range map[string]struct {
		filter store.AuditFilter
		want   ids
	}{
		"all":            {store.AuditFilter{}, ids{c.ID, b.ID, a.ID}},
		"first page":     {store.AuditFilter{Limit: 2}, ids{c.ID, b.ID}},
		"next page":      {store.AuditFilter{Limit: 2, Before: b.ID}, ids{a.ID}},
		"target":         {store.AuditFilter{Target: "t2"}, ids{a.ID}},
		"actor":          {store.AuditFilter{Actor: "k2"}, ids{b.ID}},
		"action":         {store.AuditFilter{Action: "secret.set"}, ids{c.ID, b.ID}},
		"environment":    {store.AuditFilter{Environment: chargehand.Test}, ids{c.ID}},
		"after":          {store.AuditFilter{AfterMs: startMs + 1000}, ids{c.ID}},
		"before":         {store.AuditFilter{BeforeMs: startMs + 1000}, ids{a.ID}},
		"between":        {store.AuditFilter{AfterMs: startMs, BeforeMs: startMs + 2000}, ids{b.ID}},
		"page before":    {store.AuditFilter{BeforeMs: startMs + 2000, Before: b.ID}, ids{a.ID}},
		"other account":  {store.AuditFilter{Account: 2}, nil},
		"unknown target": {store.AuditFilter{Target: "none"}, nil},
	} {
		if got := f.audited(q.filter); !reflect.DeepEqual(got, q.want) {
			f.Errorf("%s: %v, want %v", name, got, q.want)
		}
	}
}

// auditCounted: what has something in common is one entry, which keeps the first occurrence.
func auditCounted(f *fixture) {
	first, again, another := f.entry(startMs, "session.failed"), f.entry(startMs+1, "session.failed"), f.entry(startMs+2, "session.failed")
	first.Summed, again.Summed, another.Summed = []byte("one minute"), []byte("one minute"), []byte("the next")
	again.RequestID = "r2"
	for _, a := range []store.Audit{first, again, another, again} {
		f.update(func(tx *store.Tx) error { return tx.CountAudit(&a) })
	}
	f.view(func(r *store.Reader) error {
		rows, err := r.ListAudit(store.AuditFilter{Account: 1, Limit: 10})
		if len(rows) != 2 || rows[0].ID != another.ID || rows[0].Occurred != 1 || rows[1].ID != first.ID || rows[1].Occurred != 3 || rows[1].RequestID != "r1" {
			f.Errorf("read %+v", rows)
		}
		return err
	})
}

// auditSince: entries are counted up to a limit, and a known one is counted again.
func auditSince(f *fixture) {
	before, at, later, other := f.entry(startMs-1, "session.failed"), f.entry(startMs, "session.failed"), f.entry(startMs+9, "session.failed"), f.entry(startMs, "key.created")
	at.Summed = []byte("one minute")
	f.record(before, later, other)
	f.update(func(tx *store.Tx) error {
		unknown, err1 := tx.CountAuditAgain(at.Summed)
		err2 := tx.CountAudit(&at)
		known, err3 := tx.CountAuditAgain(at.Summed)
		same(f, "counted again", []bool{unknown, known}, []bool{false, true})
		return errors.Join(err1, err2, err3)
	})
	f.view(func(r *store.Reader) error {
		all, err1 := r.AuditSince(1, "session.failed", startMs, 10)
		some, err2 := r.AuditSince(1, "session.failed", startMs, 1)
		none, err3 := r.AuditSince(2, "session.failed", startMs, 10)
		same(f, "entries", []int{all, some, none}, []int{2, 1, 0})
		return errors.Join(err1, err2, err3)
	})
}

// auditUndone: an entry is part of the transaction of its change.
func auditUndone(f *fixture) {
	failed := errors.New("the change failed")
	err := f.Update(context.Background(), func(tx *store.Tx) error {
		a := f.entry(startMs, "secret.set")
		return errors.Join(tx.InsertAudit(&a), failed)
	})
	if !errors.Is(err, failed) {
		f.Fatalf("update: %v", err)
	}
	if ids := f.audited(store.AuditFilter{}); ids != nil {
		f.Errorf("%v are left of a change that failed", ids)
	}
}

func auditRetention(f *fixture) {
	a, b, c := f.entry(startMs, "key.created"), f.entry(startMs+1, "key.created"), f.entry(startMs+2, "key.created")
	f.record(c, a, b)
	deleted := func(beforeMs int64, limit int) (n int64) {
		f.update(func(tx *store.Tx) (err error) {
			n, err = tx.DeleteAudit(beforeMs, limit)
			return err
		})
		return n
	}
	if n := deleted(0, 10); n != 0 {
		f.Errorf("%d entries deleted before the beginning of time", n)
	}
	if n := deleted(startMs+2, 1); n != 1 {
		f.Errorf("%d entries deleted, want one step", n)
	}
	if got, want := f.audited(store.AuditFilter{}), []chargehand.AuditID{c.ID, b.ID}; !reflect.DeepEqual(got, want) {
		f.Errorf("left are %v, want %v", got, want)
	}
	if n := deleted(startMs+2, 10); n != 1 {
		f.Errorf("%d entries deleted, want the rest before the bound", n)
	}
	if got, want := f.audited(store.AuditFilter{}), []chargehand.AuditID{c.ID}; !reflect.DeepEqual(got, want) {
		f.Errorf("left are %v, want %v", got, want)
	}
}
