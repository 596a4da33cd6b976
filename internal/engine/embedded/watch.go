package embedded

import (
	"sync"
	"sync/atomic"
)

const watchShards = 16

// watchers notifies the goroutines that watch an execution or a batch of a change of its status.
// Without watchers, a change costs one atomic load.
type watchers struct {
	followers followers
	watching  atomic.Int64
	shards    [watchShards]struct {
		mu      sync.Mutex
		watches map[[16]byte]*watch
	}
}

// watch is shared by all watchers of the same id.
type watch struct {
	changed  chan struct{}
	watchers int
}

// watch returns a channel that is closed at the next change of id, and a function that
// stops watching; calling that twice does no harm.
func (h *watchers) watch(id [16]byte) (<-chan struct{}, func()) {
	h.watching.Add(1)
	shard := &h.shards[id[15]%watchShards]
	shard.mu.Lock()
	defer shard.mu.Unlock()
	w := shard.watches[id]
	if w == nil {
		if shard.watches == nil {
			shard.watches = make(map[[16]byte]*watch)
		}
		w = &watch{changed: make(chan struct{})}
		shard.watches[id] = w
	}
	w.watchers++
	var once sync.Once
	return w.changed, func() {
		once.Do(func() {
			h.watching.Add(-1)
			shard.mu.Lock()
			defer shard.mu.Unlock()
			w.watchers--
			if w.watchers == 0 && shard.watches[id] == w {
				delete(shard.watches, id)
			}
		})
	}
}

// notify wakes all watchers of id, and tells those who follow it.
func (h *watchers) notify(id [16]byte) {
	h.followers.moved(id)
	if h.watching.Load() == 0 {
		return
	}
	shard := &h.shards[id[15]%watchShards]
	shard.mu.Lock()
	defer shard.mu.Unlock()
	if w := shard.watches[id]; w != nil {
		close(w.changed)
		delete(shard.watches, id)
	}
}

// notifyAll wakes all watchers. A watcher whose id has not changed reads its row, and watches again.
func (h *watchers) notifyAll() {
	h.followers.movedAll()
	for i := range h.shards {
		shard := &h.shards[i]
		shard.mu.Lock()
		for id, w := range shard.watches {
			close(w.changed)
			delete(shard.watches, id)
		}
		shard.mu.Unlock()
	}
}
