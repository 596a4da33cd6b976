package dslschema

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/human"
)

// stranger is a name that nothing is like, so that the decoder lists what it knows instead of a suggestion.
const stranger = "zzqqxxkkvv"

// walker goes through the schema and the decoder at once.
type walker struct {
	t       *testing.T
	defs    map[string]any
	visited map[string]bool
	objects int
}

// site puts a value where the walk is: into a definition that is complete around it.
type site struct {
	pointer string
	put     func(value any) any // the whole definition
}

func (p site) within(token string, wrap func(value any) any) site {
	return site{p.pointer + "/" + token, func(value any) any { return p.put(wrap(value)) }}
}

// property is the site of a property, with what else the object needs for the decoder to read it.
func (p site) property(name string, beside map[string]any) site {
	return p.within(name, func(value any) any {
		object := maps.Clone(beside)
		if object == nil {
			object = map[string]any{}
		}
		object[name] = value
		return object
	})
}

// beside is what a property needs next to it.
var beside = map[string]map[string]any{
	"strategy/until": {"any": []any{}},
}

// TestSchemaIsThatOfTheDecoder compares, at every site of the schema, the properties, the required ones, the closed
// lists of values and the types with what the decoder says there.
func TestSchemaIsThatOfTheDecoder(t *testing.T) {
	var root map[string]any
	if err := json.Unmarshal(Text(), &root); err != nil {
		t.Fatal(err)
	}
	w := &walker{t: t, defs: root["$defs"].(map[string]any), visited: map[string]bool{}}
	whole := map[string]any{"document": map[string]any{"dsl": "1.0.3", "namespace": "a", "name": "a", "version": "1.0.0"}, "do": []any{}}
	properties := root["properties"].(map[string]any)
	for _, name := range sorted(properties) {
		at := site{"/" + name, func(value any) any {
			definition := maps.Clone(whole)
			definition[name] = value
			return definition
		}}
		w.walk(at, properties[name].(map[string]any), "")
	}
	for name := range w.defs {
		if !w.visited[name] && name != "name" { // that of components, which have any
			t.Errorf("nothing leads to #/$defs/%s", name)
		}
	}
	if w.objects < 60 {
		t.Errorf("only %d objects were compared", w.objects)
	}
	missing := problemsOf(t, map[string]any{})
	if got := required(missing, ""); !slices.Equal(got, texts(root["required"])) {
		t.Errorf("the definition requires %v, the schema %v", got, root["required"])
	}
	for _, p := range problemsOf(t, map[string]any{"document": whole["document"], "do": []any{}, stranger: 1}) {
		if p.Severity == dsl.SeverityError {
			t.Errorf("an unknown property of the definition: %v", p)
		}
	}
}

// forms are the schemas of which a value needs to fit one, with the name of the part that each is.
func (w *walker) forms(schema map[string]any, name string) (all []form) {
	if target, ok := schema["$ref"].(string); ok {
		name = strings.TrimPrefix(target, "#/$defs/")
		resolved, ok := w.defs[name].(map[string]any)
		if !ok {
			w.t.Fatalf("%s leads nowhere", target)
		}
		return w.forms(resolved, name)
	}
	if schema["properties"] == nil {
		if alternatives, ok := schema["anyOf"].([]any); ok {
			w.visited[name] = true
			for _, alternative := range alternatives {
				all = append(all, w.forms(alternative.(map[string]any), "")...)
			}
			return all
		}
	}
	return []form{{name, schema}}
}

type form struct {
	name   string
	schema map[string]any
}

func (w *walker) walk(at site, schema map[string]any, owner string) {
	types := map[string]bool{}
	var values []string
	closedList, free := true, false
	for _, f := range w.forms(schema, owner) {
		if closed := w.one(at, f); closed {
			types["closed"] = true
		}
		switch kind := f.schema["type"].(type) {
		case string:
			types[kind] = true
		case []any:
			for _, k := range kind {
				types[k.(string)] = true
			}
		case nil:
			free = free || f.schema["enum"] == nil && f.schema["const"] == nil
		}
		if enum, ok := f.schema["enum"].([]any); ok {
			values = append(values, texts(enum)...)
			types["string"] = true
		} else if f.schema["const"] == nil {
			closedList = closedList && f.schema["type"] != "string"
		} else {
			types["string"] = true
		}
	}
	w.types(at, types, free)
	if values != nil && closedList {
		w.values(at, values)
	}
}

// one compares one form, and walks into it. It says whether it is a closed object.
func (w *walker) one(at site, f form) (closed bool) {
	closed = f.schema["additionalProperties"] == false
	first := f.name == "" || !w.visited[f.name]
	if f.name != "" {
		w.visited[f.name] = true
	}
	if f.name == "task" {
		if first {
			w.task(at, f)
		}
		return true
	}
	if closed {
		w.object(at, f)
	}
	if !first {
		return closed
	}
	properties, _ := f.schema["properties"].(map[string]any)
	for _, name := range sorted(properties) {
		w.walk(at.property(name, beside[f.name+"/"+name]), properties[name].(map[string]any), "")
	}
	if items, ok := f.schema["items"].(map[string]any); ok {
		w.walk(at.within("0", func(value any) any { return []any{value} }), items, "")
	}
	if part, ok := f.schema["additionalProperties"].(map[string]any); ok {
		w.walk(at.property("some", nil), part, "")
	}
	return closed
}

// object compares the properties of a closed object.
func (w *walker) object(at site, f form) {
	w.objects++
	properties := sorted(f.schema["properties"].(map[string]any))
	if f.name == "ending" { // the decoder knows it there, to say that it is not allowed
		properties = append(properties, "until")
	}
	problems := problemsOf(w.t, at.put(map[string]any{stranger: 1}))
	if known := knownAt(problems, at.pointer+"/"+stranger); !slices.Equal(known, properties) {
		w.t.Errorf("%s (%s): the decoder knows %v, the schema %v", at.pointer, f.name, known, properties)
	}
	if got, want := required(problems, at.pointer), texts(f.schema["required"]); len(got) > 0 && f.schema["if"] == nil && f.name != "emit" {
		if !slices.Equal(got, want) && f.schema["anyOf"] == nil {
			w.t.Errorf("%s (%s): the decoder requires %v, the schema %v", at.pointer, f.name, got, want)
		}
	} else if len(want) > len(got) {
		w.t.Errorf("%s (%s): the decoder requires %v, the schema %v", at.pointer, f.name, got, want)
	}
}

// task compares each kind of task, and walks into its properties.
func (w *walker) task(at site, f form) {
	w.objects++
	properties := f.schema["properties"].(map[string]any)
	all := map[string]bool{}
	own := map[string]bool{}
	for _, rule := range f.schema["allOf"].([]any) {
		then := rule.(map[string]any)["then"].(map[string]any)
		condition := rule.(map[string]any)["if"].(map[string]any)
		keyword := texts(condition["required"])[0]
		beside := map[string]any{keyword: nil}
		if then["propertyNames"] == nil { // a call whose arguments are known
			name := condition["properties"].(map[string]any)["call"].(map[string]any)["const"].(string)
			with := then["properties"].(map[string]any)["with"].(map[string]any)
			if name == humanFunction {
				w.human("", with)
				continue
			}
			w.walk(at.property("with", map[string]any{"call": name}), with, "")
			if got := required(problemsOf(w.t, at.put(map[string]any{"call": name})), at.pointer); !slices.Equal(got, texts(then["required"])) {
				w.t.Errorf("call: %s requires %v, the schema %v", name, got, then["required"])
			}
			continue
		}
		known := knownAt(problemsOf(w.t, at.put(map[string]any{keyword: nil, stranger: 1})), at.pointer+"/"+stranger)
		names := texts(then["propertyNames"].(map[string]any)["enum"])
		slices.Sort(names)
		if !slices.Equal(known, names) {
			w.t.Errorf("task %s: the decoder knows %v, the schema %v", keyword, known, names)
		}
		if got := required(problemsOf(w.t, at.put(map[string]any{keyword: nil})), at.pointer); keyword != "call" && !slices.Equal(got, texts(then["required"])) {
			w.t.Errorf("task %s: the decoder requires %v, the schema %v", keyword, got, then["required"])
		}
		for _, name := range names {
			all[name] = true
			if own[name] || name == "with" {
				continue
			}
			own[name] = name != "do"
			if name == keyword {
				w.walk(at.property(name, nil), properties[name].(map[string]any), "")
			} else {
				w.walk(at.property(name, beside), properties[name].(map[string]any), "")
			}
		}
	}
	for name := range properties {
		if !all[name] {
			w.t.Errorf("no kind of task has %q", name)
		}
	}
	known := knownAt(problemsOf(w.t, at.put(map[string]any{stranger: 1})), at.pointer+"/"+stranger)
	for _, name := range known {
		if properties[name] == nil {
			w.t.Errorf("the schema lacks %q of tasks", name)
		}
	}
}

// human compares the arguments of the function that asks a person with package human: the decoder does not know them.
func (w *walker) human(pointer string, schema map[string]any) {
	for _, f := range w.forms(schema, "") {
		if f.name == "duration" {
			continue
		}
		w.visited[f.name] = true
		properties, _ := f.schema["properties"].(map[string]any)
		if f.schema["additionalProperties"] == false {
			w.objects++
			known := humanKnows(pointer)
			if names := sorted(properties); !slices.Equal(known, names) {
				w.t.Errorf("with%s: the contract knows %v, the schema %v", pointer, known, names)
			}
		}
		for _, name := range sorted(properties) {
			w.human(pointer+"/"+name, properties[name].(map[string]any))
		}
		if items, ok := f.schema["items"].(map[string]any); ok {
			w.human(pointer+"/0", items)
		}
	}
}

// humanKnows are the properties that package human knows of the object at a pointer into its request.
func humanKnows(pointer string) []string {
	var v any = map[string]any{stranger: 1}
	tokens := strings.Split(pointer, "/")
	for _, token := range slices.Backward(tokens[1:]) {
		if token == "0" {
			v = []any{v}
		} else {
			v = map[string]any{token: v}
		}
	}
	_, problems := human.Parse(v, nil)
	for _, p := range problems {
		if p.Pointer == pointer+"/"+stranger {
			known := strings.Split(strings.TrimSuffix(strings.TrimPrefix(p.Hint, "It may have: "), "."), ", ")
			slices.Sort(known)
			return known
		}
	}
	return nil
}

// samples are a value of each type, by its name in JSON Schema. None of them is allowed by accident.
var samples = map[string]any{
	"string": "${ .a }", "boolean": true, "array": []any{}, "object": map[string]any{stranger: 1}, "integer": 0, "null": nil,
}

// types compares which types of values may stand at a site.
func (w *walker) types(at site, types map[string]bool, free bool) {
	for name, sample := range samples {
		if name == "integer" && types["number"] {
			types[name] = true
		}
		taken := true
		for _, p := range problemsOf(w.t, at.put(sample)) {
			taken = taken && (p.Code != "wrong_type" || p.Pointer != at.pointer)
		}
		if name == "array" && strings.HasSuffix(at.pointer, "/switch") {
			continue // an empty one has the problem of a wrong type
		}
		if wanted := free || types[name]; taken != wanted {
			w.t.Errorf("%s: a value of type %s: the decoder takes it: %v, the schema: %v", at.pointer, name, taken, wanted)
		}
	}
	if types["object"] && !types["closed"] {
		if known := knownAt(problemsOf(w.t, at.put(map[string]any{stranger: 1})), at.pointer+"/"+stranger); known != nil {
			w.t.Errorf("%s: the schema takes any property, the decoder %v", at.pointer, known)
		}
	}
}

// values compares a closed list of values.
func (w *walker) values(at site, values []string) {
	refused := func(value string) bool {
		return slices.ContainsFunc(problemsOf(w.t, at.put(value)), func(p dsl.Problem) bool {
			return p.Pointer == at.pointer && p.Code == "invalid_value"
		})
	}
	for _, value := range values {
		if refused(value) {
			w.t.Errorf("%s: the decoder refuses %q", at.pointer, value)
		}
	}
	for _, p := range problemsOf(w.t, at.put(stranger)) {
		if p.Pointer != at.pointer || p.Code != "invalid_value" {
			continue
		}
		if n := strings.Count(p.Detail, `"`)/2 - 2; n != len(values) { // beside the property's name and the value
			w.t.Errorf("%s: the schema has %d values, the decoder says: %s", at.pointer, len(values), p.Detail)
		}
	}
	if !refused(stranger) {
		w.t.Errorf("%s: the decoder takes other values than %v", at.pointer, values)
	}
}

func problemsOf(t *testing.T, definition any) dsl.Problems {
	t.Helper()
	text, err := json.Marshal(definition)
	if err != nil {
		t.Fatal(err)
	}
	_, problems := dsl.Parse(text)
	return problems
}

// knownAt is what the decoder knows where the stranger stands, nil if it does not complain of it.
func knownAt(problems dsl.Problems, pointer string) []string {
	for _, p := range problems {
		if p.Pointer == pointer && p.Code == "unknown_property" {
			list, ok := strings.CutPrefix(strings.TrimSuffix(p.Hint, "."), "Known here: ")
			if !ok {
				return []string{fmt.Sprintf("(no list: %s)", p.Hint)}
			}
			known := strings.Split(list, ", ")
			slices.Sort(known)
			return known
		}
	}
	return nil
}

// required are the properties that the decoder misses in the object at a site.
func required(problems dsl.Problems, pointer string) (names []string) {
	for _, p := range problems {
		if _, name, ok := strings.Cut(p.Detail, "lacks the required property "); ok && p.Pointer == pointer {
			names = append(names, strings.Split(name, `"`)[1])
		}
	}
	return names
}

func sorted(properties map[string]any) []string { return slices.Sorted(maps.Keys(properties)) }

func texts(list any) (all []string) {
	items, _ := list.([]any)
	for _, item := range items {
		all = append(all, item.(string))
	}
	return all
}
