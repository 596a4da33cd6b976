package signin

import (
	"context"
	"crypto/subtle"
	"errors"
	"net/url"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/person"
	"github.com/chargehand/chargehand/internal/signin/oidc"
	"github.com/chargehand/chargehand/internal/signin/token"
	"github.com/chargehand/chargehand/internal/store"
)

// byProvider is how a session says which provider has signed its person in.
func byProvider(p *oidc.Provider) string { return "oidc:" + p.Name }

// Departure is where a browser goes to sign in at an identity provider.
type Departure struct {
	Address string
	Way     string // for a cookie of the browser
	Ends    time.Time
}

func (s *Service) provider(name string) (*oidc.Provider, error) {
	for _, p := range s.providers {
		if p.Name == name {
			return p, nil
		}
	}
	return nil, chargehand.NewError(chargehand.CodeProviderNotFound, "This server has no identity provider of that name. GET /auth/methods lists them.")
}

// providerError is what the client may know of an error of a provider.
func (s *Service) providerError(p *oidc.Provider, err error) error {
	switch {
	case errors.Is(err, oidc.ErrUnreachable):
		return errors.Join(&chargehand.Error{
			Code: chargehand.CodeUnavailable, RetryAfter: 5,
			Detail: "The identity provider " + p.Title + " cannot be used at the moment. The log of the server says why. Try again, or sign in another way.",
		}, err)
	case errors.Is(err, oidc.ErrDenied):
		s.log.Info("an identity provider did not sign in", "provider", p.Name, "error", err)
		return refusedError("The identity provider " + p.Title + " did not sign you in.")
	case errors.Is(err, oidc.ErrStale):
		return chargehand.NewError(chargehand.CodeFreshSignInRequired, "The identity provider "+p.Title+" did not ask you to sign in again.")
	case errors.Is(err, oidc.ErrRefused), errors.Is(err, errWay):
		s.log.Info("the answer of an identity provider was refused", "provider", p.Name, "error", err)
		return refusedError("The sign-in was begun in another browser or under another address, more than 10 minutes ago, or has come back before. Begin again.")
	}
	return err
}

// Journey is what a browser goes to an identity provider for.
type Journey struct {
	// Session is the one that is to be made fresh, for which the provider asks the person again; nil: a person signs in.
	Session *Session
	// Link: the person of the session is to get the identity, and can sign in by it from then on.
	Link bool
	Page string // of this server, where the browser goes in the end
}

// BeginProvider begins a sign-in by an identity provider, which sends the browser back to redirect. A person gets an
// identity in a fresh session only. The caller makes sure that the person has asked for it, and that no link of
// another page has: the identity would be that of another person who is signed in at the provider.
// Codes: provider_not_found, unavailable, invalid_credentials, fresh_sign_in_required.
func (s *Service) BeginProvider(ctx context.Context, name, redirect string, j Journey) (Departure, error) {
	p, err := s.provider(name)
	switch {
	case err != nil:
		return Departure{}, err
	case j.Link && (j.Session == nil || j.Session.old):
		return Departure{}, noSession()
	case j.Link && !j.Session.Fresh(s.now()):
		return Departure{}, NotFresh()
	}
	begun, err := p.Begin(ctx, redirect, j.Session != nil)
	if err != nil {
		return Departure{}, s.providerError(p, err)
	}
	w := s.newWay(wayProvider, begun.State, begun.Data, oidc.Life)
	w.Link, w.Page = j.Link, j.Page
	if j.Session != nil {
		w.Session = j.Session.ID
	}
	sealed, err := s.seal(w)
	return Departure{Address: begun.Address, Way: sealed, Ends: atMs(w.EndsMs)}, err
}

// Arrival is how a browser comes back from an identity provider.
type Arrival struct {
	Session *Session
	Page    string // Journey.Page
}

// FinishProvider does what the browser went to the provider for, with the query that it brings back from there. It must
// have the cookie of BeginProvider, so that no person is made to sign in as another one.
// Codes: provider_not_found, invalid_credentials, not_invited, fresh_sign_in_required, state_conflict, last_admin,
// unavailable.
func (s *Service) FinishProvider(ctx context.Context, name, sealed string, query url.Values, browser *Session, from Client) (Arrival, error) {
	p, err := s.provider(name)
	if err != nil {
		return Arrival{}, err
	}
	w, err := s.open(wayProvider, sealed)
	if state := query["state"]; err == nil && (len(state) != 1 || subtle.ConstantTimeCompare([]byte(state[0]), []byte(w.Secret)) != 1) {
		err = errWay
	}
	if err == nil {
		err = s.unused(ctx, w)
	}
	if err != nil {
		return Arrival{}, s.providerError(p, err)
	}
	var session *Session
	who, err := p.Finish(ctx, w.State, query)
	switch {
	case err != nil:
	case w.Session.IsZero():
		session, err = s.enterBy(ctx, p, w, who, from)
	case browser == nil || browser.ID != w.Session || browser.old:
		err = refusedError("The session that began this has ended, or is not the one of this browser.")
	case w.Link:
		session, err = browser, s.linkBy(ctx, p, w, who, browser)
	default:
		session, err = s.verifyBy(ctx, w, who, browser)
	}
	if err = s.providerError(p, err); err != nil {
		return Arrival{}, errors.Join(err, s.recordArrival(ctx, who, browser, w, err))
	}
	return Arrival{session, w.Page}, nil
}

// recordArrival puts on record that a sign-in by a provider was refused: of the person of the session, else of the one
// whose identity it is, else of none. What the provider or the storage could not do is no refusal.
func (s *Service) recordArrival(ctx context.Context, who oidc.Identity, browser *Session, w way, err error) error {
	var shown *chargehand.Error
	if !errors.As(err, &shown) || shown.Code != chargehand.CodeInvalidCredentials && shown.Code != chargehand.CodeNotInvited && shown.Code != chargehand.CodeFreshSignInRequired {
		return nil
	}
	var p store.Person
	if browser != nil && browser.ID == w.Session {
		p = browser.Person
	} else if who.Subject != "" {
		err := s.view(ctx, func(r *store.Reader) error {
			identity, err := r.IdentityOf(who.Issuer, who.Subject)
			if err == nil {
				p, err = r.PersonByNo(identity.Person)
			}
			return err
		})
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return s.recordFailure(ctx, &p)
}

// unused refuses a way that has led to its end before, so that the provider is not asked again for nothing.
func (s *Service) unused(ctx context.Context, w way) error {
	hash := token.Hash(w.Secret)
	err := s.view(ctx, func(r *store.Reader) error {
		_, err := r.FindTicket(store.TicketOIDC, hash[:], s.now().UnixMilli())
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return errors.Join(err, errWay)
}

// verifyBy makes the session fresh that has begun the way, if the identity is its person's.
func (s *Service) verifyBy(ctx context.Context, w way, who oidc.Identity, browser *Session) (*Session, error) {
	err := s.update(ctx, func(tx *store.Tx) error {
		identity, err := tx.IdentityOf(who.Issuer, who.Subject)
		if errors.Is(err, store.ErrNotFound) || err == nil && identity.Person != browser.Person.No {
			return refusedError("At the identity provider you are another person than the one of the session.")
		}
		if err != nil {
			return err
		}
		return w.use(tx, s.now())
	})
	if err != nil {
		return nil, err
	}
	return s.refresh(ctx, browser)
}

// enterBy signs the person of an identity in.
func (s *Service) enterBy(ctx context.Context, p *oidc.Provider, w way, who oidc.Identity, from Client) (*Session, error) {
	var session *Session
	var setsUp bool
	try := func(tx *store.Tx) error {
		if err := w.use(tx, s.now()); err != nil {
			return err
		}
		was, err := setUp(&tx.Reader)
		if err != nil {
			return err
		}
		no, err := s.personOf(ctx, tx, p, who)
		if err != nil {
			return err
		}
		found, err := tx.PersonForUpdate(no)
		if err != nil {
			return err
		}
		if err := s.followGroups(ctx, tx, p, who, &found); err != nil {
			return err
		}
		account, err := firstAccount(&tx.Reader, no)
		if errors.Is(err, store.ErrNotFound) { // the person, or each membership, is disabled
			return notInvited(p, who)
		}
		if err != nil {
			return err
		}
		if session, err = s.insertSession(ctx, tx, found, account, byProvider(p), from); err != nil || was {
			return err
		}
		setsUp, err = setUp(&tx.Reader)
		return err
	}
	err := s.update(ctx, try)
	if errors.Is(err, store.ErrConflict) { // the same person, or group, came in at the same time
		err = s.update(ctx, try)
	}
	s.changed()
	if err != nil {
		return nil, err
	}
	if setsUp {
		s.setUp()
	}
	return session, nil
}

// notInvited is the error for a person whom the provider knows and this installation does not.
func notInvited(p *oidc.Provider, who oidc.Identity) error {
	detail := "The identity provider " + p.Title + " knows you, but you are not invited here. Ask an admin to invite the e-mail that the provider has of you."
	switch {
	case who.Email == "":
		detail = "The identity provider " + p.Title + " does not tell your e-mail, so that no invitation can be found. Ask its administrator to send the claim email."
	case !who.EmailVerified:
		detail = "The identity provider " + p.Title + " does not say that it has checked your e-mail, so that no invitation can be found by it. " +
			"Ask its administrator to send the claim email_verified."
	}
	return chargehand.NewError(chargehand.CodeNotInvited, detail)
}

// personOf finds the person of an identity, or makes an invited or admitted person the one of it.
// Codes: not_invited. Errors: store.ErrConflict.
func (s *Service) personOf(ctx context.Context, tx *store.Tx, p *oidc.Provider, who oidc.Identity) (int64, error) {
	identity, err := tx.IdentityOf(who.Issuer, who.Subject)
	if err == nil {
		found, err := tx.PersonForUpdate(identity.Person)
		if err != nil {
			return 0, err
		}
		return found.No, s.becomeMember(ctx, tx, p, who, &found, false)
	}
	if !errors.Is(err, store.ErrNotFound) {
		return 0, err
	}
	shown, key, complaint := person.Email(who.Email)
	if !who.EmailVerified || complaint != "" {
		return 0, notInvited(p, who)
	}
	found, err := tx.PersonByEmail(key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		if found, err = s.admitted(tx, p, who, shown, key); err != nil {
			return 0, err
		}
	case err != nil:
		return 0, err
	default:
		if found, err = tx.PersonForUpdate(found.No); err != nil {
			return 0, err
		}
		if can, err := hasCredential(&tx.Reader, found); err != nil || can {
			return 0, errors.Join(err, chargehand.NewError(chargehand.CodeNotInvited,
				"Your e-mail belongs to a person who signs in another way here, and the identity provider "+p.Title+" cannot take that over. Sign in that way."))
		}
	}
	if err := s.becomeMember(ctx, tx, p, who, &found, true); err != nil {
		return 0, err
	}
	return found.No, s.link(ctx, tx, p, who, &found)
}

// admitted makes a person whom this installation has not known before, if a rule admits that. Codes: not_invited.
func (s *Service) admitted(tx *store.Tx, p *oidc.Provider, who oidc.Identity, email, key string) (store.Person, error) {
	if !p.Provision.Admits(who) {
		return store.Person{}, notInvited(p, who)
	}
	name, complaint := person.Name(who.Name)
	if complaint != "" {
		name = email
	}
	found := store.Person{ID: newID[chargehand.UserID](), Email: email, EmailKey: key, Name: name, NameKey: person.Key(name), CreatedMs: s.now().UnixMilli()}
	return found, tx.InsertPerson(&found)
}

// link makes a person the one of an identity who had nothing to sign in with.
func (s *Service) link(ctx context.Context, tx *store.Tx, p *oidc.Provider, who oidc.Identity, found *store.Person) error {
	// Links that were made before would let others set a password for the person.
	for _, kind := range []store.TicketKind{store.TicketInvitation, store.TicketReset} {
		if err := tx.DeleteTicketsOf(found.No, kind); err != nil {
			return err
		}
	}
	if err := giveWay(tx, found.No, s.now().UnixMilli()); err != nil {
		return err
	}
	account, err := firstAccount(&tx.Reader, found.No)
	if err != nil {
		return err
	}
	return s.addIdentity(ctx, tx, p, who, found, account, false)
}

// addIdentity makes a person the one of an identity: from now on the person can sign in by it. bySession: a session of
// the person asks for it.
func (s *Service) addIdentity(ctx context.Context, tx *store.Tx, p *oidc.Provider, who oidc.Identity, found *store.Person, account int64, bySession bool) error {
	err := tx.InsertIdentity(&store.Identity{
		Issuer: who.Issuer, Subject: who.Subject, Person: found.No, Provider: p.Name, CreatedMs: s.now().UnixMilli(), BySession: bySession,
	})
	if err == nil {
		err = endAgain(tx, found.No)
	}
	if err == nil {
		err = s.record(ctx, tx, account, found, audit.IdentityLinked, audit.Changes{}.Set("provider", nil, p.Name))
	}
	return err
}

// becomeMember makes a person an active member where the person is invited, and where a rule admits the person.
// Someone who is an active member already, and no new person of the identity, accepts invitations by their own links.
// Codes: not_invited.
func (s *Service) becomeMember(ctx context.Context, tx *store.Tx, p *oidc.Provider, who oidc.Identity, found *store.Person, first bool) error {
	members, err := tx.MembershipsOf(found.No)
	if err != nil {
		return err
	}
	active := false
	for i := range members {
		active = active || members[i].Status == store.Active
	}
	if active && !first {
		return nil
	}
	for i := range members {
		if members[i].Status != store.Invited {
			continue
		}
		if err := tx.SetMemberStatus(members[i].No, store.Invited, store.Active); err != nil {
			return err
		}
		if err := tx.DeleteTicketsIn(members[i].Account, found.No, store.TicketInvitation); err != nil {
			return err
		}
		if err := s.record(ctx, tx, members[i].Account, found, audit.UserJoined, nil); err != nil {
			return err
		}
		active = true
	}
	switch {
	case active:
		return nil
	case len(members) > 0 || !p.Provision.Admits(who): // a disabled member stays so
		return notInvited(p, who)
	}
	account, err := s.firstOf(tx)
	if err == nil {
		err = s.room(&tx.Reader, account)
	}
	if err != nil {
		return err
	}
	found.NameKey = person.Key(found.Name)
	if err := tx.InsertMember(&store.Member{Account: account.No, Person: *found, Status: store.Active, CreatedMs: s.now().UnixMilli()}); err != nil {
		return err
	}
	return s.record(ctx, tx, account.No, found, audit.UserProvisioned, audit.Changes{}.Set("provider", nil, p.Name))
}
