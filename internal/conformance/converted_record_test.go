package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/activity"
	activityhttp "github.com/chargehand/chargehand/internal/activity/http"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/testrun"
	"github.com/chargehand/chargehand/internal/value"
)

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
