package embedded

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/eventstream"
	"github.com/chargehand/chargehand/internal/fair"
	"github.com/chargehand/chargehand/internal/pause"
	"github.com/chargehand/chargehand/internal/store"
)

// eventMatcher wakes the executions that listen to the events of streams. It runs on one goroutine.
// The streams take turns, so that a stream with many events does not delay the others.
type eventMatcher struct {
	step    func(ctx context.Context, s stream) (eventstream.Pumped, error)
	wake    func([]store.Subscription)
	wakeAll func(ctx context.Context) error     // wakes every subscription whose row says that it is woken
	fail    func(err error, wait time.Duration) // waits after a failure

	stopping func() bool // the engine stops

	wakeups       *wakeQueue
	endingBatches sync.Map   // numbers of the batches that are being cancelled: their items read no more events
	evaluators    *fair.Gate // places to evaluate filters, which computes

	mu       sync.Mutex
	waiting  []stream // in the order in which notify was called
	listed   map[stream]bool
	missed   bool // a step failed: its transaction may have woken subscriptions
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

// notify says that a stream has new events.
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

// next takes out the stream that has waited longest.
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

// run matches events until ctx ends.
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
			continue // drained notifies the matcher when there is room
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

// startMatcher prepares the event matcher. It continues every stream from where the last server
// left it.
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
	e.matcher.missed = true // subscriptions were woken before the start
	p := &eventstream.Pump{Store: e.store, Reader: e.reader, Sealer: e.config.Sealer}
	e.matcher.step = func(ctx context.Context, s stream) (eventstream.Pumped, error) {
		return p.Step(ctx, s.account, s.environment)
	}
	e.matcher.wakeups = newWakeQueue(e.limits.Wakes)
	e.matcher.wakeups.begin, e.matcher.wakeups.drained = e.startWakeup, e.matcher.notify
	e.matcher.wakeups.stopped = e.stopping.Load
	e.matcher.wake, e.matcher.wakeAll = e.wakeListeners, e.wakeAllWoken
	e.matcher.stopping = e.stopping.Load
	e.matcher.fail = func(err error, wait time.Duration) {
		e.noteFailure("hand out events", err)
		_ = pause.For(e.ctx, wait)
	}
	return nil
}

// notifyMatcher says that the events of a write set may be in their stream.
func (e *Engine) notifyMatcher(s *writeSet) {
	if len(s.publications) > 0 {
		e.matcher.notify(stream{s.inst.row.Account, s.inst.row.Environment})
	}
}

// wakeListeners gives woken subscriptions a turn to read events.
func (e *Engine) wakeListeners(woken []store.Subscription) {
	e.stats.woken.Add(int64(len(woken)))
	e.matcher.wakeups.addAll(woken)
}

// wakeAllWoken wakes every subscription whose row says that it is woken.
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
