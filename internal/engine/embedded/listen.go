package embedded

import (
	"slices"
	"time"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/fair"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

const (
	// maxReceived and maxReceivedBytes bound the events that go into one write set.
	maxReceived      = 500
	maxReceivedBytes = 4 << 20
	// maxLooked bounds the events that are looked at for one write set.
	maxVisited = 5_000
	// maxLookTime is for how long filters are asked for one write set. They are expressions
	// and may take a second each, while a cancellation or the end of the process waits.
	maxReadTime = 250 * time.Millisecond
)

// listening is an open Subscribe command in memory. It mirrors its row, but for what the
// write set at hand has changed.
type subscription struct {
	store.Subscription      // No is 0 while there is no row
	open               bool // the machine knows it
	wanted             machine.Subscription
	dirty              bool // the write set writes it
	caughtUp           bool // it has looked at all there was: it may sleep
}

// listen lets an execution look at the events that it has been woken for, or starts to listen
// to. What it takes in is part of the write set.
func (e *Engine) readSubscriptions(s *writeSet, budget *readBudget) error {
	inst := s.inst
	if s.finish != nil || len(inst.subscriptions) == 0 && inst.machine.Load().Listens == 0 {
		return nil
	}
	tracked := int64(-1) // the event after which subscriptions were brought in line
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
			break // listenCommitted has it go on
		}
		if err := e.readSubscription(s, inst.subscriptions[at], budget); err != nil {
			return err
		}
	}
	return nil
}

// lookBudget bounds what one write set looks at. Where it ends decides nothing but how much
// is committed at once: the next write set goes on behind it.
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

// trackListens brings what is listened to in line with the machine.
func (s *writeSet) trackSubscriptions() {
	inst := s.inst
	known := make(map[uint64]*subscription, len(inst.subscriptions)) // they may be thousands
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

// placeListens finds out where new subscriptions begin: behind the last event from before
// the execution (T60).
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

// look gives one subscription the next events that are for it.
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
	selection := engine.Selection{
		Account: l.Account, Environment: l.Environment, Filters: l.wanted.Filters,
		Pace: func() (func(), bool, error) {
			if e.mayRead(inst) && !budget.empty() {
				return done, true, e.matcher.evaluators.Enter(e.ctx, owner)
			}
			stopped = true
			return nil, false, nil
		},
	}
	through, err := e.reader.Select(e.ctx, selection, after, max(after, last), budget.visits, func(ev *engine.StoredEvent) (bool, error) {
		budget.visits--
		if e.reader.Refuses(selection.Filters, ev) || !inst.machine.Wants(command, ev.Envelope) {
			stopped = budget.empty() || !e.mayRead(inst)
			return !stopped, nil
		}
		s.apply(machine.Event{
			Kind: machine.EventReceived, TimeMs: max(inst.timeMs, e.nowMs()), Command: command, Output: ev.Envelope, Number: ev.Number,
		}, e.limits.ActivityOutputBytes)
		budget.events--
		budget.bytes -= ev.Bytes
		stopped = s.finish != nil || budget.empty() || !wantsMore(inst.machine, command)
		return !stopped, nil
	})
	if err != nil {
		return err
	}
	budget.visits -= int(min(through-after, maxVisited)) / 10 // those that no filter let through cost less
	l.Since = through
	l.caughtUp = through >= last && !stopped
	return nil
}

// takes reports whether a subscription is open and may be given more.
func wantsMore(m *machine.Machine, command machine.CommandID) bool {
	sub, open := m.Subscription(command)
	return open && !sub.Paused
}

// writeListens writes what a write set has changed of the subscriptions.
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
			if err := tx.InsertSubscription(&sub, engine.RowFilters(&sub, l.wanted.Filters, s.inst.secrets.Sealer())); err != nil {
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

// listenResult is what the transaction says of one of the subscriptions that it has touched.
type subscriptionResult struct {
	no    int64
	woken bool
}

// listenCommitted takes over what is durable now. What is left to look at, or came meanwhile, has its turn later.
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

// mayLook reports whether an execution is to look at events: not if it is about to be cancelled, or the engine stops.
func (e *Engine) mayRead(inst *instance) bool {
	if _, ending := e.matcher.endingBatches.Load(inst.row.Batch); ending || e.stopping.Load() {
		return false
	}
	return !inst.cancelling()
}

// cancelling reports whether a cancellation waits: what else the execution does can wait.
func (inst *instance) cancelling() bool {
	inst.mu.Lock()
	defer inst.mu.Unlock()
	return slices.ContainsFunc(inst.mailbox, func(m message) bool { return m.event.Kind == machine.CancelRequested })
}

// wake notes that the pump has woken a subscription.
func (inst *instance) markWoken(woken store.Subscription) {
	for _, l := range inst.subscriptions {
		if l.No == woken.No && !l.Woken {
			l.Woken, l.Since = true, max(l.Since, woken.Since)
		}
	}
}

// loadListens reads the subscriptions of an execution that has come into memory.
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
