package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	driver "zombiezen.com/go/sqlite"

	"github.com/chargehand/chargehand/internal/store"
)

const (
	maxQueue = 1024 // Updates that wait; more wait for a place
	maxGroup = 512  // Updates in one commit

	guestPause = 50 * time.Microsecond // between the attempts of a guest to write
)

// request is one Update, or maintenance that runs between two commits, outside of any
// transaction.
type request struct {
	update   func(store.Conn) error
	maintain func(*conn) error
	err      error
	done     chan error
}

// writer owns the connection that writes. Its goroutine takes a group of requests, runs
// each in a savepoint, commits, and then answers all of them.
type writer struct {
	open    func() (*conn, error)
	conn    *conn // nil after a failure, until the next group
	queue   chan *request
	urgent  chan *request // maintenance for which a full log waits
	commits atomic.Int64
	pages   atomic.Int64 // length of the write-ahead log
	holdAt  int64        // from that length of the log on, the next group waits; used by loop
	keeper  *logKeeper   // nil: a guest beside an owner
	stopped chan struct{}

	mu     sync.RWMutex // held for reading while a request is put into the queue
	closed bool
}

// newWriter returns a writer whose loop is to be started.
func newWriter(c *conn, keeper *logKeeper, open func() (*conn, error)) *writer {
	w := &writer{open: open, conn: c, keeper: keeper, queue: make(chan *request, maxQueue), urgent: make(chan *request), stopped: make(chan struct{})}
	if keeper != nil {
		w.holdAt = keeper.limits.most
	}
	return w
}

// do queues a request and waits for its answer. ctx only bounds the wait for a place.
func (w *writer) do(ctx context.Context, r *request) error {
	r.done = make(chan error, 1)
	if err := w.enqueue(ctx, r); err != nil {
		return err
	}
	return <-r.done
}

func (w *writer) enqueue(ctx context.Context, r *request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		return errClosed
	}
	select {
	case w.queue <- r:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// doNow is do for maintenance that may overtake: while the log is full, nothing else runs.
func (w *writer) doNow(ctx context.Context, r *request) error {
	r.done = make(chan error, 1)
	if err := w.enqueueNow(ctx, r); err != nil {
		return err
	}
	return <-r.done
}

func (w *writer) enqueueNow(ctx context.Context, r *request) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		return errClosed
	}
	select {
	case w.urgent <- r:
		return nil
	case w.queue <- r:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// close lets what is queued finish and closes the connection.
func (w *writer) close() error {
	w.mu.Lock()
	w.closed = true
	close(w.queue)
	w.mu.Unlock()
	<-w.stopped
	if w.conn == nil {
		return nil
	}
	return w.conn.close()
}

func (w *writer) loop() {
	defer close(w.stopped)
	group := make([]*request, 0, maxGroup)
	for first := range w.queue {
		// Let those who were just answered hand in their next Update: no delay where no caller
		// is ready to run, half as many commits again where many are.
		runtime.Gosched()
		var last *request // maintenance: it runs behind the group
		group, last = w.gather(group[:0], first)
		if len(group) > 0 {
			w.awaitRoom()
			w.run(group)
			w.measure()
			for i, r := range group {
				r.done <- r.err
				group[i] = nil
			}
			if w.keeper != nil {
				w.keeper.committed()
			}
		}
		if last != nil {
			last.done <- w.maintain(last)
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
		case r := <-w.urgent:
			r.done <- w.maintain(r)
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
	s, err := w.conn.c.Prepare("PRAGMA wal_checkpoint(NOOP)")
	if err != nil {
		return
	}
	if more, err := s.Step(); err == nil && more {
		w.pages.Store(s.ColumnInt64(1))
	}
	s.Reset()
}

// gather takes the requests that are already waiting, up to the first maintenance.
func (w *writer) gather(group []*request, first *request) ([]*request, *request) {
	for next := first; ; {
		if next.maintain != nil {
			return group, next
		}
		if group = append(group, next); len(group) == maxGroup {
			return group, nil
		}
		select {
		case r, ok := <-w.queue:
			if !ok {
				return group, nil
			}
			next = r
		default:
			return group, nil
		}
	}
}

func (w *writer) maintain(r *request) error {
	if err := w.connect(); err != nil {
		return err
	}
	err := r.maintain(w.conn)
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

// run executes a group and sets the err of every request in it.
func (w *writer) run(group []*request) {
	if err := w.connect(); err != nil {
		failAll(group, err)
		return
	}
	if err := w.begin(); err != nil {
		failAll(group, unavailable(err))
		if broken(err) {
			w.drop()
		}
		return
	}
	written := false
	w.conn.counts = w.conn.counts[:0]
	for _, r := range group {
		var intact bool
		if intact, r.err = w.one(r, len(group) == 1); !intact {
			w.abort(group, r)
			return
		}
		written = written || r.err == nil
	}
	end := "COMMIT"
	if !written {
		end = "ROLLBACK"
	} else if err := store.WriteUsage(w.conn, 0, store.SumUsage(w.conn.counts)); err != nil {
		failWritten(group, unavailable(err))
		w.drop()
		return
	}
	if err := w.step(end); err != nil {
		failWritten(group, unavailable(err))
		w.drop()
		return
	}
	w.commits.Add(1)
	if w.conn.bad {
		w.drop()
	}
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
	if ruined.err != nil {
		cause = fmt.Errorf("transaction undone: %w", ruined.err)
	}
	if !errors.Is(ruined.err, store.ErrUnavailable) {
		ruined.err = nil // failWritten sets it
	}
	failWritten(group, unavailable(cause))
	w.drop()
}

// one runs an Update in a savepoint. An Update that is alone needs none: undoing it is
// undoing the transaction, which run does because nothing else was written. intact is
// false if the transaction is gone or cannot be trusted: SQLite undoes all of it on a full
// disk and on I/O errors.
func (w *writer) one(r *request, alone bool) (intact bool, err error) {
	if alone {
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

// call runs fn. A panic in it is an error of this Update only, and a failure of the
// storage is one even if fn has ignored it.
func (w *writer) call(r *request) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("update panicked: %v\n%s", v, debug.Stack())
		}
		if err != nil {
			w.conn.counts = w.conn.counts[:w.conn.counted]
		}
	}()
	w.conn.failed, w.conn.counted = nil, len(w.conn.counts)
	if err := r.update(w.conn); err != nil {
		return err
	}
	return w.conn.failed
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

func failAll(group []*request, err error) {
	for _, r := range group {
		r.err = err
	}
}

// failWritten fails the requests that had succeeded; the others have errors of their own.
func failWritten(group []*request, err error) {
	for _, r := range group {
		if r.err == nil {
			r.err = err
		}
	}
}
