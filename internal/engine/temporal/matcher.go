package temporal

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/eventstream"
	"github.com/chargehand/chargehand/internal/pause"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
)

// matcherConfig configures a matcher. Store, Blobs and Relay are required.
type matcherConfig struct {
	Store *store.Store
	Blobs engine.Blobs
	Relay *relay

	Sealer *secret.Sealer // of executions with secrets; nil: there are none
	Every  time.Duration  // between sweeps for streams that other nodes left behind; default 1 s
	Log    *slog.Logger   // default: slog.Default()
}

// matcher finds the subscriptions that new events are for, and writes messages to their executions. Every node has
// one. The lock of a stream's cursor lets one of them work on that stream at a time. Methods are safe for concurrent
// use.
type matcher struct {
	matcherConfig
	steps    eventstream.Pump
	notified chan struct{} // has room for one

	mu      sync.Mutex
	waiting map[stream]bool
}

type stream struct {
	account     int64
	environment chargehand.Environment
}

func newMatcher(c matcherConfig) *matcher {
	c.Every = cmp.Or(c.Every, time.Second)
	if c.Log == nil {
		c.Log = slog.Default()
	}
	p := &matcher{matcherConfig: c, notified: make(chan struct{}, 1), waiting: make(map[stream]bool)}
	p.steps = eventstream.Pump{Store: c.Store, Reader: eventstream.NewReader(c.Store, c.Blobs), Sealer: c.Sealer}
	return p
}

// notify says that a stream has new events. It never blocks; many at once are one.
func (p *matcher) notify(account int64, env chargehand.Environment) {
	p.mu.Lock()
	p.waiting[stream{account, env}] = true
	p.mu.Unlock()
	select {
	case p.notified <- struct{}{}:
	default:
	}
}

// run matches the streams of notifications until ctx ends, and sweeps from time to time for streams that other nodes
// left behind.
func (p *matcher) run(ctx context.Context) {
	sweep := time.NewTimer(0)
	defer sweep.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.notified:
		case <-sweep.C:
			p.report(ctx, p.find(ctx))
			sweep.Reset(jitter(p.Every))
		}
		p.round(ctx)
	}
}

func (p *matcher) report(ctx context.Context, err error) {
	if err != nil && !errors.Is(err, store.ErrUnavailable) && ctx.Err() == nil {
		p.Log.Error("match events to subscriptions", "error", err)
	}
}

// find notes the streams that are behind.
func (p *matcher) find(ctx context.Context) error {
	var behind []store.Stream
	err := p.Store.View(ctx, func(r *store.Reader) (err error) {
		behind, err = r.StreamsBehind(store.ListenCursor)
		return err
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range behind {
		p.waiting[stream{s.Account, s.Environment}] = true
	}
	return err
}

// round steps the streams round robin until nothing is left to do. A sweep finds the streams again whose step failed.
func (p *matcher) round(ctx context.Context) {
	wait := minPoll
	for ctx.Err() == nil {
		p.mu.Lock()
		now := p.waiting
		p.waiting = make(map[stream]bool)
		p.mu.Unlock()
		if len(now) == 0 {
			return
		}
		moved := false
		for s := range now {
			more, progress, err := p.step(ctx, s)
			p.report(ctx, err)
			moved = moved || progress
			if more && err == nil {
				p.mu.Lock()
				p.waiting[s] = true
				p.mu.Unlock()
			}
		}
		if moved {
			wait = minPoll
			continue
		}
		if wait > maxPoll { // another node works on these streams, and continues
			p.mu.Lock()
			clear(p.waiting)
			p.mu.Unlock()
			return
		}
		if pause.For(ctx, wait) != nil {
			return
		}
		wait *= 2
	}
}

// step matches the next events of a stream. more: there are more; moved: the cursor has moved. Putting a subscription
// to sleep locks the cursor for a moment too, so a step that does not get the lock does not mean that another matcher
// is at work.
func (p *matcher) step(ctx context.Context, s stream) (more, moved bool, err error) {
	var messages map[int64]store.OutboxMessage
	steps := p.steps
	steps.Also = func(tx *store.Tx, woken []store.Subscription) (err error) {
		var executions []int64
		seen := make(map[int64]bool, len(woken))
		for _, w := range woken {
			if !seen[w.Execution] {
				seen[w.Execution] = true
				executions = append(executions, w.Execution)
			}
		}
		messages, err = tx.InsertOutboxMessages(store.OutboxEvents, executions, p.Relay.leaseMs())
		return err
	}
	before, _, err := p.state(ctx, s)
	if err != nil {
		return false, false, err
	}
	done, err := steps.Step(ctx, s.account, s.environment)
	if err != nil {
		return false, false, err
	}
	if len(done.Woken) > 0 {
		p.Relay.handMessages(slices.Collect(maps.Values(messages)))
	}
	after, last, err := p.state(ctx, s)
	return after.Number < last, after != before, err
}

// state returns the cursor of the matcher in a stream, and the number of the stream's last event.
func (p *matcher) state(ctx context.Context, s stream) (c store.StreamCursor, last int64, err error) {
	err = p.Store.View(ctx, func(r *store.Reader) (err error) {
		if c, err = r.Cursor(s.account, s.environment, store.ListenCursor); err != nil {
			return err
		}
		now, err := r.Stream(s.account, s.environment)
		last = now.Last
		return err
	})
	return c, last, err
}
