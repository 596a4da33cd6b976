package embedded

import (
	"context"
	"sync"
)

// drainGroup counts the goroutines that are inside, can be closed to more of them, and can be
// waited for.
type drainGroup struct {
	mu     sync.Mutex
	inside int
	closed bool
	empty  chan struct{} // closed when inside is 0; nil unless a goroutine waits
}

// enter counts the caller as inside. It reports false if the group is closed.
func (g *drainGroup) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.inside++
	return true
}

// add is enter for a goroutine that is started by one inside: it works after close too.
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

// wait waits until the group is empty. It reports false if ctx ends first.
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
