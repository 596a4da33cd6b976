package eventstream

import (
	"context"
	"time"

	"github.com/chargehand/chargehand/internal/fair"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
)

// Track brings the subscriptions that an engine knows in line with the open ones of the machine. It returns a list in
// the order of their commands, and those that are no longer open. of is where an engine keeps the machine's
// subscription, open makes what it keeps for a new one.
func Track[S any](m *machine.Machine, known []S, of func(S) *machine.Subscription, open func(machine.CommandID) S) (list, closed []S) {
	byCommand := make(map[machine.CommandID]S, len(known)) // there may be thousands
	for _, s := range known {
		byCommand[of(s).Command] = s
	}
	for _, sub := range m.Subscriptions() {
		s, ok := byCommand[sub.Command]
		if !ok {
			s = open(sub.Command)
		}
		delete(byCommand, sub.Command)
		*of(s) = sub
		list = append(list, s)
	}
	for _, s := range known {
		if _, ok := byCommand[of(s).Command]; ok {
			closed = append(closed, s)
		}
	}
	return list, closed
}

// Budget bounds what is read together. Where it ends decides only how much that is: the next read continues from there.
type Budget struct {
	Events, Bytes int // that are taken
	// Scans bounds the events that the index lets through. Ten that it does not let through count as one.
	Scans int
	Until time.Time
}

// Empty reports whether no more may be read.
func (b *Budget) Empty() bool {
	return b.Events <= 0 || b.Bytes <= 0 || b.Scans <= 0 || !time.Now().Before(b.Until)
}

// Subscriber is an execution that reads events for one of its subscriptions.
type Subscriber struct {
	Stream   ID
	Workflow int64 // of the execution: workflows take turns to evaluate filters
	Filters  []machine.Filter
	// Stop reports whether the execution is to read no more for now. Nil: it may read on.
	Stop func() bool
}

// Read reads the events behind after for a subscription, as long as there are some and the budget lasts. It calls take
// for each that its filters may match. take reports whether the execution has taken the event, and whether it wants
// more. through is the number of the last event that was scanned; caughtUp: there are no more.
// Errors: store.ErrUnavailable, the error of ctx.
func (r *Reader) Read(ctx context.Context, s Subscriber, after int64, b *Budget, take func(*Event) (taken, more bool)) (through int64, caughtUp bool, err error) {
	if b.Empty() {
		return after, false, nil
	}
	var last int64
	err = r.store.View(ctx, func(rd *store.Reader) error {
		stream, err := rd.Stream(s.Stream.Account, s.Stream.Environment)
		last = stream.Last
		return err
	})
	if err != nil {
		return after, false, err
	}
	stopped := false
	stop := func() bool { return b.Empty() || s.Stop != nil && s.Stop() }
	owner := fair.Owner{Environment: s.Stream.Environment, Workflow: s.Workflow}
	selection := Selection{ID: s.Stream, Filters: s.Filters, throttle: func() (func(), bool, error) {
		if stopped = stop(); stopped {
			return nil, false, nil
		}
		return func() { r.evaluating.Leave(owner) }, true, r.evaluating.Enter(ctx, owner)
	}}
	limit := b.Scans
	through, err = r.Select(ctx, selection, after, max(after, last), limit, func(e *Event) (bool, error) {
		b.Scans--
		taken, more := false, true
		if !r.refuses(s.Filters, e) {
			taken, more = take(e)
		}
		if taken {
			b.Events--
			b.Bytes -= e.Bytes
		}
		stopped = !more || stop()
		return !stopped, nil
	})
	b.Scans -= int(min(through-after, int64(limit))) / 10
	return through, err == nil && through >= last && !stopped, err
}

// Write stores how far a subscription has read: up to s.Since. It inserts the row if there is none (s.No is 0). A
// subscription that has caught up sleeps, unless new events have passed it. s.Woken says afterwards whether it has to
// read again.
func Write(tx *store.Tx, s *store.Subscription, filters []machine.Filter, sealer *secret.Sealer, caughtUp bool) (err error) {
	s.Woken = true
	switch {
	case s.No == 0:
		err = tx.InsertSubscription(s, RowFilters(s, filters, sealer))
	case !caughtUp:
		err = tx.AdvanceSubscription(s.No, s.Since)
	}
	if err != nil || !caughtUp {
		return err
	}
	asleep, err := tx.SleepSubscription(s, s.Since)
	s.Woken = !asleep
	return err
}

// throttledEvents is how many events are scanned with one permit.
const throttledEvents = 32

// throttle holds a permit while events are scanned, which computes, and none while they are read.
type throttle struct {
	// enter waits for a permit, which leave gives back. more is false if no more events are to be scanned.
	enter func() (leave func(), more bool, err error)
	leave func()
	left  int
}

func (t *throttle) next() (more bool, err error) {
	if t.enter == nil {
		return true, nil
	}
	if t.left == 0 {
		t.end()
		leave, more, err := t.enter()
		if err != nil || !more {
			return false, err
		}
		t.leave, t.left = leave, throttledEvents
	}
	t.left--
	return true, nil
}

func (t *throttle) end() {
	if t.leave != nil {
		t.leave()
		t.leave = nil
	}
	t.left = 0
}
