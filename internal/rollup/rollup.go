package rollup

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/chargehand/chargehand/internal/pause"
	"github.com/chargehand/chargehand/internal/store"
)

const (
	// every lies between two passes.
	every = 5 * time.Second
	// page is how many executions, and ends, one part of a pass counts: it is read within some milliseconds.
	page = 2000
	// rest lies between two parts, so that a long pass leaves readers and writer to requests.
	rest = 2 * time.Millisecond
)

// Config configures a Counter. Store is required.
type Config struct {
	Store *store.Store
	Every time.Duration    // between two passes; default 5 s
	Page  int              // executions that a part of a pass counts; default 2,000
	Log   *slog.Logger     // default: discards
	Now   func() time.Time // default: time.Now
}

// Counter counts executions.
type Counter struct{ config Config }

// New returns a Counter. It starts nothing; see Run.
func New(c Config) *Counter {
	if c.Every == 0 {
		c.Every = every
	}
	if c.Page == 0 {
		c.Page = page
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Counter{c}
}

// Run makes a pass every few seconds until ctx ends.
func (c *Counter) Run(ctx context.Context) {
	for {
		if err := c.Pass(ctx); err != nil && ctx.Err() == nil {
			c.config.Log.Warn("count executions", "error", err)
		}
		if pause.For(ctx, c.config.Every) != nil {
			return
		}
	}
}

// Pass counts everything that was accepted, and that has ended, before it is called. It returns without an error, and
// without having counted everything, if another process counts at the same time.
func (c *Counter) Pass(ctx context.Context) error {
	err := c.pass(ctx)
	if errors.Is(err, store.ErrConflict) {
		return nil
	}
	return err
}

func (c *Counter) pass(ctx context.Context) error {
	var cursor store.RollupCursor
	behind := false
	err := c.config.Store.View(ctx, func(r *store.Reader) (err error) {
		cursor, behind, err = r.RollupState()
		return err
	})
	if err != nil || !behind {
		return err
	}
	err = c.config.Store.Update(ctx, func(tx *store.Tx) error { return tx.CloseRollup(cursor, c.config.Now().UnixMilli()) })
	if err == nil {
		err = c.config.Store.AwaitWriters(ctx)
	}
	for err == nil {
		var part store.RollupPart
		err = c.config.Store.View(ctx, func(r *store.Reader) (err error) {
			part, err = r.RollupPart(c.config.Page)
			return err
		})
		if err == nil {
			err = c.config.Store.Update(ctx, func(tx *store.Tx) error { return tx.PutRollupPart(&part) })
		}
		if part.Last {
			return err
		}
		if err == nil {
			err = pause.For(ctx, rest)
		}
	}
	return err
}
