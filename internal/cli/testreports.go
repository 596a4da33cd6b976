package cli

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/chargehand/chargehand/internal/testreport"
	"github.com/chargehand/chargehand/internal/testrun"
)

// testReports are the forms of the results of tests for other programs.
type testReports struct {
	junit, coverage string // paths; empty: not to be written
	github          bool
	asked           *pflag.Flag // --github
}

func (r *testReports) flags(f *pflag.FlagSet) {
	f.StringVar(&r.junit, "junit", "", "write the results as JUnit XML to this file")
	f.StringVar(&r.coverage, "coverage-out", "", "write the coverage to this file: as JSON if it ends with .json, else as LCOV")
	f.BoolVar(&r.github, "github", false, "write annotations and a summary for GitHub Actions (default there: on)")
	r.asked = f.Lookup("github")
}

// refuseWatch refuses reports of a run that does not end: each change would replace the report of all tests with one of
// those that it concerns.
func (r *testReports) refuseWatch() error {
	for _, given := range []struct {
		flag string
		set  bool
	}{{"--junit", r.junit != ""}, {"--coverage-out", r.coverage != ""}, {"--github", r.github}} {
		if given.set {
			return usage("%s and --watch: a report is of one run of all tests; leave one of them out", given.flag)
		}
	}
	return nil
}

// write writes what was asked for. Annotations go where the results do not.
func (r *testReports) write(con console, output string, report *testrun.Report) error {
	if r.junit != "" {
		if err := writeTo(r.junit, os.O_TRUNC, func(w io.Writer) error { return testreport.JUnit(w, report) }); err != nil {
			return err
		}
	}
	if r.coverage != "" {
		form := testreport.LCOV
		if strings.EqualFold(filepath.Ext(r.coverage), ".json") {
			form = testreport.CoverageJSON
		}
		if err := writeTo(r.coverage, os.O_TRUNC, func(w io.Writer) error { return form(w, report) }); err != nil {
			return err
		}
	}
	if !r.github && (r.asked.Changed || !isTrue(os.Getenv("GITHUB_ACTIONS"))) {
		return nil
	}
	annotations := con.out
	if output == formatJSON {
		annotations = con.err
	}
	if err := testreport.GitHub(annotations, nil, report); err != nil {
		return err
	}
	if summary := os.Getenv("GITHUB_STEP_SUMMARY"); summary != "" {
		return writeTo(summary, os.O_APPEND, func(w io.Writer) error { return testreport.GitHub(nil, w, report) })
	}
	return nil
}

// writeTo writes a file from its beginning (os.O_TRUNC) or behind what it has (os.O_APPEND).
func writeTo(path string, how int, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|how, 0o666)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}
