package temporal

import (
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
)

// highest is a metrics handler that keeps the highest value of each gauge with each kind of poll.
type highest struct {
	client.MetricsHandler
	kind string

	all *highestValues
}

type highestValues struct {
	mu     sync.Mutex
	values map[string]float64
}

func (h highest) WithTags(tags map[string]string) client.MetricsHandler {
	if kind := tags["poller_type"]; kind != "" {
		h.kind = kind
	}
	return h
}

func (h highest) Gauge(name string) client.MetricsGauge {
	return gaugeFunc(func(value float64) {
		h.all.mu.Lock()
		defer h.all.mu.Unlock()
		key := name + " " + h.kind
		h.all.values[key] = max(h.all.values[key], value)
	})
}

type gaugeFunc func(float64)

func (f gaugeFunc) Update(value float64) { f(value) }

// TestPollsLeavePermits: after a burst of starts, polls for new executions must not hold the permits that executions
// in memory need, which have a queue of their own. A poll holds its permit until Temporal ends it, for up to a minute.
func TestPollsLeavePermits(t *testing.T) {
	t.Parallel()
	b := newIdleServerFixture(t)
	s, namespace := server(t)
	polls := highestValues{values: make(map[string]float64)}
	c, err := Connect(Dial{
		Address: s.Address(), Namespace: namespace, Storage: NewPayloads(b.store, b),
		Metrics: highest{MetricsHandler: client.MetricsNopHandler, all: &polls},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	b.client, b.remote.client = c, c
	p := compile(t, "do: [{a: {set: {x: 1}}}]")
	burst := make([]argument, 60)
	for i := range burst {
		burst[i] = b.begin(p, 0, echo) // before there is a worker: they wait in the queue
	}
	config := b.config()
	config.Client, config.Namespace, config.Limits.WorkflowTasks, config.Limits.Stop = c, namespace, 16, time.Second
	w := newWorker(config, defaultLimits())
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Stop(t.Context()) })
	for _, a := range burst {
		b.end(a)
	}
	polls.mu.Lock()
	defer polls.mu.Unlock()
	for _, kind := range []string{"workflow_task", "workflow_sticky_task"} {
		most := polls.values["temporal_num_pollers "+kind]
		if most < 1 || most > 4 {
			t.Errorf("%v polls of the kind %s at once; at least one, and at most a quarter of the 16 permits", most, kind)
		}
	}
}
