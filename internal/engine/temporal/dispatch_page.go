package temporal

import (
	"math"
	"time"

	"github.com/chargehand/chargehand/internal/store"
)

// sourcePage is the number of sources that are read at a time.
const sourcePage = 64

// openSource is a source that may get slots.
type openSource struct {
	batch int64
	room  int // slots that it may get
}

// openSources reads up to limit sources with executions in a run state that may get a slot, in
// turn: those behind the batch after, then the others.
func openSources(r *store.Reader, account int64, run store.Run, after int64, limit int) ([]openSource, error) {
	var open []openSource
	from, wrapped := after, false
	for {
		list, err := r.Sources(account, run, from, sourcePage)
		if err != nil {
			return nil, err
		}
		for _, s := range list {
			if wrapped && s.Batch > after {
				return open, nil // everybody had a turn
			}
			from = s.Batch
			o := openSource{batch: s.Batch, room: math.MaxInt}
			if s.Batch != 0 {
				if o.room = s.Concurrency - s.Active; o.room <= 0 || s.Cancelled {
					continue
				}
			}
			if open = append(open, o); len(open) == limit {
				return open, nil
			}
		}
		if len(list) < sourcePage {
			if wrapped || after < 0 {
				return open, nil
			}
			from, wrapped = -1, true
		}
	}
}

// page is what one transaction marks.
type page struct {
	tx      *store.Tx
	account int64
	now     time.Time
	dueMs   int64 // of the messages
	turn    turn
	free    int
	list    []delivery
}

// fill gives the free slots of the account away. The lock makes count and mark one step on
// all nodes.
func (p *page) fill(slots int) error {
	if err := p.tx.LockAccount(p.account); err != nil {
		return err
	}
	active, err := p.tx.CountActive(p.account)
	if err != nil {
		return err
	}
	p.free = min(slots-active, markPage)
	if err := p.serve(store.RunReady, &p.turn.ready); err != nil { // woken ones go first
		return err
	}
	return p.serve(store.RunQueued, &p.turn.queued)
}

// serve gives slots to the sources of executions in a run state, in turn, in rounds: each
// gets an equal share, and what some cannot use goes to the others.
func (p *page) serve(run store.Run, last *int64) error {
	if p.free <= 0 {
		return nil
	}
	open, err := openSources(&p.tx.Reader, p.account, run, *last, p.free)
	if err != nil {
		return err
	}
	for len(open) > 0 && p.free > 0 {
		share := max(1, p.free/len(open))
		var rows []store.Candidate
		var left []openSource
		for i, s := range open {
			if p.free == 0 {
				break
			}
			want := min(share, s.room, p.free)
			got, err := p.next(run, s.batch, want)
			if err != nil {
				return err
			}
			rows = append(rows, got...)
			p.free -= len(got)
			if len(got) > 0 {
				*last = s.batch
			}
			if s.room -= len(got); s.room > 0 && len(got) == want {
				left = append(left, open[i])
				left[len(left)-1].room = s.room
			}
		}
		if len(rows) == 0 {
			return nil
		}
		if err := p.mark(run, rows); err != nil {
			return err
		}
		open = left
	}
	return nil
}

func (p *page) next(run store.Run, batch int64, limit int) ([]store.Candidate, error) {
	if run == store.RunReady {
		return p.tx.NextReady(p.account, batch, limit)
	}
	return p.tx.NextQueued(p.account, batch, limit)
}

// mark gives slots to rows and writes their messages.
func (p *page) mark(run store.Run, rows []store.Candidate) error {
	kind := store.InboxStart
	nos := make([]int64, len(rows))
	for i := range rows {
		nos[i] = rows[i].No
	}
	var err error
	if run == store.RunReady {
		kind = store.InboxGrant
		err = p.tx.GrantReady(rows)
	} else {
		err = p.tx.StartQueued(rows, p.now.UnixMilli())
	}
	if err != nil {
		return err
	}
	inserted, err := p.tx.InsertInboxes(kind, nos, p.dueMs)
	if err != nil {
		return err
	}
	for i := range rows {
		d := delivery{Inbox: inserted[rows[i].No]}
		d.ID = rows[i].ID
		if kind == store.InboxStart {
			d.row, d.marked = &rows[i], p.now
		}
		p.list = append(p.list, d)
	}
	return nil
}
