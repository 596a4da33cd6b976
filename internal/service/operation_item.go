package service

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/pause"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// errResolved is returned out of a transaction when another process has resolved the execution, or the operation has
// ended.
var errResolved = errors.New("the execution is resolved, or the operation has ended")

// handleSome acts on a part of the executions of an operation. waits tells that all that is left waits for a queue.
func (w *operationWorker) handleSome(ctx context.Context, p *Principal, row *store.Operation) (waits bool, err error) {
	var ids []chargehand.ExecutionID
	err = w.view(ctx, func(r *store.Reader) (err error) {
		ids, err = r.PendingItems(row.No, w.positions[row.No], pendingAtOnce)
		return err
	})
	if err != nil {
		return false, err
	}
	if len(ids) == 0 { // from the beginning again
		waits = w.passed[row.No]
		w.positions[row.No], w.passed[row.No] = chargehand.ExecutionID{}, true
		return waits, nil
	}
	part := operationPart{Service: w.Service, p: p, row: row, ids: ids, ends: w.now().Add(handledTime), full: map[chargehand.WorkflowID]bool{}}
	part.run(ctx)
	w.positions[row.No] = part.reached
	if part.handled > 0 {
		w.passed[row.No] = false
	}
	if part.refused != nil {
		return false, w.stop(ctx, row, part.refused)
	}
	if err := w.tell(ctx, row.No); err != nil {
		return false, err
	}
	if part.away {
		return true, pause.For(ctx, operationEvery)
	}
	return part.handled == 0, nil
}

// operationPart are executions that are handled in one turn. Methods are safe for concurrent use after the start.
type operationPart struct {
	*Service
	p    *Principal
	row  *store.Operation
	ids  []chargehand.ExecutionID
	ends time.Time

	mu      sync.Mutex
	next    int                            // of ids
	handled int                            // resolved, also by others
	reached chargehand.ExecutionID         // all up to it were looked at
	full    map[chargehand.WorkflowID]bool // workflows whose queue has no place now
	refused *chargehand.Error              // why the operation cannot continue
	away    bool                           // the storage cannot be used
}

// run handles executions beside each other, until the part has had its share.
func (o *operationPart) run(ctx context.Context) {
	var beside sync.WaitGroup
	for range min(handledBeside, len(o.ids)) {
		beside.Go(func() {
			for id, ok := o.take(ctx); ok; id, ok = o.take(ctx) {
				o.handle(ctx, id)
			}
		})
	}
	beside.Wait()
}

// take is the next execution to handle. ok is false if there is none in this part.
func (o *operationPart) take(ctx context.Context) (id chargehand.ExecutionID, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.next == len(o.ids) || o.handled >= handledAtOnce || o.refused != nil || o.away || ctx.Err() != nil || o.handled > 0 && !o.now().Before(o.ends) {
		return id, false
	}
	id = o.ids[o.next]
	o.next++
	if bytes.Compare(id[:], o.reached[:]) > 0 {
		o.reached = id
	}
	return id, true
}

// handle acts on an execution and resolves it, or leaves it for later.
func (o *operationPart) handle(ctx context.Context, id chargehand.ExecutionID) {
	err := o.act(ctx, id)
	var shown *chargehand.Error
	switch {
	case err == nil || errors.Is(err, errResolved):
	case ctx.Err() != nil:
		return
	case errors.As(err, &shown) && shown.Code == chargehand.CodeQueueFull:
		return // it waits for a place
	case errors.As(err, &shown) && shown.Code == chargehand.CodeUnavailable:
		o.note(func() { o.away = true })
		return
	case errors.As(err, &shown) && (shown.Code == chargehand.CodeQuotaExceeded || shown.Code == chargehand.CodeStorageReserve):
		o.note(func() { o.refused = shown })
		return
	default:
		if err := o.resolveError(ctx, id, err); err != nil {
			o.report("resolve an execution of an operation", err)
			o.note(func() { o.away = true })
			return
		}
	}
	o.note(func() { o.handled++ })
}

func (o *operationPart) note(change func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	change()
}

// resolveError writes why nothing was done to an execution.
func (o *operationPart) resolveError(ctx context.Context, id chargehand.ExecutionID, why error) error {
	item := store.OperationItem{Execution: id, Outcome: store.ItemFailed}
	var shown *chargehand.Error
	if errors.As(why, &shown) && shown.Code != chargehand.CodeInternal {
		item.Code, item.Detail = string(shown.Code), shown.Detail
		if shown.Code == chargehand.CodeStateConflict {
			item.Outcome = store.ItemSkipped
		}
	} else {
		o.log.Error("an operation failed on an execution", "operation", o.row.ID.String(), "execution", id.String(), "error", why)
		item.Code, item.Detail = string(chargehand.CodeInternal), "An unexpected error occurred. The log of the server names the execution."
	}
	err := o.update(ctx, func(tx *store.Tx) error { return o.resolve(tx, &item) })
	if errors.Is(err, errResolved) {
		return nil
	}
	return err
}

func (o *operationPart) resolve(tx *store.Tx, item *store.OperationItem) error {
	err := tx.ResolveItem(o.row.No, item, o.nowMs())
	if errors.Is(err, store.ErrConflict) {
		return errResolved
	}
	return err
}

// act does to an execution what the operation is for, and resolves it in the same transaction.
// Codes: those of the request for one execution. Errors: errResolved.
func (o *operationPart) act(ctx context.Context, id chargehand.ExecutionID) error {
	workflow, err := o.WorkflowOf(ctx, o.p, id)
	if err != nil {
		return err
	}
	succeeded := func(tx *store.Tx) error {
		return o.resolve(tx, &store.OperationItem{Execution: id, Outcome: store.ItemSucceeded})
	}
	switch o.row.Action {
	case store.OperationRetry:
		return o.retryItem(ctx, workflow, id)
	case store.OperationDelete:
		return o.update(ctx, func(tx *store.Tx) error {
			if _, err := o.deleteExecution(tx, o.p, workflow, id); err != nil {
				return err
			}
			return succeeded(tx)
		})
	case store.OperationSuspend:
		counted := func(tx *store.Tx) error { return countSuspension(tx, id) }
		err = o.engine.Suspend(ctx, id, counted, succeeded)
	case store.OperationResume:
		err = o.engine.Resume(ctx, id, succeeded)
	default:
		err = o.engine.Cancel(ctx, id, o.row.Reason, succeeded)
	}
	if errors.Is(err, errResolved) {
		return err
	}
	return o.switched(err)
}

// retryItem starts an execution again, unless the queue of its workflow is long.
// Codes: queue_full.
func (o *operationPart) retryItem(ctx context.Context, workflow chargehand.WorkflowID, id chargehand.ExecutionID) error {
	full, err := o.queueFull(ctx, workflow, id)
	if err == nil && full {
		err = storageError(engine.ErrQueueFull)
	}
	if err != nil {
		return err
	}
	var body value.Value
	if o.row.Version != "" {
		body = map[string]any{"version": o.row.Version}
	}
	_, err = o.retry(ctx, o.p, &RetryExecution{Workflow: workflow, Execution: id, Body: body, resolve: func(tx *store.Tx, started chargehand.ExecutionID) error {
		return o.resolve(tx, &store.OperationItem{Execution: id, Outcome: store.ItemSucceeded, Started: started})
	}}, nil)
	return err
}

// queueFull reports whether the queue of a workflow is so long that an operation adds nothing to it.
func (o *operationPart) queueFull(ctx context.Context, workflow chargehand.WorkflowID, id chargehand.ExecutionID) (full bool, err error) {
	o.mu.Lock()
	full = o.full[workflow]
	o.mu.Unlock()
	if full {
		return true, nil
	}
	most := operationQueue
	if limit := o.quotas.limits.Queued; limit > 0 {
		most = int(min(operationQueue, max(1, limit/2)))
	}
	err = o.view(ctx, func(r *store.Reader) error {
		row, err := r.ExecutionByID(o.p.AccountNo, o.p.Environment, id)
		if err != nil {
			return notFoundIs(err, executionNotFound)
		}
		full, err = r.QueuedAtLeast(row.Queue(), most)
		return err
	})
	if full {
		o.note(func() { o.full[workflow] = true })
	}
	return full, err
}
