package telemetry

import (
	"maps"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/sdk/client"
)

// sdkMetric is a metric of Temporal's SDK that we show. Its labels are the tags of the SDK
// that it keeps; others are dropped.
type sdkMetric struct {
	name   string // as the SDK calls it
	help   string
	labels []string
}

var (
	sdkCounters = []sdkMetric{
		{"temporal_request", "Requests to Temporal.", []string{"operation"}},
		{"temporal_request_failure", "Requests to Temporal that failed.", []string{"operation", "status_code"}},
		{"temporal_request_resource_exhausted", "Requests to Temporal that it refused because of a limit.", []string{"operation", "cause"}},
		{"temporal_long_request", "Long polls of Temporal.", []string{"operation"}},
		{"temporal_long_request_failure", "Long polls of Temporal that failed.", []string{"operation", "status_code"}},
		{"temporal_workflow_completed", "Workflows that completed here.", nil},
		{"temporal_workflow_canceled", "Workflows that ended as cancelled here.", nil},
		{"temporal_workflow_failed", "Workflows that failed here: mistakes of ours.", nil},
		{"temporal_workflow_continue_as_new", "Workflows that continued in a new run.", nil},
		{"temporal_workflow_task_queue_poll_empty", "Polls for workflow tasks that brought none.", []string{"task_queue"}},
		{"temporal_workflow_task_queue_poll_succeed", "Polls for workflow tasks that brought one.", []string{"task_queue"}},
		{"temporal_workflow_task_execution_failed", "Workflow tasks that failed.", []string{"failure_reason"}},
		{"temporal_workflow_task_no_completion", "Workflow tasks without an answer.", nil},
		{"temporal_activity_poll_no_task", "Polls for activities that brought none.", []string{"task_queue"}},
		{"temporal_activity_execution_failed", "Temporal activities that failed, by type.", []string{"activity_type"}},
		{"temporal_activity_task_error", "Temporal activities whose worker failed, by type.", []string{"activity_type"}},
		{"temporal_corrupted_signals", "Signals that could not be read.", nil},
		{"temporal_worker_start", "Workers that were started.", []string{"worker_type", "task_queue"}},
		{"temporal_poller_start", "Pollers that were started.", []string{"worker_type", "task_queue"}},
		{"temporal_sticky_cache_hit", "Workflow tasks whose workflow was in memory.", nil},
		{"temporal_sticky_cache_miss", "Workflow tasks whose workflow had to be replayed.", nil},
		{"temporal_sticky_cache_total_forced_eviction", "Workflows that left the memory to make room.", nil},
	}
	sdkGauges = []sdkMetric{
		{"temporal_worker_task_slots_available", "Tasks that a worker could take on.", []string{"worker_type", "task_queue"}},
		{"temporal_worker_task_slots_used", "Tasks that a worker has taken on.", []string{"worker_type", "task_queue"}},
		{"temporal_num_pollers", "Pollers that wait for tasks.", []string{"poller_type", "task_queue"}},
		{"temporal_sticky_cache_size", "Workflows in memory.", nil},
		{"temporal_workflow_active_thread_count", "Coroutines of workflows in memory.", nil},
	}
	sdkTimers = []sdkMetric{
		{"temporal_request_latency", "Time of requests to Temporal.", []string{"operation"}},
		{"temporal_long_request_latency", "Time of long polls of Temporal.", []string{"operation"}},
		{"temporal_workflow_endtoend_latency", "Time from the start of a workflow's run to its end.", nil},
		{"temporal_workflow_task_schedule_to_start_latency", "Time that workflow tasks waited for a worker.", []string{"task_queue"}},
		{"temporal_workflow_task_execution_latency", "Time that workflow tasks took.", nil},
		{"temporal_workflow_task_replay_latency", "Time that replays took.", nil},
		{"temporal_activity_schedule_to_start_latency", "Time that Temporal activities waited for a worker.", []string{"task_queue"}},
		{"temporal_activity_execution_latency", "Time that Temporal activities took, by type.", []string{"activity_type"}},
		{"temporal_activity_succeed_endtoend_latency", "Time from the schedule of a Temporal activity to its success, by type.", []string{"activity_type"}},
	}
)

var latencyBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}

// sdkCollectors are the metrics of the SDK in a registry.
type sdkCollectors struct {
	counters map[string]labelled[*prometheus.CounterVec]
	gauges   map[string]labelled[*prometheus.GaugeVec]
	timers   map[string]labelled[*prometheus.HistogramVec]
}

type labelled[V any] struct {
	vector V
	labels []string
}

// values are the values of the labels among tags.
func (l labelled[V]) values(tags map[string]string) []string {
	values := make([]string, len(l.labels))
	for i, name := range l.labels {
		values[i] = tags[name]
	}
	return values
}

// NewTemporalMetrics shows metrics of Temporal's SDK in registry. Metrics and tags that are not
// in the lists above are dropped. Counters end in _total and timers in _seconds, as is the custom.
func NewTemporalMetrics(registry prometheus.Registerer) client.MetricsHandler {
	c := &sdkCollectors{
		counters: make(map[string]labelled[*prometheus.CounterVec]),
		gauges:   make(map[string]labelled[*prometheus.GaugeVec]),
		timers:   make(map[string]labelled[*prometheus.HistogramVec]),
	}
	for _, m := range sdkCounters {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: m.name + "_total", Help: m.help}, m.labels)
		registry.MustRegister(v)
		c.counters[m.name] = labelled[*prometheus.CounterVec]{v, m.labels}
	}
	for _, m := range sdkGauges {
		v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: m.name, Help: m.help}, m.labels)
		registry.MustRegister(v)
		c.gauges[m.name] = labelled[*prometheus.GaugeVec]{v, m.labels}
	}
	for _, m := range sdkTimers {
		v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: m.name + "_seconds", Help: m.help, Buckets: latencyBuckets}, m.labels)
		registry.MustRegister(v)
		c.timers[m.name] = labelled[*prometheus.HistogramVec]{v, m.labels}
	}
	return &sdkHandler{to: c}
}

// sdkHandler is the collectors with tags.
type sdkHandler struct {
	to   *sdkCollectors
	tags map[string]string
}

// WithTags implements client.MetricsHandler.
func (h *sdkHandler) WithTags(tags map[string]string) client.MetricsHandler {
	all := make(map[string]string, len(h.tags)+len(tags))
	maps.Copy(all, h.tags)
	maps.Copy(all, tags)
	return &sdkHandler{h.to, all}
}

// Counter implements client.MetricsHandler.
func (h *sdkHandler) Counter(name string) client.MetricsCounter {
	m, ok := h.to.counters[name]
	if !ok {
		return client.MetricsNopHandler.Counter(name)
	}
	return sdkCounter{m.vector.WithLabelValues(m.values(h.tags)...)}
}

// Gauge implements client.MetricsHandler.
func (h *sdkHandler) Gauge(name string) client.MetricsGauge {
	m, ok := h.to.gauges[name]
	if !ok {
		return client.MetricsNopHandler.Gauge(name)
	}
	return sdkGauge{m.vector.WithLabelValues(m.values(h.tags)...)}
}

// Timer implements client.MetricsHandler.
func (h *sdkHandler) Timer(name string) client.MetricsTimer {
	m, ok := h.to.timers[name]
	if !ok {
		return client.MetricsNopHandler.Timer(name)
	}
	return sdkTimer{m.vector.WithLabelValues(m.values(h.tags)...)}
}

type sdkCounter struct{ prometheus.Counter }

// Inc implements client.MetricsCounter. A counter that falls would be a mistake of the SDK.
func (c sdkCounter) Inc(n int64) { c.Add(float64(max(n, 0))) }

type sdkGauge struct{ prometheus.Gauge }

// Update implements client.MetricsGauge.
func (g sdkGauge) Update(v float64) { g.Set(v) }

type sdkTimer struct{ prometheus.Observer }

// Record implements client.MetricsTimer.
func (t sdkTimer) Record(d time.Duration) { t.Observe(d.Seconds()) }
