package store

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/chargehand/chargehand"
)

// HumanDraft is an answer to a human task that its author is still writing. It ends with the task.
type HumanDraft struct {
	Task      int64
	Author    int64  // as Execution.StartedBy
	Data      []byte // JSON
	UpdatedMs int64
}

func (d *HumanDraft) key() rowKey { return rowKey{d.Task, d.Author} }

// PutHumanDraft replaces the draft of an author for a task, for whom it counts. ErrConflict: the task has ended.
func (t *Tx) PutHumanDraft(d *HumanDraft) error {
	// The row of the task is locked, so that its end finds the draft and deletes it, and one draft replaces another.
	h := HumanTask{No: d.Task}
	err := t.one(`SELECT account, environment FROM human_task WHERE no = ?1 AND ended_ms = 0`+t.c.ForUpdate(), func(r Row) {
		h.Account, h.Environment = r.Int(0), chargehand.Environment(r.Int(1))
	}, d.Task)
	if errors.Is(err, ErrNotFound) {
		err = ErrConflict
	}
	if err != nil {
		return fmt.Errorf("put a draft: %w", err)
	}
	if err := t.DeleteHumanDraft(&h, d.Author); err != nil {
		return err
	}
	t.countUsage(h.Account, h.Environment, d.Author, Usage{Bytes: int64(len(d.Data))})
	return t.c.Send("put a draft", `INSERT INTO human_draft (task, author, data, bytes, updated_ms) VALUES (?1, ?2, ?3, ?4, ?5)`,
		d.Task, d.Author, t.seal(kindTaskDraft, d.key(), d.Data), int64(len(d.Data)), d.UpdatedMs)
}

// HumanDraft reads the draft of an author for a task. Errors: ErrNotFound.
func (r *Reader) HumanDraft(task, author int64) (HumanDraft, error) {
	d := HumanDraft{Task: task, Author: author}
	var bad error
	err := r.one(`SELECT data, updated_ms FROM human_draft WHERE task = ?1 AND author = ?2`, func(row Row) {
		d.Data, bad = r.open(kindTaskDraft, d.key(), row.Bytes(0))
		d.UpdatedMs = row.Int(1)
	}, task, author)
	if err = cmp.Or(err, bad); err != nil {
		return HumanDraft{}, fmt.Errorf("read a draft: %w", err)
	}
	return d, nil
}

// DeleteHumanDraft deletes the draft of an author for a task, if there is one.
func (t *Tx) DeleteHumanDraft(h *HumanTask, author int64) error {
	return t.dropDrafts(h, `DELETE FROM human_draft WHERE task = ?1 AND author = ?2`, h.No, author)
}

// dropDrafts runs a statement that deletes drafts for a task.
func (t *Tx) dropDrafts(h *HumanTask, query string, args ...any) error {
	err := t.c.Query(query+` RETURNING author, bytes`, func(r Row) error {
		t.countUsage(h.Account, h.Environment, r.Int(0), Usage{Bytes: -r.Int(1)})
		return nil
	}, args...)
	if err != nil {
		return fmt.Errorf("delete drafts: %w", err)
	}
	return nil
}
