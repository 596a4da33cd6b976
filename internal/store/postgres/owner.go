package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/dialect"
)

// ownerLock and migrationLock are the first halves of advisory locks; the second is the
// schema, so that several installations can share a database.
const (
	ownerLock     = 0x63686172 // "char"
	migrationLock = 0x67656861 // "geha"
	lockSchema    = "hashtext(current_schema())"
)

// markTime is how long the mark of a connection that is not used any more is kept.
const markTime = 30 * 24 * time.Hour

// retryOwner is the pause between two attempts to get the lock, or to get it back.
const retryOwner = 500 * time.Millisecond

// ownership is what an owner knows about its lock.
//
// The lock belongs to one session. Every write goes through that session, so that losing
// it is losing the right to write. The epoch in table ownership is raised by each
// process that takes the lock; the same process may take it back only if it finds the
// epoch that it left: then no other process has written in between, and what it remembers is true.
type ownership struct {
	db    *DB
	mu    sync.Mutex // one TryOwn at a time
	owned atomic.Bool
	epoch int64  // set once, before owned
	pid   uint32 // of the last session; used by the worker
	born  string // when the server started it

	inDoubt []mark // transactions whose Updates returned store.ErrInDoubt; used by the worker

	once sync.Once
	lost chan struct{}
}

// Lost is closed when the ownership is gone for good: another process has owned the
// database since, or an Update that was reported as failed turned out to be written. The
// process must give the database up. It stays open while the connection is away.
func (db *DB) Lost() <-chan struct{} { return db.owner.lost }

// TryOwn takes the lock of the database, if it is free, and brings the schema up to
// date. It returns false, without an error, while another process is the owner. Errors:
// dialect.ErrNewer; ErrLost, when this DB has been the owner before; store.ErrUnavailable.
func (db *DB) TryOwn(ctx context.Context) (bool, error) {
	o := db.owner
	if db.options.Mode != Owner {
		return false, errors.New("own database: it is open in Shared mode")
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.isLost() {
		return false, lostOwnership()
	}
	if o.owned.Load() {
		return true, nil
	}
	s, err := db.connect(ctx)
	if err != nil {
		return false, err
	}
	taken, err := o.take(ctx, s)
	if err != nil || !taken {
		s.close()
		return false, wrap("own database", err)
	}
	err = db.writer.Do(ctx, &request{Maintain: func(w *worker) error {
		w.drop()
		w.session = s
		o.owned.Store(true)
		return nil
	}})
	if err != nil {
		s.close()
		return false, wrap("own database", err)
	}
	db.options.Logger.Info("database owned", "epoch", o.epoch)
	return true, nil
}

// AwaitOwner waits until this process is the owner. It asks twice a second, and is among the Standbys meanwhile.
// Errors: those of TryOwn except store.ErrUnavailable, and ctx's.
func (db *DB) AwaitOwner(ctx context.Context) error {
	if ok, err := db.TryOwn(ctx); ok && err == nil {
		return nil
	}
	waiting, stop := context.WithCancel(ctx)
	announced := make(chan struct{})
	go func() {
		defer close(announced)
		db.announce(waiting)
	}()
	defer func() {
		stop()
		<-announced
	}()
	ticker := time.NewTicker(retryOwner)
	defer ticker.Stop()
	for warned := false; ; {
		ok, err := db.TryOwn(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case ok:
			return nil
		case err != nil && (errors.Is(err, ErrLost) || errors.Is(err, dialect.ErrClosed) || !errors.Is(err, store.ErrUnavailable)):
			return err
		case err != nil && !warned:
			warned = true
			db.options.Logger.Warn("waiting for the database", "error", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// take locks with a new session, migrates and raises the epoch.
func (o *ownership) take(ctx context.Context, s *session) (bool, error) {
	if ok, err := s.lock("pg_try_advisory_lock"); err != nil || !ok {
		return false, err
	}
	if err := o.db.schema.migrate(ctx, o.db, s); err != nil {
		return false, err
	}
	epoch, err := raiseEpoch(s)
	if err != nil {
		return false, err
	}
	o.epoch = epoch
	if _, err := s.ask(forgetMark, time.Now().Add(-markTime).UnixMilli()); err != nil {
		return false, mapError(err)
	}
	return true, o.configureSession(s)
}

// raiseEpoch lets an owner whose session is lost see that another process has driven the executions.
func raiseEpoch(s *session) (int64, error) {
	r, err := s.ask(`INSERT INTO ownership (one, epoch, since_ms) VALUES (1, 1, $1)
 ON CONFLICT (one) DO UPDATE SET epoch = ownership.epoch + 1, since_ms = excluded.since_ms RETURNING epoch`, time.Now().UnixMilli())
	if err != nil {
		return 0, mapError(err)
	}
	return r.Int(0), nil
}

// errPooler refuses a pooler between us and the server, which would move our statements between sessions, so that a
// lock of a session would mean nothing.
var errPooler = errors.New("--database-url leads to a connection pooler: a server needs connections of its own to PostgreSQL")

// isDirect reports whether the process of the server that answers is the one that the connection began with: a pooler
// tells a number of its own.
func (s *session) isDirect(pid int64) bool { return pid == int64(s.pid) }

// lock tries to get the owner's lock with a function of PostgreSQL. A session of a pooler must not get it even for a
// moment: the pooler keeps that session, with its locks, when our connection ends, and no other process could get it.
func (s *session) lock(function string) (bool, error) {
	r, err := s.ask(fmt.Sprintf("SELECT CASE WHEN pg_backend_pid() = %d THEN %s(%d, %s) END, pg_backend_pid()", s.pid, function, ownerLock, lockSchema))
	if err != nil {
		return false, mapError(err)
	}
	if !s.isDirect(r.Int(1)) {
		return false, errPooler
	}
	return r.Int(0) == 1, nil
}

// configureSession lets the server end the session when it has received nothing for the time of a
// lease, and remembers who it is.
func (o *ownership) configureSession(s *session) error {
	r, err := s.ask(fmt.Sprintf("SELECT set_config('idle_session_timeout', '%s', false), backend_start::text FROM pg_stat_activity WHERE pid = pg_backend_pid()", ms(o.db.options.Lease)))
	if err != nil {
		return mapError(err)
	}
	o.pid, o.born = s.pid, r.Text(1)
	s.wait = o.db.options.Statement + 2*time.Second
	return nil
}

// regain opens a session that takes the place of the one that was lost. The worker calls
// it.
func (o *ownership) regain() (*session, error) {
	if o.isLost() {
		return nil, lostOwnership()
	}
	if !o.owned.Load() {
		return nil, errNotOwner
	}
	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	s, err := o.db.connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := o.regainWith(s); err != nil {
		s.close()
		return nil, err
	}
	o.db.options.Logger.Info("ownership of the database regained", "epoch", o.epoch)
	return s, nil
}

func (o *ownership) regainWith(s *session) error {
	// The server may not have noticed yet that the old session is gone. Numbers of processes
	// are used again: the time tells whether it is ours.
	if _, err := s.ask("SELECT count(pg_terminate_backend(pid, 1000)) FROM pg_stat_activity WHERE pid = $1 AND backend_start::text = $2", int64(o.pid), o.born); err != nil {
		return mapError(err)
	}
	locked, err := s.lock("pg_try_advisory_lock")
	if err != nil {
		return err
	}
	r, err := s.ask("SELECT epoch FROM ownership WHERE one = 1")
	switch {
	case err != nil:
		return mapError(err)
	case r.Int(0) != o.epoch:
		o.lose(fmt.Errorf("another process has owned the database since (epoch %d, ours was %d)", r.Int(0), o.epoch))
		return lostOwnership()
	case !locked:
		return fmt.Errorf("%w: another session holds the lock of the database", store.ErrUnavailable)
	}
	if err := o.clear(s); err != nil {
		return err
	}
	return o.configureSession(s)
}

func (o *ownership) addInDoubt(m mark) { o.inDoubt = append(o.inDoubt, m) }

// clear finds out what became of transactions that were reported as failed. If one of them
// was written, this process does not know what it has written: it cannot continue.
func (o *ownership) clear(s *session) error {
	for ; len(o.inDoubt) > 0; o.inDoubt = o.inDoubt[1:] {
		committed, known := o.inDoubt[0].read(s)
		switch {
		case !known:
			return fmt.Errorf("%w: the outcome of an earlier commit is not known yet", store.ErrUnavailable)
		case committed:
			o.lose(errors.New("an update that was reported as failed was written"))
			return lostOwnership()
		}
	}
	return nil
}

// beat says something to the server, so that it keeps the session, and tries to get a lost
// one back.
func (o *ownership) beat(w *worker) {
	if !o.owned.Load() || o.isLost() {
		return
	}
	if w.session != nil {
		usual := w.session.wait
		w.session.wait = max(o.db.options.Lease/2, time.Second)
		_, err := w.session.ask("SELECT 1")
		w.session.wait = usual
		if err == nil {
			return
		}
		o.db.options.Logger.Warn("the session of the database's owner is lost", "error", err)
		w.drop()
	}
	if s, err := o.regain(); err == nil {
		w.session = s
	}
}

func (o *ownership) isLost() bool {
	select {
	case <-o.lost:
		return true
	default:
		return false
	}
}

func (o *ownership) lose(why error) {
	o.once.Do(func() {
		o.db.options.Logger.Error("the ownership of the database is lost: this process gives it up", "error", why)
		close(o.lost)
	})
}

func lostOwnership() error { return fmt.Errorf("%w: %w", store.ErrUnavailable, ErrLost) }

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// ask runs one statement outside of any transaction and returns its only row, or an empty
// one.
func (s *session) ask(text string, args ...any) (*resultRow, error) {
	s.pending = nil
	e, err := s.entry(text, args)
	if err != nil {
		return nil, err
	}
	s.pending = []*entry{e}
	if _, err := s.flush(); err != nil {
		s.pending = nil
		return nil, err
	}
	row := &resultRow{types: e.result.types}
	if len(e.result.rows) > 0 {
		row.values = e.result.rows[0]
	} else {
		row.values = make([][]byte, max(1, len(row.types)))
	}
	return row, nil
}
