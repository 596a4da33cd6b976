package temporal

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/sdk/contrib/opentelemetry"
	"go.temporal.io/sdk/interceptor"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/span"
	"github.com/chargehand/chargehand/internal/store"
)

// The operations of the SDK's tracer. It calls a span operation:name.
const (
	startWorkflow = "StartWorkflow"
	runWorkflow   = "RunWorkflow"
	startActivity = "StartActivity"
	runActivity   = "RunActivity"
)

// workflowIDTag is what the SDK's tracer calls the id of a workflow.
const workflowIDTag = "temporalWorkflowID"

// Tracing returns the interceptor for Dial.Interceptors that carries trace contexts from the code that
// starts a workflow to its activities, on clients and the workers made of them.
//
// Only the relay and activities make spans. What a workflow hands on is the span of its execution, whose
// ids are derived (package span) and which is made at the end, by the one that ends the row: so a replay
// makes none, and workers need not agree on whether they trace.
func Tracing(tracer trace.Tracer) (interceptor.ClientInterceptor, error) {
	sdk, err := opentelemetry.NewTracer(opentelemetry.TracerOptions{
		Tracer: tracer, SpanStarter: startSpan, TextMapPropagator: propagation.TraceContext{},
		DisableSignalTracing: true, DisableQueryTracing: true, DisableUpdateTracing: true, DisableBaggage: true,
		AllowInvalidParentSpans: true,
	})
	if err != nil {
		return nil, err
	}
	return interceptor.NewTracingInterceptor(named{sdk}), nil
}

// named is a tracer that says which workflow runs, not of which type it is: all are of one.
type named struct{ interceptor.Tracer }

// StartSpan implements interceptor.Tracer.
func (n named) StartSpan(o *interceptor.TracerStartSpanOptions) (interceptor.TracerSpan, error) {
	if o.Operation == runWorkflow {
		o.Name = o.Tags[workflowIDTag]
	}
	return n.Tracer.StartSpan(o)
}

// startSpan makes a span, or is in for one that another process makes. Without a parent that is
// recorded, there is none.
func startSpan(ctx context.Context, tracer trace.Tracer, name string, options ...trace.SpanStartOption) trace.Span {
	operation, name, _ := strings.Cut(name, ":")
	parent := trace.SpanContextFromContext(ctx)
	if !parent.IsSampled() {
		return trace.SpanFromContext(context.Background())
	}
	switch {
	case operation == runWorkflow:
		var id chargehand.ExecutionID
		if id.UnmarshalText([]byte(name)) == nil {
			parent = parent.WithSpanID(span.SpanID(id))
		}
		return standIn(parent)
	case operation == startActivity, operation == runActivity && name == performType:
		return standIn(parent) // the runner of the activity makes one that says more
	case operation == startWorkflow:
		name = "start workflow"
	default:
		name = strings.TrimPrefix(name, "chargehand.")
	}
	_, s := tracer.Start(ctx, name, options...)
	return s
}

// standIn is a span that others can be children of.
func standIn(sc trace.SpanContext) trace.Span {
	return trace.SpanFromContext(trace.ContextWithSpanContext(context.Background(), sc))
}

// spanOf is what the spans of an execution need to know of its row.
func spanOf(row *store.Execution) span.Execution {
	return span.Execution{ID: row.ID, Origin: row.Trace, Item: row.Batch != 0}
}
