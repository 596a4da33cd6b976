package signin

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/person"
	"github.com/chargehand/chargehand/internal/signin/delay"
	"github.com/chargehand/chargehand/internal/signin/password"
	"github.com/chargehand/chargehand/internal/store"
)

// subject is whom failed tries delay.
type subject struct {
	kind delay.Kind
	name [sha256.Size]byte
}

// subjects are those of a try with an e-mail. An e-mail that belongs to no person is delayed like others.
func subjects(emailKey string, from Client) []subject {
	return []subject{
		{delay.Person, sha256.Sum256([]byte("person " + emailKey))},
		{delay.Address, sha256.Sum256([]byte("address " + delay.Subject(from.Address)))},
	}
}

// begin counts a try as failed before it is made, so that many at once do not all pass. Success takes it back.
// Codes: rate_limited.
func (s *Service) begin(ctx context.Context, of []subject) error {
	err := s.update(ctx, func(tx *store.Tx) error {
		now := s.now()
		for _, who := range of {
			d, err := tx.SignInDelayOf(who.name)
			if err != nil {
				return err
			}
			if wait := atMs(d.UntilMs).Sub(now); wait > 0 {
				return delayed(wait)
			}
			was := d.Failures
			if now.Sub(atMs(d.UpdatedMs)) > delay.Memory {
				d.Failures = 0
			}
			d.Failures++
			d.UpdatedMs, d.UntilMs = now.UnixMilli(), now.Add(who.kind.After(int(d.Failures))).UnixMilli()
			if err := tx.SetSignInDelay(who.name, was, d); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, store.ErrConflict) { // another node counted a try meanwhile
		return delayed(time.Second)
	}
	return err
}

func delayed(wait time.Duration) error {
	return &chargehand.Error{
		Code: chargehand.CodeRateLimited, RetryAfter: int((wait + time.Second - 1) / time.Second),
		Detail: "After failed tries the next one has to wait.",
	}
}

// succeed takes back what begin counted, within the Update of what was asked for.
func succeed(tx *store.Tx, of []subject) error {
	for _, who := range of {
		if who.kind == delay.Person {
			if err := tx.DeleteSignInDelay(who.name); err != nil {
				return err
			}
			continue
		}
		d, err := tx.SignInDelayOf(who.name)
		if err != nil {
			return err
		}
		if d.Failures <= 1 {
			err = tx.DeleteSignInDelay(who.name)
		} else {
			was := d.Failures
			d.Failures, d.UntilMs = d.Failures-1, 0
			err = tx.SetSignInDelay(who.name, was, d)
		}
		if err != nil && !errors.Is(err, store.ErrConflict) { // then another try was counted meanwhile, and stays
			return err
		}
	}
	return nil
}

// busy answers that too many passwords wait to be hashed.
func busy() error {
	return &chargehand.Error{Code: chargehand.CodeRateLimited, RetryAfter: 2, Detail: "Too many sign-ins at once. Try again in a moment."}
}

const wrongPassword = "The e-mail or the password is not right."

// check reports whether text is the password of a person who may use one. It takes the same time for all. Errors: busy.
func (s *Service) check(ctx context.Context, stored, text string) (bool, error) {
	if len(text) > maxSecret {
		text = ""
	}
	ok, err := s.hasher.Check(ctx, stored, text)
	if errors.Is(err, password.ErrBusy) {
		err = busy()
	}
	return ok, err
}

// SignIn signs a person in with a password. Codes: invalid_credentials, rate_limited.
func (s *Service) SignIn(ctx context.Context, email, text string, from Client) (*Session, error) {
	if !s.passwords {
		return nil, passwordsOff()
	}
	_, key, complaint := person.Email(email)
	if complaint != "" {
		key = "" // which no person has: the try goes the way of all others
	}
	who := subjects(key, from)
	if err := s.begin(ctx, who); err != nil {
		return nil, err
	}
	var p store.Person
	err := s.view(ctx, func(r *store.Reader) (err error) {
		if p, err = r.PersonByEmail(key); errors.Is(err, store.ErrNotFound) {
			p, err = store.Person{}, nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	ok, err := s.check(ctx, p.Password, text)
	if err != nil {
		return nil, err
	}
	if !ok || p.DisabledMs != 0 {
		return nil, refusedError(wrongPassword)
	}
	session, err := s.enter(ctx, p.No, 0, byPassword, from, func(tx *store.Tx, now store.Person) error {
		if now.Password != p.Password {
			return store.ErrNotFound // it was changed meanwhile
		}
		return succeed(tx, who)
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil, refusedError(wrongPassword)
	}
	return session, err
}

func passwordsOff() error {
	return refusedError("This server has no sign-in with passwords. Use a passkey or your identity provider.")
}

// enter signs a person in, into an account (0: the oldest of the person's active memberships), together with more.
// Errors: store.ErrNotFound if the person may not sign in.
func (s *Service) enter(ctx context.Context, no, account int64, method string, from Client, more func(*store.Tx, store.Person) error) (*Session, error) {
	var session *Session
	err := s.update(ctx, func(tx *store.Tx) error {
		p, err := tx.PersonForUpdate(no)
		if err != nil {
			return err
		}
		if p.DisabledMs != 0 {
			return store.ErrNotFound
		}
		if err := more(tx, p); err != nil {
			return err
		}
		if p, err = tx.PersonByNo(no); err != nil { // as more has changed it
			return err
		}
		into := account
		if into == 0 {
			if into, err = firstAccount(&tx.Reader, no); err != nil {
				return err
			}
		}
		session, err = s.insertSession(tx, p, into, method, from)
		return err
	})
	s.changed()
	return session, err
}

// firstAccount is that of the oldest active membership. Errors: store.ErrNotFound.
func firstAccount(r *store.Reader, no int64) (int64, error) {
	members, err := r.MembershipsOf(no)
	if err != nil {
		return 0, err
	}
	for i := range members {
		if members[i].Counts() {
			return members[i].Account, nil
		}
	}
	return 0, store.ErrNotFound
}

// VerifyPassword makes a session fresh. Codes: invalid_credentials, rate_limited.
func (s *Service) VerifyPassword(ctx context.Context, session *Session, text string, from Client) (*Session, error) {
	if session.old {
		return nil, noSession()
	}
	who := subjects(session.Person.EmailKey, from)
	if err := s.begin(ctx, who); err != nil {
		return nil, err
	}
	ok, err := s.check(ctx, session.Person.Password, text)
	if err != nil {
		return nil, err
	}
	if !ok || !s.passwords {
		return nil, refusedError("The password is not right.")
	}
	if err := s.update(ctx, func(tx *store.Tx) error { return succeed(tx, who) }); err != nil {
		return nil, err
	}
	return s.refresh(ctx, session)
}

// ChangePassword sets a password, with the old one where there is one, and with a fresh sign-in where there is none. It
// ends the person's other sessions. Codes: invalid_credentials, rate_limited, invalid_body, fresh_sign_in_required.
func (s *Service) ChangePassword(ctx context.Context, session *Session, old, text string, from Client) (*Session, error) {
	if session.old {
		return nil, noSession()
	}
	if err := s.acceptable("password", text, session.Person.Name, session.Person.Email); err != nil {
		return nil, err
	}
	was := session.Person.Password
	who := subjects(session.Person.EmailKey, from)
	if was == "" {
		if !session.Fresh(s.now()) {
			return nil, NotFresh()
		}
	} else {
		if err := s.begin(ctx, who); err != nil {
			return nil, err
		}
		if ok, err := s.check(ctx, was, old); err != nil || !ok {
			return nil, errors.Join(err, refusedError("The old password is not right."))
		}
	}
	stored, err := s.hash(ctx, text)
	if err != nil {
		return nil, err
	}
	err = s.update(ctx, func(tx *store.Tx) error {
		p, err := tx.PersonForUpdate(session.Person.No)
		if err != nil {
			return err
		}
		if p.Password != was {
			return store.ErrConflict
		}
		if err := tx.SetPassword(p.No, stored); err != nil {
			return err
		}
		if err := tx.DeleteTicketsOf(p.No, store.TicketReset); err != nil {
			return err
		}
		if err := succeed(tx, who); err != nil {
			return err
		}
		return tx.RevokeSessions(p.No, 0, session.row.No, s.now().UnixMilli())
	})
	if errors.Is(err, store.ErrConflict) {
		return nil, refusedError("The password was changed meanwhile. Sign in again.")
	}
	if err != nil {
		return nil, err
	}
	return s.refresh(ctx, session)
}

// NotFresh is the error where a fresh sign-in is needed.
func NotFresh() error {
	return chargehand.NewError(chargehand.CodeFreshSignInRequired, "This needs a sign-in within the last 10 minutes. Confirm it with POST /session/verify.")
}

// acceptable refuses weak passwords.
func (s *Service) acceptable(field, text string, own ...string) error {
	if !s.passwords {
		return badField(field, "This server has no sign-in with passwords.")
	}
	if reason := password.Weak(text, own...); reason != "" {
		return badField(field, reason)
	}
	return nil
}

func (s *Service) hash(ctx context.Context, text string) (string, error) {
	stored, err := s.hasher.Hash(ctx, text)
	if errors.Is(err, password.ErrBusy) {
		err = busy()
	}
	return stored, err
}
