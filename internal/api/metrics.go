package api

import (
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics counts requests by route. Label values are resolved once per route and status,
// because looking them up costs more than counting.
type metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	unrouted *routeMetrics
}

// routeMetrics holds what is counted for one route.
type routeMetrics struct {
	metrics  *metrics
	name     string
	duration prometheus.Observer
	byStatus [600]atomic.Pointer[prometheus.Counter]
}

// RegisterMetrics registers the metrics of a server that answers nothing: to look at them.
func RegisterMetrics(registry prometheus.Registerer) { newMetrics(registry) }

func newMetrics(registry prometheus.Registerer) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "chargehand_http_requests_total", Help: "Requests answered, by route and status code.",
		}, []string{"route", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "chargehand_http_request_duration_seconds", Help: "Time from the end of a request's headers to the end of its answer.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10, 60},
		}, []string{"route"}),
	}
	registry.MustRegister(m.requests, m.duration)
	m.unrouted = m.route("none")
	return m
}

// route prepares the counters of a route, named by method and path pattern.
func (m *metrics) route(name string) *routeMetrics {
	return &routeMetrics{metrics: m, name: name, duration: m.duration.WithLabelValues(name)}
}

// observe counts an answer. rt is nil if no route was reached.
func (m *metrics) observe(rt *route, status int, took time.Duration) {
	counts := m.unrouted
	if rt != nil {
		counts = rt.metrics
	}
	if rt == nil || !rt.live || status >= 400 {
		counts.duration.Observe(took.Seconds())
	}
	if status <= 0 || status >= len(counts.byStatus) {
		return
	}
	stored := &counts.byStatus[status]
	counter := stored.Load()
	if counter == nil {
		c := m.requests.WithLabelValues(counts.name, strconv.Itoa(status))
		counter = &c
		stored.Store(counter)
	}
	(*counter).Inc()
}
