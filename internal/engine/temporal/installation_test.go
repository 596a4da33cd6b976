package temporal

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"github.com/chargehand/chargehand"
	runner "github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/machine/machinetest"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// installation is a serverFixture with an engine: a whole installation of one node.
type installation struct {
	*serverFixture
	engine *Engine
	limits limits
	sealer *secret.Sealer

	landlord *installation // of a tenant; nil: itself

	mu    sync.Mutex
	plans map[int64]*plan.Plan
	// activities of executions that the test has not begun
	others map[chargehand.AccountID]func(context.Context, runner.Call) runner.Result
}

// tenant is an account of its own in an installation.
func (e *installation) tenant(t testing.TB) *installation {
	t.Helper()
	o := &workerFixture{t: t, store: e.store, queue: e.queue, lender: e.workerFixture, unseal: e.unseal}
	o.account = store.Account{ID: chargehand.AccountID(e.id()), Name: t.Name(), CreatedMs: time.Now().UnixNano()}
	o.update(func(tx *store.Tx) error { return tx.InsertAccount(&o.account) })
	return &installation{
		serverFixture: &serverFixture{workerFixture: o, client: e.client, remote: e.remote, worker: e.worker},
		engine:        e.engine, limits: e.limits, sealer: e.sealer, landlord: e,
	}
}

func (e *installation) owner() *installation {
	if e.landlord != nil {
		return e.landlord
	}
	return e
}

// Plan implements engine.Plans.
func (e *installation) Plan(_ context.Context, revision int64) (*plan.Plan, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if p := e.plans[revision]; p != nil {
		return p, nil
	}
	return nil, store.ErrNotFound
}

func newInstallation(t testing.TB, p limits) *installation {
	t.Helper()
	e := &installation{limits: p, serverFixture: newIdleServerFixture(t), sealer: secret.NewSealer(secret.NewKeys()), plans: make(map[int64]*plan.Plan)}
	e.others = make(map[chargehand.AccountID]func(context.Context, runner.Call) runner.Result)
	e.unseal = func(id chargehand.ExecutionID, chunk []byte) []byte {
		data, err := e.sealer.Execution(id).Open(string(engine.SealedTimeline), chunk)
		if err != nil {
			t.Error(err)
		}
		return data
	}
	s, namespace := server(t)
	c, err := Connect(Dial{Address: s.Address(), Namespace: namespace, Storage: NewPayloads(e.store, e), Sealer: e.sealer})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	e.client = c
	e.outside = func(ctx context.Context, c runner.Call) runner.Result {
		e.serverFixture.mu.Lock()
		outside := e.outsides[c.Execution]
		if outside == nil {
			outside = e.others[c.Account]
		}
		e.serverFixture.mu.Unlock()
		return outside(ctx, c)
	}
	e.engine = New(Config{
		Store: e.store, Plans: e, Blobs: e, Client: c, Namespace: namespace, Queue: e.queue, RuntimeVersion: "test",
		RuntimeMetadata: map[string]any{"name": "suite"}, Sealer: e.sealer, Log: slog.New(slog.DiscardHandler),
	})
	t.Cleanup(func() { e.engine.Stop(context.Background()) })
	e.startNode(p)
	return e
}

// startNode starts the worker of the node.
func (e *installation) startNode(p limits) {
	e.t.Helper()
	config := e.config()
	config.Client, config.Namespace, config.Sealer = e.client, e.engine.config.Namespace, e.sealer
	config.Freed, config.Undelivered, config.Published = e.engine.Freed, e.engine.Undelivered, e.engine.Published
	config.Limits.Stop = time.Second
	e.worker = newWorker(config, p)
	if err := e.worker.Start(); err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() { e.worker.Stop(context.Background()) })
}

// replay replays a history of this installation.
func (e *installation) replay(h *historypb.History) error {
	return replaySealed(e.t, h, e.limits, NewPayloads(e.store, e), e.sealer)
}

// deploy makes a published workflow of a namespace "suite".
func (e *installation) deploy(name string, p *plan.Plan) (workflow store.Workflow, definition string) {
	e.t.Helper()
	definition = string(value.Marshal(p.Definition()))
	digest, err := hex.DecodeString(digestOf(definition, nil))
	if err != nil {
		e.t.Fatal(err)
	}
	workflow = store.Workflow{ID: chargehand.WorkflowID(e.id()), Account: e.account.No, Namespace: "suite", Name: name}
	workflow.CreatedMs = time.Now().UnixNano()
	d := store.Definition{Account: e.account.No, Digest: digest, MediaType: "application/json", Source: []byte(definition)}
	e.update(func(tx *store.Tx) error {
		w := workflow
		if err := errors.Join(tx.InsertWorkflow(&w), tx.PutDefinition(&d)); err != nil {
			return err
		}
		v := store.Revision{Workflow: w.No, Version: "1.0.0", Number: 1, Definition: d.No, CreatedMs: 1}
		if err := tx.InsertRevision(&v); err != nil {
			return err
		}
		w.Published = v.No
		workflow = w
		return tx.UpdateWorkflow(&w)
	})
	owner := e.owner()
	owner.mu.Lock()
	defer owner.mu.Unlock()
	owner.plans[workflow.Published] = p
	return workflow, definition
}

// children deploys the other workflows of a fixture.
func (e *installation) children(w *machinetest.Fixture) {
	for name := range w.Children {
		if p := w.Child(e.t, name); p != nil {
			e.deploy(name, p)
		}
	}
}

// start starts an execution as a client does.
func (e *installation) start(p *plan.Plan, input value.Value, outside func(context.Context, runner.Call) runner.Result) argument {
	e.t.Helper()
	return e.startAt(p, input, nil, outside)
}

// startAt starts an execution at a position; nil: at its first task.
func (e *installation) startAt(
	p *plan.Plan, input value.Value, at *machine.Position, outside func(context.Context, runner.Call) runner.Result,
) argument {
	e.t.Helper()
	w, definition := e.deploy(fmt.Sprintf("script-%d", time.Now().UnixNano()), p)
	data := value.Marshal(input)
	row := store.Execution{
		ID: e.id(), Account: e.account.No, Environment: chargehand.Live, Workflow: w.No, Revision: w.Published,
		Input: store.Payload{Inline: data, Size: int64(len(data))},
	}
	if at != nil {
		row.RetryOf = chargehand.ExecutionID{1}
	}
	owner := e.owner().serverFixture
	owner.mu.Lock()
	owner.outsides[row.ID] = outside
	owner.mu.Unlock()
	row, err := e.engine.Start(context.Background(), engine.Start{Row: row, Plan: p, Input: input, Position: at})
	if err != nil {
		e.t.Fatal(err)
	}
	return argument{Execution: row.ID, No: row.No, Account: e.account.ID, Digest: digestOf(definition, nil), Definition: definition, Input: data}
}

// ended waits until the row is final; of one that was cancelled, until the workflow has ended too.
func (e *installation) ended(a argument) store.Execution {
	e.t.Helper()
	eventually(e.t, "the execution ends", func() bool { return e.row(a.No).Status.Final() })
	row := e.row(a.No)
	if row.Phase == chargehand.Cancelled {
		e.end(a)
	}
	return row
}

// publishAll stores events as a client does.
func (e *installation) publishAll(envelopes []value.Value) {
	events := make([]map[string]any, len(envelopes))
	for i, v := range envelopes {
		events[i] = v.(map[string]any)
	}
	if err := e.engine.Publish(context.Background(), engine.Publisher{Account: e.account.No, Environment: chargehand.Live}, events); err != nil {
		e.t.Error(err)
	}
}

// waits reports whether an execution waits for events or has ended.
func (e *installation) waits(a argument) bool {
	var listens []store.Subscription
	row := e.row(a.No)
	e.view(func(r *store.Reader) (err error) {
		listens, err = r.Subscriptions(a.No)
		return err
	})
	return row.Status.Final() || row.Phase == chargehand.Waiting || len(listens) > 0
}

// installationRunner runs a script in an account of its own.
type installationRunner struct {
	installation *installation
	after        func(e *installation, a argument)
}

func (r installationRunner) Run(t *testing.T, p *plan.Plan, input value.Value, w *machinetest.Fixture) machinetest.Result {
	e := r.installation.tenant(t)
	e.children(w)
	outside := newScripted(w)
	outside.store = e.publishAll
	r.installation.serverFixture.mu.Lock()
	r.installation.others[e.account.ID] = outside.Run
	r.installation.serverFixture.mu.Unlock()
	if len(w.Before) > 0 {
		e.publishAll(w.Envelopes(w.Before))
		eventually(t, "the clock moves", clockMoves())
	}
	started := make(chan argument, 1)
	outside.hangs = sync.OnceFunc(func() {
		if err := e.engine.Cancel(context.Background(), (<-started).Execution, "by the suite"); err != nil {
			t.Error(err)
		}
	})
	a := e.start(p, input, outside.Run)
	started <- a
	if len(w.Events) > 0 {
		eventually(t, "it waits", func() bool { return e.waits(a) })
		e.publishAll(w.Envelopes(w.Events))
	}
	e.ended(a)
	eventually(t, "what continues by itself has begun", func() bool {
		d, err := e.client.DescribeWorkflowExecution(context.Background(), a.Execution.String(), "")
		if err != nil {
			t.Fatal(err)
		}
		return d.GetWorkflowExecutionInfo().GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING ||
			outside.hung.Load() > 0 && len(d.GetPendingActivities()) <= int(outside.hung.Load())
	})
	if r.after != nil {
		r.after(e, a)
	}
	return e.result(a, outside.files)
}

// TestSuiteOfEvents: in a whole installation, events and streams mean the same, and every history can be replayed.
func TestSuiteOfEvents(t *testing.T) {
	all := newInstallation(t, defaultLimits())
	machinetest.RunEvents(t, func(t *testing.T) machinetest.Runner {
		t.Parallel()
		return installationRunner{all, func(e *installation, a argument) {
			e.end(a)
			e.replayAll(a, defaultLimits())
		}}
	})
}

// TestSuiteOfChildren: so do other workflows, and processes that no task awaits.
func TestSuiteOfChildren(t *testing.T) {
	all := newInstallation(t, defaultLimits())
	machinetest.RunChildren(t, func(t *testing.T) machinetest.Runner {
		t.Parallel()
		return installationRunner{all, func(e *installation, a argument) { e.replayAll(a, defaultLimits()) }}
	})
}

// parse compiles a whole definition.
func parse(t testing.TB, definition string) *plan.Plan {
	t.Helper()
	document, problems := dsl.Parse([]byte(machinetest.Header + definition))
	if problems.HasErrors() {
		t.Fatal(problems.Err())
	}
	p, problems := plan.Compile(document, plan.Options{Run: plan.AnyRun()})
	if p == nil {
		t.Fatal(problems.Err())
	}
	return p
}
