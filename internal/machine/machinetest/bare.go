package machinetest

import (
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/rehearse"
	"github.com/chargehand/chargehand/internal/value"
)

// Bare runs scripts on the machine alone, on a virtual clock (package rehearse).
type Bare struct {
	// Between, if set, may exchange the machine before each event, for example by one that
	// was restored from its checkpoint.
	Between func(m *machine.Machine) *machine.Machine
	// Last lets what happens at the same time happen in the reverse order.
	Last bool
	// All delivers every event to every subscription, without asking whether it is wanted.
	All bool
}

// epoch is the time of the first event.
const epoch = 1769860800000

// hangMs is how far the clock may jump before an execution counts as one that hangs.
const hangMs = 60_000

// Run implements Runner.
func (b Bare) Run(t *testing.T, p *plan.Plan, input value.Value, w *Fixture) Result {
	t.Helper()
	id, err := chargehand.ParseID[executionKind]("01980000-0000-7000-8000-000000000001")
	if err != nil {
		t.Fatal(err)
	}
	got, err := rehearse.Run(t.Context(), rehearse.Config{
		Plan: p, Identity: machine.Identity{Execution: chargehand.ExecutionID(id), RuntimeVersion: "test"},
		Input: input, StartMs: epoch, Before: w.Envelopes(w.Before), Outside: outside(t, w),
		Last: b.Last, All: b.All, Restore: b.Between,
	})
	if err != nil {
		t.Fatal(err)
	}
	return Result{
		Phase: got.Phase, Output: got.Output, Fault: got.Fault, Files: got.Files,
		Timeline: got.Timeline, Published: got.Published,
	}
}

type executionKind struct{}

// outside plays a fixture.
func outside(t *testing.T, w *Fixture) rehearse.Outside {
	return rehearse.Outside{
		Activity: func(_ *rehearse.Execution, c machine.Command) (rehearse.Answer, error) {
			a := w.Answer(c.Reference)
			return rehearse.Answer{
				Hangs: a.Hang, Output: a.Value(), Files: a.Files, Fault: a.Fault,
				Messages: a.Values(), Events: w.Envelopes(a.Events),
			}, nil
		},
		Child: func(_ *rehearse.Execution, c machine.Command) (*plan.Plan, rehearse.Answer, error) {
			p := w.Child(t, c.Child.Name)
			if p == nil {
				t.Fatalf("there is no child named %s", c.Child.Name)
			}
			return p, rehearse.Answer{}, nil
		},
		Person: func(_ *rehearse.Execution, c machine.Command) (rehearse.Answer, error) {
			a := w.Answer(c.Reference)
			return rehearse.Answer{Hangs: a.Hang, Output: a.Value()}, nil
		},
		Idle: idle(w),
		Offered: func(s machine.Subscription, envelope value.Value, wanted bool) {
			if wanted && !lets(s.Filters, envelope) {
				t.Errorf("the filters of %d keep out an event that it wants: %s", s.Command, value.Marshal(envelope))
			}
		},
	}
}

// idle stores the events for when the execution waits, and cancels one that hangs, if the script says so.
func idle(w *Fixture) func(*rehearse.Rehearsal) bool {
	waited, cancelled := false, false
	return func(r *rehearse.Rehearsal) bool {
		if !waited && r.Phase() == chargehand.Waiting && len(w.Events) > 0 {
			waited = true
			for _, envelope := range w.Envelopes(w.Events) {
				r.Publish(envelope)
			}
			return true
		}
		next, any := r.NextMs()
		if !w.Cancel || cancelled || r.Hanging()+r.Root().Machine().Load().Tasks == 0 && !(any && next > r.NowMs()+hangMs) {
			return false
		}
		cancelled = true
		r.Cancel("by the suite")
		return true
	}
}
