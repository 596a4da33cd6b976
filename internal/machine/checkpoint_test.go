package machine

import (
	"errors"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/value"
)

// busyMachine has something of everything in its state.
func busyMachine(t testing.TB) *Machine {
	t.Helper()
	p := compilePlan(t, testHeader+`timeout: {after: PT1H}
do:
  - first: {run: {shell: {command: x}}, export: {as: '{n: 1}'}}
  - loop:
      for: {in: '[1, 2]'}
      timeout: {after: PT30M}
      do:
        - split:
            fork:
              branches:
                - a: {try: [{b: {call: http, with: {method: get, endpoint: 'https://e.org', headers: {x: '${ $authorization }'}}}}],
                      catch: {retry: {delay: PT1S, limit: {duration: PT5M, attempt: {duration: PT1M}}}}}
                - c: {try: [{d: {raise: {error: {type: 'x:y', status: 500}}}}], catch: {as: e, do: [{f: {wait: PT9S}}, {g: {set: '${ $e }'}}]}}
                - h: {try: [{i: {raise: {error: {type: 'x:y', status: 500}}}}], catch: {retry: {delay: PT2S}}}
                - j: {set: {x: 1}, export: {as: '{n: 2}'}}
`)
	m := New(p, testIdentity(t))
	for _, ev := range []Event{
		{Kind: Started, TimeMs: scriptEpoch, Output: map[string]any{"in": "put"}},
		{Kind: ActivityEnded, TimeMs: scriptEpoch + 5, Command: 2, Output: "text", Files: []File{{ID: "1", Name: "n", MediaType: "m", Size: 5, Digest: "d"}}},
		{Kind: Interrupted, TimeMs: scriptEpoch + 6, Command: 6},
	} {
		if len(m.Apply(ev)) == 0 {
			t.Fatalf("%+v has no effect", ev)
		}
	}
	return m
}

func TestCheckpointIsReadable(t *testing.T) {
	m := busyMachine(t)
	state := m.Checkpoint()
	top := parseJSON(t, string(state)).(map[string]any)
	if top["version"] != 1 || top["revision"] != Revision || top["phase"] != "running" {
		t.Errorf("header: %v %v %v", top["version"], top["revision"], top["phase"])
	}
	uses := map[string]int{}
	for _, p := range top["pending"].([]any) {
		uses[p.(map[string]any)["use"].(string)]++
	}
	want := map[string]int{"workflow_timeout": 1, "timeout": 1, "activity": 1, "attempt_timeout": 1, "retry_timeout": 1, "wait": 1, "retry": 1}
	for use, n := range want {
		if uses[use] != n {
			t.Errorf("%d commands pending for %s, want %d: %v", uses[use], use, n, uses)
		}
	}
	if n := strings.Count(string(state), `"in":"put"`); n != 1 {
		t.Errorf("the input is written %d times", n)
	}
}

// The digest of the document that a call used is in its entry, also when it faults, and stays
// there in a checkpoint (T69).
func TestDocumentOfACallIsInItsEntry(t *testing.T) {
	p := compilePlan(t, testHeader+"do: [{a: {try: [{b: {"+callTo+"}}}], catch: {do: [{c: {"+callTo+"}}}, {d: {wait: PT1H}}]}}}]")
	m := New(p, testIdentity(t))
	m.Apply(Event{Kind: Started, TimeMs: scriptEpoch})
	m.Apply(Event{Kind: ActivityEnded, TimeMs: scriptEpoch, Command: 1, Fault: &Fault{Type: ErrCommunication, Status: 500}, Detail: "sha256:aa"})
	m.Apply(Event{Kind: ActivityEnded, TimeMs: scriptEpoch, Command: 2, Output: 1, Detail: "sha256:bb"})
	restored, err := Restore(p, testIdentity(t), m.Checkpoint())
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]*Machine{"at once": m, "restored": restored} {
		var got []string
		for _, e := range m.TakeTimeline() {
			got = append(got, e.Name+" "+e.Document)
		}
		if text := strings.Join(got, ", "); text != "a , b sha256:aa, c sha256:bb, d " {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func TestRestoreRefusesOthers(t *testing.T) {
	m := busyMachine(t)
	state := string(m.Checkpoint())
	for name, bad := range map[string]string{
		"no JSON":          state[:len(state)-1],
		"other version":    strings.Replace(state, `"version":1`, `"version":2`, 1),
		"other revision":   strings.Replace(state, `"revision":1`, `"revision":99`, 1),
		"list":             "[1]",
		"unknown phase":    strings.Replace(state, `"phase":"running"`, `"phase":"happy"`, 1),
		"unknown use":      strings.Replace(state, `"use":"wait"`, `"use":"fun"`, 1),
		"wrong type":       strings.Replace(state, `"seq":`, `"seq":"x","was":`, 1),
		"missing values":   strings.Replace(state, `"values":[`, `"values":[],"was":[`, 1),
		"missing nodes":    strings.Replace(state, `"nodes":[`, `"nodes":[],"was":[`, 1),
		"missing entries":  strings.Replace(state, `"entries":[`, `"entries":[],"was":[`, 1),
		"missing scopes":   strings.Replace(state, `"scopes":[`, `"scopes":[],"was":[`, 1),
		"unknown task":     strings.Replace(state, `"task":1`, `"task":1000`, 1),
		"unknown owner":    strings.Replace(state, `"owner":1`, `"owner":1000`, 1),
		"other branches":   strings.Replace(state, `"branches":4`, `"branches":9`, 1),
		"not a try":        strings.Replace(state, `"try":{`, `"was":{`, 1),
		"place in no list": strings.Replace(state, `"list":true,"at":1`, `"list":true,"at":100`, 1),
	} {
		if bad == state {
			t.Fatalf("%s: the checkpoint is not changed", name)
		}
		if _, err := Restore(m.plan, testIdentity(t), []byte(bad)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	other := compilePlan(t, testHeader+"do: [{a: {set: {x: 1}}}]")
	if _, err := Restore(other, testIdentity(t), []byte(state)); !errors.Is(err, errCorrupt) {
		t.Errorf("the checkpoint of another plan: %v", err)
	}
}

// Large integers, deep and odd values survive.
func TestCheckpointValues(t *testing.T) {
	p := compilePlan(t, testHeader+`do:
  - a: {set: '${ {big: (reduce range(4000) as $i (1; . * 2)), small: 1.0, deep: (reduce range(250) as $i (0; [.]))} }'}
  - b: {wait: PT1S}
`)
	m := New(p, testIdentity(t))
	m.Apply(Event{Kind: Started, TimeMs: scriptEpoch, Output: map[string]any{"nul": "\x00", "text": "ä\u2028"}})
	restored, err := Restore(p, testIdentity(t), m.Checkpoint())
	if err != nil {
		t.Fatal(err)
	}
	fire := Event{Kind: TimerFired, TimeMs: scriptEpoch + 1000, Command: 1}
	got, want := restored.Apply(fire), m.Apply(fire)
	if string(value.Marshal(got[0].Output)) != string(value.Marshal(want[0].Output)) || len(value.Marshal(got[0].Output)) < 1205+500 {
		t.Errorf("got %.300s", value.Marshal(got[0].Output))
	}
}

func FuzzRestore(f *testing.F) {
	m := busyMachine(f)
	f.Add(m.Checkpoint())
	f.Add(New(m.plan, m.id).Checkpoint())
	f.Fuzz(func(t *testing.T, state []byte) {
		restored, err := Restore(m.plan, m.id, state)
		if err != nil {
			return
		}
		restored.InFlight()
		restored.Timeline()
		if again, err := Restore(m.plan, m.id, restored.Checkpoint()); err != nil {
			t.Errorf("the checkpoint of a restored machine is refused: %v\n%s", err, again.Checkpoint())
		}
	})
}

// An update of the server does not change what an execution has seen.
func TestRuntimeVersionIsPinned(t *testing.T) {
	p := compilePlan(t, testHeader+"do: [{a: {emit: {event: {with: {type: x, version: '${ $runtime.version }'}}}}}, {w: {wait: PT1S}}, {b: {set: '${ $runtime.version }'}}]")
	older, newer := testIdentity(t), testIdentity(t)
	older.RuntimeVersion, newer.RuntimeVersion = "1.0.0", "2.0.0"
	started := Event{Kind: Started, TimeMs: scriptEpoch, Output: map[string]any{}, Detail: older.RuntimeVersion}
	first := New(p, older)
	commands := first.Apply(started)
	timer := commands[len(commands)-1]
	replayed := New(p, newer)
	if Digest(replayed.Apply(started)) != Digest(commands) {
		t.Error("the replay gives other commands")
	}
	restored, err := Restore(p, newer, first.Checkpoint())
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]*Machine{"replayed": replayed, "restored": restored} {
		commands := m.Apply(Event{Kind: TimerFired, TimeMs: timer.DueMs, Command: timer.ID})
		if last := commands[len(commands)-1]; last.Output != "1.0.0" {
			t.Errorf("%s: %s", name, commandText(last))
		}
	}
}
