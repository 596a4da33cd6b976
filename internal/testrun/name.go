package testrun

import (
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/plan"
)

// Addresses gives the shortest address of each task of a workflow, by the pointers that commands and timelines name.
func Addresses(p *plan.Plan) map[string]string {
	x := newIndex(newUnit("", p, nil), nil)
	addresses := make(map[string]string, len(x.targets))
	for _, t := range x.targets {
		addresses[t.reference] = t.address
	}
	return addresses
}

// Paths gives the names of each task and of those around it, by the pointers that commands and timelines name.
func Paths(p *plan.Plan) map[string]string { return newUnit("", p, nil).paths }

// TaskWays are the names of the ways that can be taken at a task, such as `case small`.
type TaskWays map[machine.Branch]string

// Ways gives the ways at each task of a workflow, by the pointers that machine.Machine.Observe names.
func Ways(p *plan.Plan) map[string]TaskWays {
	all := map[string]TaskWays{}
	for _, t := range newUnit("", p, nil).tasks {
		named := TaskWays{}
		for _, w := range ways(t) {
			if w.outcome == "" {
				named[w.branch] = w.name
			}
		}
		all[t.Reference] = named
	}
	return all
}
