package expr

import "github.com/chargehand/chargehand/internal/value"

// assignNode is paths = value: each result of value is put at every path.
type assignNode struct {
	sometimes
	paths node
	keys  []any // the path itself, where it is constant
	value node
}

func (n *assignNode) one(r *evaluation, f *frame, v Value) (Value, error) {
	w, err := n.value.one(r, f, v)
	if err != nil {
		return nil, err
	}
	return r.setpath(v, n.keys, w)
}

func (n *assignNode) each(r *evaluation, f *frame, v Value, p *path, yield yield) error {
	return eachValue(n.value, r, f, v, func(w Value) error {
		if n.keys != nil {
			u, err := r.setpath(v, n.keys, w)
			if err != nil {
				return err
			}
			return yield(u, p)
		}
		u := updater{run: r, owned: map[uintptr]Value{}}
		result := v
		err := (&pathNode{body: n.paths}).eachPath(r, f, v, func(keys []any) error {
			var err error
			result, err = u.set(result, keys, w)
			return err
		})
		if err != nil {
			return err
		}
		return yield(result, p)
	})
}

// modifyNode is paths |= change. With an operator it is paths op= operand: every result of
// operand, which is evaluated on the whole input, gives a result.
type modifyNode struct {
	sometimes
	paths    node
	change   node
	operator operator
	operand  node
}

func (n *modifyNode) one(r *evaluation, f *frame, v Value) (Value, error) {
	var operand Value
	if n.operand != nil {
		var err error
		if operand, err = n.operand.one(r, f, v); err != nil {
			return nil, err
		}
	}
	return n.modify(r, f, v, operand)
}

func (n *modifyNode) each(r *evaluation, f *frame, v Value, p *path, yield yield) error {
	if n.operand == nil {
		return yieldOne(n, r, f, v, p, yield)
	}
	return eachValue(n.operand, r, f, v, func(operand Value) error {
		w, err := n.modify(r, f, v, operand)
		if err != nil {
			return err
		}
		return yield(w, p)
	})
}

// changed is what becomes of a part; without a result it is deleted.
func (n *modifyNode) changed(r *evaluation, f *frame, old, operand Value) (Value, bool, error) {
	if n.operator != nil {
		w, err := n.operator(r, old, operand)
		return w, true, err
	}
	return firstOf(n.change, r, f, old)
}

func (n *modifyNode) modify(r *evaluation, f *frame, v, operand Value) (Value, error) {
	if it, ok := n.paths.(*iterateNode); ok {
		if _, ok := it.base.(identityNode); ok {
			return n.modifyEntries(r, f, v, operand)
		}
	}
	u := updater{run: r, owned: map[uintptr]Value{}}
	result := v
	deleted := []any{}
	err := (&pathNode{body: n.paths}).eachPath(r, f, v, func(keys []any) error {
		old, err := r.getpath(result, keys)
		if err != nil {
			return err
		}
		u.disown(old, keys)
		w, found, err := n.changed(r, f, old, operand)
		if err != nil {
			return err
		}
		if !found {
			deleted = append(deleted, keys)
			return nil
		}
		result, err = u.set(result, keys, w)
		return err
	})
	if err != nil {
		return nil, err
	}
	return u.deletePaths(result, deleted)
}

// modifyEntries is .[] |= change, without the detour over paths.
func (n *modifyNode) modifyEntries(r *evaluation, f *frame, v, operand Value) (Value, error) {
	switch v := v.(type) {
	case []any:
		if err := r.list(len(v)); err != nil {
			return nil, err
		}
		list := make([]any, 0, len(v))
		for _, old := range v {
			if err := r.step(); err != nil {
				return nil, err
			}
			w, found, err := n.changed(r, f, old, operand)
			if err != nil {
				return nil, err
			}
			if found {
				list = append(list, w)
			}
		}
		return list, nil
	case map[string]any:
		if err := r.object(len(v)); err != nil {
			return nil, err
		}
		if err := r.keys(len(v)); err != nil {
			return nil, err
		}
		object := make(map[string]any, len(v))
		for _, k := range value.SortedKeys(v) {
			if err := r.step(); err != nil {
				return nil, err
			}
			w, found, err := n.changed(r, f, v[k], operand)
			if err != nil {
				return nil, err
			}
			if found {
				object[k] = w
			}
		}
		return object, nil
	}
	return nil, notIterable(v)
}
