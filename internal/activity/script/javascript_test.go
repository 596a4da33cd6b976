package script_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/activity/process"
	"github.com/chargehand/chargehand/internal/activity/script"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

func TestJavaScriptValues(t *testing.T) {
	r := newRunner(t, script.Limits{})
	for name, tc := range map[string]struct {
		code string
		args object
		want value.Value // under stdout
	}{
		"console":           {`console.log("a", 1, {b: [true, null]}, undefined, 2n)`, nil, `a 1 {"b":[true,null]} undefined 2n`},
		"console format":    {`console.log("%s is %d%%", "x", "5", "more")`, nil, `x is 5% more`},
		"console error":     {`console.error("no")`, nil, ``},
		"line breaks":       {`console.log("a\n\n")`, nil, `a`},
		"no output":         {`1 + 1`, nil, ``},
		"object":            {`return {a: 1, b: [1.5, "x", null, true]}`, nil, object{"a": 1, "b": []any{1.5, "x", nil, true}}},
		"value wins":        {`console.log("text"); return 7`, nil, 7},
		"null":              {`return null`, nil, nil},
		"undefined":         {`console.log("text"); return undefined`, nil, `text`},
		"function":          {`console.log("text"); return () => 1`, nil, `text`},
		"text":              {`return "x\n"`, nil, "x\n"},
		"await":             {`const a = await Promise.resolve(3); return a + 1`, nil, 4},
		"promise":           {`return Promise.resolve([1])`, nil, []any{1}},
		"timers":            {`const order = []; setTimeout(() => order.push("b"), 20); setTimeout(() => order.push("a"), 1); await new Promise(r => setTimeout(r, 40)); return order`, nil, []any{"a", "b"}},
		"timer after end":   {`setTimeout(() => console.log("later"), 5); console.log("now")`, nil, "now\nlater"},
		"interval":          {`let n = 0; await new Promise(r => { const i = setInterval(() => { if (++n == 3) { clearInterval(i); r() } }, 1) }); return n`, nil, 3},
		"list":              {`return process.argv.slice(2)`, object{"arguments": []any{"a b", 1, true, nil, object{"x": 1}}}, []any{"a b", "1", "true", "", `{"x":1}`}},
		"map":               {`return [name, count + 1, list.length, JSON.parse(process.argv[2]).name]`, object{"arguments": object{"name": "Zoë", "count": 1, "list": []any{1, 2}}}, []any{"Zoë", 2, 2, "Zoë"}},
		"map shadowed":      {`const name = 1; let count = 2; return name + count`, object{"arguments": object{"name": "x", "count": 5}}, 3},
		"map assigned":      {`count += 1; return count`, object{"arguments": object{"count": 5}}, 6},
		"map of globals":    {`return [JSON, Promise, console, Object, __proto__]`, object{"arguments": object{"JSON": 1, "Promise": 2, "console": 3, "Object": 4, "__proto__": 5}}, []any{1, 2, 3, 4, 5}},
		"data is no code":   {`return text`, object{"arguments": object{"text": "\"+process.exit(1)+\"`${1}`\u2028</script>\x00"}}, "\"+process.exit(1)+\"`${1}`\u2028</script>\x00"},
		"environment":       {`return process.env`, object{"environment": object{"foo": "bar", "n": 1, "none": nil}}, object{"foo": "bar", "n": "1"}},
		"stdin":             {`return require("fs").readFileSync(0, "utf8")`, object{"stdin": "Hello ✓"}, "Hello ✓"},
		"stdin bytes":       {`return [...require("fs").readFileSync(0)]`, object{"stdin": "é"}, []any{195, 169}},
		"stdin value":       {`return JSON.parse(require("fs").readFileSync("/dev/stdin", "utf8")).a`, object{"stdin": object{"a": 1}}, 1},
		"module":            {"import { readFileSync } from 'node:fs'\nimport process from 'node:process'\nconst x = await 5;\nconsole.log(readFileSync(0, 'utf8'), x, process.argv.length)", object{"stdin": "in"}, "in 5 2"},
		"module value":      {`export default {a: await 1}`, nil, object{"a": 1}},
		"exit":              {`console.log("a"); try { process.exit(0) } finally { console.log("b") } console.log("c")`, nil, "a"},
		"stdout write":      {`process.stdout.write("a"); process.stdout.write("b")`, nil, "ab"},
		"own toJSON":        {`return {toJSON() { return "mine" }}`, nil, "mine"},
		"broken globals":    {`JSON.stringify = Promise.prototype.then = Array.prototype.map = null; globalThis.Promise = 1; return {a: 1}`, nil, object{"a": 1}},
		"group by":          {`return Object.groupBy([1, 2, 3], n => n % 2 ? "odd" : "even")`, nil, object{"odd": []any{1, 3}, "even": []any{2}}},
		"map group by":      {`return [...Map.groupBy([1, 2, 3], n => n % 2)]`, nil, []any{[]any{1, []any{1, 3}}, []any{0, []any{2}}}},
		"array from async":  {`return await Array.fromAsync((async function* () { yield 1; yield 2 })())`, nil, []any{1, 2}},
		"with resolvers":    {`const {promise, resolve} = Promise.withResolvers(); resolve(9); return promise`, nil, 9},
		"well formed":       {`return ["a\ud800".isWellFormed(), "a\ud800".toWellFormed()]`, nil, []any{false, "a\ufffd"}},
		"array buffer":      {`const b = new ArrayBuffer(4, {maxByteLength: 8}); b.resize(8); return [b.byteLength, b.transfer(2).byteLength]`, nil, []any{8, 2}},
		"regexp v":          {`return /^\p{Emoji_Keycap_Sequence}$/v.test("1️⃣")`, nil, true},
		"array copies":      {`const a = [3, 1, 2]; return [a.toSorted(), a.toReversed(), a.with(0, 9), a]`, nil, []any{[]any{1, 2, 3}, []any{2, 1, 3}, []any{9, 1, 2}, []any{3, 1, 2}}},
		"javascript is js":  {`return 1`, object{"language": "javascript"}, 1},
		"return in a text":  {`console.log("import x from 'y'; export default 1")`, nil, "import x from 'y'; export default 1"},
		"comment at end":    {`return 1 // done`, nil, 1},
		"use strict":        {`"use strict"; return this === undefined`, nil, true},
		"handled at last":   {`const p = Promise.reject(1); await 1; await 2; return await p.catch(n => n + 1)`, nil, 2},
		"handled by all":    {`return (await Promise.allSettled([Promise.reject(1), Promise.reject(2)])).length`, nil, 2},
		"all but one":       {`try { await Promise.all([Promise.reject(1), Promise.reject(2)]) } catch (n) { return n }`, nil, 1},
		"lost the race":     {`return await Promise.race([1, Promise.reject(2)])`, nil, 1},
		"many handled":      {`let n = 0; for (let i = 0; i < 5000; i++) Promise.reject(i).catch(() => n++); await new Promise(r => setTimeout(r, 1)); return n`, nil, 5000},
		"regular functions": {`function f(n) { return n < 2 ? n : f(n - 1) + f(n - 2) } return f(10)`, nil, 55},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := parts(t, run(t, r, "js", tc.code, tc.args))
			if code != 0 || !value.Equal(stdout, tc.want) {
				t.Errorf("code %d, stdout %#v, want %#v; stderr %s", code, stdout, tc.want, stderr)
			}
		})
	}
}

func TestJavaScriptFailures(t *testing.T) {
	r := newRunner(t, script.Limits{})
	for name, tc := range map[string]struct {
		code   string
		status int
		stderr []string // all in it
	}{
		"throw":              {"\nthrow new TypeError('no')", 1, []string{"TypeError: no", "script.js:2"}},
		"throw a text":       {`throw "no"`, 1, []string{"Uncaught no"}},
		"throw null":         {`throw null`, 1, []string{"Uncaught null"}},
		"cause":              {`throw new Error("a", {cause: new Error("b")})`, 1, []string{"Error: a", "cause: Error: b"}},
		"in a module":        {"import 'fs'\n\nthrow new Error('no')", 1, []string{"Error: no", "script.js:3"}},
		"in a function":      {"function inner() {\n  null.x\n}\ninner()", 1, []string{"TypeError", "script.js:2", "script.js:4"}},
		"rejected":           {`await Promise.reject(new Error("no"))`, 1, []string{"Error: no"}},
		"in a timer":         {`setTimeout(() => { throw new Error("late") }, 1)`, 1, []string{"Error: late"}},
		"without await":      {"\n(async () => { throw new TypeError(7) })(); console.log(1)", 1, []string{"TypeError: 7", "script.js:2"}},
		"rejected unseen":    {`Promise.reject("no"); return 1`, 1, []string{"Uncaught no"}},
		"rejected later":     {`setTimeout(() => { Promise.reject(new Error("late")) }, 1); return 1`, 1, []string{"Error: late"}},
		"rejected after all": {`(async () => { await 1; await 2; throw new Error("deep") })(); return 1`, 1, []string{"Error: deep"}},
		"caught too late":    {`const p = Promise.reject(new Error("no")); await new Promise(r => setTimeout(r, 1)); await p.catch(() => 1)`, 1, []string{"Error: no"}},
		"finally":            {`Promise.reject(new Error("no")).finally(() => 1); return 1`, 1, []string{"Error: no"}},
		"the second is left": {`const a = Promise.reject(1), b = Promise.reject(2); await a.catch(() => 1); return 1`, 1, []string{"Uncaught 2"}},
		"rejected module":    {"import 'fs'\nPromise.reject(new Error('no'))", 1, []string{"Error: no"}},
		"microtask":          {`queueMicrotask(() => { throw new Error("soon") }); return 1`, 1, []string{"Error: soon"}},
		"rejected by hand":   {`Promise.reject(new Proxy({}, {get() { throw 1 }})); return 1`, 1, []string{"Uncaught"}},
		"syntax":             {"let a = 1\nlet = }", 1, []string{"SyntaxError"}},
		"syntax of a module": {"import { x from 'fs'", 1, []string{"SyntaxError"}},
		"unknown module":     {"import x from 'left-pad'", 1, []string{`"left-pad"`}},
		"exit code":          {`console.error("bye"); process.exit(3)`, 3, []string{"bye"}},
		"exit code kept":     {`process.exitCode = 4`, 4, nil},
		"caught exit":        {`try { process.exit(5) } catch { } process.exit(6)`, 5, nil},
		"unsettled":          {`await new Promise(() => {})`, 13, []string{"waits for a promise"}},
		"no JSON":            {`const a = {}; a.a = a; return a`, 1, []string{"no JSON", "circular"}},
		"big integer":        {`return 1n`, 1, []string{"no JSON"}},
		"file":               {`require("fs").readFileSync("/etc/passwd")`, 1, []string{"scripts have no files"}},
		"deep recursion":     {`(function f() { f() })()`, 1, []string{"stack overflow"}},
	} {
		t.Run(name, func(t *testing.T) {
			code := 1
			var stderr string
			if result := run(t, r, "js", tc.code, nil); result.Fault == nil {
				code, _, stderr = parts(t, result)
			} else if stderr = result.Fault.Detail; result.Fault.Type != machine.ErrRuntime || tc.status != 1 {
				t.Errorf("fault %+v, want code %d", result.Fault, tc.status)
			}
			if code != tc.status {
				t.Errorf("code %d, want %d; stderr %s", code, tc.status, stderr)
			}
			for _, want := range tc.stderr {
				if !strings.Contains(stderr, want) {
					t.Errorf("stderr %q lacks %q", stderr, want)
				}
			}
		})
	}
}

// TestJavaScriptHasNoHost looks at what a script can reach.
func TestJavaScriptHasNoHost(t *testing.T) {
	t.Setenv("CHARGEHAND_SECRET", "do-not-tell")
	r := newRunner(t, script.Limits{})
	code, stdout, stderr := parts(t, run(t, r, "js", `
		const reach = {};
		for (const name of ["std", "os", "bjs", "scriptArgs", "print", "load", "fetch", "XMLHttpRequest", "Worker", "Deno", "Bun",
			"__write", "__exit", "__resolve", "__now", "__start", "__loadScript", "navigator", "WebSocket"])
			if (name in globalThis) reach[name] = typeof globalThis[name];
		for (const name of ["std", "os", "qjs:std", "qjs:os", "node:child_process", "node:net", "/etc/passwd", "./x.js", "file:///etc/passwd"])
			try { await import(name); reach[name] = "imported" } catch {}
		try { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0); reach.wait = true } catch {}
		reach.env = Object.keys(process.env).length;
		return reach`, nil))
	if want := (object{"env": 0}); code != 0 || !value.Equal(stdout, want) {
		t.Errorf("a script reaches %v (code %d, %s), want %v", stdout, code, stderr, want)
	}
}

// TestLongHostileJavaScript runs what breaks engines. Whatever becomes of the script, the next
// one must run, and none may take much longer than its time.
func TestLongHostileJavaScript(t *testing.T) {
	limit := 700 * time.Millisecond
	r := newRunner(t, script.Limits{Time: limit, Grace: limit / 2, MemoryBytes: 64 << 20, OutputBytes: 1 << 20})
	for name, tc := range map[string]struct{ code, want string }{
		"endless loop":               {`for (;;);`, "ran longer than 700ms"},
		"endless loop that catches":  {`for (;;) try { for (;;); } catch {}`, "ran longer than 700ms"},
		"endless loop in finally":    {`try { for (;;); } finally { for (;;); }`, "ran longer than 700ms"},
		"endless promises":           {`function f() { return Promise.resolve().then(f) } return f()`, "ran longer than 700ms|memory"},
		"endless await":              {`for (;;) await 0`, "ran longer than 700ms"},
		"endless timers":             {`setInterval(() => {}, 1)`, "ran longer than 700ms"},
		"timers that breed":          {`function f() { setTimeout(f); setTimeout(f) } f()`, "ran longer than 700ms|memory"},
		"sleep":                      {`await new Promise(r => setTimeout(r, 1e9))`, "ran longer than 700ms"},
		"loop without interrupts":    {`Array.prototype.indexOf.call({length: Number.MAX_SAFE_INTEGER}, 1)`, "ran longer than 700ms"},
		"join of nothing":            {`const a = []; a.length = 4e9; a.join("")`, "ran longer than 700ms|memory|code"},
		"deep json":                  {`let a = []; for (let i = 0; i < 1e6; i++) a = [a]; return a`, "code|too deep|ran longer than 700ms|memory"},
		"deep json text":             {`JSON.parse("[".repeat(1e6))`, "code"},
		"recursion":                  {`function f() { return f() + 1 } f()`, "code"},
		"recursion through map":      {`function f() { [1].map(f) } f()`, "code"},
		"recursion through getter":   {`class A { get x() { return this.x } } new A().x`, "code"},
		"recursion through proxy":    {`const p = new Proxy({}, {get(t, k, r) { return r[k] }}); p.x`, "code"},
		"recursion through string":   {"const o = {toString() { return `${o}` }}; `${o}`", "code"},
		"recursion that catches":     {`function f() { try { f() } finally { f() } } f()`, "ran longer than 700ms|code"},
		"recursion in sort":          {`function f() { [2, 1].sort(f) } f()`, "code"},
		"recursion in replace":       {`function f() { "a".replace(/a/, f) } f()`, "code"},
		"recursion in generators":    {`function* g() { yield* g() } [...g()]`, "code"},
		"deep source":                {`eval("(".repeat(1e6))`, "code"},
		"deep functions":             {`eval("()=>".repeat(1e5) + 1)`, "code"},
		"deep templates":             {"eval('`${'.repeat(1e5))", "code"},
		"huge array":                 {`new Array(2 ** 32 - 1).fill(0)`, "memory|ran longer than 700ms"},
		"huge arrays":                {`const a = []; for (;;) a.push(new Array(1e5).fill(a.length))`, "memory"},
		"huge array from":            {`Array.from({length: 1e9})`, "memory|ran longer than 700ms"},
		"huge string":                {`let s = "x"; for (;;) s += s`, "memory|code"},
		"huge strings":               {`const a = []; for (let i = 0; ; i++) a.push("x".repeat(1e5) + i)`, "memory"},
		"huge buffer":                {`new ArrayBuffer(4e9)`, "memory|code"},
		"huge buffers":               {`const a = []; for (;;) a.push(new Uint8Array(1e7))`, "memory"},
		"huge map":                   {`const m = new Map(); for (let i = 0; ; i++) m.set(i, {})`, "memory"},
		"huge object":                {`const o = {}; for (let i = 0; ; i++) o["k" + i] = i`, "memory|ran longer than 700ms"},
		"huge list":                  {`let a = null; for (;;) a = {a}`, "memory"},
		"huge integer":               {`let n = 3n; for (;;) n *= n`, "memory|code|ran longer than 700ms"},
		"huge power":                 {`(2n ** 30n) ** (2n ** 20n)`, "memory|code|ran longer than 700ms"},
		"huge integer text":          {`return BigInt("9".repeat(1e6)).toString().length`, "memory|code|ran longer than 700ms|ok"},
		"catastrophic regexp":        {`/^(a+)+$/.test("a".repeat(50) + "b")`, "ran longer than 700ms"},
		"regexp of lookaheads":       {`/(?=(a*)*b)/.test("a".repeat(1e6))`, "ran longer than 700ms|memory|code"},
		"regexp backtrack stack":     {`/(?:a|b)*$/.test("ab".repeat(5e6) + "c")`, "memory|code|ran longer than 700ms"},
		"huge regexp":                {`new RegExp("(?:".repeat(1e5) + "a" + "){1,100}".repeat(1e5))`, "ran longer than 700ms|code|memory"},
		"deep regexp":                {`new RegExp("(?:".repeat(1e6) + ")".repeat(1e6))`, "code"},
		"regexp classes":             {`new RegExp("[" + "\\u{10FFFF}-\\u{10FFFF}".repeat(1e5) + "]", "u").test("x")`, "ran longer than 700ms|code|memory|ok"},
		"huge output":                {`for (;;) console.log("x".repeat(1000))`, "wrote more than 1 MiB"},
		"huge output that catches":   {`for (;;) try { console.log("x".repeat(1000)) } catch {}`, "wrote more than 1 MiB"},
		"huge value":                 {`return "x".repeat(2e7)`, "memory|cannot be kept|ok"},
		"endless toJSON":             {`return {toJSON() { for (;;); }}`, "ran longer than 700ms"},
		"growing toJSON":             {`return {toJSON() { return {a: this} }}`, "code|ran longer than 700ms"},
		"endless getter of argv":     {`Object.defineProperty(process, "exitCode", {get() { for (;;); }}); return 1`, "ran longer than 700ms"},
		"exit in a loop":             {`for (;;) try { process.exit(0) } catch {}`, "ok"},
		"thrown proxy":               {`throw new Proxy({}, {get() { throw 1 }})`, "code"},
		"error with a hostile stack": {`const e = new Error("x"); Object.defineProperty(e, "stack", {get() { for (;;); }}); throw e`, "ran longer than 700ms"},
		"finalizers":                 {`const r = new FinalizationRegistry(() => { for (;;); }); for (let i = 0; i < 1000; i++) r.register({}, i)`, "ok|ran longer than 700ms"},
		"weak references":            {`const a = []; for (;;) { const o = {}; a.push(new WeakRef(o)); o.a = a }`, "memory|ran longer than 700ms"},
		"atomics":                    {`const a = new Int32Array(new SharedArrayBuffer(4)); Atomics.wait(a, 0, 0)`, "code"},
		"dynamic import loop":        {`for (;;) await import("fs").catch(() => {})`, "ran longer than 700ms|memory"},
		"imports of itself":          {`await import("script.js")`, "code|ok|ran longer than 700ms|memory"},
		"symbols":                    {`for (let i = 0; ; i++) Symbol.for("s" + i)`, "memory|ran longer than 700ms"},
		"bound functions":            {`let f = () => 1; for (let i = 0; i < 1e5; i++) f = f.bind(null, i); f()`, "memory|code"},
		"proxies":                    {`let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); p.x`, "code|memory"},
		"flat":                       {`let a = []; for (let i = 0; i < 2e5; i++) a = [a]; a.flat(Infinity)`, "code|memory"},
		"spread":                     {`Math.max(...new Array(1e7).fill(1))`, "code|memory|ran longer than 700ms"},
		"replace that grows":         {`"a".repeat(1e6).replace(/a/g, "b".repeat(1e4))`, "memory|code"},
		"pad":                        {`"x".padEnd(2 ** 30)`, "memory|code"},
		"sort without order":         {`new Array(1e6).fill(0).map(Math.random).sort(() => { for (;;); })`, "ran longer than 700ms|memory"},
		"typed sort":                 {`new Float64Array(5e6).map(Math.random).sort((a, b) => Math.random() - 0.5)`, "ran longer than 700ms|memory|ok"},
		"date texts":                 {`for (;;) new Date("9".repeat(1e5))`, "ran longer than 700ms"},
		"normalise":                  {`for (;;) "\u0344".repeat(1e5).normalize("NFKD")`, "ran longer than 700ms|memory"},
		"uncaught in many":           {`for (let i = 0; i < 1e3; i++) Promise.reject(i)`, "code 1: Uncaught 0"},
		"rejected without end":       {`for (;;) Promise.reject(1)`, "ran longer than 700ms|memory"},
		"handled the wrong way":      {`const a = []; for (let i = 0; i < 1e5; i++) a.push(Promise.reject(i)); for (const p of a) p.catch(() => 1)`, "ok|memory"},
		"rejected by a trap":         {`Promise.reject(new Proxy(new Error("x"), {get() { for (;;); }}))`, "ran longer than 700ms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begin := time.Now()
			result := run(t, r, "js", tc.code, nil)
			took := time.Since(begin)
			if took > limit+30*time.Second {
				t.Errorf("it took %s", took)
			}
			became := "ok"
			if result.Fault != nil {
				became = strings.Replace(result.Fault.Detail, "the script ended with an error", "code 1", 1)
			} else if code := result.Output.(object)["code"]; code != 0 {
				became = fmt.Sprintf("code %v: %v", code, result.Output.(object)["stderr"])
			}
			// A busy machine may not get to the other end in time.
			known := strings.Contains(became, "ran longer than 700ms")
			for want := range strings.SplitSeq(tc.want, "|") {
				known = known || strings.HasPrefix(became, want) || want != "ok" && strings.Contains(became, want)
			}
			if !known {
				t.Errorf("became %.300q, want %s", became, tc.want)
			}
			t.Logf("%s: %.100q", took.Round(time.Millisecond), became)
			// On a machine that is busy with others this one may need more than its time, too.
			eventually(t, "the next script runs", func() bool {
				next := run(t, r, "js", `return 6 * 7`, object{"return": "stdout"})
				if next.Fault == nil && !value.Equal(next.Output, 42) {
					t.Fatalf("the next script returned %v", next.Output)
				}
				return next.Fault == nil
			})
		})
	}
}

// TestJavaScriptRejectsUntilMemoryEnds fills the memory with rejections, so that the engine has none
// left to note its last error: what the script rejected before is not why it ended.
func TestJavaScriptRejectsUntilMemoryEnds(t *testing.T) {
	r := newRunner(t, script.Limits{MemoryBytes: 16 << 20})
	result := run(t, r, "js", `for (;;) Promise.reject(1)`, nil)
	if result.Fault == nil || !strings.Contains(result.Fault.Detail, "used more than 16 MiB of memory") {
		t.Errorf("became %+v, fault %+v, want the limit of memory", result.Output, result.Fault)
	}
}

func TestJavaScriptReturnModes(t *testing.T) {
	r := newRunner(t, script.Limits{})
	const good, bad = `console.log("out"); console.error("err")`, `console.log("out"); console.error("why"); process.exit(2)`
	for _, tc := range []struct {
		mode, code string
		want       value.Value
		fault      string
	}{
		{"stdout", good, "out", ""},
		{"stderr", good, "err", ""},
		{"code", good, 0, ""},
		{"none", good, nil, ""},
		{"all", good, object{"code": 0, "stdout": "out", "stderr": "err", "files": []any{}}, ""},
		{"stdout", bad, nil, "exit code 2; stderr: why"},
		{"none", bad, nil, "exit code 2; stderr: why"},
		{"stderr", bad, "why", ""},
		{"code", bad, 2, ""},
		{"all", bad, object{"code": 2, "stdout": "out", "stderr": "why", "files": []any{}}, ""},
		{"code", `throw new Error("thrown")`, nil, "the script ended with an error: Error: thrown"},
		{"all", "let = }", nil, "SyntaxError"},
		{"stderr", `await Promise.reject(1)`, nil, "the script ended with an error"},
		{"", good, "out", ""},
		{"both", good, nil, "not one of"},
	} {
		t.Run(tc.mode, func(t *testing.T) {
			result := run(t, r, "js", tc.code, object{"return": tc.mode})
			switch {
			case tc.fault == "" && result.Fault != nil:
				t.Errorf("fault %v", result.Fault)
			case tc.fault == "" && !value.Equal(result.Output, tc.want):
				t.Errorf("output %#v, want %#v", result.Output, tc.want)
			case tc.fault != "" && (result.Fault == nil || !strings.Contains(result.Fault.Detail, tc.fault)):
				t.Errorf("fault %v, want %q", result.Fault, tc.fault)
			}
		})
	}
}

func TestJavaScriptStopsWhenAsked(t *testing.T) {
	r := newRunner(t, script.Limits{})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	begin := time.Now()
	r.Run(ctx, activity.Call{Args: object{"language": "js", "code": `Array.prototype.indexOf.call({length: 2 ** 53 - 1}, 1)`}})
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("it took %s to stop", took)
	}
}

func TestJavaScriptRunsSideBySide(t *testing.T) {
	r := newRunner(t, script.Limits{Workers: 3})
	results := make(chan activity.Result)
	for i := range 12 {
		go func() {
			results <- r.Run(t.Context(), activity.Call{Args: object{"language": "js", "code": `await new Promise(r => setTimeout(r, 10)); return n * 2`, "arguments": object{"n": i}}})
		}()
	}
	sum := 0
	for range 12 {
		result := <-results
		if result.Fault != nil {
			t.Fatal(result.Fault)
		}
		sum += result.Output.(int)
	}
	if sum != 132 {
		t.Errorf("sum %d, want 132", sum)
	}
}

// TestScriptsDoNotMeet makes sure that nothing of one script is left for the next.
func TestScriptsDoNotMeet(t *testing.T) {
	r := newRunner(t, script.Limits{Workers: 1})
	run(t, r, "js", `globalThis.leak = 1; Object.prototype.leak = 2; Symbol.for("chargehand.modules"); console.log = null; process.env.leak = "3"`, object{"environment": object{"own": "x"}})
	_, stdout, _ := parts(t, run(t, r, "js", `return [typeof leak, typeof {}.leak, Object.keys(process.env), typeof console.log]`, nil))
	if !value.Equal(stdout, []any{"undefined", "undefined", []any{}, "function"}) {
		t.Errorf("the next script saw %v", stdout)
	}
}

func TestIdleWorkersEnd(t *testing.T) {
	r := newRunner(t, script.Limits{Idle: time.Millisecond})
	run(t, r, "js", `return 1`, nil)
	eventually(t, "the idle worker has ended", func() bool { return len(children(os.Getpid())) == 0 })
}

func TestWorkersThatDiedWaitingAreReplaced(t *testing.T) {
	r := newRunner(t, script.Limits{})
	run(t, r, "js", `return 1`, nil)
	for _, pid := range children(os.Getpid()) {
		id, err := strconv.Atoi(pid)
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(id, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the worker is dead", func() bool { return cpuTicks(pid) < 0 })
	}
	if code, stdout, stderr := parts(t, run(t, r, "js", `return 2`, nil)); stdout != 2 {
		t.Errorf("code %d, stdout %v, stderr %s", code, stdout, stderr)
	}
}

// children lists the children of a process.
func children(pid int) []string {
	var found []string
	tasks := fmt.Sprintf("/proc/%d/task", pid)
	threads, _ := os.ReadDir(tasks)
	for _, thread := range threads {
		if text, err := os.ReadFile(tasks + "/" + thread.Name() + "/children"); err == nil {
			found = append(found, strings.Fields(string(text))...)
			// The launcher of supervisors stays: a test before this one may have started it.
			found = slices.DeleteFunc(found, func(pid string) bool {
				line, _ := os.ReadFile("/proc/" + pid + "/cmdline")
				return strings.HasSuffix(string(line), "\x00launch\x00")
			})
		}
	}
	return found
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); <-time.After(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not after a minute: %s", what)
		}
	}
}

// serve is the server of TestWorkersDieWithTheServer: its only script never ends.
func serve(scratch string) int {
	confiner, err := process.New(process.Config{Scratch: scratch})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	r := script.New(script.Config{Confiner: confiner})
	r.Run(context.Background(), activity.Call{Args: object{"language": "js", "code": `Array.prototype.indexOf.call({length: 2 ** 53 - 1}, 1)`}})
	return 0
}

func TestWorkersDieWithTheServer(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	server := exec.Command(self, "serve", filepath.Join(t.TempDir(), "scratch"))
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Process.Kill() }()
	var worker string
	eventually(t, "a worker runs the script", func() bool {
		workers := children(server.Process.Pid)
		if len(workers) == 0 {
			return false
		}
		worker = workers[0]
		return cpuTicks(worker) > 10 // it is past its start and in the loop
	})
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = server.Wait()
	eventually(t, "the worker is gone", func() bool { return cpuTicks(worker) < 0 })
}

// cpuTicks is the time that a process has used in hundredths of a second; -1: it has ended.
func cpuTicks(pid string) int {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return -1
	}
	text := string(stat)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if fields[0] == "Z" || fields[0] == "X" {
		return -1
	}
	ticks, err := strconv.Atoi(fields[11])
	if err != nil {
		return -1
	}
	return ticks
}

func TestUnknownLanguage(t *testing.T) {
	r := newRunner(t, script.Limits{})
	result := run(t, r, "ruby", `puts 1`, nil)
	if result.Fault == nil || result.Fault.Type != machine.ErrConfiguration || !strings.Contains(result.Fault.Detail, `"ruby"`) {
		t.Errorf("fault %v", result.Fault)
	}
}

func BenchmarkJavaScript(b *testing.B) {
	r := newRunner(b, script.Limits{})
	call := activity.Call{Args: object{"language": "js", "code": `return {total: items.reduce((a, b) => a + b, 0)}`, "arguments": object{"items": []any{1, 2, 3}}}}
	for b.Loop() {
		if result := r.Run(b.Context(), call); result.Fault != nil {
			b.Fatal(result.Fault)
		}
	}
}

func TestJavaScriptLimitsAreReported(t *testing.T) {
	r := newRunner(t, script.Limits{Time: time.Minute, MemoryBytes: 64 << 20, OutputBytes: 1 << 20})
	for name, tc := range map[string]struct{ code, want string }{
		"strings":  {`const a = []; for (;;) a.push("x".repeat(1e5) + a.length)`, "used more than 64 MiB of memory"},
		"map":      {`const m = new Map(); for (let i = 0; ; i++) m.set(i, {})`, "used more than 64 MiB of memory"},
		"buffers":  {`const a = []; for (;;) a.push(new Uint8Array(1e7))`, "used more than 64 MiB of memory"},
		"list":     {`let a = null; for (;;) a = {a}`, "used more than 64 MiB of memory"},
		"output":   {`for (;;) console.log("x".repeat(1000))`, "wrote more than 1 MiB to the console"},
		"caught":   {`for (;;) try { console.error("x".repeat(1000)) } catch {}`, "wrote more than 1 MiB to the console"},
		"the last": {`console.error("why"); const a = []; for (;;) a.push(new Uint8Array(1e7))`, "stderr: why"},
	} {
		t.Run(name, func(t *testing.T) {
			result := run(t, r, "js", tc.code, nil)
			if result.Fault == nil || result.Fault.Status != 500 || !strings.Contains(result.Fault.Detail, tc.want) {
				t.Errorf("fault %+v, want %q", result.Fault, tc.want)
			}
		})
	}
	slow := newRunner(t, script.Limits{Time: time.Second})
	result := run(t, slow, "js", `console.error("why"); for (;;);`, nil)
	if f := result.Fault; f == nil || f.Type != machine.ErrTimeout || f.Status != 408 || f.Detail != "the script ran longer than 1s and was stopped; stderr: why" {
		t.Errorf("fault %+v", result.Fault)
	}
}
