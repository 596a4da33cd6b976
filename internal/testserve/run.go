package testserve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/chargehand/chargehand/internal/testfile"
	"github.com/chargehand/chargehand/internal/testreport"
	"github.com/chargehand/chargehand/internal/testrun"
)

// The names of the texts, as problems and coverage tell them.
const (
	NameTests      = "tests"
	NameDefinition = "definition"
)

// testsPath is where a run believes the tests to be; besideTests is the definition that such a file names by default.
const (
	testsPath   = "workflow" + testrun.Suffix
	besideTests = "workflow.yaml"
)

// Request is what is run.
type Request struct {
	Definition string
	Tests      string
	Files      map[string]string // what the tests name beside: definitions of children, contents of files, snapshots
	Version    string            // $runtime.version

	SoftMs int64 // Tests sets it: the time at which tests are stopped, as Unix time
}

// Run is what came of it. Nothing but Problems or Stopped is set where no test was run.
type Run struct {
	Problems []testreport.TestProblem // errors in the texts
	Stopped  string                   // why the worker gave no results

	Counts    testrun.Counts
	Only      bool
	TookMs    int64
	Tests     []testreport.TestResult
	Warnings  []testreport.TestProblem
	Coverage  testreport.TestCoverage
	Snapshots string // as they are to be; empty: nothing has changed, or Cut
	Cut       bool   // some values and timelines were left out, or snapshots of more than MaxResultBytes
}

// run runs the tests of a request in this process until ctx ends.
func run(ctx context.Context, r *Request) (*Run, error) {
	texts := newTexts(r)
	if problems := refused(r.Tests); len(problems) > 0 {
		return &Run{Problems: problems}, nil
	}
	report, err := testrun.New(testrun.Config{Jobs: 1, Partial: true, ReadFile: texts.read, Version: r.Version}).Run(ctx, []string{testsPath})
	if err != nil {
		return nil, err
	}
	file := report.Files[0]
	if len(file.Problems) > 0 {
		return &Run{Problems: texts.named(file.Problems)}, nil
	}
	result := &Run{
		Counts: report.Counts, Only: report.Only, TookMs: report.Took.Milliseconds(),
		Warnings: texts.named(file.Warnings), Coverage: testreport.ViewCoverage(report.Coverage),
	}
	for i := range result.Coverage.Definitions {
		d := &result.Coverage.Definitions[i]
		d.File = texts.name(d.File)
	}
	budget := budget{left: MaxResultBytes}
	for _, t := range file.Tests {
		one := testreport.ViewTest(t)
		one.Warnings = texts.named(t.Warnings)
		budget.cut(&one)
		result.Tests = append(result.Tests, one)
	}
	result.Cut = budget.over
	if file.Snapshots != nil {
		if len(file.Snapshots.Content) > MaxResultBytes {
			result.Cut = true
		} else {
			result.Snapshots = string(file.Snapshots.Content)
		}
	}
	return result, nil
}

// refused finds mocks that are to be run for real.
func refused(tests string) (problems []testreport.TestProblem) {
	file, _ := testfile.Read([]byte(tests))
	if file == nil {
		return nil
	}
	for _, c := range append([]*testfile.Case{&file.Defaults}, file.Tests...) {
		for _, m := range c.Mocks {
			for _, e := range m.Entries {
				if e.Kind == testfile.Real && len(problems) < 100 {
					problems = append(problems, testreport.TestProblem{
						File: NameTests, Line: e.At.Line, Column: e.At.Column, Code: testrun.CodeNotReal,
						Detail: fmt.Sprintf("The mock of %q says real: a server runs no task for real. Run the test with chargehand test, or answer the task.", m.Address),
					})
				}
			}
		}
	}
	return problems
}

// texts are the files of a run: those of the request and no others.
type texts struct {
	definition string // its path
	contents   map[string]string
}

func newTexts(r *Request) *texts {
	t := &texts{definition: besideTests, contents: map[string]string{}}
	for name, content := range r.Files {
		t.contents[path.Clean(name)] = content
	}
	if file, _ := testfile.Read([]byte(r.Tests)); file != nil && file.Workflow != "" {
		t.definition = path.Clean(file.Workflow)
	}
	t.contents[t.definition], t.contents[testsPath] = r.Definition, r.Tests
	return t
}

func (t *texts) read(name string) ([]byte, error) {
	if content, known := t.contents[path.Clean(name)]; known {
		return []byte(content), nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: errNoFile}
}

// errNoFile is a file that does not exist, for those who ask for it.
var errNoFile = fmt.Errorf("the request does not bring it: %w", fs.ErrNotExist)

// name is what the caller calls a file.
func (t *texts) name(file string) string {
	switch path.Clean(file) {
	case testsPath:
		return NameTests
	case t.definition:
		return NameDefinition
	}
	return file
}

func (t *texts) named(list []testrun.Problem) []testreport.TestProblem {
	views := testreport.ViewProblems(list)
	for i := range views {
		views[i].File = t.name(views[i].File)
	}
	return views
}

// The bounds of results.
const (
	MaxResultBytes  = 4 << 20  // of all values and timelines together
	maxValueBytes   = 64 << 10 // of one value
	maxTestedTasks  = 1000     // of a timeline
	testedTaskBytes = 200      // what a run of a task takes at most, without its names
)

// budget bounds what results take as JSON.
type budget struct {
	left int
	over bool
}

// cut leaves out what is too large.
func (b *budget) cut(t *testreport.TestResult) {
	t.Output, t.Fault = b.value(t.Output), b.value(t.Fault)
	for i := range t.Failures {
		f := &t.Failures[i]
		f.Want, f.Got = b.value(f.Want), b.value(f.Got)
		b.left -= len(f.Expectation) + len(f.Note)
	}
	for i := range t.Timeline {
		e := &t.Timeline[i]
		b.left -= testedTaskBytes + len(e.Task) + len(e.Reference) + len(e.Error)
		if b.left < 0 || i == maxTestedTasks {
			t.Timeline, b.over = t.Timeline[:i], true
			break
		}
	}
}

func (b *budget) value(v json.RawMessage) json.RawMessage {
	if len(v) > maxValueBytes || len(v) > b.left {
		b.over = true
		return nil
	}
	b.left -= len(v)
	return v
}

// stopped says which bound has ended a worker.
func stopped(err error, words string) (string, bool) {
	memory := fmt.Sprintf("The tests take more memory than the %d MiB that those of a request have. Let them make less data.", MemoryBytes>>20)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("The tests did not end within %s, and gave no results. Run fewer of them, or let them do less.", HardTime), true
	case words == "" || strings.Contains(words, "out of memory") || strings.Contains(words, "cannot allocate memory"),
		strings.Contains(words, "failed to reserve") || strings.Contains(words, "errno=12"):
		return memory, true
	// Go's garbage collector does not check what it asks for itself: without memory it reads at address 0.
	case strings.Contains(words, "SIGSEGV") && strings.Contains(words, "runtime/mgc"):
		return memory, true
	case strings.Contains(words, "stack exceeds"):
		return "The texts are nested too deeply.", true
	}
	return "", false
}

// The bounds of a run.
const (
	SoftTime = 8 * time.Second
	HardTime = 10 * time.Second
	// MemoryBytes is what a worker may have. It begins with about a tenth of it.
	MemoryBytes = 384 << 20
)

var errSoft = fmt.Errorf("the tests of a request have %s together", SoftTime)
