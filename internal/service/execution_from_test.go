package service

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine/embedded"
)

const fallible = `document: {dsl: '1.0.3', namespace: test, name: fallible, version: '1.0.0'}
input: {from: '${ {order: .order, tried: []} }'}
do:
  - take: {set: '${ . + {taken: true} }', export: {as: '{order: .order}'}}
  - skipped: {if: 'false', set: {never: true}}
  - check:
      do:
        - inner: {set: '${ . + {checked: $context.order} }', export: {as: '$context + {checked: true}'}}
  - pay: {switch: [{refused: {when: '$workflow.input.order > 5', then: refuse}}, {other: {then: last}}]}
  - refuse: {raise: {error: {type: 'https://example.com/refused', status: 409}}}
  - last: {set: '${ {from: ., context: $context} }'}
`

func retryFrom(fx *fixture, e *Execution, body map[string]any) (*Execution, error) {
	again, _, err := fx.RetryExecution(fx.t.Context(), fx.p, RetryExecution{Workflow: e.Workflow, Execution: e.ID, Body: body, View: View{Wait: 10 * time.Second}})
	return again, err
}

// started are the tasks of an execution, in order of start.
func started(fx *fixture, e *Execution) (names []string) {
	fx.t.Helper()
	page, err := fx.Timeline(fx.t.Context(), fx.p, ListTimeline{Workflow: e.Workflow, Execution: e.ID, Limit: 100, View: view})
	if err != nil {
		fx.t.Fatal(err)
	}
	for _, entry := range page.Data {
		names = append(names, entry.Name)
	}
	return names
}

// TestRetryFrom: a retry begins with a task, with the data and $context that it began with; those before do not run.
func TestRetryFrom(t *testing.T) {
	fx := newFixture(t)
	withEngine(t, fx, embedded.Limits{})
	flow := fx.apply([]byte(fallible))
	failed, _, err := fx.CreateExecution(t.Context(), fx.p, CreateExecution{Workflow: flow.ID, Body: parse(t, `{"input": {"order": 7}}`), View: View{Wait: 10 * time.Second}})
	if err != nil || failed.Status != chargehand.Errored || failed.Error.Status != 409 {
		t.Fatalf("%+v, %v", failed, err)
	}
	for from, want := range map[string]string{
		"/do/0/take":   "take check inner pay refuse",
		"/do/2/check":  "check inner pay refuse",
		"/do/3/pay":    "pay refuse",
		"/do/4/refuse": "refuse",
	} {
		again, err := retryFrom(fx, failed, map[string]any{"from": from})
		if err != nil || again.Status != chargehand.Errored || again.RetryOf != failed.ID {
			t.Fatalf("from %s: %+v, %v", from, again, err)
		}
		if got := strings.Join(started(fx, again), " "); got != want {
			t.Errorf("from %s it runs %s, want %s", from, got, want)
		}
	}
	mended := strings.NewReplacer("version: '1.0.0'", "version: '2.0.0'", "order > 5", "order > 50").Replace(fallible)
	fx.apply([]byte(mended))
	again, err := retryFrom(fx, failed, map[string]any{"from": "/do/3/pay", "version": "published"})
	const output = `{"context":{"checked":true,"order":7},"from":{"checked":7,"order":7,"taken":true,"tried":[]}}`
	if err != nil || again.Status != chargehand.Finished || string(again.Output) != output {
		t.Fatalf("with the mended version: %+v, %v", again, err)
	}
	if got := started(fx, again); !slices.Equal(got, []string{"pay", "last"}) {
		t.Errorf("it runs %s", got)
	}
	// A retry of a retry knows the tasks that ran in it.
	twice, err := retryFrom(fx, again, map[string]any{"from": "/do/3/pay"})
	if err != nil || string(twice.Output) != output {
		t.Errorf("retried twice: %+v, %v", twice, err)
	}
	_, err = retryFrom(fx, again, map[string]any{"from": "/do/2/check"})
	wantFrom(t, err, "not_begun", again.RetryOf.String())
	plain, err := retryFrom(fx, twice, nil)
	if err != nil || string(plain.Output) != output || len(started(fx, plain)) != 5 {
		t.Errorf("a retry without from runs %s: %+v, %v", started(fx, plain), plain, err)
	}
}

func wantFrom(t *testing.T, err error, code, says string) {
	t.Helper()
	var problem *chargehand.Error
	if !errors.As(err, &problem) || problem.Code != chargehand.CodeTaskNotRetryable || len(problem.Fields) != 1 || problem.Fields[0].Pointer != "/from" ||
		problem.Fields[0].Code != code || !strings.Contains(problem.Detail, says) || problem.Fields[0].Detail != problem.Detail {
		t.Errorf("error %+v, want %s with %q", err, code, says)
	}
}

// TestRetryFromRefused: what cannot be the first task of a retry is refused with the reason and what to do.
func TestRetryFromRefused(t *testing.T) {
	fx := newFixture(t)
	withEngine(t, fx, embedded.Limits{})
	flow := fx.apply([]byte(fallible))
	e, _, err := fx.CreateExecution(t.Context(), fx.p, CreateExecution{Workflow: flow.ID, Body: parse(t, `{"input": {"order": 7}}`), View: View{Wait: 10 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	fx.apply([]byte(strings.NewReplacer("version: '1.0.0'", "version: '2.0.0'", "  - skipped: {if: 'false', set: {never: true}}\n", "").Replace(fallible)))
	for _, c := range []struct{ from, version, code, says string }{
		{"/do/9/none", "same", "unknown_task", `such as "/do/0/take"`},
		{"take", "same", "unknown_task", `no task "take"`},
		{"/do/2/check/do/0/inner", "same", "nested_task", `retry from "/do/2/check"`},
		{"/do/1/skipped", "same", "not_begun", `"/do/4/refuse"`},
		{"/do/5/last", "same", "not_begun", `"/do/4/refuse"`},
		{"/do/3/pay", "2.0.0", "other_tasks", `"/do/2/pay"`},
		{"/do/2/check", "published", "other_tasks", `"same"`},
	} {
		_, err := retryFrom(fx, e, map[string]any{"from": c.from, "version": c.version})
		wantFrom(t, err, c.code, c.says)
	}
	_, err = retryFrom(fx, e, map[string]any{"from": "/do/3/pay", "input": map[string]any{}})
	wantCode(t, err, chargehand.CodeTaskNotRetryable)
	for _, from := range []any{"", 7.0, strings.Repeat("x", 3000)} {
		_, err = retryFrom(fx, e, map[string]any{"from": from})
		wantCode(t, err, chargehand.CodeInvalidBody)
	}
	large := fx.apply([]byte(`document: {dsl: '1.0.3', namespace: test, name: large, version: '1.0.0'}
do:
  - one: {set: '${ "x" * 1100000 }'}
  - two: {raise: {error: {type: 'https://example.com/x', status: 500}}}
`))
	e = fx.create(large.ID, noInput)
	_, err = retryFrom(fx, e, map[string]any{"from": "/do/1/two"})
	wantFrom(t, err, "too_large", "1048576")
}
