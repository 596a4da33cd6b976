package plan

import (
	"maps"
	"slices"

	"github.com/chargehand/chargehand/internal/value"
)

// The validator stops at the first property that is wrong inside of `not`, `if` and `oneOf`, and
// it looks at properties in the order of Go's maps, which is random. How many subschemas it
// evaluates there differs from run to run, and the machine must not depend on that. So a schema
// with these keywords has a twin in which they are replaced by ones that are evaluated to
// their end. The twin decides what a check costs, and whether it costs too much; the
// schema itself decides on the value. A schema whose twin cannot be made costs what its size
// and the value's let one expect.

// schemaMaps, schemaLists and schemaKeys are the keywords that hold subschemas: by name, in a
// list, alone. An entry of `dependencies` and `items` may be of another kind.
var (
	schemaMaps  = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
	schemaLists = []string{"allOf", "anyOf", "oneOf", "prefixItems", "items"}
	schemaKeys  = []string{
		"not", "if", "then", "else", "items", "additionalItems", "additionalProperties", "contains",
		"propertyNames", "unevaluatedItems", "unevaluatedProperties",
	}
)

// twin is the schema with all alternatives evaluated. It reports false for one that
// needs none.
func twin(schema value.Value) (value.Value, bool) {
	object, ok := schema.(map[string]any)
	if !ok {
		return schema, false
	}
	changed := false
	copied := maps.Clone(object)
	visit := func(v any) any {
		t, differs := twin(v)
		changed = changed || differs
		return t
	}
	for _, key := range schemaMaps {
		if named, ok := object[key].(map[string]any); ok {
			schemas := make(map[string]any, len(named))
			for _, name := range slices.Sorted(maps.Keys(named)) {
				schemas[name] = visit(named[name])
			}
			copied[key] = schemas
		}
	}
	for _, key := range schemaLists {
		if list, ok := object[key].([]any); ok {
			schemas := make([]any, len(list))
			for i, item := range list {
				schemas[i] = visit(item)
			}
			copied[key] = schemas
		}
	}
	for _, key := range schemaKeys {
		if alone, ok := object[key].(map[string]any); ok {
			copied[key] = visit(alone)
		}
	}
	var all []any
	for _, key := range []string{"not", "if", "then", "else"} {
		if alone, ok := copied[key]; ok {
			all = append(all, optional(alone))
			delete(copied, key)
		}
	}
	if list, ok := copied["oneOf"].([]any); ok {
		for _, item := range list {
			all = append(all, optional(item))
		}
		delete(copied, "oneOf")
	}
	if len(all) == 0 {
		return copied, changed
	}
	if list, ok := copied["allOf"].([]any); ok {
		all = append(all, list...)
	}
	copied["allOf"] = all
	return copied, true
}

// optional is a schema that is evaluated and always met.
func optional(schema any) any {
	return map[string]any{"anyOf": []any{schema, true}}
}
