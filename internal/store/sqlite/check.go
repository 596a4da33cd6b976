package sqlite

import (
	"context"
	"fmt"

	"github.com/chargehand/chargehand/internal/store"
)

// Check looks through the whole file and returns an error for the first thing that is not as
// it should be. It may take long on a large database and disturbs nobody.
func (db *DB) Check(ctx context.Context) error {
	return db.View(ctx, func(c store.Conn) error {
		return c.Query(`PRAGMA quick_check(1)`, func(row store.Row) error {
			if result := row.Text(0); result != "ok" {
				return fmt.Errorf("the database is damaged: %s", result)
			}
			return nil
		})
	})
}
