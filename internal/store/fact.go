package store

import (
	"errors"
	"fmt"

	"github.com/chargehand/chargehand"
)

// FactKind says what has happened. Numbers are stored.
type FactKind uint8

// The kinds.
const (
	FactTaskOpened    FactKind = 1
	FactTaskReminded  FactKind = 2
	FactTaskOverdue   FactKind = 3
	FactTaskAnswered  FactKind = 4
	FactTaskWithdrawn FactKind = 5
)

var factNames = [...]string{
	FactTaskOpened: "task.opened", FactTaskReminded: "task.reminded", FactTaskOverdue: "task.overdue",
	FactTaskAnswered: "task.answered", FactTaskWithdrawn: "task.withdrawn",
}

func (k FactKind) String() string { return factNames[k] }

// Fact says that something has happened, for readers that report it later. It is written in the transaction of the
// change, and names rows: readers read what these say.
//
// Transactions that run at the same time commit in another order than that in which their rows were numbered, so a
// reader that remembers the last row that it has seen would miss some. PublishFacts therefore gives the committed facts
// numbers of their own, in one transaction at a time. Of one task, numbers are in the order of what happened. A reader
// remembers the number up to which it has read (FollowFacts), and a slow one keeps no other back. Facts are deleted
// when they are old (DeleteFacts), whether they were read or not, and with their execution.
type Fact struct {
	Number      int64 // ascending
	Kind        FactKind
	Account     int64
	Environment chargehand.Environment
	Workflow    int64
	Execution   int64
	Task        int64 // number of the human task
	AtMs        int64
}

// noteTask inserts a fact about a human task, of which h says No, Account and Environment.
func (t *Tx) noteTask(h *HumanTask, kind FactKind, atMs int64) error {
	t.tasksChanged(h.Account, h.Environment)
	return t.c.Send("insert fact", `INSERT INTO fact (kind, account, environment, workflow, execution, task, at_ms)
 SELECT ?2, h.account, h.environment, h.workflow, h.execution, h.no, ?3 FROM human_task h WHERE h.no = ?1`, h.No, int64(kind), atMs)
}

// published is the name of the cursor with the last number that was given to a fact.
const published = "published"

// UnpublishedFacts reports whether there are facts without a number: a cheap check before PublishFacts.
func (r *Reader) UnpublishedFacts() (bool, error) {
	return r.exists("look for facts", `SELECT 1 FROM fact WHERE number = 0 LIMIT 1`)
}

// PublishFacts gives up to limit facts their numbers. n is how many they were; 0 also if another Update does this just
// now.
func (t *Tx) PublishFacts(limit int) (n int, err error) {
	last, ok, err := t.FollowFacts(published)
	if err != nil || !ok {
		return 0, err
	}
	nos, err := t.numbers(`SELECT no FROM fact WHERE number = 0 ORDER BY no LIMIT ?1`, int64(limit))
	if err != nil || len(nos) == 0 {
		return 0, err
	}
	rows := make([][]any, len(nos))
	for i, no := range nos {
		rows[i] = []any{no, last + int64(i) + 1}
	}
	// One that was deleted meanwhile, with its execution, leaves a gap.
	if _, err := t.c.Each(`UPDATE fact SET number = ?2 WHERE no = ?1`, rows); err != nil {
		return 0, fmt.Errorf("publish facts: %w", err)
	}
	return len(nos), t.MoveFactCursor(published, last+int64(len(nos)), "")
}

// FollowFacts reads the cursor of a reader of facts and locks it until the Update is committed. A reader that is not
// known begins behind what is published. ok is false if another Update holds the lock.
func (t *Tx) FollowFacts(name string) (number int64, ok bool, err error) {
	scan := func(r Row) { number, ok = r.Int(0), true }
	err = t.one(`SELECT number FROM fact_cursor WHERE name = ?1`+t.c.SkipLocked(), scan, name)
	if errors.Is(err, ErrNotFound) {
		// A cursor that is locked is there: then nothing is inserted.
		err = t.one(`INSERT INTO fact_cursor (name, number) VALUES (?1, COALESCE((SELECT c.number FROM fact_cursor c WHERE c.name = ?2), 0))
 ON CONFLICT (name) DO NOTHING RETURNING number`, scan, name, published)
	}
	if errors.Is(err, ErrNotFound) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("follow facts: %w", err)
	}
	return number, true, nil
}

// MoveFactCursor writes a cursor that FollowFacts has locked. part is for a reader that takes more than one transaction
// for a fact: how far it is with what comes behind number; else it is empty.
func (t *Tx) MoveFactCursor(name string, number int64, part string) error {
	return t.change("move cursor of facts", `UPDATE fact_cursor SET number = ?2, part = ?3 WHERE name = ?1`, name, number, part)
}

// FactPart is the part that was written with a cursor. ErrNotFound: there is no such cursor.
func (r *Reader) FactPart(name string) (part string, err error) {
	return readOne(r, "read cursor of facts", `SELECT part FROM fact_cursor WHERE name = ?1`, func(row Row, part *string) { *part = row.Text(0) }, name)
}

// FactsBehind reports whether there are published facts that a reader has not read: a cheap check before FollowFacts.
// It also reports a reader that is not known.
func (r *Reader) FactsBehind(name string) (bool, error) {
	n, err := r.count("look for facts", `SELECT COUNT(*) FROM fact_cursor p LEFT JOIN fact_cursor c ON c.name = ?1
 WHERE p.name = ?2 AND (c.number IS NULL OR c.number < p.number)`, name, published)
	return n > 0, err
}

// Facts reads up to limit published facts behind a number, in order.
func (r *Reader) Facts(after int64, limit int) ([]Fact, error) {
	return readAll(r, "read facts", `SELECT number, kind, account, environment, workflow, execution, task, at_ms FROM fact
 WHERE number > ?1 AND number <> 0 ORDER BY number LIMIT ?2`, func(row Row, f *Fact) {
		*f = Fact{
			Number: row.Int(0), Kind: FactKind(row.Int(1)), Account: row.Int(2), Environment: chargehand.Environment(row.Int(3)),
			Workflow: row.Int(4), Execution: row.Int(5), Task: row.Int(6), AtMs: row.Int(7),
		}
	}, after, int64(limit))
}

// DeleteFacts deletes up to limit facts of what happened before that time, the oldest first, whether they were read or
// not.
func (t *Tx) DeleteFacts(beforeMs int64, limit int) (int64, error) {
	return t.exec("delete facts", `DELETE FROM fact WHERE at_ms < ?1 AND no IN (SELECT no FROM fact WHERE at_ms < ?1 ORDER BY at_ms LIMIT ?2)`,
		beforeMs, int64(limit))
}
