package store

import "fmt"

// What nodes ask to follow what others do: statuses of many ids, rows that are not final.

// MaxStatuses bounds the ids of one call of Statuses.
const MaxStatuses = 200

// Statuses calls found with the status of each execution (chargehand.Status) or batch
// (chargehand.BatchStatus) that has one of up to MaxStatuses ids.
func (r *Reader) Statuses(ids [][16]byte, found func(id [16]byte, status int64)) error {
	return r.inIDs("read statuses", ids, func(in string) string {
		return `SELECT id, status FROM execution WHERE id IN (` + in + `)
UNION ALL SELECT id, status FROM batch WHERE id IN (` + in + `)`
	}, func(row Row) error {
		var id [16]byte
		copy(id[:], row.Bytes(0))
		found(id, row.Int(1))
		return nil
	})
}

// inIDs runs a query for up to MaxStatuses ids, in groups; text makes it from their placeholders.
func (r *Reader) inIDs(what string, ids [][16]byte, text func(list string) string, row func(Row) error) error {
	if len(ids) > MaxStatuses {
		return fmt.Errorf("%s: too many ids", what)
	}
	err := groups(len(ids), func(from, n, size int) error {
		args := make([]any, size)
		for i := range args {
			at := from + min(i, n-1)
			args[i] = ids[at][:]
		}
		return r.c.Query(text(placeholders(size)), row, args...)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// ExecutionsWithIDs reads the executions that have one of up to MaxStatuses ids, without their inputs, in any order.
func (r *Reader) ExecutionsWithIDs(ids [][16]byte) (list []Execution, err error) {
	err = r.inIDs("read executions", ids, func(in string) string {
		return `SELECT ` + executionColumns + ` FROM execution e WHERE e.id IN (` + in + `)`
	}, func(row Row) error {
		var e Execution
		r.scanExecution(row, &e)
		list = append(list, e)
		return nil
	})
	return list, err
}

// BatchesWithIDs reads the batches that have one of up to MaxStatuses ids, in any order.
func (r *Reader) BatchesWithIDs(ids [][16]byte) (list []Batch, err error) {
	err = r.inIDs("read batches", ids, func(in string) string {
		return selectBatch + ` WHERE id IN (` + in + `)`
	}, func(row Row) error {
		var b Batch
		r.scanBatch(row, &b)
		list = append(list, b)
		return nil
	})
	return list, err
}

// CountItemsOf is CountItems of several batches, by number. A batch without such items is not in the answer.
func (r *Reader) CountItemsOf(batches []int64) (map[int64]StateCounts, error) {
	counts := make(map[int64]StateCounts, len(batches))
	err := inGroups(batches, func(list string, args []any) error {
		return r.c.Query(`SELECT b.no, e.state, COUNT(*) FROM batch b JOIN execution e ON e.account = b.account AND e.batch = b.no
 WHERE e.state IN (2, 3, 4) AND e.state <> 0 AND b.no IN (`+list+`) GROUP BY b.no, e.state`, func(row Row) error {
			n := counts[row.Int(0)]
			n[row.Int(1)] = row.Int(2)
			counts[row.Int(0)] = n
			return nil
		}, args...)
	})
	if err != nil {
		return nil, fmt.Errorf("count items: %w", err)
	}
	return counts, nil
}

// ScanUnfinished reads up to limit executions in an execution state other than StateEnded, without their
// inputs, in the order of ExecutionsByState. after is the last one of the page before.
func (r *Reader) ScanUnfinished(state ExecutionState, after *Execution, limit int) ([]Execution, error) {
	query, args := byState(`SELECT `+executionColumns+` FROM execution e`, state, after, limit)
	var list []Execution
	err := r.c.Query(query, func(row Row) error {
		var e Execution
		r.scanExecution(row, &e)
		list = append(list, e)
		return nil
	}, args...)
	if err != nil {
		return nil, fmt.Errorf("walk executions: %w", err)
	}
	return list, nil
}

// LockExecution reads an execution, without its input, and locks its row until the Update is
// committed. Errors: ErrNotFound.
func (t *Tx) LockExecution(no int64) (Execution, error) {
	return readOne(&t.Reader, "lock execution", `SELECT `+executionColumns+` FROM execution e WHERE e.no = ?1`+t.c.ForUpdate(), t.scanExecution, no)
}

// LockItems reads up to limit items of a batch that have not ended, without their inputs,
// and locks their rows until the Update is committed. None: all have ended.
func (t *Tx) LockItems(account, batch int64, limit int) ([]Execution, error) {
	var list []Execution
	err := t.c.Query(`SELECT `+executionColumns+` FROM execution e WHERE e.state IN (1, 2, 3, 4, 5) AND e.state <> 0
 AND e.account = ?1 AND e.batch = ?2 LIMIT ?3`+t.c.ForUpdate(), func(row Row) error {
		var e Execution
		t.scanExecution(row, &e)
		list = append(list, e)
		return nil
	}, account, batch, int64(limit))
	if err != nil {
		return nil, fmt.Errorf("lock items: %w", err)
	}
	return list, nil
}

// CancelledBatches reads the batches that are marked as cancelled and not final.
func (r *Reader) CancelledBatches() ([]Batch, error) {
	return r.batches(selectBatch + ` WHERE status < 3 AND cancel_requested = 1 ORDER BY no`)
}

// CompleteTimeline gives an ended execution its last timeline chunk, unless it has one. One
// that is not there, or not ended, is left alone.
func (t *Tx) CompleteTimeline(no int64, data []byte) error {
	_, err := t.c.Exec(`UPDATE outcome SET timeline = ?2 WHERE execution = ?1 AND timeline IS NULL`, no, t.seal(kindTimeline, rowKey{no}, data))
	if err != nil {
		return fmt.Errorf("complete timeline: %w", err)
	}
	return nil
}

// OpenTimelines returns those of some executions that have ended without their last timeline chunk, which
// CompleteTimeline is still to write.
func (r *Reader) OpenTimelines(executions []int64) (open []int64, err error) {
	err = inGroups(executions, func(list string, args []any) error {
		nos, err := r.numbers(`SELECT execution FROM outcome WHERE execution IN (`+list+`) AND timeline IS NULL`, args...)
		open = append(open, nos...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for open timelines: %w", err)
	}
	return open, nil
}
