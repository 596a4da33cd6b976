package temporal

import (
	"context"
	"fmt"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/store"
)

// publish is the activity that puts events on the installation's bus. There is one attempt,
// so that none is published twice; before the first one it tries for its whole time.
func (a *activities) publish(ctx context.Context, p publishing) error {
	if a.Publish == nil {
		return nil
	}
	events := make([]expr.Value, len(p.Events))
	for i, data := range p.Events {
		var err error
		if events[i], err = expr.Parse(data, expr.Limits{Depth: expr.MaxDepth}); err != nil {
			return fmt.Errorf("read event: %w", err)
		}
	}
	account, err := a.accountOf(ctx, &p)
	if err != nil {
		a.Log.Error("events are lost", "execution", p.Execution, "events", len(events), "error", err)
		return err
	}
	for _, ev := range events {
		a.Publish(engine.Published{Account: account, Environment: p.Environment, Execution: p.Execution, Event: ev})
	}
	return nil
}

// accountOf is the number of the account of an execution. It is tried until ctx ends.
func (a *activities) accountOf(ctx context.Context, p *publishing) (int64, error) {
	for wait := minBackoff; ; wait = min(2*wait, maxBackoff) {
		var row store.Execution
		err := a.Store.View(ctx, func(r *store.Reader) (err error) {
			row, err = rowOf(r, p.No, p.Execution)
			return err
		})
		if err == nil {
			return row.Account, nil
		}
		if sleep(ctx, wait) != nil {
			return 0, fmt.Errorf("find account: %w", err)
		}
	}
}
