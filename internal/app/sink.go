package app

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/chargehand/chargehand/internal/sink"
)

// openSinks prepares the deliveries to the sinks of events, and shows how they do. A process
// that only works leaves them to others. Without sinks, those of former days are forgotten.
func (t *term) openSinks(registry prometheus.Registerer) {
	if t.cfg.WorkerOnly {
		return
	}
	t.sinks = sink.New(sink.Config{
		Store: t.store, Blobs: payloads{t.blobs}, Targets: t.cfg.sinks, Transport: t.policy.Transport(),
		UserAgent: "chargehand/" + Version, Keep: t.cfg.RetentionEvents, Log: t.log,
	})
	registry.MustRegister(sinkRows{t.sinks})
}

// sinkRows shows what happens to events on their way out.
type sinkRows struct{ deliveries *sink.Deliveries }

var sinkDescs = []*prometheus.Desc{
	prometheus.NewDesc("chargehand_sink_events_delivered_total", "Events that this process has delivered to a sink.", []string{"sink"}, nil),
	prometheus.NewDesc("chargehand_sink_failures_total", "Attempts of this process to deliver an event that failed.", []string{"sink"}, nil),
	prometheus.NewDesc("chargehand_sink_events_dropped_total", "Events that were deleted before this process could look whether they are for a sink.", []string{"sink"}, nil),
	prometheus.NewDesc("chargehand_sink_events_behind", "Events that were not read for a sink yet.", []string{"sink"}, nil),
	prometheus.NewDesc("chargehand_sink_failing", "1: a sink has refused an event five times in a row, and still does.", []string{"sink"}, nil),
}

// Describe implements prometheus.Collector.
func (r sinkRows) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range sinkDescs {
		to <- desc
	}
}

// Collect implements prometheus.Collector. Two sinks that are shown alike are counted as one.
func (r sinkRows) Collect(to chan<- prometheus.Metric) {
	sums := map[string]*[5]float64{}
	for _, s := range r.deliveries.Stats() {
		if sums[s.Sink] == nil {
			sums[s.Sink] = &[5]float64{}
		}
		sum := sums[s.Sink]
		for i, n := range [...]int64{s.Delivered, s.Failures, s.Dropped, s.Behind} {
			sum[i] += float64(n)
		}
		if s.Failing {
			sum[4] = 1
		}
	}
	kinds := [...]prometheus.ValueType{prometheus.CounterValue, prometheus.CounterValue, prometheus.CounterValue, prometheus.GaugeValue, prometheus.GaugeValue}
	for name, sum := range sums {
		for i, desc := range sinkDescs {
			to <- prometheus.MustNewConstMetric(desc, kinds[i], sum[i], name)
		}
	}
}
