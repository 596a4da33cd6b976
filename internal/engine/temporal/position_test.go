package temporal

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chargehand/chargehand"
	runner "github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

// positionedRun is the name of the recorded history of an execution that begins at its second task.
const positionedRun = "positioned"

// runPositioned begins an execution at its second task.
func runPositioned(t testing.TB, e *installation) argument { return positionedWith(t, e, "x") }

func positionedWith(t testing.TB, e *installation, data string) argument {
	t.Helper()
	var calls atomic.Int32
	p := compile(t, `
do:
  - one: `+get+`
  - two: `+get+`
  - three: {set: '${ {said: ., context: $context, input: $workflow.input} }'}`)
	at := machine.Position{Task: "/do/1/two", TaskData: machine.TaskData{Input: data, Context: map[string]any{"kept": data}}}
	a := e.startAt(p, 7, &at, func(_ context.Context, c runner.Call) runner.Result {
		calls.Add(1)
		return runner.Result{Output: c.Reference}
	})
	if row := e.ended(a); row.Status != chargehand.Finished {
		t.Fatalf("%+v", row)
	}
	got := e.result(a, nil)
	if want := map[string]any{"said": "/do/1/two", "context": map[string]any{"kept": data}, "input": 7}; !value.Equal(got.Output, want) {
		t.Errorf("it ends with %.300s, fault %+v", value.Marshal(got.Output), got.Fault)
	}
	if calls.Load() != 1 {
		t.Errorf("%d activities", calls.Load())
	}
	return a
}

// TestPosition: an execution begins at its position, also if its data are too large for a row.
func TestPosition(t *testing.T) {
	e := newInstallation(t, defaultLimits())
	for _, size := range []int{10, 300_000} {
		a := positionedWith(t, e, strings.Repeat("x", size))
		for _, h := range e.histories(a) {
			if err := e.replay(h); err != nil {
				t.Error(err)
			}
		}
	}
}
