package service

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/person"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
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
