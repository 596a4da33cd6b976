package machine

import (
	"strings"
	"testing"

	"github.com/chargehand/chargehand"
)

const suspendHeader = "document: {dsl: 1.0.3, namespace: test, name: script, version: 1.0.0}\n"

// A loop that is about to yield continues at the resumption, although the Yield is never answered.
func TestSuspendWhileYielded(t *testing.T) {
	p := compilePlan(t, suspendHeader+`
do:
  - each: {for: {in: '[range(1500)]'}, do: [{one: {set: {a: 1}}}]}
  - two: {wait: PT1S}
`)
	m := New(p, testIdentity(t))
	m.Apply(Event{Kind: Started, TimeMs: scriptEpoch, Output: map[string]any{}})
	if !m.Load().Yielded {
		t.Fatal("the loop did not yield")
	}
	m.Apply(Event{Kind: SuspendRequested, TimeMs: scriptEpoch})
	if l := m.Load(); l.HoldsSlot() || m.Phase() != chargehand.Suspended {
		t.Fatalf("load is %+v in phase %s", l, m.Phase())
	}
	m.Apply(Event{Kind: Continued, TimeMs: scriptEpoch})
	if l := m.Load(); l.Waits != 0 {
		t.Fatal("it continued while suspended")
	}
	commands := m.Apply(Event{Kind: ResumeRequested, TimeMs: scriptEpoch + 5})
	if len(commands) != 1 || commands[0].Kind != StartTimer || commands[0].DueMs != scriptEpoch+1005 {
		t.Fatalf("the resumption gave\n%s", commandsText(commands))
	}
}

// What is held counts in the size of the state.
func TestSuspendHoldsNoMoreThanTheState(t *testing.T) {
	p := compilePlan(t, suspendHeader+`
do:
  - both: {fork: {branches: [{a: {run: {shell: {command: x}}}}, {b: {run: {shell: {command: x}}}}]}}
`)
	p.Limits.StateBytes = 100_000
	m := New(p, testIdentity(t))
	m.Apply(Event{Kind: Started, TimeMs: scriptEpoch, Output: map[string]any{}})
	m.Apply(Event{Kind: SuspendRequested, TimeMs: scriptEpoch})
	m.Apply(Event{Kind: ActivityEnded, Command: 1, TimeMs: scriptEpoch, Output: strings.Repeat("a", 60_000)})
	if m.Done() {
		t.Fatal("it has ended below the limit")
	}
	commands := m.Apply(Event{Kind: ActivityEnded, Command: 2, TimeMs: scriptEpoch, Output: strings.Repeat("b", 60_000)})
	if len(commands) != 1 || commands[0].Kind != Finish || commands[0].Phase != chargehand.Faulted {
		t.Fatalf("above the limit, the machine gave\n%s", commandsText(commands))
	}
}

func TestSuspendTells(t *testing.T) {
	p := compilePlan(t, suspendHeader+"do:\n  - one: {wait: PT1S}\n")
	for _, early := range []bool{false, true} {
		m := New(p, testIdentity(t))
		start := Event{Kind: Started, TimeMs: scriptEpoch, Output: map[string]any{}, Lifecycle: &Lifecycle{Prefix: "p", Tasks: true}}
		suspend := Event{Kind: SuspendRequested, TimeMs: scriptEpoch + 10}
		events := []Event{start, suspend, suspend}
		want := "workflow.started task.created task.started workflow.suspended task.suspended workflow.resumed task.resumed task.completed workflow.completed"
		if early {
			events = []Event{suspend, start}
			want = "workflow.started workflow.suspended workflow.resumed task.created task.started task.completed workflow.completed"
		}
		resumed := Event{Kind: ResumeRequested, TimeMs: scriptEpoch + 20}
		var published []string
		for _, ev := range append(events, resumed, Event{Kind: TimerFired, Command: 0, TimeMs: scriptEpoch + 1020}) {
			if ev.Kind == TimerFired {
				ev.Command = m.InFlight()[0].ID
			}
			for _, c := range m.Apply(ev) {
				if c.Kind == Publish {
					text, _ := c.Args.(map[string]any)["type"].(string)
					published = append(published, strings.TrimSuffix(strings.TrimPrefix(text, "p."), ".v1"))
				}
			}
		}
		if got := strings.Join(published, " "); got != want {
			t.Errorf("early %v: published\n%s, want\n%s", early, got, want)
		}
	}
}
