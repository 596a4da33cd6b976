package service

import (
	"context"
	"errors"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/mail"
	"github.com/chargehand/chargehand/internal/mail/letter"
	"github.com/chargehand/chargehand/internal/store"
)

// warnedBefore are the times before the end of a key at which it is warned of.
var warnedBefore = [3]time.Duration{24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour}

// WarnOfKeys warns of the keys that end soon: with a line of the log, and a mail to the person who made the key. Each
// warning is given once by all servers together, and one whose time was before the key was made is not given at all.
func (s *Service) WarnOfKeys(ctx context.Context) error {
	for {
		var keys []store.Key
		nowMs := s.nowMs()
		within := [3]int64{warnedBefore[0].Milliseconds(), warnedBefore[1].Milliseconds(), warnedBefore[2].Milliseconds()}
		err := s.view(ctx, func(r *store.Reader) (err error) {
			keys, err = r.EndingKeys(nowMs, within, sweepRows)
			return err
		})
		if err != nil {
			return err
		}
		for i := range keys {
			if err := s.warnOfKey(ctx, &keys[i], nowMs); err != nil {
				return err
			}
		}
		if len(keys) < sweepRows {
			s.mail.Notify()
			return nil
		}
	}
}

// warnOfKey gives the last warning of a key that is due, unless another server has.
func (s *Service) warnOfKey(ctx context.Context, key *store.Key, nowMs int64) error {
	before := warnedBefore[2]
	for _, d := range warnedBefore {
		if key.ExpiresMs-nowMs <= d.Milliseconds() {
			before = d
			break
		}
	}
	dueMs := key.ExpiresMs - before.Milliseconds()
	given := dueMs > key.ID.Milli()
	mailed := false
	err := s.update(ctx, func(tx *store.Tx) error {
		err := tx.WarnOfKey(key, dueMs)
		if err != nil || !given {
			return err
		}
		mailed, err = s.mailWarning(tx, key, int(before/(24*time.Hour)))
		return err
	})
	if errors.Is(err, store.ErrConflict) {
		return nil
	}
	if err == nil && given {
		s.log.Warn("an API key ends soon", "key", key.ID.String(), "name", key.Name, "environment", key.Environment.String(),
			"ends", atMs(key.ExpiresMs).Format(time.RFC3339), "mailed", mailed)
	}
	return err
}

// mailWarning writes a mail to the person who made a key, within an Update. false: no person did who may act in the
// account still, or no mail is sent.
func (s *Service) mailWarning(tx *store.Tx, key *store.Key, days int) (bool, error) {
	if !s.mail.On() {
		return false, nil
	}
	m, err := maker(&tx.Reader, key)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil || !m.Counts() {
		return false, err
	}
	account, err := tx.AccountByNo(key.Account)
	if err != nil {
		return false, err
	}
	return s.mail.Put(tx, mail.Mail{
		Account: key.Account, Person: m.Person.No, To: m.Person.Email, Until: atMs(key.ExpiresMs),
		Letter: letter.Letter{
			Kind: letter.KeyEnds, Locale: m.Person.Locale, Name: m.Person.Name, Account: account.Name, Until: atMs(key.ExpiresMs),
			Key: key.Name, LastFour: key.Last4, Environment: key.Environment.String(), Days: days,
		},
	})
}

// maker is the person that a personal key stands for, or who made a key. Errors: store.ErrNotFound.
func maker(r *store.Reader, key *store.Key) (store.Member, error) {
	if key.Person != 0 {
		return r.MemberByNo(key.Account, key.Person)
	}
	id, err := chargehand.ParseID[struct{}](key.Creator)
	if err != nil {
		return store.Member{}, store.ErrNotFound // the command line
	}
	return r.MemberByID(key.Account, chargehand.UserID(id))
}
