package embedded

import (
	"context"
	"sync"
	"testing"

	"github.com/chargehand/chargehand/internal/fair"
)

// testPool collects the calls that were started.
func testPool(limit int) (*pool, *[]*call) {
	var started []*call
	return newPool(fair.Limits{Permits: limit}, func(c *call) { started = append(started, c) }), &started
}

func TestPoolBoundsAndKeepsOrder(t *testing.T) {
	p, started := testPool(2)
	calls := make([]*call, 5)
	for i := range calls {
		calls[i] = &call{command: 1}
		p.submit(calls[i])
	}
	if running, queued := p.counts(); running != 2 || queued != 3 || len(*started) != 2 {
		t.Fatalf("%d run, %d wait, %d started", running, queued, len(*started))
	}
	p.withdraw(calls[3]) // waits: gone without ever running
	for i := range 3 {
		if p.release((*started)[i]) {
			t.Fatalf("call %d counts as withdrawn", i)
		}
	}
	want := []*call{calls[0], calls[1], calls[2], calls[4]}
	for i, c := range want {
		if (*started)[i] != c {
			t.Fatalf("call %d was not started as number %d", i, i)
		}
	}
	if running, queued := p.counts(); running != 1 || queued != 0 {
		t.Fatalf("%d run, %d wait", running, queued)
	}
}

func TestWithdrawnCallIsCancelled(t *testing.T) {
	p, started := testPool(1)
	c := &call{}
	p.submit(c)
	ctx, cancel := context.WithCancel(context.Background())
	if !p.begin(c, cancel) {
		t.Fatal("withdrawn before it was")
	}
	p.withdraw(c)
	if ctx.Err() == nil {
		t.Fatal("its context has not ended")
	}
	if !p.release((*started)[0]) {
		t.Fatal("its outcome would be delivered")
	}
	// Withdrawn between its start and its first step.
	p.submit(c2(p))
	if p.begin((*started)[1], func() {}) {
		t.Fatal("a withdrawn call begins")
	}
}

func c2(p *pool) *call {
	c := &call{}
	spawn := p.spawn
	p.spawn = func(c *call) {
		spawn(c)
		c.withdrawn = true
		p.spawn = spawn
	}
	return c
}

func TestPausedPoolStartsNothing(t *testing.T) {
	p, started := testPool(3)
	p.pause(true)
	calls := []*call{{}, {}, {}}
	for _, c := range calls {
		p.submit(c)
	}
	if len(*started) != 0 {
		t.Fatal("started while paused")
	}
	if !p.unqueue(calls[1]) || p.unqueue(calls[1]) {
		t.Fatal("a waiting call can be taken out once")
	}
	p.pause(false)
	if len(*started) != 2 || (*started)[0] != calls[0] || (*started)[1] != calls[2] {
		t.Fatalf("%d started", len(*started))
	}
	if p.unqueue(calls[0]) {
		t.Fatal("a running call was taken out of the line")
	}
}

func TestPoolUnderLoad(t *testing.T) {
	var mu sync.Mutex
	running, most, done := 0, 0, 0
	var p *pool
	var all sync.WaitGroup
	p = newPool(fair.Limits{Permits: 4}, func(c *call) {
		go func() {
			defer all.Done()
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			mu.Lock()
			running--
			done++
			mu.Unlock()
			p.release(c)
		}()
	})
	all.Add(1000)
	for range 1000 {
		p.submit(&call{})
	}
	all.Wait()
	if most > 4 || done != 1000 {
		t.Fatalf("%d at once, %d done", most, done)
	}
}
