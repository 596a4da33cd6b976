package store

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/chargehand/chargehand"
)

// Sentinel errors. Dialects map their drivers' errors to them.
var (
	ErrNotFound    = errors.New("not found")
	ErrConflict    = errors.New("conflict")            // a unique constraint, or a compare-and-set that lost
	ErrUnavailable = errors.New("storage unavailable") // disk full, read-only, I/O error, closed
	ErrLocked      = errors.New("database in use by another process")
	ErrDamaged     = errors.New("damaged") // a row that cannot be read, though the database can
)

// DB is what a dialect implements. All methods are safe for concurrent use.
type DB interface {
	// Update runs fn inside a write transaction that it shares with other Updates. fn runs
	// on the writer's goroutine: it does nothing but SQL on its Conn. Another Update or View
	// inside it may wait for itself without end, and runtime.Goexit (FailNow of a test) would end
	// the writer. ctx only bounds the wait to be queued; once fn runs, the outcome
	// is reported whatever ctx says, with ErrInDoubt where it is not known. fn may run more than once, when an Update
	// beside it must be undone, or PostgreSQL asks for it: what it captured must be set, not added to, and what it
	// learned counts only when Update has returned nil.
	Update(ctx context.Context, fn func(Conn) error) error
	// View runs fn on a read connection with one consistent snapshot.
	View(ctx context.Context, fn func(Conn) error) error
	// Compact gives free space back in small steps and shortens the write-ahead log; it is
	// called when the installation is idle.
	Compact(ctx context.Context) error
	// Backup writes a consistent copy of the database to path, beside running writers.
	Backup(ctx context.Context, path string) error
	Close() error
}

// Conn runs statements. Parameters are written ?1, ?2 …; dialects rewrite them. Arguments
// are nil, int64, int, string, []byte, bool or float64. Prepared statements are cached by text.
type Conn interface {
	Exec(query string, args ...any) (changed int64, err error)
	// Query calls row for each result row; the Row is valid only during the call.
	Query(query string, row func(Row) error, args ...any) error
	// Insert runs an INSERT of one row into a table whose key is the column no, and returns
	// the number that it assigned. The text has no RETURNING; ON CONFLICT … DO NOTHING is
	// allowed, and returns 0 if nothing was inserted.
	Insert(query string, args ...any) (no int64, err error)
	// InsertAll is Insert for each of some rows of arguments, without ON CONFLICT. It returns the numbers that it
	// assigned, in the order of the rows. A dialect may insert many at once.
	InsertAll(query string, args [][]any) (numbers []int64, err error)
	// Send runs a statement whose count of rows the caller does not need. A dialect may put it off
	// until the next call of another method or the end of the Update, so that it travels with
	// others: its error, which says what, then comes from there. Within one Update,
	// statements take effect in the order of the calls.
	Send(what, query string, args ...any) error
	// Each runs an UPDATE, or an INSERT that may update a row (ON CONFLICT DO UPDATE), once for each of some rows of
	// arguments, and returns how many rows of the database it has changed in all. The first arguments are the key of the
	// row that is changed: no two of them are the same. A dialect may run it for many at once.
	Each(query string, args [][]any) (changed int64, err error)
	// Count changes sums that quotas bound. The dialect adds up the changes of all Updates of a commit, writes them with
	// it (WriteUsage), and drops those of an Update that fails.
	Count(change UsageChange)
	// Writers names the Updates that run at the moment. An Update that has ended is never named again. None are named
	// where one Update runs at a time, because they end in the order in which they began.
	Writers() ([]string, error)
	// Standbys reads the processes that wait to work on the database, the one that has waited longest first; none where
	// a database cannot tell.
	Standbys() ([]Standby, error)
	// ForUpdate is the end of a SELECT that locks its rows until the Update is committed:
	// " FOR UPDATE", or empty where only one Update runs at a time.
	ForUpdate() string
	// SkipLocked is like ForUpdate, but passes over rows that another Update has locked.
	SkipLocked() string
}

// Row reads the columns of one result row, counted from 0.
type Row interface {
	Int(col int) int64
	Bytes(col int) []byte // a copy; nil for NULL
	Text(col int) string
	Null(col int) bool
}

// Store is the queries over a DB.
type Store struct {
	db      DB
	failed  atomic.Pointer[func([]Failure)]
	tasks   atomic.Pointer[func([]TaskScope)]
	sealing atomic.Pointer[sealing]
}

// Failure is an execution that has ended in error: by a fault, or because it was cancelled.
type Failure struct {
	ID       chargehand.ExecutionID
	Workflow int64 // internal number
	Phase    chargehand.Phase
	Fault    []byte // JSON, as in Outcome
}

// OnFailure makes Update call f with the executions that ended in error in it, after they are committed. f must not
// block: the caller of Update waits for it. Queued items that are cancelled with their batch are not reported.
func (s *Store) OnFailure(f func([]Failure)) { s.failed.Store(&f) }

// New wraps a dialect's DB.
func New(db DB) *Store { return &Store{db: db} }

// Update runs fn in a durable write transaction (see DB.Update).
func (s *Store) Update(ctx context.Context, fn func(*Tx) error) error {
	var tx Tx // of the last attempt
	sealing := s.sealing.Load()
	err := s.db.Update(ctx, func(c Conn) error {
		tx = Tx{Reader: Reader{c, sealing}}
		return fn(&tx)
	})
	if err == nil && len(tx.tasks) > 0 {
		if report := s.tasks.Load(); report != nil {
			(*report)(tx.tasks)
		}
	}
	if err == nil && len(tx.failures) > 0 {
		if report := s.failed.Load(); report != nil {
			(*report)(tx.failures)
		}
	}
	return err
}

// View runs fn on a snapshot (see DB.View).
func (s *Store) View(ctx context.Context, fn func(*Reader) error) error {
	sealing := s.sealing.Load()
	return s.db.View(ctx, func(c Conn) error { return fn(&Reader{c, sealing}) })
}

// Compact, Backup and Close: see DB.
func (s *Store) Compact(ctx context.Context) error             { return s.db.Compact(ctx) }
func (s *Store) Backup(ctx context.Context, path string) error { return s.db.Backup(ctx, path) }
func (s *Store) Close() error                                  { return s.db.Close() }

// Reader holds the queries; one file per resource.
type Reader struct {
	c       Conn
	sealing *sealing // nil: nothing sealed can be read
}

// Tx is a Reader that can write.
type Tx struct {
	Reader
	failures []Failure   // executions that end in error in it
	tasks    []TaskScope // where it has changed human tasks
}
