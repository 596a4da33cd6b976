package service

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/blob"
	"github.com/chargehand/chargehand/internal/store"
)

const day = 24 * time.Hour

func (w *world) sweep() {
	w.t.Helper()
	if err := w.Sweep(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

func TestSweepKeepsToTheRetention(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Limits.InlinePayloadBytes = 100 })
	flow := w.apply(definition("one", "1.0.0"))
	live := w.create(flow.ID, map[string]any{"large": strings.Repeat("x", 200)})
	test := w.createAs(w.test, flow.ID, noInput)
	running := w.create(flow.ID, noInput)
	b := w.createBatch(flow.ID, `{"items": [{}, {}]}`)
	items, _ := w.entries(b, BatchEntries{})
	upload := w.upload(w.p, "a", "upload")
	made := w.result(live, "made.txt", "made")
	w.finish(live.ID, `{}`)
	w.finish(test.ID, `{}`)
	w.finish(items[0].Execution, `{}`)
	ended := epoch.Add(5 * time.Millisecond)
	there := func(p *Principal, id chargehand.ExecutionID) bool {
		t.Helper()
		_, err := w.GetExecution(t.Context(), p, flow.ID, id, view)
		if err != nil {
			wantCode(t, err, chargehand.CodeExecutionNotFound)
		}
		return err == nil
	}
	w.clock.Store(int64(ended.Add(7*day).Sub(epoch) - time.Millisecond))
	w.sweep()
	if !there(w.test, test.ID) {
		t.Error("an execution of test went before 7 days")
	}
	w.pass(2 * time.Millisecond)
	w.sweep()
	if there(w.test, test.ID) || !there(w.p, live.ID) {
		t.Error("after 7 days an execution of test is there, or one of live is not")
	}
	w.clock.Store(int64(ended.Add(30*day).Sub(epoch) - time.Millisecond))
	w.sweep()
	if !there(w.p, live.ID) {
		t.Error("an execution of live went before 30 days")
	}
	w.pass(time.Minute)
	w.sweep()
	if there(w.p, live.ID) || !there(w.p, running.ID) {
		t.Error("after 30 days an execution of live is there, or a running one is not")
	}
	if !there(w.p, items[0].Execution) {
		t.Error("an item went before its batch has ended")
	}
	for _, id := range []chargehand.FileID{upload.ID, made} {
		_, err := w.GetFile(t.Context(), w.p, id, view)
		wantCode(t, err, chargehand.CodeFileNotFound)
	}
	t.Run("content goes an hour later", func(t *testing.T) {
		digest := asDigest(w.engine.starts[0].Row.Input.Blob)
		if _, err := w.blobs.Size(t.Context(), digest); err != nil {
			t.Fatalf("content went at once: %v", err)
		}
		w.pass(time.Hour + time.Second)
		w.sweep()
		if _, err := w.blobs.Size(t.Context(), digest); !errors.Is(err, blob.ErrNotFound) {
			t.Errorf("content is still there: %v", err)
		}
	})
	t.Run("a batch goes as a whole", func(t *testing.T) {
		w.finish(items[1].Execution, `{}`)
		w.pass(29 * day)
		w.sweep()
		if !there(w.p, items[0].Execution) {
			t.Error("an item went before its time")
		}
		w.pass(2 * day)
		w.sweep()
		_, err := w.GetBatch(t.Context(), w.p, flow.ID, b.ID, view)
		wantCode(t, err, chargehand.CodeBatchNotFound)
		if there(w.p, items[0].Execution) || there(w.p, items[1].Execution) {
			t.Error("an item outlives its batch")
		}
	})
}

func TestSweepOfIdempotencyKeysAndHiddenFiles(t *testing.T) {
	w := newWorld(t)
	flow := w.apply(definition("one", "1.0.0"))
	i := key("k", "/x", "a")
	if _, _, err := w.CreateExecution(t.Context(), w.p, CreateExecution{Workflow: flow.ID, Idempotency: i}); err != nil {
		t.Fatal(err)
	}
	digest, _, err := w.blobs.Put(t.Context(), strings.NewReader("lost"), 10)
	if err != nil {
		t.Fatal(err)
	}
	hidden := store.File{ID: newID[chargehand.FileID](w.nowMs()), Account: w.account.No, Environment: chargehand.Live, Name: "x", MediaType: "x/y", Size: 4, Digest: digest[:]}
	if err := w.rows.Update(t.Context(), func(tx *store.Tx) error { return tx.InsertFile(&hidden) }); err != nil {
		t.Fatal(err)
	}
	left := func() (rows int) {
		t.Helper()
		err := w.rows.View(t.Context(), func(r *store.Reader) error {
			hash := i.hash(w.p)
			if _, err := r.FindIdempotency(hash[:], 0); err == nil {
				rows++
			}
			known, err := r.BlobKnown(digest[:])
			if known {
				rows++
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	w.pass(day - time.Millisecond)
	w.sweep()
	if left() != 2 {
		t.Error("something went before 24 hours")
	}
	w.pass(2 * time.Millisecond)
	w.sweep() // deletes the row of the file
	w.pass(time.Hour + time.Second)
	w.sweep() // deletes its content
	if n := left(); n != 0 {
		t.Errorf("%d rows are left", n)
	}
}

func TestSweepOfMany(t *testing.T) {
	w := newWorld(t)
	flow := w.apply(definition("one", "1.0.0"))
	w.engine.atOnce = true
	for range 2*sweepRows + 5 {
		w.create(flow.ID, noInput)
	}
	w.pass(31 * day)
	before := w.db.updates.Load()
	w.sweep()
	if page, err := w.ListExecutions(t.Context(), w.p, ListExecutions{Limit: 10}); err != nil || len(page.Data) != 0 {
		t.Errorf("%d are left, %v", len(page.Data), err)
	}
	if n := w.db.updates.Load() - before; n < 3 {
		t.Errorf("it took %d transactions, want small steps", n)
	}
}

func TestSweepTellsWhatWentWrong(t *testing.T) {
	w := newWorld(t)
	w.db.broken.Store(true)
	if err := w.Sweep(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}
