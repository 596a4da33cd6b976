package machine

import (
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/plan"
)

func (r *restorer) node(m *Machine, o object) {
	var owner *node
	var task *plan.Task
	if o.get("owner") != nil {
		owner = element(r.bad, r.nodes, o.integer("owner"))
	}
	if o.get("task") != nil {
		task = element(r.bad, r.plan.Tasks, o.integer("task"))
	}
	if *r.bad || (owner == nil) != (len(r.nodes) == 0) || owner == nil && task != nil {
		*r.bad = true
		return
	}
	n := m.newNode(owner, task)
	r.nodes = append(r.nodes, n)
	if o.get("scope") != nil {
		n.scope = element(r.bad, r.scopes, o.integer("scope"))
	}
	if n.scope == nil {
		*r.bad = true
		return
	}
	n.startedMs = int64(o.integer("started_ms"))
	n.raw, n.input, n.data = r.value(o, "raw"), r.value(o, "input"), r.value(o, "data")
	n.authorization = r.value(o, "authorization")
	n.at, n.index, n.open = o.integer("at"), o.integer("index"), o.integer("open")
	if o.get("items") != nil {
		n.items, _ = r.value(o, "items").([]any)
	}
	if seq := o.integer("entry"); seq != 0 {
		if n.entry = r.entries[seq]; n.entry == nil {
			*r.bad = true
		}
	}
	n.files = r.files(o, "files")
	if r.around(n, o); *r.bad {
		return
	}
	if r.attach(n, owner, o); *r.bad {
		return
	}
	if r.consumption(n, o); *r.bad {
		return
	}
	if task != nil && task.Kind == dsl.KindTry && (o.get("try") != nil || !n.around.isRunning()) {
		r.try(n, o)
	}
	if !*r.bad {
		r.lists(n, o)
	}
}

// attach hangs the node into the tree.
func (r *restorer) attach(n, owner *node, o object) {
	if count := o.integer("branches"); count > 0 && n.task != nil && n.task.Fork != nil &&
		count == len(n.task.Fork.Branches) {
		n.branches = make([]*node, count)
	} else if count != 0 {
		*r.bad = true
	}
	switch {
	case owner == nil:
		n.attempt, n.childAttempt = 1, 1
	case n.task != nil && owner.list != nil && owner.child == nil:
		owner.child = n
	case n.task == nil && n.index >= 0 && n.index < len(owner.branches) && owner.branches[n.index] == nil:
		owner.branches[n.index] = n
	default:
		*r.bad = true
	}
}

func (r *restorer) try(n *node, o object) {
	t := o.item(o.get("try"))
	if t.at == nil {
		*r.bad = true
		return
	}
	n.try = &tryState{
		attempt: t.integer("attempt"), limitMs: int64(t.integer("limit_ms")),
		handling: t.flag("handling"), fault: r.fault(t, "fault"), calls: r.callKeys(t),
	}
	n.childAttempt = n.try.attempt
	if !n.try.handling {
		return
	}
	n.childAttempt = n.attempt
	if n.try.fault == nil || n.task.Catch.Do == nil && !n.around.isRunning() {
		*r.bad = true
		return
	}
	n.inner = n.locals.bind(n.task.Catch.As, n.try.fault.Value())
}

// lists finds the list that the node runs, and what its children see.
func (r *restorer) lists(n *node, o object) {
	if !o.flag("list") {
		return
	}
	switch {
	case n.around.isRunning():
		n.list = n.aroundList()
	case n.parent == nil:
		n.list = r.plan.Body
	case n.task == nil:
		n.list = n.parent.task.Fork.Branches[n.index]
	case n.task.Call != nil:
		n.list, n.inner = n.task.Call.Body, nil
	case n.try != nil && n.try.handling:
		n.list = n.task.Catch.Do
	default:
		n.list = n.task.Body
	}
	if n.task != nil && n.task.Kind == dsl.KindFor && !n.around.isRunning() {
		n.iterate()
		if n.index < 0 || n.index >= len(n.items) {
			*r.bad = true
			return
		}
		n.inner = n.loopBinding()
	}
	if n.task != nil && (n.consumption != nil || n.task.Foreach != nil) && !n.around.isRunning() {
		n.iterate()
		if n.consumption == nil || n.task.Foreach == nil {
			*r.bad = true
			return
		}
		n.inner = n.itemBinding()
	}
	if n.list == nil || n.at < 0 || n.at > len(n.list.Tasks) {
		*r.bad = true
	}
}
