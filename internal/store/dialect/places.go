package dialect

import (
	"context"
	"errors"
)

// Places bounds how many Views run at once. Each place is a token in a channel: a connection, or nil where none has
// been opened yet, or the last one was lost. The holder of all tokens knows that no View runs.
type Places[Connection any] struct {
	Tokens chan *Connection
	closed chan struct{}
}

// NewPlaces returns so many places, without connections.
func NewPlaces[Connection any](size int) Places[Connection] {
	p := Places[Connection]{Tokens: make(chan *Connection, size), closed: make(chan struct{})}
	for range size {
		p.Tokens <- nil
	}
	return p
}

// Take waits for a place. Whoever has one puts its token back.
func (p *Places[Connection]) Take(ctx context.Context) (*Connection, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case <-p.closed:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	case c := <-p.Tokens:
		if err := p.Open(); err != nil {
			p.Tokens <- c
			return nil, err
		}
		return c, nil
	}
}

// Open returns ErrClosed from the beginning of Close on.
func (p *Places[Connection]) Open() error {
	select {
	case <-p.closed:
		return ErrClosed
	default:
		return nil
	}
}

// Close waits for running Views and closes their connections. It is called once.
func (p *Places[Connection]) Close(end func(*Connection) error) error {
	close(p.closed)
	var failed []error
	for range cap(p.Tokens) {
		if c := <-p.Tokens; c != nil {
			failed = append(failed, end(c))
		}
	}
	return errors.Join(failed...)
}
