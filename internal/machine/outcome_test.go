package machine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/value"
)

const asks = "call: http, with: {method: get, endpoint: 'https://example.org/'}"

const outcomesDefinition = testHeader + `
use: {functions: {ask: {` + asks + `, output: {as: '${ .n }'}}}}
do:
  - shaped: {` + asks + `, output: {as: '${ .n }'}}
  - plain: {` + asks + `}
  - inner: {call: ask, output: {as: '${ . + 1 }'}}
  - guarded: {try: [{flaky: {` + asks + `}}], catch: {do: [{a: {set: {n: 1}}}]}}
  - race: {fork: {compete: true, branches: [{slow: {` + asks + `}}, {quick: {` + asks + `}}]}}
  - late: {try: [{hang: {` + asks + `, timeout: {after: PT1S}}}], catch: {do: [{b: {set: {n: 1}}}]}}
  - news: {listen: {to: {one: {with: {type: t}}}}}
  - left: {run: {shell: {command: x}, await: false}}
`

// driveOutcomes runs an execution to its end. Each call takes 10 ms; that of hang has no end, and the execution waits
// for a timer. The machine is exchanged by restore before each event.
func driveOutcomes(t *testing.T, p *plan.Plan, restore func(*Machine) *Machine) *Machine {
	t.Helper()
	m, now := New(p, testIdentity(t)), int64(scriptEpoch)
	todo := m.Apply(Event{Kind: Started, TimeMs: now, Output: map[string]any{}})
	for len(todo) > 0 {
		c := todo[0]
		todo = todo[1:]
		ev := Event{Command: c.ID, TimeMs: now}
		name := c.Reference[strings.LastIndexByte(c.Reference, '/')+1:]
		switch {
		case c.Kind == Subscribe:
			ev.Kind, ev.Number = EventReceived, 5
			ev.Output = map[string]any{"specversion": "1.0", "id": "1", "source": "/s", "type": "t", "data": map[string]any{"n": 7}}
		case c.Kind == StartTimer:
			now += 1000
			ev.Kind, ev.TimeMs = TimerFired, now
		case c.Kind != RunActivity || name == "hang" || name == "slow" || c.Detached:
			continue
		default:
			now += 10
			ev.Kind, ev.TimeMs, ev.Output = ActivityEnded, now, map[string]any{"n": 1, "of": name}
			if name == "flaky" {
				ev.Output, ev.Fault = nil, &Fault{Type: ErrCommunication, Status: 503}
			}
		}
		m = restore(m)
		todo = append(todo, m.Apply(ev)...)
	}
	return m
}

// linesOf is what records say of outcomes, in the order of their entries.
func linesOf(records []Record, known ...value.Value) (lines []string) {
	for i := range records {
		r := &records[i]
		outcomes, outputs := r.Came(known...)
		for i, o := range outcomes {
			fault := ""
			if o.Fault != nil {
				fault = fmt.Sprintf(" %d at %s", o.Fault.Status, o.Fault.Instance)
			}
			if o.Lost {
				fault = " lost"
			}
			lines = append(lines, fmt.Sprintf("%s %d +%d %s%s", o.Reference, o.Kind, o.AtMs-o.AskedMs, outputs[i], fault))
		}
	}
	return lines
}

var wantOutcomes = []string{
	`/do/0/shaped 3 +10 {"n":1,"of":"shaped"}`,
	`/do/1/plain 3 +10 {"n":1,"of":"plain"}`,
	`/do/2/inner 3 +10 {"n":1,"of":"inner"}`,
	`/do/3/guarded/try/0/flaky 3 +10 null 503 at /do/3/guarded/try/0/flaky`,
	`/do/4/race/fork/branches/0/slow 0 +10 null`,
	`/do/4/race/fork/branches/1/quick 3 +10 {"n":1,"of":"quick"}`,
	`/do/5/late/try/0/hang 0 +1000 null`,
	`/do/6/news 7 +0 {"data":{"n":7},"id":"1","source":"/s","specversion":"1.0","type":"t"}`,
	`/do/7/left 3 +0 null`,
}

// An entry keeps what came from outside, before the task made something else of it: in memory, over checkpoints, and in
// what is stored.
func TestOutcomes(t *testing.T) {
	p := compilePlan(t, outcomesDefinition)
	for name, restore := range map[string]func(*Machine) *Machine{
		"lives on": func(m *Machine) *Machine { return m },
		"restored": func(m *Machine) *Machine {
			again, err := Restore(p, testIdentity(t), m.Checkpoint())
			if err != nil {
				t.Fatal(err)
			}
			return again
		},
	} {
		m := driveOutcomes(t, p, restore)
		entries := m.TakeTimeline()
		if got := linesOf(RecordsOf(entries)); !slices.Equal(got, wantOutcomes) {
			t.Errorf("%s:\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(wantOutcomes, "\n"))
		}
		stored := EncodeTimeline(nil, entries, Tally{}, map[string]any{})
		records, _, err := DecodeTimeline(p, stored, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got := linesOf(records, map[string]any{}); !slices.Equal(got, wantOutcomes) {
			t.Errorf("%s, stored:\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(wantOutcomes, "\n"))
		}
		for i := range stored {
			_, _, _ = DecodeTimeline(p, stored[:i], 1) // it must not panic
		}
	}
}

// What one entry keeps is bounded: a listen that takes in more says that it is lost.
func TestOutcomesBounded(t *testing.T) {
	p := compilePlan(t, testHeader+"do: [{news: {listen: {to: {any: [], until: '${ false }'}}}}]")
	for name, c := range map[string]struct{ events, bytes int }{"many": {maxOutcomes + 1, 1}, "large": {3, maxOutcomeBytes / 2}} {
		m := New(p, testIdentity(t))
		commands := m.Apply(Event{Kind: Started, TimeMs: scriptEpoch, Output: map[string]any{}})
		for i := range c.events {
			m.Apply(Event{Kind: EventReceived, TimeMs: scriptEpoch, Command: commands[0].ID, Number: int64(i + 1), Output: map[string]any{
				"specversion": "1.0", "id": fmt.Sprint(i), "source": "/s", "type": "t", "data": strings.Repeat("x", c.bytes),
			}})
		}
		entries := m.Timeline()
		if got := linesOf(RecordsOf(entries)); len(got) != 1 || got[0] != "/do/0/news 7 +0 null lost" {
			t.Errorf("%s: %d outcomes, %s", name, len(got), got[0][:min(len(got[0]), 100)])
		}
		if records, _, err := DecodeTimeline(p, EncodeTimeline(nil, entries, Tally{}), 0); err != nil || len(linesOf(records)) != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A chunk holds so much in all.
	var entries []Entry
	for i := range 2 * maxChunkOutcomes / (100 << 10) {
		e := Entry{Seq: i + 1, Phase: 6, StartedNo: 2*i + 1, EndedNo: 2*i + 2, Attempt: 1, task: p.Tasks[0], Reference: p.Tasks[0].Reference}
		e.Outcomes = []Outcome{{Kind: EventReceived, Output: fmt.Sprint(i) + strings.Repeat("x", 100<<10), Reference: e.Reference}}
		entries = append(entries, e)
	}
	stored := EncodeTimeline(nil, entries, Tally{})
	records, _, err := DecodeTimeline(p, stored, 0)
	if lines := linesOf(records); err != nil || len(lines) != len(entries) || !strings.HasSuffix(lines[len(lines)-1], " lost") || len(stored) > maxChunkOutcomes+100<<10 {
		t.Errorf("%d bytes, %d outcomes, %v", len(stored), len(lines), err)
	}
}
