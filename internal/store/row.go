package store

import (
	"fmt"

	"github.com/chargehand/chargehand"
)

// Arguments and columns. A missing id, text or byte value is NULL in the database and the
// zero value in Go; a missing number is 0 in both.

// columnsFrom are the columns of a row behind the first ones.
type columnsFrom struct {
	Row
	first int
}

func (c columnsFrom) Int(col int) int64    { return c.Row.Int(c.first + col) }
func (c columnsFrom) Bytes(col int) []byte { return c.Row.Bytes(c.first + col) }

func idArg[K any](id chargehand.ID[K]) any {
	if id.IsZero() {
		return nil
	}
	return id[:]
}

func bytesArg(b []byte) any {
	if b == nil {
		return nil
	}
	return b
}

func textArg(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// numberArg keeps a number that most rows do not have out of them.
func numberArg(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}

func flagArg(b bool) any {
	if b {
		return int64(1)
	}
	return int64(0)
}

// sizeArg keeps the size of an inline payload out of the row: it is its length.
func sizeArg(p Payload) any {
	if p.Blob == nil {
		return nil
	}
	return p.Size
}

func scanID[K any](r Row, col int, id *chargehand.ID[K]) {
	*id = chargehand.ID[K]{}
	copy(id[:], r.Bytes(col))
}

// one runs a query that has at most one row and returns ErrNotFound for none.
func (r *Reader) one(query string, row func(Row), args ...any) error {
	found := false
	err := r.c.Query(query, func(rw Row) error {
		found = true
		row(rw)
		return nil
	}, args...)
	if err == nil && !found {
		return ErrNotFound
	}
	return err
}

// readOne reads the row of a query that has at most one; what says in an error what was read. Errors: ErrNotFound.
func readOne[T any](r *Reader, what, query string, scan func(Row, *T), args ...any) (v T, err error) {
	if err = r.one(query, func(row Row) { scan(row, &v) }, args...); err != nil {
		var none T
		return none, fmt.Errorf("%s: %w", what, err)
	}
	return v, nil
}

// readAll reads all rows of a query; what says in an error what was read.
func readAll[T any](r *Reader, what, query string, scan func(Row, *T), args ...any) (list []T, err error) {
	err = r.c.Query(query, func(row Row) error {
		var v T
		list = append(list, v)
		scan(row, &list[len(list)-1])
		return nil
	}, args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return list, nil
}

// count runs a query whose only row has one number.
func (r *Reader) count(what, query string, args ...any) (int64, error) {
	return readOne(r, what, query, func(row Row, n *int64) { *n = row.Int(0) }, args...)
}

// exec runs a statement and returns how many rows it has changed.
func (t *Tx) exec(what, query string, args ...any) (int64, error) {
	n, err := t.c.Exec(query, args...)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	return n, nil
}

// change runs a statement that must change exactly one row; none is ErrConflict.
func (t *Tx) change(what, query string, args ...any) error {
	n, err := t.exec(what, query, args...)
	if err == nil && n == 0 {
		err = fmt.Errorf("%s: %w", what, ErrConflict)
	}
	return err
}

// insert runs an INSERT and returns the number it assigned.
func (t *Tx) insert(what, query string, args ...any) (int64, error) {
	no, err := t.c.Insert(query, args...)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", what, err)
	}
	return no, nil
}
