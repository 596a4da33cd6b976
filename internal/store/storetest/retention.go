package storetest

import (
	"bytes"

	"errors"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

var retentionTests = map[string]func(*fixture){
	"oldest first, in steps":      retentionSteps,
	"with all that belongs to it": retentionWhole,
	"files in use stay":           retentionFiles,
	"batches as a whole":          retentionBatches,
	"a batch that is asked for":   retentionBatch,
	"payloads kept outside":       retentionPayloads,
}

func (f *fixture) deleteEnded(env chargehand.Environment, beforeMs int64, limit int) (n int) {
	f.Helper()
	f.update(func(tx *store.Tx) (err error) {
		n, err = tx.DeleteEnded(env, beforeMs, limit)
		return err
	})
	return n
}

func retentionSteps(f *fixture) {
	for i := range 10 {
		e := f.execution(startMs)
		if i == 4 {
			e.Environment = chargehand.Test
		}
		f.insert(&e)
		if i != 5 { // it still runs
			f.update(func(tx *store.Tx) error { _, err := finish(tx, e.No, startMs+10-int64(i), "1"); return err })
		}
	}
	// Ended at +1 … +10; those before +8 are due: +1 +2 +3 +4 +7, oldest first.
	for _, want := range []int{2, 2, 1, 0} {
		if n := f.deleteEnded(chargehand.Live, startMs+8, 2); n != want {
			f.Errorf("deleted %d, want %d", n, want)
		}
		if want == 2 {
			if n := f.number(`SELECT COUNT(*) FROM execution WHERE finished_ms > 0 AND finished_ms < ?1`, startMs+2); n != 0 {
				f.Error("the oldest was not deleted first")
			}
		}
	}
	if n := f.number(`SELECT COUNT(*) FROM execution`); n != 5 {
		f.Errorf("%d are left, want 5", n)
	}
	if n := f.deleteEnded(chargehand.Test, startMs+100, 10); n != 1 {
		f.Errorf("deleted %d of the other environment, want 1", n)
	}
}

func retentionWhole(f *fixture) {
	e := f.execution(startMs)
	e.Input = f.blobPayload(1, 1<<20)
	large := f.execution(startMs)
	large.Input = inline(string(bytes.Repeat([]byte("x"), 5000)))
	f.insert(&e, &large)
	file := f.file(2, startMs)
	file.Visible = false
	f.insertFile(&file)
	output, log := f.blobPayload(3, 1<<20), f.blobPayload(4, 1<<18)
	f.update(func(tx *store.Tx) error {
		err := errors.Join(tx.PublishFile(file.ID, e.No), tx.AppendTimelineChunk(e.No, []byte("t")), tx.UseFile(file.No, e.No),
			tx.AppendLog(&store.LogSegment{Execution: e.No, Lines: 2, Bytes: 4, Data: inline("text")}),
			tx.AppendLog(&store.LogSegment{Execution: e.No, Lines: 1, Bytes: log.Size, Data: log}))
		_, err2 := tx.FinishExecution(e.No, chargehand.Finished, chargehand.Completed, startMs, startMs, &store.Outcome{Output: output})
		_, err3 := finish(tx, large.No, startMs, "1")
		return errors.Join(err, err2, err3)
	})
	if n := f.deleteEnded(chargehand.Live, startMs+1, 100); n != 2 {
		f.Fatalf("deleted %d, want 2", n)
	}
	for _, table := range []string{"execution", "outcome", "input", "timeline_chunk", "log_segment", "file", "file_use"} {
		if n := f.number(`SELECT COUNT(*) FROM ` + table); n != 0 {
			f.Errorf("%d rows are left in %s", n, table)
		}
	}
	f.sweep(startMs, 0)
	if got := f.sweep(startMs, startMs+1); len(got) != 4 {
		f.Errorf("%d blobs are free, want 4", len(got))
	}
}

func retentionFiles(f *fixture) {
	maker, user := f.inserted(), f.inserted()
	file := f.file(1, startMs)
	file.Visible = false
	f.insertFile(&file)
	f.update(func(tx *store.Tx) error {
		_, err := finish(tx, maker, startMs, "1")
		return errors.Join(tx.PublishFile(file.ID, maker), tx.UseFile(file.No, user), err)
	})
	if n := f.deleteEnded(chargehand.Live, startMs+1, 100); n != 1 {
		f.Fatalf("deleted %d, want 1", n)
	}
	if !f.fileThere(&file) {
		f.Fatal("a file that a running execution uses is gone")
	}
	f.update(func(tx *store.Tx) error {
		if n, err := tx.DeleteUploads(chargehand.Live, startMs+1, 100); n != 0 || err != nil {
			f.Errorf("deleted %d (%v)", n, err)
		}
		_, err := finish(tx, user, startMs, "1")
		return err
	})
	f.deleteEnded(chargehand.Live, startMs+1, 100)
	f.update(func(tx *store.Tx) error { _, err := tx.DeleteUploads(chargehand.Live, startMs+1, 100); return err })
	if f.fileThere(&file) {
		f.Error("the file stays although nothing uses it")
	}
}

func retentionBatches(f *fixture) {
	running, runningItems := f.batch(2)
	ended, endedItems := f.batch(3)
	f.update(func(tx *store.Tx) error {
		_, err := finish(tx, runningItems[0].No, startMs+1, "1")
		for _, e := range endedItems {
			_, err2 := finish(tx, e.No, startMs+1, "1")
			err = errors.Join(err, err2)
		}
		return err
	})
	single := f.inserted()
	f.update(func(tx *store.Tx) error { _, err := finish(tx, single, startMs+1, "1"); return err })
	for _, want := range []int{2, 2, 1, 0} { // the single and an item, two items, the batch
		if n := f.deleteEnded(chargehand.Live, startMs+2, 2); n != want {
			f.Errorf("deleted %d, want %d", n, want)
			break
		}
		// A batch that has lost items is on its way out: its counts are not looked at.
		if n := f.number(`SELECT COUNT(*) FROM batch WHERE no = ?1`, running.No); n != 1 {
			f.Error("a batch that runs is gone")
		}
	}
	if n := f.number(`SELECT COUNT(*) FROM execution WHERE batch = ?1`, running.No); n != 2 {
		f.Errorf("%d items of the running batch are left, want 2: the one that ended too", n)
	}
	if n := f.number(`SELECT COUNT(*) FROM batch WHERE no = ?1`, ended.No) + f.number(`SELECT COUNT(*) FROM execution WHERE batch = ?1`, ended.No); n != 0 {
		f.Errorf("%d rows of the ended batch are left", n)
	}
}

// A payload that is kept for an execution goes with it, and not before.
func retentionBatch(f *fixture) {
	b, items := f.batch(5)
	_, others := f.batch(2)
	child := f.inserted()
	f.update(func(tx *store.Tx) error {
		failed := tx.InsertChild(&store.Child{Execution: child, Parent: items[2].No, Command: 1, State: store.ChildDetached})
		for _, e := range append(items, others...) {
			_, err := finish(tx, e.No, startMs+1, "1")
			failed = errors.Join(failed, err)
		}
		return failed
	})
	unfinished := func() (found bool) {
		f.update(func(tx *store.Tx) error {
			if _, err := tx.LockBatch(b.No); err != nil {
				return err
			}
			var err error
			found, err = tx.UnfinishedOfBatch(b.No)
			return err
		})
		return found
	}
	if !unfinished() {
		f.Error("what an item has started is not seen")
	}
	f.update(func(tx *store.Tx) error { _, err := finish(tx, child, startMs+1, "1"); return err })
	if unfinished() {
		f.Error("what has ended is seen as unfinished")
	}
	for _, want := range []int{3, 3} { // three items, then two and the batch: one more call deletes the row
		f.update(func(tx *store.Tx) error {
			n, err := tx.DeleteBatch(b.No, 3)
			if n != want {
				f.Errorf("deleted %d, want %d", n, want)
			}
			return err
		})
	}
	if n := f.number(`SELECT COUNT(*) FROM batch`); n != 1 {
		f.Errorf("%d batches are left, want 1", n)
	}
	if n := f.number(`SELECT COUNT(*) FROM execution`); n != 3 {
		f.Errorf("%d executions are left, want 3: the items of the other batch, and what an item has started", n)
	}
	f.update(func(tx *store.Tx) error {
		if _, err := tx.LockBatch(b.No); !errors.Is(err, store.ErrNotFound) {
			f.Errorf("the batch that is gone: %v", err)
		}
		return nil
	})
}

func retentionPayloads(f *fixture) {
	e := f.execution(startMs)
	f.insert(&e)
	payload := f.blobPayload(7, 1<<20)
	for range 2 { // repeating it changes nothing
		f.update(func(tx *store.Tx) error { return tx.KeepExecutionBlob(e.No, payload.Blob) })
	}
	refs := func() int64 { return f.number(`SELECT refs FROM blob WHERE digest = ?1`, payload.Blob) }
	if n := refs(); n != 1 {
		f.Errorf("%d references, want 1", n)
	}
	f.update(func(tx *store.Tx) error { _, err := finish(tx, e.No, startMs+1, "1"); return err })
	f.checkInvariants()
	f.deleteEnded(chargehand.Live, startMs+2, 10)
	if n := refs(); n != 0 {
		f.Errorf("%d references after the execution was deleted, want 0", n)
	}
}
