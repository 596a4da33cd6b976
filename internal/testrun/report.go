package testrun

import (
	"time"

	"github.com/chargehand/chargehand/internal/testfile"
	"github.com/chargehand/chargehand/internal/value"
)

// Status is what became of a test.
type Status string

// The statuses.
const (
	Passed  Status = "passed"
	Failed  Status = "failed"  // something else came out than was expected
	Broken  Status = "error"   // it could not be run to an end
	Skipped Status = "skipped" // it says so, or others say `only`
)

// Report is the result of a run.
type Report struct {
	Files  []*File
	Counts Counts
	Took   time.Duration
	// Coverage is of the definitions that were tested, in the order of their files; nil: no test was run.
	Coverage []*Coverage
	Only     bool // some test says `only`, and others were skipped for it
}

// Counts are numbers of tests and of files that are wrong.
type Counts struct {
	Tests, Passed, Failed, Broken, Skipped int
	WrongFiles                             int
}

// File is a test file and what came of it.
type File struct {
	Path       string
	Definition string // path of the definition
	Namespace  string // of the workflow
	Name       string
	Problems   []Problem // not empty: the file is wrong, and no test was run
	Warnings   []Problem
	Tests      []*Test
	Obsolete   []string   // names of snapshots that belong to no test
	Snapshots  *Snapshots // to be written; nil: nothing has changed
	Took       time.Duration
}

// Snapshots is a file of snapshots as it is to be.
type Snapshots struct {
	Path    string
	Content []byte // empty: the file is to be removed
}

// Problem is something wrong, or doubtful, in a file.
type Problem struct {
	File         string
	Line, Column int
	Code         string
	Detail       string // with what to do
}

// Test is the result of a test.
type Test struct {
	Name     string
	At       testfile.Position
	Status   Status
	Reason   string // of Skipped
	Failures []Failure
	Error    *Error // of Broken
	Warnings []Problem

	Phase     string
	Output    value.Value
	Fault     value.Value // the error as data; nil: none
	ElapsedMs int64       // virtual
	Took      time.Duration
	Timeline  []Entry // of all executions, in the order of their starts
	Unstarted []string
	Calls     []Call
	Events    []value.Value // published
	Files     []value.Value // name, media_type, size
	NewSnap   bool          // its snapshot is new, or replaced

	document value.Value // what checks see
}

// Failure is one expectation that does not hold. A value that is not there has Has false.
type Failure struct {
	Expectation string // such as expect.error.status
	At          testfile.Position
	Want, Got   value.Value
	HasWant     bool
	HasGot      bool
	Note        string // what else helps
}

// The codes of Error.
const (
	CodeMissingMock = "missing_mock"
	CodeUsedUp      = "mock_used_up"
	CodeNoMatch     = "no_answer_matches"
	CodeWrongAnswer = "wrong_answer"
	CodeNotReal     = "real_not_allowed"
	CodeMockFile    = "file_unreadable"
	CodeMock        = "mock_failed" // an expression of a mock
	CodeStuck       = "stuck"
	CodeEndless     = "endless"
	CodeUnused      = "unused" // of a strict test
	CodeStopped     = "stopped"
)

// Error is why a test could not be run to an end.
type Error struct {
	Code   string
	At     testfile.Position // in the test file
	Detail string            // one or more sentences
	Stub   string            // YAML to paste into the test; may be empty
}

func (e *Error) Error() string { return e.Detail }

// Entry is one run of a task.
type Entry struct {
	Task      string // shortest address
	Reference string
	Attempt   int
	Phase     string
	StartedMs int64 // since the start of the test
	EndedMs   int64 // -1: it has not ended
	Error     string
}

// Call is one call of an activity, a human task or another workflow.
type Call struct {
	Task      string
	Reference string
	Kind      string // http, shell, …; human, workflow
	Args      value.Value
	Input     value.Value
	AtMs      int64
}

// Coverage is which parts of a definition were run.
type Coverage struct {
	File      string
	Namespace string
	Name      string
	Tasks     []TaskCoverage // in the order of the text
}

// TaskCoverage tells how often a task was started, and which ways were taken at it.
type TaskCoverage struct {
	Task      string
	Reference string // empty: the workflow itself, for its timeout
	Line      int
	Hits      int
	Branches  []BranchCoverage
}

// BranchCoverage tells how often a way was taken.
type BranchCoverage struct {
	Name string // such as `case enough`, `if false`, `caught`
	Line int
	Hits int
}

// Totals counts what can be run and what was.
func Totals(coverage []*Coverage) (tasks, tasksRun, branches, branchesRun int) {
	for _, c := range coverage {
		for _, t := range c.Tasks {
			if t.Reference != "" { // else it is the workflow itself, which has a way but is no task
				tasks++
				if t.Hits > 0 {
					tasksRun++
				}
			}
			for _, b := range t.Branches {
				branches++
				if b.Hits > 0 {
					branchesRun++
				}
			}
		}
	}
	return tasks, tasksRun, branches, branchesRun
}

// Percent is the share of tasks and branches together that was run; 100 of nothing.
func Percent(coverage []*Coverage) float64 {
	tasks, tasksRun, branches, branchesRun := Totals(coverage)
	if tasks+branches == 0 {
		return 100
	}
	return 100 * float64(tasksRun+branchesRun) / float64(tasks+branches)
}
