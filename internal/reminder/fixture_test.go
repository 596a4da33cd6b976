package reminder

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"mime"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/logtest"
	"github.com/chargehand/chargehand/internal/mail"
	"github.com/chargehand/chargehand/internal/mail/smtp"
	"github.com/chargehand/chargehand/internal/peer"
	"github.com/chargehand/chargehand/internal/peer/mailserver"
	"github.com/chargehand/chargehand/internal/person"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/postgres"
	"github.com/chargehand/chargehand/internal/store/postgres/postgrestest"
	"github.com/chargehand/chargehand/internal/store/sqlite"
	"github.com/chargehand/chargehand/internal/store/storetest"
)

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fixture is an installation with a mail server, an account, and a workflow with one execution. Its clock stands still
// until a test moves it.
type fixture struct {
	*testing.T
	raw    store.DB
	db     *brokenDB
	store  *store.Store
	sealer *secret.Sealer
	server *mailserver.Server
	clock  atomic.Int64
	log    logtest.Buffer
	ids    uint64
	last   uint64 // command

	account   store.Account
	workflow  store.Workflow
	execution store.Execution
}

func (f *fixture) now() time.Time          { return epoch.Add(time.Duration(f.clock.Load())) }
func (f *fixture) advance(d time.Duration) { f.clock.Add(int64(d)) }

// brokenDB fails from its k-th commit on, before or after it was written.
type brokenDB struct {
	store.DB
	commits, at atomic.Int64 // at 0: never
	written     atomic.Bool  // the k-th one was written
	died        atomic.Bool  // one has failed
}

func (db *brokenDB) Update(ctx context.Context, fn func(store.Conn) error) error {
	n, at := db.commits.Add(1), db.at.Load()
	if at != 0 && (n > at || n == at && !db.written.Load()) {
		db.died.Store(true)
		return store.ErrUnavailable
	}
	err := db.DB.Update(ctx, fn)
	if err == nil && n == at {
		db.died.Store(true)
		err = store.ErrUnavailable
	}
	return err
}

// breakAt has the k-th commit from now on fail, and all behind it.
func (db *brokenDB) breakAt(k int64, written bool) {
	db.written.Store(written)
	db.commits.Store(0)
	db.at.Store(k)
}

func newFixture(t *testing.T, db store.DB) *fixture {
	f := &fixture{T: t, raw: db, db: &brokenDB{DB: db}, sealer: secret.NewSealer(secret.NewKeys()), server: mailserver.Start(t, mailserver.Options{})}
	f.store = store.New(f.db)
	t.Cleanup(func() {
		f.db.at.Store(0)
		if !t.Failed() {
			storetest.CheckInvariants(t, f.raw)
		}
		f.store.Close()
	})
	f.account = store.Account{Name: "Finance", CreatedMs: 1}
	f.id(f.account.ID[:])
	f.update(func(tx *store.Tx) error { return tx.InsertAccount(&f.account) })
	f.workflow, f.execution = f.newWorkflow("pay")
	return f
}

// each runs a test on both databases.
func each(t *testing.T, test func(f *fixture)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(newSQLite(t)) })
	t.Run("postgres", func(t *testing.T) {
		db, err := postgres.Open(t.Context(), postgres.Options{URL: shared.schemas.New(t, postgresServer(t)), Mode: postgres.Shared})
		if err != nil {
			t.Fatal(err)
		}
		test(newFixture(t, db))
	})
}

func newSQLite(t *testing.T) *fixture { return newFixture(t, sqliteTemplate.New(t)) }

var sqliteTemplate = storetest.Template{Open: func(path string) (store.DB, error) {
	return sqlite.Open(sqlite.Options{Path: path, Owner: true})
}}

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

func postgresServer(t *testing.T) *peer.Postgres {
	t.Helper()
	shared.once.Do(func() { shared.server = peer.StartPostgres(t, peer.PostgresOptions{Careless: true, Keep: true}) })
	if shared.server == nil {
		t.Skip("there is no PostgreSQL on this machine; the first test says why")
	}
	return shared.server
}

// id fills an id that ascends with each call.
func (f *fixture) id(to []byte) {
	f.ids++
	binary.BigEndian.PutUint64(to, uint64(epoch.UnixMilli())<<16|0x7000)
	binary.BigEndian.PutUint64(to[8:], f.ids|1<<63)
}

func (f *fixture) update(fn func(tx *store.Tx) error) {
	f.Helper()
	if err := f.store.Update(context.Background(), fn); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) view(fn func(r *store.Reader) error) {
	f.Helper()
	if err := store.New(f.raw).View(context.Background(), fn); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) newWorkflow(name string) (store.Workflow, store.Execution) {
	f.Helper()
	w := store.Workflow{Account: f.account.No, Namespace: "finance", Name: name, CreatedMs: 1}
	f.id(w.ID[:])
	f.update(func(tx *store.Tx) error { return tx.InsertWorkflow(&w) })
	return w, f.newExecution(w, chargehand.Live)
}

func (f *fixture) newExecution(w store.Workflow, env chargehand.Environment) store.Execution {
	f.Helper()
	e := store.Execution{
		Account: f.account.No, Environment: env, Workflow: w.No, Revision: 1, Machine: 1, Status: chargehand.Initial, Phase: chargehand.Pending,
		State: store.StateQueued, Input: engine.Inline(map[string]any{}),
	}
	f.id(e.ID[:])
	f.update(func(tx *store.Tx) error { return tx.InsertExecution(&e) })
	return e
}

// person is a member of the account.
func (f *fixture) person(name string) store.Person {
	f.Helper()
	p := store.Person{Name: name, NameKey: person.Key(name), CreatedMs: 1}
	p.Email, p.EmailKey, _ = person.Email(strings.ToLower(name) + "@example.org")
	f.id(p.ID[:])
	f.update(func(tx *store.Tx) error {
		if err := tx.InsertPerson(&p); err != nil {
			return err
		}
		return tx.InsertMember(&store.Member{Account: f.account.No, Status: store.Active, Person: p, CreatedMs: 1})
	})
	return p
}

// group is a group of members.
func (f *fixture) group(name string, members ...store.Person) store.Group {
	f.Helper()
	g := store.Group{Account: f.account.No, Name: name, NameKey: person.Key(name), CreatedMs: 1}
	f.id(g.ID[:])
	f.update(func(tx *store.Tx) error {
		if err := tx.InsertGroup(&g); err != nil {
			return err
		}
		for _, p := range members {
			if err := tx.JoinGroup(&g, p.No); err != nil {
				return err
			}
		}
		return nil
	})
	return g
}

// task is a task of an execution that is not opened yet.
func (f *fixture) task(e store.Execution, a store.TaskAssignees) store.HumanTask {
	f.last++
	h := store.HumanTask{
		Account: e.Account, Environment: e.Environment, Workflow: e.Workflow, Execution: e.No, Command: f.last, Seq: 1, Reference: "/do/0/ask",
		Priority: 50, DueMs: store.NeverDue, CreatedMs: f.now().UnixMilli(), Title: "Approve the invoice", Assignees: a, Request: engine.Inline(map[string]any{"title": "x"}),
	}
	f.id(h.ID[:])
	return h
}

// open opens a task, due after a time (0: never), with reminders after others.
func (f *fixture) open(h store.HumanTask, due time.Duration, remind ...time.Duration) store.HumanTask {
	f.Helper()
	if due != 0 {
		h.DueMs = f.now().Add(due).UnixMilli()
	}
	var remindMs []int64
	for _, after := range remind {
		remindMs = append(remindMs, f.now().Add(after).UnixMilli())
	}
	f.update(func(tx *store.Tx) error { return tx.OpenTask(&h, engine.Candidates(h.Assignees), remindMs...) })
	return h
}

func users(list ...string) store.TaskAssignees { return store.TaskAssignees{Users: list} }

// outbox is that of a process. Nothing runs it.
func (f *fixture) outbox() *mail.Outbox { return f.outboxOn(f.store) }

func (f *fixture) outboxOn(st *store.Store) *mail.Outbox {
	f.Helper()
	s, err := smtp.Open(smtp.Settings{URL: "smtp://" + f.server.Address, From: "robot@example.org"})
	if err != nil {
		f.Fatal(err)
	}
	return mail.New(mail.Config{
		Store: st, Sealer: f.sealer, Sender: s, BaseURL: "https://wf.example.org", Every: 5 * time.Millisecond, Now: f.now,
		Log: slog.New(slog.NewTextHandler(&f.log, nil)),
	})
}

// worker is that of a process; nil: it sends no mail.
func (f *fixture) worker(outbox *mail.Outbox) *Worker {
	return New(Config{Store: f.store, Mail: outbox, Now: f.now, Log: slog.New(slog.NewTextHandler(&f.log, nil))})
}

// step does all that is to be done now.
func (f *fixture) step(w *Worker) {
	f.Helper()
	for range 10_000 {
		more, err := w.Step(context.Background())
		if err != nil {
			f.Fatal(err)
		}
		if !more {
			return
		}
	}
	f.Fatal("there is always more to do")
}

// sending runs an outbox until the test ends, or stop is called.
func (f *fixture) sending(o *mail.Outbox) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		o.Run(ctx)
	}()
	var once sync.Once
	stop = func() { once.Do(func() { cancel(); <-done }) }
	f.Cleanup(stop)
	return stop
}

// sent sends what is in the outbox, and lists the mails since the last call as "subject to address".
func (f *fixture) sent(o *mail.Outbox) (list []string) {
	f.Helper()
	before := len(f.server.Mails())
	stop := f.sending(o)
	f.eventually("the outbox is empty", func() bool { return f.inOutbox() == 0 })
	stop()
	for _, m := range f.server.Mails()[before:] {
		list = append(list, subject(f, &m)+" to "+m.To)
	}
	return list
}

// subject is that of a mail, decoded.
func subject(f *fixture, m *mailserver.Mail) string {
	f.Helper()
	text, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	if err != nil {
		f.Error(err)
	}
	return text
}

func (f *fixture) inOutbox() (n int64) {
	f.view(func(r *store.Reader) (err error) {
		n, err = r.CountMail(100_000)
		return err
	})
	return n
}

func (f *fixture) waiting() (n int64) {
	f.view(func(r *store.Reader) (err error) {
		n, err = r.CountTaskMail()
		return err
	})
	return n
}

// facts are those that were published, as texts.
func (f *fixture) facts() (list []string) {
	f.view(func(r *store.Reader) error {
		facts, err := r.Facts(0, 100_000)
		for _, fact := range facts {
			list = append(list, fmt.Sprintf("%s %d", fact.Kind, fact.Task))
		}
		return err
	})
	return list
}

// eventually waits until something is so.
func (f *fixture) eventually(what string, so func() bool) {
	f.Helper()
	deadline := time.NewTimer(2 * time.Minute)
	defer deadline.Stop()
	again := time.NewTicker(2 * time.Millisecond)
	defer again.Stop()
	for !so() {
		select {
		case <-again.C:
		case <-deadline.C:
			f.Fatalf("%s: not in time; the log is\n%s", what, f.log.String())
		}
	}
}
