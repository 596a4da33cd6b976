package machine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/value"
)

const testHeader = "document: {dsl: 1.0.3, namespace: test, name: limit, version: 1.0.0}\n"

// drive runs a machine that yields but needs nothing else. It returns the last command, the
// number of yields and the largest number of pure steps that one Apply took.
func drive(t *testing.T, p *plan.Plan, input value.Value) (last Command, yields, most int) {
	t.Helper()
	m := New(p, testIdentity(t))
	ev := Event{Kind: Started, TimeMs: scriptEpoch, Output: input}
	for range 1_000_000 {
		before := m.pureSteps
		commands := m.Apply(ev)
		most = max(most, m.pureSteps-before)
		last = commands[len(commands)-1]
		if last.Kind != Yield {
			return last, yields, most
		}
		yields++
		ev = Event{Kind: Continued, TimeMs: scriptEpoch, Command: last.ID}
	}
	t.Fatal("the execution does not end")
	return last, yields, most
}

// An endless loop of any kind of pure task is stopped, cannot be caught, and yields on its way.
func TestStepLimit(t *testing.T) {
	for name, definition := range map[string]string{
		"set":    "do: [{a: {set: {x: 1}, then: a}}]",
		"caught": "do: [{t: {try: [{a: {set: {x: 1}, then: a}}], catch: {retry: {}, do: [{b: {set: {x: 1}}}]}}}]",
		"switch": "do: [{a: {switch: [{x: {then: b}}]}}, {b: {if: '.x', set: {x: 1}}}, {c: {switch: [{x: {then: a}}]}}]",
		"retry":  "do: [{a: {try: [{b: {raise: {error: {type: 'https://e.org/x', status: 500}}}}], catch: {retry: {}}}}]",
		"emit":   "do: [{a: {emit: {event: {with: {type: x}}}, then: a}}]",
		// Timers and activities that are withdrawn before Apply returns do not count.
		"timeout": "do: [{a: {timeout: {after: PT1S}, set: {x: 1}, then: a}}]",
		"race": `do: [{a: {then: a, fork: {compete: true, branches: [
  {b: {call: http, with: {method: get, endpoint: 'https://e.org'}}}, {c: {set: {x: 1}}}]}}}]`,
		"function": "use: {functions: {f: {set: {x: 1}}}}\ndo: [{a: {call: f, then: a}}]",
	} {
		t.Run(name, func(t *testing.T) {
			p := compilePlan(t, testHeader+definition)
			last, yields, most := drive(t, p, map[string]any{})
			if last.Kind != Finish || last.Phase != chargehand.Faulted || last.Fault.Code != CodeStepLimit ||
				last.Fault.Type != ErrRuntime {
				t.Fatalf("it ended with %s", commandText(last))
			}
			if !strings.HasPrefix(last.Fault.Instance, "/do/0/") && last.Fault.Instance != "" {
				t.Errorf("instance is %q", last.Fault.Instance)
			}
			if most > yieldSteps+1 {
				t.Errorf("%d steps without a yield", most)
			}
			if want := plan.DefaultPureSteps / yieldSteps; yields < want-1 || yields > want {
				t.Errorf("%d yields, want %d", yields, want)
			}
		})
	}
}

// A timeout between a Yield and its Continued takes effect at once, and once.
func TestTimeoutsWhileYielded(t *testing.T) {
	for name, test := range map[string]struct {
		definition string
		want       value.Value
	}{
		"attempt": {`do: [{a: {try: [{b: {if: '$context.n != 2', set: {x: 1}, export: {as: '{n: (($context.n // 0) + 1)}'}, then: c}}, {d: {set: {x: 1}, then: end}}, {c: {set: {x: 1}, then: c}}],
  catch: {retry: {limit: {attempt: {count: 2, duration: PT1S}}}}}}]
output: {as: $context.n}`, 2},
		"task":     {"do: [{a: {try: [{b: {timeout: {after: PT1S}, do: [{c: {set: {x: 1}, then: c}}]}}], catch: {do: [{d: {set: '${ $error.status }'}}]}}}]", 408},
		"workflow": {"timeout: {after: PT1S}\ndo: [{a: {set: {x: 1}, then: a}}]", nil},
	} {
		t.Run(name, func(t *testing.T) {
			m := New(compilePlan(t, testHeader+test.definition), testIdentity(t))
			commands := m.Apply(Event{Kind: Started, TimeMs: scriptEpoch, Output: map[string]any{}})
			var timer Command
			for i := 0; !m.Done() && i < 20; i++ {
				for _, c := range commands {
					if c.Kind == StartTimer {
						timer = c
					}
				}
				if timer.ID != 0 && i%2 == 0 {
					commands = m.Apply(Event{Kind: TimerFired, TimeMs: timer.DueMs, Command: timer.ID})
				} else {
					commands = m.Apply(Event{Kind: Continued, TimeMs: m.nowMs})
				}
				if len(m.ready) > 1 {
					t.Fatalf("%d nodes are ready", len(m.ready))
				}
			}
			if test.want == nil {
				if last := commands[len(commands)-1]; last.Fault == nil || last.Fault.Instance != "/timeout" {
					t.Errorf("it ended with %s", commandText(last))
				}
				return
			}
			if last := commands[len(commands)-1]; last.Kind != Finish || last.Output != test.want {
				t.Errorf("it ended with %s, want %v", commandText(last), test.want)
			}
		})
	}
}

// Expensive expressions count as many steps.
func TestExpressionsCountAsSteps(t *testing.T) {
	p := compilePlan(t, testHeader+"do: [{a: {for: {in: '[range(60)]'}, do: [{b: {set: {n: '${ [range(100000)] | length }'}}}]}}]")
	last, yields, _ := drive(t, p, map[string]any{})
	if last.Phase != chargehand.Completed || yields < 2 {
		t.Errorf("%d yields, then %s", yields, commandText(last))
	}
	p.Limits.PureSteps = 300
	if last, _, _ := drive(t, p, map[string]any{}); last.Fault == nil || last.Fault.Code != CodeStepLimit {
		t.Errorf("with a low limit it ended with %s", commandText(last))
	}
}

// Loops below the limit are fine, and outcomes set the count back.
func TestStepsBetweenEffects(t *testing.T) {
	p := compilePlan(t, testHeader+`do:
  - a: {for: {in: '[range(50000)]'}, do: [{b: {set: '${ $index }'}}]}
  - c: {wait: PT1S}
  - d: {for: {in: '[range(60000)]'}, do: [{e: {set: '${ $index }'}}]}
`)
	m := New(p, testIdentity(t))
	commands := m.Apply(Event{Kind: Started, TimeMs: scriptEpoch, Output: map[string]any{}})
	for i := 0; !m.Done(); i++ {
		last := commands[len(commands)-1]
		switch last.Kind {
		case Yield:
			commands = m.Apply(Event{Kind: Continued, TimeMs: scriptEpoch})
		case StartTimer:
			commands = m.Apply(Event{Kind: TimerFired, TimeMs: last.DueMs, Command: last.ID})
		default:
			t.Fatalf("unexpected %s", commandText(last))
		}
	}
	if last := commands[len(commands)-1]; last.Output != 59999 {
		t.Errorf("it ended with %s", commandText(last))
	}
}

// What an execution holds is bounded, wherever it hides.
func TestStateLimit(t *testing.T) {
	const big = `set: '${ {big: ("x" * 3000000)} }'`
	var branches strings.Builder
	for i := range 40 {
		fmt.Fprintf(&branches, "{b%d: {do: [{s: {set: '${ {n: %d, big: (\"x\" * 1000000)} }'}}, {w: {wait: PT1H}}]}},", i, i)
	}
	for name, definition := range map[string]string{
		"context": "do: [{a: {set: {x: 1}, export: {as: '$context + {([$context | length] | tojson): (\"x\" * 3000000)}'}, then: a}}]",
		"loop":    "do: [{a: {for: {in: '[range(100)]'}, do: [{b: {set: '${ {l: ((.l // []) + [\"x\" * 3000000])} }'}}]}}]",
		"forks":   "do: [{a: {fork: {branches: [" + branches.String() + "]}}}]",
		"nesting": "do: [{a: {" + big + "}}, {b: {do: [{c: {set: '${ . + {c: (\"c\" * 6000000)} }'}}, {d: {do: [{e: {set: '${ . + {e: (\"e\" * 6000000)} }'}}, {f: {do: [{g: {set: '${ {g: (\"g\" * 9000000)} }'}}, {h: {wait: PT1H}}]}}]}}]}}]",
	} {
		t.Run(name, func(t *testing.T) {
			p := compilePlan(t, testHeader+definition)
			last, _, _ := drive(t, p, map[string]any{})
			if last.Kind != Finish || last.Fault == nil ||
				last.Fault.Code != CodeStateLimit && last.Fault.Type != ErrExpression {
				t.Fatalf("it continues with %.200s", commandText(last))
			}
		})
	}
}

// Passing data on does not make the state grow.
func TestStateCountsValuesOnce(t *testing.T) {
	p := compilePlan(t, testHeader+`do:
  - a: {set: '${ {big: ("x" * 6000000)} }', export: {as: .}}
  - b: {do: [{c: {do: [{d: {do: [{e: {for: {in: '[range(20)]'}, do: [{f: {if: 'false', set: {x: 1}}}, {g: {set: '${ . }'}}]}}]}}]}}]}
  - h: {set: '${ {length: (.big | length), context: ($context.big | length)} }'}
`)
	last, _, _ := drive(t, p, map[string]any{})
	if last.Phase != chargehand.Completed || last.Output.(map[string]any)["length"] != 6000000 {
		t.Errorf("it ended with %.300s", commandText(last))
	}
}

// A fork in a loop may not nest its outputs without end.
func TestForkNestingLimit(t *testing.T) {
	p := compilePlan(t, testHeader+"do: [{a: {fork: {branches: [{b: {wait: PT0S}}]}, then: a}}]")
	last, _, _ := drive(t, p, map[string]any{})
	if last.Fault == nil || !strings.Contains(last.Fault.Detail, "deeper than 256 levels") || last.Fault.Instance != "/do/0/a" {
		t.Errorf("it ended with %s", commandText(last))
	}
}

// An engine that never takes the timeline does not run out of memory; the newest are kept.
func TestTimelineIsBounded(t *testing.T) {
	p := compilePlan(t, testHeader+"do: [{a: {for: {in: '[range(30000)]'}, do: [{b: {set: '${ $index }'}}]}}]")
	m := New(p, testIdentity(t))
	commands := m.Apply(Event{Kind: Started, TimeMs: scriptEpoch, Output: map[string]any{}})
	for !m.Done() {
		commands = m.Apply(Event{Kind: Continued, TimeMs: scriptEpoch, Command: commands[0].ID})
	}
	taken := m.TakeTimeline()
	if len(taken) < maxEntries || len(taken) > 2*maxEntries {
		t.Errorf("%d entries", len(taken))
	}
	merged, truncated := MergeTimeline(RecordsOf(taken))
	if !truncated || len(merged) != 1+maxEntries || merged[len(merged)-1].Seq != 30001 || merged[0].Seq != 1 || merged[1].Seq != 20002 {
		t.Errorf("%d entries from %d to %d, truncated %v", len(merged), merged[0].Seq, merged[len(merged)-1].Seq, truncated)
	}
	tally := m.Tally()
	counts := tally.Count(RecordsOf(taken))
	if tasks := counts.Tasks(); len(tasks) != 2 || tasks[0].Completed != 1 || tasks[1].Completed != 30000 || tasks[1].Last != 30001 {
		t.Errorf("it counts %+v", tasks)
	}
	if m.TakeTimeline() == nil || len(m.TakeTimeline()) != 0 {
		t.Error("entries are taken twice")
	}

	large := compilePlan(t, testHeader+`do: [{a: {for: {in: '[range(300)]'}, do: [{b: {set: '${ "x" * 500000 }'}}]}}]`)
	m = New(large, testIdentity(t))
	m.Apply(Event{Kind: Started, TimeMs: scriptEpoch, Output: map[string]any{}})
	for !m.Done() {
		m.Apply(Event{Kind: Continued, TimeMs: scriptEpoch})
	}
	held := 0
	for _, e := range m.Timeline() {
		text, _ := e.Output.(string)
		held += len(text)
	}
	if held > 2*maxTraceBytes || held == 0 {
		t.Errorf("the timeline holds %d bytes", held)
	}
}

// A few functions that fork into each other make more branches than any memory holds. They
// count before they have done anything.
func TestForksOfFunctionsAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("use: {functions: {")
	for level := range 4 {
		next := fmt.Sprintf("call: f%d", level+1)
		if level == 3 {
			next = "wait: PT1H"
		}
		fmt.Fprintf(&b, "f%d: {fork: {branches: [", level)
		for i := range 200 {
			fmt.Fprintf(&b, "{b%d: {%s}},", i, next)
		}
		b.WriteString("]}},")
	}
	b.WriteString("}}\ndo: [{a: {call: f0}}]")
	m := New(compilePlan(t, testHeader+b.String()), testIdentity(t))
	commands := m.Apply(Event{Kind: Started, TimeMs: scriptEpoch, Output: map[string]any{}})
	for range 3 {
		if len(m.ready) > plan.DefaultStateBytes/nodeBytes {
			t.Fatalf("%d branches are ready", len(m.ready))
		}
		if !m.Done() {
			commands = m.Apply(Event{Kind: Continued, TimeMs: scriptEpoch})
		}
	}
	last := commands[len(commands)-1]
	if last.Kind != Finish || last.Fault == nil || last.Fault.Code != CodeStateLimit {
		t.Fatalf("it continues with %.200s", commandText(last))
	}
}

// A task that gathers events until the state is full names the limit, and what to do instead.
func TestStateLimitOfGatheredEvents(t *testing.T) {
	for foreach, want := range map[string]string{
		"": "more than the limit of 1048576; this task keeps all that it takes until it ends. Let `foreach` handle what comes one by one and keep less of it, or end the task earlier.",
		", foreach: {do: [{keep: {set: '${ $item }'}}], export: {as: '$context + {(\"k\\(.id)\"): .}'}}": "more than the limit of 1048576; keep less in outputs and in the context, or use files.",
	} {
		p := compilePlan(t, testHeader+"do: [{a: {listen: {to: {any: [], until: 'false'}}"+foreach+"}}]")
		p.Limits.StateBytes = 1 << 20
		m := New(p, testIdentity(t))
		m.Apply(Event{Kind: Started, TimeMs: scriptEpoch})
		var last Command
		for number := 1; number < 100 && !m.Done(); number++ {
			for _, last = range receive(m, int64(number), map[string]any{"type": "x", "data": map[string]any{"id": number, "text": fmt.Sprint(number) + strings.Repeat("x", 50_000)}}) {
			}
		}
		if f := last.Fault; f == nil || f.Code != CodeStateLimit || !strings.HasSuffix(f.Detail, want) || foreach == "" && f.Instance != "/do/0/a" {
			t.Errorf("foreach %q: %+v", foreach, f)
		}
	}
}

// Large values take time even where they are only passed on or checked: fewer steps make a
// slice then, but no fewer are allowed.
func TestLargeValuesYieldEarlier(t *testing.T) {
	for name, loop := range map[string]string{
		"pass":   "set: '${ . }'",
		"schema": "input: {schema: {document: {type: array, items: {type: integer}}}}, set: '${ . }'",
	} {
		t.Run(name, func(t *testing.T) {
			p := compilePlan(t, testHeader+"do: [{a: {set: '${ [range(100000)] }'}}, {b: {"+loop+", then: b}}]")
			m := New(p, testIdentity(t))
			m.Apply(Event{Kind: Started, TimeMs: scriptEpoch, Output: map[string]any{}})
			for range 3 {
				before := m.pureSteps
				commands := m.Apply(Event{Kind: Continued, TimeMs: scriptEpoch})
				if len(commands) != 1 || commands[0].Kind != Yield {
					t.Fatalf("it continues with %v", commands)
				}
				if steps := m.pureSteps - before; steps > 300 {
					t.Errorf("%d steps in a slice", steps)
				}
			}
		})
	}
}
