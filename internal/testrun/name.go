package testrun

import "github.com/chargehand/chargehand/internal/plan"

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
