package app

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/chargehand/chargehand/internal/store"
)

const (
	// countedRows bounds what is counted of each kind, so that a scrape costs the same however
	// much there is.
	countedRows = 10_000
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

	mu     sync.Mutex
	read   time.Time // zero: never
	known  bool
	counts store.StateCounts
	depth  int64
	dueMs  int64
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
		to <- prometheus.MustNewConstMetric(r.unfinished, prometheus.GaugeValue, float64(r.counts[run]), state)
	}
	if !r.outbox {
		return
	}
	late := 0.0
	if r.dueMs != 0 {
		late = max(0, time.Since(time.UnixMilli(r.dueMs)).Seconds())
	}
	to <- prometheus.MustNewConstMetric(r.waiting, prometheus.GaugeValue, float64(r.depth))
	to <- prometheus.MustNewConstMetric(r.late, prometheus.GaugeValue, late)
}

// forever is later than every time.
const forever = 1<<63 - 1

func (r *rows) count() error {
	ctx, cancel := context.WithTimeout(context.Background(), rowsTime)
	defer cancel()
	return r.store.View(ctx, func(reader *store.Reader) (err error) {
		if r.counts, err = reader.CountUnfinishedAtMost(countedRows); err != nil || !r.outbox {
			return err
		}
		if r.depth, err = reader.CountOutbox(forever, countedRows); err != nil {
			return err
		}
		r.dueMs, err = reader.OldestOutboxMs()
		return err
	})
}
