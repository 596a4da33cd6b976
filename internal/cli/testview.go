package cli

import (
	"github.com/chargehand/chargehand/internal/testreport"
	"github.com/chargehand/chargehand/internal/testrun"
)

// reportView is a report as -o json prints it.
func reportView(r *testrun.Report) any {
	files := make([]testFileView, 0, len(r.Files))
	for _, f := range r.Files {
		files = append(files, fileView(f))
	}
	n := r.Counts
	return map[string]any{
		"tests": n.Tests, "passed": n.Passed, "failed": n.Failed, "broken": n.Broken, "skipped": n.Skipped, "wrong_files": n.WrongFiles,
		"only": r.Only, "duration_ms": r.Took.Milliseconds(), "files": files, "coverage": testreport.ViewCoverage(r.Coverage),
	}
}

type testFileView struct {
	File       string                   `json:"file"`
	Definition string                   `json:"definition"`
	Workflow   string                   `json:"workflow"`
	Problems   []testreport.TestProblem `json:"problems"`
	Warnings   []testreport.TestProblem `json:"warnings"`
	Tests      []testreport.TestResult  `json:"tests"`
	Obsolete   []string                 `json:"obsolete_snapshots"`
}

func fileView(f *testrun.File) testFileView {
	view := testFileView{
		File: f.Path, Definition: f.Definition, Problems: testreport.ViewProblems(f.Problems), Warnings: testreport.ViewProblems(f.Warnings),
		Tests: []testreport.TestResult{}, Obsolete: append([]string{}, f.Obsolete...),
	}
	if f.Name != "" {
		view.Workflow = f.Namespace + "/" + f.Name
	}
	for _, t := range f.Tests {
		view.Tests = append(view.Tests, testreport.ViewTest(t))
	}
	return view
}
