package sink

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/store"
)

const (
	// pageEvents and pageBytes bound what is read, and may be sent again, at a time.
	pageEvents = 100
	pageBytes  = 4 << 20
	// requestTime bounds one delivery. It is shorter than what is left of the lease when it begins.
	requestTime = 20 * time.Second
	leaseTime   = time.Minute
	leaseAge    = 20 * time.Second // after which the lease is prolonged
	// firstPause doubles with each failure, up to longestPause.
	firstPause   = time.Second
	longestPause = 5 * time.Minute
	// maxFailures is the number of failures in a row after which a sink counts as failing.
	maxFailures = 5
	// endTime bounds the note of how far a delivery got that was cut off.
	endTime = 2 * time.Second
	// noteEvery is how often a process notes that it has a sink, and looks for those that no process has had for
	// Config.Keep.
	noteEvery = time.Hour
	minKeep   = 7 * 24 * time.Hour
)

// Config configures Deliveries. Store is required; Blobs and Transport are, if there are targets.
type Config struct {
	Store     *store.Store
	Blobs     engine.Blobs
	Targets   []Target
	Transport http.RoundTripper // applies the egress rules
	UserAgent string
	Every     time.Duration // between two looks for new events; default 500 ms
	// Keep is how long the position of a sink is kept that no process has any more; at least, and by default, 7 days.
	// It should not be shorter than events are kept.
	Keep time.Duration
	Log  *slog.Logger     // default: discards
	Now  func() time.Time // default: time.Now
}

// Deliveries sends events to all targets.
type Deliveries struct {
	config Config
	node   [16]byte
	sinks  []*delivery
}

// Stats counts the deliveries of this process to one sink since it started.
type Stats struct {
	Sink      string // as it is shown
	Delivered int64
	Failures  int64 // attempts
	Dropped   int64 // events that were deleted before they were read
	Behind    int64 // stored events that were not read yet, at the last count
	Failing   bool
}

// New prepares the deliveries. It starts nothing; see Run.
func New(c Config) *Deliveries {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Every == 0 {
		c.Every = 500 * time.Millisecond
	}
	c.Keep = max(c.Keep, minKeep)
	d := &Deliveries{config: c}
	rand.Read(d.node[:]) // never fails: the process ends where there is no randomness
	known := map[string]bool{}
	for _, target := range c.Targets {
		if name := target.Name(); !known[name] {
			known[name] = true
			d.sinks = append(d.sinks, &delivery{Deliveries: d, target: target, name: name, log: c.Log.With("sink", target.String())})
		}
	}
	return d
}

// Run delivers until ctx ends, and forgets sinks that are gone.
func (d *Deliveries) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, s := range d.sinks {
		running.Go(func() { s.run(ctx) })
	}
	clock := time.NewTicker(noteEvery)
	defer clock.Stop()
	for ctx.Err() == nil {
		select {
		case <-clock.C:
			d.forget(ctx)
		case <-ctx.Done():
		}
	}
	running.Wait()
}

// forget deletes what is known of sinks that no process has had for long: the events behind which they
// stopped are gone as well.
func (d *Deliveries) forget(ctx context.Context) {
	now, deleted := d.config.Now(), 0
	err := d.config.Store.Update(ctx, func(tx *store.Tx) (err error) {
		deleted, err = tx.DeleteSinks(now.Add(-d.config.Keep).UnixMilli(), now.UnixMilli())
		return err
	})
	switch {
	case err != nil && ctx.Err() == nil:
		d.config.Log.Warn("sinks that no process has any more cannot be deleted; it is tried again in an hour", "error", err)
	case err == nil && deleted > 0:
		d.config.Log.Info("sinks that no process has any more were deleted", "sinks", deleted)
	}
}

// Stats returns the counters of every sink.
func (d *Deliveries) Stats() []Stats {
	list := make([]Stats, len(d.sinks))
	for i, s := range d.sinks {
		list[i] = Stats{s.target.String(), s.delivered.Load(), s.failures.Load(), s.dropped.Load(), s.behind.Load(), s.failing.Load()}
	}
	return list
}

// delivery is the work on one sink.
type delivery struct {
	*Deliveries
	target Target
	name   string
	log    *slog.Logger

	leased    time.Time // when the lease was taken last
	delivered atomic.Int64
	failures  atomic.Int64
	dropped   atomic.Int64
	behind    atomic.Int64
	failing   atomic.Bool
	troubled  bool // the storage could not be used, which was logged
}

func (s *delivery) run(ctx context.Context) {
	var noted time.Time
	for ctx.Err() == nil {
		again := false
		var err error
		if now := s.config.Now(); noted.IsZero() || now.Sub(noted).Abs() > noteEvery {
			if err = s.config.Store.Update(ctx, func(tx *store.Tx) error { return tx.RegisterSink(s.name, now.UnixMilli()) }); err == nil {
				noted = now
			}
		}
		if err == nil {
			again, err = s.round(ctx)
		}
		s.tell(ctx, err)
		if again && err == nil {
			continue
		}
		pause := time.NewTimer(s.config.Every)
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
		pause.Stop()
	}
}

// tell logs that the storage cannot be used, once until it can.
func (s *delivery) tell(ctx context.Context, err error) {
	if err != nil && !s.troubled && ctx.Err() == nil {
		s.log.Warn("events cannot be read for a sink", "error", err)
	}
	if ctx.Err() == nil {
		s.troubled = err != nil
	}
}
