package testrun

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/chargehand/chargehand/internal/activity"
	activityhttp "github.com/chargehand/chargehand/internal/activity/http"
	"github.com/chargehand/chargehand/internal/activity/process/workspace"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/rehearse"
	"github.com/chargehand/chargehand/internal/testfile"
	"github.com/chargehand/chargehand/internal/value"
)

// asking is a command that a mock answers.
type asking struct {
	reference string // with those of the tasks around the execution
	kind      string
	what      string
	args      value.Value
	input     value.Value
	iteration int
	attempt   int
	nowMs     int64
}

// activity answers the run of an activity.
func (p *play) activity(e *rehearse.Execution, c machine.Command) (rehearse.Answer, error) {
	a := asking{
		reference: p.prefixes[e.Identity.Execution] + c.Reference, kind: c.Activity, what: whatCall(c), args: c.Args, input: c.Input,
		iteration: c.Iteration, attempt: c.Attempt, nowMs: e.NowMs(),
	}
	p.note(a)
	entry, err := p.entry(a)
	if err != nil {
		return rehearse.Answer{}, err
	}
	if entry == nil {
		if c.Detached { // nothing sees its end
			return rehearse.Answer{}, nil
		}
		if line, ok := logLine(c); ok {
			return rehearse.Answer{Output: line}, nil
		}
		if entry, err = p.exampleOr(a); err != nil {
			return rehearse.Answer{}, err
		}
	}
	answer := p.answer(entry, a)
	var result activity.Result
	files, err := p.made(entry.Files)
	if err != nil {
		return answer, err
	}
	switch entry.Kind {
	case testfile.Hangs:
		answer.Hangs = true
		return answer, nil
	case testfile.Real:
		if answer, err = p.real(e, c, entry, answer); err != nil {
			return answer, err
		}
		return answer, nil
	case testfile.Raises:
		result.Fault = faultOf(entry.Raises)
	case testfile.Respond:
		result = respond(c, entry.Response, p.filled)
		result.Files = files
	case testfile.Process:
		args, _ := c.Args.(map[string]any)
		mode, _ := args["return"].(string)
		result = workspace.Outcome{
			Code: entry.Process.Code, Stdout: []byte(entry.Process.Stdout), Stderr: []byte(entry.Process.Stderr), Files: files,
		}.Result(mode)
	case testfile.Messages:
		messages, _ := p.filled(entry.Messages).([]any)
		result.Files = files
		if c.Stream { // it stays open, as in life: what the task says of `consume` ends it
			answer.Messages, answer.Hangs = messages, true
		} else {
			result.Output = messages
		}
	default:
		result.Output, result.Files = p.filled(entry.Returns), files
	}
	answer.Output, answer.Files, answer.Fault = result.Output, result.Files, result.Fault
	return answer, nil
}

// answer has what all kinds of answers have.
func (p *play) answer(e *testfile.Entry, a asking) rehearse.Answer {
	return rehearse.Answer{AfterMs: machine.AddSpan(a.nowMs, e.After) - a.nowMs, Interruptions: e.Interrupted}
}

// child answers the start of another workflow that is awaited.
func (p *play) child(e *rehearse.Execution, c machine.Command) (*plan.Plan, rehearse.Answer, error) {
	reference := p.prefixes[e.Identity.Execution]
	for _, entry := range e.Machine().Timeline() {
		if entry.Child == c.Child.ID {
			reference += entry.Reference
			break
		}
	}
	name := c.Child.Namespace + "/" + c.Child.Name
	a := asking{reference: reference, kind: "workflow", what: "workflow " + name, args: c.Child.Input, input: c.Child.Input, attempt: 1, nowMs: e.NowMs()}
	p.note(a)
	entry, err := p.entry(a)
	if err != nil {
		return nil, rehearse.Answer{}, err
	}
	if entry == nil {
		if u := p.children[name]; u != nil {
			p.begin(c.Child.ID, reference, u)
			return u.plan, rehearse.Answer{}, nil
		}
		if entry, err = p.exampleOr(a); err != nil {
			return nil, rehearse.Answer{}, err
		}
	}
	answer := p.answer(entry, a)
	switch entry.Kind {
	case testfile.Hangs:
		answer.Hangs = true
	case testfile.Raises:
		answer.Fault = faultOf(entry.Raises)
	default:
		answer.Output = p.filled(entry.Returns)
	}
	return nil, answer, nil
}

// note keeps a call, for what is expected of calls.
func (p *play) note(a asking) {
	target := p.index.byReference[a.reference]
	p.calls = append(p.calls, call{target, Call{
		Task: p.addressOf(a.reference), Reference: a.reference, Kind: a.kind, Args: a.args, Input: a.input, AtMs: a.nowMs - p.startMs,
	}})
}

// entry finds the answer to a command; nil: there is no mock.
func (p *play) entry(a asking) (*testfile.Entry, error) {
	m := p.mocks[a.reference]
	if m == nil {
		return nil, nil
	}
	p.asked[m]++
	left := p.left[m]
	if left == nil {
		for _, e := range m.Entries {
			left = append(left, e.Times)
		}
		p.left[m] = left
	}
	some := false
	for i, e := range m.Entries {
		if left[i] == 0 {
			continue
		}
		some = true
		if e.When != nil {
			holds, err := evaluate(e.When, map[string]any{
				"args": a.args, "input": a.input, "iteration": a.iteration, "attempt": a.attempt,
			}, a.nowMs)
			if err != nil {
				return nil, &Error{Code: CodeMock, At: e.When.At, Detail: fmt.Sprintf("`when` of the mock of %q fails: %v.", m.Address, err)}
			}
			if !value.Truthy(holds) {
				continue
			}
		}
		if left[i] > 0 {
			left[i]--
		}
		return e, nil
	}
	run := fmt.Sprintf("run %d of %q (%s), at %s", p.asked[m], m.Address, a.what, Span(a.nowMs-p.startMs))
	if some {
		return nil, &Error{Code: CodeNoMatch, At: m.At, Detail: fmt.Sprintf("No answer of the mock has a `when` that holds for %s. Its arguments are %s.",
			run, excerpt.Line(string(value.Marshal(a.args)), shownBytes))}
	}
	return nil, &Error{Code: CodeUsedUp, At: m.At, Detail: fmt.Sprintf("The answers of the mock are used up: there are %d, and this is %s. "+
		"Add an answer, or let one answer more often: times: always.", p.asked[m]-1, run)}
}

// shownBytes bounds values in messages.
const shownBytes = 300

func faultOf(f *testfile.Fault) *machine.Fault {
	title := f.Title
	if title == "" {
		title = http.StatusText(f.Status)
	}
	return &machine.Fault{Type: f.Type, Status: f.Status, Title: title, Detail: f.Detail}
}

// respond makes the outcome of an answer over HTTP by the mapping of calls.
func respond(c machine.Command, r *testfile.Response, filled func(value.Value) value.Value) activity.Result {
	a := activityhttp.Answer{Status: r.Status, Header: http.Header{}}
	for name, v := range r.Headers {
		a.Header.Set(name, v)
	}
	media := ""
	switch body := filled(r.Body).(type) {
	case string:
		a.Body, media = []byte(body), "text/plain; charset=utf-8"
	default:
		if r.HasBody {
			a.Body, media = value.Marshal(body), "application/json"
		}
	}
	if media != "" && a.Header.Get("Content-Type") == "" {
		a.Header.Set("Content-Type", media)
	}
	if c.Activity == "http" {
		return activityhttp.Outcome(c.Args, a)
	}
	args, _ := c.Args.(map[string]any)
	document, _ := args["document"].(map[string]any)
	endpoint, _ := document["endpoint"].(string)
	req := &activityhttp.Request{Method: http.MethodGet, Endpoint: endpoint}
	req.Redirect, _ = args["redirect"].(bool)
	output, fault := activityhttp.OutputOf(args["output"])
	if fault != nil {
		return activity.Result{Fault: fault}
	}
	req.Output = output
	return req.Outcome(a)
}

// whatCall says what a command does: `http post https://…`.
func whatCall(c machine.Command) string {
	args, _ := c.Args.(map[string]any)
	text := func(name string) string {
		s, _ := args[name].(string)
		return s
	}
	words := []string{c.Activity}
	switch c.Activity {
	case "http":
		words = append(words, text("method"), text("endpoint"))
	case "openapi":
		words = append(words, text("operationId"))
	case "shell", "container":
		words = append(words, text("command"))
	case "script":
		words = append(words, text("language"))
	default:
		words = append(words, text("method"))
	}
	return excerpt.Line(strings.TrimSpace(strings.Join(words, " ")), 100)
}

// logLine is what the function log of the default catalog gives, which writes to the log of an execution and
// needs no mock.
func logLine(c machine.Command) (string, bool) {
	args, _ := c.Args.(map[string]any)
	if _, logs := args["serverLog"]; !logs {
		return "", false
	}
	arguments, _ := args["arguments"].(map[string]any)
	entry, _ := arguments["entry"].(map[string]any)
	text := func(name string) string {
		s, _ := entry[name].(string)
		return s
	}
	fill := func(line string, values map[string]any) string {
		for _, name := range value.SortedKeys(values) {
			shown, ok := values[name].(string)
			if !ok {
				shown = string(value.Marshal(values[name]))
			}
			line = strings.ReplaceAll(line, "{"+name+"}", shown)
		}
		return line
	}
	values, _ := entry["values"].(map[string]any)
	format := text("format")
	if text("context") == "" {
		format = strings.Replace(strings.Replace(format, " ({CONTEXT})", "", 1), "({CONTEXT})", "", 1)
	}
	return strings.TrimSpace(fill(format, map[string]any{
		"TIMESTAMP": text("timestamp"), "LEVEL": text("level"), "CONTEXT": text("context"), "MESSAGE": fill(text("message"), values),
	})), true
}
