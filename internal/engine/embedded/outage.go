package embedded

import (
	"sync"
	"sync/atomic"
	"time"
)

// outage remembers that the store does not take writes. Runs whose submission failed wait
// here and are driven again after a delay; while it lasts, no activity is started and no
// timer fires, so that what is kept in memory stays bounded.
type outage struct {
	down  atomic.Bool
	pause func(bool)   // nothing new, or go on
	drive func([]*run) // tries runs again

	mu       sync.Mutex
	failures int
	stalled  []*run
	timer    *time.Timer
	closed   bool
}

// began notes that the store is unavailable.
func (o *outage) began() { o.stall(nil) }

// stall keeps a run, whose driver the caller was, until it is worth while to try again.
func (o *outage) stall(r *run) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	if r != nil {
		o.stalled = append(o.stalled, r)
	}
	if !o.down.Swap(true) {
		o.pause(true)
	}
	if o.timer == nil {
		o.arm()
	}
}

// arm needs o.mu.
func (o *outage) arm() {
	wait := min(minBackoff<<min(o.failures, 10), maxBackoff)
	o.failures++
	o.timer = time.AfterFunc(wait, o.try)
}

// try drives what is stalled. With nothing stalled, the next activity or timer shows
// whether the store is back.
func (o *outage) try() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.timer = nil
	if o.closed || !o.down.Load() {
		return
	}
	stalled := o.stalled
	o.stalled = nil
	if len(stalled) == 0 {
		o.down.Store(false)
		o.pause(false)
		return
	}
	o.arm()
	o.drive(stalled)
}

// over notes that a commit succeeded. It is called after each one.
func (o *outage) over() {
	if !o.down.Load() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failures = 0
	if o.closed || !o.down.Swap(false) {
		return
	}
	o.pause(false)
	stalled := o.stalled
	o.stalled = nil
	if o.timer != nil {
		o.timer.Stop()
		o.timer = nil
	}
	o.drive(stalled)
}

// close ends the waiting; what is stalled stays in the store as it is.
func (o *outage) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.stalled = nil
	if o.timer != nil {
		o.timer.Stop()
	}
}
