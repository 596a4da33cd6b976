package service

import (
	"context"
	"errors"
	"fmt"
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

// start of the clock of all tests.
var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// world is a service over a real database and a fake engine, whose clock stands still
// until a test moves it.
type world struct {
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

func newWorld(t testing.TB, change ...func(*Config)) *world {
	t.Helper()
	return worldOver(t, openSQLite(t), change...)
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

// worldOver is a world over a database that it closes.
func worldOver(t testing.TB, opened store.DB, change ...func(*Config)) *world {
	t.Helper()
	w := &world{t: t}
	dir := t.TempDir()
	w.db = &countingDB{DB: opened}
	w.rows = store.New(w.db)
	t.Cleanup(func() {
		w.db.broken.Store(false)
		if err := w.rows.Close(); err != nil {
			t.Error(err)
		}
	})
	var err error
	w.blobs, err = blob.OpenFolder(blob.Config{Folder: filepath.Join(dir, "files"), Protect: func(ctx context.Context, d blob.Digest, size int64) error {
		return w.rows.Update(ctx, func(tx *store.Tx) error { return tx.ReserveBlob(d[:], size) })
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.blobs.Close() })
	w.engine = &fakeEngine{rows: w.rows, now: w.now, watched: map[[16]byte]chan struct{}{}}
	w.plans = NewPlans(w.rows, plan.Options{Run: []string{"js"}})
	config := Config{
		Store: w.rows, Engine: w.engine, Plans: w.plans, Blobs: w.blobs, Now: w.now,
		Pepper: []byte(strings.Repeat("p", 32)), LinkKey: []byte(strings.Repeat("l", 32)),
		Sealer: testSealer(t),
	}
	for _, c := range change {
		c(&config)
	}
	w.Service = New(config)
	if w.account, err = FirstAccount(t.Context(), w.rows, epoch); err != nil {
		t.Fatal(err)
	}
	w.p = w.principal(chargehand.Live, PresetAll)
	w.test = w.principal(chargehand.Test, PresetAll.In(chargehand.Test))
	return w
}

func (w *world) now() time.Time { return epoch.Add(time.Duration(w.clock.Load())) }

func (w *world) pass(d time.Duration) { w.clock.Add(int64(d)) }

func (w *world) principal(env chargehand.Environment, scopes Scopes, only ...chargehand.WorkflowID) *Principal {
	return &Principal{
		Account: w.account.ID, AccountNo: w.account.No, Environment: env, Scopes: scopes, Workflows: only, Limits: store.Limits{Workflows: only},
		Key: newID[chargehand.KeyID](w.nowMs()), KeyNo: w.clock.Load() + 1000,
	}
}

// stranger is a principal of another account.
func (w *world) stranger() *Principal {
	w.t.Helper()
	other := store.Account{ID: newID[chargehand.AccountID](w.nowMs()), Name: "other", CreatedMs: w.nowMs()}
	if err := w.rows.Update(w.t.Context(), func(tx *store.Tx) error { return tx.InsertAccount(&other) }); err != nil {
		w.t.Fatal(err)
	}
	p := w.principal(chargehand.Live, PresetAll)
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

func (w *world) apply(source []byte) *AppliedWorkflow {
	w.t.Helper()
	return w.applyAs(w.p, source, false)
}

func (w *world) applyAs(p *Principal, source []byte, draft bool) *AppliedWorkflow {
	w.t.Helper()
	applied, _, err := w.ApplyWorkflow(w.t.Context(), p, ApplyWorkflow{Definition: source, MediaType: mediaYAML, Draft: draft})
	if err != nil {
		w.t.Fatal(err)
	}
	return applied
}

func (w *world) create(workflow chargehand.WorkflowID, input map[string]any) *Execution {
	w.t.Helper()
	return w.createAs(w.p, workflow, input)
}

func (w *world) createAs(p *Principal, workflow chargehand.WorkflowID, input map[string]any) *Execution {
	w.t.Helper()
	e, _, err := w.CreateExecution(w.t.Context(), p, CreateExecution{Workflow: workflow, Body: map[string]any{"input": input}})
	if err != nil {
		w.t.Fatal(err)
	}
	return e
}

// view is how tests look at things.
var view = View{BaseURL: "https://example.com"}

func (w *world) get(e *Execution) *Execution {
	w.t.Helper()
	got, err := w.GetExecution(w.t.Context(), w.p, e.Workflow, e.ID, view)
	if err != nil {
		w.t.Fatal(err)
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

// wantPointers checks the places that an error names.
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
	rows   *store.Store
	now    func() time.Time
	refuse error // of the next starts
	atOnce bool  // end executions when they start

	mu      sync.Mutex
	starts  []engine.Start
	ready   []int64
	reasons []string
	watched map[[16]byte]chan struct{}
	lines   []machine.Entry
	cut     bool
	waiting chan struct{} // gets a value when somebody starts to watch; may be nil
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

func (f *fakeEngine) Cancel(ctx context.Context, id chargehand.ExecutionID, reason string, also ...engine.InTx) error {
	f.mu.Lock()
	f.reasons = append(f.reasons, reason)
	f.mu.Unlock()
	return f.end(ctx, id, chargehand.Errored, chargehand.Cancelled, &store.Outcome{
		Fault: engine.EncodeFault(&machine.Fault{Type: machine.ErrRuntime, Status: 500, Title: "Cancelled", Detail: reason, Code: machine.CodeCancelled}),
	}, also...)
}

// end makes an execution final.
func (f *fakeEngine) end(ctx context.Context, id chargehand.ExecutionID, status chargehand.Status, phase chargehand.Phase, o *store.Outcome, also ...engine.InTx) error {
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
		return alsoDo(tx, also)
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
func (w *world) finish(e chargehand.ExecutionID, output string) {
	w.t.Helper()
	err := w.engine.end(context.Background(), e, chargehand.Finished, chargehand.Completed, &store.Outcome{Output: inline(output)})
	if err != nil {
		w.t.Fatal(err)
	}
}

// run moves an execution to processing.
func (w *world) run(e chargehand.ExecutionID, run store.ExecutionState) {
	w.t.Helper()
	err := w.rows.Update(context.Background(), func(tx *store.Tx) error {
		row, err := tx.FindExecution(e)
		if err != nil {
			return err
		}
		return tx.SetStatus(row.No, chargehand.Processing, chargehand.Running, run, w.nowMs())
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.engine.notify(e)
}

func alsoDo(tx *store.Tx, also []engine.InTx) error {
	for _, do := range also {
		if err := do(tx); err != nil {
			return err
		}
	}
	return nil
}

func (f *fakeEngine) CancelBatch(ctx context.Context, id chargehand.BatchID, reason string, also ...engine.InTx) error {
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
		return alsoDo(tx, also)
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
	if f.waiting != nil {
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
}

func (f *fakeEngine) Timeline(context.Context, int64) ([]machine.Entry, bool, error) {
	return f.lines, f.cut, nil
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
	master, err := secret.LoadOrCreate(filepath.Join(t.TempDir(), "master.key"))
	if err != nil {
		t.Fatal(err)
	}
	return secret.NewSealer(master)
}
