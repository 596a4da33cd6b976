package embedded

import (
	"context"
	"sync"
)

// queuedCounts counts the queued singles of each workflow: before the commit that makes one
// queued, until the commit after which it is not.
type queuedCounts struct {
	limit int64
	mu    sync.Mutex
	count map[int64]int64
}

func (q *queuedCounts) enter(workflow int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.count == nil {
		q.count = make(map[int64]int64)
	}
	if q.count[workflow] >= q.limit {
		return false
	}
	q.count[workflow]++
	return true
}

// add is enter without a limit: for what is bounded elsewhere.
func (q *queuedCounts) add(workflow int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.count == nil {
		q.count = make(map[int64]int64)
	}
	q.count[workflow]++
}

func (q *queuedCounts) leave(workflow int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.count[workflow]--; q.count[workflow] <= 0 {
		delete(q.count, workflow)
	}
}

// gate counts who is inside, and can be closed.
type drainGroup struct {
	mu     sync.Mutex
	inside int
	closed bool
	empty  chan struct{} // closed when nobody is inside; nil unless waited for
}

// enter fails when the gate is closed.
func (g *drainGroup) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.inside++
	return true
}

// add is enter for who is let in by somebody inside.
func (g *drainGroup) add() {
	g.mu.Lock()
	g.inside++
	g.mu.Unlock()
}

func (g *drainGroup) leave() {
	g.mu.Lock()
	g.inside--
	if g.inside == 0 && g.empty != nil {
		close(g.empty)
		g.empty = nil
	}
	g.mu.Unlock()
}

func (g *drainGroup) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
}

// wait waits until nobody is inside, or ctx ends.
func (g *drainGroup) wait(ctx context.Context) bool {
	for {
		g.mu.Lock()
		if g.inside == 0 {
			g.mu.Unlock()
			return true
		}
		if g.empty == nil {
			g.empty = make(chan struct{})
		}
		empty := g.empty
		g.mu.Unlock()
		select {
		case <-empty:
		case <-ctx.Done():
			return false
		}
	}
}
