package signin

import (
	"context"
	"errors"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/signin/oidc"
	"github.com/chargehand/chargehand/internal/store"
)

// Identity is who a person is at an identity provider, as the person may see it.
type Identity struct {
	Provider  string // its name
	Title     string // empty: the server has it no more
	CreatedAt time.Time
}

// Identities lists by which identity providers the person can sign in.
func (s *Service) Identities(ctx context.Context, session *Session) ([]Identity, error) {
	list := []Identity{}
	err := s.view(ctx, func(r *store.Reader) error {
		rows, err := r.IdentitiesOf(session.Person.No)
		for i := range rows {
			one := Identity{Provider: rows[i].Provider, CreatedAt: atMs(rows[i].CreatedMs)}
			if p, err := s.provider(one.Provider); err == nil {
				one.Title = p.Title
			}
			list = append(list, one)
		}
		return err
	})
	return list, err
}

// linkBy gives the person of a session the identity with which a browser came back. The e-mail says nothing here: the
// person has proven both sides within minutes. Codes: state_conflict, invalid_credentials.
func (s *Service) linkBy(ctx context.Context, p *oidc.Provider, w way, who oidc.Identity, session *Session) error {
	setsUp := false
	err := s.update(ctx, func(tx *store.Tx) error {
		was, err := setUp(&tx.Reader)
		if err == nil {
			err = s.lockPerson(tx, session)
		}
		if err == nil {
			err = w.use(tx, s.now())
		}
		if err == nil {
			err = s.linkOnce(ctx, tx, p, who, session)
		}
		if err != nil || was {
			return err
		}
		setsUp, err = setUp(&tx.Reader)
		return err
	})
	if errors.Is(err, store.ErrConflict) { // another request has linked it at the same time
		err = identityTaken(p)
	}
	if err == nil && setsUp {
		s.setUp()
	}
	return err
}

// linkOnce adds an identity, unless the person has it. A person has one of each provider.
func (s *Service) linkOnce(ctx context.Context, tx *store.Tx, p *oidc.Provider, who oidc.Identity, session *Session) error {
	known, err := tx.IdentityOf(who.Issuer, who.Subject)
	switch {
	case err == nil && known.Person == session.Person.No:
		return nil
	case err == nil:
		return identityTaken(p)
	case !errors.Is(err, store.ErrNotFound):
		return err
	}
	own, err := tx.IdentitiesOf(session.Person.No)
	if err != nil {
		return err
	}
	for _, i := range own {
		if i.Provider == p.Name || i.Issuer == who.Issuer {
			return chargehand.NewError(chargehand.CodeStateConflict, "You sign in as another person of the identity provider "+p.Title+
				" already. Remove that first, with DELETE /me/identities/"+i.Provider+".")
		}
	}
	return s.addIdentity(ctx, tx, p, who, &session.Person, session.Account.No, true)
}

func identityTaken(p *oidc.Provider) error {
	return chargehand.NewError(chargehand.CodeStateConflict, "Another user signs in as this person of the identity provider "+p.Title+".")
}

// RemoveIdentity makes the person sign in by an identity provider no more, and takes the person out of its groups,
// because no sign-in by it will do so. The only way to sign in is not removed.
// Codes: fresh_sign_in_required, provider_not_found, state_conflict, last_admin.
func (s *Service) RemoveIdentity(ctx context.Context, session *Session, provider string) error {
	if session.old {
		return noSession()
	}
	if !session.Fresh(s.now()) {
		return NotFresh()
	}
	err := s.update(ctx, func(tx *store.Tx) error {
		if err := s.lockPerson(tx, session); err != nil {
			return err
		}
		own, err := tx.IdentitiesOf(session.Person.No)
		if err != nil {
			return err
		}
		var left []store.Identity
		for _, i := range own {
			if i.Provider != provider {
				left = append(left, i)
			}
		}
		if len(left) == len(own) {
			return chargehand.NewError(chargehand.CodeProviderNotFound, "You do not sign in by an identity provider of that name.")
		}
		passkeys, err := tx.PasskeysOf(session.Person.No)
		if err != nil {
			return err
		}
		p, err := tx.PersonByNo(session.Person.No)
		if err != nil {
			return err
		}
		if !s.signsInWith(&p, len(passkeys), left) {
			return chargehand.NewError(chargehand.CodeStateConflict, "This identity provider is your only way to sign in. Add a passkey, or set a password, first.")
		}
		if err := s.forgetProvider(ctx, tx, provider, &p, true); err != nil {
			return err
		}
		return s.record(ctx, tx, session.Account.No, &p, audit.IdentityRemoved, audit.Changes{}.Set("provider", provider, nil))
	})
	s.changed()
	return err
}

// forgetProvider deletes what a person is at a provider. leaves: the person leaves its groups too. Codes: last_admin.
func (s *Service) forgetProvider(ctx context.Context, tx *store.Tx, provider string, p *store.Person, leaves bool) error {
	err := tx.DeleteIdentities(p.No, provider)
	if err != nil || !leaves {
		return err
	}
	gone := &oidc.Provider{Setting: oidc.Setting{Name: provider, Title: provider}}
	return s.followGroups(ctx, tx, gone, oidc.Identity{}, p)
}
