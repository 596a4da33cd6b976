package signin

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/person"
	"github.com/chargehand/chargehand/internal/signin/oidc"
	"github.com/chargehand/chargehand/internal/signin/passkey"
	"github.com/chargehand/chargehand/internal/store"
)

// Ceremony is the first half of what a browser does with a passkey.
type Ceremony struct {
	Options json.RawMessage // for navigator.credentials
	Way     string          // for a cookie of the browser
	Ends    time.Time
}

// Passkey is a passkey of a person.
type Passkey struct {
	ID         chargehand.PasskeyID
	Name       string
	CreatedAt  time.Time
	LastUsedAt time.Time // zero: never
}

func shownPasskey(k *store.Passkey) Passkey {
	p := Passkey{ID: k.ID, Name: k.Name, CreatedAt: atMs(k.CreatedMs)}
	if k.LastUsedMs != 0 {
		p.LastUsedAt = atMs(k.LastUsedMs)
	}
	return p
}

// noPasskeys says why passkeys do not work for the client, in sentences; empty: they do.
func (c Client) noPasskeys() string {
	if c.Origin == nil {
		return "Passkeys need the address of the server: set --public-url, or open it as localhost on its own machine."
	}
	return passkey.Usable(c.Origin)
}

// site is where passkeys of the client belong. Codes: state_conflict.
func (c Client) site() (*passkey.Site, error) {
	if reason := c.noPasskeys(); reason != "" {
		return nil, chargehand.NewError(chargehand.CodeStateConflict, reason)
	}
	return passkey.At(c.Origin)
}

const wrongPasskey = "The passkey was not accepted. It may be of another person or server, or the request is older than 5 minutes. Try again."

// refusedPasskey tells the operator why a passkey was refused, and the client that it was.
func (s *Service) refusedPasskey(err error) error {
	if errors.Is(err, passkey.ErrRefused) || errors.Is(err, errWay) || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrConflict) {
		s.log.Debug("a passkey was refused", "error", err)
		return refusedError(wrongPasskey)
	}
	return err
}

func (s *Service) ceremony(kind wayKind, c passkey.Ceremony, session *Session) (Ceremony, error) {
	w := s.newWay(kind, c.Challenge, c.State, passkey.Life)
	if session != nil {
		w.Session = session.ID
	}
	sealed, err := s.seal(w)
	return Ceremony{Options: c.Options, Way: sealed, Ends: atMs(w.EndsMs)}, err
}

// Passkeys lists the passkeys of the person, oldest first.
func (s *Service) Passkeys(ctx context.Context, session *Session) ([]Passkey, error) {
	list := []Passkey{}
	err := s.view(ctx, func(r *store.Reader) error {
		keys, err := r.PasskeysOf(session.Person.No)
		for i := range keys {
			list = append(list, shownPasskey(&keys[i]))
		}
		return err
	})
	return list, err
}

// BeginPasskey begins to make a passkey for the person. Codes: fresh_sign_in_required, state_conflict.
func (s *Service) BeginPasskey(ctx context.Context, session *Session, from Client) (Ceremony, error) {
	site, err := from.site()
	switch {
	case err != nil:
		return Ceremony{}, err
	case session.old:
		return Ceremony{}, noSession()
	case !session.Fresh(s.now()):
		return Ceremony{}, NotFresh()
	}
	var keys []store.Passkey
	err = s.view(ctx, func(r *store.Reader) (err error) {
		keys, err = r.PasskeysOf(session.Person.No)
		return err
	})
	if err != nil {
		return Ceremony{}, err
	}
	if len(keys) >= passkey.MaxPerPerson {
		return Ceremony{}, tooManyPasskeys()
	}
	c, err := site.BeginCreate(*passkeyPerson(&session.Person, keys))
	if err != nil {
		return Ceremony{}, err
	}
	return s.ceremony(wayAddPasskey, c, session)
}

func tooManyPasskeys() error {
	return chargehand.NewError(chargehand.CodeStateConflict,
		"You have "+strconv.Itoa(passkey.MaxPerPerson)+" passkeys, the most that a person can have. Remove one first.")
}

// AddPasskey keeps a passkey that a browser has made after BeginPasskey. name may be empty.
// Codes: fresh_sign_in_required, invalid_credentials, invalid_body, state_conflict.
func (s *Service) AddPasskey(ctx context.Context, session *Session, name, sealed string, answer []byte, from Client) (Passkey, error) {
	site, err := from.site()
	switch {
	case err != nil:
		return Passkey{}, err
	case session.old:
		return Passkey{}, noSession()
	case !session.Fresh(s.now()):
		return Passkey{}, NotFresh()
	}
	if name == "" {
		name = "Passkey"
	}
	name, complaint := person.Name(name)
	if complaint != "" {
		return Passkey{}, badField("name", "name "+complaint)
	}
	w, err := s.open(wayAddPasskey, sealed)
	if err == nil && w.Session != session.ID {
		err = errWay
	}
	if err != nil {
		return Passkey{}, s.refusedPasskey(err)
	}
	made, err := site.FinishCreate(*passkeyPerson(&session.Person, nil), w.State, answer)
	if err != nil {
		return Passkey{}, s.refusedPasskey(err)
	}
	row := store.Passkey{
		ID: newID[chargehand.PasskeyID](), Person: session.Person.No, Credential: made.ID, Data: made.Data, SignCount: made.SignCount,
		Name: name, CreatedMs: s.now().UnixMilli(),
	}
	setsUp := false
	err = s.update(ctx, func(tx *store.Tx) error {
		was, err := setUp(&tx.Reader)
		if err != nil {
			return err
		}
		if err := s.addPasskey(ctx, tx, session, w, row); err != nil || was {
			return err
		}
		setsUp, err = setUp(&tx.Reader)
		return err
	})
	if err != nil {
		return Passkey{}, s.refusedPasskey(err)
	}
	if setsUp {
		s.setUp()
	}
	return shownPasskey(&row), nil
}

// addPasskey keeps a passkey, within an Update. From the first one on the person can sign in.
func (s *Service) addPasskey(ctx context.Context, tx *store.Tx, session *Session, w way, row store.Passkey) error {
	if err := s.lockPerson(tx, session); err != nil {
		return err
	}
	keys, err := tx.PasskeysOf(row.Person)
	if err != nil {
		return err
	}
	if len(keys) >= passkey.MaxPerPerson {
		return tooManyPasskeys()
	}
	if err := w.use(tx, s.now()); err != nil {
		return err
	}
	if err := tx.InsertPasskey(&row); err != nil {
		return err
	}
	if err := endAgain(tx, row.Person); err != nil {
		return err
	}
	return s.recordPasskey(ctx, tx, session, audit.PasskeyAdded, &row, nil)
}

// lockPerson makes the caller the only one that changes how the person of a session signs in. The session must not have
// ended meanwhile. Codes: invalid_credentials.
func (s *Service) lockPerson(tx *store.Tx, session *Session) error {
	if _, err := tx.PersonForUpdate(session.Person.No); err != nil {
		return err
	}
	row, err := tx.SessionByHash(session.row.Hash)
	if errors.Is(err, store.ErrNotFound) || err == nil && row.Ended(s.now().UnixMilli()) {
		return noSession()
	}
	return err
}

// RemovePasskey removes a passkey of the person, unless nothing is left to sign in with.
// Codes: fresh_sign_in_required, passkey_not_found, state_conflict.
func (s *Service) RemovePasskey(ctx context.Context, session *Session, id chargehand.PasskeyID) error {
	if session.old {
		return noSession()
	}
	if !session.Fresh(s.now()) {
		return NotFresh()
	}
	return s.update(ctx, func(tx *store.Tx) error {
		if err := s.lockPerson(tx, session); err != nil {
			return err
		}
		keys, err := tx.PasskeysOf(session.Person.No)
		if err != nil {
			return err
		}
		for i := range keys {
			if keys[i].ID != id {
				continue
			}
			if others, err := s.signsInWithout(&tx.Reader, session.Person.No, len(keys)-1); err != nil || !others {
				return errors.Join(err, lastWay())
			}
			if err := tx.DeletePasskey(session.Person.No, id); err != nil {
				return err
			}
			return s.recordPasskey(ctx, tx, session, audit.PasskeyRemoved, &keys[i], nil)
		}
		return passkeyNotFound()
	})
}

func passkeyNotFound() error {
	return chargehand.NewError(chargehand.CodePasskeyNotFound, "You have no such passkey.")
}

// RenamePasskey gives a passkey of the person another name, by which the person tells it from the others: it decides
// nothing, so that it needs no fresh sign-in. Codes: invalid_credentials, passkey_not_found, invalid_body.
func (s *Service) RenamePasskey(ctx context.Context, session *Session, id chargehand.PasskeyID, name string) (Passkey, error) {
	if session.old {
		return Passkey{}, noSession()
	}
	name, complaint := person.Name(name)
	if complaint != "" {
		return Passkey{}, badField("name", "name "+complaint)
	}
	var renamed Passkey
	err := s.update(ctx, func(tx *store.Tx) error {
		if err := s.lockPerson(tx, session); err != nil {
			return err
		}
		keys, err := tx.PasskeysOf(session.Person.No)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(keys, func(k store.Passkey) bool { return k.ID == id })
		if i < 0 {
			return passkeyNotFound()
		}
		k := &keys[i]
		before := k.Name
		k.Name = name
		renamed = shownPasskey(k)
		if name == before {
			return nil
		}
		if err := tx.RenamePasskey(session.Person.No, id, name); err != nil {
			return err
		}
		return s.recordPasskey(ctx, tx, session, audit.PasskeyRenamed, k, audit.Changes{}.Set("name", before, name))
	})
	return renamed, err
}

func lastWay() error {
	return chargehand.NewError(chargehand.CodeStateConflict, "This passkey is your only way to sign in. Add another one, or set a password, first.")
}

// signsInWithout reports whether a person with that many passkeys can sign in: with one of them, with a password where
// there are any, or by a provider that the server has still.
func (s *Service) signsInWithout(r *store.Reader, no int64, passkeys int) (bool, error) {
	p, err := r.PersonByNo(no)
	if err != nil {
		return false, err
	}
	identities, err := r.IdentitiesOf(no)
	return err == nil && s.signsInWith(&p, passkeys, identities), err
}

// signsInWith is signsInWithout for a person with these identities.
func (s *Service) signsInWith(p *store.Person, passkeys int, identities []store.Identity) bool {
	if passkeys > 0 || s.passwords && p.Password != "" {
		return true
	}
	return slices.ContainsFunc(identities, func(i store.Identity) bool {
		return slices.ContainsFunc(s.providers, func(p *oidc.Provider) bool { return p.Issuer == i.Issuer })
	})
}

// recordPasskey writes to the audit log of the account of the session.
func (s *Service) recordPasskey(ctx context.Context, tx *store.Tx, session *Session, action audit.Action, k *store.Passkey, changes audit.Changes) error {
	p := &session.Person
	return audit.Write(ctx, tx, s.now(), audit.Entry{
		Account: session.Account.No, Actor: audit.Actor{Kind: audit.User, ID: p.ID.String(), Name: p.Name}, Action: action,
		Target: audit.Target{Kind: "passkey", ID: k.ID.String(), Name: k.Name}, Changes: changes,
	})
}
