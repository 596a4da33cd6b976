package sqlite

import (
	"context"
	"sync"
	"time"

	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/dialect"
)

// pool holds the connections that read.
type pool struct {
	dialect.Connections[conn]
	path string

	mu      sync.Mutex
	running map[*conn]struct{} // those on which a View runs
}

func newPool(path string, size int) *pool {
	return &pool{Connections: dialect.NewConnections[conn](size), path: path, running: map[*conn]struct{}{}}
}

// view runs fn in a read transaction.
func (p *pool) view(ctx context.Context, fn func(store.Conn) error) error {
	c, err := p.Take(ctx)
	if err != nil {
		return err
	}
	defer func() { p.Tokens <- c }()
	if c == nil {
		fresh, err := openConn(p.path, "query_only = ON")
		if err != nil {
			return mapError(err)
		}
		c = fresh
		c.evicted = make(chan struct{})
		c.c.SetInterrupt(c.evicted)
	}
	c.ctx = ctx
	p.mu.Lock()
	p.running[c] = struct{}{}
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		delete(p.running, c) // evict does not interrupt it any more
		p.mu.Unlock()
		if _, err := c.Exec("ROLLBACK"); err != nil || c.bad {
			c.close()
			c = nil
		}
	}()
	if _, err := c.Exec("BEGIN"); err != nil {
		return err
	}
	return fn(c)
}

// evict interrupts the Views that run, and says how many. Their next step fails; one that only computes ends by itself.
func (p *pool) evict() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.running)
	for c := range p.running {
		close(c.evicted)
		delete(p.running, c)
	}
	return n
}

// pause waits, at most that long, until no View runs, and keeps new ones from starting.
// It returns the tokens to give to resume, those that are held already among them; ok says whether it has all.
func (p *pool) pause(held []*conn, atMost time.Duration) (_ []*conn, ok bool) {
	deadline := time.NewTimer(atMost)
	defer deadline.Stop()
	for len(held) < cap(p.Tokens) {
		select {
		case c := <-p.Tokens:
			held = append(held, c)
		case <-deadline.C:
			return held, false
		}
	}
	return held, true
}

func (p *pool) resume(held []*conn) {
	for _, c := range held {
		p.Tokens <- c
	}
}
