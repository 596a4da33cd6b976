package machine

import (
	"cmp"
	"slices"

	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/value"
)

// consumption writes what a listen or a subscription knows. What follows from the plan and
// from other properties is left out.
func (w *checkpointWriter) consumption(c *consumption) {
	if c == nil {
		return
	}
	w.key("consume")
	w.open('{')
	w.flag("closed", c.closed)
	w.list("fixed", len(c.fixed), func(i int) { w.plainInteger(w.intern(c.fixed[i])) })
	w.list("expected", len(c.expected), func(i int) {
		if !c.expected[i].known {
			w.plainInteger(-1)
			return
		}
		w.plainInteger(w.intern(c.expected[i].value))
	})
	var met []int
	for number, is := range c.met {
		if is {
			met = append(met, number)
		}
	}
	w.list("met", len(met), func(i int) { w.plainInteger(met[i]) })
	w.integer("taken", c.taken)
	w.list("results", len(c.results), func(i int) { w.plainInteger(w.intern(c.results[i])) })
	queue := c.queue.waiting()
	w.list("queue", len(queue), func(i int) { w.plainInteger(w.intern(queue[i].value)) })
	numbers := make([]int64, len(queue))
	for i, one := range queue {
		numbers[i] = one.number
	}
	w.numbers("numbers", numbers)
	w.value("item", c.item)
	w.close('}')
}

// numbers writes a list of numbers, each as its difference to the one before.
func (w *checkpointWriter) numbers(name string, numbers []int64) {
	w.list(name, len(numbers), func(i int) {
		number := numbers[i]
		if i > 0 {
			number -= numbers[i-1]
		}
		w.plainInteger(int(number))
	})
}

// consumed writes which events were consumed, by the place of the task.
func (w *checkpointWriter) consumed(m *Machine) {
	consumers := make([]consumerKey, 0, len(m.consumed))
	//workflowcheck:ignore sorts them
	for consumer := range m.consumed {
		consumers = append(consumers, consumer)
	}
	slices.SortFunc(consumers, func(a, b consumerKey) int {
		return cmp.Or(cmp.Compare(a.reference, b.reference), cmp.Compare(a.task, b.task))
	})
	w.list("consumed", len(consumers), func(i int) {
		c := m.consumed[consumers[i]]
		w.open('{')
		w.text("reference", consumers[i].reference)
		w.integer("task", consumers[i].task)
		w.integer("floor", int(c.floor))
		w.integer("passed", int(c.passed))
		w.numbers("numbers", c.numbers)
		w.close('}')
	})
}

// indexes follows a list of references to the table of values.
func (r *restorer) indexes(o object, name string) []value.Value {
	list := o.list(name)
	values := make([]value.Value, 0, len(list))
	for _, v := range list {
		at, ok := v.(int)
		if !ok {
			*r.bad = true
		}
		values = append(values, element(r.bad, r.values, at))
	}
	return values
}

func (r *restorer) numbers(o object, name string) []int64 {
	list := o.list(name)
	numbers := make([]int64, 0, len(list))
	var last int64
	for _, v := range list {
		by, ok := v.(int)
		if !ok {
			*r.bad = true
		}
		last += int64(by)
		numbers = append(numbers, last)
	}
	return numbers
}

// consumption reads what a listen or a subscription knows.
func (r *restorer) consumption(n *node, o object) {
	if o.get("consume") == nil {
		return
	}
	v := o.item(o.get("consume"))
	if n.task == nil || n.task.Listen == nil && n.task.Stream == nil {
		*r.bad = true
		return
	}
	c := &consumption{
		closed: v.flag("closed"), taken: v.integer("taken"), item: r.value(v, "item"),
		fixed: r.indexes(v, "fixed"), results: r.indexes(v, "results"),
	}
	n.consumption = c
	values, numbers := r.indexes(v, "queue"), r.numbers(v, "numbers")
	if len(values) != len(numbers) || len(values) > 0 && n.task.Foreach == nil {
		*r.bad = true
		return
	}
	for i, value := range values {
		c.queue.push(queued{numbers[i], value})
	}
	l := n.task.Listen
	if l == nil {
		return
	}
	r.expectations(l, c, v)
	if len(c.fixed) != len(l.Fixed) || len(c.expected) != len(l.Keys) {
		*r.bad = true
	}
}

func (r *restorer) expectations(l *plan.Listen, c *consumption, v object) {
	for _, item := range v.list("expected") {
		at, ok := item.(int)
		switch {
		case !ok:
			*r.bad = true
		case at < 0:
			c.expected = append(c.expected, expectation{})
		default:
			c.expected = append(c.expected, expectation{known: true, value: element(r.bad, r.values, at)})
		}
	}
	c.met = make([]bool, len(l.Filters))
	for _, item := range v.list("met") {
		number, ok := item.(int)
		if !ok || number < 0 || number >= len(c.met) {
			*r.bad = true
			return
		}
		c.met[number] = true
	}
}

// consumed reads which events were consumed.
func (r *restorer) consumed(m *Machine, o object) {
	c := &consumedEvents{
		floor: int64(o.integer("floor")), passed: int64(o.integer("passed")), numbers: r.numbers(o, "numbers"),
	}
	consumer := consumerKey{o.text("reference"), o.integer("task")}
	if m.consumed == nil {
		m.consumed = map[consumerKey]*consumedEvents{}
	}
	if _, twice := m.consumed[consumer]; twice || !slices.IsSorted(c.numbers) || len(c.numbers) > maxConsumed {
		*r.bad = true
		return
	}
	m.consumed[consumer] = c
}
