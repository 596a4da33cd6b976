package testrun

import (
	"fmt"
	"maps"
	"slices"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/jsonpointer"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/testfile"
)

// testCase is a test whose addresses are resolved.
type testCase struct {
	suite    *suite
	file     *testfile.Case
	merged   testfile.Case // with the defaults
	children map[string]*unit
	index    *index
	mocks    map[string]*mock   // by the reference of the task
	named    map[string]*target // by the addresses of steps and expectations
	result   *Test
}

// mock is a mock of a task. It does not change: what was used is in a run.
type mock struct {
	*testfile.Mock
	target *target
	own    bool // it is one of the test, not of the defaults
}

// merge gives a test what the defaults have and the test does not: of objects the names, of the rest all.
func merge(defaults, c *testfile.Case) testfile.Case {
	m := *c
	if !m.HasInput {
		m.Input = defaults.Input
	}
	if m.Input == nil {
		m.Input = map[string]any{}
	}
	switch {
	case m.HasStart:
	case defaults.HasStart:
		m.StartMs = defaults.StartMs
	default:
		m.StartMs = testfile.DefaultAt
	}
	m.Secrets = both(defaults.Secrets, c.Secrets)
	m.People = both(defaults.People, c.People)
	m.Children = both(defaults.Children, c.Children)
	if m.Before == nil {
		m.Before = defaults.Before
	}
	if m.Script == nil {
		m.Script = defaults.Script
	}
	if m.Strict == nil {
		m.Strict = defaults.Strict
	}
	if m.Expect == nil {
		m.Expect = &testfile.Expect{At: c.At}
	}
	return m
}

// both has the entries of two maps; those of the second count.
func both[V any](a, b map[string]V) map[string]V {
	if len(a) == 0 {
		return b
	}
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// link resolves the addresses of a test. It returns what is wrong with them.
func (t *testCase) link() (problems []Problem) {
	t.mocks, t.named = map[string]*mock{}, map[string]*target{}
	wrong := func(at testfile.Position, code, format string, args ...any) {
		problems = append(problems, Problem{Line: at.Line, Column: at.Column, Code: code, Detail: fmt.Sprintf(format, args...)})
	}
	mocks := func(list []*testfile.Mock, own bool) {
		twice := map[string]*testfile.Mock{}
		for _, m := range list {
			found, p := t.index.resolve(testfile.Address{At: m.At, Text: m.Address})
			if p != nil {
				problems = append(problems, *p)
				continue
			}
			if other := twice[found.reference]; other != nil {
				wrong(m.At, dsl.CodeDuplicate, "%q and %q are the same task.", other.Address, m.Address)
				continue
			}
			twice[found.reference] = m
			t.mocks[found.reference] = &mock{m, found, own}
			t.fits(m, found, wrong)
		}
	}
	mocks(t.suite.file.Defaults.Mocks, false)
	mocks(t.file.Mocks, true)
	name := func(a testfile.Address) {
		if found, p := t.index.resolve(a); p != nil {
			problems = append(problems, *p)
		} else {
			t.named[a.Text] = found
		}
	}
	for _, step := range t.merged.Script {
		if step.Waiting != "" {
			name(testfile.Address{At: step.At, Text: step.Waiting})
		}
	}
	e := t.merged.Expect
	for _, task := range e.Tasks {
		name(task.Address)
	}
	if e.Order != nil {
		for _, a := range e.Order.Addresses {
			name(a)
		}
	}
	for _, call := range e.Calls {
		name(call.Task)
	}
	for _, h := range e.Human {
		name(h.Task)
		if found := t.named[h.Task.Text]; found != nil && effective(found.task).Human == nil {
			wrong(h.Task.At, "no_human_task", "The task %q is no human task: it is %s.", h.Task.Text, described(found.task))
		}
	}
	declared := t.suite.root.plan.Secrets()
	for _, secret := range slices.Sorted(maps.Keys(t.merged.Secrets)) {
		known := slices.Contains(declared, secret)
		for _, u := range t.children {
			known = known || slices.Contains(u.plan.Secrets(), secret)
		}
		if !known {
			at := t.suite.file.Position(t.file.At.Pointer + "/secrets/" + jsonpointer.Escape(secret))
			if _, own := t.file.Secrets[secret]; !own {
				at = t.suite.file.Position("/defaults/secrets/" + jsonpointer.Escape(secret))
			}
			hint := dsl.Suggest(secret, declared)
			if hint == "" {
				hint = "Declare it in use.secrets, or leave it out."
			}
			wrong(at, plan.CodeUnknownSecret, "The workflow declares no secret %q. %s", secret, hint)
		}
	}
	return problems
}

// fits checks that a task can have the answers of a mock.
func (t *testCase) fits(m *testfile.Mock, found *target, wrong func(testfile.Position, string, string, ...any)) {
	allowed := kinds(found.task)
	if allowed == nil {
		wrong(m.At, "nothing_to_mock", "The task %q is %s, which a test runs as it is. Only calls, processes, human tasks and workflows have mocks.",
			m.Address, described(found.task))
		return
	}
	for _, e := range m.Entries {
		t.without(m, found, e, wrong)
		if e.Kind == "" || slices.Contains(allowed, e.Kind) {
			continue
		}
		names := make([]string, len(allowed))
		for i, kind := range allowed {
			names[i] = string(kind)
		}
		wrong(e.At, "mock_does_not_fit", "The task %q is %s, which cannot have %q. It can have %s.",
			m.Address, described(found.task), e.Kind, listed(names))
	}
}

// without checks that an answer says nothing that would come to nothing: what has no process or call is not cut off by
// a crash, and what has no end, or is another workflow, makes no files.
func (t *testCase) without(m *testfile.Mock, found *target, e *testfile.Entry, wrong func(testfile.Position, string, string, ...any)) {
	does := effective(found.task)
	property := func(name string) testfile.Position { return t.suite.file.Position(e.At.Pointer + "/" + name) }
	if e.Interrupted > 0 && (does.Human != nil || does.Child != nil) {
		wrong(property("interrupted"), "mock_does_not_fit", "The task %q is %s, which a crash does not cut off. Only calls and processes can be \"interrupted\".",
			m.Address, described(found.task))
	}
	if len(e.Files) > 0 && (does.Child != nil || does.Stream != nil) {
		wrong(property("files"), "mock_does_not_fit", "The task %q is %s, which makes no files. Leave out \"files\".", m.Address, described(found.task))
	}
}
