package temporal

import (
	"context"
	"errors"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/eventstream"
	"github.com/chargehand/chargehand/internal/store"
)

// Publish implements engine.Engine.
func (e *Engine) Publish(ctx context.Context, from engine.Publisher, events []map[string]any) error {
	list := make([]eventstream.Publication, 0, len(events))
	for _, ev := range events {
		list = append(list, eventstream.Received(ev))
	}
	added, err := eventstream.Publish(ctx, e.config.Store, e.config.Blobs, from, list, e.config.Now().UnixMilli())
	if added > 0 || errors.Is(err, store.ErrUnavailable) { // after ErrUnavailable they may be stored nevertheless
		e.matcher.notify(from.Account, from.Environment)
	}
	return err
}
