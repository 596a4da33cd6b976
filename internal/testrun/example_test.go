package testrun_test

import (
	"path/filepath"
	"testing"

	"github.com/chargehand/chargehand/internal/testrun"
)

// The tests of the examples pass, in every order and with a crash before every event, and run all of the definitions.
func TestExamples(t *testing.T) {
	files, err := testrun.Find([]string{filepath.Join("..", "..", "examples")})
	if err != nil || len(files) < 5 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, last := range []bool{false, true} {
		report, err := testrun.New(testrun.Config{CI: true, Strict: true, Crash: true, Last: last, Version: "1"}).Run(t.Context(), files)
		if err != nil {
			t.Fatal(err)
		}
		if n := report.Counts; n.Passed != n.Tests || n.WrongFiles > 0 || n.Tests < 40 {
			t.Errorf("%+v\n%s", n, text(report))
		}
		if percent := testrun.Percent(report.Coverage); percent < 100 {
			t.Errorf("the coverage is %.1f %%", percent)
		}
	}
	definitions, err := filepath.Glob(filepath.Join("..", "..", "examples", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range definitions {
		if _, err := testrun.Find([]string{path}); err != nil && !testrun.BelongsToTests(path) {
			t.Error(err)
		}
	}
}
