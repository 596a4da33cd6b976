package embedded

import (
	"context"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

// startDelayed accepts an execution that is to start later: it is a row until then. The bound of the queue does not
// count it.
func (e *Engine) startDelayed(ctx context.Context, start engine.Start) (store.Execution, error) {
	var row store.Execution
	var first *store.JournalRow
	var err error
	if start.Position != nil {
		first, err = engine.StorePosition(ctx, e.config.Blobs, e.config.Sealer, &start.Row, start.Plan, start.Position)
		if err != nil {
			return store.Execution{}, e.callerError(ctx, err)
		}
	}
	err = e.store.Update(ctx, func(tx *store.Tx) error {
		row = start.Row
		row.Status, row.Phase, row.State = chargehand.Initial, chargehand.Pending, store.StateDelayed
		row.Machine, row.StartedMs, row.FinishedMs = machine.Revision, 0, 0
		if err := tx.InsertExecution(&row); err != nil {
			return err
		}
		if first != nil {
			first.Execution = row.No
			if err := tx.AppendJournal(first); err != nil {
				return err
			}
		}
		if start.InTx == nil {
			return nil
		}
		return start.InTx(tx, row.No)
	})
	if err != nil {
		return store.Execution{}, e.callerError(ctx, err)
	}
	e.delays.Wake()
	return row, nil
}

// released lets delayed executions start that were queued.
func (e *Engine) released(list []store.Released) {
	for _, r := range list {
		if r.Batch != 0 {
			e.BatchReady(r.Batch)
			continue
		}
		e.stats.queued.Add(1)
		e.slots.notifyQueued(e.slots.singles(r.Queue.Account, ownerOfQueued(r.Queue)))
	}
}
