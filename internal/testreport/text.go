package testreport

import (
	"fmt"
	"strings"

	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/testrun"
	"github.com/chargehand/chargehand/internal/value"
)

// maxValue bounds a value that is shown, in bytes.
const maxValue = 4_000

// describe says what a failure is: the expectation, what was wanted and what came, and what else helps.
func describe(f *testrun.Failure) string {
	var b strings.Builder
	b.WriteString(f.Expectation)
	shown := func(sign string, v value.Value, has bool) {
		if has {
			fmt.Fprintf(&b, "\n%s %s", sign, excerpt.Line(string(value.Marshal(v)), maxValue))
		}
	}
	shown("-", f.Want, f.HasWant)
	shown("+", f.Got, f.HasGot)
	if f.Note != "" {
		b.WriteString("\n" + f.Note)
	}
	return b.String()
}

// explain says why a test could not be run to an end, with what to paste into it.
func explain(e *testrun.Error) string {
	if e.Stub == "" {
		return e.Detail
	}
	return e.Detail + "\n" + e.Stub
}

// timeline has a line for each run of a task.
func timeline(entries []testrun.Entry) string {
	var b strings.Builder
	for i := range entries {
		e := &entries[i]
		fmt.Fprintf(&b, "%s %s %s", testrun.Span(e.StartedMs), e.Task, e.Phase)
		if e.Attempt > 1 {
			fmt.Fprintf(&b, ", attempt %d", e.Attempt)
		}
		if e.EndedMs > e.StartedMs {
			b.WriteString(" after " + testrun.Span(e.EndedMs-e.StartedMs))
		}
		if e.Error != "" {
			b.WriteString(": " + excerpt.Line(e.Error, maxValue))
		}
		b.WriteByte('\n')
	}
	return b.String()
}
