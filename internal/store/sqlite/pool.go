package sqlite

import (
	"context"
	"sync"
	"time"

	"github.com/chargehand/chargehand/internal/store"
)

// pool holds the connections that read. Each place is a token in a channel: a connection,
// or nil where none has been opened yet. The holder of all tokens knows that no View runs.
type pool struct {
	path   string
	tokens chan *conn
	closed chan struct{}

	mu      sync.Mutex
	running map[*conn]struct{} // those on which a View runs
}

func newPool(path string, size int) *pool {
	p := &pool{path: path, tokens: make(chan *conn, size), closed: make(chan struct{}), running: map[*conn]struct{}{}}
	for range size {
		p.tokens <- nil
	}
	return p
}

// view runs fn in a read transaction.
func (p *pool) view(ctx context.Context, fn func(store.Conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var c *conn
	select {
	case <-p.closed:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	case c = <-p.tokens:
	}
	defer func() { p.tokens <- c }()
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
	for len(held) < cap(p.tokens) {
		select {
		case c := <-p.tokens:
			held = append(held, c)
		case <-deadline.C:
			return held, false
		}
	}
	return held, true
}

func (p *pool) resume(held []*conn) {
	for _, c := range held {
		p.tokens <- c
	}
}

// close waits for running Views and closes the connections. It is called once.
func (p *pool) close() error {
	close(p.closed)
	var first error
	for range cap(p.tokens) {
		if c := <-p.tokens; c != nil {
			if err := c.close(); err != nil && first == nil {
				first = err
			}
		}
	}
	return first
}
