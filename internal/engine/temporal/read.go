package temporal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chargehand/chargehand/internal/eventstream"
	"github.com/chargehand/chargehand/internal/fair"
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
	budget := scanBudget{bytes: maxReadBytes, events: maxReadEvents, scans: maxScanned, until: time.Now().Add(maxScanTime)}
	for i := range l.Asked {
		if answer.Pages[i], err = a.readEvents(ctx, &l.Asked[i], rows[i], &budget); err != nil {
			return eventPages{}, fmt.Errorf("read events: %w", err)
		}
	}
	err = a.Store.Update(ctx, func(tx *store.Tx) error {
		for i := range answer.Pages {
			page := &answer.Pages[i]
			if !page.CaughtUp {
				if err := tx.AdvanceSubscription(rows[i].No, page.Through); err != nil {
					return err
				}
				continue
			}
			asleep, err := tx.SleepSubscription(&rows[i], page.Through)
			if err != nil {
				return err
			}
			page.CaughtUp = asleep
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
	if l.Confidential {
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
			since, err := tx.LastEventBefore(row.Account, row.Environment, asked.SinceMs) // T60
			if err != nil {
				return err
			}
			since = max(since, asked.After)
			s, ok := byCommand[asked.Command]
			if !ok {
				s = store.Subscription{Account: row.Account, Environment: row.Environment, Execution: l.No, Command: asked.Command, Since: since}
				if err := tx.InsertSubscription(&s, eventstream.RowFilters(&s, machineFilters(asked.Filters), sealer)); err != nil {
					return err
				}
			}
			rows[i], rows[i].Since, rows[i].Workflow = s, since, row.Workflow
		}
		return nil
	})
	return rows, err
}

type scanBudget struct {
	events, bytes, scans int
	until                time.Time
}

func (b *scanBudget) empty() bool {
	return b.events <= 0 || b.bytes <= 0 || b.scans <= 0 || !time.Now().Before(b.until)
}

// readEvents reads the events that the filters of a subscription let through.
func (a *activities) readEvents(ctx context.Context, asked *asked, s store.Subscription, budget *scanBudget) (eventPage, error) {
	page := eventPage{Through: s.Since}
	if budget.empty() {
		return page, nil
	}
	var last int64
	err := a.Store.View(ctx, func(r *store.Reader) error {
		stream, err := r.Stream(s.Account, s.Environment)
		last = stream.Last
		return err
	})
	if err != nil {
		return page, err
	}
	stopped := false
	owner := fair.Owner{Environment: s.Environment, Workflow: s.Workflow}
	selection := eventstream.Selection{
		Account: s.Account, Environment: s.Environment, Filters: machineFilters(asked.Filters),
		Pace: func() (func(), bool, error) {
			if budget.empty() {
				stopped = true
				return nil, false, nil
			}
			return func() { a.evaluations.Leave(owner) }, true, a.evaluations.Enter(ctx, owner)
		},
	}
	through, err := a.reader.Select(ctx, selection, s.Since, max(s.Since, last), budget.scans, func(ev *eventstream.Event) (bool, error) {
		if a.reader.Refuses(selection.Filters, ev) {
			budget.scans--
			stopped = budget.empty()
			return !stopped, nil
		}
		page.Events = append(page.Events, received{Number: ev.Number, Event: value.Marshal(ev.Envelope)})
		budget.events--
		budget.scans--
		budget.bytes -= ev.Bytes
		stopped = budget.empty()
		return !stopped, nil
	})
	if err != nil {
		return page, err
	}
	page.Through = through
	page.CaughtUp = through >= last && !stopped
	return page, nil
}

func machineFilters(filters []filter) []machine.Filter {
	list := make([]machine.Filter, len(filters))
	for i, f := range filters {
		list[i] = machine.Filter{Type: f.Type, Exact: f.Exact, Path: f.Path}
		copy(list[i].Key[:], f.Key)
	}
	return list
}
