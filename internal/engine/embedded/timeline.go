package embedded

import (
	"context"
	"errors"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/store"
)

// Timeline implements engine.Engine. It reads what the store holds and uses nothing of the
// execution in memory.
func (e *Engine) Timeline(ctx context.Context, executionNo int64) (*engine.Timeline, error) {
	return untilPinned(func() (*engine.Timeline, error) {
		var stored engine.StoredTimeline
		h, err := e.readTimeline(ctx, executionNo, engine.ReadTimeline, &stored)
		if err != nil || stored.Row.State != store.StateEnded && !stored.Row.State.Begun() {
			return &engine.Timeline{}, err
		}
		p, secrets, m, err := e.reviveReader(ctx, &stored.Row, h)
		if err != nil {
			return nil, err
		}
		var live []machine.Entry
		if m != nil {
			live = secrets.RedactEntries(m.Timeline())
		}
		return stored.Timeline(e.config.Blobs, e.log, p, secrets, live)
	})
}

// Progress implements engine.Engine, from what the store holds as Timeline does.
func (e *Engine) Progress(ctx context.Context, executionNo int64) (*engine.Progress, error) {
	return untilPinned(func() (*engine.Progress, error) {
		var stored engine.StoredTimeline
		h, err := e.readTimeline(ctx, executionNo, engine.ReadTimelineEnd, &stored)
		if err != nil || stored.Row.State != store.StateEnded && !stored.Row.State.Begun() {
			return &engine.Progress{}, err
		}
		p, secrets, m, err := e.reviveReader(ctx, &stored.Row, h)
		if err != nil {
			return nil, err
		}
		if m != nil {
			return engine.LiveProgress(p, m), nil
		}
		var progress *engine.Progress
		err = e.store.View(ctx, func(r *store.Reader) (err error) {
			progress, err = stored.Progress(r, e.log, p, secrets)
			return err
		})
		return progress, err
	})
}

// untilPinned repeats a read of which the pinned secrets are gone, because the execution has ended since its row was
// read.
func untilPinned[T any](read func() (*T, error)) (*T, error) {
	for attempt := 1; ; attempt++ {
		got, err := read()
		if !errors.Is(err, errNotPinned) || attempt == maxFailures {
			return got, err
		}
	}
}

// readTimeline reads a stored timeline and, of an execution that continues, what its machine is made of.
func (e *Engine) readTimeline(
	ctx context.Context, no int64, read func(*store.Reader, int64) (engine.StoredTimeline, error), to *engine.StoredTimeline,
) (h history, err error) {
	err = e.store.View(ctx, func(r *store.Reader) (err error) {
		if *to, err = read(r, no); err == nil && to.Row.State != store.StateEnded {
			h, err = readHistory(r, no)
		}
		return err
	})
	return h, err
}

// reviveReader makes the machine of an execution again, for a reader; nil: it has ended.
func (e *Engine) reviveReader(
	ctx context.Context, row *store.Execution, h history,
) (p *plan.Plan, secrets *engine.Secrets, m *machine.Machine, err error) {
	if p, err = e.plan(ctx, row.Revision); err != nil {
		return nil, nil, nil, err
	}
	if row.State == store.StateEnded {
		return p, engine.SealingOf(row.ID, p, e.config.Sealer), nil, nil
	}
	if secrets, err = e.readSecrets(ctx, row, p, engine.PinnedSecrets); err != nil {
		return nil, nil, nil, err
	}
	m, _, err = e.replay(ctx, p, secrets, row, h)
	return p, secrets, m, err
}
