package signin

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/netip"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/store/postgres/postgrestest"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/peer"
	"github.com/chargehand/chargehand/internal/person"
	"github.com/chargehand/chargehand/internal/signin/password"
	"github.com/chargehand/chargehand/internal/signin/token"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/postgres"
	"github.com/chargehand/chargehand/internal/store/sqlite"
	"github.com/chargehand/chargehand/internal/store/storetest"
)

const good = "correct horse battery"

var home = Client{Address: netip.MustParseAddr("192.0.2.7"), Agent: "test"}

// fixture is a Service over a real database with an account, whose clock stands still until a test moves it.
type fixture struct {
	*Service
	t       *testing.T
	rows    *store.Store
	db      *crashingDB
	clock   atomic.Int64 // milliseconds after epoch
	account store.Account
}

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func (fx *fixture) time() time.Time {
	return epoch.Add(time.Duration(fx.clock.Load()) * time.Millisecond)
}
func (fx *fixture) advance(d time.Duration) { fx.clock.Add(d.Milliseconds()) }
func (fx *fixture) config() Config {
	return Config{Store: fx.rows, Now: fx.time, Hasher: password.NewWeak(64), Key: make([]byte, 32)}
}
func (fx *fixture) restart() { fx.db.left.Store(-1); fx.Service = New(fx.config()) }
func (fx *fixture) beginSetup() (text string) {
	return must(NewSetupToken(fx.t.Context(), fx.rows, fx.time()))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// crashingDB loses its process after a number of commits: what was committed is there, and no caller learns of it.
type crashingDB struct {
	store.DB
	left atomic.Int64 // commits until the crash; below 0: none
}

func (db *crashingDB) Update(ctx context.Context, fn func(store.Conn) error) error {
	if db.left.Load() == 0 {
		return store.ErrUnavailable
	}
	err := db.DB.Update(ctx, fn)
	if err == nil && db.left.Load() > 0 && db.left.Add(-1) == 0 {
		return store.ErrUnavailable
	}
	return err
}

// each runs a test on both databases.
func each(t *testing.T, test func(t *testing.T, fx *fixture)) {
	t.Helper()
	run := func(t *testing.T, db store.DB) {
		fx := &fixture{t: t, db: &crashingDB{DB: db}}
		fx.db.left.Store(-1)
		fx.rows = store.New(fx.db)
		t.Cleanup(func() { fx.rows.Close() })
		fx.Service = New(fx.config())
		fx.account = store.Account{ID: newID[chargehand.AccountID](), Name: "default", CreatedMs: epoch.UnixMilli()}
		fx.change(func(tx *store.Tx) error { return tx.InsertAccount(&fx.account) })
		test(t, fx)
	}
	t.Run("sqlite", func(t *testing.T) { run(t, storetest.Twice(sqliteTemplate.New(t))) })
	t.Run("postgres", func(t *testing.T) {
		url := shared.schemas.New(t, server(t))
		run(t, must(postgres.Open(t.Context(), postgres.Options{URL: url, Mode: postgres.Shared})))
	})
}

// shared is the PostgreSQL server of all tests.
var shared struct {
	once    sync.Once
	server  *peer.Postgres
	schemas postgrestest.Schemas
}

func TestMain(m *testing.M) {
	code := m.Run()
	shared.server.Stop()
	os.Exit(code)
}

func server(t *testing.T) *peer.Postgres {
	t.Helper()
	shared.once.Do(func() { shared.server = peer.StartPostgres(t, peer.PostgresOptions{Careless: true, Keep: true}) })
	if shared.server == nil {
		t.Skip("there is no PostgreSQL on this machine; the first test says why")
	}
	return shared.server
}

var sqliteTemplate = storetest.Template{Open: func(path string) (store.DB, error) {
	return sqlite.Open(sqlite.Options{Path: path, Owner: true})
}}

func (fx *fixture) change(fn func(*store.Tx) error) {
	fx.t.Helper()
	if err := fx.rows.Update(context.Background(), fn); err != nil {
		fx.t.Fatal(err)
	}
}

// setUp makes the admin ada with a password.
func (fx *fixture) setUp() *Session {
	fx.t.Helper()
	session, err := fx.Setup(fx.t.Context(), Setup{Token: fx.beginSetup(), Name: "Ada", Email: "Ada@example.com", Password: good}, home)
	if err != nil {
		fx.t.Fatal(err)
	}
	return session
}

// invite makes an invited person, or invites a known one, and returns the secret of the invitation.
func (fx *fixture) invite(email string, account store.Account) string {
	fx.t.Helper()
	text, hash := token.New()
	shown, key, _ := person.Email(email)
	fx.change(func(tx *store.Tx) error {
		p, err := tx.PersonByEmail(key)
		if errors.Is(err, store.ErrNotFound) {
			p = store.Person{ID: newID[chargehand.UserID](), Email: shown, EmailKey: key, Name: "Bobby", NameKey: "bobby", CreatedMs: 1}
			err = tx.InsertPerson(&p)
		}
		if err == nil {
			err = tx.InsertMember(&store.Member{Account: account.No, Person: p, Status: store.Invited, CreatedMs: 1})
		}
		if err == nil {
			err = tx.InsertTicket(&store.Ticket{
				Hash: hash[:], Kind: store.TicketInvitation, Account: account.No, Person: p.No, CreatedMs: 1, ExpiresMs: fx.time().Add(72 * time.Hour).UnixMilli(),
			})
		}
		return err
	})
	return text
}

// anotherAccount makes an account beside the first one.
func (fx *fixture) anotherAccount() store.Account {
	fx.t.Helper()
	other := store.Account{ID: newID[chargehand.AccountID](), Name: "other", CreatedMs: 1}
	fx.change(func(tx *store.Tx) error { return tx.InsertAccount(&other) })
	return other
}

// refused checks the code of an error, and a part of its detail.
func refused(t *testing.T, what string, err error, code chargehand.Code, part string) {
	t.Helper()
	var shown *chargehand.Error
	if !errors.As(err, &shown) || shown.Code != code || !strings.Contains(shown.Detail, part) {
		t.Errorf("%s: %v, want %s with %q", what, err, code, part)
	}
}

func hashOf(text string) []byte {
	hash := sha256.Sum256([]byte(text))
	return hash[:]
}
