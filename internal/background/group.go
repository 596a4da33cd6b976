package background

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Group runs services, each on a goroutine of its own, until Stop. Make it with NewGroup. Methods are safe for
// concurrent use.
type Group struct {
	ctx    context.Context
	cancel context.CancelFunc
	all    Drain

	mu      sync.Mutex
	running map[string]int // services by name
}

// NewGroup returns a group without services.
func NewGroup() *Group {
	g := &Group{running: make(map[string]int)}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	return g
}

// Context is the context of all services of the group. It ends when the group is stopped.
func (g *Group) Context() context.Context { return g.ctx }

// Start runs a service. The name need not be the only one of its kind; it says in the error of Stop what is late.
// After Stop, Start does nothing.
func (g *Group) Start(name string, run func(ctx context.Context)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ctx.Err() != nil {
		return
	}
	g.running[name]++
	g.all.Add()
	go func() {
		defer g.all.Leave()
		defer g.returned(name)
		run(g.ctx)
	}()
}

func (g *Group) returned(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.running[name]--; g.running[name] == 0 {
		delete(g.running, name)
	}
}

// Cancel is Stop without waiting.
func (g *Group) Cancel() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cancel()
}

// Stop ends the context of the services, and waits until all have returned or ctx ends. The error names the services
// that have not returned. Stop may be called more than once.
func (g *Group) Stop(ctx context.Context) error {
	g.Cancel()
	if g.all.Wait(ctx) {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.running) == 0 { // the last one has just returned
		return nil
	}
	return fmt.Errorf("stop: %s did not return in time", strings.Join(slices.Sorted(maps.Keys(g.running)), ", "))
}

// Grace returns a context that ends so long after ctx. It is for what a deadline interrupts, and which then has a
// moment to return.
func Grace(ctx context.Context, extra time.Duration) (context.Context, context.CancelFunc) {
	final, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(extra, cancel) })
	return final, func() { stop(); cancel() }
}
