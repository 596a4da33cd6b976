package schedule

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/eventstream"
	"github.com/chargehand/chargehand/internal/store"
)

const (
	// maxReadTime is for how long events are offered to one schedule before others have their turn,
	// and about how long before what is due by time has it. Filters are expressions and may take a
	// second each.
	maxReadTime = 250 * time.Millisecond
	// eventsAtOnce bounds the events that a schedule looks at before others have their turn, and takenAtOnce
	// and takenBytes those of them that it takes. startsAtATime bounds the runs that they start.
	eventsAtOnce  = 1_000
	takenAtOnce   = 1_000
	takenBytes    = 4 << 20
	startsAtATime = 50
	// saveEvery is how many events a schedule passes over until its row says so.
	saveEvery = 1_000
)

// follower offers stored events to the schedules with `on`. What it keeps in memory can be read
// from the rows again.
type follower struct {
	s      *Scheduler
	reader *eventstream.Reader
	known  map[int64]*listener // by number of the schedule
	behind bool                // there are events that were not offered yet

	readTime   time.Duration // maxReadTime
	matchBytes int           // maxMatchBytes
	// A pass goes through all schedules, in as many steps as it takes.
	roundRobin int64          // the schedule that the pass has come to; 0: it has not begun
	seen       map[int64]bool // the schedules that it has met
	left       bool           // one of them has events left
	slow       int64          // the slow schedule that had its turn last
}

func newFollower(s *Scheduler) *follower {
	return &follower{
		s: s, reader: eventstream.NewReader(s.config.Store, s.config.Blobs), known: map[int64]*listener{},
		readTime: maxReadTime, matchBytes: maxMatchBytes, seen: map[int64]bool{},
	}
}

// forget drops what is in memory: the rows may have been moved by others.
func (f *follower) forget() {
	clear(f.known)
	clear(f.seen)
	f.roundRobin, f.left, f.behind = 0, false, false
}

// step offers the events that are there, for some time: then what is due by time has its turn, and
// the next step continues.
func (f *follower) step(ctx context.Context) error {
	began := time.Now()
	for {
		streams, err := f.streams(ctx)
		if err != nil {
			return err
		}
		if f.behind, err = f.pass(ctx, began, streams); err != nil || !f.behind || time.Since(began) > f.readTime {
			return err
		}
	}
}

// pass offers events to schedules until all had their turn, or the step that has began is over.
// Those that used up their time before have the time that the others leave, but one of them has its turn in any
// case: so no number of slow schedules keeps the others waiting. more: there are events left.
func (f *follower) pass(ctx context.Context, began time.Time, streams map[int64]int64) (more bool, err error) {
	var slow []store.Schedule
	late := func() bool { return time.Since(began) > f.readTime }
	for begun, ended := false, false; !begun || !ended && !late(); begun = true {
		var page []store.Schedule
		err := f.s.config.Store.View(ctx, func(r *store.Reader) (err error) {
			page, err = r.ListeningSchedules(f.roundRobin, pageRows)
			return err
		})
		if err != nil {
			return true, err
		}
		for i := range page {
			row := &page[i]
			f.roundRobin, f.seen[row.No] = row.No, true
			if l := f.known[row.No]; l != nil && l.slow {
				slow = append(slow, *row)
				f.left = true
				continue
			}
			behind, err := f.offerTo(ctx, row, streams)
			if err != nil {
				return true, err
			}
			f.left = f.left || behind
			if late() {
				break
			}
		}
		ended = len(page) == 0 || len(page) < pageRows && page[len(page)-1].No == f.roundRobin
		if ended {
			more = f.endPass()
		}
	}
	more = more || f.roundRobin != 0
	next := slices.IndexFunc(slow, func(row store.Schedule) bool { return row.No > f.slow })
	for i := range slow {
		row := &slow[(max(next, 0)+i)%len(slow)]
		if i > 0 && late() {
			return true, nil
		}
		f.slow = row.No
		if _, err := f.offerTo(ctx, row, streams); err != nil {
			return true, err
		}
	}
	return more, nil
}

// endPass drops the schedules that are gone. more: some had events left when they had their turn.
func (f *follower) endPass() (more bool) {
	for no := range f.known {
		if !f.seen[no] {
			delete(f.known, no)
		}
	}
	clear(f.seen)
	more, f.left, f.roundRobin = f.left, false, 0
	return more
}

// offerTo is offer for a schedule that may be in trouble. The error is one that concerns all of them.
func (f *follower) offerTo(ctx context.Context, row *store.Schedule, streams map[int64]int64) (more bool, err error) {
	if f.s.troubled(row.No) {
		return false, nil
	}
	more, err = f.offer(ctx, row, streams[row.Account])
	if errors.Is(err, store.ErrUnavailable) || ctx.Err() != nil {
		return true, err
	}
	if err != nil {
		delete(f.known, row.No)
	}
	f.s.record(row, err)
	return more, nil
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
	if f.rests(l) {
		return false, nil
	}
	l.began, l.room = time.Now(), takenBytes
	starts := 0
	for took := 0; took < takenAtOnce && starts < startsAtATime && l.room > 0 && l.fresh != nil && l.examined < last; took++ {
		wanted, err := f.next(ctx, l, last)
		if err != nil {
			return false, err
		}
		if wanted == nil {
			break
		}
		started, err := f.take(ctx, l, wanted)
		if err != nil {
			delete(f.known, row.No) // its matches are ahead of their rows
			return false, err
		}
		if started {
			starts++
		}
		if f.late(l) {
			break
		}
	}
	if l.examined < store.NeverMs {
		if err := f.save(ctx, l); err != nil {
			return false, err
		}
	}
	more = l.fresh != nil && l.examined < last && !f.rests(l)
	l.slow = more && f.late(l)
	return more, nil
}

// late reports whether a schedule has used up its time.
func (f *follower) late(l *listener) bool { return time.Since(l.began) > f.readTime }

// next finds the next event that a schedule takes. It is nil if there is none among those
// that the schedule may look at in one turn, or its time is up.
func (f *follower) next(ctx context.Context, l *listener, last int64) (wanted *eventstream.Event, err error) {
	again := false
	selection := eventstream.Selection{ID: eventstream.ID{Account: l.row.Account, Environment: chargehand.Live}, Filters: l.filters}
	through, err := f.reader.Select(ctx, selection, l.examined, last, eventsAtOnce, func(e *eventstream.Event) (bool, error) {
		answer, err := f.ask(ctx, l, e)
		if answer == taken {
			wanted = e
		}
		again = answer == undecided
		return answer == refused && !f.late(l), err
	})
	if err != nil {
		return nil, err
	}
	if l.examined = through; again {
		l.examined-- // the last one is asked about again
	}
	return wanted, nil
}
