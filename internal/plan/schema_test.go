package plan

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chargehand/chargehand/internal/value"
)

func inputSchema(t testing.TB, schema string) *Plan {
	t.Helper()
	return mustCompile(t, "input: {schema: {document: "+schema+"}}\ndo: [{a: {set: {x: 1}}}]")
}

func parsed(t testing.TB, text string) value.Value {
	t.Helper()
	v, err := value.Parse([]byte(text), value.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestValidateInput(t *testing.T) {
	tests := []struct {
		name, schema, input string
		want                []string // pointer, keyword and part of the detail
	}{
		{"valid", "{type: object}", `{}`, nil},
		{"wrong type", "{type: object}", `[]`, []string{" type must be an object, but is an array"}},
		{"nested places", "{properties: {a: {items: {properties: {'x/y~': {type: integer}}}}}}", `{"a": [{}, {"x/y~": "1"}]}`,
			[]string{"/a/1/x~1y~0 type must be a whole number, but is a string"}},
		{"missing", "{required: [a, b, c]}", `{"b": 1}`, []string{`/a required the property "a" is missing`, `/c required the property "c" is missing`}},
		{"not allowed", "{properties: {a: true}, additionalProperties: false}", `{"c": 1, "a": 1, "b": 2}`,
			[]string{`/b additionalProperties the property "b" is not allowed`, `/c additionalProperties the property "c" is not allowed`}},
		{"several places in order", "{properties: {b: {type: string}, a: {minimum: 5}}}", `{"a": 1, "b": 2}`,
			[]string{"/a minimum must be at least 5, but is 1", "/b type must be a string, but is a number"}},
		{"an integer may be written 1.0", "{properties: {a: {type: integer}}}", `{"a": 1.0}`, nil},
		{"large integers", "{properties: {a: {type: integer, maximum: 100}}}", `{"a": 123456789012345678901234567890}`,
			[]string{"/a maximum "}},
		{"large integers in the schema", "{const: 123456789012345678901234567890}", `123456789012345678901234567890`, nil},
		{"alternatives", "{anyOf: [{type: string}, {required: [a]}]}", `{}`,
			[]string{` anyOf matches none of the alternatives: must be a string, but is an object; the property "a" is missing`}},
		{"one of none", "{oneOf: [{type: string}, {properties: {a: {type: string}}, required: [a]}]}", `{"a": 1}`,
			[]string{" oneOf matches none of the alternatives: /a must be a string, but is a number; must be a string, but is an object"}},
		{"one of two", "{oneOf: [{type: object}, {minProperties: 0}]}", `{}`,
			[]string{" oneOf matches more than one of the alternatives (1 and 2)"}},
		{"not", "{not: {type: object}}", `{}`, []string{" not matches what it must not match"}},
		{"never", "{properties: {a: false}}", `{"a": 1}`, []string{"/a false is not allowed here"}},
		{"contains", "{contains: {type: string}}", `[1, 2]`, []string{" contains has too few items"}},
		{"references", "{$defs: {n: {type: integer}}, items: {$ref: '#/$defs/n'}}", `[1, "x"]`, []string{"/1 type must be a whole number, but is a string"}},
		{"formats are asserted", "{properties: {a: {format: date}, b: {format: email}, c: {format: uuid}, d: {format: unknown}}}",
			`{"a": "2026-02-30", "b": "no", "c": "x", "d": "x"}`,
			[]string{"/a format is not a valid date, such as 2026-01-31", "/b format is not a valid e-mail address", "/c format is not a valid UUID"}},
		{"dates in YAML stay text", "{enum: [2026-01-01]}", `"2026-01-01"`, nil},
		{"names that people know", `{properties: {n: {title: Quantity, maximum: 5}, s: {title: Sender, type: string}}, required: [s]}`, `{"n": 9}`,
			[]string{`/n maximum the property "n" (Quantity) must be at most 5, but is 9`, `/s required the property "s" (Sender) is missing`}},
		{"names of what is in lists", `{title: The order, properties: {"a/b": {title: Lines, items: {title: A line, type: object}}}, maxProperties: 1}`, `{"a/b": [{}, 1], "c": 2}`,
			[]string{` maxProperties must have at most 1 property, but has 2`, `/a~1b/1 type item 1 (A line) must be an object, but is a number`}},
		{"descriptions are no names", `{properties: {f: {title: a reference to a file, description: as it was uploaded, type: object}, g: {description: any text, type: string}}}`, `{"f": "x", "g": 1}`,
			[]string{`/f type the property "f" (a reference to a file) must be an object, but is a string`, `/g type must be a string, but is a number`}},
		{"names in alternatives", "{oneOf: [{properties: {a: {title: Amount, type: string}}, required: [a]}]}", `{"a": 1}`,
			[]string{` oneOf matches none of the alternatives: the property "a" (Amount) must be a string, but is a number`}},
		{"one of a list", `{enum: [a, 2, null]}`, `"x"`, []string{` enum must be "a", 2 or null, but is "x"`}},
		{"counts", "{properties: {a: {minLength: 2}, b: {maxItems: 1}, c: {minProperties: 2}}}", `{"a": "x", "b": [1, 2], "c": {}}`,
			[]string{"/a minLength must have at least 2 characters, but has 1", "/b maxItems must have at most 1 item, but has 2",
				"/c minProperties must have at least 2 properties, but has 0"}},
		{"what depends on others", "{dependentRequired: {a: [b]}}", `{"a": 1}`,
			[]string{`/b dependentRequired the property "b" is missing, because "a" is there`}},
		{"patterns", `{pattern: '^a"$'}`, `"b"`, []string{` pattern must match the pattern "^a\"$"`}},
		{"earlier drafts by name", "{$schema: 'http://json-schema.org/draft-07/schema#', items: [{type: string}]}", `[1]`,
			[]string{"/0 type must be a string, but is a number"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := inputSchema(t, test.schema).InputSchema.Validate(parsed(t, test.input))
			if len(got) != len(test.want) {
				t.Fatalf("problems %v, want %v", got, test.want)
			}
			for i, p := range got {
				if p.Predicate == "" || !strings.HasSuffix(p.Detail, p.Predicate) || strings.HasPrefix(p.Predicate, theProperty) {
					t.Errorf("%q is not the predicate of %q", p.Predicate, p.Detail)
				}
				if line := p.Pointer + " " + p.Keyword + " " + p.Detail; !strings.HasPrefix(line, test.want[i]) {
					t.Errorf("problem %q, want %q", line, test.want[i])
				}
			}
		})
	}
}

// Problems do not depend on the order in which a map is walked: faults must be the same on
// every replay.
func TestValidateIsDeterministic(t *testing.T) {
	p := inputSchema(t, `{additionalProperties: {type: string, minLength: 3}, maxProperties: 2,
  anyOf: [{required: [x]}, {properties: {a: {type: boolean}}, patternProperties: {'^[b-k]$': {type: boolean}}}]}`)
	input := parsed(t, `{"a":1,"b":2,"c":"x","d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":10,"k":11}`)
	first := p.InputSchema.Validate(input)
	if len(first) < 12 {
		t.Fatalf("only %d problems", len(first))
	}
	for range 50 {
		if again := p.InputSchema.Validate(input); !slices.Equal(again, first) {
			t.Fatalf("problems differ\n%v\n%v", again, first)
		}
	}
}

func TestValidateBounds(t *testing.T) {
	long := strings.Repeat("ä", 5000)
	problems := inputSchema(t, "{type: string, pattern: '^x'}").InputSchema.Validate(long)
	if len(problems) != 1 || len(problems[0].Detail) > maxDetail+10 {
		t.Errorf("detail of %d bytes", len(problems[0].Detail))
	}
	many := make([]any, 1000)
	for i := range many {
		many[i] = i
	}
	if problems := inputSchema(t, "{items: {type: string}}").InputSchema.Validate(many); len(problems) != maxSchemaProblems {
		t.Errorf("%d problems", len(problems))
	}
}

func TestLargeSchemas(t *testing.T) {
	for count, refused := range map[int]bool{maxSchemaParts - 2: false, maxSchemaParts - 1: true} {
		var b strings.Builder
		b.WriteString("input: {schema: {document: {properties: {")
		for i := range count {
			fmt.Fprintf(&b, "p%d: %v, ", i, i%2 == 0)
		}
		b.WriteString("}}}}\ndo: [{a: {set: {x: 1}}}]")
		p, problems := compile(t, b.String())
		if (p == nil) != refused {
			t.Errorf("%d properties: %v", count, problems)
		}
	}
}

// A schema whose references multiply with every level is stopped, and works again afterwards.
func TestValidateStopsExplosions(t *testing.T) {
	p := inputSchema(t, `{$ref: '#/$defs/n', $defs: {n: {allOf: [
  {properties: {c: {$ref: '#/$defs/n'}}}, {properties: {c: {$ref: '#/$defs/n'}}}, {properties: {c: {$ref: '#/$defs/n'}}}]}}}`)
	p.InputSchema.budget.limit = 50_000
	var deep value.Value = map[string]any{}
	for range 40 {
		deep = map[string]any{"c": deep}
	}
	problems := p.InputSchema.Validate(deep)
	if len(problems) != 1 || !strings.Contains(problems[0].Detail, "more than 50000 steps") {
		t.Fatalf("problems %v", problems)
	}
	if problems := p.InputSchema.Validate(map[string]any{"c": map[string]any{}}); problems != nil {
		t.Errorf("afterwards: %v", problems)
	}
}

func TestConcurrentValidation(t *testing.T) {
	p := inputSchema(t, "{properties: {a: {type: integer}}}")
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for range 200 {
				var v value.Value = big.NewInt(int64(i))
				if i%2 == 1 {
					v = "text"
				}
				if got := len(p.InputSchema.Validate(map[string]any{"a": v})); got != i%2 {
					t.Errorf("%d problems", got)
					return
				}
			}
		})
	}
	group.Wait()
}

func TestPlainNumbersKeepsValues(t *testing.T) {
	v := map[string]any{"a": []any{1, "x", map[string]any{"b": new(big.Int).Lsh(big.NewInt(1), 80)}}, "c": 1.5}
	plain := plainNumbers(v).(map[string]any)
	if _, ok := v["a"].([]any)[2].(map[string]any)["b"].(*big.Int); !ok {
		t.Error("the original was changed")
	}
	if got := plain["a"].([]any)[2].(map[string]any)["b"]; got == nil || plain["c"] != 1.5 {
		t.Errorf("got %v", plain)
	}
}

func BenchmarkValidateInput(b *testing.B) {
	p := inputSchema(b, `{type: object, required: [name, email], properties: {
  name: {type: string, minLength: 1}, email: {type: string, format: email}, age: {type: integer, minimum: 0}}}`)
	input := parsed(b, `{"name": "Ada Lovelace", "email": "ada@example.org", "age": 36}`)
	b.ReportAllocs()
	for b.Loop() {
		if p.InputSchema.Validate(input) != nil {
			b.Fatal("refused")
		}
	}
}

// TestPositionsAreSorted: positions of problems are compared as the pointers that they are shown as.
func TestPositionsAreSorted(t *testing.T) {
	var paths [][]string
	for _, first := range []string{"", "a", "ab", "a~", "a/", "a!", "a0", "~", "/", "ü"} {
		paths = append(paths, []string{first}, []string{first, ""}, []string{first, "a"}, []string{first, "~", "a"})
	}
	paths = append(paths, nil)
	for _, a := range paths {
		for _, b := range paths {
			if got, want := comparePositions(a, b), strings.Compare(pointer(a), pointer(b)); got != want {
				t.Errorf("%q and %q: %d, want %d", a, b, got, want)
			}
		}
	}
}
