package machine

import (
	"fmt"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/value"
)

const (
	// maxQueue is the number of events that wait for the body of a foreach. No more are taken
	// while it is reached.
	maxQueue = 1_000
	// queueShare is the part of the limit of the state that they may take.
	queueShare = 8
)

// consumption is what a listen, or a subscription of AsyncAPI, knows while it consumes.
type consumption struct {
	subscription CommandID // 0: no more events are taken
	timer        CommandID // the end of a subscription of AsyncAPI
	closed       bool      // no more events or messages are taken

	fixed    []value.Value // by plan.Listen.Fixed
	expected []expectation // by plan.Listen.Keys
	met      []bool        // by plan.Listen.Filters

	taken   int   // messages, for `amount`
	results []any // the output so far
	queue   queue // foreach: what waits for its turn
	item    value.Value
}

// queue holds what waits for the body of a foreach, first in, first out.
type queue struct {
	list  []queued
	head  int
	bytes int
}

type queued struct {
	number int64 // of the event; 0 for messages
	value  value.Value
}

func (q *queue) len() int { return len(q.list) - q.head }

func (q *queue) push(one queued) {
	if q.head > maxQueue {
		q.list = append(q.list[:0:0], q.list[q.head:]...)
		q.head = 0
	}
	q.list = append(q.list, one)
	q.bytes += value.Size(one.value)
}

func (q *queue) pop() queued {
	one := q.list[q.head]
	q.list[q.head] = queued{}
	q.head++
	q.bytes -= value.Size(one.value)
	return one
}

// waiting lists what is queued.
func (q *queue) waiting() []queued { return q.list[q.head:] }

// paused reports whether nothing more may be taken for now.
func (m *Machine) paused(p *pending) bool {
	c := p.node.consumption
	if c == nil || p.node.task == nil {
		return false
	}
	return m.suspended || c.closed || c.queue.len() >= maxQueue || c.queue.bytes >= m.plan.Limits.StateBytes/queueShare
}

// accept takes in an event or a message that matched. It returns the node to step next.
func (m *Machine) accept(n *node, number int64, value value.Value) *node {
	c := n.consumption
	m.grow(value)
	if n.task.Foreach == nil {
		c.results = append(c.results, value)
		if m.overfull(n) {
			return nil
		}
		return m.consumedOne(n, n.locals)
	}
	c.queue.push(queued{number, value})
	if m.overfull(n) || n.list != nil { // its turn comes after the one at hand
		return nil
	}
	return m.nextItem(n)
}

// overfull measures the state where no step does: many events may come between two steps.
func (m *Machine) overfull(n *node) bool {
	return m.grown > m.growthAllowance() && m.overgrown(n)
}

// consumedOne asks whether that was the last one, after an event or a message was consumed
// and, with a foreach, handled. The condition sees the output so far (T56).
func (m *Machine) consumedOne(n *node, locals *binding) *node {
	c := n.consumption
	enough, f := m.enough(n, locals)
	if f != nil {
		return m.fail(n, f)
	}
	if enough {
		return m.consumptionDone(n)
	}
	if n.task.Foreach != nil {
		return m.nextItem(n)
	}
	if c.closed {
		return m.consumptionDone(n)
	}
	return nil
}

// enough evaluates the condition that ends a consumption, if there is one. Unlike filters it
// is the author's business that it works with what was consumed.
func (m *Machine) enough(n *node, locals *binding) (bool, *Fault) {
	var condition *plan.Operand
	if n.task.Listen != nil {
		condition = n.task.Listen.To.Until
	} else if condition = n.task.Stream.Until; condition == nil {
		condition = n.task.Stream.While
	}
	if condition == nil {
		return false, nil
	}
	v, f := m.evalWith(n, condition, inBody, n.consumption.output(), locals)
	if f != nil {
		return false, f
	}
	return value.Truthy(v) == (n.task.Stream == nil || n.task.Stream.While == nil), nil
}

// output is what was consumed so far.
func (c *consumption) output() []any {
	if c.results == nil {
		return []any{}
	}
	return c.results
}

// consumptionDone ends the task with what was consumed.
func (m *Machine) consumptionDone(n *node) *node {
	m.closeConsumption(n)
	m.giveBack(n)
	m.tellCorrelation(n, true)
	results := n.consumption.output()
	n.consumption, n.childIterations = nil, n.iterations
	if deeper(results, value.MaxDepth) {
		return m.fail(n, newFault(ErrRuntime, 500,
			fmt.Sprintf("The output is nested deeper than %d levels.", value.MaxDepth), n.reference()))
	}
	return m.complete(n, results, n.task.Then)
}

// closeConsumption takes no more events or messages. What is queued is still handled.
func (m *Machine) closeConsumption(n *node) {
	c := n.consumption
	c.closed = true
	if c.subscription != 0 {
		m.noteSeen(n)
		m.stop(&c.subscription, Unsubscribe, isListen)
	}
	if n.task.Stream != nil {
		m.recordWithdrawn(n)
		m.stopActivity(&n.activity)
	}
	m.stopTimer(&c.timer)
}

// giveBack makes events available again that were taken, but not handled: a later listen of
// the same task gets them.
func (m *Machine) giveBack(n *node) {
	c := n.consumption
	if n.task.Listen != nil && c.queue.len() > 0 {
		consumed := m.consumedAt(n)
		for _, one := range c.queue.waiting() {
			consumed.remove(one.number)
		}
	}
	c.queue = queue{}
}

// noteSeen notes what need not be looked at again.
func (m *Machine) noteSeen(n *node) {
	if !n.task.Listen.EnvelopeOnly {
		return
	}
	if p := m.pending.find(n.consumption.subscription, isListen); p != nil && p.position > 0 {
		consumed := m.consumedAt(n)
		consumed.passed = max(consumed.passed, p.position)
	}
}

// markConsuming shows whether the task waits for events or handles one.
func (m *Machine) markConsuming(n *node) {
	e := n.entryOf()
	if e == nil || n.task.Listen == nil {
		return
	}
	phase := chargehand.Waiting
	if n.list != nil {
		phase = chargehand.Running
	}
	if e.Phase != phase {
		m.markEntry(e, phase)
	}
}
