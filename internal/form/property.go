package form

import (
	"slices"

	"github.com/chargehand/chargehand/internal/jsonpointer"
	"github.com/chargehand/chargehand/internal/value"
)

// property is a property of an object, and when it is shown.
type property struct {
	name         string
	location     location
	required     bool
	when         *condition
	requiredWhen *condition
}

// condition is a Condition before it is known where the object is.
type condition struct {
	name   string
	values []value.Value
	absent bool
	not    bool
}

func (c *condition) at(object string) *Condition {
	if c == nil {
		return nil
	}
	return &Condition{Pointer: object + "/" + jsonpointer.Escape(c.name), Values: c.values, Absent: c.absent, Not: c.not}
}

// properties are those of an object: its own, those of `then` and `else` under a condition that a form can check, and
// those of dependentSchemas. What depends on more than one other property is always there, and the schema decides.
func (b *builder) properties(s schema) []property {
	var all []property
	own, _ := s.all["properties"].(map[string]any)
	for _, name := range value.SortedKeys(own) {
		all = append(all, property{name: name, location: s.where["properties/"+name], required: requires(s.all["required"], name)})
	}
	add := func(p location, when *condition) {
		inner, known := b.resolve(p)
		if !known {
			return
		}
		more, _ := inner.all["properties"].(map[string]any)
		for _, name := range value.SortedKeys(more) {
			if i := slices.IndexFunc(all, func(p property) bool { return p.name == name }); i < 0 {
				all = append(all, property{
					name: name, location: inner.where["properties/"+name], when: when, required: when != nil && requires(inner.all["required"], name),
				})
			} else if all[i].when != nil {
				all[i].when = nil // two conditions: it is always there
			}
		}
		for i := range all {
			if p := &all[i]; when != nil && p.when == nil && !p.required && p.requiredWhen == nil && requires(inner.all["required"], p.name) {
				p.requiredWhen = when
			}
		}
	}
	if _, there := s.all["if"]; there {
		when := b.condition(s.at("if"))
		add(s.at("then"), when)
		if when != nil {
			when = &condition{name: when.name, values: when.values, absent: when.absent, not: true}
		}
		add(s.at("else"), when)
	}
	dependent, _ := s.all["dependentSchemas"].(map[string]any)
	for _, name := range value.SortedKeys(dependent) {
		add(s.at("dependentSchemas").under(name), &condition{name: name})
	}
	required, _ := s.all["dependentRequired"].(map[string]any)
	for _, name := range value.SortedKeys(required) {
		for i := range all {
			if p := &all[i]; !p.required && p.requiredWhen == nil && requires(required[name], p.name) {
				p.requiredWhen = &condition{name: name}
			}
		}
	}
	b.sorted(all, s)
	return all
}

// requires reports whether a name is in a list of required names.
func requires(list any, name string) bool {
	names, _ := list.([]any)
	return slices.ContainsFunc(names, func(v any) bool { return v == name })
}

// condition is what an `if` looks at: one property with a const or an enum, or whether it is given; nil if it looks at
// anything else.
func (b *builder) condition(p location) *condition {
	s, known := b.resolve(p)
	if !known {
		return nil
	}
	for name := range s.all {
		if name != "properties" && name != "required" && name != "type" && !annotation(name) {
			return nil
		}
	}
	properties, _ := s.all["properties"].(map[string]any)
	required, _ := s.all["required"].([]any)
	if len(properties) == 0 && len(required) == 1 {
		name, _ := required[0].(string)
		return &condition{name: name}
	}
	if len(properties) != 1 || len(required) > 1 {
		return nil
	}
	for name := range properties {
		if len(required) == 1 && required[0] != name {
			return nil
		}
		one, known := b.resolve(s.where["properties/"+name])
		if !known {
			return nil
		}
		if constant, ok := one.all["const"]; ok {
			return &condition{name: name, values: []value.Value{constant}, absent: len(required) == 0}
		}
		if values, ok := one.all["enum"].([]any); ok {
			return &condition{name: name, values: values, absent: len(required) == 0}
		}
	}
	return nil
}
