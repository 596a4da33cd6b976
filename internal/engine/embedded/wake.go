package embedded

import (
	"context"
	"sync"

	"github.com/chargehand/chargehand/internal/eventstream"
	"github.com/chargehand/chargehand/internal/fair"
	"github.com/chargehand/chargehand/internal/store"
)

// maxWakeups bounds the woken subscriptions of one stream that wait in memory. The event matcher
// passes over a stream that has more; other streams continue.
const maxWakeups = 100_000

// wakeQueue gives woken executions their turns to read events: a bounded number at once, shared
// among environments and workflows. An execution that needs more than its turn joins the queue
// again. The queue need not be durable, because the rows say which subscriptions are woken.
type wakeQueue struct {
	begin   func(wakeup)         // reads events on a goroutine of its own, and then calls done
	drained func(eventstream.ID) // is called for a stream that was full and has room again
	stopped func() bool          // reports whether the engine stops
	room    chan struct{}        // gets a value when a wakeup has left the queue

	mu      sync.Mutex
	line    *fair.Line[wakeup]
	known   map[int64]bool         // subscriptions in the queue
	streams map[eventstream.ID]int // wakeups in the queue, by stream
	full    map[eventstream.ID]bool
}

// wakeup is an execution that has to read events.
type wakeup struct {
	owner fair.Owner
	woken store.Subscription // No is 0 for another turn
}

func (w *wakeup) stream() eventstream.ID {
	return eventstream.ID{Account: w.woken.Account, Environment: w.woken.Environment}
}

func newWakeQueue(permits int) *wakeQueue {
	// A workflow with many wakeups leaves some permits to the others.
	limits := fair.Limits{Permits: permits, PerWorkflow: max(1, permits*3/4)}
	return &wakeQueue{
		line: fair.NewLine[wakeup](limits), room: make(chan struct{}, 1),
		known: make(map[int64]bool), streams: make(map[eventstream.ID]int), full: make(map[eventstream.ID]bool),
	}
}

// addAll gives subscriptions their turns, now or later.
func (w *wakeQueue) addAll(list []store.Subscription) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range list {
		w.push(wakeup{fair.Owner{Environment: s.Environment, Workflow: s.Workflow}, s})
	}
}

// addAgain gives an execution another turn, behind the others.
func (w *wakeQueue) addAgain(row *store.Execution) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.push(wakeup{
		fair.Owner{Environment: row.Environment, Workflow: row.Workflow},
		store.Subscription{Account: row.Account, Environment: row.Environment, Execution: row.No},
	})
}

// push adds one wakeup. The caller holds w.mu.
func (w *wakeQueue) push(one wakeup) {
	no := one.woken.No
	switch {
	case no != 0 && w.known[no]: // it will read these events in the turn that it waits for
		return
	case w.line.Take(one.owner):
		w.start(one)
		return
	}
	if no != 0 {
		w.known[no] = true
	}
	w.line.Push(one.owner, one)
	w.streams[one.stream()]++
}

// start begins the turn of one wakeup. The caller holds w.mu.
func (w *wakeQueue) start(one wakeup) {
	if w.stopped() {
		w.line.Release(one.owner)
		return
	}
	w.begin(one)
}

// done gives the permit of one wakeup to the next.
func (w *wakeQueue) done(one wakeup) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.line.Release(one.owner)
	for {
		next, _, ok := w.line.Next()
		if !ok {
			return
		}
		delete(w.known, next.woken.No)
		w.removed(next.stream())
		w.start(next)
	}
}

// removed counts a wakeup that has left the queue. The caller holds w.mu.
func (w *wakeQueue) removed(s eventstream.ID) {
	left := w.streams[s] - 1
	if w.streams[s] = left; left == 0 {
		delete(w.streams, s)
	}
	select {
	case w.room <- struct{}{}:
	default:
	}
	if w.full[s] && left <= maxWakeups/2 {
		delete(w.full, s)
		w.drained(s)
	}
}

// isFull reports whether a stream has too many wakeups in the queue. If so, drained is called when
// it has fewer.
func (w *wakeQueue) isFull(s eventstream.ID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.streams[s] < maxWakeups {
		return false
	}
	w.full[s] = true
	return true
}

// waitForRoom waits until there is room for more wakeups of all streams.
func (w *wakeQueue) waitForRoom(ctx context.Context) error {
	for {
		w.mu.Lock()
		waiting := w.line.Waiting()
		w.mu.Unlock()
		if waiting < maxWakeups {
			return nil
		}
		select {
		case <-w.room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// startWakeup makes an execution read events.
func (e *Engine) startWakeup(one wakeup) {
	e.goWork(func() {
		defer e.wakeups.done(one)
		msg := message{kind: refresh}
		if one.woken.No != 0 {
			msg = message{kind: readEvents, woken: one.woken}
		}
		e.send(one.woken.Execution, msg)
	})
}
