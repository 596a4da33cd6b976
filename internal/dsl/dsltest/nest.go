package dsltest

import (
	"fmt"
	"strings"
)

// Nest is a way to nest tasks in each other.
type Nest struct {
	Name string
	// kinds are what stands before and after the inner task; they take turns.
	kinds [][2]string
}

// Nests are all ways: one for each place that a list of tasks may stand at, and a mix. What is
// nested runs without an effect.
func Nests() []Nest {
	do := [2]string{"do: [{", "}]"}
	loop := [2]string{"for: {in: '[1]'}, do: [{", "}]"}
	try := [2]string{"try: [{", "}], catch: {}"}
	fork := [2]string{"fork: {branches: [{", "}]}"}
	handler := [2]string{"try: [{r: {raise: {error: {type: 'x:y', status: 400}}}}], catch: {do: [{", "}]}"}
	return []Nest{
		{"do", [][2]string{do}}, {"for", [][2]string{loop}}, {"try", [][2]string{try}}, {"fork", [][2]string{fork}},
		{"catch", [][2]string{handler}}, {"mix", [][2]string{do, loop, try, fork, handler}},
	}
}

// Definition has n tasks, each in the one before: t0 in line 3 and each of the others in the
// line after.
func (x Nest) Definition(n int) string {
	var b strings.Builder
	b.WriteString(header + "do:\n- {")
	var ends []string
	for i := range n - 1 {
		kind := x.kinds[i%len(x.kinds)]
		fmt.Fprintf(&b, "t%d: {%s\n ", i, kind[0])
		ends = append(ends, kind[1])
	}
	fmt.Fprintf(&b, "t%d: {set: {done: true}}", n-1)
	for i := len(ends) - 1; i >= 0; i-- {
		b.WriteString(ends[i] + "}")
	}
	return b.String() + "}\n"
}
