package signin

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/mail"
	"github.com/chargehand/chargehand/internal/mail/letter"
	"github.com/chargehand/chargehand/internal/person"
	"github.com/chargehand/chargehand/internal/signin/delay"
	"github.com/chargehand/chargehand/internal/signin/token"
	"github.com/chargehand/chargehand/internal/store"
)

const (
	// askedLife is how long a link lasts that was asked for.
	askedLife = time.Hour
	// askWindow is the time in which AsksOfPerson mails may be asked for to one e-mail, and AsksOfAddress from one
	// address.
	askWindow     = time.Hour
	AsksOfPerson  = 3
	AsksOfAddress = 10
)

// AskReset has a mail sent to a person who has forgotten the password, with a link to set another one. It takes the
// same path for every e-mail: whether a person has it is looked up when the mail is sent.
// Codes: invalid_body, rate_limited, unavailable.
func (s *Service) AskReset(ctx context.Context, email string, from Client) error {
	if !s.mail.On() || !s.passwords {
		return badField("email", "This server sends no links to set a password. Ask an admin for one.")
	}
	shown, key, complaint := person.Email(email)
	if complaint != "" {
		return badField("email", "The e-mail "+complaint)
	}
	err := s.update(ctx, func(tx *store.Tx) error {
		err := errors.Join(
			s.countAsk(tx, sha256.Sum256([]byte("reset of "+key)), AsksOfPerson),
			s.countAsk(tx, sha256.Sum256([]byte("reset from "+delay.Site(from.Address))), AsksOfAddress),
		)
		if err != nil {
			return err
		}
		written, err := s.mail.Put(tx, mail.Mail{To: shown, Letter: letter.Letter{Kind: letter.AskedReset}, Until: s.now().Add(askedLife)})
		if err == nil && !written {
			err = &chargehand.Error{Code: chargehand.CodeUnavailable, RetryAfter: 60, Detail: "Too many mails wait to be sent. Try again later."}
		}
		return err
	})
	if errors.Is(err, store.ErrConflict) { // another node counted one meanwhile
		return tooManyAsks(time.Second)
	}
	s.mail.Notify()
	return err
}

// countAsk counts an ask, if fewer than most were counted in the window. Codes: rate_limited.
func (s *Service) countAsk(tx *store.Tx, name [sha256.Size]byte, most int64) error {
	d, err := tx.SignInDelayOf(name)
	if err != nil {
		return err
	}
	now, was := s.now(), d.Failures
	if d.UntilMs <= now.UnixMilli() {
		d = store.SignInDelay{UntilMs: now.Add(askWindow).UnixMilli()}
	}
	if d.Failures >= most {
		return tooManyAsks(atMs(d.UntilMs).Sub(now))
	}
	d.Failures, d.UpdatedMs = d.Failures+1, now.UnixMilli()
	return tx.SetSignInDelay(name, was, d)
}

func tooManyAsks(wait time.Duration) error {
	return &chargehand.Error{
		Code: chargehand.CodeRateLimited, RetryAfter: int((wait + time.Second - 1) / time.Second),
		Detail: "A link was asked for too often. The mails that were sent before are valid for an hour each; try again later.",
	}
}

// completeReset finds the person that a mail with a link to set a password goes to, and makes the link. It goes to the
// address of the person, not to the one that was typed. A person without a password signs in otherwise, and gets none.
func (s *Service) completeReset(tx *store.Tx, m *mail.Mail) (bool, error) {
	_, key, complaint := person.Email(m.To)
	if complaint != "" {
		return false, nil
	}
	p, err := tx.PersonByEmail(key)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil || p.DisabledMs != 0 || p.Password == "" {
		return false, err
	}
	account, err := firstAccount(&tx.Reader, p.No)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	text, hash := token.New()
	now := s.now()
	m.Person, m.Account, m.To, m.Until = p.No, account, p.Email, now.Add(askedLife)
	m.Letter.Locale, m.Letter.Name, m.Letter.Until = p.Locale, p.Name, m.Until
	m.Letter.URL = s.mail.BaseURL() + "/password-reset#token=" + text
	// Links that were made before stay: otherwise a stranger who asks could end that of an admin.
	return true, tx.InsertTicket(&store.Ticket{
		Hash: hash[:], Kind: store.TicketReset, Account: account, Person: p.No, CreatedMs: now.UnixMilli(), ExpiresMs: m.Until.UnixMilli(),
	})
}
