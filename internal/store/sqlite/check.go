package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/chargehand/chargehand/internal/store"
)

// maxDamages bounds what one reading of the file lists.
const maxDamages = 1000

// State is what can be said of a file without changing it.
type State struct {
	Exists   bool
	Schema   int64 // version of the schema; 0: none, as in an empty file
	Known    int64 // version that this program works with
	LogBytes int64 // length of the write-ahead log
}

// Inspect looks at the file at path. Errors: dialect.ErrNewer; store.ErrUnavailable for what is no database.
func Inspect(path string) (State, error) {
	known, err := knownSchema()
	if err != nil {
		return State{}, err
	}
	state := State{Known: known.Target}
	if _, err := os.Stat(path); err == nil {
		state.Exists = true
	} else if !errors.Is(err, fs.ErrNotExist) {
		return state, unavailable(err)
	}
	state.LogBytes = LogBytes(path)
	if state.Schema, err = version(path); err != nil {
		// SQLite says only that it cannot open the file; the system says why.
		if file, reason := os.OpenFile(path, os.O_RDWR, 0); reason != nil {
			err = unavailable(reason)
		} else {
			err = errors.Join(err, file.Close())
		}
		return state, fmt.Errorf("open database %s: %w", path, err)
	}
	_, err = known.pending(path)
	return state, err
}

// LogBytes is the length of the write-ahead log of a database; 0: there is none.
func LogBytes(path string) int64 {
	info, err := os.Stat(path + "-wal")
	if err != nil {
		return 0
	}
	return info.Size()
}

// Damages looks through the whole file and lists what is not as it should be. It may take long on a large database and
// disturbs no writer, but the write-ahead log grows meanwhile.
func (db *DB) Damages(ctx context.Context) ([]string, error) {
	var damages []string
	err := db.View(ctx, func(c store.Conn) error {
		damages = damages[:0]
		return quickCheck(c, fmt.Sprintf("PRAGMA quick_check(%d)", maxDamages), &damages)
	})
	return damages, readable(err, &damages)
}

// TableDamages is Damages table by table, so that no reading lasts longer than its
// table, for use beside the work. What belongs to no
// table, as lists of free pages, is left out.
func (db *DB) TableDamages(ctx context.Context) ([]string, error) {
	var tables, damages []string
	err := db.View(ctx, func(c store.Conn) error {
		tables = tables[:0]
		return c.Query(`SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name`, func(row store.Row) error {
			tables = append(tables, row.Text(0))
			return nil
		})
	})
	for _, table := range tables {
		if err != nil || len(damages) >= maxDamages {
			break
		}
		err = db.View(ctx, func(c store.Conn) error {
			return quickCheck(c, "PRAGMA quick_check('"+strings.ReplaceAll(table, "'", "''")+"')", &damages)
		})
	}
	return damages, readable(err, &damages)
}

func quickCheck(c store.Conn, text string, damages *[]string) error {
	return c.Query(text, func(row store.Row) error {
		for line := range strings.Lines(row.Text(0)) {
			if line = strings.TrimSpace(line); line != "ok" && line != "" && !strings.HasPrefix(line, "*** in database") {
				*damages = append(*damages, line)
			}
		}
		return nil
	})
}

// readable makes a database that is so damaged that it cannot even be looked through one of the damages.
func readable(err error, damages *[]string) error {
	if err != nil && corrupt(err) {
		*damages = append(*damages, err.Error())
		return nil
	}
	return err
}

// Check looks through the whole file and returns an error for what is not as it should be.
func (db *DB) Check(ctx context.Context) error {
	damages, err := db.Damages(ctx)
	if err == nil && len(damages) > 0 {
		err = fmt.Errorf("the database is damaged: %s", strings.Join(damages, "; "))
	}
	return err
}
