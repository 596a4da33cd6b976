package testreport

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/testfile"
	"github.com/chargehand/chargehand/internal/testrun"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// sample is a report with one of everything, and texts that every form has to escape.
func sample() *testrun.Report {
	at := func(line int) testfile.Position { return testfile.Position{Line: line, Column: 5} }
	return &testrun.Report{
		Took:   12 * time.Millisecond,
		Counts: testrun.Counts{Tests: 4, Passed: 1, Failed: 1, Broken: 1, Skipped: 1, WrongFiles: 1},
		Files: []*testrun.File{
			{
				Path: "a b/pay.test.yaml", Definition: "a b/pay.yaml", Namespace: "shop", Name: "pay", Took: 5 * time.Millisecond,
				Warnings: []testrun.Problem{{File: "a b/pay.test.yaml", Line: 3, Column: 1, Code: "unused", Detail: "No run used the mock \"x\"."}},
				Tests: []*testrun.Test{
					{Name: "paid", At: at(7), Status: testrun.Passed, Took: 2 * time.Millisecond, ElapsedMs: 3_600_000, Timeline: []testrun.Entry{
						{Task: "ask", Phase: "completed", Attempt: 1, EndedMs: 3_600_000},
					}},
					{Name: "refused | <b>, twice: 50%", At: at(20), Status: testrun.Failed, Took: time.Millisecond, Failures: []testrun.Failure{
						{Expectation: "expect.error.status", At: at(31), Want: 409, Got: 408, HasWant: true, HasGot: true, Note: "timeout at /do/0/ask"},
						{Expectation: "expect.output", At: at(32), Want: map[string]any{"a": "line\nbreak"}, HasWant: true},
					}, Timeline: []testrun.Entry{{Task: "ask", Phase: "faulted", Attempt: 2, StartedMs: 5, EndedMs: 10, Error: "timeout"}}},
					{Name: "lost", At: at(40), Status: testrun.Broken, Error: &testrun.Error{
						Code: testrun.CodeMissingMock, At: at(41), Detail: "There is no mock for /do/2/pay (http post).", Stub: "mocks:\n  pay: {returns: null}\n",
					}},
					{Name: "later", At: at(50), Status: testrun.Skipped, Reason: "not yet"},
				},
			},
			{Path: "wrong.test.yaml", Problems: []testrun.Problem{{File: "wrong.test.yaml", Line: 2, Column: 3, Code: "unknown", Detail: "It has an unknown property."}}},
		},
		Coverage: []*testrun.Coverage{{
			File: "a b/pay.yaml", Namespace: "shop", Name: "pay", Tasks: []testrun.TaskCoverage{
				{Task: "ask", Reference: "/do/0/ask", Line: 4, Hits: 3, Branches: []testrun.BranchCoverage{{Name: "timeout", Line: 5, Hits: 1}}},
				{Task: "same line", Reference: "/do/1/x", Line: 4},
				{Task: "pay", Reference: "/do/2/pay", Line: 9, Branches: []testrun.BranchCoverage{{Name: "if true", Line: 10}, {Name: "if false", Line: 10}}},
			},
		}},
	}
}

func TestReports(t *testing.T) {
	r := sample()
	for name, write := range map[string]func(io.Writer) error{
		"junit.xml":     func(w io.Writer) error { return JUnit(w, r) },
		"lcov.info":     func(w io.Writer) error { return LCOV(w, r) },
		"coverage.json": func(w io.Writer) error { return CoverageJSON(w, r) },
		"github.txt":    func(w io.Writer) error { return GitHub(w, nil, r) },
		"summary.txt":   func(w io.Writer) error { return GitHub(nil, w, r) },
	} {
		var got bytes.Buffer
		if err := write(&got); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%s is\n%s\nwant\n%s", name, got.Bytes(), want)
		}
		failing := errors.New("disk full")
		if err := write(&full{err: failing}); !errors.Is(err, failing) {
			t.Errorf("%s on a full disk: %v", name, err)
		}
		if err := write(io.Discard); err != nil {
			t.Error(err)
		}
	}
}

type full struct{ err error }

func (f *full) Write([]byte) (int, error) { return 0, f.err }

// What programs read is well-formed, whatever the texts are.
func TestReportsAreReadable(t *testing.T) {
	r := sample()
	r.Files[0].Tests[1].Name = "\x00\x1b]]> & \"' ::error::\r\n" + strings.Repeat("é", 5000)
	r.Files[0].Tests[1].Failures[0].Got = strings.Repeat("x", 100_000)
	var b bytes.Buffer
	if err := JUnit(&b, r); err != nil {
		t.Fatal(err)
	}
	var suites struct {
		Tests, Failures, Errors, Skipped int `xml:",attr"`
		Suites                           []struct {
			Cases []struct{} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(b.Bytes(), &suites); err != nil || len(suites.Suites) != 2 || len(suites.Suites[0].Cases) != 4 {
		t.Errorf("%+v, %v", suites, err)
	}
	b.Reset()
	if err := CoverageJSON(&b, &testrun.Report{}); err != nil || !json.Valid(b.Bytes()) {
		t.Errorf("without coverage: %s, %v", b.Bytes(), err)
	}
	b.Reset()
	if err := GitHub(&b, nil, r); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if !strings.HasPrefix(line, "::error file=") && !strings.HasPrefix(line, "::warning file=") {
			t.Errorf("a line is %q", line)
		}
	}
}

// A summary lists so many tests and says how many more there are.
func TestSummaryIsBounded(t *testing.T) {
	r := &testrun.Report{Files: []*testrun.File{{Path: "f"}}}
	for range maxListed + 5 {
		r.Files[0].Tests = append(r.Files[0].Tests, &testrun.Test{Name: "n", Status: testrun.Broken, Error: &testrun.Error{Detail: strings.Repeat("d", 10_000)}})
	}
	var b bytes.Buffer
	if err := GitHub(nil, &b, r); err != nil || !strings.Contains(b.String(), "And 5 more.") || b.Len() > 64<<10 {
		t.Errorf("%d bytes, %v", b.Len(), err)
	}
}

// One test is 1 test.
func TestSummaryOfOne(t *testing.T) {
	var b bytes.Buffer
	if err := GitHub(nil, &b, &testrun.Report{Counts: testrun.Counts{Tests: 1, Passed: 1}}); err != nil || !strings.Contains(b.String(), "\n1 test: 1 passed") {
		t.Errorf("%s, %v", b.String(), err)
	}
}
