package service

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine/embedded"
)

// failingFlow fails in a task that the input names, with a text that has the number and the id of the input.
const failingFlow = "document: {dsl: '1.0.3', namespace: test, name: %s, version: '1.0.0'}\n" + `do:
  - early:
      if: ${ .early }
      raise: {error: {type: 'https://x.test/gone', status: 500, title: Gone, detail: '${ "Order \(.n) of \(.id) is gone" }'}}
  - late:
      raise: {error: {type: 'https://x.test/gone', status: 500, title: Gone, detail: '${ "Order \(.n) of \(.id) is \(.what)" }'}}
`

// TestFailureGroups lets executions fail: in one group are those of one workflow that fail in one task with texts that
// differ in numbers and ids alone.
func TestFailureGroups(t *testing.T) {
	fx := newFixture(t)
	withEngine(t, fx, embedded.Limits{})
	one, two := fx.apply(fmt.Appendf(nil, failingFlow, "one")), fx.apply(fmt.Appendf(nil, failingFlow, "two"))
	fail := func(workflow chargehand.WorkflowID, n int, early bool, what string) *Execution {
		t.Helper()
		e, _, err := fx.CreateExecution(t.Context(), fx.p, CreateExecution{
			Workflow: workflow, View: View{Wait: 10 * time.Second},
			Body: parse(t, fmt.Sprintf(`{"input":{"n":%d,"id":"0197a5c4-1111-7000-8000-%012x","early":%t,"what":%q},"labels":{"n":"%d"}}`, n, 77*n, early, what, n)),
		})
		if err != nil || e.Phase != chargehand.Faulted {
			t.Fatalf("%+v, %v", e, err)
		}
		return e
	}
	type group struct {
		workflow  chargehand.WorkflowID
		reference string
		count     int64
		first     time.Time
		last      time.Time
		sample    chargehand.ExecutionID
	}
	newGroup := func(list ...*Execution) group {
		g := group{workflow: list[0].Workflow, count: int64(len(list)), reference: list[0].Error.Instance}
		for _, e := range list {
			if bytes.Compare(e.ID[:], g.sample[:]) > 0 { // several may be of one millisecond
				g.sample = e.ID
			}
			if g.first.IsZero() || e.FinishedAt.Before(g.first) {
				g.first = e.FinishedAt
			}
			if e.FinishedAt.After(g.last) {
				g.last = e.FinishedAt
			}
		}
		return g
	}
	late := []*Execution{fail(one.ID, 17, false, "gone"), fail(one.ID, 4, false, "gone"), fail(one.ID, 123456, false, "gone"), fail(one.ID, 9, false, "gone")}
	early := []*Execution{fail(one.ID, 17, true, "gone"), fail(one.ID, 18, true, "gone"), fail(one.ID, 19, true, "gone")}
	foreign := []*Execution{fail(two.ID, 17, false, "gone"), fail(two.ID, 3, false, "gone")}
	sold := []*Execution{fail(one.ID, 17, false, "sold")}
	want := []group{newGroup(late...), newGroup(early...), newGroup(foreign...), newGroup(sold...)}
	if text := late[3].Error.Detail; text != "Order 9 of 0197a5c4-1111-7000-8000-0000000002b5 is gone" || want[0].reference == want[1].reference {
		t.Fatalf("the text is %q, the tasks are %q and %q", text, want[0].reference, want[1].reference)
	}
	check := func(name string, q ListExecutions, want ...group) {
		t.Helper()
		g, err := fx.ListFailures(t.Context(), fx.p, q)
		if err != nil || g.AtLeast || len(g.Data) != len(want) {
			t.Fatalf("%s: %+v, %v", name, g, err)
		}
		for i, one := range g.Data {
			got := group{one.Workflow, one.Reference, one.Count, one.First, one.Last, one.Sample}
			if got != want[i] || one.Code == "" || one.Detail == "" {
				t.Errorf("%s: group %d is\n%+v of %q, %q, want\n%+v", name, i, got, one.Code, one.Detail, want[i])
			}
		}
	}
	check("all", ListExecutions{}, want...)
	check("of a workflow", ListExecutions{Workflow: two.ID}, want[2])
	check("by name", ListExecutions{Filter: ExecutionFilter{WorkflowNames: []string{"test/two"}}}, want[2])
	check("by label", ListExecutions{Filter: ExecutionFilter{Labels: []Label{{Name: "n", Value: "4"}}}}, newGroup(late[1]))
	check("by another code", ListExecutions{Filter: ExecutionFilter{ErrorCodes: []string{"timeout"}}})
	g, err := fx.ListFailures(t.Context(), fx.p, ListExecutions{Limit: 2})
	if err != nil || len(g.Data) != 2 || !g.AtLeast {
		t.Errorf("two groups: %+v, %v", g, err)
	}
	fx.examined = 3
	g, err = fx.ListFailures(t.Context(), fx.p, ListExecutions{})
	if err != nil || !g.AtLeast || g.ExaminedUntil.IsZero() {
		t.Fatalf("of the three newest failures: %+v, %v", g, err)
	}
	grouped := int64(0)
	for _, one := range g.Data {
		grouped += one.Count
	}
	if grouped != 3 {
		t.Errorf("of the three newest failures %d are grouped", grouped)
	}
	for parameter, q := range map[string]ListExecutions{
		"status": {Statuses: []chargehand.Status{chargehand.Finished}}, "phase": {Phases: []chargehand.Phase{chargehand.Cancelled}},
		"waiting_for": {Filter: ExecutionFilter{Waits: []string{"timer"}}},
	} {
		_, err := fx.ListFailures(t.Context(), fx.p, q)
		if e := wantCode(t, err, chargehand.CodeInvalidParameter); len(e.Fields) != 1 || e.Fields[0].Parameter != parameter {
			t.Errorf("%s: %+v", parameter, e)
		}
	}
}
