package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"mime"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/activity"
	activityhttp "github.com/chargehand/chargehand/internal/activity/http"
	"github.com/chargehand/chargehand/internal/app"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/testrun"
	"github.com/chargehand/chargehand/internal/value"
)

// leastConverted is how many of our scenarios are tests of `chargehand test`, at least.
const leastConverted = 320

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

// resource reads what definitions name, from the stand-in and from the folder of files.
func (r *rehearsal) resource(ctx context.Context, w plan.Wanted) ([]byte, error) {
	if !strings.HasPrefix(w.URI, "https://") {
		return r.local(ctx, w)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.URI, http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := r.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", resp.StatusCode)
	}
	return io.ReadAll(resp.Body)
}

// RoundTrip implements http.RoundTripper: the stand-in answers without a connection.
func (r *rehearsal) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	if !slices.Contains(hosts, req.URL.Host) {
		return nil, fmt.Errorf("%s: no such host", req.URL.Host)
	}
	in := req.Clone(req.Context())
	in.Host, in.RequestURI = req.URL.Host, req.URL.RequestURI()
	if in.Body == nil {
		in.Body = http.NoBody
	}
	out := httptest.NewRecorder()
	defer func() {
		if cut := recover(); cut != nil {
			resp, err = nil, io.ErrUnexpectedEOF
		}
	}()
	r.outside.serve(out, in)
	resp = out.Result()
	resp.Request = req
	return resp, nil
}

// recorder makes a call of HTTP, and notes what was answered as an answer of a mock.
type recorder struct{ *rehearsal }

// Run implements activity.Runner.
func (r recorder) Run(ctx context.Context, call activity.Call) activity.Result {
	last := &lastAnswer{from: r.rehearsal}
	args, _ := call.Args.(map[string]any)
	endpoint, _ := args["endpoint"].(string)
	if delay, slow := slowness(endpoint); slow {
		last.answer = map[string]any{"status": 200, "body": map[string]any{"waited": delay}}
		r.next = map[string]any{"response": last.answer, "after": fmt.Sprintf("PT%d.%03dS", delay/1000, delay%1000)}
		return activity.Result{}
	}
	if call.Kind == "openapi" {
		r.refusal = needed{"a description of its API"}
		return activity.Result{}
	}
	result := activityhttp.New(activityhttp.Config{Transport: last, Files: noFiles(r)}).Run(ctx, call)
	switch {
	case last.answer != nil && last.broken == nil:
		r.next = map[string]any{"response": last.answer}
	case result.Fault != nil:
		r.next = map[string]any{"raises": faultOf(result.Fault.Value())}
	default:
		r.next = map[string]any{"returns": result.Output}
	}
	return result
}

// noFiles keeps no file: a body that becomes one is nothing that a mock answers.
type noFiles struct{ *rehearsal }

func (n noFiles) Open(context.Context, chargehand.AccountID, chargehand.Environment, chargehand.ExecutionID, string) (machine.File, io.ReadCloser, error) {
	n.refusal = needed{"files"}
	return machine.File{}, nil, activity.ErrFileNotFound
}

func (n noFiles) Put(context.Context, chargehand.AccountID, chargehand.Environment, string, string, io.Reader) (machine.File, error) {
	n.refusal = needed{"files"}
	return machine.File{}, n.refusal
}

// faultOf is an error as a mock raises it.
func faultOf(v value.Value) map[string]any {
	fields, _ := v.(map[string]any)
	fault := map[string]any{}
	for _, name := range []string{"type", "status", "title", "detail"} {
		if fields[name] != nil {
			fault[name] = fields[name]
		}
	}
	return fault
}

// slowness is how many milliseconds a slow endpoint takes.
func slowness(endpoint string) (ms int, slow bool) {
	_, rest, slow := strings.Cut(endpoint, "example.com/slow/")
	_, err := fmt.Sscanf(rest, "%d", &ms)
	return ms, slow && err == nil
}

// lastAnswer keeps the newest answer that came: those before it were redirects, or asked for credentials.
type lastAnswer struct {
	from   http.RoundTripper
	answer map[string]any // nil: it is no text
	broken error
}

// RoundTrip implements http.RoundTripper.
func (l *lastAnswer) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := l.from.RoundTrip(req)
	l.answer, l.broken = nil, err
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if !utf8.Valid(body) {
		return resp, nil
	}
	headers := map[string]any{}
	for name, values := range resp.Header {
		headers[name] = strings.Join(values, ", ")
	}
	l.answer = map[string]any{"status": resp.StatusCode, "headers": headers}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if len(body) > 0 {
		l.answer["body"] = string(body)
		if v, err := value.Parse(body, value.Limits{}); err == nil && media == "application/json" {
			l.answer["body"] = v
			if _, isText := v.(string); isText { // a mock gives texts as they are
				l.answer["body"] = string(body)
			}
		}
	}
	return resp, nil
}

// maxCalls bounds the calls of a scenario.
const maxCalls = 60

// record makes mocks of all calls: the test is run until none is left without one.
func (r *rehearsal) record() (*testrun.Report, string) {
	r.t.Helper()
	recorded := map[string][]any{}
	for range maxCalls {
		r.called, r.next, r.refusal = false, nil, nil
		report := r.run()
		if len(report.Files[0].Problems) > 0 {
			return report, ""
		}
		test := report.Files[0].Tests[0]
		var asked needed
		switch {
		case errors.As(r.refusal, &asked):
			if asked.kind == "files" {
				return nil, string(needsServer)
			}
			return nil, string(needsPeer)
		case r.next != nil:
			address := test.Calls[r.position(test.Calls)].Task
			recorded[address] = append(recorded[address], r.next)
			r.mocks[address] = append(slices.Clone(recorded[address]), map[string]any{"real": true, "times": "always"})
			continue
		case test.Error != nil && test.Error.Code == testrun.CodeMissingMock:
			address := test.Calls[len(test.Calls)-1].Task
			r.mocks[address] = []any{map[string]any{"real": true, "times": "always"}}
			continue
		}
		return report, ""
	}
	r.t.Fatal("the scenario has too many calls")
	return nil, ""
}

// position is the first call without a recorded answer.
func (r *rehearsal) position(calls []testrun.Call) int {
	left := map[string]int{}
	for i, c := range calls {
		list, _ := r.mocks[c.Task].([]any)
		if left[c.Task]++; (c.Kind == "http" || c.Kind == "openapi") && left[c.Task] > len(list)-1 {
			return i
		}
	}
	r.t.Fatal("no call is without an answer")
	return 0
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

// TestConvert holds the converter to a scenario with a step of most kinds.
func TestConvert(t *testing.T) {
	f := &feature{name: "paid", steps: []featureStep{
		{text: "another workflow with definition:", docString: "document: {dsl: '1.0.3', namespace: n, name: child, version: '1'}"},
		{text: "a workflow with definition:", docString: "document: {namespace: n, name: main}\ndo: [{ask: {call: 'human:1.0.0@default', with: {title: May I}}}]"},
		{text: "given the workflow input is:", docString: "{n: 1}"},
		{text: "the secret 'token' is:", docString: "x"},
		{text: "the event is published:", docString: "{type: early}"},
		{text: "the workflow is started"},
		{text: "the workflow is waiting"},
		{text: "the event is published:", docString: "{type: paid}"},
		{text: "the human task 'May I' is answered:", docString: "{outcome: yes}"},
		{text: "the execution is cancelled"},
		{text: "the workflow has ended"},
		{text: "the workflow should fault with an error like:", docString: "{status: 400, detail: 'a \"part'}"},
		{text: "a should run before b"},
		{text: "c should run 2 times"},
		{text: "d should not run"},
	}}
	c, err := convert(f)
	if err != nil {
		t.Fatal(err)
	}
	written, err := c.files()
	if err != nil {
		t.Fatal(err)
	}
	got, err := value.Parse(written["main.test.yaml"], value.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := decode(`
tests:
  - name: paid
    input: {n: 1}
    secrets: {token: x}
    children: {n/child: child0.yaml}
    before: [{type: early}]
    mocks: {ask: [{answers: {outcome: 'yes'}}]}
    script: [{at: PT0.000S, event: {type: paid}}, {at: PT0.001S, cancel: true}]
    expect:
      phase: faulted
      error: {status: 400}
      order: [a, b]
      check:
        - '.error.detail | contains("a \"part")'
        - '([.tasks | to_entries[] | select(.key == "c" or (.key | endswith("/" + "c"))) | .value] | map(.times) | add // 0) == 2'
        - '([.tasks | to_entries[] | select(.key == "d" or (.key | endswith("/" + "d"))) | .value] | map(.times) | add // 0) == 0'
`)
	if err != nil || !value.Equal(got, want) {
		t.Errorf("got %s\nwant %s, %v", value.Marshal(got), value.Marshal(want), err)
	}
	for name, step := range map[string]featureStep{
		string(needsSchedule): {text: "another execution of the workflow ends with output:"},
		string(needsEdge):     {text: "pay should run first"},
		string(needsServer):   {text: "a draft with definition:"},
		string(needsPeer):     {text: "a workflow with definition:", docString: "https://grpc.example.com"},
	} {
		if _, err := convert(&feature{steps: []featureStep{step}}); err == nil || err.Error() != name {
			t.Errorf("%q: %v", step.text, err)
		}
	}
	if _, err := convert(&feature{steps: []featureStep{{text: "what has no conversion"}}}); err == nil || errors.As(err, new(unconvertible)) {
		t.Errorf("an unknown step: %v", err)
	}
}
