package signin

import (
	"errors"
	"time"

	"github.com/chargehand/chargehand/internal/signin/token"
	"github.com/chargehand/chargehand/internal/store"
)

const (
	// BrowserLife is how long a browser is known to a person who has signed in from it.
	BrowserLife = 180 * 24 * time.Hour
	// maxBrowsers is how many browsers are known to a person: the newest ones.
	maxBrowsers = 20
)

// knownBrowser reads when the secret of a browser ends by which it is known to a person; the zero time: it is not.
func knownBrowser(r *store.Reader, no int64, secret string, now time.Time) (time.Time, error) {
	if !token.WellFormed(secret) {
		return time.Time{}, nil
	}
	hash := token.Hash(secret)
	ticket, err := r.FindTicket(store.TicketBrowser, hash[:], now.UnixMilli())
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && (ticket.Person != no || no == 0):
		return time.Time{}, nil
	case err != nil:
		return time.Time{}, err
	}
	return atMs(ticket.ExpiresMs), nil
}

// rememberBrowser makes a browser known to a person who has signed in from it, within an Update. It returns a new
// secret for the browser, or nothing where the one that it has counts long enough.
func rememberBrowser(tx *store.Tx, no int64, secret string, now time.Time) (string, error) {
	ends, err := knownBrowser(&tx.Reader, no, secret, now)
	if err != nil || ends.Sub(now) > BrowserLife/2 {
		return "", err
	}
	text, hash := token.New()
	err = tx.InsertTicket(&store.Ticket{
		Hash: hash[:], Kind: store.TicketBrowser, Person: no, CreatedMs: now.UnixMilli(), ExpiresMs: now.Add(BrowserLife).UnixMilli(),
	})
	if err != nil {
		return "", err
	}
	return text, tx.KeepTickets(no, store.TicketBrowser, maxBrowsers)
}
