package plan

import (
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/dsl"
)

// Tasks are numbered in the order in which they are met: owners first, functions last. The
// numbers are stored in timelines and checkpoints.
func TestTaskNumbers(t *testing.T) {
	p := mustCompile(t, `
use:
  functions:
    f: {do: [{x: {set: {x: 1}}}]}
    g: {set: {x: 1}}
do:
  - a: {do: [{b: {set: {x: 1}}}]}
  - c: {fork: {branches: [{d: {set: {x: 1}}}]}}
  - e: {try: [{h: {set: {x: 1}}}], catch: {do: [{i: {call: g}}]}}
  - j: {for: {in: .l}, do: [{k: {call: f}}]}
`)
	want := []string{
		"/do/0/a", "/do/0/a/do/0/b", "/do/1/c", "/do/1/c/fork/branches/0/d",
		"/do/2/e", "/do/2/e/try/0/h", "/do/2/e/catch/do/0/i", "/do/3/j", "/do/3/j/do/0/k",
		"/use/functions/f", "/use/functions/f/do/0/x", "/use/functions/g",
	}
	for i, task := range p.Tasks {
		if task.Number != i || i >= len(want) || task.Reference != want[i] {
			t.Errorf("task %d has number %d and reference %s", i, task.Number, task.Reference)
		}
	}
	if len(p.Tasks) != len(want) {
		t.Errorf("%d tasks, want %d", len(p.Tasks), len(want))
	}
	call := p.Tasks[8].Call
	if call.Body.Tasks[0] != p.Tasks[9] || p.Tasks[9].Function != "f" || p.Tasks[9].Name != "f" {
		t.Error("the call is not linked to its function")
	}
	for number, leaf := range map[int]bool{0: false, 1: true, 2: false, 4: false, 6: false, 7: false, 11: true} {
		if p.Tasks[number].Leaf() != leaf {
			t.Errorf("%s: leaf is %v", p.Tasks[number].Reference, !leaf)
		}
	}
}

// Jumps become indexes of their own list; the default case is tried last.
func TestLinks(t *testing.T) {
	p := mustCompile(t, `
do:
  - a:
      switch:
        - otherwise: {then: exit}
        - some: {when: .x, then: c}
      then: b
  - b: {set: {x: 1}, then: a}
  - c: {try: [{d: {set: {x: 1}}}], catch: {then: b}, then: end}
`)
	a, b, c := p.Body.Tasks[0], p.Body.Tasks[1], p.Body.Tasks[2]
	jump := func(target int) Flow { return Flow{Kind: dsl.FlowJump, Target: target} }
	if a.Then != jump(1) || b.Then != jump(0) || c.Then != (Flow{Kind: dsl.FlowEnd}) || c.Catch.Then != jump(1) {
		t.Errorf("jumps: %+v %+v %+v %+v", a.Then, b.Then, c.Then, c.Catch.Then)
	}
	if len(a.Cases) != 2 || a.Cases[0].When == nil || a.Cases[0].Then != jump(2) ||
		a.Cases[1].When != nil || a.Cases[1].Then.Kind != dsl.FlowExit {
		t.Errorf("cases: %+v", a.Cases)
	}
}

func TestPlanProperties(t *testing.T) {
	plain := mustCompile(t, "do: [{a: {set: {x: 1}}}]")
	if plain.UsesSecrets() || plain.InputSchema != nil {
		t.Error("a plain plan has secrets or an input schema")
	}
	same, _ := dsl.Parse([]byte("document: {version: 1.0.0, name: plan, namespace: test, dsl: 1.0.3}\ndo:\n  - a:\n      set: {x: 1}"))
	again, _ := Compile(same, Options{})
	if again.Digest() != plain.Digest() {
		t.Error("the digest depends on how the definition is written")
	}
	if mustCompile(t, "do: [{a: {set: {x: 1.0}}}]").Digest() == plain.Digest() {
		t.Error("the digest does not depend on the definition")
	}
	if plain.Document().Name != "plan" || plain.Definition().(map[string]any)["do"] == nil {
		t.Error("the plan has lost its definition")
	}
	secrets := mustCompile(t, "use: {secrets: [a, b]}\ndo: [{a: {set: {x: 1}}}]")
	if !secrets.UsesSecrets() || len(secrets.Secrets()) != 2 {
		t.Errorf("secrets: %v", secrets.Secrets())
	}
}

func TestRetention(t *testing.T) {
	tests := []struct{ metadata, warning string }{
		{"{}", ""},
		{"{retention: P3D}", "has no effect"},
		{"{retention: 3}", "has no effect"},
	}
	for _, test := range tests {
		text := "document: {dsl: 1.0.3, namespace: test, name: plan, version: 1.0.0, metadata: " + test.metadata + "}\ndo: [{a: {set: {x: 1}}}]"
		doc, problems := dsl.Parse([]byte(text))
		if problems.HasErrors() {
			t.Fatal(problems.Err())
		}
		_, problems = Compile(doc, Options{})
		if warned := len(problems) > 0; warned != (test.warning != "") || warned && !strings.Contains(problems[0].Detail, test.warning) {
			t.Errorf("%s: problems %v", test.metadata, problems)
		}
	}
}

// The same error type has many spellings (T1); other types compare literally.
func TestNormalizeErrorType(t *testing.T) {
	const timeout = "https://open-workflow-specification.org/spec/1.0.0/errors/timeout"
	tests := map[string]string{
		timeout: timeout,
		"http://open-workflow-specification.org/spec/1.0.0/errors/timeout":     timeout,
		"https://www.open-workflow-specification.org/dsl/errors/types/timeout": timeout,
		"https://serverlessworkflow.io/spec/1.0.0/errors/timeout":              timeout,
		"https://serverlessworkflow.io/dsl/errors/types/timeout":               timeout,
		"http://www.serverlessworkflow.io/errors/types/timeout":                timeout,
		"errors/timeout":  timeout,
		"/errors/timeout": timeout,

		"timeout": "timeout",
		"ftp://serverlessworkflow.io/dsl/errors/types/timeout":      "ftp://serverlessworkflow.io/dsl/errors/types/timeout",
		"https://serverlessworkflow.io/dsl/errors/types/other":      "https://serverlessworkflow.io/dsl/errors/types/other",
		"https://serverlessworkflow.io/elsewhere/timeout":           "https://serverlessworkflow.io/elsewhere/timeout",
		"https://example.org/spec/1.0.0/errors/timeout":             "https://example.org/spec/1.0.0/errors/timeout",
		"https://open-workflow-specification.org/errors/compliance": "https://open-workflow-specification.org/errors/compliance",
		"https://serverlessworkflow.io":                             "https://serverlessworkflow.io",
		"":                                                          "",
	}
	for text, want := range tests {
		if got := NormalizeErrorType(text); got != want {
			t.Errorf("%s becomes %s, want %s", text, got, want)
		}
	}
}

func TestLooseMode(t *testing.T) {
	p := mustCompile(t, `
evaluate: {mode: loose}
do:
  - a: {set: {x: .y, z: "not an expression"}}
  - b: {run: {script: {language: js, code: 'true'}}}
  - c: {call: http, with: {method: get, endpoint: 'https://e.org/{x}'}}
`)
	v, err := p.Body.Tasks[0].Set.Eval(map[string]any{"y": 5}, nil)
	if got := v.(map[string]any); err != nil || got["x"] != 5 || got["z"] != "not an expression" {
		t.Errorf("set gives %v, %v", v, err)
	}
	for _, f := range p.Body.Tasks[1].Activity.Fields {
		if v, ok := f.Operand.Constant(); f.Name == "code" && (!ok || v != "true") {
			t.Errorf("the code became %v", v)
		}
	}
	if p.Body.Tasks[2].Activity.Endpoint.Template == nil {
		t.Error("the endpoint is no template")
	}
}
