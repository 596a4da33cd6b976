package expr

import (
	"errors"
	"github.com/chargehand/chargehand/internal/value"
	"strings"
	"sync"
	"testing"
)

func mustParse(t testing.TB, text string) Value {
	t.Helper()
	v, err := value.Parse([]byte(text), value.Limits{})
	if err != nil {
		t.Fatalf("Parse(%s): %v", text, err)
	}
	return v
}

func mustCompile(t testing.TB, source string, locals ...string) *Expression {
	t.Helper()
	e, err := Compile(source, &Scope{Locals: locals})
	if err != nil {
		t.Fatalf("Compile(%s): %v", source, err)
	}
	return e
}

func TestCompileErrorsNameThePosition(t *testing.T) {
	tests := []struct {
		source       string
		line, column int
		detail       string
		hint         string
	}{
		{``, 1, 1, "empty", "write ."},
		{`  # nothing`, 1, 1, "empty", ""},
		{`.a |`, 1, 5, "unexpected EOF", ""},
		{".a\n| .b }", 2, 6, `unexpected token "}"`, ""},
		{`.a == 'x'`, 1, 7, "unexpected token", "double quotes"},
		{`"abc`, 1, 5, "unterminated string", ""},
		{`"a\x"`, 1, 3, "invalid escape", ""},
		{`1.2.3`, 1, 1, "invalid token", ""},
		{`.é`, 1, 2, "unexpected token", ""},
		{`$contxt.a`, 1, 1, "$contxt is not defined", "$context"},
		{".a |\n  $itm", 2, 3, "$itm is not defined", "$item"},
		{`$nothing`, 1, 1, "$nothing is not defined", ""},
		{`"$foo # \($foo)"`, 1, 11, "$foo is not defined", ""},
		{"# $foo\n.a # $foo\n| $foo", 3, 3, "$foo is not defined", ""},
		{`.x as $value | $valu`, 1, 16, "$valu is not defined", "$value"},
		{`.foo | foo`, 1, 8, "foo/0 is not defined", ""},
		{`lenght`, 1, 1, "lenght/0 is not defined", "length"},
		{`map`, 1, 1, "map/0 is not defined", "map takes 1 arguments"},
		{`split(1;2;3)`, 1, 1, "split/3 is not defined", "split takes 1 or 2 arguments"},
		{`def total: 1; totl`, 1, 15, "totl/0 is not defined", "total"},
		{`def f(x): x; f`, 1, 5, "f/0 is not defined", "f takes 1 arguments"},
		{`1 | @yaml`, 1, 5, "@yaml is not defined", ""},
		{`@base46`, 1, 1, "@base46 is not defined", "@base64"},
		{`break $out`, 1, 1, "label $out is not defined", ""},
		{`(label $a | 1) | break $a`, 1, 18, "label $a is not defined", ""},
		{`env.HOME`, 1, 1, "env is not available", ""},
		{`$ENV.HOME`, 1, 1, "$ENV is not available", ""},
		{`.a | input`, 1, 6, "input is not available", ""},
		{`inputs`, 1, 1, "inputs is not available", ""},
		{`input_filename`, 1, 1, "input_filename is not available", ""},
		{`debug`, 1, 1, "debug is not available", ""},
		{`debug("x")`, 1, 1, "debug is not available", ""},
		{`stderr`, 1, 1, "stderr is not available", ""},
		{`halt`, 1, 1, "halt is not available", ""},
		{`halt_error(1)`, 1, 1, "halt_error is not available", ""},
		{`input_line_number`, 1, 1, "is not available", ""},
		{`builtins`, 1, 1, "is not available", ""},
		{`modulemeta`, 1, 1, "is not available", ""},
		{`$__loc__`, 1, 1, "is not available", ""},
		{`import "a" as a; 1`, 1, 1, "Modules are not available", ""},
		{`include "a"; 1`, 1, 1, "Modules are not available", ""},
		{`module {}; 1`, 1, 1, "Modules are not available", ""},
		{`a::b`, 1, 1, "a::b/0 is not defined", ""},
		{`_match("a"; null; true)`, 1, 1, "_match/3 is not defined", ""},
		{`_range(1; 2; 3)`, 1, 1, "_range/3 is not defined", ""},
		{strings.Repeat("9", value.MaxIntegerDigits+1), 1, 1, "at most 1000 digits", ""},
		{strings.Repeat("[", 2000) + strings.Repeat("]", 2000), 1, 1, "nested more than", ""},
		{strings.Repeat("1+", 20000) + "1", 1, 1, "nested more than", ""},
		{strings.Repeat(" ", MaxSourceBytes+1), 1, 1, "at most 65536", ""},
		{"[" + strings.Repeat("any,", 13000) + "1]", 1, 1, "has more than", ""},
	}
	for _, tt := range tests {
		_, err := Compile(tt.source, &Scope{Locals: []string{"item", "index"}})
		var got *CompileError
		if !errors.As(err, &got) {
			t.Errorf("%.50s: error %v", tt.source, err)
			continue
		}
		if got.Line != tt.line || got.Column != tt.column || !strings.Contains(got.Detail, tt.detail) || !strings.Contains(got.Hint, tt.hint) {
			t.Errorf("%.50s:\n got %d:%d %s (%s)\nwant %d:%d %s (%s)", tt.source, got.Line, got.Column, got.Detail, got.Hint, tt.line, tt.column, tt.detail, tt.hint)
		}
		if text := got.Error(); !strings.Contains(text, got.Detail) || !strings.Contains(text, got.Hint) {
			t.Errorf("%.50s: %q", tt.source, text)
		}
	}
}

func TestRefusedNamesMayBeDefined(t *testing.T) {
	e := mustCompile(t, `def input: 5; def f(env): env + 1; f(input)`)
	if v, err := e.Eval(nil, &testEnv{}); err != nil || v != 6 {
		t.Errorf("got %v, %v", v, err)
	}
}

func TestVariables(t *testing.T) {
	for _, name := range languageNames {
		if !mustCompile(t, "$"+name+".x").Uses(name) {
			t.Errorf("$%s is not bound", name)
		}
	}
	e := mustCompile(t, `[$item, $context.n, $item, (.[] | $item), $missing]`, "item", "missing")
	if !e.Uses("item") || !e.Uses("context") || e.Uses("input") || e.Uses("index") {
		t.Error("Uses is wrong")
	}
	env := &testEnv{values: map[string]Value{"item": "i", "context": map[string]any{"n": 1}}, asked: map[string]int{}}
	v, err := e.Eval([]any{1, 2}, env)
	if got := string(value.Marshal(v)); err != nil || got != `["i",1,"i","i","i",null]` {
		t.Errorf("got %s, %v", got, err)
	}
	for name, times := range env.asked {
		if times != 1 {
			t.Errorf("$%s was asked for %d times", name, times)
		}
	}
	env.asked = map[string]int{}
	if _, err := mustCompile(t, `if . then 1 else $secrets.key end`).Eval(true, env); err != nil || len(env.asked) != 0 {
		t.Errorf("a variable that is not read was asked for: %v, %v", env.asked, err)
	}
	// A binding of the expression hides the variable.
	if e := mustCompile(t, `1 as $context | $context`); e.Uses("context") {
		t.Error("a binding counts as a use of the variable that it hides")
	}
}

func TestResultsAreReducedToOne(t *testing.T) {
	tests := []struct {
		source string
		want   Value
		warns  bool
	}{
		{`empty`, nil, false},
		{`.[] | select(. > 5)`, nil, true},
		{`.[]`, 1, true},
		{`1, 2`, 1, true},
		{`1, error("never reached")`, 1, true},
		{`first(.[])`, 1, false},
		{`[.[]]`, []any{1, 2, 3}, false},
		{`map(. + 1)`, []any{2, 3, 4}, false},
		{`reduce .[] as $x (0; . + $x)`, 6, false},
		{`any(.[]; . > 2)`, true, false},
		{`limit(1; .[])`, 1, true},
		{`..`, []any{1, 2, 3}, true},
		{`range(5)`, 0, true},
		{`{a: .[]}`, map[string]any{"a": 1}, true},
		{`{(.[] | tostring): 1}`, map[string]any{"1": 1}, true},
		{`"\(.[])"`, "1", true},
		{`.[] + 1`, 2, true},
		{`.[0] + 1`, 2, false},
		{`.[] as $x | $x`, 1, true},
		{`try .[] catch 0`, 1, true},
		{`.[]?`, 1, true},
		{`if .[] then 1 else 2 end`, 1, true},
		{`(.[] // 1)`, 1, true},
		{`.[.[]]`, 2, true},
		{`.[.[]:]`, []any{2, 3}, true},
		{`path(.[])`, []any{0}, true},
		{`"a-b" | splits("-")`, "a", true},
		{`"ab" | sub("a"; "x", "y")`, "xb", true},
		{`"ab" | gsub("a"; "x")`, "xb", false},
		{`foreach .[] as $x (0; . + $x)`, 1, true},
		{`recurse`, []any{1, 2, 3}, true},
		{`to_entries | length`, 3, false},
		{`has(0, 1)`, true, true},
	}
	for _, tt := range tests {
		e := mustCompile(t, tt.source)
		v, err := e.Eval([]any{1, 2, 3}, &testEnv{})
		if err != nil || !value.Equal(v, tt.want) {
			t.Errorf("%s = %v, %v; want %v", tt.source, v, err, tt.want)
		}
		if warns := len(e.Warnings()) > 0; warns != tt.warns {
			t.Errorf("%s: warnings %v", tt.source, e.Warnings())
		}
	}
}

// TestDifferences records where we mean something else than gojq.
func TestDifferences(t *testing.T) {
	tests := []struct{ source, want string }{
		// Numbers are finite in a result.
		{`[nan, infinite, -infinite]`, `[null,1.7976931348623157e+308,-1.7976931348623157e+308]`},
		{`{a: nan} | [.a]`, `[null]`},
		{`1e1000`, `1.7976931348623157e+308`},
		// Whole results of floating-point operations are integers, but 1.0 stays 1.0.
		{`7 / 2 * 2`, `7`},
		{`3.7 | floor`, `3`},
		{`1.0`, `1.0`},
		{`[.] | .[0]`, `2.0`},
		{`. + 1`, `3`},
		{`-0.0`, `-0.0`},
		{`1e300 * 10`, `1e+301`},
		{`pow(2; 60) + 1`, `1152921504606847000.0`},
		{`tostring`, `"2"`},
		// Rounding leaves integers alone.
		{`9007199254740993 | floor`, `9007199254740993`},
		{`123456789012345678901234567890 | round`, `123456789012345678901234567890`},
		// Integers have one form, whatever they went through.
		{`(9223372036854775807 + 1) - 1 | . == 9223372036854775807`, `true`},
		{`9223372036854775807 + 1 - 1`, `9223372036854775807`},
		// Texts are valid UTF-8.
		{`"/w==" | @base64d`, `"` + "\ufffd" + `"`},
		{`"%ff" | @urid`, `"` + "\ufffd" + `"`},
		// fromjson is as strict as Parse.
		{`try ("{\"a\":1,\"a\":2}" | fromjson) catch "refused"`, `"refused"`},
		{`try ("1e999" | fromjson) catch "refused"`, `"refused"`},
		{`"[1.0, 1, 12345678901234567890123]" | fromjson`, `[1.0,1,12345678901234567890123]`},
		// last(f) keeps the path.
		{`[1,2,3] | last(.[]) = 9`, `[1,2,9]`},
		// gojq makes 1 of the first input, and panics on the second.
		{`[if (1, $context | 2) then . else 0 end]`, `[2.0,2.0]`},
		{`try (error("x") >= (label $l | .)) catch .`, `"x"`},
		// The time zone is UTC.
		{`0 | localtime | mktime`, `0`},
		{`0 | strflocaltime("%H %Z")`, `"00 UTC"`},
		{`"10:00 CET" | strptime("%H:%M %Z") | .[3]`, `10`},
	}
	for _, tt := range tests {
		v, err := mustCompile(t, tt.source).Eval(2.0, &testEnv{})
		if got := string(value.Marshal(v)); err != nil || got != tt.want {
			t.Errorf("%s = %s, %v; want %s", tt.source, got, err, tt.want)
		}
	}
}

func TestTimeIsThatOfTheEvent(t *testing.T) {
	tests := []struct {
		source string
		want   string
	}{
		{`now`, `1700000000.25`},
		{`now | floor`, `1700000000`},
		{`now | todate`, `"2023-11-14T22:13:20Z"`},
		{`now | gmtime | mktime`, `1700000000.25`},
		{`now | localtime | strftime("%F %T")`, `"2023-11-14 22:13:20"`},
		{`now | strflocaltime("%H:%M %Z")`, `"22:13 UTC"`},
		{`[now, now] | .[0] == .[1]`, `true`},
	}
	for _, tt := range tests {
		v, err := mustCompile(t, tt.source).Eval(nil, &testEnv{nowMs: 1_700_000_000_250})
		if got := string(value.Marshal(v)); err != nil || got != tt.want {
			t.Errorf("%s = %s, %v; want %s", tt.source, got, err, tt.want)
		}
	}
}

func TestEvalErrors(t *testing.T) {
	long := strings.Repeat("x", 10000)
	tests := []struct {
		source string
		dot    Value
		want   string
	}{
		{`.a`, 1, `expected an object but got: number (1)`},
		{`.a.b`, map[string]any{"a": "text"}, `expected an object but got: string ("text")`},
		{`.[0]`, map[string]any{}, `expected an array but got: object ({})`},
		{`$context.a`, nil, `expected an object but got: array ([1])`},
		{`error("no stock")`, nil, `error: no stock`},
		{`error({a: 1})`, nil, `error: {"a":1}`},
		{`. + 1`, []any{}, `cannot add: array ([]) and number (1)`},
		{`tonumber`, long, `tonumber cannot be applied to "xxxxxxxxxxxxxxxxxxxxxxxx ...": invalid number`},
		{`.a`, map[string]any{"b": 1}, ``},
	}
	for _, tt := range tests {
		_, err := mustCompile(t, tt.source).Eval(tt.dot, &testEnv{values: map[string]Value{"context": []any{1}}})
		var problem *EvalError
		if tt.want == "" {
			if err != nil {
				t.Errorf("%s: %v", tt.source, err)
			}
		} else if !errors.As(err, &problem) || problem.Error() != tt.want || problem.Limit {
			t.Errorf("%s: %v; want %s", tt.source, err, tt.want)
		}
	}
	_, err := mustCompile(t, `error(.)`).Eval([]any{long}, &testEnv{})
	if err == nil || len(err.Error()) > 5000 {
		t.Errorf("the text of an error is not bounded: %d bytes", len(err.Error()))
	}
}

// TestFastPathAgainstOracle checks the short way for plain expressions with every form of it.
func TestFastPathAgainstOracle(t *testing.T) {
	var paths []string
	steps := []string{".a", ".b", ".c", `["k k"]`, "[0]", "[-1]", "[7]"}
	for _, one := range steps {
		for _, two := range append(steps, "") {
			for _, three := range []string{"", ".d", "[1]"} {
				paths = append(paths, one+two+three)
			}
		}
	}
	dots := append([]string{`{"a":{"b":{"d":1},"a":[5,[6,7]]},"b":["x",{"d":null}],"k k":{"k k":[1]}}`, `[[1,[2]],{"a":[3,4]}]`}, oracleInputs...)
	count := 0
	for _, base := range []string{".", "$context", "$item"} {
		for _, path := range append(paths, "") {
			source := base + path
			if base == "." && strings.HasPrefix(path, ".") {
				source = path
			}
			e := mustCompile(t, source, "item")
			if !e.plain {
				t.Errorf("%s does not take the short way", source)
			}
			for _, text := range dots {
				dot := mustParse(t, text)
				vars := map[string]Value{"context": dot, "item": "it"}
				want, problem, _ := oracle(source, dot, vars)
				v, err := e.Eval(dot, &testEnv{values: vars})
				if err != nil {
					v = err.Error()
				}
				if problem != "" {
					want = []Value{problem}
				}
				if len(want) != 1 || !same(v, want[0]) {
					t.Fatalf("%s on %s: %v; gojq says %v", source, text, v, want)
				}
				count++
			}
		}
	}
	for _, source := range []string{`1`, `"x"`, `null`, `[1,{"a":2}]`, `{"a":[true]}`, `-5`, `1.5`} {
		e := mustCompile(t, source)
		want, _, _ := oracle(source, nil, nil)
		if v, err := e.Eval(nil, nil); err != nil || !e.plain || !same(v, want[0]) {
			t.Errorf("%s = %v, %v", source, v, err)
		}
	}
	if count < 1000 {
		t.Errorf("only %d cases", count)
	}
}

// TestConcurrentUseChangesNoValue evaluates everything on shared values at the same time; with the
// race detector a write to any of them is found.
func TestConcurrentUseChangesNoValue(t *testing.T) {
	inputs := make([]Value, len(oracleInputs))
	for i, text := range oracleInputs {
		inputs[i] = mustParse(t, text)
	}
	var expressions []*Expression
	for i, source := range oracleSources {
		if raceFactor > 1 && i%4 != 0 {
			continue
		}
		if e, err := Compile(source, &Scope{Locals: keysOf(oracleVariables)}); err == nil {
			expressions = append(expressions, e)
		}
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for _, e := range expressions {
				for _, dot := range inputs {
					_, _ = ours(e, dot, oracleVariables)
				}
			}
		})
	}
	group.Wait()
	for i, text := range oracleInputs {
		if !value.Equal(inputs[i], mustParse(t, text)) {
			t.Errorf("%s has become %s", text, value.Marshal(inputs[i]))
		}
	}
}

// TestUpdatesDoNotShareMemory covers the values that an update hands to the expression while
// it works on them.
func TestUpdatesDoNotShareMemory(t *testing.T) {
	tests := []struct{ source, want string }{
		{`[[1],[2]] | [.[0], (.[0][0] |= 9)]`, `[[1],[[9],[2]]]`},
		{`{a:{b:1}} | (.a, .c) |= (.b = 2)`, `{"a":{"b":2},"c":{"b":2}}`},
		{`[1,2,3] | (.[0:2], .[0]) |= (if type == "array" then map(. + 10) else . + 100 end)`, `[111,12,3]`},
		{`{a:[1,2]} | reduce range(3) as $i (.; .a[$i] = $i | .keep += [.a])`, `{"a":[0,1,2],"keep":[[0,2],[0,1],[0,1,2]]}`},
		{`{a:1} | (.b, .c.d, .b.e?) |= {x: .}`, `{"a":1,"b":{"e":{"x":null},"x":null},"c":{"d":{"x":null}}}`},
		{`[[0,0],[0,0]] | (.[0], .[0][1], .[1]) |= (if type == "array" then [., .] else 5 end)`, `[[[0,0],[[0,0],[0,0]]],[[0,0],[0,0]]]`},
		{`[3,[4]] | (.., .[1]) |= .`, `[3,[4]]`},
		{`[1,2,3,4,5] | del(.[1:3], .[0])`, `[4,5]`},
		{`{a:{b:{c:1}},x:[{y:1},{y:2}]} | [del(.x[0], .a.b.c), .]`, `[{"a":{"b":{}},"x":[{"y":2}]},{"a":{"b":{"c":1}},"x":[{"y":1},{"y":2}]}]`},
		{`[range(5)] | (.[] | select(. % 2 == 0)) |= empty`, `[1,3]`},
		{`[[1,2],[3]] | .[][1:] |= ["z"]`, `[[1,"z"],[3,"z"]]`},
	}
	for _, tt := range tests {
		v, err := mustCompile(t, tt.source).Eval(nil, &testEnv{})
		if got := string(value.Marshal(v)); err != nil || got != tt.want {
			t.Errorf("%s\n got %s, %v\nwant %s", tt.source, got, err, tt.want)
		}
	}
}

func FuzzEval(f *testing.F) {
	for i, source := range oracleSources {
		f.Add(source, oracleInputs[i%len(oracleInputs)])
	}
	f.Fuzz(func(t *testing.T, source, input string) {
		e, err := Compile(source, &Scope{Locals: []string{"item"}})
		if err != nil {
			var problem *CompileError
			if !errors.As(err, &problem) || problem.Line < 1 || problem.Column < 1 || problem.Detail == "" {
				t.Fatalf("%q: %#v", source, err)
			}
			return
		}
		dot, err := value.Parse([]byte(input), value.Limits{})
		if err != nil {
			dot = input
			if strings.ToValidUTF8(input, "") != input {
				return
			}
		}
		before := value.Marshal(dot)
		r := newEvaluation(e.names, e.regexps, &testEnv{values: oracleVariables})
		r.steps = 100_000 // so that no input takes long
		v, _, err := firstOf(e.root, r, nil, dot)
		if err == nil {
			v, err = r.finish(v)
		}
		if err == nil {
			again, err := value.Parse(value.Marshal(v), value.Limits{Depth: value.MaxDepth, Bytes: 8 * MaxValueBytes})
			if err != nil || !value.Equal(again, v) {
				t.Fatalf("%q gives no proper value: %s, %v", source, value.Marshal(v), err)
			}
		} else if err.Error() == "" {
			t.Fatalf("%q: empty error", source)
		}
		if string(value.Marshal(dot)) != string(before) {
			t.Fatalf("%q changes its input", source)
		}
	})
}
