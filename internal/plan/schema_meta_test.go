package plan

import (
	"fmt"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/dsl"
)

// wrongLeaf is a subschema each of whose keywords is wrong.
const wrongLeaf = `{"$ref": 1, "type": 1, "enum": 1, "not": 1, "if": 1, "then": 1, "else": 1, "allOf": 1, "anyOf": 1, "oneOf": 1, "items": 1}`

// farDown puts a schema below n properties.
func farDown(n int, schema string) string {
	return strings.Repeat(`{"properties": {"c": `, n) + schema + strings.Repeat(`}}`, n)
}

// leaves is an object of n entries.
func leaves(n int, leaf string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `, "k%d": %s`, i, leaf)
	}
	return "{" + b.String()[2:] + "}"
}

func valueOf(t testing.TB, text string) any {
	t.Helper()
	v, err := dsl.ParseValue([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestInvalidSchemasAreBounded compiles schemas that are wrong at very many places far down: the
// memory that this takes has a bound, and one problem says that it was hit.
func TestInvalidSchemasAreBounded(t *testing.T) {
	many := leaves(2500, wrongLeaf)
	draft7 := `{"$id": "urn:inner", "$schema": "http://json-schema.org/draft-07/schema#", "properties": {"c": ` +
		farDown(100, `{"items": [`+strings.Repeat(`{"contains": 1, "if": 1, "then": 1, "enum": 1}, `, 6_000)+`{}]}`) + `}}`
	for name, schema := range map[string]string{
		"keywords":                   farDown(100, `{"properties": `+many+`}`),
		"names of required":          farDown(120, `{"required": [`+strings.Repeat(`1, `, 100_000)+`1]}`),
		"draft 4":                    `{"$schema": "http://json-schema.org/draft-04/schema#", "not": ` + farDown(100, `{"properties": `+many+`}`) + `}`,
		"draft 2019-09":              `{"$schema": "https://json-schema.org/draft/2019-09/schema", "not": ` + farDown(100, `{"properties": `+many+`}`) + `}`,
		"an inner one of draft 7":    `{"items": ` + draft7 + `}`,
		"below an unknown keyword":   `{"$ref": "#/x-a/b", "x-a": {"b": ` + farDown(100, `{"properties": `+many+`}`) + `}}`,
		"below another's reference":  `{"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/x%20a~1b/0"}}, "x a/b": [` + farDown(100, `{"properties": `+many+`}`) + `]}`,
		"a reference from its inner": `{"items": {"$id": "urn:inner", "not": {"$ref": "#/x-a"}, "x-a": ` + farDown(100, `{"properties": `+many+`}`) + `}}`,
	} {
		t.Run(name, func(t *testing.T) {
			form := valueOf(t, schema)
			previous := debug.SetGCPercent(50)
			defer debug.SetGCPercent(previous)
			debug.FreeOSMemory()
			peak := watchHeap(t)
			_, err := CompileForm(form)
			grown := peak()
			if err == nil {
				t.Fatal("the schema is accepted")
			}
			_, detail := FormProblem(err)
			t.Logf("%d KiB of schema, %d MiB, %s", len(schema)>>10, grown>>20, detail)
			if !strings.Contains(detail, "MiB of memory") {
				t.Errorf("the problem is %q", detail)
			}
			if grown > 256<<20 {
				t.Errorf("compiling took %d MiB", grown>>20)
			}
		})
	}
}

// A definition gets one problem for such a schema, also where an alias makes it of a short text, and
// where it is an external one.
func TestInvalidSchemasAreOneProblem(t *testing.T) {
	hostile := farDown(100, `{"properties": {`+strings.Repeat("K: *l, ", 2500)+`}}`)
	for i := range 2500 {
		hostile = strings.Replace(hostile, "K:", fmt.Sprintf("k%d:", i), 1)
	}
	external := []byte(farDown(100, `{"properties": `+leaves(2500, wrongLeaf)+`}`))
	for name, text := range map[string]string{
		"by alias":     "metadata: {l: &l " + wrongLeaf + "}\ninput: {schema: {document: " + hostile + "}}\ndo: [{a: {set: {x: 1}}}]\n",
		"external":     "input: {schema: {resource: {endpoint: order.json}}}\ndo: [{a: {set: {x: 1}}}]\n",
		"referred to":  "input: {schema: {document: {$ref: order.json}}}\ndo: [{a: {set: {x: 1}}}]\n",
		"of a message": "do: [{a: {set: {x: 1}, input: {schema: {document: {$ref: order.json}}}}}]\n",
		"by fragment":  "input: {schema: {resource: {endpoint: 'below.json#/x-a'}}}\ndo: [{a: {set: {x: 1}}}]\n",
	} {
		t.Run(name, func(t *testing.T) {
			peak := watchHeap(t)
			doc, found := dsl.Parse([]byte(header + text))
			r := Check(doc, found, Options{Resources: map[string][]byte{
				"order.json": external, "below.json": []byte(`{"x-a": ` + string(external) + `}`), "below.json#/x-a": []byte(`{"x-a": ` + string(external) + `}`),
			}})
			if grown := peak(); grown > 256<<20 {
				t.Errorf("compiling took %d MiB", grown>>20)
			}
			problems := r.Problems.Errors()
			if len(problems) != 1 || problems[0].Code != CodeSchema || !strings.Contains(problems[0].Detail, "MiB of memory") {
				t.Errorf("problems %v", problems)
			}
		})
	}
}

// A schema whose references lead elsewhere in its twin, which is never shown, is compiled without one.
func TestInvalidTwinsAreBounded(t *testing.T) {
	hostile := farDown(100, `{"properties": `+leaves(2500, wrongLeaf)+`}`)
	schema := `{"allOf": [{"anyOf": [{"x-a": {}}]}], "not": {"x-a": ` + hostile + `}, "$ref": "#/allOf/0/anyOf/0/x-a"}`
	peak := watchHeap(t)
	doc, found := dsl.Parse([]byte(header + "input: {schema: {document: " + schema + "}}\ndo: [{a: {set: {x: 1}}}]\n"))
	r := Check(doc, found, Options{})
	if grown := peak(); grown > 256<<20 {
		t.Errorf("compiling took %d MiB", grown>>20)
	}
	if problems := r.Problems.Errors(); len(problems) > 0 {
		t.Errorf("problems %v", problems)
	}
}

// largeSchema is right, and has about as many parts as a schema may have.
func largeSchema() string {
	object := `{"type": "object", "title": "An order", "required": ["id", "sum"], "properties": {
		"id": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 40}, "sum": {"type": "number", "minimum": 0},
		"kind": {"enum": ["a", "b", "c"]}, "next": {"$ref": "#/$defs/k1"}, "lines": {"type": "array", "items": {"type": "object",
		"properties": {"name": {"type": "string"}, "count": {"type": "integer", "default": 1}}}}}}`
	return `{"type": "object", "properties": {"a": {"$ref": "#/$defs/k0"}, "b": {"$ref": "#/x-other/k1"}}, "$defs": ` +
		leaves(800, object) + `, "x-other": ` + leaves(10, object) + `}`
}

// TestLargeSchemasAreAccepted checks that the bounds of wrong schemas are none of right ones.
func TestLargeSchemasAreAccepted(t *testing.T) {
	for name, schema := range map[string]string{
		"2020-12": largeSchema(),
		"draft 7": strings.Replace(largeSchema(), `{`, `{"$schema": "http://json-schema.org/draft-07/schema#", `, 1),
		"a mixture": `{"$defs": {"a": {"$id": "urn:a", "$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}],
			"definitions": ` + leaves(2000, `{"type": "string", "exclusiveMinimum": 1, "examples": [1, 2, 3]}`) + `}}, "$ref": "urn:a"}`,
		"nullable": farDown(30, `{"properties": `+leaves(9_000, `{"type": ["string", "null"]}`)+`}`),
		"a reference of another draft": `{"$schema": "http://json-schema.org/draft-07/schema#", "$dynamicRef": "#/nowhere", "const": [` +
			strings.Repeat(`{"n": [1, 2, 3, 4]}, `, 4_000) + `1]}`,
		"much data": `{"enum": [` + strings.Repeat(`{"n": [1, 2, 3, 4]}, `, 4_000) + `1]}`,
	} {
		if _, err := CompileForm(valueOf(t, schema)); err != nil {
			_, detail := FormProblem(err)
			t.Errorf("%s, %d KiB: %s", name, len(schema)>>10, detail)
		}
	}
}

func BenchmarkCompileLargeSchema(b *testing.B) {
	form := valueOf(b, largeSchema())
	for b.Loop() {
		if _, err := CompileForm(form); err != nil {
			b.Fatal(err)
		}
	}
}
