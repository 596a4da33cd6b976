package expr

import (
	"testing"

	"github.com/itchyny/gojq"
)

var benchSources = []struct{ name, source string }{
	{"identity", `.`},
	{"field", `.a`},
	{"path", `.a.b.c`},
	{"variable", `$context`},
	{"variablePath", `$context.s`},
	{"index", `.list[0]`},
	{"constant", `"text"`},
	{"compare", `.color == "red"`},
	{"add", `.n + 1`},
	{"default", `.missing // "none"`},
	{"object", `{id: .n, name: .color}`},
	{"merge", `$context + {report: .color}`},
	{"text", `"Hello, \(.color): \(.n)"`},
	{"select", `[.list[] | select(. > 1)]`},
	{"map", `.list | map(. * 2)`},
	{"condition", `if .n > 2 and .color == "red" then "y" else "n" end`},
	{"reduce", `reduce .list[] as $x (0; . + $x)`},
	{"length", `.list | length`},
	{"test", `.color | test("^r.d$")`},
}

func benchInput() Value {
	return map[string]any{"a": map[string]any{"b": map[string]any{"c": 7}}, "color": "red", "n": 3, "list": []any{1, 2, 3, 4, 5}}
}

func BenchmarkEval(b *testing.B) {
	dot := benchInput()
	env := &testEnv{values: oracleVariables}
	for _, bb := range benchSources {
		e, err := Compile(bb.source, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := e.Eval(dot, env); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkGojq is the same on gojq's own machine, without any bound.
func BenchmarkGojq(b *testing.B) {
	dot := benchInput()
	for _, bb := range benchSources {
		query, err := gojq.Parse(bb.source)
		if err != nil {
			b.Fatal(err)
		}
		code, err := gojq.Compile(query, gojq.WithVariables([]string{"$context"}))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := code.Run(dot, oracleVariables["context"]).Next(); !ok {
					b.Fatal("no result")
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		if _, err := Compile(`{id: .n, name: "Hello, \(.color)", all: [.list[] | select(. > 1)]}`, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTemplate(b *testing.B) {
	t, problems := CompileTemplate(map[string]any{
		"id": "${ .n }", "color": "${ .color }", "fixed": map[string]any{"x": []any{1, 2, 3}}, "sum": "${ .n + 1 }", "note": "plain",
	}, Strict, nil)
	if problems != nil {
		b.Fatal(problems)
	}
	dot := benchInput()
	env := &testEnv{values: oracleVariables}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := t.Eval(dot, env); err != nil {
			b.Fatal(err)
		}
	}
}
