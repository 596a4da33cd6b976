package service

import (
	"context"

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

// numberCursor is the cursor of an item that is found by its number.
func numberCursor(no int64) Cursor { return Cursor{Milli: no, ID: [16]byte{1}} }
