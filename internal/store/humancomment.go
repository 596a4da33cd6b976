package store

import (
	"cmp"
	"fmt"

	"github.com/chargehand/chargehand"
)

// HumanComment is a comment on a human task.
type HumanComment struct {
	No        int64
	ID        chargehand.HumanTaskID
	Task      int64
	Author    int64  // as Execution.StartedBy
	ByID      string // of the author, for display
	ByName    string
	Text      string
	CreatedMs int64
}

// InsertHumanComment adds a comment to a task, and sets c.No and c.Task. It counts for its author.
// ErrNotFound: the task is gone.
func (t *Tx) InsertHumanComment(h *HumanTask, c *HumanComment) (err error) {
	c.Task = h.No
	// The row of the task is locked, so that its deletion finds the comment and what it counts for.
	if err := t.one(`SELECT no FROM human_task WHERE no = ?1`+t.c.ForUpdate(), func(Row) {}, h.No); err != nil {
		return fmt.Errorf("comment on a human task: %w", err)
	}
	c.No, err = t.insert("comment on a human task", `INSERT INTO human_comment (id, task, author, by_id, by_name, text, bytes, created_ms)
 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)`, c.ID[:], c.Task, c.Author, c.ByID, c.ByName, t.seal(kindTaskComment, idKey(c.ID), []byte(c.Text)),
		int64(len(c.Text)), c.CreatedMs)
	if err == nil {
		t.countUsage(h.Account, h.Environment, c.Author, Usage{Bytes: int64(len(c.Text))})
	}
	return err
}

// HumanComments reads up to limit comments of a task, the oldest first.
func (r *Reader) HumanComments(task int64, limit int) ([]HumanComment, error) {
	var bad error
	list, err := readAll(r, "read comments", `SELECT no, id, task, author, by_id, by_name, text, created_ms FROM human_comment WHERE task = ?1 ORDER BY no LIMIT ?2`,
		func(row Row, c *HumanComment) {
			*c = HumanComment{No: row.Int(0), Task: row.Int(2), Author: row.Int(3), ByID: row.Text(4), ByName: row.Text(5), CreatedMs: row.Int(7)}
			scanID(row, 1, &c.ID)
			text, err := r.open(kindTaskComment, idKey(c.ID), row.Bytes(6))
			c.Text, bad = string(text), cmp.Or(bad, err)
		}, task, int64(limit))
	return list, cmp.Or(err, bad)
}

// CountHumanComments counts the comments of a task, up to limit.
func (r *Reader) CountHumanComments(task int64, limit int) (int64, error) {
	return r.count("count comments", `SELECT COUNT(*) FROM (SELECT 1 FROM human_comment WHERE task = ?1 LIMIT ?2) x`, task, int64(limit))
}

// deleteTasks deletes the human tasks of an execution that is deleted, of the account and environment of o, and calls
// keep with the digests of their blobs.
func (t *Tx) deleteTasks(execution int64, o UsageOwner, keep func(Row) error) error {
	uncount := func(r Row) error {
		t.countUsage(o.Account, o.Environment, r.Int(0), Usage{Bytes: -r.Int(1)})
		return nil
	}
	tasks, err := t.numbers(`SELECT no FROM human_task WHERE execution = ?1`, execution)
	if err != nil || len(tasks) == 0 {
		return err
	}
	for _, task := range tasks {
		if err := t.c.Send("delete links", `DELETE FROM human_link WHERE task = ?1`, task); err != nil {
			return err
		}
		if err := t.c.Query(`DELETE FROM human_comment WHERE task = ?1 RETURNING author, bytes`, uncount, task); err != nil {
			return fmt.Errorf("delete comments: %w", err)
		}
	}
	for _, column := range []string{"request_blob", "answer_blob"} {
		if err := t.c.Query(`SELECT `+column+` FROM human_task WHERE execution = ?1`, keep, execution); err != nil {
			return fmt.Errorf("read the payloads of human tasks: %w", err)
		}
	}
	if err := t.c.Send("delete facts", `DELETE FROM fact WHERE execution = ?1`, execution); err != nil {
		return err
	}
	if err := t.c.Query(`DELETE FROM human_task WHERE execution = ?1 RETURNING owner, bytes`, uncount, execution); err != nil {
		return fmt.Errorf("delete human tasks: %w", err)
	}
	return nil
}
