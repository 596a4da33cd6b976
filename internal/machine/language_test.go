package machine

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/value"
)

const languageHeader = "document: {dsl: 1.0.3, namespace: test, name: script, version: 1.0.0}\n"

// A loop around a fork doubles its data each time without any expression: the limit of the
// state ends it before measuring its size takes too long.
func TestForkThatDoubles(t *testing.T) {
	p := compilePlan(t, languageHeader+"do: [{split: {fork: {branches: [{a: {wait: PT0S}}, {b: {wait: PT0S}}]}, then: split}}]")
	p.Limits.StateBytes = 4096
	m := New(p, testIdentity(t))
	commands := m.Apply(Event{Kind: Started, TimeMs: scriptEpoch, Output: map[string]any{}})
	last := commands[len(commands)-1]
	if last.Kind != Finish || last.Fault == nil || last.Fault.Code != CodeStateLimit || last.Fault.Instance != "/do/0/split" {
		t.Fatalf("it ended with %s", commandsText(commands))
	}
}

// One execution has a bounded number of detached processes (T67).
func TestTooManyDetached(t *testing.T) {
	p := compilePlan(t, languageHeader+"do: [{a: {run: {shell: {command: x}, await: false}, then: a}}]")
	m := New(p, testIdentity(t))
	commands := m.Apply(Event{Kind: Started, TimeMs: scriptEpoch})
	last := commands[len(commands)-1]
	if last.Kind != Finish || last.Fault == nil || !strings.Contains(last.Fault.Detail, fmt.Sprint(MaxDetached)) {
		t.Fatalf("it ended with %s", commandText(last))
	}
	// All were issued by the same event, so that none has left Apply: none is left.
	if len(commands) != 1 {
		t.Errorf("%d commands", len(commands))
	}
}

// $runtime.metadata stays what it was at the start, whatever the server says later (T89).
func TestRuntimeMetadataIsPinned(t *testing.T) {
	p := compilePlan(t, languageHeader+"do: [{a: {wait: PT1S}}, {b: {set: '${ $runtime.metadata }'}}]")
	id := testIdentity(t)
	id.RuntimeMetadata = map[string]any{"python": "3.14"}
	m := New(p, id)
	started := Event{Kind: Started, TimeMs: scriptEpoch, Runtime: map[string]any{"python": "3.13"}}
	stored, err := DecodeEvent(AppendEvent(nil, started))
	if err != nil {
		t.Fatal(err)
	}
	m.Apply(stored)
	m, err = Restore(p, id, m.Checkpoint())
	if err != nil {
		t.Fatal(err)
	}
	commands := m.Apply(Event{Kind: TimerFired, Command: 1, TimeMs: scriptEpoch + 1000})
	if got := commands[0].Output; !value.Equal(got, map[string]any{"python": "3.13"}) {
		t.Errorf("metadata is %s", value.Marshal(got))
	}
}

// Values of secrets are given to a machine anew whenever it is restored, and are not in its
// checkpoint; a name that is missing denies the access (T10, T75).
func TestSecretsAreNoState(t *testing.T) {
	p := compilePlan(t, languageHeader+"use: {secrets: [key, login, spare]}\ndo: [{a: {wait: PT1S}}, {b: {set: '${ $secrets.login.password }'}}]")
	id := testIdentity(t)
	m := New(p, id)
	m.Apply(Event{Kind: Started, TimeMs: scriptEpoch})
	state := m.Checkpoint()
	for _, secret := range []string{"k-123", "pw", "unused"} {
		if bytes.Contains(state, []byte(secret)) {
			t.Errorf("the checkpoint holds %s", secret)
		}
	}
	for _, with := range []bool{true, false} {
		identity := id
		if !with {
			identity.Secrets = nil
		}
		m, err := Restore(p, identity, state)
		if err != nil {
			t.Fatal(err)
		}
		last := m.Apply(Event{Kind: TimerFired, Command: 1, TimeMs: scriptEpoch + 1000})[0]
		if with && last.Output != "pw" || !with && (last.Fault == nil || last.Fault.Type != ErrAuthorization) {
			t.Errorf("with secrets %v: %s", with, commandText(last))
		}
	}
}

// A name of a secret that only the data contains is denied if it is not declared (T75).
func TestUndeclaredSecretAtRunTime(t *testing.T) {
	for _, test := range []struct{ expression, output string }{
		{"$secrets[.name]", ""}, {"$secrets[.name]?", "null"}, {"[$secrets[(.name, .known)]]", ""}, {"try $secrets[.name] catch 1", ""},
		{"path($secrets[.name])", ""}, {`$secrets["s\(.name)"]`, ""}, {"$secrets[.known]", `"k-123"`}, {"$secrets | .[.name]?", "null"},
	} {
		definition := languageHeader + "evaluate: {mode: loose}\nuse: {secrets: [key]}\ndo: [{a: {set: '${ " + test.expression + " }'}}]"
		p := compilePlan(t, definition)
		last := New(p, testIdentity(t)).Apply(Event{Kind: Started, TimeMs: scriptEpoch, Output: map[string]any{"name": "spare", "known": "key"}})[0]
		if test.output == "" && (last.Fault == nil || last.Fault.Status != 403) || test.output != "" && string(value.Marshal(last.Output)) != test.output {
			t.Errorf("%s: %s", test.expression, commandText(last))
		}
	}
}

// A function from outside has no secrets, even if it does not name them (T37).
func TestRemoteFunctionHasNoSecrets(t *testing.T) {
	const uri = "https://e.org/steal.yaml"
	testPlan := func(content string) *plan.Plan {
		resources := testResources
		testResources = map[string][]byte{uri: []byte(content)}
		defer func() { testResources = resources }()
		return compilePlan(t, languageHeader+"use: {secrets: [key]}\ndo: [{a: {call: '"+uri+"'}}]")
	}
	m := New(testPlan("set: '${ [$secrets[]] }'"), testIdentity(t))
	last := m.Apply(Event{Kind: Started, TimeMs: scriptEpoch})[0]
	if last.Fault == nil || last.Fault.Status != 403 || last.Fault.Instance != "/do/0/a" {
		t.Errorf("it ended with %s", commandText(last))
	}
}

// The id of a child looks like that of any execution, and is the same on every replay (T51).
func TestChildIDs(t *testing.T) {
	p := compilePlan(t, languageHeader+"do: [{a: {run: {workflow: {namespace: n, name: w}}, then: a}}]")
	seen := map[chargehand.ExecutionID]bool{}
	m, again := New(p, testIdentity(t)), New(p, testIdentity(t))
	ev := Event{Kind: Started, TimeMs: scriptEpoch}
	for i := range 3 {
		c, twin := m.Apply(ev), again.Apply(ev)
		id := c[0].Child.ID
		if len(c) != 1 || seen[id] || id != twin[0].Child.ID || id[6]>>4 != 7 || id[8]>>6 != 2 || id.Milli() != ev.TimeMs {
			t.Fatalf("id of child %d is %s", i, id)
		}
		seen[id] = true
		ev = Event{Kind: ChildEnded, Command: c[0].ID, TimeMs: ev.TimeMs + 1}
	}
}

// Damaged checkpoints of what this part of the language stores are refused, never believed.
func TestDamagedLanguageCheckpoints(t *testing.T) {
	p := compilePlan(t, languageHeader+`
use: {extensions: [{e: {extend: call, before: [{w: {wait: PT1S}}], after: [{x: {wait: PT1S}}]}}]}
do:
  - d: {run: {shell: {command: x}, await: false}}
  - f: {fork: {branches: [{c: {run: {workflow: {namespace: n, name: w}}}}, {g: {call: http, with: {method: get, endpoint: 'https://e.org'}}}]}}
`)
	m := New(p, testIdentity(t))
	m.Apply(Event{Kind: Started, TimeMs: scriptEpoch})
	state := string(m.Checkpoint())
	if _, err := Restore(p, testIdentity(t), []byte(state)); err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{
		{`"around":{"at":0`, `"around":{"at":7`}, {`"chosen":[0]`, `"chosen":[1]`}, {`"chosen":[0]`, `"chosen":["x"]`},
		{`"chosen":[0],"running":true`, `"chosen":[0],"after":true`}, {`"running":true`, `"running":true,"then":99`},
		{`"child":"`, `"child":"x`}, {`"use":"detached","node":0`, `"use":"detached","node":1`}, {`"use":"child"`, `"use":"activity"`},
	} {
		damaged := strings.Replace(state, change[0], change[1], 1)
		if damaged == state {
			t.Fatalf("%s is not in %s", change[0], state)
		}
		if _, err := Restore(p, testIdentity(t), []byte(damaged)); err == nil {
			t.Errorf("%s is accepted", change[1])
		}
	}
}
