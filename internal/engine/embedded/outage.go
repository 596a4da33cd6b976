package embedded

import (
	"sync"
	"sync/atomic"
	"time"
)

// outage remembers that the store does not take writes. Runs whose write set failed wait
// here and are driven again after a delay; while it lasts, no activity is started and no
// timer fires, so that what is kept in memory stays bounded.
type outage struct {
	down    atomic.Bool
	waiting atomic.Bool // the next commit has something to do here
	pause   func(bool)  // nothing new, or go on
	report  func(over bool)
	drive   func([]*instance) // tries runs again
	// recheck looks after executions whose first commit failed, when commits succeed again.
	recheck func([]inDoubtStart)

	mu       sync.Mutex
	failures int
	reported bool // the log knows
	stalled  []*instance
	inDoubt  []inDoubtStart
	timer    *time.Timer
	closed   bool
}

// began notes that the store is unavailable.
func (o *outage) begin() { o.stall(nil) }

// stall keeps a run, whose driver the caller was, until it is worth while to try again.
func (o *outage) stall(inst *instance) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	if inst != nil {
		o.stalled = append(o.stalled, inst)
	}
	o.waiting.Store(true)
	if !o.down.Swap(true) {
		o.pause(true)
	}
	if !o.reported {
		o.reported = true
		o.report(false)
	}
	if o.timer == nil {
		o.arm()
	}
}

// maxInDoubt bounds what remember keeps.
const maxInDoubt = 100_000

// remember keeps starts in doubt until commits succeed again. It reports false if there are too many;
// the rest is found at the next start.
func (o *outage) remember(d inDoubtStart) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.inDoubt) >= maxInDoubt || o.closed {
		return false
	}
	o.waiting.Store(true)
	o.inDoubt = append(o.inDoubt, d)
	return true
}

// arm needs o.mu.
func (o *outage) arm() {
	wait := min(minBackoff<<min(o.failures, 10), maxBackoff)
	o.failures++
	o.timer = time.AfterFunc(wait, o.retry)
}

// try drives what is stalled and looks after what is in doubt. With neither, the next
// activity or timer shows whether the store is back.
func (o *outage) retry() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.timer = nil
	if o.closed || !o.waiting.Load() {
		return
	}
	stalled, starts := o.stalled, o.inDoubt
	o.stalled, o.inDoubt = nil, nil
	if len(stalled)+len(starts) == 0 {
		if o.down.Swap(false) {
			o.pause(false)
		}
		return
	}
	o.arm()
	o.drive(stalled)
	o.recheck(starts)
}

// over notes that a commit succeeded. It is called after each one.
func (o *outage) end() {
	if !o.waiting.Load() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	o.waiting.Store(false)
	o.failures = 0
	if o.timer != nil {
		o.timer.Stop()
		o.timer = nil
	}
	if o.down.Swap(false) {
		o.pause(false)
	}
	if o.reported {
		o.reported = false
		o.report(true)
	}
	stalled, starts := o.stalled, o.inDoubt
	o.stalled, o.inDoubt = nil, nil
	o.drive(stalled)
	o.recheck(starts)
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

// pause keeps activities and timers from starting, or lets them start again.
func (e *Engine) pauseAll(paused bool) {
	e.pausing.Lock()
	defer e.pausing.Unlock()
	if !paused && e.stopping.Load() {
		return
	}
	e.calls.pause(paused)
	e.streams.pause(paused)
	e.processes.pause(paused)
	e.scripts.pause(paused)
	e.timers.pause(paused)
}

// tellOutage logs the begin and the end of an outage, once each.
func (e *Engine) logOutage(over bool) {
	if over {
		e.log.Info("the storage is available again")
	} else {
		e.log.Error("the storage is unavailable; nothing new is started until it is back")
	}
}

// driveAll tries stalled runs again.
func (e *Engine) driveStalled(runs []*instance) {
	for _, inst := range runs {
		e.goWork(func() { e.drive(inst) })
	}
}
