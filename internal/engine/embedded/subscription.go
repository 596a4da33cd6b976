package embedded

import (
	"slices"
	"time"

	"github.com/chargehand/chargehand/internal/eventstream"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

const (
	// maxReceived and maxReceivedBytes bound the events that go into one write set.
	maxReceived      = 500
	maxReceivedBytes = 4 << 20
	// maxVisited bounds the events that are visited for one write set.
	maxVisited = 5_000
	// maxReadTime bounds the time in which filters are evaluated for one write set. A filter is an
	// expression and may take a second, while a cancellation or the end of the process waits.
	maxReadTime = 250 * time.Millisecond
)

// subscription is an open Subscribe command in memory. It mirrors its row, except for the changes
// of the present write set.
type subscription struct {
	store.Subscription      // No is 0 until there is a row
	open               bool // the machine has it
	wanted             machine.Subscription
	dirty              bool // the present write set writes it
	caughtUp           bool // it has read all events that there were: it may sleep
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
		inst.subscriptions = append(inst.subscriptions, &subscription{Subscription: row})
	}
	return err
}

// markWoken notes that the event matcher has woken a subscription.
func (inst *instance) markWoken(woken store.Subscription) {
	for _, l := range inst.subscriptions {
		if l.No == woken.No && !l.Woken {
			l.Woken, l.Since = true, max(l.Since, woken.Since)
		}
	}
}

// trackSubscriptions brings the subscriptions in line with those of the machine.
func (s *writeSet) trackSubscriptions() {
	inst := s.inst
	known := make(map[uint64]*subscription, len(inst.subscriptions)) // there may be thousands
	for _, l := range inst.subscriptions {
		l.open = false
		known[l.Command] = l
	}
	for _, sub := range inst.machine.Subscriptions() {
		l := known[uint64(sub.Command)]
		if l == nil {
			l = &subscription{dirty: true, Subscription: store.Subscription{
				Account: inst.row.Account, Environment: inst.row.Environment, Execution: inst.no,
				Command: uint64(sub.Command), Woken: true, Since: -1,
			}}
			inst.subscriptions = append(inst.subscriptions, l)
		}
		l.open, l.wanted = true, sub
	}
	inst.subscriptions = slices.DeleteFunc(inst.subscriptions, func(l *subscription) bool {
		if !l.open && l.No != 0 {
			s.unsubscribes = append(s.unsubscribes, l.Command)
		}
		return !l.open
	})
}

// positionSubscriptions finds the position at which new subscriptions begin: behind the last event
// that is older than the execution (T60).
func (e *Engine) positionSubscriptions(s *writeSet) error {
	for _, l := range s.inst.subscriptions {
		if l.Since >= 0 {
			continue
		}
		err := e.store.View(e.ctx, func(rd *store.Reader) (err error) {
			l.Since, err = rd.LastEventBefore(l.Account, l.Environment, l.wanted.SinceMs)
			return err
		})
		if err != nil {
			l.Since = -1
			return err
		}
	}
	return nil
}

// writeSubscriptions writes the subscriptions that have changed.
func (s *writeSet) writeSubscriptions(tx *store.Tx) error {
	s.subscriptionResults = s.subscriptionResults[:0]
	for _, command := range s.unsubscribes {
		if err := tx.DeleteSubscription(s.inst.no, command); err != nil {
			return err
		}
	}
	for _, l := range s.inst.subscriptions {
		if !l.dirty {
			continue
		}
		sub := l.Subscription
		sub.Execution = s.inst.no
		if sub.No == 0 {
			filters := eventstream.RowFilters(&sub, l.wanted.Filters, s.inst.secrets.Sealer())
			if err := tx.InsertSubscription(&sub, filters); err != nil {
				return err
			}
		} else if !l.caughtUp {
			if err := tx.AdvanceSubscription(sub.No, sub.Since); err != nil {
				return err
			}
		}
		s.subscriptionResults = append(s.subscriptionResults, subscriptionResult{no: sub.No, woken: true})
		if !l.caughtUp {
			continue
		}
		settled, err := tx.SleepSubscription(&sub, sub.Since)
		if err != nil {
			return err
		}
		s.subscriptionResults[len(s.subscriptionResults)-1].woken = !settled
	}
	return nil
}

// subscriptionResult is what the transaction says about one of the subscriptions that it has
// written.
type subscriptionResult struct {
	no    int64
	woken bool
}

// dispatchSubscriptions takes over the state of the written subscriptions. An execution with a
// subscription that is still woken gets another turn later.
func (e *Engine) dispatchSubscriptions(s *writeSet) {
	inst := s.inst
	if s.outcome != nil {
		inst.subscriptions = nil
		return
	}
	again, at := false, 0
	for _, l := range inst.subscriptions {
		if l.dirty {
			result := s.subscriptionResults[at]
			at++
			l.No, l.Execution = result.no, inst.no
			l.Woken = result.woken
			l.dirty, l.caughtUp = false, false
		}
		again = again || l.Woken && e.mayRead(inst) && wantsMore(inst.machine, machine.CommandID(l.Command))
	}
	if again {
		e.matcher.wakeups.addAgain(&inst.row)
	}
}
