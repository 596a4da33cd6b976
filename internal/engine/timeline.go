package engine

import (
	"context"
	"log/slog"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// TimelineEntries is how many entries of an execution are kept, at least: the newest.
const TimelineEntries = 10_000

// StoredTimeline is what the database holds of the timeline of an execution.
type StoredTimeline struct {
	Row    store.Execution
	Chunks [][]byte
	Last   []byte        // the chunk behind the others
	output store.Payload // that the last chunk may refer to
}

// ReadTimeline reads the stored timeline of an execution.
func ReadTimeline(r *store.Reader, no int64) (t StoredTimeline, err error) {
	if t.Row, err = r.ExecutionByNo(no); err != nil {
		return t, err
	}
	if t.Chunks, err = r.TimelineChunks(no); err != nil || t.Row.State != store.StateEnded {
		return t, err
	}
	outcome, err := r.Outcome(no)
	t.Last, t.output = outcome.Timeline, outcome.Output
	return t, err
}

// Entries joins the chunks in the order in which their entries were taken, and live entries, which no chunk holds.
// truncated: some are missing, because only the newest are kept, or because a chunk cannot be opened.
func (t *StoredTimeline) Entries(
	ctx context.Context, blobs Blobs, log *slog.Logger, p *plan.Plan, secrets *Secrets, live []machine.Entry,
) (entries []machine.Entry, truncated bool, err error) {
	input, err := ReadInput(ctx, blobs, &t.Row)
	if err != nil {
		return nil, false, err
	}
	parts := make([][]machine.Entry, 0, len(t.Chunks)+2)
	decode := func(chunk []byte, known ...value.Value) error {
		entries, err := machine.DecodeTimeline(p, chunk, known...)
		parts = append(parts, entries)
		return err
	}
	lost := false
	for _, sealed := range t.Chunks {
		chunk, err := secrets.Open(SealedTimeline, sealed)
		if err != nil {
			log.Error("a part of a timeline cannot be opened", "execution", t.Row.ID, "error", err)
			lost = true
			continue
		}
		if err := decode(chunk, input); err != nil {
			return nil, false, err
		}
	}
	if t.Last != nil {
		known := []value.Value{input}
		if t.Row.Status == chargehand.Finished {
			output, err := readValue(ctx, blobs, t.output, "output")
			if err != nil {
				return nil, false, err
			}
			known = append(known, output)
		}
		if err := decode(t.Last, known...); err != nil {
			return nil, false, err
		}
	}
	entries, truncated = machine.MergeTimeline(append(parts, live)...)
	return entries, truncated || lost, nil
}
