package temporal

import (
	"context"
	"errors"
	"fmt"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// finish is the activity that makes an execution's row final. Repeating it changes nothing.
func (a *activities) finish(ctx context.Context, e ending) (finished, error) {
	phase, err := parsePhase(e.Phase)
	if err != nil {
		return finished{}, err
	}
	f := final{ending: &e, dueMs: a.leaseMs(), phase: phase, status: chargehand.Errored, outcome: store.Outcome{Timeline: e.Timeline}}
	if phase == chargehand.Completed {
		output, err := value.Parse(e.Output, value.Limits{Depth: value.MaxDepth})
		if err != nil {
			return finished{}, fmt.Errorf("read output: %w", err)
		}
		f.status = chargehand.Finished
		f.references = engine.References(output)
		data := value.Marshal(output) // on its way, encoding/json has escaped more than the language does
		f.outcome.Output = store.Payload{Inline: data, Size: int64(len(data))}
		if err := engine.Externalize(ctx, a.Blobs, &f.outcome.Output); err != nil {
			return finished{}, fmt.Errorf("store output: %w", err)
		}
	} else {
		f.outcome.Fault = engine.EncodeFault(e.Fault)
	}
	err = a.Store.Update(ctx, f.write)
	switch {
	case errors.Is(err, store.ErrConflict), errors.Is(err, store.ErrNotFound):
		return a.conflict(ctx, &f)
	case err != nil:
		return finished{}, fmt.Errorf("finish execution: %w", err)
	}
	a.Freed(f.row.Account)
	a.undelivered(f.undelivered)
	f.row.Phase, f.row.FinishedMs = f.phase, f.FinishedMs
	engine.TraceEnd(ctx, a.Tracer, a.Store, &f.row, a.Log)
	return finished{}, nil
}

// final is the end of an execution, as it is about to be written.
type final struct {
	*ending
	phase       chargehand.Phase
	status      chargehand.Status
	outcome     store.Outcome
	references  []chargehand.FileID // in the output
	row         store.Execution     // as it was before
	dueMs       int64               // of messages
	undelivered []store.OutboxMessage
}

func (f *final) write(tx *store.Tx) error {
	row, err := rowOf(&tx.Reader, f.No, f.Execution)
	if err != nil {
		return err
	}
	f.row = row
	// The files became visible with the outcomes that named them.
	list, foreign, err := engine.Results(tx, &row, f.references, f.Files, nil, nil)
	if err != nil {
		return err
	}
	f.outcome.Files = list
	if _, err := tx.FinishExecution(f.No, f.status, f.phase, f.StartedMs, f.FinishedMs, &f.outcome); err != nil {
		return err
	}
	if err := engine.UseResults(tx, f.No, foreign, f.outcome.Ending); err != nil {
		return err
	}
	f.undelivered, err = insertRelated(tx, f.outcome.Ending, f.dueMs)
	return err
}

// conflict tells a repeated attempt, whose first write has succeeded, from a row that was ended or deleted by another
// process.
func (a *activities) conflict(ctx context.Context, f *final) (finished, error) {
	var row store.Execution
	err := a.Store.View(ctx, func(r *store.Reader) (err error) {
		row, err = rowOf(r, f.No, f.Execution)
		return err
	})
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return finished{}, fmt.Errorf("finish execution: %w", err)
	}
	own := row.Status == f.status && row.Phase == f.phase && row.FinishedMs == f.FinishedMs
	if !own {
		a.Log.Info("the execution had ended already", "execution", f.Execution, "status", row.Status, "phase", f.Phase)
	}
	return finished{Conflict: !own}, nil
}
