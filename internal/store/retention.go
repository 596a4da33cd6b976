package store

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/chargehand/chargehand"
)

// DeleteEnded deletes up to limit executions of an environment that ended before beforeMs, oldest first, with
// everything that belongs to them. An execution that has parents or children stays until all of its tree have ended.
// Batches go as a whole: one that ended before beforeMs, and of whose items no tree has an execution that runs, loses
// its items, then its own row. n is the number of executions and batches deleted; call again, in another Update, while
// it is limit.
func (t *Tx) DeleteEnded(env chargehand.Environment, beforeMs int64, limit int) (n int, err error) {
	// What another node is deleting just now is passed over; the items of a batch are waited
	// for, because its row goes behind the last one.
	n, err = t.deleteExecutions(`SELECT no FROM execution WHERE environment = ?1 AND state = 0 AND batch = 0 AND finished_ms < ?2
 AND NOT EXISTS (SELECT 1 FROM child c JOIN child t ON t.execution = c.root WHERE c.execution = execution.no AND t.unfinished > 0)
 ORDER BY finished_ms LIMIT ?3`+t.c.SkipLocked(), int64(env), beforeMs, int64(limit))
	for n < limit && err == nil {
		// Where all executions of a tree have ended, none can start another child: the items need no check of their own.
		batches, err := t.numbers(`SELECT no FROM batch WHERE environment = ?1 AND status >= 3 AND finished_ms < ?2
 AND NOT EXISTS (SELECT 1 FROM execution e JOIN child c ON c.execution = e.no JOIN child t ON t.execution = c.root
  WHERE e.batch = batch.no AND e.batch <> 0 AND t.unfinished > 0)
 ORDER BY finished_ms LIMIT 1`+t.c.SkipLocked(), int64(env), beforeMs)
		if err != nil || len(batches) == 0 {
			return n, err
		}
		deleted, err := t.DeleteBatch(batches[0], limit-n)
		if n += deleted; err != nil {
			return n, err
		}
	}
	return n, err
}

// DeleteBatch deletes up to limit rows of an ended batch: its items, with everything that belongs to them, then its
// own. Fewer than limit means that it is gone. All executions that its items have started must have ended.
func (t *Tx) DeleteBatch(no int64, limit int) (n int, err error) {
	n, err = t.deleteExecutions(`SELECT no FROM execution WHERE batch = ?1 AND batch <> 0 LIMIT ?2`+t.c.ForUpdate(), no, int64(limit))
	if err != nil || n == limit {
		return n, err
	}
	if err := t.c.Send("delete labels", `DELETE FROM batch_label WHERE batch = ?1`, no); err != nil {
		return n, err
	}
	if err := t.change("delete batch", `DELETE FROM batch WHERE no = ?1`, no); err != nil {
		return n, err
	}
	return n + 1, nil
}

// UnfinishedOfBatch reports whether an execution has not ended that an item of a batch has started.
func (r *Reader) UnfinishedOfBatch(no int64) (found bool, err error) {
	err = r.c.Query(`SELECT 1 FROM execution e JOIN child c ON c.execution = e.no JOIN child t ON t.execution = c.root
 WHERE e.batch = ?1 AND e.batch <> 0 AND t.unfinished > 0 LIMIT 1`, func(Row) error {
		found = true
		return nil
	}, no)
	if err != nil {
		return false, fmt.Errorf("look for executions of a batch: %w", err)
	}
	return found, nil
}

func (t *Tx) deleteExecutions(query string, args ...any) (int, error) {
	nos, err := t.numbers(query, args...)
	if err != nil || len(nos) == 0 {
		return 0, err
	}
	rest, err := t.lockRollups()
	if err != nil {
		return 0, err
	}
	err = inGroups(nos, func(list string, args []any) error { return t.deleteListed(list, args, &rest) })
	if err != nil {
		return 0, fmt.Errorf("delete executions: %w", err)
	}
	return len(nos), rest.put(t)
}

// DeleteExecution deletes an ended execution, which the caller has locked, with everything that belongs to it. Neither
// items nor executions of trees that have not ended may be deleted so.
func (t *Tx) DeleteExecution(no int64) error {
	rest, err := t.lockRollups()
	if err == nil {
		err = t.deleteListed("?1", []any{no}, &rest)
	}
	if err == nil {
		err = rest.put(t)
	}
	if err != nil {
		return fmt.Errorf("delete execution: %w", err)
	}
	return nil
}

// deleteListed deletes ended executions, given as the placeholders of their numbers and these numbers: one statement
// for each table, however many they are. Files that one of them made and another execution uses stay as if they had
// been uploaded.
func (t *Tx) deleteListed(list string, nos []any, rest *uncounted) error {
	var gone []Execution
	var blobs [][]byte
	keep := func(r Row) error {
		if b := r.Bytes(0); b != nil {
			blobs = append(blobs, b)
		}
		return nil
	}
	owners := make(map[int64]UsageOwner, len(nos))
	err := t.c.Query(`DELETE FROM execution WHERE no IN (`+list+`) RETURNING input_blob, bytes, `+rollupColumns, func(r Row) error {
		var e Execution
		scanRolledUp(columnsFrom{r, 2}, &e)
		gone = append(gone, e)
		owner := UsageOwner{e.Account, e.Environment, e.StartedBy}
		owners[e.No] = owner
		t.countUsage(owner.Account, owner.Environment, owner.Actor, Usage{Executions: -1, Bytes: -r.Int(1)})
		return keep(r)
	}, nos...)
	if err == nil {
		err = rest.add(t, list, nos, gone)
	}
	if err == nil {
		err = t.c.Query(`DELETE FROM log_segment WHERE execution IN (`+list+`) RETURNING data_blob, bytes, execution`, func(r Row) error {
			owner := owners[r.Int(2)]
			t.countUsage(owner.Account, owner.Environment, owner.Actor, Usage{Bytes: -r.Int(1)})
			return keep(r)
		}, nos...)
	}
	for _, query := range [...]string{
		`DELETE FROM outcome WHERE execution IN (` + list + `) RETURNING output_blob`,
		`DELETE FROM execution_blob WHERE execution IN (` + list + `) RETURNING digest`,
	} {
		if err == nil {
			err = t.c.Query(query, keep, nos...)
		}
	}
	if err == nil {
		err = t.eachOf(`SELECT execution FROM human_task WHERE execution IN (`+list+`)`, nos, func(no int64) error { return t.deleteTasks(no, owners[no], keep) })
	}
	if err == nil {
		err = t.eachOf(`SELECT execution FROM file WHERE execution IN (`+list+`) AND execution <> 0`, nos, func(no int64) error { return t.deleteMade(no, keep) })
	}
	for _, table := range [...]string{"file_use", "timeline_chunk", "input", "child", "label"} {
		if err == nil {
			err = t.c.Send("delete what belongs to them", `DELETE FROM `+table+` WHERE execution IN (`+list+`)`, nos...)
		}
	}
	if err != nil {
		return err
	}
	slices.SortFunc(blobs, bytes.Compare) // so that two nodes lock them in one order
	return t.unrefBlobs(blobs)
}

// eachOf calls do with each number that a query finds, once and in order.
func (t *Tx) eachOf(query string, args []any, do func(no int64) error) error {
	found, err := t.numbers(query, args...)
	if err != nil {
		return err
	}
	slices.Sort(found)
	for _, no := range slices.Compact(found) {
		if err := do(no); err != nil {
			return err
		}
	}
	return nil
}

// deleteMade deletes the files that an execution made which is deleted.
func (t *Tx) deleteMade(no int64, keep func(Row) error) error {
	// Who uses a file of this execution holds its lock (KeepFile) until the use is there.
	if _, err := t.numbers(`SELECT no FROM file WHERE execution = ?1 AND execution <> 0`+t.c.ForUpdate(), no); err != nil {
		return err
	}
	err := t.c.Query(`DELETE FROM file WHERE execution = ?1 AND execution <> 0
  AND NOT EXISTS (SELECT 1 FROM file_use u WHERE u.file = file.no AND u.execution <> ?1) RETURNING digest, account, environment, owner, size`, func(r Row) error {
		t.countUsage(r.Int(1), chargehand.Environment(r.Int(2)), r.Int(3), Usage{Bytes: -r.Int(4)})
		return keep(r)
	}, no)
	if err != nil {
		return err
	}
	return t.c.Send("keep files in use", `UPDATE file SET execution = 0 WHERE execution = ?1 AND execution <> 0`, no)
}

// numbers collects the only column of a query.
func (r *Reader) numbers(query string, args ...any) (nos []int64, err error) {
	err = r.c.Query(query, func(row Row) error {
		nos = append(nos, row.Int(0))
		return nil
	}, args...)
	if err != nil {
		return nil, fmt.Errorf("read numbers: %w", err)
	}
	return nos, nil
}
