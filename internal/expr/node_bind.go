package expr

// pattern is what stands after "as". Its variables are the innermost frames while it is
// matched; hops counts from there.
type pattern struct {
	hops  int // of the variable, if there is one, else -1
	array []*pattern
	items []patternItem
}

// patternItem is key: pattern in an object pattern, or $name, which is both.
type patternItem struct {
	name     string // a constant key
	key      node   // a computed key; nil if name counts
	bindHops int    // of the variable $name, else -1
	value    *pattern
}

// match binds the variables and calls then, more than once if a computed key has several
// results.
func (n *pattern) match(r *evaluation, f *frame, v Value, p *path, then func(*path) error) error {
	switch {
	case n.hops >= 0:
		f.at(n.hops).value = v
		return then(p)
	case n.array != nil:
		return n.matchArray(r, f, v, p, 0, then)
	default:
		return n.matchItem(r, f, v, p, 0, then)
	}
}

func (n *pattern) matchArray(r *evaluation, f *frame, v Value, p *path, i int, then func(*path) error) error {
	if i == len(n.array) {
		return then(p)
	}
	if v != nil {
		if _, ok := v.([]any); !ok {
			return notArray(v)
		}
	}
	w, err := r.indexPath(v, i, &p)
	if err != nil {
		return err
	}
	return n.array[i].match(r, f, w, p, func(p *path) error {
		return n.matchArray(r, f, v, p, i+1, then)
	})
}

func (n *pattern) matchItem(r *evaluation, f *frame, v Value, p *path, i int, then func(*path) error) error {
	if i == len(n.items) {
		return then(p)
	}
	item := &n.items[i]
	bind := func(key Value, p *path) error {
		w, err := r.indexPath(v, key, &p)
		if err != nil {
			return err
		}
		if item.bindHops >= 0 {
			f.at(item.bindHops).value = w
		}
		if item.value == nil {
			return n.matchItem(r, f, v, p, i+1, then)
		}
		return item.value.match(r, f, w, p, func(p *path) error {
			return n.matchItem(r, f, v, p, i+1, then)
		})
	}
	if item.key == nil {
		return bind(item.name, p)
	}
	return item.key.each(r, f, v, nil, func(key Value, _ *path) error { return bind(key, p) })
}

// matcher is the list of alternatives of a destructuring, joined by ?//.
type matcher struct {
	patterns []*pattern
	count    int // of variables
}

// frames makes the frames of the variables, all null.
func (m *matcher) frames(f *frame) *frame {
	for range m.count {
		f = &frame{up: f}
	}
	return f
}

// match binds the variables and calls body. With alternatives, a failure in one of them or
// in the body after it leads to the next.
func (m *matcher) match(r *evaluation, f *frame, v Value, p *path, body func(*frame, *path) error) error {
	if err := r.step(); err != nil {
		return err
	}
	if len(m.patterns) == 1 {
		g := m.frames(f)
		if m.patterns[0].hops == 0 {
			g.value = v
			return body(g, p)
		}
		return m.patterns[0].match(r, g, v, p, func(q *path) error { return body(g, q) })
	}
	var err error
	for _, pattern := range m.patterns {
		g := m.frames(f)
		err = pattern.match(r, g, v, p, func(q *path) error { return body(g, q) })
		if _, ok := err.(*failure); !ok {
			return err
		}
	}
	return err
}

// bindNode is source as patterns | body.
type bindNode struct {
	sometimes
	source  node
	matcher matcher
	body    node
}

func (n *bindNode) one(r *evaluation, f *frame, v Value) (Value, error) {
	w, err := n.source.one(r, f, v)
	if err != nil {
		return nil, err
	}
	if err := r.step(); err != nil {
		return nil, err
	}
	// isSingle implies that the pattern is one variable.
	return n.body.one(r, &frame{up: f, value: w}, v)
}

func (n *bindNode) each(r *evaluation, f *frame, v Value, p *path, yield yield) error {
	if n.source.single() && len(n.matcher.patterns) == 1 && n.matcher.patterns[0].hops == 0 {
		w, err := n.source.one(r, f, v)
		if err != nil {
			return err
		}
		if err := r.step(); err != nil {
			return err
		}
		return n.body.each(r, &frame{up: f, value: w}, v, p, yield)
	}
	return eachValue(n.source, r, f, v, func(w Value) error {
		return n.matcher.match(r, f, w, nil, func(g *frame, _ *path) error {
			return n.body.each(r, g, v, p, yield)
		})
	})
}

// reduceNode is reduce source as patterns (start; update).
type reduceNode struct {
	sometimes
	source  node
	matcher matcher
	start   node
	update  node // may have any number of results: the last one counts
}

func (n *reduceNode) one(r *evaluation, f *frame, v Value) (Value, error) {
	state, err := n.start.one(r, f, v)
	if err != nil {
		return nil, err
	}
	return n.run(r, f, v, state)
}

func (n *reduceNode) each(r *evaluation, f *frame, v Value, p *path, yield yield) error {
	return n.start.each(r, f, v, p, func(state Value, p *path) error {
		state, err := n.run(r, f, v, state)
		if err != nil {
			return err
		}
		return yield(state, p)
	})
}

func (n *reduceNode) run(r *evaluation, f *frame, v, state Value) (Value, error) {
	err := n.source.each(r, f, v, nil, func(item Value, _ *path) error {
		return n.matcher.match(r, f, item, nil, func(g *frame, _ *path) error {
			return eachValue(n.update, r, g, state, func(w Value) error {
				state = w
				return nil
			})
		})
	})
	return state, err
}

// foreachNode is foreach source as patterns (start; update; extract).
type foreachNode struct {
	never
	source  node
	matcher matcher
	start   node
	update  node
	extract node // identity if it is left out
}

func (n *foreachNode) each(r *evaluation, f *frame, v Value, p *path, yield yield) error {
	return n.start.each(r, f, v, p, func(state Value, p *path) error {
		return n.source.each(r, f, v, p, func(item Value, p *path) error {
			return n.matcher.match(r, f, item, p, func(g *frame, p *path) error {
				return eachValue(n.update, r, g, state, func(w Value) error {
					state = w
					return n.extract.each(r, g, w, p, yield)
				})
			})
		})
	})
}
