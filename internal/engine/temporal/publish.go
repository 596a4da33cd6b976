package temporal

import (
	"context"
	"errors"
	"fmt"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/eventstream"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// publish is the activity that stores the events of `emit` tasks in the stream of their environment, in order and all
// or none. It is repeated until that has happened; each event is stored once. The workflow has taken the secrets
// out. What an execution has emitted before it was cancelled is stored all the same.
func (a *activities) publish(ctx context.Context, p publishing) error {
	var row store.Execution
	err := a.Store.View(ctx, func(r *store.Reader) (err error) {
		row, err = rowOf(r, p.No, p.Execution)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil // deleted, with everything that belongs to it
	}
	if err != nil {
		return fmt.Errorf("publish events: %w", err)
	}
	if len(p.Commands) != len(p.Events) {
		return fmt.Errorf("publish events: %d events of %d commands", len(p.Events), len(p.Commands))
	}
	list := make([]eventstream.Publication, len(p.Events))
	for i, data := range p.Events {
		ev, err := value.Parse(data, value.Limits{Depth: value.MaxDepth})
		if err != nil {
			return fmt.Errorf("read event: %w", err)
		}
		list[i] = eventstream.Emitted(p.Execution, machine.CommandID(p.Commands[i]), ev)
	}
	return a.publishEvents(ctx, &row, list)
}

// publishEvents stores events of an execution, those of them that are new.
func (a *activities) publishEvents(ctx context.Context, row *store.Execution, list []eventstream.Publication) error {
	from := engine.Publisher{Account: row.Account, Environment: row.Environment, Execution: row}
	if _, err := eventstream.Publish(ctx, a.Store, a.Blobs, from, list, a.nowMs()); err != nil {
		return err
	}
	if a.Published != nil {
		a.Published(row.Account, row.Environment)
	}
	return nil
}
