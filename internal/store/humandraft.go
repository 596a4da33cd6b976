package store

import (
	"cmp"
	"fmt"
)

// HumanDraft is an answer to a human task that its author is still writing. It ends with the task.
type HumanDraft struct {
	Task      int64
	Author    int64  // as Execution.StartedBy
	Data      []byte // JSON
	UpdatedMs int64
}

func (d *HumanDraft) key() rowKey { return rowKey{d.Task, d.Author} }

// PutHumanDraft replaces the draft of an author for a task. ErrConflict: the task has ended.
func (t *Tx) PutHumanDraft(d *HumanDraft) error {
	// The row of the task is locked, so that its end finds the draft and deletes it.
	return t.change("put a draft", `INSERT INTO human_draft (task, author, data, updated_ms)
 SELECT no, ?2, ?3, ?4 FROM human_task WHERE no = ?1 AND ended_ms = 0`+t.c.ForUpdate()+`
 ON CONFLICT (task, author) DO UPDATE SET data = excluded.data, updated_ms = excluded.updated_ms`,
		d.Task, d.Author, t.seal(kindTaskDraft, d.key(), d.Data), d.UpdatedMs)
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
func (t *Tx) DeleteHumanDraft(task, author int64) error {
	return t.c.Send("delete a draft", `DELETE FROM human_draft WHERE task = ?1 AND author = ?2`, task, author)
}
