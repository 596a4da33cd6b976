package mail

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/mail/letter"
	"github.com/chargehand/chargehand/internal/peer/mailserver"
	"github.com/chargehand/chargehand/internal/store"
)

func TestMailOfACommittedChangeIsSentOnce(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		o := f.outbox(f.store)
		f.run(o)
		undone := errors.New("undone")
		err := f.store.Update(t.Context(), func(tx *store.Tx) error {
			_, err := o.Put(tx, f.mail("undone@example.org"))
			return errors.Join(err, undone)
		})
		if !errors.Is(err, undone) {
			t.Fatal(err)
		}
		o.Notify()
		if !f.put(o, f.mail("ada@example.org")) {
			t.Error("it is not taken")
		}
		m := f.server.Wait(t, 1)[0]
		f.eventually("it has ended", func() bool { return f.waiting() == 0 })
		if m.To != "ada@example.org" || !strings.Contains(m.Text, link) {
			t.Errorf("%+v", m)
		}
		if n := len(f.server.Mails()); n != 1 {
			t.Errorf("%d mails", n)
		}
		if got := o.Stats(); got != (Stats{Sent: 1}) {
			t.Errorf("%+v", got)
		}
	})
}

func TestMailIsNotReadableAtRest(t *testing.T) {
	f := newSQLite(t)
	o := f.outbox(f.store)
	f.put(o, f.mail("ada@example.org"))
	err := f.store.Update(t.Context(), func(tx *store.Tx) error {
		m, err := tx.LeaseMail(f.now().UnixMilli(), f.now().UnixMilli())
		if err != nil {
			return err
		}
		for _, text := range []string{"very-secret", "ada@example.org", "Ada"} {
			if bytes.Contains(m.Content, []byte(text)) {
				t.Errorf("%q can be read in %q", text, m.Content)
			}
		}
		other := m
		other.ID[3]++
		if _, err := o.open(&other); err == nil {
			t.Error("a mail opens in the row of another one")
		}
		other = m
		other.Content = append([]byte(nil), m.Content...)
		other.Content[len(other.Content)-1] ^= 1
		return tx.CompleteMail(&other)
	})
	if err != nil {
		t.Fatal(err)
	}
	f.run(o)
	f.eventually("a damaged mail ends", func() bool { return f.waiting() == 0 && o.Stats().GivenUp == 1 })
	f.logged("level=WARN", "a mail is given up", "cannot be opened")
	if len(f.server.Mails()) != 0 {
		t.Error("it was sent")
	}
}

// TestCrashes: the process dies between the answer of the mail server and the note of it, while it has two other mails
// under way. None is lost, and only the one is sent twice.
func TestCrashes(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		first := f.outbox(f.store)
		for i := range 3 {
			f.put(first, f.mail(fmt.Sprintf("p%d@example.org", i)))
		}
		// It dies when the server has taken the second mail, before it learns of it. The others continue only then.
		var taken atomic.Int64
		died := make(chan struct{})
		f.server.Refuse(func(stage, to string) error {
			switch {
			case stage == "taken" && to == "p1@example.org" && taken.Add(1) == 1:
				f.db.lost.Store(true)
				close(died)
				<-t.Context().Done()
			case stage == "to" && to != "p1@example.org":
				<-died
			case stage == "connect" && f.db.lost.Load():
				return mailserver.Code(421, "gone") // a process that has died connects no more
			}
			return nil
		})
		stop := f.run(first)
		<-died
		stop()
		f.db.lost.Store(false)
		f.advance(leaseTime)
		f.run(f.outbox(f.second))
		f.eventually("all have ended", func() bool { return f.waiting() == 0 })
		ids, to := map[string]int{}, map[string]int{}
		for _, m := range f.server.Mails() {
			ids[m.Header.Get("Message-Id")]++
			to[m.To]++
		}
		if want := map[string]int{"p0@example.org": 1, "p1@example.org": 2, "p2@example.org": 1}; !maps.Equal(to, want) {
			t.Errorf("mails came to %v, want %v", to, want)
		}
		if len(ids) != 3 {
			t.Errorf("the same mail has several ids: %v", ids)
		}
	})
}

func TestServerThatIsDownForAWhile(t *testing.T) {
	f := newSQLite(t)
	f.server.Refuse(func(stage, _ string) error {
		if stage == "connect" {
			return mailserver.Code(421, "down")
		}
		return nil
	})
	o := f.outbox(f.store)
	stop := f.run(o)
	for i := range 6 {
		f.put(o, f.mail(fmt.Sprintf("p%d@example.org", i)))
	}
	f.eventually("it counts as failing", func() bool { return o.Stats().Failing })
	stop() // no attempt is under way while the clock moves: it would wait from then on
	f.logged("level=WARN", "the mail server cannot be used")
	if got := o.Stats().Failures; got > atOnce {
		t.Errorf("%d attempts, although all wait for a second after the first", got)
	}
	f.server.Refuse(nil)
	f.advance(leaseTime) // which is longer than the pause, and holds for attempts that the stop has cut off
	f.run(o)
	f.eventually("all are sent", func() bool { return f.waiting() == 0 })
	if n := len(f.server.Mails()); n != 6 {
		t.Errorf("%d mails", n)
	}
	f.logged("level=INFO", "the mail server can be used again")
	if got := o.Stats(); got.Failing || got.Sent != 6 || got.GivenUp != 0 {
		t.Errorf("%+v", got)
	}
}

func TestRefusedMails(t *testing.T) {
	f := newSQLite(t)
	f.server.Refuse(func(stage, to string) error {
		switch {
		case stage != "to":
			return nil
		case strings.HasPrefix(to, "never"):
			return mailserver.Code(550, "no such mailbox")
		case strings.HasPrefix(to, "later"):
			return mailserver.Code(451, "try later")
		}
		return nil
	})
	o := f.outbox(f.store)
	f.run(o)
	f.put(o, f.mail("never@example.org"))
	f.eventually("it is given up", func() bool { return f.waiting() == 0 && o.Stats().GivenUp == 1 })
	f.logged("level=WARN", "a mail is given up", "kind=reset", "attempts=1", "550")
	f.put(o, f.mail("later@example.org"))
	for attempt := range 4 {
		f.eventually("it was tried", func() bool { return o.Stats().Failures == int64(2+attempt) })
		f.logged("a mail was not sent; it is tried again", fmt.Sprint("attempt=", attempt+1), "451")
		f.eventually("it is put off", func() bool { return f.due() != f.now().Add(leaseTime).UnixMilli() })
		wait := time.UnixMilli(f.due()).Sub(f.now())
		if least := pauses[attempt] * 4 / 5; wait < least-time.Second || wait > pauses[attempt] {
			t.Errorf("after attempt %d it waits for %v, want %v to %v", attempt+1, wait, least, pauses[attempt])
		}
		f.advance(wait)
	}
	f.advance(24 * time.Hour)
	f.eventually("it has expired", func() bool { return f.waiting() == 0 && o.Stats().GivenUp == 2 })
	f.put(o, f.mail("ada@example.org"))
	f.server.Wait(t, 1)
	if o.Stats().Failing {
		t.Error("the server counts as failing, although it refused single mails")
	}
}

// due is when the next mail is due.
func (f *fixture) due() (ms int64) {
	f.t.Helper()
	err := f.second.View(context.Background(), func(r *store.Reader) (err error) {
		ms, err = r.OldestMailMs()
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return ms
}

func TestConcurrentNodesSendOnce(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		one, two := f.outbox(f.store), f.outbox(f.second)
		const mails = 30
		for i := range mails {
			f.put(one, f.mail(fmt.Sprintf("p%d@example.org", i)))
		}
		f.run(one)
		f.run(two)
		f.eventually("all have ended", func() bool { return f.waiting() == 0 })
		to := map[string]int{}
		for _, m := range f.server.Mails() {
			to[m.To]++
		}
		if len(to) != mails || len(f.server.Mails()) != mails {
			t.Errorf("%d mails to %d persons, want %d", len(f.server.Mails()), len(to), mails)
		}
	})
}

// TestMailThatHangs: it delays no other, and keeps no process from ending.
func TestMailThatHangs(t *testing.T) {
	f := newSQLite(t)
	hangs := make(chan struct{})
	f.server.Refuse(func(stage, to string) error {
		if stage == "to" && to == "hangs@example.org" {
			close(hangs)
			<-t.Context().Done()
		}
		return nil
	})
	o := f.outbox(f.store)
	stop := f.run(o)
	f.put(o, f.mail("hangs@example.org"))
	<-hangs
	for i := range 10 {
		f.put(o, f.mail(fmt.Sprintf("p%d@example.org", i)))
	}
	f.eventually("all but one are sent", func() bool { return f.waiting() == 1 })
	stop()
	if n := f.waiting(); n != 1 {
		t.Errorf("%d wait", n)
	}
	if o.Stats().Failing {
		t.Error("what the end of the process cut off counts against the server")
	}
}

// TestMailsThatHang: more mails than are sent at once hang, for as long as the test runs, at a recipient or when the
// mail server has them as a whole. The others overtake them, and none is lost or sent twice.
func TestMailsThatHang(t *testing.T) {
	for _, at := range []string{"to", "taken"} {
		t.Run(at, func(t *testing.T) {
			f := newSQLite(t)
			f.server.Refuse(func(stage, to string) error {
				if stage == at && strings.HasPrefix(to, "hangs") {
					<-t.Context().Done()
				}
				return nil
			})
			o := f.outbox(f.store)
			o.permits.after = 10 * time.Millisecond
			const hanging, others = atOnce + 2, 10
			for i := range hanging {
				f.put(o, f.mail(fmt.Sprintf("hangs%d@example.org", i)))
			}
			for i := range others {
				f.put(o, f.mail(fmt.Sprintf("p%d@example.org", i)))
			}
			f.run(o)
			f.eventually("all others are sent", func() bool { return f.waiting() == hanging })
			to := map[string]int{}
			for _, m := range f.server.Mails() {
				to[m.To]++
			}
			for i := range others {
				if n := to[fmt.Sprintf("p%d@example.org", i)]; n != 1 {
					t.Errorf("%d mails came to p%d", n, i)
				}
			}
			if got := o.Stats(); got.Sent != others || got.GivenUp != 0 {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestFullOutbox(t *testing.T) {
	f := newSQLite(t)
	o := f.outbox(f.store)
	o.most = 4
	asked := f.mail("")
	asked.Person = 0
	var taken []bool
	for _, m := range []Mail{f.mail("a@example.org"), asked, asked, f.mail("b@example.org"), f.mail("c@example.org"), f.mail("d@example.org")} {
		taken = append(taken, f.put(o, m))
	}
	if got := fmt.Sprint(taken); got != "[true true false true true false]" {
		t.Error(got)
	}
	if o.Stats().Refused < 2 || f.waiting() != 4 { // an Update may run twice
		t.Errorf("%+v, %d wait", o.Stats(), f.waiting())
	}
	f.logged("level=WARN", "a mail is not sent, because too many wait")
	long := f.mail("a@example.org")
	long.Letter.URL = strings.Repeat("x", maxContent)
	o.most = 100
	if err := f.store.Update(t.Context(), func(tx *store.Tx) error { _, err := o.Put(tx, long); return err }); err == nil {
		t.Error("a mail that is too large is taken")
	}
}

func TestCompletedMails(t *testing.T) {
	f := newSQLite(t)
	o := f.outbox(f.store)
	o.Completes(letter.AskedReset, func(_ *store.Tx, m *Mail) (bool, error) {
		if m.To != "ada@example.org" {
			return false, nil
		}
		m.Person, m.Account, m.To, m.Letter.Name, m.Letter.URL = 7, 8, "stored@example.org", "Ada", link
		return true, nil
	})
	var refusals atomic.Int64
	f.server.Refuse(func(stage, _ string) error {
		if stage == "to" && refusals.Add(1) == 1 {
			return mailserver.Code(451, "try later")
		}
		return nil
	})
	f.run(o)
	for _, to := range []string{"unknown@example.org", "ada@example.org"} {
		f.put(o, Mail{To: to, Letter: letter.Letter{Kind: letter.AskedReset}, Until: f.now().Add(time.Hour)})
	}
	f.eventually("it was tried", func() bool { return o.Stats().Failures == 1 })
	f.eventually("it is put off", func() bool { return f.due() <= f.now().Add(pauses[0]).UnixMilli() })
	f.advance(pauses[0])
	f.eventually("it is sent", func() bool { return f.waiting() == 0 })
	mails := f.server.Mails()
	if len(mails) != 1 || mails[0].To != "stored@example.org" || !strings.Contains(mails[0].Text, link) {
		t.Errorf("%+v", mails)
	}
	if got := o.Stats(); got.GivenUp != 0 || got.Sent != 1 {
		t.Errorf("%+v", got)
	}
}

func TestWithoutAMailServer(t *testing.T) {
	var o *Outbox
	o.Notify()
	o.Completes(letter.AskedReset, nil)
	if taken, err := o.Put(nil, Mail{}); taken || err != nil || o.On() {
		t.Error(taken, err)
	}
}
