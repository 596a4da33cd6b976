package schedule

import (
	"context"
	"errors"
	"slices"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/store"
)

const (
	// maxMatches bounds the matches of a schedule that have begun. The oldest is given up for
	// one more.
	maxMatches = 1_000
	// eventsAtOnce bounds the events that a schedule looks at before others have their turn.
	eventsAtOnce = 1_000
	// takenAtOnce bounds those of them that it takes, and maxRounds the turns of a schedule in a step.
	takenAtOnce = 50
	maxRounds   = 20
	// saveEvery is how many events a schedule passes over until its row says so.
	saveEvery = 1_000
)

// follower offers stored events to the schedules with `on`. What it keeps in memory can be read
// from the rows again.
type follower struct {
	s      *Scheduler
	reader *engine.Reader
	known  map[int64]*listener // by number of the schedule
	behind bool                // there are events that were not offered yet
}

// listener is a schedule with `on`.
type listener struct {
	row     store.Schedule
	plan    *plan.Plan // of the workflow
	waiting *plan.Plan // of a match
	fresh   *machine.Machine
	command machine.CommandID
	filters []machine.Filter
	matches []*match // the oldest first
	looked  int64    // events up to this one need no look; it may be above row.Position
}

// match is what one run needs, as far as it has come.
type match struct {
	number  int64
	machine *machine.Machine
}

func newFollower(s *Scheduler) *follower {
	return &follower{s: s, reader: engine.NewReader(s.config.Store, s.config.Blobs), known: map[int64]*listener{}}
}

// forget drops what is in memory: the rows may have been moved by others.
func (f *follower) forget() { clear(f.known) }

// step offers the events that are there, for some rounds: then what is due by time has its turn.
func (f *follower) step(ctx context.Context) error {
	f.behind = false
	for round := 1; ; round++ {
		streams, err := f.streams(ctx)
		if err != nil {
			return err
		}
		more := false
		seen := make(map[int64]bool, len(f.known))
		for after := int64(0); ; {
			var page []store.Schedule
			err := f.s.config.Store.View(ctx, func(r *store.Reader) (err error) {
				page, err = r.ListeningSchedules(after, pageRows)
				return err
			})
			if err != nil {
				return err
			}
			for i := range page {
				row := &page[i]
				after, seen[row.No] = row.No, true
				if f.s.troubled(row.No) {
					continue
				}
				behind, err := f.offer(ctx, row, streams[row.Account])
				if errors.Is(err, store.ErrUnavailable) || ctx.Err() != nil {
					return err
				}
				if err != nil {
					delete(f.known, row.No)
				}
				f.s.settle(row, err)
				more = more || behind
			}
			if len(page) < pageRows {
				break
			}
		}
		for no := range f.known {
			if !seen[no] {
				delete(f.known, no)
			}
		}
		if !more || round == maxRounds {
			f.behind = more
			return nil
		}
	}
}

// streams reads the last number of the live stream of each account.
func (f *follower) streams(ctx context.Context) (map[int64]int64, error) {
	last := map[int64]int64{}
	err := f.s.config.Store.View(ctx, func(r *store.Reader) error {
		streams, err := r.Streams()
		for _, s := range streams {
			if s.Environment == chargehand.Live {
				last[s.Account] = s.Last
			}
		}
		return err
	})
	return last, err
}

// offer offers the next events to a schedule. more: there may be others behind them.
func (f *follower) offer(ctx context.Context, row *store.Schedule, last int64) (more bool, err error) {
	l := f.known[row.No]
	if l != nil && l.row.Step != row.Step && l.row.Position == row.Position {
		l.row = *row // only its times have moved: events move the position too
	}
	if l == nil || l.row.Step != row.Step {
		if l, err = f.load(ctx, row); err != nil {
			return false, err
		}
		f.known[row.No] = l
	}
	for taken := 0; taken < takenAtOnce && l.fresh != nil && l.looked < last; taken++ {
		done, err := f.next(ctx, l, last)
		if err != nil {
			return false, err
		}
		if done {
			break
		}
	}
	return l.fresh != nil && l.looked < last, nil
}

// next looks for the next event that a schedule takes, and gives it to it. done: there was none
// among those that it may look at in one turn.
func (f *follower) next(ctx context.Context, l *listener, last int64) (done bool, err error) {
	row := &l.row
	selection := engine.Selection{Account: row.Account, Environment: chargehand.Live, Filters: l.filters}
	var wanted *engine.StoredEvent
	through, err := f.reader.Select(ctx, selection, l.looked, last, eventsAtOnce, func(e *engine.StoredEvent) (bool, error) {
		if !l.wants(e) {
			return true, nil
		}
		wanted = e
		return false, nil
	})
	if err != nil {
		return false, err
	}
	l.looked = through
	if wanted != nil {
		return false, f.take(ctx, l, wanted)
	}
	if l.looked-l.row.Position >= saveEvery {
		err = f.save(ctx, l, nil)
	}
	return true, err
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

func (l *listener) wants(e *engine.StoredEvent) bool { return l.find(e) != nil }

// find is the machine that takes an event: that of the oldest match that wants it, or the one
// of a new match.
func (l *listener) find(e *engine.StoredEvent) *machine.Machine {
	for _, m := range l.matches {
		if m.machine.Wants(l.command, e.Envelope) {
			return m.machine
		}
	}
	if l.fresh.Wants(l.command, e.Envelope) {
		return l.fresh
	}
	return nil
}

// take gives an event to a match, and starts the run if that makes it complete. The listener
// is read again if that fails.
func (f *follower) take(ctx context.Context, l *listener, e *engine.StoredEvent) error {
	m := l.find(e)
	one := &match{e.Number, m}
	at := slices.IndexFunc(l.matches, func(known *match) bool { return known.machine == m })
	if at >= 0 {
		one = l.matches[at]
	} else {
		l.renew(f.s)
		l.matches = append(l.matches, one)
		at = len(l.matches) - 1
	}
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
