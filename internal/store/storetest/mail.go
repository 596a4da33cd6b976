package storetest

import (
	"context"
	"errors"
	"sync"

	"github.com/chargehand/chargehand/internal/store"
)

var mailTests = map[string]func(*fixture){
	"round trip":            mailRoundTrip,
	"leased once":           mailLeased,
	"leased by one of many": mailLeasedOnce,
	"ended by who leases":   mailEnded,
	"deleted":               mailDeleted,
}

// newMail inserts a mail that is due at dueMs.
func (f *fixture) newMail(dueMs int64) store.Mail {
	f.Helper()
	m := store.Mail{Account: 3, Person: 4, Kind: "invitation", DueMs: dueMs, ExpiresMs: dueMs + 1000, CreatedMs: startMs, Content: []byte("sealed")}
	m.ID = id[[16]byte](f, startMs)
	f.update(func(tx *store.Tx) error { return tx.InsertMail(&m) })
	return m
}

// leaseMail leases the next mail; false: none is due.
func (f *fixture) leaseMail(nowMs, untilMs int64) (m store.Mail, found bool) {
	f.Helper()
	err := f.Update(context.Background(), func(tx *store.Tx) (err error) {
		m, err = tx.LeaseMail(nowMs, untilMs)
		return err
	})
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		f.Fatalf("lease: %v", err)
	}
	return m, err == nil
}

func mailRoundTrip(f *fixture) {
	want := f.newMail(5)
	taken := want
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.InsertMail(&taken) })
	got, _ := f.leaseMail(5, 50)
	want.Attempts, want.DueMs = 1, 50
	same(f, "leased", got, want)
	want.Person, want.Account, want.ExpiresMs, want.Content = 7, 8, 60, []byte("another")
	f.update(func(tx *store.Tx) error { return tx.CompleteMail(&want) })
	got, _ = f.leaseMail(50, 70)
	want.Attempts, want.DueMs = 2, 70
	same(f, "leased again", got, want)
}

func mailLeased(f *fixture) {
	late, early := f.newMail(20), f.newMail(10)
	due := func(nowMs int64) (due bool) {
		f.view(func(r *store.Reader) (err error) {
			due, err = r.MailDue(nowMs)
			return err
		})
		return due
	}
	if due(9) || !due(10) {
		f.Error("mail is due before its time, or not at it")
	}
	if _, found := f.leaseMail(9, 100); found {
		f.Error("mail is leased before its time")
	}
	first, _ := f.leaseMail(30, 100)
	second, _ := f.leaseMail(30, 100)
	same(f, "in the order of their times", []int64{first.No, second.No}, []int64{early.No, late.No})
	if _, found := f.leaseMail(99, 300); found || due(99) {
		f.Error("mail is leased before a lease was over")
	}
	f.update(func(tx *store.Tx) error { return tx.PostponeMail(&first, 200) })
	f.view(func(r *store.Reader) error {
		ms, err1 := r.OldestMailMs()
		all, err2 := r.CountMail(10)
		one, err3 := r.CountMail(1)
		same(f, "oldest and counts", []int64{ms, all, one}, []int64{100, 2, 1})
		return errors.Join(err1, err2, err3)
	})
}

func mailLeasedOnce(f *fixture) {
	const mails = 40
	for range mails {
		f.newMail(1)
	}
	var mu sync.Mutex
	times := map[int64]int{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for {
				var m store.Mail
				err := f.Update(context.Background(), func(tx *store.Tx) (err error) {
					m, err = tx.LeaseMail(10, 100)
					return err
				})
				if errors.Is(err, store.ErrNotFound) {
					return
				}
				if err != nil {
					f.Errorf("lease: %v", err)
					return
				}
				mu.Lock()
				times[m.No]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for no, n := range times {
		if n != 1 {
			f.Errorf("mail %d was leased %d times", no, n)
		}
	}
	// One that passed over locked rows may have stopped early; what is left is due still.
	for left := true; left; {
		var m store.Mail
		if m, left = f.leaseMail(10, 100); left {
			times[m.No]++
		}
	}
	same(f, "all of them", len(times), mails)
}

func mailEnded(f *fixture) {
	f.newMail(1)
	first, _ := f.leaseMail(1, 10)
	second, _ := f.leaseMail(10, 20)
	for name, change := range map[string]func(tx *store.Tx) error{
		"complete": func(tx *store.Tx) error { return tx.CompleteMail(&first) },
		"postpone": func(tx *store.Tx) error { return tx.PostponeMail(&first, 5) },
		"end":      func(tx *store.Tx) error { return tx.EndMail(&first, store.MailSent, 5) },
	} {
		if err := f.Update(context.Background(), change); !errors.Is(err, store.ErrConflict) {
			f.Errorf("%s with a lease that is over: %v", name, err)
		}
	}
	f.update(func(tx *store.Tx) error { return tx.EndMail(&second, store.MailGivenUp, 15) })
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.EndMail(&second, store.MailSent, 16) })
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.PostponeMail(&second, 16) })
	if _, found := f.leaseMail(100, 200); found {
		f.Error("mail that has ended is leased")
	}
	f.view(func(r *store.Reader) error {
		ms, err1 := r.OldestMailMs()
		n, err2 := r.CountMail(10)
		same(f, "waiting", []int64{ms, n}, []int64{0, 0})
		return errors.Join(err1, err2)
	})
	same(f, "rows without content", f.number(`SELECT COUNT(*) FROM mail WHERE content IS NULL AND result = 2 AND ended_ms = 15`), 1)
}

func mailDeleted(f *fixture) {
	for _, due := range []int64{1, 2, 3, 4} {
		f.newMail(due)
	}
	f.update(func(tx *store.Tx) error {
		two, err1 := tx.DeleteMail(1004, 2)
		one, err2 := tx.DeleteMail(1004, 2)
		none, err3 := tx.DeleteMail(1004, 2)
		same(f, "deleted", []int64{two, one, none}, []int64{2, 1, 0})
		return errors.Join(err1, err2, err3)
	})
	same(f, "left", f.number(`SELECT COUNT(*) FROM mail`), 1)
}
