package postgres

import (
	"context"

	"github.com/chargehand/chargehand/internal/store"
)

// pool holds the sessions that read. Each place is a token in a channel: a session, or nil
// where none has been opened yet, or the last one was lost.
type pool struct {
	db     *DB
	tokens chan *session
	closed chan struct{}
}

func newPool(db *DB, size int) *pool {
	p := &pool{db: db, tokens: make(chan *session, size), closed: make(chan struct{})}
	for range size {
		p.tokens <- nil
	}
	return p
}

const beginView = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

// view runs fn on a snapshot, which the first statement takes. The transaction is begun
// together with that statement.
func (p *pool) view(ctx context.Context, fn func(store.Conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var s *session
	select {
	case <-p.closed:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	case s = <-p.tokens:
	}
	select {
	case <-p.closed:
		p.tokens <- s
		return errClosed
	default:
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
		var err error
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
	p.tokens <- s
}

// close waits for running Views and closes the sessions. It is called once.
func (p *pool) close() {
	close(p.closed)
	for range cap(p.tokens) {
		if s := <-p.tokens; s != nil {
			s.close()
		}
	}
}
