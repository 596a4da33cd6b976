package testreport

import (
	"encoding/json"

	"github.com/chargehand/chargehand/internal/testrun"
	"github.com/chargehand/chargehand/internal/value"
)

// The results of tests as JSON, as the command line prints them and the API answers them.
type (
	// TestProblem is testrun.Problem.
	TestProblem struct {
		File   string `json:"file" doc:"The text that it is in."`
		Line   int    `json:"line" minimum:"1" doc:"Line of that text, from 1."`
		Column int    `json:"column" minimum:"1" doc:"Column of that line, in characters, from 1."`
		Code   string `json:"code" doc:"Stable code."`
		Detail string `json:"detail" doc:"What is wrong, and what to do."`
	}
	// TestResult is testrun.Test.
	TestResult struct {
		Name       string          `json:"name" doc:"Name of the test."`
		Line       int             `json:"line" minimum:"1" doc:"Line of the tests where it begins, from 1."`
		Status     string          `json:"status" enum:"passed,failed,error,skipped" doc:"failed: something else came out than it expects; error: it could not be run to an end."`
		Reason     string          `json:"reason,omitempty" doc:"Why it was skipped."`
		Phase      string          `json:"phase,omitempty" doc:"How the execution ended, or what it was doing when the test ended: completed, faulted, cancelled, running, waiting or suspended."`
		Output     json.RawMessage `json:"output,omitempty" doc:"Output of the execution."`
		Fault      json.RawMessage `json:"error,omitempty" doc:"The error that the execution ended with."`
		ElapsedMs  int64           `json:"elapsed_ms" minimum:"0" doc:"Virtual time from the start of the execution to its end."`
		DurationMs int64           `json:"duration_ms" minimum:"0" doc:"Time that the test took."`
		Failures   []TestFailure   `json:"failures" nullable:"false" doc:"The expectations that do not hold."`
		Broken     *BrokenTest     `json:"broken,omitempty" doc:"Why it could not be run to an end; left out: it could."`
		Warnings   []TestProblem   `json:"warnings" nullable:"false" doc:"What is doubtful in the test, such as mocks that were not used."`
		Timeline   []TestedTask    `json:"timeline" nullable:"false" doc:"The runs of tasks, in the order of their starts."`
	}
	// TestFailure is testrun.Failure.
	TestFailure struct {
		Expectation string          `json:"expectation" doc:"The expectation, such as expect.error.status."`
		Line        int             `json:"line" minimum:"1" doc:"Line of the tests where it stands, from 1."`
		Column      int             `json:"column" minimum:"1" doc:"Column of that line, in characters, from 1."`
		Want        json.RawMessage `json:"want,omitempty" doc:"What the test expects; left out: nothing."`
		Got         json.RawMessage `json:"got,omitempty" doc:"What came; left out: nothing."`
		Note        string          `json:"note,omitempty" doc:"What else helps."`
	}
	// BrokenTest is testrun.Error.
	BrokenTest struct {
		Code   string `json:"code" doc:"Stable code, such as missing_mock, wrong_answer or stuck."`
		Line   int    `json:"line" minimum:"1" doc:"Line of the tests, from 1."`
		Column int    `json:"column" minimum:"1" doc:"Column of that line, in characters, from 1."`
		Detail string `json:"detail" doc:"Why it could not be run to an end, and what to do."`
		Stub   string `json:"stub,omitempty" doc:"YAML to paste into the test."`
	}
	// TestedTask is testrun.Entry.
	TestedTask struct {
		Task      string `json:"task" doc:"The shortest address of the task in a test."`
		Reference string `json:"reference" doc:"JSON pointer of the task; of a task of another workflow, behind that of the task that has started it."`
		Attempt   int    `json:"attempt" minimum:"1" doc:"Attempt of the innermost try around the task."`
		Phase     string `json:"phase" doc:"How the run ended, or what the task was doing."`
		StartedMs int64  `json:"started_ms" doc:"When it started, in milliseconds of virtual time since the start of the test."`
		EndedMs   *int64 `json:"ended_ms" doc:"When it ended; null: it has not."`
		Error     string `json:"error,omitempty" doc:"Type and status of the error that it ended with."`
	}
	// TestCoverage is which tasks and branches tests have run.
	TestCoverage struct {
		Tasks       int                 `json:"tasks" minimum:"0" doc:"Tasks of the definitions."`
		TasksRun    int                 `json:"tasks_run" minimum:"0" doc:"Those that some test has started."`
		Branches    int                 `json:"branches" minimum:"0" doc:"Ways that can be taken at the tasks."`
		BranchesRun int                 `json:"branches_run" minimum:"0" doc:"Those that some test has taken."`
		Percent     float64             `json:"percent" doc:"Share of tasks and branches together."`
		Definitions []CoveredDefinition `json:"definitions" nullable:"false" doc:"By definition."`
	}
	// CoveredDefinition is testrun.Coverage.
	CoveredDefinition struct {
		File     string        `json:"file" doc:"The text of the definition."`
		Workflow string        `json:"workflow" doc:"namespace/name of the workflow."`
		Tasks    []CoveredTask `json:"tasks" nullable:"false" doc:"In the order of the text."`
	}
	// CoveredTask is testrun.TaskCoverage.
	CoveredTask struct {
		Task      string          `json:"task" doc:"The shortest address of the task in a test."`
		Reference string          `json:"reference" doc:"JSON pointer of the task; empty: the workflow itself."`
		Line      int             `json:"line" minimum:"0" doc:"Line of the definition, from 1."`
		Hits      int             `json:"hits" minimum:"0" doc:"How often it was started."`
		Branches  []CoveredBranch `json:"branches" nullable:"false" doc:"The ways that can be taken at it."`
	}
	// CoveredBranch is testrun.BranchCoverage.
	CoveredBranch struct {
		Name string `json:"name" doc:"Such as case small, if false or timeout."`
		Line int    `json:"line" minimum:"0" doc:"Line of the definition, from 1."`
		Hits int    `json:"hits" minimum:"0" doc:"How often it was taken."`
	}
)

// ViewProblems shows problems. The list is never nil.
func ViewProblems(list []testrun.Problem) []TestProblem {
	views := make([]TestProblem, 0, len(list))
	for _, p := range list {
		views = append(views, TestProblem(p))
	}
	return views
}

// ViewTest shows the result of a test.
func ViewTest(t *testrun.Test) TestResult {
	view := TestResult{
		Name: t.Name, Line: t.At.Line, Status: string(t.Status), Reason: t.Reason, Phase: t.Phase, ElapsedMs: t.ElapsedMs, DurationMs: t.Took.Milliseconds(),
		Failures: []TestFailure{}, Warnings: ViewProblems(t.Warnings), Timeline: []TestedTask{},
	}
	if t.Status != testrun.Skipped {
		view.Output = value.Marshal(t.Output)
	}
	if t.Fault != nil {
		view.Fault = value.Marshal(t.Fault)
	}
	for _, f := range t.Failures {
		one := TestFailure{Expectation: f.Expectation, Line: f.At.Line, Column: f.At.Column, Note: f.Note}
		if f.HasWant {
			one.Want = value.Marshal(f.Want)
		}
		if f.HasGot {
			one.Got = value.Marshal(f.Got)
		}
		view.Failures = append(view.Failures, one)
	}
	if e := t.Error; e != nil {
		view.Broken = &BrokenTest{e.Code, e.At.Line, e.At.Column, e.Detail, e.Stub}
	}
	for _, e := range t.Timeline {
		one := TestedTask{Task: e.Task, Reference: e.Reference, Attempt: e.Attempt, Phase: e.Phase, StartedMs: e.StartedMs, Error: e.Error}
		if e.EndedMs >= 0 {
			one.EndedMs = &e.EndedMs
		}
		view.Timeline = append(view.Timeline, one)
	}
	return view
}

// ViewCoverage shows what tests have run.
func ViewCoverage(list []*testrun.Coverage) TestCoverage {
	view := TestCoverage{Percent: testrun.Percent(list), Definitions: make([]CoveredDefinition, 0, len(list))}
	view.Tasks, view.TasksRun, view.Branches, view.BranchesRun = testrun.Totals(list)
	for _, c := range list {
		definition := CoveredDefinition{File: c.File, Workflow: c.Namespace + "/" + c.Name, Tasks: []CoveredTask{}}
		for _, t := range c.Tasks {
			one := CoveredTask{t.Task, t.Reference, t.Line, t.Hits, []CoveredBranch{}}
			for _, b := range t.Branches {
				one.Branches = append(one.Branches, CoveredBranch(b))
			}
			definition.Tasks = append(definition.Tasks, one)
		}
		view.Definitions = append(view.Definitions, definition)
	}
	return view
}
