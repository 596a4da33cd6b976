package app

import (
	"context"
	"path/filepath"

	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/sqlite"
)

// database is the rows of an installation, and the right to drive executions from them.
type database struct {
	store *store.Store
}

// openDatabase opens the database that cfg names. Errors: store.ErrLocked.
func openDatabase(_ context.Context, cfg Config) (*database, error) {
	db, err := sqlite.Open(sqlite.Options{Path: filepath.Join(cfg.DataDir, databaseName), Owner: true, Logger: cfg.Log})
	if err != nil {
		return nil, err
	}
	return &database{store: store.New(db)}, nil
}

// openBeside opens the database beside a running server or without one.
func openBeside(_ context.Context, cfg Config) (*store.Store, error) {
	db, err := sqlite.Open(sqlite.Options{Path: filepath.Join(cfg.DataDir, databaseName)})
	if err != nil {
		return nil, err
	}
	return store.New(db), nil
}

// tryOwn reports whether this process may drive executions now. A SQLite file is owned for
// as long as it is open.
func (d *database) tryOwn(context.Context) (bool, error) { return true, nil }

// awaitOwn waits until this process may drive executions, or ctx ends.
func (d *database) awaitOwn(context.Context) error { return nil }

// lost is closed when another process may drive the executions from now on; nil: never.
func (d *database) lost() <-chan struct{} { return nil }

func (d *database) close() error { return d.store.Close() }
