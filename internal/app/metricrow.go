package app

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/chargehand/chargehand/internal/operate"
	"github.com/chargehand/chargehand/internal/store"
)

const (
	// rowsAge is how long counts are shown again, however often they are asked for.
	rowsAge = 10 * time.Second
	// rowsTime bounds the counting.
	rowsTime = 2 * time.Second
)

// rows shows what the database says about the whole installation. While it cannot be asked,
// there is nothing to show.
type rows struct {
	store  *store.Store
	outbox bool // there is one: the Temporal engine's

	unfinished *prometheus.Desc
	waiting    *prometheus.Desc
	late       *prometheus.Desc

	mu    sync.Mutex
	read  time.Time // zero: never
	known bool
	work  operate.Work
}

func newRows(st *store.Store, outbox bool) *rows {
	return &rows{
		store: st, outbox: outbox,
		unfinished: prometheus.NewDesc("chargehand_executions",
			"Executions of the installation that have not ended, by state: queued, ready, active or parked; at most 10,000 of each are counted.", []string{"state"}, nil),
		waiting: prometheus.NewDesc("chargehand_outbox_messages",
			"Messages of the installation that are on their way to Temporal; at most 10,000 are counted.", nil, nil),
		late: prometheus.NewDesc("chargehand_outbox_late_seconds",
			"How long the message that is due first waits for its delivery; 0 if none is late.", nil, nil),
	}
}

// Describe implements prometheus.Collector.
func (r *rows) Describe(to chan<- *prometheus.Desc) {
	to <- r.unfinished
	if r.outbox {
		to <- r.waiting
		to <- r.late
	}
}

// Collect implements prometheus.Collector.
func (r *rows) Collect(to chan<- prometheus.Metric) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := time.Now(); r.read.IsZero() || now.Sub(r.read) >= rowsAge {
		r.known, r.read = r.count() == nil, now
	}
	if !r.known {
		return
	}
	for run, state := range map[store.ExecutionState]string{
		store.StateQueued: "queued", store.StateReady: "ready", store.StateActive: "active", store.StateParked: "parked",
	} {
		to <- prometheus.MustNewConstMetric(r.unfinished, prometheus.GaugeValue, float64(r.work.Unfinished[run]), state)
	}
	if !r.outbox {
		return
	}
	to <- prometheus.MustNewConstMetric(r.waiting, prometheus.GaugeValue, float64(r.work.Messages))
	to <- prometheus.MustNewConstMetric(r.late, prometheus.GaugeValue, r.work.Late(time.Now()).Seconds())
}

func (r *rows) count() error {
	ctx, cancel := context.WithTimeout(context.Background(), rowsTime)
	defer cancel()
	return r.store.View(ctx, func(reader *store.Reader) (err error) {
		r.work, err = operate.ReadWork(reader, r.outbox, time.Now())
		return err
	})
}
