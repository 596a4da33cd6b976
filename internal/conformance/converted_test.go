package conformance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/app"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/testrun"
	"github.com/chargehand/chargehand/internal/value"
)

// leastConverted is how many of our scenarios are tests of `chargehand test`, at least.
const leastConverted = 335

// otherCodes are codes of refusals that are others in a test, and why they must be.
var otherCodes = map[string]string{
	// A test allows every language: one that the server does not know is refused as such.
	"run_not_allowed": "not_supported",
}

// TestConvertedScenarios runs the scenarios that need no server as tests of `chargehand test`: they give the same
// verdicts as on a server, and another verdict when another phase is expected.
func TestConvertedScenarios(t *testing.T) {
	local := &app.Test{Real: []string{"shell", "python"}, ResourceRoot: files(t)}
	defer local.Close()
	converted, left := 0, map[string]int{}
	for _, f := range ownFeatures(t) {
		c, err := convert(f)
		var why unconvertible
		if errors.As(err, &why) {
			left[string(why)]++
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", f.title(), err)
			continue
		}
		t.Run(f.title(), func(t *testing.T) {
			r := &rehearsal{t: t, machine: local, conversion: c, outside: &standIn{calls: map[string]int{}, keys: map[string][]string{}}}
			if c.refused {
				r.refuses()
			} else if why := r.verdict(); why != "" {
				left[why]++
				return
			}
			converted++
		})
	}
	for _, why := range slices.Sorted(maps.Keys(left)) {
		t.Logf("%d scenarios are no tests: %s", left[why], why)
	}
	t.Logf("%d scenarios are tests", converted)
	if converted < leastConverted {
		t.Errorf("%d scenarios are tests, %d are expected", converted, leastConverted)
	}
}

// rehearsal runs a converted scenario.
type rehearsal struct {
	*conversion
	t       *testing.T
	machine *app.Test
	outside *standIn
	called  bool // a server was asked in this run
	next    map[string]any
	local   func(ctx context.Context, w plan.Wanted) ([]byte, error) // what is below the folder of files
	refusal error                                                    // why something was not run for real
}

// needed says that something was to run for real that a test cannot have.
type needed struct{ kind string }

func (n needed) Error() string { return "it needs " + n.kind }

var errLater = errors.New("one call at a time")

// run runs the test file once. Calls without a recorded answer are made, one in a run.
func (r *rehearsal) run() *testrun.Report {
	r.t.Helper()
	files, err := r.files()
	if err != nil {
		r.t.Fatal(err)
	}
	runner, err := r.machine.Runner(testrun.Config{Jobs: 1, ReadFile: func(path string) ([]byte, error) {
		if content, ok := files[path]; ok {
			return content, nil
		}
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}})
	if err != nil {
		r.t.Fatal(err)
	}
	ofMachine := runner.Real
	r.local, runner.Resource, runner.Real = runner.Resource, r.resource, func(call activity.Call) (activity.Runner, error) {
		switch call.Kind {
		case "http", "openapi":
			if r.called {
				return nil, errLater
			}
			r.called = true
			return recorder{r}, nil
		case "shell", "script":
			if strings.Contains(string(value.Marshal(call.Args)), `"endpoint":`) { // its source comes from a server when it runs
				r.refusal = needed{"a server"}
				return nil, r.refusal
			}
			return ofMachine(call)
		}
		r.refusal = needed{call.Kind}
		return nil, r.refusal
	}
	report, err := runner.Run(r.t.Context(), []string{"main.test.yaml"})
	if err != nil {
		r.t.Fatal(err)
	}
	return report
}

// otherPhaseBelow is the time below which a test is run with another phase, too.
const otherPhaseBelow = time.Second

// verdict runs the test as it is, and with another phase. It returns why the scenario is no test.
func (r *rehearsal) verdict() (why string) {
	r.t.Helper()
	if r.expect["phase"] == nil {
		if why := r.anyPhase(); why != "" {
			return why
		}
	}
	report, why := r.record()
	if why != "" {
		return why
	}
	if r.moreWarnings(report) {
		report = r.run()
	}
	if n := report.Counts; n.Passed != 1 || n.Tests != 1 {
		r.t.Errorf("%s\n%s", describe(report), r.text())
		return ""
	}
	if report.Took > otherPhaseBelow {
		return ""
	}
	for _, phase := range []string{"completed", "faulted"} {
		if phase == r.expect["phase"] {
			continue
		}
		other := *r.conversion
		other.test, other.expect = maps.Clone(r.test), maps.Clone(r.expect)
		delete(other.expect, "error")
		other.expect["phase"] = phase
		if report := (&rehearsal{t: r.t, machine: r.machine, conversion: &other, outside: r.outside}).run(); report.Counts.Failed != 1 {
			r.t.Errorf("with the phase %s: %s", phase, describe(report))
		}
	}
	return ""
}

// moreWarnings adds the warnings that a scenario does not name, but a test must. It reports whether there are some, and
// those that the scenario names are there, too.
func (r *rehearsal) moreWarnings(report *testrun.Report) bool {
	if report.Counts.Failed != 1 || len(report.Files[0].Tests[0].Failures) != 1 {
		return false
	}
	failure := report.Files[0].Tests[0].Failures[0]
	want, _ := failure.Want.([]any)
	got, _ := failure.Got.([]any)
	if failure.Expectation != "expect.warnings" || len(want) == 0 {
		return false
	}
	for _, code := range want {
		if !slices.Contains(got, code) {
			return false
		}
	}
	r.expect["warnings"] = got
	return true
}

// anyPhase takes the phase that comes out where the scenario is about the definition alone.
func (r *rehearsal) anyPhase() string {
	for _, phase := range []string{"completed", "faulted", "waiting"} {
		r.expect["phase"] = phase
		report, why := r.record()
		if why != "" || len(report.Files[0].Tests) > 0 && report.Files[0].Tests[0].Phase == phase && report.Files[0].Tests[0].Error == nil {
			return why
		}
	}
	delete(r.expect, "phase")
	return ""
}

func (r *rehearsal) text() string {
	files, err := r.files()
	if err != nil {
		r.t.Fatal(err)
	}
	return string(files["main.test.yaml"])
}

// describe is a report in short.
func describe(report *testrun.Report) string {
	var out strings.Builder
	for _, f := range report.Files {
		for _, p := range f.Problems {
			fmt.Fprintf(&out, "%s:%d:%d: %s [%s]\n", p.File, p.Line, p.Column, p.Detail, p.Code)
		}
		for _, one := range f.Tests {
			fmt.Fprintf(&out, "%s\n", one.Status)
			if one.Error != nil {
				fmt.Fprintf(&out, "  %s: %s\n", one.Error.Code, one.Error.Detail)
			}
			for _, failure := range one.Failures {
				fmt.Fprintf(&out, "  %s: want %s, got %s (%s)\n", failure.Expectation, value.Marshal(failure.Want), value.Marshal(failure.Got), failure.Note)
			}
			fmt.Fprintf(&out, "  output %s, error %s\n", value.Marshal(one.Output), value.Marshal(one.Fault))
		}
	}
	return out.String()
}

// refuses checks that the definition is wrong, and where.
func (r *rehearsal) refuses() {
	r.t.Helper()
	report := r.run()
	problems := report.Files[0].Problems
	doc, _ := dsl.ReadText([]byte(r.definitions[len(r.definitions)-1]))
	for _, want := range r.problems {
		line := 1
		if doc != nil {
			line, _ = doc.Position(want.pointer)
		}
		if !slices.ContainsFunc(problems, func(p testrun.Problem) bool {
			return p.File == "main.yaml" && (p.Code == want.code || p.Code == otherCodes[want.code]) && (doc == nil || p.Line == line)
		}) {
			r.t.Errorf("there is no %s in line %d:\n%s", want.code, line, describe(report))
		}
	}
	for _, part := range r.says {
		if !slices.ContainsFunc(problems, func(p testrun.Problem) bool { return strings.Contains(p.Detail, part) }) {
			r.t.Errorf("no problem says %q:\n%s", part, describe(report))
		}
	}
	if report.Counts.WrongFiles != 1 {
		r.t.Errorf("the definition is accepted:\n%s", describe(report))
	}
}
