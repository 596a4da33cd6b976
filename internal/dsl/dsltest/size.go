package dsltest

import (
	"fmt"
	"strings"
)

// Shape is a kind of definition that grows in one direction.
type Shape struct {
	Name string
	// N is the size at which it is measured, beside 10 N. Most of the limits are at 10 N.
	N int
	// Definition is a definition of size n, in YAML. It takes {} as its input.
	Definition func(n int) string
	// Listens: it does not end by itself. Effects: every one of the n does something outside.
	Listens, Effects bool
}

const header = "document: {dsl: 1.0.3, namespace: test, name: size, version: 1.0.0}\n"

// Shapes are all kinds. Calls are of kind http, waits are of no time.
func Shapes() []Shape {
	const call = "{call: http, with: {method: get, endpoint: 'http://localhost/x'}}"
	return []Shape{
		{Name: "levels", N: 25, Definition: levels},
		{Name: "data levels", N: 20, Definition: dataLevels},
		{Name: "tasks", N: 1_000, Definition: tasks},
		{Name: "jumps", N: 1_000, Definition: jumps},
		{Name: "items", N: 9_000, Definition: items("{set: {number: '${ $item }'}}")},
		{Name: "items with effect", N: 1_000, Definition: items(call), Effects: true},
		{Name: "branches", N: 100, Definition: branches(false, "set: {number: %d}")},
		{Name: "branches with context", N: 100, Definition: branches(false, "set: {number: %[1]d}, export: {as: '$context + {key%[1]d: %[1]d}'}")},
		{Name: "branches with effect", N: 100, Definition: branches(false, call[1:len(call)-1]), Effects: true},
		{Name: "branches with wait", N: 100, Definition: branches(false, "wait: {milliseconds: 1}"), Effects: true},
		{Name: "competing branches", N: 100, Definition: branches(true, "set: {number: %d}")},
		{Name: "competing branches with effect", N: 100, Definition: branches(true, call[1:len(call)-1]), Effects: true},
		{Name: "lost branches", N: 100, Definition: lost},
		{Name: "filters", N: 100, Definition: filters, Listens: true},
		{Name: "listening branches", N: 100, Definition: branches(false, "listen: {to: {one: {with: {type: com.example.event%d}}}}"), Listens: true},
	}
}

// Shaped is one of Shapes.
func Shaped(name string) Shape {
	for _, s := range Shapes() {
		if s.Name == name {
			return s
		}
	}
	panic("there is no shape " + name)
}

// levels are n tasks, each in the one before; 256 are the limit (T90).
func levels(n int) string {
	return header + "do: [{t: " + strings.Repeat("{do: [{t: ", n-1) + "{set: {x: 1}}" + strings.Repeat("}]}", n-1) + "}]\n"
}

// dataLevels is data of n levels.
func dataLevels(n int) string {
	return header + "do: [{t: {set: {x: " + strings.Repeat("[", n) + strings.Repeat("]", n) + "}}}]\n"
}

func tasks(n int) string {
	var b strings.Builder
	b.WriteString(header + "do:\n")
	for i := range n {
		fmt.Fprintf(&b, "- task%d: {set: {number: %d, value: '${ (.value // 0) + 1 }'}}\n", i, i)
	}
	return b.String()
}

// jumps are n tasks, each of which names the next one.
func jumps(n int) string {
	var b strings.Builder
	b.WriteString(header + "do:\n")
	for i := range n - 1 {
		fmt.Fprintf(&b, "- task%d: {if: '.x != 1', set: {x: %d}, then: task%d}\n", i, i, i+1)
	}
	fmt.Fprintf(&b, "- task%d: {set: {x: 0}}\n", n-1)
	return b.String()
}

func items(body string) func(n int) string {
	return func(n int) string {
		return header + fmt.Sprintf("do: [{loop: {for: {in: '[range(%d)]'}, do: [{body: %s}]}}]\n", n, body)
	}
}

func branches(compete bool, format string) func(n int) string {
	return func(n int) string {
		var b strings.Builder
		fmt.Fprintf(&b, "%sdo:\n- f:\n    fork:\n      compete: %v\n      branches:\n", header, compete)
		for i := range n {
			body := format
			if strings.Contains(format, "%") {
				body = fmt.Sprintf(format, i)
			}
			fmt.Fprintf(&b, "      - branch%d: {%s}\n", i, body)
		}
		return b.String()
	}
}

// lost are n branches that have begun to wait when the last one wins.
func lost(n int) string {
	return branches(true, "timeout: {after: PT1H}, wait: PT1H")(n-1) + "      - winner: {set: {number: 0}}\n"
}

func filters(n int) string {
	var b strings.Builder
	b.WriteString(header + "do:\n- l:\n    listen:\n      to:\n        any:\n")
	for i := range n {
		fmt.Fprintf(&b, "        - {with: {type: com.example.event%d}}\n", i)
	}
	return b.String()
}

// Named are n items of a list in flow style. The format takes the number of each, for its name.
func Named(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{"+format+"}, ", i)
	}
	return b.String()
}
