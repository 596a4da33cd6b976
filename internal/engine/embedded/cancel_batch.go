package embedded

import (
	"context"
	"errors"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/store"
)

// cancelAtOnce bounds the running items of a batch, or the children, that are cancelled at the same
// time.
const cancelAtOnce = 64

// CancelBatch implements engine.Engine. It first marks the batch as cancelled, so that the recovery
// after a crash continues the cancellation.
func (e *Engine) CancelBatch(ctx context.Context, id chargehand.BatchID, reason string, inTx ...engine.InTx) error {
	if !e.requests.Enter() {
		return store.ErrUnavailable
	}
	defer e.requests.Leave()
	b, marked, err := engine.MarkBatchCancelled(ctx, e.store, id, reason, inTx)
	if err != nil {
		if marked {
			e.resolveCancel(b)
		}
		return e.callerError(ctx, err)
	}
	e.outage.end()
	if err := e.cancelItems(ctx, b); err != nil {
		// The mark is durable and no item starts any more. The caller may be gone, so the rest must
		// not depend on it.
		e.goWork(func() { e.continueCancel(b) })
		return err
	}
	return nil
}

// resolveCancel finds out whether the mark of a cancelled batch was committed, after a commit in
// doubt. If it was, the batch must be cancelled now, because only the next start of the server
// would find it. Reading the batch with a lock waits for a commit that the database has not
// finished.
func (e *Engine) resolveCancel(b store.Batch) {
	if _, known := e.batchesInDoubt.LoadOrStore(b.No, true); known {
		return
	}
	e.goWork(func() {
		defer e.batchesInDoubt.Delete(b.No)
		e.retry(func() bool {
			var now store.Batch
			err := e.store.Update(e.ctx, func(tx *store.Tx) (err error) {
				now, err = tx.BatchForUpdate(b.No)
				return err
			})
			if err == nil && now.CancelRequested && !now.Status.Final() {
				e.continueCancel(now)
			}
			return err == nil || errors.Is(err, store.ErrNotFound) // it was deleted after its end
		})
	})
}

// continueCancel cancels the items of a batch that is marked as cancelled, and repeats that until
// it succeeds. What is left when the engine stops is found at the next start.
func (e *Engine) continueCancel(b store.Batch) {
	e.retry(func() bool {
		err := e.cancelItems(e.ctx, b)
		if err != nil && !errors.Is(err, store.ErrUnavailable) && e.ctx.Err() == nil {
			e.log.Error("cancel a batch", "batch", b.ID, "error", err)
		}
		if err == nil {
			e.watchers.notifyAll() // a commit in doubt may have ended items, and the batch
		}
		return err == nil
	})
}

// cancelItems ends every item of a batch that is marked as cancelled, with the reason of the mark.
func (e *Engine) cancelItems(ctx context.Context, b store.Batch) error {
	e.endingBatches.Store(b.No, true) // until all items have ended
	e.slots.close(e.slots.addBatch(&b))
	final, err := engine.CancelQueuedItems(ctx, e.store, &b, e.nowMs, func(ids []chargehand.ExecutionID) {
		e.outage.end()
		e.stats.failed.Add(int64(len(ids)))
		for _, id := range ids {
			e.watchers.notify(id)
		}
	})
	if err != nil {
		return e.callerError(ctx, err)
	}
	if final {
		e.watchers.notify(b.ID)
	}
	// No item is queued now, and none can become queued: the rest has started.
	started := []chargehand.Status{chargehand.Initial, chargehand.Processing, chargehand.HumanInTheLoop}
	for after := int64(-1); ; {
		var page []int64
		last := after
		err := e.store.View(ctx, func(r *store.Reader) error {
			return r.BatchItems(b.No, after, cancelAtOnce, started, func(row *store.Execution) error {
				page, last = append(page, row.No), row.Item
				return nil
			})
		})
		if err != nil {
			return err
		}
		if len(page) == 0 {
			e.slots.forget(b.No) // all items have ended
			e.endingBatches.Delete(b.No)
			return nil
		}
		after = last
		if err := e.cancelPage(ctx, page, b.Reason); err != nil {
			return err
		}
	}
}

// cancelPage cancels several executions at the same time. An execution that has ended already is no
// error.
func (e *Engine) cancelPage(ctx context.Context, page []int64, reason string) error {
	errs := make(chan error, len(page))
	for _, no := range page {
		go func() { errs <- e.cancelExecution(ctx, no, reason) }()
	}
	var first error
	for range page {
		if err := <-errs; err != nil && !errors.Is(err, engine.ErrFinal) && first == nil {
			first = err
		}
	}
	return first
}
