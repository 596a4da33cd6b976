package service

import (
	"context"
	"errors"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/mail"
	"github.com/chargehand/chargehand/internal/mail/letter"
	"github.com/chargehand/chargehand/internal/person"
	"github.com/chargehand/chargehand/internal/session"
	"github.com/chargehand/chargehand/internal/signin/token"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// How long links for one use last.
const (
	invitationLife = 72 * time.Hour
	resetLife      = 24 * time.Hour
)

// OneUseLink is an address that can be used once. It is shown once.
type OneUseLink struct {
	URL       string // empty in an answer that is repeated
	ExpiresAt time.Time
	Mailed    bool // it is sent to the person
}

// InviteUser is the request to invite a person. Body: email, name, grants (as of GiveGrant, without who gets them).
type InviteUser struct {
	Body value.Value
	// BaseURL is what the address of the invitation begins with.
	BaseURL     string
	Idempotency *Idempotency
}

// InviteUser makes a person an invited member of the account and answers with the invitation. A member who is invited
// and has not come yet gets another invitation, which replaces the one before.
// A replayed answer does not show the invitation again. Codes: invalid_body, unknown_field, state_conflict (a member of
// that e-mail is there), workflow_not_found, insufficient_scope, idempotency_key_reused, idempotency_in_progress.
func (s *Service) InviteUser(ctx context.Context, p *Principal, r InviteUser) (u User, replayed bool, err error) {
	return guarded(ctx, s, p, r.Idempotency,
		func(c *idempotencyGuard) (User, error) { return s.inviteUser(ctx, p, r, c) },
		func(c *idempotencyGuard) (User, error) { return s.GetUser(ctx, p, chargehand.UserID(c.found.Resource)) })
}

func (s *Service) inviteUser(ctx context.Context, p *Principal, r InviteUser, c *idempotencyGuard) (u User, err error) {
	if err := managesPeople(p); err != nil {
		return u, err
	}
	f, err := openBody(r.Body, "email", "name", "grants")
	if err != nil {
		return u, err
	}
	now := s.nowMs()
	given := f.person(now)
	grants := f.grants("grants")
	if err := f.err(); err != nil {
		return u, err
	}
	room := s.admission(p)
	defer func() { room.end(err == nil) }()
	if err := s.roomForUser(ctx, p, given.EmailKey, &room); err != nil {
		return u, err
	}
	link := newLink("/invitation", r.BaseURL, s.now().Add(invitationLife))
	err = s.update(ctx, func(tx *store.Tx) error {
		m, err := invite(tx, p.AccountNo, given, now)
		if err != nil {
			return err
		}
		if err := s.audit(ctx, tx, p, audit.UserInvited, userTarget(&m.Person), nil); err != nil {
			return err
		}
		for i := range grants {
			g := grants[i]
			g.row.Person, g.row.Account = m.Person.No, p.AccountNo
			if err := s.insertGrant(ctx, tx, p, &g); err != nil {
				return err
			}
		}
		if err := link.ticket(tx, store.TicketInvitation, &m, now); err != nil {
			return err
		}
		if link.Mailed, err = s.mailLink(tx, p, letter.Invitation, &link, &m); err != nil {
			return err
		}
		if u, err = s.openUser(&tx.Reader, &m); err != nil {
			return err
		}
		return c.record(tx, statusCreated, "user", m.Person.ID)
	})
	if err != nil {
		return User{}, err
	}
	s.mail.Notify()
	u.Link = &link.OneUseLink
	return u, nil
}

// roomForUser admits one more user, unless the person is a member already. Codes: quota_exceeded.
func (s *Service) roomForUser(ctx context.Context, p *Principal, emailKey string, room *admission) error {
	err := s.view(ctx, func(r *store.Reader) error {
		_, err := memberByEmail(r, p.AccountNo, emailKey)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return room.take(ctx, amount{users: 1})
	}
	return err
}

// invite finds or makes a person and an invited membership. Codes: state_conflict.
func invite(tx *store.Tx, account int64, given store.Person, nowMs int64) (m store.Member, err error) {
	known, err := tx.PersonByEmail(given.EmailKey)
	switch {
	case errors.Is(err, store.ErrNotFound):
		if err := tx.InsertPerson(&given); err != nil {
			return m, err
		}
	case err != nil:
		return m, err
	default: // the name stays as the person has it
		known.NameKey = person.Key(known.Name)
		given = known
	}
	m, err = tx.MemberByNo(account, given.No)
	switch {
	case err == nil && m.Status != store.Invited:
		return m, stateConflict("The account has a user with this e-mail. The user is " + m.Status.String() + ".")
	case err == nil || !errors.Is(err, store.ErrNotFound):
		return m, err
	}
	m = store.Member{Account: account, Person: given, Status: store.Invited, CreatedMs: nowMs}
	return m, tx.InsertMember(&m)
}

// link is a OneUseLink with the hash of its token.
type link struct {
	OneUseLink
	hash []byte
}

func newLink(path, base string, expires time.Time) link {
	text, hash := token.New()
	return link{OneUseLink{URL: base + path + "#token=" + text, ExpiresAt: expires.UTC()}, hash[:]}
}

// ticket stores the link as the only one of its kind for a member. What other accounts have made stays.
func (l *link) ticket(tx *store.Tx, kind store.TicketKind, m *store.Member, nowMs int64) error {
	if err := tx.DeleteTicketsIn(m.Account, m.Person.No, kind); err != nil {
		return err
	}
	return tx.InsertTicket(&store.Ticket{
		Hash: l.hash, Kind: kind, Account: m.Account, Person: m.Person.No, CreatedMs: nowMs, ExpiresMs: l.ExpiresAt.UnixMilli(),
	})
}

// mailLink writes a mail with the link to a member, within an Update. The principal is named to an invited person.
func (s *Service) mailLink(tx *store.Tx, p *Principal, kind letter.Kind, l *link, m *store.Member) (bool, error) {
	if !s.mail.On() {
		return false, nil
	}
	account, err := tx.AccountByNo(m.Account)
	if err != nil {
		return false, err
	}
	mailed := mail.Mail{
		Account: m.Account, Person: m.Person.No, To: m.Person.Email, Until: l.ExpiresAt,
		Letter: letter.Letter{Kind: kind, Locale: m.Person.Locale, Name: m.Person.Name, Account: account.Name, URL: l.URL, Until: l.ExpiresAt},
	}
	if p.Kind == KindUser {
		mailed.Letter.By = p.Name
	}
	return s.mail.Put(tx, mailed)
}

// ResetUser makes a link with which an active user sets a password anew. Codes: user_not_found, state_conflict,
// insufficient_scope (the user may do what the principal may not), idempotency_key_reused, idempotency_in_progress.
func (s *Service) ResetUser(ctx context.Context, p *Principal, id chargehand.UserID, base string, i *Idempotency) (l OneUseLink, replayed bool, err error) {
	return guarded(ctx, s, p, i,
		func(c *idempotencyGuard) (OneUseLink, error) { return s.resetUser(ctx, p, id, base, c) },
		func(c *idempotencyGuard) (OneUseLink, error) {
			return OneUseLink{ExpiresAt: atMs(c.found.CreatedMs).Add(resetLife)}, nil
		})
}

func (s *Service) resetUser(ctx context.Context, p *Principal, id chargehand.UserID, base string, c *idempotencyGuard) (OneUseLink, error) {
	l := newLink("/password-reset", base, s.now().Add(resetLife))
	err := s.changeMember(ctx, p, id, func(tx *store.Tx, m *store.Member) (err error) {
		if m.Status != store.Active {
			return stateConflict("The user is " + m.Status.String() + ". Only the password of an active user can be reset.")
		}
		if err := coversAll(tx, p, m.Person.No); err != nil {
			return err
		}
		if err := l.ticket(tx, store.TicketReset, m, s.nowMs()); err != nil {
			return err
		}
		if l.Mailed, err = s.mailLink(tx, p, letter.Reset, &l, m); err != nil {
			return err
		}
		if err := s.audit(ctx, tx, p, audit.UserReset, userTarget(&m.Person), nil); err != nil {
			return err
		}
		return c.record(tx, statusCreated, "reset", m.Person.ID)
	})
	s.mail.Notify()
	return l.OneUseLink, err
}

// coversAll refuses a principal that lacks what a person may do in any account: with a link to reset the password it
// could act as that person. Codes: insufficient_scope.
func coversAll(tx *store.Tx, p *Principal, person int64) error {
	all, err := tx.MembershipsOf(person)
	if err != nil {
		return err
	}
	for _, m := range all {
		if m.Account != p.AccountNo && m.Status != store.Invited {
			return chargehand.NewError(chargehand.CodeInsufficientScope,
				"The user is a member of another account too. The server's command line makes the link, or the user asks for it.")
		}
		grants, err := tx.GrantsOf(m.Account, person, session.MaxGrants)
		if err != nil {
			return err
		}
		for _, g := range grants {
			if err := covers(p, g.Role); err != nil {
				return err
			}
		}
	}
	return nil
}
