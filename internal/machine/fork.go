package machine

import (
	"fmt"
	"slices"

	"github.com/chargehand/chargehand/internal/value"
)

// beginFork makes the branches; each gets the transformed input and a context of its own
// (T31), and is stepped in the order of declaration.
func (m *Machine) beginFork(n *node) *node {
	fork := n.task.Fork
	n.branches = make([]*node, len(fork.Branches))
	for i, list := range fork.Branches {
		branch := m.newNode(n, nil)
		branch.scope = &scope{context: n.scope.context}
		branch.list, branch.data, branch.index = list, n.input, i
		branch.input = n.input
		n.branches[i] = branch
		m.ready = append(m.ready, branch)
	}
	// Functions may nest forks without end (T37): branches count before they do anything.
	m.grown += len(n.branches) * nodeBytes
	n.open = len(n.branches)
	if n.open == 0 {
		return m.complete(n, []any{}, n.task.Then)
	}
	return nil
}

// branchDone ends a branch. The first one to succeed in a competing fork wins (T30); else
// the fork is done when all branches are, with their outputs in declaration order (T29).
func (m *Machine) branchDone(branch *node) *node {
	n := branch.parent
	n.open--
	if n.task.Fork.Compete {
		m.decided(n.task, BranchWinner, branch.index)
		output, s := branch.data, branch.scope
		files := branch.files
		m.withdrawBranches(n)
		n.files = files
		m.join(n.scope, n.scope.context, s, nil)
		return m.complete(n, output, n.task.Then)
	}
	if n.open > 0 {
		return nil
	}
	if size := m.forkSize(n); size > m.plan.Limits.StateBytes {
		m.abort(n, stateLimitFault(size, m.plan.Limits.StateBytes, n))
		return nil
	}
	outputs := make([]any, len(n.branches))
	base := n.scope.context
	var joined map[string]any
	for i, b := range n.branches {
		outputs[i] = b.data
		joined = m.join(n.scope, base, b.scope, joined)
		n.files = append(n.files, b.files...)
	}
	m.withdrawBranches(n)
	if deeper(outputs, value.MaxDepth) {
		return m.fail(n, newFault(ErrRuntime, 500,
			fmt.Sprintf("The output is nested deeper than %d levels.", value.MaxDepth), n.reference()))
	}
	return m.complete(n, outputs, n.task.Then)
}

// forkSize is the size of a fork's output, or of so much of it that it is too large. The
// outputs of branches may share all they hold, so a loop around a fork could double its data
// without end at no cost.
func (m *Machine) forkSize(n *node) int {
	size := 0
	for _, b := range n.branches {
		if size += value.Size(b.data); size > m.plan.Limits.StateBytes {
			break
		}
	}
	m.grown += size
	m.sliceSteps += size / bytesPerSliceStep
	return size
}

// deeper reports whether a value has more than the given levels of lists and objects. A
// fork wraps the outputs of its branches, so a loop around it could nest without end.
func deeper(v value.Value, levels int) bool {
	switch v := v.(type) {
	case []any:
		return levels == 0 || slices.ContainsFunc(v, func(item any) bool { return deeper(item, levels-1) })
	case map[string]any:
		if levels == 0 {
			return true
		}
		for _, item := range v {
			if deeper(item, levels-1) {
				return true
			}
		}
	}
	return false
}

// branchFailed decides what the fault of a branch means to the fork: nil if others may still
// win (T30), else the fault of the fork. All failed: the error that came last counts (T86).
func (m *Machine) branchFailed(n *node, f *Fault) (*node, *Fault) {
	n.open--
	if n.task.Fork.Compete && n.open > 0 {
		return nil, nil
	}
	return nil, f
}

func (m *Machine) withdrawBranches(n *node) {
	for i, b := range n.branches {
		if b != nil {
			n.branches[i] = nil
			m.dismantle(b)
		}
	}
	n.branches = nil
	m.dropGone() // once for all branches, which may be many
}

// join merges the top-level keys of the context that a branch changed (T31). merged is what
// joining the branch before has made, nil if nothing: it is not shared yet, so it is changed in place.
func (m *Machine) join(into *scope, base value.Value, from *scope, merged map[string]any) map[string]any {
	if !from.changed {
		return merged
	}
	into.changed = true
	was, wasObject := base.(map[string]any)
	is, isObject := from.context.(map[string]any)
	now, nowObject := into.context.(map[string]any)
	if !wasObject || !isObject || !nowObject {
		into.context = from.context
		return nil
	}
	if merged == nil {
		merged = make(map[string]any, len(now)+len(is))
		for key, value := range now {
			merged[key] = value
		}
	}
	for key, v := range is {
		if old, had := was[key]; !had || !value.Equal(old, v) {
			merged[key] = v
		}
	}
	for key := range was {
		if _, has := is[key]; !has {
			delete(merged, key)
		}
	}
	into.context = merged
	return merged
}
