package schedule

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/eventstream"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// listener is a schedule with `on`.
type listener struct {
	row      store.Schedule
	plan     *plan.Plan // of the workflow
	waiting  *plan.Plan // of a match
	fresh    *machine.Machine
	command  machine.CommandID
	filters  []machine.Filter
	matches  []*match  // the oldest first
	gone     []int64   // the numbers of those whose rows are to be deleted
	examined int64     // events up to this one need no look; it may be above row.Position
	asking   int64     // the event behind examined, if it was not asked about everywhere yet
	asked    int       // the number of matches that do not want it
	began    time.Time // when its turn began
	slow     bool      // its last turn was not long enough
	room     int       // bytes of events that it may take in this turn
	restMs   int64     // it takes no more events before, because it has written much
}

const (
	// maxMatches bounds the matches of a schedule that have begun, and maxMatchBytes their states. The oldest
	// are given up for others.
	maxMatches    = 1_000
	maxMatchBytes = 16 << 20
	// largePerSecond is about how many bytes of states a schedule puts into the blob store in a second: it
	// rests after each time. A state is written as a whole, however little of it is new.
	largePerSecond = 1 << 20
)

// match is what one run needs, as far as it has come.
type match struct {
	number  int64
	machine *machine.Machine
	bytes   int   // of its state, when that was made last
	stored  bool  // it has a row
	changed bool  // it has taken events that its row does not have
	starter int64 // of the run: what all of its events may make it read
}

// load reads a schedule and its matches.
func (f *follower) load(ctx context.Context, row *store.Schedule) (*listener, error) {
	p, err := f.s.config.Plans.Plan(ctx, row.Revision)
	if err != nil {
		return nil, err
	}
	l := &listener{row: *row, plan: p, waiting: scheduleOf(p).Listener(f.s.config.Unread), examined: row.Position}
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
		state, err := engine.ReadPayload(ctx, f.s.config.Blobs, one.State)
		var m *machine.Machine
		if err == nil {
			m, err = machine.Restore(l.waiting, machine.Identity{}, state)
		} else if !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		if err != nil {
			f.s.log.Error("events that a schedule has taken cannot be read; they are given up", "workflow", row.Workflow, "error", err)
			l.gone = append(l.gone, one.Number)
			continue
		}
		l.matches = append(l.matches, &match{number: one.Number, machine: m, bytes: len(state), stored: true, starter: one.Starter})
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
	undecided               // its time is up before all were asked
)

// ask looks for the match that takes an event: the oldest that wants it, or a new one. As many
// matches as there are may be asked, which may take a second each: so it ends when the time is up,
// and continues where it was with the same event.
func (f *follower) ask(ctx context.Context, l *listener, e *eventstream.Event) (answer, error) {
	if l.asking != e.Number {
		l.asking, l.asked = e.Number, 0
	}
	for first := true; l.asked <= len(l.matches); first = false {
		if err := ctx.Err(); err != nil {
			return undecided, err
		}
		if !first && f.late(l) {
			return undecided, nil
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

// take gives an event to the match that wants it, and starts the run if that makes it complete. Else save
// writes what has become of the match.
func (f *follower) take(ctx context.Context, l *listener, e *eventstream.Event) (started bool, err error) {
	at, m := l.asked, l.candidate()
	starter := e.Starter
	if at < len(l.matches) {
		if starter, err = f.commonStarter(ctx, l, l.matches[at].starter, e.Starter); err != nil {
			return false, err
		}
	} else {
		l.renew(f.s)
		l.matches = append(l.matches, &match{number: e.Number, machine: m})
	}
	one := l.matches[at]
	one.starter = starter
	l.room -= e.Bytes
	commands := m.Apply(machine.Event{
		Kind: machine.EventReceived, TimeMs: max(e.ReceivedMs, 1), Command: l.command, Output: e.Envelope, Number: e.Number,
	})
	end := finish(commands)
	if end == nil {
		one.changed = true
		if len(l.matches) > maxMatches {
			f.dropOldest(l)
		}
		return false, nil
	}
	l.remove(at)
	if end.Phase != chargehand.Completed {
		f.s.log.Warn("events that a schedule has taken are given up: they make no run", "workflow", l.row.Workflow, "error", faultOf(commands))
		return false, nil
	}
	return true, f.start(ctx, l, end.Output, starter)
}

// commonStarter is what two events let a run read.
func (f *follower) commonStarter(ctx context.Context, l *listener, a, b int64) (no int64, err error) {
	if a == b {
		return a, nil
	}
	err = f.s.config.Store.Update(ctx, func(tx *store.Tx) (err error) {
		no, err = engine.CommonStarter(tx, l.row.Account, a, b)
		return err
	})
	return no, err
}

// remove drops a match, and its row with the next step of the schedule.
func (l *listener) remove(at int) {
	if one := l.matches[at]; one.stored {
		l.gone = append(l.gone, one.number)
	}
	l.matches = slices.Delete(l.matches, at, at+1)
	if at < l.asked { // those behind it have moved up
		l.asked--
	}
}

// dropOldest drops the oldest match: others have begun since, and it was never completed.
func (f *follower) dropOldest(l *listener) {
	f.s.log.Warn("the oldest events that a schedule has taken are given up: too many matches are not complete, or they are too large",
		"workflow", l.row.Workflow, "matches", len(l.matches), "most_matches", maxMatches, "most_bytes", f.matchBytes, "event", l.matches[0].number)
	l.remove(0)
}

// step is a step of a schedule's row on its way to the database: up to the last event that was
// examined at, with what has become of the matches.
type step struct {
	next store.Schedule
	put  []store.Match
	gone []int64
}

// prepare makes the next step. It gives up what is too large, and moves large states out of the rows.
func (f *follower) prepare(ctx context.Context, l *listener) (*step, error) {
	states, total := map[*match][]byte{}, 0
	for _, one := range l.matches {
		if one.changed {
			states[one] = one.machine.Checkpoint()
			one.bytes = len(states[one])
		}
		total += one.bytes
	}
	for total > f.matchBytes {
		total -= l.matches[0].bytes
		f.dropOldest(l)
	}
	n := &step{next: l.row, gone: l.gone}
	n.next.Position = l.examined
	var written int64
	for _, one := range l.matches {
		if !one.changed {
			continue
		}
		p := store.Payload{Inline: states[one], Size: int64(one.bytes)}
		if err := engine.Externalize(ctx, f.s.config.Blobs, &p); err != nil {
			return nil, err
		}
		if p.Blob != nil {
			written += p.Size
		}
		n.put = append(n.put, store.Match{Schedule: l.row.No, Number: one.number, State: p, Starter: one.starter})
	}
	if written > 0 {
		l.restMs = f.s.nowMs() + written*1000/largePerSecond
	}
	return n, nil
}

// write writes a step, unless the row is not as it was read.
func (n *step) write(tx *store.Tx) error {
	if err := moved(tx.MoveSchedule(&n.next)); err != nil {
		return err
	}
	for _, number := range n.gone {
		if err := tx.DeleteMatch(n.next.No, number); err != nil {
			return err
		}
	}
	for _, one := range n.put {
		if err := tx.PutMatch(one); err != nil {
			return err
		}
	}
	return nil
}

// save writes what was not written yet, if that is worth it.
func (f *follower) save(ctx context.Context, l *listener) error {
	passed := l.examined - l.row.Position
	changed := slices.ContainsFunc(l.matches, func(one *match) bool { return one.changed })
	if !changed && len(l.gone) == 0 && passed < saveEvery && (passed <= 0 || !f.late(l)) {
		return nil
	}
	n, err := f.prepare(ctx, l)
	if err != nil {
		return err
	}
	return f.saved(l, n, f.s.config.Store.Update(ctx, n.write))
}

// saved takes in the result of a step. A schedule whose row was changed meanwhile is read again.
func (f *follower) saved(l *listener, n *step, err error) error {
	if errors.Is(err, errLost) {
		delete(f.known, l.row.No)
		l.examined = store.NeverMs // until then
		return nil
	}
	if err != nil {
		return err
	}
	l.row, l.gone = n.next, nil
	l.row.Step++
	for _, one := range l.matches {
		one.changed, one.stored = false, true
	}
	return nil
}

// start starts the run of a match that was complete, and removed.
func (f *follower) start(ctx context.Context, l *listener, input value.Value, starter int64) error {
	n, err := f.prepare(ctx, l)
	if err != nil {
		return err
	}
	err = f.s.config.Starter.StartFiring(ctx, Firing{
		Schedule: l.row, Plan: l.plan, Input: input, Starter: starter, Cause: store.CauseEvent,
		InTx: func(tx *store.Tx, _ int64) error { return n.write(tx) },
	})
	return f.saved(l, n, err)
}

// rests reports whether a schedule takes no events for now.
func (f *follower) rests(l *listener) bool {
	rest := l.restMs - f.s.nowMs()
	return rest > 0 && rest <= 1000*maxMatchBytes/largePerSecond
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
