package telemetry

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/chargehand/chargehand/internal/span"
)

// TracingConfig configures tracing.
type TracingConfig struct {
	// Getenv reads the environment: os.Getenv.
	Getenv func(name string) string
	// Exporter takes the spans, one by one, instead of what the environment says: for tests.
	Exporter sdktrace.SpanExporter
	Version  string       // of the product
	Log      *slog.Logger // required
}

// Tracing makes spans and sends them. Nil makes none. Methods are safe for concurrent use.
type Tracing struct{ provider *sdktrace.TracerProvider }

// instrumentation is the name of what makes our spans.
const instrumentation = "github.com/chargehand/chargehand"

// NewTracing sets traces up as the environment says; nil if nothing is to be traced. It does not
// wait for who receives them. Errors name the variable that is wrong.
func NewTracing(ctx context.Context, c TracingConfig) (*Tracing, error) {
	if c.Exporter == nil && !wanted(c.Getenv) {
		return nil, nil
	}
	sampler, err := samplerOf(c.Getenv)
	if err != nil {
		return nil, err
	}
	// What the environment says comes last, and wins.
	res, err := resource.New(ctx, resource.WithAttributes(
		attribute.String("service.name", "chargehand"), attribute.String("service.version", c.Version),
	), resource.WithTelemetrySDK(), resource.WithHost(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	options := []sdktrace.TracerProviderOption{
		sdktrace.WithResource(res), sdktrace.WithSampler(resumed{sampler}), sdktrace.WithIDGenerator(ids{}),
	}
	if c.Exporter != nil {
		options = append(options, sdktrace.WithSyncer(c.Exporter))
	} else {
		if p := protocol(c.Getenv); p != "" && p != "http/protobuf" {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL: %q is not supported; traces are sent as http/protobuf (port 4318 of a collector)", p)
		}
		exporter, err := otlptracehttp.New(ctx)
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_ENDPOINT: %w", err)
		}
		options = append(options, sdktrace.WithBatcher(exporter))
		// The library knows only one place, of the process, for what goes wrong in the background.
		otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { c.Log.Warn("send traces", "error", err) }))
	}
	return &Tracing{provider: sdktrace.NewTracerProvider(options...)}, nil
}

// Tracer makes spans; nil if nothing is traced.
func (t *Tracing) Tracer() trace.Tracer {
	if t == nil {
		return nil
	}
	return t.provider.Tracer(instrumentation)
}

// Stop sends what is left, until ctx ends.
func (t *Tracing) Stop(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}

// wanted reports whether the environment names a receiver of traces.
func wanted(getenv func(string) string) bool {
	if strings.EqualFold(strings.TrimSpace(getenv("OTEL_SDK_DISABLED")), "true") || getenv("OTEL_TRACES_EXPORTER") == "none" {
		return false
	}
	return getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

func protocol(getenv func(string) string) string {
	if p := getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"); p != "" {
		return p
	}
	return getenv("OTEL_EXPORTER_OTLP_PROTOCOL")
}

// samplerOf reads OTEL_TRACES_SAMPLER. It is read here because the SDK's own reading cannot be
// combined with resumed.
func samplerOf(getenv func(string) string) (sdktrace.Sampler, error) {
	name := strings.ToLower(strings.TrimSpace(getenv("OTEL_TRACES_SAMPLER")))
	base, hasParent := strings.CutPrefix(name, "parentbased_")
	if name == "" {
		base, hasParent = "always_on", true
	}
	var sampler sdktrace.Sampler
	switch base {
	case "always_on":
		sampler = sdktrace.AlwaysSample()
	case "always_off":
		sampler = sdktrace.NeverSample()
	case "traceidratio":
		ratio := 1.0
		if arg := strings.TrimSpace(getenv("OTEL_TRACES_SAMPLER_ARG")); arg != "" {
			var err error
			if ratio, err = strconv.ParseFloat(arg, 64); err != nil || !(ratio >= 0 && ratio <= 1) {
				return nil, fmt.Errorf("OTEL_TRACES_SAMPLER_ARG: %q is not a number from 0 to 1", arg)
			}
		}
		sampler = sdktrace.TraceIDRatioBased(ratio)
	default:
		return nil, fmt.Errorf("OTEL_TRACES_SAMPLER: %q is not always_on, always_off or traceidratio, alone or after parentbased_", name)
	}
	if hasParent {
		sampler = sdktrace.ParentBased(sampler)
	}
	return sampler, nil
}

// resumed records a span of which parts are recorded already, and asks the sampler about the
// others.
type resumed struct{ sdktrace.Sampler }

// ShouldSample implements sdktrace.Sampler.
func (r resumed) ShouldSample(p sdktrace.SamplingParameters) sdktrace.SamplingResult {
	if _, ok := span.Wanted(p.ParentContext); ok {
		return sdktrace.SamplingResult{
			Decision: sdktrace.RecordAndSample, Tracestate: trace.SpanContextFromContext(p.ParentContext).TraceState(),
		}
	}
	return r.Sampler.ShouldSample(p)
}

// ids makes ids: the ones that are wanted, or random ones.
type ids struct{}

// NewIDs implements sdktrace.IDGenerator.
func (ids) NewIDs(ctx context.Context) (t trace.TraceID, s trace.SpanID) {
	if id, ok := span.Wanted(ctx); ok {
		return id.Trace, id.Span
	}
	for !t.IsValid() {
		binary.NativeEndian.PutUint64(t[:8], rand.Uint64())
		binary.NativeEndian.PutUint64(t[8:], rand.Uint64())
	}
	return t, ids{}.random()
}

// NewSpanID implements sdktrace.IDGenerator.
func (i ids) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	if id, ok := span.Wanted(ctx); ok {
		return id.Span
	}
	return i.random()
}

func (ids) random() (s trace.SpanID) {
	for !s.IsValid() {
		binary.NativeEndian.PutUint64(s[:], rand.Uint64())
	}
	return s
}
