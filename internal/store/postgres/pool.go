package postgres

import (
	"context"

	"github.com/chargehand/chargehand/internal/store"
)

// pool holds the sessions that read. Each place is a token in a channel: a session, or nil
// where none has been opened yet, or the last one was lost.
type pool struct {
	db     *DB
	places chan *session
	closed chan struct{}
}

func newPool(db *DB, size int) *pool {
	p := &pool{db: db, places: make(chan *session, size), closed: make(chan struct{})}
	for range size {
		p.places <- nil
	}
	return p
}

const beginView = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"

// view runs fn on a snapshot, which the first statement takes. The transaction is begun
// together with that statement, and nobody waits for its end.
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
	case s = <-p.places:
	}
	select {
	case <-p.closed:
		p.places <- s
		return errClosed
	default:
	}
	defer func() {
		if s != nil && s.dead != nil {
			s.close()
			s = nil
		}
		p.places <- s
	}()
	fresh := s == nil
	if fresh {
		var err error
		if s, err = p.db.connectAs(ctx, p.db.reading); err != nil {
			return err
		}
	}
	s.pending = nil
	s.control(beginView, nobody)
	begun := false
	c := &conn{texts: &p.db.texts, ctx: ctx, owner: nobody, session: s}
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
			s.pending = sent
			at, err = s.flush()
		}
		begun = true
		if err != nil && !lost(err) {
			return sent[min(at, len(sent)-1)], err
		}
		return nil, err
	}
	defer func() {
		s.pending = nil
		if begun && s.dead == nil {
			s.control("ROLLBACK", nobody)
			_ = s.part() // a session that is lost now is replaced by the next View
		}
	}()
	return fn(c)
}

// close waits for running Views and closes the sessions. It is called once.
func (p *pool) close() {
	close(p.closed)
	for range cap(p.places) {
		if s := <-p.places; s != nil {
			s.close()
		}
	}
}
