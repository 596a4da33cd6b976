package temporal

import (
	"context"
	"fmt"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/pause"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// queryTime bounds the query to a running workflow. Without a worker the query has no answer: then the timeline is what
// the database holds.
const queryTime = 3 * time.Second

// maxAsked bounds the queries of one call, while entries are moved to the database.
const maxAsked = 3

// lastTime is how long a call waits for the end of a timeline; lastPause is the time between two reads.
const (
	lastTime  = 3 * time.Second
	lastPause = 20 * time.Millisecond
)

// maxStoredBytes bounds an output that is read back.
const maxStoredBytes = 64 << 20

// Timeline implements engine.Engine. The newest entries of a running execution come from its workflow, if that answers;
// the others are stored.
func (e *Engine) Timeline(ctx context.Context, executionNo int64) ([]machine.Entry, bool, error) {
	var before, now recorded
	var live []byte
	err := e.record(ctx, executionNo, &before)
	for tries := 0; err == nil && tries < maxAsked; tries++ {
		live = e.liveTimeline(ctx, &before.row)
		// Entries move from the workflow to the database: both must be of one time.
		if err = e.record(ctx, executionNo, &now); err != nil || len(now.chunks) == len(before.chunks) {
			break
		}
		before = now
	}
	if err != nil || now.row.State == store.StateQueued {
		return nil, false, err
	}
	if now.row.State != store.StateEnded {
		now.last = live
	} else if err := e.awaitLast(ctx, &now); err != nil {
		return nil, false, err
	}
	p, err := e.config.Plans.Plan(ctx, now.row.Revision)
	if err != nil {
		return nil, false, fmt.Errorf("find plan: %w", err)
	}
	input, err := engine.ReadInput(ctx, e.config.Blobs, &now.row)
	if err != nil {
		return nil, false, err
	}
	known, err := e.output(ctx, &now, input)
	if err != nil {
		return nil, false, err
	}
	return now.entries(p, engine.SealingOf(now.row.ID, p, e.config.Sealer), known)
}

// awaitLast waits for the end of the timeline of an execution that was ended by a decision in
// the database: its workflow stores it in a moment, if there is a worker.
func (e *Engine) awaitLast(ctx context.Context, now *recorded) error {
	lacks := now.last == nil && now.row.StartedMs != 0 && now.row.Status != chargehand.Finished
	if !lacks || e.config.Now().UnixMilli()-now.row.FinishedMs > lastTime.Milliseconds() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lastTime)
	defer cancel()
	for now.last == nil && pause.For(ctx, lastPause) == nil {
		if err := e.record(ctx, now.row.No, now); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// recorded is what the database holds of a timeline.
type recorded struct {
	row    store.Execution
	chunks [][]byte
	last   []byte        // the chunk behind the others
	output store.Payload // that the last chunk may refer to
}

func (e *Engine) record(ctx context.Context, no int64, to *recorded) error {
	var got recorded
	err := e.config.Store.View(ctx, func(r *store.Reader) (err error) {
		got = recorded{}
		if got.row, err = r.ExecutionByNo(no); err != nil {
			return err
		}
		if got.chunks, err = r.TimelineChunks(no); err != nil || got.row.State != store.StateEnded {
			return err
		}
		outcome, err := r.Outcome(no)
		got.last, got.output = outcome.Timeline, outcome.Output
		return err
	})
	if err == nil {
		*to = got
	}
	return err
}

// output is what the last chunk refers to: input, and output if the execution completed.
func (e *Engine) output(ctx context.Context, of *recorded, input value.Value) ([]value.Value, error) {
	known := []value.Value{input}
	if of.last == nil || of.row.Status != chargehand.Finished {
		return known, nil
	}
	data, err := engine.ReadPayload(ctx, e.config.Blobs, of.output)
	if err != nil {
		return nil, fmt.Errorf("read output: %w", err)
	}
	output, err := value.Parse(data, value.Limits{Depth: value.MaxDepth, Bytes: maxStoredBytes})
	if err != nil {
		return nil, fmt.Errorf("read output: %w: %w", engine.ErrCorrupt, err)
	}
	return append(known, output), nil
}

// liveTimeline asks the workflow of an execution that continues. Nil: no one answers.
func (e *Engine) liveTimeline(ctx context.Context, row *store.Execution) []byte {
	if row.State == store.StateEnded || row.State == store.StateQueued {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	answer, err := e.config.Client.QueryWorkflow(ctx, row.ID.String(), "", timelineQuery)
	var entries []byte
	if err == nil {
		err = answer.Get(&entries)
	}
	if err != nil {
		e.log.Debug("a workflow does not tell its timeline", "execution", row.ID, "error", err)
		return nil
	}
	return entries
}

// entries joins the chunks in the order in which their entries were taken. known[0] is the input.
func (t *recorded) entries(p *plan.Plan, sealing *engine.Secrets, known []value.Value) ([]machine.Entry, bool, error) {
	parts := make([][]machine.Entry, 0, len(t.chunks)+1)
	for _, chunk := range t.chunks {
		chunk, err := sealing.Open(engine.SealedTimeline, chunk)
		if err != nil {
			return nil, false, fmt.Errorf("open timeline: %w", err)
		}
		entries, err := machine.DecodeTimeline(p, chunk, known[:1]...)
		if err != nil {
			return nil, false, err
		}
		parts = append(parts, entries)
	}
	if t.last != nil {
		last, err := machine.DecodeTimeline(p, t.last, known...)
		if err != nil {
			return nil, false, err
		}
		parts = append(parts, last)
	}
	entries, truncated := machine.MergeTimeline(parts...)
	return entries, truncated, nil
}
