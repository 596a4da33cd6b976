package machinetest

import (
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/machine"
)

// RunHuman runs the scripts that ask people. start makes a runner for one of them.
func RunHuman(t *testing.T, start func(t *testing.T) Runner) {
	for _, s := range HumanScripts() {
		t.Run(s.Name, func(t *testing.T) { s.Run(t, start(t)) })
	}
}

// ask is a human task in the definition of a script.
func ask(title string) string {
	return "{call: 'human:1.0.0@default', with: {title: '" + title + "', outcomes: [yes, no]}, output: {as: .outcome}}"
}

// HumanScripts are the scripts of human tasks. A person answers as the script says for the name of the task, or never.
func HumanScripts() []*Script {
	yes, no, never := Answer{Output: `{"outcome": "yes"}`}, Answer{Output: `{"outcome": "no"}`}, Answer{Hang: true}
	return []*Script{
		{
			Name:       "human task",
			Definition: "do: [{a: " + ask("A") + "}, {b: {set: '${ {said: .} }'}}]",
			Answers:    map[string][]Answer{"a": {yes}},
			Want:       Want{Output: `{"said": "yes"}`, Order: []string{"a", "b"}},
		},
		{
			Name: "human task that is sent back",
			Definition: "do: [{w: {set: {text: x}}}, {a: " + ask("A") + "}, " +
				"{s: {switch: [{back: {when: '. == \"no\"', then: w}}, {go: {then: end}}]}}]",
			Answers: map[string][]Answer{"a": {no, no, yes}},
			Want:    Want{Output: `"yes"`, Order: []string{"w", "a", "s", "w", "a", "s", "w", "a", "s"}, Runs: map[string]int{"a": 3}},
		},
		{
			Name:       "human tasks that race",
			Definition: "do: [{a: {fork: {compete: true, branches: [{b: " + ask("B") + "}, {c: " + ask("C") + "}]}}}]",
			Answers:    map[string][]Answer{"b": {never}, "c": {yes}},
			Want:       Want{Output: `"yes"`, Order: []string{"a", "b", "c"}},
		},
		{
			Name:       "human tasks side by side",
			Definition: "do: [{a: {fork: {branches: [{b: " + ask("B") + "}, {c: " + ask("C") + "}, {d: " + get + "}]}}}]",
			Answers:    map[string][]Answer{"b": {yes}, "c": {no}, "d": {{Output: `1`}}},
			Want:       Want{Output: `["yes", "no", 1]`, Runs: map[string]int{"b": 1, "c": 1, "d": 1}},
		},
		{
			Name: "human task that times out",
			Definition: "do: [{a: {try: [{b: {call: 'human:1.0.0@default', with: {title: B}, timeout: {after: {milliseconds: 50}}}}], " +
				"catch: {errors: {with: {status: 408}}, do: [{c: " + ask("C") + "}]}}}]",
			Answers: map[string][]Answer{"b": {never}, "c": {yes}},
			Want:    Want{Output: `"yes"`, Order: []string{"a", "b", "c"}},
		},
		{
			Name:       "human tasks in a loop",
			Definition: "do: [{a: {for: {in: '[1, 2, 3]'}, do: [{b: " + ask("B") + "}]}}]",
			Answers:    map[string][]Answer{"b": {yes, no, yes}},
			Want:       Want{Output: `"yes"`, Order: []string{"a", "b", "b", "b"}, Runs: map[string]int{"b": 3}},
		},
		{
			Name:       "human task in a function",
			Definition: "use: {functions: {f: " + ask("F") + "}}\ndo: [{a: {call: f}}, {b: {call: f}}]",
			Answers:    map[string][]Answer{"a": {yes}, "b": {no}},
			Want:       Want{Output: `"no"`, Order: []string{"a", "b"}},
		},
		{
			Name: "human task in an extension",
			Definition: "use: {extensions: [{guard: {extend: call, when: '$task.name == \"a\"', before: [{e: " + ask("E") + "}, " +
				"{r: {if: '. == \"no\"', raise: {error: {type: 'https://example.com/stopped', status: 403}}}}]}}]}\ndo: [{a: " + get + "}]",
			Answers: map[string][]Answer{"e": {no}},
			Want:    Want{Phase: chargehand.Faulted, Fault: &machine.Fault{Status: 403}, Runs: map[string]int{"a": 0}},
		},
		{
			Name:       "error beside a human task",
			Definition: "do: [{a: {fork: {branches: [{b: " + ask("B") + "}, {c: " + get + "}]}}}]",
			Answers:    map[string][]Answer{"b": {never}, "c": {{Fault: communication(500)}}},
			Want:       Want{Phase: chargehand.Faulted, Fault: fault(machine.ErrCommunication, 500, "/do/0/a/fork/branches/1/c")},
		},
		{
			Name:       "human task of an execution that is cancelled",
			Definition: "do: [{a: " + ask("A") + "}]",
			Answers:    map[string][]Answer{"a": {never}}, Cancel: true,
			Want: Want{Phase: chargehand.Cancelled, Fault: &machine.Fault{Code: machine.CodeCancelled}, Order: []string{"a"}},
		},
	}
}
