package temporal

import (
	"context"
	"errors"
	"fmt"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/store"
)

// rowOf reads the row of an execution by its number. The row must also have the id: if an older state of the database
// was restored while workflows continued, the number may have been given to an execution of another account. Errors:
// store.ErrNotFound.
func rowOf(r *store.Reader, no int64, id chargehand.ExecutionID) (store.Execution, error) {
	row, err := r.ExecutionByNo(no)
	return ofID(row, id, err)
}

// lockRow is rowOf that locks the row until the Update is committed.
func lockRow(tx *store.Tx, no int64, id chargehand.ExecutionID) (store.Execution, error) {
	row, err := tx.LockExecution(no)
	return ofID(row, id, err)
}

func ofID(row store.Execution, id chargehand.ExecutionID, err error) (store.Execution, error) {
	if err == nil && row.ID != id {
		return store.Execution{}, store.ErrNotFound
	}
	return row, err
}

// reportState is the activity that gives an execution's slot back, asks for one, or tells what it waits for. A repeated
// or late attempt changes nothing, and answers with the state of the row.
func (a *activities) reportState(ctx context.Context, s stateReport) (stateAnswer, error) {
	phase, err := parsePhase(s.Phase)
	if err != nil {
		return stateAnswer{}, err
	}
	s.Waits.Kind = s.Waiting
	var now store.Reported
	err = a.Store.Update(ctx, func(tx *store.Tx) error {
		row, err := rowOf(&tx.Reader, s.No, s.Execution)
		if errors.Is(err, store.ErrNotFound) {
			now = store.Reported{Final: true}
			return nil
		}
		state := store.StateParked
		if err == nil && s.Slot && !s.Keep {
			state, err = a.askSlot(tx, &row)
		}
		if err != nil {
			return err
		}
		if s.Keep {
			now, err = tx.ReportWaits(s.No, s.Number, phase, s.Person, s.Waits)
		} else {
			now, err = tx.ReportState(s.No, s.Number, phase, state, s.Person, a.nowMs(), s.Waits)
		}
		return err
	})
	if err != nil {
		return stateAnswer{}, fmt.Errorf("store the reported state of an execution: %w", err)
	}
	if now.Changed && !s.Keep && now.State != store.StateActive {
		a.Freed(now.Account) // a slot is free, or this execution waits for one
	}
	return stateAnswer{
		Granted: !now.Final && now.Report == s.Number && now.State == store.StateActive,
		Final:   now.Final,
	}, nil
}

// askSlot looks for a free slot, under the lock of the account, so that no dispatcher gives it away. Woken executions
// of the same queue that wait already go first. It counts as many slots as the dispatcher counts without a rest: where
// more are held, the execution waits for the dispatcher.
func (a *activities) askSlot(tx *store.Tx, row *store.Execution) (store.ExecutionState, error) {
	if err := tx.LockAccount(row.Account); err != nil {
		return 0, err
	}
	source := store.Queue{Environment: row.Environment, Workflow: row.Workflow, Batch: row.Batch}
	if waits, err := tx.ReadyBefore(row.Account, source); err != nil || waits {
		return store.StateReady, err
	}
	slots := a.Limits.AccountSlots
	if row.Environment == chargehand.Test {
		most := min(slotsOfTest(slots), countsFreely)
		if active, err := tx.CountActiveOfTest(row.Account, most); err != nil || active >= most {
			return store.StateReady, err
		}
	}
	most := min(slots, countsFreely)
	if active, err := tx.CountActive(row.Account, most); err != nil || active >= most {
		return store.StateReady, err
	}
	if row.Batch == 0 {
		return store.StateActive, nil
	}
	batch, err := tx.BatchByNo(row.Batch)
	if err != nil {
		return 0, err
	}
	active, err := tx.CountActiveItems(row.Account, row.Batch, batch.Concurrency)
	if err != nil || active >= batch.Concurrency {
		return store.StateReady, err
	}
	return store.StateActive, nil
}

// chunk is the activity that stores timeline entries.
func (a *activities) chunk(ctx context.Context, c chunk) error {
	data := c.Data
	if c.Confidential && !c.Last {
		if a.Sealer == nil {
			return errNoSealer
		}
		data = a.Sealer.Execution(c.Execution).Seal(string(engine.SealedTimeline), data)
	}
	err := a.Store.Update(ctx, func(tx *store.Tx) error {
		if _, err := rowOf(&tx.Reader, c.No, c.Execution); errors.Is(err, store.ErrNotFound) {
			return nil // deleted, with everything that belongs to it
		} else if err != nil {
			return err
		}
		if c.Last {
			return tx.CompleteTimeline(c.No, c.Data)
		}
		if err := tx.PutTimelineChunk(c.No, c.Number, data); err != nil {
			return err
		}
		return tx.DropTimelineChunks(c.No, max(c.Keep, 1))
	})
	if err != nil {
		return fmt.Errorf("store timeline: %w", err)
	}
	return nil
}
