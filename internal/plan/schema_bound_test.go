package plan

import (
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/dsl"
)

// schemaOf compiles the schema of the input of a workflow.
func schemaOf(t testing.TB, schema string) *Schema {
	t.Helper()
	doc, problems := dsl.Parse([]byte(`{"document": {"dsl": "1.0.3", "namespace": "n", "name": "n", "version": "1.0.0"},
		"input": {"schema": {"document": ` + schema + `}}, "do": [{"a": {"set": {"x": 1}}}]}`))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	p, problems := Compile(doc, Options{})
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	return p.InputSchema
}

// nested is {"c": {"c": … 1}}.
func nested(depth int) any {
	var v any = 1
	for range depth {
		v = map[string]any{"c": v}
	}
	return v
}

func many(n int, v any) []any {
	list := make([]any, n)
	for i := range list {
		list[i] = v
	}
	return list
}

// alternatives is a schema of a value that contains itself in n alternatives.
func alternatives(keyword string, inner string) string {
	one := `{"properties": {"c": {"$ref": "#/$defs/n"}}, "required": ["` + inner + `"]}`
	return `{"$defs": {"n": {"` + keyword + `": [` + one + `, ` + strings.Replace(one, inner, inner+"2", 1) + `]}}, "$ref": "#/$defs/n"}`
}

// TestSchemaErrorsAreBounded checks values that are wrong in very many ways: the memory that the
// check takes has a bound, and the problem says that it was hit.
func TestSchemaErrorsAreBounded(t *testing.T) {
	if errorFields[0] < 0 {
		t.Fatal("the validator keeps its errors elsewhere")
	}
	for name, tt := range map[string]struct {
		schema string
		value  any
	}{
		"any of itself, 28 deep":      {alternatives("anyOf", "z"), nested(28)},
		"any of itself, 60 deep":      {alternatives("anyOf", "z"), nested(60)},
		"any of itself, 200 deep":     {alternatives("anyOf", "z"), nested(200)},
		"all of itself":               {alternatives("allOf", "z"), nested(60)},
		"one of itself":               {alternatives("oneOf", "z"), nested(60)},
		"not any of itself":           {`{"not": ` + strings.ReplaceAll(alternatives("anyOf", "z"), "#/$defs", "#/not/$defs") + `}`, nested(60)},
		"a list of wrong entries":     {`{"items": {"type": "string"}}`, many(900_000, 1)},
		"a list of forbidden entries": {`{"items": false}`, many(900_000, 1)},
		"a list without a match":      {`{"contains": {"const": 2}}`, many(900_000, 1)},
		"a list below a long name":    {`{"additionalProperties": {"items": {"type": "string"}}}`, map[string]any{strings.Repeat("k", 40<<10): many(50_000, 1)}},
		"all of a list below one":     {`{"additionalProperties": {"items": {"allOf": [{"type": "string"}, {"minimum": 2}, {"required": ["a"]}]}}}`, map[string]any{strings.Repeat("k", 400<<10): many(100, 1)}},
		"a list of wrong lists":       {`{"items": {"items": {"enum": [2]}}}`, many(900, many(1000, 1))},
	} {
		t.Run(name, func(t *testing.T) {
			s := schemaOf(t, tt.schema)
			previous := debug.SetGCPercent(50)
			defer debug.SetGCPercent(previous)
			debug.FreeOSMemory()
			peak := watchHeap(t)
			problems := s.Validate(tt.value)
			grown := peak()
			t.Logf("%d MiB, %v", grown>>20, problems[:min(len(problems), 1)])
			bytes := 0
			for _, p := range problems {
				bytes += len(p.Pointer)
			}
			if bytes > 2*maxPointerBytes {
				t.Errorf("the pointers of the problems have %d bytes", bytes)
			}
			if len(problems) == 0 && !strings.HasPrefix(name, "not") {
				t.Error("it is valid")
			}
			if len(problems) > 0 && problems[0].Keyword == "$schema" && !strings.Contains(problems[0].Detail, "MiB of memory") &&
				!strings.Contains(problems[0].Detail, "steps") {
				t.Errorf("the problem is %q", problems[0].Detail)
			}
			if most := uint64(256 << 20); grown > most {
				t.Errorf("the check took %d MiB", grown>>20)
			}
			if again := s.Validate(map[string]any{"other": 1}); len(again) > 0 && again[0].Keyword == "$schema" {
				t.Errorf("the next check has %v", again)
			}
		})
	}
}

// watchHeap tells how far the heap grew since it was called.
func watchHeap(t testing.TB) func() uint64 {
	t.Helper()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	var highest uint64
	done := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		ticks := time.NewTicker(5 * time.Millisecond)
		defer ticks.Stop()
		for {
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			highest = max(highest, now.HeapAlloc)
			select {
			case <-done:
				return
			case <-ticks.C:
			}
		}
	})
	return func() uint64 {
		close(done)
		wait.Wait()
		return highest - min(highest, before.HeapAlloc)
	}
}

// TestSchemaAcceptsLargeValues checks that bounds of errors are none of valid values.
func TestSchemaAcceptsLargeValues(t *testing.T) {
	union := schemaOf(t, `{"items": {"oneOf": [
		{"properties": {"kind": {"const": "a"}, "x": {"type": "string"}}, "required": ["kind", "x"]},
		{"properties": {"kind": {"const": "b"}, "y": {"type": "number"}}, "required": ["kind", "y"]}]}}`)
	if problems := union.Validate(many(40_000, map[string]any{"kind": "b", "y": 1})); problems != nil {
		t.Errorf("a list of alternatives has %v", problems)
	}
	plain := schemaOf(t, `{"items": {"type": "integer"}}`)
	if problems := plain.Validate(many(900_000, 1)); problems != nil {
		t.Errorf("a long list has %v", problems)
	}
}

// TestSchemaBoundsInAnyOrder: a value exceeds both bounds, one in each property, and gets the same error whichever
// the validator looks at first. So does one that exceeds a single bound, and has taken as many steps.
func TestSchemaBoundsInAnyOrder(t *testing.T) {
	s := schemaOf(t, `{"$defs": {"n": {"allOf": [`+strings.Repeat(`{"properties": {"c": {"$ref": "#/$defs/n"}}}, `, 3)+`true]}},
		"properties": {"errors": {"items": {"type": "string"}}, "steps": {"$ref": "#/$defs/n"}}}`)
	s.budget.limit, s.budget.maxBytes = 1000, 100*bytesPerError
	for name, v := range map[string]any{
		"both":   map[string]any{"errors": many(400, 1), "steps": nested(20)},
		"memory": map[string]any{"errors": many(400, 1), "steps": nested(3)},
	} {
		first, taken := s.Check(v)
		for range 40 {
			problems, steps := s.Check(v)
			if len(problems) != 1 || problems[0] != first[0] || steps != taken {
				t.Errorf("%s: %v after %d steps, then %v after %d", name, first, taken, problems, steps)
				break
			}
		}
	}
}
