package testrecord_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/client"
	"github.com/chargehand/chargehand/internal/testrecord"
)

func replayed(t *testing.T, g *client.Recording, recorded, changed string) *testrecord.Replayed {
	t.Helper()
	r, err := testrecord.Replay(t.Context(), g, testrecord.Definition{Name: "old.yaml", Text: []byte(recorded)}, testrecord.Definition{Name: "new.yaml", Text: []byte(changed)})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Unfaithful) > 0 {
		t.Errorf("unfaithful: %q", r.Unfaithful)
	}
	return r
}

// location is a task with its position, `nothing` without one.
func location(p *testrecord.Location) string {
	if p == nil {
		return "nothing"
	}
	return fmt.Sprintf("%s %d:%d", p.Task, p.Line, p.Column)
}

// The first decision that is another one is reported with both locations, and what does not change a decision is none.
func TestReplay(t *testing.T) {
	for _, test := range []struct {
		name, from, to string // replaced in the definition
		want           string // kind, was and now, and what else tells the divergence; empty: there is none
	}{
		{"nothing", "", "", ""},
		{"a comment and another version", "version: 1.0.0}", "version: 1.1.0} # new", ""},
		{"an output that nothing reads", "output: {as: '{outcome, n: $input.n}'}", "output: {as: '{outcome, n: $input.n, more: 1}'}", ""},
		{"a renamed task", "- news: {", "- paper: {", ""},
		{"a renamed call within a try", "{charge: {call", "{bill: {call", ""},
		{"a changed call", "endpoint: 'https://example.org/'", "endpoint: 'https://example.org/pay'", "call charge 5:14 charge 5:14 /endpoint"},
		{"a changed request of a person", "title: Approve", "title: Decide", "call ask 7:5 ask 7:5 /title"},
		{"a call of another kind", "run: {shell: {command: x}}", "run: {script: {language: js, code: x}}", "call slow 13:14 slow 13:14"},
		{"a removed task", "  - news: {listen: {to: {one: {with: {type: org.example.paid}}}}, output: {as: '{n: .[0].n, mail: .[0].mail}'}}\n", "", "task news 11:5 late 11:5"},
		{"an added task", "  - news:", "  - extra: {set: '${ . }'}\n  - news:", "task news 11:5 extra 11:5"},
		{"an added call", "  - news:", "  - extra: {call: http, with: {method: get, endpoint: 'https://example.org/x'}}\n  - news:", "task news 11:5 extra 11:5"},
		{"a changed delay", "delay: PT1S", "delay: PT2S", "time charge 5:14 charge 5:14"},
		{"fewer attempts", "attempt: {count: 2}", "attempt: {count: 1}", "task charge 5:14 nothing decided pay retried to retries exhausted"},
		{"a changed timeout", "timeout: {after: PT5S}", "timeout: {after: PT3S}", "time given 14:21 given 14:21"},
		{"an event that does not come", "type: org.example.paid", "type: org.example.lost", "task late 12:5 nothing"},
		{"a changed output", "[{given: {set: '${ $input }'}}]", "[{given: {set: {n: 8}}}]", "end nothing nothing /mail"},
		{"a condition that holds", "- ask:\n", "- ask:\n      if: ${ .n == 5 }\n", ""},
		{"a condition that does not hold", "- ask:\n", "- ask:\n      if: ${ .n == 6 }\n", "task ask 7:5 news 12:5 decided ask  to if false"},
	} {
		t.Run(test.name, func(t *testing.T) {
			changed := strings.Replace(definition, test.from, test.to, 1)
			if test.from != "" && changed == definition {
				t.Fatalf("there is no %q", test.from)
			}
			got := ""
			r := replayed(t, recorded(t), definition, changed)
			if d := r.Divergence; d != nil {
				got = strings.TrimSpace(fmt.Sprint(d.Kind, " ", location(d.Was), " ", location(d.Now), " ", d.Where))
				if c := d.Decision; c != nil {
					got += fmt.Sprint(" decided ", c.Was.Task, " ", c.WasWay, " to ", c.NowWay)
				}
				if d.Detail == "" {
					t.Error("it says nothing")
				}
			}
			if got != test.want {
				t.Errorf("it is %q\nwant %q\n%+v", got, test.want, r.Divergence)
			}
			if renamed := strings.HasPrefix(test.name, "a renamed"); renamed != (len(r.Renamed) == 1) || r.Divergence == nil && r.Decisions != 14 {
				t.Errorf("%d decisions, renamed: %+v", r.Decisions, r.Renamed)
			}
		})
	}
}

const deciding = `document: {dsl: 1.0.3, namespace: test, name: decide, version: 1.0.0}
do:
  - classify:
      switch:
        - large: {when: '.n > 100', then: refuse}
        - small: {when: '.n <= 100', then: accept}
  - refuse: {set: {ok: false}, then: end}
  - accept: {emit: {event: {with: {source: /s, type: org.example.accepted, data: {n: '${ .n }'}}}}, output: {as: .data}}
`

// Another case, another event and another end are reported with the task that has decided so.
func TestReplayDecisions(t *testing.T) {
	var g client.Recording
	if err := json.Unmarshal([]byte(`{"execution_id":"0197a5c4-2222-7000-8000-000000000002","workflow":"test/decide","started_at":"2026-03-01T10:00:00Z",
		"phase":"completed","input":{"n":80},"output":{"n":80},"tasks":[{"reference":"/do/0/classify"},{"reference":"/do/2/accept"}]}`), &g); err != nil {
		t.Fatal(err)
	}
	d := replayed(t, &g, deciding, strings.ReplaceAll(deciding, "100", "50")).Divergence
	if d == nil || d.Kind != testrecord.DivergesTask || location(d.Was) != "accept 8:5" || location(d.Now) != "refuse 7:5" ||
		d.Decision == nil || location(d.Decision.Now) != "classify 3:5" || d.Decision.WasWay != "case small" || d.Decision.NowWay != "case large" {
		t.Errorf("%+v %+v", d, d.Decision)
	}
	d = replayed(t, &g, deciding, strings.Replace(deciding, "{n: '${ .n }'}", "{n: '${ .n + 1 }'}", 1)).Divergence
	if d == nil || d.Kind != testrecord.DivergesEvent || d.Where != "/data/n" || fmt.Sprint(d.Expected, d.Got) != "80 81" {
		t.Errorf("%+v", d)
	}
	// Another order of the cases, and one more before, decide the same.
	if d := replayed(t, &g, deciding, strings.Replace(deciding, "        - large", "        - none: {when: '.n < 0', then: end}\n        - large", 1)).Divergence; d != nil {
		t.Errorf("%+v", d)
	}
}

// What the recorded definition itself does otherwise is reported apart, and definitions that cannot be compiled are
// refused.
func TestReplayCannot(t *testing.T) {
	g := recorded(t)
	g.Output = json.RawMessage(`{"n":8}`)
	text := testrecord.Definition{Name: "old.yaml", Text: []byte(definition)}
	r, err := testrecord.Replay(t.Context(), g, text, text)
	if err != nil || len(r.Unfaithful) != 1 || r.Divergence != nil {
		t.Errorf("%+v %v", r, err)
	}
	for name, text := range map[string]string{
		"1:1": "document: {dsl: 1.0.3, namespace: test, name: order, version: 1.0.0}\ndont: []\n",
		"2:":  "document: {dsl: 1.0.3, namespace: test, name: order, version: 1.0.0}\ninput: {schema: {resource: {endpoint: 'https://example.org/x.json'}}}\ndo:\n  - a: {set: {b: 1}}\n",
	} {
		var wrong *testrecord.DefinitionError
		_, err := testrecord.Replay(t.Context(), g, testrecord.Definition{Name: "old.yaml", Text: []byte(definition)}, testrecord.Definition{Name: "new.yaml", Text: []byte(text)})
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), "new.yaml:"+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
