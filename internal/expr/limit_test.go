package expr

import (
	"errors"
	"fmt"
	"github.com/chargehand/chargehand/internal/value"
	"strings"
	"testing"
)

func TestListsThatAreLong(t *testing.T) {
	e := mustCompile(t, "["+strings.Repeat("1,", 20000)+"2]")
	v, err := e.Eval(nil, &testEnv{})
	if list, ok := v.([]any); err != nil || !ok || len(list) != 20001 || list[20000] != 2 || !e.plain {
		t.Errorf("a long constant list: %v", err)
	}
	e = mustCompile(t, "["+strings.Repeat(".[],", 10000)+".]")
	if v, err := e.Eval([]any{1, 2}, &testEnv{}); err != nil || len(v.([]any)) != 20001 {
		t.Errorf("a long list of generators: %v", err)
	}
}

// meterEnv counts what evaluations cost.
type meterEnv struct {
	testEnv
	spent []int
}

func (e *meterEnv) Spent(steps int) { e.spent = append(e.spent, steps) }

func TestMeterIsCalled(t *testing.T) {
	env := &meterEnv{}
	if _, err := mustCompile(t, `.a`).Eval(nil, env); err != nil || len(env.spent) != 0 {
		t.Errorf("a plain path: %v, %v", env.spent, err)
	}
	if _, err := mustCompile(t, `[range(1000)] | length`).Eval(nil, env); err != nil || len(env.spent) != 1 || env.spent[0] < 1000 || env.spent[0] > 20000 {
		t.Errorf("a loop: %v, %v", env.spent, err)
	}
	if _, err := mustCompile(t, `[range(1e9)]`).Eval(nil, env); err == nil || env.spent[1] < MaxEntries {
		t.Errorf("a loop that hits a limit: %v, %v", env.spent, err)
	}
	tmpl, _ := CompileTemplate([]any{"${ . | length }", "${ [range(10)] }"}, Strict, nil)
	env.spent = nil
	if _, err := tmpl.Eval(nil, env); err != nil || len(env.spent) != 2 {
		t.Errorf("a template: %v, %v", env.spent, err)
	}
}

func TestResultBounds(t *testing.T) {
	deep := func(levels int) Value {
		var v Value = 1
		for range levels {
			v = []any{v}
		}
		return v
	}
	wide := make([]any, MaxEntries)
	tests := []struct {
		source string
		dot    Value
		limit  bool
	}{
		{`[.]`, deep(value.MaxDepth - 1), false},
		{`[.]`, deep(value.MaxDepth), true},
		{`{a: .}`, deep(value.MaxDepth), true},
		{`{a: 1, b: [.]}`, deep(value.MaxDepth - 2), false},
		{`.[0] |= 1`, wide, false},
		{`. + [1]`, wide, true},
		{`. + .`, strings.Repeat("x", MaxValueBytes/2), true},
		{`. + "x"`, strings.Repeat("x", MaxValueBytes/2), false},
		{`[., .]`, strings.Repeat("x", MaxValueBytes/2), true},
		{`{a: ., b: .}`, strings.Repeat("x", MaxValueBytes/2), true},
		{`{a: ., b: [.[0:10]]}`, strings.Repeat("x", MaxValueBytes/2), false},
		{`pow(2; 100) | . * 1e300`, nil, false},
	}
	for _, tt := range tests {
		_, err := mustCompile(t, tt.source).Eval(tt.dot, &testEnv{})
		var problem *EvalError
		if limit := errors.As(err, &problem) && problem.Limit; limit != tt.limit || err != nil && !tt.limit {
			t.Errorf("%s: %v, want a limit: %v", tt.source, err, tt.limit)
		}
	}
}

func TestLimitsAreNotCaught(t *testing.T) {
	for _, source := range []string{
		`try [range(1e12)] catch 1`, `[range(1e12)]?`, `([range(1e12)] // 1)`, `[range(1e12)] as [$a] ?// $a | 1`,
		`first(try ("x" * 1e9) catch 1)`, `label $f | (try last(repeat(1)) catch 1)`, `. as [$a] ?// $b | last(repeat(1))`,
		`try contains(try ("x" * 1e9) catch 1) catch 1`, `any(try ("x" * 1e9) catch 1; .)`,
	} {
		_, err := mustCompile(t, source).Eval(nil, &testEnv{})
		var problem *EvalError
		if !errors.As(err, &problem) || !problem.Limit {
			t.Errorf("%s: %v", source, err)
		}
	}
}

func TestDeepRecursion(t *testing.T) {
	tests := []struct {
		source string
		want   string // "" means a limit
	}{
		{`def f($n): if $n == 0 then "done" else f($n - 1) end; f(1000000)`, `"done"`},
		{`def f: if . == 0 then "done" else (. - 1 | f) end; 1000000 | f`, `"done"`},
		{`def f: if . == 0 then 0 else 1 + (. - 1 | f) end; 3000 | f`, `3000`},
		{`def f: if . == 0 then 0 else 1 + (. - 1 | f) end; 1000000 | f`, ``},
		{`0 | until(. >= 1000000; . + 1)`, `1000000`},
		{`last(range(1000000))`, `999999`},
		{`[limit(3; range(1000000))] | length`, `3`},
		{`reduce range(100) as $i (null; [.]) | [..] | length`, `101`},
		{`last(0 | while(. < 100000; . + 1))`, `99999`},
		{`[0 | recurse(if . < 10000 then . + 1 else empty end)] | length`, `10001`},
	}
	for _, tt := range tests {
		v, err := mustCompile(t, tt.source).Eval(nil, &testEnv{})
		var problem *EvalError
		if tt.want == "" {
			if !errors.As(err, &problem) || !problem.Limit || !strings.Contains(problem.Detail, "deeply") {
				t.Errorf("%s: %v, %v; want a limit", tt.source, v, err)
			}
		} else if got := string(value.Marshal(v)); err != nil || got != tt.want {
			t.Errorf("%s = %s, %v; want %s", tt.source, got, err, tt.want)
		}
	}
}

// TestStepsAreDeterministic runs expressions over large objects often: what they cost must
// not depend on the order in which Go walks through a map.
func TestStepsAreDeterministic(t *testing.T) {
	object := map[string]any{}
	for i := range 300 {
		object[fmt.Sprintf("key%d", i)] = map[string]any{"n": i, "list": []any{i, "x", nil}, "m": map[string]any{"a": i % 7, "b": "y"}}
	}
	other := map[string]any{}
	for k, v := range object {
		other[k] = v
	}
	other["key77"] = map[string]any{"n": 0}
	vars := map[string]Value{"context": other}
	for _, source := range []string{
		`. == $context`, `. < $context`, `[., $context] | sort | length`, `contains($context)`, `. * $context | length`, `[.[] | .n] | add`,
		`to_entries | map(.value.n) | unique | length`, `with_entries(.value |= .n) | add`, `[paths] | length`, `tojson | length`,
		`del(.[] | select(.n > 100)) | length`, `map_values(.n) | add`, `[.[] | .m] | add | length`, `[.[]|.m.b] | join(",") | length`,
		`.[] |= .n | add`, `[..] | length`, `walk(.) | length`, `(.key3, .key4, .key5) |= empty | length`, `try error(.) catch length`,
		`try .[0] catch .`, `group_by(.m.a)? // "no"`, `[.[]] | group_by(.m.a) | length`, `indices("a")?`, `{a: nan, b: .} | .b | length`,
	} {
		e := mustCompile(t, source)
		var want string
		for i := range 20 {
			r := newEvaluation(e.names, e.regexps, &testEnv{values: vars})
			v, _, err := firstOf(e.root, r, nil, object)
			got := fmt.Sprint(show(v), err, r.steps, r.bytes)
			if i == 0 {
				want = got
			} else if got != want {
				t.Errorf("%s: first %.60s … %s, then %s", source, want, want[max(0, len(want)-20):], got[max(0, len(got)-20):])
				break
			}
		}
	}
}

func TestRegexpsAreKeptWithinBounds(t *testing.T) {
	e := mustCompile(t, `[.[] as $p | "a1" | test($p)] | length`)
	for round := range 3 {
		patterns := []any{}
		for i := range 20 {
			patterns = append(patterns, fmt.Sprintf("[a-z]%d", round*20+i))
		}
		if v, err := e.Eval(patterns, &testEnv{}); err != nil || v != 20 {
			t.Errorf("round %d: %v, %v", round, v, err)
		}
	}
	if n := len(e.regexps.programs); n > regexpCacheSize {
		t.Errorf("%d regular expressions are kept", n)
	}
	// An evaluation costs the same with a kept program as without.
	e = mustCompile(t, `test("x{5}") and test("y?")`)
	var costs []int
	for range 3 {
		r := newEvaluation(e.names, e.regexps, &testEnv{})
		if _, _, err := firstOf(e.root, r, nil, "xxxxxy"); err != nil {
			t.Fatal(err)
		}
		costs = append(costs, r.steps+r.bytes)
	}
	if costs[0] != costs[1] || costs[1] != costs[2] {
		t.Errorf("costs left: %v", costs)
	}
	if _, err := e.Eval(strings.Repeat("x", 100), &testEnv{}); err != nil {
		t.Error(err)
	}
}
