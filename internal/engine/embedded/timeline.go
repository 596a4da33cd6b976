package embedded

import (
	"context"
	"errors"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

// Timeline implements engine.Engine. It reads what the store holds and uses nothing of the
// execution in memory.
func (e *Engine) Timeline(ctx context.Context, executionNo int64) ([]machine.Entry, bool, error) {
	for attempt := 1; ; attempt++ {
		entries, truncated, err := e.readTimeline(ctx, executionNo)
		// The pinned secrets are gone if the execution has ended since its row was read.
		if errors.Is(err, errNotPinned) && attempt < maxFailures {
			continue
		}
		return entries, truncated, err
	}
}

func (e *Engine) readTimeline(ctx context.Context, executionNo int64) ([]machine.Entry, bool, error) {
	var stored engine.StoredTimeline
	var h history
	err := e.store.View(ctx, func(r *store.Reader) (err error) {
		if stored, err = engine.ReadTimeline(r, executionNo); err == nil && stored.Row.State != store.StateEnded {
			h, err = readHistory(r, executionNo)
		}
		return err
	})
	row := &stored.Row
	if err != nil || row.State != store.StateEnded && !row.State.Begun() {
		return nil, false, err
	}
	p, err := e.plan(ctx, row.Revision)
	if err != nil {
		return nil, false, err
	}
	secrets := engine.SealingOf(row.ID, p, e.config.Sealer)
	var live []machine.Entry
	if row.State != store.StateEnded {
		if secrets, err = e.readSecrets(ctx, row, p, engine.PinnedSecrets); err != nil {
			return nil, false, err
		}
		m, _, err := e.replay(ctx, p, secrets, row, h)
		if err != nil {
			return nil, false, err
		}
		live = secrets.RedactEntries(m.Timeline())
	}
	return stored.Entries(ctx, e.config.Blobs, e.log, p, secrets, live)
}
