package temporal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	runner "github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/eventstream"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/machine/machinetest"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/sqlite"
	"github.com/chargehand/chargehand/internal/store/storetest"
	"github.com/chargehand/chargehand/internal/value"
)

// workerFixture is what workers of a test share: a database, and the outside that activities reach.
type workerFixture struct {
	t       testing.TB
	store   *store.Store
	account store.Account
	queue   string
	outside func(ctx context.Context, c runner.Call) runner.Result

	wake func(execution int64) // if set, tells a workflow that there are events

	unseal func(id chargehand.ExecutionID, chunk []byte) []byte // of timelines

	lender *workerFixture // has contents and ids for several fixtures in one database

	mu    sync.Mutex
	blobs map[string][]byte
	freed int
}

// template is what databases of SQLite begin with.
var template = storetest.Template{Open: func(path string) (store.DB, error) {
	return sqlite.Open(sqlite.Options{Path: path, Owner: true})
}}

func newWorkerFixture(t testing.TB) *workerFixture {
	t.Helper()
	return newWorkerFixtureOn(t, template.New(t))
}

func newWorkerFixtureOn(t testing.TB, db store.DB) *workerFixture {
	t.Helper()
	o := &workerFixture{
		t: t, store: store.New(db), queue: "test",
		blobs: make(map[string][]byte),
	}
	t.Cleanup(func() {
		if !t.Failed() {
			storetest.CheckTaskFacts(t, db)
		}
		o.store.Close()
	})
	o.account = store.Account{ID: chargehand.AccountID{1}, Name: "test", CreatedMs: 1}
	o.update(func(tx *store.Tx) error { return tx.InsertAccount(&o.account) })
	return o
}

func (o *workerFixture) update(fn func(*store.Tx) error) {
	o.t.Helper()
	if err := o.store.Update(context.Background(), fn); err != nil {
		o.t.Fatal(err)
	}
}

func (o *workerFixture) view(fn func(*store.Reader) error) {
	o.t.Helper()
	if err := o.store.View(context.Background(), fn); err != nil {
		o.t.Fatal(err)
	}
}

// publish stores events from outside.
func (o *workerFixture) publish(envelopes []value.Value) {
	o.t.Helper()
	list := make([]eventstream.Publication, len(envelopes))
	for i, v := range envelopes {
		list[i] = eventstream.Received(v.(map[string]any))
	}
	if _, err := eventstream.Publish(context.Background(), o.store, o, engine.Publisher{Account: o.account.No, Environment: chargehand.Live}, list, time.Now().UnixMilli()); err != nil {
		o.t.Error(err)
	}
	o.matcher()
}

// matcher wakes who listens, if the test has no engine that does.
func (o *workerFixture) matcher() {
	if o.wake == nil {
		return
	}
	m := eventstream.NewMatcher(eventstream.MatcherConfig{Store: o.store, Reader: eventstream.NewReader(o.store, o)})
	for more := true; more; {
		done, err := m.Step(context.Background(), eventstream.ID{Account: o.account.No, Environment: chargehand.Live})
		if err != nil {
			o.t.Error(err)
		}
		for _, s := range done.Woken {
			o.wake(s.Execution)
		}
		more = done.More
	}
}

// emitted are the events that an execution has published.
func (o *workerFixture) emitted(id chargehand.ExecutionID) (events []value.Value) {
	o.t.Helper()
	o.view(func(r *store.Reader) error {
		return r.Events(o.account.No, chargehand.Live, 0, 1<<40, 10_000, func(e *store.Event) (bool, error) {
			if e.Origin == id {
				events = append(events, parsed(o.t, e.Data.Inline))
			}
			return true, nil
		})
	})
	return events
}

// Put and Get implement engine.Blobs.
func (o *workerFixture) Put(ctx context.Context, data []byte) ([]byte, error) {
	if o.lender != nil {
		return o.lender.Put(ctx, data)
	}
	sum := sha256.Sum256(data)
	o.mu.Lock()
	o.blobs[string(sum[:])] = bytes.Clone(data)
	o.mu.Unlock()
	return sum[:], o.store.Update(ctx, func(tx *store.Tx) error {
		return tx.ReserveBlob(sum[:], time.Now().UnixMilli())
	})
}

func (o *workerFixture) Get(ctx context.Context, digest []byte) ([]byte, error) {
	if o.lender != nil {
		return o.lender.Get(ctx, digest)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	data, ok := o.blobs[string(digest)]
	if !ok {
		return nil, store.ErrNotFound
	}
	return data, nil
}

// Run implements activity.Runner.
func (o *workerFixture) Run(ctx context.Context, c runner.Call) runner.Result {
	return o.outside(ctx, c)
}

func (o *workerFixture) config() WorkerConfig {
	return WorkerConfig{
		Store: o.store, Blobs: o, Queue: o.queue,
		Activities: map[string]runner.Runner{"http": o, "shell": o, "asyncapi": o},
		Log:        slog.New(slog.DiscardHandler),
		Published: func(account int64, _ chargehand.Environment) {
			if account != o.account.No {
				o.t.Errorf("an event was published for account %d", account)
			}
			o.matcher()
		},
		Freed: func(int64) {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.freed++
		},
	}
}

func (o *workerFixture) id() [16]byte { return newID() }

// accept makes the row of an execution that has its slot, and the argument of its workflow.
func (o *workerFixture) accept(p *plan.Plan, input value.Value) argument {
	o.t.Helper()
	row := store.Execution{
		ID: o.id(), Account: o.account.No, Environment: chargehand.Live, Workflow: 1, Revision: 1, Machine: machine.Revision,
		Status: chargehand.Processing, Phase: chargehand.Running, State: store.StateActive,
	}
	row.StartedMs = row.ID.Milli()
	row.Input.Inline = value.Marshal(input)
	row.Input.Size = int64(len(row.Input.Inline))
	o.update(func(tx *store.Tx) error { return tx.InsertExecution(&row) })
	definition := string(value.Marshal(p.Definition()))
	return argument{
		Execution: row.ID, No: row.No, Account: o.account.ID, Environment: row.Environment,
		Revision: machine.Revision, Runtime: "test", Digest: digestOf(definition, nil), Definition: definition,
		StartedMs: row.StartedMs, Input: row.Input.Inline, Queue: o.queue, TellsWaits: true, TellsEnd: true,
	}
}

// compile compiles what follows the `document` of a definition.
func compile(t testing.TB, definition string) *plan.Plan {
	t.Helper()
	s := machinetest.Script{Definition: definition}
	return s.Compile(t)
}

// cancel ends the row, as a request to the API does. The caller tells the workflow.
func (o *workerFixture) cancel(no int64) {
	cancel := func(tx *store.Tx) error {
		row, err := tx.ExecutionByNo(no)
		if err != nil {
			return err
		}
		_, err = tx.FinishExecution(no, chargehand.Errored, chargehand.Cancelled, row.StartedMs, time.Now().UnixMilli(),
			&store.Outcome{Fault: engine.CancelledFault("by the test")})
		return err
	}
	err := o.store.Update(context.Background(), cancel)
	if errors.Is(err, store.ErrUnavailable) { // a process has died with it, and it is asked for again
		if err = o.store.Update(context.Background(), cancel); errors.Is(err, store.ErrConflict) {
			err = nil
		}
	}
	if err != nil {
		o.t.Error(err)
	}
}

func (o *workerFixture) row(no int64) (row store.Execution) {
	o.t.Helper()
	o.view(func(r *store.Reader) (err error) {
		row, err = r.ExecutionByNo(no)
		return err
	})
	return row
}

func (o *workerFixture) rowOf(id chargehand.ExecutionID) (no int64) {
	o.view(func(r *store.Reader) error {
		row, err := r.FindExecution(id)
		no = row.No
		return err
	})
	return no
}

// hiddenFile makes a file that no outcome has named yet.
func (o *workerFixture) hiddenFile() store.File {
	o.t.Helper()
	digest, err := o.Put(context.Background(), []byte("content"))
	if err != nil {
		o.t.Fatal(err)
	}
	f := store.File{
		ID: o.id(), Account: o.account.No, Environment: chargehand.Live, Name: "f", MediaType: "text/plain", Size: 7, Digest: digest,
	}
	o.update(func(tx *store.Tx) error { return tx.InsertFile(&f) })
	return f
}

// result reads how an execution ended.
func (o *workerFixture) result(a argument, files map[string]machine.File) machinetest.Result {
	o.t.Helper()
	var row store.Execution
	var outcome store.Outcome
	var chunks [][]byte
	o.view(func(r *store.Reader) (err error) {
		if row, err = r.ExecutionByNo(a.No); err != nil {
			return err
		}
		if chunks, err = r.TimelineChunks(a.No); err != nil {
			return err
		}
		outcome, err = r.Outcome(a.No)
		return err
	})
	result := machinetest.Result{Phase: row.Phase, Published: o.emitted(a.Execution)}
	known := 1 // the input
	if outcome.Fault != nil {
		f, err := engine.DecodeFault(outcome.Fault)
		if err != nil {
			o.t.Fatal(err)
		}
		result.Fault = &machine.Fault{Type: f.Type, Status: f.Status, Title: f.Title, Detail: f.Detail, Instance: f.Instance, Code: f.Code, System: f.Origin == "system"}
	} else {
		data, err := engine.ReadPayload(context.Background(), o, outcome.Output)
		if err != nil {
			o.t.Fatal(err)
		}
		result.Output = parsed(o.t, data)
		known = 2
	}
	var ids []string
	if outcome.Files != nil {
		if err := json.Unmarshal(outcome.Files, &ids); err != nil {
			o.t.Fatal(err)
		}
	}
	for _, id := range ids {
		result.Files = append(result.Files, files[id])
	}
	p, err := planOf(newPlans(), a.Digest, a.Definition, a.Resources)
	if err != nil {
		o.t.Fatal(err)
	}
	var parts [][]machine.Record
	decode := func(data []byte, known int) {
		records, _, err := machine.DecodeTimeline(p, data, known)
		if err != nil {
			o.t.Fatal(err)
		}
		parts = append(parts, records)
	}
	for _, data := range chunks {
		if o.unseal != nil && p.UsesSecrets() {
			data = o.unseal(a.Execution, data)
		}
		decode(data, 1)
	}
	if outcome.Timeline != nil {
		decode(outcome.Timeline, known)
	}
	result.Timeline, _ = machine.MergeTimeline(parts...)
	return result
}

func parsed(t testing.TB, data []byte) value.Value {
	t.Helper()
	v, err := value.Parse(data, value.Limits{Depth: value.MaxDepth})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// scripted answers activities as a script of the suite says. An attempt that is repeated is
// answered as the first time.
type scripted struct {
	fixture *machinetest.Fixture
	hangs   func()
	store   func([]value.Value) // events
	hung    atomic.Int32        // activities

	mu sync.Mutex
	// by key and attempt: an attempt without an answer leaves its key to the next one
	given map[string]machinetest.Answer
	files map[string]machine.File
}

func newScripted(w *machinetest.Fixture) *scripted {
	return &scripted{fixture: w, given: make(map[string]machinetest.Answer), files: make(map[string]machine.File)}
}

func (s *scripted) Run(ctx context.Context, c runner.Call) runner.Result {
	s.mu.Lock()
	attempt := fmt.Sprintf("%s %d", c.Key, c.Attempt)
	answer, again := s.given[attempt]
	if !again {
		answer = s.fixture.Answer(c.Reference)
		s.given[attempt] = answer
	}
	for _, f := range answer.Files {
		s.files[f.ID] = f
	}
	s.mu.Unlock()
	if !again && len(answer.Events) > 0 {
		s.store(s.fixture.Envelopes(answer.Events))
	}
	for _, v := range answer.Values() {
		if c.Progress(ctx, v) != nil {
			return runner.Result{}
		}
	}
	if answer.Hang {
		s.hung.Add(1)
		if s.fixture.Cancel {
			s.hangs()
		}
		<-ctx.Done()
	}
	return runner.Result{Output: answer.Value(), Files: answer.Files, Fault: answer.Fault}
}
