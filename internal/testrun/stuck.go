package testrun

import (
	"fmt"
	"strings"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/human"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/rehearse"
	"github.com/chargehand/chargehand/internal/testfile"
	"github.com/chargehand/chargehand/internal/value"
)

// exampleOr is an example of what a task without a mock answers, where the run has examples, or the error that it lacks
// a mock, with one to paste.
func (p *play) exampleOr(a asking) (*testfile.Entry, error) {
	entry, why := p.example(a)
	if entry != nil {
		return entry, nil
	}
	address := p.addressOf(a.reference)
	detail := fmt.Sprintf("There is no mock for %q (%s, %s), which is started at %s.", address, a.reference, a.what, Span(a.nowMs-p.startMs))
	if why != "" {
		detail += " There is no example of it: " + why + "."
	}
	return nil, &Error{Code: CodeMissingMock, At: p.file.At, Detail: detail, Stub: "mocks:\n  " + quoted(address) + ": " + p.stub(a)}
}

// stub is a first answer for a task.
func (p *play) stub(a asking) string {
	switch a.kind {
	case "http", "openapi":
		return "{response: {status: 200, body: {}}}"
	case "shell", "container", "script":
		return "{process: {code: 0, stdout: ''}}"
	case "human":
		request, _ := human.Parse(a.args, nil)
		answer := "outcome: done"
		if len(request.Outcomes) > 0 {
			answer = "outcome: " + quoted(request.Outcomes[0].Name)
		}
		if len(request.Assignees.Users) > 0 {
			answer += ", by: " + quoted(request.Assignees.Users[0])
		}
		if request.Form != nil {
			answer += ", data: " + formStub(request.Form)
		}
		return "{answers: {" + answer + "}}"
	case "asyncapi":
		if t := p.index.byReference[a.reference]; t != nil && effective(t.task).Stream != nil {
			return "{messages: []}"
		}
	}
	return "{returns: {}}"
}

// maxFormStub bounds the data of an answer that is shown to be pasted, in bytes.
const maxFormStub = 1000

// formStub is data that a form takes, where it can be made up and is short: an answer that is pasted is accepted then.
func formStub(form value.Value) string {
	data, why := exampleOf(form, "its form")
	if text := value.Marshal(data); why == "" && len(text) <= maxFormStub {
		return string(text)
	}
	return "{}"
}

// quoted is a text in YAML, in a flow or as a key.
func quoted(text string) string {
	plain := text != "" && !strings.ContainsAny(text[:1], "-?:,[]{}#&*!|>'\"%@` ") && !strings.ContainsAny(text, ":#,[]{}\n\"'\\") && strings.TrimSpace(text) == text
	switch strings.ToLower(text) {
	case "true", "false", "null", "~", "yes", "no", "on", "off", "y", "n":
		plain = false
	}
	if plain && !strings.ContainsAny(text[:1], "0123456789+.") {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}

// stuckError says what the execution waits for, and which step of the script would help.
func (o *outcome) stuckError(s *rehearse.Stuck) *Error {
	var waits []string
	stub := ""
	suggest := func(step string) {
		if stub == "" {
			stub = "script:\n  - " + step
		}
	}
	if s.Phase == chargehand.Suspended {
		waits = append(waits, "it is suspended, and no step resumes it")
		suggest("{at: " + ISO(s.AtMs-o.startMs+60_000) + ", resume: true}")
	}
	hanging := map[string]bool{}
	for _, e := range o.Executions {
		if e.Ended() {
			continue
		}
		prefix := o.prefixes[e.Identity.Execution]
		for _, c := range e.Machine().InFlight() {
			if c.Kind == machine.RunActivity && c.Reference != "" {
				hanging[prefix+c.Reference] = true
			}
		}
	}
	for _, e := range o.Executions {
		if e.Ended() {
			continue
		}
		prefix := o.prefixes[e.Identity.Execution]
		for _, entry := range e.Machine().Timeline() {
			reference := prefix + entry.Reference
			if entry.Ended() || s.Phase == chargehand.Suspended {
				continue
			}
			address := o.addressOf(reference)
			kind := machine.WaitNone
			if entry.Wait != nil {
				kind = entry.Wait.Kind
			}
			switch kind {
			case machine.WaitEvent:
				types := "an event"
				event := "…"
				if len(entry.Wait.Types) > 0 {
					types, event = "an event of type "+strings.Join(entry.Wait.Types, " or "), entry.Wait.Types[0]
				}
				waits = append(waits, fmt.Sprintf("%q (%s) waits for %s", address, reference, types))
				suggest("{waiting: " + quoted(address) + ", event: {type: " + quoted(event) + ", data: {}}}")
			case machine.WaitPerson:
				waits = append(waits, fmt.Sprintf("%q (%s) waits for a person, whose mock hangs", address, reference))
				suggest("{waiting: " + quoted(address) + ", cancel: no answer}")
			case machine.WaitChild:
				if !o.runs(reference) {
					waits = append(waits, fmt.Sprintf("%q (%s) waits for another workflow, whose mock hangs", address, reference))
					suggest("{waiting: " + quoted(address) + ", cancel: it does not end}")
				}
			default:
				if hanging[reference] {
					waits = append(waits, fmt.Sprintf("%q (%s) hangs, and no timeout ends it", address, reference))
					suggest("{waiting: " + quoted(address) + ", cancel: it does not end}")
				}
			}
		}
	}
	detail := fmt.Sprintf("Nothing is left to happen after %s, and the execution has not ended", Span(s.AtMs-o.startMs))
	if len(waits) > 0 {
		detail += ": " + strings.Join(waits, "; ")
	}
	detail += ". If it is to wait, expect it: phase: waiting."
	return &Error{Code: CodeStuck, At: o.file.At, Detail: detail, Stub: stub}
}

// runs reports whether an execution that a task has started runs on the same clock.
func (o *outcome) runs(reference string) bool {
	for _, e := range o.Executions {
		if e.Parent != nil && !e.Ended() && o.prefixes[e.Identity.Execution] == reference {
			return true
		}
	}
	return false
}
