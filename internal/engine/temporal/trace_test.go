package temporal

import (
	"context"
	"log/slog"
	"sync"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/chargehand/chargehand"
	runner "github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/span"
)

// TestTraceAcrossRuns: activities follow the span of their execution in every run of the
// workflow, and neither the workflow nor a replay makes a span.
func TestTraceAcrossRuns(t *testing.T) {
	t.Parallel()
	b := newServerFixture(t, defaultLimits())
	e := tracetest.NewInMemoryExporter()
	carrier, err := Tracing(sdktrace.NewTracerProvider(sdktrace.WithSyncer(e)).Tracer("test"))
	if err != nil {
		t.Fatal(err)
	}
	s, namespace := server(t)
	traced, err := Connect(Dial{
		Address: s.Address(), Namespace: namespace, Storage: NewPayloads(b.store, b), Interceptors: []interceptor.ClientInterceptor{carrier},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(traced.Close)
	b.worker.Stop(t.Context())
	b.useClient(traced, namespace)

	a := b.accept(compile(t, "do: [{l: {for: {in: '[range(120)]'}, do: [{b: "+get+"}]}}]"), 0)
	request := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})
	wanted := span.Execution{ID: a.Execution, Origin: span.Encode(trace.ContextWithSpanContext(t.Context(), request))}
	var mu sync.Mutex
	strays, calls := 0, 0
	b.mu.Lock()
	b.outsides[a.Execution] = func(ctx context.Context, c runner.Call) runner.Result {
		mu.Lock()
		defer mu.Unlock()
		calls++
		if sc := trace.SpanContextFromContext(ctx); sc.TraceID() != request.TraceID() || sc.SpanID() != span.SpanID(a.Execution) || !sc.IsSampled() {
			strays++
		}
		return echo(ctx, c)
	}
	b.mu.Unlock()
	err = b.remote.start(span.Follow(t.Context(), wanted), started{argument: a, attributes: attributes{
		Account: a.Account.String(), Environment: a.Environment.String(), Workflow: "w", Phase: chargehand.Running.String(),
	}})
	if err != nil {
		t.Fatal(err)
	}
	b.end(a)
	if calls != 120 || strays != 0 {
		t.Errorf("%d of %d activities do not follow the span of their execution", strays, calls)
	}
	names := map[string]int{}
	for _, s := range e.GetSpans() {
		names[s.Name]++
	}
	if names["start workflow"] != 1 || names["finish"] != 1 || len(names) > 4 {
		t.Errorf("the spans are %v", names)
	}

	before := len(e.GetSpans())
	histories := b.histories(a)
	if len(histories) < 2 {
		t.Errorf("there was %d run", len(histories))
	}
	for _, h := range histories {
		r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{
			Interceptors: []interceptor.WorkerInterceptor{carrier.(interceptor.WorkerInterceptor)}, DisableDeadlockDetection: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		(&workflows{plans: newPlans(), limits: defaultLimits()}).register(r)
		if err := r.ReplayWorkflowHistory(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)), h); err != nil {
			t.Error(err)
		}
	}
	if after := len(e.GetSpans()); after != before {
		t.Errorf("the replays made %d spans", after-before)
	}
}

// useClient works with another client from now on.
func (b *serverFixture) useClient(c client.Client, namespace string) {
	b.client = c
	b.remote = &cluster{client: c, namespace: namespace, queue: b.queue}
	b.worker = b.startWorker(defaultLimits())
}
