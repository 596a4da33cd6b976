package embedded

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// services run beside the executions as long as the engine: the timers, the event matcher. All have
// one contract: start gives a service a context that ends with stop, after which the service
// returns. stop waits until all have returned or its own context ends, and names the late ones.
type services struct {
	ctx    context.Context
	cancel context.CancelFunc
	all    drainGroup

	mu      sync.Mutex
	running map[string]int
}

func newServices() *services {
	s := &services{running: make(map[string]int)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// start runs a service on a goroutine of its own.
func (s *services) start(name string, run func(ctx context.Context)) {
	s.count(name, 1)
	s.all.add()
	go func() {
		defer s.all.leave()
		defer s.count(name, -1)
		run(s.ctx)
	}()
}

func (s *services) count(name string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running[name] += n; s.running[name] == 0 {
		delete(s.running, name)
	}
}

// stop ends all services. It may be called more than once.
func (s *services) stop(ctx context.Context) error {
	s.cancel()
	if s.all.wait(ctx) {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Errorf("stop: %s did not return in time", strings.Join(slices.Sorted(maps.Keys(s.running)), ", "))
}
