package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine/embedded"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/sqlite"
)

// dyingDB is a database whose process dies at one of its commits: before it, or right after it.
type dyingDB struct {
	store.DB
	mu     sync.Mutex
	left   int // commits until it dies
	before bool
	dead   bool
}

var errDied = fmt.Errorf("the process has died: %w", store.ErrUnavailable)

func (d *dyingDB) View(ctx context.Context, fn func(store.Conn) error) error {
	d.mu.Lock()
	dead := d.dead
	d.mu.Unlock()
	if dead {
		return errDied
	}
	return d.DB.View(ctx, fn)
}

func (d *dyingDB) Update(ctx context.Context, fn func(store.Conn) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead {
		return errDied
	}
	d.left--
	d.dead = d.left == 0
	if d.dead && d.before {
		return errDied
	}
	if err := d.DB.Update(ctx, fn); err != nil || !d.dead {
		return err
	}
	return errDied
}

// TestOperationSurvivesCrashes: wherever an operation is cut off, it continues, and acts on each execution once.
func TestOperationSurvivesCrashes(t *testing.T) {
	for _, before := range []bool{true, false} {
		for commit, died := 1, true; died; commit++ {
			died = fxCrash(t, commit, before)
			if commit > 30 {
				t.Fatal("it never comes to an end")
			}
		}
	}
}

// fxCrash carries an operation out in two processes, of which the first dies at a commit. It reports whether it did.
func fxCrash(t *testing.T, commit int, before bool) bool {
	db := &dyingDB{DB: template.New(t)}
	fx := newFixtureOver(t, db)
	flow := fx.apply(definition("one", "1.0.0"))
	p, _ := fx.operator("ada")
	failed := fx.many(flow.ID, 5)
	fx.fail(failed...)
	o := fx.begin(p, `{"action": "retry", "filter": {}}`, &ListExecutions{})
	db.left, db.before = commit, before
	w := fx.worker()
	for range 100 { // as long as it lives
		if _, err := w.pass(t.Context()); err != nil && !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		db.mu.Lock()
		dead := db.dead
		db.mu.Unlock()
		if dead || fx.operation(p, o).Status == "completed" {
			break
		}
	}
	died := db.dead
	db.mu.Lock()
	db.dead, db.left = false, 0
	db.mu.Unlock()
	fx.carry(fx.worker())
	wantCounts(t, fx.operation(p, o), "completed", 5, 5, 0, 0, 0)
	retries := map[chargehand.ExecutionID]int{}
	page, err := fx.ListExecutions(t.Context(), fx.p, ListExecutions{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range page.Data {
		if !e.RetryOf.IsZero() {
			retries[e.RetryOf]++
		}
	}
	for _, e := range failed {
		if retries[e.ID] != 1 {
			t.Errorf("died at commit %d (before it: %t): %s was started again %d times", commit, before, e.ID, retries[e.ID])
		}
	}
	return died
}

// TestConcurrentOperationWorkers: processes that work on the same operation at once, beside executions that end, act on
// each execution once and change no end.
func TestConcurrentOperationWorkers(t *testing.T) {
	db, err := sqlite.Open(sqlite.Options{Path: filepath.Join(t.TempDir(), "chargehand.db"), Owner: true})
	if err != nil {
		t.Fatal(err)
	}
	fx := newFixtureOver(t, db)
	withEngine(t, fx, embedded.Limits{})
	flow := fx.apply(bytes.Replace(definition("one", "1.0.0"), []byte("PT1S"), []byte("PT1H"), 1)) // none ends by itself
	p, err := fx.Authenticate(t.Context(), fx.issue(IssueKey{Name: "k", Scopes: PresetOperate}), localhost)
	if err != nil {
		t.Fatal(err)
	}
	const n = 120
	all := fx.many(flow.ID, n)
	for time.Now().UnixMilli() <= all[n-1].ID.Milli() { // they are to be older than the operation
		runtime.Gosched()
	}
	o := fx.begin(p, `{"action": "cancel", "filter": {}}`, &ListExecutions{})
	var working sync.WaitGroup
	for range 3 {
		working.Go(func() {
			w := fx.worker()
			for fx.operation(p, o).EndedAt.IsZero() {
				if _, err := w.pass(t.Context()); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	working.Go(func() {
		for i := 0; i < n; i += 3 { // errors say that the operation was first
			_, _, _ = fx.CancelExecution(t.Context(), fx.p, ChangeExecution{Workflow: flow.ID, Execution: all[i].ID, Body: map[string]any{"reason": "by hand"}})
		}
	})
	working.Wait()
	got := fx.operation(p, o)
	if got.Status != "completed" || got.Succeeded+got.Skipped != got.Total || got.Total > n || got.Failed != 0 {
		t.Errorf("it is %+v", got)
	}
	byHand := int64(0)
	for _, e := range all {
		now := fx.get(e)
		if now.Phase != chargehand.Cancelled {
			t.Fatalf("%s is %s", e.ID, now.Phase)
		}
		if now.Error.Detail == "by hand" {
			byHand++
		}
	}
	if byHand != n-got.Succeeded {
		t.Errorf("%d were cancelled by hand, and %d of %d by the operation", byHand, got.Succeeded, n)
	}
}
