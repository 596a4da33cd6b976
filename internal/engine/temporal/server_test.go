package temporal

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/chargehand/chargehand"
	runner "github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/machine/machinetest"
	"github.com/chargehand/chargehand/internal/peer"
	"github.com/chargehand/chargehand/internal/peer/temporalpeer"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store/postgres"
	"github.com/chargehand/chargehand/internal/store/postgres/postgrestest"
	"github.com/chargehand/chargehand/internal/value"
)

// shared are the servers of the package's tests, started by the first that needs them.
var shared struct {
	sync.Mutex
	server    *temporalpeer.Server
	schemas   postgrestest.Schemas // of postgres
	namespace string
	postgres  *peer.Postgres
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.server != nil {
		shared.server.Stop()
	}
	if shared.postgres != nil {
		shared.postgres.Stop()
	}
	os.Exit(code)
}

// suggestedEvents is the length of a history from which the tests' server suggests a new run.
const suggestedEvents = 200

// server is a Temporal server with a namespace that is set up.
func server(t testing.TB) (*temporalpeer.Server, string) {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil {
		s := temporalpeer.Start(t, temporalpeer.Options{Keep: true, Settings: []string{
			fmt.Sprint("limit.historyCount.suggestContinueAsNew=", suggestedEvents),
		}})
		shared.namespace = s.NewNamespace(t)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		if _, err := Setup(ctx, s.Client(t, shared.namespace), shared.namespace, 24*time.Hour); err != nil {
			t.Fatal(err)
		}
		shared.server = s
	}
	return shared.server, shared.namespace
}

// sharedPostgres is a PostgreSQL server for what runs on a real Temporal server.
func sharedPostgres(t testing.TB) *peer.Postgres {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.postgres == nil {
		shared.postgres = peer.StartPostgres(t, peer.PostgresOptions{Keep: true, Careless: true})
	}
	return shared.postgres
}

// newSchema is the address of an empty schema of the shared server, for a test alone.
func newSchema(t testing.TB) string {
	t.Helper()
	return shared.schemas.New(t, sharedPostgres(t))
}

// serverFixture is a workerFixture with workers on a real Temporal server, and on PostgreSQL, as installations are.
type serverFixture struct {
	*workerFixture
	client client.Client
	remote *cluster
	worker *Worker

	accepted func(argument) // if set, hears of each execution

	mu       sync.Mutex
	outsides map[chargehand.ExecutionID]func(context.Context, runner.Call) runner.Result
}

func newServerFixture(t testing.TB, p limits) *serverFixture {
	t.Helper()
	b := newIdleServerFixture(t)
	b.worker = b.startWorker(p)
	return b
}

// newIdleServerFixture is a serverFixture whose worker was not started yet.
func newIdleServerFixture(t testing.TB) *serverFixture {
	t.Helper()
	s, namespace := server(t)
	db, err := postgres.Open(t.Context(), postgres.Options{URL: newSchema(t), Mode: postgres.Shared})
	if err != nil {
		t.Fatal(err)
	}
	b := &serverFixture{workerFixture: newWorkerFixtureOn(t, db), outsides: make(map[chargehand.ExecutionID]func(context.Context, runner.Call) runner.Result)}
	b.queue = fmt.Sprintf("%s-%d", t.Name(), time.Now().UnixNano())
	b.outside = func(ctx context.Context, c runner.Call) runner.Result {
		b.mu.Lock()
		outside := b.outsides[c.Execution]
		b.mu.Unlock()
		return outside(ctx, c)
	}
	b.client, err = Connect(Dial{Address: s.Address(), Namespace: namespace, Storage: NewPayloads(b.store, b)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.client.Close)
	b.remote = &cluster{client: b.client, namespace: namespace, queue: b.queue}
	return b
}

// startWorker starts a worker that ends with the test.
func (b *serverFixture) startWorker(p limits) *Worker {
	b.t.Helper()
	c := b.config()
	c.Client, c.Namespace = b.client, b.remote.namespace
	w := newWorker(c, p)
	if err := w.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { w.Stop(context.Background()) })
	return w
}

// begin starts the workflow of an execution whose activities are answered by outside.
func (b *serverFixture) begin(p *plan.Plan, input value.Value, outside func(context.Context, runner.Call) runner.Result) argument {
	b.t.Helper()
	a := b.accept(p, input)
	if b.accepted != nil {
		b.accepted(a)
	}
	b.mu.Lock()
	b.outsides[a.Execution] = outside
	b.mu.Unlock()
	err := b.remote.start(context.Background(), started{argument: a, attributes: attributes{
		Account: a.Account.String(), Environment: a.Environment.String(), Workflow: "w", Phase: chargehand.Running.String(),
	}})
	if err != nil {
		b.t.Fatal(err)
	}
	return a
}

func (b *serverFixture) signal(a argument, m message) {
	if err := b.remote.signal(context.Background(), a.Execution, m); err != nil {
		b.t.Error(err)
	}
}

// end waits until the workflow, with the runs that it continues as, has completed.
func (b *serverFixture) end(a argument) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), 4*time.Minute)
	defer cancel()
	if err := b.client.GetWorkflow(ctx, a.Execution.String(), "").Get(ctx, nil); err != nil {
		b.t.Fatalf("the workflow of %s: %v", a.Execution, err)
	}
}

// histories reads the histories of all runs of a workflow, the first one first.
func (b *serverFixture) histories(a argument) (all []*historypb.History) {
	b.t.Helper()
	ctx := b.t.Context()
	d, err := b.client.DescribeWorkflowExecution(ctx, a.Execution.String(), "")
	if err != nil {
		b.t.Fatal(err)
	}
	run := d.GetWorkflowExecutionInfo().GetFirstRunId()
	for run != "" {
		h := &historypb.History{}
		events := b.client.GetWorkflowHistory(ctx, a.Execution.String(), run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			ev, err := events.Next()
			if err != nil {
				b.t.Fatal(err)
			}
			h.Events = append(h.Events, ev)
		}
		all = append(all, h)
		run = h.Events[len(h.Events)-1].GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
	}
	return all
}

// replay replays a history with the code of today.
func replay(t testing.TB, h *historypb.History, p limits, storage converter.StorageDriver) error {
	return replaySealed(t, h, p, storage, nil)
}

func replaySealed(t testing.TB, h *historypb.History, p limits, storage converter.StorageDriver, s *secret.Sealer) error {
	t.Helper()
	options := worker.WorkflowReplayerOptions{DisableDeadlockDetection: true, DataConverter: newConverter(s)}
	if storage != nil {
		options.ExternalStorage = converter.ExternalStorage{Drivers: []converter.StorageDriver{storage}, PayloadSizeThreshold: externalBytes}
	}
	r, err := worker.NewWorkflowReplayerWithOptions(options)
	if err != nil {
		t.Fatal(err)
	}
	(&workflows{plans: newPlans(), limits: p}).register(r)
	return r.ReplayWorkflowHistory(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)), h)
}

// replayAll replays every run of a workflow.
func (b *serverFixture) replayAll(a argument, p limits) (runs int) {
	b.t.Helper()
	for i, h := range b.histories(a) {
		if err := replay(b.t, h, p, NewPayloads(b.store, b)); err != nil {
			b.t.Errorf("replay run %d: %v", i+1, err)
		}
		runs++
	}
	return runs
}

// serverRunner runs a script on a real Temporal server.
type serverRunner struct {
	serverFixture *serverFixture
	limits        limits
}

func (r serverRunner) Run(t *testing.T, p *plan.Plan, input value.Value, w *machinetest.Fixture) machinetest.Result {
	b := r.serverFixture
	outside := newScripted(w)
	started := make(chan argument, 1)
	outside.hangs = sync.OnceFunc(func() {
		a := <-started
		b.cancel(a.No)
		b.signal(a, message{No: 1, Kind: kindCancel, Reason: "by the suite"})
	})
	a := b.begin(p, input, outside.Run)
	started <- a
	b.end(a)
	b.replayAll(a, r.limits)
	return b.result(a, outside.files)
}

// TestSuite: on a real server, the workflow means the same as the bare machine, and every
// history that it leaves can be replayed.
func TestSuite(t *testing.T) {
	b := newServerFixture(t, defaultLimits())
	t.Run("scripts", func(t *testing.T) {
		machinetest.Run(t, func(t *testing.T) machinetest.Runner {
			t.Parallel()
			return serverRunner{b, defaultLimits()}
		})
	})
}
