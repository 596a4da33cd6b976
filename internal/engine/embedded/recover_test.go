package embedded

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

// TestInterruptionsAreCounted: three crashes are survived, the fourth faults the task.
func TestInterruptionsAreCounted(t *testing.T) {
	for name, tasks := range map[string]string{
		"default":       "- a: { call: http, with: { method: get, endpoint: http://x/block/never } }",
		"at most once":  "- a: { call: http, with: { method: get, endpoint: http://x/block/never }, metadata: { onInterrupted: fault } }",
		"of two equals": "- f: { fork: { branches: [ { a: { call: http, with: { method: get, endpoint: http://x/block/never } } }, { b: { call: http, with: { method: get, endpoint: http://x/block/never } } } ] } }",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.start()
			w.outside.started = make(chan callSeen, 100)
			row := w.run(w.define(tasks), `{}`)
			crashes, calls := 4, 1
			if name == "at most once" {
				crashes = 1
			}
			if name == "of two equals" {
				calls = 2
			}
			keys := map[string]int{}
			for range crashes {
				for range calls {
					keys[w.blocked().Key]++
				}
				w.kill()
				w.start()
			}
			row = w.final(row)
			if got := w.result(row.No); got != "fault interrupted" {
				t.Fatal(got)
			}
			if len(keys) != calls {
				t.Fatalf("%v", keys)
			}
			for key, n := range keys {
				if n != crashes {
					t.Errorf("%s ran %d times", key, n)
				}
			}
			w.stop()
		})
	}
}

// TestOverdueDeadlinesComeBeforeRestarts: what timed out while the server was down is not
// started again, and several deadlines are delivered by due time.
func TestOverdueDeadlinesComeBeforeRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start()
		w.outside.started = make(chan callSeen, 10)
		rev := w.define(`
- a:
    try:
      - b:
          call: http
          with: { method: get, endpoint: http://x/block/never }
          timeout: { after: { minutes: 1 } }
    catch:
      as: problem
      do:
        - c: { set: { status: '${ $problem.status }' } }`)
		// The inner deadline comes before the outer one, so the handler runs.
		both := w.define(`
- a:
    timeout: { after: { minutes: 3 } }
    do:
      - b:
          try:
            - c:
                call: http
                with: { method: get, endpoint: http://x/block/never }
                timeout: { after: { minutes: 2 } }
          catch:
            do:
              - d: { set: { handled: true } }`)
		early, late := w.run(rev, `{}`), w.run(both, `{}`)
		w.blocked()
		w.blocked()
		w.kill()
		time.Sleep(time.Hour)
		w.start()
		defer w.stop()
		if got := w.endOf(early, time.Second).result; got != `{"status":408}` {
			t.Fatal(got)
		}
		if got := w.endOf(late, time.Second).result; got != `{"handled":true}` {
			t.Fatal(got)
		}
		for key, n := range w.outside.allRuns() {
			if n != 1 {
				t.Errorf("%s ran %d times", key, n)
			}
		}
		if n := w.engine.Stats().Interruptions; n != 0 {
			t.Errorf("%d interruptions", n)
		}
	})
}

// TestWokenWithoutASlotIsNotInterrupted: its activity was never started.
func TestWokenWithoutASlotIsNotInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.limits.AccountSlots = 1
		w.start()
		w.outside.started = make(chan callSeen, 10)
		gate := w.outside.gate("gate")
		waits := w.define(`
- a: { wait: { seconds: 10 } }
- b: { call: http, with: { method: get, endpoint: http://x/echo/one } }`)
		waiting := w.run(waits, `{}`)
		blocking := w.run(w.define("- a: { call: http, with: { method: get, endpoint: http://x/block/gate } }"), `{}`)
		w.blocked()
		time.Sleep(time.Minute)
		if row := w.read(waiting.No); row.State != store.StateReady {
			t.Fatalf("%+v", row)
		}
		if n := w.engine.runs.size(); n != 1 {
			t.Fatalf("%d executions in memory", n)
		}
		queued := w.run(waits, `{}`)
		if queued.State != store.StateQueued {
			t.Fatalf("%+v", queued)
		}
		w.kill()
		w.start()
		defer w.stop()
		w.blocked()
		synctest.Wait()
		if row := w.read(waiting.No); row.State != store.StateReady {
			t.Fatalf("after the restart: %+v", row)
		}
		close(gate)
		w.endOf(blocking, time.Second)
		w.endOf(waiting, time.Second)
		w.endOf(queued, time.Minute)
		if n := w.engine.Stats().Interruptions; n != 1 {
			t.Fatalf("%d interruptions, want that of the blocking call", n)
		}
		if waiting, queued := w.read(waiting.No), w.read(queued.No); queued.StartedMs < waiting.FinishedMs {
			t.Fatal("a queued execution went before a woken one")
		}
	})
}

// TestWokenAndOverdueIsNotStarted: a deadline that passed while the server was down comes
// before the activity that waited for a slot.
func TestWokenAndOverdueIsNotStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.limits.AccountSlots = 1
		w.start()
		rev := w.define(`
- a:
    timeout: { after: { minutes: 5 } }
    do:
      - b: { wait: { seconds: 10 } }
      - c: { call: http, with: { method: get, endpoint: http://x/echo/one } }`)
		row := w.run(rev, `{}`)
		w.run(w.define("- a: { call: http, with: { method: get, endpoint: http://x/block/never } }"), `{}`)
		time.Sleep(time.Minute)
		if row := w.read(row.No); row.State != store.StateReady {
			t.Fatalf("%+v", row)
		}
		w.kill()
		time.Sleep(time.Hour)
		w.limits.AccountSlots = 2
		w.start()
		defer func() { w.kill() }()
		if got := w.endOf(row, time.Second).result; got != "fault timeout" {
			t.Fatal(got)
		}
		if runs := w.outside.allRuns(); len(runs) != 1 {
			t.Fatalf("%v", runs)
		}
	})
}

// TestReplayMismatch: a journal that leads elsewhere than it did stops that execution alone.
func TestReplayMismatch(t *testing.T) {
	w := newWorld(t)
	w.start()
	w.outside.started = make(chan callSeen, 10)
	rev := w.define(`
- a: { call: http, with: { method: get, endpoint: http://x/block/never } }`)
	other := w.define(`
- a: { call: http, with: { method: get, endpoint: http://x/block/gate } }`)
	gate := w.outside.gate("gate")
	row, good := w.run(rev, `{}`), w.run(other, `{}`)
	w.blocked()
	w.blocked()
	w.kill()
	// The new binary compiles the same definition to something else.
	w.plans[rev] = compile(t, "do:\n  - a: { call: http, with: { method: post, endpoint: http://x/block/never } }\n")
	w.start()
	defer w.stop()
	row = w.final(row)
	if got := w.result(row.No); got != "fault replay_mismatch" {
		t.Fatal(got)
	}
	var o store.Outcome
	w.view(func(r *store.Reader) (err error) {
		o, err = r.Outcome(row.No)
		return err
	})
	if f, _ := engine.DecodeFault(o.Fault); f.Origin != "system" || f.Detail == "" {
		t.Fatalf("%+v", f)
	}
	if !strings.Contains(w.log.String(), "replay_mismatch") || !strings.Contains(w.log.String(), "ERROR") {
		t.Fatalf("nobody was told:\n%s", w.log)
	}
	close(gate)
	if good = w.final(good); good.Status != chargehand.Finished {
		t.Fatal("another execution was hurt")
	}
	w.idle(0)
}

func TestUnknownRevisionOfTheMachine(t *testing.T) {
	w := newWorld(t)
	w.start()
	w.outside.started = make(chan callSeen, 10)
	row := w.run(w.define("- a: { call: http, with: { method: get, endpoint: http://x/block/never } }"), `{}`)
	w.blocked()
	w.kill()
	w.openStore()
	err := w.db.Update(t.Context(), func(c store.Conn) error {
		_, err := c.Exec("UPDATE execution SET machine = ?1", int64(machine.Revision+1))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	w.start()
	defer w.stop()
	row = w.final(row)
	if got := w.result(row.No); got != "fault revision_unsupported" {
		t.Fatal(got)
	}
}

func TestDefinitionThatIsGone(t *testing.T) {
	w := newWorld(t)
	w.start()
	w.outside.started = make(chan callSeen, 10)
	rev := w.define("- a: { call: http, with: { method: get, endpoint: http://x/block/never } }")
	row := w.run(rev, `{}`)
	w.blocked()
	w.kill()
	delete(w.plans, rev)
	w.start()
	defer w.stop()
	if got := w.result(w.final(row).No); got != "fault internal" {
		t.Fatal(got)
	}
}

// TestManyCrashes kills at random moments and wants the same end in spite of it.
func TestManyCrashes(t *testing.T) {
	w := newWorld(t)
	var definitions []int64
	for _, name := range []string{"calls", "loop", "retry", "yield", "large"} {
		s := scripts[name]
		s.tasks = strings.NewReplacer("seconds: 1 ", "milliseconds: 1 ", "seconds: 5 ", "milliseconds: 1 ").Replace(s.tasks)
		definitions = append(definitions, s.define(w))
	}
	w.start()
	var rows []store.Execution
	want := map[int64]string{}
	for _, rev := range definitions {
		row := w.final(w.run(rev, `{}`))
		want[rev] = w.result(row.No)
	}
	// Three interruptions of an activity are survived: so three crashes.
	for range 3 {
		for range 8 {
			for _, rev := range definitions {
				rows = append(rows, w.run(rev, `{}`))
			}
		}
		w.kill()
		w.start()
	}
	defer func() { w.stop() }()
	for _, row := range rows {
		row = w.final(row)
		if got := w.result(row.No); got != want[row.Revision] {
			t.Errorf("revision %d: %s, want %s", row.Revision, got, want[row.Revision])
		}
	}
	w.idle(0)
}

// TestLongRecoveryIsQuick is ready at once with many ended and many waiting rows.
func TestLongRecoveryIsQuick(t *testing.T) {
	w := newWorld(t)
	w.start()
	ended, waits := w.define("- a: { set: { x: 1 } }"), w.define("- a: { wait: { hours: 1 } }")
	startAll(t, w, ended, 20_000)
	startAll(t, w, waits, 10_000)
	w.stop()
	w.openStore()
	begin := time.Now()
	w.start()
	took := time.Since(begin)
	defer w.stop()
	if took > time.Second {
		t.Fatalf("ready after %v", took)
	}
	t.Logf("ready after %v", took)
	if n := w.engine.runs.size(); n != 0 {
		t.Fatalf("%d executions in memory", n)
	}
}

// startAll starts many executions at once.
func startAll(t testing.TB, w *world, revision int64, n int) {
	t.Helper()
	errs := make(chan error)
	for range 64 {
		go func() {
			var first error
			for range n / 64 {
				if _, err := w.startOne(revision, `{}`); err != nil && first == nil {
					first = err
				}
			}
			errs <- first
		}()
	}
	for range 64 {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
}

func TestStopLetsFinishWhatCan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.start()
		w.outside.started = make(chan callSeen, 10)
		gate := w.outside.gate("gate")
		rev := w.define(`
- a: { call: http, with: { method: get, endpoint: http://x/block/gate } }
- b: { call: http, with: { method: get, endpoint: http://x/echo/one } }`)
		row := w.run(rev, `{}`)
		w.blocked()
		stopped := make(chan error)
		e := w.engine
		go func() { stopped <- e.Stop(context.Background()) }()
		synctest.Wait()
		if e.Ready() {
			t.Fatal("ready while it stops")
		}
		close(gate)
		if err := <-stopped; err != nil {
			t.Fatal(err)
		}
		// The outcome is journaled; the next activity waits for the next start, uninterrupted.
		if read := w.read(row.No); read.State != store.StateReady {
			t.Fatalf("%+v", read)
		}
		w.engine = nil
		w.close()
		w.start()
		defer w.stop()
		if row = w.final(row); row.Status != chargehand.Finished {
			t.Fatal(w.result(row.No))
		}
		if n := w.engine.Stats().Interruptions; n != 0 {
			t.Fatalf("%d interruptions", n)
		}
		for key, n := range w.outside.allRuns() {
			if n != 1 {
				t.Errorf("%s ran %d times", key, n)
			}
		}
	})
}

func TestStopCutsOffWhatCannot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.limits.Calls = 2
		w.start()
		w.outside.started = make(chan callSeen, 10)
		rev := w.define(`
- a: { call: http, with: { method: get, endpoint: http://x/block/never } }`)
		var rows []store.Execution
		for range 5 {
			rows = append(rows, w.run(rev, `{}`))
		}
		w.blocked()
		w.blocked()
		begin := time.Now()
		if err := w.engine.Stop(context.Background()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took < 8*time.Second || took > 10*time.Second {
			t.Fatalf("took %v", took)
		}
		w.engine = nil
		states := map[store.ExecutionState]int{}
		for _, row := range rows {
			states[w.read(row.No).State]++
		}
		// The three that waited for a place were not interrupted.
		if states[store.StateActive] != 2 || states[store.StateReady] != 3 {
			t.Fatalf("%v", states)
		}
		w.close()
		w.start()
		defer w.kill()
		synctest.Wait()
		if n := w.engine.Stats().Interruptions; n != 2 {
			t.Fatalf("%d interruptions", n)
		}
	})
}

func TestStopEndsIdleEngineAtOnce(t *testing.T) {
	w := newWorld(t)
	w.start()
	w.run(w.define("- a: { wait: { hours: 1 } }"), `{}`)
	begin := time.Now()
	w.stop()
	if took := time.Since(begin); took > 2*time.Second {
		t.Fatalf("took %v", took)
	}
}

// TestLongComputationsAreCheckpointed: the next start computes again what lies behind the
// last checkpoint, before it is ready.
func TestLongComputationsAreCheckpointed(t *testing.T) {
	w := newWorld(t)
	w.start()
	defer w.kill()
	w.outside.started = make(chan callSeen, 1)
	rev := w.define(`
- a: { for: { in: '[range(16)]' }, do: [ { b: { set: '${ [range(500000) | . * 2] | length }' } } ] }
- c: { call: http, with: { method: get, endpoint: http://x/block/never } }`)
	row := w.run(rev, "{}")
	w.blocked()
	var seq int64
	w.view(func(r *store.Reader) error {
		c, err := r.Checkpoint(row.No)
		seq = c.Seq
		return err
	})
	if length := w.journalLength(row); seq < int64(length)/2 || length < 5 {
		t.Fatalf("the checkpoint is at event %d of %d", seq, length)
	}
	w.kill()
	w.start()
	w.blocked()
	if w.read(row.No).Status != chargehand.Processing {
		t.Fatalf("%s", w.result(row.No))
	}
}
