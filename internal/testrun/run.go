package testrun

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/rehearse"
	"github.com/chargehand/chargehand/internal/testfile"
	"github.com/chargehand/chargehand/internal/value"
)

// play is one run of a test.
type play struct {
	*testCase
	ctx      context.Context
	startMs  int64
	observe  *observer
	prefixes map[chargehand.ExecutionID]string // references of the tasks that started executions
	units    map[chargehand.ExecutionID]*unit
	left     map[*mock][]int // how often each answer is left; testfile.Always: without end
	asked    map[*mock]int
	calls    []call
	files    int  // that mocks have made
	events   int  // that steps have made
	planned  bool // the steps with a time are in the queue
	fired    []bool
	stopped  bool      // the test ends while the execution waits
	examples []*target // that have answered without a mock

	exampleBytes int // of all examples
}

// call is a call with the task that made it.
type call struct {
	target *target // nil: one that the index does not know
	Call
}

// outcome is what came of a run.
type outcome struct {
	*play
	rehearse.Result
	phase string
	err   error
}

// run runs a test and fills its result.
func (t *testCase) run(ctx context.Context, covered *coverage) {
	began := time.Now()
	defer func() { t.result.Took = time.Since(began) }()
	runner := t.suite.runner
	o := t.play(ctx, false)
	covered.add(o.observe)
	t.fill(o)
	if o.err != nil {
		t.broken(o)
		return
	}
	t.result.Failures = o.compare()
	if runner.Crash && len(t.result.Failures) == 0 {
		t.result.Failures = o.sameAs(t.play(ctx, true))
	}
	t.unused(o)
	switch {
	case t.result.Error != nil:
		t.result.Status = Broken
	case len(t.result.Failures) > 0:
		t.result.Status = Failed
	default:
		t.result.Status = Passed
	}
}

// play runs the workflow once.
func (t *testCase) play(ctx context.Context, crash bool) *outcome {
	s, c := t.suite, &t.merged
	id := machine.Identity{
		Execution:      chargehand.ExecutionID(idOf[executionKind](c.StartMs, s.root.doc.Namespace, s.root.doc.Name, t.file.Name)),
		RuntimeVersion: s.runner.Version,
	}
	if len(c.Secrets) > 0 {
		id.Secrets = c.Secrets
	}
	p := &play{
		testCase: t, ctx: ctx, startMs: c.StartMs, observe: newObserver(),
		prefixes: map[chargehand.ExecutionID]string{}, units: map[chargehand.ExecutionID]*unit{},
		left: map[*mock][]int{}, asked: map[*mock]int{}, fired: make([]bool, len(c.Script)),
	}
	p.begin(id.Execution, "", s.root)
	var before []value.Value
	for _, e := range c.Before {
		before = append(before, p.envelope(e))
	}
	result, err := rehearse.Run(ctx, rehearse.Config{
		Plan: s.root.plan, Identity: id, Input: p.filled(c.Input), StartMs: c.StartMs, Before: before,
		Outside: rehearse.Outside{Activity: p.activity, Child: p.child, Person: p.person, Idle: p.idle},
		Last:    s.runner.Last, Crash: crash, Observe: p.observed,
	})
	o := &outcome{play: p, Result: result, phase: result.Phase.String(), err: err}
	if p.stopped {
		o.phase = chargehand.Waiting.String()
	}
	return o
}

type executionKind = struct{}

// begin notes an execution that is about to start.
func (p *play) begin(id chargehand.ExecutionID, prefix string, u *unit) {
	p.prefixes[id], p.units[id] = prefix, u
}

// observed takes in a decision.
func (p *play) observed(e *rehearse.Execution, reference string, b machine.Branch) {
	id := e.Identity.Execution
	p.observe.add(p.units[id], p.prefixes[id], reference, b)
}

// envelope is an event of the test file.
func (p *play) envelope(e *testfile.Event) value.Value {
	p.events++
	envelope := e.Envelope(fmt.Sprintf("test-%d", p.events))
	filled, _ := p.filled(envelope).(map[string]any)
	return filled
}

// filled puts the values of secrets in the places of {secret: NAME}.
func (p *play) filled(v value.Value) value.Value { return fillSecrets(v, p.merged.Secrets) }

func fillSecrets(v value.Value, secrets map[string]value.Value) value.Value {
	if len(secrets) == 0 {
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		if name, ok := v["secret"].(string); ok && len(v) == 1 {
			if secret, given := secrets[name]; given {
				return secret
			}
		}
		all := make(map[string]any, len(v))
		for key, one := range v {
			all[key] = fillSecrets(one, secrets)
		}
		return all
	case []any:
		all := make([]any, len(v))
		for i, one := range v {
			all[i] = fillSecrets(one, secrets)
		}
		return all
	}
	return v
}

// fill takes over what came of a run.
func (t *testCase) fill(o *outcome) {
	r := t.result
	r.Phase, r.ElapsedMs = o.phase, o.EndMs-o.startMs
	r.Output, r.Events = o.Output, o.Published
	if o.Fault != nil {
		r.Fault = o.Fault.Value()
	}
	for _, f := range o.Files {
		r.Files = append(r.Files, fileValue(f))
	}
	for _, c := range o.calls {
		r.Calls = append(r.Calls, c.Call)
	}
	r.Timeline = o.entries()
	for _, target := range t.index.targets {
		if target.unit == t.suite.root && o.observe.starts[target.reference] == 0 && target.task.Function == "" {
			r.Unstarted = append(r.Unstarted, target.address)
		}
	}
}

func fileValue(f machine.File) value.Value {
	return map[string]any{"name": f.Name, "media_type": f.MediaType, "size": int(f.Size)}
}

// entries are the timelines of all executions by the time of the start.
func (o *outcome) entries() (all []Entry) {
	for _, e := range o.Executions {
		prefix := o.prefixes[e.Identity.Execution]
		for _, r := range e.Timeline() {
			one := Entry{
				Task: o.addressOf(prefix + r.Reference), Reference: prefix + r.Reference, Attempt: r.Attempt, Phase: r.Phase.String(),
				StartedMs: r.StartedMs - o.startMs, EndedMs: -1,
			}
			if r.Ended() {
				one.EndedMs = r.EndedMs - o.startMs
			}
			if r.Fault != nil {
				one.Error = faultText(r.Fault)
			}
			all = append(all, one)
		}
	}
	slices.SortStableFunc(all, func(a, b Entry) int { return int(a.StartedMs - b.StartedMs) })
	return all
}

// addressOf is the address of a task by its reference.
func (t *testCase) addressOf(reference string) string {
	if found := t.index.byReference[reference]; found != nil {
		return found.address
	}
	return reference
}

// faultText is an error in a few words: `timeout 408`.
func faultText(f *machine.Fault) string {
	return fmt.Sprintf("%s %d", shortType(f.Type), f.Status)
}

func shortType(address string) string { return strings.TrimPrefix(address, machine.ErrorBase) }

// broken says why a test could not be run to an end.
func (t *testCase) broken(o *outcome) {
	t.result.Status = Broken
	var known *Error
	var stuck *rehearse.Stuck
	switch {
	case errors.As(o.err, &known):
	case errors.As(o.err, &stuck):
		known = o.stuckError(stuck)
	case errors.Is(o.err, rehearse.ErrEndless):
		known = &Error{Code: CodeEndless, At: t.file.At, Detail: fmt.Sprintf(
			"The execution does not end: %d events have happened in %s. Let a mock end it, or cancel it by a step of `script`.", o.Result.Events, Span(o.EndMs-o.startMs))}
	default:
		known = &Error{Code: CodeStopped, At: t.file.At, Detail: "The test was stopped: " + stopReason(o.ctx, o.err).Error() + "."}
	}
	t.result.Error = known
}

// stopReason is why a test was stopped: the cause of the context, if it has ended.
func stopReason(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, ctx.Err()) {
		return cause
	}
	return err
}

// unused tells of mocks and steps of the test that were not used.
func (t *testCase) unused(o *outcome) {
	strict := t.suite.runner.Strict || t.merged.Strict != nil && *t.merged.Strict
	tell := func(at testfile.Position, detail string) {
		if strict && t.result.Error == nil && len(t.result.Failures) == 0 { // a failure tells more
			t.result.Error = &Error{Code: CodeUnused, At: at, Detail: detail}
			return
		}
		t.result.Warnings = append(t.result.Warnings, Problem{File: t.suite.path, Line: at.Line, Column: at.Column, Code: CodeUnused, Detail: detail})
	}
	for _, target := range o.examples {
		t.result.Warnings = append(t.result.Warnings, Problem{File: t.suite.path, Line: t.file.At.Line, Column: t.file.At.Column, Code: CodeExample,
			Detail: fmt.Sprintf("The task %q has no mock: an example of what it declares has answered it.", target.address)})
	}
	for _, reference := range slices.Sorted(maps.Keys(t.mocks)) {
		m := t.mocks[reference]
		if !m.own {
			continue
		}
		if o.asked[m] == 0 {
			tell(m.At, fmt.Sprintf("The mock of %q was not used: the task was not started.", m.Address))
			continue
		}
		for i, left := range o.left[m] {
			if left > 0 && m.List {
				tell(m.Entries[i].At, fmt.Sprintf("Answer %d of %q was not used: the task ran %s.", i+1, m.Address, times(o.asked[m])))
				break
			}
		}
	}
	for i, step := range t.merged.Script {
		if !o.fired[i] && t.file.Script != nil {
			why := "the execution ended before"
			if step.Waiting != "" {
				why = fmt.Sprintf("the task %q did not wait", step.Waiting)
			}
			tell(step.At, fmt.Sprintf("Step %d of the script did not happen: %s.", i+1, why))
		}
	}
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
