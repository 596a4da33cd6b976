package app

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/chargehand/chargehand/internal/installation"
	"github.com/chargehand/chargehand/internal/keyring"
	"github.com/chargehand/chargehand/internal/pause"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/postgres"
	"github.com/chargehand/chargehand/internal/store/sqlite"
)

// database is the rows of an installation, and the right to drive executions from them.
type database struct {
	store *store.Store
	file  *sqlite.DB   // nil: PostgreSQL
	owner *postgres.DB // where one process among several owns it; nil: every process that has it open
}

// openDatabase opens the database that cfg names. Errors: store.ErrLocked: another server
// runs on the same data directory; store.ErrUnavailable.
func openDatabase(ctx context.Context, cfg Config) (*database, error) {
	if cfg.DatabaseURL == "" {
		db, err := sqlite.Open(sqlite.Options{Path: filepath.Join(cfg.DataDir, installation.DatabaseName), Owner: true, Logger: cfg.Log})
		if err != nil {
			return nil, err
		}
		cfg.EndStart()
		return &database{store: cfg.newStore(db), file: db}, nil
	}
	mode := postgres.Owner
	if cfg.Engine == installation.EngineTemporal {
		mode = postgres.Shared
	}
	db, err := postgres.Open(ctx, postgres.Options{URL: cfg.DatabaseURL, Mode: mode, Drives: mode == postgres.Shared, Name: keyring.ProcessName(), Logger: cfg.Log})
	if err != nil {
		return nil, err
	}
	if mode == postgres.Shared {
		return &database{store: cfg.newStore(db)}, nil
	}
	return &database{store: cfg.newStore(db), owner: db}, nil
}

// newStore is the queries over the database that this process works on.
func (c Config) newStore(db store.DB) *store.Store {
	db = c.measures.Measure(db)
	if c.WrapDatabase != nil {
		db = c.WrapDatabase(db)
	}
	return store.New(db)
}

// reopenPause lies between two attempts to open a database that cannot be reached.
const reopenPause = time.Second

// awaitDatabase is openDatabase for one that was there before: it tries until ctx ends.
func awaitDatabase(ctx context.Context, cfg Config) (*database, error) {
	for logged := false; ; {
		db, err := openDatabase(ctx, cfg)
		if err == nil || ctx.Err() != nil || !errors.Is(err, store.ErrUnavailable) {
			return db, err
		}
		if !logged {
			logged = true
			cfg.Log.Warn("waiting for the database", "error", err)
		}
		_ = pause.For(ctx, reopenPause) // an attempt with a context that has ended is the last one
	}
}

// tryOwn reports whether this process may drive executions now.
func (d *database) tryOwn(ctx context.Context) (bool, error) {
	if d.owner == nil {
		return true, nil
	}
	return d.owner.TryOwn(ctx)
}

// awaitOwn waits until this process may drive executions, or ctx ends.
func (d *database) awaitOwn(ctx context.Context) error {
	if d.owner == nil {
		return nil
	}
	return d.owner.AwaitOwner(ctx)
}

// lost is closed when another process may drive the executions from now on: then d is of no
// use any more. Nil: never.
func (d *database) lost() <-chan struct{} {
	if d.owner == nil {
		return nil
	}
	return d.owner.Lost()
}

func (d *database) close() error { return d.store.Close() }
