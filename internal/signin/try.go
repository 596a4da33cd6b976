package signin

import (
	"context"
	"errors"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/person"
	rules "github.com/chargehand/chargehand/internal/session"
	"github.com/chargehand/chargehand/internal/signin/password"
	"github.com/chargehand/chargehand/internal/store"
)

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
	p, known, err := s.findPerson(ctx, key, from)
	if err != nil {
		return nil, err
	}
	t, err := s.test(ctx, subjects(key, known, from), &p, text)
	if err != nil {
		return nil, err
	}
	session, err := s.enter(ctx, p.No, 0, byPassword, from, func(tx *store.Tx, now store.Person) error {
		if now.Password != p.Password {
			return store.ErrNotFound // it was changed meanwhile
		}
		return t.succeed(tx)
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil, refusedError(wrongPassword)
	}
	return session, err
}

// findPerson reads the person with an e-mail, and whether the person has signed in from the browser before. The zero
// Person: there is none.
func (s *Service) findPerson(ctx context.Context, key string, from Client) (p store.Person, known bool, err error) {
	err = s.view(ctx, func(r *store.Reader) error {
		p, err = r.PersonByEmail(key)
		if errors.Is(err, store.ErrNotFound) {
			p, err = store.Person{}, nil
		}
		if err != nil {
			return err
		}
		ends, err := knownBrowser(r, p.No, from.Browser, s.now())
		known = !ends.IsZero()
		return err
	})
	return p, known, err
}

// test tests the password of a person, and counts a failure. The caller takes back what the try has counted
// (try.succeed) in the transaction of what was asked for. Codes: invalid_credentials, rate_limited.
func (s *Service) test(ctx context.Context, of []subject, p *store.Person, text string) (try, error) {
	t, err := s.begin(ctx, of)
	if err != nil {
		return nil, err
	}
	ok, err := s.check(ctx, p.Password, text)
	if err != nil {
		s.takeBack(ctx, t)
		return nil, err
	}
	if !ok || p.DisabledMs != 0 {
		if err := s.recordFailure(ctx, p); err != nil {
			return nil, err
		}
		return nil, refusedError(wrongPassword)
	}
	return t, nil
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
		session, err = s.insertSession(ctx, tx, p, into, method, from)
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
	switch {
	case session.old:
		return nil, noSession()
	case !s.passwords:
		return nil, passwordsOff()
	}
	t, err := s.test(ctx, subjectsOf(session), &session.Person, text)
	if err != nil {
		return nil, otherDetail(err, "The password is not right.")
	}
	if err := s.update(ctx, t.succeed); err != nil {
		return nil, err
	}
	return s.refresh(ctx, session)
}

// otherDetail is a refusal in other words.
func otherDetail(err error, detail string) error {
	var shown *chargehand.Error
	if errors.As(err, &shown) && shown.Code == chargehand.CodeInvalidCredentials {
		return refusedError(detail)
	}
	return err
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
	var t try
	if was == "" {
		if !session.Fresh(s.now()) {
			return nil, NotFresh()
		}
	} else {
		var err error
		if t, err = s.test(ctx, subjectsOf(session), &session.Person, old); err != nil {
			return nil, otherDetail(err, "The old password is not right.")
		}
	}
	stored, err := s.hash(ctx, text)
	if err != nil {
		s.takeBack(ctx, t)
		return nil, err
	}
	var renewed *Session
	err = s.update(ctx, func(tx *store.Tx) (err error) {
		renewed, err = s.changePassword(ctx, tx, session, stored, t, from)
		return err
	})
	s.changed()
	if errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) {
		return nil, refusedError("The password was changed meanwhile, or the session has ended. Sign in again.")
	}
	if err != nil {
		return nil, err
	}
	return renewed, nil
}

// changePassword stores a password within an Update, ends what the one before has opened, and gives the session that
// asks another token: the one before ends at once. Errors: store.ErrConflict, store.ErrNotFound.
func (s *Service) changePassword(ctx context.Context, tx *store.Tx, of *Session, stored string, t try, from Client) (*Session, error) {
	p, err := tx.PersonForUpdate(of.Person.No)
	if err != nil {
		return nil, err
	}
	if p.Password != of.Person.Password {
		return nil, store.ErrConflict
	}
	now := s.now()
	if err = tx.SetPassword(p.No, stored); err == nil {
		err = endAgain(tx, p.No)
	}
	for _, kind := range []store.TicketKind{store.TicketReset, store.TicketBrowser, store.TicketDevice} {
		if err == nil {
			err = tx.DeleteTicketsOf(p.No, kind)
		}
	}
	if err == nil {
		err = t.succeed(tx)
	}
	if err == nil {
		err = tx.RevokeSessions(p.No, 0, of.row.No, now.UnixMilli())
	}
	if err == nil {
		err = s.record(ctx, tx, of.row.Account, &p, audit.PasswordChanged, nil)
	}
	if err != nil {
		return nil, err
	}
	row := of.row
	row.FreshMs = now.Add(rules.Fresh).UnixMilli()
	text, err := rules.Replace(tx, &row, now)
	if err != nil {
		return nil, err
	}
	p.Password = stored
	renewed, err := s.describe(&tx.Reader, row, p)
	if err != nil {
		return nil, err
	}
	renewed.Token = text
	renewed.Browser, err = rememberBrowser(tx, p.No, from.Browser, now)
	return renewed, err
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
