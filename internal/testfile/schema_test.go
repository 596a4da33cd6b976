package testfile

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/chargehand/chargehand/internal/dsl"
)

func compiledSchema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("test.json", v); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("test.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// stranger is a name that nothing is like, so that the decoder lists what it knows.
const stranger = "zzqqxxkkvv"

// walker goes through the schema and the decoder at once.
type walker struct {
	t       *testing.T
	defs    map[string]any
	visited map[string]bool
	objects int
}

// site puts a value where the walk is, into a file that is complete around it.
type site struct {
	pointer string
	put     func(v any) any
}

func (s site) property(name string) site {
	return site{s.pointer + "/" + name, func(v any) any { return s.put(map[string]any{name: v}) }}
}

func (s site) item() site {
	return site{s.pointer + "/0", func(v any) any { return s.put([]any{v}) }}
}

// TestSchemaIsThatOfTheDecoder compares, at every place of the schema, the properties, the required ones, the closed
// lists of values and the types with what the decoder says there.
func TestSchemaIsThatOfTheDecoder(t *testing.T) {
	compiledSchema(t)
	var root map[string]any
	if err := json.Unmarshal(Schema(), &root); err != nil {
		t.Fatal(err)
	}
	w := &walker{t: t, defs: root["$defs"].(map[string]any), visited: map[string]bool{}}
	w.walk(site{"", func(v any) any { return v }}, root)
	for name := range w.defs {
		if !w.visited[name] {
			t.Errorf("nothing leads to #/$defs/%s", name)
		}
	}
	if w.objects < 15 {
		t.Errorf("only %d objects were compared", w.objects)
	}
}

// forms are the schemas of which a value needs to fit one.
func (w *walker) forms(s map[string]any) []map[string]any {
	if target, ok := s["$ref"].(string); ok {
		name := strings.TrimPrefix(target, "#/$defs/")
		w.visited[name] = true
		return w.forms(w.defs[name].(map[string]any))
	}
	if some, ok := s["anyOf"].([]any); ok {
		var all []map[string]any
		for _, one := range some {
			all = append(all, w.forms(one.(map[string]any))...)
		}
		return all
	}
	return []map[string]any{s}
}

// samples are a value of each type.
var samples = map[string]any{"string": "P1D", "boolean": true, "array": []any{}, "object": map[string]any{}, "integer": 1, "null": nil}

func (w *walker) walk(at site, s map[string]any) {
	taken := map[string]bool{}
	free := false
	for _, f := range w.forms(s) {
		switch kind := f["type"].(type) {
		case string:
			taken[kind] = true
		case []any:
			for _, k := range kind {
				taken[k.(string)] = true
			}
		default:
			if f["const"] == true {
				taken["boolean"] = true
			} else {
				free = true
			}
		}
		w.form(at, f)
	}
	for name, sample := range samples {
		ok := !slices.ContainsFunc(problemsOf(w.t, at.put(sample)), func(p dsl.Problem) bool { return p.Code == dsl.CodeWrongType && p.Pointer == at.pointer })
		if want := free || taken[name]; ok != want {
			w.t.Errorf("%s: a value of type %s: the decoder takes it: %v, the schema: %v", at.pointer, name, ok, want)
		}
	}
}

func (w *walker) form(at site, f map[string]any) {
	if values, ok := f["enum"].([]any); ok {
		for _, v := range append(slices.Clone(values), stranger) {
			refused := slices.ContainsFunc(problemsOf(w.t, at.put(v)), func(p dsl.Problem) bool { return p.Code == dsl.CodeValue && p.Pointer == at.pointer })
			if refused != (v == stranger) {
				w.t.Errorf("%s: the decoder refuses %v: %v", at.pointer, v, refused)
			}
		}
	}
	if items, ok := f["items"].(map[string]any); ok {
		w.walk(at.item(), items)
	}
	if part, ok := f["additionalProperties"].(map[string]any); ok {
		name := "some"
		if strings.HasSuffix(at.pointer, "/children") {
			name = "some~1one"
		}
		s := at.property(strings.ReplaceAll(name, "~1", "/"))
		s.pointer = at.pointer + "/" + name
		w.walk(s, part)
	}
	if f["additionalProperties"] != false {
		return
	}
	w.objects++
	properties := f["properties"].(map[string]any)
	problems := problemsOf(w.t, at.put(map[string]any{stranger: 1}))
	known, required := []string{}, []string{}
	for _, p := range problems {
		if p.Pointer == at.pointer+"/"+stranger && p.Code == dsl.CodeUnknown {
			known = strings.Split(strings.TrimSuffix(strings.TrimPrefix(p.Hint, "Known here: "), "."), ", ")
		}
		if _, name, ok := strings.Cut(p.Detail, "lacks the required property "); ok && p.Pointer == at.pointer {
			required = append(required, strings.Split(name, `"`)[1])
		}
	}
	slices.Sort(known)
	if want := slices.Sorted(maps.Keys(properties)); !slices.Equal(known, want) {
		w.t.Errorf("%s: the decoder knows %v, the schema %v", at.pointer, known, want)
	}
	want := []string{}
	for _, name := range anyList(f["required"]) {
		want = append(want, name.(string))
	}
	if !slices.Equal(required, want) {
		w.t.Errorf("%s: the decoder requires %v, the schema %v", at.pointer, required, want)
	}
	for name, p := range properties {
		w.walk(at.property(name), p.(map[string]any))
	}
}

func anyList(v any) []any { list, _ := v.([]any); return list }

func problemsOf(t testing.TB, v any) dsl.Problems {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	_, problems := Read(text)
	return problems
}
