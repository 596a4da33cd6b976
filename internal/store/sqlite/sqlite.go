package sqlite

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/dialect"
)

// Options say how a database is opened. Zero values mean the defaults given here.
type Options struct {
	// Path of the database file. Its folder is made if it is missing.
	Path string
	// Owner takes the lock that makes this process the only one that drives executions, and
	// holds it until Close. Without it, Open works beside an owner, for short Updates,
	// Views and Backup.
	Owner bool
	// Readers bounds how many Views run at once; default 4.
	Readers int
	// Logger; default: discard.
	Logger *slog.Logger

	onCut  func()    // see logKeeper
	limits logLimits // default: usualLimits
}

// DB implements store.DB.
type DB struct {
	path   string
	lock   *flock.Flock // nil without ownership
	pool   *pool
	writer *writer
	keeper *logKeeper // nil without ownership
	once   sync.Once
	closed error
}

var _ store.DB = (*DB)(nil)

// Open opens the database, makes it if it is missing, and brings its schema up to date.
// Errors: store.ErrLocked if another process owns it; dialect.ErrNewer and dialect.ErrOlder for a schema of
// another version (the latter only without ownership, beside an owner); store.ErrUnavailable.
func Open(o Options) (*DB, error) {
	if o.Readers == 0 {
		o.Readers = 4
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.limits == (logLimits{}) {
		o.limits = usualLimits
	}
	if o.limits.most == 0 { // tests say only what they are about
		o.limits.grown, o.limits.most = o.limits.pages/2, 3*o.limits.pages
	}
	path, err := filepath.Abs(o.Path)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	db := &DB{path: path, pool: newPool(path, o.Readers)}
	if err := db.prepare(o); err != nil {
		return nil, errors.Join(fmt.Errorf("open database %s: %w", path, err), db.unlock())
	}
	return db, nil
}

func (db *DB) prepare(o Options) error {
	if err := os.MkdirAll(filepath.Dir(db.path), 0o700); err != nil {
		return unavailable(err)
	}
	known, err := knownSchema()
	if err != nil {
		return err
	}
	if err := db.bringUp(known, o); err != nil {
		return err
	}
	open := func() (*conn, error) { return openWriter(db.path, o.Owner) }
	c, err := open()
	if err != nil {
		return mapError(err)
	}
	if !o.Owner {
		db.writer = newWriter(c, nil, open)
		go db.writer.loop()
		return nil
	}
	db.keeper = newLogKeeper(db.path, db.pool, o.limits, o.Logger)
	db.keeper.onCut = o.onCut
	db.writer = newWriter(c, db.keeper, open)
	db.keeper.writer = db.writer
	go db.writer.loop()
	go db.keeper.loop()
	return nil
}

// bringUp makes sure of the schema. An owner keeps the lock; others need it only where
// something is to be done.
func (db *DB) bringUp(known schema, o Options) error {
	if o.Owner {
		err := db.takeLock(500 * time.Millisecond)
		if errors.Is(err, store.ErrLocked) {
			// The holder may be no owner: one that makes a key has found no schema yet.
			wait := 100 * time.Millisecond
			if pending, failed := known.pending(db.path); failed == nil && pending {
				wait = bringUpTime
			}
			err = db.takeLock(wait)
		}
		if err != nil {
			return err
		}
		db.sign()
		return known.migrate(db.path, o.Logger)
	}
	// An owner that starts at the same time brings the schema up to date, and keeps the lock.
	for deadline := time.Now().Add(bringUpTime); ; {
		pending, err := known.pending(db.path)
		if err != nil || !pending {
			return err
		}
		err = db.takeLock(100 * time.Millisecond)
		if err == nil {
			return errors.Join(known.migrate(db.path, o.Logger), db.unlock())
		}
		if !errors.Is(err, store.ErrLocked) || time.Now().After(deadline) {
			return fmt.Errorf("%w: %w", dialect.ErrOlder, err)
		}
	}
}

// bringUpTime is how long a process waits for another one to bring the schema up to date.
const bringUpTime = 10 * time.Second

// Update implements store.DB.
func (db *DB) Update(ctx context.Context, fn func(store.Conn) error) error {
	return db.writer.Update(ctx, fn)
}

// View implements store.DB.
func (db *DB) View(ctx context.Context, fn func(store.Conn) error) error {
	return db.pool.view(ctx, fn)
}

// compactPages is the number of free pages given back between two commits.
const compactPages = 256

// Compact implements store.DB.
func (db *DB) Compact(ctx context.Context) error {
	for ctx.Err() == nil {
		var free int64
		err := db.writer.Do(ctx, &request{Maintain: func(c *conn) error {
			if _, err := c.plain(fmt.Sprintf("PRAGMA incremental_vacuum(%d)", compactPages)); err != nil {
				return err
			}
			row, err := c.plain("PRAGMA freelist_count")
			if err == nil {
				free = row[0]
			}
			return err
		}})
		if err != nil {
			return fmt.Errorf("compact database: %w", err)
		}
		if free == 0 {
			break
		}
	}
	if db.keeper == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	if err := db.keeper.shorten(ctx, true, false); err != nil {
		return fmt.Errorf("compact database: %w", err)
	}
	return nil
}

// Close finishes the queued Updates and running Views and gives the lock back. Later
// calls of other methods return store.ErrUnavailable.
func (db *DB) Close() error {
	db.once.Do(func() {
		var keeper error
		if db.keeper != nil {
			keeper = db.keeper.close()
		}
		db.closed = errors.Join(keeper, db.pool.Close((*conn).close), db.writer.close(), db.unlock())
	})
	return db.closed
}
