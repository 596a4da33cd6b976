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
	maxLooked = 5_000
	// maxLookTime is for how long filters are asked for one write set. They are expressions
	// and may take a second each, while a cancellation or the end of the process waits.
	maxLookTime = 250 * time.Millisecond
)

// listening is an open Subscribe command in memory. It mirrors its row, but for what the
// write set at hand has changed.
type listening struct {
	store.Subscription      // No is 0 while there is no row
	open               bool // the machine knows it
	seen               machine.Subscription
	touched            bool // the write set writes it
	whole              bool // it has looked at all there was: it may sleep
}

// listen lets an execution look at the events that it has been woken for, or starts to listen
// to. What it takes in is part of the write set.
func (e *Engine) listen(s *writeSet, budget *lookBudget) error {
	r := s.run
	if s.finish != nil || len(r.listens) == 0 && r.machine.Load().Listens == 0 {
		return nil
	}
	tracked := int64(-1) // the event after which subscriptions were brought in line
	for s.finish == nil {
		if r.seq != tracked {
			s.trackListens()
			if err := e.placeListens(s); err != nil {
				return err
			}
			tracked = r.seq
		}
		at := slices.IndexFunc(r.listens, func(l *listening) bool {
			return l.open && l.Woken && !l.whole && !l.seen.Paused
		})
		if at < 0 {
			break
		}
		if budget.empty() || !e.mayLook(r) {
			break // listenCommitted has it go on
		}
		if err := e.look(s, r.listens[at], budget); err != nil {
			return err
		}
	}
	return nil
}

// lookBudget bounds what one write set looks at. Where it ends decides nothing but how much
// is committed at once: the next write set goes on behind it.
type lookBudget struct {
	events, bytes, looks int
	began                time.Time
}

func newLookBudget() lookBudget {
	return lookBudget{events: maxReceived, bytes: maxReceivedBytes, looks: maxLooked, began: time.Now()}
}

func (b *lookBudget) empty() bool {
	return b.events <= 0 || b.bytes <= 0 || b.looks <= 0 || time.Since(b.began) > maxLookTime
}

// trackListens brings what is listened to in line with the machine.
func (s *writeSet) trackListens() {
	r := s.run
	known := make(map[uint64]*listening, len(r.listens)) // they may be thousands
	for _, l := range r.listens {
		l.open = false
		known[l.Command] = l
	}
	for _, sub := range r.machine.Subscriptions() {
		l := known[uint64(sub.Command)]
		if l == nil {
			l = &listening{touched: true, Subscription: store.Subscription{
				Account: r.row.Account, Environment: r.row.Environment, Execution: r.no,
				Command: uint64(sub.Command), Woken: true, Since: -1,
			}}
			r.listens = append(r.listens, l)
		}
		l.open, l.seen = true, sub
	}
	r.listens = slices.DeleteFunc(r.listens, func(l *listening) bool {
		if !l.open && l.No != 0 {
			s.unsubscribes = append(s.unsubscribes, l.Command)
		}
		return !l.open
	})
}

// placeListens finds out where new subscriptions begin: behind the last event from before
// the execution (T60).
func (e *Engine) placeListens(s *writeSet) error {
	for _, l := range s.run.listens {
		if l.Since >= 0 {
			continue
		}
		err := e.store.View(e.ctx, func(rd *store.Reader) (err error) {
			l.Since, err = rd.LastEventBefore(l.Account, l.Environment, l.seen.SinceMs)
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
func (e *Engine) look(s *writeSet, l *listening, budget *lookBudget) error {
	r := s.run
	var last int64
	err := e.store.View(e.ctx, func(rd *store.Reader) error {
		stream, err := rd.Stream(l.Account, l.Environment)
		last = stream.Last
		return err
	})
	if err != nil {
		return err
	}
	l.touched = true
	after := max(l.Since, l.seen.Position)
	command := machine.CommandID(l.Command)
	stopped := false
	owner := fair.Owner{Environment: r.row.Environment, Workflow: r.row.Workflow}
	done := func() { e.pumps.looks.Leave(owner) }
	selection := engine.Selection{
		Account: l.Account, Environment: l.Environment, Filters: l.seen.Filters,
		Pace: func() (func(), bool, error) {
			if e.mayLook(r) && !budget.empty() {
				return done, true, e.pumps.looks.Enter(e.ctx, owner)
			}
			stopped = true
			return nil, false, nil
		},
	}
	through, err := e.reader.Select(e.ctx, selection, after, max(after, last), budget.looks, func(ev *engine.StoredEvent) (bool, error) {
		budget.looks--
		if e.reader.Refuses(selection.Filters, ev) || !r.machine.Wants(command, ev.Envelope) {
			stopped = budget.empty() || !e.mayLook(r)
			return !stopped, nil
		}
		s.apply(machine.Event{
			Kind: machine.EventReceived, TimeMs: max(r.timeMs, e.nowMs()), Command: command, Output: ev.Envelope, Number: ev.Number,
		}, e.limits.ActivityOutputBytes)
		budget.events--
		budget.bytes -= ev.Bytes
		stopped = s.finish != nil || budget.empty() || !takes(r.machine, command)
		return !stopped, nil
	})
	if err != nil {
		return err
	}
	budget.looks -= int(min(through-after, maxLooked)) / 10 // those that no filter let through cost less
	l.Since = through
	l.whole = through >= last && !stopped
	return nil
}

// takes reports whether a subscription is open and may be given more.
func takes(m *machine.Machine, command machine.CommandID) bool {
	sub, open := m.Subscription(command)
	return open && !sub.Paused
}

// writeListens writes what a write set has changed of the subscriptions.
func (s *writeSet) writeListens(tx *store.Tx) error {
	s.listened = s.listened[:0]
	for _, command := range s.unsubscribes {
		if err := tx.DeleteSubscription(s.run.no, command); err != nil {
			return err
		}
	}
	for _, l := range s.run.listens {
		if !l.touched {
			continue
		}
		sub := l.Subscription
		sub.Execution = s.run.no
		if sub.No == 0 {
			if err := tx.InsertSubscription(&sub, engine.RowFilters(&sub, l.seen.Filters, s.run.secrets.Sealer())); err != nil {
				return err
			}
		} else if !l.whole {
			if err := tx.AdvanceSubscription(sub.No, sub.Since); err != nil {
				return err
			}
		}
		s.listened = append(s.listened, listenResult{no: sub.No, woken: true})
		if !l.whole {
			continue
		}
		settled, err := tx.SleepSubscription(&sub, sub.Since)
		if err != nil {
			return err
		}
		s.listened[len(s.listened)-1].woken = !settled
	}
	return nil
}

// listenResult is what the transaction says of one of the subscriptions that it has touched.
type listenResult struct {
	no    int64
	woken bool
}

// listenCommitted takes over what is durable now. What is left to look at, or came meanwhile, has its turn later.
func (e *Engine) listenCommitted(s *writeSet) {
	r := s.run
	if s.outcome != nil {
		r.listens = nil
		return
	}
	again, at := false, 0
	for _, l := range r.listens {
		if l.touched {
			result := s.listened[at]
			at++
			l.No, l.Execution = result.no, r.no
			l.Woken = result.woken
			l.touched, l.whole = false, false
		}
		again = again || l.Woken && e.mayLook(r) && takes(r.machine, machine.CommandID(l.Command))
	}
	if again {
		e.pumps.wakes.again(&r.row)
	}
}

// mayLook reports whether an execution is to look at events: not if it is about to be cancelled, or the engine stops.
func (e *Engine) mayLook(r *run) bool {
	if _, ending := e.pumps.ending.Load(r.row.Batch); ending || e.stopping.Load() {
		return false
	}
	return !r.cancelling()
}

// cancelling reports whether a cancellation waits: what else the execution does can wait.
func (r *run) cancelling() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.mailbox, func(m message) bool { return m.event.Kind == machine.CancelRequested })
}

// wake notes that the pump has woken a subscription.
func (r *run) wake(woken store.Subscription) {
	for _, l := range r.listens {
		if l.No == woken.No && !l.Woken {
			l.Woken, l.Since = true, max(l.Since, woken.Since)
		}
	}
}

// loadListens reads the subscriptions of an execution that has come into memory.
func (e *Engine) loadListens(r *run) error {
	r.listens = nil
	if r.machine.Load().Listens == 0 {
		return nil
	}
	var rows []store.Subscription
	err := e.store.View(e.ctx, func(rd *store.Reader) (err error) {
		rows, err = rd.Subscriptions(r.no)
		return err
	})
	for _, row := range rows {
		r.listens = append(r.listens, &listening{Subscription: row})
	}
	return err
}
