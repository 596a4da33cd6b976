package engine

import (
	"context"
	"errors"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// FindUnfinished reads an execution that has not ended. Errors: ErrFinal, store.ErrNotFound, store.ErrUnavailable.
func FindUnfinished(ctx context.Context, st *store.Store, id chargehand.ExecutionID) (row store.Execution, err error) {
	err = st.View(ctx, func(r *store.Reader) (err error) {
		row, err = r.FindExecution(id)
		return err
	})
	if err == nil && row.Status.Final() {
		err = ErrFinal
	}
	return row, err
}

// MarkBatchCancelled marks a batch as cancelled, so that its cancellation is continued if the process dies, and
// returns it with the reason that is decisive: that of the first cancellation. inTx runs in the same transaction.
// marked: the batch may be marked although there is an error, store.ErrUnavailable.
// Errors: ErrFinal, store.ErrNotFound, store.ErrUnavailable, the error of inTx.
func MarkBatchCancelled(ctx context.Context, st *store.Store, id chargehand.BatchID, reason string, inTx []InTx) (b store.Batch, marked bool, err error) {
	err = st.View(ctx, func(r *store.Reader) (err error) {
		b, err = r.FindBatch(id)
		return err
	})
	switch {
	case err != nil:
		return b, false, err
	case b.Status.Final():
		return b, false, ErrFinal
	}
	err = st.Update(ctx, func(tx *store.Tx) (err error) {
		marked = false
		if b.Reason, err = tx.SetBatchCancelled(b.No, reason); err != nil {
			if errors.Is(err, store.ErrConflict) {
				err = ErrFinal
			}
			return err
		}
		marked = true
		return RunInTx(tx, inTx)
	})
	return b, marked && (err == nil || errors.Is(err, store.ErrUnavailable)), err
}

// cancelStep bounds the queued items of a batch that are cancelled in one transaction.
const cancelStep = 500

// CancelQueuedItems ends the queued items of a batch that is marked as cancelled, many at a time. ended is called
// with those of each transaction. final: the batch has ended with them. Errors: store.ErrUnavailable.
func CancelQueuedItems(ctx context.Context, st *store.Store, b *store.Batch, nowMs func() int64, ended func(ids []chargehand.ExecutionID)) (final bool, err error) {
	fault := CancelledFault(b.Reason)
	for {
		var ids []chargehand.ExecutionID
		err := st.Update(ctx, func(tx *store.Tx) (err error) {
			ids, final, err = tx.CancelQueuedItems(b.No, cancelStep, max(nowMs(), b.ID.Milli()), fault)
			return err
		})
		if err != nil {
			return false, err
		}
		ended(ids)
		if len(ids) == 0 || final {
			return final, nil
		}
	}
}
