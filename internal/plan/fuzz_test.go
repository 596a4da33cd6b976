package plan

import (
	"testing"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/value"
)

// Whatever a schema holds, compiling and checking never panic, and problems have positions.
func FuzzSchema(f *testing.F) {
	for _, seed := range []string{
		`{"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {"minimum": 1}}}`,
		`{"$ref": "#"}`, `{"allOf": [{"$ref": "#"}]}`, `true`, `false`, `{"$id": "http://["}`, `{"$ref": "a%b"}`, `{"$id": 5}`,
		`{"$anchor": "x", "items": {"$ref": "#x"}}`, `{"$dynamicAnchor": "x", "properties": {"a": {"$dynamicRef": "#x"}}}`,
		`{"$schema": "http://json-schema.org/draft-04/schema#", "exclusiveMinimum": true, "minimum": 1}`,
		`{"$schema": "https://example.org/own"}`, `{"pattern": "(a{1000}){1000}"}`, `{"patternProperties": {"[": true}}`,
		`{"multipleOf": 0.1, "enum": [1, 1.0], "const": {"a": [1e300]}, "format": "regex"}`,
		`{"unevaluatedProperties": false, "anyOf": [{"properties": {"a": true}}, {"if": true, "then": false}]}`,
		`{"contentEncoding": "base64", "contentMediaType": "application/json", "contentSchema": {"type": "object"}}`,
		`{"uniqueItems": true, "contains": {"type": "string"}, "minContains": 2, "prefixItems": [true], "items": false}`,
		`{"dependentSchemas": {"a": {"required": ["b"]}}, "dependentRequired": {"a": ["b"]}, "propertyNames": {"maxLength": 1}}`,
	} {
		f.Add(seed, `{"a": 1, "b": [1, 1, "x"]}`)
	}
	doc, problems := dsl.Parse([]byte(header + "do: [{a: {set: {x: 1}}}]"))
	if problems.HasErrors() {
		f.Fatal(problems.Err())
	}
	f.Fuzz(func(t *testing.T, schema, input string) {
		document, err := value.Parse([]byte(schema), value.Limits{})
		if err != nil {
			return
		}
		v, err := value.Parse([]byte(input), value.Limits{})
		if err != nil {
			return
		}
		c := compiler{doc: doc}
		operand := dsl.Operand{Pointer: "/input/schema/document", Value: document}
		compiled := c.schema(&dsl.Schema{Pointer: "/input/schema", Format: "json", Document: operand}, location{})
		if len(c.errors) > 0 {
			return
		}
		for _, p := range compiled.Validate(v) {
			if p.Detail == "" {
				t.Errorf("a problem without a text: %+v", p)
			}
		}
	})
}
