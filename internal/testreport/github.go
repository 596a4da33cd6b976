package testreport

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/testrun"
)

// maxListed bounds the tests that a summary lists: GitHub takes 1 MiB.
const maxListed = 100

var (
	messageEscapes  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	propertyEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	cellEscapes     = strings.NewReplacer("\\", "\\\\", "|", "\\|", "<", "&lt;", "&", "&amp;", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "\r", " ", "\n", " ")
)

// GitHub writes what GitHub Actions shows: to annotations, the commands that put errors and warnings on lines; to
// summary, a page in Markdown. Either may be nil.
func GitHub(annotations, summary io.Writer, r *testrun.Report) error {
	if annotations != nil {
		if err := annotate(annotations, r); err != nil {
			return err
		}
	}
	if summary != nil {
		return summarize(summary, r)
	}
	return nil
}

func annotate(w io.Writer, r *testrun.Report) error {
	b := bufio.NewWriter(w)
	say := func(level, file string, line, column int, title, message string) {
		where := "file=" + propertyEscapes.Replace(file)
		if line > 0 {
			where += fmt.Sprintf(",line=%d", line)
		}
		if column > 0 {
			where += fmt.Sprintf(",col=%d", column)
		}
		fmt.Fprintf(b, "::%s %s,title=%s::%s\n", level, where, propertyEscapes.Replace(title), messageEscapes.Replace(message))
	}
	problems := func(level string, list []testrun.Problem) {
		for _, p := range list {
			say(level, p.File, p.Line, p.Column, p.Code, p.Detail)
		}
	}
	for _, f := range r.Files {
		problems("error", f.Problems)
		problems("warning", f.Warnings)
		for _, t := range f.Tests {
			for i := range t.Failures {
				say("error", f.Path, t.Failures[i].At.Line, t.Failures[i].At.Column, t.Name, describe(&t.Failures[i]))
			}
			if t.Error != nil {
				say("error", f.Path, t.Error.At.Line, t.Error.At.Column, t.Name, explain(t.Error))
			}
			problems("warning", t.Warnings)
		}
	}
	return b.Flush()
}

func summarize(w io.Writer, r *testrun.Report) error {
	b := bufio.NewWriter(w)
	c := &r.Counts
	word := "tests"
	if c.Tests == 1 {
		word = "test"
	}
	fmt.Fprintf(b, "## Tests of workflows\n\n%d %s: %d passed, %d failed, %d broken, %d skipped", c.Tests, word, c.Passed, c.Failed, c.Broken, c.Skipped)
	if c.WrongFiles > 0 {
		fmt.Fprintf(b, "; files that are wrong: %d", c.WrongFiles)
	}
	fmt.Fprint(b, ".\n\n| File | Passed | Failed | Broken | Skipped |\n|---|---|---|---|---|\n")
	for _, f := range r.Files {
		counts := map[testrun.Status]int{}
		for _, t := range f.Tests {
			counts[t.Status]++
		}
		name := cell(f.Path)
		if len(f.Problems) > 0 {
			name += " (wrong)"
		}
		fmt.Fprintf(b, "| %s | %d | %d | %d | %d |\n", name, counts[testrun.Passed], counts[testrun.Failed], counts[testrun.Broken], counts[testrun.Skipped])
	}
	summarizeFailures(b, r)
	if len(r.Coverage) > 0 {
		fmt.Fprint(b, "\n| Definition | Tasks | Branches | Covered |\n|---|---|---|---|\n")
		for _, d := range r.Coverage {
			t := totalsOf(d)
			fmt.Fprintf(b, "| %s | %d/%d | %d/%d | %s %% |\n", cell(d.File), t.TasksRun, t.Tasks, t.BranchesRun, t.Branches, percent(t.Percent))
		}
	}
	return b.Flush()
}

func summarizeFailures(b *bufio.Writer, r *testrun.Report) {
	listed, more := 0, 0
	line := func(file string, at int, name, what string) {
		if listed++; listed > maxListed {
			more++
			return
		}
		if listed == 1 {
			fmt.Fprint(b, "\n| Where | Test | What |\n|---|---|---|\n")
		}
		fmt.Fprintf(b, "| %s:%d | %s | %s |\n", cell(file), at, cell(name), cell(what))
	}
	for _, f := range r.Files {
		for _, p := range f.Problems {
			line(p.File, p.Line, "", p.Detail)
		}
		for _, t := range f.Tests {
			switch {
			case t.Status == testrun.Failed && len(t.Failures) > 0:
				line(f.Path, t.Failures[0].At.Line, t.Name, firstFailure(t))
			case t.Status == testrun.Broken:
				line(f.Path, t.Error.At.Line, t.Name, t.Error.Detail)
			}
		}
	}
	if more > 0 {
		fmt.Fprintf(b, "\nAnd %d more.\n", more)
	}
}

// maxCell bounds a text of a table.
const maxCell = 300

func cell(text string) string { return cellEscapes.Replace(excerpt.Line(text, maxCell)) }
