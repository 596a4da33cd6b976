package machine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Each kind of decision is reported with the pointer of its task, and a restored machine tells of what comes after.
func TestObserve(t *testing.T) {
	p := compilePlan(t, `
document: {dsl: '1.0.3', namespace: test, name: observe, version: '1.0.0'}
do:
  - skipped: {if: .no, set: {x: 1}}
  - taken: {if: 'true', set: {n: 1, list: [1], none: []}}
  - choose: {switch: [{other: {when: .n == 2, then: exit}}, {one: {when: .n == 1, then: continue}}, {default: {then: continue}}]}
  - unclear: {switch: [{other: {when: .n == 2, then: exit}}]}
  - some: {for: {in: .list}, do: [{in: {set: '${ $input }'}}]}
  - zero: {for: {in: .none}, do: [{in: {set: {x: 1}}}]}
  - stop: {for: {in: .list}, while: 'false', do: [{in: {set: {x: 1}}}]}
  - race: {fork: {compete: true, branches: [{slow: {wait: PT1S}}, {quick: {set: {n: 3}}}]}}
  - guard:
      try: [{fail: {raise: {error: {type: 'x:y', status: 409}}}}]
      catch: {retry: {limit: {attempt: {count: 1}}}, do: [{handled: {set: {x: 1}}}]}
  - late: {wait: PT2S, timeout: {after: PT1S}}
`)
	var seen []string
	observe := func(reference string, b Branch) {
		if b.Kind != BranchTask {
			seen = append(seen, fmt.Sprintf("%s %d:%d", reference[strings.LastIndex(reference, "/")+1:], b.Kind, b.Index))
		}
	}
	m := New(p, testIdentity(t))
	m.Observe(observe)
	m.Apply(Event{Kind: Started, TimeMs: scriptEpoch, Output: map[string]any{}})
	restored, err := Restore(p, testIdentity(t), m.Checkpoint())
	if err != nil {
		t.Fatal(err)
	}
	restored.Observe(observe)
	for _, c := range restored.InFlight() {
		if c.Kind == StartTimer && c.DueMs == scriptEpoch+1000 {
			restored.Apply(Event{Kind: TimerFired, Command: c.ID, TimeMs: c.DueMs})
		}
	}
	want := []string{"skipped 2:0", "taken 2:1", "choose 3:1", "unclear 3:-1", "some 5:1", "zero 5:0", "stop 5:0", "race 6:1",
		"guard 4:1", "guard 4:0", "late 7:0"}
	if !slices.Equal(seen, want) {
		t.Errorf("seen %v, want %v", seen, want)
	}
}
