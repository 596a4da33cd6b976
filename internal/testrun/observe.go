package testrun

import (
	"github.com/chargehand/chargehand/internal/machine"
)

// observer notes what one run of a test decides.
type observer struct {
	order    []string       // references of tasks in the order of their starts
	starts   map[string]int // by these references
	branches map[branchKey]int
	outcomes map[outcomeKey]int
}

// branchKey is a way that was taken at a task of a definition.
type branchKey struct {
	unit      *unit
	reference string
	branch    machine.Branch
}

// outcomeKey is an outcome that a person has chosen.
type outcomeKey struct {
	unit      *unit
	reference string
	outcome   string
}

func newObserver() *observer {
	return &observer{starts: map[string]int{}, branches: map[branchKey]int{}, outcomes: map[outcomeKey]int{}}
}

func (o *observer) add(u *unit, prefix, reference string, b machine.Branch) {
	o.branches[branchKey{u, reference, b}]++
	if b.Kind == machine.BranchTask {
		whole := prefix + reference
		o.order = append(o.order, whole)
		o.starts[whole]++
	}
}

func (o *observer) outcome(u *unit, reference, outcome string) {
	o.outcomes[outcomeKey{u, reference, outcome}]++
}
