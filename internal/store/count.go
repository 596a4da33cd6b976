package store

import (
	"fmt"

	"github.com/chargehand/chargehand"
)

// CountExecutions counts the executions that a filter selects, at most limit.
func (r *Reader) CountExecutions(f ExecutionFilter, limit int) (n int64, err error) {
	statuses := statusesOf(f.Statuses, f.Phases)
	where, _, args := f.where()
	for _, status := range statuses {
		args[4] = int64(limit) - n
		selection, all := andPhases(`SELECT COUNT(*) FROM (SELECT 1 FROM execution e WHERE `+where, f.Phases, args[:len(args):len(args)])
		all = append(all, int64(status))
		found, err := r.count("count executions", selection+fmt.Sprintf(` AND e.status = ?%d LIMIT ?5) counted`, len(all)), all...)
		if err != nil {
			return 0, err
		}
		if n += found; n >= int64(limit) {
			break
		}
	}
	return n, nil
}

// FailureGroup are executions that have failed in the same way.
type FailureGroup struct {
	FailureKind
	Count    int64
	FirstMs  int64 // when the first of them ended
	LastMs   int64
	Sample   int64 // number of the one that was created last
	SampleID chargehand.ExecutionID
}

// FailureKind is a way to fail: the columns that failures are grouped by (FaultMarks).
type FailureKind struct {
	Workflow int64
	FaultMarks
}

// add counts a failure.
func (g *FailureGroup) add(o FailureGroup) {
	if g.Count == 0 {
		*g = o
		return
	}
	g.Count += o.Count
	g.FirstMs, g.LastMs = min(g.FirstMs, o.FirstMs), max(g.LastMs, o.LastMs)
	if string(o.SampleID[:]) > string(g.SampleID[:]) {
		g.Sample, g.SampleID = o.Sample, o.SampleID
	}
}

// Failures groups the executions that a filter selects and that have failed; those that were cancelled are not among
// them. It adds them to groups.
func (r *Reader) Failures(f ExecutionFilter, groups map[FailureKind]*FailureGroup) error {
	where, _, args := f.where()
	args[4] = int64(chargehand.Cancelled)
	if f.Batch != 0 {
		where += ` AND e.status = 5` // the index of batches has it
	}
	err := r.c.Query(`SELECT e.no, e.id, e.workflow, e.error_code, e.error_at, e.error_hash, e.finished_ms FROM execution e
 WHERE `+where+` AND e.error_code IS NOT NULL AND e.phase <> ?5`, func(row Row) error {
		one := FailureGroup{
			FailureKind: FailureKind{row.Int(2), FaultMarks{Code: row.Text(3), At: row.Text(4), Hash: row.Int(5)}},
			Count:       1, FirstMs: row.Int(6), LastMs: row.Int(6), Sample: row.Int(0),
		}
		scanID(row, 1, &one.SampleID)
		if groups[one.FailureKind] == nil {
			groups[one.FailureKind] = new(FailureGroup)
		}
		groups[one.FailureKind].add(one)
		return nil
	}, args...)
	if err != nil {
		return fmt.Errorf("group failures: %w", err)
	}
	return nil
}

// ExaminedFailures returns the id of the n-th failure that Failures would look at: as Floor it keeps it from looking at
// more. found is false if there are fewer. It reads an index alone. Batch is not used.
func (r *Reader) ExaminedFailures(f ExecutionFilter, n int) (id chargehand.ExecutionID, found bool, err error) {
	f = ExecutionFilter{Account: f.Account, Environment: f.Environment, CreatedAfterMs: f.CreatedAfterMs, CreatedBeforeMs: f.CreatedBeforeMs}
	where, _, args := f.where()
	args[4] = int64(n - 1)
	err = r.c.Query(`SELECT e.id FROM execution e WHERE `+where+` AND e.error_code IS NOT NULL ORDER BY e.id DESC LIMIT 1 OFFSET ?5`, func(row Row) error {
		scanID(row, 0, &id)
		found = true
		return nil
	}, args...)
	if err != nil {
		return id, false, fmt.Errorf("count failures: %w", err)
	}
	return id, found, nil
}
