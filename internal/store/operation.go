package store

import (
	"encoding/binary"
	"fmt"

	"github.com/chargehand/chargehand"
)

// OperationAction is what an operation does to each of its executions. Numbers are stored.
type OperationAction uint8

// The actions.
const (
	OperationCancel  OperationAction = 1
	OperationRetry   OperationAction = 2
	OperationSuspend OperationAction = 3
	OperationResume  OperationAction = 4
	OperationDelete  OperationAction = 5
)

// OperationStatus is how far an operation is. Numbers are stored; those from OperationCompleted on are final.
type OperationStatus uint8

// The statuses.
const (
	OperationSelecting OperationStatus = 1 // its executions are looked for
	OperationRunning   OperationStatus = 2
	OperationCompleted OperationStatus = 3
	OperationCancelled OperationStatus = 4
	OperationStopped   OperationStatus = 5 // by the server, which says why
	operationHidden    OperationStatus = 6 // it is being deleted
)

// Ended reports whether an operation does nothing any more.
func (s OperationStatus) Ended() bool { return s >= OperationCompleted }

// Operation is the row of one action on many executions.
type Operation struct {
	No          int64
	ID          chargehand.OperationID // its time part is the time of the request
	Account     int64
	Environment chargehand.Environment
	Action      OperationAction
	Status      OperationStatus
	StartedBy   int64                  // as in Execution
	Key         int64                  // number of the API key whose rights bound it; 0: those of the person alone
	Filter      []byte                 // JSON; nil: the executions were named
	Version     string                 // that retries run; empty: the one of each execution
	Reason      string                 // of cancellations
	Reached     chargehand.ExecutionID // the last execution that was looked at for the filter; zero: none was
	Total       int64                  // executions that were selected
	Succeeded   int64
	Skipped     int64 // on which the action has no use any more
	Failed      int64
	Code        string // why it was stopped; empty: it was not
	Detail      string // the same in words
	EndedMs     int64  // 0 while it has not ended
}

// ItemOutcome is what became of an execution that an operation was to act on. Numbers are stored.
type ItemOutcome uint8

// The outcomes.
const (
	ItemPending   ItemOutcome = 0
	ItemSucceeded ItemOutcome = 1
	ItemSkipped   ItemOutcome = 2
	ItemFailed    ItemOutcome = 3
)

// OperationItem is an execution that an operation was to act on.
type OperationItem struct {
	Execution chargehand.ExecutionID
	Outcome   ItemOutcome
	Started   chargehand.ExecutionID // by a retry
	Code      string                 // of the error, if it was skipped or has failed
	Detail    string
}

const (
	operationColumns = `no, id, account, environment, action, status, started_by, key, filter, version, reason, reached,
 total, succeeded, skipped, failed, code, detail, ended_ms`
	selectOperation = `SELECT ` + operationColumns + ` FROM operation`
)

func (r *Reader) scanOperation(rw Row, o *Operation) {
	*o = Operation{
		No: rw.Int(0), Account: rw.Int(2), Environment: chargehand.Environment(rw.Int(3)), Action: OperationAction(rw.Int(4)),
		Status: OperationStatus(rw.Int(5)), StartedBy: rw.Int(6), Key: rw.Int(7), Filter: rw.Bytes(8), Version: rw.Text(9),
		Total: rw.Int(12), Succeeded: rw.Int(13), Skipped: rw.Int(14), Failed: rw.Int(15), Code: rw.Text(16), Detail: rw.Text(17), EndedMs: rw.Int(18),
	}
	scanID(rw, 1, &o.ID)
	o.Reason = r.reason(kindOperation, idKey(o.ID), rw.Bytes(10))
	scanID(rw, 11, &o.Reached)
}

// InsertOperation inserts o and sets o.No. Without a filter, ids are its executions, and it runs; with one, they are
// looked for. Neither is more than once in ids.
func (t *Tx) InsertOperation(o *Operation, ids []chargehand.ExecutionID) (err error) {
	o.Status, o.Total = OperationRunning, int64(len(ids))
	if o.Filter != nil {
		o.Status = OperationSelecting
	}
	o.No, err = t.insert("insert operation", `INSERT INTO operation (id, account, environment, action, status, started_by, key, filter, version, reason, total)
 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)`, o.ID[:], o.Account, int64(o.Environment), int64(o.Action), int64(o.Status),
		o.StartedBy, o.Key, bytesArg(o.Filter), textArg(o.Version), t.seal(kindOperation, idKey(o.ID), bytesOf(o.Reason)), o.Total)
	if err != nil {
		return err
	}
	return t.insertItems(o.No, ids)
}

// bytesOf is a text as bytes; nil: it is empty.
func bytesOf(text string) []byte {
	if text == "" {
		return nil
	}
	return []byte(text)
}

func (t *Tx) insertItems(no int64, ids []chargehand.ExecutionID) error {
	for i := range ids {
		if err := t.c.Send("insert item of an operation", `INSERT INTO operation_item (operation, execution) VALUES (?1, ?2)`, no, ids[i][:]); err != nil {
			return err
		}
	}
	return nil
}

// SelectItems adds executions to an operation that looks for them. from is how far it was (Operation.Reached), reached
// how far it is now. ErrConflict: it does not look for them any more, or another process is further.
func (t *Tx) SelectItems(no int64, from, reached chargehand.ExecutionID, ids []chargehand.ExecutionID) error {
	err := t.change("select items", `UPDATE operation SET reached = ?2, total = total + ?3 WHERE no = ?1 AND status = 1
 AND COALESCE(reached, ?5) = ?4`, no, reached[:], int64(len(ids)), from[:], make([]byte, len(from)))
	if err != nil {
		return err
	}
	return t.insertItems(no, ids)
}

// BeginOperation ends the search of an operation for its executions: it runs, or has ended if there are none.
// ErrConflict: it does not look for them any more.
func (t *Tx) BeginOperation(no, nowMs int64) error {
	return t.change("begin operation", `UPDATE operation SET status = CASE WHEN total > 0 THEN 2 ELSE 3 END,
 ended_ms = CASE WHEN total > 0 THEN 0 ELSE ?2 END WHERE no = ?1 AND status = 1`, no, nowMs)
}

// ResolveItem writes what became of an item of an operation, in the transaction of that. The last one completes the
// operation. ErrConflict: the item is resolved, or the operation does not run any more.
func (t *Tx) ResolveItem(no int64, i *OperationItem, nowMs int64) error {
	err := t.change("resolve item", `UPDATE operation_item SET outcome = ?3, started = ?4, code = ?5, detail = ?6
 WHERE operation = ?1 AND execution = ?2 AND outcome = 0`,
		no, i.Execution[:], int64(i.Outcome), idArg(i.Started), textArg(i.Code), t.seal(kindItemDetail, itemKey(no, i.Execution), bytesOf(i.Detail)))
	if err != nil {
		return err
	}
	count := func(o ItemOutcome) any { return flagArg(i.Outcome == o) }
	return t.change("count item", `UPDATE operation SET succeeded = succeeded + ?2, skipped = skipped + ?3, failed = failed + ?4,
 status = CASE WHEN succeeded + skipped + failed + 1 < total THEN 2 ELSE 3 END,
 ended_ms = CASE WHEN succeeded + skipped + failed + 1 < total THEN 0 ELSE ?5 END WHERE no = ?1 AND status = 2`,
		no, count(ItemSucceeded), count(ItemSkipped), count(ItemFailed), nowMs)
}

// itemKey is what a sealed column of an item is tied to.
func itemKey(operation int64, id chargehand.ExecutionID) rowKey {
	return rowKey{operation, int64(binary.BigEndian.Uint64(id[:])), int64(binary.BigEndian.Uint64(id[8:]))}
}

// EndOperation ends an operation before all of its executions were handled. code and detail say why the server has
// stopped it. ErrConflict: it has ended.
func (t *Tx) EndOperation(no int64, status OperationStatus, code, detail string, nowMs int64) error {
	return t.change("end operation", `UPDATE operation SET status = ?2, code = ?3, detail = ?4, ended_ms = ?5 WHERE no = ?1 AND status < 3`,
		no, int64(status), textArg(code), textArg(detail), nowMs)
}

func (r *Reader) operation(query string, args ...any) (Operation, error) {
	return readOne(r, "read operation", query, r.scanOperation, args...)
}

// OperationByID reads an operation of an account and environment. Errors: ErrNotFound.
func (r *Reader) OperationByID(account int64, env chargehand.Environment, id chargehand.OperationID) (Operation, error) {
	return r.operation(selectOperation+` WHERE id = ?1 AND account = ?2 AND environment = ?3 AND status < 6`, id[:], account, int64(env))
}

// OperationByNo reads an operation by its number. Errors: ErrNotFound.
func (r *Reader) OperationByNo(no int64) (Operation, error) {
	return r.operation(selectOperation+` WHERE no = ?1`, no)
}

// OperationFilter selects operations of an environment of an account.
type OperationFilter struct {
	Account     int64
	Environment chargehand.Environment
	StartedBy   int64                  // 0: any
	Key         int64                  // 0: any
	Before      chargehand.OperationID // zero: from the newest
	Limit       int
}

// ListOperations reads a page of operations, newest first. An environment has few of them (KeptOperations), so that
// those of an actor need no index.
func (r *Reader) ListOperations(f OperationFilter) ([]Operation, error) {
	_, high := idBounds(0, 0)
	if !f.Before.IsZero() {
		high = f.Before[:]
	}
	query, args := selectOperation+` WHERE account = ?1 AND environment = ?2 AND id < ?3 AND status < 6`,
		[]any{f.Account, int64(f.Environment), high, int64(f.Limit)}
	if f.StartedBy != 0 {
		query, args = query+` AND started_by = ?5`, append(args, f.StartedBy)
	}
	if f.Key != 0 {
		args = append(args, f.Key)
		query += fmt.Sprintf(` AND key = ?%d`, len(args))
	}
	return readAll(r, "list operations", query+` ORDER BY id DESC LIMIT ?4`, r.scanOperation, args...)
}

// ActiveOperations reads up to limit operations that have not ended, those of an environment one after the other.
func (r *Reader) ActiveOperations(limit int) ([]Operation, error) {
	return readAll(r, "read active operations", selectOperation+` WHERE status < 3 ORDER BY account, environment, no LIMIT ?1`, r.scanOperation, int64(limit))
}

// CountActiveOperations counts the operations of an environment that have not ended, up to limit.
func (r *Reader) CountActiveOperations(account int64, env chargehand.Environment, limit int) (int64, error) {
	return r.count("count active operations", `SELECT COUNT(*) FROM (SELECT 1 FROM operation WHERE account = ?1 AND environment = ?2 AND status < 3 LIMIT ?3) o`,
		account, int64(env), int64(limit))
}

// KeptOperations counts the operations of an environment, up to limit.
func (r *Reader) KeptOperations(account int64, env chargehand.Environment, limit int) (int64, error) {
	return r.count("count operations", `SELECT COUNT(*) FROM (SELECT 1 FROM operation WHERE account = ?1 AND environment = ?2 AND status < 6 LIMIT ?3) o`,
		account, int64(env), int64(limit))
}

// HideOperation hides the oldest operation of an environment that has ended, which DeleteOperations then deletes.
func (t *Tx) HideOperation(account int64, env chargehand.Environment) error {
	return t.c.Send("hide operation", `UPDATE operation SET status = 6, ended_ms = 0 WHERE status >= 3 AND no IN
 (SELECT no FROM operation WHERE account = ?1 AND environment = ?2 AND status >= 3 AND status < 6 ORDER BY id LIMIT 1)`, account, int64(env))
}

// PendingItems reads up to limit executions behind after (zero: from the oldest) on which an operation has not acted
// yet, oldest first.
func (r *Reader) PendingItems(no int64, after chargehand.ExecutionID, limit int) ([]chargehand.ExecutionID, error) {
	return readAll(r, "read pending items", `SELECT execution FROM operation_item WHERE operation = ?1 AND outcome = 0 AND execution > ?2 ORDER BY execution LIMIT ?3`,
		func(rw Row, id *chargehand.ExecutionID) { scanID(rw, 0, id) }, no, after[:], int64(limit))
}

// OperationItemFilter selects items of an operation.
type OperationItemFilter struct {
	Operation int64
	Outcomes  []ItemOutcome          // none: any
	After     chargehand.ExecutionID // zero: from the oldest
	Limit     int
}

// ListOperationItems reads a page of the items of an operation, the oldest execution first.
func (r *Reader) ListOperationItems(f OperationItemFilter) ([]OperationItem, error) {
	const selectItem = `SELECT execution, outcome, started, code, detail FROM operation_item WHERE operation = ?1 AND execution > ?2`
	query, args := selectItem, []any{f.Operation, f.After[:], int64(f.Limit)}
	for i, outcome := range f.Outcomes {
		if i > 0 {
			query += "\nUNION ALL " + selectItem
		}
		args = append(args, int64(outcome))
		query += fmt.Sprintf(" AND outcome = ?%d", len(args))
	}
	return readAll(r, "list items of an operation", query+"\nORDER BY execution LIMIT ?3", func(rw Row, i *OperationItem) {
		*i = OperationItem{Outcome: ItemOutcome(rw.Int(1)), Code: rw.Text(3)}
		scanID(rw, 0, &i.Execution)
		scanID(rw, 2, &i.Started)
		i.Detail = r.reason(kindItemDetail, itemKey(f.Operation, i.Execution), rw.Bytes(4))
	}, args...)
}

// DeleteOperations deletes up to limit rows of operations that ended before beforeMs: items, and operations that have
// none any more. Fewer than limit means that there are no more.
func (t *Tx) DeleteOperations(beforeMs int64, limit int) (n int, err error) {
	for n < limit {
		nos, err := t.numbers(`SELECT no FROM operation WHERE status >= 3 AND ended_ms < ?1 ORDER BY ended_ms LIMIT 1`+t.c.ForUpdate(), beforeMs)
		if err != nil || len(nos) == 0 {
			return n, err
		}
		items, err := t.exec("delete items of an operation", `DELETE FROM operation_item WHERE operation = ?1 AND execution IN
 (SELECT execution FROM operation_item WHERE operation = ?1 ORDER BY execution LIMIT ?2)`, nos[0], int64(limit-n))
		if n += int(items); err != nil || n == limit {
			return n, err
		}
		if err := t.change("delete operation", `DELETE FROM operation WHERE no = ?1`, nos[0]); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
