package plan_test

import (
	"strconv"
	"testing"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/plan"
)

// What a check costs decides when the machine yields: it must be the same every time, also
// where the validator stops at whichever wrong property comes first.
func TestSchemaCost(t *testing.T) {
	t.Parallel()
	const wide = "{properties: {a: {type: string}, b: {items: {type: integer}}, c: {items: {items: {type: integer}}}}}"
	value := map[string]any{"a": 1, "b": []any{1, 2, 3, 4}, "c": []any{[]any{1, 2}, []any{3}}}
	for name, test := range map[string]struct {
		schema string
		valid  bool
	}{
		"not":                          {"{not: " + wide + "}", true},
		"if":                           {"{if: " + wide + ", then: false, else: {properties: {not: {type: integer}}}}", true},
		"oneOf":                        {"{oneOf: [true, " + wide + "]}", true},
		"neither":                      {"{oneOf: [{required: [x]}, " + wide + "]}", false},
		"nested":                       {"{$defs: {n: {not: " + wide + "}}, allOf: [{$ref: '#/$defs/n'}], additionalProperties: true}", true},
		"refers into what is replaced": {"{properties: {q: {$ref: '#/not'}}, not: " + wide + "}", true},
	} {
		t.Run(name, func(t *testing.T) {
			doc, problems := dsl.Parse([]byte("document: {dsl: 1.0.3, namespace: n, name: n, version: 1.0.0}\n" +
				"input: {schema: {document: " + test.schema + "}}\ndo: [{a: {set: {x: 1}}}]"))
			if problems.HasErrors() {
				t.Fatal(problems.Err())
			}
			p, problems := plan.Compile(doc, plan.Options{})
			if p == nil {
				t.Fatal(problems.Err())
			}
			_, first := p.InputSchema.Check(value)
			for range 100 {
				copied := map[string]any{}
				for key, v := range value {
					copied[key] = v
				}
				found, steps := p.InputSchema.Check(copied)
				if steps != first || steps < 10 || (len(found) == 0) != test.valid {
					t.Fatalf("%s steps, then %s; problems %v", strconv.Itoa(first), strconv.Itoa(steps), found)
				}
			}
		})
	}
}
