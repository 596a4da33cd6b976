package embedded

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/fair"
	"github.com/chargehand/chargehand/internal/store"
)

// pumps hands the events of all streams to those who listen, on one goroutine. Streams take
// turns, so that a long one keeps nobody away.
type pumps struct {
	step  func(ctx context.Context, s stream) (engine.Pumped, error)
	hand  func([]store.Subscription)
	found func(ctx context.Context) error     // wakes everybody whose row says so
	fail  func(err error, wait time.Duration) // waits after a failure

	over func() bool // the engine stops

	wakes  *wakes
	ending sync.Map   // numbers of the batches whose items are being cancelled: they look at no events any more
	looks  *fair.Gate // places for those who ask filters about events: that computes

	mu      sync.Mutex
	waiting []stream // in the order in which they were poked
	known   map[stream]bool
	doubt   bool // a step failed: some may be woken that nobody has told
	poked   chan struct{}
}

type stream struct {
	account     int64
	environment chargehand.Environment
}

func newPumps() *pumps {
	return &pumps{
		known: make(map[stream]bool), poked: make(chan struct{}, 1),
		looks: fair.NewGate(fair.Limits{Places: max(1, runtime.GOMAXPROCS(0)-1)}),
	}
}

// poke says that a stream has new events.
func (p *pumps) poke(s stream) {
	p.mu.Lock()
	if !p.known[s] {
		p.known[s] = true
		p.waiting = append(p.waiting, s)
	}
	p.mu.Unlock()
	select {
	case p.poked <- struct{}{}:
	default:
	}
}

// next takes out the stream that waits longest.
func (p *pumps) next() (s stream, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) == 0 {
		return stream{}, false
	}
	s = p.waiting[0]
	p.waiting = p.waiting[1:]
	delete(p.known, s)
	return s, true
}

// run pumps until ctx ends.
func (p *pumps) run(ctx context.Context) {
	wait := minBackoff
	for ctx.Err() == nil {
		if p.over() {
			<-ctx.Done()
			return
		}
		if p.doubt {
			if err := p.found(ctx); err != nil {
				p.fail(err, wait)
				wait = min(2*wait, maxBackoff)
				continue
			}
			p.doubt = false
		}
		s, ok := p.next()
		if !ok {
			select {
			case <-ctx.Done():
			case <-p.poked:
			}
			continue
		}
		if p.wakes.isFull(s) {
			continue // poked when it has room
		}
		done, err := p.step(ctx, s)
		if err != nil {
			p.doubt = true
			p.poke(s)
			p.fail(err, wait)
			wait = min(2*wait, maxBackoff)
			continue
		}
		wait = minBackoff
		if done.More {
			p.poke(s)
		}
		p.hand(done.Woken)
	}
}

// pokePump says that the events of a write set may be in their stream.
func (e *Engine) pokePump(s *writeSet) {
	if len(s.events) > 0 {
		e.pumps.poke(stream{s.run.row.Account, s.run.row.Environment})
	}
}

// wakeListeners tells executions, when it is their turn, that they have to look at events.
func (e *Engine) wakeListeners(woken []store.Subscription) {
	e.stats.woken.Add(int64(len(woken)))
	e.pumps.wakes.hand(woken)
}

// beginWaking has an execution look at events.
func (e *Engine) beginWaking(one waking) {
	e.goWork(func() {
		defer e.pumps.wakes.done(one)
		msg := message{kind: look}
		if one.woken.No != 0 {
			msg = message{kind: listen, woken: one.woken}
		}
		e.send(one.woken.Execution, msg)
	})
}

// wakeAll wakes everybody whose row says so.
func (e *Engine) wakeAll(ctx context.Context) error {
	for after := int64(0); ; {
		var page []store.Subscription
		err := e.store.View(ctx, func(r *store.Reader) (err error) {
			page, err = r.WokenSubscriptions(after, recoveryPage)
			return err
		})
		if err != nil {
			return err
		}
		e.wakeListeners(page)
		if err := e.pumps.wakes.await(ctx); err != nil {
			return err
		}
		if len(page) < recoveryPage {
			return nil
		}
		after = page[len(page)-1].No
	}
}

// startPump pumps all streams from where they were left.
func (e *Engine) startPump(ctx context.Context) error {
	var streams []store.Stream
	err := e.store.View(ctx, func(r *store.Reader) (err error) {
		streams, err = r.Streams()
		return err
	})
	if err != nil {
		return err
	}
	for _, s := range streams {
		e.pumps.poke(stream{s.Account, s.Environment})
	}
	e.pumps.doubt = true // what was woken before the start
	p := &engine.Pump{Store: e.store, Reader: e.reader, Sealer: e.config.Sealer}
	e.pumps.step = func(ctx context.Context, s stream) (engine.Pumped, error) {
		return p.Step(ctx, s.account, s.environment)
	}
	e.pumps.wakes = newWakes(e.limits.Wakes)
	e.pumps.wakes.begin, e.pumps.wakes.drained, e.pumps.wakes.stopped = e.beginWaking, e.pumps.poke, e.stopping.Load
	e.pumps.hand, e.pumps.found = e.wakeListeners, e.wakeAll
	e.pumps.over = e.stopping.Load
	e.pumps.fail = func(err error, wait time.Duration) { e.backOff("hand out events", err, wait) }
	return nil
}

// Publish implements engine.Engine.
func (e *Engine) Publish(ctx context.Context, account int64, env chargehand.Environment, events []map[string]any) error {
	if !e.requests.enter() {
		return store.ErrUnavailable
	}
	defer e.requests.leave()
	list := make([]engine.Publication, len(events))
	for i, ev := range events {
		list[i] = engine.Received(ev)
	}
	added, err := engine.Publish(ctx, e.store, e.config.Blobs, account, env, list, e.nowMs())
	if added > 0 || errors.Is(err, store.ErrUnavailable) { // it may be there all the same
		defer e.pumps.poke(stream{account, env})
	}
	if err != nil {
		return e.refused(ctx, err)
	}
	e.outage.over()
	e.stats.published.Add(int64(added))
	return nil
}
