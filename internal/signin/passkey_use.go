package signin

import (
	"context"
	"errors"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/signin/passkey"
	"github.com/chargehand/chargehand/internal/store"
)

// BeginPasskeySignIn begins a sign-in, or a confirmation of one, with a passkey. Codes: state_conflict.
func (s *Service) BeginPasskeySignIn(from Client) (Ceremony, error) {
	site, err := from.site()
	if err != nil {
		return Ceremony{}, err
	}
	c, err := site.BeginSignIn()
	if err != nil {
		return Ceremony{}, err
	}
	return s.ceremony(wayUsePasskey, c, nil)
}

// usedPasskey is a passkey whose answer was right, before that is on record.
type usedPasskey struct {
	way way
	row store.Passkey
	was int64 // its counter before
}

// usePasskey checks the answer of a browser to BeginPasskeySignIn. Codes: invalid_credentials, state_conflict.
func (s *Service) usePasskey(ctx context.Context, sealed string, answer []byte, from Client) (*usedPasskey, error) {
	site, err := from.site()
	if err != nil {
		return nil, err
	}
	used := &usedPasskey{}
	if used.way, err = s.open(wayUsePasskey, sealed); err != nil {
		return nil, s.refusedPasskey(err)
	}
	var failed error // of the storage
	found, err := site.FinishSignIn(used.way.State, answer, func(id, credential []byte) *passkey.Person {
		var p store.Person
		failed = s.view(ctx, func(r *store.Reader) error {
			if used.row, err = r.PasskeyByCredential(credential); err != nil {
				return err
			}
			p, err = r.PersonByNo(used.row.Person)
			return err
		})
		if failed != nil || string(p.ID[:]) != string(id) {
			return nil
		}
		return passkeyPerson(&p, []store.Passkey{used.row})
	})
	if failed != nil {
		err = failed
	}
	if err != nil {
		return nil, s.failedPasskey(ctx, used, err)
	}
	used.was = used.row.SignCount
	used.row.Data, used.row.SignCount, used.row.LastUsedMs = found.Data, found.SignCount, s.now().UnixMilli()
	return used, nil
}

// failedPasskey is refusedPasskey for an answer to what this server has asked: a refusal is on record. The person is
// the one whose passkey it names.
func (s *Service) failedPasskey(ctx context.Context, used *usedPasskey, err error) error {
	err = s.refusedPasskey(err)
	var shown *chargehand.Error
	if !errors.As(err, &shown) || shown.Code != chargehand.CodeInvalidCredentials {
		return err
	}
	var p store.Person
	if used.row.Person != 0 {
		failed := s.view(ctx, func(r *store.Reader) (err error) {
			p, err = r.PersonByNo(used.row.Person)
			return err
		})
		if failed != nil {
			return failed
		}
	}
	return errors.Join(err, s.recordFailure(ctx, &p))
}

// write puts the use on record, once. Errors: errWay, store.ErrConflict.
func (u *usedPasskey) write(tx *store.Tx, now time.Time) error {
	if err := u.way.use(tx, now); err != nil {
		return err
	}
	return tx.UsePasskey(&u.row, u.was)
}

func passkeyPerson(p *store.Person, keys []store.Passkey) *passkey.Person {
	who := &passkey.Person{ID: p.ID[:], Name: p.Email, DisplayName: p.Name}
	for i := range keys {
		who.Credentials = append(who.Credentials, keys[i].Data)
	}
	return who
}

// PasskeySignIn signs a person in with the answer to BeginPasskeySignIn. No delay after failed tries holds it up:
// passkeys cannot be guessed. Codes: invalid_credentials, state_conflict.
func (s *Service) PasskeySignIn(ctx context.Context, sealed string, answer []byte, from Client) (*Session, error) {
	used, err := s.usePasskey(ctx, sealed, answer, from)
	if err != nil {
		return nil, err
	}
	session, err := s.enter(ctx, used.row.Person, 0, byPasskey, from, func(tx *store.Tx, _ store.Person) error {
		return used.write(tx, s.now())
	})
	if err != nil {
		return nil, s.failedPasskey(ctx, used, err)
	}
	return session, nil
}

// VerifyPasskey makes a session fresh with the answer to BeginPasskeySignIn. Codes: invalid_credentials,
// state_conflict.
func (s *Service) VerifyPasskey(ctx context.Context, session *Session, sealed string, answer []byte, from Client) (*Session, error) {
	if session.old {
		return nil, noSession()
	}
	used, err := s.usePasskey(ctx, sealed, answer, from)
	if err != nil {
		return nil, err
	}
	if used.row.Person != session.Person.No {
		return nil, errors.Join(refusedError("The passkey belongs to another person than the session."), s.recordFailure(ctx, &session.Person))
	}
	if err := s.update(ctx, func(tx *store.Tx) error { return used.write(tx, s.now()) }); err != nil {
		return nil, s.failedPasskey(ctx, used, err)
	}
	return s.refresh(ctx, session)
}
