package temporal

import (
	"context"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
)

// Publish implements engine.Engine.
func (e *Engine) Publish(ctx context.Context, account int64, env chargehand.Environment, events []map[string]any) error {
	list := make([]engine.Publication, 0, len(events))
	for _, ev := range events {
		list = append(list, engine.Received(ev))
	}
	_, err := engine.Publish(ctx, e.config.Store, e.config.Blobs, account, env, list, e.config.Now().UnixMilli())
	return err
}
