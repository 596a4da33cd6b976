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
		"default": "- a: { call: http, with: { method: get, endpoint: http://x/block/never } }",
		"at most once": "- a: { call: http, with: { method: get, endpoint: http://x/block/never }, " +
			"metadata: { onInterrupted: fault } }",
		"of two equals": "- f: { fork: { branches: [ " +
			"{ a: { call: http, with: { method: get, endpoint: http://x/block/never } } }, " +
			"{ b: { call: http, with: { method: get, endpoint: http://x/block/never } } } ] } }",
	} {
		t.Run(name, func(t *testing.T) {
			fx := newFixture(t)
			fx.start()
			fx.outside.started = make(chan callSeen, 100)
			row := fx.run(fx.define(tasks), `{}`)
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
					keys[fx.blocked().Key]++
				}
				fx.kill()
				fx.start()
			}
			row = fx.final(row)
			if got := fx.result(row.No); got != "fault interrupted" {
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
			fx.stop()
		})
	}
}

// TestOverdueDeadlinesComeBeforeRestarts: what timed out while the server was down is not
// started again, and several deadlines are delivered by due time.
func TestOverdueDeadlinesComeBeforeRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t)
		fx.start()
		fx.outside.started = make(chan callSeen, 10)
		rev := fx.define(`
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
		both := fx.define(`
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
		early, late := fx.run(rev, `{}`), fx.run(both, `{}`)
		fx.blocked()
		fx.blocked()
		fx.kill()
		time.Sleep(time.Hour)
		fx.start()
		defer fx.stop()
		if got := fx.endOf(early, time.Second).result; got != `{"status":408}` {
			t.Fatal(got)
		}
		if got := fx.endOf(late, time.Second).result; got != `{"handled":true}` {
			t.Fatal(got)
		}
		for key, n := range fx.outside.allRuns() {
			if n != 1 {
				t.Errorf("%s ran %d times", key, n)
			}
		}
		if n := fx.engine.Stats().Interruptions; n != 0 {
			t.Errorf("%d interruptions", n)
		}
	})
}

// TestWokenWithoutASlotIsNotInterrupted: its activity was never started.
func TestWokenWithoutASlotIsNotInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t)
		fx.limits.AccountSlots = 1
		fx.start()
		fx.outside.started = make(chan callSeen, 10)
		release := fx.outside.block("gate")
		waits := fx.define(`
- a: { wait: { seconds: 10 } }
- b: { call: http, with: { method: get, endpoint: http://x/echo/one } }`)
		waiting := fx.run(waits, `{}`)
		blocking := fx.run(fx.define("- a: { call: http, with: { method: get, endpoint: http://x/block/gate } }"), `{}`)
		fx.blocked()
		time.Sleep(time.Minute)
		if row := fx.read(waiting.No); row.State != store.StateReady {
			t.Fatalf("%+v", row)
		}
		if n := fx.engine.instances.size(); n != 1 {
			t.Fatalf("%d executions in memory", n)
		}
		queued := fx.run(waits, `{}`)
		if queued.State != store.StateQueued {
			t.Fatalf("%+v", queued)
		}
		fx.kill()
		fx.start()
		defer fx.stop()
		fx.blocked()
		synctest.Wait()
		if row := fx.read(waiting.No); row.State != store.StateReady {
			t.Fatalf("after the restart: %+v", row)
		}
		close(release)
		fx.endOf(blocking, time.Second)
		fx.endOf(waiting, time.Second)
		fx.endOf(queued, time.Minute)
		if n := fx.engine.Stats().Interruptions; n != 1 {
			t.Fatalf("%d interruptions, want that of the blocking call", n)
		}
		if waiting, queued := fx.read(waiting.No), fx.read(queued.No); queued.StartedMs < waiting.FinishedMs {
			t.Fatal("a queued execution went before a woken one")
		}
	})
}

// TestWokenAndOverdueIsNotStarted: a deadline that passed while the server was down comes
// before the activity that waited for a slot.
func TestWokenAndOverdueIsNotStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t)
		fx.limits.AccountSlots = 1
		fx.start()
		rev := fx.define(`
- a:
    timeout: { after: { minutes: 5 } }
    do:
      - b: { wait: { seconds: 10 } }
      - c: { call: http, with: { method: get, endpoint: http://x/echo/one } }`)
		row := fx.run(rev, `{}`)
		fx.run(fx.define("- a: { call: http, with: { method: get, endpoint: http://x/block/never } }"), `{}`)
		time.Sleep(time.Minute)
		if row := fx.read(row.No); row.State != store.StateReady {
			t.Fatalf("%+v", row)
		}
		fx.kill()
		time.Sleep(time.Hour)
		fx.limits.AccountSlots = 2
		fx.start()
		defer func() { fx.cutOff() }()
		if got := fx.endOf(row, time.Second).result; got != "fault timeout" {
			t.Fatal(got)
		}
		if runs := fx.outside.allRuns(); len(runs) != 1 {
			t.Fatalf("%v", runs)
		}
	})
}

// TestReplayMismatch: a journal that leads elsewhere than it did stops that execution alone.
func TestReplayMismatch(t *testing.T) {
	fx := newFixture(t)
	fx.start()
	fx.outside.started = make(chan callSeen, 10)
	rev := fx.define(`
- a: { call: http, with: { method: get, endpoint: http://x/block/never } }`)
	other := fx.define(`
- a: { call: http, with: { method: get, endpoint: http://x/block/gate } }`)
	release := fx.outside.block("gate")
	row, good := fx.run(rev, `{}`), fx.run(other, `{}`)
	fx.blocked()
	fx.blocked()
	fx.kill()
	// The new binary compiles the same definition to something else.
	fx.plans[rev] = compile(t, "do:\n  - a: { call: http, with: { method: post, endpoint: http://x/block/never } }\n")
	fx.start()
	defer fx.stop()
	row = fx.final(row)
	if got := fx.result(row.No); got != "fault replay_mismatch" {
		t.Fatal(got)
	}
	var o store.Outcome
	fx.view(func(r *store.Reader) (err error) {
		o, err = r.Outcome(row.No)
		return err
	})
	if f, _ := engine.DecodeFault(o.Fault); f.Origin != "system" || f.Detail == "" {
		t.Fatalf("%+v", f)
	}
	if !strings.Contains(fx.log.String(), "replay_mismatch") || !strings.Contains(fx.log.String(), "ERROR") {
		t.Fatalf("no watcher was notified:\n%s", fx.log)
	}
	close(release)
	if good = fx.final(good); good.Status != chargehand.Finished {
		t.Fatal("another execution was hurt")
	}
	fx.idle(0)
}

func TestUnknownRevisionOfTheMachine(t *testing.T) {
	fx := newFixture(t)
	fx.start()
	fx.outside.started = make(chan callSeen, 10)
	row := fx.run(fx.define("- a: { call: http, with: { method: get, endpoint: http://x/block/never } }"), `{}`)
	fx.blocked()
	fx.kill()
	fx.openStore()
	err := fx.db.Update(t.Context(), func(c store.Conn) error {
		_, err := c.Exec("UPDATE execution SET machine = ?1", int64(machine.Revision+1))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	fx.start()
	defer fx.stop()
	row = fx.final(row)
	if got := fx.result(row.No); got != "fault revision_unsupported" {
		t.Fatal(got)
	}
}

func TestDefinitionThatIsGone(t *testing.T) {
	fx := newFixture(t)
	fx.start()
	fx.outside.started = make(chan callSeen, 10)
	rev := fx.define("- a: { call: http, with: { method: get, endpoint: http://x/block/never } }")
	row := fx.run(rev, `{}`)
	fx.blocked()
	fx.kill()
	delete(fx.plans, rev)
	fx.start()
	defer fx.stop()
	if got := fx.result(fx.final(row).No); got != "fault internal" {
		t.Fatal(got)
	}
}

// TestManyCrashes kills at random moments and wants the same end in spite of it.
func TestManyCrashes(t *testing.T) {
	fx := newFixture(t)
	var definitions []int64
	for _, name := range []string{"calls", "loop", "retry", "yield", "large"} {
		s := scripts[name]
		s.tasks = strings.NewReplacer("seconds: 1 ", "milliseconds: 1 ", "seconds: 5 ", "milliseconds: 1 ").Replace(s.tasks)
		definitions = append(definitions, s.define(fx))
	}
	fx.start()
	var rows []store.Execution
	want := map[int64]string{}
	for _, rev := range definitions {
		row := fx.final(fx.run(rev, `{}`))
		want[rev] = fx.result(row.No)
	}
	// Three interruptions of an activity are survived: so three crashes.
	for range 3 {
		for range 8 {
			for _, rev := range definitions {
				rows = append(rows, fx.run(rev, `{}`))
			}
		}
		fx.kill()
		fx.start()
	}
	defer func() { fx.stop() }()
	for _, row := range rows {
		row = fx.final(row)
		if got := fx.result(row.No); got != want[row.Revision] {
			t.Errorf("revision %d: %s, want %s", row.Revision, got, want[row.Revision])
		}
	}
	fx.idle(0)
}

// TestLongRecoveryIsQuick is ready at once with many ended and many waiting rows.
func TestLongRecoveryIsQuick(t *testing.T) {
	fx := newFixture(t)
	empty := time.Now()
	fx.start()
	atMost := time.Second + 10*time.Since(empty) // on this machine as it is loaded now
	ended, waits := fx.define("- a: { set: { x: 1 } }"), fx.define("- a: { wait: { hours: 1 } }")
	startAll(t, fx, ended, 20_000)
	startAll(t, fx, waits, 10_000)
	fx.stop()
	fx.openStore()
	begin := time.Now()
	fx.start()
	took := time.Since(begin)
	defer fx.stop()
	if took > atMost {
		t.Fatalf("ready after %v, want at most %v", took, atMost)
	}
	t.Logf("ready after %v", took)
	if n := fx.engine.instances.size(); n != 0 {
		t.Fatalf("%d executions in memory", n)
	}
}

// startAll starts many executions at once.
func startAll(t testing.TB, fx *fixture, revision int64, n int) {
	t.Helper()
	errs := make(chan error)
	for range 64 {
		go func() {
			var first error
			for range n / 64 {
				if _, err := fx.startOne(revision, `{}`); err != nil && first == nil {
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
		fx := newFixture(t)
		fx.start()
		fx.outside.started = make(chan callSeen, 10)
		release := fx.outside.block("gate")
		rev := fx.define(`
- a: { call: http, with: { method: get, endpoint: http://x/block/gate } }
- b: { call: http, with: { method: get, endpoint: http://x/echo/one } }`)
		row := fx.run(rev, `{}`)
		fx.blocked()
		stopped := make(chan error)
		e := fx.engine
		go func() { stopped <- e.Stop(context.Background()) }()
		synctest.Wait()
		if e.Ready() {
			t.Fatal("ready while it stops")
		}
		close(release)
		if err := <-stopped; err != nil {
			t.Fatal(err)
		}
		// The outcome is journaled; the next activity waits for the next start, uninterrupted.
		if read := fx.read(row.No); read.State != store.StateReady {
			t.Fatalf("%+v", read)
		}
		fx.engine = nil
		fx.close()
		fx.start()
		defer fx.stop()
		if row = fx.final(row); row.Status != chargehand.Finished {
			t.Fatal(fx.result(row.No))
		}
		if n := fx.engine.Stats().Interruptions; n != 0 {
			t.Fatalf("%d interruptions", n)
		}
		for key, n := range fx.outside.allRuns() {
			if n != 1 {
				t.Errorf("%s ran %d times", key, n)
			}
		}
	})
}

func TestStopCutsOffWhatCannot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t)
		fx.limits.Calls = 2
		fx.start()
		fx.outside.started = make(chan callSeen, 10)
		rev := fx.define(`
- a: { call: http, with: { method: get, endpoint: http://x/block/never } }`)
		var rows []store.Execution
		for range 5 {
			rows = append(rows, fx.run(rev, `{}`))
		}
		fx.blocked()
		fx.blocked()
		begin := time.Now()
		if err := fx.engine.Stop(context.Background()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took < 8*time.Second || took > 10*time.Second {
			t.Fatalf("took %v", took)
		}
		fx.engine = nil
		states := map[store.ExecutionState]int{}
		for _, row := range rows {
			states[fx.read(row.No).State]++
		}
		// The three that waited for a permit were not interrupted.
		if states[store.StateActive] != 2 || states[store.StateReady] != 3 {
			t.Fatalf("%v", states)
		}
		fx.close()
		fx.start()
		defer fx.cutOff()
		synctest.Wait()
		if n := fx.engine.Stats().Interruptions; n != 2 {
			t.Fatalf("%d interruptions", n)
		}
	})
}

func TestStopEndsIdleEngineAtOnce(t *testing.T) {
	fx := newFixture(t)
	fx.start()
	fx.run(fx.define("- a: { wait: { hours: 1 } }"), `{}`)
	begin := time.Now()
	fx.stop()
	if took := time.Since(begin); took > 6*time.Second { // what cannot end is waited for until eight
		t.Fatalf("took %v", took)
	}
}

// TestLongComputationsAreCheckpointed: the next start computes again what lies behind the
// last checkpoint, before it is ready.
func TestLongComputationsAreCheckpointed(t *testing.T) {
	fx := newFixture(t)
	fx.start()
	defer func() { fx.cutOff() }()
	fx.outside.started = make(chan callSeen, 1)
	rev := fx.define(`
- a: { for: { in: '[range(16)]' }, do: [ { b: { set: '${ [range(500000) | . * 2] | length }' } } ] }
- c: { call: http, with: { method: get, endpoint: http://x/block/never } }`)
	row := fx.run(rev, "{}")
	fx.blocked()
	var seq int64
	fx.view(func(r *store.Reader) error {
		c, err := r.Checkpoint(row.No)
		seq = c.Seq
		return err
	})
	if length := fx.journalLength(row); seq < int64(length)/2 || length < 5 {
		t.Fatalf("the checkpoint is at event %d of %d", seq, length)
	}
	fx.kill()
	fx.start()
	fx.blocked()
	if fx.read(row.No).Status != chargehand.Processing {
		t.Fatalf("%s", fx.result(row.No))
	}
}
