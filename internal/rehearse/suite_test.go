package rehearse_test

import (
	"slices"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/machine/machinetest"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/rehearse"
	"github.com/chargehand/chargehand/internal/value"
)

// runner runs scripts of the suite of all engines.
type runner struct{ last, all, crash bool }

// epoch is the time of the first event.
const epoch = 1769860800000

// childLimitMs is how far the clock may jump while an execution is to be cancelled once it hangs.
const childLimitMs = 60_000

func (b runner) Run(t *testing.T, p *plan.Plan, input value.Value, w *machinetest.Fixture) machinetest.Result {
	t.Helper()
	id, err := chargehand.ParseID[struct{}]("01980000-0000-7000-8000-000000000001")
	if err != nil {
		t.Fatal(err)
	}
	waited, cancelled := false, false
	got, err := rehearse.Run(t.Context(), rehearse.Config{
		Plan: p, Identity: machine.Identity{Execution: chargehand.ExecutionID(id), RuntimeVersion: "test"},
		Input: input, StartMs: epoch, Before: w.Envelopes(w.Before), Last: b.last, All: b.all, Crash: b.crash,
		Outside: rehearse.Outside{
			Activity: func(_ *rehearse.Execution, c machine.Command) (rehearse.Answer, error) {
				a := w.Answer(c.Reference)
				return rehearse.Answer{
					Hangs: a.Hang, Output: a.Value(), Files: a.Files, Fault: a.Fault,
					Messages: a.Values(), Events: w.Envelopes(a.Events),
				}, nil
			},
			Child: func(_ *rehearse.Execution, c machine.Command) (*plan.Plan, rehearse.Answer, error) {
				return w.Child(t, c.Child.Name), rehearse.Answer{}, nil
			},
			Idle: func(r *rehearse.Rehearsal) bool {
				if !waited && r.Phase() == chargehand.Waiting {
					waited = true
					for _, envelope := range w.Envelopes(w.Events) {
						r.Publish(envelope)
					}
					return len(w.Events) > 0
				}
				next, any := r.NextMs()
				if w.Cancel && !cancelled && (r.Hanging() > 0 || any && next > r.NowMs()+childLimitMs) {
					cancelled = true
					r.Cancel("by the suite")
					return true
				}
				return false
			},
			Offered: func(s machine.Subscription, envelope value.Value, wanted bool) {
				if wanted && !lets(s.Filters, envelope) {
					t.Errorf("the filters of %d keep out an event that it wants: %s", s.Command, value.Marshal(envelope))
				}
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return machinetest.Result{
		Phase: got.Phase, Output: got.Output, Fault: got.Fault, Files: got.Files, Timeline: got.Timeline, Published: got.Published,
	}
}

// lets reports whether the index lets an event through.
func lets(filters []machine.Filter, envelope value.Value) bool {
	kind, _ := envelope.(map[string]any)["type"].(string)
	for _, f := range filters {
		if f.Exact && kind != f.Type || !machine.CompileType(f.Type).Lets(kind) {
			continue
		}
		if f.Path == "" {
			return true
		}
		path, err := machine.CompilePath(f.Path)
		if err != nil {
			continue
		}
		steps := expr.MaxSteps
		if key, ok, _ := path.Key(envelope, &steps); ok && key == f.Key {
			return true
		}
	}
	return false
}

func TestScripts(t *testing.T) {
	scripts := slices.Concat(machinetest.Scripts(), machinetest.EventScripts(), machinetest.ChildScripts())
	for name, r := range map[string]runner{
		"in order": {}, "other order": {last: true}, "all events": {all: true}, "from checkpoints": {crash: true},
	} {
		t.Run(name, func(t *testing.T) {
			for _, s := range scripts {
				t.Run(s.Name, func(t *testing.T) { s.Run(t, r) })
			}
		})
	}
}
