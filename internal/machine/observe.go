package machine

import "github.com/chargehand/chargehand/internal/plan"

// Branch is a way that an execution can take at a task.
type Branch struct {
	Kind BranchKind
	// Index tells the ways of one kind apart, see the kinds.
	Index int
}

// BranchKind says what is decided.
type BranchKind uint8

// The kinds. BranchCase counts plan.Task.Cases, in which the default case is the last one.
const (
	BranchTask    BranchKind = 1 // the task has started; Index is 0
	BranchIf      BranchKind = 2 // its `if`: 1 is true, 0 is false
	BranchCase    BranchKind = 3 // the case of a switch, from 0; NoCase: none matched
	BranchCatch   BranchKind = 4 // a try: 0 its catch took an error without another attempt, 1 it tries again
	BranchLoop    BranchKind = 5 // a for: 0 it ended without any iteration, 1 it began one
	BranchWinner  BranchKind = 6 // a competing fork: the branch that won, from 0
	BranchTimeout BranchKind = 7 // the timeout of the task, or of the workflow (""), has passed; Index is 0
)

// NoCase is the Index of a switch without a case that matches.
const NoCase = -1

// Observe reports every decision to a function, with the pointer of its task (T2), as it is taken: skipped tasks and
// chosen cases leave no entry in the timeline. What happens in functions from outside is left out. The function must
// not use the machine. It is no part of the state, and a restored machine has none; nil ends it.
func (m *Machine) Observe(observe func(reference string, b Branch)) { m.observe = observe }

// decided reports a decision to the observer, if there is one.
func (m *Machine) decided(t *plan.Task, kind BranchKind, index int) {
	if m.observe != nil && t != nil && !t.Remote {
		m.observe(t.Reference, Branch{kind, index})
	}
}
