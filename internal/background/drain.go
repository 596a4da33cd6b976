package background

import (
	"context"
	"sync"
)

// Drain counts the goroutines that are inside, can be closed to more of them, and can be waited for. The zero Drain is
// open and empty. Methods are safe for concurrent use.
type Drain struct {
	mu     sync.Mutex
	inside int
	closed bool
	empty  chan struct{} // closed when inside is 0; nil unless a goroutine waits
}

// Enter counts the caller as inside. It reports false if the drain is closed.
func (d *Drain) Enter() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return false
	}
	d.inside++
	return true
}

// Add is Enter for a goroutine that is started by one inside: it works after Close too.
func (d *Drain) Add() {
	d.mu.Lock()
	d.inside++
	d.mu.Unlock()
}

// Leave ends what Enter or Add began.
func (d *Drain) Leave() {
	d.mu.Lock()
	d.inside--
	if d.inside == 0 && d.empty != nil {
		close(d.empty)
		d.empty = nil
	}
	d.mu.Unlock()
}

// Close makes Enter refuse all callers from now on.
func (d *Drain) Close() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
}

// Wait waits until the drain is empty. It reports false if ctx ends first.
func (d *Drain) Wait(ctx context.Context) bool {
	for {
		d.mu.Lock()
		if d.inside == 0 {
			d.mu.Unlock()
			return true
		}
		if d.empty == nil {
			d.empty = make(chan struct{})
		}
		empty := d.empty
		d.mu.Unlock()
		select {
		case <-empty:
		case <-ctx.Done():
			return false
		}
	}
}
