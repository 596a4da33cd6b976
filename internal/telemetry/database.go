package telemetry

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/chargehand/chargehand/internal/store"
)

// Database measures the transactions of a process, for as many registries as there are one
// after the other. Nil measures nothing.
type Database struct {
	prometheus.Collector
	update, view prometheus.Observer
}

// NewDatabase makes a Database, to be registered as a collector.
func NewDatabase() *Database {
	duration := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "chargehand_database_duration_seconds", Help: "Time from the call of a transaction to its end, waits for a connection included: update or view.",
		Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
	}, []string{"transaction"})
	return &Database{Collector: duration, update: duration.WithLabelValues("update"), view: duration.WithLabelValues("view")}
}

// Measure wraps a database.
func (d *Database) Measure(db store.DB) store.DB {
	if d == nil {
		return db
	}
	return measured{db, d}
}

type measured struct {
	store.DB
	to *Database
}

// Update implements store.DB.
func (m measured) Update(ctx context.Context, fn func(store.Conn) error) error {
	began := time.Now()
	err := m.DB.Update(ctx, fn)
	m.to.update.Observe(time.Since(began).Seconds())
	return err
}

// View implements store.DB.
func (m measured) View(ctx context.Context, fn func(store.Conn) error) error {
	began := time.Now()
	err := m.DB.View(ctx, fn)
	m.to.view.Observe(time.Since(began).Seconds())
	return err
}
