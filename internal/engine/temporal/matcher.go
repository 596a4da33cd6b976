package temporal

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/eventstream"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
)

// matcherConfig configures the event matcher of a node. Sealer is nil where there are no executions with secrets.
type matcherConfig struct {
	Store  *store.Store
	Blobs  engine.Blobs
	Relay  *relay
	Sealer *secret.Sealer
	Log    *slog.Logger
}

// newMatcher makes the event matcher of a node. It writes an outbox message to each execution whose subscription it
// wakes, in the transaction that wakes it.
func newMatcher(c matcherConfig) *eventstream.Matcher {
	var messages map[int64]store.OutboxMessage // of the latest step
	return eventstream.NewMatcher(eventstream.MatcherConfig{
		Store: c.Store, Reader: eventstream.NewReader(c.Store, c.Blobs), Sealer: c.Sealer, Every: time.Second,
		InTx: func(tx *store.Tx, woken []store.Subscription) (err error) {
			var executions []int64
			for _, s := range woken {
				executions = append(executions, s.Execution)
			}
			slices.Sort(executions)
			messages, err = tx.InsertOutboxMessages(store.OutboxEvents, slices.Compact(executions), c.Relay.leaseMs())
			return err
		},
		Woken: func([]store.Subscription) { c.Relay.handMessages(slices.Collect(maps.Values(messages))) },
		Failed: func(err error) {
			if !errors.Is(err, store.ErrUnavailable) {
				c.Log.Error("match events", "error", err)
			}
		},
	})
}

// Publish implements engine.Engine.
func (e *Engine) Publish(ctx context.Context, from engine.Publisher, events []map[string]any) error {
	_, err := e.matcher.Publish(ctx, from, events, e.config.Now().UnixMilli())
	return err
}
