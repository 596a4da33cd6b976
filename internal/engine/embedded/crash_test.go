package embedded

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/sample"
	"github.com/chargehand/chargehand/internal/store"
)

// script is a workflow that always ends in the same way.
type script struct {
	tasks string
	body  string // instead of tasks, a whole definition
	// children are other workflows, tasks by name.
	children map[string]string
	secrets  map[string]string // values as JSON, by name
	result   string            // what it must end with; "": whatever it ends with without a crash
	// independent executions may still run at the end.
	independent bool
	// suspended executions are suspended and resumed while they run.
	suspended bool
	// position that the execution begins at; nil: the first task.
	position *machine.Position
	input    string
	within   time.Duration // that it takes by the clock; default: a minute
}

var scripts = map[string]script{
	"pure":    {tasks: "- a: { set: { x: '${ .x + 1 }' } }\n- b: { set: { y: '${ .x }' } }", input: `{"x":1}`},
	"refused": {tasks: "- a: { raise: { error: { type: 'https://example.com/no', status: 400 } } }"},
	"calls": {tasks: `
- a: { call: http, with: { method: get, endpoint: http://x/echo/one }, export: { as: '${ { one: .said } }' } }
- b: { call: http, with: { method: get, endpoint: http://x/echo/two } }
- c: { set: { all: '${ [$context.one, .said] }' } }`},
	"fork": {tasks: `
- f:
    fork:
      branches:
        - a: { call: http, with: { method: get, endpoint: http://x/echo/one } }
        - b:
            do:
              - b1: { wait: { seconds: 2 } }
              - b2: { call: http, with: { method: get, endpoint: http://x/echo/two } }
        - c: { run: { shell: { command: sh///echo/three } } }
- g: { set: { all: '${ [.[].said] }' } }`},
	"compete": {tasks: `
- f:
    fork:
      compete: true
      branches:
        - a: { call: http, with: { method: get, endpoint: http://x/block/never } }
        - b: { wait: { seconds: 3 } }
- g: { set: { won: true } }`},
	"retry": {tasks: `
- a:
    try:
      - b: { call: http, with: { method: get, endpoint: http://x/fail/2 } }
    catch:
      retry:
        delay: { seconds: 5 }
        backoff: { exponential: {} }
        limit: { attempt: { count: 4 } }
- c: { set: { result: '${ . }' } }`},
	"exhausted": {tasks: `
- a:
    try:
      - b: { call: http, with: { method: get, endpoint: http://x/fail/9 } }
    catch:
      retry:
        delay: { seconds: 1 }
        limit: { attempt: { count: 2 } }
      do:
        - c: { set: { gave: up } }`},
	"waits": {tasks: `
- a: { wait: { minutes: 1 } }
- b: { call: http, with: { method: get, endpoint: http://x/echo/one } }
- c: { wait: { hours: 2 } }
- d: { set: { done: true } }`, within: 3 * time.Hour},
	"timeout": {tasks: `
- a:
    try:
      - b:
          call: http
          with: { method: get, endpoint: http://x/block/never }
          timeout: { after: { seconds: 10 } }
    catch:
      as: problem
      do:
        - c: { set: { status: '${ $problem.status }' } }`},
	"deadline": {body: `timeout: { after: { seconds: 5 } }
do:
  - a: { wait: { hours: 1 } }
`},
	"loop": {tasks: `
- a:
    for: { in: '${ [range(3)] }' }
    do:
      - b: { call: http, with: { method: get, endpoint: '${ "http://x/echo/\($index)" }' } }
      - c: { wait: { seconds: 1 } }`},
	"yield": {tasks: `
- a:
    for: { in: '${ [range(1500)] }' }
    do:
      - b: { set: { n: '${ $index }' } }
- c: { call: http, with: { method: get, endpoint: http://x/echo/one } }
- d:
    for: { in: '${ [range(1200)] }' }
    do:
      - e: { set: { n: '${ $index }' } }`},
	"emit": {tasks: `
- a: { emit: { event: { with: { type: org.example.done.v1, source: 'https://example.com', id: '1',
      time: '2026-01-01T00:00:00Z', data: { x: 1 } } } } }
- b: { call: http, with: { method: get, endpoint: http://x/echo/one } }`},
	// The types are those of the execution alone: several share a bus.
	"listen": {tasks: `
- a:
    fork:
      branches:
        - b: { listen: { to: { all: [ { with: { type: '${ "one" + $workflow.id }' } },
              { with: { type: '${ "two" + $workflow.id }' } } ] } } }
        - c:
            do:
              - d: { emit: { event: { with: { type: '${ "two" + $workflow.id }', source: 'https://example.com',
                    id: '2', time: '2026-01-01T00:00:00Z', data: 2 } } } }
              - e: { wait: { seconds: 1 } }
              - f: { emit: { event: { with: { type: '${ "one" + $workflow.id }', source: 'https://example.com',
                    id: '1', time: '2026-01-01T00:00:00Z', data: 1 } } }, output: { as: .data } }
- g: { set: { got: '${ . }' } }`, result: `{"got":[[2,1],1]}`},
	"foreach": {tasks: `
- a:
    fork:
      branches:
        - b:
            listen: { to: { any: [ { with: { type: '${ "n" + $workflow.id }' } } ], until: '(. | length) == 3' } }
            foreach: { item: n, do: [ { c: { wait: { seconds: 1 } } }, { d: { set: '${ $n }' } } ] }
        - e:
            for: { in: '${ [range(5)] }' }
            do:
              - f: { emit: { event: { with: { type: '${ "n" + $workflow.id }', source: 'https://example.com',
                    id: '${ $index | tostring }', time: '2026-01-01T00:00:00Z', data: '${ $index }' } } },
                    output: { as: .data } }
- g: { set: { got: '${ . }' } }`, result: `{"got":[[0,1,2],4]}`},
	"child": {
		tasks: `
- a: { run: { workflow: { namespace: test, name: slow, version: latest, input: { n: 1 } } } }
- b: { call: http, with: { method: get, endpoint: http://x/echo/one } }
- c:
    try:
      - d: { run: { workflow: { namespace: test, name: bad, version: 1.0.0 } } }
    catch:
      as: problem
      do:
        - e: { set: { status: '${ $problem.status }' } }
- f:
    try:
      - g: { run: { workflow: { namespace: test, name: nowhere, version: 1.0.0 } } }
    catch:
      as: problem
      do:
        - h: { set: { was: '${ .status }', status: '${ $problem.status }' } }`,
		result: `{"status":400,"was":418}`,
		children: map[string]string{
			"slow": "- a: { wait: { seconds: 2 } }\n- b: { set: { n: '${ .n + 1 }' } }",
			"bad":  "- a: { raise: { error: { type: 'https://example.com/no', status: 418 } } }",
		},
	},
	"children": {
		tasks: `
- a:
    fork:
      branches:
        - b: { run: { workflow: { namespace: test, name: outer, version: 1.0.0 } } }
        - c: { run: { workflow: { namespace: test, name: inner, version: 1.0.0 } } }
- d:
    fork:
      compete: true
      branches:
        - e: { run: { workflow: { namespace: test, name: endless, version: 1.0.0 } } }
        - f: { wait: { seconds: 3 } }
- g: { run: { workflow: { namespace: test, name: inner, version: 1.0.0 }, await: false } }
- h: { set: { done: true } }`,
		children: map[string]string{
			"outer":    "- a: { run: { workflow: { namespace: test, name: inner, version: latest } } }",
			"inner":    "- a: { wait: { seconds: 1 } }\n- b: { set: { inner: true } }",
			"endless":  "- a: { run: { workflow: { namespace: test, name: listener, version: 1.0.0 } } }",
			"listener": "- a: { listen: { to: { one: { with: { type: never } } } } }",
		},
		result:      `{"done":true}`,
		independent: true,
	},
	"independent": {
		tasks: `
- a:
    fork:
      branches:
        - b:
            listen: { to: { any: [ { with: { type: '${ "n" + $workflow.id }' } } ], until: '(. | length) == 2' } }
            foreach: { item: n, do: [ { c: { run: { workflow: { namespace: test, name: free, version: 1.0.0,
                input: { to: '${ $workflow.id }' } }, await: false } } } ] }
        - d:
            for: { in: '${ [range(2)] }' }
            do:
              - e: { emit: { event: { with: { type: '${ "n" + $workflow.id }', source: 'https://example.com',
                    id: '${ $index | tostring }', time: '2026-01-01T00:00:00Z' } } } }
- f: { listen: { to: { any: [ { with: { type: '${ "free" + $workflow.id }' } } ], until: '(. | length) == 2' } } }
- g: { set: { got: '${ . | length }' } }`,
		children: map[string]string{
			"free": `- a: { emit: { event: { with: { type: '${ "free" + .to }', source: 'https://example.com',
    id: '${ $workflow.id }', time: '2026-01-01T00:00:00Z' } } } }`,
		},
		result:      `{"got":2}`,
		independent: true,
	},
	"large": {tasks: `
- a: { call: http, with: { method: get, endpoint: http://x/size/200000 }, export: { as: '${ { text: . } }' } }
- b: { wait: { seconds: 1 } }
- c: { set: { length: '${ $context.text | length }' } }`},
	"secrets": {
		secrets: map[string]string{"token": `"token-of-the-shop"`, "login": `{"username":"clerk","password":"pa55word"}`},
		body: `use: { secrets: [token, login] }
do:
  - a: { call: http, with: { method: get, endpoint: '${ "http://x/echo/" + $secrets.token }' },
        export: { as: '${ { said: .said } }' } }
  - b: { wait: { seconds: 1 } }
  - c:
      fork:
        branches:
          - listens: { listen: { to: { one: { with: { type: '${ "kept" + $workflow.id }' } } } } }
          - tells:
              do:
                - d: { wait: { seconds: 1 } }
                - e: { emit: { event: { with: { type: '${ "kept" + $workflow.id }', source: 'https://example.com',
                      id: '1', time: '2026-01-01T00:00:00Z', data: '${ $secrets.login }' } } } }
                - f:
                    try:
                      - z: { call: http, with: { method: get, endpoint: http://x/fail/1 } }
                    catch:
                      retry: { delay: { seconds: 1 }, limit: { attempt: { count: 3 } } }
          - starts: { run: { workflow: { namespace: test, name: keeper, version: latest,
                input: { of: '${ $secrets.token }', own: 1 } } } }
  - g: { set: { was: '${ . }' } }
  - h:
      try:
        - i: { raise: { error: { type: 'https://example.com/no', status: 400, detail: '${ $secrets.token }' } } }
      catch:
        as: problem
        do:
          - j: { set: { said: '${ $context.said == $secrets.token }',
                detail: '${ $problem.detail == $secrets.token }', was: '${ .was }' } }
`,
		children: map[string]string{"keeper": "- a: { wait: { seconds: 1 } }\n- b: { set: { got: '${ .of }' } }"},
		result: `{"detail":true,"said":true,"was":[[{"password":"[redacted]","username":"[redacted]"}],"recovered",` +
			`{"got":"[redacted]"}]}`,
	},
}

func (s script) define(fx *fixture) int64 {
	for name, tasks := range s.children {
		fx.deploy(name, tasks)
	}
	for name, value := range s.secrets {
		fx.setSecret(name, value)
	}
	if s.body != "" {
		return fx.defineAll(s.body)
	}
	return fx.define(s.tasks)
}

func (s script) text() string {
	if s.input == "" {
		return `{}`
	}
	return s.input
}

func (s script) bound() time.Duration {
	if s.within == 0 {
		return time.Minute
	}
	return s.within
}

// end is what must not depend on crashes.
type end struct {
	status string
	result string
	story  string
}

func (fx *fixture) endOf(row store.Execution, atMost time.Duration) end {
	fx.t.Helper()
	// The clock of the test jumps to the next timer by itself: no need to look often.
	deadline := time.Now().Add(atMost)
	for {
		changed, stop := fx.engine.Watch(row.ID)
		row = fx.read(row.No)
		if row.Status.Final() {
			stop()
			break
		}
		select {
		case <-changed:
		case <-time.After(time.Until(deadline)):
			fx.t.Fatalf("not final after %v: %+v\n%s", atMost, row, fx.log)
		}
		stop()
	}
	return end{status: row.Status.String() + " " + row.Phase.String(), result: fx.result(row.No), story: fx.story(row.No)}
}

// inFlight returns the keys of the activities whose outcome is not journaled.
func (fx *fixture) inFlight(row store.Execution) map[string]bool {
	fx.t.Helper()
	keys := make(map[string]bool)
	if row.State == store.StateEnded || row.State == store.StateQueued {
		return keys
	}
	var h history
	fx.view(func(r *store.Reader) (err error) {
		h, err = readHistory(r, row.No)
		return err
	})
	e := &Engine{config: fx.config()}
	p, err := fx.Plan(fx.t.Context(), row.Revision)
	if err != nil {
		fx.t.Fatal(err)
	}
	secrets, err := (&Engine{config: fx.config(), store: fx.store}).readSecrets(fx.t.Context(), &row, p, engine.PinnedSecrets)
	if err != nil {
		fx.t.Fatal(err)
	}
	m, _, err := e.replay(fx.t.Context(), p, secrets, &row, h)
	if err != nil {
		fx.t.Fatal(err)
	}
	for _, c := range m.InFlight() {
		if c.Kind == machine.RunActivity {
			keys[c.Key] = true
		}
	}
	return keys
}

// TestLongCrashEverywhere: each script crashes at its k-th write set, for every k or for a sample:
// once before the write set is written, and once after it is written but before the engine knows
// that. A new engine on the same database brings the script to the same end, and repeats only what
// was in flight.
func TestLongCrashEverywhere(t *testing.T) { crashEverywhere(t, scripts) }

func crashEverywhere(t *testing.T, scripts map[string]script) {
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			var want end
			var identity [16]byte
			synctest.Test(t, func(t *testing.T) {
				fx := newFixture(t)
				fx.start()
				defer fx.stop()
				row, err := fx.startRow(fx.row(script.define(fx), script.text()), script)
				if err != nil {
					t.Fatal(err)
				}
				identity = row.ID
				want = fx.endOf(row, script.bound())
			})
			if script.result != "" && want.result != script.result {
				t.Fatalf("it ends with %s, want %s\n%s", want.result, script.result, want.story)
			}
			// Once more with a checkpoint in every write set, so that nothing is replayed.
			for _, how := range []struct {
				known  bool
				replay int
			}{{false, 0}, {true, 0}, {true, 1}} {
				known := how.known
				first, step := sample.Every(t, 5)
				if raceDetector {
					step = 10 // each crash is some ten times as slow
				}
				for k := first; ; k += step {
					crashed := true
					synctest.Test(t, func(t *testing.T) {
						crashed = crashAt(t, script, k, known, how.replay, identity, want)
					})
					if !crashed {
						t.Logf("crashed at write sets below %d, written: %v", k, known)
						if k == 1 {
							t.Fatal("there was nothing to crash")
						}
						break
					}
					if t.Failed() {
						t.Fatalf("crash at write set %d, written: %v", k, known)
					}
				}
			}
		})
	}
}

func (fx *fixture) startRow(row store.Execution, s script) (store.Execution, error) {
	fx.t.Helper()
	p, err := fx.Plan(fx.t.Context(), row.Revision)
	if err != nil {
		fx.t.Fatal(err)
	}
	start := startOf(row, p, parseInput(fx.t, s.text()))
	if start.Position = s.position; s.position != nil {
		start.Row.RetryOf = chargehand.ExecutionID{1}
	}
	return fx.engine.Start(fx.t.Context(), start)
}

// crashAt reports whether there was a k-th write set.
func crashAt(t *testing.T, script script, k int, written bool, replay int, identity [16]byte, want end) bool {
	var broken *brokenDB
	tripped := make(chan struct{})
	fx := newFixture(t)
	fx.limits.ReplayEvents = replay
	fx.close()
	fx.wrap = func(db store.DB) store.DB {
		broken = &brokenDB{DB: db}
		return broken
	}
	fx.openStore()
	fx.start()
	rev := script.define(fx)
	from := broken.count()
	broken.setFail(func(n int) (before, after bool) {
		switch {
		case n < from+k:
			return false, false
		case n == from+k:
			close(tripped)
			return !written, written
		default:
			return true, false
		}
	})
	row := fx.row(rev, script.text())
	row.ID = identity // the same jitter, the same keys
	started, err := fx.startRow(row, script)
	if err != nil && !errors.Is(err, store.ErrUnavailable) {
		t.Fatal(err)
	}
	if err == nil && script.suspended {
		go suspendAndResume(fx.engine, started.ID)
	}
	if err == nil {
		ended := make(chan struct{})
		stopWaiting := make(chan struct{})
		go func() {
			defer close(ended)
			for {
				changed, stop := fx.engine.Watch(started.ID)
				if fx.read(started.No).Status.Final() {
					stop()
					return
				}
				select {
				case <-changed:
				case <-stopWaiting:
					stop()
					return
				}
				stop()
			}
		}()
		select {
		case <-tripped:
			close(stopWaiting)
			<-ended
		case <-ended:
			select {
			case <-tripped:
			default:
				broken.setFail(nil) // of the executions that continue
				fx.stop()
				return false // it has fewer write sets
			}
		}
	}
	fx.kill()
	fx.wrap = nil
	fx.openStore()
	defer func() { fx.stop() }()
	var found store.Execution
	err = fx.store.View(t.Context(), func(r *store.Reader) (err error) {
		found, err = r.FindExecution(row.ID)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		if written || k > 1 {
			t.Fatalf("an accepted execution is lost")
		}
		fx.start()
		return true
	}
	if err != nil {
		t.Fatal(err)
	}
	flying := fx.inFlight(found)
	before := fx.outside.allRuns()
	fx.start()
	if script.suspended {
		fx.staysSuspended(found)
	}
	got := fx.endOf(found, script.bound())
	if got != want {
		t.Errorf("ended as\n%+v\nwant\n%+v\n%s", got, want, fx.log)
	}
	for key, runs := range fx.outside.allRuns() {
		repeated := runs - before[key]
		if before[key] > 0 && repeated > 0 && !flying[key] {
			t.Errorf("activity %s ran again although its outcome was journaled", key)
		}
		if before[key] > 1 || repeated > 1 {
			t.Errorf("activity %s ran %d times before the crash and %d times after it", key, before[key], repeated)
		}
	}
	if !script.independent {
		fx.idle(0)
	}
	fx.allEnd(script.bound())
	return true
}

// TestLongCrashInRecovery crashes again at each write set of the recovery from a crash.
func TestLongCrashInRecovery(t *testing.T) {
	for _, name := range []string{"calls", "fork", "timeout", "loop", "waits", "listen", "foreach", "child"} {
		script := scripts[name]
		t.Run(name, func(t *testing.T) {
			var want end
			var identity [16]byte
			synctest.Test(t, func(t *testing.T) {
				fx := newFixture(t)
				fx.start()
				defer fx.stop()
				row := fx.run(script.define(fx), script.text())
				identity = row.ID
				want = fx.endOf(row, script.bound())
			})
			for first := 2; first <= 4; first++ {
				for _, written := range []bool{false, true} {
					begin, step := sample.Every(t, 4)
					if raceDetector {
						step = 4
					}
					for second := begin; ; second += step {
						crashed := false
						synctest.Test(t, func(t *testing.T) {
							crashed = crashTwice(t, script, first, second, written, identity, want)
						})
						if t.Failed() {
							t.Fatalf("crash at write set %d and then at %d, written: %v", first, second, written)
						}
						if !crashed {
							break
						}
					}
				}
			}
		})
	}
}

// crashTwice reports whether the second crash happened.
func crashTwice(t *testing.T, script script, first, second int, written bool, identity [16]byte, want end) bool {
	var broken *brokenDB
	tripped := make(chan struct{})
	// failAt makes everything from the k-th write set on fail.
	failAt := func(k int) {
		from, tripping := broken.count(), tripped
		broken.setFail(func(n int) (before, after bool) {
			if n == from+k {
				close(tripping)
				return !written, written
			}
			return n > from+k, false
		})
	}
	fx := newFixture(t)
	fx.close()
	arm := 0
	fx.wrap = func(db store.DB) store.DB {
		broken = &brokenDB{DB: db}
		if arm > 0 {
			failAt(arm)
		}
		return broken
	}
	fx.start()
	rev := script.define(fx)
	failAt(first)
	row := fx.row(rev, script.text())
	row.ID = identity
	p, _ := fx.Plan(t.Context(), rev)
	row, err := fx.engine.Start(t.Context(), startOf(row, p, parseInput(t, script.text())))
	if err != nil {
		t.Fatal(err)
	}
	awaitTrip(fx, row, tripped)
	fx.kill()
	tripped, arm = make(chan struct{}), second
	fx.start()
	crashed := awaitTrip(fx, row, tripped)
	if crashed {
		fx.kill()
		arm = 0
		fx.start()
	}
	got := fx.endOf(row, script.bound())
	if got != want {
		t.Errorf("ended as\n%+v\nwant\n%+v\n%s", got, want, fx.log)
	}
	fx.idle(0)
	fx.allEnd(script.bound())
	fx.stop()
	return crashed
}

// awaitTrip waits for the crash, and reports false if the execution ends before it.
func awaitTrip(fx *fixture, row store.Execution, tripped <-chan struct{}) bool {
	changed, stop := fx.engine.Watch(row.ID)
	for !fx.read(row.No).Status.Final() {
		select {
		case <-tripped:
			stop()
			return true
		case <-changed:
			stop()
			changed, stop = fx.engine.Watch(row.ID)
		}
	}
	stop()
	select {
	case <-tripped:
		return true
	default:
		return false
	}
}
