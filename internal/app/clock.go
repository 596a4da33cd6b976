package app

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/store"
)

// The clock is read every clockEvery; a difference of clockStepAtLeast between the time that the wall clock says has
// passed and the time that has is a step.
const (
	clockEvery       = 5 * time.Second
	clockStepAtLeast = 5 * time.Second
)

// clockWatch finds steps of the wall clock. Deadlines, schedules, expiries and links go by it, so they stand still or
// come early for as long as it has stepped, which could not be understood without a line in the log.
type clockWatch struct {
	wall time.Time     // without a monotonic reading
	mono time.Duration // since some moment
}

// step returns by how much the clock has stepped since the last call; 0: it has not.
func (w *clockWatch) step(wall time.Time, mono time.Duration) time.Duration {
	step := wall.Sub(w.wall) - (mono - w.mono)
	first := w.wall.IsZero()
	w.wall, w.mono = wall, mono
	if first || step.Abs() < clockStepAtLeast {
		return 0
	}
	return step
}

// watchClock says in the log, and for the doctor, when the clock steps, until ctx ends.
func watchClock(ctx context.Context, log *slog.Logger, db *store.Store) {
	began := time.Now()
	tick := time.NewTicker(clockEvery)
	defer tick.Stop()
	var w clockWatch
	for {
		now := time.Now()
		tellClock(ctx, log, db, now, w.step(now.Round(0), now.Sub(began)))
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func tellClock(ctx context.Context, log *slog.Logger, db *store.Store, now time.Time, step time.Duration) {
	if step == 0 {
		return
	}
	what := "the clock was set forward, or the machine slept: what waited for a time that has passed is due now"
	if step < 0 {
		what = "the clock was set back: waits that have begun and schedules stand still until it has caught up"
	}
	log.Warn(what, "by", step.Round(time.Second).String(), "now", now.UTC().Format(time.RFC3339))
	data, err := json.Marshal(installation.ClockStep{At: now.Round(0).UTC(), ByMs: step.Milliseconds()})
	if err == nil {
		err = db.Update(ctx, func(tx *store.Tx) error { return tx.SetMeta(installation.MetaClock, data) })
	}
	if err != nil && ctx.Err() == nil {
		log.Warn("the step of the clock cannot be noted", "error", err)
	}
}
