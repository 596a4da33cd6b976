package dialect

import (
	"context"
	"errors"
)

// Connections bounds how many Views run at once. A View runs with a token: a connection, or nil where none has been
// opened yet, or the last one was lost. The holder of all tokens knows that no View runs.
type Connections[Connection any] struct {
	Tokens chan *Connection
	closed chan struct{}
}

// NewConnections returns so many tokens, without connections.
func NewConnections[Connection any](size int) Connections[Connection] {
	l := Connections[Connection]{Tokens: make(chan *Connection, size), closed: make(chan struct{})}
	for range size {
		l.Tokens <- nil
	}
	return l
}

// Take waits for a token, which the caller sends back to Tokens.
func (l *Connections[Connection]) Take(ctx context.Context) (*Connection, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case <-l.closed:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	case c := <-l.Tokens:
		if err := l.Open(); err != nil {
			l.Tokens <- c
			return nil, err
		}
		return c, nil
	}
}

// Open returns ErrClosed from the beginning of Close on.
func (l *Connections[Connection]) Open() error {
	select {
	case <-l.closed:
		return ErrClosed
	default:
		return nil
	}
}

// Close waits for running Views and closes their connections. It is called once.
func (l *Connections[Connection]) Close(end func(*Connection) error) error {
	close(l.closed)
	var failed []error
	for range cap(l.Tokens) {
		if c := <-l.Tokens; c != nil {
			failed = append(failed, end(c))
		}
	}
	return errors.Join(failed...)
}
