package service

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/blob"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/sqlite"
	"github.com/chargehand/chargehand/internal/store/storetest"
	"github.com/chargehand/chargehand/internal/value"
)

// localhost is where requests of tests come from.
var localhost = netip.MustParseAddr("127.0.0.1")

// epoch is the time at which the clock of each test starts.
var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fixture is a service over a real database and a fake engine, whose clock stands still
// until a test moves it.
type fixture struct {
	*Service
	t      testing.TB
	db     *countingDB
	rows   *store.Store
	engine *fakeEngine
	blobs  *blob.Store
	plans  *Plans
	clock  atomic.Int64 // nanoseconds since epoch

	account store.Account
	p       *Principal // live, all scopes
	test    *Principal // test, all scopes
}

// countingDB counts the queries and can fail.
type countingDB struct {
	store.DB
	views, updates atomic.Int64
	broken         atomic.Bool
}

func (db *countingDB) View(ctx context.Context, fn func(store.Conn) error) error {
	db.views.Add(1)
	if db.broken.Load() {
		return store.ErrUnavailable
	}
	return db.DB.View(ctx, fn)
}

func (db *countingDB) Update(ctx context.Context, fn func(store.Conn) error) error {
	db.updates.Add(1)
	if db.broken.Load() {
		return store.ErrUnavailable
	}
	return db.DB.Update(ctx, fn)
}

func newFixture(t testing.TB, change ...func(*Config)) *fixture {
	t.Helper()
	return newFixtureOver(t, openSQLite(t), change...)
}

var template = storetest.Template{Open: func(path string) (store.DB, error) {
	return sqlite.Open(sqlite.Options{Path: path, Owner: true})
}}

// openSQLite opens a new database. In tests every transaction runs twice, and the first run
// is undone, because PostgreSQL may ask for that; benchmarks measure without.
func openSQLite(t testing.TB) store.DB {
	t.Helper()
	db := template.New(t)
	if _, measured := t.(*testing.B); measured {
		return db
	}
	return storetest.Twice(db)
}

// newFixtureOver is a fixture over a database that it closes.
func newFixtureOver(t testing.TB, opened store.DB, change ...func(*Config)) *fixture {
	t.Helper()
	fx := &fixture{t: t}
	dir := t.TempDir()
	fx.db = &countingDB{DB: opened}
	fx.rows = store.New(fx.db)
	t.Cleanup(func() {
		fx.db.broken.Store(false)
		if err := fx.rows.Close(); err != nil {
			t.Error(err)
		}
	})
	var err error
	fx.blobs, err = blob.OpenFolder(blob.Config{Folder: filepath.Join(dir, "files"), Protect: func(ctx context.Context, d blob.Digest, size int64) error {
		return fx.rows.Update(ctx, func(tx *store.Tx) error { return tx.ReserveBlob(d.Bytes(), size) })
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { fx.blobs.Close() })
	fx.engine = &fakeEngine{rows: fx.rows, now: fx.now, watched: map[[16]byte]chan struct{}{}}
	fx.plans = NewPlans(fx.rows, plan.Options{Run: []string{"js"}})
	config := Config{
		Store: fx.rows, Engine: fx.engine, Plans: fx.plans, Blobs: fx.blobs, Now: fx.now,
		Pepper: []byte(strings.Repeat("p", 32)), LinkKey: []byte(strings.Repeat("l", 32)),
		Sealer: testSealer(t),
	}
	for _, c := range change {
		c(&config)
	}
	fx.Service = New(config)
	if fx.account, err = FirstAccount(t.Context(), fx.rows, epoch); err != nil {
		t.Fatal(err)
	}
	fx.p = fx.principal(chargehand.Live, PresetAll)
	fx.test = fx.principal(chargehand.Test, PresetAll.In(chargehand.Test))
	return fx
}

func (fx *fixture) now() time.Time { return epoch.Add(time.Duration(fx.clock.Load())) }

func (fx *fixture) pass(d time.Duration) { fx.clock.Add(int64(d)) }

func (fx *fixture) principal(env chargehand.Environment, scopes Scopes, only ...chargehand.WorkflowID) *Principal {
	return &Principal{
		Account: fx.account.ID, AccountNo: fx.account.No, Environment: env, Scopes: scopes, Workflows: only, Limits: store.Limits{Workflows: only},
		Key: newID[chargehand.KeyID](fx.nowMs()), KeyNo: fx.clock.Load() + 1000,
	}
}

// stranger is a principal of another account.
func (fx *fixture) stranger() *Principal {
	fx.t.Helper()
	other := store.Account{ID: newID[chargehand.AccountID](fx.nowMs()), Name: "other", CreatedMs: fx.nowMs()}
	if err := fx.rows.Update(fx.t.Context(), func(tx *store.Tx) error { return tx.InsertAccount(&other) }); err != nil {
		fx.t.Fatal(err)
	}
	p := fx.principal(chargehand.Live, PresetAll)
	p.Account, p.AccountNo = other.ID, other.No
	return p
}

// definition is a trivial workflow; the fake engine does not run it.
func definition(name, version string, more ...string) []byte {
	text := fmt.Sprintf("document:\n  dsl: '1.0.3'\n  namespace: test\n  name: %s\n  version: '%s'\n", name, version)
	return []byte(text + strings.Join(more, "") + "do:\n  - greet:\n      wait: PT1S\n")
}

// wantsText is an input schema with one text.
const wantsText = "input:\n  schema:\n    document:\n      type: object\n      required: [text]\n      properties:\n        text: {type: string}\n"

func (fx *fixture) apply(source []byte) *AppliedWorkflow {
	fx.t.Helper()
	return fx.applyAs(fx.p, source, false)
}

func (fx *fixture) applyAs(p *Principal, source []byte, draft bool) *AppliedWorkflow {
	fx.t.Helper()
	applied, _, err := fx.ApplyWorkflow(fx.t.Context(), p, ApplyWorkflow{Definition: source, MediaType: mediaYAML, Draft: draft})
	if err != nil {
		fx.t.Fatal(err)
	}
	return applied
}

func (fx *fixture) create(workflow chargehand.WorkflowID, input map[string]any) *Execution {
	fx.t.Helper()
	return fx.createAs(fx.p, workflow, input)
}

func (fx *fixture) createAs(p *Principal, workflow chargehand.WorkflowID, input map[string]any) *Execution {
	fx.t.Helper()
	e, _, err := fx.CreateExecution(fx.t.Context(), p, CreateExecution{Workflow: workflow, Body: map[string]any{"input": input}})
	if err != nil {
		fx.t.Fatal(err)
	}
	return e
}

// view is how tests read executions and batches.
var view = View{BaseURL: "https://example.com"}

func (fx *fixture) get(e *Execution) *Execution {
	fx.t.Helper()
	got, err := fx.GetExecution(fx.t.Context(), fx.p, e.Workflow, e.ID, view)
	if err != nil {
		fx.t.Fatal(err)
	}
	return got
}

// wantCode checks that err is one that callers see, with that code. It returns it.
func wantCode(t testing.TB, err error, code chargehand.Code) *chargehand.Error {
	t.Helper()
	var shown *chargehand.Error
	if !errors.As(err, &shown) || shown.Code != code {
		t.Fatalf("error is %v, want code %s", err, code)
	}
	if shown.Detail == "" {
		t.Errorf("error %s has no detail", code)
	}
	return shown
}

// wantPointers checks the pointers that an error names.
func wantPointers(t testing.TB, err *chargehand.Error, pointers ...string) {
	t.Helper()
	var got []string
	for _, f := range err.Fields {
		got = append(got, f.Pointer)
		if f.Code == "" || f.Detail == "" {
			t.Errorf("field %+v lacks code or detail", f)
		}
	}
	if !slices.Equal(got, pointers) {
		t.Errorf("error names %q, want %q", got, pointers)
	}
}

// fakeEngine accepts executions and leaves it to the test to end them.
type fakeEngine struct {
	rows     *store.Store
	now      func() time.Time
	refuse   error  // of the next starts
	atOnce   bool   // end executions when they start
	answered func() // called after each answer

	mu      sync.Mutex
	starts  []engine.Start
	ready   []int64
	reasons []string
	watched map[[16]byte]chan struct{}
	lines   []machine.Entry
	plan    *plan.Plan
	cut     bool
	moving  bool          // a part of the timeline is on its way to the database
	waiting chan struct{} // gets a value when a request watches what is there, or has started what it watches; may be nil
	tells   bool          // Follow tells of changes
	follows map[*func()][16]byte
	read    atomic.Int64 // timelines
}

func (f *fakeEngine) Follow(id [16]byte, moved func()) (stop func(), notifies bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.follows == nil {
		f.follows = make(map[*func()][16]byte)
	}
	f.follows[&moved] = id
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.follows, &moved)
	}, f.tells
}

// traced makes the timeline of every execution another one.
func (f *fakeEngine) traced(id [16]byte, lines ...machine.Entry) {
	f.mu.Lock()
	f.lines = lines
	f.mu.Unlock()
	f.notify(id)
}

func (f *fakeEngine) Start(ctx context.Context, s engine.Start) (store.Execution, error) {
	f.mu.Lock()
	if f.refuse != nil {
		f.mu.Unlock()
		return store.Execution{}, f.refuse
	}
	f.starts = append(f.starts, s)
	f.mu.Unlock()
	row := s.Row
	row.Status, row.Phase, row.State, row.Machine = chargehand.Initial, chargehand.Pending, store.StateQueued, machine.Revision
	err := f.rows.Update(ctx, func(tx *store.Tx) error {
		if f.atOnce {
			row.Status, row.Phase, row.State = chargehand.Finished, chargehand.Completed, store.StateEnded
			row.StartedMs, row.FinishedMs = f.now().UnixMilli(), f.now().UnixMilli()
			if err := tx.InsertFinished(&row, &store.Outcome{Output: inline(`{"done":true}`)}); err != nil {
				return err
			}
		} else if err := tx.InsertExecution(&row); err != nil {
			return err
		}
		if s.InTx != nil {
			return s.InTx(tx, row.No)
		}
		return nil
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil && f.waiting != nil && f.watched[row.ID] != nil {
		f.waiting <- struct{}{}
	}
	return row, err
}

func inline(text string) store.Payload {
	return store.Payload{Inline: []byte(text), Size: int64(len(text))}
}

// Publish stores nothing: events are the business of the engines.
func (f *fakeEngine) Publish(context.Context, engine.Publisher, []map[string]any) error {
	return nil
}

func (f *fakeEngine) BatchReady(batch int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ready = append(f.ready, batch)
}

func (f *fakeEngine) Cancel(ctx context.Context, id chargehand.ExecutionID, reason string, inTx ...engine.InTx) error {
	f.mu.Lock()
	f.reasons = append(f.reasons, reason)
	f.mu.Unlock()
	return f.end(ctx, id, chargehand.Errored, chargehand.Cancelled, &store.Outcome{
		Fault: engine.EncodeFault(&machine.Fault{Type: machine.ErrRuntime, Status: 500, Title: "Cancelled", Detail: reason, Code: machine.CodeCancelled}),
	}, inTx...)
}

func (f *fakeEngine) AnswerTask(ctx context.Context, a engine.TaskAnswer) error {
	err := f.rows.Update(ctx, func(tx *store.Tx) error { return a.Write(tx, true) })
	if f.answered != nil {
		f.answered()
	}
	return err
}

func (f *fakeEngine) Suspend(ctx context.Context, id chargehand.ExecutionID, inTx ...engine.InTx) error {
	return f.suspend(ctx, id, true, inTx)
}

func (f *fakeEngine) Resume(ctx context.Context, id chargehand.ExecutionID, inTx ...engine.InTx) error {
	return f.suspend(ctx, id, false, inTx)
}

func (f *fakeEngine) suspend(ctx context.Context, id chargehand.ExecutionID, on bool, inTx []engine.InTx) error {
	return f.rows.Update(ctx, func(tx *store.Tx) error {
		row, err := tx.FindExecution(id)
		if err == nil && row.Status.Final() {
			err = engine.ErrFinal
		}
		if err == nil {
			err = engine.CheckSuspension(on, row.Phase == chargehand.Suspended)
		}
		if err == nil {
			_, err = tx.SetSuspended(row.No, on)
		}
		if err != nil {
			return err
		}
		return engine.RunInTx(tx, inTx)
	})
}

// end makes an execution final.
func (f *fakeEngine) end(ctx context.Context, id chargehand.ExecutionID, status chargehand.Status, phase chargehand.Phase, o *store.Outcome, inTx ...engine.InTx) error {
	var batch int64
	err := f.rows.Update(ctx, func(tx *store.Tx) error {
		row, err := tx.FindExecution(id)
		if err != nil {
			return err
		}
		if row.Status.Final() {
			return engine.ErrFinal
		}
		batch = row.Batch
		nowMs := f.now().UnixMilli()
		_, err = tx.FinishExecution(row.No, status, phase, nowMs, nowMs+5, o)
		if errors.Is(err, store.ErrConflict) {
			return engine.ErrFinal // another node was first
		}
		if err != nil {
			return err
		}
		return runInTx(tx, inTx)
	})
	f.notify(id)
	if batch != 0 {
		var row store.Batch
		if err := f.rows.View(ctx, func(r *store.Reader) (err error) {
			row, err = r.BatchByNo(batch)
			return err
		}); err == nil {
			f.notify(row.ID)
		}
	}
	return err
}

// finish completes an execution with that output.
func (fx *fixture) finish(e chargehand.ExecutionID, output string) {
	fx.t.Helper()
	err := fx.engine.end(context.Background(), e, chargehand.Finished, chargehand.Completed, &store.Outcome{Output: inline(output)})
	if err != nil {
		fx.t.Fatal(err)
	}
}

// run moves an execution to processing.
func (fx *fixture) run(e chargehand.ExecutionID, run store.ExecutionState) {
	fx.t.Helper()
	err := fx.rows.Update(context.Background(), func(tx *store.Tx) error {
		row, err := tx.FindExecution(e)
		if err != nil {
			return err
		}
		return tx.SetStatus(row.No, chargehand.Processing, chargehand.Running, run, fx.nowMs(), store.Waits{})
	})
	if err != nil {
		fx.t.Fatal(err)
	}
	fx.engine.notify(e)
}

func runInTx(tx *store.Tx, inTx []engine.InTx) error {
	for _, do := range inTx {
		if err := do(tx); err != nil {
			return err
		}
	}
	return nil
}

func (f *fakeEngine) CancelBatch(ctx context.Context, id chargehand.BatchID, reason string, inTx ...engine.InTx) error {
	f.mu.Lock()
	f.reasons = append(f.reasons, reason)
	f.mu.Unlock()
	err := f.rows.Update(ctx, func(tx *store.Tx) error {
		b, err := tx.FindBatch(id)
		if err != nil {
			return err
		}
		if b.Status.Final() {
			return engine.ErrFinal
		}
		if _, err := tx.SetBatchCancelled(b.No, reason); errors.Is(err, store.ErrConflict) {
			return engine.ErrFinal // another node was first
		} else if err != nil {
			return err
		}
		fault := engine.EncodeFault(&machine.Fault{Type: machine.ErrRuntime, Status: 500, Code: machine.CodeCancelled})
		if _, _, err = tx.CancelQueuedItems(b.No, int(b.Total), f.now().UnixMilli(), fault); err != nil {
			return err
		}
		return runInTx(tx, inTx)
	})
	f.notify(id)
	return err
}

func (f *fakeEngine) Watch(id [16]byte) (<-chan struct{}, func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.watched[id] == nil {
		f.watched[id] = make(chan struct{})
	}
	there := false
	_ = f.rows.View(context.Background(), func(r *store.Reader) error {
		return r.Statuses([][16]byte{id}, func([16]byte, int64) { there = true })
	})
	if there && f.waiting != nil {
		f.waiting <- struct{}{}
	}
	return f.watched[id], func() {}
}

func (f *fakeEngine) notify(id [16]byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.watched[id]; c != nil {
		close(c)
		delete(f.watched, id)
	}
	for moved, followed := range f.follows {
		if followed == id && f.tells {
			(*moved)()
		}
	}
}

func (f *fakeEngine) Timeline(context.Context, int64) (*engine.Timeline, error) {
	f.read.Add(1)
	f.mu.Lock()
	defer f.mu.Unlock()
	return &engine.Timeline{Records: machine.RecordsOf(f.lines), Truncated: f.cut, Moving: f.moving}, nil
}

func (f *fakeEngine) Progress(context.Context, int64) (*engine.Progress, error) {
	var tally machine.Tally
	tally = tally.Count(machine.RecordsOf(f.lines))
	return &engine.Progress{Plan: f.plan, Tasks: tally.Tasks(), Truncated: f.cut}, nil
}

func (f *fakeEngine) Ready() bool { return true }

// parse reads JSON as the caller of the service does.
func parse(t testing.TB, text string) value.Value {
	t.Helper()
	v, err := value.Parse([]byte(text), value.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// testSealer seals under a key that no other test has.
func testSealer(t testing.TB) *secret.Sealer {
	t.Helper()
	return secret.NewSealer(secret.NewKeys())
}
