package embedded

import (
	"container/heap"
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

// maxSleep bounds how long the timers sleep, so that a step of the wall clock is noticed.
const maxSleep = time.Second

// timers are those of each environment. The environments share neither the window nor the permits, so that no number
// of timers that are due in one delays those of the other.
type timers struct{ live, test *clock }

func newTimers(window, permits int, nowMs func() int64) timers {
	return timers{
		live: newClock(chargehand.Live, window, permits, nowMs),
		test: newClock(chargehand.Test, window, max(1, permits/2), nowMs),
	}
}

func (t timers) of(env chargehand.Environment) *clock {
	if env == chargehand.Test {
		return t.test
	}
	return t.live
}

func (t timers) each() [2]*clock { return [2]*clock{t.live, t.test} }

// pause keeps timers from firing, or lets them fire again.
func (t timers) pause(paused bool) {
	for _, c := range t.each() {
		c.pause(paused)
	}
}

// held returns the number of timers in memory.
func (t timers) held() int { return t.live.held() + t.test.held() }

// clock fires the timers of an environment when they are due. Every timer is a row. Memory holds only the timers that
// are due next: all rows before the horizon. A new timer behind the horizon stays a row only.
type clock struct {
	permits chan struct{} // of executions that timers load and wake at once
	window  int           // timers in memory; twice as many are dropped to this number
	// read returns rows of the environment of one that come after it, by due time.
	read func(ctx context.Context, after store.Timer, limit int) ([]store.Timer, error)
	// fire gets the due timers in order of due time.
	fire  func(due []store.Timer)
	nowMs func() int64

	mu      sync.Mutex
	entries timerHeap
	index   map[timerKey]*timerEntry
	horizon store.Timer // rows up to this one, inclusive, are in memory
	reading bool
	late    []store.Timer // added behind the horizon while rows were being read
	removed []timerKey    // removed while rows were being read
	paused  bool
	changed chan struct{}
}

type timerKey struct {
	execution int64
	command   uint64
}

type timerEntry struct {
	store.Timer
	at int // index in the heap
}

// everything is a horizon behind all timers.
var everything = store.Timer{DueMs: math.MaxInt64, Execution: math.MaxInt64, Command: math.MaxUint64}

// before orders timers of an environment by due time, then by execution and command.
func before(a, b store.Timer) bool {
	if a.DueMs != b.DueMs {
		return a.DueMs < b.DueMs
	}
	if a.Execution != b.Execution {
		return a.Execution < b.Execution
	}
	return a.Command < b.Command
}

func newClock(env chargehand.Environment, window, permits int, nowMs func() int64) *clock {
	return &clock{
		permits: make(chan struct{}, permits), window: window, nowMs: nowMs,
		index: make(map[timerKey]*timerEntry), changed: make(chan struct{}, 1),
		// Until the first page is read, everything is behind the horizon.
		horizon: store.Timer{Environment: env, DueMs: math.MinInt64},
	}
}

// run fires timers until ctx ends.
func (t *clock) run(ctx context.Context, failed func(error)) {
	const limit = 256
	alarm := time.NewTimer(0)
	defer alarm.Stop()
	for ctx.Err() == nil {
		fired, wait, short := t.due(limit)
		if len(fired) > 0 {
			t.fire(fired)
		}
		if short {
			if err := t.page(ctx); err != nil && ctx.Err() == nil {
				failed(err)
				wait = min(wait, maxSleep)
			} else {
				continue
			}
		} else if len(fired) == limit {
			continue
		}
		alarm.Reset(wait)
		select {
		case <-ctx.Done():
		case <-t.changed:
		case <-alarm.C:
		}
	}
}

// due takes out the timers that are due, at most limit. wait is the time until the next timer.
// short says that the window should be filled.
func (t *clock) due(limit int) (fired []store.Timer, wait time.Duration, short bool) {
	now := t.nowMs()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.paused {
		return nil, maxSleep, false
	}
	for len(t.entries) > 0 && t.entries[0].DueMs <= now && len(fired) < limit {
		e := heap.Pop(&t.entries).(*timerEntry)
		delete(t.index, timerKey{e.Execution, e.Command})
		fired = append(fired, e.Timer)
	}
	// The window is filled again before it is empty, so that reading delays nothing.
	short = len(t.entries) < t.window/4 && before(t.horizon, everything)
	wait = maxSleep
	if len(t.entries) > 0 {
		wait = min(wait, time.Duration(t.entries[0].DueMs-now)*time.Millisecond)
	}
	return fired, max(wait, 0), short
}

// add takes in a timer whose row is durable.
func (t *clock) add(timer store.Timer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.reading { // it may have been removed meanwhile, and is back
		key := timerKey{timer.Execution, timer.Command}
		t.removed = slices.DeleteFunc(t.removed, func(k timerKey) bool { return k == key })
	}
	if before(t.horizon, timer) {
		if t.reading {
			t.late = append(t.late, timer)
		}
		return
	}
	if t.insert(timer) && t.entries[0].Timer == timer {
		t.signal()
	}
	// It does not shrink while rows are being read: the page would not hold what shrink drops.
	if len(t.entries) > 2*t.window && !t.reading {
		t.shrink()
	}
}

// insert adds a timer and reports whether it is new. The caller holds t.mu.
func (t *clock) insert(timer store.Timer) bool {
	key := timerKey{timer.Execution, timer.Command}
	if t.index[key] != nil {
		return false
	}
	e := &timerEntry{Timer: timer}
	t.index[key] = e
	heap.Push(&t.entries, e)
	return true
}

// remove forgets a timer whose row was deleted.
func (t *clock) remove(execution int64, command uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := timerKey{execution, command}
	if e := t.index[key]; e != nil {
		heap.Remove(&t.entries, e.at)
		delete(t.index, key)
	}
	if t.reading {
		t.removed = append(t.removed, key)
	}
}

// shrink drops the later half of the timers, which stay rows, and moves the horizon. The caller
// holds t.mu.
func (t *clock) shrink() {
	kept := make(timerHeap, 0, 2*t.window+1)
	for range t.window {
		kept = append(kept, heap.Pop(&t.entries).(*timerEntry))
	}
	for _, e := range t.entries {
		delete(t.index, timerKey{e.Execution, e.Command})
	}
	for i, e := range kept { // a sorted list is a heap
		e.at = i
	}
	t.entries = kept
	t.horizon = kept[len(kept)-1].Timer
}

// page reads the rows behind the horizon until the window is full again.
func (t *clock) page(ctx context.Context) error {
	t.mu.Lock()
	after := t.horizon
	t.reading = true
	t.mu.Unlock()
	rows, err := t.read(ctx, after, t.window)
	t.mu.Lock()
	defer t.mu.Unlock()
	late, removed := t.late, t.removed
	t.reading, t.late, t.removed = false, nil, nil
	if err != nil {
		return err
	}
	if len(rows) < t.window {
		t.horizon = everything // it is read from no more
	} else {
		t.horizon = rows[len(rows)-1]
	}
	gone := make(map[timerKey]bool, len(removed))
	for _, key := range removed {
		gone[key] = true
	}
	for _, timer := range append(rows, late...) {
		if !before(t.horizon, timer) && !gone[timerKey{timer.Execution, timer.Command}] {
			t.insert(timer)
		}
	}
	return nil
}

func (t *clock) signal() {
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// pause keeps timers from firing, or lets them fire again.
func (t *clock) pause(paused bool) {
	t.mu.Lock()
	t.paused = paused
	t.mu.Unlock()
	if !paused {
		t.signal()
	}
}

// held returns the number of timers in memory.
func (t *clock) held() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.entries)
}

// readTimers reads the timers after one, by due time.
func (e *Engine) readTimers(ctx context.Context, after store.Timer, limit int) (list []store.Timer, err error) {
	err = e.store.View(ctx, func(r *store.Reader) (err error) {
		list, err = r.TimersAfter(after, limit)
		return err
	})
	return list, err
}

// fire sends due timers to their executions. It returns when each has one of the permits to wake its execution.
func (e *Engine) fire(due []store.Timer, permits chan struct{}) {
	for _, t := range due {
		inst, drive := e.instances.put(t.Execution, message{kind: applyEvent, event: machine.Event{
			Kind: machine.TimerFired, Command: machine.CommandID(t.Command),
		}})
		if !drive {
			continue
		}
		select {
		case permits <- struct{}{}:
		case <-e.ctx.Done():
			return // the next start finds the rows
		}
		e.goWork(func() {
			defer func() { <-permits }()
			e.drive(inst)
		})
	}
}

type timerHeap []*timerEntry

func (h timerHeap) Len() int { return len(h) }

func (h timerHeap) Less(i, j int) bool { return before(h[i].Timer, h[j].Timer) }

func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}

func (h *timerHeap) Push(x any) {
	e := x.(*timerEntry)
	e.at = len(*h)
	*h = append(*h, e)
}

func (h *timerHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return e
}
