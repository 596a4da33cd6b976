package temporal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

// canceller ends executions and batches as cancelled. Rows become final in the database;
// workflows hear of it from the outbox. Methods are safe for concurrent use.
type canceller struct {
	Store   *store.Store
	Relay   *relay
	Freed   func(account int64) // a slot is free; must not block
	Changed func(id [16]byte)   // an execution or batch has ended here; must not block
	Now     func() time.Time
	Tracer  trace.Tracer // nil: no spans
	Log     *slog.Logger
}

// cancelStartedStep bounds the started items that are cancelled in one transaction.
const cancelStartedStep = 50

// cancel is engine.Engine.Cancel.
func (c *canceller) cancel(ctx context.Context, id chargehand.ExecutionID, reason string, inTx ...engine.InTx) error {
	row, err := engine.FindUnfinished(ctx, c.Store, id)
	if err != nil {
		return err
	}
	var ended cancelled
	err = c.Store.Update(ctx, func(tx *store.Tx) (err error) {
		if ended, err = c.cancelExecution(tx, row.No, reason); err != nil {
			return err
		}
		return engine.RunInTx(tx, inTx)
	})
	if err != nil {
		return err
	}
	c.tell(ended)
	return nil
}

// cancelChild ends an execution that its parent no longer awaits. Errors: store.ErrUnavailable.
func (c *canceller) cancelChild(ctx context.Context, no int64, reason string) error {
	var ended cancelled
	err := c.Store.Update(ctx, func(tx *store.Tx) (err error) {
		ended, err = c.cancelExecution(tx, no, reason)
		return err
	})
	switch {
	case errors.Is(err, engine.ErrFinal), errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	c.tell(ended)
	return nil
}

// cancelled is what endRow or cancelExecution did.
type cancelled struct {
	row        store.Execution // as it was before
	phase      chargehand.Phase
	batchFinal bool                  // its batch ended by it
	messages   []store.OutboxMessage // to its workflow, if it has one, and to parent and children
}

// endRow makes the row of an execution final within a transaction: decisive, whatever its workflow does. Errors:
// engine.ErrFinal, store.ErrNotFound; then nothing was written.
func (c *canceller) endRow(tx *store.Tx, no int64, phase chargehand.Phase, fault []byte) (done cancelled, err error) {
	if done.row, err = tx.LockExecution(no); err != nil {
		return cancelled{}, err
	}
	if done.row.State == store.StateEnded {
		return cancelled{}, engine.ErrFinal
	}
	done.phase = phase
	o := store.Outcome{Fault: fault}
	done.batchFinal, err = tx.FinishExecution(no, chargehand.Errored, phase, done.row.StartedMs,
		engine.EndMs(&done.row, c.Now().UnixMilli()), &o)
	if err != nil {
		return cancelled{}, err
	}
	done.messages, err = insertRelated(tx, o.Ending, c.Relay.leaseMs())
	return done, err
}

// cancelExecution is endRow for a cancellation. The workflow of an execution that was started is notified by an outbox
// message.
func (c *canceller) cancelExecution(tx *store.Tx, no int64, reason string) (done cancelled, err error) {
	done, err = c.endRow(tx, no, chargehand.Cancelled, engine.CancelledFault(reason))
	if err != nil || done.row.State != store.StateEnded && !done.row.State.Begun() {
		return done, err
	}
	message := store.OutboxMessage{
		Execution: no, ID: done.row.ID, Environment: done.row.Environment, Workflow: done.row.Workflow,
		Kind: store.OutboxCancel, Reason: reason, DueMs: c.Relay.leaseMs(),
	}
	if err := tx.InsertOutboxMessage(&message); err != nil {
		return cancelled{}, err
	}
	done.messages = append(done.messages, message)
	return done, nil
}

// fail ends an execution that can never continue, unless it has ended, and deletes messages to its workflow.
func (c *canceller) fail(ctx context.Context, no int64, f *machine.Fault, messages ...int64) error {
	var done cancelled
	err := c.Store.Update(ctx, func(tx *store.Tx) (err error) {
		done, err = c.endRow(tx, no, chargehand.Faulted, engine.EncodeFault(f))
		if err != nil && !errors.Is(err, engine.ErrFinal) && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		return tx.DeleteOutboxMessages(messages...)
	})
	if err != nil {
		return fmt.Errorf("end execution: %w", err)
	}
	if done.row.No != 0 {
		c.Log.Error("an execution is ended by the system", "execution", done.row.ID, "code", f.Code, "detail", f.Detail)
		c.tell(done)
	}
	return nil
}

// tell passes on what was committed.
func (c *canceller) tell(done cancelled) {
	c.Relay.handMessages(done.messages)
	if done.row.State == store.StateActive {
		c.Freed(done.row.Account)
	}
	c.Changed(done.row.ID)
	if done.batchFinal {
		c.batchEnded(done.row.Batch)
	}
	if c.Tracer != nil && len(done.row.Trace) > 0 {
		row := done.row
		row.Phase, row.FinishedMs = done.phase, engine.EndMs(&row, c.Now().UnixMilli())
		engine.TraceEnd(context.Background(), c.Tracer, c.Store, &row, c.Log)
	}
}

// cancelBatch is engine.Engine.CancelBatch. It marks the batch first; when the caller goes, or this node
// dies, in the middle of the items, the reconciler of some node continues.
func (c *canceller) cancelBatch(ctx context.Context, id chargehand.BatchID, reason string, inTx ...engine.InTx) error {
	b, _, err := engine.MarkBatchCancelled(ctx, c.Store, id, reason, inTx)
	if err != nil {
		return err
	}
	return c.cancelBatchItems(ctx, b)
}

// cancelBatchItems ends every item of a batch that is marked as cancelled. It may be called
// again, and on several nodes at once.
func (c *canceller) cancelBatchItems(ctx context.Context, b store.Batch) error {
	nowMs := func() int64 { return c.Now().UnixMilli() }
	final, err := engine.CancelQueuedItems(ctx, c.Store, &b, nowMs, func(ids []chargehand.ExecutionID) {
		for _, id := range ids {
			c.Changed(id)
		}
	})
	for err == nil && !final {
		var page []cancelled
		err = c.Store.Update(ctx, func(tx *store.Tx) error {
			page = nil
			rows, err := tx.LockItems(b.Account, b.No, cancelStartedStep)
			for i := 0; i < len(rows) && err == nil; i++ {
				var done cancelled
				done, err = c.cancelExecution(tx, rows[i].No, b.Reason)
				page = append(page, done)
			}
			return err
		})
		if err != nil {
			break
		}
		for _, done := range page {
			c.tell(done)
			final = final || done.batchFinal
		}
		if len(page) == 0 {
			break // others have ended the last ones
		}
	}
	if err != nil {
		return fmt.Errorf("cancel items: %w", err)
	}
	c.Changed(b.ID)
	return nil
}

// batchEnded tells watchers on this node of a batch that has just ended.
func (c *canceller) batchEnded(no int64) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := c.Store.View(ctx, func(r *store.Reader) error {
		b, err := r.BatchByNo(no)
		if err == nil {
			c.Changed(b.ID)
		}
		return err
	})
	_ = err // watchers find out by themselves
}
