package dslschema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	gherkin "github.com/cucumber/gherkin/go/v26"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/handbook"
	"github.com/chargehand/chargehand/internal/human"
)

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(Text()))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("schema.json", value); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("schema.json") // it is valid by its meta-schema
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// definition is a text that may be one, and where it stands.
type definition struct {
	at   string
	text string
}

// definitions are those of the scenarios, of the documentation and of the examples.
func definitions(t *testing.T) (all []definition, scenarios int) {
	t.Helper()
	root := filepath.Join("..", "..", "..")
	features, err := filepath.Glob(filepath.Join(root, "internal", "conformance", "features", "*.feature"))
	if err != nil {
		t.Fatal(err)
	}
	number := 0
	id := func() string { number++; return strconv.Itoa(number) }
	for _, path := range features {
		document, err := gherkin.ParseGherkinDocument(strings.NewReader(read(t, path)), id)
		if err != nil {
			t.Fatal(err)
		}
		for _, scenario := range gherkin.Pickles(*document, path, id) {
			scenarios++
			for _, step := range scenario.Steps {
				if step.Argument != nil && step.Argument.DocString != nil {
					all = append(all, definition{filepath.Base(path) + ", " + scenario.Name, step.Argument.DocString.Content})
				}
			}
		}
	}
	pages, err := handbook.Pages(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		for _, block := range page.Blocks {
			if strings.Contains(block.Text, "document:") || strings.Contains(block.Text, `"document":`) {
				all = append(all, definition{fmt.Sprintf("%s:%d", page.Name, block.Line), block.Text})
			}
		}
	}
	examples, err := filepath.Glob(filepath.Join(root, "examples", "*", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob(filepath.Join(root, "examples", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(examples, more...) {
		if strings.HasSuffix(path, ".test.yaml") {
			continue
		}
		all = append(all, definition{path, read(t, path)})
	}
	return all, scenarios
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// asksBadly reports whether a definition has a human task that the compiler refuses. The decoder does not look at it.
func asksBadly(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		if v["call"] == humanFunction {
			if _, problems := human.Parse(v["with"], func(text string) bool { return strings.HasPrefix(text, "${") }); len(problems) > 0 {
				return true
			}
		}
		for _, child := range v {
			if asksBadly(child) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, asksBadly)
	}
	return false
}

// TestAcceptedDefinitionsAreValid holds every definition that the decoder takes against the schema.
func TestAcceptedDefinitionsAreValid(t *testing.T) {
	schema := compiled(t)
	all, scenarios := definitions(t)
	accepted := 0
	check := func(at string, text []byte) {
		if _, problems := dsl.Parse(text); problems.HasErrors() {
			return
		}
		if document, _ := dsl.Parse(text); asksBadly(document.Value()) {
			return
		}
		accepted++
		if err := schema.Validate(valueOf(t, text)); err != nil {
			t.Errorf("%s: %v", at, err)
		}
	}
	for _, d := range all {
		check(d.at, []byte(d.text))
	}
	t.Logf("%d definitions, %d scenarios", accepted, scenarios)
	if scenarios < 400 || accepted < scenarios {
		t.Errorf("only %d definitions of %d scenarios and the documentation were held against the schema", accepted, scenarios)
	}
	paths, err := filepath.Glob(filepath.Join("..", "testdata", "*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatal("no testdata", err)
	}
	for _, path := range paths {
		for i, chunk := range strings.Split(read(t, path), "\n---\n") {
			for part, text := range tasksOf(t, chunk) {
				check(fmt.Sprintf("%s, part %d, %s", path, i, part), text)
			}
		}
	}
	if accepted < scenarios+100 {
		t.Errorf("%d definitions were held against the schema with those of the decoder's tests", accepted)
	}
}

// tasksOf makes definitions of one task each of a chunk of the decoder's tests, so that those beside wrong ones count.
func tasksOf(t *testing.T, chunk string) map[string][]byte {
	t.Helper()
	value, err := dsl.ParseValue([]byte(chunk))
	whole, ok := value.(map[string]any)
	if err != nil || !ok {
		return nil
	}
	parts := map[string][]byte{"whole": nil}
	add := func(name string, key string, value any) {
		one := map[string]any{"document": map[string]any{"dsl": "1.0.3", "namespace": "a", "name": "a", "version": "1.0.0"}, "do": []any{}}
		for _, other := range []string{"document", "evaluate"} {
			if whole[other] != nil {
				one[other] = whole[other]
			}
		}
		one[key] = value
		text, err := json.Marshal(one)
		if err != nil {
			t.Fatal(err)
		}
		parts[name] = text
	}
	for key, value := range whole {
		add(key, key, value)
		if list, ok := value.([]any); ok {
			for i, item := range list {
				add(fmt.Sprintf("%s/%d", key, i), key, []any{item})
			}
		}
	}
	delete(parts, "whole")
	return parts
}

func valueOf(t *testing.T, text []byte) any {
	t.Helper()
	document, _ := dsl.Parse(text)
	plain, err := json.Marshal(document.Value())
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(plain))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// TestWrongDefinitionsAreNotValid lists what an editor must mark.
func TestWrongDefinitionsAreNotValid(t *testing.T) {
	schema := compiled(t)
	const head = "document: {dsl: '1.0.3', namespace: a, name: a, version: '1.0.0'}\n"
	right := head + "do: [{a: {set: {x: 1}}}]"
	if err := schema.Validate(valueOf(t, []byte(right))); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []string{
		"do: []",
		head,
		"document: {dsl: '1.0.3', namespace: a, name: a}\ndo: []",
		"document: {dsl: '2.0.0', namespace: a, name: a, version: '1.0.0'}\ndo: []",
		"document: {dsl: '1.0.3', namespace: a_b, name: a, version: '1.0.0'}\ndo: []",
		"document: {dsl: '1.0.3', namespace: a, name: a-, version: '1.0.0'}\ndo: []",
		"document: {dsl: '1.0.3', namespace: a, name: a, version: 1.0}\ndo: []",
		"document: {dsl: '1.0.3', namespace: a, name: a, version: '1.0'}\ndo: []",
		"document: {dsl: '1.0.3', namespace: a, name: a, version: '1.0.0', description: x}\ndo: []",
		head + "do: {a: {set: {x: 1}}}",
		head + "do: [{set: {x: 1}, b: {wait: PT1S}}]",
		head + "do: [{a: {}}]",
		head + "do: [{a: {if: .x}}]",
		head + "do: [{a: {set: {x: 1}, wait: PT1S}}]",
		head + "do: [{a: {set: {}}}]",
		head + "do: [{a: {sett: {x: 1}}}]",
		head + "do: [{a: {set: {x: 1}, with: {}}}]",
		head + "do: [{a: {wait: 5}}]",
		head + "do: [{a: {wait: {}}}]",
		head + "do: [{a: {wait: {weeks: 1}}}]",
		head + "do: [{a: {wait: {seconds: -1}}}]",
		head + "do: [{a: {call: http}}]",
		head + "do: [{a: {call: http, with: {method: get}}}]",
		head + "do: [{a: {call: http, with: {method: get, url: /x}}}]",
		head + "do: [{a: {call: http, with: {method: get, endpoint: /x, output: body}}}]",
		head + "do: [{a: {call: http, with: {method: get, endpoint: {uri: /x, authentication: {basic: {username: a}}}}}}]",
		head + "do: [{a: {call: http, with: {method: get, endpoint: {uri: /x, authentication: {use: a, basic: {use: b}}}}}}]",
		head + "do: [{a: {call: http, with: {method: get, endpoint: {uri: /x, authentication: {basic: {use: a, username: b}}}}}}]",
		head + "do: [{a: {call: grpc, with: {proto: {endpoint: x}, method: M, service: {name: S, host: h, port: 70000}}}}]",
		head + "do: [{a: {call: mcp, with: {method: tools/list, transport: {}}}}]",
		head + "do: [{a: {call: asyncapi, with: {document: {endpoint: x}, channel: c, operation: o, message: {}}}}]",
		head + "do: [{a: {run: {shell: {command: x}, script: {language: js, code: x}}}}]",
		head + "do: [{a: {run: {script: {language: js}}}}]",
		head + "do: [{a: {run: {shell: {command: x}, return: out}}}]",
		head + "do: [{a: {run: {container: {image: x, lifetime: {cleanup: eventually}}}}}]",
		head + "do: [{a: {run: {container: {image: x, lifetime: {cleanup: never, after: PT1S}}}}}]",
		head + "do: [{a: {run: {workflow: {namespace: a, name: b, version: newest}}}}]",
		head + "do: [{a: {for: {in: .x}}}]",
		head + "do: [{a: {for: {each: $x, in: .x}, do: []}}]",
		head + "do: [{a: {fork: {branches: {}}}}]",
		head + "do: [{a: {fork: {branches: [], compete: 'yes'}}}]",
		head + "do: [{a: {switch: []}}]",
		head + "do: [{a: {switch: [{b: {when: .x}}]}}]",
		head + "do: [{a: {try: []}}]",
		head + "do: [{a: {try: [], catch: {errors: {type: x}}}}]",
		head + "do: [{a: {try: [], catch: {errors: {with: {}}}}}]",
		head + "do: [{a: {try: [], catch: {retry: {backoff: {linear: {}, constant: {}}}}}}]",
		head + "do: [{a: {try: [], catch: {retry: {limit: {attempt: {count: 1.5}}}}}}]",
		head + "do: [{a: {raise: {error: {type: x}}}}]",
		head + "do: [{a: {raise: {error: {type: x, status: 1000}}}}]",
		head + "do: [{a: {emit: {event: {with: {source: x}}}}}]",
		head + "do: [{a: {listen: {to: {}}}}]",
		head + "do: [{a: {listen: {to: {one: {with: {}}}}}}]",
		head + "do: [{a: {listen: {to: {one: {with: {type: a}}, any: []}}}}]",
		head + "do: [{a: {listen: {to: {one: {with: {type: a}}, until: .x}}}}]",
		head + "do: [{a: {listen: {to: {any: [], until: {any: [], until: .x}}}}}]",
		head + "do: []\nschedule: {read: data}",
		head + "do: []\ntimeout: 5",
		head + "do: []\ninput: {schema: {type: object}}",
		head + "do: []\ninput: {schema: {document: {}, resource: {endpoint: x}}}",
		head + "do: []\nevaluate: {mode: lax}",
		head + "do: []\nuse: {secrets: [a, a]}",
		head + "do: []\nuse: {authentications: {a: {use: b}}}",
		head + "do: []\nuse: {authentications: {a: {oauth2: {authority: x}}}}",
		head + "do: []\nuse: {extensions: [{a: {extend: shell}}]}",
	} {
		if _, problems := dsl.Parse([]byte(wrong)); !problems.HasErrors() {
			t.Errorf("the decoder takes it: %s", wrong)
		} else if err := schema.Validate(valueOf(t, []byte(wrong))); err == nil {
			t.Errorf("valid by the schema: %s", wrong)
		}
	}
}

// TestEveryPropertyIsDescribed: editors show what a property is for.
func TestEveryPropertyIsDescribed(t *testing.T) {
	var root map[string]any
	if err := json.Unmarshal(Text(), &root); err != nil {
		t.Fatal(err)
	}
	count := 0
	var visit func(at string, schema map[string]any)
	visit = func(at string, schema map[string]any) {
		properties, _ := schema["properties"].(map[string]any)
		for name, property := range properties {
			count++
			about, _ := property.(map[string]any)["description"].(string)
			if !strings.HasSuffix(about, ".") {
				t.Errorf("%s/%s is described as %q", at, name, about)
			}
			visit(at+"/"+name, property.(map[string]any))
		}
	}
	visit("", root)
	for name, part := range root["$defs"].(map[string]any) {
		if about, _ := part.(map[string]any)["description"].(string); !strings.HasSuffix(about, ".") {
			t.Errorf("%s is described as %q", name, about)
		}
		visit(name, part.(map[string]any))
	}
	if count < 200 {
		t.Errorf("only %d properties", count)
	}
}

// TestHumanArguments: an editor marks what is wrong in what a person is asked, and takes expressions.
func TestHumanArguments(t *testing.T) {
	schema := compiled(t)
	for with, valid := range map[string]bool{
		"{title: x}": true, "{title: x, assignees: {users: ['${ .who }'], exclude: ['${ .by }']}, due: {hours: '${ .n }'}, priority: '${ .p }'}": true,
		"{title: x, outcomes: [a, {name: b, title: B, style: danger}], remind: [PT1H], upload: {accept: [.pdf], max: 2, required: true}}": true,
		"{}": false, "{titel: x}": false, "{title: x, assignees: {user: [a]}}": false, "{title: x, outcomes: [{title: B}]}": false,
		"{title: x, outcomes: []}": false, "{title: x, priority: 101}": false, "{title: x, upload: {maximum: 1}}": false,
	} {
		text := "document: {dsl: '1.0.3', namespace: a, name: a, version: '1.0.0'}\ndo:\n  - ask: {call: 'human:1.0.0@default', with: " + with + "}\n"
		if err := schema.Validate(valueOf(t, []byte(text))); (err == nil) != valid {
			t.Errorf("%s: %v", with, err)
		}
	}
}
