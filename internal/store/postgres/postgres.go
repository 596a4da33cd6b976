package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/chargehand/chargehand/internal/store"
)

// DB implements store.DB.
type DB struct {
	options Options
	config  *pgconn.Config
	reading *pgconn.Config
	schema  schema
	texts   texts
	writer  *writer
	pool    *pool
	owner   *ownership
	trips   atomic.Int64
	once    sync.Once

	resolveTime time.Duration
	standbyBeat time.Duration
}

var _ store.DB = (*DB)(nil)

// oldest is the oldest server that has all the timeouts that an owner needs.
const oldest = 14

// Open connects to a database. In Shared mode it brings the schema up to date; in Owner
// mode TryOwn or AwaitOwner does, and until then Update returns store.ErrUnavailable.
// Errors: dialect.ErrNewer; in Shared mode also dialect.ErrOlder and ErrOwned; store.ErrUnavailable, also for a
// server that does not let us in; a URL that is not understood, or that leads to a connection pooler.
func Open(ctx context.Context, o Options) (*DB, error) {
	o.fill()
	config, err := parseURL(o.URL)
	if err != nil {
		return nil, err
	}
	configure(config, &o)
	known, err := knownSchema()
	if err != nil {
		return nil, err
	}
	db := &DB{options: o, config: config, reading: reading(config), schema: known, resolveTime: resolveTime, standbyBeat: standbyBeat}
	db.owner = &ownership{db: db, lost: make(chan struct{})}
	if err := db.prepare(ctx); err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	db.pool = newPool(db, o.Readers)
	db.writer = newWriter()
	for range o.Writers {
		db.writer.start(db.worker())
	}
	return db, nil
}

// prepare looks at the server and at the schema.
func (db *DB) prepare(ctx context.Context) error {
	s, err := db.connect(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	r, err := s.ask(`SELECT current_setting('server_version_num')::int, current_setting('fsync'), current_setting('synchronous_commit'),
 current_setting('server_encoding'), current_schema() IS NULL, pg_backend_pid()`)
	if err != nil {
		return mapError(err)
	}
	if !s.isDirect(r.Int(5)) {
		return errPooler
	}
	if version := r.Int(0) / 10000; version < oldest {
		return fmt.Errorf("PostgreSQL %d is too old: version %d or newer is needed", version, oldest)
	}
	if encoding := r.Text(3); encoding != "UTF8" {
		return fmt.Errorf("the encoding of the database is %s: create it with ENCODING 'UTF8'", encoding)
	}
	if r.Int(4) == 1 {
		return errors.New("the search_path of the database's user names no schema that exists: create it first")
	}
	if r.Text(1) == "off" {
		db.options.Logger.Warn("PostgreSQL runs with fsync = off: a power cut can destroy the database")
	}
	if r.Text(2) == "off" {
		// An Update is durable when it returns. Other settings are a choice about replicas.
		db.config.RuntimeParams["synchronous_commit"] = "on"
	}
	if db.options.Mode == Shared {
		return db.bringUp(ctx, s)
	}
	_, err = db.schema.pending(s)
	return err
}

func (db *DB) worker() *worker {
	w := &worker{texts: &db.texts, maxGroup: maxShared, resolve: db.resolve, inDoubt: func(mark) {}}
	w.mark.writer = make([]byte, 16)
	_, _ = rand.Read(w.mark.writer) // never fails
	w.open = func() (*session, error) {
		ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
		defer cancel()
		if db.options.Drives {
			return db.connectDriver(ctx)
		}
		return db.connect(ctx)
	}
	if db.options.Mode == Owner {
		w.maxGroup, w.open, w.inDoubt = maxGroup, db.owner.regain, db.owner.addInDoubt
		w.ahead = true
		w.idle, w.interval = db.owner.beat, db.options.Lease/4
	}
	return w
}

// resolveTime bounds how long an Update whose COMMIT was not answered waits to know.
const resolveTime = 10 * time.Second

// resolve asks what became of a transaction. After a crash of the server it is known as
// soon as the server is back. It runs on the goroutine of the worker, so that of an owner, which has one,
// writes nothing and sends no heartbeat meanwhile, for up to resolveTime, longer than the lease. That
// costs nothing: the session whose COMMIT was not answered is gone, with its lock, so there is nothing that a
// heartbeat could keep; and nothing may be written with another one before the outcome is known, because
// regain refuses that (clear). If another process takes the database over in between, regain finds its epoch.
func (db *DB) resolve(m mark) (committed, known bool) {
	ctx, cancel := context.WithTimeout(context.Background(), db.resolveTime)
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		if s, err := db.connect(ctx); err == nil {
			committed, known = m.read(s)
			s.close()
		}
		if known {
			return committed, true
		}
		select { // not reached, or the server still works on it
		case <-ctx.Done():
			return false, false
		case <-ticker.C:
		}
	}
}

// read reports whether the transaction of a mark was committed.
func (m mark) read(s *session) (committed, known bool) {
	r, err := s.ask(readMark, m.writer)
	if err != nil || r.Null(0) {
		return false, false
	}
	return r.Int(0) >= m.commits, true
}

// Update implements store.DB.
func (db *DB) Update(ctx context.Context, fn func(store.Conn) error) error {
	return db.writer.Update(ctx, fn)
}

// View implements store.DB.
func (db *DB) View(ctx context.Context, fn func(store.Conn) error) error {
	return db.pool.view(ctx, fn)
}

// Compact implements store.DB. There is nothing to do: PostgreSQL's autovacuum gives space
// back to its own tables, and the migrations tell it how often.
func (db *DB) Compact(ctx context.Context) error {
	if err := db.pool.Open(); err != nil {
		return err
	}
	return ctx.Err()
}

// Backup implements store.DB. It refuses: PostgreSQL has tools of its own.
func (db *DB) Backup(context.Context, string) error {
	if err := db.pool.Open(); err != nil {
		return err
	}
	return errors.New("back up database: a PostgreSQL database is backed up with PostgreSQL's own tools: use pg_dump, or pg_basebackup with an archive of the log")
}

// Check asks the server for an answer.
func (db *DB) Check(ctx context.Context) error {
	return db.View(ctx, func(c store.Conn) error {
		return c.Query(`SELECT 1`, func(store.Row) error { return nil })
	})
}

// Close finishes the queued Updates and running Views and gives the lock back. Later calls
// of other methods return store.ErrUnavailable.
func (db *DB) Close() error {
	db.once.Do(func() {
		db.writer.close()
		db.pool.Close(func(s *session) error { s.close(); return nil })
	})
	return nil
}
