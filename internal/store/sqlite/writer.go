package sqlite

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	driver "zombiezen.com/go/sqlite"

	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/dialect"
)

const (
	maxGroup = 512 // Updates in one commit
	// carefulGroups is how many groups have savepoints after one that should have had them.
	carefulGroups = 8

	guestPause = 50 * time.Microsecond // between the attempts of a guest to write
)

// request is one Update, or maintenance.
type request = dialect.Request[*conn]

// writer owns the connection that writes. Its goroutine takes a group of requests, runs
// them in one transaction, commits, and then answers all of them.
type writer struct {
	open func() (*conn, error)
	conn *conn // nil after a failure, until the next group
	*dialect.Queue[*conn]
	commits atomic.Int64
	pages   atomic.Int64 // length of the write-ahead log
	keeper  *logKeeper   // nil: a guest beside an owner
	stopped chan struct{}

	// Used by loop.
	holdAt    int64 // from that length of the log on, the next group waits
	restarted bool  // the log starts again with the next commit; until then, SQLite reports the length that it had
	careful   int   // groups to run with savepoints from the beginning
}

// newWriter returns a writer whose loop is to be started.
func newWriter(c *conn, keeper *logKeeper, open func() (*conn, error)) *writer {
	w := &writer{open: open, conn: c, keeper: keeper, Queue: dialect.NewQueue[*conn](), stopped: make(chan struct{})}
	if keeper != nil {
		w.holdAt = keeper.limits.most
	}
	return w
}

// close lets what is queued finish and closes the connection.
func (w *writer) close() error {
	w.Queue.Close()
	<-w.stopped
	if w.conn == nil {
		return nil
	}
	return w.conn.close()
}

func (w *writer) loop() {
	defer close(w.stopped)
	group := make([]*request, 0, maxGroup)
	for {
		var first *request
		var ok bool
		select {
		case first, ok = <-w.Waiting:
		case r := <-w.Urgent:
			r.Answer(w.maintain(r))
			continue
		}
		if !ok {
			return
		}
		// Let those who were just answered hand in their next Update: no delay where no caller
		// is ready to run, half as many commits again where many are.
		runtime.Gosched()
		var last *request // maintenance: it runs behind the group
		group, last = w.Gather(group[:0], first, maxGroup)
		if len(group) > 0 {
			w.awaitRoom()
			w.run(group)
			w.measure()
			dialect.AnswerAll(group)
			if w.keeper != nil {
				w.keeper.committed()
			}
		}
		if last != nil {
			last.Answer(w.maintain(last))
		}
	}
}

// awaitRoom waits while the log is as long as it may be, for the keeper to let it start again. Where that fails,
// because another process reads for long, writing continues, and is held up again when the log has grown by as much as
// between two copies.
func (w *writer) awaitRoom() {
	if w.keeper == nil || w.pages.Load() < w.holdAt {
		return
	}
	select {
	case <-w.keeper.failed: // of an earlier attempt
	default:
	}
	deadline := time.NewTimer(holdAtMost)
	defer deadline.Stop()
	for w.pages.Load() >= w.keeper.limits.most {
		w.keeper.committed()
		var ended bool
		select {
		case r := <-w.Urgent:
			r.Answer(w.maintain(r))
			continue
		case <-w.keeper.failed:
		case <-deadline.C:
		case <-w.keeper.stop:
			ended = true
		}
		if w.holdAt = w.pages.Load() + w.keeper.limits.grown; !ended {
			w.keeper.logger.Warn("the write-ahead log is longer than it should be: another process, such as a backup, reads the database", "pages", w.pages.Load())
		}
		return
	}
	w.holdAt = w.keeper.limits.most
}

// measure asks how long the log is.
func (w *writer) measure() {
	if w.keeper == nil || w.conn == nil {
		return
	}
	if w.restarted {
		w.restarted = false
		w.pages.Store(0)
		return
	}
	s, err := w.conn.c.Prepare("PRAGMA wal_checkpoint(NOOP)")
	if err != nil {
		return
	}
	if more, err := s.Step(); err == nil && more {
		w.pages.Store(s.ColumnInt64(1))
	}
	s.Reset()
}

func (w *writer) maintain(r *request) error {
	if err := w.connect(); err != nil {
		return err
	}
	err := r.Maintain(w.conn)
	if broken(err) {
		w.drop()
	}
	w.measure()
	return mapError(err)
}

func (w *writer) connect() error {
	if w.conn != nil {
		return nil
	}
	c, err := w.open()
	if err != nil {
		return mapError(err)
	}
	w.conn = c
	return nil
}

// drop gives up the connection, and with it an open transaction.
func (w *writer) drop() {
	w.conn.close()
	w.conn = nil
}

// run executes a group and sets the err of every request in it. At first it does so without savepoints, for each of
// which SQLite copies every page before its first change. When one must be undone that has written, and it was not
// alone, all run again, each in a savepoint, and so do the next groups.
func (w *writer) run(group []*request) {
	careful := w.careful > 0 && len(group) > 1
	w.careful = max(0, w.careful-1)
	if err := w.transact(group, careful); errors.Is(err, errCareful) {
		w.careful = carefulGroups
		_ = w.transact(group, true)
	}
}

// errCareful ends a transaction whose requests must run again with savepoints. Nothing was written.
var errCareful = errors.New("an update of a group must be undone")

// transact runs a group in one transaction. Its only error is errCareful, and it never has that if careful.
func (w *writer) transact(group []*request, careful bool) error {
	if err := w.connect(); err != nil {
		dialect.FailWritten(group, err)
		return nil
	}
	if err := w.begin(); err != nil {
		dialect.FailWritten(group, unavailable(err))
		if broken(err) {
			w.drop()
		}
		return nil
	}
	written := false
	w.conn.counts = w.conn.counts[:0]
	for _, r := range group {
		intact, err := w.one(r, careful)
		if r.Err = err; !intact {
			w.abort(group, r)
			return nil
		}
		if err != nil && w.conn.wrote && !careful && len(group) > 1 {
			return w.again(group, r)
		}
		written = written || err == nil
	}
	end := "COMMIT"
	if !written {
		end = "ROLLBACK"
	} else if err := store.WriteUsage(w.conn, 0, store.SumUsage(w.conn.counts)); err != nil {
		dialect.FailWritten(group, unavailable(err))
		w.drop()
		return nil
	}
	if err := w.step(end); err != nil {
		dialect.FailWritten(group, commitError(err))
		w.drop()
		return nil
	}
	w.commits.Add(1)
	if w.conn.bad {
		w.drop()
	}
	return nil
}

// again undoes a transaction, because of one Update in it, so that all can run again.
func (w *writer) again(group []*request, undone *request) error {
	if err := w.step("ROLLBACK"); err != nil {
		undone.Err = errors.Join(undone.Err, mapError(err))
		w.abort(group, undone)
		return nil
	}
	for _, r := range group {
		r.Err = nil
	}
	if w.conn.bad {
		w.drop()
	}
	return errCareful
}

// begin takes the write lock. A guest beside a busy owner asks often: SQLite's own waiting
// sleeps longer and longer between its attempts, and the owner leaves the lock for some
// microseconds only, so that a guest might never get it.
func (w *writer) begin() error {
	if w.keeper != nil {
		return w.step("BEGIN IMMEDIATE")
	}
	w.conn.c.SetBusyTimeout(0)
	defer w.conn.c.SetBusyTimeout(busyTimeout)
	for deadline := time.Now().Add(busyTimeout); ; time.Sleep(guestPause) {
		err := w.step("BEGIN IMMEDIATE")
		if driver.ErrCode(err).ToPrimary() != driver.ResultBusy || time.Now().After(deadline) {
			return err
		}
	}
}

// abort gives up a transaction that one Update has ruined for all: those that had
// succeeded or were still to come fail with it.
func (w *writer) abort(group []*request, ruined *request) {
	cause := errors.New("transaction undone")
	if ruined.Err != nil {
		cause = fmt.Errorf("transaction undone: %w", ruined.Err)
	}
	if !errors.Is(ruined.Err, store.ErrUnavailable) {
		ruined.Err = nil // FailWritten sets it
	}
	dialect.FailWritten(group, unavailable(cause))
	w.drop()
}

// one runs an Update, in a savepoint if careful. intact is false if the transaction is gone or cannot be trusted:
// SQLite undoes all of it on a full disk and on I/O errors.
func (w *writer) one(r *request, careful bool) (intact bool, err error) {
	if !careful {
		err = w.call(r)
		return !w.conn.c.AutocommitEnabled(), err
	}
	if err := w.step("SAVEPOINT one"); err != nil {
		return false, mapError(err)
	}
	err = w.call(r)
	if w.conn.c.AutocommitEnabled() {
		return false, err
	}
	if err != nil {
		if undo := w.step("ROLLBACK TO one"); undo != nil {
			return false, errors.Join(err, mapError(undo))
		}
	}
	if release := w.step("RELEASE one"); release != nil {
		return false, mapError(release)
	}
	return true, err
}

// call runs an Update. What one that fails has counted is forgotten.
func (w *writer) call(r *request) error {
	w.conn.failed, w.conn.counted, w.conn.wrote = nil, len(w.conn.counts), false
	err := dialect.Call(w.conn, r.Update, &w.conn.failed)
	if err != nil {
		w.conn.counts = w.conn.counts[:w.conn.counted]
	}
	return err
}

// step runs a text without parameters and without rows. Errors are the driver's.
func (w *writer) step(text string) error {
	s, err := w.conn.c.Prepare(text)
	if err != nil {
		return err
	}
	_, err = s.Step()
	s.Reset()
	return err
}
