package fair

import (
	"context"
	"sync"
)

// Gate is a semaphore for goroutines that shares its permits as a Line does. It is safe for concurrent use.
type Gate struct {
	mu   sync.Mutex
	line *Line[chan struct{}]
}

// NewGate makes a gate.
func NewGate(limits Limits) *Gate { return &Gate{line: NewLine[chan struct{}](limits)} }

// Enter waits for a permit, which Leave gives back. Errors: that of ctx.
func (g *Gate) Enter(ctx context.Context, o Owner) error {
	g.mu.Lock()
	if g.line.Take(o) {
		g.mu.Unlock()
		return nil
	}
	granted := make(chan struct{})
	t := g.line.Push(o, granted)
	g.mu.Unlock()
	select {
	case <-granted:
		return nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.line.Remove(t) { // it has got a permit meanwhile
		g.line.Release(o)
	}
	g.fill()
	return ctx.Err()
}

// Leave gives a permit back.
func (g *Gate) Leave(o Owner) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.line.Release(o)
	g.fill()
}

// Counts returns the number of permits that are taken, and of goroutines that wait for one.
func (g *Gate) Counts() (held, waiting int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.line.Held(), g.line.Waiting()
}

// fill gives free permits to the goroutines that wait. The caller holds g.mu.
func (g *Gate) fill() {
	for {
		granted, _, ok := g.line.Next()
		if !ok {
			return
		}
		close(granted)
	}
}
