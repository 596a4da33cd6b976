package embedded

import (
	"context"
	"errors"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

// Cancel implements engine.Engine.
func (e *Engine) Cancel(ctx context.Context, id chargehand.ExecutionID, reason string, inTx ...engine.InTx) error {
	if !e.requests.Enter() {
		return store.ErrUnavailable
	}
	defer e.requests.Leave()
	row, err := engine.FindUnfinished(ctx, e.store, id)
	if err != nil {
		return err
	}
	return e.cancelExecution(ctx, row.No, reason, inTx...)
}

// cancelExecution cancels an execution and waits until that is durable. When ctx or the engine ends
// first, the execution may be cancelled nevertheless.
func (e *Engine) cancelExecution(ctx context.Context, no int64, reason string, inTx ...engine.InTx) error {
	reply := make(chan error, 1)
	inst, drive := e.instances.put(no, message{
		kind: applyEvent, reply: reply, inTx: inTx,
		event: machine.Event{Kind: machine.CancelRequested, Detail: reason},
	})
	if drive {
		e.goWork(func() { e.drive(inst) })
	}
	select {
	case err := <-reply:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-e.ctx.Done(): // its driver may have ended without an answer
		return store.ErrUnavailable
	}
}

// requestError says that the hook of a cancellation has failed. The cancellation is undone, and its
// caller gets the cause.
type requestError struct {
	cause error
	reply chan<- error // of the caller
}

func (r *requestError) Error() string { return r.cause.Error() }

func (r *requestError) Unwrap() error { return r.cause }

// addCancelHook adds the hooks of a cancellation to the transaction. A write set has at most one
// cancellation: a later one comes after the end.
func (s *writeSet) addCancelHook(msg *message) {
	inTx, reply := msg.inTx, msg.reply
	s.inTx = func(tx *store.Tx, _ int64) error {
		err := engine.RunInTx(tx, inTx)
		if err == nil || errors.Is(err, store.ErrUnavailable) {
			return err
		}
		return &requestError{err, reply}
	}
}
