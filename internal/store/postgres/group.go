package postgres

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/dialect"
)

// request is one Update, or maintenance.
type request = dialect.Request[*worker]

// group runs requests in one transaction. At first it does so without savepoints, which cost
// PostgreSQL a number of a transaction each: when one must be undone that has written, all
// run again, each in a savepoint. A request whose statements were all put off may turn out
// to have failed only when a later one sends its own: it is undone then, alone, and what
// had been sent behind it is sent once more.
type group struct {
	session  *session
	texts    *texts
	requests []*request
	careful  bool // each request has a savepoint
	dirty    int  // the last request that has changed a row
	alone    bool // one request: undoing it is undoing the transaction
	ahead    bool // see conn
	current  int  // the request that runs
	mark     mark
	marked   *entry // the statement that writes the mark
	sent     bool   // COMMIT was sent: if the connection gets lost now, the outcome is in doubt
}

// mark tells transactions apart: each writes one into table writer. A worker that has lost
// the connection while COMMIT was on its way finds it there, or not. The number that
// PostgreSQL gives a transaction would not do: after a crash, it is given again.
type mark struct {
	writer  []byte // 16 random bytes
	commits int64  // counted by the writer
	atMs    int64
}

const (
	writeMark = "UPDATE writer SET commits = $2, used_ms = $3 WHERE id = $1"
	// readMark waits for a transaction that has not ended: its mark holds the lock of the row.
	readMark   = "SELECT commits FROM writer WHERE id = $1 FOR UPDATE"
	insertMark = "INSERT INTO writer (id, commits, used_ms) VALUES ($1, 0, $2) ON CONFLICT (id) DO NOTHING"
	forgetMark = "DELETE FROM writer WHERE used_ms < $1"
)

// A group has ended for all its requests, for a reason that is none of theirs.
type abortedError struct{ error }

func (e abortedError) Unwrap() error { return e.error }

// run executes the requests and sets the err of each. An error is the end of the
// transaction as a whole; nothing was written, unless g.sent.
func (g *group) run(setting string) error {
	g.session.pending, g.session.merging = nil, !g.careful
	g.dirty = ofGroup
	var err error
	if g.marked, err = g.session.entry(writeMark, []any{g.mark.writer, g.mark.commits, g.mark.atMs}); err != nil {
		return err
	}
	g.session.control("BEGIN", ofGroup)
	if setting != "" {
		g.session.control(setting, ofGroup)
	}
	g.session.pending = append(g.session.pending, g.marked)
	written := false
	for i, r := range g.requests {
		if r.Err = nil; g.session.dead != nil {
			return g.session.dead
		}
		if err := g.one(i, r); err != nil {
			return err
		}
		written = written || r.Err == nil
	}
	g.current = ofGroup
	if !written {
		return g.undo()
	}
	return g.commit()
}

// one runs a request. Its own error is in r.Err.
func (g *group) one(i int, r *request) error {
	g.current = i
	if g.careful {
		g.session.control("SAVEPOINT one", i)
	}
	c := &conn{texts: g.texts, owner: i, session: g.session, flush: g.flush, ahead: g.ahead}
	r.Err = dialect.Call(c, r.Update, &c.failed)
	r.Counts = c.counts
	if g.session.dead != nil {
		return g.session.dead
	}
	var aborted abortedError
	if errors.As(c.cause, &aborted) {
		return aborted
	}
	if r.Err == nil {
		if g.careful {
			g.session.control("RELEASE one", i)
		}
		return nil
	}
	if c.cause != nil && again(c.cause) {
		r.Err = fmt.Errorf("%w: %w", errAgain, r.Err)
	}
	unsent := g.drop(i)
	switch {
	case g.alone, g.careful && unsent:
	case g.careful:
		g.session.control("ROLLBACK TO one", ofGroup)
		g.session.control("RELEASE one", ofGroup)
	case g.dirty == i || c.failed != nil && refused(c.cause):
		return errCareful
	}
	return nil
}

// errCareful ends a group that must run again with savepoints.
var errCareful = errors.New("an update of a group must be undone")

// refused reports whether the server has refused a statement, after which it takes no more.
func refused(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg)
}

// errAgain marks what may succeed in a transaction of its own.
var errAgain = errors.New("lost against another update")

// drop takes what a request has put off out of the next batch, and reports whether its
// savepoint was among it: then there is nothing to undo.
func (g *group) drop(owner int) (unsent bool) {
	kept := g.session.pending[:0]
	for _, e := range g.session.pending {
		if e.owner != owner {
			kept = append(kept, e)
		}
		unsent = unsent || e.owner == owner && e.control
	}
	g.session.pending = kept
	return unsent
}

// flush sends what is pending. Errors of requests that have returned already are dealt
// with here; those of the current one are returned.
func (g *group) flush() (*entry, error) {
	for {
		sent := g.session.pending
		at, err := g.session.flush()
		for _, e := range sent {
			if e.owner != ofGroup && e.result != nil && e.result.wrote {
				g.dirty = max(g.dirty, e.owner)
			}
		}
		if err == nil {
			return nil, nil
		}
		if lost(err) {
			return nil, err
		}
		failed := sent[min(at, len(sent)-1)]
		if failed.control || failed.owner == ofGroup {
			return nil, abortedError{fmt.Errorf("%s: %w", strings.ToLower(failed.text), err)}
		}
		if failed.owner == g.current {
			return failed, err
		}
		if !g.alone && !g.careful {
			return nil, abortedError{errCareful}
		}
		g.undoEarlier(failed, err, sent[at+1:])
		if g.alone {
			return nil, nil
		}
	}
}

// undoEarlier undoes a request that had returned, and puts what followed it on its way
// again.
func (g *group) undoEarlier(failed *entry, err error, rest []*entry) {
	r := g.requests[failed.owner]
	if r.Err = mapError(fmt.Errorf("%s: %w", failed.what, err)); again(err) {
		r.Err = fmt.Errorf("%w: %w", errAgain, r.Err)
	}
	g.session.pending = nil
	if g.alone {
		return
	}
	g.session.control("ROLLBACK TO one", ofGroup)
	g.session.control("RELEASE one", ofGroup)
	for _, e := range rest {
		if e.owner != failed.owner {
			g.session.pending = append(g.session.pending, e)
		}
	}
}

// undo ends a transaction in which nothing is to be kept.
func (g *group) undo() error {
	g.session.pending = nil
	if g.marked.result == nil { // BEGIN was never sent
		return nil
	}
	g.session.control("ROLLBACK", ofGroup)
	_, err := g.flush()
	return err
}

// commit makes the outcome durable. The mark must be there before COMMIT is sent: it holds
// the lock that resolveCommit waits for, should the connection get lost.
func (g *group) commit() error {
	if g.marked.result == nil {
		if _, err := g.flush(); err != nil {
			return err
		}
	}
	if err := g.writeUsage(); err != nil {
		return err
	}
	if !g.anyWritten() {
		return g.undo()
	}
	g.session.control("COMMIT", ofGroup)
	end := g.session.pending[len(g.session.pending)-1]
	g.sent = true
	if _, err := g.flush(); err != nil {
		g.sent = lost(err) // an error that the server reports is an answer
		if !g.sent && g.session.dead == nil {
			_ = g.session.reset()
		}
		return err
	}
	switch {
	case end.result != nil && end.result.tag == "COMMIT":
		return nil
	case g.alone && !g.anyWritten(): // it failed at the last moment
		return g.undo()
	}
	return abortedError{errors.New("the server did not commit")}
}

// writeUsage adds what the requests have counted to the rows of the worker. Before that, those with savepoints send
// what they have put off: a request that turns out to have failed counts nothing. Where nothing was counted or nothing
// waits, that would be a round trip for nothing.
func (g *group) writeUsage() error {
	counts := g.counts()
	if len(counts) == 0 {
		return nil
	}
	text := g.texts.of(store.WriteUsageText).text
	if len(g.session.pending) > 0 && (g.careful || g.session.statements[text] == nil) {
		if _, err := g.flush(); err != nil {
			return err
		}
		counts = g.counts()
	}
	c := &conn{texts: g.texts, owner: ofGroup, session: g.session, flush: g.flush}
	if err := store.WriteUsage(c, g.mark.usageNo(), store.SumUsage(counts)); err != nil {
		return c.cause
	}
	return nil
}

// counts is what the requests that have succeeded so far have counted.
func (g *group) counts() (counts []store.UsageChange) {
	for _, r := range g.requests {
		if r.Err == nil {
			counts = append(counts, r.Counts...)
		}
	}
	return counts
}

// usageNo is the number of the rows of usage that only the writer of the mark changes, so that commits of several
// writers do not wait for each other.
func (m *mark) usageNo() int64 {
	return int64(binary.BigEndian.Uint64(m.writer)>>1 | 1)
}

func (g *group) anyWritten() bool {
	for _, r := range g.requests {
		if r.Err == nil {
			return true
		}
	}
	return false
}
