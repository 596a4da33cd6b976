package machine

import (
	"slices"

	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/value"
)

// expectation is what a correlation must extract from events (T58).
type expectation struct {
	known bool
	value value.Value // null matches nothing
}

// correlates reports whether an event has the expected value of a correlation, or the first one.
func (m *Machine) correlates(n *node, c *plan.Correlation, envelope map[string]any) bool {
	v, ok := m.evalOnEvent(n, c.From, envelope, n.locals)
	if !ok || v == nil {
		return false
	}
	want := n.consumption.expected[c.Key]
	return !want.known || value.Equal(v, want.value)
}

// learn makes what an event has the expectation for later ones, where there was none.
func (m *Machine) learn(n *node, f *plan.EventFilter, envelope map[string]any) {
	m.spent = 0
	for i := range f.Correlations {
		c := &f.Correlations[i]
		want := &n.consumption.expected[c.Key]
		if want.known {
			continue
		}
		v, _ := m.evalOnEvent(n, c.From, envelope, n.locals)
		m.grow(v)
		*want = expectation{known: true, value: v}
	}
}

// maxConsumed is the number of events that are remembered for one task. Of older ones all
// count as consumed.
const maxConsumed = 10_000

// consumedBytes is what one of them takes in the state.
const consumedBytes = 8

// consumerKey tells the tasks that consume events apart: each event is delivered at most
// once to each (T60). The number is that of the task, which matters where a function from
// elsewhere has only the pointer of its caller.
type consumerKey struct {
	reference string
	task      int
}

// consumedEvents are the events that a task has had, by their numbers.
type consumedEvents struct {
	floor   int64   // what is not above it was consumed
	passed  int64   // what is not above it was consumed or cannot match (plan.Listen.EnvelopeOnly)
	numbers []int64 // sorted, all above floor
}

func (n *node) consumer() consumerKey { return consumerKey{n.reference(), n.task.Number} }

func (m *Machine) consumedAt(n *node) *consumedEvents {
	consumer := n.consumer()
	c := m.consumed[consumer]
	if c == nil {
		c = &consumedEvents{}
		if m.consumed == nil {
			m.consumed = map[consumerKey]*consumedEvents{}
		}
		m.consumed[consumer] = c
	}
	return c
}

func (c *consumedEvents) has(number int64) bool {
	if number <= c.floor {
		return true
	}
	_, ok := slices.BinarySearch(c.numbers, number)
	return ok
}

func (c *consumedEvents) add(number int64) {
	at, _ := slices.BinarySearch(c.numbers, number)
	c.numbers = slices.Insert(c.numbers, at, number)
	if len(c.numbers) > maxConsumed {
		c.floor = c.numbers[0]
		c.numbers = c.numbers[1:]
	}
}

// remove makes an event available again that no body has handled.
func (c *consumedEvents) remove(number int64) {
	if at, ok := slices.BinarySearch(c.numbers, number); ok {
		c.numbers = slices.Delete(c.numbers, at, at+1)
		c.passed = min(c.passed, number-1)
	}
}
