package expr

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/sample"
)

// hostile are expressions that would run without end or use all memory. Each of them must end
// with a limit, or with a result where the table says so.
var hostile = []struct {
	source string
	ends   bool // with a result or an ordinary error, because the work is small after all
}{
	{`[range(1e12)]`, false},
	{`last(range(1e12))`, false},
	{`reduce range(1e12) as $i (0; . + $i)`, false},
	{`repeat(.)`, true}, // the first result is there at once
	{`[repeat(.)]`, false},
	{`[limit(1e9; repeat(0))]`, false},
	{`last(repeat(1))`, false},
	{`null | setpath([400000000]; 1)`, false},
	{`null | .[400000000] = 1`, false},
	{`null | .[999999] = 1 | .[1000000] = 1`, false},
	{`reduce range(20) as $i (7; . * .)`, false},
	{`reduce range(5000) as $i (1; . * 9999999999999999999999)`, false},
	{`[limit(10000; 3 | recurse(. * .))]`, false},
	{`reduce range(40) as $i ("ab"; . + .)`, false},
	{`reduce range(40) as $i ([0]; . + .)`, false},
	{`reduce range(60) as $i ([0]; [., .])`, false},
	{`reduce range(60) as $i ([0]; {a: ., b: .})`, false},
	{`reduce range(60) as $i ([0]; [., .]) | tojson`, false},
	{`reduce range(60) as $i ([0]; [., .]) | flatten`, false},
	{`reduce range(60) as $i ([0]; [., .]) | [..] | length`, false},
	{`reduce range(60) as $i ([0]; [., .]) | . == (. | map(.))`, false},
	{`reduce range(60) as $i ({}; {a: ., b: .}) | . * .`, false},
	{`reduce range(60) as $i ([]; [., .]) | contains(map(.))`, false},
	{`reduce range(60) as $i ([]; [., .]) | [paths] | length`, false},
	{`reduce range(60) as $i ([]; [., .]) | [tostream] | length`, false},
	{`reduce range(60) as $i ([]; [., .]) | walk(.)`, false},
	{`reduce range(60) as $i ([]; [., .]) | [leaf_paths?]`, true}, // does not compile
	{`reduce range(60) as $i ([]; [., .]) | del(.. | select(. == 1))`, false},
	{`reduce range(60) as $i ([]; [., .]) | sort`, false},
	{`reduce range(100000) as $i (0; [.])`, false},
	{`reduce range(1000000) as $i (0; [.]) | tojson`, false},
	{`reduce range(1000000) as $i (0; [.]) | flatten`, false},
	{`reduce range(1000000) as $i (0; {a: .}) | .. | length`, false},
	{`reduce range(1000000) as $i (0; {a: .}) | [..] | length`, false},
	{`reduce range(1000000) as $i (0; [.]) | . == [.]`, false},
	{`reduce range(300000) as $i (0; [.]) | . == (. | map(.))`, false},
	{`"x" * 1e9`, false},
	{`"x" * 16000000 | . + .`, false},
	{`[range(100) | "x" * 16000000]`, false},
	{`"x" * 16000000 | [limit(1000; repeat(. + "")) | length] | add`, false},
	{`"x" * 16000000 | [limit(10000; repeat(.[1:])) | length] | add`, false},
	{`"x" * 16000000 | [limit(10000; repeat(.[5:6]))] | length`, false},
	{`"é" * 8000000 | [limit(100000; repeat(.[7999999]))] | length`, false},
	{`"x" * 16000000 | explode`, false},
	{`"x" * 16000000 | split("")`, false},
	{`"x" * 16000000 | [limit(100; repeat(@base64))] | length`, false},
	{`"x" * 16000000 | [limit(100; repeat(@uri))] | length`, false},
	{`"<" * 16000000 | @html`, false},
	{`"\u0000" * 16000000 | tojson`, false},
	{`"x" * 16000000 | [limit(100; repeat(ascii_upcase))] | length`, false},
	{`"x" * 1000000 | reduce range(30) as $i (.; @base64)`, false},
	{`"x" * 1000000 | reduce range(30) as $i (.; tojson)`, false},
	{`"\"" * 100 | reduce range(30) as $i (.; tojson)`, false},
	{`"x" * 10000000 | [limit(1e6; repeat(ltrimstr("x" * 1000000)))] | length`, false},
	{`[range(1000000)] | [limit(1000; repeat(first(.[])))] | add`, true}, // .[] costs nothing before its elements
	{`[range(100000)] | [limit(100000; repeat(length))] | add`, true},
	{`[range(1000)] | [limit(1e6; repeat(add))] | length`, false},
	{`[range(1000)] | [limit(1e6; repeat(join(",")))] | length`, false},
	{`[range(100000) | tostring] | [limit(1000; repeat(join("-")))] | length`, false},
	{`[range(1000)] | [limit(1e6; repeat(implode))] | length`, false},
	{`[range(12) | [range(10)]] | [combinations] | length`, false},
	{`[range(10)] | [combinations(12)] | length`, false},
	{`[range(1000)] | . as $a | [$a[] as $x | $a[] as $y | $a[] as $z | 1] | length`, false},
	{`[range(400000)] | [paths] | length`, true},
	{`[range(100000)] | [limit(1000; repeat(keys))] | length`, false},
	{`[range(100000)] | [limit(1000; repeat(reverse))] | length`, false},
	{`[range(100000)] | [limit(1000; repeat(sort))] | length`, false},
	{`[range(1000000) | -.] | sort | length`, true},
	{`[range(100000)] | [limit(1000; repeat(group_by(. % 7)))] | length`, false},
	{`[range(100000)] | [limit(1000; repeat(unique))] | length`, false},
	{`[range(3000)] | . - map(-. - 1)`, true},
	{`[range(30000)] | . - map(-. - 1)`, false},
	{`[range(30000)] | contains(map(-. - 1))`, true},
	{`[range(30000)] | contains([range(29999; 0; -1)])`, false},
	{`[range(100000)] | indices([range(50000)])`, true},
	{`[range(100000) | 0] | indices([range(50000) | 0])`, false},
	{`"a" * 1000000 | indices("a" * 500000)`, false},
	{`"a" * 1000000 | indices("a") | length`, true},
	{`[range(1000) | {a: .}] | [limit(1e6; repeat(to_entries))] | length`, false},
	{`reduce range(100000) as $i ({}; . + {"k\($i)": $i})`, false},
	{`reduce range(100000) as $i ({}; .["k\($i)"] = $i)`, false},
	{`reduce range(100000) as $i ([]; . + [$i])`, false},
	{`reduce range(100000) as $i (""; . + "x")`, false},
	{`[range(100000)] | .[] |= . + 1 | length`, true},
	{`[range(100000)] | (.[] | select(. % 2 == 0)) |= . + 1 | length`, true},
	{`[range(100000)] | del(.[] | select(. % 2 == 0)) | length`, true},
	{`[range(200)] | reduce range(10000) as $i (.; .[$i % 200] += 1) | add`, true},
	{`[range(1000)] | transpose?`, true},
	{`[range(1000) | [range(1000)]] | transpose | length`, true},
	{`[range(3000)] | [limit(1000; repeat([.]|transpose))] | length`, false},
	{`def f: f; f`, false},
	{`def f: 1 + f; f`, false},
	{`def f: f | f; f`, false},
	{`def f: [f]; f`, false},
	{`def f: f, f; [f]`, false},
	{`def f(g): f(g | g); f(.)`, false},
	{`def f(g): g | f(g); f(.)`, false},
	{`def f($x): f($x + 1); f(0)`, false},
	{`def f: . as $a | . as $b | . as $c | f | f; f`, false},
	{`def f: reduce 1 as $x (.; f); f`, false},
	{`def f: try f catch f; f`, false},
	{`def f: label $out | f; f`, false},
	{`def f: def g: f; g | g; f`, false},
	{`def f: {a: f}; f`, false},
	{`def f: {(f): 1}; f`, false},
	{`def f: "x\(f)"; f`, false},
	{`def f: .[f]; f`, false},
	{`def f: .[f:f]; f`, false},
	{`def f: reduce f as [$x, {a: $y}] (0; 1); f`, false},
	{`def f: foreach f as [$x] (0; 1; 2); f`, false},
	{`def f: foreach range(3) as $x (0; f; 2); [f]`, false},
	{`def f: path(f); f`, false},
	{`def f: (.a | f) |= f; f`, false},
	{`def f: .a |= f; f`, false},
	{`def f: .a = f; f`, false},
	{`def f: sub(f; f); f`, false},
	{`def f: limit(f; f); f`, false},
	{`def f: map(f)?, [f]; f`, false},
	{`def f: if f then f else f end; f`, false},
	{`def f: f // f; f`, false},
	{`def f: -f; f`, false},
	{`def f: . as {("a", "b"): $x} | [f]; [f]`, false},
	{`def f(g): [g | f(g)]; f(.)`, false},
	{`def f(a; b; c): [f(a | b; b | c; c | a)]; f(.; .; .)`, false},
	{`def f: [[[[[[[[[[[[[[[[[[[[f]]]]]]]]]]]]]]]]]]]]; f`, false},
	{`def f: sort_by(group_by(map(select(f)))); [1, 2] | f`, true}, // an ordinary error
	{`def f: with_entries(.value |= f); {a: 1} | f`, true},         // an ordinary error
	{`def f: walk(f); [[1]] | f`, false},
	{`def f: first(f); f`, false},
	{`def f: until(f; f); f`, false},
	{`def f: any(f; f); f`, false},
	{`def f: getpath([f]); f`, false},
	{`def f: test(f); f`, false},
	{`recurse(.)`, true},
	{`[recurse(.)]`, false},
	{`[recurse([.])]`, false},
	{`last(recurse(. + 1))`, true}, // null + 1 … never ends, but steps do
	{`until(false; .)`, false},
	{`until(false; [.])`, false},
	{`[while(true; .)]`, false},
	{`last(while(true; . + 1))`, false},
	{`first(range(1e18) | select(. < 0))`, false},
	{`[.] | until(length > 1e9; . + .)`, false},
	{`any(repeat(1); . == 2)`, false},
	{`isempty(repeat(empty))`, false},
	{`label $x | repeat(1, 2) | select(. == 3) | break $x`, false},
	{`try repeat(error("x")) catch .`, true},
	{`[limit(1e7; repeat(try error("x") catch .))] | length`, false},
	{`[range(100000)] | [limit(1e5; repeat(try error(.) catch 1))] | length`, true},
	{`[range(100000) | {key: "k\(.)", value: .}] | from_entries | [limit(10; repeat(try .[0] catch .))] | length`, true},
	{`[range(100000) | {key: "k\(.)", value: .}] | from_entries | [limit(100000; repeat(try .[0] catch .))] | length`, false},
	{`[range(100000) | {key: "k\(.)", value: .}] | from_entries | [limit(1000; repeat(first(.[])))] | length`, false},
	{`"a" * 100000 | test("(a*)*b")`, true},
	{`"a" * 100000 | test("(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)b")`, true},
	{`"a" * 100000 | test("(x{0,40}y?){20}z")`, false},
	{`"a" * 1000000 | gsub("a*b|a"; "")`, false},
	{`"a" * 200000 | [match("a*b|a"; "g")] | length`, false},
	{`"a" * 1000000 | gsub("a"; "b") | length`, true},
	{`"a" * 1000000 | gsub("(?<x>a)"; .x + .x)`, false},
	{`"a" * 1000000 | gsub(""; "xxxxxxxxxxxxxxxxxxxxxxxx") | length`, false},
	{`"a" * 900000 | [splits("")] | length`, true},
	{`"ab" * 1000000 | [scan("a")] | length`, false},
	{`"x" | test("x{1000}" * 100)`, true}, // longer than a pattern may be: a limit, see below
	{`"x" | test("((((x{10}){10}){10}))")`, true},
	{`"x" | test("(((((x{100}){100}){100})))")`, true},
	{`[limit(10000; repeat("a" | test("[a-z]{1,100}")))] | length`, true},
	{`[range(100000)] | map("\(.)" as $p | "a" | test($p)) | length`, false},
	{`[1e308, 1e308] | add | tojson`, true},
	{`jn(1e15; 1)`, false},
	{`yn(2e9; 3)`, false},
	{`"%1000d" * 1000 | . as $f | 0 | strftime($f) | length`, false},
	{`"%1000d" * 100 | . as $f | [limit(1e6; repeat(0 | strftime($f)))] | length`, false},
	{`"[" * 1000000 | fromjson`, true},
	{`"[" + ("[]," * 1000000) + "[]]" | fromjson | length`, true},
	{`"[" + ("{}," * 1000000) + "{}]" | fromjson | length`, false},
	{`"9" * 1000000 | tonumber`, false},
	{`"1" + ("0" * 1200) | tonumber | . * . | tostring`, false},
	{`"9" * 1000 | tonumber | [limit(1e6; repeat(tostring))] | length`, false},
	{`"9" * 1000 | tonumber | [limit(1e5; repeat(. + 1))] | length`, true},
	{`"9" * 1000 | tonumber | [limit(1e7; repeat(. == 1.5))] | length`, false},
	{`[limit(1e7; range(1; infinite))] | length`, false},
	{`[range(1000000)] | bsearch(5)`, true},
	{`[range(1000000)] | @csv | length`, true},
	{`[range(1000000)] | @sh | length`, true},
	{`[range(1000000) | tostring] | @tsv | length`, true},
	{`[range(1000000)] | tojson | length`, true},
	{`[range(1000000)] | tojson | fromjson | length`, true},
	{`[range(1000000)] | map(tostring) | add | length`, true},
	{`[range(1000000)] | map({a: .}) | length`, false},
	{`[range(1000000) | []] | flatten | length`, true},
	{`[range(1000000) | {}] | add | length`, true},
	{`reduce range(300) as $i (null; [.]) | getpath([range(300) | 0])`, true},
	{`[range(10000) | 0] as $p | null | setpath($p; 1)`, false},
	{`[range(10000) | 0] as $p | null | setpath($p; 1) | getpath($p)`, true},
	{`[range(1000000) | "a"] as $p | null | getpath($p)`, true},
	{`[range(1000000) | [.]] as $p | [] | delpaths($p)`, true},
	{`[limit(1000000; repeat([0]))] as $p | [1] | delpaths($p)`, false},
	{`getpath([range(1e9)])`, false},
	{`[range(1000000)] | tostream | length`, true},
	{`[range(1000000)] | [tostream] | length`, false},
	{`fromstream(repeat([[0], 1]))`, false},
	{`INDEX(range(1000000); .) | length`, false},
	{`INDEX(range(100000); .) | length`, true},
	{`input_line_number`, true},
	{`$__loc__`, true},
	{`env`, true},
	{`splits("a"; null)`, true},
	{`@sh`, true},
	{`"\(range(1e9))" | select(. == "x")`, false},
	{`{a: range(1e9)} | select(.a < 0)`, false},
	{`[range(1e9)] | tojson`, false},
	{`. as [$a, $b] ?// $c | [limit(1e9; repeat($c))]`, false},
	{`limit(1e18; repeat(1)) | select(. == 2)`, false},
	{`nth(1e15; repeat(1))`, false},
	{`skip(1e15; repeat(1))`, false},
	{`ltrimstr("x")`, true},
	{`foreach repeat(1) as $x (0; . + $x; select(. < 0))`, false},
	{`walk(walk(walk(.)))`, true},
	{`{} | .[range(1e6)|tostring] = 1`, false},
	{`{} | .[range(1e6)|tostring] += 1`, false},
	{`{} | .[range(100000)|tostring] = 1 | length`, true},
	{`{} | .[range(30000)|tostring].a = 1 | (.[range(30000)|tostring], .) |= . | length`, true},
	{`[range(100000) | todate] | length`, true},
	{`[range(50000) | todate | fromdate] | length`, true},
	{`[range(1000) | strftime("%1024d" * 600)]`, false},
	{`[range(10000000) | todate]`, false},
	{`[range(50)] | walk(walk(walk(.)))`, true},
}

// What one evaluation may take: memory from the system, and processor time with that of the
// garbage collector, which runs beside it.
const (
	maxGrowth = 256 << 20
	maxTime   = 2 * time.Second
)

func TestHostileExpressionsHitALimit(t *testing.T) {
	previous := debug.SetGCPercent(100)
	defer debug.SetGCPercent(previous)
	env := &testEnv{}
	var slowest, total time.Duration
	var largest uint64
	every := 3
	if raceFactor > 1 {
		every = 10 // one evaluation is one goroutine: the race detector finds nothing here and takes ten times as long
	}
	first, step := sample.Every(t, every)
	for i := first - 1; i < len(hostile); i += step {
		tt := hostile[i]
		e, err := Compile(tt.source, nil)
		if err != nil {
			if !tt.ends {
				t.Errorf("%s: %v", tt.source, err)
			}
			continue
		}
		debug.FreeOSMemory()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := cpuTime()
		v, err := e.Eval(nil, env)
		took := cpuTime() - start
		runtime.ReadMemStats(&after)
		growth := after.Sys - after.HeapReleased - (before.Sys - before.HeapReleased)
		if int64(growth) < 0 {
			growth = 0
		}
		total += took
		if took > slowest {
			slowest = took
		}
		largest = max(largest, growth)
		var problem *EvalError
		switch {
		case tt.ends && errors.As(err, &problem) && problem.Limit && !strings.Contains(tt.source, "x{1000}") && !strings.Contains(tt.source, "recurse(. + 1)") && !strings.Contains(tt.source, "){100}"):
			t.Errorf("%s: unexpected limit: %v", tt.source, err)
		case !tt.ends && (!errors.As(err, &problem) || !problem.Limit):
			t.Errorf("%s: %.100s, %v; want a limit", tt.source, fmt.Sprint(v), err)
		}
		if problem != nil && problem.Limit && !strings.HasSuffix(problem.Detail, ".") {
			t.Errorf("%s: %q is no sentence", tt.source, problem.Detail)
		}
		if took > maxTime*raceFactor {
			t.Errorf("%s: took %v", tt.source, took)
		}
		if growth > maxGrowth*raceFactor {
			t.Errorf("%s: took %d MiB", tt.source, growth>>20)
		}
		if testing.Verbose() && (took > 300*time.Millisecond || growth > 64<<20) {
			t.Logf("%-90s %8v %5d MiB  %v", tt.source, took.Round(time.Millisecond), growth>>20, err)
		}
	}
	t.Logf("total %v", total)
	t.Logf("slowest %v, largest %d MiB", slowest, largest>>20)
}
