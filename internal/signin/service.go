package signin

import (
	"context"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/netip"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/mail"
	"github.com/chargehand/chargehand/internal/mail/letter"
	"github.com/chargehand/chargehand/internal/signin/oidc"
	"github.com/chargehand/chargehand/internal/signin/password"
	"github.com/chargehand/chargehand/internal/store"
)

// Config is what a Service is made of. Store is required.
type Config struct {
	Store *store.Store
	// Key is what seals that which browsers keep between the two halves of a sign-in: 32 bytes, the same on all nodes.
	// Default: a random one.
	Key []byte
	// WithoutPasswords refuses to sign in with a password, and to set one.
	WithoutPasswords bool
	Providers        []*oidc.Provider
	Mail             *mail.Outbox     // sends links to those who have forgotten the password; nil: none
	Log              *slog.Logger     // default: discards
	Now              func() time.Time // default: time.Now
	Hasher           *password.Hasher // default: password.New
	Changed          func()           // is called when sessions were changed or ended; nil: nothing
	SetUp            func()           // is called when the first admin was made; nil: nothing
	// RoomForUser refuses one more user of an account than its quota admits, within the Update that adds the user; nil:
	// there is no quota. Codes: quota_exceeded.
	RoomForUser func(*store.Reader, store.Account) error
	// Keys makes personal keys for a program that a person has confirmed, within an Update; nil: none can be made.
	Keys func(context.Context, *store.Tx, KeyRequest) ([]IssuedKey, error)
}

// Service is the rules of sign-in over the store. It is safe for concurrent use.
type Service struct {
	store     *store.Store
	sealer    cipher.AEAD
	hasher    *password.Hasher
	passwords bool
	providers []*oidc.Provider
	mail      *mail.Outbox
	log       *slog.Logger
	now       func() time.Time
	setUp     func()
	changed   func()
	room      func(*store.Reader, store.Account) error
	keys      func(context.Context, *store.Tx, KeyRequest) ([]IssuedKey, error)
}

// New returns a Service. A process has one, because it bounds the memory of sign-ins.
func New(c Config) *Service {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Changed == nil {
		c.Changed = func() {}
	}
	if c.SetUp == nil {
		c.SetUp = func() {}
	}
	if c.Keys == nil {
		c.Keys = func(context.Context, *store.Tx, KeyRequest) ([]IssuedKey, error) { return nil, nil }
	}
	if c.RoomForUser == nil {
		c.RoomForUser = func(*store.Reader, store.Account) error { return nil }
	}
	if c.Hasher == nil {
		c.Hasher = password.New()
	}
	if c.Key == nil {
		c.Key = make([]byte, 32)
		rand.Read(c.Key) // never fails
	}
	sealer, err := newSealer(c.Key)
	if err != nil {
		panic(err) // a key of another length
	}
	s := &Service{
		mail: c.Mail, store: c.Store, sealer: sealer, hasher: c.Hasher, passwords: !c.WithoutPasswords, providers: c.Providers, log: c.Log, now: c.Now, setUp: c.SetUp, changed: c.Changed, keys: c.Keys,
		room: c.RoomForUser,
	}
	s.mail.Completes(letter.AskedReset, s.completeReset)
	return s
}

// Client is where a request comes from.
type Client struct {
	Address netip.Addr
	Agent   string // its User-Agent
	Browser string // the secret by which the browser is known to persons; empty: none
	// Origin is the address of this server as the browser has it, such as https://chargehand.example.com; nil: it is not
	// known. Passkeys belong to it.
	Origin *url.URL
}

// Methods says how a person can sign in.
type Methods struct {
	Setup     bool // there is no admin yet
	Password  bool
	Passkeys  bool // they work at the address that the browser uses
	Providers []*oidc.Provider
	Forgotten bool // AskReset has links sent to those who have forgotten the password
}

// Methods reads how a person can sign in. Codes: unavailable.
func (s *Service) Methods(ctx context.Context, from Client) (Methods, error) {
	m := Methods{Password: s.passwords, Passkeys: from.noPasskeys() == "", Providers: s.providers, Forgotten: s.passwords && s.mail.On()}
	err := s.view(ctx, func(r *store.Reader) error {
		done, err := setUp(r)
		m.Setup = !done
		return err
	})
	return m, err
}

// The longest texts that are read of requests.
const (
	maxAgent  = 256
	maxSecret = 1024
)

func (s *Service) view(ctx context.Context, fn func(*store.Reader) error) error {
	return storageError(s.store.View(ctx, fn))
}

func (s *Service) update(ctx context.Context, fn func(*store.Tx) error) error {
	return storageError(s.store.Update(ctx, fn))
}

// storageError makes an error of the store one that callers may see, if it is their business.
func storageError(err error) error {
	if errors.Is(err, store.ErrUnavailable) {
		return errors.Join(store.Shown(err), err)
	}
	return err
}

// newID makes a UUID of version 7.
func newID[T ~[16]byte]() T { return T(uuid.Must(uuid.NewV7())) }

func atMs(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// badField is the error for one field of a body.
func badField(name, detail string) error {
	return chargehand.NewError(chargehand.CodeInvalidBody, detail,
		chargehand.FieldError{Pointer: "/" + name, Code: string(chargehand.CodeInvalidBody), Detail: detail})
}

// refusedError is the error for a sign-in that failed: it never says which part was wrong.
func refusedError(detail string) error {
	return chargehand.NewError(chargehand.CodeInvalidCredentials, detail)
}
