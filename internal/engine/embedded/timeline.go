package embedded

import (
	"context"
	"errors"
	"fmt"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
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
	var row store.Execution
	var chunks [][]byte
	var outcome store.Outcome
	var h history
	err := e.store.View(ctx, func(r *store.Reader) (err error) {
		if row, err = r.ExecutionByNo(executionNo); err != nil {
			return err
		}
		if chunks, err = r.TimelineChunks(executionNo); err != nil {
			return err
		}
		if row.State == store.StateEnded {
			outcome, err = r.Outcome(executionNo)
		} else {
			h, err = readHistory(r, executionNo)
		}
		return err
	})
	if err != nil {
		return nil, false, err
	}
	if row.State == store.StateQueued {
		return nil, false, nil
	}
	p, err := e.plan(ctx, row.Revision)
	if err != nil {
		return nil, false, err
	}
	secrets, err := e.timelineSecrets(ctx, &row, p)
	if err != nil {
		return nil, false, err
	}
	input, err := e.input(ctx, &row)
	if err != nil {
		return nil, false, err
	}
	parts := make([][]machine.Entry, 0, len(chunks)+1)
	lost := false
	for _, chunk := range chunks {
		if chunk, err = secrets.Open(engine.SealedTimeline, chunk); err != nil {
			e.log.Error("a part of a timeline cannot be opened", "execution", row.ID, "error", err)
			lost = true
			continue
		}
		entries, err := machine.DecodeTimeline(p, chunk, input)
		if err != nil {
			return nil, false, err
		}
		parts = append(parts, entries)
	}
	last, err := e.lastEntries(ctx, p, secrets, &row, input, outcome, h)
	if err != nil {
		return nil, false, err
	}
	entries, truncated := machine.MergeTimeline(append(parts, last)...)
	return entries, truncated || lost, nil
}

// timelineSecrets are what the timeline of an execution needs: its secrets while it runs, and
// afterwards what opens its chunks.
func (e *Engine) timelineSecrets(ctx context.Context, row *store.Execution, p *plan.Plan) (*engine.Secrets, error) {
	if row.State != store.StateEnded || e.config.Sealer == nil {
		return e.pinnedSecrets(ctx, row, p)
	}
	return engine.SealingOf(row.ID, p, e.config.Sealer), nil
}

// lastEntries returns the entries that are not in a chunk.
func (e *Engine) lastEntries(
	ctx context.Context, p *plan.Plan, secrets *engine.Secrets, row *store.Execution,
	input value.Value, outcome store.Outcome, h history,
) ([]machine.Entry, error) {
	if row.State != store.StateEnded {
		m, _, err := e.replay(ctx, p, secrets, row, h)
		if err != nil {
			return nil, err
		}
		return secrets.RedactEntries(m.Timeline()), nil
	}
	if outcome.Timeline == nil {
		return nil, nil
	}
	if row.Status != chargehand.Finished {
		return machine.DecodeTimeline(p, outcome.Timeline, input)
	}
	data, err := e.payload(ctx, outcome.Output)
	if err != nil {
		return nil, fmt.Errorf("read output: %w", err)
	}
	output, err := value.Parse(data, value.Limits{Depth: value.MaxDepth, Bytes: e.limits.ActivityOutputBytes})
	if err != nil {
		return nil, errors.New("the stored output cannot be read: " + err.Error())
	}
	return machine.DecodeTimeline(p, outcome.Timeline, input, output)
}
