package blackbox_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/value"
)

// post applies a definition in YAML, or JSON where it starts with a brace.
func post(t *testing.T, s *server, path, definition string) answer {
	t.Helper()
	return s.Do(t, "POST", path, definition, "Content-Type", "application/yaml")
}

// TestHostileYAML sends texts that harm readers of YAML.
func TestHostileYAML(t *testing.T) {
	t.Parallel()
	s := start(t)
	flow := deploy(t, s, echo)
	before := state(t, s, flow)
	const head = "document: {dsl: '1.0.3', namespace: hostile, name: yaml, version: '1.0.0'}\n"
	laughs := "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := 1; i < 12; i++ {
		laughs += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d,", i-1), 9), i-1)
	}
	merges := "m0: &m0 {a: 1}\n"
	for i := 1; i < 2_000; i++ {
		merges += fmt.Sprintf("m%d: &m%d {<<: *m%d, k%d: 1}\n", i, i, i-1, i)
	}
	deepDo := func(levels int) string {
		text := "do: [{t0: "
		for i := range levels {
			text += fmt.Sprintf("{do: [{t%d: ", i+1)
		}
		return text + "{set: {x: 1}}" + strings.Repeat("}]}", levels) + "}]\n"
	}
	for name, text := range map[string]string{
		"laughs": head + laughs + "do:\n- a: {set: {x: *a11}}\n", "merges": head + merges + "do: *m1999\n", "alias of itself": head + "do: &a [*a]\n", "unknown alias": head + "do: *nothing\n",
		"deep sequence": head + "do: " + strings.Repeat("[", 10_000), "deep mapping": head + "do: " + strings.Repeat("{a: ", 10_000), "deep block": head + "do:\n" + strings.Repeat("- ", 10_000) + "x\n",
		"deep indent": head + "do:\n" + indents(700), "closed deep": head + "do: " + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), "deep tasks": head + deepDo(10_000), "300 levels of tasks": head + deepDo(300),
		"tag": head + "do: !!python/object:os.system [rm]\n", "local tag": head + "do: !x {}\n", "binary": head + "do: !!binary aGVsbG8=\n", "bad int": head + "do: !!int x\n", "version 9": "%YAML 9.9\n---\n" + head, "tag directive": "%TAG ! x:\n---\n" + head,
		"two documents": head + "do:\n- a: {set: {x: 1}}\n---\n" + head + "do:\n- a: {set: {x: 2}}\n", "duplicate key": head + head + "do:\n- a: {set: {x: 1}}\n", "duplicate task": head + "do:\n- a: {set: {x: 1}}\n- a: {set: {x: 2}}\n",
		"two tasks in one": head + "do:\n- a: {set: {x: 1}}\n  b: {set: {x: 2}}\n", "two kinds": head + "do:\n- a: {set: {x: 1}, wait: {seconds: 1}}\n", "complex key": head + "do:\n- ? [a, b]\n  : {set: {x: 1}}\n",
		"tabs": head + "do:\n\t- a: 1\n", "NUL": head + "do:\n- a\x00b: {set: {x: 1}}\n", "invalid UTF-8": head + "do:\n- a\xff: {set: {x: 1}}\n", "UTF-16": "\xff\xfed\x00o\x00:\x00", "huge integer": head + "do:\n- a: {set: {x: " + strings.Repeat("9", 100_000) + "}}\n",
		"infinity": head + "do:\n- a: {set: {x: .inf}}\n", "not a number": head + "do:\n- a: {set: {x: .nan}}\n", "long name": head + "do:\n- " + strings.Repeat("n", 10_000) + ": {sit: 1}\n", "long namespace": strings.Replace(head, "hostile", strings.Repeat("n", 10_000), 1) + "do:\n- a: {set: {x: 1}}\n",
		"long version": strings.Replace(head, "1.0.0", strings.Repeat("1", 10_000)+".0.0", 1) + "do:\n- a: {sit: 1}\n", "jump to itself by another name": head + "do:\n- a: {set: {x: 1}, then: b}\n", "escape": head + "do: \"\\uD800\"\n", "unended": head + "do: \"x\n",
		"10,001 tasks": head + "do:\n" + manyTasks(10_001), "1,001 branches": head + "do:\n- f: {fork: {branches: [" + strings.TrimSuffix(manyBranches(1_001), ",") + "]}}\n", "recursion": head + "use: {functions: {f: {call: f}}}\ndo:\n- a: {call: f}\n",
		"mutual recursion": head + "use: {functions: {f: {do: [{x: {call: g}}]}, g: {do: [{y: {call: f}}]}}}\ndo:\n- a: {call: f}\n", "10 MB": head + "do: [" + strings.Repeat("x,", 5<<20) + "]\n",
		"schema that refers to itself": head + "input: {schema: {document: {$ref: 'http://evil.example/x'}}}\ndo:\n- a: {set: {x: 1}}\n", "bad pattern": head + "input: {schema: {document: {pattern: '('}}}\ndo:\n- a: {set: {x: 1}}\n",
		"other format": head + "input: {schema: {format: avro, document: {}}}\ndo:\n- a: {set: {x: 1}}\n", "file of the server": head + "input: {schema: {resource: {endpoint: 'file:///etc/passwd'}}}\ndo:\n- a: {set: {x: 1}}\n",
		"expression without end": head + "do:\n- a: {set: {x: '${ .a | }'}}\n", "deep expression": head + "do:\n- a: {set: {x: '${ " + strings.Repeat("(", 10_000) + "1" + strings.Repeat(")", 10_000) + " }'}}\n", "environment": head + "do:\n- a: {set: {x: '${ env }'}}\n", "$ENV": head + "do:\n- a: {set: {x: '${ $ENV }'}}\n",
		"import": head + "do:\n- a: {set: {x: '${ import \"x\" as x; 1 }'}}\n", "input function": head + "do:\n- a: {set: {x: '${ input }'}}\n", "halt": head + "do:\n- a: {set: {x: '${ halt }'}}\n", "debug": head + "do:\n- a: {set: {x: '${ debug }'}}\n", "unknown variable": head + "do:\n- a: {set: {x: '${ $nothing }'}}\n",
		"million commas": head + "do: [" + strings.Repeat(",", 1_000_000) + "]\n", "million quotes": strings.Repeat(`"`, 1_000_000), "million anchors": strings.Repeat("&a ", 300_000), "million questions": strings.Repeat("? ", 500_000), "million colons": strings.Repeat(":", 1_000_000), "comment": strings.Repeat("#", 1_000_000),
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			wantRefusal(t, name, post(t, s, "/workflows", text), 400, 413, 422)
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("refused after %s", took)
			}
		})
	}
	if after := state(t, s, flow); after != before {
		t.Errorf("refused definitions changed something:\n%s", after)
	}
}

func indents(levels int) string {
	var b strings.Builder
	for i := range levels {
		fmt.Fprintf(&b, "%sa:\n", strings.Repeat(" ", i))
	}
	return b.String()
}

func manyTasks(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "- t%d: {set: {x: 1}}\n", i)
	}
	return b.String()
}

func manyBranches(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{b%d: {set: {x: 1}}},", i)
	}
	return b.String()
}

// rich is a definition that uses what there is.
const rich = `{"document":{"dsl":"1.0.3","namespace":"hostile","name":"rich","version":"1.0.0","title":"T","summary":"S","tags":{"a":"b"},"metadata":{"m":1}},
"input":{"schema":{"format":"json","document":{"type":"object"}},"from":"${ . }"},"output":{"as":".","schema":{"document":{}}},"timeout":{"after":{"seconds":5}},
"use":{"errors":{"e":{"type":"https://example.com/e","status":400,"title":"x"}},"retries":{"r":{"delay":{"seconds":1},"backoff":{"constant":{}},"limit":{"attempt":{"count":1}}}},
"timeouts":{"t":{"after":"PT1S"}},"functions":{"f":{"set":{"x":1}}}},
"do":[{"s":{"set":{"a":"${ .x }"},"if":"true","timeout":"t","export":{"as":". "},"metadata":{"x":1}}},
{"w":{"switch":[{"c":{"when":".a == 1","then":"end"}},{"d":{"then":"continue"}}]}},
{"l":{"for":{"each":"i","in":"[1]","at":"j"},"while":"true","do":[{"b":{"set":{"y":"${ $i }"}}}]}},
{"k":{"fork":{"compete":true,"branches":[{"p":{"set":{"z":1}}},{"q":{"wait":{"milliseconds":1}}}]}}},
{"y":{"try":[{"r":{"raise":{"error":"e"}}}],"catch":{"errors":{"with":{"status":400}},"as":"err","when":"true","retry":"r","do":[{"h":{"set":{"v":1}}}],"then":"continue"}}},
{"g":{"call":"http","with":{"method":"get","endpoint":{"uri":"http://127.0.0.1:1/{a}","authentication":{"basic":{"username":"u","password":"p"}}},"headers":{"a":"b"},"query":{"c":"d"},"body":{"x":1},"output":"response","redirect":true}}},
{"m":{"emit":{"event":{"with":{"type":"t","source":"https://example.com","data":{"x":1}}}}}},{"n":{"call":"f","with":{"x":1}}},
{"o":{"run":{"script":{"language":"js","code":"return 1","arguments":["a"],"environment":{"A":"b"}},"return":"all"}}},{"u":{"do":[{"v":{"set":"${ . }"}}],"then":"exit"}}]}`

// TestHostileDefinitionFields puts wrong types into every field of a definition: it is refused
// with a place, or it is valid; it is never an error of the server.
func TestHostileDefinitionFields(t *testing.T) {
	t.Parallel()
	s := start(t)
	flow := deploy(t, s, echo)
	before := state(t, s, flow)
	if a := s.Do(t, "POST", "/workflows/validate", rich); a.Object()["valid"] != true {
		t.Fatalf("%s", a.Body)
	}
	wrong := []value.Value{nil, true, -1, 1.5, "", "x", "\x00", "${", strings.Repeat("n", 10_000), []any{}, []any{nil}, []any{map[string]any{}}, map[string]any{}, map[string]any{"x": nil}}
	document := parse(t, rich)
	tried, refused := 0, 0
	mutate(document, nil, func(pointer string, set func(value.Value)) {
		for _, v := range wrong {
			set(v)
			tried++
			a := s.Do(t, "POST", "/workflows/validate", string(value.Marshal(document)))
			errors := list(a.Object()["errors"])
			if a.Status != 200 || (a.Object()["valid"] == true) != (len(errors) == 0) {
				t.Errorf("%s = %.50s: %d %.500s", pointer, value.Marshal(v), a.Status, a.Body)
			}
			for _, e := range errors {
				if e := fields(e); e["pointer"] == nil || !isCount(e["line"]) || e["line"] == 0 || !isText(e["detail"]) {
					t.Errorf("%s = %.50s: no place: %v", pointer, value.Marshal(v), e)
				}
			}
			if len(errors) > 0 {
				refused++
			}
		}
	})
	if tried < 2_000 || refused < tried/2 {
		t.Errorf("%d mutations, %d refused", tried, refused)
	}
	if after := state(t, s, flow); after != before {
		t.Errorf("validate changed something:\n%s", after)
	}
}

// mutate calls try for every value below v, and restores the value afterwards.
func mutate(v value.Value, path []string, try func(pointer string, set func(value.Value))) {
	one := func(name string, was value.Value, set func(value.Value)) {
		at := append(slices.Clone(path), name)
		try("/"+strings.Join(at, "/"), set)
		set(was)
		mutate(was, at, try)
	}
	switch v := v.(type) {
	case map[string]any:
		for name, was := range v {
			one(name, was, func(value value.Value) { v[name] = value })
		}
	case []any:
		for i, was := range v {
			one(fmt.Sprint(i), was, func(value value.Value) { v[i] = value })
		}
	}
}
