package store

import (
	"errors"
	"fmt"

	"github.com/chargehand/chargehand"
)

// OutboxKind says what a message asks of an execution. Numbers are stored.
type OutboxKind uint8

// The kinds of messages.
const (
	OutboxStart  OutboxKind = 1 // start
	OutboxGrant  OutboxKind = 2 // the slot that it asked for is granted
	OutboxCancel OutboxKind = 3 // it has been cancelled
	OutboxEvents OutboxKind = 4 // events were stored that it may wait for
	OutboxChild  OutboxKind = 5 // a child that it waits for has ended
	OutboxStop   OutboxKind = 6 // its parent no longer waits for it: cancel it
	// OutboxSuspend and OutboxResume follow SetSuspended. Of two to an execution, the one with the higher number counts.
	OutboxSuspend OutboxKind = 7
	OutboxResume  OutboxKind = 8
	OutboxAnswer  OutboxKind = 9 // one of its human tasks was answered
)

// OutboxMessage is a message to an execution that was written with the change that it tells of, and has not been
// delivered. Until DueMs, the process that has leased it delivers it; then any process may.
type OutboxMessage struct {
	No        int64 // ascending, never used twice
	Execution int64
	Kind      OutboxKind
	Reason    string // of a cancellation
	Report    int64  // of a grant: number of the state report that it answers; of an answer: the command of the task
	DueMs     int64  // end of the lease

	// Of the execution. All are zero if it has been deleted.
	ID          chargehand.ExecutionID
	Environment chargehand.Environment
	Workflow    int64
}

// outboxExecution reads ID, Environment and Workflow of an outbox message.
const outboxExecution = `(SELECT e.id FROM execution e WHERE e.no = outbox.execution),
 (SELECT e.environment FROM execution e WHERE e.no = outbox.execution), (SELECT e.workflow FROM execution e WHERE e.no = outbox.execution)`

// scanOutboxExecution reads the columns of outboxExecution, which begin at a column.
func scanOutboxExecution(r Row, at int, m *OutboxMessage) {
	scanID(r, at, &m.ID)
	m.Environment, m.Workflow = chargehand.Environment(r.Int(at+1)), r.Int(at+2)
}

// InsertOutboxMessage inserts m and sets m.No. The execution is not looked up.
func (t *Tx) InsertOutboxMessage(m *OutboxMessage) (err error) {
	var reason any
	if m.Reason != "" {
		reason = t.seal(kindReason, rowKey{m.Execution}, []byte(m.Reason))
	}
	m.No, err = t.insert("insert outbox message",
		`INSERT INTO outbox (execution, kind, reason, report, due_ms) VALUES (?1, ?2, ?3, ?4, ?5)`,
		m.Execution, int64(m.Kind), reason, m.Report, m.DueMs)
	return err
}

// InsertOutboxMessages inserts one message of a kind for each of the executions, in few statements. It returns them
// by execution, each with the report number of the execution's row.
func (t *Tx) InsertOutboxMessages(kind OutboxKind, executions []int64, dueMs int64) (map[int64]OutboxMessage, error) {
	inserted := make(map[int64]OutboxMessage, len(executions))
	err := inGroups(executions, func(list string, args []any) error {
		n := len(args)
		return t.c.Query(fmt.Sprintf(`INSERT INTO outbox (execution, kind, report, due_ms)
 SELECT no, ?%d, report, ?%d FROM execution WHERE no IN (%s)
 RETURNING no, execution, report, `+outboxExecution, n+1, n+2, list), func(r Row) error {
			m := OutboxMessage{No: r.Int(0), Execution: r.Int(1), Kind: kind, Report: r.Int(2), DueMs: dueMs}
			scanOutboxExecution(r, 3, &m)
			inserted[m.Execution] = m
			return nil
		}, append(args, int64(kind), dueMs)...)
	})
	if err != nil {
		return nil, fmt.Errorf("insert outbox messages: %w", err)
	}
	return inserted, nil
}

// DeleteOutboxMessages deletes messages that were delivered. A number without a row is no error.
func (t *Tx) DeleteOutboxMessages(nos ...int64) error {
	return inGroups(nos, func(list string, args []any) error {
		return t.c.Send("delete outbox messages", `DELETE FROM outbox WHERE no IN (`+list+`)`, args...)
	})
}

// LeaseOutbox leases up to limit messages of some kinds that are due at nowMs, the longest due first, until untilMs,
// and returns them. No two callers lease the same message before that time. Due messages of other kinds are read too.
func (t *Tx) LeaseOutbox(kinds []OutboxKind, nowMs, untilMs int64, limit int) ([]OutboxMessage, error) {
	if len(kinds) == 0 {
		return nil, nil
	}
	args := []any{nowMs, int64(limit)}
	for _, kind := range kinds {
		args = append(args, int64(kind))
	}
	nos, err := t.numbers(`SELECT no FROM outbox WHERE due_ms <= ?1 AND kind IN (`+placeholdersFrom(3, len(kinds))+`)
 ORDER BY due_ms, no LIMIT ?2`+t.c.SkipLocked(), args...)
	if err != nil {
		return nil, fmt.Errorf("lease outbox messages: %w", err)
	}
	leased := make(map[int64]OutboxMessage, len(nos))
	err = inGroups(nos, func(list string, args []any) error {
		return t.c.Query(fmt.Sprintf(`UPDATE outbox SET due_ms = ?%d WHERE no IN (%s)
 RETURNING no, execution, kind, reason, report, `+outboxExecution, len(args)+1, list), func(r Row) error {
			m := OutboxMessage{
				No: r.Int(0), Execution: r.Int(1), Kind: OutboxKind(r.Int(2)), Reason: t.reason(kindReason, rowKey{r.Int(1)}, r.Bytes(3)), Report: r.Int(4), DueMs: untilMs,
			}
			scanOutboxExecution(r, 5, &m)
			leased[m.No] = m
			return nil
		}, append(args, untilMs)...)
	})
	if err != nil {
		return nil, fmt.Errorf("lease outbox messages: %w", err)
	}
	list := make([]OutboxMessage, 0, len(leased))
	for _, no := range nos {
		if m, ok := leased[no]; ok {
			list = append(list, m)
		}
	}
	return list, nil
}

// PostponeOutboxMessages has messages due at dueMs. A number without a row is no error.
func (t *Tx) PostponeOutboxMessages(dueMs int64, nos ...int64) error {
	return inGroups(nos, func(list string, args []any) error {
		query := fmt.Sprintf(`UPDATE outbox SET due_ms = ?%d WHERE no IN (%s)`, len(args)+1, list)
		return t.c.Send("postpone outbox messages", query, append(args, dueMs)...)
	})
}

// OutboxDue reports whether a message is due at nowMs: a cheap check before LeaseOutbox.
func (r *Reader) OutboxDue(nowMs int64) (bool, error) {
	return r.exists("look for due outbox messages", `SELECT 1 FROM outbox WHERE due_ms <= ?1 ORDER BY due_ms LIMIT 1`, nowMs)
}

// StartUndelivered reports whether the start message of an execution has not been delivered.
func (r *Reader) StartUndelivered(execution int64) (bool, error) {
	return r.exists("look for an undelivered start", `SELECT 1 FROM outbox WHERE execution = ?1 AND kind = 1 LIMIT 1`, execution)
}

// OldestOutboxMs returns when the message that is due first is due; 0 if there is none.
func (r *Reader) OldestOutboxMs() (ms int64, err error) {
	err = r.one(`SELECT due_ms FROM outbox WHERE due_ms > 0 ORDER BY due_ms, no LIMIT 1`, func(row Row) { ms = row.Int(0) })
	if err != nil && !errors.Is(err, ErrNotFound) {
		return 0, fmt.Errorf("read the oldest outbox message: %w", err)
	}
	return ms, nil
}

// CountOutbox counts the messages that were due before dueMs, at most limit: for metrics.
func (r *Reader) CountOutbox(dueMs int64, limit int) (int64, error) {
	return r.count("count outbox messages", `SELECT COUNT(*) FROM (SELECT no FROM outbox WHERE due_ms < ?1 ORDER BY due_ms LIMIT ?2) o`, dueMs, int64(limit))
}
