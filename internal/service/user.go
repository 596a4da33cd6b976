package service

import (
	"context"
	"errors"
	"strings"
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

// User is a person as a member of the account.
type User struct {
	ID         chargehand.UserID
	Email      string
	Name       string
	Locale     string // empty: none chosen
	Status     store.MemberStatus
	Groups     []chargehand.GroupID
	Methods    []string // how the person can sign in: password, passkey, oidc:NAME
	CreatedAt  time.Time
	LastSeenAt time.Time // zero: never
	// Open is by what the user acts at the moment. Lists leave it out.
	Open *OpenAccess
	// Link is what the person is to open, in the answers that make it: it is not shown again.
	Link *OneUseLink
}

// OpenAccess is by what a user acts at the moment.
type OpenAccess struct {
	Sessions, PersonalKeys int64     // of the account
	InvitationEnds         time.Time // zero: there is none
}

// OneUseLink is an address that can be used once. It is shown once.
type OneUseLink struct {
	URL       string // empty in an answer that is repeated
	ExpiresAt time.Time
	Mailed    bool // it is sent to the person
}

// managesPeople refuses a key of test: users and their rights belong to both environments.
// Codes: insufficient_scope.
func managesPeople(p *Principal) error {
	if p.SessionNo == 0 && p.Environment == chargehand.Test {
		return chargehand.NewError(chargehand.CodeInsufficientScope,
			"Users, groups and grants belong to both environments. Use a key of live, or sign in.")
	}
	return nil
}

// creator names the principal as the one who has made something.
func (p *Principal) creator() string { return p.ActorID() }

func userNotFound() error {
	return chargehand.NewError(chargehand.CodeUserNotFound, "There is no such user in this account.")
}

func userOfCursorGone() error {
	return chargehand.NewError(chargehand.CodeInvalidParameter, "The user with whom the last page ended was removed. Begin the list anew.")
}

// shownUser is a member as it may be shown.
func shownUser(r *store.Reader, m *store.Member) (User, error) {
	list, err := shownUsers(r, m.Account, []store.Member{*m})
	if err != nil {
		return User{}, err
	}
	return list[0], nil
}

// shownUsers are members of an account as they may be shown.
func shownUsers(r *store.Reader, account int64, members []store.Member) ([]User, error) {
	persons := make([]int64, len(members))
	for i := range members {
		persons[i] = members[i].Person.No
	}
	details, err := r.MemberDetails(account, persons)
	if err != nil {
		return nil, err
	}
	list := make([]User, len(members))
	for i := range members {
		m := &members[i]
		u := User{
			ID: m.Person.ID, Email: m.Person.Email, Name: m.Person.Name, Locale: m.Person.Locale, Status: m.Status, Groups: []chargehand.GroupID{},
			Methods: []string{}, CreatedAt: atMs(m.CreatedMs), LastSeenAt: atMs(m.LastSeenMs),
		}
		if m.Person.DisabledMs != 0 {
			u.Status = store.Disabled
		}
		if m.Person.Password != "" {
			u.Methods = append(u.Methods, "password")
		}
		if d := details[m.Person.No]; d != nil {
			u.Groups = append(u.Groups, d.Groups...)
			if d.Passkey {
				u.Methods = append(u.Methods, "passkey")
			}
			for _, provider := range d.Providers {
				u.Methods = append(u.Methods, "oidc:"+provider)
			}
		}
		list[i] = u
	}
	return list, nil
}

// openUser is a member as it may be shown, with its sessions, personal keys and invitation.
func (s *Service) openUser(r *store.Reader, m *store.Member) (User, error) {
	u, err := shownUser(r, m)
	if err != nil {
		return u, err
	}
	sessions, err1 := r.OpenSessions(m.Account, m.Person.No, s.nowMs())
	keys, err2 := r.PersonalKeysIn(m.Account, m.Person.No, s.nowMs())
	ends, err3 := r.TicketEnds(m.Account, m.Person.No, store.TicketInvitation, s.nowMs())
	u.Open = &OpenAccess{Sessions: sessions, PersonalKeys: keys, InvitationEnds: atMs(ends)}
	return u, errors.Join(err1, err2, err3)
}

// ListUsers is a query for members of an account.
type ListUsers struct {
	Text   string // what the name or the e-mail begins with; empty: anything
	Status string // invited, active or disabled; empty: any
	Limit  int
	After  Cursor
}

// userStatus is the status of that name; 0: there is none.
func userStatus(name string) store.MemberStatus {
	for _, status := range []store.MemberStatus{store.Invited, store.Active, store.Disabled} {
		if status.String() == name {
			return status
		}
	}
	return 0
}

// IsUserStatus reports whether users may have a status of that name.
func IsUserStatus(name string) bool { return userStatus(name) != 0 }

// ListUsers lists the members of the account. Codes: invalid_parameter (the user of the cursor was removed).
func (s *Service) ListUsers(ctx context.Context, p *Principal, q ListUsers) (*Page[User], error) {
	if err := managesPeople(p); err != nil {
		return nil, err
	}
	f := store.MemberFilter{Account: p.AccountNo, Prefix: person.Key(strings.TrimSpace(q.Text)), Status: userStatus(q.Status), After: q.After.Milli}
	return readPage(ctx, s, q.Limit, func(r *store.Reader, most int) ([]store.Member, error) {
		f.Limit = most
		rows, err := r.ListMembers(f)
		return rows, notFoundIs(err, userOfCursorGone)
	}, func(last *store.Member) Cursor { return numberCursor(last.No) }, func(r *store.Reader, rows []store.Member) ([]User, error) {
		return shownUsers(r, p.AccountNo, rows)
	})
}

// GetUser returns a member of the account. Codes: user_not_found.
func (s *Service) GetUser(ctx context.Context, p *Principal, id chargehand.UserID) (u User, err error) {
	if err := managesPeople(p); err != nil {
		return u, err
	}
	err = s.view(ctx, func(r *store.Reader) error {
		m, err := r.MemberByID(p.AccountNo, id)
		if err != nil {
			return notFoundIs(err, userNotFound)
		}
		u, err = s.openUser(r, &m)
		return err
	})
	return u, err
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

// PatchUser changes the status of a membership: active or disabled. Sessions of a disabled user end everywhere within
// a second, and human tasks are released (ReleaseHumanTask). Codes: user_not_found, invalid_body, unknown_field,
// state_conflict, last_admin.
func (s *Service) PatchUser(ctx context.Context, p *Principal, id chargehand.UserID, body value.Value) (u User, err error) {
	f, err := openBody(body, "status")
	if err != nil {
		return u, err
	}
	to := store.Active
	switch status := f.text("status", 20); {
	case !f.has("status"):
		f.fail("status", "required", "The field \"status\" is missing.")
	case status == "disabled":
		to = store.Disabled
	case status != "active" && len(f.wrong) == 0:
		f.fail("status", "unknown_value", "The field \"status\" must be \"active\" or \"disabled\".")
	}
	if err := f.err(); err != nil {
		return u, err
	}
	err = s.changeMember(ctx, p, id, func(tx *store.Tx, m *store.Member) error {
		switch {
		case m.Status == to:
		case m.Status == store.Invited && to == store.Active:
			return stateConflict("The user has not accepted the invitation yet.")
		case m.Status == store.Invited:
			return stateConflict("The user has not accepted the invitation yet. Remove the user instead.")
		default:
			if err := tx.SetMemberStatus(m.No, m.Status, to); err != nil {
				return err
			}
			if err := s.audit(ctx, tx, p, audit.UserChanged, userTarget(&m.Person), changed("status", m.Status.String(), to.String())); err != nil {
				return err
			}
			m.Status = to
		}
		if to == store.Disabled {
			err := errors.Join(tx.RevokeSessions(m.Person.No, m.Account, 0, s.nowMs()),
				tx.ReleaseTasksOf(m.Account, m.Person.ID.String()), tx.DeleteTicketsIn(m.Account, m.Person.No, store.TicketInvitation),
				tx.DeleteTicketsOf(m.Person.No, store.TicketReset))
			if err != nil {
				return err
			}
		}
		u, err = s.openUser(&tx.Reader, m)
		return err
	})
	return u, err
}

// RemoveUser ends a membership, with its grants and places in groups, and releases human tasks. The person stays, and
// so do the names in what the person has started. Codes: user_not_found, last_admin.
func (s *Service) RemoveUser(ctx context.Context, p *Principal, id chargehand.UserID) error {
	return s.changeMember(ctx, p, id, func(tx *store.Tx, m *store.Member) error {
		return errors.Join(tx.DeleteMember(m.Account, m.Person.No), tx.RevokeSessions(m.Person.No, m.Account, 0, s.nowMs()),
			tx.RevokeKeysOf(m.Account, m.Person.No, s.nowMs()), tx.ReleaseTasksOf(m.Account, m.Person.ID.String()),
			tx.DeleteTicketsIn(m.Account, m.Person.No, store.TicketInvitation), tx.DeleteTicketsOf(m.Person.No, store.TicketReset),
			s.audit(ctx, tx, p, audit.UserRemoved, userTarget(&m.Person), changed("status", m.Status.String(), nil)))
	})
}

// changeMember runs a change of a member after which the account has an admin still. Codes: user_not_found, last_admin.
func (s *Service) changeMember(ctx context.Context, p *Principal, id chargehand.UserID, change func(*store.Tx, *store.Member) error) error {
	return s.changePeople(ctx, p, func(tx *store.Tx) error {
		m, err := tx.MemberByID(p.AccountNo, id)
		if err != nil {
			return notFoundIs(err, userNotFound)
		}
		return change(tx, &m)
	})
}

// changePeople runs a change of memberships, groups or grants. If the account had an admin, it has one afterwards.
// Codes: insufficient_scope, last_admin.
func (s *Service) changePeople(ctx context.Context, p *Principal, change func(*store.Tx) error) error {
	if err := managesPeople(p); err != nil {
		return err
	}
	err := s.update(ctx, func(tx *store.Tx) error {
		if err := tx.LockAdmins(p.AccountNo); err != nil {
			return err
		}
		had, err := tx.HasAdmin(p.AccountNo)
		if err != nil {
			return err
		}
		if err := change(tx); err != nil || !had {
			return err
		}
		has, err := tx.HasAdmin(p.AccountNo)
		if err == nil && !has {
			err = chargehand.NewError(chargehand.CodeLastAdmin,
				"This would leave the account without an active user who is an admin. Make another user an admin first.")
		}
		return err
	})
	s.ForgetSessions()
	return err
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

// covers refuses to give a role with scopes that the principal does not have. A principal that gives roles is an admin,
// over everything. Codes: insufficient_scope.
func covers(p *Principal, name string) error {
	role, _ := ParseRole(name)
	if missing := (role.live | role.test) &^ p.Scopes &^ ScopeWorkflowsPublish; missing != 0 {
		return chargehand.NewError(chargehand.CodeInsufficientScope, "The role "+name+" has more than you have: "+
			strings.Join(missing.Names(), ", ")+".")
	}
	if role.live.Has(ScopeWorkflowsPublish) && !p.Scopes.Has(ScopeWorkflowsPublish) && p.SessionNo == 0 {
		return chargehand.NewError(chargehand.CodeInsufficientScope, "The role "+name+" has more than this key has: workflows:publish.")
	}
	return nil
}

// FoundPeople are members and groups whose names begin with a text, for pickers.
type FoundPeople struct {
	Users  []FoundUser
	Groups []FoundGroup
}

// FoundUser is what everyone who answers tasks may know of a user.
type FoundUser struct {
	ID          chargehand.UserID
	Name, Email string
}

// FoundGroup is what everyone who answers tasks may know of a group.
type FoundGroup struct {
	ID   chargehand.GroupID
	Name string
}

// FindPeople finds up to limit active users, and as many groups, whose name or e-mail begins with text.
func (s *Service) FindPeople(ctx context.Context, p *Principal, text string, limit int) (*FoundPeople, error) {
	found := &FoundPeople{Users: []FoundUser{}, Groups: []FoundGroup{}}
	key := person.Key(strings.TrimSpace(text))
	err := s.view(ctx, func(r *store.Reader) error {
		users, err := r.SearchMembers(p.AccountNo, key, limit)
		if err != nil {
			return err
		}
		for i := range users {
			found.Users = append(found.Users, FoundUser{users[i].Person.ID, users[i].Person.Name, users[i].Person.Email})
		}
		groups, err := r.SearchGroups(p.AccountNo, key, limit)
		for _, g := range groups {
			found.Groups = append(found.Groups, FoundGroup{g.ID, g.Name})
		}
		return err
	})
	return found, err
}
