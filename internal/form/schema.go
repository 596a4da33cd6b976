package form

import (
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/chargehand/chargehand/internal/jsonpointer"
	"github.com/chargehand/chargehand/internal/value"
)

// maxRefs bounds the references between a field and the schemas that say what it is.
const maxRefs = 32

// schema is a schema whose references and `allOf` are resolved: all keywords, and where each stands.
type schema struct {
	all   map[string]any
	where map[string]location // of keywords that hold schemas
}

func (s schema) text(name string) string {
	text, _ := s.all[name].(string)
	return text
}

// at is the location of the value of a keyword.
func (s schema) at(name string) location { return s.where[name] }

// resolve follows references and joins what allOf holds. It is false where that is not possible without leaving the
// schema, or contradicts itself.
func (b *builder) resolve(p location) (schema, bool) {
	s := schema{all: map[string]any{}, where: map[string]location{}}
	ok := b.join(&s, p, 0)
	return s, ok
}

func (b *builder) join(s *schema, p location, refs int) bool {
	object, ok := p.schema.(map[string]any)
	if !ok {
		return p.schema == true // any value
	}
	if refs > maxRefs {
		return false
	}
	for _, name := range value.SortedKeys(object) {
		switch name {
		case "allOf", "$ref", "$dynamicRef":
		case "properties":
			s.where[name] = p.under(name) // more than one: properties are collected from all (property.go)
			s.all[name] = joined(s.all[name], object[name])
		case "required":
			before, _ := s.all[name].([]any)
			more, _ := object[name].([]any)
			s.all[name] = slices.Concat(before, more)
		default:
			if _, there := s.all[name]; there && !annotation(name) {
				if !value.Equal(s.all[name], object[name]) {
					return false
				}
				continue
			} else if there {
				continue // what is nearest counts
			}
			s.all[name], s.where[name] = object[name], p.under(name)
		}
	}
	s.parts(p)
	if object["$dynamicRef"] != nil {
		return false
	}
	if ref, ok := object["$ref"].(string); ok {
		to, found := b.target(ref)
		if !found || !b.join(s, to, refs+1) {
			return false
		}
	}
	list, _ := object["allOf"].([]any)
	for i := range list {
		if !b.join(s, p.under("allOf").entry(i), refs+1) {
			return false
		}
	}
	return true
}

// annotation reports whether a keyword only describes, so that two schemas may differ in it.
func annotation(name string) bool {
	switch name {
	case "title", "description", "default", "examples", "$comment", "$id", "$schema", "$defs", "definitions", "$anchor", "x-order",
		"deprecated", "readOnly", "writeOnly":
		return true
	}
	return strings.HasPrefix(name, "x-")
}

func joined(before, more any) map[string]any {
	first, _ := before.(map[string]any)
	second, _ := more.(map[string]any)
	all := maps.Clone(second)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, first)
	return all
}

// parts remembers where each property stands.
func (s schema) parts(p location) {
	object := p.schema.(map[string]any)
	properties, _ := object["properties"].(map[string]any)
	for name := range properties {
		key := "properties/" + name
		if _, there := s.where[key]; !there {
			s.where[key] = p.under("properties").under(name)
		}
	}
}

// target is the schema that a reference within the schema leads to.
func (b *builder) target(ref string) (location, bool) {
	fragment, local := strings.CutPrefix(ref, "#")
	if !local {
		return location{}, false
	}
	if fragment != "" && fragment[0] != '/' {
		return anchored(location{schema: b.root}, fragment, 0)
	}
	p := location{schema: b.root}
	if fragment == "" {
		return p, true
	}
	for token := range strings.SplitSeq(fragment[1:], "/") {
		switch s := p.schema.(type) {
		case map[string]any:
			name := jsonpointer.Unescape(token)
			if _, there := s[name]; !there {
				return location{}, false
			}
			p = p.under(name)
		case []any:
			i := index(token)
			if i < 0 || i >= len(s) {
				return location{}, false
			}
			p = p.entry(i)
		default:
			return location{}, false
		}
	}
	return p, true
}

func index(token string) int {
	n, ok := new(big.Int).SetString(token, 10)
	if !ok || !n.IsInt64() || n.Sign() < 0 || n.Int64() > 1<<20 {
		return -1
	}
	return int(n.Int64())
}

// anchored finds a schema among $defs by its $anchor.
func anchored(p location, name string, depth int) (location, bool) {
	object, ok := p.schema.(map[string]any)
	if !ok || depth > MaxDepth {
		return location{}, false
	}
	if object["$anchor"] == name {
		return p, true
	}
	definitions, _ := object["$defs"].(map[string]any)
	for _, key := range value.SortedKeys(definitions) {
		if found, ok := anchored(p.under("$defs").under(key), name, depth+1); ok {
			return found, true
		}
	}
	return location{}, false
}

// types are the types that a value may have, without null, as far as they are known; nullable tells of null.
func (s schema) types() (types []string, nullable bool) {
	switch t := s.all["type"].(type) {
	case string:
		types = []string{t}
	case []any:
		for _, one := range t {
			if name, ok := one.(string); ok {
				types = append(types, name)
			}
		}
	default:
		types = s.implied()
	}
	if i := slices.Index(types, "null"); i >= 0 {
		return slices.Delete(slices.Clone(types), i, i+1), true
	}
	if slices.Contains(types, "integer") && slices.Contains(types, "number") {
		types = slices.DeleteFunc(slices.Clone(types), func(t string) bool { return t == "integer" })
	}
	return types, false
}

// implied is the type that the keywords of a schema without a type are about.
func (s schema) implied() []string {
	for _, one := range []struct {
		typ      string
		keywords []string
	}{
		{"object", []string{"properties", "required", "additionalProperties", "minProperties", "maxProperties", "dependentRequired"}},
		{"array", []string{"items", "prefixItems", "minItems", "maxItems", "uniqueItems"}},
		{"string", []string{"minLength", "maxLength", "pattern", "format", "contentMediaType"}},
		{"number", []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}},
	} {
		for _, keyword := range one.keywords {
			if _, there := s.all[keyword]; there {
				return []string{one.typ}
			}
		}
	}
	return nil
}

// constraints are those of the named keywords; nil if there are none.
func (s schema) constraints(names ...string) *Constraints {
	var c Constraints
	for _, name := range names {
		v, there := s.all[name]
		if !there {
			continue
		}
		switch name {
		case "minimum":
			c.Min = &v
		case "maximum":
			c.Max = &v
		case "exclusiveMinimum":
			c.ExclusiveMin = &v
		case "exclusiveMaximum":
			c.ExclusiveMax = &v
		case "multipleOf":
			c.MultipleOf = &v
		case "minLength":
			c.MinLength = &v
		case "maxLength":
			c.MaxLength = &v
		case "pattern":
			c.Pattern = s.text(name)
		case "contentMediaType":
			c.MediaType = s.text(name)
		case "minItems", "minProperties":
			c.MinItems = &v
		case "maxItems", "maxProperties":
			c.MaxItems = &v
		case "uniqueItems":
			c.Unique = v == true
		}
	}
	if c == (Constraints{}) {
		return nil
	}
	return &c
}

// number is a number of a schema, if it is one.
func number(v value.Value) (float64, bool) {
	switch n := v.(type) {
	case int:
		return float64(n), true
	case float64:
		return n, true
	case *big.Int:
		return value.FloatOf(n), true
	}
	return 0, false
}
