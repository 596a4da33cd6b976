package schedule

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/store"
)

// listener is a schedule with `on`.
type listener struct {
	row     store.Schedule
	plan    *plan.Plan // of the workflow
	waiting *plan.Plan // of a match
	fresh   *machine.Machine
	command machine.CommandID
	filters []machine.Filter
	matches []*match  // the oldest first
	looked  int64     // events up to this one need no look; it may be above row.Position
	asking  int64     // the event behind looked, if it was not asked about everywhere yet
	asked   int       // the number of matches that do not want it
	began   time.Time // when its turn began
	slow    bool      // its last turn was not long enough
}

// maxMatches bounds the matches of a schedule that have begun. The oldest is given up for
// one more.
const maxMatches = 1_000

// match is what one run needs, as far as it has come.
type match struct {
	number  int64
	machine *machine.Machine
}

// load reads a schedule and its matches.
func (f *follower) load(ctx context.Context, row *store.Schedule) (*listener, error) {
	p, err := f.s.config.Plans.Plan(ctx, row.Revision)
	if err != nil {
		return nil, err
	}
	l := &listener{row: *row, plan: p, waiting: scheduleOf(p).Listener(f.s.config.Unread), looked: row.Position}
	if l.waiting == nil {
		return l, nil
	}
	l.renew(f.s)
	var rows []store.Match
	err = f.s.config.Store.View(ctx, func(r *store.Reader) (err error) {
		rows, err = r.Matches(row.No)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, one := range rows {
		m, err := machine.Restore(l.waiting, machine.Identity{}, one.State)
		if err != nil {
			f.s.log.Error("events that a schedule has taken cannot be read; they are given up", "workflow", row.Workflow, "error", err)
			continue
		}
		l.matches = append(l.matches, &match{one.Number, m})
		l.filters = addFilters(l.filters, m)
	}
	return l, nil
}

// renew makes the machine of the next match. It is nil if it does not listen: then an expression
// that depends on no event has failed.
func (l *listener) renew(s *Scheduler) {
	m := machine.New(l.waiting, machine.Identity{})
	commands := m.Apply(machine.Event{Kind: machine.Started, TimeMs: s.nowMs(), Output: map[string]any{}})
	open := m.Subscriptions()
	if len(open) == 0 {
		l.fresh = nil
		s.log.Error("a schedule cannot listen to events", "workflow", l.row.Workflow, "revision", l.row.Revision, "error", faultOf(commands))
		return
	}
	l.fresh, l.command = m, open[0].Command
	if l.filters == nil {
		l.filters = addFilters(nil, m)
	}
}

// addFilters adds what a machine listens to.
func addFilters(filters []machine.Filter, m *machine.Machine) []machine.Filter {
	for _, s := range m.Subscriptions() {
		for _, one := range s.Filters {
			if !slices.Contains(filters, one) {
				filters = append(filters, one)
			}
		}
	}
	return filters
}

// answer is what a schedule says to an event.
type answer int

const (
	refused   answer = iota // none of its matches wants it
	taken                   // one wants it
	unsettled               // its time is up before all were asked
)

// ask looks for the match that takes an event: the oldest that wants it, or a new one. As many
// matches as there are may be asked, which may take a second each: so it ends when the time is up,
// and goes on where it was with the same event.
func (f *follower) ask(ctx context.Context, l *listener, e *engine.StoredEvent) (answer, error) {
	if l.asking != e.Number {
		l.asking, l.asked = e.Number, 0
	}
	for first := true; l.asked <= len(l.matches); first = false {
		if err := ctx.Err(); err != nil {
			return unsettled, err
		}
		if !first && f.late(l) {
			return unsettled, nil
		}
		if l.candidate().Wants(l.command, e.Envelope) {
			return taken, nil
		}
		l.asked++
	}
	return refused, nil
}

// candidate is the machine that is asked about an event now.
func (l *listener) candidate() *machine.Machine {
	if l.asked < len(l.matches) {
		return l.matches[l.asked].machine
	}
	return l.fresh
}

// take gives an event to the match that wants it, and starts the run if that makes it complete. The listener
// is read again if that fails.
func (f *follower) take(ctx context.Context, l *listener, e *engine.StoredEvent) error {
	at, m := l.asked, l.candidate()
	if at == len(l.matches) {
		l.renew(f.s)
		l.matches = append(l.matches, &match{e.Number, m})
	}
	one := l.matches[at]
	commands := m.Apply(machine.Event{
		Kind: machine.EventReceived, TimeMs: max(e.ReceivedMs, 1), Command: l.command, Output: e.Envelope, Number: e.Number,
	})
	var err error
	switch end := finish(commands); {
	case end == nil:
		err = f.save(ctx, l, func(tx *store.Tx) error {
			return tx.PutMatch(store.Match{Schedule: l.row.No, Number: one.number, State: m.Checkpoint()})
		})
		if err == nil && len(l.matches) > maxMatches {
			err = f.giveUp(ctx, l)
		}
	case end.Phase != chargehand.Completed:
		f.s.log.Warn("events that a schedule has taken are given up: they make no run", "workflow", l.row.Workflow, "error", faultOf(commands))
		l.matches = slices.Delete(l.matches, at, at+1)
		err = f.save(ctx, l, func(tx *store.Tx) error { return tx.DeleteMatch(l.row.No, one.number) })
	default:
		l.matches = slices.Delete(l.matches, at, at+1)
		err = f.start(ctx, l, one, end.Output)
	}
	if err != nil {
		delete(f.known, l.row.No)
	}
	return err
}

// save moves the row up to the last event that was looked at, and does what belongs to it.
func (f *follower) save(ctx context.Context, l *listener, also func(tx *store.Tx) error) error {
	next := l.row
	next.Position = l.looked
	err := f.s.config.Store.Update(ctx, func(tx *store.Tx) error {
		if err := moved(tx.MoveSchedule(&next)); err != nil || also == nil {
			return err
		}
		return also(tx)
	})
	return f.saved(l, next, err)
}

// saved takes in what has become of the row. Who was too late reads it again.
func (f *follower) saved(l *listener, next store.Schedule, err error) error {
	if errors.Is(err, errLost) {
		delete(f.known, l.row.No)
		l.looked = store.NeverMs // until then
		return nil
	}
	if err == nil {
		l.row = next
		l.row.Step++
	}
	return err
}

// start starts the run of a complete match.
func (f *follower) start(ctx context.Context, l *listener, one *match, input expr.Value) error {
	next := l.row
	next.Position = l.looked
	err := f.s.config.Starter.StartRun(ctx, Run{
		Schedule: l.row, Plan: l.plan, Input: input,
		Also: func(tx *store.Tx, _ int64) error {
			if err := moved(tx.MoveSchedule(&next)); err != nil {
				return err
			}
			return tx.DeleteMatch(l.row.No, one.number)
		},
	})
	return f.saved(l, next, err)
}

// giveUp drops the oldest match: others have begun since, and it was never completed.
func (f *follower) giveUp(ctx context.Context, l *listener) error {
	oldest := l.matches[0]
	f.s.log.Warn("the oldest events that a schedule has taken are given up: too many matches are not complete",
		"workflow", l.row.Workflow, "matches", maxMatches, "event", oldest.number)
	l.matches = slices.Delete(l.matches, 0, 1)
	return f.save(ctx, l, func(tx *store.Tx) error { return tx.DeleteMatch(l.row.No, oldest.number) })
}

func finish(commands []machine.Command) *machine.Command {
	for i := range commands {
		if commands[i].Kind == machine.Finish {
			return &commands[i]
		}
	}
	return nil
}

// faultOf is what is wrong, for the log.
func faultOf(commands []machine.Command) string {
	if end := finish(commands); end != nil && end.Fault != nil {
		return end.Fault.Title + ": " + end.Fault.Detail
	}
	return "it ends before any event"
}
