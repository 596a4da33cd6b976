package embedded

import (
	"context"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/eventstream"
	"github.com/chargehand/chargehand/internal/store"
)

// newMatcher makes the event matcher, which wakes the executions that listen to the events of streams.
func (e *Engine) newMatcher() *eventstream.Matcher {
	return eventstream.NewMatcher(eventstream.MatcherConfig{
		Store: e.store, Reader: e.reader, Sealer: e.config.Sealer,
		Woken: e.wakeListeners, Recover: e.wakeAllWoken,
		Full:   func(s eventstream.ID) bool { return e.stopping.Load() || e.wakeups.isFull(s) },
		Failed: func(err error) { e.noteFailure("match events", err) },
	})
}

// Publish implements engine.Engine.
func (e *Engine) Publish(ctx context.Context, from engine.Publisher, events []map[string]any) error {
	if !e.requests.Enter() {
		return store.ErrUnavailable
	}
	defer e.requests.Leave()
	added, err := e.matcher.Publish(ctx, from, events, e.nowMs())
	if err != nil {
		return e.callerError(ctx, err)
	}
	e.outage.end()
	e.stats.published.Add(int64(added))
	return nil
}

// notifyMatcher says that the events of a write set may be in their stream.
func (e *Engine) notifyMatcher(s *writeSet) {
	if len(s.publications) > 0 {
		e.matcher.Notify(eventstream.ID{Account: s.inst.row.Account, Environment: s.inst.row.Environment})
	}
}

// wakeListeners gives woken subscriptions a turn to read events.
func (e *Engine) wakeListeners(woken []store.Subscription) {
	e.stats.woken.Add(int64(len(woken)))
	e.wakeups.addAll(woken)
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
		if err := e.wakeups.waitForRoom(ctx); err != nil {
			return err
		}
		if len(page) < recoveryPage {
			return nil
		}
		after = page[len(page)-1].No
	}
}
