package embedded

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/storetest"
)

var errRefused = errors.New("refused by the caller")

// note remembers a request, as the service does.
func note(tx *store.Tx) error { return tx.SetMeta("note", []byte("made")) }

// refuse writes and then wants nothing of it.
func refuse(tx *store.Tx) error {
	if err := tx.SetMeta("refused", []byte("x")); err != nil {
		return err
	}
	return errRefused
}

func (w *world) meta(name string) bool {
	w.t.Helper()
	found := false
	w.view(func(r *store.Reader) error {
		_, err := r.Meta(name)
		found = err == nil
		if errors.Is(err, store.ErrNotFound) {
			err = nil
		}
		return err
	})
	return found
}

// TestCancelAlso: what the caller wants done is done with the cancellation, or neither is.
func TestCancelAlso(t *testing.T) {
	call := "- a: { call: http, with: { method: get, endpoint: http://x/block/gate } }"
	states := map[string]struct {
		run     store.ExecutionState
		prepare func(w *world) store.Execution
		goOn    func(gate chan struct{}) // after a refusal, to the end
		end     string
	}{
		"running": {run: store.StateActive, end: `"released gate"`,
			prepare: func(w *world) store.Execution { return w.run(w.define(call), `{}`) },
			goOn:    func(gate chan struct{}) { close(gate) }},
		"queued": {run: store.StateQueued, end: `"released gate"`,
			prepare: func(w *world) store.Execution {
				rev := w.define(call)
				w.run(rev, `{}`)
				return w.run(rev, `{}`)
			},
			goOn: func(gate chan struct{}) { close(gate) }},
		"waiting": {run: store.StateParked, end: `{"x":1}`,
			prepare: func(w *world) store.Execution {
				return w.run(w.define("- a: { wait: { hours: 1 } }\n- b: { set: { x: 1 } }"), `{}`)
			},
			goOn: func(chan struct{}) { time.Sleep(time.Hour) }},
	}
	for name, state := range states {
		prepare := func(t *testing.T) (*world, chan struct{}, store.Execution) {
			w := newWorld(t)
			w.limits.AccountSlots = 1
			w.start()
			gate := w.outside.gate("gate")
			row := state.prepare(w)
			synctest.Wait()
			if got := w.read(row.No).State; got != state.run {
				t.Fatalf("run state %v, want %v", got, state.run)
			}
			return w, gate, row
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, _, row := prepare(t)
				defer w.kill()
				if err := w.engine.Cancel(t.Context(), row.ID, "", note); err != nil {
					t.Fatal(err)
				}
				if !w.meta("note") || w.read(row.No).Phase != chargehand.Cancelled {
					t.Fatalf("noted %v, %+v", w.meta("note"), w.read(row.No))
				}
				if err := w.engine.Cancel(t.Context(), row.ID, "", refuse); !errors.Is(err, engine.ErrFinal) {
					t.Fatalf("again: %v", err)
				}
			})
		})
		t.Run(name+", refused", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, gate, row := prepare(t)
				defer w.stop()
				for range 2 * maxFailures { // it is no failure of the execution
					if err := w.engine.Cancel(t.Context(), row.ID, "", note, refuse); !errors.Is(err, errRefused) {
						t.Fatal(err)
					}
				}
				if got := w.read(row.No); got.State != state.run || w.meta("note") || w.meta("refused") {
					t.Fatalf("something was written: %+v", got)
				}
				if n := w.engine.Stats().Failures; n != 0 || strings.Contains(w.log.String(), "failed") {
					t.Fatalf("%d failures\n%s", n, w.log)
				}
				state.goOn(gate)
				row = w.finalIn(row, time.Minute)
				if got := w.result(row.No); got != state.end {
					t.Fatal(got)
				}
				w.idle(0)
			})
		})
	}
}

// TestCancelAlsoOfMany: a refusal concerns only the one who refuses; of the others one wins.
func TestCancelAlsoOfMany(t *testing.T) {
	w := newWorld(t)
	w.start()
	defer w.stop()
	rev := w.define("- a: { call: http, with: { method: get, endpoint: http://x/block/never } }")
	for range 20 {
		row := w.run(rev, `{}`)
		var all sync.WaitGroup
		errs := make([]error, 12)
		for i := range errs {
			also := note
			if i%2 == 0 {
				also = refuse
			}
			all.Go(func() { errs[i] = w.engine.Cancel(t.Context(), row.ID, "", also) })
		}
		all.Wait()
		won := 0
		for i, err := range errs {
			switch {
			case errors.Is(err, engine.ErrFinal):
			case i%2 == 0 && errors.Is(err, errRefused):
			case i%2 == 1 && err == nil:
				won++
			default:
				t.Fatalf("cancellation %d: %v", i, err)
			}
		}
		if got := w.read(row.No); won != 1 || got.Phase != chargehand.Cancelled || w.meta("refused") {
			t.Fatalf("%d have won, %+v", won, got)
		}
	}
	w.idle(0)
}

// TestCancelAlsoCrash fails the commit of a cancellation before and after it is made, and
// kills the engine then.
func TestCancelAlsoCrash(t *testing.T) {
	for name, after := range map[string]bool{"not made": false, "made": true} {
		t.Run(name, func(t *testing.T) {
			w, broken := brokenWorld(t)
			row := w.run(w.define("- a: { call: http, with: { method: get, endpoint: http://x/block/never } }"), `{}`)
			broken.setFail(func(int) (bool, bool) { return !after, after })
			if err := w.engine.Cancel(t.Context(), row.ID, "", note); !errors.Is(err, store.ErrUnavailable) {
				t.Fatal(err)
			}
			w.kill()
			w.openStore()
			defer w.close()
			if noted, final := w.meta("note"), w.read(row.No).Status.Final(); noted != after || final != after {
				t.Fatalf("noted %v, final %v", noted, final)
			}
		})
	}
}

func TestCancelBatchAlso(t *testing.T) {
	w := newWorld(t)
	w.start()
	defer w.stop()
	rev := w.define("- a: { call: http, with: { method: get, endpoint: http://x/block/never } }")
	w.outside.started = make(chan callSeen, 10)
	b := w.batch(rev, 2, numbered(5))
	for range 2 {
		w.blocked()
	}
	if err := w.engine.CancelBatch(t.Context(), b.ID, "", note, refuse); !errors.Is(err, errRefused) {
		t.Fatal(err)
	}
	if got := w.readBatch(b.No); got.CancelRequested || got.Failed != 0 || w.meta("note") {
		t.Fatalf("something was written: %+v", got)
	}
	if err := w.engine.CancelBatch(t.Context(), b.ID, "", note); err != nil {
		t.Fatal(err)
	}
	if got := w.readBatch(b.No); got.Status != chargehand.BatchFailed || !w.meta("note") {
		t.Fatalf("noted %v, %+v", w.meta("note"), got)
	}
	conflict := func(*store.Tx) error { return store.ErrConflict }
	if err := w.engine.CancelBatch(t.Context(), b.ID, "", conflict); !errors.Is(err, engine.ErrFinal) {
		t.Fatal(err)
	}
	other := w.batch(rev, 1, numbered(2))
	if err := w.engine.CancelBatch(t.Context(), other.ID, "", conflict); !errors.Is(err, store.ErrConflict) || errors.Is(err, engine.ErrFinal) {
		t.Fatalf("an error of the caller is taken for one of the engine: %v", err)
	}
	if err := w.engine.CancelBatch(t.Context(), other.ID, ""); err != nil {
		t.Fatal(err)
	}
}

// TestCancelBatchInDoubt: the mark was committed, though nobody was told. The batch ends
// without a restart and without a second request.
func TestCancelBatchInDoubt(t *testing.T) {
	for name, made := range map[string]bool{"made": true, "not made": false} {
		t.Run(name, func(t *testing.T) {
			w, broken := brokenWorld(t)
			defer w.stop()
			rev := w.define("- a: { call: http, with: { method: get, endpoint: http://x/block/never } }")
			w.outside.started = make(chan callSeen, 10)
			b := w.batch(rev, 2, numbered(700))
			for range 2 {
				w.blocked()
			}
			mark := broken.count() + 1
			broken.setFail(func(n int) (bool, bool) { return n == mark && !made, n == mark })
			if err := w.engine.CancelBatch(t.Context(), b.ID, "enough"); !errors.Is(err, store.ErrUnavailable) {
				t.Fatal(err)
			}
			if made {
				if b = w.finalBatch(b); b.Status != chargehand.BatchFailed || b.Failed != 700 {
					t.Fatalf("%+v", b)
				}
				return
			}
			if got := w.readBatch(b.No); got.CancelRequested || got.Status.Final() {
				t.Fatalf("%+v", got)
			}
			if err := w.engine.CancelBatch(t.Context(), b.ID, "enough"); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestTransactionsThatRunTwice runs the scripts on a database that runs every transaction
// twice and undoes the first run, as PostgreSQL may ask for.
func TestTransactionsThatRunTwice(t *testing.T) {
	for name, s := range scripts {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				run := func(wrap func(store.DB) store.DB) (ends []string) {
					w := newWorld(t)
					w.close()
					w.wrap = wrap
					w.openStore()
					w.start()
					defer w.stop()
					rev := s.define(w)
					row := w.run(rev, s.text())
					items := w.batch(rev, 2, []string{s.text(), s.text(), s.text()})
					within := max(s.within, time.Minute)
					row = w.finalIn(row, within)
					ends = append(ends, w.result(row.No), strings.ReplaceAll(w.story(row.No), row.ID.String(), "itself"))
					items = awaitChange(w, items.ID, 3*within, "final", func() (store.Batch, bool) {
						b := w.readBatch(items.No)
						return b, b.Status.Final()
					})
					for _, item := range w.items(items.No) {
						ends = append(ends, w.result(item.No))
					}
					synctest.Wait()
					if n := w.engine.runs.size(); n != 0 {
						t.Errorf("%d runs are left in memory", n)
					}
					w.idle(0)
					if strings.Contains(w.log.String(), "ERROR") {
						t.Errorf("the log has errors:\n%s", w.log)
					}
					return ends
				}
				once, again := run(nil), run(storetest.Twice)
				if strings.Join(once, "\n") != strings.Join(again, "\n") {
					t.Errorf("once:\n%s\ntwice:\n%s", strings.Join(once, "\n"), strings.Join(again, "\n"))
				}
			})
		})
	}
}

// TestInsertedNumberOfATransactionThatRunsAgain: PostgreSQL gives no number twice, so the
// run of the second attempt has another one, and nothing is left under the first.
func TestInsertedNumberOfATransactionThatRunsAgain(t *testing.T) {
	var tb table
	r := &run{no: 5, driven: true}
	tb.insert(r)
	tb.takeOut(r)
	r.no = 6
	tb.insert(r)
	if n := tb.size(); n != 1 || r.gone {
		t.Fatalf("%d runs, gone %v", n, r.gone)
	}
	if got := tb.lookup(6); got != r {
		t.Fatal("the run is not found under its number")
	}
}
