package store

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/chargehand/chargehand"
)

// Usage is what is stored, as far as quotas bound it. In a change, its numbers may be negative.
type Usage struct {
	Executions int64 // kept, ended or not
	Bytes      int64 // of files, and of inputs and outputs of executions
	Users      int64 // members of the account, invited ones too
	// TaskChanges counts the changes of human tasks of an environment, and of the members of groups of its account. No
	// quota bounds it, and it never falls: readers of tasks see by it that there is something to read (TaskChanges).
	TaskChanges int64
}

func (u Usage) plus(o Usage) Usage {
	return Usage{u.Executions + o.Executions, u.Bytes + o.Bytes, u.Users + o.Users, u.TaskChanges + o.TaskChanges}
}

// UsageOwner is whose usage is counted: that of an environment of an account, with an Actor that of an API key or
// person in it (as in Execution.StartedBy), without an environment that of the account.
type UsageOwner struct {
	Account     int64
	Environment chargehand.Environment
	Actor       int64
}

func compareOwners(a, b UsageOwner) int {
	return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Environment, b.Environment), cmp.Compare(a.Actor, b.Actor))
}

// UsageChange is by how much the usage of an owner changes. That of an actor changes the usage of the environment too.
type UsageChange struct {
	UsageOwner
	Usage
}

// AppendUsage appends a change to those of the same Update, or adds it to the last one. from is the length that
// changes had when the Update began.
func AppendUsage(changes []UsageChange, from int, c UsageChange) []UsageChange {
	if last := len(changes) - 1; last >= from && changes[last].UsageOwner == c.UsageOwner {
		changes[last].Usage = changes[last].plus(c.Usage)
		return changes
	}
	return append(changes, c)
}

// SumUsage sums up the changes of one commit: one change for each owner, environments included, in one order. It
// reorders its argument.
func SumUsage(changes []UsageChange) []UsageChange {
	for _, c := range changes {
		if c.Actor != 0 {
			c.Actor = 0
			changes = append(changes, c)
		}
	}
	slices.SortFunc(changes, func(a, b UsageChange) int { return compareOwners(a.UsageOwner, b.UsageOwner) })
	sums := changes[:0]
	for _, c := range changes {
		sums = AppendUsage(sums, 0, c)
	}
	return slices.DeleteFunc(sums, func(c UsageChange) bool { return c.Usage == Usage{} })
}

// WriteUsageText is the statement of WriteUsage.
const WriteUsageText = `INSERT INTO usage_sum (account, environment, actor, slot, executions, bytes, users, task_changes) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
 ON CONFLICT (account, environment, actor, slot) DO UPDATE SET executions = usage_sum.executions + excluded.executions,
 bytes = usage_sum.bytes + excluded.bytes, users = usage_sum.users + excluded.users,
 task_changes = usage_sum.task_changes + excluded.task_changes`

// WriteUsage adds the sums of a commit to the rows of a writer, its slot. Dialects call it, as the last thing before
// the commit.
func WriteUsage(c Conn, writer int64, sums []UsageChange) error {
	for _, s := range sums {
		err := c.Send("write usage", WriteUsageText, s.Account, int64(s.Environment), s.Actor, writer, s.Executions, s.Bytes, s.Users, s.TaskChanges)
		if err != nil {
			return err
		}
	}
	return nil
}

// countUsage changes the usage of an environment, and that of an actor in it; 0: none.
func (t *Tx) countUsage(account int64, env chargehand.Environment, actor int64, u Usage) {
	if u != (Usage{}) {
		t.c.Count(UsageChange{UsageOwner{account, env, actor}, u})
	}
}

// Usage reads the usage of an owner. It costs as many index entries as there are connections that have written since
// the last FoldUsage.
func (r *Reader) Usage(o UsageOwner) (Usage, error) {
	return readOne(r, "read usage", `SELECT CAST(COALESCE(SUM(executions), 0) AS BIGINT), CAST(COALESCE(SUM(bytes), 0) AS BIGINT),
 CAST(COALESCE(SUM(users), 0) AS BIGINT), CAST(COALESCE(SUM(task_changes), 0) AS BIGINT) FROM usage_sum
 WHERE account = ?1 AND environment = ?2 AND actor = ?3`, func(row Row, u *Usage) {
		*u = Usage{row.Int(0), row.Int(1), row.Int(2), row.Int(3)}
	}, o.Account, int64(o.Environment), o.Actor)
}

// FoldUsage adds up to limit rows of other slots to those of slot 0, and returns how many they were. It passes over
// rows that a commit is changing just now.
func (t *Tx) FoldUsage(limit int) (n int, err error) {
	type row struct {
		UsageChange
		writer int64
	}
	var rows []row
	err = t.c.Query(`SELECT account, environment, actor, slot FROM usage_sum WHERE slot <> 0
 ORDER BY account, environment, actor, slot LIMIT ?1`+t.c.SkipLocked(), func(r Row) error {
		o := UsageOwner{r.Int(0), chargehand.Environment(r.Int(1)), r.Int(2)}
		rows = append(rows, row{UsageChange{UsageOwner: o}, r.Int(3)})
		return nil
	}, int64(limit))
	if err != nil {
		return 0, fmt.Errorf("read usage to fold: %w", err)
	}
	var sums []UsageChange
	for i := range rows {
		r := &rows[i]
		err := t.one(`DELETE FROM usage_sum WHERE account = ?1 AND environment = ?2 AND actor = ?3 AND slot = ?4 RETURNING executions, bytes, users, task_changes`,
			func(found Row) { r.Usage = Usage{found.Int(0), found.Int(1), found.Int(2), found.Int(3)} },
			r.Account, int64(r.Environment), r.Actor, r.writer)
		if err != nil {
			return 0, fmt.Errorf("fold usage: %w", err)
		}
		sums = AppendUsage(sums, 0, r.UsageChange)
	}
	return len(rows), WriteUsage(t.c, 0, sums)
}

// StoredEvents is the number of events of a stream that are stored. It costs two index entries.
func (r *Reader) StoredEvents(account int64, env chargehand.Environment) (n int64, err error) {
	n, err = r.count("count stored events", `SELECT last + 1 - COALESCE((SELECT e.number FROM event e WHERE e.account = ?1 AND e.environment = ?2 ORDER BY e.number LIMIT 1), last + 1)
 FROM stream WHERE account = ?1 AND environment = ?2`, account, int64(env))
	if errors.Is(err, ErrNotFound) {
		return 0, nil
	}
	return n, err
}

// LongestQueue is the number of queued single executions of the workflow of an environment that has most of them. It
// looks at up to most executions.
func (r *Reader) LongestQueue(account int64, env chargehand.Environment, most int) (int64, error) {
	return r.count("look for the longest queue", `SELECT COALESCE(MAX(n), 0) FROM (SELECT COUNT(*) AS n FROM (SELECT workflow FROM execution
 WHERE account = ?1 AND environment = ?2 AND state = 1 AND batch = 0 ORDER BY workflow LIMIT ?3) q GROUP BY workflow) w`, account, int64(env), int64(most))
}
