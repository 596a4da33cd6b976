package embedded

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/postgres"
	"github.com/chargehand/chargehand/internal/store/sqlite"
	"github.com/chargehand/chargehand/internal/value"
)

// fixture is everything around an engine that survives its crash: the database file, the
// definitions, and the outside that activities reach.
type fixture struct {
	t       testing.TB
	path    string
	url     string // of a PostgreSQL database, used instead of path
	account store.Account
	outside *outside
	sealer  *secret.Sealer
	runner  activity.Runner // instead of outside
	without string          // a kind that has no runner
	log     *logLines

	mu    sync.Mutex
	plans map[int64]*plan.Plan
	blobs map[string][]byte
	ids   uint64

	limits Limits
	by     func() int64            // who starts the next execution or batch; nil: no one
	wrap   func(store.DB) store.DB // around the database
	poison error                   // of Put
	rows   *store.Store            // of the engine, instead of store
	// unchecked says why the test ends with memory and rows that differ (checkInvariants).
	unchecked string

	db     store.DB
	store  *store.Store
	engine *Engine
}

// template is a database with its schema and one account, made once: hundreds of fixtures
// begin with it.
var template struct {
	once    sync.Once
	data    []byte
	account store.Account
}

func newFixture(t testing.TB) *fixture {
	fx := &fixture{
		t: t, path: filepath.Join(t.TempDir(), "test.db"),
		plans: make(map[int64]*plan.Plan), blobs: make(map[string][]byte),
		outside: &outside{}, sealer: secret.NewSealer(secret.NewKeys()), log: &logLines{},
	}
	template.once.Do(func() {
		fx.openStore()
		template.account = store.Account{ID: chargehand.AccountID{1}, Name: "test", CreatedMs: 1}
		err := fx.store.Update(t.Context(), func(tx *store.Tx) error { return tx.InsertAccount(&template.account) })
		fx.close()
		if err == nil {
			template.data, err = os.ReadFile(fx.path)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	fx.account = template.account
	if err := os.WriteFile(fx.path, template.data, 0o600); err != nil {
		t.Fatal(err)
	}
	fx.openStore()
	return fx
}

// newPostgresFixture is newFixture on a schema of a PostgreSQL server, at an address.
func newPostgresFixture(t testing.TB, address string) *fixture {
	fx := &fixture{
		t: t, url: address, plans: make(map[int64]*plan.Plan), blobs: make(map[string][]byte),
		outside: &outside{}, sealer: secret.NewSealer(secret.NewKeys()), log: &logLines{},
	}
	fx.openStore()
	fx.account = store.Account{ID: chargehand.AccountID{1}, Name: "test", CreatedMs: 1}
	if err := fx.store.Update(t.Context(), func(tx *store.Tx) error { return tx.InsertAccount(&fx.account) }); err != nil {
		t.Fatal(err)
	}
	return fx
}

func (fx *fixture) openDB() (store.DB, error) {
	if fx.url == "" {
		return sqlite.Open(sqlite.Options{Path: fx.path, Owner: true})
	}
	db, err := postgres.Open(fx.t.Context(), postgres.Options{URL: fx.url})
	if err != nil {
		return nil, err
	}
	return db, db.AwaitOwner(fx.t.Context())
}

func (fx *fixture) openStore() {
	fx.t.Helper()
	db, err := fx.openDB()
	if err != nil {
		fx.t.Fatal(err)
	}
	fx.db = db
	if fx.wrap != nil {
		fx.db = fx.wrap(db)
	}
	fx.store = store.New(fx.db)
	if os.Getenv("CHARGEHAND_ENCRYPT") == "all" { // as a server takes it: the suite holds either way
		fx.sealer.SealAll()
		fx.store.SetSealer(fx.sealer, true, slog.New(fx.log))
	}
}

func (fx *fixture) config() Config {
	var runner activity.Runner = fx.outside
	if fx.runner != nil {
		runner = fx.runner
	}
	rows := fx.store
	if fx.rows != nil {
		rows = fx.rows
	}
	c := Config{
		Store: rows, Plans: fx, Blobs: fx, Sealer: fx.sealer, Limits: fx.limits,
		Activities:     map[string]activity.Runner{"http": runner, "shell": runner, "script": runner, "asyncapi": runner},
		Log:            slog.New(fx.log),
		RuntimeVersion: "1", RuntimeMetadata: map[string]any{},
	}
	delete(c.Activities, fx.without)
	return c
}

// start makes an engine on the database, opened again if it was closed.
func (fx *fixture) start() *Engine {
	fx.t.Helper()
	if fx.store == nil {
		fx.openStore()
	}
	e, err := New(fx.t.Context(), fx.config())
	if err != nil {
		fx.t.Fatal(err)
	}
	fx.engine = e
	return e
}

// stop ends engine and database in order.
func (fx *fixture) stop() {
	fx.t.Helper()
	if fx.engine != nil {
		fx.checkInvariants()
		if err := fx.engine.Stop(context.Background()); err != nil {
			fx.t.Error(err)
		}
	}
	fx.close()
}

// kill ends the engine as a crash would: running activities are cut off, and nothing more is
// written. Only a wrapper of the database can hold back a write that is on its way.
func (fx *fixture) kill() {
	fx.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := fx.engine.Stop(ctx); err != nil {
		fx.t.Error(err)
	}
	fx.close()
}

// cutOff ends a test whose activities hang, and which Stop would wait for: memory and rows agree before the engine is
// killed.
func (fx *fixture) cutOff() {
	fx.t.Helper()
	fx.checkInvariants()
	fx.kill()
}

func (fx *fixture) close() {
	fx.t.Helper()
	if fx.store == nil {
		return
	}
	if err := fx.store.Close(); err != nil {
		fx.t.Error(err)
	}
	fx.engine, fx.store, fx.db = nil, nil, nil
}

// Plan implements engine.Plans.
func (fx *fixture) Plan(_ context.Context, revision int64) (*plan.Plan, error) {
	fx.mu.Lock()
	defer fx.mu.Unlock()
	p := fx.plans[revision]
	if p == nil {
		return nil, fmt.Errorf("find revision: %w", store.ErrNotFound)
	}
	return p, nil
}

// Put and Get implement Blobs.
func (fx *fixture) Put(ctx context.Context, data []byte) ([]byte, error) {
	if fx.poison != nil {
		return nil, fx.poison
	}
	digest := sha256.Sum256(data)
	err := fx.store.Update(ctx, func(tx *store.Tx) error { return tx.ReserveBlob(digest[:], int64(len(data))) })
	if err != nil {
		return nil, err
	}
	fx.mu.Lock()
	defer fx.mu.Unlock()
	fx.blobs[string(digest[:])] = append([]byte(nil), data...)
	return digest[:], nil
}

func (fx *fixture) Get(_ context.Context, digest []byte) ([]byte, error) {
	fx.mu.Lock()
	defer fx.mu.Unlock()
	data, ok := fx.blobs[string(digest)]
	if !ok {
		return nil, store.ErrNotFound
	}
	return data, nil
}

// allEnd waits until every execution has ended and no message between any is left.
func (fx *fixture) allEnd(atMost time.Duration) {
	fx.t.Helper()
	deadline := time.Now().Add(atMost)
	for {
		var unfinished store.StateCounts
		var due []store.Child
		fx.view(func(r *store.Reader) (err error) {
			if unfinished, err = r.CountUnfinished(); err == nil {
				due, err = dueChildren(r)
			}
			return err
		})
		if unfinished == (store.StateCounts{}) && len(due) == 0 {
			return
		}
		if time.Now().After(deadline) {
			fx.t.Fatalf("%v have not ended, due are %+v\n%s", unfinished, due, fx.log)
		}
		<-time.After(time.Millisecond * 10)
	}
}

// dueChildren reads some links for which something must be done.
func dueChildren(r *store.Reader) ([]store.Child, error) {
	ended, err := r.DueChildren(store.ChildEnded, 0, 10)
	if err != nil {
		return nil, err
	}
	stopped, err := r.DueChildren(store.ChildStopped, 0, 10)
	return append(ended, stopped...), err
}

func (fx *fixture) view(fn func(r *store.Reader) error) {
	fx.t.Helper()
	if err := fx.store.View(context.Background(), fn); err != nil {
		fx.t.Fatal(err)
	}
}

// emitted reads the events that executions have emitted.
func (fx *fixture) emitted() (events []value.Value) {
	fx.t.Helper()
	fx.view(func(r *store.Reader) error {
		events = nil
		return r.Events(fx.account.No, chargehand.Live, 0, math.MaxInt64, math.MaxInt32, func(e *store.Event) (bool, error) {
			if !e.Origin.IsZero() {
				events = append(events, parseInput(fx.t, string(e.Data.Inline)))
			}
			return true, nil
		})
	})
	return events
}

func (fx *fixture) read(no int64) (row store.Execution) {
	fx.t.Helper()
	fx.view(func(r *store.Reader) (err error) {
		row, err = r.ExecutionByNo(no)
		return err
	})
	return row
}

func (fx *fixture) journalLength(row store.Execution) (n int) {
	fx.t.Helper()
	fx.view(func(r *store.Reader) error {
		return r.Journal(row.No, 0, func(*store.JournalRow) error {
			n++
			return nil
		})
	})
	return n
}

func (fx *fixture) readBatch(no int64) (b store.Batch) {
	fx.t.Helper()
	fx.view(func(r *store.Reader) (err error) {
		b, err = r.BatchByNo(no)
		return err
	})
	return b
}

func (fx *fixture) items(batch int64) (rows []store.Execution) {
	fx.t.Helper()
	fx.view(func(r *store.Reader) error {
		return r.BatchItems(batch, -1, 100_000, nil, func(row *store.Execution) error {
			rows = append(rows, *row)
			return nil
		})
	})
	return rows
}

// finalIn waits for the end of an execution.
func (fx *fixture) finalIn(row store.Execution, atMost time.Duration) store.Execution {
	fx.t.Helper()
	return awaitChange(fx, row.ID, atMost, "final", func() (store.Execution, bool) {
		row := fx.read(row.No)
		return row, row.Status.Final()
	})
}

// blocked waits until a call that blocks has started.
func (fx *fixture) blocked() activity.Call {
	fx.t.Helper()
	select {
	case c := <-fx.outside.started:
		return c
	case <-time.After(endTime):
		fx.t.Fatalf("no call that blocks is started\n%s", fx.log)
		return activity.Call{}
	}
}

const endTime = 5 * time.Minute

// awaitChange reads again at each change of status.
func awaitChange[T any](fx *fixture, id [16]byte, atMost time.Duration, what string, read func() (T, bool)) T {
	fx.t.Helper()
	deadline := time.NewTimer(atMost)
	defer deadline.Stop()
	for {
		changed, stop := fx.engine.Watch(id)
		value, ok := read()
		if ok {
			stop()
			return value
		}
		select {
		case <-changed:
			stop()
		case <-deadline.C:
			stop()
			fx.t.Fatalf("not %s: %+v\n%s", what, value, fx.log)
		}
	}
}

// final waits for the end of an execution.
func (fx *fixture) final(row store.Execution) store.Execution {
	fx.t.Helper()
	return fx.finalIn(row, endTime)
}

func (fx *fixture) finalBatch(b store.Batch) store.Batch {
	fx.t.Helper()
	return awaitChange(fx, b.ID, endTime, "final", func() (store.Batch, bool) {
		b := fx.readBatch(b.No)
		return b, b.Status.Final()
	})
}

// result is the output of an execution as JSON, or its fault's code.
func (fx *fixture) result(no int64) string {
	fx.t.Helper()
	var o store.Outcome
	fx.view(func(r *store.Reader) (err error) {
		o, err = r.Outcome(no)
		return err
	})
	if o.Fault != nil {
		f, err := engine.DecodeFault(o.Fault)
		if err != nil {
			fx.t.Fatal(err)
		}
		return "fault " + f.Code
	}
	if o.Output.Blob != nil {
		data, err := fx.Get(context.Background(), o.Output.Blob)
		if err != nil {
			fx.t.Fatal(err)
		}
		return string(data)
	}
	return string(o.Output.Inline)
}

// story is the timeline without times.
func (fx *fixture) story(no int64) string {
	fx.t.Helper()
	timeline, err := fx.engine.Timeline(context.Background(), no)
	if err != nil {
		fx.t.Fatal(err)
	}
	var b strings.Builder
	for i := range timeline.Records {
		e := &timeline.Records[i]
		input, output, err := timeline.Values(context.Background(), e)
		if err != nil {
			fx.t.Fatal(err)
		}
		fmt.Fprintf(&b, "%d in %d %s %d %d %s %s %s", e.Seq, e.Parent, e.Reference, e.Iterations, e.Attempt, e.Phase, input, output)
		if e.Fault != nil {
			fmt.Fprintf(&b, " %s", e.Fault.Type)
		}
		b.WriteString("\n")
	}
	if timeline.Truncated {
		b.WriteString("truncated\n")
	}
	return b.String()
}

type callSeen = activity.Call

// logLines keeps what the engine logs.
type logLines struct {
	mu    sync.Mutex
	lines []string
}

func (l *logLines) Enabled(context.Context, slog.Level) bool { return true }

func (l *logLines) WithAttrs([]slog.Attr) slog.Handler { return l }

func (l *logLines) WithGroup(string) slog.Handler { return l }

func (l *logLines) Handle(_ context.Context, r slog.Record) error {
	line := r.Level.String() + " " + r.Message
	r.Attrs(func(a slog.Attr) bool {
		line += " " + a.String()
		return true
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
	return nil
}

func (l *logLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}

func (l *logLines) contains(text string) bool { return strings.Contains(l.String(), text) }

// idle checks that all slots but those of active executions are free. Without any, it first
// waits until the engine has nothing to do.
func (fx *fixture) idle(active int) {
	fx.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*endTime)
	defer cancel()
	if active == 0 && !fx.engine.work.Wait(ctx) {
		fx.t.Fatalf("the engine is never idle\n%s", fx.log)
	}
	if held := fx.engine.slots.heldBy(fx.account.No); held != active {
		fx.t.Fatalf("%d slots are held, want %d", held, active)
	}
}
