package storetest

import (
	"context"
	"errors"

	"github.com/chargehand/chargehand/internal/store"
)

// Twice wraps a database so that it runs the fn of every Update twice, and undoes the first
// run, as PostgreSQL does after a deadlock: an fn that adds to what it captured, instead of
// setting it, makes a test fail that is run over it.
func Twice(db store.DB) store.DB { return twice{db} }

type twice struct{ store.DB }

var errUndone = errors.New("run again")

// Update implements store.DB.
func (t twice) Update(ctx context.Context, fn func(store.Conn) error) error {
	err := t.DB.Update(ctx, func(c store.Conn) error {
		if err := fn(c); errors.Is(err, store.ErrUnavailable) {
			return err
		}
		return errUndone
	})
	if !errors.Is(err, errUndone) {
		return err
	}
	return t.DB.Update(ctx, fn)
}
