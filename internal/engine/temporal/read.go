package temporal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/eventstream"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

const (
	// maxReadBytes and maxReadEvents bound the events of one answer, so that a worker can hold it in memory and a
	// history its reference.
	maxReadBytes  = 512 << 10
	maxReadEvents = 500
	// maxScanned bounds the events that are scanned for one answer.
	maxScanned = 20_000
	// maxScanTime bounds the time in which filters are evaluated for one answer. A filter is an expression that may take
	// a second for each event, while Temporal waits for 30 s.
	maxScanTime = 5 * time.Second
)

// readSubscriptions is the activity that reads events for subscriptions, and makes the rows of those that have none.
// It begins at the numbers in its argument, not at those in the rows. So a repeated attempt misses nothing, and a
// subscription may sleep before the workflow has the answer.
func (a *activities) readSubscriptions(ctx context.Context, l readRequest) (eventPages, error) {
	rows, err := a.openSubscriptions(ctx, &l)
	if err != nil {
		return eventPages{}, fmt.Errorf("listen: %w", err)
	}
	if rows == nil {
		return eventPages{Final: true}, nil
	}
	answer := eventPages{Pages: make([]eventPage, len(l.Asked))}
	caughtUp := make([]bool, len(l.Asked))
	until := time.Now().Add(maxScanTime)
	budget := eventstream.Budget{Bytes: maxReadBytes, Events: maxReadEvents, Scans: maxScanned, Until: until}
	for i := range l.Asked {
		if answer.Pages[i], err = a.readEvents(ctx, &l.Asked[i], rows[i], &budget); err != nil {
			return eventPages{}, fmt.Errorf("read events: %w", err)
		}
		caughtUp[i] = answer.Pages[i].CaughtUp
	}
	err = a.Store.Update(ctx, func(tx *store.Tx) error {
		for i := range answer.Pages {
			rows[i].Since = answer.Pages[i].Through
			if err := eventstream.Write(tx, &rows[i], nil, nil, caughtUp[i]); err != nil {
				return err
			}
			answer.Pages[i].CaughtUp = !rows[i].Woken
		}
		return nil
	})
	if err != nil {
		return eventPages{}, fmt.Errorf("store the positions of subscriptions: %w", err)
	}
	return answer, nil
}

// openSubscriptions finds or makes the rows of the subscriptions of a request. Since of each row is the number behind
// which the request asks for events. nil: the execution has ended.
func (a *activities) openSubscriptions(ctx context.Context, l *readRequest) ([]store.Subscription, error) {
	var rows []store.Subscription
	var sealer *secret.Sealer
	if l.Confidential || a.Sealer.SealsAll() {
		if sealer = a.Sealer; sealer == nil {
			return nil, errNoSealer
		}
	}
	err := a.Store.Update(ctx, func(tx *store.Tx) error {
		rows = nil
		row, err := tx.LockExecution(l.No) // so that it does not end meanwhile
		if errors.Is(err, store.ErrNotFound) || err == nil && (row.ID != l.Execution || row.State == store.StateEnded) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, command := range l.Unsubscribed {
			if err := tx.DeleteSubscription(l.No, command); err != nil {
				return err
			}
		}
		known, err := tx.Subscriptions(l.No)
		if err != nil {
			return err
		}
		byCommand := make(map[uint64]store.Subscription, len(known))
		for _, s := range known {
			byCommand[s.Command] = s
		}
		rows = make([]store.Subscription, len(l.Asked))
		for i := range l.Asked {
			asked := &l.Asked[i]
			since, err := tx.LastEventBefore(row.Account, row.Environment, engine.EventsSinceMs(&row, asked.SinceMs)) // T60
			if err != nil {
				return err
			}
			since = max(since, asked.After)
			s, ok := byCommand[asked.Command]
			if !ok {
				s = store.Subscription{
					Account: row.Account, Environment: row.Environment, Execution: l.No, Command: asked.Command, Since: since,
				}
				if err := eventstream.Write(tx, &s, machineFilters(asked.Filters), sealer, false); err != nil {
					return err
				}
			}
			rows[i], rows[i].Since, rows[i].Workflow = s, since, row.Workflow
		}
		return nil
	})
	return rows, err
}

// readEvents reads the events that the filters of a subscription let through.
func (a *activities) readEvents(
	ctx context.Context, asked *asked, s store.Subscription, budget *eventstream.Budget,
) (page eventPage, err error) {
	from := eventstream.Subscriber{
		Stream: eventstream.ID{Account: s.Account, Environment: s.Environment}, Workflow: s.Workflow,
		Filters: machineFilters(asked.Filters),
	}
	take := func(ev *eventstream.Event) (taken, more bool) {
		page.Events = append(page.Events, received{Number: ev.Number, Event: value.Marshal(ev.Envelope)})
		return true, true
	}
	page.Through, page.CaughtUp, err = a.reader.Read(ctx, from, s.Since, budget, take)
	return page, err
}

func machineFilters(filters []filter) []machine.Filter {
	list := make([]machine.Filter, len(filters))
	for i, f := range filters {
		list[i] = machine.Filter{Type: f.Type, Exact: f.Exact, Path: f.Path}
		copy(list[i].Key[:], f.Key)
	}
	return list
}
