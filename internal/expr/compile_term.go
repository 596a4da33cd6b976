package expr

import (
	"slices"

	"github.com/itchyny/gojq"
)

// term compiles a term with its suffixes.
func (c *compiler) term(t *gojq.Term, p location) (node, error) {
	if err := c.enter(); err != nil {
		return nil, err
	}
	defer func() { c.depth-- }()
	if len(t.SuffixList) == 0 {
		return c.bareTerm(t, p)
	}
	n, err := c.bareTerm(t, p.inner())
	if err != nil {
		return nil, err
	}
	// What the last suffix was applied to; a ? after it covers no more than that suffix.
	var base node
	var last *gojq.Suffix
	for _, suffix := range t.SuffixList {
		if c.count++; c.count > maxSourceNodes {
			return nil, c.enter()
		}
		if !suffix.Optional {
			base, last = n, suffix
			if n, err = c.suffix(n, suffix, p.inner()); err != nil {
				return nil, err
			}
			continue
		}
		if last == nil {
			n = &tryNode{body: n}
			continue
		}
		part, err := c.suffix(identity, last, p.inner())
		if err != nil {
			return nil, err
		}
		n = &pipeNode{left: base, right: &tryNode{body: part}}
		last = nil
	}
	return n, nil
}

func (c *compiler) suffix(base node, s *gojq.Suffix, p location) (node, error) {
	if s.Iter {
		return &iterateNode{base: base}, nil
	}
	return c.index(base, s.Index, p)
}

func (c *compiler) bareTerm(t *gojq.Term, p location) (node, error) {
	switch t.Type {
	case gojq.TermTypeIdentity:
		return identity, nil
	case gojq.TermTypeRecurse:
		return &recurseNode{}, nil
	case gojq.TermTypeNull:
		return null, nil
	case gojq.TermTypeTrue:
		return truth, nil
	case gojq.TermTypeFalse:
		return falsity, nil
	case gojq.TermTypeIndex:
		return c.index(identity, t.Index, p.inner())
	case gojq.TermTypeFunc:
		return c.call(t.Func, p)
	case gojq.TermTypeObject:
		return c.object(t.Object, p.inner())
	case gojq.TermTypeArray:
		return c.array(t.Array, p.inner())
	case gojq.TermTypeNumber:
		v, err := c.number(t.Number)
		return &constantNode{value: v}, err
	case gojq.TermTypeUnary:
		return c.unary(t, p.inner())
	case gojq.TermTypeFormat:
		return c.format(t, p.inner())
	case gojq.TermTypeString:
		return c.text(t.Str, nil, p.inner())
	case gojq.TermTypeIf:
		return c.condition(t.If, p)
	case gojq.TermTypeTry:
		return c.try(t.Try, p.inner())
	case gojq.TermTypeReduce:
		return c.reduce(t.Reduce, p.inner())
	case gojq.TermTypeForeach:
		return c.foreach(t.Foreach, p.inner())
	case gojq.TermTypeLabel:
		body, err := c.query(t.Label.Body, p.inner().bindFrame(labelBinding, t.Label.Ident))
		return &labelNode{body: body}, err
	case gojq.TermTypeBreak:
		b := p.find(func(b *binding) bool { return b.kind == labelBinding && b.name == t.Break })
		if b == nil {
			return nil, c.fail("break "+t.Break, "The label "+t.Break+" is not defined.", "")
		}
		return &breakNode{hops: p.hops(b)}, nil
	case gojq.TermTypeQuery:
		return c.query(t.Query, p)
	}
	return nil, c.fail("", "The expression cannot be read.", "")
}

// isSecrets reports whether a node is the variable $secrets.
func (c *compiler) isSecrets(n node) bool {
	global, ok := n.(*globalNode)
	return ok && c.names[global.index] == "secrets" && !slices.Contains(c.locals, "secrets")
}

func (c *compiler) index(base node, x *gojq.Index, p location) (node, error) {
	if x.Name != "" {
		return fieldsOf(base, x.Name), nil
	}
	if x.Str != nil {
		key, err := c.text(x.Str, nil, p)
		if err != nil {
			return nil, err
		}
		if constant, ok := key.(*constantNode); ok {
			return fieldsOf(base, constant.value), nil
		}
		return &indexNode{sometimes{base.single() && key.single()}, base, key, c.isSecrets(base)}, nil
	}
	start, startConstant, err := c.bound(x.Start, p)
	if err != nil {
		return nil, err
	}
	if !x.IsSlice {
		if startConstant {
			return fieldsOf(base, start.(*constantNode).value), nil
		}
		return &indexNode{sometimes{base.single() && start.single()}, base, start, c.isSecrets(base)}, nil
	}
	end, endConstant, err := c.bound(x.End, p)
	if err != nil {
		return nil, err
	}
	if startConstant && endConstant {
		return fieldsOf(base, map[string]any{"start": start.(*constantNode).value, "end": end.(*constantNode).value}), nil
	}
	return &sliceNode{sometimes{base.single() && start.single() && end.single()}, base, start, end}, nil
}

// bound compiles an index or the bound of a slice and tells whether it is constant.
func (c *compiler) bound(q *gojq.Query, p location) (node, bool, error) {
	if q == nil {
		return null, true, nil
	}
	v, ok, err := c.constantOf(q)
	if ok || err != nil {
		return &constantNode{value: v}, ok, err
	}
	n, err := c.query(q, p)
	return n, false, err
}

func (c *compiler) array(a *gojq.Array, p location) (node, error) {
	if a.Query == nil {
		return &constantNode{value: []any{}}, nil
	}
	body, err := c.query(a.Query, p)
	if err != nil {
		return nil, err
	}
	parts, ok := singles(body)
	if !ok {
		return &arrayNode{body: body}, nil
	}
	values := make([]any, len(parts))
	for i, part := range parts {
		constant, ok := part.(*constantNode)
		if !ok {
			return &tupleNode{parts: parts}, nil
		}
		values[i] = constant.value
	}
	return &constantNode{value: values}, nil
}

// singles lists the parts of a, b, c if each has one result.
func singles(n node) ([]node, bool) {
	parts := []node{n}
	if comma, ok := n.(*commaNode); ok {
		parts = comma.parts
	}
	for _, part := range parts {
		if !part.single() {
			return nil, false
		}
	}
	return parts, true
}

func (c *compiler) object(o *gojq.Object, p location) (node, error) {
	items := make([]objectItem, len(o.KeyVals))
	single, constant := true, true
	values := make(map[string]any, len(items))
	for i, kv := range o.KeyVals {
		item, err := c.objectItem(kv, p)
		if err != nil {
			return nil, err
		}
		items[i] = item
		single = single && (item.key == nil || item.key.single()) && (item.value == nil || item.value.single())
		value, ok := item.value.(*constantNode)
		if constant = constant && ok && item.key == nil; constant {
			values[item.name] = value.value
		}
	}
	if constant {
		return &constantNode{value: values}, nil
	}
	return &objectNode{sometimes{single}, items}, nil
}

func (c *compiler) objectItem(kv *gojq.ObjectKeyVal, p location) (item objectItem, err error) {
	switch {
	case kv.Key != "" && kv.Key[0] == '$':
		variable, err := c.call(&gojq.Func{Name: kv.Key}, p)
		if err != nil {
			return item, err
		}
		if kv.Val == nil {
			return objectItem{name: kv.Key[1:], value: variable}, nil
		}
		item.key = variable
	case kv.Key != "":
		item.name = kv.Key
	case kv.KeyString != nil:
		if item.name = kv.KeyString.Str; kv.KeyString.Queries != nil {
			if item.key, err = c.text(kv.KeyString, nil, p); err != nil {
				return item, err
			}
		}
	default:
		if item.key, err = c.query(kv.KeyQuery, p); err != nil {
			return item, err
		}
	}
	if kv.Val != nil {
		item.value, err = c.query(kv.Val, p)
	}
	return item, err
}

func (c *compiler) unary(t *gojq.Term, p location) (node, error) {
	v, ok, err := c.constantOf(&gojq.Query{Term: t})
	if ok || err != nil {
		return &constantNode{value: v}, err
	}
	operand, err := c.term(t.Unary.Term, p)
	if err != nil {
		return nil, err
	}
	call := opPlus
	if t.Unary.Op == gojq.OpSub {
		call = opNegate
	}
	return join(operand, &nativeNode{sometimes{true}, call, nil}), nil
}

func (c *compiler) format(t *gojq.Term, p location) (node, error) {
	format := formats[t.Format]
	if format == nil {
		return nil, c.fail(t.Format, "The format "+t.Format+" is not defined.", closest(t.Format, keysOf(formats)))
	}
	if t.Str == nil {
		return &nativeNode{sometimes{true}, format, nil}, nil
	}
	return c.text(t.Str, format, p)
}

func (c *compiler) text(s *gojq.String, format native, p location) (node, error) {
	if s.Queries == nil {
		return &constantNode{value: s.Str}, nil
	}
	n := &textNode{sometimes{true}, make([]textPart, len(s.Queries))}
	for i, q := range s.Queries {
		if q.Term.Str != nil {
			n.parts[i].text = q.Term.Str.Str
			continue
		}
		body, err := c.query(q, p)
		if err != nil {
			return nil, err
		}
		n.parts[i] = textPart{body: body, format: format}
		n.isSingle = n.isSingle && body.single()
	}
	return n, nil
}

func (c *compiler) condition(i *gojq.If, p location) (node, error) {
	cond, err := c.query(i.Cond, p.inner())
	if err != nil {
		return nil, err
	}
	p.tail = p.tail && cond.single()
	then, err := c.query(i.Then, p)
	if err != nil {
		return nil, err
	}
	otherwise := identity
	switch {
	case len(i.Elif) > 0:
		if err := c.enter(); err != nil {
			return nil, err
		}
		otherwise, err = c.condition(&gojq.If{Cond: i.Elif[0].Cond, Then: i.Elif[0].Then, Elif: i.Elif[1:], Else: i.Else}, p)
		c.depth--
	case i.Else != nil:
		otherwise, err = c.query(i.Else, p)
	}
	if err != nil {
		return nil, err
	}
	return &ifNode{sometimes{cond.single() && then.single() && otherwise.single()}, cond, then, otherwise}, nil
}

func (c *compiler) try(t *gojq.Try, p location) (node, error) {
	body, err := c.query(t.Body, p)
	if err != nil || t.Catch == nil {
		return &tryNode{body: body}, err
	}
	handler, err := c.query(t.Catch, p)
	return &tryNode{body: body, handler: handler}, err
}

func (c *compiler) reduce(e *gojq.Reduce, p location) (node, error) {
	source, err := c.query(e.Query, p)
	if err != nil {
		return nil, err
	}
	start, err := c.query(e.Start, p)
	if err != nil {
		return nil, err
	}
	m, inside, err := c.patterns(e.Patterns, p)
	if err != nil {
		return nil, err
	}
	update, err := c.query(e.Update, inside)
	return &reduceNode{sometimes{start.single()}, source, m, start, update}, err
}

func (c *compiler) foreach(e *gojq.Foreach, p location) (node, error) {
	source, err := c.query(e.Query, p)
	if err != nil {
		return nil, err
	}
	start, err := c.query(e.Start, p)
	if err != nil {
		return nil, err
	}
	m, inside, err := c.patterns(e.Patterns, p)
	if err != nil {
		return nil, err
	}
	update, err := c.query(e.Update, inside)
	if err != nil {
		return nil, err
	}
	extract := identity
	if e.Extract != nil {
		extract, err = c.query(e.Extract, inside)
	}
	return &foreachNode{source: source, matcher: m, start: start, update: update, extract: extract}, err
}
