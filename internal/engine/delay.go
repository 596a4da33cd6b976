package engine

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/chargehand/chargehand/internal/store"
)

const (
	// releaseStep bounds the delayed executions that are queued in one transaction.
	releaseStep = 500
	// maxDelaySleep is the longest sleep between two looks at the rows: other nodes write some, too.
	maxDelaySleep = time.Second
)

// Delays queues delayed executions when their start is due. Until then, each is a row and nothing else.
type Delays struct {
	Store *store.Store
	Log   *slog.Logger
	NowMs func() int64
	// Released is called with those that were queued, after that is durable.
	Released func([]store.Released)
	// Woken has a value after a delayed execution was written by this process.
	Woken chan struct{}
	// Alone: no other process writes delayed executions.
	Alone bool

	// inDoubt are those that a step has queued by a commit of which it is not known whether it was made.
	inDoubt []store.Released
}

// Wake says that a delayed execution is durable.
func (d *Delays) Wake() {
	select {
	case d.Woken <- struct{}{}:
	default:
	}
}

// Run works until ctx ends.
func (d *Delays) Run(ctx context.Context) {
	for ctx.Err() == nil {
		wait, err := d.step(ctx)
		if err != nil && ctx.Err() == nil {
			d.Log.Warn("delayed executions cannot be started now", "error", err)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-d.Woken:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// step queues what is due, and says how long nothing is.
func (d *Delays) step(ctx context.Context) (wait time.Duration, err error) {
	if err := d.resolve(ctx); err != nil {
		return maxDelaySleep, err
	}
	var next int64
	err = d.Store.View(ctx, func(r *store.Reader) (err error) {
		next, err = r.NextDelayedMs()
		return err
	})
	now := d.NowMs()
	switch {
	case err != nil:
		return maxDelaySleep, err
	case next == 0 && d.Alone:
		return time.Minute, nil // a new one wakes it
	case next == 0:
		return maxDelaySleep, nil
	case next > now:
		return min(time.Duration(next-now)*time.Millisecond, maxDelaySleep), nil
	}
	var list []store.Released
	err = d.Store.Update(ctx, func(tx *store.Tx) (err error) {
		list, err = tx.StartDelayed(now, releaseStep)
		return err
	})
	if err != nil {
		if errors.Is(err, store.ErrUnavailable) {
			d.inDoubt = list
		}
		return maxDelaySleep, err
	}
	if len(list) == 0 {
		return maxDelaySleep, nil // another process has them in hand
	}
	d.Released(list)
	return 0, nil
}

// resolve finds out what a commit in doubt has queued: no later step would. Where one process writes, it looks in an
// Update, which waits for a commit that the database has not finished; where several do, they look for queued rows
// again and again.
func (d *Delays) resolve(ctx context.Context) error {
	if len(d.inDoubt) == 0 {
		return nil
	}
	var queued []store.Released
	err := d.Store.Update(ctx, func(tx *store.Tx) error {
		queued = queued[:0]
		for _, r := range d.inDoubt {
			row, err := tx.ExecutionByNo(r.No)
			switch {
			case errors.Is(err, store.ErrNotFound): // it was cancelled and deleted
			case err != nil:
				return err
			case row.State != store.StateDelayed && row.State != store.StateEnded:
				queued = append(queued, r)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	d.inDoubt = nil
	if len(queued) > 0 {
		d.Released(queued)
	}
	return nil
}
