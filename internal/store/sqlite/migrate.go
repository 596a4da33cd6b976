package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"

	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // the database/sql driver that migrations run on

	"github.com/chargehand/chargehand/internal/store/dialect"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// schema is the migrations that this binary knows.
type schema struct{ dialect.Schema }

func knownSchema() (schema, error) {
	known, err := dialect.NewSchema(migrationFiles, "migrations")
	return schema{known}, err
}

// pending reports whether the file at path is missing or needs migrations. Errors: dialect.ErrNewer.
func (s schema) pending(path string) (bool, error) {
	current, err := version(path)
	if err != nil {
		return false, err
	}
	return s.Pending(current, "backup")
}

// migrate makes the file if it is missing and brings its schema up to date. The caller
// holds the lock. An existing database is copied first.
func (s schema) migrate(path string, logger *slog.Logger) error {
	if pending, err := s.pending(path); err != nil || !pending {
		return err
	}
	current, err := version(path)
	if err != nil {
		return err
	}
	if current == 0 {
		if err := create(path); err != nil {
			return err
		}
	} else {
		kept := fmt.Sprintf("%s.before-%d", path, s.Target)
		if err := copyDatabase(context.Background(), path, kept); err != nil {
			return fmt.Errorf("copy the database before migration: %w", err)
		}
		logger.Info("database copied before migration", "copy", kept, "from", current, "to", s.Target)
	}
	return s.apply(path)
}

// version reads the number of the last migration of the file at path; 0 for an empty one
// and for none.
func version(path string) (int64, error) {
	if info, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return 0, nil
	}
	c, err := openConn(path)
	if err != nil {
		return 0, mapError(err)
	}
	defer c.close()
	row, err := c.plain("SELECT COUNT(*) FROM sqlite_schema WHERE name = 'goose_db_version'")
	if err == nil && row[0] > 0 {
		row, err = c.plain("SELECT COALESCE(MAX(version_id), 0) FROM goose_db_version WHERE is_applied")
	}
	if err != nil {
		return 0, mapError(err)
	}
	return row[0], nil
}

// create makes an empty file with the settings that must come before its first page.
func create(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return unavailable(err)
	}
	if err := f.Close(); err != nil { // before any handle of SQLite's: see takeLock
		return unavailable(err)
	}
	c, err := openConn(path, "auto_vacuum = INCREMENTAL", "journal_mode = WAL")
	if err != nil {
		return mapError(err)
	}
	if err := c.close(); err != nil {
		return mapError(err)
	}
	return syncFolder(filepath.Dir(path))
}

// apply runs the migrations that are missing, each in a transaction of its own.
func (s schema) apply(path string) error {
	address := url.URL{Scheme: "file", Path: path, RawQuery: url.Values{
		"_pragma": {"busy_timeout(10000)", "synchronous(FULL)"}, "_txlock": {"immediate"},
	}.Encode()}
	db, err := sql.Open("sqlite", address.String())
	if err != nil {
		return unavailable(err)
	}
	return s.Apply(context.Background(), goose.DialectSQLite3, db, mapError)
}
