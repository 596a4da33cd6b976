package mail

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/chargehand/chargehand/internal/mail/letter"
	"github.com/chargehand/chargehand/internal/mail/smtp"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
)

const (
	// MaxWaiting bounds the mails that are to be sent. Those that strangers ask for take half of them at most.
	MaxWaiting = 10_000
	// maxContent bounds what a mail says.
	maxContent = 16 << 10
	// Keep is how long the row of a mail is kept after the mail has expired.
	Keep = 7 * 24 * time.Hour
)

// Sender hands a mail to a mail server, and calls Ready of it on the way. *smtp.Server is one; its errors are
// *smtp.Error.
type Sender interface {
	Send(ctx context.Context, m *smtp.Message) error
}

// Config configures an Outbox. Store, Sealer and Sender are required.
type Config struct {
	Store  *store.Store
	Sealer *secret.Sealer
	Sender Sender
	// BaseURL is what the addresses in mails begin with; without a slash at the end.
	BaseURL string
	Every   time.Duration    // between two looks for mails that are due; default 2 s
	Log     *slog.Logger     // default: discards
	Now     func() time.Time // default: time.Now
}

// Outbox keeps mails until they are sent. It is safe for concurrent use.
type Outbox struct {
	config    Config
	completes map[letter.Kind]Complete
	most      int // MaxWaiting, less in tests
	wake      chan struct{}
	taking    chan struct{} // full while the mail server takes a mail, and until that is noted
	permits   permits

	sent, failures, givenUp, refused atomic.Int64
	failing                          atomic.Bool
	pause                            pause
}

// Mail is a mail to one person.
type Mail struct {
	Account int64  // 0: none
	Person  int64  // 0: to be completed before it is sent (Outbox.Complete)
	To      string // address
	Letter  letter.Letter
	Until   time.Time // it is of no use afterwards
}

// Complete finds out, when a mail is about to be sent, to whom it goes and what it says. It runs in the transaction in
// which that is stored, perhaps more than once. false: there is no person to send it to.
type Complete func(tx *store.Tx, m *Mail) (bool, error)

// New returns an Outbox. It starts nothing; see Run.
func New(c Config) *Outbox {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Every == 0 {
		c.Every = 2 * time.Second
	}
	return &Outbox{
		config: c, completes: map[letter.Kind]Complete{}, most: MaxWaiting, wake: make(chan struct{}, 1), taking: make(chan struct{}, 1),
		permits: newPermits(),
	}
}

// Completes has mails of a kind completed before they are sent. It is called before Run.
func (o *Outbox) Completes(kind letter.Kind, by Complete) {
	if o != nil {
		o.completes[kind] = by
	}
}

// On reports whether mails are sent.
func (o *Outbox) On() bool { return o != nil }

// BaseURL is what the addresses in mails begin with.
func (o *Outbox) BaseURL() string { return o.config.BaseURL }

// sealed is what is stored of a mail beside its row.
type sealed struct {
	To     string        `json:"to,omitempty"`
	Letter letter.Letter `json:"letter"`
}

// Put writes a mail, within the Update of the change that it tells of. false: there is no mail server, or the outbox is
// full, which is logged and counted. Call Notify when the Update has succeeded.
func (o *Outbox) Put(tx *store.Tx, m Mail) (bool, error) {
	if o == nil {
		return false, nil
	}
	most := o.most
	if m.Person == 0 {
		most /= 2
	}
	waiting, err := tx.CountMail(most)
	if err != nil {
		return false, err
	}
	if waiting >= int64(most) {
		o.refused.Add(1)
		o.config.Log.Warn("a mail is not sent, because too many wait", "kind", string(m.Letter.Kind), "waiting", waiting)
		return false, nil
	}
	nowMs := o.config.Now().UnixMilli()
	row := store.Mail{
		ID: uuid.Must(uuid.NewV7()), Account: m.Account, Person: m.Person, Kind: string(m.Letter.Kind), DueMs: nowMs, CreatedMs: nowMs,
		ExpiresMs: m.Until.UnixMilli(),
	}
	if row.Content, err = o.seal(row.ID, m); err != nil {
		return false, err
	}
	return true, tx.InsertMail(&row)
}

// Notify has mails that were put looked for at once.
func (o *Outbox) Notify() {
	if o == nil {
		return
	}
	select {
	case o.wake <- struct{}{}:
	default: // it is notified already
	}
}

func (o *Outbox) seal(id [16]byte, m Mail) ([]byte, error) {
	data, err := json.Marshal(sealed{m.To, m.Letter})
	if err == nil && len(data) > maxContent {
		err = fmt.Errorf("it has %d bytes, and at most %d are allowed", len(data), maxContent)
	}
	if err != nil {
		return nil, fmt.Errorf("write mail: %w", err)
	}
	return o.config.Sealer.Mail(id).Seal("mail", data), nil
}

func (o *Outbox) open(row *store.Mail) (Mail, error) {
	m := Mail{Account: row.Account, Person: row.Person, Until: time.UnixMilli(row.ExpiresMs)}
	data, err := o.config.Sealer.Mail(row.ID).Open("mail", row.Content)
	var content sealed
	if err == nil {
		err = json.Unmarshal(data, &content)
	}
	if err != nil {
		return m, fmt.Errorf("read mail: %w", err)
	}
	m.To, m.Letter = content.To, content.Letter
	return m, nil
}

// Stats counts what this process has done since it started.
type Stats struct {
	Sent     int64 // mails that the mail server has taken
	Failures int64 // attempts
	GivenUp  int64 // mails
	Refused  int64 // mails, because too many waited
	Failing  bool  // the mail server could not be used at the last attempt
}

// Stats returns the counters.
func (o *Outbox) Stats() Stats {
	return Stats{o.sent.Load(), o.failures.Load(), o.givenUp.Load(), o.refused.Load(), o.failing.Load()}
}

// jitter is a random part of a duration, so that what failed together is not tried again together.
func jitter(d time.Duration) time.Duration {
	var b [1]byte
	rand.Read(b[:])
	return d - d*time.Duration(b[0])/(5*256)
}

// lost reports whether another process has the lease of a mail now.
func lost(err error) bool { return errors.Is(err, store.ErrConflict) }
