package reminder

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/store"
)

// postponed puts mails in the outbox that the mail server has refused for now.
func (f *fixture) postponed(account int64, n int) {
	f.Helper()
	f.update(func(tx *store.Tx) error {
		for range n {
			nowMs := f.now().UnixMilli()
			m := store.Mail{
				Account: account, Person: 1, Kind: "invitation", DueMs: 1, CreatedMs: 1, Content: []byte("x"),
				ExpiresMs: f.now().Add(72 * time.Hour).UnixMilli(),
			}
			f.id(m.ID[:])
			if err := tx.InsertMail(&m); err != nil {
				return err
			}
			leased, err := tx.LeaseMail(nowMs, nowMs+1000)
			if err == nil {
				err = tx.PostponeMail(&leased, f.now().Add(2*time.Hour).UnixMilli())
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Mails that a mailbox refuses for now keep back no mails to others, until too many of one account are tried again.
func TestPostponedMails(t *testing.T) {
	each(t, func(f *fixture) {
		f.person("Ada")
		w := f.worker(f.outbox())
		f.step(w)
		const others = 1000
		f.postponed(f.account.No, outboxShare)
		f.postponed(f.account.No+1, others)
		f.open(f.task(f.execution, users("ada@example.org")), 0)
		f.step(w)
		if n := f.inOutbox() - outboxShare - others; n != 1 || f.waiting() != 0 {
			t.Errorf("%d mails were handed out, and %d wait", n, f.waiting())
		}
		f.postponed(f.account.No, postponedShare-outboxShare)
		f.open(f.task(f.execution, users("ada@example.org")), 0)
		f.step(w)
		if n := f.inOutbox() - postponedShare - others; n != 1 || f.waiting() != 1 {
			t.Errorf("%d mails were handed out, and %d wait", n, f.waiting())
		}
		if n := f.logged("level=WARN", "too many of their account are tried again later", "workflow="+f.workflow.ID.String(), "waiting=1"); n != 1 {
			t.Errorf("%d lines say why:\n%s", n, f.log.String())
		}
		f.advance(time.Minute + 2*time.Hour) // the postponed ones are due: they are before it
		f.step(w)
		if f.waiting() != 1 {
			t.Error("it was handed out before those that are due")
		}
	})
}

// What cannot be handed out of one workflow keeps back no mails of others.
func TestFailureOfOneWorkflow(t *testing.T) {
	f := newSQLite(t)
	f.person("Ada")
	_, other := f.newWorkflow("other")
	fails := true
	w := New(Config{Store: f.store, Mail: f.outbox(), Now: f.now, Log: slog.New(slog.NewTextHandler(&f.log, nil)),
		Link: func(_ *store.Tx, h *store.HumanTask, _ *Addressee) (string, time.Time, error) {
			if fails && h.Workflow == f.workflow.No {
				return "", time.Time{}, errors.New("no address")
			}
			return "https://wf.example.org/x", time.Time{}, nil
		}})
	f.step(w)
	f.open(f.task(f.execution, users("ada@example.org")), 0)
	f.open(f.task(other, users("ada@example.org")), 0)
	f.step(w)
	if f.inOutbox() != 1 || f.waiting() != 1 {
		t.Errorf("%d mails were handed out, and %d wait", f.inOutbox(), f.waiting())
	}
	if n := f.logged("level=WARN", "cannot be handed out", "no address"); n != 1 {
		t.Errorf("%d lines say why:\n%s", n, f.log.String())
	}
	fails = false
	f.advance(time.Minute)
	f.step(w)
	if f.inOutbox() != 2 || f.waiting() != 0 {
		t.Errorf("%d mails were handed out, and %d wait", f.inOutbox(), f.waiting())
	}
}
