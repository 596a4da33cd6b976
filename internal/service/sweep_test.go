package service

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/blob"
	"github.com/chargehand/chargehand/internal/store"
)

const day = 24 * time.Hour

func (fx *fixture) sweep() {
	fx.t.Helper()
	if err := fx.Sweep(fx.t.Context()); err != nil {
		fx.t.Fatal(err)
	}
}

func TestSweepKeepsToTheRetention(t *testing.T) {
	fx := newFixture(t, func(c *Config) { c.Limits.InlinePayloadBytes = 100 })
	flow := fx.apply(definition("one", "1.0.0"))
	live := fx.create(flow.ID, map[string]any{"large": strings.Repeat("x", 200)})
	test := fx.createAs(fx.test, flow.ID, noInput)
	running := fx.create(flow.ID, noInput)
	b := fx.createBatch(flow.ID, `{"items": [{}, {}]}`)
	items, _ := fx.entries(b, BatchEntries{})
	upload := fx.upload(fx.p, "a", "upload")
	made := fx.result(live, "made.txt", "made")
	fx.finish(live.ID, `{}`)
	fx.finish(test.ID, `{}`)
	fx.finish(items[0].Execution, `{}`)
	ended := epoch.Add(5 * time.Millisecond)
	there := func(p *Principal, id chargehand.ExecutionID) bool {
		t.Helper()
		_, err := fx.GetExecution(t.Context(), p, flow.ID, id, view)
		if err != nil {
			wantCode(t, err, chargehand.CodeExecutionNotFound)
		}
		return err == nil
	}
	fx.clock.Store(int64(ended.Add(7*day).Sub(epoch) - time.Millisecond))
	fx.sweep()
	if !there(fx.test, test.ID) {
		t.Error("an execution of test went before 7 days")
	}
	fx.pass(2 * time.Millisecond)
	fx.sweep()
	if there(fx.test, test.ID) || !there(fx.p, live.ID) {
		t.Error("after 7 days an execution of test is there, or one of live is not")
	}
	fx.clock.Store(int64(ended.Add(30*day).Sub(epoch) - time.Millisecond))
	fx.sweep()
	if !there(fx.p, live.ID) {
		t.Error("an execution of live went before 30 days")
	}
	fx.pass(time.Minute)
	fx.sweep()
	if there(fx.p, live.ID) || !there(fx.p, running.ID) {
		t.Error("after 30 days an execution of live is there, or a running one is not")
	}
	if !there(fx.p, items[0].Execution) {
		t.Error("an item went before its batch has ended")
	}
	for _, id := range []chargehand.FileID{upload.ID, made} {
		_, err := fx.GetFile(t.Context(), fx.p, ReadFile{ID: id}, view)
		wantCode(t, err, chargehand.CodeFileNotFound)
	}
	t.Run("content goes an hour later", func(t *testing.T) {
		digest := blob.DigestOf(fx.engine.starts[0].Row.Input.Blob)
		if _, err := fx.blobs.Size(t.Context(), digest); err != nil {
			t.Fatalf("content went at once: %v", err)
		}
		fx.pass(time.Hour + time.Second)
		fx.sweep()
		if _, err := fx.blobs.Size(t.Context(), digest); !errors.Is(err, blob.ErrNotFound) {
			t.Errorf("content is still there: %v", err)
		}
	})
	t.Run("a batch goes as a whole", func(t *testing.T) {
		fx.finish(items[1].Execution, `{}`)
		fx.pass(29 * day)
		fx.sweep()
		if !there(fx.p, items[0].Execution) {
			t.Error("an item went before its time")
		}
		fx.pass(2 * day)
		fx.sweep()
		_, err := fx.GetBatch(t.Context(), fx.p, flow.ID, b.ID, view)
		wantCode(t, err, chargehand.CodeBatchNotFound)
		if there(fx.p, items[0].Execution) || there(fx.p, items[1].Execution) {
			t.Error("an item outlives its batch")
		}
	})
}

func TestSweepOfIdempotencyKeysAndHiddenFiles(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0"))
	i := key("k", "/x", "a")
	if _, _, err := fx.CreateExecution(t.Context(), fx.p, CreateExecution{Workflow: flow.ID, Idempotency: i}); err != nil {
		t.Fatal(err)
	}
	digest, _, err := fx.blobs.Put(t.Context(), strings.NewReader("lost"), 10)
	if err != nil {
		t.Fatal(err)
	}
	hidden := store.File{ID: newID[chargehand.FileID](fx.nowMs()), Account: fx.account.No, Environment: chargehand.Live, Name: "x", MediaType: "x/y", Size: 4, Digest: digest.Bytes()}
	if err := fx.rows.Update(t.Context(), func(tx *store.Tx) error { return tx.InsertFile(&hidden) }); err != nil {
		t.Fatal(err)
	}
	left := func() (rows int) {
		t.Helper()
		err := fx.rows.View(t.Context(), func(r *store.Reader) error {
			hash := i.hash(fx.p)
			if _, err := r.FindIdempotency(hash[:], 0); err == nil {
				rows++
			}
			known, err := r.BlobKnown(digest.Bytes())
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
	fx.pass(day - time.Millisecond)
	fx.sweep()
	if left() != 2 {
		t.Error("something went before 24 hours")
	}
	fx.pass(2 * time.Millisecond)
	fx.sweep() // deletes the row of the file
	fx.pass(time.Hour + time.Second)
	fx.sweep() // deletes its content
	if n := left(); n != 0 {
		t.Errorf("%d rows are left", n)
	}
}

func TestSweepOfMany(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0"))
	fx.engine.atOnce = true
	for range 2*sweepRows + 5 {
		fx.create(flow.ID, noInput)
	}
	fx.pass(31 * day)
	before := fx.db.updates.Load()
	fx.sweep()
	if page, err := fx.ListExecutions(t.Context(), fx.p, ListExecutions{Limit: 10}); err != nil || len(page.Data) != 0 {
		t.Errorf("%d are left, %v", len(page.Data), err)
	}
	if n := fx.db.updates.Load() - before; n < 3 {
		t.Errorf("it took %d transactions, want small steps", n)
	}
}

func TestSweepThatIsBehindRestsLess(t *testing.T) {
	for _, c := range []struct{ running, step, want time.Duration }{
		{0, time.Millisecond, sweepPause},
		{sweepBehind - 1, time.Second, sweepPause},
		{sweepBehind, time.Millisecond, time.Millisecond},
		{time.Hour, time.Second, sweepPause},
	} {
		if got := sweepRest(c.running, c.step); got != c.want {
			t.Errorf("after %s and a step of %s it rests %s, want %s", c.running, c.step, got, c.want)
		}
	}
}

// TestKindsAlternateInASweep: rows of a kind of which there are very many are deleted in parts, and those of others
// between them.
func TestKindsAlternateInASweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left, others := 2*sweepPart+1, []int(nil)
		steps := []sweepStep{
			func(context.Context) (int, error) {
				n := min(left, sweepRows)
				left -= n
				return n, nil
			},
			func(context.Context) (int, error) {
				others = append(others, left)
				return 0, nil
			},
		}
		s, all := &Service{}, 0
		for more := true; more; {
			var deleted int
			var mine bool
			var err error
			if deleted, more, mine, err = s.sweepRound(t.Context(), steps, time.Now()); err != nil || !mine {
				t.Fatalf("mine: %v, %v", mine, err)
			}
			all += deleted
		}
		if want := []int{sweepPart + 1, 1, 0}; !slices.Equal(others, want) || all != 2*sweepPart+1 {
			t.Errorf("%d rows are deleted, and others were deleted when %v were left, want %v", all, others, want)
		}
	})
}

// heldDB is a database whose Compact waits.
type heldDB struct {
	store.DB
	begun, release chan struct{}
}

func (db *heldDB) Compact(ctx context.Context) error {
	close(db.begun)
	<-db.release
	return db.DB.Compact(ctx)
}

// TestLongSweepHoldsNothingUp: while a sweep takes long, it is written when keys were used.
func TestLongSweepHoldsNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &heldDB{DB: openSQLite(t), begun: make(chan struct{}), release: make(chan struct{})}
		fx := newFixtureOver(t, db)
		fx.engine.atOnce = true
		fx.create(fx.apply(definition("one", "1.0.0")).ID, noInput)
		fx.pass(31 * day)
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { fx.Run(ctx) })
		<-db.begun
		p := fx.authenticate(fx.issue(IssueKey{}))
		time.Sleep(2 * useEvery)
		synctest.Wait()
		var row store.Key
		err := fx.rows.View(t.Context(), func(r *store.Reader) (err error) {
			row, err = r.KeyByID(p.AccountNo, p.Environment, p.Key)
			return err
		})
		if err != nil || row.LastUsedMs != fx.nowMs() {
			t.Errorf("the last use is %d, want %d, %v", row.LastUsedMs, fx.nowMs(), err)
		}
		close(db.release)
		stop()
		running.Wait()
	})
}

func TestSweepTellsWhatWentWrong(t *testing.T) {
	fx := newFixture(t)
	fx.db.broken.Store(true)
	if err := fx.Sweep(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}
