package embedded

import (
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/fair"
)

const (
	hangingCall   = "- a: { call: http, with: { method: get, endpoint: http://x/block/never } }"
	hangingScript = "- a: { run: { script: { language: js, code: 'while (true) {}', stdin: http://x/block/never } } }"
	hangingShell  = "- a: { run: { shell: { command: sh://x/block/never } } }"
	quickCall     = "- a: { call: http, with: { method: get, endpoint: http://x/echo/a } }"
	quickScript   = "- a: { run: { script: { language: js, code: '1', stdin: http://x/echo/a } } }"
	quickShell    = "- a: { run: { shell: { command: sh://x/echo/a } } }"
)

// fairTime is how much others may delay an execution that has a share of its own.
const fairTime = time.Second

// TestTestDoesNotDelayLive: whatever hangs in test, live has places at once.
func TestTestDoesNotDelayLive(t *testing.T) {
	w := newWorld(t)
	w.start()
	defer w.kill()
	for _, hanging := range []string{hangingCall, hangingScript, hangingShell} {
		rev := w.define(hanging)
		for range 150 { // together fewer than test may run
			w.runTest(rev, `{}`)
		}
	}
	for _, quick := range []string{quickCall, quickScript, quickShell} {
		row := w.finalIn(w.run(w.define(quick), `{}`), fairTime)
		if row.Status != chargehand.Finished {
			t.Errorf("%s ended as %v: %s", quick, row.Status, w.result(row.No))
		}
	}
	s := w.engine.Stats()
	if s.CallsRunning != 128 || s.ScriptsRunning != 4 || s.ProcessesRunning != 4 {
		t.Errorf("test has %d calls, %d scripts and %d processes; half of the places are 128, 4 and 4", s.CallsRunning, s.ScriptsRunning, s.ProcessesRunning)
	}
}

// TestExecutionsOfTestDoNotDelayLive: however many executions of test run and wait, those of live start, call and end at once.
func TestExecutionsOfTestDoNotDelayLive(t *testing.T) {
	w := newWorld(t)
	w.start()
	defer w.kill()
	rev, quick := w.define(hangingCall), w.define(quickCall)
	alone := time.Now()
	w.final(w.run(quick, `{}`))
	atMost := fairTime + 10*time.Since(alone)
	for range 1_100 {
		w.runTest(rev, `{}`)
	}
	if held := w.engine.slots.heldBy(w.account.No); held != 500 {
		t.Errorf("test runs %d executions; half of the bound are 500", held)
	}
	began := time.Now()
	row := w.final(w.run(quick, `{}`))
	if took := time.Since(began); took > atMost || row.Status != chargehand.Finished {
		t.Errorf("an execution of live took %v and ended as %v", took, row.Status)
	}
}

// TestWorkflowsTakeTurns: a workflow with many calls in line does not keep another one's call behind all of them.
func TestWorkflowsTakeTurns(t *testing.T) {
	w := newWorld(t)
	w.limits.Calls = 4
	release := w.outside.gate("first")
	w.outside.started = make(chan callSeen, 100)
	w.start()
	defer w.kill()
	many := w.define("- a: { call: http, with: { method: get, endpoint: http://x/block/first } }\n- b: { call: http, with: { method: get, endpoint: http://x/slow/100 } }")
	for range 40 { // 20 rounds of 100 ms
		w.run(many, `{}`)
	}
	for range 4 {
		w.blocked()
	}
	row := w.run(w.define(quickCall), `{}`)
	close(release)
	w.finalIn(row, fairTime)
}

// TestCallsPerWorkflow: a workflow holds no more places than it may, and others have the rest.
func TestCallsPerWorkflow(t *testing.T) {
	w := newWorld(t)
	w.limits.Calls, w.limits.CallsPerWorkflow = 8, 2
	w.outside.started = make(chan callSeen, 100)
	w.start()
	defer w.kill()
	rev := w.define(hangingCall)
	for range 20 {
		w.run(rev, `{}`)
	}
	w.blocked()
	w.blocked()
	if row := w.final(w.run(w.define(quickCall), `{}`)); row.Status != chargehand.Finished {
		t.Errorf("another workflow's call ended as %v", row.Status)
	}
	if s := w.engine.Stats(); s.CallsRunning != 2 || s.CallsWaiting != 18 {
		t.Errorf("%d calls run and %d wait", s.CallsRunning, s.CallsWaiting)
	}
}

// TestLoopsTakeTurns: many executions that loop in test do not keep one in live from computing.
func TestLoopsTakeTurns(t *testing.T) {
	w := newWorld(t)
	w.limits.Yields = 1
	w.start()
	defer w.stop()
	rev := w.define("- a: { for: { in: '${ [range(3000)] }' }, do: [{ b: { set: { x: 1 } } }] }")
	const loops = 20
	first := fair.Owner{Environment: chargehand.Live, Workflow: rev}
	if err := w.engine.yields.Enter(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	for range loops {
		w.runTest(rev, `{}`)
	}
	live := w.run(rev, `{}`)
	for waiting := 0; waiting <= loops; _, waiting = w.engine.yields.Counts() {
		<-time.After(time.Millisecond)
	}
	w.engine.yields.Leave(first)
	w.final(live)
	ended := w.engine.Stats().Finished - 1
	t.Logf("%d of %d loops of test have ended before", ended, loops)
	if ended > loops/2 {
		t.Errorf("%d of %d loops of test have ended before that of live", ended, loops)
	}
	w.allEnd(time.Minute)
}
