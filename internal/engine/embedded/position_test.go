package embedded

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

const positioned = `
- a: { call: http, with: { method: get, endpoint: http://x/echo/one } }
- b: { call: http, with: { method: get, endpoint: http://x/echo/two } }
- c: { set: { said: '${ .said }', context: '${ $context }', input: '${ $workflow.input }' } }`

// startAt starts an execution of the tasks above at the second of them.
func (fx *fixture) startAt(revision int64, data any, delayMs int64) store.Execution {
	fx.t.Helper()
	row := fx.row(revision, `{"n":1}`)
	row.RetryOf = chargehand.ExecutionID(fx.id())
	if delayMs > 0 {
		row.StartMs = fx.engine.nowMs() + delayMs
	}
	p, err := fx.Plan(fx.t.Context(), revision)
	if err != nil {
		fx.t.Fatal(err)
	}
	start := startOf(row, p, parseInput(fx.t, `{"n":1}`))
	start.Position = &machine.Position{Task: "/do/1/b", TaskData: machine.TaskData{Input: data, Context: map[string]any{"kept": data}}}
	row, err = fx.engine.Start(fx.t.Context(), start)
	if err != nil {
		fx.t.Fatal(err)
	}
	return row
}

// TestPosition: an execution begins at its position whether it begins at once, from the queue, later, or suspended, and
// after a restart; also if its data are too large for a row.
func TestPosition(t *testing.T) {
	const busy = "- a: { call: http, with: { method: get, endpoint: http://x/slow/5000 } }"
	for name, test := range map[string]struct {
		state store.ExecutionState
		start func(fx *fixture, revision int64, data any) store.Execution
	}{
		"at once": {store.StateActive, func(fx *fixture, revision int64, data any) store.Execution {
			return fx.startAt(revision, data, 0)
		}},
		"from the queue": {store.StateQueued, func(fx *fixture, revision int64, data any) store.Execution {
			fx.run(fx.define(busy), `{}`)
			return fx.startAt(revision, data, 0)
		}},
		"later": {store.StateDelayed, func(fx *fixture, revision int64, data any) store.Execution {
			return fx.startAt(revision, data, 60_000)
		}},
		"suspended in the queue": {store.StateQueued, func(fx *fixture, revision int64, data any) store.Execution {
			fx.run(fx.define(busy), `{}`)
			row := fx.startAt(revision, data, 0)
			if err := fx.engine.Suspend(fx.t.Context(), row.ID); err != nil {
				fx.t.Fatal(err)
			}
			return row
		}},
	} {
		for _, size := range []int{10, 300_000} {
			for _, restarts := range []bool{false, true} {
				t.Run(name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						fx := newFixture(t)
						fx.limits.AccountSlots = 1
						fx.start()
						defer func() { fx.stop() }()
						data := strings.Repeat("x", size)
						row := test.start(fx, fx.define(positioned), data)
						if row.State != test.state { // as it was accepted: it may have ended by now
							t.Fatalf("execution state %v, want %v", row.State, test.state)
						}
						if restarts {
							fx.kill()
							fx.start()
						}
						if test.state == store.StateQueued && strings.HasPrefix(name, "suspended") {
							time.Sleep(time.Hour)
							if got := fx.read(row.No); got.Phase != chargehand.Suspended {
								t.Fatalf("%+v", got)
							}
							if err := fx.engine.Resume(t.Context(), row.ID); err != nil {
								t.Fatal(err)
							}
						}
						got := fx.endOf(row, time.Hour)
						if want := `{"context":{"kept":"` + data + `"},"input":{"n":1},"said":"two"}`; got.result != want {
							t.Errorf("it ends with %.300s\n%s", got.result, got.story)
						}
						if !strings.Contains(got.story, "/do/1/b") || strings.Contains(got.story, "/do/0/a") {
							t.Errorf("other tasks have run:\n%.1000s", got.story)
						}
						fx.allEnd(time.Hour)
						fx.idle(0)
					})
				})
			}
		}
	}
}

// TestLongPositionCrashEverywhere is TestLongCrashEverywhere for an execution that begins at its second task.
func TestLongPositionCrashEverywhere(t *testing.T) {
	s := script{tasks: positioned, input: `{"n":1}`, result: `{"context":{"kept":true},"input":{"n":1},"said":"two"}`}
	s.position = &machine.Position{Task: "/do/1/b", TaskData: machine.TaskData{Input: 7, Context: map[string]any{"kept": true}}}
	crashEverywhere(t, map[string]script{"position": s})
}
