package embedded

import (
	"context"
	"sync"
)

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
