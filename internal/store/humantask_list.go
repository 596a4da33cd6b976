package store

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chargehand/chargehand"
)

// TaskSort is an order of human tasks.
type TaskSort uint8

// The orders: the one that is due first; the newest; the most important.
const (
	SortDue TaskSort = iota
	SortCreated
	SortPriority
)

// TaskFilter selects human tasks. Zero values do not filter.
type TaskFilter struct {
	Account     int64
	Environment chargehand.Environment
	Statuses    []TaskStatus // none: open and claimed. Others are sorted by SortCreated only
	Workflows   []int64      // nil: all
	Others      []int64      // workflows that are left out
	Batch       int64
	Execution   int64
	Answerer    int64
	DueBeforeMs int64 // of those that are due; they are sorted by SortDue only
	// Candidates: those that are in the list of one of them; nil: all. Only open and claimed tasks are in lists.
	Candidates []TaskCandidate
	Without    []TaskCandidate // of Candidates, those that are in the list of none of these
	Sort       TaskSort
	After      TaskKey
	Limit      int
}

// TaskKey is the place of a task in an order. Zero: before the first one.
type TaskKey struct {
	Value int64 // due time or priority; of SortCreated 0
	No    int64
}

// Key is the place of a task in an order.
func (s TaskSort) Key(h *HumanTask) TaskKey {
	switch s {
	case SortDue:
		return TaskKey{h.DueMs, h.No}
	case SortPriority:
		return TaskKey{int64(h.Priority), h.No}
	}
	return TaskKey{0, h.No}
}

// Before reports whether a task comes before another one.
func (s TaskSort) Before(a, b *HumanTask) bool {
	switch {
	case s == SortDue && a.DueMs != b.DueMs:
		return a.DueMs < b.DueMs
	case s == SortPriority && a.Priority != b.Priority:
		return a.Priority > b.Priority
	case s == SortCreated:
		return a.No > b.No
	}
	return a.No < b.No
}

// openOnly reports whether a filter lets through only tasks that have not ended.
func (f *TaskFilter) openOnly() bool {
	return !slices.ContainsFunc(f.Statuses, func(s TaskStatus) bool { return s == TaskAnswered || s == TaskWithdrawn })
}

// taskQuery is a statement that is being made.
type taskQuery struct {
	where []string
	args  []any
}

// arg adds an argument and returns its placeholder.
func (q *taskQuery) arg(v any) string {
	q.args = append(q.args, v)
	return fmt.Sprintf("?%d", len(q.args))
}

func (q *taskQuery) add(condition string) { q.where = append(q.where, condition) }

func (q *taskQuery) in(column string, values []int64) {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = q.arg(v)
	}
	q.add(column + " IN (" + strings.Join(list, ", ") + ")")
}

func (q *taskQuery) notIn(column string, values []int64) {
	q.in(column, values)
	q.where[len(q.where)-1] = "NOT (" + q.where[len(q.where)-1] + ")"
}

// after adds the condition that a row comes behind a key, and returns the order. table has the columns of the order;
// no is its column with the number of the task.
func (q *taskQuery) after(f *TaskFilter, table, no string) (order string) {
	var value string
	key := f.After
	switch f.Sort {
	case SortDue:
		value = table + ".due_ms"
	case SortPriority:
		value = table + ".priority"
	default:
		if key.No != 0 {
			q.add(no + " < " + q.arg(key.No))
		}
		return no + " DESC"
	}
	if f.Sort == SortPriority {
		if key.No != 0 {
			v := q.arg(key.Value)
			// The first condition is where the range of the index begins.
			q.add(value + " <= " + v + " AND (" + value + " < " + v + " OR " + no + " > " + q.arg(key.No) + ")")
		}
		return value + " DESC, " + no
	}
	if key.No != 0 {
		q.add("(" + value + ", " + no + ") > (" + q.arg(key.Value) + ", " + q.arg(key.No) + ")")
	}
	return value + ", " + no
}

// rest adds the conditions that every form of the query has.
func (q *taskQuery) rest(f *TaskFilter) {
	switch open := f.openOnly(); {
	case f.Execution != 0 && open: // says the same, so that no planner takes an index of all open tasks
		q.add("h.status < 3")
	case f.Execution != 0:
		q.add("h.status >= 3")
	case open:
		q.add("h.ended_ms = 0")
	default:
		q.add("h.ended_ms <> 0")
	}
	if len(f.Statuses) > 0 {
		list := make([]int64, len(f.Statuses))
		for i, s := range f.Statuses {
			list[i] = int64(s)
		}
		q.in("h.status", list)
	}
	if f.Batch != 0 {
		q.add("h.batch = " + q.arg(f.Batch) + " AND h.batch <> 0")
	}
	if f.Execution != 0 {
		q.add("h.execution = " + q.arg(f.Execution))
	}
	if len(f.Others) > 0 {
		q.notIn("h.workflow", f.Others)
	}
	if f.Answerer != 0 {
		q.add("h.answerer = " + q.arg(f.Answerer) + " AND h.answerer <> 0")
	}
}

// HumanTasks reads a page of tasks, without requests and answers.
func (r *Reader) HumanTasks(f TaskFilter) ([]HumanTask, error) {
	if f.Workflows != nil && len(f.Workflows) == 0 {
		return nil, nil
	}
	if f.Candidates != nil {
		return r.candidateTasks(f)
	}
	open, ended := f, f
	open.Statuses, ended.Statuses = nil, nil
	for _, s := range f.Statuses {
		if s == TaskOpen || s == TaskClaimed {
			open.Statuses = append(open.Statuses, s)
		} else {
			ended.Statuses = append(ended.Statuses, s)
		}
	}
	if len(open.Statuses) == 0 || len(ended.Statuses) == 0 {
		return r.plainTasks(f)
	}
	list, err := r.plainTasks(open) // each has an index of its own
	if err != nil {
		return nil, err
	}
	others, err := r.plainTasks(ended)
	return mergeTasks(append(list, others...), &f), err
}

// plainTasks reads a page of tasks, whatever lists they are in, that have either all ended or not.
func (r *Reader) plainTasks(f TaskFilter) ([]HumanTask, error) {
	q := &taskQuery{}
	q.add("h.account = " + q.arg(f.Account) + " AND h.environment = " + q.arg(int64(f.Environment)))
	q.rest(&f)
	if f.Workflows != nil {
		q.in("h.workflow", f.Workflows)
	}
	if f.DueBeforeMs != 0 {
		q.add("h.due_ms < " + q.arg(f.DueBeforeMs))
	}
	order := q.after(&f, "h", "h.no")
	return r.humanTasks(q, `SELECT `+humanTaskColumns+` FROM human_task h`, order, f.Limit)
}

func (r *Reader) humanTasks(q *taskQuery, selection, order string, limit int) (list []HumanTask, err error) {
	query := selection + ` WHERE ` + strings.Join(q.where, ` AND `) + ` ORDER BY ` + order + ` LIMIT ` + q.arg(int64(limit))
	err = r.c.Query(query, func(row Row) error {
		var h HumanTask
		err := r.scanHumanTask(row, &h)
		list = append(list, h)
		return err
	}, q.args...)
	if err != nil {
		return nil, fmt.Errorf("list human tasks: %w", err)
	}
	return list, nil
}

// candidateTasks reads a page of the lists of some candidates: a page of each, merged.
func (r *Reader) candidateTasks(f TaskFilter) ([]HumanTask, error) {
	if !f.openOnly() {
		return nil, nil
	}
	var all []HumanTask
	for _, c := range f.Candidates {
		q := &taskQuery{}
		q.candidate(&f, c)
		q.without(&f)
		q.rest(&f)
		tables := `human_candidate c CROSS JOIN human_task h` // in this order: SQLite keeps it
		if f.Execution != 0 {                                 // which has few
			tables = `human_task h CROSS JOIN human_candidate c`
		}
		q.add("h.no = c.task")
		order := q.after(&f, "c", "c.task")
		page, err := r.humanTasks(q, `SELECT `+humanTaskColumns+` FROM `+tables, order, f.Limit)
		if err != nil {
			return nil, err
		}
		all = mergeTasks(append(all, page...), &f)
	}
	return all, nil
}

// mergeTasks brings the pages of several queries into one.
func mergeTasks(all []HumanTask, f *TaskFilter) []HumanTask {
	slices.SortFunc(all, func(a, b HumanTask) int {
		switch {
		case a.No == b.No:
			return 0
		case f.Sort.Before(&a, &b):
			return -1
		}
		return 1
	})
	all = slices.CompactFunc(all, func(a, b HumanTask) bool { return a.No == b.No })
	return all[:min(len(all), f.Limit)]
}

// candidate adds the conditions of the list of a candidate.
func (q *taskQuery) candidate(f *TaskFilter, c TaskCandidate) {
	q.add("c.account = " + q.arg(f.Account) + " AND c.environment = " + q.arg(int64(f.Environment)) +
		" AND c.kind = " + q.arg(int64(c.Kind)) + " AND c.name = " + q.arg(c.Name))
	if f.Workflows != nil {
		q.in("c.workflow", f.Workflows)
	}
	if len(f.Others) > 0 {
		q.notIn("c.workflow", f.Others)
	}
	if f.DueBeforeMs != 0 {
		q.add("c.due_ms < " + q.arg(f.DueBeforeMs))
	}
}

// without leaves out the tasks that are also in one of the lists of f.Without.
func (q *taskQuery) without(f *TaskFilter) {
	for _, other := range f.Without {
		q.add("NOT EXISTS (SELECT 1 FROM human_candidate o WHERE o.task = c.task AND o.kind = " + q.arg(int64(other.Kind)) +
			" AND o.name = " + q.arg(other.Name) + ")")
	}
}
