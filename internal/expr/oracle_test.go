package expr

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/value"
	"github.com/itchyny/gojq"
)

// testEnv is an Env of a map.
type testEnv struct {
	values map[string]Value
	asked  map[string]int
	nowMs  int64
}

func (e *testEnv) Variable(name string) Value {
	if e.asked != nil {
		e.asked[name]++
	}
	return e.values[name]
}

func (e *testEnv) NowMs() int64 { return e.nowMs }

const oraclePanic = "gojq panics"

// oracle runs an expression with gojq itself and returns all results and the error after them.
func oracle(source string, dot Value, vars map[string]Value) (results []Value, problem string, ok bool) {
	defer func() {
		if caught := recover(); caught != nil { // it happens: env.index, for instance
			results, problem, ok = nil, oraclePanic, true
		}
	}()
	query, err := gojq.Parse(source)
	if err != nil {
		return nil, err.Error(), false
	}
	var names []string
	var values []any
	for _, name := range keysOf(vars) {
		names, values = append(names, "$"+name), append(values, vars[name])
	}
	code, err := gojq.Compile(query, gojq.WithVariables(names))
	if err != nil {
		return nil, err.Error(), false
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	iter := code.RunWithContext(ctx, dot, values...)
	for len(results) < 1000 {
		v, more := iter.Next()
		if !more {
			break
		}
		if err, isError := v.(error); isError {
			return results, err.Error(), true
		}
		results = append(results, fromOracle(v))
	}
	return results, "", true
}

// fromOracle turns a result of gojq into a Value: it leaves the numbers of fromjson as they
// are written and lets formats make bytes that are no UTF-8.
func fromOracle(v any) Value {
	switch v := v.(type) {
	case json.Number:
		r := evaluation{steps: MaxSteps, bytes: maxAllocated}
		n, _, _ := r.parseNumber(v.String())
		return n
	case string:
		return validText(v)
	case []any:
		list := make([]any, len(v))
		for i, w := range v {
			list[i] = fromOracle(w)
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for k, w := range v {
			object[k] = fromOracle(w)
		}
		return object
	}
	return v
}

// ours gives all results of an expression and the error after them.
func ours(e *Expression, dot Value, vars map[string]Value) (results []Value, problem string) {
	r := newEvaluation(e.names, e.regexps, &testEnv{values: vars})
	r.steps = 300_000 // enough here, and soon over
	err := e.root.each(r, nil, dot, nil, func(v Value, _ *path) error {
		if len(results) == 1000 {
			return errStop
		}
		results = append(results, v)
		return nil
	})
	if err != nil && err != errStop {
		return results, err.Error()
	}
	return results, ""
}

// same compares values as JSON texts would, but for the last bits of floats.
func same(a, b Value) bool {
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !same(a[i], b[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k := range a {
			w, ok := b[k]
			if !ok || !same(a[k], w) {
				return false
			}
		}
		return true
	case int, float64, *big.Int:
		if !isNumber(b) {
			return false
		}
		x, _ := toFloat(a)
		y, _ := toFloat(b)
		return x == y || x != x && y != y || math.Abs(x-y) <= 1e-12*math.Abs(x)
	}
	return a == b
}

func show(v Value) string {
	text, _ := gojq.Marshal(v)
	return string(text)
}

func showAll(list []Value, problem string) string {
	var b strings.Builder
	for _, v := range list {
		fmt.Fprintf(&b, "%s ", show(v))
	}
	return b.String() + problem
}

var oracleInputs = []string{
	`null`, `true`, `false`, `0`, `-3`, `2.5`, `123456789012345678901234567890`, `""`, `"abc"`, `"héllo wörld é"`, `"2024-02-29T12:34:56Z"`, `[]`, `[1,2,3]`,
	`[3,1,2,1,null,"x",[1],{"a":1},false,1.5]`, `[[1,2],[3,4]]`, `[[1,[2]],[[3]]]`, `[{"k":"b","v":2},{"k":"a","v":1},{"k":"b","v":3}]`,
	`{}`, `{"a":1,"b":null,"c":[1,2,{"d":"e"}]}`, `{"a":{"b":{"c":7}},"x":"a","n":[{"id":1,"t":"p"},{"id":2,"t":"q"}]}`,
	`{"key":"k","value":5,"name":"z"}`, `["a,b","c d","test123","éa"]`, `1425599621`, `[[0,1],["a","b"]]`, `{"a":[],"b":{},"c":""}`,
	`"a-b_c.d"`, `"{\"a\":[1,2.5,null]}"`, `"YWJj"`, `"aXbxcX"`, `[0,false,null,"",{"a":null}]`,
}

var oracleVariables = map[string]Value{
	"context": map[string]any{"n": 3, "s": "ctx", "list": []any{1, 2}}, "input": map[string]any{"a": 1}, "item": "it", "index": 2,
}

// oracleText exercises every construct and every function.
//
//go:embed testdata/oracle.txt
var oracleText string

// oracleSources are the expressions of testdata/oracle.txt, one a line.
var oracleSources = strings.Split(strings.TrimSpace(oracleText), "\n")

// TestAgainstOracle compares every result and every error text with gojq's.
func TestAgainstOracle(t *testing.T) {
	scope := &Scope{Locals: keysOf(oracleVariables)}
	for _, source := range oracleSources {
		e, err := Compile(source, scope)
		for _, input := range oracleInputs {
			if err != nil {
				if _, problem, ok := oracle(source, nil, oracleVariables); ok && !isRefused(source) {
					t.Errorf("%s\n  does not compile: %v\n  but gojq says %q", source, err, problem)
				}
				break
			}
			dot := mustParse(t, input)
			want, wantProblem, ok := oracle(source, mustParse(t, input), oracleVariables)
			if !ok {
				t.Errorf("%s\n  compiles, but gojq says %s", source, wantProblem)
				break
			}
			got, gotProblem := ours(e, dot, oracleVariables)
			if !value.Equal(dot, mustParse(t, input)) {
				t.Errorf("%s changes its input %s", source, input)
			}
			if differs := differs(got, want, gotProblem, wantProblem); differs && !isKnownDifference(source, wantProblem) {
				t.Errorf("%s\n  on   %s\n  ours %s\n  gojq %s", source, input, showAll(got, gotProblem), showAll(want, wantProblem))
			}
		}
	}
}

func differs(got, want []Value, gotProblem, wantProblem string) bool {
	if len(got) != len(want) || gotProblem != wantProblem {
		return true
	}
	for i := range got {
		if !same(got[i], want[i]) {
			return true
		}
	}
	return false
}

// isRefused lists what we refuse although gojq has it.
func isRefused(source string) bool {
	for _, word := range []string{"env", "$ENV", "input", "debug", "halt", "builtins", "@foo"} {
		if strings.HasPrefix(source, word) {
			return true
		}
	}
	return false
}

// isKnownDifference lists where we differ from gojq on purpose; TestDifferences says how.
func isKnownDifference(source, problem string) bool {
	return strings.Contains(source, "fromjson") && strings.Contains(problem, "fromjson") ||
		source == "last(.[]?) |= 5" && strings.HasPrefix(problem, "invalid path")
}
