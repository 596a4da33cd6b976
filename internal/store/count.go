package store

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chargehand/chargehand"
)

// ExecutionKey tells executions apart.
type ExecutionKey struct {
	No int64
	ID chargehand.ExecutionID
}

// ExecutionKeys reads the keys of what ListExecutions reads.
func (r *Reader) ExecutionKeys(f ExecutionFilter) (list []ExecutionKey, err error) {
	statuses := statusesOf(f.Statuses, f.Phases)
	if len(statuses) == 0 {
		return nil, nil
	}
	l, no := f.listing(statuses), `e.no`
	if l.label && l.rest == "" { // the index has all that is asked for
		l.from, no = `label l`, `l.execution AS no`
	}
	err = r.listColumns(&f, l, no+`, e.id`, func(row Row) {
		key := ExecutionKey{No: row.Int(0)}
		scanID(row, 1, &key.ID)
		list = append(list, key)
	})
	return list, err
}

// CountListed counts what ListExecutions reads, up to the limit of the filter. It reads columns only of rows that have
// to be looked at.
func (r *Reader) CountListed(f ExecutionFilter) (int64, error) {
	statuses := statusesOf(f.Statuses, f.Phases)
	if len(statuses) == 0 {
		return 0, nil
	}
	l := f.listing(statuses)
	if l.label && l.rest == "" { // the index has all that is asked for
		l.from = `label l`
	}
	parts := make([]string, len(l.ranges))
	for i, one := range l.ranges {
		parts[i] = `SELECT 1 AS one FROM ` + l.from + ` WHERE ` + l.common + ` AND ` + one + l.rest
	}
	return r.count("count executions", `SELECT COUNT(*) FROM (`+strings.Join(parts, ` UNION ALL `)+` LIMIT ?5) counted`, l.args...)
}

// FailedExecution is an execution that has failed, as Failures reads it.
type FailedExecution struct {
	ExecutionKey
	FailureKind
	EndedMs int64
}

// FailureKind is a way to fail: the columns that failures are grouped by.
type FailureKind struct {
	Workflow int64
	FaultMarks
}

// Failures reads what ListExecutions reads with Failed, which the filter is to have.
func (r *Reader) Failures(f ExecutionFilter) (list []FailedExecution, err error) {
	if !slices.Contains(statusesOf(f.Statuses, f.Phases), chargehand.Errored) {
		return nil, nil
	}
	const columns = `e.no, e.id, e.workflow, e.error_code, e.error_at, e.error_hash, e.finished_ms`
	err = r.listColumns(&f, f.listing([]chargehand.Status{chargehand.Errored}), columns, func(row Row) {
		one := FailedExecution{
			ExecutionKey: ExecutionKey{No: row.Int(0)}, EndedMs: row.Int(6),
			FailureKind: FailureKind{row.Int(2), FaultMarks{Code: row.Text(3), At: row.Text(4), Hash: row.Int(5)}},
		}
		scanID(row, 1, &one.ID)
		list = append(list, one)
	})
	return list, err
}

// listColumns reads some columns of a list.
func (r *Reader) listColumns(f *ExecutionFilter, l *listing, columns string, do func(Row)) error {
	columns = strings.Replace(columns, `e.id`, l.id, 1)
	if f.Batch != 0 {
		columns += `, e.item` // the order
	}
	query, args := l.merge(columns, l.rest, ` LIMIT ?5`, f.Ascending)
	err := r.c.Query(query, func(row Row) error {
		do(row)
		return nil
	}, args...)
	if err != nil {
		return fmt.Errorf("list executions: %w", err)
	}
	return nil
}
