package service

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/session"
	"github.com/chargehand/chargehand/internal/store"
)

// Session is a session as its person sees it.
type Session struct {
	ID         chargehand.SessionID
	Method     string // password, passkey or oidc:NAME
	Address    string // of the sign-in
	Agent      string
	Current    bool // it is the session that asks
	CreatedAt  time.Time
	LastSeenAt time.Time
	ExpiresAt  time.Time // the earlier one of its two ends
	FreshUntil time.Time
}

func noSession() error {
	return chargehand.NewError(chargehand.CodeInvalidCredentials, "There is no such session, or it has ended. Sign in again.")
}

// AuthenticateSession finds the principal of the token of a session, in an environment. A session that ends, and a
// change of rights, count within one second, also if another process on the same database has made them.
// Codes: invalid_credentials.
func (s *Service) AuthenticateSession(ctx context.Context, token string, env chargehand.Environment) (*Principal, error) {
	digest := sha256.Sum256([]byte(token))
	now := s.now()
	entry, age := s.sessions.find(&digest)
	if entry == nil || !entry.fresh(now) {
		if entry == nil {
			leave, err := s.admitStranger(ctx)
			if err != nil {
				return nil, err
			}
			defer leave()
		}
		var err error
		if entry, err = s.loadSession(ctx, token, &digest, age, now); err != nil {
			return nil, err
		}
	}
	nowMs := now.UnixMilli()
	if nowMs >= entry.expiresMs {
		return nil, noSession()
	}
	entry.use.lastMs.Store(nowMs)
	if env == chargehand.Test {
		return entry.test, nil
	}
	return entry.principal, nil
}

// loadSession reads the row of a session and caches its principals.
func (s *Service) loadSession(ctx context.Context, token string, digest *[sha256.Size]byte, age uint64, now time.Time) (*keyEntry, error) {
	entry := &keyEntry{loaded: now}
	err := s.view(ctx, func(r *store.Reader) error {
		row, endsMs, err := session.Find(r, token, now)
		if err != nil {
			return err
		}
		entry.expiresMs = endsMs
		entry.use = s.sessionUses.of(row.No)
		base, grants, err := s.memberPrincipal(r, row.Account, row.Person)
		if err != nil {
			return err
		}
		base.Session, base.SessionNo, base.FreshUntil = row.ID, row.No, atMs(row.FreshMs)
		base.Outdated = row.Rights != session.Rights(grants) && session.Current(&row, token)
		base.ExpiresAt = atMs(min(row.IdleMs, row.ExpiresMs))
		if entry.principal, err = withRights(r, base, grants, chargehand.Live); err != nil {
			return err
		}
		entry.test, err = withRights(r, base, grants, chargehand.Test)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil, noSession()
	}
	if err != nil {
		return nil, err
	}
	s.sessions.put(digest, entry, age)
	return entry, nil
}

// memberPrincipal is an active member of an account, without rights, and the grants that give them.
// Errors: store.ErrNotFound.
func (s *Service) memberPrincipal(r *store.Reader, account, person int64) (Principal, []store.Grant, error) {
	m, err := r.MemberByNo(account, person)
	if err == nil && !m.Counts() {
		err = store.ErrNotFound
	}
	if err != nil {
		return Principal{}, nil, err
	}
	a, err := r.AccountByNo(account)
	if err != nil {
		return Principal{}, nil, err
	}
	grants, err := r.GrantsOf(account, person, session.MaxGrants)
	return Principal{
		Kind: KindUser, Account: a.ID, AccountNo: a.No, User: m.Person.ID, PersonNo: m.Person.No, Name: m.Person.Name,
	}, grants, err
}

// withRights is a member with the rights of an environment.
func withRights(r *store.Reader, base Principal, grants []store.Grant, env chargehand.Environment) (*Principal, error) {
	rights, err := memberRights(r, grants, base.AccountNo, env)
	if err != nil {
		return nil, err
	}
	base.Environment = env
	base.setRights(rights)
	return &base, nil
}

// setRights makes rights those of a principal that is not narrowed yet: it sees no workflow (May).
func (p *Principal) setRights(rights []right) {
	p.rights, p.Scopes = rights, 0
	for _, r := range rights {
		p.Scopes |= r.scopes
	}
	p.Workflows, p.Limits = []chargehand.WorkflowID{}, store.NoWorkflow()
}

// RequireFresh refuses a session whose sign-in is not fresh. A key needs none. Codes: fresh_sign_in_required.
func (s *Service) RequireFresh(p *Principal) error {
	if p.SessionNo == 0 || s.now().Before(p.FreshUntil) {
		return nil
	}
	return chargehand.NewError(chargehand.CodeFreshSignInRequired,
		"This needs a sign-in of the last 10 minutes. Verify who you are with POST /session/verify, and send the request again.")
}

// RenewSession gives a session another token, because the rights of its person have changed. token is the one that the
// request was made with. Codes: invalid_credentials.
func (s *Service) RenewSession(ctx context.Context, p *Principal, token string) (renewed string, err error) {
	err = s.update(ctx, func(tx *store.Tx) error {
		row, _, err := session.Find(&tx.Reader, token, s.now())
		if err == nil && (row.No != p.SessionNo || !session.Current(&row, token)) {
			err = store.ErrNotFound
		}
		if err == nil {
			renewed, err = session.Renew(tx, &row, s.now())
		}
		return err
	})
	s.sessions.clear()
	if errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrNotFound) {
		return "", noSession()
	}
	return renewed, err
}

func shownSession(row *store.Session, current int64) *Session {
	return &Session{
		ID: row.ID, Method: row.Method, Address: row.Address, Agent: row.Agent, Current: row.No == current, CreatedAt: atMs(row.CreatedMs),
		LastSeenAt: atMs(row.LastSeenMs), ExpiresAt: atMs(min(row.IdleMs, row.ExpiresMs)), FreshUntil: atMs(row.FreshMs),
	}
}

// ListSessions lists the sessions of the principal's person in all accounts that have not ended.
// Codes: insufficient_scope.
func (s *Service) ListSessions(ctx context.Context, p *Principal, limit int, after Cursor) (*Page[Session], error) {
	if err := needsSession(p); err != nil {
		return nil, err
	}
	return readPage(ctx, s, limit, func(r *store.Reader, most int) ([]store.Session, error) {
		return r.ListSessions(p.PersonNo, after.Milli, most)
	}, func(last *store.Session) Cursor { return numberCursor(last.No) }, func(_ *store.Reader, rows []store.Session) ([]Session, error) {
		shown := []Session{}
		for i := range rows {
			if !rows[i].Ended(s.nowMs()) {
				shown = append(shown, *shownSession(&rows[i], p.SessionNo))
			}
		}
		return shown, nil
	})
}

// RevokeSession ends a session of the principal's person. With another than the own one, it may be a stolen one: the
// links to human tasks that it has made end too, and the requests of programs that have no keys yet, whichever session
// has allowed them. Codes: insufficient_scope, session_not_found.
func (s *Service) RevokeSession(ctx context.Context, p *Principal, id chargehand.SessionID) error {
	if err := needsSession(p); err != nil {
		return err
	}
	err := s.update(ctx, func(tx *store.Tx) error {
		err := tx.RevokeSession(p.PersonNo, id, s.nowMs())
		if err == nil && id != p.Session {
			err = errors.Join(tx.RevokeLinksOf(p.PersonNo, id, s.nowMs()), tx.DeleteTicketsOf(p.PersonNo, store.TicketDevice))
		}
		return err
	})
	s.sessions.clear()
	if errors.Is(err, store.ErrConflict) {
		return chargehand.NewError(chargehand.CodeSessionNotFound, "You have no session with this id.")
	}
	return err
}

// RevokeOtherSessions ends all sessions of the principal's person but the one that asks, and links and requests of
// programs as RevokeSession does, also those of sessions that have ended before. Codes: insufficient_scope.
func (s *Service) RevokeOtherSessions(ctx context.Context, p *Principal) error {
	if err := needsSession(p); err != nil {
		return err
	}
	err := s.update(ctx, func(tx *store.Tx) error {
		return errors.Join(tx.RevokeSessions(p.PersonNo, 0, p.SessionNo, s.nowMs()), tx.DeleteTicketsOf(p.PersonNo, store.TicketDevice))
	})
	s.sessions.clear()
	return err
}

// ForgetSessions makes this process read all sessions and keys of persons again: a transaction of the caller has
// changed some.
func (s *Service) ForgetSessions() {
	s.sessions.clear()
	s.keys.clear()
}

// writeSessionUses writes when sessions were last seen, at most once a minute for each.
func (s *Service) writeSessionUses(ctx context.Context) error {
	s.sessionUses.forget(s.nowMs() - session.Idle.Milliseconds())
	due := make(map[int64]int64)
	for no, last := range s.sessionUses.pending() {
		if last-s.sessionUses.of(no).writtenMs.Load() >= session.SeenEvery.Milliseconds() {
			due[no] = last
		}
	}
	if len(due) == 0 {
		return nil
	}
	err := s.update(ctx, func(tx *store.Tx) error {
		for _, no := range sortedKeys(due) {
			if err := tx.TouchSession(no, due[no], due[no]+session.Idle.Milliseconds()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for no, lastMs := range due {
		s.sessionUses.of(no).writtenMs.Store(lastMs)
	}
	return nil
}
