package store

import (
	"errors"
	"fmt"
	"slices"

	"github.com/chargehand/chargehand"
)

// NowFilter selects executions that have not ended.
type NowFilter struct {
	Account     int64
	Environment chargehand.Environment
	Workflow    int64   // 0: any
	StartedBy   int64   // as in Execution; 0: any
	Except      []int64 // workflows; not used with Workflow
}

func (f *NowFilter) admits(workflow, startedBy int64) bool {
	return (f.Workflow == 0 || f.Workflow == workflow) && (f.StartedBy == 0 || f.StartedBy == startedBy) && !slices.Contains(f.Except, workflow)
}

// Now is what executions do that have not ended.
type Now struct {
	Queued  int64 // wait for a slot
	Running int64
	Waiting int64 // for a timer, an event, a child, a person
	Human   int64 // of those that wait: for a person
	Delayed int64 // do not start yet, because that was asked for
	More    bool  // there are more than were rows at
}

// Add adds the counts of o.
func (n *Now) Add(o Now) {
	n.Queued, n.Running, n.Waiting, n.Human, n.Delayed = n.Queued+o.Queued, n.Running+o.Running, n.Waiting+o.Waiting, n.Human+o.Human, n.Delayed+o.Delayed
	n.More = n.More || o.More
}

func (n *Now) count(state ExecutionState, status chargehand.Status) {
	switch state {
	case StateQueued, StateReady:
		n.Queued++
	case StateActive:
		n.Running++
	case StateDelayed:
		n.Delayed++
	default:
		n.Waiting++
		if status == chargehand.HumanInTheLoop {
			n.Human++
		}
	}
}

// unfinishedStates are the states of executions that have not ended.
var unfinishedStates = []ExecutionState{StateQueued, StateReady, StateActive, StateParked, StateDelayed}

// CountNow counts executions that have not ended by what they do. It looks at up to limit of each state or status.
func (r *Reader) CountNow(f NowFilter, limit int) (n Now, err error) {
	if f.Workflow == 0 && f.StartedBy < 0 {
		return r.countStartedBy(f, limit)
	}
	where, more := "", []any(nil)
	if f.Workflow != 0 {
		where, more = " AND e.workflow = ?5", []any{f.Workflow}
	}
	for _, state := range unfinishedStates {
		rows := 0
		err := r.c.Query(`SELECT e.status, e.workflow, e.started_by FROM execution e
 WHERE e.account = ?1 AND e.environment = ?2 AND e.state = ?3 AND e.state <> 0`+where+` LIMIT ?4`, func(row Row) error {
			if rows++; rows > limit {
				n.More = true
			} else if f.admits(row.Int(1), row.Int(2)) {
				n.count(state, chargehand.Status(row.Int(0)))
			}
			return nil
		}, append([]any{f.Account, int64(f.Environment), int64(state), int64(limit + 1)}, more...)...)
		if err != nil {
			return Now{}, fmt.Errorf("count executions that have not ended: %w", err)
		}
	}
	return n, nil
}

// countStartedBy is CountNow of what a person has started.
func (r *Reader) countStartedBy(f NowFilter, limit int) (n Now, err error) {
	for _, status := range openStatuses {
		rows := 0
		err := r.c.Query(`SELECT e.state, e.workflow, e.started_by FROM execution e
 WHERE e.started_by = ?2 AND e.started_by < 0 AND e.account = ?1 AND e.environment = ?3 AND e.status = ?4 LIMIT ?5`, func(row Row) error {
			if rows++; rows > limit {
				n.More = true
			} else if f.admits(row.Int(1), row.Int(2)) {
				n.count(ExecutionState(row.Int(0)), status)
			}
			return nil
		}, f.Account, f.StartedBy, int64(f.Environment), int64(status), int64(limit+1))
		if err != nil {
			return Now{}, fmt.Errorf("count executions that have not ended: %w", err)
		}
	}
	return n, nil
}

// openStatuses are those that are not final.
var openStatuses = []chargehand.Status{chargehand.Initial, chargehand.Processing, chargehand.HumanInTheLoop}

// OldestUnfinished reads the execution that was created first of those that have not ended and are not delayed, and
// that a filter selects.
// It looks at up to limit of each status: at a few first, because a database may read all that it may be asked for.
// Errors: ErrNotFound.
func (r *Reader) OldestUnfinished(f NowFilter, limit int) (oldest Execution, err error) {
	const few = 50
	if limit > few {
		if oldest, err = r.oldestUnfinished(f, few); !errors.Is(err, ErrNotFound) {
			return oldest, err
		}
	}
	return r.oldestUnfinished(f, limit)
}

func (r *Reader) oldestUnfinished(f NowFilter, limit int) (oldest Execution, err error) {
	where, args := `e.account = ?1 AND e.environment = ?2`, []any{f.Account, int64(f.Environment), int64(limit)}
	switch {
	case f.StartedBy < 0:
		where, args = where+` AND e.started_by = ?4 AND e.started_by < 0`, append(args, f.StartedBy)
	case f.Workflow != 0:
		where, args = where+` AND e.workflow = ?4`, append(args, f.Workflow)
	}
	query, args := mergeStatuses(`SELECT e.no, e.workflow, e.started_by, e.id, e.state FROM execution e WHERE `+where, `id LIMIT ?3`, openStatuses, args)
	no := int64(0)
	err = r.c.Query(query, func(row Row) error {
		if ExecutionState(row.Int(4)) != StateDelayed && f.admits(row.Int(1), row.Int(2)) {
			no = row.Int(0)
			return errEnough
		}
		return nil
	}, args...)
	switch {
	case err != nil && !errors.Is(err, errEnough):
		return oldest, fmt.Errorf("look for the oldest execution: %w", err)
	case no == 0:
		return oldest, ErrNotFound
	}
	return r.ExecutionByNo(no)
}
