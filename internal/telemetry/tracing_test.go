package telemetry

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/span"
)

func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestTracingIsOffByDefault(t *testing.T) {
	for _, getenv := range []func(string) string{
		environment(),
		environment("OTEL_TRACES_SAMPLER", "always_on", "OTEL_SERVICE_NAME", "x"),
		environment("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1", "OTEL_SDK_DISABLED", "TRUE"),
		environment("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER", "none"),
	} {
		tracing, err := NewTracing(t.Context(), TracingConfig{Getenv: getenv})
		if err != nil || tracing.Tracer() != nil || tracing.Stop(t.Context()) != nil {
			t.Errorf("a tracer %v, %v", tracing, err)
		}
	}
}

func TestTracingRefuses(t *testing.T) {
	for name, value := range map[string]string{
		"OTEL_TRACES_SAMPLER": "sometimes", "OTEL_TRACES_SAMPLER_ARG": "1.5", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
	} {
		_, err := NewTracing(t.Context(), TracingConfig{Getenv: environment(
			name, value, "OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1", "OTEL_TRACES_SAMPLER", "traceidratio")})
		if err == nil || !strings.HasPrefix(err.Error(), name+":") {
			t.Errorf("%s=%s: %v", name, value, err)
		}
	}
}

// TestTracesAreSent: what is gathered is sent when the process stops.
func TestTracesAreSent(t *testing.T) {
	var received atomic.Value
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		received.Store(r.URL.Path + " " + string(body))
	}))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL) // which the exporter reads itself
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=here,service.name=mine")
	tracing, err := NewTracing(t.Context(), TracingConfig{
		Getenv: environment("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	_, s := tracing.Tracer().Start(t.Context(), "a span of ours")
	s.End()
	if err := tracing.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, _ := received.Load().(string)
	for _, want := range []string{"/v1/traces ", "a span of ours", "mine", "deployment.environment.name"} {
		if !strings.Contains(text, want) {
			t.Errorf("the collector was not sent %q: %q", want, text)
		}
	}
}

// TestSampler: a trace that was begun is completed, whatever the sampler says of new ones.
func TestSampler(t *testing.T) {
	remote := func(flags trace.TraceFlags) context.Context {
		return trace.ContextWithRemoteSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: flags, Remote: true,
		}))
	}
	for _, test := range []struct {
		sampler, arg              string
		fresh, followed, declined bool
	}{
		{"", "", true, true, false},
		{"always_on", "", true, true, true},
		{"always_off", "", false, false, false},
		{"parentbased_always_off", "", false, true, false},
		{"parentbased_traceidratio", "0", false, true, false},
		{"traceidratio", "1", true, true, true},
	} {
		e := tracetest.NewInMemoryExporter()
		tracing, err := NewTracing(t.Context(), TracingConfig{Exporter: e, Getenv: environment("OTEL_TRACES_SAMPLER", test.sampler, "OTEL_TRACES_SAMPLER_ARG", test.arg)})
		if err != nil {
			t.Fatal(err)
		}
		for ctx, want := range map[context.Context]bool{t.Context(): test.fresh, remote(1): test.followed, remote(0): test.declined} {
			if _, s := tracing.Tracer().Start(ctx, "x"); s.SpanContext().IsSampled() != want {
				t.Errorf("%s %s: recorded is %t, want %t", test.sampler, test.arg, !want, want)
			}
		}
		// Parts of this execution's trace are recorded already.
		id := chargehand.ExecutionID{7}
		span.Ended(tracing.Tracer(), span.End{Execution: span.Execution{ID: id, Origin: span.Encode(remote(1)), Item: true}, Name: "x", FinishedMs: 5})
		followed := trace.SpanContextFromContext(span.Follow(t.Context(), span.Execution{ID: id, Origin: span.Encode(remote(1)), Item: true}))
		list := e.GetSpans()
		if len(list) != 1 || list[0].SpanContext.SpanID() != followed.SpanID() || list[0].SpanContext.TraceID() != followed.TraceID() {
			t.Errorf("%s: %d spans of the execution, want the one that its steps follow", test.sampler, len(list))
		}
	}
}

var _ sdktrace.IDGenerator = ids{}
