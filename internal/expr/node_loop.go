package expr

// rangeNode is range(start; end; step).
type rangeNode struct {
	never
	start, end, step node // of one result each
}

func (n *rangeNode) each(r *evaluation, f *frame, v Value, p *path, yield yield) error {
	var bounds [3]Value
	for i, part := range [...]node{n.start, n.end, n.step} {
		w, err := part.one(r, f, v)
		if err != nil {
			return err
		}
		if !isNumber(w) {
			return cannotApply0("range", w)
		}
		bounds[i] = w
	}
	at, end, step := bounds[0], bounds[1], bounds[2]
	direction := r.compare(step, 0)
	for direction*r.compare(at, end) < 0 {
		if err := r.step(); err != nil {
			return err
		}
		if err := yield(at, p); err != nil {
			return err
		}
		var err error
		if at, err = opAdd(r, at, step); err != nil {
			return err
		}
	}
	return nil
}

// recurseNode is .. and recurse: a value and all its parts, from the outside in.
type recurseNode struct{ never }

func (n *recurseNode) each(r *evaluation, f *frame, v Value, p *path, yield yield) error {
	if err := yield(v, p); err != nil {
		return err
	}
	switch v.(type) {
	case []any, map[string]any:
	default:
		return r.step()
	}
	if p != nil && !p.intact(v) {
		return nil
	}
	if err := r.push(2); err != nil {
		return err
	}
	err := r.iterate(v, p, func(w Value, q *path) error { return n.each(r, f, w, q, yield) })
	r.pop(2)
	return err
}

// lastNode is last(body).
type lastNode struct {
	never
	body node
}

func (n *lastNode) each(r *evaluation, f *frame, v Value, p *path, yield yield) error {
	var last Value
	var at *path
	found := false
	err := n.body.each(r, f, v, p, func(w Value, q *path) error {
		last, at, found = w, q, true
		return nil
	})
	if err != nil || !found {
		return err
	}
	return yield(last, at)
}
