package dialect

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/pressly/goose/v3"
)

// Errors of a schema that this binary does not work with.
var (
	ErrNewer = errors.New("the database was written by a newer version of chargehand")
	ErrOlder = errors.New("the database is in use by an older version of chargehand")
)

// Schema is the migrations that a binary knows. Their highest number is the version that they lead to. Numbers ascend
// and may have gaps, because several changes of the schema can be in the making at a time.
type Schema struct {
	Target int64
	files  fs.FS
}

// NewSchema reads the numbers of the migrations in a folder of files.
func NewSchema(files fs.FS, folder string) (known Schema, err error) {
	if known.files, err = fs.Sub(files, folder); err != nil {
		return Schema{}, err
	}
	names, err := fs.Glob(known.files, "*.sql")
	if err != nil {
		return Schema{}, err
	}
	for _, name := range names {
		number, err := goose.NumericComponent(name)
		if err != nil {
			return Schema{}, fmt.Errorf("read the migrations: %w", err)
		}
		known.Target = max(known.Target, number)
	}
	return known, nil
}

// Pending reports whether a database of the version current needs migrations. copied is what one restores to go back
// to an older version. Errors: ErrNewer.
func (s Schema) Pending(current int64, copied string) (bool, error) {
	if current > s.Target {
		return false, fmt.Errorf("%w (schema %d, this one knows %d): use that version, or restore a %s made before it", ErrNewer, current, s.Target, copied)
	}
	return current < s.Target, nil
}

// Apply runs the migrations that are missing, each in a transaction of its own, and closes db. mapError makes an error
// of the driver one of the store.
func (s Schema) Apply(ctx context.Context, dialect goose.Dialect, db *sql.DB, mapError func(error) error) (err error) {
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	provider, err := goose.NewProvider(dialect, db, s.files, goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return fmt.Errorf("read migrations: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate: %w", mapError(err))
	}
	return nil
}
