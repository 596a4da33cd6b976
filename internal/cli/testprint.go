package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"

	"github.com/chargehand/chargehand/internal/testrun"
	"github.com/chargehand/chargehand/internal/value"
)

// The bounds of what is shown.
const (
	shownEntries = 40   // of a timeline
	shownMissing = 3    // ways that were not taken, in the last line
	shownValue   = 2000 // bytes of a value
	nameColumn   = 38   // of the names of tests, at least
	widestName   = 60
)

// print writes a report for people.
func (c *testCommand) print(report *testrun.Report) error {
	var out strings.Builder
	for _, f := range report.Files {
		c.printFile(&out, f)
	}
	if c.coverage != "" {
		c.printCoverage(&out, report)
	}
	out.WriteString(c.lastLine(report) + "\n")
	_, err := io.WriteString(c.out, out.String())
	return err
}

func (c *testCommand) printFile(out *strings.Builder, f *testrun.File) {
	if len(f.Tests) == 0 && len(f.Problems) == 0 && len(f.Obsolete) == 0 {
		return // --run has chosen none of it
	}
	fmt.Fprintln(out, printable(f.Path))
	for _, p := range f.Problems {
		fmt.Fprintf(out, "  %s: %s: %s [%s]\n", problemAt(p), colour(c.out, "31", "error"), printable(p.Detail), p.Code)
	}
	for _, p := range f.Warnings {
		fmt.Fprintf(out, "  %s: warning: %s [%s]\n", problemAt(p), printable(p.Detail), p.Code)
	}
	width := nameColumn
	for _, t := range f.Tests {
		width = min(max(width, runewidth.StringWidth(t.Name)), widestName)
	}
	for _, t := range f.Tests {
		c.printTest(out, f, t, width)
	}
	for _, name := range f.Obsolete {
		if c.config.Update {
			fmt.Fprintf(out, "  the snapshot %q, which no test has, is removed\n", name)
		} else {
			fmt.Fprintf(out, "  no test has the snapshot %q; --update removes it\n", name)
		}
	}
}

func problemAt(p testrun.Problem) string {
	return fmt.Sprintf("%s:%d:%d", printable(p.File), max(p.Line, 1), max(p.Column, 1))
}

var marks = map[testrun.Status]struct{ mark, colour string }{
	testrun.Passed: {"✓", "32"}, testrun.Failed: {"✗", "31"}, testrun.Broken: {"✗", "31"}, testrun.Skipped: {"-", "33"},
}

func (c *testCommand) printTest(out *strings.Builder, f *testrun.File, t *testrun.Test, width int) {
	mark := marks[t.Status]
	line := "  " + colour(c.out, mark.colour, mark.mark) + " " + padded(printable(t.Name), width)
	if t.Status == testrun.Skipped {
		fmt.Fprintln(out, strings.TrimRight(line+" skipped"+colon(printable(t.Reason)), " "))
		return
	}
	line += fmt.Sprintf(" %s virtual, %s", testrun.Span(t.ElapsedMs), realTime(t.Took))
	if t.NewSnap {
		line += ", snapshot written"
	}
	fmt.Fprintln(out, line)
	for _, one := range t.Failures {
		fmt.Fprintf(out, "      %s %s:%d\n", padded(printable(one.Expectation), nameColumn-4), printable(f.Path), one.At.Line)
		note := ""
		if one.Note != "" {
			note = "  " + printable(one.Note)
		}
		if one.HasWant {
			at := ""
			if !one.HasGot {
				at = note
			}
			fmt.Fprintf(out, "        %s%s\n", colour(c.out, "32", "- "+shown(one.Want)), at)
		}
		switch {
		case one.HasGot:
			fmt.Fprintf(out, "        %s%s\n", colour(c.out, "31", "+ "+shown(one.Got)), note)
		case !one.HasWant:
			fmt.Fprintf(out, "      %s\n", note)
		}
	}
	if e := t.Error; e != nil {
		fmt.Fprintf(out, "      %s %s:%d\n        %s\n", padded(e.Code, nameColumn-4), printable(f.Path), e.At.Line, printable(e.Detail))
		if e.Stub != "" {
			fmt.Fprintln(out, "        Paste into the test:")
			for line := range strings.Lines(e.Stub) {
				fmt.Fprintf(out, "          %s\n", printable(strings.TrimSuffix(line, "\n")))
			}
		}
	}
	if t.Status != testrun.Passed {
		if text := timelineText(t); text != "" {
			fmt.Fprintf(out, "      timeline: %s\n", printable(text))
		}
	}
	for _, p := range t.Warnings {
		fmt.Fprintf(out, "      %s: warning: %s\n", problemAt(p), printable(p.Detail))
	}
}

func colon(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}

// shown is a value on one line.
func shown(v value.Value) string {
	text := string(value.Marshal(v))
	if len(text) > shownValue {
		text = strings.ToValidUTF8(text[:shownValue], "") + "…"
	}
	return printable(text)
}

func padded(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-runewidth.StringWidth(text)))
}

// realTime is how long a test took.
func realTime(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// timelineText tells in one line what the tasks did that hold no others.
func timelineText(t *testrun.Test) string {
	holds := map[string]bool{}
	for _, e := range t.Timeline {
		for at := len(e.Reference); at > 0; {
			if at = strings.LastIndexByte(e.Reference[:at], '/'); at > 0 {
				holds[e.Reference[:at]] = true
			}
		}
	}
	var parts []string
	for _, e := range t.Timeline {
		if !holds[e.Reference] {
			parts = append(parts, entryText(e))
		}
	}
	if more := len(parts) - shownEntries; more > 0 {
		parts = append(parts[:shownEntries], fmt.Sprintf("(%d more)", more))
	}
	if len(parts) > 0 && len(t.Unstarted) > 0 {
		names := t.Unstarted[:min(len(t.Unstarted), 5)]
		text := strings.Join(names, ", ")
		if len(t.Unstarted) > len(names) {
			text += ", …"
		}
		parts = append(parts, "("+text+" never started)")
	}
	return strings.Join(parts, " · ")
}

func entryText(e testrun.Entry) string {
	times := testrun.Span(e.StartedMs)
	if e.EndedMs > e.StartedMs {
		times = "… " + testrun.Span(e.EndedMs)
	}
	switch {
	case e.EndedMs < 0:
		return e.Task + " … " + e.Phase
	case e.Phase == "completed" && e.EndedMs > e.StartedMs:
		return e.Task + " " + times + " ✓"
	case e.Phase == "completed":
		return e.Task + " ✓ " + times
	case e.Error != "":
		return e.Task + " " + times + " ✗ " + e.Error
	}
	return e.Task + " " + times + " " + e.Phase
}

// lastLine counts.
func (c *testCommand) lastLine(report *testrun.Report) string {
	n := report.Counts
	parts := []string{counted(n.Tests, "test")}
	for _, one := range []struct {
		n    int
		word string
	}{{n.Failed, "failed"}, {n.Broken, "broken"}, {n.Skipped, "skipped"}} {
		if one.n > 0 {
			parts[0] += fmt.Sprintf(", %d %s", one.n, one.word)
		}
	}
	if n.WrongFiles > 0 {
		parts[0] += ", " + counted(n.WrongFiles, "wrong file")
	}
	if len(report.Coverage) == 0 {
		return parts[0]
	}
	tasks, tasksRun, branches, branchesRun := testrun.Totals(report.Coverage)
	parts = append(parts, fmt.Sprintf("tasks %d/%d", tasksRun, tasks), fmt.Sprintf("branches %d/%d", branchesRun, branches))
	missing := missingWays(report)
	if len(missing) > 0 {
		text := strings.Join(missing[:min(len(missing), shownMissing)], ", ")
		if more := len(missing) - shownMissing; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		parts = append(parts, "missing: "+text)
	}
	return strings.Join(parts, " · ")
}

// missingWays are the tasks that were not started, and the ways that were not taken at those that were.
func missingWays(report *testrun.Report) (list []string) {
	for _, d := range report.Coverage {
		for _, t := range d.Tasks {
			if t.Hits == 0 {
				list = append(list, fmt.Sprintf("%s:%d %s", printable(d.File), t.Line, printable(t.Task)))
				continue
			}
			for _, b := range t.Branches {
				if b.Hits == 0 {
					list = append(list, fmt.Sprintf("%s:%d %s", printable(d.File), b.Line, printable(b.Name)))
				}
			}
		}
	}
	return list
}

// printCoverage writes the coverage of each definition, and what was not run.
func (c *testCommand) printCoverage(out *strings.Builder, report *testrun.Report) {
	for _, d := range report.Coverage {
		one := []*testrun.Coverage{d}
		tasks, tasksRun, branches, branchesRun := testrun.Totals(one)
		fmt.Fprintf(out, "%s %5.1f %%  tasks %d/%d  branches %d/%d\n", padded(printable(d.File), nameColumn+4), testrun.Percent(one), tasksRun, tasks, branchesRun, branches)
		for _, way := range missingWays(&testrun.Report{Coverage: one}) {
			fmt.Fprintf(out, "  %s\n", way)
		}
	}
}
