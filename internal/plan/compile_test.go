package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/dsl"
)

const header = "document: {dsl: 1.0.3, namespace: test, name: plan, version: 1.0.0}\n"

// compile compiles a definition that dsl accepts, with all processes allowed.
func compile(t testing.TB, definition string) (p *Plan, problems dsl.Problems) {
	t.Helper()
	doc, found := dsl.Parse([]byte(header + definition))
	if found.HasErrors() {
		t.Fatalf("the definition is refused by its reader: %v", found.Err())
	}
	return Compile(doc, Options{Run: []string{"shell", "script"}})
}

func mustCompile(t testing.TB, definition string) *Plan {
	t.Helper()
	p, problems := compile(t, definition)
	if p == nil {
		t.Fatalf("refused: %v", problems.Err())
	}
	return p
}

// problemLines writes problems as "severity pointer code".
func problemLines(problems dsl.Problems) []string {
	var lines []string
	for _, p := range problems {
		lines = append(lines, fmt.Sprintf("%s %s %s", p.Severity, p.Pointer, p.Code))
	}
	return lines
}

func TestProblems(t *testing.T) {
	tests := []struct {
		name       string
		definition string
		want       []string
	}{
		{"nothing", "do: [{a: {set: {x: '${ .y }'}}}]", nil},
		{"expression that does not compile", `
do:
  - a: {if: '.x ===', set: {deep: [1, '${ ] }']}}
  - b: {switch: [{c: {when: '$nobody', then: end}}]}
output: {as: '.('}
`, []string{
			"error /do/0/a/if invalid_expression",
			"error /do/0/a/set/deep/1 invalid_expression",
			"error /do/1/b/switch/0/c/when invalid_expression",
			"error /output/as invalid_expression",
		}},
		{"expressions in expression operands and value operands (T4)", `
input: {from: .a}
do:
  - a:
      if: ${ .x }
      input: {from: {k: x, l: '${ .x }'}}
      for: {in: .list, each: e}
      while: $e != 1
      do: [{b: {set: '${ $e }', export: {as: .x}, output: {as: '${ .x }'}}}]
`, nil},
		{"loop variables stay in the loop (T11, T73)", `
do:
  - a:
      for: {in: .list}
      do: [{b: {set: '${ [$item, $index] }'}}]
      output: {as: $item}
  - b: {set: '${ $index }'}
`, []string{"error /do/0/a/output/as invalid_expression", "error /do/1/b/set invalid_expression"}},
		{"catch variables are seen by the catch (T11, T23)", `
do:
  - a:
      try: [{b: {set: {x: 1}}}]
      catch:
        as: e
        when: $e.status == 1
        exceptWhen: $e.status == 2
        retry: {when: $e, exceptWhen: $e, delay: '${ $e.detail }', limit: {duration: '${ $e.detail }'}}
        do: [{c: {set: '${ $e }'}}]
      output: {as: $e}
`, []string{"error /do/0/a/catch/retry/limit/duration invalid_expression", "error /do/0/a/output/as invalid_expression"}},
		{"variables that are always null (T11)", `
input: {from: '[$context, $workflow]'}
timeout: {after: '${ $task.name }'}
do:
  - a:
      if: '[$output, $input, $authorization, $context, $task]'
      set: '${ [$output, $input, $task, $authorization] }'
      output: {as: '[$output, $input]'}
      export: {as: '[$output, $input]'}
output: {as: '[$task, $input, $context]'}
`, []string{
			"warning /input/from variable_not_set",
			"warning /timeout/after variable_not_set",
			"warning /do/0/a/if constant_condition", // a list always counts as true (T13)
			"warning /do/0/a/if variable_not_set", "warning /do/0/a/if variable_not_set", "warning /do/0/a/if variable_not_set",
			"warning /do/0/a/set variable_not_set",
			"warning /do/0/a/output/as variable_not_set",
			"warning /output/as variable_not_set", "warning /output/as variable_not_set",
		}},
		{"suspicious texts (T5, T12)", `
do:
  - a: {set: {x: 'Hello ${ .name }!', y: $context.x, z: .y, w: $HOME, v: '${ .[] }'}}
  - b: {run: {shell: {command: 'echo ${HOME}'}}}
  - c: {set: {l: [$task]}, output: {as: '.[]'}}
`, []string{
			"warning /do/0/a/set/v several_results",
			"warning /do/0/a/set/x embedded_expression",
			"warning /do/0/a/set/y literal_text",
			"warning /do/0/a/set/z literal_text",
			"warning /do/1/b/run/shell/command embedded_expression",
			"warning /do/2/c/output/as doubtful_expression",
			"warning /do/2/c/set/l/0 literal_text",
		}},
		{"texts that look like jq (T92)", `
do:
  - a:
      input: {from: {a: '.', b: '.a[0].b', c: '.["x y"] // 1', d: '.items | length', e: $input.x}}
      set: {no: ['.5', '...', ./a, '.gitignore file', '. x', '.a.', '.1', 'a.b'], yes: [' .a? ', {x: '.[]'}, '.a?.b', '.a[0]?.b?', '.a as $x | $x', '$context|.a', '$input+1', $contextual, '.a?b', .as]}
      output: {as: .plain}
  - b: {call: http, with: {method: get, endpoint: 'https://example.com', headers: {x: .a}}}
`, []string{
			"warning /do/0/a/input/from/a literal_text", "warning /do/0/a/input/from/b literal_text",
			"warning /do/0/a/input/from/c literal_text", "warning /do/0/a/input/from/d literal_text",
			"warning /do/0/a/input/from/e literal_text",
			"warning /do/0/a/set/yes/0 literal_text", "warning /do/0/a/set/yes/1/x literal_text",
			"warning /do/0/a/set/yes/2 literal_text", "warning /do/0/a/set/yes/3 literal_text", "warning /do/0/a/set/yes/4 literal_text",
			"warning /do/0/a/set/yes/5 literal_text", "warning /do/0/a/set/yes/6 literal_text", "warning /do/0/a/set/yes/9 literal_text",
		}},
		{"types that no standard error has (T93)", `
do:
  - a: {try: [], catch: {errors: {with: {type: timeout}}}}
  - b: {try: [], catch: {errors: {with: {type: errors/timeout}}}}
  - c: {try: [], catch: {errors: {with: {type: 'https://example.com/e'}}}}
  - d: {try: [], catch: {errors: {with: {type: 'urn:example:e'}}}}
  - e: {try: [], catch: {errors: {with: {type: Error.Runtime}}}}
`, []string{
			"warning /do/0/a/catch/errors/with/type unmatchable_error_type",
			"warning /do/4/e/catch/errors/with/type unmatchable_error_type",
		}},
		{"what a command line hardly means (T48)", `
use: {secrets: [s]}
do:
  - a: {run: {shell: {command: echo hello, arguments: [x]}}}
  - b: {run: {shell: {command: ls, arguments: [x]}}}
  - c: {run: {shell: {command: 'echo "$1"', arguments: [x]}}}
  - d: {run: {shell: {command: "for a\ndo echo $a; done", arguments: '${ .list }'}}}
  - e: {run: {shell: {command: 'echo $0 $HOME', arguments: {k: v}}}}
  - f: {run: {shell: {command: echo hello, arguments: []}}}
  - g: {run: {shell: {command: '${ .c }', arguments: [x]}}}
  - h: {run: {shell: {command: echo, arguments: [a, '${ $secrets.s }'], environment: {S: '${ $secrets.s }'}}}}
  - i: {run: {script: {language: python, code: '${ .c }', arguments: {k: '${ $secrets.s }'}}}}
  - j: {run: {script: {language: js, code: 'return 1', arguments: {k: '${ $secrets.s }'}}}}
  - k: {run: {container: {image: i, command: '${ .c }', arguments: ['${ $secrets.s }']}}}
  - l: {call: mcp, with: {method: tools/list, transport: {stdio: {command: c, arguments: ['${ $secrets.s }']}}}}
`, []string{
			"warning /do/0/a/run/shell/arguments unused_arguments",
			"warning /do/4/e/run/shell/arguments unused_arguments",
			"warning /do/6/g/run/shell/command evaluated_command",
			"warning /do/7/h/run/shell/arguments/1 secret_in_arguments",
			"warning /do/8/i/run/script/arguments/k secret_in_arguments",
			"warning /do/8/i/run/script/code evaluated_command",
			"error /do/10/k/run/container run_not_allowed",
			"warning /do/10/k/run/container/arguments/0 secret_in_arguments",
			"warning /do/10/k/run/container/command evaluated_command",
			"warning /do/11/l/with/transport/stdio/arguments/0 secret_in_arguments",
		}},
		{"unreachable tasks (T28)", `
do:
  - a: {set: {x: 1}, then: c}
  - b: {set: {x: 1}}
  - c: {if: .x, raise: {error: {type: 'https://example.org/x', status: 500}}}
  - d: {raise: {error: {type: 'https://example.org/x', status: 500}}}
  - e: {set: {x: 1}}
`, []string{"warning /do/1/b unreachable_task", "warning /do/4/e unreachable_task"}},
		{"ways out of switch and try (T25, T24)", `
do:
  - a: {switch: [{x: {when: .x, then: c}}, {y: {then: d}}]}
  - b: {set: {x: 1}}
  - c: {switch: [{x: {when: .x, then: end}}], then: e}
  - d: {set: {x: 1}, then: end}
  - e: {try: [{g: {set: {x: 1}}}], catch: {then: g}, then: end}
  - f: {set: {x: 1}}
  - g: {set: {x: 1}}
`, []string{"warning /do/1/b unreachable_task", "warning /do/5/f unreachable_task"}},
		{"unknown names (T74)", `
timeout: nope
use:
  retries: {r: {}}
do:
  - a: {timeout: nope, raise: {error: nope}}
  - b: {try: [{c: {set: {x: 1}}}], catch: {retry: nope}}
  - d: {call: http, with: {method: get, endpoint: {uri: 'https://e.org', authentication: {use: nope}}}}
  - e: {call: nope}
`, []string{
			"error /timeout unknown_name",
			"error /do/0/a/raise/error unknown_name",
			"error /do/0/a/timeout unknown_name",
			"warning /do/1/b unreachable_task",
			"error /do/1/b/catch/retry unknown_name",
			"warning /do/2/d unreachable_task",
			"error /do/2/d/with/endpoint/authentication/use unknown_name",
			"warning /do/3/e unreachable_task",
			"error /do/3/e/call unknown_function",
		}},
		{"recursive functions (T37)", `
use:
  functions:
    a: {do: [{x: {call: b}}]}
    b: {call: a}
    c: {call: c}
    d: {do: [{x: {call: e}}, {y: {call: e}}]}
    e: {set: {x: 1}}
do: [{x: {call: d}}]
`, []string{"error /use/functions/b/call recursive_function", "error /use/functions/c/call recursive_function"}},
		{"functions do not see their callers' variables (T37)", `
use: {functions: {f: {set: '${ $item }'}}}
do: [{x: {for: {in: .l}, do: [{y: {call: f}}]}}]
`, []string{"error /use/functions/f/set invalid_expression"}},
		{"secrets (T75)", `
use: {secrets: [known]}
do: [{x: {set: {a: '${ $secrets.known }', b: ['${ $secrets.unknown }'], c: '${ $secrets["other"] }', d: '${ $secrets[.x] }'}}}]
`, []string{"error /do/0/x/set/b/0 unknown_secret", "error /do/0/x/set/c unknown_secret"}},
		{"undeclared secrets (T75)", `do: [{x: {if: $secrets.token, set: {a: 1}}}]`,
			[]string{"error /do/0/x/if unknown_secret"}},
		{"schemas", `
input: {schema: {document: {type: nonsense, properties: {a: {minimum: x}}}}}
output: {schema: {document: {$ref: 'https://example.org/schema.json'}}}
do:
  - a:
      input: {schema: {document: {$ref: '#/$defs/none'}}}
      output: {schema: {document: {pattern: '(?=x)'}}}
      export: {schema: {resource: {endpoint: 'https://example.org/s.json'}}}
      set: {x: 1}
  - b: {set: {x: 1}, output: {schema: {format: avro, document: {}}}}
`, []string{
			"error /input/schema/document/properties/a/minimum invalid_schema",
			"error /input/schema/document/type invalid_schema",
			"error /output/schema/document resource_missing",
			"error /do/0/a/input/schema/document invalid_schema",
			"error /do/0/a/output/schema/document/pattern invalid_schema",
			"error /do/0/a/export/schema/resource/endpoint resource_missing",
			"error /do/1/b/output/schema/format not_supported",
		}},
		{"unused components are checked too", `
use:
  timeouts: {t: {after: '${ ] }'}}
  retries: {r: {delay: '${ $error.x }', when: '('}}
  errors: {e: {type: 'https://example.org/x', status: 400, title: '${ $item ] }'}}
  authentications: {o: {digest: {username: a, password: '${ ] }'}}}
do: [{x: {set: {a: 1}}}]
`, []string{
			"error /use/timeouts/t/after invalid_expression",
			"error /use/retries/r/when invalid_expression",
			"error /use/errors/e/title invalid_expression",
			"error /use/authentications/o/digest/password invalid_expression",
		}},
		{"a component's problem is reported once", `
use: {timeouts: {t: {after: '${ ] }'}}}
do: [{x: {timeout: t, set: {a: 1}}}, {y: {timeout: t, set: {a: 1}}}]
`, []string{"error /use/timeouts/t/after invalid_expression"}},
		{"settings that mean nothing", `
do: [{x: {metadata: {onInterrupted: maybe}, set: {a: 1}}}, {y: {metadata: {onInterrupted: fault, other: 1}, set: {a: 1}}}]
`, []string{"warning /do/0/x/metadata/onInterrupted unknown_setting"}},
		{"an endpoint that is no template", `
do: [{x: {call: http, with: {method: get, endpoint: 'https://e.org/{a'}}}]
`, []string{"error /do/0/x/with/endpoint invalid_uri"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p, problems := compile(t, test.definition)
			got := problemLines(problems)
			slices.Sort(got)
			slices.Sort(test.want)
			if !slices.Equal(got, test.want) {
				t.Errorf("problems\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
			if (p == nil) != problems.HasErrors() {
				t.Errorf("plan is %v with errors %v", p, problems.Errors())
			}
			for _, problem := range problems {
				if problem.Line < 1 || problem.Column < 1 || problem.Detail == "" {
					t.Errorf("problem without a place or a text: %+v", problem)
				}
			}
		})
	}
}

// What the server cannot run yet is refused by name, never ignored.
func TestNotSupported(t *testing.T) {
	tests := []struct{ name, definition, pointer string }{
		{`The expression language "cel"`, "evaluate: {language: cel}\ndo: [{a: {set: {x: 1}}}]", "/evaluate/language"},
		{`The script language "ruby"`, "do: [{a: {run: {script: {language: ruby, code: x}}}}]", "/do/0/a/run/script/language"},
		{"A catalog whose address", "use: {catalogs: {c: {endpoint: '${ .x }'}}}\ndo: [{a: {set: {x: 1}}}]", "/use/catalogs/c/endpoint"},
		{"A catalog whose address", "use: {catalogs: {c: {endpoint: 'https://e.org/{x}'}}}\ndo: [{a: {set: {x: 1}}}]", "/use/catalogs/c/endpoint"},
		{"A catalog whose authentication", "use: {secrets: [s], catalogs: {c: {endpoint: {uri: 'https://e.org', authentication: {basic: {use: s}}}}}}\ndo: [{a: {set: {x: 1}}}]", "/use/catalogs/c/endpoint"},
		{"A schema whose address", "do: [{a: {set: {x: 1}, input: {schema: {resource: {endpoint: 'https://e.org/{x}'}}}}}]", "/do/0/a/input/schema/resource"},
		{"A schema whose authentication", "do: [{a: {set: {x: 1}, input: {schema: {resource: {endpoint: {uri: 'https://e.org', authentication: {bearer: {token: '${ .t }'}}}}}}}}]", "/do/0/a/input/schema/resource"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p, problems := compile(t, test.definition)
			if p != nil || len(problems.Errors()) != 1 {
				t.Fatalf("problems: %v", problems)
			}
			got := problems.Errors()[0]
			if got.Code != CodeNotSupported || got.Pointer != test.pointer || !strings.HasPrefix(got.Detail, test.name) {
				t.Errorf("got %s %s %q, want %s at %s", got.Code, got.Pointer, got.Detail, test.name, test.pointer)
			}
		})
	}
}

func TestRunNotAllowed(t *testing.T) {
	const shell = "do: [{a: {run: {shell: {command: x}}}}]"
	const js = "do: [{a: {run: {script: {language: javascript, code: x}}}}]"
	const python = "do: [{a: {run: {script: {language: python, code: x}}}}]"
	tests := []struct {
		definition string
		allowed    []string
		refused    bool
	}{
		{shell, nil, true},
		{shell, []string{"script"}, true},
		{shell, []string{"shell"}, false},
		{js, nil, true},
		{js, []string{"js"}, false},
		{js, []string{"script"}, false},
		{python, []string{"js", "shell"}, true},
		{python, []string{"python"}, false},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.definition, test.allowed), func(t *testing.T) {
			doc, _ := dsl.Parse([]byte(header + test.definition))
			p, problems := Compile(doc, Options{Run: test.allowed})
			if (p == nil) != test.refused {
				t.Fatalf("problems: %v", problems)
			}
			if test.refused && problems[0].Code != CodeRunNotAllowed {
				t.Errorf("code %s", problems[0].Code)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	doc, _ := dsl.Parse([]byte(header + "do: [{f: {fork: {branches: [{a: {set: {x: 1}}}, {b: {set: {x: 1}}}, {c: {set: {x: 1}}}]}}}]"))
	for _, test := range []struct {
		limits Limits
		want   []string
	}{
		{Limits{}, nil},
		{Limits{Branches: 2}, []string{"error /do/0/f/fork/branches too_many_branches"}},
		{Limits{Tasks: 3}, []string{"error /do too_many_tasks"}},
	} {
		_, problems := Compile(doc, Options{Limits: test.limits})
		if got := problemLines(problems); !slices.Equal(got, test.want) {
			t.Errorf("%+v: problems %v, want %v", test.limits, got, test.want)
		}
	}
	p, _ := Compile(doc, Options{Limits: Limits{PureSteps: 5}})
	want := Limits{Tasks: DefaultTasks, Branches: DefaultBranches, PureSteps: 5, StateBytes: DefaultStateBytes}
	if p.Limits != want {
		t.Errorf("limits of the plan are %+v, want %+v", p.Limits, want)
	}
}

// Of very many problems the first hundred are reported.
func TestManyProblems(t *testing.T) {
	var b strings.Builder
	b.WriteString("do:\n")
	for i := range 300 {
		fmt.Fprintf(&b, "  - t%d: {if: '(', set: {x: $task}}\n", i)
	}
	_, problems := compile(t, b.String())
	if errors, warnings := len(problems.Errors()), len(problems.Warnings()); errors != 100 || warnings != 100 {
		t.Errorf("%d errors and %d warnings", errors, warnings)
	}
	if problems[0].Pointer != "/do/0/t0" && problems[0].Pointer != "/do/0/t0/if" {
		t.Errorf("the first problem is at %s", problems[0].Pointer)
	}
}

// A large component that is used very often is compiled once, or refused; it must not take
// minutes.
func TestReusedComponents(t *testing.T) {
	var same, different strings.Builder
	large := "[" + strings.Repeat("1, ", 20_000) + "1]"
	use := "use: {errors: {e: {type: 'x:y', status: 400, title: '${ " + large + " }'}}}\ndo:\n"
	for i := range 3000 {
		fmt.Fprintf(&same, "  - t%d: {if: .x, raise: {error: e}}\n", i)
	}
	p, problems := compile(t, use+same.String())
	if p == nil {
		t.Fatalf("refused: %v", problems.Err())
	}
	if p.Tasks[0].Raise != p.Tasks[2999].Raise {
		t.Error("the error is compiled more than once")
	}
	for i := range 200 {
		fmt.Fprintf(&different, "  - t%d: {for: {in: .l, each: v%d}, do: [{x: {raise: {error: e}}}]}\n", i, i)
	}
	if _, problems = compile(t, use+different.String()); !slices.Contains(problemLines(problems), "error /use/errors/e component_too_large") {
		t.Errorf("problems %v", problems)
	}
}
