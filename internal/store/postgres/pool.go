package postgres

import (
	"context"

	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/dialect"
)

// pool holds the sessions that read.
type pool struct {
	dialect.Connections[session]
	db *DB
}

func newPool(db *DB, size int) *pool {
	return &pool{Connections: dialect.NewConnections[session](size), db: db}
}

const beginView = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

// view runs fn on a snapshot, which the first statement takes. The transaction is begun
// together with that statement.
func (p *pool) view(ctx context.Context, fn func(store.Conn) error) error {
	s, err := p.Take(ctx)
	if err != nil {
		return err
	}
	begun := false
	defer func() {
		if begun {
			go p.end(s) // no caller waits for it
		} else {
			p.put(s)
		}
	}()
	fresh := s == nil
	if fresh {
		if s, err = p.db.connectAs(ctx, p.db.reading); err != nil {
			return err
		}
	}
	s.pending = nil
	s.control(beginView, ofGroup)
	c := &conn{texts: &p.db.texts, ctx: ctx, owner: ofGroup, session: s}
	c.flush = func() (*entry, error) {
		sent := c.session.pending
		at, err := c.session.flush()
		if lost(err) && !begun && !fresh {
			// The server was started anew, or has ended an idle session: nothing was read yet.
			again, failed := p.db.connectAs(ctx, p.db.reading)
			if failed != nil {
				return nil, lostError{failed}
			}
			s.close()
			s, c.session = again, again
			if err = s.adopt(sent); err == nil {
				at, err = s.flush()
			}
		}
		begun = true
		if err != nil && !lost(err) {
			return sent[min(at, len(sent)-1)], err
		}
		return nil, err
	}
	return fn(c)
}

// end ends the snapshot of a View and gives its session back.
func (p *pool) end(s *session) {
	if s.dead == nil {
		_ = s.reset() // a session that is lost now is replaced by the next View
	}
	p.put(s)
}

// put gives a session back to the pool; nil, or one that is lost, is replaced by the next View.
func (p *pool) put(s *session) {
	if s != nil && s.dead != nil {
		s.close()
		s = nil
	}
	p.Tokens <- s
}
