package temporal

import (
	"math"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/fair"
	"github.com/chargehand/chargehand/internal/store"
)

// sourcePage is the number of queues that are read at a time.
const sourcePage = 64

// openSource is a queue that may get slots.
type openSource struct {
	store.Queue
	room int // slots that it may get
}

// openSources reads up to limit queues of an environment that have executions in a state and may get a slot. It begins
// behind the position after, and continues from the first queue. It counts the held slots only of the batches that it
// reads.
func openSources(
	r *store.Reader, account int64, run store.ExecutionState, env chargehand.Environment, after store.QueuePosition,
	limit int,
) ([]openSource, error) {
	var open []openSource
	from, wrapped := after, false
	for {
		list, err := r.Queues(account, run, env, from, sourcePage)
		if err != nil {
			return nil, err
		}
		for _, s := range list {
			from = s.Position()
			if wrapped && from.After(after) {
				return open, nil // all had a turn
			}
			room, err := roomOf(r, account, s)
			if err != nil {
				return nil, err
			}
			if room <= 0 {
				continue
			}
			if open = append(open, openSource{s, room}); len(open) == limit {
				return open, nil
			}
		}
		if len(list) < sourcePage {
			if wrapped || after == (store.QueuePosition{}) {
				return open, nil
			}
			from, wrapped = store.QueuePosition{}, true
		}
	}
}

// roomOf is the number of slots that a queue can still get.
func roomOf(r *store.Reader, account int64, s store.Queue) (int, error) {
	if s.Batch == 0 {
		return math.MaxInt, nil
	}
	if s.Cancelled {
		return 0, nil
	}
	active, err := r.CountActiveItems(account, s.Batch, s.Concurrency)
	return s.Concurrency - active, err
}

// page is what one transaction marks.
type page struct {
	tx        *store.Tx
	account   int64
	now       time.Time
	dueMs     int64 // of the messages
	positions queuePositions
	held      int // slots, before
	free      int
	list      []delivery
}

// share is an environment's part of an account's slots.
type share struct {
	env    chargehand.Environment
	held   int
	limit  int
	closed bool // no more of its executions can get a slot
}

func (s *share) fair() fair.Share { return fair.Share{Held: s.held, Limit: s.limit, Waits: !s.closed} }

// fill gives out the free slots of the account. The lock makes counting and marking one step on all nodes.
func (p *page) fill(slots int) error {
	if err := p.tx.LockAccount(p.account); err != nil {
		return err
	}
	active, err := p.tx.CountActive(p.account, slots)
	p.held = active
	if err != nil || active >= slots {
		return err
	}
	inTest, err := p.tx.CountActiveOfTest(p.account, active)
	if err != nil {
		return err
	}
	p.free = min(slots-active, markPage)
	shares := [2]share{
		{env: chargehand.Live, held: active - inTest, limit: slots},
		{env: chargehand.Test, held: inTest, limit: slotsOfTest(slots)},
	}
	for p.free > 0 {
		at, want := p.next(&shares)
		if at < 0 {
			return nil
		}
		s := &shares[at]
		got, err := p.serveShare(s.env, want)
		if err != nil {
			return err
		}
		s.held += got
		s.closed = got < want
		if got > 0 {
			p.positions.afterLive = at == 0
		}
	}
	return nil
}

// next chooses the environment that gets the next slots, and how many it gets before the other one is served.
func (p *page) next(shares *[2]share) (at, want int) {
	at = fair.Next(shares[0].fair(), shares[1].fair(), p.positions.afterLive)
	if at < 0 {
		return at, 0
	}
	s, other := &shares[at], &shares[1-at]
	want = min(p.free, s.limit-s.held)
	if !other.closed && other.held < other.limit {
		want = min(want, max(other.held-s.held, (p.free+1)/2)) // this one leaves the slots it does not need
	}
	return at, want
}

// serveShare gives up to limit slots to an environment.
func (p *page) serveShare(env chargehand.Environment, limit int) (int, error) {
	positions := &p.positions.shares[0]
	if env == chargehand.Test {
		positions = &p.positions.shares[1]
	}
	given, err := p.serve(store.StateReady, env, &positions.ready, limit) // woken executions go first
	if err != nil || given == limit {
		return given, err
	}
	more, err := p.serve(store.StateQueued, env, &positions.queued, limit-given)
	return given + more, err
}

// serve gives up to limit slots to the queues of executions in a state, round robin: each round gives every queue an
// equal share, and the next round gives what is left to the queues that can use more.
func (p *page) serve(
	run store.ExecutionState, env chargehand.Environment, last *store.QueuePosition, limit int,
) (given int, err error) {
	open, err := openSources(&p.tx.Reader, p.account, run, env, *last, limit)
	if err != nil {
		return 0, err
	}
	for len(open) > 0 && given < limit {
		each := max(1, (limit-given)/len(open))
		var rows []store.Candidate
		var left []openSource
		for _, s := range open {
			want := min(each, s.room, limit-given-len(rows))
			if want == 0 {
				break
			}
			got, err := p.read(run, s.Queue, want)
			if err != nil {
				return given, err
			}
			rows = append(rows, got...)
			if len(got) > 0 {
				*last = s.Position()
			}
			if s.room -= len(got); s.room > 0 && len(got) == want {
				left = append(left, s)
			}
		}
		if len(rows) == 0 {
			return given, nil
		}
		if err := p.mark(run, rows); err != nil {
			return given, err
		}
		given += len(rows)
		p.free -= len(rows)
		open = left
	}
	return given, nil
}

func (p *page) read(run store.ExecutionState, s store.Queue, limit int) ([]store.Candidate, error) {
	if run == store.StateReady {
		return p.tx.NextReady(p.account, s, limit)
	}
	return p.tx.NextQueued(p.account, s, limit)
}

// mark gives slots to rows and writes their messages.
func (p *page) mark(run store.ExecutionState, rows []store.Candidate) error {
	kind := store.OutboxStart
	nos := make([]int64, len(rows))
	for i := range rows {
		nos[i] = rows[i].No
	}
	var err error
	if run == store.StateReady {
		kind = store.OutboxGrant
		err = p.tx.GrantReady(rows)
	} else {
		err = p.tx.StartQueued(rows, p.now.UnixMilli())
	}
	if err != nil {
		return err
	}
	inserted, err := p.tx.InsertOutboxMessages(kind, nos, p.dueMs)
	if err != nil {
		return err
	}
	for i := range rows {
		d := delivery{OutboxMessage: inserted[rows[i].No]}
		d.ID = rows[i].ID
		if kind == store.OutboxStart {
			d.row, d.marked = &rows[i], p.now
		}
		p.list = append(p.list, d)
	}
	return nil
}
