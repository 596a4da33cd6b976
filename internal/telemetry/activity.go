package telemetry

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/span"
)

// Watched wraps runners, so that each run of an activity is counted in registry and, where its
// execution is traced, has a span. tracer nil: no spans.
func Watched(runners map[string]activity.Runner, registry prometheus.Registerer, tracer trace.Tracer) map[string]activity.Runner {
	running := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "chargehand_activities_running", Help: "Activities that this process is carrying out, by kind.",
	}, []string{"kind"})
	ended := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "chargehand_activities_ended_total", Help: "Activities that ended in this process, by kind and result: completed, faulted or withdrawn.",
	}, []string{"kind", "result"})
	duration := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "chargehand_activity_duration_seconds", Help: "Time that activities took, by kind.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
	}, []string{"kind"})
	registry.MustRegister(running, ended, duration)
	all := make(map[string]activity.Runner, len(runners))
	for kind, r := range runners {
		all[kind] = &watched{
			Runner: r, tracer: tracer, running: running.WithLabelValues(kind), duration: duration.WithLabelValues(kind),
			completed: ended.WithLabelValues(kind, "completed"), faulted: ended.WithLabelValues(kind, "faulted"),
			withdrawn: ended.WithLabelValues(kind, "withdrawn"),
		}
	}
	return all
}

type watched struct {
	activity.Runner
	tracer   trace.Tracer
	running  prometheus.Gauge
	duration prometheus.Observer

	completed, faulted, withdrawn prometheus.Counter
}

// Run implements activity.Runner.
func (w *watched) Run(ctx context.Context, c activity.Call) (result activity.Result) {
	began := time.Now()
	w.running.Inc()
	spanned := w.tracer != nil && span.Recorded(ctx)
	var s trace.Span
	if spanned {
		ctx, s = w.tracer.Start(ctx, "activity "+c.Kind+" "+c.Reference, trace.WithAttributes(
			span.ExecutionKey.String(c.Execution.String()), span.AccountKey.String(c.Account.String()),
			span.EnvironmentKey.String(c.Environment.String()), span.KindKey.String(c.Kind),
			span.TaskKey.String(c.Reference), span.AttemptKey.Int(c.Attempt),
		))
	}
	panicked := true
	defer func() {
		w.running.Dec()
		w.duration.Observe(time.Since(began).Seconds())
		failed := panicked || result.Fault != nil
		switch {
		case ctx.Err() != nil:
			w.withdrawn.Inc()
		case failed:
			w.faulted.Inc()
		default:
			w.completed.Inc()
		}
		if !spanned {
			return
		}
		if failed || ctx.Err() != nil {
			s.SetStatus(codes.Error, "") // what went wrong may say what was sent
		}
		s.End()
	}()
	result = w.Runner.Run(ctx, c)
	panicked = false
	return result
}
