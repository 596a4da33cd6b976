package blackbox_test

import (
	"fmt"
	"strings"
)

// crashInput is the input of every workflow of the crash test. Tag names one logical request
// and, with Item, one execution of a batch.
type crashInput struct {
	Tag  string `json:"tag"`
	Item int    `json:"item"`
	N    int    `json:"n"`
	MS   int    `json:"ms"`
	Bad  bool   `json:"bad"`
}

// crashOutcome is how an execution must end, computed without the product.
type crashOutcome struct {
	Status string
	Output any    // of a finished one, as encoding/json reads it
	Error  string // the detail of an error, or its code where it has none
	// Timeline is "name phase" of every task in order of seq; "*" at the end of a name stands
	// for tasks that run beside others, which are compared as a set.
	Timeline []string
	Calls    map[string]int // distinct Idempotency-Keys by step
}

// crashFlow is a workflow together with what it must do.
type crashFlow struct {
	name   string
	body   string // RECEIVER stands for the address of the receiver
	most   int    // executions that have not ended yet, over all clients
	weight int
	want   func(in crashInput) crashOutcome
}

const crashCall = `{metadata: {idempotencyKey: true}, call: http, with: {method: post, endpoint: 'RECEIVER/%s',
      body: {tag: '${ $workflow.input.tag }', item: '${ $workflow.input.item }', n: '${ $workflow.input.n }', step: %s}}}`

func (f crashFlow) definition(receiver string) string {
	return "document: {dsl: '1.0.3', namespace: crash, name: " + f.name + ", version: '1.0.0'}\n" +
		strings.ReplaceAll(f.body, "RECEIVER", receiver)
}

// echo is what the receiver answers.
func (in crashInput) echo() float64 { return float64(in.N * 3) }

func crashFinished(output any, timeline []string, calls map[string]int) crashOutcome {
	return crashOutcome{Status: "finished", Output: output, Timeline: timeline, Calls: calls}
}

func crashRepeat(entry string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = entry
	}
	return list
}

// crashFlows are the workflows of single executions.
func crashFlows() []crashFlow {
	return []crashFlow{
		{name: "trivial", most: 400, weight: 8, body: `
do:
- a: {set: {tag: '${ .tag }', n: '${ .n * 2 }'}}
`, want: func(in crashInput) crashOutcome {
			return crashFinished(map[string]any{"tag": in.Tag, "n": float64(2 * in.N)}, []string{"a completed"}, nil)
		}},
		{name: "loop", most: 100, weight: 3, body: `
do:
- loop: {for: {each: k, in: '${ [range(20)] }'}, do: [{add: {set: '${ {tag: .tag, n: (.n + $k)} }'}}]}
`, want: func(in crashInput) crashOutcome {
			return crashFinished(map[string]any{"tag": in.Tag, "n": float64(in.N + 190)},
				append([]string{"loop completed"}, crashRepeat("add completed", 20)...), nil)
		}},
		{name: "branches", most: 60, weight: 3, body: `
do:
- all:
    fork:
      branches:
      - call: ` + fmt.Sprintf(crashCall, "call", "branch") + `
      - pause: {do: [{sleep: {wait: '${ "PT\(.ms / 1000)S" }'}}, {after: {set: '${ .n + 1 }'}}]}
      - square: {run: {script: {language: js, code: 'return n * n;', arguments: {n: '${ .n }'}}}}
- done: {set: '${ {tag: $workflow.input.tag, got: .} }'}
`, want: func(in crashInput) crashOutcome {
			return crashFinished(
				map[string]any{"tag": in.Tag, "got": []any{map[string]any{"echo": in.echo()}, float64(in.N + 1), float64(in.N * in.N)}},
				[]string{"all completed", "call* completed", "pause* completed", "sleep* completed", "square* completed", "after* completed", "done completed"},
				map[string]int{"branch": 1})
		}},
		{name: "timer", most: 200, weight: 3, body: `
do:
- one: {wait: '${ "PT\(.ms / 1000)S" }'}
- two: {wait: {milliseconds: 50}}
- done: {set: {tag: '${ .tag }', n: '${ .n }'}}
`, want: func(in crashInput) crashOutcome {
			return crashFinished(map[string]any{"tag": in.Tag, "n": float64(in.N)},
				[]string{"one completed", "two completed", "done completed"}, nil)
		}},
		{name: "deadline", most: 100, weight: 2, body: `
do:
- guarded:
    try:
    - slow: {wait: {minutes: 10}, timeout: {after: '${ "PT\(.ms / 1000)S" }'}}
    catch:
      errors: {with: {type: 'https://open-workflow-specification.org/spec/1.0.0/errors/timeout'}}
      do: [{late: {set: {tag: '${ $workflow.input.tag }', status: '${ $error.status }'}}}]
`, want: func(in crashInput) crashOutcome {
			return crashFinished(map[string]any{"tag": in.Tag, "status": float64(408)},
				[]string{"guarded completed", "slow faulted", "late completed"}, nil)
		}},
		{name: "retry", most: 60, weight: 3, body: `
do:
- tried:
    try:
    - flaky: ` + strings.ReplaceAll(fmt.Sprintf(crashCall, "flaky", "flaky"), "\n", "\n  ") + `
    catch: {retry: {delay: {milliseconds: 60}, limit: {attempt: {count: 3}}}}
`, want: func(in crashInput) crashOutcome {
			return crashFinished(map[string]any{"echo": in.echo()},
				[]string{"tried completed", "flaky faulted", "flaky completed"}, map[string]int{"flaky": 2})
		}},
		{name: "calls", most: 60, weight: 3, body: `
do:
- first: ` + fmt.Sprintf(crashCall, "call", "first") + `
- second: ` + fmt.Sprintf(crashCall, "call", "second") + `
- third: ` + fmt.Sprintf(crashCall, "call", "third") + `
- done: {set: {tag: '${ $workflow.input.tag }', echo: '${ .echo }'}}
`, want: func(in crashInput) crashOutcome {
			return crashFinished(map[string]any{"tag": in.Tag, "echo": in.echo()},
				[]string{"first completed", "second completed", "third completed", "done completed"},
				map[string]int{"first": 1, "second": 1, "third": 1})
		}},
		{name: "command", most: 6, weight: 2, body: `
do:
- command:
    run:
      shell:
        command: 'setsid sleep 600 >/dev/null 2>&1 & sleep 0.1; echo "$1:$2"'
        arguments: ['${ .tag }', '${ "\(.n)" }']
- done: {set: '${ {tag: $workflow.input.tag, text: .} }'}
`, want: func(in crashInput) crashOutcome {
			return crashFinished(map[string]any{"tag": in.Tag, "text": fmt.Sprintf("%s:%d", in.Tag, in.N)},
				[]string{"command completed", "done completed"}, nil)
		}},
		{name: "script", most: 6, weight: 2, body: `
do:
- script: {run: {script: {language: js, code: 'let s = 0; for (let i = 0; i < 20000; i++) s += i % (n + 1); return {tag, s};', arguments: {n: '${ .n }', tag: '${ .tag }'}}}}
`, want: func(in crashInput) crashOutcome {
			sum := 0
			for i := range 20000 {
				sum += i % (in.N + 1)
			}
			return crashFinished(map[string]any{"tag": in.Tag, "s": float64(sum)}, []string{"script completed"}, nil)
		}},
		{name: "fault", most: 100, weight: 2, body: `
do:
- fail: {raise: {error: {type: 'https://example.com/crash', status: 409, title: Refused, detail: '${ "no " + .tag }'}}}
`, want: func(in crashInput) crashOutcome {
			return crashOutcome{Status: "error", Error: "no " + in.Tag, Timeline: []string{"fail faulted"}}
		}},
		crashAsked,
		crashCancelled,
		crashSuspended,
		crashLasting,
	}
}

// crashAsked asks people two things: its client answers the first one only.
var crashAsked = crashFlow{name: "asked", most: 60, weight: 2, body: `
do:
- check: {call: 'human:1.0.0@default', with: {title: Check, form: {type: object}}, export: {as: '${ {n: .data.n} }'}}
- guarded:
    try:
    - second: {call: 'human:1.0.0@default', with: {title: Too late}, timeout: {after: '${ "PT\($workflow.input.ms / 1000)S" }'}}
    catch:
      errors: {with: {type: 'https://open-workflow-specification.org/spec/1.0.0/errors/timeout'}}
      do: [{late: {set: {tag: '${ $workflow.input.tag }', n: '${ $context.n }', status: '${ $error.status }'}}}]
`, want: func(in crashInput) crashOutcome {
	return crashFinished(map[string]any{"tag": in.Tag, "n": float64(in.N), "status": float64(408)},
		[]string{"check completed", "guarded completed", "second faulted", "late completed"}, nil)
}}

// crashLasting runs until the server is killed, and then not again. The killer starts it.
var crashLasting = crashFlow{name: "lasting", body: `
do:
- lasting:
    metadata: {onInterrupted: fault}
    run: {shell: {command: 'setsid sleep 600 >/dev/null 2>&1 & sleep 600'}}
`, want: func(crashInput) crashOutcome {
	return crashOutcome{Status: "error", Error: "interrupted", Timeline: []string{"lasting faulted"}}
}}

// crashCancelled waits until its client cancels it.
var crashCancelled = crashFlow{name: "cancelled", most: 40, weight: 1, body: `
do:
- long: {wait: {minutes: 60}}
`, want: func(crashInput) crashOutcome {
	return crashOutcome{Status: "error", Error: "cancelled", Timeline: []string{"long cancelled"}}
}}

// crashSuspended is suspended and resumed by its client, anywhere, and ends as it would have without that.
var crashSuspended = crashFlow{name: "suspended", most: 60, weight: 2, body: `
do:
- one: {wait: '${ "PT\(.ms / 1000)S" }'}
- call: ` + fmt.Sprintf(crashCall, "call", "suspended") + `
- two: {wait: {milliseconds: 50}}
- done: {set: {tag: '${ $workflow.input.tag }', echo: '${ .echo }'}}
`, want: func(in crashInput) crashOutcome {
	return crashFinished(map[string]any{"tag": in.Tag, "echo": in.echo()},
		[]string{"one completed", "call completed", "two completed", "done completed"}, map[string]int{"suspended": 1})
}}

// crashItem is the workflow of batches: every fifth item waits first, the bad ones fail.
var crashItem = crashFlow{name: "item", body: `
do:
- decide: {switch: [{bad: {when: .bad, then: fail}}, {slow: {when: '.item % 5 == 0', then: pause}}, {other: {then: call}}]}
- pause: {wait: '${ "PT\(.ms / 1000)S" }'}
- call: ` + fmt.Sprintf(crashCall, "call", "item") + `
- done: {set: '${ {tag: $workflow.input.tag, item: $workflow.input.item, echo: .echo} }', then: end}
- fail: {raise: {error: {type: 'https://example.com/crash', status: 409, title: Refused, detail: '${ "no \(.item)" }'}}}
`, want: func(in crashInput) crashOutcome {
	if in.Bad {
		return crashOutcome{Status: "error", Error: fmt.Sprintf("no %d", in.Item), Timeline: []string{"decide completed", "fail faulted"}}
	}
	timeline := []string{"decide completed", "call completed", "done completed"}
	if in.Item%5 == 0 {
		timeline = []string{"decide completed", "pause completed", "call completed", "done completed"}
	}
	return crashFinished(map[string]any{"tag": in.Tag, "item": float64(in.Item), "echo": in.echo()}, timeline, map[string]int{"item": 1})
}}
