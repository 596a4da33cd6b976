package sqlite

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/chargehand/chargehand/internal/store/dialect"
)

// logLimits say when the log is looked after.
type logLimits struct {
	commits int64 // after so many it is copied into the file
	grown   int64 // or when it has become so many pages longer
	pages   int64 // from that length on it is made to start again
	most    int64 // from that length on nothing is written before it has started again
}

// usualLimits let the log grow to 16 MiB under small commits and to 24 under large ones, and by what comes meanwhile; a
// commit begins only below 48 MiB, which leaves room for a large one below the 64 MiB that operators are promised.
var usualLimits = logLimits{commits: 256, grown: 6144, pages: 4096, most: 12_288}

const (
	// pauseAtMost bounds how long new Views are held back for a running one to end.
	pauseAtMost = 200 * time.Millisecond
	// evictAfter is how long a running View has to end when the log has reached its bound; then it is interrupted.
	evictAfter = time.Second
	// holdAtMost bounds how long the writer waits for the log to start again, whatever is in the way.
	holdAtMost = 5 * time.Second
	// idleAfter is the time without commits after which the log is cut to nothing.
	idleAfter = time.Second
)

// logKeeper keeps the write-ahead log short. SQLite starts the log again only when all of
// it has been copied into the file and no reader looks at it; under constant reads and
// writes that moment never comes by itself.
type logKeeper struct {
	writer *writer
	pool   *pool
	path   string
	logger *slog.Logger
	wake   chan struct{}
	failed chan struct{} // an attempt to let the log start again, for which the writer waits, was in vain
	stop   chan struct{}
	done   chan struct{}
	limits logLimits
	onCut  func() // nil but in tests: the log was cut because nothing was written

	mu     sync.Mutex // one copy at a time
	conn   *conn      // its own, nil until first used
	closed bool
}

func newLogKeeper(path string, p *pool, limits logLimits, logger *slog.Logger) *logKeeper {
	return &logKeeper{
		limits: limits, pool: p, path: path, logger: logger,
		wake: make(chan struct{}, 1), failed: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
}

// committed is called by the writer after each group. It never blocks.
func (k *logKeeper) committed() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// loop copies after some commits and cuts the log when no commit came for a while.
func (k *logKeeper) loop() {
	defer close(k.done)
	idle := time.NewTimer(idleAfter)
	defer idle.Stop()
	var copied, seen, cut int64 // counts of commits
	var pages int64             // length of the log after the last copy
	for {
		select {
		case <-k.stop:
			return
		case <-k.wake:
			n, now := k.writer.commits.Load(), k.writer.pages.Load()
			if now < pages {
				pages = 0 // it has started again
			}
			full := now >= k.limits.most
			if n-copied < k.limits.commits && now-pages < k.limits.grown && !full {
				break
			}
			copied = n
			if err := k.shorten(context.Background(), false, full); err != nil {
				k.logger.Warn("write-ahead log not shortened", "error", err)
			}
			pages = k.writer.pages.Load()
			if full && pages >= k.limits.most {
				select {
				case k.failed <- struct{}{}:
				default:
				}
			}
		case <-idle.C:
			n := k.writer.commits.Load()
			if n == seen && n != cut {
				cut = n
				if err := k.shorten(context.Background(), true, false); err != nil {
					k.logger.Warn("write-ahead log not cut", "error", err)
				} else if k.onCut != nil {
					k.onCut()
				}
			}
			seen = n
			idle.Reset(idleAfter)
		}
	}
}

// shorten copies the log into the file beside readers and writers. If the log is long, or
// cut is wanted, it then holds new Views back, and lets the writer copy the little that
// came meanwhile and start the log again, or cut it. full: the writer waits for that, so Views that do
// not end are interrupted.
func (k *logKeeper) shorten(ctx context.Context, cut, full bool) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return dialect.ErrClosed
	}
	if k.conn == nil {
		c, err := openConn(k.path)
		if err != nil {
			return mapError(err)
		}
		k.conn = c
	}
	row, err := k.conn.plain("PRAGMA wal_checkpoint(PASSIVE)")
	if err != nil {
		k.conn.close()
		k.conn = nil
		return mapError(err)
	}
	pages := row[1]
	if !cut && pages < k.limits.pages {
		return nil
	}
	held, ok := k.pauseViews(full)
	defer k.pool.resume(held)
	if !ok {
		k.logger.Debug("write-ahead log waits for a long read", "pages", pages)
		return nil
	}
	mode := "PRAGMA wal_checkpoint(RESTART)"
	if cut {
		mode = "PRAGMA wal_checkpoint(TRUNCATE)"
	}
	return k.writer.DoNow(ctx, &request{Maintain: func(c *conn) error {
		c.c.SetBusyTimeout(pauseAtMost) // another process may be reading: try again later
		defer c.c.SetBusyTimeout(busyTimeout)
		row, err := c.plain(mode)
		k.writer.restarted = err == nil && row[0] == 0
		return err
	}})
}

// pauseViews holds new Views back and waits for those that run. full: not longer than evictAfter.
func (k *logKeeper) pauseViews(full bool) (held []*conn, ok bool) {
	if !full {
		return k.pool.pause(nil, pauseAtMost)
	}
	if held, ok = k.pool.pause(nil, evictAfter); ok {
		return held, true
	}
	k.logger.Info("reads that take long are interrupted: the write-ahead log has reached its bound", "reads", k.pool.evict())
	return k.pool.pause(held, evictAfter)
}

func (k *logKeeper) close() error {
	close(k.stop)
	<-k.done
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	if k.conn == nil {
		return nil
	}
	return k.conn.close()
}
