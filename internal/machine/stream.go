package machine

import (
	"github.com/chargehand/chargehand/internal/value"
)

// Stream is a RunActivity command with Stream that has no outcome yet. What it hands over is
// given to the machine in the order of its numbers, from 1 in each run.
type Stream struct {
	Command  CommandID
	Position int64 // number of the last one of this run that was taken in
	Paused   bool  // as in Subscription: the activity must wait
}

// Streams lists the open streams in the order of their IDs.
func (m *Machine) Streams() []Stream {
	var list []Stream
	for _, p := range m.pending.list {
		if p.node != nil && p.use == useActivity && p.node.consumption != nil {
			list = append(list, m.stream(p))
		}
	}
	return list
}

// Stream is the open stream of that command. It costs less than to list all.
func (m *Machine) Stream(id CommandID) (Stream, bool) {
	if p := m.pending.find(id, isAwaited); p != nil && p.node.consumption != nil {
		return m.stream(p), true
	}
	return Stream{}, false
}

func (m *Machine) stream(p *pending) Stream {
	return Stream{Command: p.id, Position: p.position, Paused: m.paused(p)}
}

// beginStream starts a subscription of AsyncAPI, unless nothing is to be consumed.
func (m *Machine) beginStream(n *node) *node {
	s := n.task.Stream
	n.consumption = &consumption{}
	if s.Until != nil { // before each message, also the first
		enough, f := m.enough(n, n.locals)
		if f != nil {
			return m.fail(n, f)
		}
		if enough {
			return m.consumptionDone(n)
		}
	}
	if s.For != nil {
		due, f := m.dueTime(n, s.For, inBody, n.input, "")
		if f != nil {
			return m.fail(n, f)
		}
		n.consumption.timer = m.startTimer(n, useConsume, due)
	}
	return m.runActivity(n)
}

// progressed takes in what a streaming activity has handed over. It returns the node to step
// next.
func (m *Machine) progressed(p *pending, ev Event) *node {
	n := p.node
	if p.use != useActivity || n.consumption == nil {
		return nil
	}
	p.interruptions = 0 // it gets on: it does not crash again and again (T91)
	if !m.wantsMessage(n, ev.Output) {
		return nil
	}
	m.record(p, Outcome{Kind: Progressed, Output: ev.Output})
	c, s := n.consumption, n.task.Stream
	c.taken++
	if s.Amount > 0 && c.taken >= s.Amount {
		m.closeConsumption(n)
	}
	return m.accept(n, 0, ev.Output)
}

// wantsMessage applies the filter. One that fails on a message does not match (T57).
func (m *Machine) wantsMessage(n *node, message value.Value) bool {
	if deeper(message, maxEventDepth) {
		return false
	}
	filter := n.task.Stream.Filter
	if filter == nil {
		return true
	}
	m.spent = 0
	v, ok := m.evalOnEvent(n, filter, message, n.locals)
	return ok && value.Truthy(v)
}

// streamEnded is the end of a stream by itself, or of its time. What is queued is still handled.
func (m *Machine) streamEnded(n *node) *node {
	m.closeConsumption(n)
	if n.list != nil {
		return nil
	}
	return m.consumptionDone(n)
}
