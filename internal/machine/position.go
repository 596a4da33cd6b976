package machine

import (
	"fmt"

	"github.com/chargehand/chargehand/internal/value"
)

// TaskData is what a top-level task begins with: all that another execution needs to begin there.
type TaskData struct {
	Input   value.Value // raw
	Context value.Value // $context
	// Lost: neither is there, because they hold a secret, or are too large to be kept.
	Lost bool
}

// Position is the top-level task with which an execution begins, in place of the first one.
type Position struct {
	Task string // JSON pointer
	TaskData
}

// Event is the event that gives an execution its position, before it starts.
func (p *Position) Event(timeMs int64) Event {
	return Event{
		Kind: Positioned, TimeMs: timeMs, Detail: p.Task,
		Output: map[string]any{"input": p.Input, "context": p.Context},
	}
}

// PositionOf is the position that an event of kind Positioned gives.
func PositionOf(ev Event) *Position {
	data, _ := ev.Output.(map[string]any)
	return &Position{Task: ev.Detail, TaskData: TaskData{Input: data["input"], Context: data["context"]}}
}

// enterAt puts the list of the workflow at the position of the execution. The input transformation of the workflow and
// the tasks before the position have been done, by the execution that the data are of.
func (m *Machine) enterAt(root *node, p *Position) *Fault {
	for i, t := range root.list.Tasks {
		if t.Reference == p.Task {
			root.at, root.data, root.scope.context = i, p.Input, p.Context
			m.grow(p.Input)
			m.grow(p.Context)
			return nil
		}
	}
	return newFault(ErrConfiguration, 400, fmt.Sprintf("the definition has no task %s to begin with", p.Task), "")
}

// noteData notes what a top-level task begins with. The first task of the list needs no note if it begins with what
// every execution with the same input begins with.
func (m *Machine) noteData(n *node) {
	position := m.position
	m.position = nil
	if n.parent == m.root && (m.happened > 1 || position != nil || n.task != m.plan.Body.Tasks[0]) {
		d := &m.trace.data.next(len(m.plan.Body.Tasks) - 1)[0]
		d.Input, d.Context = n.raw, n.scope.context
		n.entry.Data = d
	}
}
