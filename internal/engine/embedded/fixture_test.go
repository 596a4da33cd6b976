package embedded

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/peer"
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
		outside: &outside{}, sealer: secret.NewSealer(new(secret.Master)), log: &logLines{},
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

// newPostgresWorld is newWorld on a schema of a PostgreSQL server.
func newPostgresFixture(t testing.TB, server *peer.Postgres) *fixture {
	fx := &fixture{
		t: t, url: server.NewSchema(t), plans: make(map[int64]*plan.Plan), blobs: make(map[string][]byte),
		outside: &outside{}, sealer: secret.NewSealer(new(secret.Master)), log: &logLines{},
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

// define compiles a definition that consists of tasks (YAML, not indented).
func (fx *fixture) define(tasks string) int64 {
	fx.t.Helper()
	return fx.defineAll("do:\n" + indent(tasks))
}

// defineAll compiles a definition without its document.
func (fx *fixture) defineAll(body string) int64 {
	fx.t.Helper()
	p := compile(fx.t, body)
	fx.mu.Lock()
	defer fx.mu.Unlock()
	revision := int64(len(fx.plans) + 1_000) // above those that have rows
	fx.plans[revision] = p
	return revision
}

// deploy makes a published workflow of tasks, of namespace test and version 1.0.0, that
// others can start. It is the same after a restart.
func (fx *fixture) deploy(name, tasks string) int64 {
	fx.t.Helper()
	p := compile(fx.t, "do:\n"+indent(tasks))
	id := chargehand.WorkflowID(fx.id())
	flow := store.Workflow{ID: id, Account: fx.account.No, Namespace: "test", Name: name, CreatedMs: int64(fx.ids), UpdatedMs: int64(fx.ids)}
	revision := store.Revision{Version: "1.0.0", Number: 1, CreatedMs: 1}
	err := fx.store.Update(context.Background(), func(tx *store.Tx) error {
		if err := tx.InsertWorkflow(&flow); err != nil {
			return err
		}
		digest := sha256.Sum256([]byte(name))
		definition := store.Definition{Account: fx.account.No, Digest: digest[:], MediaType: "application/yaml", Source: []byte(tasks)}
		if err := tx.PutDefinition(&definition); err != nil {
			return err
		}
		revision.Workflow, revision.Definition = flow.No, definition.No
		if err := tx.InsertRevision(&revision); err != nil {
			return err
		}
		flow.Published = revision.No
		return tx.UpdateWorkflow(&flow)
	})
	if err != nil {
		fx.t.Fatal(err)
	}
	fx.mu.Lock()
	defer fx.mu.Unlock()
	fx.plans[revision.No] = p
	return revision.No
}

// setSecret writes the next version of a secret, as JSON.
func (fx *fixture) setSecret(name, value string) {
	fx.t.Helper()
	err := fx.store.Update(context.Background(), func(tx *store.Tx) error {
		last, err := tx.LastSecret(fx.account.No, chargehand.Live, name)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		place := secret.Location{Account: fx.account.No, Environment: uint8(chargehand.Live), Name: name, Version: last.Version + 1}
		return tx.PutSecret(&store.Secret{
			Account: place.Account, Environment: chargehand.Live, Name: name, Version: place.Version, Sealed: fx.sealer.Seal(place, []byte(value)),
		})
	})
	if err != nil {
		fx.t.Fatal(err)
	}
}

// allEnd waits until every execution has ended and nothing is owed between any.
func (fx *fixture) allEnd(atMost time.Duration) {
	fx.t.Helper()
	deadline := time.Now().Add(atMost)
	for {
		var owed store.StateCounts
		var due []store.Child
		fx.view(func(r *store.Reader) (err error) {
			if owed, err = r.CountUnfinished(); err == nil {
				due, err = dueChildren(r)
			}
			return err
		})
		if owed == (store.StateCounts{}) && len(due) == 0 {
			return
		}
		if time.Now().After(deadline) {
			fx.t.Fatalf("%v have not ended, due are %+v\n%s", owed, due, fx.log)
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

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ") + "\n"
}

func compile(t testing.TB, body string) *plan.Plan {
	t.Helper()
	doc, problems := dsl.Parse([]byte("document:\n  dsl: '1.0.3'\n  namespace: test\n  name: test\n  version: '1.0.0'\n" + body))
	if doc == nil {
		t.Fatalf("parse: %v\n%s", problems, body)
	}
	p, problems := plan.Compile(doc, plan.Options{Run: []string{"shell", "script"}})
	if p == nil {
		t.Fatalf("compile: %v\n%s", problems, body)
	}
	return p
}

// id makes ids in ascending order, of the current time.
func (fx *fixture) id() (id [16]byte) {
	fx.mu.Lock()
	defer fx.mu.Unlock()
	fx.ids++
	ms := time.Now().UnixMilli()
	binary.BigEndian.PutUint64(id[:8], uint64(ms)<<16|0x7000)
	binary.BigEndian.PutUint64(id[8:], 0x8000000000000000|fx.ids)
	return id
}

func (fx *fixture) row(revision int64, input string) store.Execution {
	return store.Execution{
		ID: chargehand.ExecutionID(fx.id()), Account: fx.account.No, Environment: chargehand.Live, Workflow: revision, Revision: revision,
		Input: store.Payload{Inline: []byte(input), Size: int64(len(input))},
	}
}

func (fx *fixture) startOne(revision int64, input string) (store.Execution, error) {
	return fx.startIn(chargehand.Live, revision, input)
}

func (fx *fixture) startIn(env chargehand.Environment, revision int64, input string) (store.Execution, error) {
	p, err := fx.Plan(context.Background(), revision)
	if err != nil {
		return store.Execution{}, err
	}
	v, err := value.Parse([]byte(input), value.Limits{})
	if err != nil {
		return store.Execution{}, err
	}
	row := fx.row(revision, input)
	row.Environment = env
	return fx.engine.Start(context.Background(), engine.Start{Row: row, Plan: p, Input: v})
}

// runTest is run in the environment test.
func (fx *fixture) runTest(revision int64, input string) store.Execution {
	fx.t.Helper()
	row, err := fx.startIn(chargehand.Test, revision, input)
	if err != nil {
		fx.t.Fatal(err)
	}
	return row
}

// run starts an execution and fails the test if it is refused.
func (fx *fixture) run(revision int64, input string) store.Execution {
	fx.t.Helper()
	row, err := fx.startOne(revision, input)
	if err != nil {
		fx.t.Fatal(err)
	}
	return row
}

// batch inserts a batch of items and tells the engine.
func (fx *fixture) batch(revision int64, concurrency int, inputs []string) store.Batch {
	fx.t.Helper()
	b := store.Batch{
		ID: chargehand.BatchID(fx.id()), Account: fx.account.No, Environment: chargehand.Live,
		Workflow: revision, Revision: revision, Concurrency: concurrency, RequestedConcurrency: concurrency, Total: int64(len(inputs)),
	}
	err := fx.store.Update(context.Background(), func(tx *store.Tx) error {
		if err := tx.InsertBatch(&b); err != nil {
			return err
		}
		for i, input := range inputs {
			row := fx.row(revision, input)
			row.Batch, row.Item, row.Machine = b.No, int64(i), machine.Revision
			row.Status, row.Phase, row.State = chargehand.Initial, chargehand.Pending, store.StateQueued
			if err := tx.InsertExecution(&row); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		fx.t.Fatal(err)
	}
	fx.engine.BatchReady(b.No)
	return b
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
	case <-time.After(patience):
		fx.t.Fatalf("no call that blocks is started\n%s", fx.log)
		return activity.Call{}
	}
}

const patience = 20 * time.Second

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
	return fx.finalIn(row, patience)
}

func (fx *fixture) finalBatch(b store.Batch) store.Batch {
	fx.t.Helper()
	return awaitChange(fx, b.ID, patience, "final", func() (store.Batch, bool) {
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
	entries, truncated, err := fx.engine.Timeline(context.Background(), no)
	if err != nil {
		fx.t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "%d %s %d %d %s %s %s", e.Seq, e.Reference, e.Iteration, e.Attempt, e.Phase, value.Marshal(e.Input), value.Marshal(e.Output))
		if e.Fault != nil {
			fmt.Fprintf(&b, " %s", e.Fault.Type)
		}
		b.WriteString("\n")
	}
	if truncated {
		b.WriteString("truncated\n")
	}
	return b.String()
}

// outside is what activities reach. What an activity does depends on its address
// (http) or command (shell): the last path segments say it.
type outside struct {
	mu      sync.Mutex
	runs    map[string]int      // by idempotency key
	keys    map[string][]string // of calls that may fail, by execution and task, in order
	blocked map[string]chan struct{}
	files   func() []machine.File

	started chan callSeen // if set, gets each call that blocks when it starts
	inspect func()        // if set, called in each call
	running atomic.Int64
	most    atomic.Int64
}

func (o *outside) allRuns() map[string]int {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := make(map[string]int, len(o.runs))
	for key, n := range o.runs {
		all[key] = n
	}
	return all
}

// gate makes calls whose address ends in block/NAME wait until it is closed.
func (o *outside) gate(name string) chan struct{} {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.blocked == nil {
		o.blocked = make(map[string]chan struct{})
	}
	ch := make(chan struct{})
	o.blocked[name] = ch
	return ch
}

type callSeen = activity.Call

// Run implements activity.Runner.
func (o *outside) Run(ctx context.Context, c activity.Call) activity.Result {
	n := o.running.Add(1)
	defer o.running.Add(-1)
	for most := o.most.Load(); n > most && !o.most.CompareAndSwap(most, n); most = o.most.Load() {
	}
	args := c.Args.(map[string]any)
	address, _ := args["endpoint"].(string)
	if address == "" {
		address, _ = args["command"].(string)
	}
	if address == "" {
		address, _ = args["stdin"].(string)
	}
	o.mu.Lock()
	if o.runs == nil {
		o.runs, o.keys = make(map[string]int), make(map[string][]string)
	}
	o.runs[c.Key]++
	o.mu.Unlock()
	parts := strings.Split(address, "/")
	verb, rest := parts[3], strings.Join(parts[4:], "/")
	if o.inspect != nil {
		o.inspect()
	}
	switch verb {
	case "slow", "slowfail": // takes as many milliseconds
		var ms int
		fmt.Sscan(rest, &ms)
		time.Sleep(time.Duration(ms) * time.Millisecond)
		if verb == "slowfail" {
			return activity.Result{Fault: &machine.Fault{Type: machine.ErrCommunication, Status: 503, Title: "Unavailable"}}
		}
		return activity.Result{Output: "slow"}
	case "echo":
		return activity.Result{Output: map[string]any{"said": rest, "to": c.Input}}
	case "fail": // as often as it says, then not; a repeated run ends as the first one did
		var times int
		fmt.Sscan(rest, &times)
		o.mu.Lock()
		defer o.mu.Unlock()
		task := c.Execution.String() + c.Reference
		if !slices.Contains(o.keys[task], c.Key) {
			o.keys[task] = append(o.keys[task], c.Key)
		}
		if slices.Index(o.keys[task], c.Key) < times {
			return activity.Result{Fault: &machine.Fault{Type: machine.ErrCommunication, Status: 503, Title: "Unavailable"}}
		}
		return activity.Result{Output: "recovered"}
	case "block":
		o.mu.Lock()
		ch := o.blocked[rest]
		o.mu.Unlock()
		if o.started != nil {
			select {
			case o.started <- c:
			case <-ctx.Done():
			}
		}
		if ch == nil {
			<-ctx.Done()
			return activity.Result{Output: "cut off"}
		}
		select {
		case <-ch:
			return activity.Result{Output: "released " + rest}
		case <-ctx.Done():
			return activity.Result{Output: "cut off"}
		}
	case "panic":
		panic("the runner is broken")
	case "size", "slowsize":
		if verb == "slowsize" {
			time.Sleep(time.Second)
		}
		var size int
		fmt.Sscan(rest, &size)
		return activity.Result{Output: strings.Repeat("x", size)}
	case "files":
		return activity.Result{Output: "made", Files: o.files()}
	}
	return activity.Result{Fault: &machine.Fault{Type: machine.ErrCommunication, Status: 404, Title: "Not found"}}
}

// logLines keeps what the engine logs.
type logLines struct {
	mu    sync.Mutex
	lines []string
}

func (l *logLines) Enabled(context.Context, slog.Level) bool { return true }
func (l *logLines) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *logLines) WithGroup(string) slog.Handler            { return l }
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
	ctx, cancel := context.WithTimeout(context.Background(), 10*patience)
	defer cancel()
	if active == 0 && !fx.engine.work.wait(ctx) {
		fx.t.Fatalf("the engine is never idle\n%s", fx.log)
	}
	if held := fx.engine.slots.heldBy(fx.account.No); held != active {
		fx.t.Fatalf("%d slots are held, want %d", held, active)
	}
}

func parseInput(t testing.TB, text string) value.Value {
	t.Helper()
	v, err := value.Parse([]byte(text), value.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func startOf(row store.Execution, p *plan.Plan, input value.Value) engine.Start {
	return engine.Start{Row: row, Plan: p, Input: input}
}
