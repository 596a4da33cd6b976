package machine

import (
	"fmt"

	"github.com/chargehand/chargehand/internal/value"
)

// beginFor evaluates the collection, once (T32).
func (m *Machine) beginFor(n *node) *node {
	head := n.task.For
	v, f := m.eval(n, head.In, inBody, n.input)
	if f != nil {
		return m.fail(n, f)
	}
	switch items := v.(type) {
	case nil:
	case []any:
		n.items = items
	default:
		return m.fail(n, expressionFault(head.In.Path,
			fmt.Sprintf("a loop needs a list, but got %s", typeName(v)), n.reference()))
	}
	n.list, n.data, n.index = n.task.Body, n.input, -1
	return m.nextIteration(n)
}

// nextIteration starts the next run of the loop's body with the data of the run before, or
// ends the loop. `while` is asked first, and sees what the body sees (T32, T73).
func (m *Machine) nextIteration(n *node) *node {
	n.index++
	if n.index >= len(n.items) {
		m.loopDecided(n)
		return m.complete(n, n.data, n.task.Then)
	}
	head := n.task.For
	n.inner = n.loopBinding()
	if head.While != nil {
		v, f := m.evalWith(n, head.While, inBody, n.data, n.inner)
		if f != nil {
			return m.fail(n, f)
		}
		if !value.Truthy(v) {
			m.loopDecided(n)
			return m.complete(n, n.data, n.task.Then)
		}
	}
	if n.index == 0 {
		m.decided(n.task, BranchLoop, 1)
	}
	n.iterate()
	n.at = 0
	if len(n.list.Tasks) == 0 && !m.countStep(n) {
		return nil
	}
	return n
}

// loopDecided tells of a loop that ends without any iteration.
func (m *Machine) loopDecided(n *node) {
	if n.index == 0 {
		m.decided(n.task, BranchLoop, 0)
	}
}

func (n *node) loopBinding() *binding {
	head := n.task.For
	return n.locals.bind(head.Each, n.items[n.index]).bind(head.At, n.index)
}

// typeName is the JSON type of a value, with its article.
func typeName(v value.Value) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a text"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	default:
		return "a number"
	}
}
