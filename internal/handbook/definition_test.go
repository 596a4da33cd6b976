package handbook

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/servertest"
	"github.com/chargehand/chargehand/internal/testrun"
	"github.com/chargehand/chargehand/internal/value"
)

// isDefinition tells a definition of a workflow from other files that pages save.
var isDefinition = regexp.MustCompile(`(?m)^document:[\s\S]*^do:`)

// leastDefinitions is how many definitions pages save; fewer means that some were not found.
const leastDefinitions = 12

// TestDefinitionsOfPages runs a test (`chargehand test`) of every definition that a page saves: one that the page has
// itself, or the one of testdata/tests, where a folder has the tests of a page. A definition without tests fails.
func TestDefinitionsOfPages(t *testing.T) {
	pages, err := Pages(servertest.Root())
	if err != nil {
		t.Fatal(err)
	}
	definitions, used := 0, map[string]bool{}
	for _, page := range pages {
		saved := map[string]string{} // what the page saves last under each name
		for _, b := range page.Blocks {
			if b.Kind == "save" {
				saved[b.Name] = b.Text
			}
		}
		folder := filepath.Join("testdata", "tests", strings.TrimSuffix(filepath.Base(page.Name), ".md"))
		for name, text := range saved {
			if testrun.BelongsToTests(name) || !isDefinition.MatchString(text) {
				continue
			}
			definitions++
			t.Run(strings.TrimSuffix(page.Name, ".md")+"/"+name, func(t *testing.T) {
				testName := strings.TrimSuffix(name, ".yaml") + testrun.Suffix
				tests, inPage := saved[testName]
				if !inPage {
					path := filepath.Join(folder, testName)
					content, err := os.ReadFile(path)
					if err != nil {
						t.Fatalf("it has no tests: %v", err)
					}
					tests, used[path] = string(content), true
				}
				runTests(t, map[string]string{name: text, testName: tests}, testName)
			})
		}
	}
	if definitions < leastDefinitions {
		t.Errorf("%d definitions are saved by pages", definitions)
	}
	kept, err := filepath.Glob(filepath.Join("testdata", "tests", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range kept {
		if !used[path] {
			t.Errorf("%s is of no page", path)
		}
	}
}

// runTests runs a test file. All tests pass, and run every task of the definition.
func runTests(t *testing.T, folder map[string]string, testName string) {
	t.Helper()
	report, err := testrun.New(testrun.Config{CI: true, Strict: true, Crash: true, Version: "1", ReadFile: func(path string) ([]byte, error) {
		if text, ok := folder[path]; ok {
			return []byte(text), nil
		}
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}}).Run(t.Context(), []string{testName})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Files {
		for _, p := range f.Problems {
			t.Errorf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Detail)
		}
		for _, one := range f.Tests {
			if one.Error != nil {
				t.Errorf("%s: %s", one.Name, one.Error.Detail)
			}
			for _, failure := range one.Failures {
				t.Errorf("%s: %s is %s, not %s (%s)", one.Name, failure.Expectation, value.Marshal(failure.Got), value.Marshal(failure.Want), failure.Note)
			}
		}
	}
	if n := report.Counts; n.Tests == 0 || n.Passed != n.Tests {
		t.Errorf("%+v", n)
	}
	for _, c := range report.Coverage {
		if i := slices.IndexFunc(c.Tasks, func(task testrun.TaskCoverage) bool { return task.Hits == 0 }); i >= 0 {
			t.Errorf("no test runs %s", c.Tasks[i].Task)
		}
	}
}
