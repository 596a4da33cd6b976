package embedded

import (
	"context"
	"sync"

	"github.com/chargehand/chargehand/internal/fair"
	"github.com/chargehand/chargehand/internal/store"
)

// maxWaking bounds the woken subscriptions of a stream that wait in memory for their turns. The stream is not
// pumped while it has more; other streams are.
const maxWakeups = 100_000

// wakes gives woken executions their turns to look at events: so many at once, shared among environments and
// workflows. An execution that is not done after a while joins the line again. What waits here need not be kept: the rows say that it is woken.
type wakeQueue struct {
	begin   func(wakeup)  // looks, on a goroutine of its own, and then calls done
	drained func(stream)  // a stream that had too many has room again
	stopped func() bool   // nothing begins any more
	room    chan struct{} // has room for one: some have had their turn

	mu      sync.Mutex
	line    *fair.Line[wakeup]
	known   map[int64]bool // subscriptions in line
	streams map[stream]int // how many of each are in line
	full    map[stream]bool
}

// waking is an execution that has to look at events.
type wakeup struct {
	owner fair.Owner
	woken store.Subscription // No is 0 for one that goes on
}

func (w *wakeup) stream() stream { return stream{w.woken.Account, w.woken.Environment} }

func newWakeQueue(places int) *wakeQueue {
	// Some places are left for workflows that have few to wake.
	limits := fair.Limits{Places: places, PerWorkflow: max(1, places*3/4)}
	return &wakeQueue{
		line: fair.NewLine[wakeup](limits), room: make(chan struct{}, 1),
		known: make(map[int64]bool), streams: make(map[stream]int), full: make(map[stream]bool),
	}
}

// hand gives subscriptions their turns, now or later.
func (w *wakeQueue) addAll(list []store.Subscription) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range list {
		w.push(wakeup{fair.Owner{Environment: s.Environment, Workflow: s.Workflow}, s})
	}
}

// again puts an execution that is not done behind the others.
func (w *wakeQueue) addAgain(row *store.Execution) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.push(wakeup{
		fair.Owner{Environment: row.Environment, Workflow: row.Workflow},
		store.Subscription{Account: row.Account, Environment: row.Environment, Execution: row.No},
	})
}

// add needs w.mu.
func (w *wakeQueue) push(one wakeup) {
	no := one.woken.No
	switch {
	case no != 0 && w.known[no]: // its turn is still to come, and it looks at all there is then
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

// start needs w.mu.
func (w *wakeQueue) start(one wakeup) {
	if w.stopped() {
		w.line.Release(one.owner)
		return
	}
	w.begin(one)
}

// done gives the place of one that has looked to the next.
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

// leave needs w.mu.
func (w *wakeQueue) removed(s stream) {
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

// isFull reports whether a stream has too many in line. If so, drained is called when it has no more.
func (w *wakeQueue) isFull(s stream) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.streams[s] < maxWakeups {
		return false
	}
	w.full[s] = true
	return true
}

// await waits until there is room for more of all streams.
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

// beginWaking has an execution look at events.
func (e *Engine) startWakeup(one wakeup) {
	e.goWork(func() {
		defer e.matcher.wakeups.done(one)
		msg := message{kind: refresh}
		if one.woken.No != 0 {
			msg = message{kind: readEvents, woken: one.woken}
		}
		e.send(one.woken.Execution, msg)
	})
}
