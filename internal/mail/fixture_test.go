package mail

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/store/postgres/postgrestest"

	"github.com/chargehand/chargehand/internal/logtest"
	"github.com/chargehand/chargehand/internal/mail/letter"
	"github.com/chargehand/chargehand/internal/mail/smtp"
	"github.com/chargehand/chargehand/internal/peer"
	"github.com/chargehand/chargehand/internal/peer/mailserver"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/postgres"
	"github.com/chargehand/chargehand/internal/store/sqlite"
	"github.com/chargehand/chargehand/internal/store/storetest"
)

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fixture is an installation with a mail server. Its clock stands still until a test moves it.
type fixture struct {
	t      *testing.T
	db     *losingDB
	store  *store.Store
	second *store.Store // of another process
	sealer *secret.Sealer
	server *mailserver.Server
	clock  atomic.Int64
	log    logtest.Buffer
}

func (f *fixture) now() time.Time          { return epoch.Add(time.Duration(f.clock.Load())) }
func (f *fixture) advance(d time.Duration) { f.clock.Add(int64(d)) }

// losingDB cannot be written to while it is lost.
type losingDB struct {
	store.DB
	lost atomic.Bool
}

func (db *losingDB) Update(ctx context.Context, fn func(store.Conn) error) error {
	if db.lost.Load() {
		return store.ErrUnavailable
	}
	return db.DB.Update(ctx, fn)
}

func newFixture(t *testing.T, db, second store.DB) *fixture {
	f := &fixture{t: t, db: &losingDB{DB: db}, sealer: secret.NewSealer(secret.NewKeys()), server: mailserver.Start(t, mailserver.Options{})}
	f.store, f.second = store.New(f.db), store.New(second)
	t.Cleanup(func() { f.store.Close(); f.second.Close() })
	return f
}

// newSQLite is an installation with a database of its own.
func newSQLite(t *testing.T) *fixture {
	db := storetest.Twice(sqliteTemplate.New(t))
	return newFixture(t, db, db)
}

// each runs a test on both databases.
func each(t *testing.T, test func(t *testing.T, f *fixture)) {
	t.Helper()
	run := func(t *testing.T, db, second store.DB) { test(t, newFixture(t, db, second)) }
	t.Run("sqlite", func(t *testing.T) { test(t, newSQLite(t)) })
	t.Run("postgres", func(t *testing.T) {
		url := shared.schemas.New(t, server(t))
		open := func() store.DB {
			db, err := postgres.Open(t.Context(), postgres.Options{URL: url, Mode: postgres.Shared})
			if err != nil {
				t.Fatal(err)
			}
			return db
		}
		run(t, open(), open())
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

// outbox is that of one process.
func (f *fixture) outbox(st *store.Store) *Outbox {
	f.t.Helper()
	s, err := smtp.Open(smtp.Settings{URL: "smtp://" + f.server.Address, From: "robot@example.org"})
	if err != nil {
		f.t.Fatal(err)
	}
	return New(Config{
		Store: st, Sealer: f.sealer, Sender: s, BaseURL: "https://wf.example.org", Every: 5 * time.Millisecond, Now: f.now,
		Log: slog.New(slog.NewTextHandler(&f.log, nil)),
	})
}

// run runs an outbox until the test ends, or stop is called.
func (f *fixture) run(o *Outbox) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		o.Run(ctx)
	}()
	stop = func() { cancel(); <-done }
	f.t.Cleanup(stop)
	return stop
}

const link = "https://wf.example.org/password-reset#token=very-secret"

func (f *fixture) mail(to string) Mail {
	return Mail{Account: 1, Person: 2, To: to, Letter: letter.Letter{Kind: letter.Reset, Name: "Ada", URL: link}, Until: f.now().Add(24 * time.Hour)}
}

func (f *fixture) put(o *Outbox, m Mail) (taken bool) {
	f.t.Helper()
	f.update(func(tx *store.Tx) (err error) {
		taken, err = o.Put(tx, m)
		return err
	})
	o.Notify()
	return taken
}

func (f *fixture) update(fn func(*store.Tx) error) {
	f.t.Helper()
	if err := f.store.Update(context.Background(), fn); err != nil {
		f.t.Fatal(err)
	}
}

// waiting counts the mails that are to be sent.
func (f *fixture) waiting() (n int64) {
	f.t.Helper()
	err := f.second.View(context.Background(), func(r *store.Reader) (err error) {
		n, err = r.CountMail(1000)
		return err
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return n
}

// longestWait is how long a test waits for what has to come.
const longestWait = 2 * time.Minute

// eventually waits until something is so.
func (f *fixture) eventually(what string, so func() bool) {
	f.t.Helper()
	deadline := time.NewTimer(longestWait)
	defer deadline.Stop()
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	for !so() {
		select {
		case <-again.C:
		case <-deadline.C:
			f.t.Fatalf("%s: not within %v; the log is\n%s", what, longestWait, f.log.String())
		}
	}
}

// logged waits for a line of the log: what it tells of may be counted, or stored, a moment before.
func (f *fixture) logged(parts ...string) {
	f.t.Helper()
	f.eventually(fmt.Sprintf("a line of the log with %q", parts), func() bool {
		for line := range strings.Lines(f.log.String()) {
			all := true
			for _, part := range parts {
				all = all && strings.Contains(line, part)
			}
			if all {
				return true
			}
		}
		return false
	})
}
