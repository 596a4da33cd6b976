package machine

import (
	"github.com/chargehand/chargehand/internal/value"
)

// nodeBytes stands for what a running task takes beside its values.
const nodeBytes = 256

// growthAllowance is the number of bytes that may be made between two measurements of the
// state, so that measuring costs little on the average. The limit may be overrun by as much
// for a moment.
func (m *Machine) growthAllowance() int { return m.plan.Limits.StateBytes / 4 }

// bytesPerSliceStep is how many bytes of a value count as one step towards the next yield:
// measuring a value takes time even if it is only passed on. They do not count towards the
// limit between two effects.
const bytesPerSliceStep = 32 << 10

// grow notes that a value was made.
func (m *Machine) grow(v value.Value) {
	size := 8
	switch v := v.(type) {
	case nil, bool, int, float64:
	case string:
		size = len(v)
	default:
		size = value.Size(v)
	}
	m.grown += size
	m.trace.bytes += size
	m.sliceSteps += size / bytesPerSliceStep
}

// overgrown measures the state and ends the execution if it is too large. n is the node
// that was about to continue, nil if none is.
func (m *Machine) overgrown(n *node) bool {
	m.measured, m.grown = m.size(), 0
	limit := m.plan.Limits.StateBytes
	if m.measured <= limit {
		return false
	}
	if n == nil {
		n = m.root
	}
	m.abort(n, stateLimitFault(m.measured, limit, n))
	return true
}

// size is the number of bytes that the state takes, with equal values counted once.
func (m *Machine) size() int {
	var s sizer
	s.value(m.input)
	s.node(m.root)
	for _, p := range m.pending.list {
		if p.node != nil {
			s.total += nodeBytes
			s.value(p.args)
			s.total += nodeBytes * len(p.filters)
			if p.detached != nil {
				s.value(p.detached.Input)
			}
		}
	}
	for i := range m.held {
		s.total += nodeBytes
		s.value(m.held[i].Output)
	}
	//workflowcheck:ignore adds up
	for consumer, c := range m.consumed {
		s.total += len(consumer.reference) + nodeBytes + len(c.numbers)*consumedBytes
	}
	return s.total
}

// sizer adds up values. Equal values are found by their contents, not by their address in
// memory, so that a restored machine counts the same.
type sizer struct {
	total int
	seen  valueTable
}

func (s *sizer) value(v value.Value) {
	size := 8
	switch v.(type) {
	case nil, bool, int, float64:
	default:
		if _, known := s.seen.add(v); !known {
			size += value.Size(v)
		}
	}
	s.total += size
}

func (s *sizer) node(n *node) {
	if n == nil {
		return
	}
	s.total += nodeBytes + len(n.files)*nodeBytes
	s.value(n.raw)
	s.value(n.input)
	s.value(n.data)
	s.value(n.scope.context)
	if n.items != nil {
		s.value(n.items)
	}
	if n.consumption != nil {
		s.consumption(n.consumption)
	}
	if n.around != nil {
		s.value(n.around.raw)
	}
	s.node(n.child)
	for _, b := range n.branches {
		s.node(b)
	}
}

func (s *sizer) consumption(c *consumption) {
	s.value(c.item)
	for _, v := range c.fixed {
		s.value(v)
	}
	for _, e := range c.expected {
		s.value(e.value)
	}
	for _, v := range c.results {
		s.value(v)
	}
	for _, one := range c.queue.waiting() {
		s.value(one.value)
	}
}
