package drill_test

import (
	"fmt"
	"slices"
	"strings"
)

const (
	batchTag  = "batch"
	singleTag = "single"
)

// kinds of executions. An item, or a single execution, has the kind of its number.
var kinds = []string{"pause", "fork", "large", "file"}

// effectsPer is how many calls four executions, one of each kind, make.
const effectsPer = 2 + 2 + 2 + 1

// input is the input of every execution of the drill.
type input struct {
	Tag  string `json:"tag"`
	Item int    `json:"item"`
	Kind string `json:"kind"`
	N    int    `json:"n"`
	Pad  string `json:"pad,omitempty"` // makes some inputs too large for a row
}

func newInput(tag string, item int) input {
	in := input{Tag: tag, Item: item, Kind: kinds[item%len(kinds)], N: 7 * item}
	if tag == singleTag && item%10 == 9 {
		in.Pad = strings.Repeat("p", 140<<10)
	}
	return in
}

// call is a step that calls the receiver.
func call(path, step, n string) string {
	return fmt.Sprintf(`{metadata: {idempotencyKey: true}, call: http, with: {method: post, endpoint: 'http://%s/%s',
        body: {tag: '${ $workflow.input.tag }', item: '${ $workflow.input.item }', step: %s, n: '${ %s }', delayMs: 1000}}}`,
		receiverHost, path, step, n)
}

// flow is the workflow of the drill: two calls with a wait between them, so that the slot is
// given back and asked for again; two calls side by side; a payload that is too large for a
// history; a process that makes a file.
func flow() string {
	return definition("drill", `
do:
- choose:
    switch:
    - pause: {when: '.kind == "pause"', then: paused}
    - fork: {when: '.kind == "fork"', then: forked}
    - large: {when: '.kind == "large"', then: enlarged}
    - file: {when: '.kind == "file"', then: made}
- paused:
    do:
    - first: `+call("call", "first", ".n")+`
    - rest: {wait: {milliseconds: 150}}
    - second: `+call("call", "second", ".echo")+`
    then: done
- forked:
    fork:
      branches:
      - left: `+call("call", "left", ".n")+`
      - right: `+call("call", "right", ".n")+`
    output: {as: '${ {echo: (.[0].echo + .[1].echo)} }'}
    then: done
- enlarged:
    do:
    - first: `+call("large", "first", ".n")+`
    - second: `+call("call", "second", ".echo + (.text | length)")+`
    then: done
- made: `+call("call", "first", ".n")+`
- file:
    run:
      shell:
        command: 'sleep 0.2; printf "%s has %s" "$1" "$2" > "$OUT_DIR/made.txt"'
        arguments: ['${ "\($workflow.input.tag) \($workflow.input.item)" }', '${ "\(.echo)" }']
    output: {as: '${ {item: $workflow.input.item, n: 0} }'}
    then: end
- done: {set: {item: '${ $workflow.input.item }', n: '${ .echo }'}}
`)
}

// n is what the execution must output as n, computed without the product.
func (in input) n() int {
	switch in.Kind {
	case "pause":
		return in.N + 2
	case "fork":
		return 2 * (in.N + 1)
	case "large":
		return in.N + 1 + largeText + 1
	}
	return 0
}

// file is the content of the result file; empty where output.json is the result.
func (in input) file() string {
	if in.Kind != "file" {
		return ""
	}
	return fmt.Sprintf("%s %d has %d", in.Tag, in.Item, in.N+1)
}

// steps are the calls that the execution makes.
func (in input) steps() []string {
	switch in.Kind {
	case "fork":
		return []string{"left", "right"}
	case "file":
		return []string{"first"}
	}
	return []string{"first", "second"}
}

// timeline is the names of its tasks, sorted.
func (in input) timeline() []string {
	names := map[string][]string{
		"pause": {"choose", "paused", "first", "rest", "second", "done"},
		"fork":  {"choose", "forked", "left", "right", "done"},
		"large": {"choose", "enlarged", "first", "second", "done"},
		"file":  {"choose", "made", "file"},
	}[in.Kind]
	slices.Sort(names)
	return names
}
