package temporal

import (
	"context"
	"errors"
	"fmt"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/eventstream"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// finish is the activity that makes an execution's row final. Repeating it changes nothing. A row that another process
// has ended, or that is gone, is a conflict; one that was suspended before the workflow knew of it stays as it is;
// every other failure, also of a row that is not final, is an error, so that the activity is repeated.
func (a *activities) finish(ctx context.Context, e ending) (finished, error) {
	phase, err := parsePhase(e.Phase)
	if err != nil {
		return finished{}, err
	}
	c := machine.Command{Kind: machine.Finish, Phase: phase, Fault: e.Fault, Files: e.Files}
	if phase == chargehand.Completed {
		if c.Output, err = value.Parse(e.Output, value.Limits{Depth: value.MaxDepth}); err != nil {
			return finished{}, fmt.Errorf("read output: %w", err)
		}
	}
	end := engine.EndOf(&c, nil) // the workflow has taken the secrets out
	end.Timeline = e.Timeline
	if err := engine.Externalize(ctx, a.Blobs, &end.Output); err != nil {
		return finished{}, fmt.Errorf("store output: %w", err)
	}
	events, err := a.endEvents(ctx, &e)
	if err != nil {
		return finished{}, err
	}
	var row store.Execution // as it was before
	var messages []store.OutboxMessage
	var suspended bool
	err = a.Store.Update(ctx, func(tx *store.Tx) (err error) {
		row, err = lockRow(tx, e.No, e.Execution) // nothing suspends it between this look and the end
		suspended = err == nil && row.Phase == chargehand.Suspended && e.UnlessSuspended
		switch {
		case errors.Is(err, store.ErrNotFound): // the row is as empty as that of an execution that has ended
			return nil
		case suspended:
			return nil
		case err == nil && row.State != store.StateEnded:
			if messages, err = a.writeEnd(tx, &row, &e, end); err != nil {
				return err
			}
			err = a.insertEvents(tx, &row, events)
		}
		return err
	})
	switch {
	case err != nil:
		return finished{}, fmt.Errorf("finish execution: %w", err)
	case suspended:
		return finished{Suspended: true}, nil
	case row.State == store.StateEnded:
		// An earlier attempt has ended it, or another process has.
		own := row.Status == end.Status && row.Phase == end.Phase && row.FinishedMs == e.FinishedMs
		if !own {
			a.Log.Info("the execution had ended already", "execution", e.Execution, "status", row.Status, "phase", end.Phase)
			if err := a.tellCancelled(ctx, &row, &e); err != nil {
				return finished{}, err
			}
		}
		return finished{Conflict: !own}, nil
	}
	a.Freed(row.Account)
	if len(events) > 0 && a.Published != nil {
		a.Published(row.Account, row.Environment)
	}
	a.undelivered(messages)
	row.Phase, row.FinishedMs = end.Phase, e.FinishedMs
	engine.TraceEnd(ctx, a.Tracer, a.Store, &row, a.Log)
	return finished{}, nil
}

// writeEnd writes an end. The files became visible with the outcomes that named them.
func (a *activities) writeEnd(
	tx *store.Tx, row *store.Execution, e *ending, end *engine.End,
) ([]store.OutboxMessage, error) {
	if err := end.FindResults(tx, row, nil, nil); err != nil {
		return nil, err
	}
	_, err := tx.FinishExecution(row.No, end.Status, end.Phase, e.StartedMs, e.FinishedMs, &end.Outcome)
	if err != nil {
		return nil, err
	}
	if err := end.UseResults(tx, row.No); err != nil {
		return nil, err
	}
	return insertRelated(tx, end.Ending, a.leaseMs())
}

// endEvents are the rows of the lifecycle event about an end, if there is one.
func (a *activities) endEvents(ctx context.Context, e *ending) ([]store.Event, error) {
	if len(e.Event) == 0 {
		return nil, nil
	}
	event, err := e.readEvent()
	if err != nil {
		return nil, err
	}
	// Account and environment are those of the row, which the transaction reads.
	return eventstream.Rows(ctx, a.Blobs, 0, 0, []eventstream.Publication{eventstream.Emitted(e.Execution, machine.CommandID(e.Command), event)})
}

func (e *ending) readEvent() (value.Value, error) {
	event, err := value.Parse(e.Event, value.Limits{Depth: value.MaxDepth})
	if err != nil {
		return nil, fmt.Errorf("read event: %w", err)
	}
	return event, nil
}

func (a *activities) insertEvents(tx *store.Tx, row *store.Execution, events []store.Event) error {
	for i := range events {
		events[i].Account, events[i].Environment = row.Account, row.Environment
	}
	if err := engine.LimitEvents(tx, row, events); err != nil {
		return err
	}
	_, err := tx.InsertEvents(events, a.nowMs())
	return err
}

// tellCancelled stores the lifecycle event about the end of an execution that was cancelled before its workflow knew of
// it, in place of the event about the end that it would have had.
func (a *activities) tellCancelled(ctx context.Context, row *store.Execution, e *ending) error {
	if len(e.Event) == 0 || row.Phase != chargehand.Cancelled {
		return nil
	}
	event, err := e.readEvent()
	if err != nil {
		return err
	}
	return a.publishEvents(ctx, row, []eventstream.Publication{
		eventstream.Emitted(e.Execution, machine.CommandID(e.Command), machine.CancelledInstead(event, row.FinishedMs)),
	})
}
