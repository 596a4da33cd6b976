package embedded

import (
	"slices"
	"time"

	"github.com/chargehand/chargehand/internal/eventstream"
	"github.com/chargehand/chargehand/internal/machine"
)

// readSubscriptions reads events for the woken subscriptions of an execution and applies those that
// the machine wants.
func (e *Engine) readSubscriptions(s *writeSet, budget *eventstream.Budget) error {
	inst := s.inst
	if s.finish != nil || len(inst.subscriptions) == 0 && inst.machine.Load().Listens == 0 {
		return nil
	}
	tracked := int64(-1) // the event after which trackSubscriptions was called
	for s.finish == nil {
		if inst.seq != tracked {
			s.trackSubscriptions()
			if err := e.positionSubscriptions(s); err != nil {
				return err
			}
			tracked = inst.seq
		}
		at := slices.IndexFunc(inst.subscriptions, func(sub *subscription) bool {
			return sub.Woken && !sub.caughtUp && !sub.wanted.Paused
		})
		if at < 0 {
			break
		}
		if budget.Empty() || !e.mayRead(inst) {
			break // dispatchSubscriptions gives it another turn
		}
		if err := e.readSubscription(s, inst.subscriptions[at], budget); err != nil {
			return err
		}
	}
	return nil
}

// newBudget bounds what one write set reads.
func newBudget() eventstream.Budget {
	return eventstream.Budget{Events: maxReceived, Bytes: maxReceivedBytes, Scans: maxScanned, Until: time.Now().Add(maxReadTime)}
}

// readSubscription reads the next events for one subscription.
func (e *Engine) readSubscription(s *writeSet, sub *subscription, budget *eventstream.Budget) error {
	inst, command := s.inst, sub.wanted.Command
	from := eventstream.Subscriber{
		Stream: eventstream.ID{Account: sub.Account, Environment: sub.Environment}, Workflow: inst.row.Workflow,
		Filters: sub.wanted.Filters, Stop: func() bool { return !e.mayRead(inst) },
	}
	sub.dirty = true
	through, caughtUp, err := e.reader.Read(e.ctx, from, max(sub.Since, sub.wanted.Position), budget, func(ev *eventstream.Event) (taken, more bool) {
		if !inst.machine.Wants(command, ev.Envelope) {
			return false, true
		}
		s.apply(machine.Event{
			Kind: machine.EventReceived, TimeMs: max(inst.timeMs, e.nowMs()), Command: command,
			Output: ev.Envelope, Number: ev.Number,
		})
		return true, s.finish == nil && wantsMore(inst.machine, command)
	})
	if err != nil {
		return err
	}
	sub.Since, sub.caughtUp = through, caughtUp
	return nil
}

// wantsMore reports whether a subscription is open and can take more events.
func wantsMore(m *machine.Machine, command machine.CommandID) bool {
	sub, open := m.Subscription(command)
	return open && !sub.Paused
}

// mayRead reports whether an execution may read events. It may not if it is about to be cancelled,
// or if the engine stops.
func (e *Engine) mayRead(inst *instance) bool {
	if _, ending := e.endingBatches.Load(inst.row.Batch); ending || e.stopping.Load() {
		return false
	}
	return !inst.cancelling()
}
