package expr

import (
	"reflect"

	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/value"
)

// path is the way from the root of a followed value to one of its parts, last step first.
// It ends in a step without a parent, whose value is the root.
type path struct {
	parent *path
	key    Value
	value  Value
	length int
}

func rootPath(v Value) *path { return &path{value: v} }

// then makes a further step. The paths in use may pile up in a recursion, so they count.
func (p *path) then(r *evaluation, key, value Value) (*path, error) {
	if err := r.alloc(80); err != nil {
		return nil, err
	}
	return &path{parent: p, key: key, value: value, length: p.length + 1}, nil
}

// keys writes the path as an array.
func (p *path) keys(r *evaluation) ([]any, error) {
	if err := r.list(p.length); err != nil {
		return nil, err
	}
	keys := make([]any, p.length)
	for ; p.parent != nil; p = p.parent {
		keys[p.length-1] = p.key
	}
	return keys, nil
}

// intact reports whether v is still the very value that p leads to, and not a new one.
func (p *path) intact(v Value) bool {
	switch v := v.(type) {
	case []any, map[string]any:
		switch w := p.value.(type) {
		case []any, map[string]any:
			a, b := reflect.ValueOf(v), reflect.ValueOf(w)
			return a.Pointer() == b.Pointer() && a.Len() == b.Len()
		}
		return false
	case float64:
		if w, ok := p.value.(float64); ok {
			return v == w || v != v && w != w
		}
		return false
	}
	switch p.value.(type) {
	case []any, map[string]any:
		return false
	}
	return v == p.value
}

// fieldsNode is base.a.b[0]: indexing by constants.
type fieldsNode struct {
	sometimes
	base node
	keys []Value
}

func (n *fieldsNode) one(r *evaluation, f *frame, v Value) (Value, error) {
	v, err := n.base.one(r, f, v)
	for i := 0; i < len(n.keys) && err == nil; i++ {
		if err = r.step(); err == nil {
			v, err = r.index(v, n.keys[i])
		}
	}
	return v, err
}

func (n *fieldsNode) each(r *evaluation, f *frame, v Value, p *path, yield yield) error {
	if p == nil && n.isSingle {
		return yieldOne(n, r, f, v, nil, yield)
	}
	return n.base.each(r, f, v, p, func(v Value, p *path) error {
		for _, key := range n.keys {
			w, err := r.indexPath(v, key, &p)
			if err != nil {
				return err
			}
			v = w
		}
		return yield(v, p)
	})
}

// indexPath indexes v and moves the path along, if it is followed.
func (r *evaluation) indexPath(v, key Value, p **path) (Value, error) {
	if err := r.step(); err != nil {
		return nil, err
	}
	w, err := r.index(v, key)
	if err != nil || *p == nil {
		return w, err
	}
	if !(*p).intact(v) {
		return nil, notPath(v)
	}
	*p, err = (*p).then(r, key, w)
	return w, err
}

// indexNode is base[key] with a computed key. The key is evaluated first, on the same input.
type indexNode struct {
	sometimes
	base, key node
	secrets   bool // base is $secrets: a name that it lacks is denied, not null (T75)
}

// denied is the error of a name that $secrets lacks. No expression can catch it.
func (n *indexNode) denied(base, key Value) error {
	if !n.secrets {
		return nil
	}
	object, _ := base.(map[string]any)
	name, ok := key.(string)
	if _, has := object[name]; !ok || has {
		return nil
	}
	return &EvalError{Detail: "the secret " + excerpt.Quote(name) + " is not declared", Denied: true}
}

func (n *indexNode) one(r *evaluation, f *frame, v Value) (Value, error) {
	key, err := n.key.one(r, f, v)
	if err != nil {
		return nil, err
	}
	base, err := n.base.one(r, f, v)
	if err != nil {
		return nil, err
	}
	if err := r.step(); err != nil {
		return nil, err
	}
	if err := n.denied(base, key); err != nil {
		return nil, err
	}
	return r.index(base, key)
}

func (n *indexNode) each(r *evaluation, f *frame, v Value, p *path, yield yield) error {
	return eachValue(n.key, r, f, v, func(key Value) error {
		return n.base.each(r, f, v, p, func(base Value, p *path) error {
			if err := n.denied(base, key); err != nil {
				return err
			}
			w, err := r.indexPath(base, key, &p)
			if err != nil {
				return err
			}
			return yield(w, p)
		})
	})
}

// sliceNode is base[start:end].
type sliceNode struct {
	sometimes
	base, start, end node
}

func (n *sliceNode) one(r *evaluation, f *frame, v Value) (Value, error) {
	start, err := n.start.one(r, f, v)
	if err != nil {
		return nil, err
	}
	end, err := n.end.one(r, f, v)
	if err != nil {
		return nil, err
	}
	base, err := n.base.one(r, f, v)
	if err != nil {
		return nil, err
	}
	if err := r.step(); err != nil {
		return nil, err
	}
	return r.slice(base, start, end)
}

func (n *sliceNode) each(r *evaluation, f *frame, v Value, p *path, yield yield) error {
	return eachValue(n.start, r, f, v, func(start Value) error {
		return eachValue(n.end, r, f, v, func(end Value) error {
			return n.base.each(r, f, v, p, func(base Value, p *path) error {
				w, err := r.slice(base, start, end)
				if err != nil {
					return err
				}
				if p != nil {
					if !p.intact(base) {
						return notPath(base)
					}
					if err := r.object(2); err != nil {
						return err
					}
					if p, err = p.then(r, map[string]any{"start": start, "end": end}, w); err != nil {
						return err
					}
				}
				if err := r.step(); err != nil {
					return err
				}
				return yield(w, p)
			})
		})
	})
}

// iterateNode is base[].
type iterateNode struct {
	never
	base node
}

func (n *iterateNode) each(r *evaluation, f *frame, v Value, p *path, yield yield) error {
	if p == nil && n.base.single() {
		w, err := n.base.one(r, f, v)
		if err != nil {
			return err
		}
		return r.iterate(w, nil, yield)
	}
	return n.base.each(r, f, v, p, func(w Value, q *path) error {
		return r.iterate(w, q, yield)
	})
}

func (r *evaluation) iterate(v Value, p *path, yield yield) error {
	if err := r.step(); err != nil {
		return err
	}
	switch v := v.(type) {
	case []any:
		if p != nil && !p.intact(v) {
			return notIterablePath(v)
		}
		for i, w := range v {
			if err := r.yieldPart(i, w, p, yield); err != nil {
				return err
			}
		}
		return nil
	case map[string]any:
		if p != nil && !p.intact(v) {
			return notIterablePath(v)
		}
		if err := r.keys(len(v)); err != nil {
			return err
		}
		for _, k := range value.SortedKeys(v) {
			if err := r.yieldPart(k, v[k], p, yield); err != nil {
				return err
			}
		}
		return nil
	default:
		return notIterable(v)
	}
}

// yieldPart hands on one entry, with its path if paths are followed.
func (r *evaluation) yieldPart(key, w Value, p *path, yield yield) error {
	err := r.step()
	if p != nil && err == nil {
		p, err = p.then(r, key, w)
	}
	if err != nil {
		return err
	}
	return yield(w, p)
}

// pathNode is path(f).
type pathNode struct {
	never
	body node
}

func (n *pathNode) each(r *evaluation, f *frame, v Value, p *path, yield yield) error {
	return n.eachPath(r, f, v, func(keys []any) error { return yield(keys, p) })
}

func (n *pathNode) eachPath(r *evaluation, f *frame, v Value, yield func([]any) error) error {
	if err := r.step(); err != nil {
		return err
	}
	return n.body.each(r, f, v, rootPath(v), func(w Value, p *path) error {
		if !p.intact(w) {
			return notPath(w)
		}
		keys, err := p.keys(r)
		if err != nil {
			return err
		}
		return yield(keys)
	})
}

// getpathNode is getpath(path).
type getpathNode struct {
	sometimes
	keys node
}

func (n *getpathNode) one(r *evaluation, f *frame, v Value) (Value, error) {
	keys, err := n.keys.one(r, f, v)
	if err != nil {
		return nil, err
	}
	return r.getpath(v, keys)
}

func (n *getpathNode) each(r *evaluation, f *frame, v Value, p *path, yield yield) error {
	return eachValue(n.keys, r, f, v, func(keys Value) error {
		w, err := r.getpath(v, keys)
		if err != nil {
			return err
		}
		if p == nil {
			return yield(w, nil)
		}
		if !p.intact(v) {
			return notPath(v)
		}
		q := p
		for _, key := range keys.([]any) {
			if q, err = q.then(r, key, w); err != nil {
				return err
			}
		}
		return yield(w, q)
	})
}

func (r *evaluation) getpath(v, keys Value) (Value, error) {
	list, ok := keys.([]any)
	if !ok {
		return nil, cannotApply1("getpath", v, keys)
	}
	w := v
	for _, key := range list {
		if err := r.step(); err != nil {
			return nil, err
		}
		var err error
		if w, err = r.index(w, key); err != nil {
			if _, ok := err.(*failure); !ok {
				return nil, err
			}
			return nil, because1("getpath", v, keys, err)
		}
	}
	return w, nil
}
