package expr

import "strings"

// arrayNode is [body].
type arrayNode struct {
	always
	body node
}

func (n *arrayNode) one(r *evaluation, f *frame, v Value) (Value, error) {
	if err := r.step(); err != nil {
		return nil, err
	}
	if n.body.single() {
		w, err := n.body.one(r, f, v)
		if err != nil {
			return nil, err
		}
		if err := r.list(1); err != nil {
			return nil, err
		}
		return []any{w}, nil
	}
	list := []any{}
	err := n.body.each(r, f, v, nil, func(w Value, _ *path) error {
		if len(list) == cap(list) {
			// The array grows to twice its size; all that is thrown away counts too.
			size := max(4, 2*len(list))
			if err := r.list(min(size, MaxEntries)); err != nil {
				return err
			}
			if len(list) == MaxEntries {
				return r.list(MaxEntries + 1)
			}
			list = append(make([]any, 0, min(size, MaxEntries)), list...)
		}
		list = append(list, w)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

func (n *arrayNode) each(r *evaluation, f *frame, v Value, p *path, yield yield) error {
	return yieldOne(n, r, f, v, p, yield)
}

// tupleNode is [a, b, c] of parts with one result each.
type tupleNode struct {
	always
	parts []node
}

func (n *tupleNode) one(r *evaluation, f *frame, v Value) (Value, error) {
	if err := r.list(len(n.parts)); err != nil {
		return nil, err
	}
	list := make([]any, len(n.parts))
	for i, part := range n.parts {
		var err error
		if list[i], err = part.one(r, f, v); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func (n *tupleNode) each(r *evaluation, f *frame, v Value, p *path, yield yield) error {
	return yieldOne(n, r, f, v, p, yield)
}

// objectNode is {key: value, …}.
type objectNode struct {
	sometimes
	items []objectItem
}

// objectItem is one key: value. Without a value it is the entry of the input under the key.
type objectItem struct {
	name  string // a constant key, if key is nil
	key   node
	value node
}

func (n *objectNode) one(r *evaluation, f *frame, v Value) (Value, error) {
	if err := r.object(len(n.items)); err != nil {
		return nil, err
	}
	object := make(map[string]any, len(n.items))
	var badKey error
	for i := range n.items {
		item := &n.items[i]
		var key Value = item.name
		var err error
		if item.key != nil {
			if key, err = item.key.one(r, f, v); err != nil {
				return nil, err
			}
		}
		var w Value
		if item.value != nil {
			w, err = item.value.one(r, f, v)
		} else {
			w, err = r.index(v, key)
		}
		if err != nil {
			return nil, err
		}
		if name, ok := key.(string); ok {
			object[name] = w
		} else {
			badKey = notKey(key) // reported when all else has succeeded
		}
	}
	return object, badKey
}

func (n *objectNode) each(r *evaluation, f *frame, v Value, p *path, yield yield) error {
	if n.isSingle {
		return yieldOne(n, r, f, v, p, yield)
	}
	return n.build(r, f, v, p, make([]Value, 2*len(n.items)), 0, yield)
}

// build evaluates the items from the i-th on; the last one varies fastest.
func (n *objectNode) build(r *evaluation, f *frame, v Value, p *path, parts []Value, i int, yield yield) error {
	if err := r.step(); err != nil {
		return err
	}
	if i < len(n.items) {
		item := &n.items[i]
		withKey := func(key Value) error {
			parts[2*i] = key
			if item.value == nil {
				w, err := r.index(v, key)
				if err != nil {
					return err
				}
				parts[2*i+1] = w
				return n.build(r, f, v, p, parts, i+1, yield)
			}
			return eachValue(item.value, r, f, v, func(w Value) error {
				parts[2*i+1] = w
				return n.build(r, f, v, p, parts, i+1, yield)
			})
		}
		if item.key == nil {
			return withKey(item.name)
		}
		return eachValue(item.key, r, f, v, withKey)
	}
	if err := r.object(len(n.items)); err != nil {
		return err
	}
	object := make(map[string]any, len(n.items))
	for i := len(n.items) - 1; i >= 0; i-- {
		name, ok := parts[2*i].(string)
		if !ok {
			return notKey(parts[2*i])
		}
		if _, ok := object[name]; !ok {
			object[name] = parts[2*i+1]
		}
	}
	return yield(object, p)
}

// textNode is a text with \(…) in it, or a format before it. The last part varies slowest.
type textNode struct {
	sometimes
	parts []textPart
}

type textPart struct {
	text   string // literal, if body is nil
	body   node
	format native // nil: as tostring does
}

func (n *textNode) one(r *evaluation, f *frame, v Value) (Value, error) {
	texts := make([]string, len(n.parts))
	for i := len(n.parts) - 1; i >= 0; i-- {
		part := &n.parts[i]
		if part.body == nil {
			texts[i] = part.text
			continue
		}
		w, err := part.body.one(r, f, v)
		if err != nil {
			return nil, err
		}
		if texts[i], err = part.render(r, w); err != nil {
			return nil, err
		}
	}
	return n.join(r, texts)
}

func (p *textPart) render(r *evaluation, v Value) (string, error) {
	if p.format == nil {
		return r.toText(v)
	}
	w, err := p.format(r, v, nil)
	if err != nil {
		return "", err
	}
	return w.(string), nil
}

func (n *textNode) join(r *evaluation, texts []string) (Value, error) {
	size := 0
	for _, text := range texts {
		size += len(text)
	}
	if err := r.text(size); err != nil {
		return nil, err
	}
	if err := r.work(len(texts)); err != nil {
		return nil, err
	}
	return strings.Join(texts, ""), nil
}

func (n *textNode) each(r *evaluation, f *frame, v Value, p *path, yield yield) error {
	if n.isSingle {
		return yieldOne(n, r, f, v, p, yield)
	}
	return n.build(r, f, v, p, make([]string, len(n.parts)), len(n.parts), yield)
}

func (n *textNode) build(r *evaluation, f *frame, v Value, p *path, texts []string, i int, yield yield) error {
	if i == 0 {
		text, err := n.join(r, texts)
		if err != nil {
			return err
		}
		return yield(text, p)
	}
	part := &n.parts[i-1]
	if part.body == nil {
		texts[i-1] = part.text
		return n.build(r, f, v, p, texts, i-1, yield)
	}
	return eachValue(part.body, r, f, v, func(w Value) error {
		text, err := part.render(r, w)
		if err != nil {
			return err
		}
		texts[i-1] = text
		return n.build(r, f, v, p, texts, i-1, yield)
	})
}

// operator is a calculation with two operands.
type operator func(r *evaluation, a, b Value) (Value, error)

// operatorNode is left op right. The right side is evaluated first and varies slowest.
type operatorNode struct {
	sometimes
	call        operator
	left, right node
}

func (n *operatorNode) one(r *evaluation, f *frame, v Value) (Value, error) {
	b, err := n.right.one(r, f, v)
	if err != nil {
		return nil, err
	}
	a, err := n.left.one(r, f, v)
	if err != nil {
		return nil, err
	}
	if err := r.step(); err != nil {
		return nil, err
	}
	return n.call(r, a, b)
}

func (n *operatorNode) each(r *evaluation, f *frame, v Value, p *path, yield yield) error {
	if n.isSingle {
		return yieldOne(n, r, f, v, p, yield)
	}
	return eachValue(n.right, r, f, v, func(b Value) error {
		return eachValue(n.left, r, f, v, func(a Value) error {
			if err := r.step(); err != nil {
				return err
			}
			w, err := n.call(r, a, b)
			if err != nil {
				return err
			}
			return yield(w, p)
		})
	})
}
