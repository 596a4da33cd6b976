package machine

import (
	"github.com/chargehand/chargehand/internal/value"
)

// nextItem starts the body of a foreach with the next event or message, if there is one. It
// gets the transformed input of the task, like the lists of other tasks; the item is a variable.
func (m *Machine) nextItem(n *node) *node {
	c := n.consumption
	if c.queue.len() == 0 {
		if c.closed {
			return m.consumptionDone(n)
		}
		m.markConsuming(n)
		return nil
	}
	c.item = c.queue.pop().value
	n.list, n.at, n.data = n.task.Body, 0, n.input
	n.inner = n.itemBinding()
	n.iterate()
	m.markConsuming(n)
	return n
}

// itemBinding is what the body sees (T73).
func (n *node) itemBinding() *binding {
	f := n.task.Foreach
	return n.locals.bind(f.Item, n.consumption.item).bind(f.At, n.index)
}

// itemDone takes the output of the body, which came to its end or left with `exit` (T26).
func (m *Machine) itemDone(n *node) *node {
	raw, f := n.data, n.task.Foreach
	output, locals := raw, n.inner
	if f.OutputAs != nil {
		m.env.raw = raw
		v, fault := m.evalWith(n, f.OutputAs, inOutput, raw, locals)
		if fault != nil {
			return m.fail(n, fault)
		}
		output = v
	}
	if fault := m.checkSchema(f.OutputSchema, output, n.reference()); fault != nil {
		return m.fail(n, fault)
	}
	if fault := m.exportItem(n, raw, output); fault != nil {
		return m.fail(n, fault)
	}
	c := n.consumption
	c.results = append(c.results, output)
	n.list, n.inner, c.item, n.data, n.at = nil, n.locals, nil, nil, 0
	n.index++
	return m.consumedOne(n, locals)
}

// exportItem replaces $context by the result of `foreach.export.as`.
func (m *Machine) exportItem(n *node, raw, output value.Value) *Fault {
	f := n.task.Foreach
	if f.ExportAs == nil && f.ExportSchema == nil {
		return nil
	}
	context := n.scope.context
	if f.ExportAs != nil {
		m.env.raw, m.env.output = raw, output
		v, fault := m.evalWith(n, f.ExportAs, inExport, output, n.inner)
		if fault != nil {
			return fault
		}
		context = v
	}
	if fault := m.checkSchema(f.ExportSchema, context, n.reference()); fault != nil {
		return fault
	}
	if f.ExportAs != nil {
		n.scope.context, n.scope.changed = context, true
	}
	return nil
}
