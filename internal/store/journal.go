package store

import (
	"fmt"
	"math"
)

const maxSeq int64 = math.MaxInt64

// JournalRow is one event of an execution that has not ended.
type JournalRow struct {
	Execution int64
	Seq       int64   // from 1
	Event     Payload // machine.AppendEvent
	Digest    uint64  // machine.Digest of the commands that the event caused
}

// AppendJournal inserts one event. ErrConflict: the execution has that seq already.
func (t *Tx) AppendJournal(j *JournalRow) error {
	err := t.c.Send("append journal", `INSERT INTO journal (execution, seq, event, event_blob, event_size, digest)
 VALUES (?1, ?2, ?3, ?4, ?5, ?6)`, j.Execution, j.Seq, t.seal(kindJournal, rowKey{j.Execution, j.Seq}, j.Event.Inline), t.hide(j.Event.Blob), sizeArg(j.Event), int64(j.Digest))
	if err != nil {
		return err
	}
	return t.refBlob(j.Event.Blob)
}

// DropJournal deletes the events of an execution up to and including throughSeq.
func (t *Tx) DropJournal(no, throughSeq int64) error {
	var blobs [][]byte
	err := t.c.Query(`DELETE FROM journal WHERE execution = ?1 AND seq <= ?2 RETURNING event_blob`, func(r Row) error {
		if b := r.Bytes(0); b != nil {
			blobs = append(blobs, b)
		}
		return nil
	}, no, throughSeq)
	if err != nil {
		return fmt.Errorf("drop journal: %w", err)
	}
	return t.unrefBlobs(blobs)
}

// Journal calls row for each event after afterSeq, in order. The row is valid only during
// the call; its bytes may be kept.
func (r *Reader) Journal(no, afterSeq int64, row func(*JournalRow) error) error {
	var j JournalRow
	err := r.c.Query(`SELECT seq, event, event_blob, event_size, digest FROM journal
 WHERE execution = ?1 AND seq > ?2 ORDER BY seq`, func(rw Row) error {
		j = JournalRow{Execution: no, Seq: rw.Int(0), Event: r.payload(rw, 1, kindJournal, rowKey{no, rw.Int(0)}), Digest: uint64(rw.Int(4))}
		return row(&j)
	}, no, afterSeq)
	if err != nil {
		return fmt.Errorf("read journal: %w", err)
	}
	return nil
}

// Checkpoint is a machine state; one per execution at most.
type Checkpoint struct {
	Execution int64
	Seq       int64 // the last event that it contains
	Revision  int
	State     Payload
}

// PutCheckpoint inserts the checkpoint of an execution, or replaces it.
func (t *Tx) PutCheckpoint(c *Checkpoint) error {
	if err := t.DropCheckpoint(c.Execution); err != nil {
		return err
	}
	err := t.c.Send("put checkpoint", `INSERT INTO checkpoint (execution, seq, revision, state, state_blob, state_size)
 VALUES (?1, ?2, ?3, ?4, ?5, ?6)`, c.Execution, c.Seq, int64(c.Revision),
		t.seal(kindCheckpoint, rowKey{c.Execution, c.Seq}, c.State.Inline), t.hide(c.State.Blob), sizeArg(c.State))
	if err != nil {
		return err
	}
	return t.refBlob(c.State.Blob)
}

// DropCheckpoint deletes the checkpoint of an execution, if it has one.
func (t *Tx) DropCheckpoint(no int64) error {
	var blobs [][]byte
	err := t.c.Query(`DELETE FROM checkpoint WHERE execution = ?1 RETURNING state_blob`, func(r Row) error {
		if b := r.Bytes(0); b != nil {
			blobs = append(blobs, b)
		}
		return nil
	}, no)
	if err != nil {
		return fmt.Errorf("drop checkpoint: %w", err)
	}
	return t.unrefBlobs(blobs)
}

// Checkpoint reads the checkpoint of an execution. Errors: ErrNotFound if it has none.
func (r *Reader) Checkpoint(no int64) (Checkpoint, error) {
	return readOne(r, "read checkpoint", `SELECT seq, revision, state, state_blob, state_size FROM checkpoint WHERE execution = ?1`, func(row Row, c *Checkpoint) {
		*c = Checkpoint{Execution: no, Seq: row.Int(0), Revision: int(row.Int(1)), State: r.payload(row, 2, kindCheckpoint, rowKey{no, row.Int(0)})}
	}, no)
}

// AppendTimelineChunk adds a chunk after the ones that the execution has. The last chunk
// of a finished execution is in its Outcome.
func (t *Tx) AppendTimelineChunk(no int64, data []byte) error {
	return t.c.Send("append timeline chunk", `INSERT INTO timeline_chunk (execution, chunk, data)
 SELECT ?1, COALESCE(MAX(chunk), 0) + 1, ?2 FROM timeline_chunk WHERE execution = ?1`, no, t.seal(kindTimeline, rowKey{no}, data))
}

// PutTimelineChunk adds the chunk with that number, unless the execution has it already, or
// is gone. It is for callers that may be repeated.
func (t *Tx) PutTimelineChunk(no, number int64, data []byte) error {
	return t.c.Send("put timeline chunk", `INSERT INTO timeline_chunk (execution, chunk, data)
 SELECT no, ?2, ?3 FROM execution WHERE no = ?1 ON CONFLICT (execution, chunk) DO NOTHING`, no, number, t.seal(kindTimeline, rowKey{no}, data))
}

// DropTimelineChunks deletes all chunks but the newest keep ones.
func (t *Tx) DropTimelineChunks(no int64, keep int) error {
	return t.c.Send("drop timeline chunks", `DELETE FROM timeline_chunk WHERE execution = ?1
 AND chunk <= (SELECT COALESCE(MAX(chunk), 0) FROM timeline_chunk WHERE execution = ?1) - ?2`, no, int64(keep))
}

// TimelineChunks reads the chunks of an execution, oldest first, without the last one that
// is in the Outcome.
func (r *Reader) TimelineChunks(no int64) ([][]byte, error) {
	var chunks [][]byte
	err := r.c.Query(`SELECT data FROM timeline_chunk WHERE execution = ?1 ORDER BY chunk`, func(row Row) error {
		chunk, err := r.open(kindTimeline, rowKey{no}, row.Bytes(0))
		chunks = append(chunks, chunk)
		return err
	}, no)
	if err != nil {
		return nil, fmt.Errorf("read timeline chunks: %w", err)
	}
	return chunks, nil
}
