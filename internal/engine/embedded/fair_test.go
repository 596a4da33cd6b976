package embedded

import (
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/fair"
	"github.com/chargehand/chargehand/internal/store"
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

// TestTestDoesNotDelayLive: whatever hangs in test, live has permits at once.
func TestTestDoesNotDelayLive(t *testing.T) {
	fx := newFixture(t)
	fx.start()
	defer fx.cutOff()
	for _, hanging := range []string{hangingCall, hangingScript, hangingShell} {
		rev := fx.define(hanging)
		for range 150 { // together fewer than test may run
			fx.runTest(rev, `{}`)
		}
	}
	for _, quick := range []string{quickCall, quickScript, quickShell} {
		row := fx.final(fx.run(fx.define(quick), `{}`)) // without a permit it would hang, too
		if row.Status != chargehand.Finished {
			t.Errorf("%s ended as %v: %s", quick, row.Status, fx.result(row.No))
		}
	}
	s := fx.engine.Stats()
	if s.CallsRunning != 128 || s.ScriptsRunning != 4 || s.ProcessesRunning != 4 {
		t.Errorf("test has %d calls, %d scripts and %d processes; half of the permits are 128, 4 and 4",
			s.CallsRunning, s.ScriptsRunning, s.ProcessesRunning)
	}
}

// TestExecutionsOfTestDoNotDelayLive: however many executions of test run and wait, executions of
// live start, call and end at once.
func TestExecutionsOfTestDoNotDelayLive(t *testing.T) {
	fx := newFixture(t)
	fx.start()
	defer fx.cutOff()
	rev, quick := fx.define(hangingCall), fx.define(quickCall)
	alone := time.Now()
	fx.final(fx.run(quick, `{}`))
	atMost := fairTime + 50*time.Since(alone)
	for range 1_100 {
		fx.runTest(rev, `{}`)
	}
	if held := fx.engine.slots.heldBy(fx.account.No); held != 500 {
		t.Errorf("test runs %d executions; half of the bound are 500", held)
	}
	began := time.Now()
	row := fx.final(fx.run(quick, `{}`))
	if took := time.Since(began); took > atMost || row.Status != chargehand.Finished {
		t.Errorf("an execution of live took %v and ended as %v", took, row.Status)
	}
}

// TestWorkflowsAlternate: a workflow with many calls in line does not keep another one's call behind all of them.
func TestWorkflowsAlternate(t *testing.T) {
	fx := newFixture(t)
	fx.limits.Calls = 4
	release := fx.outside.block("first")
	fx.outside.started = make(chan callSeen, 100)
	fx.start()
	defer fx.stop()
	quick := fx.define(quickCall)
	alone := time.Now()
	fx.final(fx.run(quick, `{}`))
	atMost := fairTime + 10*time.Since(alone)
	many := fx.define("- a: { call: http, with: { method: get, endpoint: http://x/block/first } }\n" +
		"- b: { call: http, with: { method: get, endpoint: http://x/slow/100 } }")
	for range 40 { // 20 rounds of 100 ms
		fx.run(many, `{}`)
	}
	for range 4 {
		fx.blocked()
	}
	row := fx.run(quick, `{}`)
	close(release)
	fx.finalIn(row, atMost)
	fx.allEnd(endTime)
}

// TestTimersOfTestDoNotDelayLive: more timers of test are due than fit into memory, and what wakes their executions
// hangs. Those of live fire.
func TestTimersOfTestDoNotDelayLive(t *testing.T) {
	fx := newFixture(t)
	fx.limits.TimerWindow, fx.limits.Wakes = 4, 2
	fx.start()
	defer fx.stop()
	rev := fx.define("- a: { wait: { milliseconds: 20 } }\n- b: { set: { x: 1 } }")
	permits := fx.engine.timers.test.permits
	for range cap(permits) {
		permits <- struct{}{}
	}
	tests := make([]store.Execution, 40)
	for i := range tests {
		tests[i] = fx.runTest(rev, `{}`)
	}
	for range 10 {
		fx.final(fx.run(rev, `{}`))
	}
	for _, row := range tests {
		if now := fx.read(row.No); now.Status.Final() {
			t.Fatalf("an execution of test was woken without a permit: %v", now.Status)
		}
	}
	for range cap(permits) {
		<-permits
	}
	for _, row := range tests {
		fx.final(row)
	}
}

// TestCallsPerWorkflow: a workflow holds no more permits than it may, and others have the rest.
func TestCallsPerWorkflow(t *testing.T) {
	fx := newFixture(t)
	fx.limits.Calls, fx.limits.CallsPerWorkflow = 8, 2
	fx.outside.started = make(chan callSeen, 100)
	fx.start()
	defer fx.cutOff()
	rev := fx.define(hangingCall)
	for range 20 {
		fx.run(rev, `{}`)
	}
	fx.blocked()
	fx.blocked()
	if row := fx.final(fx.run(fx.define(quickCall), `{}`)); row.Status != chargehand.Finished {
		t.Errorf("another workflow's call ended as %v", row.Status)
	}
	if s := fx.engine.Stats(); s.CallsRunning != 2 || s.CallsWaiting != 18 {
		t.Errorf("%d calls run and %d wait", s.CallsRunning, s.CallsWaiting)
	}
}

// TestLoopsAlternate: many executions that loop in test do not keep one in live from computing.
func TestLoopsAlternate(t *testing.T) {
	fx := newFixture(t)
	fx.limits.Yields = 1
	fx.start()
	defer fx.stop()
	rev := fx.define("- a: { for: { in: '${ [range(3000)] }' }, do: [{ b: { set: { x: 1 } } }] }")
	const loops = 20
	first := fair.Owner{Environment: chargehand.Live, Workflow: rev}
	if err := fx.engine.yieldGate.Enter(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	for range loops {
		fx.runTest(rev, `{}`)
	}
	live := fx.run(rev, `{}`)
	for waiting := 0; waiting <= loops; _, waiting = fx.engine.yieldGate.Counts() {
		<-time.After(time.Millisecond)
	}
	fx.engine.yieldGate.Leave(first)
	fx.final(live)
	ended := fx.engine.Stats().Finished - 1
	t.Logf("%d of %d loops of test have ended before", ended, loops)
	if ended > loops/2 {
		t.Errorf("%d of %d loops of test have ended before that of live", ended, loops)
	}
	fx.allEnd(time.Minute)
}
