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

// world is everything around an engine that survives its crash: the database file, the
// definitions, and the outside that activities reach.
type world struct {
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

// template is a database with its schema and one account, made once: hundreds of worlds
// begin with it.
var template struct {
	once    sync.Once
	data    []byte
	account store.Account
}

func newWorld(t testing.TB) *world {
	w := &world{
		t: t, path: filepath.Join(t.TempDir(), "test.db"),
		plans: make(map[int64]*plan.Plan), blobs: make(map[string][]byte),
		outside: &outside{}, sealer: secret.NewSealer(new(secret.Master)), log: &logLines{},
	}
	template.once.Do(func() {
		w.openStore()
		template.account = store.Account{ID: chargehand.AccountID{1}, Name: "test", CreatedMs: 1}
		err := w.store.Update(t.Context(), func(tx *store.Tx) error { return tx.InsertAccount(&template.account) })
		w.close()
		if err == nil {
			template.data, err = os.ReadFile(w.path)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	w.account = template.account
	if err := os.WriteFile(w.path, template.data, 0o600); err != nil {
		t.Fatal(err)
	}
	w.openStore()
	return w
}

// newPostgresWorld is newWorld on a schema of a PostgreSQL server.
func newPostgresWorld(t testing.TB, server *peer.Postgres) *world {
	w := &world{
		t: t, url: server.NewSchema(t), plans: make(map[int64]*plan.Plan), blobs: make(map[string][]byte),
		outside: &outside{}, sealer: secret.NewSealer(new(secret.Master)), log: &logLines{},
	}
	w.openStore()
	w.account = store.Account{ID: chargehand.AccountID{1}, Name: "test", CreatedMs: 1}
	if err := w.store.Update(t.Context(), func(tx *store.Tx) error { return tx.InsertAccount(&w.account) }); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) openDB() (store.DB, error) {
	if w.url == "" {
		return sqlite.Open(sqlite.Options{Path: w.path, Owner: true})
	}
	db, err := postgres.Open(w.t.Context(), postgres.Options{URL: w.url})
	if err != nil {
		return nil, err
	}
	return db, db.AwaitOwner(w.t.Context())
}

func (w *world) openStore() {
	w.t.Helper()
	db, err := w.openDB()
	if err != nil {
		w.t.Fatal(err)
	}
	w.db = db
	if w.wrap != nil {
		w.db = w.wrap(db)
	}
	w.store = store.New(w.db)
}

func (w *world) config() Config {
	var runner activity.Runner = w.outside
	if w.runner != nil {
		runner = w.runner
	}
	rows := w.store
	if w.rows != nil {
		rows = w.rows
	}
	c := Config{
		Store: rows, Plans: w, Blobs: w, Sealer: w.sealer, Limits: w.limits,
		Activities:     map[string]activity.Runner{"http": runner, "shell": runner, "script": runner, "asyncapi": runner},
		Log:            slog.New(w.log),
		RuntimeVersion: "1", RuntimeMetadata: map[string]any{},
	}
	delete(c.Activities, w.without)
	return c
}

// start makes an engine on the database, opened again if it was closed.
func (w *world) start() *Engine {
	w.t.Helper()
	if w.store == nil {
		w.openStore()
	}
	e, err := New(w.t.Context(), w.config())
	if err != nil {
		w.t.Fatal(err)
	}
	w.engine = e
	return e
}

// stop ends engine and database in order.
func (w *world) stop() {
	w.t.Helper()
	if w.engine != nil {
		w.checkInvariants()
		if err := w.engine.Stop(context.Background()); err != nil {
			w.t.Error(err)
		}
	}
	w.close()
}

// kill ends the engine as a crash would: what runs is cut off, and nothing more is written.
// Only the database wrapper can keep what is on its way from being written.
func (w *world) kill() {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := w.engine.Stop(ctx); err != nil {
		w.t.Error(err)
	}
	w.close()
}

func (w *world) close() {
	w.t.Helper()
	if w.store == nil {
		return
	}
	if err := w.store.Close(); err != nil {
		w.t.Error(err)
	}
	w.engine, w.store, w.db = nil, nil, nil
}

// Plan implements engine.Plans.
func (w *world) Plan(_ context.Context, revision int64) (*plan.Plan, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.plans[revision]
	if p == nil {
		return nil, fmt.Errorf("find revision: %w", store.ErrNotFound)
	}
	return p, nil
}

// Put and Get implement Blobs.
func (w *world) Put(ctx context.Context, data []byte) ([]byte, error) {
	if w.poison != nil {
		return nil, w.poison
	}
	digest := sha256.Sum256(data)
	err := w.store.Update(ctx, func(tx *store.Tx) error { return tx.ReserveBlob(digest[:], int64(len(data))) })
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.blobs[string(digest[:])] = append([]byte(nil), data...)
	return digest[:], nil
}

func (w *world) Get(_ context.Context, digest []byte) ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	data, ok := w.blobs[string(digest)]
	if !ok {
		return nil, store.ErrNotFound
	}
	return data, nil
}

// define compiles a definition that consists of tasks (YAML, not indented).
func (w *world) define(tasks string) int64 {
	w.t.Helper()
	return w.defineAll("do:\n" + indent(tasks))
}

// defineAll compiles a definition without its document.
func (w *world) defineAll(body string) int64 {
	w.t.Helper()
	p := compile(w.t, body)
	w.mu.Lock()
	defer w.mu.Unlock()
	revision := int64(len(w.plans) + 1_000) // above those that have rows
	w.plans[revision] = p
	return revision
}

// deploy makes a published workflow of tasks, of namespace test and version 1.0.0, that
// others can start. It is the same after a restart.
func (w *world) deploy(name, tasks string) int64 {
	w.t.Helper()
	p := compile(w.t, "do:\n"+indent(tasks))
	id := chargehand.WorkflowID(w.id())
	flow := store.Workflow{ID: id, Account: w.account.No, Namespace: "test", Name: name, CreatedMs: int64(w.ids), UpdatedMs: int64(w.ids)}
	revision := store.Revision{Version: "1.0.0", Number: 1, CreatedMs: 1}
	err := w.store.Update(context.Background(), func(tx *store.Tx) error {
		if err := tx.InsertWorkflow(&flow); err != nil {
			return err
		}
		digest := sha256.Sum256([]byte(name))
		definition := store.Definition{Account: w.account.No, Digest: digest[:], MediaType: "application/yaml", Source: []byte(tasks)}
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
		w.t.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.plans[revision.No] = p
	return revision.No
}

// setSecret writes the next version of a secret, as JSON.
func (w *world) setSecret(name, value string) {
	w.t.Helper()
	err := w.store.Update(context.Background(), func(tx *store.Tx) error {
		last, err := tx.LastSecret(w.account.No, chargehand.Live, name)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		place := secret.Place{Account: w.account.No, Environment: uint8(chargehand.Live), Name: name, Version: last.Version + 1}
		return tx.PutSecret(&store.Secret{
			Account: place.Account, Environment: chargehand.Live, Name: name, Version: place.Version, Sealed: w.sealer.Seal(place, []byte(value)),
		})
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// allEnd waits until every execution has ended and nothing is owed between any.
func (w *world) allEnd(atMost time.Duration) {
	w.t.Helper()
	deadline := time.Now().Add(atMost)
	for {
		var owed store.StateCounts
		var due []store.Child
		w.view(func(r *store.Reader) (err error) {
			if owed, err = r.CountUnfinished(); err == nil {
				due, err = dueChildren(r)
			}
			return err
		})
		if owed == (store.StateCounts{}) && len(due) == 0 {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("%v have not ended, due are %+v\n%s", owed, due, w.log)
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
func (w *world) id() (id [16]byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ids++
	ms := time.Now().UnixMilli()
	binary.BigEndian.PutUint64(id[:8], uint64(ms)<<16|0x7000)
	binary.BigEndian.PutUint64(id[8:], 0x8000000000000000|w.ids)
	return id
}

func (w *world) row(revision int64, input string) store.Execution {
	return store.Execution{
		ID: chargehand.ExecutionID(w.id()), Account: w.account.No, Environment: chargehand.Live, Workflow: revision, Revision: revision,
		Input: store.Payload{Inline: []byte(input), Size: int64(len(input))},
	}
}

func (w *world) startOne(revision int64, input string) (store.Execution, error) {
	return w.startIn(chargehand.Live, revision, input)
}

func (w *world) startIn(env chargehand.Environment, revision int64, input string) (store.Execution, error) {
	p, err := w.Plan(context.Background(), revision)
	if err != nil {
		return store.Execution{}, err
	}
	v, err := value.Parse([]byte(input), value.Limits{})
	if err != nil {
		return store.Execution{}, err
	}
	row := w.row(revision, input)
	row.Environment = env
	return w.engine.Start(context.Background(), engine.Start{Row: row, Plan: p, Input: v})
}

// runTest is run in the environment test.
func (w *world) runTest(revision int64, input string) store.Execution {
	w.t.Helper()
	row, err := w.startIn(chargehand.Test, revision, input)
	if err != nil {
		w.t.Fatal(err)
	}
	return row
}

// run starts an execution and fails the test if it is refused.
func (w *world) run(revision int64, input string) store.Execution {
	w.t.Helper()
	row, err := w.startOne(revision, input)
	if err != nil {
		w.t.Fatal(err)
	}
	return row
}

// batch inserts a batch of items and tells the engine.
func (w *world) batch(revision int64, concurrency int, inputs []string) store.Batch {
	w.t.Helper()
	b := store.Batch{
		ID: chargehand.BatchID(w.id()), Account: w.account.No, Environment: chargehand.Live,
		Workflow: revision, Revision: revision, Concurrency: concurrency, RequestedConcurrency: concurrency, Total: int64(len(inputs)),
	}
	err := w.store.Update(context.Background(), func(tx *store.Tx) error {
		if err := tx.InsertBatch(&b); err != nil {
			return err
		}
		for i, input := range inputs {
			row := w.row(revision, input)
			row.Batch, row.Item, row.Machine = b.No, int64(i), machine.Revision
			row.Status, row.Phase, row.State = chargehand.Initial, chargehand.Pending, store.StateQueued
			if err := tx.InsertExecution(&row); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.engine.BatchReady(b.No)
	return b
}

func (w *world) view(fn func(r *store.Reader) error) {
	w.t.Helper()
	if err := w.store.View(context.Background(), fn); err != nil {
		w.t.Fatal(err)
	}
}

// emitted reads the events that executions have emitted.
func (w *world) emitted() (events []value.Value) {
	w.t.Helper()
	w.view(func(r *store.Reader) error {
		events = nil
		return r.Events(w.account.No, chargehand.Live, 0, math.MaxInt64, math.MaxInt32, func(e *store.Event) (bool, error) {
			if !e.Origin.IsZero() {
				events = append(events, parseInput(w.t, string(e.Data.Inline)))
			}
			return true, nil
		})
	})
	return events
}

func (w *world) read(no int64) (row store.Execution) {
	w.t.Helper()
	w.view(func(r *store.Reader) (err error) {
		row, err = r.ExecutionByNo(no)
		return err
	})
	return row
}

func (w *world) journalLength(row store.Execution) (n int) {
	w.t.Helper()
	w.view(func(r *store.Reader) error {
		return r.Journal(row.No, 0, func(*store.JournalRow) error {
			n++
			return nil
		})
	})
	return n
}

func (w *world) readBatch(no int64) (b store.Batch) {
	w.t.Helper()
	w.view(func(r *store.Reader) (err error) {
		b, err = r.BatchByNo(no)
		return err
	})
	return b
}

func (w *world) items(batch int64) (rows []store.Execution) {
	w.t.Helper()
	w.view(func(r *store.Reader) error {
		return r.BatchItems(batch, -1, 100_000, nil, func(row *store.Execution) error {
			rows = append(rows, *row)
			return nil
		})
	})
	return rows
}

// finalIn waits for the end of an execution.
func (w *world) finalIn(row store.Execution, atMost time.Duration) store.Execution {
	w.t.Helper()
	return awaitChange(w, row.ID, atMost, "final", func() (store.Execution, bool) {
		row := w.read(row.No)
		return row, row.Status.Final()
	})
}

// blocked waits until a call that blocks has started.
func (w *world) blocked() activity.Call {
	w.t.Helper()
	select {
	case c := <-w.outside.started:
		return c
	case <-time.After(patience):
		w.t.Fatalf("no call that blocks is started\n%s", w.log)
		return activity.Call{}
	}
}

const patience = 20 * time.Second

// awaitChange reads again at each change of status.
func awaitChange[T any](w *world, id [16]byte, atMost time.Duration, what string, read func() (T, bool)) T {
	w.t.Helper()
	deadline := time.NewTimer(atMost)
	defer deadline.Stop()
	for {
		changed, stop := w.engine.Watch(id)
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
			w.t.Fatalf("not %s: %+v\n%s", what, value, w.log)
		}
	}
}

// final waits for the end of an execution.
func (w *world) final(row store.Execution) store.Execution {
	w.t.Helper()
	return w.finalIn(row, patience)
}

func (w *world) finalBatch(b store.Batch) store.Batch {
	w.t.Helper()
	return awaitChange(w, b.ID, patience, "final", func() (store.Batch, bool) {
		b := w.readBatch(b.No)
		return b, b.Status.Final()
	})
}

// result is the output of an execution as JSON, or its fault's code.
func (w *world) result(no int64) string {
	w.t.Helper()
	var o store.Outcome
	w.view(func(r *store.Reader) (err error) {
		o, err = r.Outcome(no)
		return err
	})
	if o.Fault != nil {
		f, err := engine.DecodeFault(o.Fault)
		if err != nil {
			w.t.Fatal(err)
		}
		return "fault " + f.Code
	}
	if o.Output.Blob != nil {
		data, err := w.Get(context.Background(), o.Output.Blob)
		if err != nil {
			w.t.Fatal(err)
		}
		return string(data)
	}
	return string(o.Output.Inline)
}

// story is the timeline without times.
func (w *world) story(no int64) string {
	w.t.Helper()
	entries, truncated, err := w.engine.Timeline(context.Background(), no)
	if err != nil {
		w.t.Fatal(err)
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

// outside is the world that activities reach. What an activity does depends on its address
// (http) or command (shell): the last path segments say it.
type outside struct {
	mu      sync.Mutex
	runs    map[string]int      // by idempotency key
	keys    map[string][]string // of calls that may fail, by execution and task, in order
	blocked map[string]chan struct{}
	files   func() []machine.File

	started chan callSeen // if set, told of each start of a call that blocks
	look    func()        // if set, called in each call
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
	if o.look != nil {
		o.look()
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
func (w *world) idle(active int) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*patience)
	defer cancel()
	if active == 0 && !w.engine.work.wait(ctx) {
		w.t.Fatalf("the engine is never idle\n%s", w.log)
	}
	if held := w.engine.slots.heldBy(w.account.No); held != active {
		w.t.Fatalf("%d slots are held, want %d", held, active)
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
