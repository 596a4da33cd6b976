package cli

import (
	"encoding/json"

	"github.com/chargehand/chargehand/internal/testrun"
	"github.com/chargehand/chargehand/internal/value"
)

// reportView is a report as -o json prints it.
func reportView(r *testrun.Report) any {
	files := make([]testFileView, 0, len(r.Files))
	for _, f := range r.Files {
		files = append(files, fileView(f))
	}
	n := r.Counts
	tasks, tasksRun, branches, branchesRun := testrun.Totals(r.Coverage)
	return map[string]any{
		"tests": n.Tests, "passed": n.Passed, "failed": n.Failed, "broken": n.Broken, "skipped": n.Skipped, "wrong_files": n.WrongFiles,
		"only": r.Only, "duration_ms": r.Took.Milliseconds(), "files": files,
		"coverage": map[string]any{
			"tasks": tasks, "tasks_run": tasksRun, "branches": branches, "branches_run": branchesRun, "percent": testrun.Percent(r.Coverage),
			"definitions": coverageView(r.Coverage),
		},
	}
}

type testFileView struct {
	File       string        `json:"file"`
	Definition string        `json:"definition"`
	Workflow   string        `json:"workflow"`
	Problems   []problemView `json:"problems"`
	Warnings   []problemView `json:"warnings"`
	Tests      []testView    `json:"tests"`
	Obsolete   []string      `json:"obsolete_snapshots"`
}

type problemView struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

type testView struct {
	Name       string          `json:"name"`
	Line       int             `json:"line"`
	Status     testrun.Status  `json:"status"`
	Reason     string          `json:"reason,omitempty"`
	Phase      string          `json:"phase,omitempty"`
	Output     json.RawMessage `json:"output,omitempty"`
	Fault      json.RawMessage `json:"error,omitempty"`
	ElapsedMs  int64           `json:"elapsed_ms"`
	DurationMs int64           `json:"duration_ms"`
	Failures   []failureView   `json:"failures"`
	Broken     *brokenView     `json:"broken,omitempty"`
	Warnings   []problemView   `json:"warnings"`
	Timeline   []entryView     `json:"timeline"`
}

type failureView struct {
	Expectation string          `json:"expectation"`
	Line        int             `json:"line"`
	Column      int             `json:"column"`
	Want        json.RawMessage `json:"want,omitempty"`
	Got         json.RawMessage `json:"got,omitempty"`
	Note        string          `json:"note,omitempty"`
}

type brokenView struct {
	Code   string `json:"code"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Detail string `json:"detail"`
	Stub   string `json:"stub,omitempty"`
}

type entryView struct {
	Task      string `json:"task"`
	Reference string `json:"reference"`
	Attempt   int    `json:"attempt"`
	Phase     string `json:"phase"`
	StartedMs int64  `json:"started_ms"`
	EndedMs   *int64 `json:"ended_ms"`
	Error     string `json:"error,omitempty"`
}

func problemViews(list []testrun.Problem) []problemView {
	views := make([]problemView, 0, len(list))
	for _, p := range list {
		views = append(views, problemView(p))
	}
	return views
}

func fileView(f *testrun.File) testFileView {
	view := testFileView{
		File: f.Path, Definition: f.Definition, Problems: problemViews(f.Problems), Warnings: problemViews(f.Warnings),
		Tests: []testView{}, Obsolete: append([]string{}, f.Obsolete...),
	}
	if f.Name != "" {
		view.Workflow = f.Namespace + "/" + f.Name
	}
	for _, t := range f.Tests {
		view.Tests = append(view.Tests, viewOfTest(t))
	}
	return view
}

func viewOfTest(t *testrun.Test) testView {
	view := testView{
		Name: t.Name, Line: t.At.Line, Status: t.Status, Reason: t.Reason, Phase: t.Phase, ElapsedMs: t.ElapsedMs, DurationMs: t.Took.Milliseconds(),
		Failures: []failureView{}, Warnings: problemViews(t.Warnings), Timeline: []entryView{},
	}
	if t.Status != testrun.Skipped {
		view.Output = value.Marshal(t.Output)
	}
	if t.Fault != nil {
		view.Fault = value.Marshal(t.Fault)
	}
	for _, f := range t.Failures {
		one := failureView{Expectation: f.Expectation, Line: f.At.Line, Column: f.At.Column, Note: f.Note}
		if f.HasWant {
			one.Want = value.Marshal(f.Want)
		}
		if f.HasGot {
			one.Got = value.Marshal(f.Got)
		}
		view.Failures = append(view.Failures, one)
	}
	if e := t.Error; e != nil {
		view.Broken = &brokenView{e.Code, e.At.Line, e.At.Column, e.Detail, e.Stub}
	}
	for _, e := range t.Timeline {
		one := entryView{Task: e.Task, Reference: e.Reference, Attempt: e.Attempt, Phase: e.Phase, StartedMs: e.StartedMs, Error: e.Error}
		if e.EndedMs >= 0 {
			one.EndedMs = &e.EndedMs
		}
		view.Timeline = append(view.Timeline, one)
	}
	return view
}

type coveredView struct {
	File     string            `json:"file"`
	Workflow string            `json:"workflow"`
	Tasks    []coveredTaskView `json:"tasks"`
}

type coveredTaskView struct {
	Task      string            `json:"task"`
	Reference string            `json:"reference"`
	Line      int               `json:"line"`
	Hits      int               `json:"hits"`
	Branches  []coveredWaysView `json:"branches"`
}

type coveredWaysView struct {
	Name string `json:"name"`
	Line int    `json:"line"`
	Hits int    `json:"hits"`
}

func coverageView(list []*testrun.Coverage) []coveredView {
	views := make([]coveredView, 0, len(list))
	for _, c := range list {
		view := coveredView{File: c.File, Workflow: c.Namespace + "/" + c.Name, Tasks: []coveredTaskView{}}
		for _, t := range c.Tasks {
			one := coveredTaskView{t.Task, t.Reference, t.Line, t.Hits, []coveredWaysView{}}
			for _, b := range t.Branches {
				one.Branches = append(one.Branches, coveredWaysView(b))
			}
			view.Tasks = append(view.Tasks, one)
		}
		views = append(views, view)
	}
	return views
}
