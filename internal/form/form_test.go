package form

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/value"
)

var update = flag.Bool("update", false, "write the golden file")

const goldens = "testdata/outlines.txtar"

// TestGolden holds the outlines of testdata. Each schema stands before its outline.
func TestGolden(t *testing.T) {
	archive, err := txtar.ParseFile(goldens)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]byte{}
	var schemas []txtar.File
	for _, f := range archive.Files {
		if name, is := strings.CutSuffix(f.Name, ".outline"); is {
			want[name] = f.Data
		} else {
			schemas = append(schemas, f)
		}
	}
	if len(schemas) < 40 {
		t.Errorf("only %d schemas", len(schemas))
	}
	archive.Files = nil
	for _, f := range schemas {
		schema, err := dsl.ParseValue(f.Data)
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		fields := Of(schema, nil)
		check(t, fields)
		var got bytes.Buffer
		for _, field := range fields {
			data, err := json.Marshal(field)
			if err != nil {
				t.Fatal(err)
			}
			got.Write(append(data, '\n'))
		}
		if !*update && !bytes.Equal(got.Bytes(), want[f.Name]) {
			t.Errorf("%s: got\n%swant\n%s", f.Name, got.Bytes(), want[f.Name])
		}
		archive.Files = append(archive.Files, f, txtar.File{Name: f.Name + ".outline", Data: got.Bytes()})
	}
	if *update {
		if err := os.WriteFile(goldens, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// check holds what is true of every outline.
func check(t *testing.T, fields []Field) {
	t.Helper()
	count := 0
	var walk func(fields []Field, holder Kind, depth int)
	walk = func(fields []Field, holder Kind, depth int) {
		seen := map[string]bool{}
		for i := range fields {
			f := &fields[i]
			count++
			if seen[f.Pointer] && holder != OneOf {
				t.Errorf("two fields %s", f.Pointer)
			}
			seen[f.Pointer] = true
			switch {
			case depth > MaxDepth+1:
				t.Errorf("%s is too deep", f.Pointer)
			case (f.Kind == Choice || f.Kind == Choices) != (len(f.Options) > 0):
				t.Errorf("%s: options %v of the kind %s", f.Pointer, f.Options, f.Kind)
			case (f.Kind == List || f.Kind == Map) && f.Items == nil:
				t.Errorf("%s: %s without items", f.Pointer, f.Kind)
			case len(f.Options) > MaxOptions:
				t.Errorf("%s has %d options", f.Pointer, len(f.Options))
			}
			walk(f.Fields, f.Kind, depth+1)
			if f.Items != nil {
				walk([]Field{*f.Items}, List, depth+1)
			}
		}
	}
	walk(fields, Object, 0)
	if count > 3*MaxFields {
		t.Errorf("%d fields", count)
	}
}

// TestOrder: properties have the order of the definition, and x-order is stronger.
func TestOrder(t *testing.T) {
	text := []byte("document: {dsl: '1.0.3', namespace: n, name: n, version: '1.0.0'}\ninput:\n  schema:\n    document:\n      type: object\n" +
		"      properties:\n        zebra: {type: string}\n        apple: {type: object, x-order: [y], properties: {x: {}, y: {}}}\n        mango: {type: string}\n" +
		"do: [{a: {set: {x: 1}}}]\n")
	doc, problems := dsl.Parse(text)
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	fields := Of(doc.Input.Schema.Document.Value, func(pointer string) int {
		line, column := doc.Position("/input/schema/document" + pointer)
		return line<<16 + column
	})
	got := fmt.Sprint(fields[0].Pointer, fields[1].Pointer, fields[1].Fields[0].Pointer, fields[2].Pointer)
	if got != "/zebra/apple/apple/y/mango" {
		t.Error(got)
	}
}

// TestLimits: hostile schemas give small outlines, and nothing is lost.
func TestLimits(t *testing.T) {
	wide := map[string]any{}
	for i := range 5 * MaxFields {
		wide[fmt.Sprint("p", i)] = map[string]any{"type": "object", "properties": map[string]any{"a": map[string]any{"type": "string"}}}
	}
	fields := Of(map[string]any{"type": "object", "properties": wide}, nil)
	if len(fields) != 5*MaxFields || fields[len(fields)-1].Kind != JSON {
		t.Errorf("%d fields, the last one is %s", len(fields), fields[len(fields)-1].Kind)
	}
	var options []any
	for i := range 2 * MaxOptions {
		options = append(options, i)
	}
	if f := Of(map[string]any{"enum": options}, nil); f[0].Kind != JSON {
		t.Errorf("many options: %s", f[0].Kind)
	}
	for _, text := range []string{
		`{"$ref":"#"}`, `{"allOf":[{"$ref":"#"}]}`, `{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}`,
		`{"type":"object","properties":{"a":{"$ref":"#"},"b":{"$ref":"#"},"c":{"$ref":"#"},"d":{"items":{"$ref":"#"}}}}`,
		`{"oneOf":[{"$ref":"#"},{"type":"string"}]}`, `{"if":{"$ref":"#"},"then":{"$ref":"#"},"properties":{"a":{}}}`,
	} {
		schema, err := value.Parse([]byte(text), value.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		check(t, Of(schema, nil))
	}
}

// FuzzOf: no schema, valid or not, breaks the outline or makes it large.
func FuzzOf(f *testing.F) {
	archive, err := txtar.ParseFile(goldens)
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range archive.Files {
		if !strings.HasSuffix(file.Name, ".outline") {
			f.Add(file.Data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		schema, err := dsl.ParseValue(data)
		if err != nil || len(data) > 10_000 {
			return
		}
		fields := Of(schema, nil)
		again, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		if second, _ := json.Marshal(Of(schema, nil)); !bytes.Equal(again, second) {
			t.Error("another outline the second time")
		}
	})
}
