package machinetest

import (
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/plan"
)

// RunChildren runs the scripts that start other workflows or leave processes behind. start
// makes a runner for one of them.
func RunChildren(t *testing.T, start func(t *testing.T) Runner) {
	for _, s := range ChildScripts() {
		t.Run(s.Name, func(t *testing.T) { s.Run(t, start(t)) })
	}
}

// ChildHeader is the `document` of the workflow of that name in World.Children.
func ChildHeader(name string) string {
	return "document: {dsl: 1.0.3, namespace: suite, name: " + name + ", version: 1.0.0}\n"
}

// Child compiles one of World.Children; nil if there is none of that name.
func (w *Fixture) Child(t testing.TB, name string) *plan.Plan {
	t.Helper()
	definition, ok := w.Children[name]
	if !ok {
		return nil
	}
	doc, problems := dsl.Parse([]byte(ChildHeader(name) + definition))
	if problems.HasErrors() {
		t.Fatalf("child %s: %v", name, problems.Err())
	}
	p, problems := plan.Compile(doc, plan.Options{Run: []string{"shell", "script"}})
	if p == nil {
		t.Fatalf("child %s: %v", name, problems.Err())
	}
	return p
}

// sub runs a child in the definition of a script.
func sub(name string) string {
	return "{run: {workflow: {namespace: suite, name: " + name + "}}}"
}

// ChildScripts are the scripts of T51 and T67. The namespace of all workflows is suite.
func ChildScripts() []*Script {
	children := map[string]string{
		"double": "do: [{d: {set: '${ {n: (.n * 2)} }', export: {as: '{child: true}'}}}]",
		"deeper": "do: [{e: " + sub("double") + "}, {f: {set: '${ {n: (.n + 1)} }'}}]",
		"strict": "input: {schema: {document: {required: [n]}}}\ndo: [{s: {set: {ok: true}}}]",
		"faulty": "do: [{g: " + get + "}]",
		"idle":   "do: [{h: {wait: PT1H}}]",
	}
	hang := map[string][]Answer{"x": {{Hang: true}}}
	return []*Script{
		{
			Name: "child", Children: children,
			Definition: "do: [{a: " + sub("double") + "}, {b: {set: '${ {n: .n, context: $context} }'}}]",
			Input:      `{"n": 4}`,
			Want:       Want{Output: `{"n": 8, "context": {}}`, Order: []string{"a", "b"}},
		},
		{
			Name: "children in a loop", Children: children,
			Definition: "do: [{a: {for: {in: '[1, 2, 3]'}, do: [{b: " + sub("deeper") + "}]}}]",
			Input:      `{"n": 0}`,
			Want:       Want{Output: `{"n": 7}`, Order: []string{"a", "b", "b", "b"}},
		},
		{
			Name: "children side by side", Children: children,
			Definition: "do: [{a: {fork: {branches: [{b: " + sub("double") + "}, {c: " + sub("deeper") + "}]}}}]",
			Input:      `{"n": 1}`,
			Want:       Want{Output: `[{"n": 2}, {"n": 3}]`},
		},
		{
			Name: "fault of a child", Children: children,
			Definition: "do: [{a: {try: [{b: " + sub("faulty") + "}], catch: {do: [{c: {set: '${ [$error.status, $error.instance, ($error.detail | contains(\"at /do/0/g\"))] }'}}]}}}]",
			Answers:    map[string][]Answer{"g": {{Fault: communication(503)}}},
			Want:       Want{Output: `[503, "/do/0/a/try/0/b", true]`, Order: []string{"a", "b", "c"}},
		},
		{
			Name: "input that a child refuses", Children: children,
			Definition: "do: [{a: " + sub("strict") + "}]",
			Want:       Want{Phase: chargehand.Faulted, Fault: fault(machine.ErrValidation, 400, "/do/0/a")},
		},
		{
			Name: "child that loses", Children: children,
			Definition: "do: [{a: {fork: {compete: true, branches: [{b: " + sub("idle") + "}, {c: {wait: {milliseconds: 5}}}]}}}]",
			Want:       Want{Output: `{}`, Order: []string{"a", "b", "c"}},
		},
		{
			Name: "child that takes too long", Children: children,
			Definition: "do: [{a: {try: [{b: {timeout: {after: {milliseconds: 500}}, run: {workflow: {namespace: suite, name: idle}}}}], catch: {do: [{c: {set: '${ $error.status }'}}]}}}]",
			Want:       Want{Output: `408`, Order: []string{"a", "b", "c"}},
		},
		{
			Name: "child that is not awaited", Children: children,
			Definition: "do: [{a: {run: {workflow: {namespace: suite, name: idle}, await: false}}}]",
			Input:      `{"n": 1}`,
			Want:       Want{Output: `{"n": 1}`, Order: []string{"a"}},
		},
		{
			Name:       "process that is not awaited",
			Definition: "do: [{x: {run: {shell: {command: x}, await: false}}}, {y: {set: '${ . + {done: true} }'}}]",
			Input:      `{"n": 1}`,
			Answers:    hang,
			Want:       Want{Output: `{"n": 1, "done": true}`, Order: []string{"x", "y"}, Runs: map[string]int{"x": 1}},
		},
		{
			Name:       "fault beside a process that is not awaited",
			Definition: "do: [{x: {run: {shell: {command: x}, await: false}}}, {z: " + get + "}]",
			Answers:    map[string][]Answer{"x": {{Hang: true}}, "z": {{Fault: communication(500)}}},
			Want:       Want{Phase: chargehand.Faulted, Fault: fault(machine.ErrCommunication, 500, "/do/1/z")},
		},
	}
}
