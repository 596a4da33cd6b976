package machine

import (
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/value"
)

// TestGoldenPositions: every top-level task but the first notes what it began with, and an execution that begins there
// with these data begins that task as it was begun.
func TestGoldenPositions(t *testing.T) {
	tried := 0
	eachGolden(t, func(t *testing.T, _ *golden, p *plan.Plan, _ []string, events []Event) {
		m := New(p, testIdentity(t))
		var started Event
		for _, ev := range events {
			m.Apply(ev)
			if ev.Kind == Started {
				started = ev
			}
		}
		for _, e := range m.Timeline() {
			top := e.Parent == 0
			if !top && e.Data != nil || top && e.Data == nil && e.task != p.Body.Tasks[0] {
				t.Errorf("%s has the data %+v", entryText(e), e.Data)
			}
			if e.Data == nil {
				continue
			}
			tried++
			again := New(p, testIdentity(t))
			position := Position{Task: e.Reference, TaskData: *e.Data}
			again.Apply(position.Event(e.StartedMs))
			begun := started
			begun.TimeMs = e.StartedMs
			again.Apply(begun)
			entries := again.TakeTimeline()
			if len(entries) == 0 {
				t.Fatalf("%s does not begin", entryText(e))
			}
			first := &entries[0]
			if first.Reference != e.Reference || first.Data == nil || !sameJSON(first.Input, e.Input) || !sameJSON(first.Data.Input, e.Data.Input) ||
				!sameJSON(first.Data.Context, e.Data.Context) {
				t.Errorf("%s begins as %s with %+v, not with %+v", entryText(e), entryText(*first), first.Data, e.Data)
			}
		}
	})
	if tried < 50 {
		t.Errorf("only %d tasks", tried)
	}
}

func sameJSON(a, b value.Value) bool { return string(value.Marshal(a)) == string(value.Marshal(b)) }

// TestTaskDataIsBounded: contexts that are large and differ are stored up to a bound; what is beyond it is marked.
func TestTaskDataIsBounded(t *testing.T) {
	var definition strings.Builder
	definition.WriteString("document: {dsl: 1.0.3, namespace: test, name: large, version: 1.0.0}\ndo:\n")
	for i := range 6 {
		name := string(rune('a' + i))
		definition.WriteString("  - " + name + ": {set: '${ 1 }', export: {as: '${ \"" + name + "\" * 300000 }'}}\n")
	}
	p := compilePlan(t, definition.String())
	m := New(p, testIdentity(t))
	m.Apply(Event{Kind: Started, TimeMs: scriptEpoch, Output: map[string]any{}})
	entries := m.TakeTimeline()
	records, _, err := DecodeTimeline(p, EncodeTimeline(nil, entries, Tally{}), 0)
	if err != nil {
		t.Fatal(err)
	}
	kept, lost := 0, 0
	for i := range records {
		data, err := records[i].TaskData()
		switch {
		case err != nil:
			t.Fatal(err)
		case data == nil:
		case data.Lost:
			lost++
		case !sameJSON(data.Context, entries[i].Data.Context) || !sameJSON(data.Input, entries[i].Data.Input):
			t.Errorf("task %d began with other data", i)
		default:
			kept++
		}
	}
	if kept != 3 || lost != 2 {
		t.Errorf("%d are kept, %d are not", kept, lost)
	}
}

// TestTrivialTimelineStaysSmall: an execution of one task stores nothing more.
func TestTrivialTimelineStaysSmall(t *testing.T) {
	p := compilePlan(t, "document: {dsl: 1.0.3, namespace: test, name: trivial, version: 1.0.0}\ndo: [{a: {set: '${ . }'}}]\n")
	m := New(p, testIdentity(t))
	input := map[string]any{"a": 1}
	m.Apply(Event{Kind: Started, TimeMs: scriptEpoch, Output: input})
	entries := m.TakeTimeline()
	if entries[0].Data != nil {
		t.Errorf("it has the data %+v", entries[0].Data)
	}
}
