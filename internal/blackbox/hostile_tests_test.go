package blackbox_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/servertest"
	"github.com/chargehand/chargehand/internal/value"
)

// testedBy sends a definition with these lines after the document, and tests.
func testedBy(t *testing.T, s *server, key, rest, tests string, files object) answer {
	t.Helper()
	body := object{"definition": definition("tested", "1.0.0", rest), "tests": tests}
	if files != nil {
		body["files"] = files
	}
	return s.Do(t, "POST", "/workflows/test", string(value.Marshal(body)), "X-Api-Key", key)
}

// TestHostileTests runs tests of requests that do harm: that do not end, take memory, read what is not theirs. Each is
// answered within the time of a request, and others are not held up meanwhile (docs/reference/api.md "Tests of a
// definition").
func TestHostileTests(t *testing.T) {
	t.Parallel()
	s := start(t)
	author := servertest.CreateKey(t, s.DataDir, "--preset", "deploy")
	flow := deploy(t, s, echo)
	before := state(t, s, flow)
	const one = "tests:\n  - name: one\n"
	child := definition("child", "1.0.0", "do:\n"+
		"- a: {fork: {branches: [{x: {run: {workflow: {namespace: contract, name: child, version: '1.0.0'}}}}, {y: {run: {workflow: {namespace: contract, name: child, version: '1.0.0'}}}}]}}\n")
	laughs := "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := 1; i < 12; i++ {
		laughs += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d,", i-1), 9), i-1)
	}
	endless := "do:\n- pause: {wait: {seconds: 1}}\n- again: {set: {x: 1}, then: pause}\n"
	bomb := func(expression string) string {
		return "do:\n- a: {set: {x: '${ " + expression + " }'}}\n- b: {set: {n: '${ .x | length }'}}\n"
	}
	slow := "do:\n- each: {for: {each: i, in: '${ [range(1000)] }'}, do: [{a: {set: {x: '${ [range(900000)] | length }'}}}]}\n"
	hoard := "do:\n- each:\n    for: {each: i, in: '${ [range(500)] }'}\n    do: [{a: {set: {x: '${ \"x\" * 15000000 + ($i | tostring) }'}, output: {as: .}, export: {as: '${ $context + {($i | tostring): .x} }'}}}]\n"
	bystanders := &others{t: t, s: s, flow: flow}
	retries := 6 // of all attacks together: a machine that needs more of them is busy with other things
	for _, attack := range []struct {
		name, rest, tests string
		files             object
		status            int
		says              string // in the answer
	}{
		{"endless loop", endless, one, nil, 200, `"endless"`},
		{"endless loop in many tests", endless, manyTests(500), nil, 200, `"stopped"`},
		{"loop without a wait", "do:\n- a: {set: {x: 1}}\n- b: {set: {x: 2}, then: a}\n", one, nil, 200, `"faulted"`},
		{"laughing definition", laughs + echo, one, nil, 422, "definition_invalid"},
		{"laughing tests", echo, laughs + one, nil, 422, "tests_invalid"},
		{"laughing input", echo, laughs + "tests:\n  - {name: one, input: {x: *a11}}\n", nil, 422, "tests_invalid"},
		{"deep tests", echo, "tests: " + strings.Repeat("[", 10_000), nil, 422, "tests_invalid"},
		{"huge output", bomb(`"x" * 10000000`), one, nil, 200, `"passed":1`},
		{"children of children", "do:\n- a: {run: {workflow: {namespace: contract, name: child, version: '1.0.0'}}}\n",
			"defaults: {children: {contract/child: child.yaml}}\n" + one, object{"child.yaml": child}, 0, ""},
		{"several tests", echo, manyTests(1_000), nil, 200, `"passed":1000`},
		{"many tests", echo, manyTests(9_000), nil, 200, `"passed":9000`},
		{"too many tests", echo, manyTests(20_000), nil, 422, "tests_invalid"},
		{"long range", bomb("[range(100000000)] | length"), one, nil, 200, `"faulted"`},
		{"endless repeat", bomb("[repeat(1)] | length"), one, nil, 200, `"faulted"`},
		{"endless recursion", bomb("def f: f; f"), one, nil, 200, `"faulted"`},
		{"large string", bomb(`"x" * 2000000000`), one, nil, 200, `"faulted"`},
		{"large number", bomb("reduce range(40) as $i (10; . * .)"), one, nil, 200, `"results"`},
		{"slow expressions", slow, one, nil, 200, `"stopped"`},
		{"slow condition of a mock", "do:\n- a: {call: http, with: {method: get, endpoint: 'https://example.org/'}}\n",
			"tests:\n  - {name: one, mocks: {a: [{returns: 1, when: '[range(100000000)] | length > 1'}]}}\n", nil, 200, `"mock_failed"`},
		{"hoarded memory", hoard, one, nil, 0, ""},
		{"file of the server", "do:\n- a: {run: {shell: {command: x}}}\n",
			"tests:\n  - {name: one, mocks: {a: {process: {code: 0}, files: [{name: a, from: /etc/passwd}]}}}\n", nil, 200, `"file_unreadable"`},
		{"definition of the server", echo, "defaults: {children: {a/b: ../../../../../../etc/passwd}}\n" + one, nil, 422, "definition_missing"},
		{"process", "do:\n- a: {run: {shell: {command: 'touch /tmp/chargehand-was-here'}}}\n", "tests:\n  - {name: one, mocks: {a: {real: true}}}\n", nil, 422, "real_not_allowed"},
		{"script", "do:\n- a: {run: {script: {language: js, code: 'return 1'}}}\n", "tests:\n  - {name: one, mocks: {a: {real: true}}}\n", nil, 422, "real_not_allowed"},
		{"call", "do:\n- a: {call: http, with: {method: get, endpoint: '" + s.URL + "/healthz'}}\n", one, nil, 200, `"missing_mock"`},
		{"resource", "input: {schema: {resource: {endpoint: '" + s.URL + "/api/v1/openapi.json'}}}\n" + echo, one, nil, 422, "resource_missing"},
		{"resource of the server", "input: {schema: {resource: {endpoint: 'file:///etc/passwd'}}}\n" + echo, one, nil, 422, "definition_invalid"},
		{"two keys of one name", echo, "tests:\n  - {name: one, name: two}\n", nil, 422, "tests_invalid"},
		{"filter by regular expression", "do:\n- a: {listen: {to: {one: {with: {type: '" + strings.Repeat("(a*)*", 50) + "'}}}}}\n",
			"tests:\n  - {name: one, script: [{at: PT1S, event: {type: '" + strings.Repeat("a", 1_000) + "!'}}], expect: {phase: waiting}}\n", nil, 0, ""},
	} {
		t.Run(attack.name, func(t *testing.T) {
			bystanders.t = t
			for try := 1; ; try++ {
				var end attacked
				alone := bystanders.alone()
				during := bystanders.during(func() {
					end = attackedBy(t, s, func() answer { return testedBy(t, s, author, attack.rest, attack.tests, attack.files) })
				})
				wait, most, held := heldUp(during, append(alone, bystanders.alone()...))
				stopped := attack.status != 0 && end.stopped() && (end.Status != attack.status || attack.says != `"stopped"`)
				if (held || stopped) && try < 3 && retries > 0 {
					retries--
					t.Logf("try %d: others waited for %v (at most %v), %s", try, wait, most, end)
					continue
				}
				t.Logf("others waited for %v (at most %v), %s", wait, most, end)
				if held && try == 3 {
					t.Errorf("others waited for %v, want at most %v, in each of %d tries", wait, most, try)
				}
				if stopped {
					// Tests have a low priority: beside others that compute, any of them may take its whole time.
					if why := end.fault(slices.Contains(slowAttacks, attack.name), calm(t, s, author)); why != "" {
						t.Errorf("%s: %s\n%.1500s", end, why, end.Body)
					}
				} else {
					verifyAttack(t, end.answer, attack.status, attack.says)
				}
				verifySoon(t, "the answer", end.took, 15*time.Second)
				if end.took > time.Minute || len(end.Body) > 8<<20 || strings.Contains(string(end.Body), "root:x:0") {
					t.Errorf("%s with %d bytes\n%.300s", end, len(end.Body), end.Body)
				}
				return
			}
		})
	}
	if after := state(t, s, flow); after != before {
		t.Errorf("tests have changed something:\n%s", after)
	}
}

// slowAttacks compute for seconds by their nature.
var slowAttacks = []string{"endless loop", "endless loop in many tests", "many tests", "slow expressions"}

// attacked is what came of an attack.
type attacked struct {
	answer
	took     time.Duration
	computed time.Duration // by the process that ran the tests
}

// attackedBy measures a request with tests.
func attackedBy(t *testing.T, s *server, request func() answer) (end attacked) {
	t.Helper()
	began := time.Now()
	_, before := processorTimes(t, s)
	end.answer = request()
	_, after := processorTimes(t, s)
	end.took, end.computed = time.Since(began), after-before
	return end
}

func (a attacked) String() string {
	return fmt.Sprintf("status %d after %v, of which its process computed for %v", a.Status, a.took.Round(time.Millisecond), a.computed)
}

// stopped reports whether a test, or all of them, ran out of time.
func (a attacked) stopped() bool {
	return a.Status == 422 && a.Object()["code"] == "tests_stopped" || a.Status == 200 && strings.Contains(string(a.Body), `"code":"stopped"`)
}

// fault says why it is not the machine's fault that tests ran out of time. slow: they compute for seconds by their
// nature. calm: the machine has a processor for them. Empty: it had none.
func (a attacked) fault(slow, calm bool) string {
	switch {
	case a.computed > 6*time.Second && !slow:
		return "it computes for too long"
	case a.computed < 3*time.Second && calm:
		return "it neither computes nor ends, on a machine that has a processor for it"
	case a.Status == 422 && calm:
		return "it was not stopped in time, on a machine that has a processor for it"
	}
	return ""
}

// calm reports whether the machine has a processor for tests of requests. It looks for so long that a pause of what
// else runs does not pass for that.
func calm(t *testing.T, s *server, key string) bool {
	t.Helper()
	for range 3 {
		end := attackedBy(t, s, func() answer { return testedBy(t, s, key, echo, manyTests(3_000), nil) })
		if end.Status != 200 || end.took > 2*end.computed+100*time.Millisecond {
			return false
		}
	}
	return true
}

// manyTests are so many tests that expect nothing.
func manyTests(n int) string {
	var b strings.Builder
	b.WriteString("tests:\n")
	for i := range n {
		fmt.Fprintf(&b, "  - name: t%d\n", i)
	}
	return b.String()
}

// verifyAttack checks the answer to an attack. 0: it may have come to anything but an error of the server.
func verifyAttack(t *testing.T, a answer, status int, says string) {
	t.Helper()
	if status == 0 {
		if a.Status != 200 && (a.Status != 422 || a.Object()["code"] != "tests_stopped") {
			t.Errorf("status %d\n%.1500s", a.Status, a.Body)
		}
		return
	}
	if a.Status != status || !strings.Contains(string(a.Body), says) {
		t.Errorf("status %d, want %d with %s\n%.1500s", a.Status, status, says, a.Body)
	}
	if status != 422 {
		return
	}
	problems := list(a.Object()["errors"])
	for _, e := range problems {
		if e := fields(e); !isCount(e["line"]) || e["line"] == 0 || !isCount(e["column"]) || e["column"] == 0 || text(e["pointer"]) == "" {
			t.Errorf("no position is named: %v", e)
		}
	}
	if len(problems) == 0 {
		t.Errorf("no position is named: %.500s", a.Body)
	}
}

// TestContractTests: what comes of tests has the lines of both texts, and those of one key wait for each other, while
// another environment is served.
func TestContractTests(t *testing.T) {
	t.Parallel()
	s := start(t)
	key := servertest.CreateKey(t, s.DataDir, "--preset", "deploy")
	other := servertest.CreateKey(t, s.DataDir, "--scopes", "workflows:write", "--environment", "test")
	const rest = "do:\n- ask: {call: http, with: {method: get, endpoint: 'https://example.org/'}}\n" +
		"- decide: {switch: [{large: {when: '.n > 1', then: end}}, {small: {then: end}}]}\n"
	a := testedBy(t, s, key, rest, "tests:\n  - name: large\n    mocks: {ask: {returns: {n: 2}}}\n    expect: {output: {n: 3}}\n  - name: unanswered\n", nil)
	wantStatus(t, a, 200)
	results := list(a.Object()["results"])
	if a.Object()["failed"] != 1 || a.Object()["broken"] != 1 || len(results) != 2 {
		t.Fatalf("%s", a.Body)
	}
	failure := fields(list(fields(results[0])["failures"])[0])
	if failure["line"] != 4 || failure["expectation"] != "expect.output.n" || failure["want"] != 3 || failure["got"] != 2 {
		t.Errorf("%v", failure)
	}
	if broken := fields(fields(results[1])["broken"]); broken["code"] != "missing_mock" || broken["line"] != 5 || !strings.Contains(text(broken["stub"]), "ask:") {
		t.Errorf("%v", broken)
	}
	covered := fields(list(fields(a.Object()["coverage"])["definitions"])[0])
	decide := fields(list(covered["tasks"])[1])
	if covered["file"] != "definition" || decide["line"] != 4 || decide["hits"] != 1 || fields(list(decide["branches"])[0])["hits"] != 1 {
		t.Errorf("%s", value.Marshal(covered))
	}
	// The tests may name their definition, files and snapshots as they like.
	a = testedBy(t, s, key, rest, "workflow: ./some/where.yaml\ntests:\n  - {name: snap, mocks: {ask: {returns: {n: 2}}}, expect: {snapshot: true}}\n", nil)
	wantStatus(t, a, 200)
	kept := text(a.Object()["snapshots"])
	if !strings.Contains(kept, "snap:") {
		t.Fatalf("%s", a.Body)
	}
	a = testedBy(t, s, key, rest, "tests:\n  - {name: snap, mocks: {ask: {returns: {n: 9}}}, expect: {snapshot: true}}\n", object{"workflow.snap.yaml": kept})
	if a.Object()["failed"] != 1 || a.Object()["snapshots"] != nil {
		t.Errorf("%s", a.Body)
	}
	p := wantProblem(t, s, testedBy(t, s, key, "do:\n- a: {sit: 1}\n", "tests: []\n", nil), 422, "definition_invalid")
	if positions := string(value.Marshal(p["errors"])); !strings.Contains(positions, `"pointer":"/definition"`) || !strings.Contains(positions, `"pointer":"/tests"`) {
		t.Errorf("%s", positions)
	}
	wantProblem(t, s, s.Do(t, "POST", "/workflows/test", `{"definition":"a"}`, "X-Api-Key", key), 400, "invalid_body")
	wantProblem(t, s, s.Do(t, "POST", "/workflows/test", `{"definition":"a","tests":"b","files":{"a":1}}`, "X-Api-Key", key), 400, "invalid_body")
	wantProblem(t, s, s.Do(t, "POST", "/workflows/test", `{"definition":"a","test":"b"}`, "X-Api-Key", key), 400, "unknown_field")

	// A key that asks for more than it may wait for gets 429, and another environment does not wait for it.
	const endless = "do:\n- pause: {wait: {seconds: 1}}\n- again: {set: {x: 1}, then: pause}\n"
	const long = "tests:\n  - name: endless\n"
	statuses := make(chan int, 8)
	for range cap(statuses) {
		go func() { statuses <- testedBy(t, s, key, endless, long, nil).Status }()
	}
	limited := 0
	for range 3 { // of eight, five run or wait
		if status := <-statuses; status == 429 {
			limited++
		}
	}
	began := time.Now()
	wantStatus(t, testedBy(t, s, other, rest, "tests:\n  - {name: one, mocks: {ask: {returns: {n: 2}}}}\n", nil), 200)
	verifySoon(t, "another environment", time.Since(began), 5*time.Second)
	if limited != 3 {
		t.Errorf("%d were refused", limited)
	}
	for range cap(statuses) - 3 {
		// 422: tests_stopped, on a machine that is busy with other things.
		if status := <-statuses; status != 200 && status != 422 {
			t.Errorf("one that waited got %d", status)
		}
	}
}
