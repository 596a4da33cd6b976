package temporal

import (
	"context"
	"sync"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

const (
	minPoll = 5 * time.Millisecond
	maxPoll = 250 * time.Millisecond
	// keepStatus is how long the status of an id is remembered when no one watches it.
	keepStatus = time.Second
)

// watchers tells requests on this node that the status of an execution or batch has changed. It reads the statuses of
// all watched ids: of a new watch soon, of an old one less and less often. It reads only while there are watches.
// Methods are safe for concurrent use.
type watchers struct {
	store *store.Store
	now   func() time.Time // must advance in step with timers

	mu      sync.Mutex
	watches map[[16]byte]*watch
	wake    chan struct{} // has room for one: there is a new id to read
}

// watch is shared by all requests that wait for the same id. Its fields are guarded by watchers.mu.
type watch struct {
	changed  chan struct{}
	watchers int
	status   int64 // as read last; 0: not read
	due      time.Time
	wait     time.Duration // from due to the time after
	left     time.Time     // when the last watcher went
}

func newWatchers(st *store.Store) *watchers {
	return &watchers{store: st, now: time.Now, watches: make(map[[16]byte]*watch), wake: make(chan struct{}, 1)}
}

// watch is engine.Engine.Watch. The channel may also be closed without a change, once for each id: the status that the
// request has seen is not known here.
func (h *watchers) watch(id [16]byte) (<-chan struct{}, func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.watches[id]
	if w == nil {
		w = &watch{changed: make(chan struct{})}
		h.watches[id] = w
	}
	if w.watchers++; w.watchers == 1 {
		w.wait = minPoll
		w.due = h.now().Add(w.wait)
		h.readSoon()
	}
	changed := w.changed
	var once sync.Once
	return changed, func() { once.Do(func() { h.leave(w) }) }
}

func (h *watchers) leave(w *watch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if w.watchers--; w.watchers == 0 {
		w.left = h.now()
	}
}

// notify wakes all requests that watch id: it has changed on this node.
func (h *watchers) notify(id [16]byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if w := h.watches[id]; w != nil {
		w.status = 0
		w.tell()
	}
}

// tell closes the channel of a watch. It needs watchers.mu. A request that watches again gets a new channel.
func (w *watch) tell() {
	close(w.changed)
	w.changed = make(chan struct{})
	w.wait, w.due = minPoll, time.Time{}
}

// readSoon wakes the loop of run.
func (h *watchers) readSoon() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// run reads statuses while there are watches, until ctx ends. Channels stay open then.
func (h *watchers) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-h.wake:
		case <-ctx.Done():
			return
		}
		ids, next, watched := h.dueIDs()
		if !watched {
			timer.Stop() // until there is a watch
			continue
		}
		if h.read(ctx, ids) {
			next = minPoll // the notified requests may watch again
		}
		timer.Reset(next)
	}
}

// dueIDs returns the ids that are to be read now, and the time until the next read. It forgets ids without watches;
// watched is false if none are left.
func (h *watchers) dueIDs() (ids [][16]byte, next time.Duration, watched bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.now()
	next = maxPoll
	for id, w := range h.watches {
		if w.watchers == 0 {
			if now.Sub(w.left) > keepStatus {
				delete(h.watches, id)
			}
			continue
		}
		// An id that is due in a moment is read now, too.
		if rest := w.due.Sub(now); rest > w.wait/8 {
			next = min(next, rest)
			continue
		}
		ids = append(ids, id)
		w.wait = min(w.wait+w.wait/2, maxPoll)
		w.due = now.Add(w.wait)
		next = min(next, w.wait)
	}
	return ids, next, len(h.watches) > 0
}

// read reads statuses, notifies the requests whose id has changed, and reports whether there were any.
func (h *watchers) read(ctx context.Context, ids [][16]byte) (notifiedIDs bool) {
	for len(ids) > 0 {
		n := min(len(ids), store.MaxStatuses)
		found := make(map[[16]byte]int64, n)
		err := h.store.View(ctx, func(r *store.Reader) error {
			return r.Statuses(ids[:n], func(id [16]byte, status int64) { found[id] = status })
		})
		if err == nil && h.compare(found) {
			notifiedIDs = true
		}
		ids = ids[n:]
	}
	return notifiedIDs
}

func (h *watchers) compare(found map[[16]byte]int64) (notifiedIDs bool) {
	// The first status of both, executions and batches: nothing can have changed before it.
	const first = int64(chargehand.Initial)
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, status := range found {
		w := h.watches[id]
		if w == nil || w.watchers == 0 {
			continue
		}
		before := w.status
		w.status = status
		if status != before && (before != 0 || status != first) {
			w.tell()
			notifiedIDs = true
		}
	}
	return notifiedIDs
}
