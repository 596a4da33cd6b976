package temporal

import (
	"context"
	"errors"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/store"
)

// Publish implements engine.Engine.
func (e *Engine) Publish(ctx context.Context, account int64, env chargehand.Environment, events []map[string]any) error {
	list := make([]engine.Publication, 0, len(events))
	for _, ev := range events {
		list = append(list, engine.Received(ev))
	}
	added, err := engine.Publish(ctx, e.config.Store, e.config.Blobs, account, env, list, e.config.Now().UnixMilli())
	if added > 0 || errors.Is(err, store.ErrUnavailable) { // they may be there all the same
		e.pump.poke(account, env)
	}
	return err
}
