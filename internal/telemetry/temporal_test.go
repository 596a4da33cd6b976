package telemetry

import (
	"maps"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func TestTemporalMetrics(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	h := NewTemporalMetrics(registry)
	tagged := h.WithTags(map[string]string{"operation": "Old", "namespace": "n", "client_name": "c"}).
		WithTags(map[string]string{"operation": "StartWorkflowExecution", "status_code": "Unavailable", "anything": "unbounded"})
	tagged.Counter("temporal_request").Inc(2)
	tagged.Counter("temporal_request_failure").Inc(1)
	tagged.Counter("temporal_request_failure").Inc(-1)
	tagged.Counter("temporal_of_tomorrow").Inc(1)
	tagged.Gauge("temporal_of_tomorrow").Update(1)
	tagged.Timer("temporal_of_tomorrow").Record(time.Second)
	h.Gauge("temporal_sticky_cache_size").Update(3)
	tagged.Timer("temporal_request_latency").Record(1500 * time.Millisecond)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				name += " " + l.GetName() + "=" + l.GetValue()
			}
			got[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetHistogram().GetSampleSum()
		}
	}
	want := map[string]float64{
		"temporal_request_total operation=StartWorkflowExecution":                                 2,
		"temporal_request_failure_total operation=StartWorkflowExecution status_code=Unavailable": 1,
		"temporal_sticky_cache_size":                                        3,
		"temporal_request_latency_seconds operation=StartWorkflowExecution": 1.5,
	}
	if !maps.Equal(got, want) {
		t.Errorf("the samples are %v, want %v", got, want)
	}
}
