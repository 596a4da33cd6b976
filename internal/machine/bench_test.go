package machine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/value"
)

const benchHeader = "document: {dsl: 1.0.3, namespace: bench, name: bench, version: 1.0.0}\ndo:\n"

// run drives a machine to its end: every activity answers at once, every timer fires.
func run(b *testing.B, p *plan.Plan, id Identity, input value.Value) *Machine {
	m := New(p, id)
	now := int64(scriptEpoch)
	queue := m.Apply(Event{Kind: Started, TimeMs: now, Output: input})
	for len(queue) > 0 {
		c := queue[0]
		queue = queue[1:]
		switch c.Kind {
		case RunActivity:
			queue = append(queue, m.Apply(Event{Kind: ActivityEnded, TimeMs: now, Command: c.ID, Output: input})...)
		case StartTimer:
			now = c.DueMs
			queue = append(queue, m.Apply(Event{Kind: TimerFired, TimeMs: now, Command: c.ID})...)
		case Yield:
			queue = append(queue, m.Apply(Event{Kind: Continued, TimeMs: now, Command: c.ID})...)
		}
	}
	if !m.Done() {
		b.Fatal("the execution has not ended")
	}
	return m
}

func sets(n int) string {
	var text strings.Builder
	text.WriteString(benchHeader)
	for i := range n {
		fmt.Fprintf(&text, "  - step%d: {set: {name: '${ .name }', count: %d}}\n", i, i)
	}
	return text.String()
}

func calls(n int) string {
	var text strings.Builder
	text.WriteString(benchHeader)
	for i := range n {
		fmt.Fprintf(&text, "  - step%d: {call: http, with: {method: post, endpoint: 'http://localhost:8080/step', body: {name: '${ .name }'}}}\n", i)
	}
	return text.String()
}

func levels(n int) string {
	definition := map[string]any{"set": map[string]any{"x": 1}}
	for range n {
		definition = map[string]any{"do": []any{map[string]any{"t": definition}}}
	}
	text := value.Marshal(map[string]any{
		"document": map[string]any{"dsl": "1.0.3", "namespace": "bench", "name": "bench", "version": "1.0.0"},
		"do":       []any{map[string]any{"t": definition}},
	})
	return string(text)
}

func BenchmarkRun(b *testing.B) {
	input := parseJSON(b, `{"name": "Ada Lovelace", "email": "ada@example.org", "age": 36, "x": 1}`)
	list := make([]any, 100_000)
	for i := range list {
		list[i] = i
	}
	for _, bench := range []struct {
		name, definition string
		input            value.Value
	}{
		{"trivial", sets(1), input},
		{"sets=10", sets(10), input},
		{"sets=100", sets(100), input},
		{"calls=10", calls(10), input},
		{"waits=10", benchHeader + strings.Repeat("  - wN: {wait: PT1S}\n", 1) + numbered("  - w%d: {wait: PT1S}\n", 9), input},
		{"levels=20", levels(20), input},
		{"levels=80", levels(80), input},
		{"for=1000", benchHeader + "  - l: {for: {in: '.[:1000]'}, do: [{s: {set: '${ $item }'}}]}\n", nil},
		{"for=10000", benchHeader + "  - l: {for: {in: '.[:10000]'}, do: [{s: {set: '${ $item }'}}]}\n", nil},
		{"for=100000", benchHeader + "  - l: {for: {in: .}, do: [{s: {set: '${ $item }'}}]}\n", nil},
		{"fork=100", benchHeader + "  - f:\n      fork:\n        branches:\n" + numbered("          - b%d: {set: {x: 1}}\n", 100), input},
		{"fork=1000", benchHeader + "  - f:\n      fork:\n        branches:\n" + numbered("          - b%d: {set: {x: 1}}\n", 1000), input},
	} {
		b.Run(bench.name, func(b *testing.B) {
			p := compilePlan(b, bench.definition)
			p.Limits.PureSteps = 1 << 30
			id := testIdentity(b)
			if bench.input == nil {
				bench.input = list
			}
			b.ReportAllocs()
			for b.Loop() {
				run(b, p, id, bench.input)
			}
		})
	}
}

func numbered(format string, n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, format, i)
	}
	return text.String()
}

// What an engine does beside Apply for one trivial execution.
func BenchmarkRecord(b *testing.B) {
	input := parseJSON(b, `{"name": "Ada Lovelace", "email": "ada@example.org", "x": 1}`)
	p := compilePlan(b, sets(1))
	m := New(p, testIdentity(b))
	ev := Event{Kind: Started, TimeMs: scriptEpoch, Output: input}
	commands := m.Apply(ev)
	output := commands[0].Output
	entries := m.TakeTimeline()
	var buffer []byte
	b.Run("event", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			buffer = AppendEvent(buffer[:0], ev)
		}
		b.ReportMetric(float64(len(buffer)), "bytes")
	})
	b.Run("digest", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Digest(commands)
		}
	})
	b.Run("timeline", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			buffer = EncodeTimeline(buffer[:0], entries, Tally{}, input, output)
		}
		b.ReportMetric(float64(len(buffer)), "bytes")
	})
}

func BenchmarkCheckpoint(b *testing.B) {
	p := compilePlan(b, benchHeader+"  - a: {set: {x: 1}}\n  - w: {wait: PT1S}\n")
	id := testIdentity(b)
	m := New(p, id)
	m.Apply(Event{Kind: Started, TimeMs: scriptEpoch, Output: parseJSON(b, `{"name": "Ada Lovelace", "email": "ada@example.org"}`)})
	m.TakeTimeline()
	state := m.Checkpoint()
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			m.Checkpoint()
		}
		b.ReportMetric(float64(len(state)), "bytes")
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Restore(p, id, state); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkCompile(b *testing.B) {
	for _, n := range []int{1, 100, 1000, 10000} {
		b.Run(fmt.Sprint("tasks=", n), func(b *testing.B) {
			doc, problems := dsl.Parse([]byte(sets(n)))
			if problems.HasErrors() {
				b.Fatal(problems.Err())
			}
			b.ReportAllocs()
			for b.Loop() {
				if p, _ := plan.Compile(doc, plan.Options{}); p == nil {
					b.Fatal("refused")
				}
			}
		})
	}
}
