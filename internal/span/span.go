package span

import (
	"context"
	"crypto/sha256"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/chargehand/chargehand"
)

// The attributes of our spans.
const (
	ExecutionKey   = attribute.Key("chargehand.execution_id")
	WorkflowKey    = attribute.Key("chargehand.workflow_id")
	AccountKey     = attribute.Key("chargehand.account_id")
	EnvironmentKey = attribute.Key("chargehand.environment")
	BatchItemKey   = attribute.Key("chargehand.batch_item") // index in the batch, from 0
	PhaseKey       = attribute.Key("chargehand.phase")
	KindKey        = attribute.Key("chargehand.activity")
	TaskKey        = attribute.Key("chargehand.task") // reference of the task
	AttemptKey     = attribute.Key("chargehand.attempt")
	RequestKey     = attribute.Key("chargehand.request_id")
)

// size is the length of an encoded context: trace id, span id, flags.
const size = 16 + 8 + 1

// Recorded reports whether what happens in ctx belongs to a trace that is recorded.
func Recorded(ctx context.Context) bool { return trace.SpanContextFromContext(ctx).IsSampled() }

// Encode writes down the trace context of ctx, for the row of an execution. It is nil unless
// the trace is recorded.
func Encode(ctx context.Context) []byte {
	sc := trace.SpanContextFromContext(ctx)
	if !sc.IsValid() || !sc.IsSampled() {
		return nil
	}
	traceID, spanID := sc.TraceID(), sc.SpanID()
	data := make([]byte, 0, size)
	data = append(append(data, traceID[:]...), spanID[:]...)
	return append(data, byte(sc.TraceFlags()))
}

func decode(data []byte) (sc trace.SpanContext, ok bool) {
	if len(data) != size {
		return sc, false
	}
	sc = trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID(data[:16]), SpanID: trace.SpanID(data[16:24]), TraceFlags: trace.TraceFlags(data[24]), Remote: true,
	})
	return sc, sc.IsValid() && sc.IsSampled()
}

// Execution has the data of an execution that its spans show.
type Execution struct {
	ID     chargehand.ExecutionID
	Origin []byte // the encoded context of the request; nil: no spans
	Item   bool   // of a batch
}

// traceID is the trace of the execution's span.
func (e Execution) traceID(origin trace.SpanContext) trace.TraceID {
	if e.Item {
		return trace.TraceID(derived("trace", e.ID))
	}
	return origin.TraceID()
}

// SpanID is the id of the span of an execution.
func SpanID(id chargehand.ExecutionID) trace.SpanID {
	return trace.SpanID(derived("span", id)[:8])
}

func derived(what string, id chargehand.ExecutionID) []byte {
	sum := sha256.Sum256(append([]byte(what), id[:]...))
	return sum[:16]
}

// Follow returns a context in which new spans are children of the execution's span. If the execution
// has no span, it returns ctx.
func Follow(ctx context.Context, e Execution) context.Context {
	if len(e.Origin) == 0 {
		return ctx
	}
	origin, ok := decode(e.Origin)
	if !ok {
		return ctx
	}
	return trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: e.traceID(origin), SpanID: SpanID(e.ID), TraceFlags: origin.TraceFlags(), Remote: true,
	}))
}

// End is how an execution ended.
type End struct {
	Execution
	Workflow    chargehand.WorkflowID
	Name        string // of the workflow
	Account     chargehand.AccountID
	Environment chargehand.Environment
	Number      int64 // of the item in its batch
	Phase       chargehand.Phase
	StartedMs   int64
	FinishedMs  int64
}

// Ended makes the span of an execution.
func Ended(tracer trace.Tracer, e End) {
	origin, ok := decode(e.Origin)
	if !ok {
		return
	}
	ids := Identity{Trace: e.traceID(origin), Span: SpanID(e.ID)}
	started := time.UnixMilli(e.StartedMs)
	if e.StartedMs == 0 {
		started = time.UnixMilli(e.ID.Milli()) // it never started
	}
	options := []trace.SpanStartOption{trace.WithTimestamp(started), trace.WithAttributes(
		ExecutionKey.String(e.ID.String()), WorkflowKey.String(e.Workflow.String()), AccountKey.String(e.Account.String()),
		EnvironmentKey.String(e.Environment.String()), PhaseKey.String(e.Phase.String()),
	)}
	if e.Item {
		options = append(options, trace.WithNewRoot(), trace.WithLinks(trace.Link{SpanContext: origin}),
			trace.WithAttributes(BatchItemKey.Int64(e.Number)))
	}
	ctx := trace.ContextWithRemoteSpanContext(context.WithValue(context.Background(), identityKey{}, ids), origin)
	_, s := tracer.Start(ctx, "execution "+e.Name, options...)
	if e.Phase != chargehand.Completed {
		s.SetStatus(codes.Error, "")
	}
	s.End(trace.WithTimestamp(time.UnixMilli(e.FinishedMs)))
}

// Identity has the ids that a span is to get. Its trace is recorded already, in parts.
type Identity struct {
	Trace trace.TraceID
	Span  trace.SpanID
}

type identityKey struct{}

// Wanted gives the parts that make ids, and that decide what is recorded, the ids that a span in ctx has
// to have.
func Wanted(ctx context.Context) (Identity, bool) {
	id, ok := ctx.Value(identityKey{}).(Identity)
	return id, ok
}
