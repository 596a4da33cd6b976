package service

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/person"
	"github.com/chargehand/chargehand/internal/session"
	"github.com/chargehand/chargehand/internal/store"
)

// Command is what the command line of the server's machine does to accounts and persons, beside a running server or
// without one. It checks no rights: an operator who reads the database of an installation has them all. The audit log
// names the command. Sessions and keys that it ends are refused within a second by servers that run.
type Command struct {
	Store *store.Store
	Now   time.Time
}

// Accounts lists the accounts of the installation, oldest first.
func (c Command) Accounts(ctx context.Context) (all []store.Account, err error) {
	err = storageError(c.Store.View(ctx, func(r *store.Reader) error {
		all, err = r.Accounts()
		return err
	}))
	return all, err
}

// CreateAccount makes an account. Codes: invalid_parameter, state_conflict (an account has the name).
func (c Command) CreateAccount(ctx context.Context, name string) (row store.Account, err error) {
	if _, err := FirstAccount(ctx, c.Store, c.Now); err != nil { // default stays the oldest
		return row, err
	}
	row = store.Account{ID: newID[chargehand.AccountID](c.Now.UnixMilli()), CreatedMs: c.Now.UnixMilli()}
	if row.Name, err = accountName(name); err != nil {
		return row, err
	}
	err = c.changeAccounts(ctx, func(tx *store.Tx) (audit.Entry, error) {
		if err := nameFree(&tx.Reader, row.Name, 0); err != nil {
			return audit.Entry{}, err
		}
		err := tx.InsertAccount(&row)
		return audit.Entry{Account: row.No, Action: audit.AccountCreated, Target: accountTarget(&row), Changes: changed("name", nil, row.Name)}, err
	})
	return row, err
}

// RenameAccount gives an account, named by its name or id, another name. Codes: invalid_parameter, account_not_found,
// state_conflict (an account has the name).
func (c Command) RenameAccount(ctx context.Context, account, name string) (row store.Account, err error) {
	if name, err = accountName(name); err != nil {
		return row, err
	}
	err = c.changeAccounts(ctx, func(tx *store.Tx) (audit.Entry, error) {
		if row, err = findAccount(&tx.Reader, account); err != nil {
			return audit.Entry{}, err
		}
		if err := nameFree(&tx.Reader, name, row.No); err != nil {
			return audit.Entry{}, err
		}
		was := row.Name
		row.Name = name
		entry := audit.Entry{Account: row.No, Action: audit.AccountRenamed, Target: accountTarget(&row), Changes: changed("name", was, name)}
		return entry, tx.RenameAccount(row.No, name)
	})
	return row, err
}

func accountName(text string) (string, error) {
	name, complaint := person.Name(text)
	if complaint != "" {
		return "", chargehand.NewError(chargehand.CodeInvalidParameter, "The name of an account "+complaint)
	}
	return name, nil
}

func accountTarget(row *store.Account) audit.Target {
	return audit.Target{Kind: "account", ID: row.ID.String(), Name: row.Name}
}

// changeAccounts runs a change of the names of accounts, one after the other, and records it.
func (c Command) changeAccounts(ctx context.Context, change func(*store.Tx) (audit.Entry, error)) error {
	return storageError(c.Store.Update(ctx, func(tx *store.Tx) error {
		if err := tx.LockInstallation(); err != nil {
			return err
		}
		entry, err := change(tx)
		if err != nil {
			return err
		}
		return audit.Write(ctx, tx, c.Now, entry)
	}))
}

// nameFree refuses a name that another account than own has. Codes: state_conflict.
func nameFree(r *store.Reader, name string, own int64) error {
	all, err := r.Accounts()
	for i := range all {
		if all[i].No != own && person.Key(all[i].Name) == person.Key(name) {
			return stateConflict("There is an account with the name " + all[i].Name + ".")
		}
	}
	return err
}

// findAccount finds an account by its name, whatever the case, or its id; empty: the oldest. Codes: account_not_found.
func findAccount(r *store.Reader, text string) (store.Account, error) {
	all, err := r.Accounts()
	for i := range all {
		if text == "" || person.Key(all[i].Name) == person.Key(text) || all[i].ID.String() == text {
			return all[i], err
		}
	}
	if err == nil {
		err = chargehand.NewError(chargehand.CodeAccountNotFound, "There is no account with this name or id.")
	}
	return store.Account{}, err
}

// NewUser is the request to make a person a member of an account.
type NewUser struct {
	Account     string // name or id; empty: the oldest one
	Email, Name string
	Role        string // over everything, in both environments; empty: none
	BaseURL     string // what the address of the invitation begins with
}

// CreateUser invites a person, as InviteUser does. Codes: invalid_parameter, account_not_found, state_conflict.
func (c Command) CreateUser(ctx context.Context, q NewUser) (OneUseLink, error) {
	given := store.Person{ID: newID[chargehand.UserID](c.Now.UnixMilli()), CreatedMs: c.Now.UnixMilli()}
	var complaint string
	if given.Email, given.EmailKey, complaint = person.Email(q.Email); complaint != "" {
		return OneUseLink{}, chargehand.NewError(chargehand.CodeInvalidParameter, "The e-mail address "+complaint)
	}
	if given.Name, complaint = person.Name(q.Name); complaint != "" {
		return OneUseLink{}, chargehand.NewError(chargehand.CodeInvalidParameter, "The name "+complaint)
	}
	given.NameKey = person.Key(given.Name)
	if _, known := ParseRole(q.Role); q.Role != "" && !known {
		return OneUseLink{}, chargehand.NewError(chargehand.CodeInvalidParameter, "There is no role "+q.Role+".")
	}
	if _, err := FirstAccount(ctx, c.Store, c.Now); err != nil {
		return OneUseLink{}, err
	}
	link := newLink("/invitation", q.BaseURL, c.Now.Add(invitationLife))
	err := storageError(c.Store.Update(ctx, func(tx *store.Tx) error {
		account, err := findAccount(&tx.Reader, q.Account)
		if err != nil {
			return err
		}
		m, err := invite(tx, account.No, given, c.Now.UnixMilli())
		if err != nil {
			return err
		}
		entry := audit.Entry{Account: account.No, Action: audit.UserInvited, Target: userTarget(&m.Person)}
		if err := audit.Write(ctx, tx, c.Now, entry); err != nil {
			return err
		}
		if q.Role != "" {
			if err := c.give(ctx, tx, &m, q.Role); err != nil {
				return err
			}
		}
		return link.ticket(tx, store.TicketInvitation, &m, c.Now.UnixMilli())
	}))
	return link.OneUseLink, err
}

// give gives a member a role over everything, unless it has it.
func (c Command) give(ctx context.Context, tx *store.Tx, m *store.Member, role string) error {
	g := store.Grant{
		ID: newID[chargehand.GrantID](c.Now.UnixMilli()), Account: m.Account, Person: m.Person.No, Role: role,
		Environments: store.BothEnvironments, CreatedMs: c.Now.UnixMilli(), Creator: creatorCommandLine,
	}
	held, err := tx.ListGrants(store.GrantFilter{Account: m.Account, Person: m.Person.No, Limit: session.MaxGrantsOfOne})
	if err != nil {
		return err
	}
	for i := range held {
		if h := &held[i]; h.Role == role && h.Namespace == "" && h.Workflow.IsZero() && h.Environments == store.BothEnvironments {
			return nil
		}
	}
	if len(held) == session.MaxGrantsOfOne {
		return tooManyGrants()
	}
	if err := tx.InsertGrant(&g); err != nil {
		return err
	}
	entry, err := grantEntry(&tx.Reader, audit.GrantGiven, &g)
	if err != nil {
		return err
	}
	return audit.Write(ctx, tx, c.Now, entry)
}

// DisablePerson disables a person in all accounts, or enables it again. A disabled person's sessions end, and its keys
// and links do not count. Codes: invalid_parameter, user_not_found, last_admin (an account would have no admin).
func (c Command) DisablePerson(ctx context.Context, email string, disable bool) (p store.Person, err error) {
	err = c.changePerson(ctx, email, func(tx *store.Tx, found store.Person, members []store.Member) error {
		p = found
		if disable == (p.DisabledMs != 0) {
			return nil
		}
		had := make([]bool, len(members))
		for i := range members {
			if had[i], err = tx.HasAdmin(members[i].Account); err != nil {
				return err
			}
		}
		p.DisabledMs = 0
		if disable {
			p.DisabledMs = c.Now.UnixMilli()
			if err := endCredentials(tx, p.No, c.Now.UnixMilli()); err != nil {
				return err
			}
		}
		if err := tx.DisablePerson(p.No, p.DisabledMs); err != nil {
			return err
		}
		for i := range members {
			if err := c.disabledIn(ctx, tx, &members[i], disable, had[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return p, err
}

// endCredentials ends the sessions of a person, and the links that were sent to it.
func endCredentials(tx *store.Tx, person, nowMs int64) error {
	return errors.Join(tx.RevokeSessions(person, 0, 0, nowMs), tx.DeleteTicketsOf(person, store.TicketInvitation), tx.DeleteTicketsOf(person, store.TicketReset))
}

// disabledIn checks and records in one account that a person was disabled or enabled everywhere.
func (c Command) disabledIn(ctx context.Context, tx *store.Tx, m *store.Member, disable, had bool) error {
	has, err := tx.HasAdmin(m.Account)
	if err != nil {
		return err
	}
	if had && !has {
		account, err := tx.AccountByNo(m.Account)
		if err != nil {
			return err
		}
		return chargehand.NewError(chargehand.CodeLastAdmin, "This would leave the account "+account.Name+
			" without an active admin. Make another one first: chargehand users create --role admin.")
	}
	if m.Status == store.Disabled {
		return nil // it was disabled in this account before, and stays so
	}
	before, after := m.Status.String(), store.Disabled.String()
	if !disable {
		before, after = after, before
	}
	return audit.Write(ctx, tx, c.Now, audit.Entry{
		Account: m.Account, Action: audit.UserChanged, Target: userTarget(&m.Person), Changes: changed("status", before, after),
	})
}

// ResetPerson makes a link with which a person sets a password anew. Codes: invalid_parameter, user_not_found,
// state_conflict (the person is disabled, or active in no account).
func (c Command) ResetPerson(ctx context.Context, email, base string) (OneUseLink, error) {
	link := newLink("/password-reset", base, c.Now.Add(resetLife))
	err := c.changePerson(ctx, email, func(tx *store.Tx, p store.Person, members []store.Member) error {
		if p.DisabledMs != 0 {
			return stateConflict("The person is disabled in all accounts: chargehand persons enable.")
		}
		var active *store.Member
		for i := range members {
			m := &members[i]
			if m.Status != store.Active {
				continue
			}
			active = m
			if err := audit.Write(ctx, tx, c.Now, audit.Entry{Account: m.Account, Action: audit.UserReset, Target: userTarget(&m.Person)}); err != nil {
				return err
			}
		}
		if active == nil {
			return stateConflict("The person is an active user of no account. An invited person opens the invitation: chargehand users create makes another one.")
		}
		return link.ticket(tx, store.TicketReset, active, c.Now.UnixMilli())
	})
	return link.OneUseLink, err
}

// changePerson runs a change of a person. Meanwhile no other transaction changes who is an admin of its accounts.
func (c Command) changePerson(ctx context.Context, email string, change func(*store.Tx, store.Person, []store.Member) error) error {
	_, key, complaint := person.Email(email)
	if complaint != "" {
		return chargehand.NewError(chargehand.CodeInvalidParameter, "The e-mail address "+complaint)
	}
	return storageError(c.Store.Update(ctx, func(tx *store.Tx) error {
		p, err := tx.PersonByEmail(key)
		if errors.Is(err, store.ErrNotFound) {
			return chargehand.NewError(chargehand.CodeUserNotFound, "No person of this installation has this e-mail address.")
		}
		if err != nil {
			return err
		}
		members, err := tx.MembershipsOf(p.No)
		if err != nil {
			return err
		}
		for _, account := range accountsOf(members) {
			if err := tx.LockAdmins(account); err != nil {
				return err
			}
		}
		if p, err = tx.PersonForUpdate(p.No); err != nil {
			return err
		}
		return change(tx, p, members)
	}))
}

// accountsOf are the numbers of the accounts, ascending: two that lock them in this order do not wait for each other.
func accountsOf(members []store.Member) []int64 {
	list := make([]int64, len(members))
	for i := range members {
		list[i] = members[i].Account
	}
	slices.Sort(list)
	return list
}
