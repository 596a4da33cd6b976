package signin

import (
	"context"
	"errors"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/session"
	"github.com/chargehand/chargehand/internal/store"
)

// The ways to sign in, as sessions name them.
const (
	byPassword   = "password"
	byPasskey    = "passkey"
	byInvitation = "invitation"
	bySetup      = "setup"
)

// Session is a person who has signed in.
type Session struct {
	ID chargehand.SessionID
	// Token is the secret for the cookie, where a new one was made; empty: the one that the browser has still counts.
	Token string
	// Browser is the secret of the cookie by which the browser is known to the person; empty: the one it has still
	// counts.
	Browser  string
	Person   store.Person
	Account  store.Account
	Accounts []store.Account // those of the person's active memberships
	// ExpiresAt is when the session ends at the latest, FreshUntil how long the sign-in is fresh.
	ExpiresAt, FreshUntil time.Time

	row store.Session
	old bool // the request came with the token before: it reads, and renews nothing
}

// Fresh reports whether the sign-in is fresh.
func (s *Session) Fresh(now time.Time) bool { return now.Before(s.FreshUntil) }

// insertSession signs a person in, within an Update.
func (s *Service) insertSession(ctx context.Context, tx *store.Tx, p store.Person, account int64, method string, from Client) (*Session, error) {
	text, row, err := session.Begin(tx, session.SignIn{
		Person: p.No, Account: account, Method: method, Address: from.Address.Unmap().String(), Agent: from.Agent[:min(len(from.Agent), maxAgent)],
	}, s.now())
	if err != nil {
		return nil, err
	}
	if err := s.record(ctx, tx, account, &p, audit.SessionCreated, audit.Changes{}.Set("method", nil, method)); err != nil {
		return nil, err
	}
	session, err := s.describe(&tx.Reader, row, p)
	if err != nil {
		return nil, err
	}
	session.Token = text
	session.Browser, err = rememberBrowser(tx, p.No, from.Browser, s.now())
	return session, err
}

// describe reads what belongs to a session. Errors: store.ErrNotFound if the person may not act in its account.
func (s *Service) describe(r *store.Reader, row store.Session, p store.Person) (*Session, error) {
	session := &Session{ID: row.ID, Person: p, ExpiresAt: atMs(row.ExpiresMs), FreshUntil: atMs(row.FreshMs), row: row}
	members, err := r.MembershipsOf(p.No)
	if err != nil {
		return nil, err
	}
	for i := range members {
		if !members[i].Counts() {
			continue
		}
		account, err := r.AccountByNo(members[i].Account)
		if err != nil {
			return nil, err
		}
		session.Accounts = append(session.Accounts, account)
		if account.No == row.Account {
			session.Account = account
		}
	}
	if session.Account.No == 0 {
		return nil, store.ErrNotFound
	}
	return session, nil
}

// Session finds the session of a token. Codes: invalid_credentials.
func (s *Service) Session(ctx context.Context, text string) (*Session, error) {
	var found *Session
	now := s.now()
	err := s.view(ctx, func(r *store.Reader) error {
		row, _, err := session.Find(r, text, now)
		if err != nil {
			return err
		}
		p, err := r.PersonByNo(row.Person)
		if err == nil {
			found, err = s.describe(r, row, p)
		}
		if err == nil {
			found.old = !session.Current(&row, text)
		}
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil, noSession()
	}
	if err != nil {
		return nil, err
	}
	if now.Sub(atMs(found.row.LastSeenMs)) >= session.SeenEvery {
		err = s.update(ctx, func(tx *store.Tx) error {
			return tx.TouchSession(found.row.No, now.UnixMilli(), now.Add(session.Idle).UnixMilli())
		})
	}
	return found, err
}

func noSession() error {
	return chargehand.NewError(chargehand.CodeInvalidCredentials, "The session has ended. Sign in again.")
}

// SignOut ends a session.
func (s *Service) SignOut(ctx context.Context, session *Session) error {
	err := s.update(ctx, func(tx *store.Tx) error {
		if err := tx.RevokeSession(session.Person.No, session.ID, s.now().UnixMilli()); err != nil {
			return err
		}
		return s.record(ctx, tx, session.Account.No, &session.Person, audit.SessionEnded, nil)
	})
	s.changed()
	if errors.Is(err, store.ErrConflict) {
		return nil // it was ended meanwhile
	}
	return err
}

// SwitchAccount moves a session to another account of the person, with a new token.
// Codes: invalid_body, invalid_credentials.
func (s *Service) SwitchAccount(ctx context.Context, session *Session, id chargehand.AccountID) (*Session, error) {
	if session.old {
		return nil, noSession()
	}
	for _, account := range session.Accounts {
		if account.ID == id {
			row := session.row
			row.Account = account.No
			return s.renew(ctx, session, row, audit.SessionSwitched)
		}
	}
	return nil, badField("account", "account is not the id of an account that you are a member of.")
}

// renew writes a changed row with a new token, and an action to the audit log of its account; none if empty.
func (s *Service) renew(ctx context.Context, of *Session, changed store.Session, action audit.Action) (*Session, error) {
	var text string
	var renewed *Session
	err := s.update(ctx, func(tx *store.Tx) (err error) {
		row := changed // the transaction may be tried again
		text, err = session.Renew(tx, &row, s.now())
		if err == nil {
			renewed, err = s.describe(&tx.Reader, row, of.Person)
		}
		if err == nil && action != "" {
			err = s.record(ctx, tx, row.Account, &of.Person, action, nil)
		}
		return err
	})
	s.changed()
	if errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) {
		return nil, noSession()
	}
	if err != nil {
		return nil, err
	}
	renewed.Token = text
	return renewed, nil
}

// refresh makes a session fresh, with a new token.
func (s *Service) refresh(ctx context.Context, of *Session) (*Session, error) {
	row := of.row
	row.FreshMs = s.now().Add(session.Fresh).UnixMilli()
	return s.renew(ctx, of, row, "")
}
