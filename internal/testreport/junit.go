package testreport

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/chargehand/chargehand/internal/testrun"
)

type junitSuites struct {
	XMLName  xml.Name `xml:"testsuites"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Errors   int      `xml:"errors,attr"`
	Skipped  int      `xml:"skipped,attr"`
	Time     string   `xml:"time,attr"`
	Suites   []*junitSuite
}

type junitSuite struct {
	XMLName    xml.Name         `xml:"testsuite"`
	Name       string           `xml:"name,attr"`
	Tests      int              `xml:"tests,attr"`
	Failures   int              `xml:"failures,attr"`
	Errors     int              `xml:"errors,attr"`
	Skipped    int              `xml:"skipped,attr"`
	Time       string           `xml:"time,attr"`
	File       string           `xml:"file,attr"`
	Properties *junitProperties `xml:"properties"`
	Cases      []*junitCase
}

type junitProperties struct {
	List []junitProperty `xml:"property"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	XMLName xml.Name    `xml:"testcase"`
	Class   string      `xml:"classname,attr"`
	Name    string      `xml:"name,attr"`
	Time    string      `xml:"time,attr"`
	File    string      `xml:"file,attr"`
	Line    int         `xml:"line,attr,omitempty"`
	Failure *junitWrong `xml:"failure"`
	Error   *junitWrong `xml:"error"`
	Skipped *junitWrong `xml:"skipped"`
	Out     string      `xml:"system-out,omitempty"`
}

type junitWrong struct {
	Message string `xml:"message,attr,omitempty"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// JUnit writes a report as JUnit XML. A suite is a test file. A `failure` is an expectation that does not hold, an
// `error` a test that could not be run to its end, or a file that is wrong.
func JUnit(w io.Writer, r *testrun.Report) error {
	all := &junitSuites{Name: "chargehand test", Time: seconds(r.Took)}
	for _, f := range r.Files {
		s := suiteOf(f, r.Coverage)
		all.Tests, all.Failures, all.Errors, all.Skipped = all.Tests+s.Tests, all.Failures+s.Failures, all.Errors+s.Errors, all.Skipped+s.Skipped
		all.Suites = append(all.Suites, s)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }

func suiteOf(f *testrun.File, coverage []*testrun.Coverage) *junitSuite {
	s := &junitSuite{Name: f.Path, Time: seconds(f.Took), File: f.Path}
	class := strings.Trim(f.Namespace+"/"+f.Name, "/")
	for _, c := range coverage {
		if c.File == f.Definition {
			s.Properties = coverageProperties(c)
		}
	}
	for i := range f.Problems {
		p := &f.Problems[i]
		s.Cases = append(s.Cases, &junitCase{
			Class: class, Name: fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column), Time: seconds(0), File: p.File, Line: p.Line,
			Error: &junitWrong{Message: p.Detail, Type: p.Code},
		})
	}
	for _, t := range f.Tests {
		s.Cases = append(s.Cases, caseOf(f, t, class))
	}
	for _, c := range s.Cases {
		s.Tests++
		switch {
		case c.Failure != nil:
			s.Failures++
		case c.Error != nil:
			s.Errors++
		case c.Skipped != nil:
			s.Skipped++
		}
	}
	return s
}

func caseOf(f *testrun.File, t *testrun.Test, class string) *junitCase {
	c := &junitCase{Class: class, Name: t.Name, Time: seconds(t.Took), File: f.Path, Line: t.At.Line, Out: timeline(t.Timeline)}
	switch t.Status {
	case testrun.Failed:
		var texts []string
		for i := range t.Failures {
			texts = append(texts, fmt.Sprintf("%s:%d %s", f.Path, t.Failures[i].At.Line, describe(&t.Failures[i])))
		}
		c.Failure = &junitWrong{Message: firstFailure(t), Type: "expectation", Text: strings.Join(texts, "\n")}
	case testrun.Broken:
		c.Error = &junitWrong{Message: t.Error.Detail, Type: t.Error.Code, Text: explain(t.Error)}
	case testrun.Skipped:
		c.Skipped = &junitWrong{Message: t.Reason}
	}
	return c
}

// firstFailure names the first expectation that does not hold, and how many there are.
func firstFailure(t *testrun.Test) string {
	switch n := len(t.Failures); n {
	case 0:
		return ""
	case 1:
		return t.Failures[0].Expectation
	default:
		return fmt.Sprintf("%s and %d more", t.Failures[0].Expectation, n-1)
	}
}

func coverageProperties(c *testrun.Coverage) *junitProperties {
	tasks, tasksRun, branches, branchesRun := testrun.Totals([]*testrun.Coverage{c})
	one := func(name string, v any) junitProperty { return junitProperty{"coverage." + name, fmt.Sprint(v)} }
	return &junitProperties{[]junitProperty{
		one("tasks", tasks), one("tasks_run", tasksRun), one("branches", branches), one("branches_run", branchesRun),
		one("percent", percent(testrun.Percent([]*testrun.Coverage{c}))),
	}}
}

func percent(p float64) string { return fmt.Sprintf("%.1f", p) }
