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
	if t, err = ReadTimelineEnd(r, no); err == nil {
		t.Chunks, err = r.TimelineChunks(no)
	}
	return t, err
}

// ReadTimelineEnd is ReadTimeline without the chunks before the last one.
func ReadTimelineEnd(r *store.Reader, no int64) (t StoredTimeline, err error) {
	if t.Row, err = r.ExecutionByNo(no); err != nil || t.Row.State != store.StateEnded {
		return t, err
	}
	outcome, err := r.Outcome(no)
	t.Last, t.output = outcome.Timeline, outcome.Output
	return t, err
}

// Timeline is what there is of the timeline of an execution.
type Timeline struct {
	Records   []machine.Record // by Seq
	Truncated bool             // some are missing: only the newest are kept, or a chunk cannot be opened
	Moving    bool             // some may be on their way to the database: what is missing now may be there later

	known  [2]value.Value // input and output of the execution, to which records refer
	loaded [2]bool
	load   func(ctx context.Context, number int) (value.Value, error)
}

// Values are the input and the output of a record as JSON.
func (t *Timeline) Values(ctx context.Context, r *machine.Record) (input, output []byte, err error) {
	if err := t.loadKnown(ctx, r.UsesKnown); err != nil {
		return nil, nil, err
	}
	input, output = r.Values(t.known[:]...)
	return input, output, nil
}

// Came are what came to the task of a record from outside, with the outputs as JSON.
func (t *Timeline) Came(ctx context.Context, r *machine.Record) ([]machine.Outcome, [][]byte, error) {
	if err := t.loadKnown(ctx, r.CameUsesKnown); err != nil {
		return nil, nil, err
	}
	outcomes, outputs := r.Came(t.known[:]...)
	return outcomes, outputs, nil
}

// loadKnown reads the values of the execution itself that are needed.
func (t *Timeline) loadKnown(ctx context.Context, needed func(number int) bool) (err error) {
	for n := range t.known {
		if t.loaded[n] || !needed(n) {
			continue
		}
		if t.known[n], err = t.load(ctx, n); err != nil {
			return err
		}
		t.loaded[n] = true
	}
	return nil
}

// Progress counts the tasks of an execution.
type Progress struct {
	Plan      *plan.Plan // nil: the execution has not started
	Tasks     []machine.TaskTally
	Truncated bool // some entries are not counted, because the engine had to fail the execution
}

// chunks are the decoded parts of a stored timeline.
type chunks struct {
	parts [][]machine.Record
	last  []machine.Record
	tally machine.Tally // of what came before the last part
	lost  bool
}

func (t *StoredTimeline) decodeLast(p *plan.Plan) (c chunks, err error) {
	if t.Last == nil {
		return c, nil
	}
	known := 1
	if t.Row.Status == chargehand.Finished {
		known = 2
	}
	c.last, c.tally, err = machine.DecodeTimeline(p, t.Last, known)
	return c, err
}

// decode decodes the chunks. One that cannot be opened is left out.
func (t *StoredTimeline) decode(log *slog.Logger, p *plan.Plan, secrets *Secrets) (chunks, error) {
	c, err := t.decodeLast(p)
	if err != nil {
		return c, err
	}
	for _, sealed := range t.Chunks {
		chunk, err := secrets.Open(SealedTimeline, sealed)
		if err != nil {
			log.Error("a part of a timeline cannot be opened", "execution", t.Row.ID, "error", err)
			c.lost = true
			continue
		}
		records, _, err := machine.DecodeTimeline(p, chunk, 1)
		if err != nil {
			return c, err
		}
		c.parts = append(c.parts, records)
	}
	c.parts = append(c.parts, c.last)
	return c, nil
}

// Timeline joins the chunks in the order in which their entries were taken, and live entries, which no chunk holds.
func (t *StoredTimeline) Timeline(
	blobs Blobs, log *slog.Logger, p *plan.Plan, secrets *Secrets, live []machine.Entry,
) (*Timeline, error) {
	c, err := t.decode(log, p, secrets)
	if err != nil {
		return nil, err
	}
	joined := &Timeline{load: func(ctx context.Context, number int) (value.Value, error) {
		if number == 0 {
			return ReadInput(ctx, blobs, &t.Row)
		}
		return readValue(ctx, blobs, t.output, "output")
	}}
	joined.Records, joined.Truncated = machine.MergeTimeline(append(c.parts, machine.RecordsOf(live))...)
	joined.Truncated = joined.Truncated || c.lost
	return joined, nil
}

// Progress counts what the last chunk holds and what it says about those before it. Only if it says nothing, because
// the engine had to fail the execution, the others are read.
func (t *StoredTimeline) Progress(r *store.Reader, log *slog.Logger, p *plan.Plan, secrets *Secrets) (*Progress, error) {
	c, err := t.decodeLast(p)
	if err != nil {
		return nil, err
	}
	if !c.tally.Empty() {
		return progressOf(p, c.tally, c.last), nil
	}
	if t.Chunks, err = r.TimelineChunks(t.Row.No); err != nil {
		return nil, err
	}
	if len(t.Chunks) == 0 { // the last one has them all, also more than a timeline shows
		return progressOf(p, c.tally, c.last), nil
	}
	if c, err = t.decode(log, p, secrets); err != nil {
		return nil, err
	}
	records, truncated := machine.MergeTimeline(c.parts...)
	progress := progressOf(p, c.tally, records)
	progress.Truncated = truncated || c.lost
	return progress, nil
}

// LiveProgress counts the tasks of a machine.
func LiveProgress(p *plan.Plan, m *machine.Machine) *Progress {
	return progressOf(p, m.Tally(), machine.RecordsOf(m.Timeline()))
}

func progressOf(p *plan.Plan, before machine.Tally, records []machine.Record) *Progress {
	sum := before.Count(records)
	return &Progress{Plan: p, Tasks: sum.Tasks()}
}
