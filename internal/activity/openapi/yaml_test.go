package openapi

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// A text of 1 MiB with aliases must not become hundreds of times as much.
func TestAliasesDoNotGrowADocument(t *testing.T) {
	long := "a: &a '" + strings.Repeat("x", 1<<20-20_000) + "'\n"
	objects := "a: &a {" + many(1000, "k%d: 1") + "}\n"
	for name, tc := range map[string]struct{ text, want string }{
		"long text":         {long + "b: [" + strings.Repeat("*a,", 1000) + "]\n", "more than 8388608 bytes"},
		"many short":        {"a: &a x\nb: [" + strings.Repeat("*a,", 50_000) + "]\n", ""},
		"key":               {"? &a '" + strings.Repeat("x", 1<<20-20_000) + "'\n: 1\nb: [" + strings.Repeat("{*a : 1},", 1000) + "]\n", "more than 8388608 bytes"},
		"levels":            {"a0: &a0 [[],[],[],[],[],[],[],[],[]]\n" + levels(9), "more than 1000000 values"},
		"merges":            {objects + "b: {<<: [" + strings.Repeat("*a,", 20_000) + "]}\n", "more than 1000000 values"},
		"merges that merge": {"a0: &a0 {x: 1}\n" + merges(30), "more than 1000000 values"},
		"itself":            {"a: &a [*a]\n", `line 1: the anchor "a" is used in its own value`},
		"merge of itself":   {"a: &a {<<: *a}\n", "256 levels"},
		"deep":              {strings.Repeat("[", 300) + strings.Repeat("]", 300), ""}, // is JSON
		"deep YAML":         {"a: " + strings.Repeat("[", 300) + strings.Repeat("]", 300), "256 levels"},
		"many values":       {"[a" + strings.Repeat(",", 1<<20-3) + "]", "at most 1000000 values"},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			data, err := asJSON(t.Context(), []byte(tc.text))
			runtime.ReadMemStats(&after)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%d bytes, error %v, want %q", len(data), err, tc.want)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 256<<20 {
				t.Errorf("%d bytes were allocated for %d", used, len(tc.text))
			}
		})
	}
}

func many(n int, format string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(parts, ", ")
}

// levels makes each line nine times the one before it.
func levels(n int) string {
	var text strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&text, "a%d: &a%d [%s]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d,", i-1), 9))
	}
	return text.String()
}

func merges(n int) string {
	var text strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&text, "a%d: &a%d {<<: [%s]}\n", i, i, strings.Repeat(fmt.Sprintf("*a%d,", i-1), 9))
	}
	return text.String()
}

func TestConversionEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := asJSON(ctx, []byte("a: &a x\nb: ["+strings.Repeat("*a,", 10_000)+"]\n")); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// JSON has texts as keys only; what looks like something else is one all the same. No value
// has a type that JSON has not.
func TestYAMLBecomesJSON(t *testing.T) {
	for text, want := range map[string]string{
		"200: a\n404: b":                                      `{"200":"a","404":"b"}`,
		"true: a\nnull: b\n1.50: c\n~: d":                     `{"true":"a","null":"b","1.50":"c","~":"d"}`,
		"a: 2020-01-02\nb: !!binary AAAA":                     `{"a":"2020-01-02","b":"AAAA"}`,
		"a: [1, 1.5, .5, 0x10, yes, true, null, ]":            `{"a":[1,1.5,0.5,16,"yes",true,null]}`,
		"a: !!str 200\nb: '1'\nc: !!float 1":                  `{"a":"200","b":"1","c":1}`,
		"a: &a {x: 1, y: 2}\nb: {<<: *a, x: 3}":               `{"a":{"x":1,"y":2},"b":{"x":3,"y":2}}`,
		"a: &a {x: 1}\nb: &b {x: 2, y: 2}\nc: {<<: [*a, *b]}": `{"a":{"x":1},"b":{"x":2,"y":2},"c":{"x":1,"y":2}}`,
		"a: &a [1]\nb: *a":                                    `{"a":[1],"b":[1]}`,
		"&a x: 1\ny: *a":                                      `{"x":1,"y":"x"}`,
		"":                                                    `null`,
	} {
		if got, err := asJSON(t.Context(), []byte(text)); err != nil || string(got) != want {
			t.Errorf("%q becomes %s, %v; want %s", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"a: .nan": "line 1: .nan is no value of JSON", "200: a\n'200': b": `line 2: the key "200" occurs twice`,
		"? [a]\n: b": "line 1: a key is a list", "a: !!int x": "line 1: x is not of its type",
		"a: {<<: 1}": "<< takes an object", "a: {<<: [1]}": "<< takes objects only", "a: *b": "neither JSON nor YAML",
	} {
		if got, err := asJSON(t.Context(), []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q becomes %s, %v; want %q", text, got, err, want)
		}
	}
}

// Most descriptions write the status of an answer without quotes.
func TestAnswersWithoutQuotes(t *testing.T) {
	w := newFixture(t, map[string]string{"/o.yaml": "openapi: 3.0.3\ninfo: {title: t, version: 1.0.0}\npaths:\n  /a:\n    get:\n      operationId: a\n      responses:\n        200: {description: ok}\n        default: {description: other}\n"})
	if got := call(runner(t), w.URL+"/o.yaml", "a", nil); got.Output != "GET /a||||" {
		t.Errorf("output %v, fault %v", got.Output, got.Fault)
	}
}
