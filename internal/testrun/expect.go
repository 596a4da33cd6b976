package testrun

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/testfile"
	"github.com/chargehand/chargehand/internal/value"
)

// compare lists what is not as expected.
func (o *outcome) compare() (failures []Failure) {
	e := o.merged.Expect
	add := func(more ...Failure) { failures = append(failures, more...) }
	phaseHolds := o.comparePhase(e, add)
	if phaseHolds {
		o.compareEnd(e, add)
	}
	if e.Elapsed != nil && !o.stopped {
		if due := machine.AddSpan(o.startMs, e.Elapsed.Span); due != o.EndMs {
			add(mismatch("expect.elapsed", e.Elapsed.At, e.Elapsed.Text, ISO(o.EndMs-o.startMs), ""))
		}
	}
	for _, task := range e.Tasks {
		add(o.compareTask(task)...)
	}
	if e.Order != nil {
		o.compareOrder(e.Order, add)
	}
	o.compareCalls(e, add)
	if e.Events != nil {
		o.compareList("expect.events", e.Events.At, e.Events.List, o.Published, add)
	}
	if e.Warnings != nil {
		o.compareWarnings(e.Warnings, add)
	}
	for i, check := range e.Check {
		add(o.check(fmt.Sprintf("expect.check[%d]", i), check)...)
	}
	if e.Snapshot {
		add(o.compareSnapshot(e)...)
	}
	return failures
}

// comparePhase reports whether the execution ended as it should.
func (o *outcome) comparePhase(e *testfile.Expect, add func(...Failure)) bool {
	want, at := e.Phase, e.PhaseAt
	if want == "" {
		want, at = "completed", e.At
		if e.Error != nil && !e.Error.None {
			want, at = "faulted", e.Error.At
		}
	}
	if want == o.phase {
		return true
	}
	note := ""
	if o.Fault != nil {
		note = o.faultNote()
		if o.Fault.Detail != "" {
			note += ": " + o.Fault.Detail
		}
	}
	add(mismatch("expect.phase", at, want, o.phase, note))
	return false
}

// faultNote says which error there was, and where.
func (o *outcome) faultNote() string {
	note := faultText(o.Fault)
	if o.Fault.Instance != "" {
		note += " at " + o.Fault.Instance
	}
	return note
}

// compareEnd compares what an execution leaves behind.
func (o *outcome) compareEnd(e *testfile.Expect, add func(...Failure)) {
	if e.Output != nil {
		add(o.failures("expect.output", e.Output.At, subset(o.filled(e.Output.Value), o.Output))...)
	}
	if e.OutputEquals != nil {
		add(o.failures("expect.output_equals", e.OutputEquals.At, exact(o.filled(e.OutputEquals.Value), o.Output))...)
	}
	if e.Error != nil {
		add(o.compareError("expect.error", e.Error, o.Fault)...)
	}
	if e.Files != nil {
		var got []value.Value
		for _, f := range o.Files {
			got = append(got, fileValue(f))
		}
		o.compareList("expect.files", e.Files.At, e.Files.List, got, add)
	}
}

// compareError compares the given fields of an error.
func (o *outcome) compareError(name string, e *testfile.ErrorExpect, got *machine.Fault) (failures []Failure) {
	if e.None {
		if got != nil {
			failures = append(failures, mismatch(name, e.At, nil, got.Value(), ""))
		}
		return failures
	}
	if got == nil {
		return []Failure{{Expectation: name, At: e.At, Want: fieldsOf(e), HasWant: true, Note: "there is no error"}}
	}
	fields := map[string]value.Value{"type": got.Type, "status": got.Status, "title": got.Title, "detail": got.Detail, "instance": got.Instance}
	for _, f := range e.Fields {
		if value.Equal(f.Value, fields[f.Name]) {
			continue
		}
		note := faultText(got)
		if got.Instance != "" {
			note += " at " + got.Instance
		}
		failures = append(failures, mismatch(name+"."+f.Name, f.At, f.Value, fields[f.Name], note))
	}
	return failures
}

func fieldsOf(e *testfile.ErrorExpect) value.Value {
	all := map[string]any{}
	for _, f := range e.Fields {
		all[f.Name] = f.Value
	}
	return all
}

// compareList compares a list whose items are compared as far as they are given.
func (o *outcome) compareList(name string, at testfile.Position, want []testfile.Value, got []value.Value, add func(...Failure)) {
	for i, w := range want {
		item := fmt.Sprintf("%s[%d]", name, i)
		if i >= len(got) {
			add(Failure{Expectation: item, At: w.At, Want: w.Value, HasWant: true, Note: fmt.Sprintf("there are %d", len(got))})
			continue
		}
		add(o.failures(item, w.At, subset(o.filled(w.Value), got[i]))...)
	}
	if len(got) > len(want) {
		for i := len(want); i < min(len(got), len(want)+maxDifferences); i++ {
			add(Failure{Expectation: fmt.Sprintf("%s[%d]", name, i), At: at, Got: got[i], HasGot: true})
		}
	}
}

// lastRun is the newest entry of a task in all timelines; nil: there is none.
func (o *outcome) lastRun(t *target) (last *machine.Record) {
	for _, e := range o.Executions {
		prefix := o.prefixes[e.Identity.Execution]
		if !strings.HasPrefix(t.reference, prefix) {
			continue
		}
		records := e.Timeline()
		for i := range records {
			if r := &records[i]; prefix+r.Reference == t.reference {
				last = r
			}
		}
	}
	return last
}

func (o *outcome) compareTask(e *testfile.Task) (failures []Failure) {
	t := o.named[e.Address.Text]
	name := "expect.tasks." + e.Address.Text
	if got := o.observe.starts[t.reference]; e.Times != nil && e.Times.Number != got {
		failures = append(failures, mismatch(name+".times", e.Times.At, e.Times.Number, got, ""))
	}
	if e.Phase == "" && e.Input == nil && e.Output == nil && e.Error == nil && e.Attempts == nil {
		return failures
	}
	run := o.lastRun(t)
	if run == nil {
		return append(failures, Failure{Expectation: name, At: e.Address.At, Want: "a run", HasWant: true, Note: "the task was not started"})
	}
	if e.Phase != "" && e.Phase != run.Phase.String() {
		note := ""
		if run.Fault != nil {
			note = faultText(run.Fault) + ": " + run.Fault.Detail
		}
		failures = append(failures, mismatch(name+".phase", e.PhaseAt, e.Phase, run.Phase.String(), note))
	}
	if e.Input != nil {
		failures = append(failures, o.failures(name+".input", e.Input.At, subset(o.filled(e.Input.Value), run.Input))...)
	}
	if e.Output != nil {
		failures = append(failures, o.failures(name+".output", e.Output.At, subset(o.filled(e.Output.Value), run.Output))...)
	}
	if e.Error != nil {
		failures = append(failures, o.compareError(name+".error", e.Error, run.Fault)...)
	}
	if e.Attempts != nil && e.Attempts.Number != run.Attempt {
		failures = append(failures, mismatch(name+".attempts", e.Attempts.At, e.Attempts.Number, run.Attempt, ""))
	}
	return failures
}

// compareOrder compares the starts of the tasks that the expectation names.
func (o *outcome) compareOrder(e *testfile.Order, add func(...Failure)) {
	names := map[string]string{} // as the test writes them, by reference
	var want []any
	for _, a := range e.Addresses {
		names[o.named[a.Text].reference] = a.Text
		want = append(want, a.Text)
	}
	var got []any
	for _, reference := range o.observe.order {
		if name, named := names[reference]; named {
			got = append(got, name)
		}
	}
	for i, a := range e.Addresses { // one task may be named in several ways
		if i < len(got) && o.named[a.Text].reference == o.named[got[i].(string)].reference {
			got[i] = a.Text
		}
	}
	if !slices.Equal(want, got) {
		add(mismatch("expect.order", e.At, want, got, ""))
	}
}

// compareCalls compares the calls and human tasks: the n-th one of a task with the n-th one expected of it.
func (o *outcome) compareCalls(e *testfile.Expect, add func(...Failure)) {
	next := map[string]int{}
	nth := func(kind string, a testfile.Address) (*call, int) {
		t := o.named[a.Text]
		key := kind + t.reference
		n := next[key]
		next[key]++
		for i := range o.calls {
			if o.calls[i].Reference == t.reference {
				if n == 0 {
					return &o.calls[i], next[key]
				}
				n--
			}
		}
		return nil, next[key]
	}
	lacks := func(name string, at testfile.Position, a testfile.Address, n int) {
		add(Failure{Expectation: name, At: at, Want: a.Text, HasWant: true, Note: fmt.Sprintf("there is no call %d of %q", n, a.Text)})
	}
	for i, want := range e.Calls {
		name := fmt.Sprintf("expect.calls[%d]", i)
		got, n := nth("call", want.Task)
		if got == nil {
			lacks(name, want.At, want.Task, n)
			continue
		}
		if want.Args != nil {
			add(o.failures(name+".args", want.Args.At, subset(o.filled(want.Args.Value), got.Args))...)
		}
		if want.Input != nil {
			add(o.failures(name+".input", want.Input.At, subset(o.filled(want.Input.Value), got.Input))...)
		}
	}
	for i, want := range e.Human {
		name := fmt.Sprintf("expect.human[%d]", i)
		got, n := nth("human", want.Task)
		if got == nil {
			lacks(name, want.At, want.Task, n)
			continue
		}
		add(o.failures(name, want.At, subset(o.filled(want.Request.Value), got.Args))...)
	}
}

// compareWarnings compares the codes of the warnings about the definition.
func (o *outcome) compareWarnings(e *testfile.Texts, add func(...Failure)) {
	want, got := slices.Clone(e.List), []string{}
	for _, p := range o.suite.root.warnings {
		got = append(got, p.Code)
	}
	slices.Sort(want)
	slices.Sort(got)
	if slices.Equal(want, got) {
		return
	}
	note := ""
	for _, p := range o.suite.root.warnings {
		if !slices.Contains(want, p.Code) {
			note = fmt.Sprintf("%s:%d:%d: %s", o.suite.root.file, p.Line, p.Column, p.Detail)
			break
		}
	}
	add(mismatch("expect.warnings", e.At, anyOf(want), anyOf(got), note))
}

func anyOf(texts []string) []any {
	list := make([]any, len(texts))
	for i, text := range texts {
		list[i] = text
	}
	return list
}

// check evaluates an expression over the result.
func (o *outcome) check(name string, c *testfile.Condition) []Failure {
	got, err := evaluate(c, o.document(), o.EndMs)
	switch {
	case err != nil:
		return []Failure{{Expectation: name, At: c.At, Want: true, HasWant: true, Note: c.Source + " fails: " + err.Error()}}
	case !value.Truthy(got):
		return []Failure{mismatch(name, c.At, true, got, c.Source)}
	}
	return nil
}

// document is what checks see, made once.
func (o *outcome) document() value.Value {
	if o.result.document != nil {
		return o.result.document
	}
	tasks := map[string]any{}
	for _, t := range o.index.targets {
		n := o.observe.starts[t.reference]
		if n == 0 {
			continue
		}
		one := map[string]any{"times": n}
		if run := o.lastRun(t); run != nil {
			one["phase"], one["input"], one["output"], one["attempt"] = run.Phase.String(), run.Input, run.Output, run.Attempt
			if run.Fault != nil {
				one["error"] = run.Fault.Value()
			}
		}
		tasks[t.path] = one
	}
	order := []any{}
	for _, reference := range o.observe.order {
		if t := o.index.byReference[reference]; t != nil {
			order = append(order, t.path)
		}
	}
	calls := []any{}
	for _, c := range o.calls {
		calls = append(calls, map[string]any{"task": c.Task, "kind": c.Kind, "args": c.Args, "input": c.Input, "at_ms": int(c.AtMs)})
	}
	files := []any{}
	for _, f := range o.Files {
		files = append(files, fileValue(f))
	}
	document := map[string]any{
		"phase": o.phase, "output": o.Output, "error": nil, "files": files, "events": append([]any{}, o.Published...),
		"elapsed_ms": int(o.EndMs - o.startMs), "tasks": tasks, "order": order, "calls": calls,
	}
	if o.Fault != nil {
		document["error"] = o.Fault.Value()
	}
	o.result.document = document
	return document
}

// sameAs compares a run with one whose machine was restored before every event.
func (o *outcome) sameAs(other *outcome) (failures []Failure) {
	at := o.file.At
	if other.err != nil {
		return []Failure{{Expectation: "crash", At: at, Note: "the execution ends, and with a crash before every event it does not: " + other.err.Error()}}
	}
	want, got := o.summary(), other.summary()
	for _, d := range exact(want, got) {
		one := o.failures("crash", testfile.Position{}, []difference{d})[0]
		one.At, one.Note = at, "with a crash before every event something else comes out"
		failures = append(failures, one)
	}
	return failures
}

// env evaluates expressions without variables.
type env struct{ nowMs int64 }

// Variable implements expr.Env.
func (env) Variable(string) value.Value { return nil }

// NowMs implements expr.Env.
func (e env) NowMs() int64 { return e.nowMs }

func evaluate(c *testfile.Condition, dot value.Value, nowMs int64) (value.Value, error) {
	return c.Expression.Eval(dot, env{nowMs})
}

var _ expr.Env = env{}
