package temporal

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/pause"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/store"
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

// Timeline implements engine.Engine. The newest entries of a running execution come from its workflow, if that answers;
// the others are stored.
func (e *Engine) Timeline(ctx context.Context, executionNo int64) (*engine.Timeline, error) {
	var before, now engine.StoredTimeline
	var live liveTimeline
	matches := false
	err := e.record(ctx, executionNo, engine.ReadTimeline, &before)
	for tries := 0; err == nil && !matches && tries < maxAsked; tries++ {
		live = e.liveTimeline(ctx, &before.Row)
		// Entries move from the workflow to the database: both must be of one time.
		if err = e.record(ctx, executionNo, engine.ReadTimeline, &now); err == nil {
			matches = slices.EqualFunc(now.Chunks, before.Chunks, bytes.Equal)
			before = now
		}
	}
	if err != nil || now.Row.State != store.StateEnded && !now.Row.State.Begun() {
		return &engine.Timeline{}, err
	}
	p, secrets, err := e.completeTimeline(ctx, &now, live.Entries)
	if err != nil {
		return nil, err
	}
	timeline, err := now.Timeline(e.config.Blobs, e.log, p, secrets, nil)
	if err == nil {
		// The chunks alone lack nothing in between, so what a workflow does not tell leaves no hole.
		timeline.Moving = live.Moving || !matches
	}
	return timeline, err
}

// Progress implements engine.Engine. The workflow of a running execution counts all that has started; if it does not
// answer, the stored entries are counted.
func (e *Engine) Progress(ctx context.Context, executionNo int64) (*engine.Progress, error) {
	var now engine.StoredTimeline
	err := e.record(ctx, executionNo, engine.ReadTimelineEnd, &now)
	if err != nil || now.Row.State != store.StateEnded && !now.Row.State.Begun() {
		return &engine.Progress{}, err
	}
	live := e.liveTimeline(ctx, &now.Row).Entries
	if live == nil { // it may have ended meanwhile
		err = e.record(ctx, executionNo, engine.ReadTimelineEnd, &now)
	}
	if err != nil {
		return nil, err
	}
	p, secrets, err := e.completeTimeline(ctx, &now, live)
	if err != nil {
		return nil, err
	}
	var progress *engine.Progress
	err = e.config.Store.View(ctx, func(r *store.Reader) (err error) {
		progress, err = now.Progress(r, e.log, p, secrets)
		return err
	})
	return progress, err
}

// completeTimeline adds the live entries, or those that the workflow of an execution that has ended is about to store.
func (e *Engine) completeTimeline(
	ctx context.Context, now *engine.StoredTimeline, live []byte,
) (*plan.Plan, *engine.Secrets, error) {
	if now.Row.State != store.StateEnded {
		now.Last = live
	} else if err := e.awaitLast(ctx, now); err != nil {
		return nil, nil, err
	}
	p, err := e.config.Plans.Plan(ctx, now.Row.Revision)
	if err != nil {
		return nil, nil, fmt.Errorf("find plan: %w", err)
	}
	return p, engine.SealingOf(now.Row.ID, p, e.config.Sealer), nil
}

// awaitLast waits for the end of the timeline of an execution that was ended by a decision in
// the database: its workflow stores it in a moment, if there is a worker.
func (e *Engine) awaitLast(ctx context.Context, now *engine.StoredTimeline) error {
	lacks := now.Last == nil && now.Row.StartedMs != 0 && now.Row.Status != chargehand.Finished
	if !lacks || e.config.Now().UnixMilli()-now.Row.FinishedMs > lastTime.Milliseconds() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lastTime)
	defer cancel()
	for now.Last == nil && pause.For(ctx, lastPause) == nil {
		if err := e.record(ctx, now.Row.No, engine.ReadTimeline, now); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

func (e *Engine) record(
	ctx context.Context, no int64, read func(*store.Reader, int64) (engine.StoredTimeline, error), to *engine.StoredTimeline,
) error {
	return e.config.Store.View(ctx, func(r *store.Reader) error {
		got, err := read(r, no)
		if err == nil {
			*to = got
		}
		return err
	})
}

// liveTimeline asks the workflow of an execution that continues. Without entries: no one answers.
func (e *Engine) liveTimeline(ctx context.Context, row *store.Execution) (live liveTimeline) {
	if !row.State.Begun() {
		return live
	}
	ctx, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	answer, err := e.config.Client.QueryWorkflow(ctx, row.ID.String(), "", timelineQuery)
	if err == nil {
		err = answer.Get(&live)
	}
	if err != nil {
		e.log.Debug("a workflow does not tell its timeline", "execution", row.ID, "error", err)
		return liveTimeline{}
	}
	return live
}
