package embedded

import (
	"sync"
	"sync/atomic"
)

// followers tells those who follow an execution or a batch of every commit that may have changed something of it, also
// of one that leaves the status as it is. Without followers, a commit costs one atomic load.
type followers struct {
	following atomic.Int64
	mu        sync.Mutex
	byID      map[[16]byte]map[*follower]struct{}
}

type follower struct{ moved func() }

// Follow implements engine.Engine: all commits are made by this process.
func (e *Engine) Follow(id [16]byte, moved func()) (stop func(), notifies bool) {
	return e.watchers.followers.follow(id, moved), true
}

func (h *followers) follow(id [16]byte, moved func()) (stop func()) {
	f := &follower{moved}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.byID == nil {
		h.byID = make(map[[16]byte]map[*follower]struct{})
	}
	if h.byID[id] == nil {
		h.byID[id] = make(map[*follower]struct{})
	}
	h.byID[id][f] = struct{}{}
	h.following.Add(1)
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if _, ok := h.byID[id][f]; !ok {
			return
		}
		h.following.Add(-1)
		if delete(h.byID[id], f); len(h.byID[id]) == 0 {
			delete(h.byID, id)
		}
	}
}

// moved tells the followers of id.
func (h *followers) moved(id [16]byte) {
	if h.following.Load() == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for f := range h.byID[id] {
		f.moved()
	}
}

// movedAll tells all followers. One of whose id nothing has changed reads its row once more.
func (h *followers) movedAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, list := range h.byID {
		for f := range list {
			f.moved()
		}
	}
}
