package testrun_test

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/testrun"
	"github.com/chargehand/chargehand/internal/value"
)

const header = "document: {dsl: '1.0.3', namespace: test, name: flow, version: '1.0.0'}\n"

// files plays a folder.
type files map[string]string

func (f files) read(path string) ([]byte, error) {
	if text, ok := f[path]; ok {
		return []byte(text), nil
	}
	return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
}

// run runs flow.test.yaml over flow.yaml.
func run(t *testing.T, definition, tests string, more ...func(*testrun.Config, files)) *testrun.Report {
	t.Helper()
	folder := files{"flow.yaml": header + definition, "flow.test.yaml": tests}
	c := testrun.Config{ReadFile: folder.read, Version: "1", Jobs: 1}
	for _, one := range more {
		one(&c, folder)
	}
	report, err := testrun.New(c).Run(t.Context(), []string{"flow.test.yaml"})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// text is a report in short: what the tests below look at.
func text(r *testrun.Report) string {
	var out strings.Builder
	for _, f := range r.Files {
		for _, p := range f.Problems {
			fmt.Fprintf(&out, "%s:%d:%d %s\n", p.File, p.Line, p.Column, p.Detail)
		}
		for _, test := range f.Tests {
			fmt.Fprintf(&out, "%s %s\n", test.Name, test.Status)
			for _, one := range test.Failures {
				fmt.Fprintf(&out, "  %s line %d", one.Expectation, one.At.Line)
				if one.HasWant {
					fmt.Fprintf(&out, " - %s", value.Marshal(one.Want))
				}
				if one.HasGot {
					fmt.Fprintf(&out, " + %s", value.Marshal(one.Got))
				}
				if one.Note != "" {
					fmt.Fprintf(&out, " (%s)", one.Note)
				}
				out.WriteByte('\n')
			}
			if e := test.Error; e != nil {
				fmt.Fprintf(&out, "  %s line %d: %s\n", e.Code, e.At.Line, e.Detail)
				for line := range strings.Lines(e.Stub) {
					fmt.Fprintf(&out, "    %s\n", strings.TrimSuffix(line, "\n"))
				}
			}
			for _, p := range test.Warnings {
				fmt.Fprintf(&out, "  warning line %d: %s\n", p.Line, p.Detail)
			}
		}
	}
	return out.String()
}

// check compares a report in short.
func check(t *testing.T, r *testrun.Report, want string) {
	t.Helper()
	if got := text(r); strings.TrimSpace(got) != strings.TrimSpace(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

const pay = "do: [{pay: {call: http, with: {method: post, endpoint: 'https://example.org/pay', body: {n: '${ .n }'}}}}]"

// What an HTTP server answers becomes output or error by the mapping of calls.
func TestResponse(t *testing.T) {
	check(t, run(t, pay, `
tests:
  - name: paid
    input: {n: 1}
    mocks: {pay: {response: {body: {id: 7}}, after: PT2S}}
    expect:
      output: {id: 7}
      elapsed: PT2S
      calls: [{task: pay, args: {method: post, body: {n: 1}}}]
      tasks: {pay: {times: 1, phase: completed, output: {id: 7}}}
      check: ['.output.id == 7 and .calls[0].args.body.n == 1', '.tasks.pay.times == 1']
  - name: gone
    mocks: {pay: {response: {status: 404, body: no}}}
    expect: {error: {type: communication, status: 404, detail: 'POST https://example.org/pay answered 404: no'}}
  - name: wrong
    mocks: {pay: {response: {status: 404}}}
    expect: {output: {id: 8}}
  - name: other error
    mocks: {pay: {raises: {type: timeout}}}
    expect: {error: {status: 409}}
`), `
paid passed
gone passed
wrong failed
  expect.phase line 17 - "completed" + "faulted" (communication 404 at /do/0/pay: POST https://example.org/pay answered 404)
other error failed
  expect.error.status line 20 - 409 + 408 (timeout 408 at /do/0/pay)
`)
}

// A call without a mock is an error with one to paste, and so is a list that is used up.
func TestMissing(t *testing.T) {
	const loop = "do: [{all: {for: {each: n, in: '[1, 2]'}, do: [{pay: {call: http, with: {method: get, endpoint: '${ \"https://example.org/\\($n)\" }'}}}]}}]"
	check(t, run(t, loop, `
tests:
  - name: none
  - name: one of two
    mocks: {pay: [{returns: 1}]}
  - name: no match
    mocks: {pay: {when: .iteration == 0, returns: 1}}
  - name: too many
    mocks: {pay: [{returns: 1}, {returns: 2}, {returns: 3}]}
  - name: strict
    strict: true
    mocks: {pay: [{returns: 1, times: always}, {returns: 3}]}
`), `
none error
  missing_mock line 3: There is no mock for "pay" (/do/0/all/do/0/pay, http get https://example.org/1), which is started at 0s.
    mocks:
      pay: {response: {status: 200, body: {}}}
one of two error
  mock_used_up line 5: The answers of the mock are used up: there are 1, and this is run 2 of "pay" (http get https://example.org/2), at 0s. Add an answer, or let one answer more often: times: always.
no match error
  no_answer_matches line 7: No answer of the mock has a `+"`when`"+` that holds for run 2 of "pay" (http get https://example.org/2), at 0s. Its arguments are {"endpoint":"https://example.org/2","headers":{},"method":"get","output":"content","query":{},"redirect":false}.
too many passed
  warning line 9: Answer 3 of "pay" was not used: the task ran 2 times.
strict error
  unused line 12: Answer 2 of "pay" was not used: the task ran 2 times.
`)
}

// Addresses that name nothing or several tasks, and answers that do not fit, make the file wrong.
func TestWrongFile(t *testing.T) {
	const definition = `
do:
  - fetch: {call: http, with: {method: get, endpoint: 'https://example.org/'}}
  - a: {do: [{ask: {call: http, with: {method: get, endpoint: 'https://example.org/'}}}]}
  - b: {do: [{ask: {run: {shell: {command: ls}}}}]}
  - last: {set: {x: 1}}
`
	r := run(t, definition, `
tests:
  - name: a
    secrets: {token: x}
    mocks:
      fetsch: {returns: 1}
      ask: {returns: 1}
      b/ask: {response: {status: 200}}
      last: {returns: 1}
    script: [{waiting: nowhere, cancel: true}]
    expect: {order: [/do/7/x], tasks: {c/ask: {times: 1}}}
`)
	check(t, r, `
flow.test.yaml:4:15 The workflow declares no secret "token". Declare it in use.secrets, or leave it out.
flow.test.yaml:6:7 There is no task "fetsch" in the workflow. Did you mean "fetch"?
flow.test.yaml:7:7 2 tasks are named "ask". Write a/ask or b/ask.
flow.test.yaml:8:7 The task "b/ask" is a shell process, which cannot have "response". It can have returns, raises, hangs, real or process.
flow.test.yaml:9:7 The task "last" is a set task, which a test runs as it is. Only calls, processes, human tasks and workflows have mocks.
flow.test.yaml:10:14 There is no task "nowhere" in the workflow.
flow.test.yaml:11:22 There is no task "/do/7/x" in the workflow. Did you mean "/do/1/a"?
flow.test.yaml:11:40 There is no task "c/ask" in the workflow. Did you mean "a/ask"?
`)
	if r.Counts.WrongFiles != 1 || r.Counts.Tests != 0 {
		t.Errorf("counts %+v", r.Counts)
	}
}

const approve = `
do:
  - guard:
      try:
        - ask:
            call: human:1.0.0@default
            with:
              title: 'Approve ${ .n }'
              outcomes: [approve, reject]
              assignees: {groups: [controllers], exclude: [ada@example.org]}
              form: {type: object, required: [ok], properties: {ok: {type: boolean}}}
            timeout: {after: P2D}
      catch: {errors: {with: {status: 408}}, do: [{late: {set: {outcome: late}}}]}
`

func TestPeople(t *testing.T) {
	check(t, run(t, strings.ReplaceAll(approve, "'Approve ${ .n }'", "'${ \"Approve \\(.n)\" }'"), `
defaults: {input: {n: 7}, people: {bo@example.org: [controllers], cy@example.org: [], ada@example.org: [controllers]}}
tests:
  - name: approved
    mocks: {ask: {answers: {outcome: approve, data: {ok: true}}, after: PT1H}}
    expect:
      output: {outcome: approve, data: {ok: true}, by: {id: bo@example.org}}
      elapsed: PT1H
      human: [{task: ask, title: Approve 7, assignees: {groups: [controllers]}, outcomes: [approve, reject]}]
  - name: late
    mocks: {ask: {hangs: true}}
    expect: {output: {outcome: late}, elapsed: P2D, tasks: {ask: {phase: faulted, error: {type: timeout}}, late: {times: 1}}}
  - name: later than the timeout
    mocks: {ask: {answers: {outcome: approve, data: {ok: true}}, after: P3D}}
    expect: {output: {outcome: late}, elapsed: P2D}
  - name: outcome
    mocks: {ask: {answers: {outcome: aprove}}}
  - name: form
    mocks: {ask: {answers: {outcome: approve, data: {ok: 1}}}}
  - name: excluded
    mocks: {ask: {answers: {outcome: approve, data: {ok: true}, by: Ada@example.org}}}
  - name: assigned
    mocks: {ask: {answers: {outcome: approve, data: {ok: true}, by: cy@example.org}}}
  - name: unknown
    mocks: {ask: {answers: {outcome: approve, data: {ok: true}, by: dy@example.org}}}
  - name: no mock
  - name: waits
    mocks: {ask: {hangs: true}}
    expect: {phase: waiting, tasks: {ask: {phase: waiting}}}
`), `
approved passed
late passed
later than the timeout passed
outcome error
  wrong_answer line 17: The answer to "ask" would be refused: there is no outcome "aprove". Did you mean "approve"?
form error
  wrong_answer line 19: The answer to "ask" would be refused: data/ok: must be a boolean, but is a number.
excluded error
  wrong_answer line 21: The answer to "ask" would be refused: the task excludes Ada@example.org.
assigned error
  wrong_answer line 23: The answer to "ask" would be refused: the task is assigned to controllers, and cy@example.org is none of them.
unknown error
  wrong_answer line 25: The answer to "ask" would be refused: there is no dy@example.org in `+"`people`"+`. Did you mean "cy@example.org"?
no mock error
  missing_mock line 26: There is no mock for "ask" (/do/0/guard/try/0/ask, human task), which is started at 0s.
    mocks:
      ask: {answers: {outcome: approve, data: {"ok":true}}}
waits passed
`)
}

const listen = "do: [{paid: {listen: {to: {one: {with: {type: com.example.paid}}}}, output: {as: '.[0]'}}}, {done: {wait: PT1M}}]"

// Steps happen at their time, or as soon as a task waits; nothing left to happen says what would help.
func TestScript(t *testing.T) {
	check(t, run(t, listen, `
tests:
  - name: at a time
    script: [{at: PT5M, event: {type: com.example.other}}, {at: PT6M, event: {type: com.example.paid, data: {n: 1}}}]
    expect: {output: {n: 1}, elapsed: PT7M}
  - name: as soon as it waits
    script: [{waiting: paid, event: {type: com.example.paid, data: {n: 2}}}]
    expect: {output: {n: 2}, elapsed: PT1M}
  - name: before
    before: [{type: com.example.paid, data: {n: 3}}]
  - name: cancelled
    script: [{waiting: paid, cancel: too late}]
    expect: {phase: cancelled, error: {detail: too late}}
  - name: suspended
    script: [{waiting: paid, event: {type: com.example.paid, data: 1}}, {at: PT10S, suspend: true}, {at: PT1H, resume: true}]
    expect: {elapsed: PT1H}
  - name: never resumed
    script: [{at: PT0S, suspend: true}]
  - name: waits
    expect: {phase: waiting}
  - name: waits later
    script: [{at: PT1S, event: {type: com.example.paid, data: 1}}]
    expect: {phase: waiting, elapsed: PT30S, tasks: {done: {times: 1}}}
  - name: too late
    script: [{waiting: paid, event: {type: com.example.paid, data: 1}}, {at: P1D, cancel: true}]
`), `
at a time passed
as soon as it waits passed
before error
  stuck line 9: Nothing is left to happen after 0s, and the execution has not ended: "paid" (/do/0/paid) waits for an event of type com.example.paid. If it is to wait, expect it: phase: waiting.
    script:
      - {waiting: paid, event: {type: com.example.paid, data: {}}}
cancelled passed
suspended passed
never resumed error
  stuck line 17: Nothing is left to happen after 0s, and the execution has not ended: it is suspended, and no step resumes it. If it is to wait, expect it: phase: waiting.
    script:
      - {at: PT1M, resume: true}
waits passed
waits later passed
too late passed
  warning line 25: Step 2 of the script did not happen: the execution ended before.
`)
}

// Another workflow runs on the same clock where its definition is given, and is mocked otherwise.
func TestChildren(t *testing.T) {
	const parent = "do: [{tell: {run: {workflow: {namespace: test, name: child, version: '1.0.0', input: {n: 1}}}}}, {end: {set: {got: '${ . }'}}}]"
	child := func(_ *testrun.Config, f files) {
		f["child.yaml"] = "document: {dsl: '1.0.3', namespace: test, name: child, version: '1.0.0'}\n" +
			"do: [{rest: {wait: PT1H}}, {send: {run: {shell: {command: send}, return: stdout}}}]"
	}
	check(t, run(t, parent, `
defaults: {children: {test/child: ./child.yaml}}
tests:
  - name: for real
    mocks: {tell/send: {process: {stdout: sent}}}
    expect: {output: {got: sent}, elapsed: PT1H, order: [tell, rest, send, end], calls: [{task: tell, args: {n: 1}}, {task: send}]}
  - name: mocked
    mocks: {tell: {returns: x, after: PT5S}}
    expect: {output: {got: x}, elapsed: PT5S}
  - name: fails
    mocks: {tell: {raises: {type: 'https://example.com/e', status: 418}}}
    expect: {error: {status: 418}}
  - name: not enough
    mocks: {send: {process: {code: 2, stderr: broken}}}
    expect: {error: {type: runtime, status: 500}}
`, child), `
for real passed
mocked passed
fails passed
not enough passed
`)
	check(t, run(t, parent, `
tests: [{name: none}]
`), `
none error
  missing_mock line 2: There is no mock for "tell" (/do/0/tell, workflow test/child), which is started at 0s.
    mocks:
      tell: {returns: {}}
`)
}

// A failed expectation is what a strict test says first.
func TestStrictFailure(t *testing.T) {
	got := text(run(t, "do: [{a: {set: {n: 1}}}, {b: {if: '${ false }', call: http, with: {method: get, endpoint: 'https://example.org/'}}}]", `
tests: [{name: one, strict: true, mocks: {b: {returns: 1}}, expect: {output: {n: 2}}}]
`))
	if !strings.Contains(got, "one failed") || !strings.Contains(got, "expect.output") || !strings.Contains(got, "was not used") {
		t.Error(got)
	}
}

// A workflow that runs itself without end fails as it does in life.
func TestRunsItself(t *testing.T) {
	check(t, run(t, "do: [{again: {run: {workflow: {namespace: test, name: flow, version: '1.0.0'}}}}]", `
defaults: {children: {test/flow: ./flow.yaml}}
tests: [{name: a, expect: {error: {type: configuration, status: 400}}}]
`), `
a passed
`)
}

// Nothing runs for real unless the caller allows it.
func TestReal(t *testing.T) {
	const definition = "do: [{run: {run: {shell: {command: touch /nowhere}}}}]"
	const tests = "tests: [{name: a, mocks: {run: {real: true}}}]"
	check(t, run(t, definition, tests), `
a error
  real_not_allowed line 1: This kind of run is not for real tasks.
`)
	real := func(c *testrun.Config, _ files) {
		c.Real = func(call activity.Call) (activity.Runner, error) { return runner{}, nil }
	}
	check(t, run(t, definition, "tests: [{name: a, mocks: {run: {real: true}}, expect: {output: ran shell}}]", real), "a passed")
}

type runner struct{}

func (runner) Run(_ context.Context, c activity.Call) activity.Result {
	return activity.Result{Output: "ran " + c.Kind}
}

// Secrets are those of the test; one that is not given is an error, as in life.
func TestSecrets(t *testing.T) {
	const definition = "use: {secrets: [smtp]}\ndo: [{a: {set: {user: '${ $secrets.smtp.username }'}}}]"
	check(t, run(t, definition, `
tests:
  - {name: given, secrets: {smtp: {username: u}}, expect: {output: {user: u}}}
  - {name: none, expect: {error: {type: authorization, status: 403}}}
  - {name: named, secrets: {smtp: {username: u}}, expect: {output: {user: u}, output_equals: null}}
`), `
flow.test.yaml:5:79 "expect" has both "output" and "output_equals"; only one is allowed.
`)
	check(t, run(t, definition, `
tests:
  - {name: given, secrets: {smtp: {username: u}}, expect: {output: {user: u}}}
  - {name: none, expect: {error: {type: authorization, status: 403}}}
`), "given passed\nnone passed")
}

// Coverage has the tasks and the ways at them, with their lines.
func TestCoverage(t *testing.T) {
	const definition = `
do:
  - choose:
      switch:
        - default: {then: small}
        - large: {when: .n > 10, then: large}
  - large: {set: {size: large}, then: end}
  - small: {if: .n > 0, set: {size: small}}
`
	r := run(t, definition, "tests: [{name: a, input: {n: 1}}]")
	var got []string
	for _, task := range r.Coverage[0].Tasks {
		got = append(got, fmt.Sprintf("%s %d %d", task.Task, task.Line, task.Hits))
		for _, b := range task.Branches {
			got = append(got, fmt.Sprintf("- %s %d %d", b.Name, b.Line, b.Hits))
		}
	}
	want := "choose 4 1|- case large 7 0|- case default 6 1|large 8 0|small 9 1|- if true 9 1|- if false 9 0"
	if text := strings.Join(got, "|"); text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	if percent := testrun.Percent(r.Coverage); percent < 57 || percent > 58 {
		t.Errorf("%v %%", percent)
	}
}

// Snapshots are written when they are missing, compared when they are there, and must be there in continuous
// integration.
func TestSnapshots(t *testing.T) {
	const tests = "tests: [{name: a, input: {n: 1}, mocks: {pay: {returns: {id: 007, yes: 'on'}}}, expect: {snapshot: true}}]"
	first := run(t, pay, tests)
	check(t, first, "a passed")
	written := first.Files[0].Snapshots
	if written == nil || written.Path != "flow.snap.yaml" || !first.Files[0].Tests[0].NewSnap {
		t.Fatalf("snapshots %+v", written)
	}
	with := func(c *testrun.Config, f files) { f["flow.snap.yaml"], c.CI = string(written.Content), true }
	again := run(t, pay, tests, with)
	check(t, again, "a passed")
	if again.Files[0].Snapshots != nil {
		t.Errorf("written again: %s", again.Files[0].Snapshots.Content)
	}
	check(t, run(t, pay, strings.Replace(tests, "n: 1", "n: 2", 1), with), `
a failed
  expect.snapshot.calls[0].args.body.n line 1 - 1 + 2 (--update takes what came out)
`)
	check(t, run(t, pay, tests, func(c *testrun.Config, f files) { c.CI = true }), `
a failed
  expect.snapshot line 1 - true (there is no snapshot of this test in flow.snap.yaml; run it outside of continuous integration, and keep the file)
`)
	gone := run(t, pay, strings.Replace(tests, ", expect: {snapshot: true}", "", 1), with)
	if f := gone.Files[0]; len(f.Obsolete) != 1 || f.Snapshots != nil {
		t.Errorf("obsolete %v, %+v", f.Obsolete, f.Snapshots)
	}
	update := run(t, pay, strings.Replace(tests, ", expect: {snapshot: true}", "", 1), with, func(c *testrun.Config, _ files) { c.Update = true })
	if f := update.Files[0]; f.Snapshots == nil || len(f.Snapshots.Content) != 0 {
		t.Errorf("obsolete and updated: %+v", f.Snapshots)
	}
}

// With a crash before every event the same comes out, and the other order of what happens at the same time shows what
// depends on luck.
func TestCrashAndOrder(t *testing.T) {
	const race = "do: [{race: {fork: {compete: true, branches: [{a: {call: http, with: {method: get, endpoint: 'https://example.org/a'}}}, {b: {call: http, with: {method: get, endpoint: 'https://example.org/b'}}}]}}}]"
	const tests = "tests: [{name: a, mocks: {race/a: {returns: a}, race/b: {returns: b}}, expect: {output: a}}]"
	check(t, run(t, race, tests, func(c *testrun.Config, _ files) { c.Crash = true }), "a passed")
	check(t, run(t, race, tests, func(c *testrun.Config, _ files) { c.Last = true }), `
a failed
  expect.output line 1 - "a" + "b"
`)
}
