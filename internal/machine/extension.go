package machine

import (
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/value"
)

// around is what a task knows of the extensions that apply to it (T35). Their lists are run
// by the node of the extended task itself, before and after what it does; they nest in the
// order of the definition.
type around struct {
	at      int   // before: the extension that it is at; after: its place in chosen
	chosen  []int // extensions whose `when` held
	after   bool
	running bool // the node runs one of the lists
	bypass  bool // the list that ends now said `exit`

	raw  value.Value // after: what the task gave
	then plan.Flow   // after: where the list continues
}

// isRunning reports whether the list that the node runs is that of an extension.
func (a *around) isRunning() bool { return a != nil && a.running }

// enter does what the task says, with the extensions around it. They do not apply to tasks
// that run in an extension.
func (m *Machine) enter(n *node) *node {
	if len(n.task.Extensions) == 0 || n.extended != nil {
		return m.execute(n)
	}
	n.around = &around{at: -1}
	return m.nextBefore(n)
}

// nextBefore asks the next extension whether it applies, and runs its `before`. Behind the
// last one comes the task.
func (m *Machine) nextBefore(n *node) *node {
	a := n.around
	a.running = false
	for a.at++; a.at < len(n.task.Extensions); a.at++ {
		e := n.task.Extensions[a.at]
		if e.When != nil {
			v, f := m.eval(n, e.When, inBody, n.input)
			if f != nil {
				return m.fail(n, f)
			}
			if !value.Truthy(v) {
				continue
			}
		}
		a.chosen = append(a.chosen, a.at)
		if e.Before != nil {
			return n.runAround(e.Before, n.input)
		}
	}
	n.list, n.at, n.data = nil, 0, nil
	if len(a.chosen) == 0 {
		n.around = nil
	}
	return m.execute(n)
}

// runAround makes the node run a list of an extension.
func (n *node) runAround(list *plan.List, data value.Value) *node {
	n.around.running = true
	n.list, n.at, n.data = list, 0, data
	return n
}

// aroundDone is the end of a list of an extension. `exit` in `before` makes the data that it
// has the task's raw output, without the task and without any `after`.
func (m *Machine) aroundDone(n *node) *node {
	a := n.around
	switch {
	case a.after:
		return m.nextAfter(n)
	case a.bypass:
		raw := n.data
		n.around, n.list = nil, nil
		return m.complete(n, raw, n.task.Then)
	default:
		return m.nextBefore(n)
	}
}

// beginAfter holds the raw output of the task back until the `after` lists have seen it.
func (m *Machine) beginAfter(n *node, raw value.Value, then plan.Flow) *node {
	a := n.around
	a.after, a.raw, a.then, a.at = true, raw, then, len(a.chosen)
	return m.nextAfter(n)
}

func (m *Machine) nextAfter(n *node) *node {
	a := n.around
	for a.at--; a.at >= 0; a.at-- {
		if list := n.task.Extensions[a.chosen[a.at]].After; list != nil {
			return n.runAround(list, a.raw)
		}
	}
	n.around, n.list = nil, nil
	return m.complete(n, a.raw, a.then)
}

// aroundList is the list of the extension that the node is at; nil if there is none.
func (n *node) aroundList() *plan.List {
	a := n.around
	extensions := n.task.Extensions
	switch {
	case !a.after && a.at >= 0 && a.at < len(extensions):
		return extensions[a.at].Before
	case a.after && a.at >= 0 && a.at < len(a.chosen):
		return extensions[a.chosen[a.at]].After
	}
	return nil
}

func (w *checkpointWriter) around(a *around) {
	if a == nil {
		return
	}
	w.key("around")
	w.open('{')
	w.key("at")
	w.plainInteger(a.at)
	w.list("chosen", len(a.chosen), func(i int) { w.plainInteger(a.chosen[i]) })
	w.flag("after", a.after)
	w.flag("running", a.running)
	w.flag("bypass", a.bypass)
	w.value("raw", a.raw)
	w.integer("then", int(a.then.Kind))
	w.integer("target", a.then.Target)
	w.close('}')
}

func (r *restorer) around(n *node, o object) {
	if o.get("around") == nil {
		return
	}
	v := o.item(o.get("around"))
	a := &around{
		at: v.integer("at"), after: v.flag("after"), running: v.flag("running"), bypass: v.flag("bypass"),
		raw: r.value(v, "raw"), then: plan.Flow{Kind: flowOf(v), Target: v.integer("target")},
	}
	for _, item := range v.list("chosen") {
		at, ok := item.(int)
		if !ok || n.task == nil || at < 0 || at >= len(n.task.Extensions) {
			*r.bad = true
			return
		}
		a.chosen = append(a.chosen, at)
	}
	n.around = a
	if n.task == nil || a.running && n.aroundList() == nil || a.after && !a.running {
		*r.bad = true
	}
}
