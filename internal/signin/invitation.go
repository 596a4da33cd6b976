package signin

import (
	"context"
	"errors"
	"slices"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/person"
	rules "github.com/chargehand/chargehand/internal/session"
	"github.com/chargehand/chargehand/internal/signin/token"
	"github.com/chargehand/chargehand/internal/store"
)

// Invitation is what the holder of an invitation's secret may know.
type Invitation struct {
	Email, Name, Account string
	// Known: the person can sign in already, so that the invitation adds a membership and sets no credential.
	Known bool
}

const noInvitation = "The invitation is not right, was used, or has expired. Ask for another one."

// Invitation reads an invitation without using it. Codes: invalid_credentials.
func (s *Service) Invitation(ctx context.Context, text string) (Invitation, error) {
	hash := token.Hash(text)
	var found Invitation
	err := s.view(ctx, func(r *store.Reader) error {
		ticket, comesAgain, err := findAgain(r, store.TicketInvitation, hash[:], s.now().UnixMilli())
		if err != nil {
			return err
		}
		p, err := r.PersonByNo(ticket.Person)
		if err != nil {
			return err
		}
		account, err := r.AccountByNo(ticket.Account)
		if err != nil {
			return err
		}
		known, err := isKnown(r, p, comesAgain)
		found = Invitation{Email: p.Email, Name: p.Name, Account: account.Name, Known: known}
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return found, refusedError(noInvitation)
	}
	return found, err
}

// hasCredential reports whether a person can sign in.
func hasCredential(r *store.Reader, p store.Person) (bool, error) {
	if p.Password != "" {
		return true, nil
	}
	if keys, err := r.PasskeysOf(p.No); err != nil || len(keys) > 0 {
		return true, err
	}
	identities, err := r.IdentitiesOf(p.No)
	return len(identities) > 0, err
}

// isKnown reports whether an invitation of a person only adds a membership: the person can sign in, or is an active
// member elsewhere and about to make the first passkey. comesAgain: the invitation is the one that has led there.
func isKnown(r *store.Reader, p store.Person, comesAgain bool) (bool, error) {
	known, err := hasCredential(r, p)
	if err != nil || known || comesAgain {
		return known, err
	}
	_, err = firstAccount(r, p.No)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Accept is the request to accept an invitation.
type Accept struct {
	Token    string
	Name     string // empty: as the invitation says
	Password string // of a new person; it may be empty as that of Setup
	// Session is that of the browser; nil: none. A person who can sign in already must have done so.
	Session *Session
}

var errSignInFirst = errors.New("sign in first")

// Accept makes an invited person an active member and signs in. Codes: invalid_credentials, invalid_body.
func (s *Service) Accept(ctx context.Context, q Accept, from Client) (*Session, error) {
	invitation, err := s.Invitation(ctx, q.Token)
	if err != nil {
		return nil, err
	}
	p := store.Person{Name: invitation.Name}
	if !invitation.Known {
		if q.Name == "" {
			q.Name = invitation.Name
		}
		if p, err = s.newPerson(ctx, q.Name, invitation.Email, q.Password, from); err != nil {
			return nil, err
		}
	}
	hash := token.Hash(q.Token)
	var session *Session
	err = s.update(ctx, func(tx *store.Tx) (err error) {
		session, err = s.accept(ctx, tx, hash[:], p, q.Session, from)
		return err
	})
	switch {
	case errors.Is(err, errSignInFirst):
		return nil, refusedError("The e-mail " + invitation.Email + " belongs to a person who can sign in. Sign in as that person, then open the invitation again.")
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrConflict):
		return nil, refusedError(noInvitation)
	case err != nil:
		return nil, err
	}
	s.changed()
	return session, nil
}

// accept uses an invitation up, within an Update. given is what a new person has chosen. The session of a known person
// moves to the account, as fresh as it was: the invitation proves nothing of who uses it.
func (s *Service) accept(ctx context.Context, tx *store.Tx, hash []byte, given store.Person, browser *Session, from Client) (*Session, error) {
	ticket, err := useAgain(tx, store.TicketInvitation, hash, s.now().UnixMilli())
	if err != nil {
		return nil, err
	}
	p, err := tx.PersonForUpdate(ticket.Person)
	if err != nil {
		return nil, err
	}
	comesAgain := ticket.Kind == store.TicketInvitationAgain
	known, err := isKnown(&tx.Reader, p, comesAgain)
	if err != nil {
		return nil, err
	}
	switch {
	case known && comesAgain: // the person has got a passkey meanwhile
		return nil, store.ErrConflict
	case known && (browser == nil || browser.Person.No != p.No || browser.old):
		return nil, errSignInFirst
	case !known:
		if given.EmailKey == "" { // it was known when the request was read
			return nil, store.ErrConflict
		}
		p.Name, p.NameKey, p.Password = given.Name, person.Key(given.Name), given.Password
		if err := tx.UpdatePerson(&p); err != nil {
			return nil, err
		}
		if err := tx.SetPassword(p.No, p.Password); err != nil {
			return nil, err
		}
	}
	member, err := tx.MemberByNo(ticket.Account, p.No)
	if err != nil {
		return nil, err
	}
	was := store.Invited
	if comesAgain {
		was = store.Active
		err = giveWay(tx, p.No, s.now().UnixMilli())
	}
	if err == nil {
		err = tx.SetMemberStatus(member.No, was, store.Active)
	}
	if err != nil {
		return nil, err
	}
	// Links to set the password were made by those who knew the person without this membership.
	if err := tx.DeleteTicketsOf(p.No, store.TicketReset); err != nil {
		return nil, err
	}
	if !known {
		if err := keepAgain(tx, ticket, &p, ticket.Account); err != nil {
			return nil, err
		}
		if err := s.recordLink(ctx, tx, ticket.Account, &p, audit.UserJoined, nil); err != nil {
			return nil, err
		}
		return s.insertSession(ctx, tx, p, ticket.Account, byInvitation, from)
	}
	if err := s.record(ctx, tx, ticket.Account, &p, audit.UserJoined, nil); err != nil {
		return nil, err
	}
	row := browser.row
	row.Account = ticket.Account
	text, err := rules.Renew(tx, &row, s.now())
	if err != nil {
		return nil, err
	}
	session, err := s.describe(&tx.Reader, row, p)
	if err == nil {
		session.Token = text
	}
	return session, err
}

const noReset = "The link is not right, was used, or has expired. Ask for another one."

// Reset sets a password anew with the secret of a link and signs in. All else by which one can act as the person ends,
// sessions, passkeys, personal keys and linked identities, because a person who needs a link may have lost more than
// the password.
// Codes: invalid_credentials, invalid_body.
func (s *Service) Reset(ctx context.Context, secret, text string, from Client) (*Session, error) {
	hash := token.Hash(secret)
	var p store.Person
	err := s.view(ctx, func(r *store.Reader) error {
		ticket, err := r.FindTicket(store.TicketReset, hash[:], s.now().UnixMilli())
		if err == nil {
			p, err = r.PersonByNo(ticket.Person)
		}
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil, refusedError(noReset)
	}
	if err != nil {
		return nil, err
	}
	if err := s.acceptable("password", text, p.Name, p.Email); err != nil {
		return nil, err
	}
	stored, err := s.hash(ctx, text)
	if err != nil {
		return nil, err
	}
	reset := func(leaves bool) (*Session, error) {
		return s.enter(ctx, p.No, 0, byPassword, from, func(tx *store.Tx, now store.Person) error {
			return s.resetOnce(ctx, tx, hash[:], stored, &now, leaves)
		})
	}
	session, err := reset(true)
	if refused := (*chargehand.Error)(nil); errors.As(err, &refused) && refused.Code == chargehand.CodeLastAdmin {
		// The group of a provider makes the person the last admin: the identity goes, and the person stays in the group.
		session, err = reset(false)
	}
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrConflict) {
		return nil, refusedError(noReset)
	}
	return session, err
}

// resetOnce uses the link up and sets the password. leaves: see endAll.
func (s *Service) resetOnce(ctx context.Context, tx *store.Tx, hash []byte, stored string, p *store.Person, leaves bool) error {
	if _, err := tx.UseTicket(store.TicketReset, hash, s.now().UnixMilli()); err != nil {
		return err
	}
	for _, kind := range []store.TicketKind{store.TicketReset, store.TicketBrowser} {
		if err := tx.DeleteTicketsOf(p.No, kind); err != nil {
			return err
		}
	}
	if err := endAgain(tx, p.No); err != nil {
		return err
	}
	if err := s.endAll(ctx, tx, p, leaves); err != nil {
		return err
	}
	return tx.SetPassword(p.No, stored)
}

// endAll ends the sessions, passkeys and personal keys of a person whose password is set with a link, and the
// identities that a session has linked, and writes that to the logs of the person's accounts. leaves: the person leaves
// the groups of these providers. An identity by which the person came, invited or provisioned, stays: no session has
// chosen it.
func (s *Service) endAll(ctx context.Context, tx *store.Tx, p *store.Person, leaves bool) error {
	now := s.now().UnixMilli()
	passkeys, err := tx.PasskeysOf(p.No)
	if err != nil {
		return err
	}
	keys, err := tx.PersonalKeys(p.No, now)
	if err != nil {
		return err
	}
	providers, err := s.forgetLinked(ctx, tx, p, leaves)
	if err != nil {
		return err
	}
	changes := audit.Changes{}.Set("passkeys", int64(len(passkeys)), nil).Set("personal_keys", keys, nil).Set("identities", providers, nil)
	accounts, err := accountsOf(&tx.Reader, p.No)
	if err != nil {
		return err
	}
	for _, account := range accounts[:min(len(accounts), maxAccounts)] {
		if err := s.recordLink(ctx, tx, account, p, audit.PasswordReset, changes); err != nil {
			return err
		}
	}
	return errors.Join(giveWay(tx, p.No, now), tx.DeletePasskeys(p.No))
}

// forgetLinked deletes the identities of a person that a session has linked, and returns the names of their providers.
func (s *Service) forgetLinked(ctx context.Context, tx *store.Tx, p *store.Person, leaves bool) (providers []string, err error) {
	identities, err := tx.IdentitiesOf(p.No)
	if err != nil {
		return nil, err
	}
	for _, i := range identities {
		if !i.BySession || slices.Contains(providers, i.Provider) {
			continue
		}
		providers = append(providers, i.Provider)
		if err := s.forgetProvider(ctx, tx, i.Provider, p, leaves); err != nil {
			return nil, err
		}
	}
	return providers, nil
}
