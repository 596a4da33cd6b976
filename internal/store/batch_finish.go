package store

import (
	"errors"
	"fmt"

	"github.com/chargehand/chargehand"
)

// EndedItem is a queued item of a batch that ends in its first step. No, ID, Account, Environment, Workflow, StartedBy,
// Status, Phase, StartedMs and FinishedMs of the row say how.
type EndedItem struct {
	Row     *Execution
	Outcome *Outcome
}

// finishItem and failItem say state + 0, so that no planner takes the index of what is queued for that of the numbers.
const (
	finishItem = `UPDATE execution SET status = ?2, phase = ?3, state = 0, started_ms = ?4, finished_ms = ?5, bytes = bytes + ?6, parked = 0, waits = NULL WHERE no = ?1 AND state + 0 = 1`
	failItem   = `UPDATE execution SET status = ?2, phase = ?3, state = 0, started_ms = ?4, finished_ms = ?5, bytes = bytes + ?6, parked = 0, waits = NULL, error_code = ?7, error_at = ?8, error_hash = ?9 WHERE no = ?1 AND state + 0 = 1`
)

// FinishItems does what FinishExecution does, for items of one batch together. They are queued: they have neither
// journal nor checkpoint, timers, subscriptions, pinned secrets or children, which are not looked for. The batch is
// counted once. batchFinal reports that it became final. ErrConflict: one of them is not queued any more; the Update
// must be undone.
func (t *Tx) FinishItems(batch int64, items []EndedItem) (batchFinal bool, err error) {
	var finished, failed [][]any
	var n ends
	var beganMs, endedMs int64
	for i := range items {
		row, o := items[i].Row, items[i].Outcome
		if !row.Status.Final() || row.FinishedMs == 0 || row.Batch != batch {
			return false, errors.New("finish items: the status must be final, the time set, and the batch the same")
		}
		if beganMs == 0 || row.StartedMs < beganMs {
			beganMs = row.StartedMs
		}
		endedMs = max(endedMs, row.FinishedMs)
		args := append(make([]any, 0, 9), row.No, int64(row.Status), int64(row.Phase), row.StartedMs, row.FinishedMs, o.Output.Size)
		t.countUsage(row.Account, row.Environment, row.StartedBy, Usage{Bytes: o.Output.Size})
		if row.Status == chargehand.Finished {
			n.finished++
			finished = append(finished, args)
			continue
		}
		if n.failed++; row.Phase == chargehand.Cancelled {
			n.cancelled++
		}
		marks := t.faultMarks(o.Fault)
		failed = append(failed, append(args, marks.Code, textArg(marks.At), marks.Hash))
		t.failures = append(t.failures, Failure{row.ID, row.Workflow, row.Phase, o.Fault})
	}
	if err := t.finishEach(finishItem, finished); err != nil {
		return false, err
	}
	if err := t.finishEach(failItem, failed); err != nil {
		return false, err
	}
	rollups, err := t.rollupCursor("")
	if err != nil {
		return false, err
	}
	for i := range items {
		no := items[i].Row.No
		if err := t.insertOutcome(no, items[i].Outcome); err != nil {
			return false, err
		}
		if no <= rollups.Closing {
			if err := t.noteEnd(no); err != nil {
				return false, err
			}
		}
		items[i].Outcome.Ending = Ending{}
	}
	if beganMs != 0 {
		if err := t.startBatch(batch, beganMs); err != nil {
			return false, err
		}
	}
	return t.countEnds(batch, n, endedMs)
}

func (t *Tx) finishEach(text string, rows [][]any) error {
	if len(rows) == 0 {
		return nil
	}
	changed, err := t.c.Each(text, rows)
	if err == nil && changed != int64(len(rows)) {
		err = ErrConflict
	}
	if err != nil {
		return fmt.Errorf("finish items: %w", err)
	}
	return nil
}
