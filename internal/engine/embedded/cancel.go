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
	return e.request(ctx, no, machine.Event{Kind: machine.CancelRequested, Detail: reason}, inTx)
}

// request applies an event that an operator asks for, and waits until that is durable. When ctx or the
// engine ends first, it may be applied nevertheless.
func (e *Engine) request(ctx context.Context, no int64, event machine.Event, inTx []engine.InTx) error {
	reply := make(chan error, 1)
	inst, drive := e.instances.put(no, message{kind: applyEvent, reply: reply, inTx: inTx, event: event})
	if drive {
		e.goWork(func() { e.drive(inst) })
	}
	select {
	case err := <-reply:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-e.ctx.Done(): // its driver may have ended without an answer
		return store.InDoubt(errStopped)
	}
}

// errStopped is why a request that was handed to a driver has no answer.
var errStopped = errors.New("the engine has stopped")

// requestError says that the hook of a request has failed. The request is undone, and its caller gets
// the cause.
type requestError struct {
	cause error
	reply chan<- error // of the caller
}

func (r *requestError) Error() string { return r.cause.Error() }

func (r *requestError) Unwrap() error { return r.cause }

// addHook adds the hooks of a request to the transaction, behind those of earlier requests.
func (s *writeSet) addHook(msg *message) {
	inTx, reply, before := msg.inTx, msg.reply, s.inTx
	if len(inTx) == 0 {
		return
	}
	s.inTx = func(tx *store.Tx, no int64) error {
		if before != nil {
			if err := before(tx, no); err != nil {
				return err
			}
		}
		return hookOf(inTx, reply)(tx)
	}
}

// hookOf runs the hooks of a request, and tells the request's caller why they have failed.
func hookOf(inTx []engine.InTx, reply chan<- error) func(tx *store.Tx) error {
	return func(tx *store.Tx) error {
		err := engine.RunInTx(tx, inTx)
		if err == nil || errors.Is(err, store.ErrUnavailable) {
			return err
		}
		return &requestError{err, reply}
	}
}
