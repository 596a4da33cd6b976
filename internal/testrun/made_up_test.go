package testrun_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/testrun"
	"github.com/chargehand/chargehand/internal/value"
)

const describedAPI = `openapi: 3.0.3
info: {title: Pets, version: '1'}
servers: [{url: 'https://example.org/v1'}]
paths:
  /pets/{id}:
    get:
      operationId: getPet
      parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
      responses:
        '404': {description: none}
        '200': {description: a pet, content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}}
  /named:
    get:
      operationId: named
      responses: {'200': {description: ok, content: {application/json: {examples: {one: {value: {name: Milou}}}}}}}
components:
  schemas:
    Pet: {type: object, properties: {id: {type: integer, minimum: 7}, name: {type: string, example: Rex}, tags: {type: array, items: {type: string}}}}
`

const declaring = `
do:
  - made: {call: http, with: {method: get, endpoint: 'https://example.org/'}, output: {schema: {document: {type: object, required: [n, mail],
      properties: {n: {type: integer, minimum: 3}, mail: {type: string, format: email}, kind: {enum: [a, b]}}}}}}
  - pet: {call: openapi, with: {document: {endpoint: 'https://example.org/openapi.yaml'}, operationId: getPet, parameters: {id: 1}}}
  - named: {call: openapi, with: {document: {endpoint: 'https://example.org/openapi.yaml'}, operationId: named}}
  - ask: {call: 'human:1.0.0@default', with: {title: Approve, outcomes: [approve, reject], form: {type: object, required: [total], properties: {total: {type: number, exclusiveMinimum: 5}}}}, output: {as: '{data, outcome}'}}
  - all: {set: '${ {made: $context, last: .} }'}
`

func withExamples(c *testrun.Config, _ files) {
	c.Examples = true
	c.Resource = func(_ context.Context, _ plan.Wanted) ([]byte, error) { return []byte(describedAPI), nil }
}

// A task without a mock is answered by an example of what it declares, where that is asked for; a warning says so.
func TestExamplesOfDeclarations(t *testing.T) {
	r := run(t, declaring, `
tests:
  - name: examples
    expect:
      tasks:
        made: {output: {n: 3, mail: person@example.org, kind: a}}
        pet: {output: {id: 7, name: Rex, tags: [example]}}
        named: {output: {name: Milou}}
        ask: {output: {outcome: approve, data: {total: 5.5}}}
  - name: given
    mocks: {made: {returns: {n: 5, mail: a@example.org}}, pet: {response: {status: 404}}}
    expect: {error: {status: 404}}
`, withExamples)
	check(t, r, `
examples passed
  warning line 3: The task "made" has no mock: an example of what it declares has answered it.
  warning line 3: The task "pet" has no mock: an example of what it declares has answered it.
  warning line 3: The task "named" has no mock: an example of what it declares has answered it.
  warning line 3: The task "ask" has no mock: an example of what it declares has answered it.
given passed
`)
}

// Where nothing is declared, or no example fits, the mock is missing, and the error says why there is no example.
func TestNoExamples(t *testing.T) {
	for name, c := range map[string]struct{ definition, want string }{
		"nothing declared": {pay, "it declares no `output.schema`"},
		"transformed": {
			"do: [{pay: {call: http, with: {method: get, endpoint: 'https://example.org/'}, output: {as: .x, schema: {document: {type: integer}}}}}]",
			"its `output.schema` is of what `output.as` makes, and not of what comes from outside",
		},
		"no value fits": {
			"do: [{pay: {call: http, with: {method: get, endpoint: 'https://example.org/'}, output: {schema: {document: {type: string, pattern: '^[0-9]{4}$'}}}}}]",
			"no example of its `output.schema` can be made up",
		},
		"more than the examples of a test have": {
			"do: [{all: {for: {each: n, in: '${ [range(100)] }'}, do: [{pay: {call: http, with: {method: get, endpoint: 'https://example.org/'}, output: {schema: {document: {type: string, minLength: 1000000}}}}}]}}]",
			"those of this test have 64 MiB already",
		},
		"a file": {
			"do: [{pay: {call: 'human:1.0.0@default', with: {title: T, upload: {max: 1, required: true}}}}]",
			"it asks for a file",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, c.definition, "tests: [{name: a}]", withExamples)
			e := r.Files[0].Tests[0].Error
			if e == nil || e.Code != testrun.CodeMissingMock || e.Stub == "" || !strings.Contains(e.Detail, "There is no example of it: "+c.want+".") {
				t.Errorf("%+v", e)
			}
		})
	}
}

// Examples fit the schemas that definitions use.
func TestExampleOf(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type": "string", "minLength": 9}`:                                                                         `"examplexx"`,
		`{"type": "string", "maxLength": 2}`:                                                                         `"ex"`,
		`{"type": "string", "format": "uuid"}`:                                                                       `"00000000-0000-4000-8000-000000000000"`,
		`{"type": ["null", "integer"], "maximum": 0}`:                                                                `0`,
		`{"type": "integer", "minimum": 10, "multipleOf": 7}`:                                                        `14`,
		`{"type": "number", "exclusiveMinimum": 1, "exclusiveMaximum": 2}`:                                           `1.5`,
		`{"type": "array", "items": {"const": "x"}, "minItems": 3}`:                                                  `["x","x","x"]`,
		`{"type": "array", "maxItems": 0}`:                                                                           `[]`,
		`{"oneOf": [{"type": "boolean"}, {"type": "integer"}]}`:                                                      `true`,
		`{"allOf": [{"properties": {"a": {"const": 1}}}, {"properties": {"b": {"default": 2}}, "required": ["b"]}]}`: `{"a":1,"b":2}`,
		`{"$defs": {"n": {"type": "integer"}}, "properties": {"n": {"$ref": "#/$defs/n"}}}`:                          `{"n":1}`,
		`{"type": "object", "properties": {"next": {"$ref": "#"}}}`:                                                  `-`,
		`{"type": "null"}`:    `null`,
		`{"examples": [[1]]}`: `[1]`,
	} {
		v, err := value.Parse([]byte(schema), value.Limits{})
		if err != nil {
			t.Fatal(schema, err)
		}
		got, why := testrun.ExampleOf(v, "it")
		if why != "" {
			t.Errorf("%s: %s", schema, why)
		} else if text := string(value.Marshal(got)); want != "-" && text != want {
			t.Errorf("%s has the example %s", schema, text)
		}
	}
}

// Lists in lists are no example without an end.
func TestLargeExample(t *testing.T) {
	schema := value.Value(map[string]any{"type": "string"})
	for lists := range 9 {
		want := ""
		if lists > 1 { // 10,101 values and more
			want = "an example of it would have more than 10000 values"
		}
		if _, why := testrun.ExampleOf(schema, "it"); why != want {
			t.Errorf("%d lists: %q", lists, why)
		}
		schema = map[string]any{"type": "array", "minItems": 100, "items": schema}
	}
}

// Long texts are no example without an end: neither one, nor many, nor a given one that occurs often.
func TestLongExample(t *testing.T) {
	const tooLong = "an example of it would have more than 1 MiB"
	long := func(n int) map[string]any { return map[string]any{"type": "string", "minLength": n} }
	list := func(n int, items value.Value) map[string]any {
		return map[string]any{"type": "array", "minItems": n, "items": items}
	}
	given := map[string]any{"default": strings.Repeat("x", 1<<15)}
	named := map[string]any{"type": "object", "required": []any{strings.Repeat("n", 1<<15)}}
	for name, c := range map[string]struct {
		schema value.Value
		want   string
	}{
		"a text of 1 MiB":          {long(1 << 20), ""},
		"a longer one":             {long(1<<20 + 1), tooLong},
		"the longest":              {long(math.MaxInt), tooLong},
		"some texts":               {list(16, long(1<<16)), ""},
		"more texts":               {list(17, long(1<<16)), tooLong},
		"many texts":               {list(100, list(99, long(1<<16))), tooLong},
		"a given text":             {list(31, given), ""},
		"given too often":          {list(33, given), tooLong},
		"a name":                   {list(31, named), ""},
		"a name that is too often": {list(33, named), tooLong},
	} {
		v, why := testrun.ExampleOf(c.schema, "it")
		if why != c.want {
			t.Errorf("%s: %q", name, why)
		}
		if n := len(value.Marshal(v)); n > 1<<20+1<<10 {
			t.Errorf("%s has %d bytes", name, n)
		}
	}
}
