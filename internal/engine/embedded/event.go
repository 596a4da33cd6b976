package embedded

import (
	"slices"
	"time"

	"github.com/chargehand/chargehand/internal/eventstream"
	"github.com/chargehand/chargehand/internal/fair"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

// readSubscriptions reads events for the woken subscriptions of an execution and applies those that
// the machine wants.
func (e *Engine) readSubscriptions(s *writeSet, budget *readBudget) error {
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
		at := slices.IndexFunc(inst.subscriptions, func(l *subscription) bool {
			return l.open && l.Woken && !l.caughtUp && !l.wanted.Paused
		})
		if at < 0 {
			break
		}
		if budget.empty() || !e.mayRead(inst) {
			break // dispatchSubscriptions gives it another turn
		}
		if err := e.readSubscription(s, inst.subscriptions[at], budget); err != nil {
			return err
		}
	}
	return nil
}

// readBudget bounds what one write set reads. Where it ends decides only how much is committed at
// once: the next write set continues from there.
type readBudget struct {
	events, bytes, visits int
	began                 time.Time
}

func newReadBudget() readBudget {
	return readBudget{events: maxReceived, bytes: maxReceivedBytes, visits: maxVisited, began: time.Now()}
}

func (b *readBudget) empty() bool {
	return b.events <= 0 || b.bytes <= 0 || b.visits <= 0 || time.Since(b.began) > maxReadTime
}

// readSubscription reads the next events for one subscription.
func (e *Engine) readSubscription(s *writeSet, l *subscription, budget *readBudget) error {
	inst := s.inst
	var last int64
	err := e.store.View(e.ctx, func(rd *store.Reader) error {
		stream, err := rd.Stream(l.Account, l.Environment)
		last = stream.Last
		return err
	})
	if err != nil {
		return err
	}
	l.dirty = true
	after := max(l.Since, l.wanted.Position)
	command := machine.CommandID(l.Command)
	stopped := false
	owner := fair.Owner{Environment: inst.row.Environment, Workflow: inst.row.Workflow}
	done := func() { e.matcher.evaluators.Leave(owner) }
	selection := eventstream.Selection{
		Account: l.Account, Environment: l.Environment, Filters: l.wanted.Filters,
		Pace: func() (func(), bool, error) {
			if e.mayRead(inst) && !budget.empty() {
				return done, true, e.matcher.evaluators.Enter(e.ctx, owner)
			}
			stopped = true
			return nil, false, nil
		},
	}
	visit := func(ev *eventstream.Event) (more bool, err error) {
		budget.visits--
		if e.reader.Refuses(selection.Filters, ev) || !inst.machine.Wants(command, ev.Envelope) {
			stopped = budget.empty() || !e.mayRead(inst)
			return !stopped, nil
		}
		s.apply(machine.Event{
			Kind: machine.EventReceived, TimeMs: max(inst.timeMs, e.nowMs()), Command: command,
			Output: ev.Envelope, Number: ev.Number,
		}, e.limits.ActivityOutputBytes)
		budget.events--
		budget.bytes -= ev.Bytes
		stopped = s.finish != nil || budget.empty() || !wantsMore(inst.machine, command)
		return !stopped, nil
	}
	through, err := e.reader.Select(e.ctx, selection, after, max(after, last), budget.visits, visit)
	if err != nil {
		return err
	}
	budget.visits -= int(min(through-after, maxVisited)) / 10 // events that no filter lets through cost less
	l.Since = through
	l.caughtUp = through >= last && !stopped
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
	if _, ending := e.matcher.endingBatches.Load(inst.row.Batch); ending || e.stopping.Load() {
		return false
	}
	return !inst.cancelling()
}
