package expr

import (
	"slices"

	"github.com/itchyny/gojq"
)

// patterns compiles the alternatives of a destructuring. Their variables take a frame each,
// in the order in which they are named first.
func (c *compiler) patterns(patterns []*gojq.Pattern, p location) (matcher, location, error) {
	var names []string
	for _, pattern := range patterns {
		names = patternNames(pattern, names)
	}
	m := matcher{patterns: make([]*pattern, len(patterns)), count: len(names)}
	inside := p
	for _, name := range names {
		inside = inside.bindFrame(variableBinding, name)
	}
	// A computed key sees the variables that are bound before it; with alternatives, all of them.
	keys := inside.inner()
	if len(patterns) == 1 {
		keys.names = p.names
	}
	pc := patternCompiler{compiler: c, keys: keys, level: p.level, names: names}
	for i, pattern := range patterns {
		var err error
		if m.patterns[i], err = pc.pattern(pattern); err != nil {
			return m, p, err
		}
	}
	return m, inside, nil
}

// patternCompiler compiles one destructuring.
type patternCompiler struct {
	*compiler
	keys  location // of computed keys
	level int      // of the frame of the first variable
	names []string
}

// bind makes a variable visible to the computed keys that follow and returns its place.
func (c *patternCompiler) bind(name string) (hops int) {
	i := slices.Index(c.names, name)
	c.keys = c.keys.bind(binding{kind: variableBinding, name: name, level: c.level + i})
	return len(c.names) - 1 - i
}

func patternNames(p *gojq.Pattern, names []string) []string {
	add := func(name string) {
		for _, known := range names {
			if known == name {
				return
			}
		}
		names = append(names, name)
	}
	if p.Name != "" {
		add(p.Name)
	}
	for _, part := range p.Array {
		names = patternNames(part, names)
	}
	for _, item := range p.Object {
		if item.Key != "" && item.Key[0] == '$' {
			add(item.Key)
		}
		if item.Val != nil {
			names = patternNames(item.Val, names)
		}
	}
	return names
}

func (c *patternCompiler) pattern(p *gojq.Pattern) (*pattern, error) {
	if err := c.enter(); err != nil {
		return nil, err
	}
	defer func() { c.depth-- }()
	if p.Name != "" {
		return &pattern{hops: c.bind(p.Name)}, nil
	}
	n := &pattern{hops: -1}
	for _, part := range p.Array {
		compiled, err := c.pattern(part)
		if err != nil {
			return nil, err
		}
		n.array = append(n.array, compiled)
	}
	for _, entry := range p.Object {
		item, err := c.item(entry)
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, item)
	}
	return n, nil
}

func (c *patternCompiler) item(entry *gojq.PatternObject) (item patternItem, err error) {
	item.bindHops = -1
	switch {
	case entry.Key != "" && entry.Key[0] == '$':
		item.name, item.bindHops = entry.Key[1:], c.bind(entry.Key)
	case entry.Key != "":
		item.name = entry.Key
	case entry.KeyString != nil:
		if item.name = entry.KeyString.Str; entry.KeyString.Queries != nil {
			item.key, err = c.text(entry.KeyString, nil, c.keys)
		}
	default:
		item.key, err = c.query(entry.KeyQuery, c.keys)
	}
	if err == nil && entry.Val != nil {
		item.value, err = c.pattern(entry.Val)
	}
	return item, err
}
