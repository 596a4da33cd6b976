package store

import (
	"fmt"

	"github.com/chargehand/chargehand"
)

// BulkAnswer is one answer to many human tasks, whose request carries an Idempotency-Key. It is inserted before the
// first task is answered, so that the same request, made again, is about the same tasks.
type BulkAnswer struct {
	ID        chargehand.HumanTaskID
	Tasks     []chargehand.HumanTaskID
	Result    []byte // JSON; nil: it is not known yet
	CreatedMs int64
}

// InsertBulkAnswer inserts b, without a result.
func (t *Tx) InsertBulkAnswer(b *BulkAnswer) error {
	tasks := make([]byte, 0, len(b.Tasks)*len(b.ID))
	for _, id := range b.Tasks {
		tasks = append(tasks, id[:]...)
	}
	return t.c.Send("insert a bulk answer", `INSERT INTO bulk_answer (id, tasks, created_ms) VALUES (?1, ?2, ?3)`, b.ID[:], tasks, b.CreatedMs)
}

// FinishBulkAnswer sets the result of a bulk answer that has none.
func (t *Tx) FinishBulkAnswer(id chargehand.HumanTaskID, result []byte) error {
	return t.c.Send("finish a bulk answer", `UPDATE bulk_answer SET result = ?2 WHERE id = ?1 AND result IS NULL`, id[:], result)
}

// BulkAnswer reads a bulk answer. Errors: ErrNotFound.
func (r *Reader) BulkAnswer(id chargehand.HumanTaskID) (b BulkAnswer, err error) {
	err = r.one(`SELECT tasks, result, created_ms FROM bulk_answer WHERE id = ?1`, func(row Row) {
		b = BulkAnswer{ID: id, Result: row.Bytes(1), CreatedMs: row.Int(2)}
		for tasks := row.Bytes(0); len(tasks) >= len(id); tasks = tasks[len(id):] {
			b.Tasks = append(b.Tasks, chargehand.HumanTaskID(tasks[:len(id)]))
		}
	}, id[:])
	if err != nil {
		return BulkAnswer{}, fmt.Errorf("read a bulk answer: %w", err)
	}
	return b, nil
}

// DeleteBulkAnswers deletes up to limit bulk answers made before a time, oldest first.
func (t *Tx) DeleteBulkAnswers(beforeMs int64, limit int) (int64, error) {
	return t.exec("delete bulk answers", `DELETE FROM bulk_answer WHERE created_ms < ?1 AND id IN
 (SELECT id FROM bulk_answer WHERE created_ms < ?1 ORDER BY created_ms LIMIT ?2)`, beforeMs, int64(limit))
}
