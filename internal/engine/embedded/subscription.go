package embedded

import (
	"time"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/eventstream"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

const (
	// maxReceived and maxReceivedBytes bound the events that go into one write set.
	maxReceived      = 500
	maxReceivedBytes = 4 << 20
	// maxScanned bounds the events that are scanned for one write set.
	maxScanned = 5_000
	// maxReadTime bounds the time in which filters are evaluated for one write set. A filter is an
	// expression and may take a second, while a cancellation or the end of the process waits.
	maxReadTime = 250 * time.Millisecond
)

// subscription is an open Subscribe command in memory. It mirrors its row, except for the changes
// of the present write set.
type subscription struct {
	store.Subscription                      // No is 0 until there is a row
	wanted             machine.Subscription // only Command is known before trackSubscriptions
	dirty              bool                 // the present write set writes it
	caughtUp           bool                 // it has read all events that there were: it may sleep
}

// loadSubscriptions reads the subscriptions of an execution that has been loaded.
func (e *Engine) loadSubscriptions(inst *instance) error {
	inst.subscriptions = nil
	if inst.machine.Load().Listens == 0 {
		return nil
	}
	var rows []store.Subscription
	err := e.store.View(e.ctx, func(rd *store.Reader) (err error) {
		rows, err = rd.Subscriptions(inst.no)
		return err
	})
	for _, row := range rows {
		inst.subscriptions = append(inst.subscriptions, &subscription{
			Subscription: row, wanted: machine.Subscription{Command: machine.CommandID(row.Command)},
		})
	}
	return err
}

// markWoken notes that the event matcher has woken a subscription.
func (inst *instance) markWoken(woken store.Subscription) {
	for _, sub := range inst.subscriptions {
		if sub.No == woken.No && !sub.Woken {
			sub.Woken, sub.Since = true, max(sub.Since, woken.Since)
		}
	}
}

// trackSubscriptions brings the subscriptions in line with those of the machine.
func (s *writeSet) trackSubscriptions() {
	inst := s.inst
	var closed []*subscription
	inst.subscriptions, closed = eventstream.Track(inst.machine, inst.subscriptions,
		func(sub *subscription) *machine.Subscription { return &sub.wanted },
		func(command machine.CommandID) *subscription {
			return &subscription{dirty: true, Subscription: store.Subscription{
				Account: inst.row.Account, Environment: inst.row.Environment, Execution: inst.no,
				Command: uint64(command), Woken: true, Since: -1,
			}}
		})
	for _, sub := range closed {
		if sub.No != 0 {
			s.unsubscribes = append(s.unsubscribes, sub.Command)
		}
	}
}

// positionSubscriptions finds the position at which new subscriptions begin: behind the last event
// that is older than the acceptance of the execution (T60).
func (e *Engine) positionSubscriptions(s *writeSet) error {
	for _, sub := range s.inst.subscriptions {
		if sub.Since >= 0 {
			continue
		}
		err := e.store.View(e.ctx, func(rd *store.Reader) (err error) {
			sub.Since, err = rd.LastEventBefore(sub.Account, sub.Environment, engine.EventsSinceMs(&s.inst.row, sub.wanted.SinceMs))
			return err
		})
		if err != nil {
			sub.Since = -1
			return err
		}
	}
	return nil
}

// writeSubscriptions writes the subscriptions that have changed.
func (s *writeSet) writeSubscriptions(tx *store.Tx) error {
	s.subscriptions = s.subscriptions[:0]
	for _, command := range s.unsubscribes {
		if err := tx.DeleteSubscription(s.inst.no, command); err != nil {
			return err
		}
	}
	for _, sub := range s.inst.subscriptions {
		if !sub.dirty {
			continue
		}
		row := sub.Subscription
		row.Execution = s.inst.no
		if err := eventstream.Write(tx, &row, sub.wanted.Filters, s.filterSealer, sub.caughtUp); err != nil {
			return err
		}
		s.subscriptions = append(s.subscriptions, row)
	}
	return nil
}

// dispatchSubscriptions takes over the rows of the written subscriptions. An execution with a subscription that is
// still woken gets another turn later.
func (e *Engine) dispatchSubscriptions(s *writeSet) {
	inst := s.inst
	if s.end != nil {
		inst.subscriptions = nil
		return
	}
	again, at := false, 0
	for _, sub := range inst.subscriptions {
		if sub.dirty {
			sub.Subscription = s.subscriptions[at]
			at++
			sub.dirty, sub.caughtUp = false, false
		}
		again = again || sub.Woken && e.mayRead(inst) && wantsMore(inst.machine, sub.wanted.Command)
	}
	if again {
		e.wakeups.addAgain(&inst.row)
	}
}
