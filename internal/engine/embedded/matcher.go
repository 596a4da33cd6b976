package embedded

import (
	"context"
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
type eventMatcher struct {
	step    func(ctx context.Context, s stream) (engine.Pumped, error)
	wake    func([]store.Subscription)
	wakeAll func(ctx context.Context) error     // wakes everybody whose row says so
	fail    func(err error, wait time.Duration) // waits after a failure

	stopping func() bool // the engine stops

	wakeups       *wakeQueue
	endingBatches sync.Map   // numbers of the batches whose items are being cancelled: they look at no events any more
	evaluators    *fair.Gate // places for those who ask filters about events: that computes

	mu       sync.Mutex
	waiting  []stream // in the order in which they were poked
	listed   map[stream]bool
	missed   bool // a step failed: some may be woken that nobody has told
	notified chan struct{}
}

type stream struct {
	account     int64
	environment chargehand.Environment
}

func newEventMatcher() *eventMatcher {
	return &eventMatcher{
		listed: make(map[stream]bool), notified: make(chan struct{}, 1),
		evaluators: fair.NewGate(fair.Limits{Places: max(1, runtime.GOMAXPROCS(0)-1)}),
	}
}

// poke says that a stream has new events.
func (p *eventMatcher) notify(s stream) {
	p.mu.Lock()
	if !p.listed[s] {
		p.listed[s] = true
		p.waiting = append(p.waiting, s)
	}
	p.mu.Unlock()
	select {
	case p.notified <- struct{}{}:
	default:
	}
}

// next takes out the stream that waits longest.
func (p *eventMatcher) next() (s stream, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) == 0 {
		return stream{}, false
	}
	s = p.waiting[0]
	p.waiting = p.waiting[1:]
	delete(p.listed, s)
	return s, true
}

// run pumps until ctx ends.
func (p *eventMatcher) run(ctx context.Context) {
	wait := minBackoff
	for ctx.Err() == nil {
		if p.stopping() {
			<-ctx.Done()
			return
		}
		if p.missed {
			if err := p.wakeAll(ctx); err != nil {
				p.fail(err, wait)
				wait = min(2*wait, maxBackoff)
				continue
			}
			p.missed = false
		}
		s, ok := p.next()
		if !ok {
			select {
			case <-ctx.Done():
			case <-p.notified:
			}
			continue
		}
		if p.wakeups.isFull(s) {
			continue // poked when it has room
		}
		done, err := p.step(ctx, s)
		if err != nil {
			p.missed = true
			p.notify(s)
			p.fail(err, wait)
			wait = min(2*wait, maxBackoff)
			continue
		}
		wait = minBackoff
		if done.More {
			p.notify(s)
		}
		p.wake(done.Woken)
	}
}

// startPump pumps all streams from where they were left.
func (e *Engine) startMatcher(ctx context.Context) error {
	var streams []store.Stream
	err := e.store.View(ctx, func(r *store.Reader) (err error) {
		streams, err = r.Streams()
		return err
	})
	if err != nil {
		return err
	}
	for _, s := range streams {
		e.matcher.notify(stream{s.Account, s.Environment})
	}
	e.matcher.missed = true // what was woken before the start
	p := &engine.Pump{Store: e.store, Reader: e.reader, Sealer: e.config.Sealer}
	e.matcher.step = func(ctx context.Context, s stream) (engine.Pumped, error) {
		return p.Step(ctx, s.account, s.environment)
	}
	e.matcher.wakeups = newWakeQueue(e.limits.Wakes)
	e.matcher.wakeups.begin, e.matcher.wakeups.drained, e.matcher.wakeups.stopped = e.startWakeup, e.matcher.notify, e.stopping.Load
	e.matcher.wake, e.matcher.wakeAll = e.wakeListeners, e.wakeAllWoken
	e.matcher.stopping = e.stopping.Load
	e.matcher.fail = func(err error, wait time.Duration) { e.backOff("hand out events", err, wait) }
	return nil
}

// pokePump says that the events of a write set may be in their stream.
func (e *Engine) notifyMatcher(s *writeSet) {
	if len(s.publications) > 0 {
		e.matcher.notify(stream{s.inst.row.Account, s.inst.row.Environment})
	}
}

// wakeListeners tells executions, when it is their turn, that they have to look at events.
func (e *Engine) wakeListeners(woken []store.Subscription) {
	e.stats.woken.Add(int64(len(woken)))
	e.matcher.wakeups.addAll(woken)
}

// wakeAll wakes everybody whose row says so.
func (e *Engine) wakeAllWoken(ctx context.Context) error {
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
		if err := e.matcher.wakeups.waitForRoom(ctx); err != nil {
			return err
		}
		if len(page) < recoveryPage {
			return nil
		}
		after = page[len(page)-1].No
	}
}
