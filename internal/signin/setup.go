package signin

import (
	"context"
	"errors"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/person"
	"github.com/chargehand/chargehand/internal/signin/token"
	"github.com/chargehand/chargehand/internal/store"
)

// SetupLife is how long a set-up token counts.
const SetupLife = 24 * time.Hour

// ErrSetupDone says that the installation has an admin, so that it needs no set-up token.
var ErrSetupDone = errors.New("the installation is set up: it has an admin who can sign in")

// setupCreator is who has made the grant of an admin of the set-up.
const setupCreator = "set-up"

// setUp reports whether an account has an active admin who can sign in. Persons who are only invited do not count: an
// API key can invite them before the set-up. One who has used the set-up token without a password counts as soon as
// there is a passkey.
func setUp(r *store.Reader) (bool, error) {
	accounts, err := r.Accounts()
	for _, account := range accounts {
		if found, err := r.AdminCanSignIn(account.No); err != nil || found {
			return found, err
		}
	}
	return false, err
}

// NewSetupToken makes the token with which the first admin is made; those before count no more.
// Errors: ErrSetupDone.
func NewSetupToken(ctx context.Context, db *store.Store, now time.Time) (string, error) {
	text, hash := token.New()
	err := db.Update(ctx, func(tx *store.Tx) error {
		if err := tx.LockInstallation(); err != nil {
			return err
		}
		if done, err := setUp(&tx.Reader); err != nil || done {
			return errors.Join(err, ErrSetupDone)
		}
		if err := errors.Join(tx.DeleteTicketsOfKind(store.TicketSetup), tx.DeleteTicketsOfKind(store.TicketSetupAgain)); err != nil {
			return err
		}
		return tx.InsertTicket(&store.Ticket{
			Hash: hash[:], Kind: store.TicketSetup, CreatedMs: now.UnixMilli(), ExpiresMs: now.Add(SetupLife).UnixMilli(),
		})
	})
	if err != nil {
		return "", err
	}
	return text, nil
}

// Setup is the request to make the first admin.
type Setup struct {
	Token, Name, Email string
	// Password may be empty where passkeys work: AddPasskey is the next step. Until there is a passkey the token counts
	// again: the next person who comes with it takes the place of the one before.
	Password string
}

// Setup makes the first admin and signs in. Of several that try at once, one succeeds.
// Codes: setup_done, invalid_credentials, invalid_body, rate_limited.
func (s *Service) Setup(ctx context.Context, q Setup, from Client) (*Session, error) {
	hash := token.Hash(q.Token)
	err := s.view(ctx, func(r *store.Reader) error {
		if done, err := setUp(r); err != nil || done {
			return errors.Join(err, ErrSetupDone)
		}
		_, _, err := findAgain(r, store.TicketSetup, hash[:], s.now().UnixMilli())
		return err
	})
	if err != nil {
		return nil, setupError(err)
	}
	p, err := s.newPerson(ctx, q.Name, q.Email, q.Password, from)
	if err != nil {
		return nil, err
	}
	var session *Session
	err = s.update(ctx, func(tx *store.Tx) error {
		if err := tx.LockInstallation(); err != nil {
			return err
		}
		if done, err := setUp(&tx.Reader); err != nil || done {
			return errors.Join(err, ErrSetupDone)
		}
		ticket, err := useAgain(tx, store.TicketSetup, hash[:], s.now().UnixMilli())
		if err != nil {
			return err
		}
		account, err := s.firstOf(tx)
		if err != nil {
			return err
		}
		admin, err := makeAdmin(tx, p, account.No, s.now().UnixMilli())
		if err != nil {
			return err
		}
		if err := keepAgain(tx, ticket, &admin, account.No); err != nil {
			return err
		}
		if err := s.record(ctx, tx, account.No, &admin, audit.UserSetUp, nil); err != nil {
			return err
		}
		session, err = s.insertSession(ctx, tx, admin, account.No, bySetup, from)
		return err
	})
	if err != nil {
		return nil, setupError(err)
	}
	s.changed()
	if p.Password != "" {
		s.setUp()
	}
	return session, nil
}

// firstOf is the oldest account of the installation, which is made if there is none.
func (s *Service) firstOf(tx *store.Tx) (store.Account, error) {
	accounts, err := tx.Accounts()
	if err != nil || len(accounts) > 0 {
		return append(accounts, store.Account{})[0], err
	}
	account := store.Account{ID: newID[chargehand.AccountID](), Name: "default", CreatedMs: s.now().UnixMilli()}
	return account, tx.InsertAccount(&account)
}

func setupError(err error) error {
	switch {
	case errors.Is(err, ErrSetupDone):
		return chargehand.NewError(chargehand.CodeSetupDone, "This installation is set up already. Sign in, or ask an admin for an invitation.")
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrConflict):
		return refusedError("The set-up token is not right, or is older than 24 hours. The newest one is in the log of the server, and in the file " +
			"setup-token of its data directory; chargehand setup-token makes another.")
	}
	return err
}

// newPerson checks the fields of a new person and hashes the password, which may be left out where passkeys work.
// Codes: invalid_body, rate_limited.
func (s *Service) newPerson(ctx context.Context, name, email, text string, from Client) (store.Person, error) {
	p := store.Person{ID: newID[chargehand.UserID](), CreatedMs: s.now().UnixMilli()}
	var complaint string
	if p.Name, complaint = person.Name(name); complaint != "" {
		return p, badField("name", "name "+complaint)
	}
	if p.Email, p.EmailKey, complaint = person.Email(email); complaint != "" {
		return p, badField("email", "email "+complaint)
	}
	p.NameKey = person.Key(p.Name)
	if text == "" {
		if reason := from.noPasskeys(); reason != "" {
			return p, badField("password", "password is missing. It can be left out where a passkey takes its place. "+reason)
		}
		return p, nil
	}
	if err := s.acceptable("password", text, p.Name, p.Email); err != nil {
		return p, err
	}
	var err error
	p.Password, err = s.hash(ctx, text)
	return p, err
}

// makeAdmin makes p, or the invited person with that e-mail, an active member with the role admin. Codes: invalid_body.
// Errors: ErrSetupDone.
func makeAdmin(tx *store.Tx, p store.Person, account, nowMs int64) (store.Person, error) {
	if err := dropAdmins(tx, account, p.EmailKey, nowMs); err != nil {
		return p, err
	}
	known, err := tx.PersonByEmail(p.EmailKey)
	switch {
	case errors.Is(err, store.ErrNotFound):
		err = tx.InsertPerson(&p)
	case err == nil:
		p, err = takeOver(tx, known, p)
	}
	if err != nil {
		return p, err
	}
	if err := join(tx, p, account, nowMs); err != nil {
		return p, err
	}
	return p, tx.InsertGrant(&store.Grant{
		ID: newID[chargehand.GrantID](), Account: account, Person: p.No, Role: "admin", Environments: store.BothEnvironments,
		CreatedMs: nowMs, Creator: setupCreator,
	})
}

// takeOver gives an invited person without a credential the name and the password of another one.
// Codes: invalid_body.
func takeOver(tx *store.Tx, known, chosen store.Person) (store.Person, error) {
	can, err := hasCredential(&tx.Reader, known)
	if err != nil {
		return known, err
	}
	if can || known.DisabledMs != 0 {
		return known, badField("email", "email belongs to a person that can sign in or is disabled, and is no admin. Use another one.")
	}
	known.Name, known.NameKey, known.Password = chosen.Name, chosen.NameKey, chosen.Password
	if err := tx.UpdatePerson(&known); err != nil {
		return known, err
	}
	// The links that were made to invite the person would set another password.
	return known, errors.Join(tx.SetPassword(known.No, known.Password), tx.DeleteTicketsOf(known.No, store.TicketReset))
}

// join makes a person an active member of an account.
func join(tx *store.Tx, p store.Person, account, nowMs int64) error {
	m, err := tx.MemberByNo(account, p.No)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return tx.InsertMember(&store.Member{Account: account, Person: p, Status: store.Active, CreatedMs: nowMs})
	case err == nil && m.Status != store.Active:
		return errors.Join(tx.SetMemberStatus(m.No, m.Status, store.Active), tx.DeleteTicketsIn(account, p.No, store.TicketInvitation))
	}
	return err
}

// maxFirstGrants bounds the grants among which those of the set-up are looked for. Before it, only API keys give some.
const maxFirstGrants = 1000

// dropAdmins ends what those have who have used a set-up token before and never got a passkey: what they have opened
// (giveWay) and grants, and the membership too unless the e-mail is the one to keep. Errors: ErrSetupDone if one has
// got a passkey meanwhile.
func dropAdmins(tx *store.Tx, account int64, keep string, nowMs int64) error {
	grants, err := tx.ListGrants(store.GrantFilter{Account: account, Limit: maxFirstGrants})
	if err != nil {
		return err
	}
	for _, g := range grants {
		if g.Creator != setupCreator || g.Person == 0 {
			continue
		}
		p, err := tx.PersonForUpdate(g.Person)
		if err != nil {
			return err
		}
		if can, err := hasCredential(&tx.Reader, p); err != nil || can {
			return errors.Join(err, ErrSetupDone)
		}
		err = errors.Join(tx.DeleteGrant(g.No), giveWay(tx, p.No, nowMs), tx.DeleteTicketsOf(p.No, store.TicketSetupAgain))
		if err == nil && p.EmailKey != keep {
			err = tx.DeleteMember(account, p.No)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
