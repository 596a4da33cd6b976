package embedded

import (
	"sync"
	"sync/atomic"
	"time"
)

// outage remembers that the store does not take writes. Instances whose write set has failed wait
// here and are driven again after a delay. While the outage lasts, no activity starts and no timer
// fires, so memory stays bounded.
type outage struct {
	down    atomic.Bool
	waiting atomic.Bool // the next commit has to call end
	pause   func(bool)  // keeps activities and timers from starting, or lets them start
	report  func(over bool)
	drive   func([]*instance) // drives instances again
	// recheck looks up the executions whose first commit is in doubt.
	recheck func([]inDoubtStart)

	mu       sync.Mutex
	failures int
	reported bool // the outage was logged
	stalled  []*instance
	inDoubt  []inDoubtStart
	most     int // how many of them are kept
	timer    *time.Timer
	closed   bool
}

// begin notes that the store is unavailable.
func (o *outage) begin() { o.stall(nil) }

// stall keeps an instance, whose driver was the caller, until it is driven again.
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

// maxInDoubt bounds the starts that remember keeps.
const maxInDoubt = 100_000

// remember keeps a start in doubt until commits succeed again. It reports false if there are too
// many. The recovery of the next start finds the rest.
func (o *outage) remember(d inDoubtStart) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.inDoubt) >= o.most || o.closed {
		return false
	}
	o.waiting.Store(true)
	o.inDoubt = append(o.inDoubt, d)
	return true
}

// arm sets the timer of the next attempt. The caller holds o.mu.
func (o *outage) arm() {
	wait := min(minBackoff<<min(o.failures, 10), maxBackoff)
	o.failures++
	o.timer = time.AfterFunc(wait, o.retry)
}

// retry drives the stalled instances and rechecks the starts in doubt. If there are neither, the
// next activity or timer shows whether the store is available.
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

// end notes that a commit has succeeded. It is called after each commit.
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

// close ends the attempts. The store keeps what has stalled.
func (o *outage) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.stalled = nil
	if o.timer != nil {
		o.timer.Stop()
	}
}

// pauseAll keeps activities and timers from starting, or lets them start again.
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

// logOutage logs the beginning and the end of an outage, once each.
func (e *Engine) logOutage(over bool) {
	if over {
		e.log.Info("the storage is available again")
	} else {
		e.log.Error("the storage is unavailable; nothing new is started until it is back")
	}
}

// driveStalled drives instances that have stalled.
func (e *Engine) driveStalled(stalled []*instance) {
	for _, inst := range stalled {
		e.goWork(func() { e.drive(inst) })
	}
}
