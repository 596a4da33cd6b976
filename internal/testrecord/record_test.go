package testrecord_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/client"
	"github.com/chargehand/chargehand/internal/testfile"
	"github.com/chargehand/chargehand/internal/testrecord"
)

const definition = `document: {dsl: 1.0.3, namespace: test, name: order, version: 1.0.0}
use: {secrets: [token, smtp]}
do:
  - pay:
      try: [{charge: {call: http, with: {method: get, endpoint: 'https://example.org/', headers: {a: '${ $secrets.token + $secrets.smtp.user }'}}, output: {as: '{n}'}}}]
      catch: {retry: {delay: PT1S, limit: {attempt: {count: 2}}}}
  - ask:
      call: human:1.0.0@default
      with: {title: Approve, outcomes: [approve, reject], assignees: {users: [ada@example.com]}}
      output: {as: '{outcome, n: $input.n}'}
  - news: {listen: {to: {one: {with: {type: org.example.paid}}}}, output: {as: '{n: .[0].n, mail: .[0].mail}'}}
  - late:
      try: [{slow: {run: {shell: {command: x}}, timeout: {after: PT5S}}}]
      catch: {do: [{given: {set: '${ $input }'}}]}
`

const recording = `{"execution_id":"0197a5c4-2222-7000-8000-000000000002","workflow":"test/order","workflow_version":"1.0.0","revision":3,
"started_at":"2026-03-01T10:00:00.25Z","elapsed_ms":14123,"phase":"completed","input":{"true":"yes","a b":[1,1.0]},
"output":{"n":7,"mail":"Ada@example.com"},"secrets":["token","smtp"],
"tasks":[{"reference":"/do/0/pay"},{"reference":"/do/0/pay/try/0/charge"},{"reference":"/do/0/pay/try/0/charge"},{"reference":"/do/0/pay/try/0/charge"},{"reference":"/do/1/ask"},{"reference":"/do/2/news"},
 {"reference":"/do/3/late"},{"reference":"/do/3/late/try/0/slow"},{"reference":"/do/3/late/catch/do/0/given"}],
"outcomes":[
 {"seq":2,"reference":"/do/0/pay/try/0/charge","kind":"activity","asked_ms":0,"at_ms":100,"error":{"type":"https://open-workflow-specification.org/spec/1.0.0/errors/communication","status":503,"title":"Communication error","detail":"The server: \"no\""}},
 {"seq":9,"reference":"/do/0/pay/try/0/charge","kind":"activity","asked_ms":1100,"at_ms":1200,"error":{"type":"https://open-workflow-specification.org/spec/1.0.0/errors/communication","status":503,"title":"Communication error","detail":"The server: \"no\""}},
 {"seq":3,"reference":"/do/0/pay/try/0/charge","kind":"activity","asked_ms":2205,"at_ms":2305,"output":{"n":5,"long":"` + "%s" + `"}},
 {"seq":4,"reference":"/do/1/ask","kind":"answer","asked_ms":1205,"at_ms":3205,"output":{"outcome":"approve","data":null,"comment":null,"at":"2026-03-01T10:00:03.455Z","files":[],"by":{"id":"ada@example.com","name":"Ada","via":{"kind":"session","id":"x"}}}},
 {"seq":5,"reference":"/do/2/news","kind":"event","asked_ms":3205,"at_ms":9100,"output":{"specversion":"1.0","id":"1","source":"/s","type":"org.example.paid","data":{"n":7,"mail":"Ada@example.com"}}},
 {"seq":7,"reference":"/do/3/late/try/0/slow","kind":"none","asked_ms":9100,"at_ms":14100}]}`

func recorded(t *testing.T) *client.Recording {
	t.Helper()
	var g client.Recording
	if err := json.Unmarshal(fmt.Appendf(nil, recording, strings.Repeat("long ", 40)), &g); err != nil {
		t.Fatal(err)
	}
	return &g
}

// What is written is a test file that passes: the same output, the same order, on the virtual clock.
func TestRecord(t *testing.T) {
	o := testrecord.Options{Schema: "https://example.org/test.json", Workflow: "./order.yaml", Source: []byte(definition)}
	for _, anonymise := range []bool{false, true} {
		o.Anonymise = anonymise
		f, err := testrecord.Record(t.Context(), recorded(t), o, testrecord.NoFiles)
		if err != nil || !f.Passed() {
			t.Fatalf("%+v, %v: %+v\n%s", f.Problems, err, f.Test, f.Text)
		}
		if _, problems := testfile.Read(f.Text); len(problems) > 0 {
			t.Errorf("%v", problems)
		}
		text := string(f.Text)
		for _, part := range []string{
			"# yaml-language-server: $schema=https://example.org/test.json\n", "\nworkflow: ./order.yaml\n", "\n      charge:\n", "- after: PT0.1S\n",
			"hangs: true", "times: 2\n", "- at: PT9.1S\n", "elapsed: PT14.1S", "smtp: {user: ", `"true": "yes"`, `answers: {outcome: approve, `,
		} {
			if !strings.Contains(text, part) {
				t.Errorf("it lacks %q:\n%s", part, text)
			}
		}
		if found := strings.Contains(strings.ToLower(text), "ada@example.com"); found == anonymise {
			t.Errorf("anonymise %t:\n%s", anonymise, text)
		}
	}
}

// An answer whose time or way the workflow uses is written as it came.
func TestAnswersAsTheyCame(t *testing.T) {
	g := recorded(t)
	source := strings.ReplaceAll(definition, "'{outcome, n: $input.n}'", "'{n: $input.n, by: .by.via.id}'")
	source = strings.ReplaceAll(source, "'{n: .[0].n, mail: .[0].mail}'", "'$input'")
	g.Output = json.RawMessage(`{"n":5,"by":"x"}`)
	f, err := testrecord.Record(t.Context(), g, testrecord.Options{Workflow: "order.yaml", Source: []byte(source)}, testrecord.NoFiles)
	if err != nil || !f.Passed() || strings.Contains(string(f.Text), "answers:") {
		t.Errorf("%v %+v\n%s", err, f.Test, f.Text)
	}
}

// An event that the execution has published and received itself is no step of the script: the test publishes it again.
func TestOwnEventsAreNoSteps(t *testing.T) {
	const source = `document: {dsl: 1.0.3, namespace: test, name: talk, version: 1.0.0}
do:
  - both:
      fork:
        branches:
          - hear: {listen: {to: {any: [{with: {type: org.example.said}}], until: length == 2}}}
          - say:
              do: [{pause: {wait: PT1S}}, {one: {emit: {event: {with: {type: org.example.said, source: /own, id: '${ $workflow.id }', data: 1}}}}}]
              output: {as: '{said: true}'}
`
	var g client.Recording
	err := json.Unmarshal([]byte(`{"execution_id":"0197a5c4-2222-7000-8000-000000000002","workflow":"test/talk","workflow_version":"1.0.0","revision":1,
"started_at":"2026-03-01T10:00:00Z","elapsed_ms":5010,"phase":"completed","input":{},"output":[[1,2],{"said":true}],"secrets":[],"tasks":[],
"outcomes":[
 {"seq":2,"reference":"/do/0/both/fork/branches/0/hear","kind":"event","asked_ms":0,"at_ms":1004,"output":{"specversion":"1.0","id":"0197a5c4-2222-7000-8000-000000000002","source":"/own","type":"org.example.said","time":"2026-03-01T10:00:01.001Z","data":1}},
 {"seq":2,"reference":"/do/0/both/fork/branches/0/hear","kind":"event","asked_ms":0,"at_ms":5005,"output":{"specversion":"1.0","id":"2","source":"/other","type":"org.example.said","data":2}}]}`), &g)
	if err != nil {
		t.Fatal(err)
	}
	f, err := testrecord.Record(t.Context(), &g, testrecord.Options{Workflow: "talk.yaml", Source: []byte(source)}, testrecord.NoFiles)
	if err != nil || !f.Passed() || strings.Count(string(f.Text), "org.example.said") != 1 || !strings.Contains(string(f.Text), "source: \"/other\"") {
		t.Errorf("%v %+v %+v\n%s", err, f.Problems, f.Test, f.Text)
	}
}

// Where the execution depended on something else, the file is there, and says where it differs.
func TestRecordDiffers(t *testing.T) {
	g := recorded(t)
	g.Output = json.RawMessage(`{"n":8}`)
	f, err := testrecord.Record(t.Context(), g, testrecord.Options{Workflow: "order.yaml", Source: []byte(definition)}, testrecord.NoFiles)
	if err != nil || f.Passed() || f.Test == nil || len(f.Test.Failures) == 0 || !strings.HasPrefix(f.Test.Failures[0].Expectation, "expect.output") {
		t.Errorf("%v %+v", err, f.Test)
	}
	// Without the definition's resources it cannot be run, and is written nevertheless.
	f, err = testrecord.Record(t.Context(), g, testrecord.Options{Workflow: "order.yaml", Source: []byte("no: definition")}, testrecord.NoFiles)
	if err != nil || f.Test != nil || len(f.Problems) == 0 || !strings.Contains(string(f.Text), "/do/1/ask") {
		t.Errorf("%v %+v\n%s", err, f.Test, f.Text)
	}
}

// Where there is one secret, what stands for it is also inside of the texts that it was in, and the test passes.
func TestOneSecret(t *testing.T) {
	const source = `document: {dsl: 1.0.3, namespace: test, name: ask, version: 1.0.0}
use: {secrets: [token]}
do:
  - ask:
      try: [{call: {call: http, with: {method: get, endpoint: 'https://example.org/', headers: {authorization: '${ "Bearer " + $secrets.token }'}}}}]
      catch: {as: e, do: [{failed: {set: {detail: '${ $e.detail }'}}}], retry: {limit: {attempt: {count: 1}}}}
      output: {as: '{answer: ., header: ("Bearer " + $secrets.token)}'}
`
	for _, outcomes := range []string{
		`{"seq":2,"reference":"/do/0/ask/try/0/call","kind":"activity","asked_ms":0,"at_ms":100,"output":{"detail":"[redacted]"}}`,
		`{"seq":2,"reference":"/do/0/ask/try/0/call","kind":"activity","asked_ms":0,"at_ms":100,"error":{"type":"https://example.org/e","status":400,"detail":"[redacted]"}},
		 {"seq":3,"reference":"/do/0/ask/try/0/call","kind":"activity","asked_ms":100,"at_ms":200,"error":{"type":"https://example.org/e","status":400,"detail":"[redacted]"}}`,
	} {
		var g client.Recording
		err := json.Unmarshal([]byte(`{"execution_id":"0197a5c4-2222-7000-8000-000000000002","workflow":"test/ask","workflow_version":"1.0.0","revision":1,
"started_at":"2026-03-01T10:00:00Z","elapsed_ms":200,"phase":"completed","input":{},"secrets":["token"],"tasks":[],
"output":{"answer":{"detail":"[redacted]"},"header":"Bearer [redacted]"},"outcomes":[`+outcomes+`]}`), &g)
		if err != nil {
			t.Fatal(err)
		}
		f, err := testrecord.Record(t.Context(), &g, testrecord.Options{Workflow: "ask.yaml", Source: []byte(source)}, testrecord.NoFiles)
		if err != nil || !f.Passed() || strings.Contains(string(f.Text), "[redacted]") || !strings.Contains(string(f.Text), "Bearer secret-token") {
			t.Errorf("%v %+v %+v\n%s", err, f.Problems, f.Test, f.Text)
		}
	}
}

// Where there are several secrets, the file says in which lines the text of one is missing.
func TestSeveralSecrets(t *testing.T) {
	g := recorded(t)
	g.Output = json.RawMessage(`{"n":7,"mail":"Bearer [redacted]"}`)
	for i := range g.Outcomes {
		if g.Outcomes[i].Kind == "event" {
			g.Outcomes[i].Output = json.RawMessage(`{"specversion":"1.0","id":"1","source":"/s","type":"org.example.paid","data":{"n":7,"mail":"Bearer [redacted]"}}`)
		}
	}
	for _, schema := range []string{"", "https://example.org/test.json"} {
		f, err := testrecord.Record(t.Context(), g, testrecord.Options{Schema: schema, Workflow: "order.yaml", Source: []byte(definition)}, testrecord.NoFiles)
		if err != nil || f.Test == nil {
			t.Fatalf("%v %+v", err, f.Problems)
		}
		text, said := string(f.Text), ""
		var want []string
		for i, line := range strings.Split(text, "\n") {
			switch {
			case strings.HasPrefix(line, "# Lines: "):
				said = strings.TrimPrefix(line, "# Lines: ")
			case strings.Contains(line, "[redacted]") && !strings.HasPrefix(line, "#"):
				want = append(want, strconv.Itoa(i+1))
			}
		}
		if len(want) != 2 || said != strings.Join(want, ", ") || !strings.Contains(text, "of a secret (smtp, token)") {
			t.Errorf("it names the lines %q, want %q:\n%s", said, want, text)
		}
	}
	// Nothing is missing from the recording as it is.
	if f, err := testrecord.Record(t.Context(), recorded(t), testrecord.Options{Workflow: "order.yaml", Source: []byte(definition)}, testrecord.NoFiles); err != nil || strings.Contains(string(f.Text), "# Lines") {
		t.Errorf("%v\n%s", err, f.Text)
	}
}

// No e-mail address is left: not in names, in titles of errors, or in why it was cancelled.
func TestAnonymiseEverywhere(t *testing.T) {
	const who = "eve@example.com"
	g := &client.Recording{Phase: "cancelled", Input: json.RawMessage(`{"eve@example.com": 1}`), Error: &client.ExecutionError{Detail: who}}
	g.Outcomes = []client.RecordedOutcome{
		{Reference: "/do/0/a", Kind: "result", Output: json.RawMessage("1"), Files: []client.RecordedFile{{Filename: who}}},
		{Reference: "/do/1/b", Kind: "result", Error: &client.ExecutionError{Title: who}},
	}
	for _, anonymise := range []bool{true, false} {
		text, err := testrecord.Write(g, nil, testrecord.Options{Anonymise: anonymise, ElapsedMs: -1})
		want := 4
		if anonymise {
			want = 0
		}
		if n := strings.Count(string(text), who); err != nil || n != want {
			t.Errorf("anonymise %t: %d addresses, %v\n%s", anonymise, n, err, text)
		}
	}
}
