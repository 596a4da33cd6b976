package expr

// function is a function that the expression defines.
type function struct {
	body   node
	values []int  // which arguments are also evaluated, as $name
	byName []bool // which arguments may be evaluated by the body; decided when it is compiled
	level  int    // frames that enclose the definition
	stack  int    // levels of evaluation that the body takes
}

// callNode calls a function that the expression defines.
type callNode struct {
	never
	function *function
	hops     int // to the frame of the definition
	args     []node
	stacks   []int // levels of evaluation that each argument takes
	tail     bool  // nothing remains to be done after the call
}

// tailCall is a call that takes the place of the call in which it stands, so that loops
// written as recursion do not pile up.
type tailCall struct {
	function *function
	frame    *frame
	value    Value
	path     *path
}

// errTail makes the nearest call continue with run.tail.
var errTail error = &breakSignal{label: -1}

func (n *callNode) each(r *evaluation, f *frame, v Value, p *path, yield yield) error {
	if err := r.step(); err != nil {
		return err
	}
	// In a recursion arguments may hold each other, so they count.
	if len(n.args) > 0 {
		if err := r.alloc(112 * len(n.args)); err != nil {
			return err
		}
	}
	g := f.at(n.hops)
	for i, arg := range n.args {
		if n.function.byName[i] {
			g = &frame{up: g, value: &closure{body: arg, frame: f, stack: n.stacks[i]}}
		} else {
			g = &frame{up: g}
		}
	}
	return n.bindValues(r, f, g, v, p, 0, yield)
}

// bindValues evaluates the $name parameters from the i-th on, then calls.
func (n *callNode) bindValues(r *evaluation, f, g *frame, v Value, p *path, i int, yield yield) error {
	if i == len(n.function.values) {
		return n.call(r, g, v, p, yield)
	}
	arg := n.args[n.function.values[i]]
	if arg.single() {
		w, err := arg.one(r, f, v)
		if err != nil {
			return err
		}
		return n.bindValues(r, f, &frame{up: g, value: w}, v, p, i+1, yield)
	}
	return arg.each(r, f, v, nil, func(w Value, _ *path) error {
		return n.bindValues(r, f, &frame{up: g, value: w}, v, p, i+1, yield)
	})
}

func (n *callNode) call(r *evaluation, g *frame, v Value, p *path, yield yield) error {
	if n.tail {
		r.tail = tailCall{n.function, g, v, p}
		return errTail
	}
	err := r.push(n.function.stack)
	if err != nil {
		return err
	}
	err = n.function.body.each(r, g, v, p, yield)
	r.pop(n.function.stack)
	for err == errTail {
		t := r.tail
		if err := r.push(t.function.stack); err != nil {
			return err
		}
		err = t.function.body.each(r, t.frame, t.value, t.path, yield)
		r.pop(t.function.stack)
	}
	return err
}

// closureNode evaluates a parameter of the function in which it stands.
type closureNode struct {
	never
	hops int
}

func (n *closureNode) each(r *evaluation, f *frame, v Value, p *path, yield yield) error {
	if err := r.step(); err != nil {
		return err
	}
	c := f.at(n.hops).value.(*closure)
	if err := r.push(c.stack); err != nil {
		return err
	}
	err := c.body.each(r, c.frame, v, p, yield)
	r.pop(c.stack)
	return err
}

// argumentNode is a parameter of a built-in function, whose definition is compiled into
// the place of each call: the argument itself, seen from inside the definition.
type argumentNode struct {
	sometimes
	hops int // frames that the definition has added
	body node
}

func (n *argumentNode) one(r *evaluation, f *frame, v Value) (Value, error) {
	return n.body.one(r, f.at(n.hops), v)
}

func (n *argumentNode) each(r *evaluation, f *frame, v Value, p *path, yield yield) error {
	return n.body.each(r, f.at(n.hops), v, p, yield)
}

// valuesNode evaluates the $name parameters of a built-in function, then its definition.
type valuesNode struct {
	sometimes
	args []node
	body node
}

func (n *valuesNode) one(r *evaluation, f *frame, v Value) (Value, error) {
	g := f
	for _, arg := range n.args {
		w, err := arg.one(r, f, v)
		if err != nil {
			return nil, err
		}
		g = &frame{up: g, value: w}
	}
	return n.body.one(r, g, v)
}

func (n *valuesNode) each(r *evaluation, f *frame, v Value, p *path, yield yield) error {
	return n.bind(r, f, f, v, p, 0, yield)
}

func (n *valuesNode) bind(r *evaluation, f, g *frame, v Value, p *path, i int, yield yield) error {
	if i == len(n.args) {
		return n.body.each(r, g, v, p, yield)
	}
	if n.args[i].single() {
		w, err := n.args[i].one(r, f, v)
		if err != nil {
			return err
		}
		return n.bind(r, f, &frame{up: g, value: w}, v, p, i+1, yield)
	}
	return n.args[i].each(r, f, v, nil, func(w Value, _ *path) error {
		return n.bind(r, f, &frame{up: g, value: w}, v, p, i+1, yield)
	})
}

// native is a function in Go. It accounts for its work and its memory by itself, checks the
// bounds before it does the work, and leaves its arguments as they are.
type native func(r *evaluation, v Value, args []Value) (Value, error)

// nativeNode calls a native function for every combination of its arguments' results; the
// last argument varies slowest.
type nativeNode struct {
	sometimes
	call native
	args []node
}

func (n *nativeNode) one(r *evaluation, f *frame, v Value) (Value, error) {
	var args []Value
	if len(n.args) > 0 {
		args = make([]Value, len(n.args))
	}
	for i := len(n.args) - 1; i >= 0; i-- {
		var err error
		if args[i], err = n.args[i].one(r, f, v); err != nil {
			return nil, err
		}
	}
	if err := r.step(); err != nil {
		return nil, err
	}
	return n.call(r, v, args)
}

func (n *nativeNode) each(r *evaluation, f *frame, v Value, p *path, yield yield) error {
	if n.isSingle {
		return yieldOne(n, r, f, v, p, yield)
	}
	return n.bind(r, f, v, p, make([]Value, len(n.args)), len(n.args), yield)
}

func (n *nativeNode) bind(r *evaluation, f *frame, v Value, p *path, args []Value, i int, yield yield) error {
	if i == 0 {
		if err := r.step(); err != nil {
			return err
		}
		w, err := n.call(r, v, args)
		if err != nil {
			return err
		}
		return yield(w, p)
	}
	return eachValue(n.args[i-1], r, f, v, func(w Value) error {
		args[i-1] = w
		return n.bind(r, f, v, p, args, i-1, yield)
	})
}
