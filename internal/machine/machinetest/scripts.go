package machinetest

import (
	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/machine"
)

// Scripts are all scripts of the suite.
func Scripts() []*Script {
	var all []*Script
	for _, part := range [][]*Script{dataScripts(), flowScripts(), errorScripts(), timeScripts(), fixtureScripts()} {
		all = append(all, part...)
	}
	return all
}

// get is an HTTP call; what it answers is the script's business.
const get = "{call: http, with: {method: get, endpoint: 'https://example.org/'}}"

func communication(status int) *machine.Fault {
	return &machine.Fault{Type: machine.ErrCommunication, Status: status, Title: "Communication error"}
}

func fault(kind string, status int, instance string) *machine.Fault {
	return &machine.Fault{Type: kind, Status: status, Instance: instance}
}

func dataScripts() []*Script {
	return []*Script{
		{
			Name:       "set",
			Definition: "do: [{a: {set: {shape: circle, size: '${ .n }'}}}]",
			Input:      `{"n": 5}`,
			Want:       Want{Output: `{"shape": "circle", "size": 5}`, Order: []string{"a"}},
		},
		{
			Name: "filters",
			Definition: `
input: {from: .user}
do:
  - a: {input: {from: .name}, set: {name: '${ . }'}, output: {as: '{out: .name, in: $input}'}, export: {as: '{seen: .out}'}}
  - b: {set: '${ {context: $context, data: .} }'}
output: {as: '[.context.seen, .data.in]'}
`,
			Input: `{"user": {"name": "Ada"}}`,
			Want:  Want{Output: `["Ada", "Ada"]`, Order: []string{"a", "b"}},
		},
		{
			Name:       "input schema",
			Definition: "input: {schema: {document: {required: [n]}}}\ndo: [{a: {set: {x: 1}}}]",
			Want:       Want{Phase: chargehand.Faulted, Fault: fault(machine.ErrValidation, 400, "/input/schema"), Order: []string{}},
		},
		{
			Name:       "task schema",
			Definition: "do: [{a: {set: {x: 1}, output: {schema: {document: {required: [y]}}}}}]",
			Want:       Want{Phase: chargehand.Faulted, Fault: fault(machine.ErrValidation, 400, "/do/0/a")},
		},
		{
			Name:       "expression error",
			Definition: "do: [{a: {set: '${ .x.y }'}}]",
			Input:      `{"x": 1}`,
			Want:       Want{Phase: chargehand.Faulted, Fault: fault(machine.ErrExpression, 400, "/do/0/a")},
		},
		{
			Name:       "skipped tasks",
			Definition: "do: [{a: {if: .no, set: {x: 1}, then: end}}, {b: {set: {x: 2}}}]",
			Want:       Want{Output: `{"x": 2}`, Order: []string{"b"}},
		},
		{
			Name:       "loop",
			Definition: "do: [{a: {for: {each: c, in: .l}, while: '$index < 3', do: [{b: {set: '${ {out: ((.out // []) + [$c])} }'}}]}}]",
			Input:      `{"l": [1, 2, 3, 4]}`,
			Want:       Want{Output: `{"out": [1, 2, 3]}`, Order: []string{"a", "b", "b", "b"}},
		},
		{
			Name:       "long loop",
			Definition: "do: [{a: {for: {in: '[range(2500)]'}, do: [{b: {set: '${ $item + 1 }'}}]}}]",
			Want:       Want{Output: `2500`},
		},
		{
			Name: "functions",
			Definition: `
use: {functions: {double: {set: {n: '${ .n * 2 }'}, output: {as: .n}, then: end}}}
do:
  - a: {call: double, with: {n: '${ .n }'}}
  - b: {set: {result: '${ . }'}}
`,
			Input: `{"n": 21}`,
			Want:  Want{Output: `{"result": 42}`, Order: []string{"a", "b"}},
		},
	}
}

func flowScripts() []*Script {
	return []*Script{
		{
			Name:       "jumps",
			Definition: "do: [{a: {set: '${ . + [1] }', then: c}}, {b: {set: '${ . + [2] }', then: end}}, {c: {set: '${ . + [3] }', then: b}}]",
			Input:      `[]`,
			Want:       Want{Output: `[1, 3, 2]`, Order: []string{"a", "c", "b"}},
		},
		{
			Name: "switch",
			Definition: `
do:
  - a: {switch: [{d: {then: exit}}, {x: {when: .n == 1, then: c}}]}
  - b: {set: {wrong: true}}
  - c: {switch: [{x: {when: .n == 2, then: b}}], then: e}
  - d: {set: {wrong: true}}
  - e: {set: '${ {done: .n} }'}
`,
			Input: `{"n": 1}`,
			Want:  Want{Output: `{"done": 1}`, Order: []string{"a", "c", "e"}},
		},
		{
			Name: "extensions",
			Definition: `
use:
  extensions:
    - outer:
        extend: call
        before: [{b1: {set: '${ $task.name }', export: {as: '$context + {b1: .}'}}}]
        after: [{a1: {set: '${ . }', export: {as: '$context + {a1: .}'}}}]
    - mock: {extend: call, when: $task.name == "m", before: [{b2: {set: {mocked: true}, then: exit}}]}
do:
  - c: ` + get + `
  - m: ` + get + `
  - last: {set: '${ [., $context] }'}
`,
			Answers: map[string][]Answer{"c": {{Output: `"C"`}}},
			Want: Want{Output: `[{"mocked": true}, {"b1": "m", "a1": "C"}]`, Runs: map[string]int{"c": 1, "m": 0},
				Order: []string{"c", "b1", "a1", "m", "b1", "b2", "last"}},
		},
		{
			Name:       "exit and end",
			Definition: "do: [{a: {do: [{b: {set: {n: 1}, then: exit}}, {c: {set: {n: 2}}}]}}, {d: {do: [{e: {set: '${ {n: (.n + 10)} }', then: end}}], output: {as: '0'}}}, {f: {set: {n: 3}}}]",
			Want:       Want{Output: `{"n": 11}`, Order: []string{"a", "b", "d", "e"}},
		},
		{
			Name: "fork",
			Definition: `
do:
  - split:
      fork:
        branches:
          - a: ` + get + `
          - b: {set: {b: 1}, export: {as: '{b: 1}'}}
          - c: {do: [{d: ` + get + `}, {e: {set: '${ {e: .} }', export: {as: '$context + {e: 1}'}}}]}
  - after: {set: '${ [., $context] }'}
`,
			Answers: map[string][]Answer{"a": {{Output: `"A"`}}, "d": {{Output: `"D"`}}},
			Want:    Want{Output: `[["A", {"b": 1}, {"e": "D"}], {"b": 1, "e": 1}]`, Runs: map[string]int{"a": 1, "d": 1}},
		},
		{
			Name: "competing fork",
			Definition: `
do:
  - race:
      fork:
        compete: true
        branches:
          - a: ` + get + `
          - b: {do: [{c: {wait: PT1H}}]}
          - d: ` + get + `
`,
			Answers: map[string][]Answer{"a": {{Hang: true}}, "d": {{Output: `"won"`}}},
			Want:    Want{Output: `"won"`, Order: []string{"race", "a", "b", "c", "d"}},
		},
		{
			Name:       "competing fork without a winner",
			Definition: "do: [{race: {fork: {compete: true, branches: [{a: " + get + "}, {b: {raise: {error: {type: 'x:y', status: 409}}}}]}}}]",
			Answers:    map[string][]Answer{"a": {{Fault: communication(502)}}},
			Want:       Want{Phase: chargehand.Faulted, Fault: fault(machine.ErrCommunication, 502, "/do/0/race/fork/branches/0/a")},
		},
		{
			Name: "failing fork",
			Definition: `
do:
  - guard:
      try:
        - split: {fork: {branches: [{a: ` + get + `}, {b: {wait: PT1H}}, {c: ` + get + `}]}}
      catch: {do: [{d: {set: '${ $error.status }'}}]}
`,
			Answers: map[string][]Answer{"a": {{Hang: true}}, "c": {{Fault: communication(503)}}},
			Want:    Want{Output: `503`, Order: []string{"guard", "split", "a", "b", "c", "d"}},
		},
		{
			Name:       "end in a branch",
			Definition: "do: [{split: {fork: {branches: [{a: " + get + "}, {b: {do: [{c: " + get + "}, {d: {set: {d: 1}, then: end}}]}}]}}}, {e: {set: {e: 1}}}]",
			Answers:    map[string][]Answer{"a": {{Hang: true}}},
			Want:       Want{Output: `{"d": 1}`, Order: []string{"split", "a", "b", "c", "d"}},
		},
		{
			Name:       "many branches",
			Definition: "do: [{a: {for: {in: '[range(3)]'}, do: [{split: {fork: {branches: [{b: " + get + "}, {c: " + get + "}, {d: " + get + "}, {e: " + get + "}]}}}]}}]",
			Answers:    map[string][]Answer{"b": {{Output: "1"}}, "c": {{Output: "2"}}, "d": {{Output: "3"}}, "e": {{Output: "4"}}},
			Want:       Want{Output: `[1, 2, 3, 4]`, Runs: map[string]int{"b": 3, "c": 3, "d": 3, "e": 3}},
		},
	}
}

func errorScripts() []*Script {
	return []*Script{
		{
			Name:       "raise",
			Definition: "do: [{a: {raise: {error: {type: 'https://example.org/e', status: 400, title: '${ .t }', instance: /x}}}}]",
			Input:      `{"t": "Title"}`,
			Want: Want{Phase: chargehand.Faulted, Fault: &machine.Fault{
				Type: "https://example.org/e", Status: 400, Title: "Title", Instance: "/do/0/a"}},
		},
		{
			Name: "caught",
			Definition: `
do:
  - a:
      try: [{b: ` + get + `}]
      catch:
        errors: {with: {type: https://serverlessworkflow.io/dsl/errors/types/communication, status: 404}}
        as: err
        do: [{c: {set: {at: '${ $err.instance }'}}}]
        then: e
  - d: {set: {wrong: true}}
  - e: {set: '${ .at }'}
`,
			Answers: map[string][]Answer{"b": {{Fault: communication(404)}}},
			Want:    Want{Output: `"/do/0/a/try/0/b"`, Order: []string{"a", "b", "c", "e"}},
		},
		{
			Name:       "not caught",
			Definition: "do: [{a: {try: [{b: " + get + "}], catch: {errors: {with: {status: 503}}, do: [{c: {set: {x: 1}}}]}}}]",
			Answers:    map[string][]Answer{"b": {{Fault: communication(404)}}},
			Want: Want{Phase: chargehand.Faulted, Fault: fault(machine.ErrCommunication, 404, "/do/0/a/try/0/b"),
				Order: []string{"a", "b"}},
		},
		{
			Name:       "retried",
			Definition: "do: [{a: {try: [{b: " + get + "}], catch: {retry: {delay: {milliseconds: 5}, backoff: {exponential: {}}, jitter: {from: PT0S, to: {milliseconds: 5}}, limit: {attempt: {count: 3}}}}}}]",
			Answers:    map[string][]Answer{"b": {{Fault: communication(500)}, {Fault: communication(500)}, {Output: `"ok"`}}},
			Want:       Want{Output: `"ok"`, Runs: map[string]int{"b": 3}, Order: []string{"a", "b", "b", "b"}},
		},
		{
			Name:       "retries used up",
			Definition: "do: [{a: {try: [{b: " + get + "}], catch: {retry: {limit: {attempt: {count: 2}}}, do: [{c: {set: '${ $error.status }'}}]}}}]",
			Answers:    map[string][]Answer{"b": {{Fault: communication(500)}, {Fault: communication(501)}, {Fault: communication(502)}}},
			Want:       Want{Output: `502`, Runs: map[string]int{"b": 3}},
		},
		{
			Name:       "not to be retried",
			Definition: "do: [{a: {try: [{b: " + get + "}], catch: {retry: {when: .status >= 500}}}}]",
			Answers:    map[string][]Answer{"b": {{Fault: communication(400)}}},
			Want:       Want{Phase: chargehand.Faulted, Fault: communication(400), Runs: map[string]int{"b": 1}},
		},
		{
			Name:       "swallowed",
			Definition: "do: [{a: {try: [{b: " + get + "}], catch: {}}}]",
			Input:      `{"in": "put"}`,
			Answers:    map[string][]Answer{"b": {{Fault: communication(400)}}},
			Want:       Want{Output: `{"in": "put"}`},
		},
		{
			Name:       "endless loop",
			Definition: "do: [{a: {set: {x: 1}, then: a}}]",
			Want:       Want{Phase: chargehand.Faulted, Fault: &machine.Fault{Type: machine.ErrRuntime, Code: machine.CodeStepLimit}},
		},
		{
			Name:       "secrets",
			Definition: "use: {secrets: [token]}\ndo: [{a: {set: {x: 1}}}]",
			Want:       Want{Phase: chargehand.Faulted, Fault: &machine.Fault{Type: machine.ErrAuthorization, Status: 403}},
		},
	}
}

func timeScripts() []*Script {
	return []*Script{
		{
			Name:       "waits",
			Definition: "do: [{a: {wait: {milliseconds: 10}}}, {b: {fork: {branches: [{c: {wait: {milliseconds: 10}}}, {d: {wait: {milliseconds: 5}}}]}}}, {e: {wait: PT0S}}]",
			Input:      `1`,
			Want:       Want{Output: `[1, 1]`, Order: []string{"a", "b", "c", "d", "e"}},
		},
		{
			Name:       "task timeout",
			Definition: "do: [{a: {try: [{b: {timeout: {after: {milliseconds: 500}}, do: [{c: " + get + "}]}}], catch: {errors: {with: {status: 408}}, do: [{d: {set: '${ $error.instance }'}}]}}}]",
			Answers:    map[string][]Answer{"c": {{Hang: true}}},
			Want:       Want{Output: `"/do/0/a/try/0/b"`, Order: []string{"a", "b", "c", "d"}},
		},
		{
			Name:       "workflow timeout",
			Definition: "timeout: {after: {milliseconds: 500}}\ndo: [{a: {try: [{b: " + get + "}], catch: {}}}]",
			Answers:    map[string][]Answer{"b": {{Hang: true}}},
			Want:       Want{Phase: chargehand.Faulted, Fault: fault(machine.ErrTimeout, 408, "/timeout")},
		},
		{
			Name:       "attempts that take too long",
			Definition: "do: [{a: {try: [{b: " + get + "}], catch: {retry: {limit: {attempt: {count: 1, duration: {milliseconds: 500}}}}}}}]",
			Answers:    map[string][]Answer{"b": {{Hang: true}, {Output: `"ok"`}}},
			Want:       Want{Output: `"ok"`, Runs: map[string]int{"b": 2}},
		},
		{
			Name:       "all attempts together",
			Definition: "do: [{a: {try: [{b: " + get + "}], catch: {retry: {limit: {duration: {milliseconds: 500}}}, do: [{c: {set: '${ $error.instance }'}}]}}}]",
			Answers:    map[string][]Answer{"b": {{Hang: true}}},
			Want:       Want{Output: `"/do/0/a"`, Runs: map[string]int{"b": 1}},
		},
		{
			Name:       "bad duration",
			Definition: "do: [{a: {wait: '${ .x }'}}]",
			Want:       Want{Phase: chargehand.Faulted, Fault: fault(machine.ErrExpression, 400, "/do/0/a")},
		},
	}
}

func fixtureScripts() []*Script {
	file := func(name string) []machine.File {
		return []machine.File{{ID: "01980000-0000-7000-8000-0000000000ff", Name: name, MediaType: "text/plain", Size: 1,
			Digest: "sha256:0000000000000000000000000000000000000000000000000000000000000000"}}
	}
	return []*Script{
		{
			Name:       "calls",
			Definition: "do: [{a: " + get + "}, {b: " + get + "}, {c: {set: '${ {a: ., b: $context} }'}}]",
			Answers:    map[string][]Answer{"a": {{Output: `1`}}, "b": {{Output: `{"big": 123456789012345678901234567890, "float": 1.0}`}}},
			Want:       Want{Output: `{"a": {"big": 123456789012345678901234567890, "float": 1.0}, "b": {}}`, Order: []string{"a", "b", "c"}},
		},
		{
			Name:       "fault of a call",
			Definition: "do: [{a: {do: [{b: " + get + "}]}}]",
			Answers:    map[string][]Answer{"b": {{Fault: communication(404)}}},
			Want:       Want{Phase: chargehand.Faulted, Fault: fault(machine.ErrCommunication, 404, "/do/0/a/do/0/b"), Order: []string{"a", "b"}},
		},
		{
			Name:       "events",
			Definition: "do: [{a: {emit: {event: {with: {type: x, id: '1', time: '2026-01-01T00:00:00Z'}}}}}, {b: {emit: {event: {with: {type: y, data: '${ . }'}}}, output: {as: .data}}}]",
			Want: Want{Events: 2,
				Output: `{"id": "1", "source": "/suite/script/1.0.0", "specversion": "1.0", "time": "2026-01-01T00:00:00Z", "type": "x"}`},
		},
		{
			Name:       "files",
			Definition: "do: [{a: {run: {shell: {command: x}}}}, {b: {do: [{c: {run: {shell: {command: x}}}}]}}, {d: {set: {done: true}}}]",
			Answers:    map[string][]Answer{"a": {{Files: file("a.txt")}}, "c": {{Files: file("c.txt")}}},
			Want:       Want{Output: `{"done": true}`, Files: []string{"c.txt"}},
		},
		{
			Name:       "cancelled",
			Definition: "do: [{a: {fork: {branches: [{b: " + get + "}, {c: {wait: PT1H}}]}}}]",
			Answers:    map[string][]Answer{"b": {{Hang: true}}},
			Cancel:     true,
			Want:       Want{Phase: chargehand.Cancelled, Fault: &machine.Fault{Code: machine.CodeCancelled}, Order: []string{"a", "b", "c"}},
		},
	}
}
