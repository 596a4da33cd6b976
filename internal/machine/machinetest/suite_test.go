package machinetest_test

import (
	"slices"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/machine/machinetest"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/value"
)

func TestBareMachine(t *testing.T) {
	machinetest.Run(t, func(*testing.T) machinetest.Runner { return machinetest.Bare{} })
}

func TestBareMachineWithChildren(t *testing.T) {
	machinetest.RunChildren(t, func(*testing.T) machinetest.Runner { return machinetest.Bare{} })
}

func TestBareMachineWithPeople(t *testing.T) {
	machinetest.RunHuman(t, func(*testing.T) machinetest.Runner { return machinetest.Bare{} })
}

// The order in which concurrent outcomes are applied does not matter to any script.
func TestBareMachineOtherOrder(t *testing.T) {
	machinetest.Run(t, func(*testing.T) machinetest.Runner { return machinetest.Bare{Last: true} })
}

func TestBareMachineEvents(t *testing.T) {
	for name, bare := range map[string]machinetest.Bare{"wanted": {}, "all": {All: true}, "other order": {Last: true}} {
		t.Run(name, func(t *testing.T) {
			machinetest.RunEvents(t, func(*testing.T) machinetest.Runner { return bare })
		})
	}
}

// A machine that is restored before every event gives the same results.
func TestBareMachineFromCheckpoints(t *testing.T) {
	for _, s := range slices.Concat(machinetest.Scripts(), machinetest.EventScripts(), machinetest.ChildScripts(), machinetest.HumanScripts()) {
		t.Run(s.Name, func(t *testing.T) { s.Run(t, restoring{t}) })
	}
}

type restoring struct{ t *testing.T }

func (r restoring) Run(t *testing.T, p *plan.Plan, input value.Value, w *machinetest.Fixture) machinetest.Result {
	id, err := chargehand.ParseID[struct{}]("01980000-0000-7000-8000-000000000001")
	if err != nil {
		t.Fatal(err)
	}
	identity := machine.Identity{Execution: chargehand.ExecutionID(id), RuntimeVersion: "test"}
	return machinetest.Bare{Between: func(m *machine.Machine) *machine.Machine {
		restored, err := machine.Restore(p, identity, m.Checkpoint())
		if err != nil {
			t.Fatal(err)
		}
		return restored
	}}.Run(t, p, input, w)
}
