package expr

import "github.com/chargehand/chargehand/internal/value"

// node is a part of a compiled expression. Nodes are immutable.
//
// one evaluates a part that has exactly one result; it is called only if single is true.
// each evaluates any part and calls yield for every result, in the language's order. p is
// the path of v where paths are followed (inside path(f) and on the left of assignments),
// else nil. An error of yield ends the evaluation and is returned as it is.
type node interface {
	one(r *evaluation, f *frame, v Value) (Value, error)
	each(r *evaluation, f *frame, v Value, p *path, yield yield) error
	single() bool
}

type yield func(v Value, p *path) error

// frame is one binding of a local variable, a parameter or a label. The bindings that are
// visible to a node are a list, innermost first; the compiler knows the place of each.
type frame struct {
	up    *frame
	value Value // a Value, a *closure or a label's number
}

func (f *frame) at(hops int) *frame {
	for ; hops > 0; hops-- {
		f = f.up
	}
	return f
}

// closure is an argument that a function evaluates where and as often as it wants.
type closure struct {
	body  node
	frame *frame
	stack int // levels of evaluation that body takes
}

// always is embedded by nodes that have exactly one result.
type always struct{}

func (always) single() bool { return true }

// never is embedded by nodes that may have none or several results.
type never struct{}

func (never) single() bool { return false }

func (never) one(*evaluation, *frame, Value) (Value, error) {
	panic("expr: one of a node with several results")
}

// sometimes is embedded by nodes that have exactly one result if their parts have.
type sometimes struct{ isSingle bool }

func (s sometimes) single() bool { return s.isSingle }

// yieldOne is each for nodes that have one result and leave the path alone.
func yieldOne(n node, r *evaluation, f *frame, v Value, p *path, yield yield) error {
	w, err := n.one(r, f, v)
	if err != nil {
		return err
	}
	return yield(w, p)
}

// eachValue evaluates n without following paths; a single result takes the short way.
func eachValue(n node, r *evaluation, f *frame, v Value, yield func(Value) error) error {
	if n.single() {
		w, err := n.one(r, f, v)
		if err != nil {
			return err
		}
		return yield(w)
	}
	return n.each(r, f, v, nil, func(w Value, _ *path) error { return yield(w) })
}

// errStop ends an evaluation whose further results are not wanted.
var errStop error = &breakSignal{}

// firstOf returns the first result of n, if there is one.
func firstOf(n node, r *evaluation, f *frame, v Value) (first Value, found bool, err error) {
	if n.single() {
		first, err = n.one(r, f, v)
		return first, err == nil, err
	}
	return firstOfMany(n, r, f, v)
}

func firstOfMany(n node, r *evaluation, f *frame, v Value) (first Value, found bool, err error) {
	err = n.each(r, f, v, nil, func(w Value, _ *path) error {
		first, found = w, true
		return errStop
	})
	if err == errStop {
		err = nil
	}
	return first, found, err
}

type identityNode struct{ always }

func (identityNode) one(_ *evaluation, _ *frame, v Value) (Value, error) { return v, nil }

func (identityNode) each(_ *evaluation, _ *frame, v Value, p *path, yield yield) error {
	return yield(v, p)
}

type emptyNode struct{ never }

func (emptyNode) each(*evaluation, *frame, Value, *path, yield) error { return nil }

type constantNode struct {
	always
	value Value
}

func (n *constantNode) one(*evaluation, *frame, Value) (Value, error) { return n.value, nil }

func (n *constantNode) each(_ *evaluation, _ *frame, _ Value, p *path, yield yield) error {
	return yield(n.value, p)
}

// globalNode is a variable that Env gives.
type globalNode struct {
	always
	index int
}

func (n *globalNode) one(r *evaluation, _ *frame, _ Value) (Value, error) {
	return r.variable(n.index), nil
}

func (n *globalNode) each(r *evaluation, _ *frame, _ Value, p *path, yield yield) error {
	return yield(r.variable(n.index), p)
}

// localNode is a variable that the expression itself binds.
type localNode struct {
	always
	hops int
}

func (n *localNode) one(_ *evaluation, f *frame, _ Value) (Value, error) {
	return f.at(n.hops).value, nil
}

func (n *localNode) each(_ *evaluation, f *frame, _ Value, p *path, yield yield) error {
	return yield(f.at(n.hops).value, p)
}

type pipeNode struct {
	sometimes
	left, right node
}

func (n *pipeNode) one(r *evaluation, f *frame, v Value) (Value, error) {
	w, err := n.left.one(r, f, v)
	if err != nil {
		return nil, err
	}
	return n.right.one(r, f, w)
}

func (n *pipeNode) each(r *evaluation, f *frame, v Value, p *path, yield yield) error {
	if err := r.step(); err != nil {
		return err
	}
	if p == nil && n.left.single() {
		w, err := n.left.one(r, f, v)
		if err != nil {
			return err
		}
		return n.right.each(r, f, w, nil, yield)
	}
	return n.left.each(r, f, v, p, func(w Value, q *path) error {
		return n.right.each(r, f, w, q, yield)
	})
}

// commaNode is a, b, c.
type commaNode struct {
	never
	parts []node
}

func (n *commaNode) each(r *evaluation, f *frame, v Value, p *path, yield yield) error {
	for _, part := range n.parts {
		if err := r.step(); err != nil {
			return err
		}
		if err := part.each(r, f, v, p, yield); err != nil {
			return err
		}
	}
	return nil
}

// ifNode is if-then-elif-else; select, and, or, not are written with it.
type ifNode struct {
	sometimes
	cond, then, otherwise node
}

func (n *ifNode) one(r *evaluation, f *frame, v Value) (Value, error) {
	c, err := n.cond.one(r, f, v)
	if err != nil {
		return nil, err
	}
	if err := r.step(); err != nil {
		return nil, err
	}
	if value.Truthy(c) {
		return n.then.one(r, f, v)
	}
	return n.otherwise.one(r, f, v)
}

func (n *ifNode) each(r *evaluation, f *frame, v Value, p *path, yield yield) error {
	if err := r.step(); err != nil {
		return err
	}
	if n.cond.single() {
		c, err := n.cond.one(r, f, v)
		if err != nil {
			return err
		}
		if value.Truthy(c) {
			return n.then.each(r, f, v, p, yield)
		}
		return n.otherwise.each(r, f, v, p, yield)
	}
	return n.cond.each(r, f, v, nil, func(c Value, _ *path) error {
		if value.Truthy(c) {
			return n.then.each(r, f, v, p, yield)
		}
		return n.otherwise.each(r, f, v, p, yield)
	})
}

// elseNode is left // right: the results of left that count as true, else those of right.
type elseNode struct {
	sometimes
	left, right node
}

func (n *elseNode) one(r *evaluation, f *frame, v Value) (Value, error) {
	w, err := n.left.one(r, f, v)
	if err != nil || value.Truthy(w) {
		return w, err
	}
	return n.right.one(r, f, v)
}

func (n *elseNode) each(r *evaluation, f *frame, v Value, p *path, yield yield) error {
	if err := r.step(); err != nil {
		return err
	}
	found := false
	err := n.left.each(r, f, v, p, func(w Value, q *path) error {
		if !value.Truthy(w) {
			return nil
		}
		found = true
		return yield(w, q)
	})
	if err != nil || found {
		return err
	}
	return n.right.each(r, f, v, p, yield)
}

// tryNode is try body catch handler; without a handler it is body?.
type tryNode struct {
	never
	body, handler node
}

func (n *tryNode) each(r *evaluation, f *frame, v Value, p *path, yield yield) error {
	if err := r.step(); err != nil {
		return err
	}
	// Only failures of the body itself are caught, not those of what follows.
	var later error
	err := n.body.each(r, f, v, p, func(w Value, q *path) error {
		later = yield(w, q)
		return later
	})
	problem, ok := err.(*failure)
	if !ok || err == later {
		return err
	}
	if n.handler == nil {
		return nil
	}
	w, err := problem.caught(r)
	if err != nil {
		return err
	}
	return n.handler.each(r, f, w, p, yield)
}

// labelNode is label $name | body.
type labelNode struct {
	never
	body node
}

func (n *labelNode) each(r *evaluation, f *frame, v Value, p *path, yield yield) error {
	if err := r.step(); err != nil {
		return err
	}
	r.labels++
	label := r.labels
	err := n.body.each(r, &frame{up: f, value: label}, v, p, yield)
	if b, ok := err.(*breakSignal); ok && b.label == label {
		return nil
	}
	return err
}

type breakNode struct {
	never
	hops int
}

func (n *breakNode) each(_ *evaluation, f *frame, _ Value, _ *path, _ yield) error {
	return &breakSignal{label: f.at(n.hops).value.(int)}
}
