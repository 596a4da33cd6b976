package testreport

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/chargehand/chargehand/internal/testrun"
)

// LCOV writes the coverage of a report as a tracefile of LCOV: a line is that of a task (DA), a branch a way that can
// be taken at it (BRDA), whose block is the number of the task.
func LCOV(w io.Writer, r *testrun.Report) error {
	b := bufio.NewWriter(w)
	for _, c := range r.Coverage {
		lines := map[int]int{}
		for i := range c.Tasks {
			t := &c.Tasks[i]
			lines[t.Line] = max(lines[t.Line], t.Hits)
		}
		fmt.Fprintf(b, "TN:\nSF:%s\n", c.File)
		_, _, branches, branchesRun := testrun.Totals([]*testrun.Coverage{c})
		for block := range c.Tasks {
			t := &c.Tasks[block]
			for number, branch := range t.Branches {
				taken := fmt.Sprint(branch.Hits)
				if t.Hits == 0 && branch.Hits == 0 {
					taken = "-" // it was never asked
				}
				fmt.Fprintf(b, "BRDA:%d,%d,%d,%s\n", branch.Line, block, number, taken)
			}
		}
		fmt.Fprintf(b, "BRF:%d\nBRH:%d\n", branches, branchesRun)
		run := 0
		for _, line := range slices.Sorted(maps.Keys(lines)) {
			fmt.Fprintf(b, "DA:%d,%d\n", line, lines[line])
			if lines[line] > 0 {
				run++
			}
		}
		fmt.Fprintf(b, "LF:%d\nLH:%d\nend_of_record\n", len(lines), run)
	}
	return b.Flush()
}

type coverageTotals struct {
	Tasks       int     `json:"tasks"`
	TasksRun    int     `json:"tasks_run"`
	Branches    int     `json:"branches"`
	BranchesRun int     `json:"branches_run"`
	Percent     float64 `json:"percent"`
}

type coverageReport struct {
	Definitions []coveredDefinition `json:"definitions"`
	Total       coverageTotals      `json:"total"`
}

type coveredDefinition struct {
	File      string         `json:"file"`
	Namespace string         `json:"namespace"`
	Name      string         `json:"name"`
	Total     coverageTotals `json:"total"`
	Tasks     []coveredTask  `json:"tasks"`
}

type coveredTask struct {
	Task      string          `json:"task"`
	Reference string          `json:"reference"`
	Line      int             `json:"line"`
	Hits      int             `json:"hits"`
	Branches  []coveredBranch `json:"branches"`
}

type coveredBranch struct {
	Name string `json:"name"`
	Line int    `json:"line"`
	Hits int    `json:"hits"`
}

func totalsOf(coverage ...*testrun.Coverage) coverageTotals {
	tasks, tasksRun, branches, branchesRun := testrun.Totals(coverage)
	return coverageTotals{tasks, tasksRun, branches, branchesRun, math.Round(10*testrun.Percent(coverage)) / 10}
}

// CoverageJSON writes the coverage of a report as JSON, with the names of tasks and of the ways at them.
func CoverageJSON(w io.Writer, r *testrun.Report) error {
	report := coverageReport{Definitions: []coveredDefinition{}, Total: totalsOf(r.Coverage...)}
	for _, c := range r.Coverage {
		d := coveredDefinition{File: c.File, Namespace: c.Namespace, Name: c.Name, Total: totalsOf(c), Tasks: []coveredTask{}}
		for i := range c.Tasks {
			t := &c.Tasks[i]
			task := coveredTask{Task: t.Task, Reference: t.Reference, Line: t.Line, Hits: t.Hits, Branches: []coveredBranch{}}
			for _, b := range t.Branches {
				task.Branches = append(task.Branches, coveredBranch(b))
			}
			d.Tasks = append(d.Tasks, task)
		}
		report.Definitions = append(report.Definitions, d)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(report)
}
