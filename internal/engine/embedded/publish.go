package embedded

import (
	"context"
	"errors"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/eventstream"
	"github.com/chargehand/chargehand/internal/store"
)

// Publish implements engine.Engine.
func (e *Engine) Publish(ctx context.Context, from engine.Publisher, events []map[string]any) error {
	if !e.requests.Enter() {
		return store.ErrUnavailable
	}
	defer e.requests.Leave()
	list := make([]eventstream.Publication, len(events))
	for i, ev := range events {
		list[i] = eventstream.Received(ev)
	}
	added, err := eventstream.Publish(ctx, e.store, e.config.Blobs, from, list, e.nowMs())
	if added > 0 || errors.Is(err, store.ErrUnavailable) { // the events may have been written all the same
		defer e.matcher.notify(stream{from.Account, from.Environment})
	}
	if err != nil {
		return e.callerError(ctx, err)
	}
	e.outage.end()
	e.stats.published.Add(int64(added))
	return nil
}
