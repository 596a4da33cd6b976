package embedded

import (
	"context"
	"sync"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/fair"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/span"
)

// call is one activity of one execution, from the commit of its command to the commit of its
// outcome.
type call struct {
	no       int64 // of the execution
	account  int64
	workflow int64
	key      int64 // fair.Owner.Key
	command  machine.CommandID
	seq      int // of the timeline entry
	request  activity.Call
	secrets  *engine.Secrets // to redact what is logged
	traced   span.Execution

	detached   bool     // no task awaits its outcome (T67)
	progressed int64    // number of the last outcome of a stream
	waiting    *message // an outcome that the machine cannot take yet

	// Set by the pool.
	pool      *pool
	ticket    *fair.Ticket[*call] // while it waits for a permit
	state     callState
	cancel    context.CancelFunc // set while running
	withdrawn bool               // the execution does not want its outcome
}

type callState uint8

const (
	callNew callState = iota
	callQueued
	callRunning
	callDone
)

// pool bounds how many activities of one class run at once. An activity that waits for a permit is a
// ticket of a line, not a goroutine. The line shares the permits among environments, workflows and keys.
type pool struct {
	// spawn performs a call on a goroutine of its own, which calls release once the runner has
	// returned.
	spawn func(*call)

	mu     sync.Mutex
	line   *fair.Line[*call]
	paused bool // nothing new starts: the store is unavailable, or the engine stops
}

func newPool(limits fair.Limits, spawn func(*call)) *pool {
	return &pool{line: fair.NewLine[*call](limits), spawn: spawn}
}

func (c *call) owner() fair.Owner {
	return fair.Owner{Environment: c.request.Environment, Workflow: c.workflow, Key: c.key}
}

// submit starts c, now or when a permit is free.
func (p *pool) submit(c *call) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.pool = p
	switch {
	case c.withdrawn:
	case !p.paused && p.line.Take(c.owner()):
		p.start(c)
	default:
		c.state, c.ticket = callQueued, p.line.Push(c.owner(), c)
	}
}

// start starts c. The caller holds p.mu.
func (p *pool) start(c *call) {
	c.state, c.ticket = callRunning, nil
	p.spawn(c)
}

// release gives the permit of c, whose runner has returned, to the next one in line. It
// reports whether c was withdrawn.
func (p *pool) release(c *call) (withdrawn bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.state = callDone
	p.line.Release(c.owner())
	p.fill()
	return c.withdrawn
}

// fill starts calls while permits are free. The caller holds p.mu.
func (p *pool) fill() {
	for !p.paused {
		c, _, ok := p.line.Next()
		if !ok {
			return
		}
		p.start(c)
	}
}

// unlink takes c out of the line. The caller holds p.mu.
func (p *pool) unlink(c *call) {
	p.line.Remove(c.ticket)
	c.ticket = nil
}

// withdraw takes c out of the line, or cancels its context if it runs. The outcome of a withdrawn
// call is not delivered.
func (p *pool) withdraw(c *call) {
	p.mu.Lock()
	c.withdrawn = true
	var cancel context.CancelFunc
	switch c.state {
	case callQueued:
		p.unlink(c)
		c.state = callDone
	case callRunning:
		cancel = c.cancel
	}
	p.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// unqueue takes c out of the line. It reports false if c runs or has run.
func (p *pool) unqueue(c *call) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.state != callQueued {
		return false
	}
	p.unlink(c)
	c.state, c.withdrawn = callDone, true
	return true
}

// begin gives a started call its context. It reports false if the call was withdrawn in
// the meantime.
func (p *pool) begin(c *call, cancel context.CancelFunc) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.cancel = cancel
	return !c.withdrawn
}

// pause keeps new calls from starting, or lets them start again.
func (p *pool) pause(paused bool) {
	p.mu.Lock()
	p.paused = paused
	p.fill()
	p.mu.Unlock()
}

// counts returns the calls that run and the calls that wait for a permit.
func (p *pool) counts() (running, queued int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.line.Held(), p.line.Waiting()
}
