package store

import (
	"errors"
	"fmt"

	"github.com/chargehand/chargehand"
)

// InboxKind says what an inbox row asks for.
type InboxKind uint8

// The kinds of inbox rows.
const (
	InboxStart  InboxKind = 1 // the execution is to be started
	InboxGrant  InboxKind = 2 // it has got the slot that it asked for
	InboxCancel InboxKind = 3 // it has been cancelled
	InboxEvents InboxKind = 4 // stored events may be for it
	InboxChild  InboxKind = 5 // an execution that it awaits has ended
	InboxStop   InboxKind = 6 // nobody awaits it any more: it is to be cancelled
)

// Inbox is a message to an execution that is on its way. It stays until it was delivered.
// Somebody is about to deliver it until DueMs; after that it is anybody's.
type Inbox struct {
	No        int64 // ascending, never used twice
	Execution int64
	ID        chargehand.ExecutionID // of the execution; zero if that has been deleted
	Kind      InboxKind
	Reason    string // of a cancellation
	Settle    int64  // of a grant: the settle that it answers
	DueMs     int64
}

// InsertInbox inserts i and sets i.No. The execution need not be looked at.
func (t *Tx) InsertInbox(i *Inbox) (err error) {
	i.No, err = t.insert("insert inbox", `INSERT INTO inbox (execution, kind, reason, settle, due_ms) VALUES (?1, ?2, ?3, ?4, ?5)`,
		i.Execution, int64(i.Kind), textArg(i.Reason), i.Settle, i.DueMs)
	return err
}

// InsertInboxes inserts one message of a kind for each of the executions, in few
// statements, and returns them by execution, with the settle of its row.
func (t *Tx) InsertInboxes(kind InboxKind, executions []int64, dueMs int64) (map[int64]Inbox, error) {
	inserted := make(map[int64]Inbox, len(executions))
	err := inGroups(executions, func(list string, args []any) error {
		n := len(args)
		return t.c.Query(fmt.Sprintf(`INSERT INTO inbox (execution, kind, settle, due_ms)
 SELECT no, ?%d, settle, ?%d FROM execution WHERE no IN (%s)
 RETURNING no, execution, settle, (SELECT e.id FROM execution e WHERE e.no = inbox.execution)`, n+1, n+2, list), func(r Row) error {
			i := Inbox{No: r.Int(0), Execution: r.Int(1), Kind: kind, Settle: r.Int(2), DueMs: dueMs}
			scanID(r, 3, &i.ID)
			inserted[i.Execution] = i
			return nil
		}, append(args, int64(kind), dueMs)...)
	})
	if err != nil {
		return nil, fmt.Errorf("insert inbox: %w", err)
	}
	return inserted, nil
}

// DeleteInbox deletes messages that were delivered. Those that are gone do no harm.
func (t *Tx) DeleteInbox(nos ...int64) error {
	return inGroups(nos, func(list string, args []any) error {
		return t.c.Send("delete inbox", `DELETE FROM inbox WHERE no IN (`+list+`)`, args...)
	})
}

// ClaimInbox takes up to limit messages that are due at nowMs, the longest due first, until
// untilMs, and returns them. Two callers never get the same one before that.
func (t *Tx) ClaimInbox(nowMs, untilMs int64, limit int) ([]Inbox, error) {
	nos, err := t.numbers(`SELECT no FROM inbox WHERE due_ms <= ?1 ORDER BY due_ms, no LIMIT ?2`+t.c.SkipLocked(), nowMs, int64(limit))
	if err != nil {
		return nil, fmt.Errorf("claim inbox: %w", err)
	}
	claimed := make(map[int64]Inbox, len(nos))
	err = inGroups(nos, func(list string, args []any) error {
		return t.c.Query(fmt.Sprintf(`UPDATE inbox SET due_ms = ?%d WHERE no IN (%s)
 RETURNING no, execution, (SELECT e.id FROM execution e WHERE e.no = inbox.execution), kind, reason, settle`, len(args)+1, list), func(r Row) error {
			i := Inbox{No: r.Int(0), Execution: r.Int(1), Kind: InboxKind(r.Int(3)), Reason: r.Text(4), Settle: r.Int(5), DueMs: untilMs}
			scanID(r, 2, &i.ID)
			claimed[i.No] = i
			return nil
		}, append(args, untilMs)...)
	})
	if err != nil {
		return nil, fmt.Errorf("claim inbox: %w", err)
	}
	list := make([]Inbox, 0, len(claimed))
	for _, no := range nos {
		if i, ok := claimed[no]; ok {
			list = append(list, i)
		}
	}
	return list, nil
}

// PostponeInbox lets a message rest until dueMs.
func (t *Tx) PostponeInbox(no, dueMs int64) error {
	return t.c.Send("postpone inbox", `UPDATE inbox SET due_ms = ?2 WHERE no = ?1`, no, dueMs)
}

// InboxDue reports whether a message is due at nowMs: a look before ClaimInbox.
func (r *Reader) InboxDue(nowMs int64) (bool, error) {
	return r.exists("look for due inbox", `SELECT 1 FROM inbox WHERE due_ms <= ?1 ORDER BY due_ms LIMIT 1`, nowMs)
}

// InboxStartOpen reports whether the start of an execution has not been delivered.
func (r *Reader) InboxStartOpen(execution int64) (bool, error) {
	return r.exists("look for open start", `SELECT 1 FROM inbox WHERE execution = ?1 AND kind = 1 LIMIT 1`, execution)
}

// OldestInboxMs returns when the message that is due first is due; 0 if there is none.
func (r *Reader) OldestInboxMs() (ms int64, err error) {
	err = r.one(`SELECT due_ms FROM inbox WHERE due_ms > 0 ORDER BY due_ms, no LIMIT 1`, func(row Row) { ms = row.Int(0) })
	if err != nil && !errors.Is(err, ErrNotFound) {
		return 0, fmt.Errorf("read the oldest inbox: %w", err)
	}
	return ms, nil
}

// CountInbox counts the messages that were due before dueMs, at most limit: for metrics.
func (r *Reader) CountInbox(dueMs int64, limit int) (int64, error) {
	n, err := r.count(`SELECT COUNT(*) FROM (SELECT no FROM inbox WHERE due_ms < ?1 ORDER BY due_ms LIMIT ?2) i`, dueMs, int64(limit))
	if err != nil {
		return 0, fmt.Errorf("count inbox: %w", err)
	}
	return n, nil
}
