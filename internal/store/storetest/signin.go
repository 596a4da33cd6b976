package storetest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"reflect"

	"github.com/chargehand/chargehand/internal/store"
)

var signInTests = map[string]func(*fixture){
	"session":          sessionRoundTrip,
	"session renewed":  sessionRenewed,
	"sessions revoked": sessionsRevoked,
	"sessions deleted": sessionsDeleted,
	"sessions kept":    sessionsKept,
	"passkey":          passkeyRoundTrip,
	"identity":         identityRoundTrip,
	"ticket":           ticketRoundTrip,
	"ticket with code": ticketCode,
	"tickets deleted":  ticketsDeleted,
	"tickets kept":     ticketsKept,
	"delay":            signInDelay,
	"delays kept":      signInDelaysKept,
}

func hashOf(text string) []byte {
	sum := sha256.Sum256([]byte(text))
	return sum[:]
}

// newSession inserts a session of a person in account 1, whose token is text.
func (f *fixture) newSession(person int64, text string) store.Session {
	f.Helper()
	s := store.Session{
		Hash: hashOf(text), Person: person, Account: 1, Method: "passkey", Address: "192.0.2.7", Agent: "Browser/1", Rights: -7, CreatedMs: startMs,
		LastSeenMs: startMs, IdleMs: startMs + 10, ExpiresMs: startMs + 100, FreshMs: startMs + 5,
	}
	setID(f, &s.ID, startMs)
	f.update(func(tx *store.Tx) error { return tx.InsertSession(&s) })
	return s
}

func (f *fixture) sessionByHash(hash []byte) (s store.Session) {
	f.Helper()
	f.view(func(r *store.Reader) (err error) {
		s, err = r.SessionByHash(hash)
		if err == nil {
			again, err := r.SessionByNo(s.No)
			if err != nil || !reflect.DeepEqual(again, s) {
				f.Errorf("by its number the session is %+v, want %+v, %v", again, s, err)
			}
		}
		return err
	})
	return s
}

func sessionRoundTrip(f *fixture) {
	s := f.newSession(1, "token")
	same(f, "read", f.sessionByHash(hashOf("token")), s)
	taken := s
	setID(f, &taken.ID, startMs)
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.InsertSession(&taken) })
	f.view(func(r *store.Reader) error {
		_, err := r.SessionByHash(hashOf("other"))
		missing(f, err)
		return nil
	})
	f.update(func(tx *store.Tx) error {
		return errors.Join(tx.TouchSession(s.No, startMs+4, startMs+14), tx.TouchSession(s.No, startMs+2, startMs+12))
	})
	s.LastSeenMs, s.IdleMs = startMs+4, startMs+14
	same(f, "seen again", f.sessionByHash(hashOf("token")), s)
	if s.Ended(startMs+13) || !s.Ended(startMs+14) {
		f.Error("a session ends when it is idle")
	}
	if s.IdleMs = startMs + 200; !s.Ended(startMs+100) || s.Ended(startMs+99) {
		f.Error("a session ends at the latest at its end")
	}
}

func sessionRenewed(f *fixture) {
	s := f.newSession(1, "first")
	second := s
	second.Hash, second.OldUntilMs, second.Account, second.Rights, second.FreshMs = hashOf("second"), startMs+60, 2, 9, startMs+70
	f.update(func(tx *store.Tx) error { return tx.RenewSession(&second, s.Hash) })
	second.OldHash = s.Hash
	same(f, "by the token before", f.sessionByHash(hashOf("first")), second)
	same(f, "by the new token", f.sessionByHash(hashOf("second")), second)
	third := second
	third.Hash = hashOf("third")
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.RenewSession(&third, s.Hash) })
	f.update(func(tx *store.Tx) error { return tx.RenewSession(&third, second.Hash) })
	f.view(func(r *store.Reader) error {
		_, err := r.SessionByHash(hashOf("first"))
		missing(f, err)
		return nil
	})
}

func sessionsRevoked(f *fixture) {
	var all []store.Session
	for _, token := range []string{"a", "b", "c", "d", "e"} {
		all = append(all, f.newSession(1, token))
	}
	other := f.newSession(2, "other")
	elsewhere := all[4]
	elsewhere.Account, elsewhere.Hash = 2, hashOf("e2")
	f.update(func(tx *store.Tx) error {
		return errors.Join(tx.RenewSession(&elsewhere, all[4].Hash), tx.RevokeSession(1, all[0].ID, startMs+1))
	})
	list := func() []int64 {
		return pages(f, func(r *store.Reader, before int64) (keys []int64, err error) {
			sessions, err := r.ListSessions(1, before, 2)
			for _, s := range sessions {
				keys = append(keys, s.No)
			}
			return keys, err
		})
	}
	same(f, "listed", list(), []int64{all[4].No, all[3].No, all[2].No, all[1].No})
	f.view(func(r *store.Reader) error {
		open, err1 := r.OpenSessions(1, 1, startMs)
		ended, err2 := r.OpenSessions(1, 1, all[1].IdleMs)
		same(f, "open in the account, and after their end", []int64{open, ended}, []int64{3, 0})
		return errors.Join(err1, err2)
	})
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.RevokeSession(1, all[0].ID, startMs+2) })
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.RevokeSession(1, other.ID, startMs+2) })
	revoked := all[0]
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.RenewSession(&revoked, all[0].Hash) })
	if got := f.sessionByHash(hashOf("a")); got.RevokedMs != startMs+1 || !got.Ended(startMs) {
		f.Errorf("revoked: %+v", got)
	}
	f.update(func(tx *store.Tx) error { return tx.RevokeSessions(1, 1, all[2].No, startMs+3) })
	same(f, "after those of the account but one", list(), []int64{all[4].No, all[2].No})
	f.update(func(tx *store.Tx) error { return tx.RevokeSessions(1, 0, 0, startMs+4) })
	same(f, "after all", len(list()), 0)
	if f.sessionByHash(hashOf("other")).RevokedMs != 0 {
		f.Error("another person's session is revoked")
	}
}

func sessionsDeleted(f *fixture) {
	for _, token := range []string{"a", "b", "c"} {
		f.newSession(1, token)
	}
	f.update(func(tx *store.Tx) error {
		none, err1 := tx.DeleteSessions(startMs+100, 10)
		two, err2 := tx.DeleteSessions(startMs+101, 2)
		same(f, "deleted", []int64{none, two}, []int64{0, 2})
		return errors.Join(err1, err2)
	})
	same(f, "left", f.number(`SELECT COUNT(*) FROM session`), 1)
}

// sessionsKept: of each person the newest stay, and a revoked one is deleted at once.
func sessionsKept(f *fixture) {
	var all []store.Session
	for _, token := range []string{"a", "b", "c", "d"} {
		all = append(all, f.newSession(1, token))
	}
	f.newSession(2, "other")
	f.update(func(tx *store.Tx) error { return tx.RevokeSession(1, all[3].ID, startMs+1) })
	f.update(func(tx *store.Tx) error { return tx.KeepSessions(1, 3) })
	same(f, "none too many", f.number(`SELECT COUNT(*) FROM session`), 5)
	f.update(func(tx *store.Tx) error { return tx.KeepSessions(1, 1) })
	same(f, "left", f.number(`SELECT COUNT(*) FROM session WHERE person = 1 AND revoked_ms = 0`), 1)
	f.sessionByHash(hashOf("c"))
	f.sessionByHash(hashOf("other"))
	f.update(func(tx *store.Tx) error {
		n, err := tx.DeleteSessions(startMs+2, 10)
		same(f, "revoked and deleted", n, 1)
		return err
	})
}

func passkeyRoundTrip(f *fixture) {
	k := store.Passkey{Person: 1, Credential: []byte("cred\x00"), Data: []byte("key"), SignCount: 3, Name: "phone", CreatedMs: startMs}
	setID(f, &k.ID, startMs)
	second := store.Passkey{Person: 1, Credential: []byte("two"), Data: []byte("key 2"), Name: "stick", CreatedMs: startMs}
	setID(f, &second.ID, startMs)
	f.update(func(tx *store.Tx) error { return errors.Join(tx.InsertPasskey(&k), tx.InsertPasskey(&second)) })
	taken := k
	setID(f, &taken.ID, startMs)
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.InsertPasskey(&taken) })
	k.Data, k.SignCount, k.LastUsedMs, k.Name = []byte("new"), 4, startMs+9, "my phone"
	f.update(func(tx *store.Tx) error {
		return errors.Join(tx.UsePasskey(&k, 3), tx.RenamePasskey(1, k.ID, "my phone"))
	})
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.UsePasskey(&k, 3) })
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.RenamePasskey(2, k.ID, "stolen") })
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.DeletePasskey(2, k.ID) })
	f.view(func(r *store.Reader) error {
		got, err1 := r.PasskeyByCredential([]byte("cred\x00"))
		all, err2 := r.PasskeysOf(1)
		same(f, "read", got, k)
		same(f, "all", all, []store.Passkey{k, second})
		_, unknown := r.PasskeyByCredential([]byte("cred"))
		missing(f, unknown)
		return errors.Join(err1, err2)
	})
	f.update(func(tx *store.Tx) error { return tx.DeletePasskey(1, k.ID) })
	same(f, "left", f.number(`SELECT COUNT(*) FROM passkey`), 1)
	f.update(func(tx *store.Tx) error { return tx.DeletePasskeys(1) })
	same(f, "left", f.number(`SELECT COUNT(*) FROM passkey`), 0)
}

func identityRoundTrip(f *fixture) {
	i := store.Identity{Issuer: "https://id.example.org", Subject: "42", Person: 1, Provider: "corp", CreatedMs: startMs}
	other := store.Identity{Issuer: "https://login.example.com", Subject: "42", Person: 1, Provider: "cloud", CreatedMs: startMs, BySession: true}
	f.update(func(tx *store.Tx) error { return errors.Join(tx.InsertIdentity(&other), tx.InsertIdentity(&i)) })
	stolen := i
	stolen.Person = 2
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.InsertIdentity(&stolen) })
	f.view(func(r *store.Reader) error {
		got, err1 := r.IdentityOf(i.Issuer, "42")
		all, err2 := r.IdentitiesOf(1)
		same(f, "read", got, i)
		same(f, "all", all, []store.Identity{i, other})
		_, unknown := r.IdentityOf(i.Issuer, "43")
		missing(f, unknown)
		return errors.Join(err1, err2)
	})
	f.update(func(tx *store.Tx) error {
		return errors.Join(tx.DeleteIdentities(1, "cloud"), tx.DeleteIdentities(2, "corp"))
	})
	f.view(func(r *store.Reader) error {
		left, err := r.IdentitiesOf(1)
		same(f, "left", left, []store.Identity{i})
		return err
	})
}

func (f *fixture) newTicket(secret string, t store.Ticket) store.Ticket {
	f.Helper()
	t.Hash, t.CreatedMs, t.ExpiresMs = hashOf(secret), startMs, max(t.ExpiresMs, startMs+10)
	f.update(func(tx *store.Tx) error { return tx.InsertTicket(&t) })
	return t
}

func ticketRoundTrip(f *fixture) {
	t := f.newTicket("secret", store.Ticket{Kind: store.TicketInvitation, Account: 3, Person: 4, Data: []byte("d\x00")})
	f.refused(store.ErrConflict, func(tx *store.Tx) error { again := t; return tx.InsertTicket(&again) })
	f.view(func(r *store.Reader) error {
		got, err := r.FindTicket(store.TicketInvitation, t.Hash, startMs+9)
		same(f, "read", got, t)
		_, expired := r.FindTicket(store.TicketInvitation, t.Hash, startMs+10)
		_, otherKind := r.FindTicket(store.TicketReset, t.Hash, startMs)
		missing(f, expired, otherKind)
		return err
	})
	use := func(kind store.TicketKind, nowMs int64) func(*store.Tx) error {
		return func(tx *store.Tx) error {
			used, err := tx.UseTicket(kind, t.Hash, nowMs)
			if err == nil {
				same(f, "used", used, t)
			}
			return err
		}
	}
	f.refused(store.ErrConflict, use(store.TicketReset, startMs))
	f.refused(store.ErrConflict, use(store.TicketInvitation, startMs+10))
	f.update(use(store.TicketInvitation, startMs+9))
	f.refused(store.ErrConflict, use(store.TicketInvitation, startMs+9))
}

func ticketCode(f *fixture) {
	t := f.newTicket("device", store.Ticket{Kind: store.TicketDevice, Code: []byte("code")})
	same2 := store.Ticket{Hash: hashOf("other"), Kind: store.TicketDevice, Code: []byte("code"), ExpiresMs: startMs + 10}
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.InsertTicket(&same2) })
	f.newTicket("oidc", store.Ticket{Kind: store.TicketOIDC, Code: []byte("code")})
	f.view(func(r *store.Reader) error {
		got, err := r.TicketByCode(store.TicketDevice, []byte("code"), startMs)
		same(f, "by code", got, t)
		_, expired := r.TicketByCode(store.TicketDevice, []byte("code"), startMs+10)
		_, unknown := r.TicketByCode(store.TicketReset, []byte("code"), startMs)
		missing(f, expired, unknown)
		return err
	})
	stale := t
	t.Account, t.Person, t.Data = 1, 2, []byte("approved")
	f.refused(store.ErrConflict, func(tx *store.Tx) error { late := t; return tx.ChangeTicket(&late, startMs+10) })
	f.update(func(tx *store.Tx) error {
		changed := t
		err := tx.ChangeTicket(&changed, startMs)
		same(f, "step", changed.Step, 1)
		return err
	})
	t.Step = 1
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.ChangeTicket(&stale, startMs) })
	f.view(func(r *store.Reader) error {
		got, err := r.FindTicket(store.TicketDevice, t.Hash, startMs)
		same(f, "changed", got, t)
		return err
	})
}

func ticketsDeleted(f *fixture) {
	f.newTicket("a", store.Ticket{Kind: store.TicketInvitation, Person: 1})
	f.newTicket("b", store.Ticket{Kind: store.TicketInvitation, Person: 2})
	f.newTicket("c", store.Ticket{Kind: store.TicketReset, Person: 1})
	f.newTicket("d", store.Ticket{Kind: store.TicketSetup})
	f.newTicket("e", store.Ticket{Kind: store.TicketDevice, ExpiresMs: startMs + 20})
	f.newTicket("f", store.Ticket{Kind: store.TicketDevice, ExpiresMs: startMs + 20})
	f.newTicket("g", store.Ticket{Kind: store.TicketDevice})
	f.view(func(r *store.Reader) error {
		open, err1 := r.CountTickets(store.TicketDevice, startMs+10, 10)
		bounded, err2 := r.CountTickets(store.TicketDevice, startMs, 2)
		same(f, "open", []int{open, bounded}, []int{2, 2})
		return errors.Join(err1, err2)
	})
	f.view(func(r *store.Reader) error {
		ends, err1 := r.TicketEnds(0, 1, store.TicketInvitation, startMs)
		none, err2 := r.TicketEnds(0, 1, store.TicketInvitation, startMs+10)
		same(f, "when the invitation ends", []int64{ends, none}, []int64{startMs + 10, 0})
		return errors.Join(err1, err2)
	})
	f.update(func(tx *store.Tx) error {
		return errors.Join(tx.DeleteTicketsOf(1, store.TicketInvitation), tx.DeleteTicketsOfKind(store.TicketSetup))
	})
	same(f, "left", f.number(`SELECT COUNT(*) FROM ticket`), 5)
	f.update(func(tx *store.Tx) error {
		one, err1 := tx.DeleteTickets(startMs+11, 1)
		rest, err2 := tx.DeleteTickets(startMs+11, 10)
		same(f, "deleted", []int64{one, rest}, []int64{1, 2})
		return errors.Join(err1, err2)
	})
	if left := f.number(`SELECT COUNT(*) FROM ticket WHERE kind = 4`); left != 2 || bytes.Equal(hashOf("e"), hashOf("f")) {
		f.Errorf("%d codes of devices are left", left)
	}
}

// ticketsKept: a person has the newest tickets of a kind, in all accounts or in one.
func ticketsKept(f *fixture) {
	for i, secret := range []string{"a", "b", "c"} {
		t := store.Ticket{Hash: hashOf(secret), Kind: store.TicketBrowser, Person: 1, CreatedMs: startMs + int64(i), ExpiresMs: startMs + 100}
		f.update(func(tx *store.Tx) error { return tx.InsertTicket(&t) })
	}
	f.newTicket("other", store.Ticket{Kind: store.TicketBrowser, Person: 2})
	f.newTicket("here", store.Ticket{Kind: store.TicketInvitation, Person: 1, Account: 1})
	f.newTicket("there", store.Ticket{Kind: store.TicketInvitation, Person: 1, Account: 2})
	f.update(func(tx *store.Tx) error { return tx.KeepTickets(1, store.TicketBrowser, 3) })
	same(f, "none too many", f.number(`SELECT COUNT(*) FROM ticket`), 6)
	f.update(func(tx *store.Tx) error {
		return errors.Join(tx.KeepTickets(1, store.TicketBrowser, 2), tx.DeleteTicketsIn(2, 1, store.TicketInvitation))
	})
	same(f, "left", f.number(`SELECT COUNT(*) FROM ticket`), 4)
	f.view(func(r *store.Reader) error {
		_, oldest := r.FindTicket(store.TicketBrowser, hashOf("a"), startMs)
		_, elsewhere := r.FindTicket(store.TicketInvitation, hashOf("there"), startMs)
		missing(f, oldest, elsewhere)
		_, err1 := r.FindTicket(store.TicketBrowser, hashOf("b"), startMs)
		_, err2 := r.FindTicket(store.TicketInvitation, hashOf("here"), startMs)
		return errors.Join(err1, err2)
	})
}

func signInDelaysKept(f *fixture) {
	for i := range int64(5) {
		f.update(func(tx *store.Tx) error {
			return tx.SetSignInDelay(sha256.Sum256([]byte{byte(i)}), 0, store.SignInDelay{Failures: i + 1, UpdatedMs: startMs + i})
		})
	}
	keep := func(newest, limit int) (n int64) {
		f.update(func(tx *store.Tx) (err error) {
			n, err = tx.KeepSignInDelays(newest, limit)
			return err
		})
		return n
	}
	same(f, "deleted", []int64{keep(5, 9), keep(3, 1), keep(3, 9), keep(3, 9)}, []int64{0, 1, 1, 0})
	f.view(func(r *store.Reader) error {
		d, err := r.SignInDelayOf(sha256.Sum256([]byte{2}))
		same(f, "the oldest that is left", d.Failures, 3)
		return err
	})
}

func signInDelay(f *fixture) {
	name, other := sha256.Sum256([]byte("ada")), sha256.Sum256([]byte("bo"))
	first, second := store.SignInDelay{Failures: 1, UntilMs: 5, UpdatedMs: 1}, store.SignInDelay{Failures: 2, UntilMs: 9, UpdatedMs: 6}
	f.update(func(tx *store.Tx) error { return tx.SetSignInDelay(name, 0, first) })
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.SetSignInDelay(name, 0, first) })
	f.update(func(tx *store.Tx) error { return tx.SetSignInDelay(name, 1, second) })
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.SetSignInDelay(name, 1, second) })
	f.update(func(tx *store.Tx) error { return tx.SetSignInDelay(other, 0, first) })
	f.view(func(r *store.Reader) error {
		got, err1 := r.SignInDelayOf(name)
		none, err2 := r.SignInDelayOf(sha256.Sum256(nil))
		same(f, "delay", got, second)
		same(f, "of another name", none, store.SignInDelay{})
		return errors.Join(err1, err2)
	})
	f.update(func(tx *store.Tx) error {
		n, err := tx.DeleteSignInDelays(6, 10)
		same(f, "deleted", n, 1)
		return errors.Join(err, tx.DeleteSignInDelay(name))
	})
	same(f, "left", f.number(`SELECT COUNT(*) FROM sign_in_delay`), 0)
}
