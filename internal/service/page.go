package service

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"math"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// Page is one page of a list. Cursor is zero if there is no next one.
type Page[T any] struct {
	Data   []T
	Cursor Cursor
}

// readPage reads a page of at most limit items. read returns up to most rows behind the cursor of the page, cursor is
// that of a row, and show what may be shown of the rows.
func readPage[Row, T any](
	ctx context.Context, s *Service, limit int,
	read func(r *store.Reader, most int) ([]Row, error), cursor func(*Row) Cursor, show func(*store.Reader, []Row) ([]T, error),
) (*Page[T], error) {
	page := &Page[T]{}
	err := s.view(ctx, func(r *store.Reader) error {
		rows, err := read(r, limit+1)
		if err != nil {
			return err
		}
		rows, page.Cursor = cutPage(rows, limit, cursor)
		page.Data, err = show(r, rows)
		return err
	})
	return page, err
}

// cutPage shortens the rows of a page to limit, and returns the cursor of the next page. One row more than limit was
// read, which says without another query whether there is a next page.
func cutPage[T any](rows []T, limit int, cursor func(last *T) Cursor) ([]T, Cursor) {
	if len(rows) <= limit {
		return rows, Cursor{}
	}
	return rows[:limit], cursor(&rows[limit-1])
}

// each shows one row after the other.
func each[Row, T any](show func(*store.Reader, *Row) (T, error)) func(*store.Reader, []Row) ([]T, error) {
	return func(r *store.Reader, rows []Row) ([]T, error) {
		shown := make([]T, len(rows))
		for i := range rows {
			var err error
			if shown[i], err = show(r, &rows[i]); err != nil {
				return nil, err
			}
		}
		return shown, nil
	}
}

// idCursor is the cursor of an item that is found by its id alone.
func idCursor[K any](id chargehand.ID[K]) Cursor { return Cursor{Milli: id.Milli(), ID: id} }

// sealedCursor marks the cursor of an execution that the reader may not see: its id is encrypted.
const sealedCursor = math.MaxInt64

// floorCursor is the cursor of a list that ends where no more rows were looked at. A principal that does not see
// everything may not see the row either, so its cursor tells nothing about it.
func (s *Service) floorCursor(p *Principal, floor chargehand.ExecutionID) Cursor {
	if floor.IsZero() || p.seesEverything() {
		return idCursor(floor)
	}
	c := Cursor{Milli: sealedCursor}
	s.cursors.Encrypt(c.ID[:], floor[:])
	return c
}

// openCursor is the inverse of floorCursor; other cursors stay as they are.
func (s *Service) openCursor(c Cursor) Cursor {
	if c.Milli != sealedCursor {
		return c
	}
	var id chargehand.ExecutionID
	s.cursors.Decrypt(id[:], c.ID[:])
	return idCursor(id)
}

// newCursors makes the cipher of cursors, the same on all nodes. An id is one block of it, and no two are the same.
func newCursors(p *pepper) cipher.Block {
	key := p.digest("cursors of lists")
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic("service: " + err.Error()) // the key has the right size
	}
	return block
}

// numberCursor is the cursor of an item that is found by its number.
func numberCursor(no int64) Cursor { return Cursor{Milli: no, ID: [16]byte{1}} }
