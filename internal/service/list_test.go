package service

import (
	"slices"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

// pages reads a list of executions to its end.
func (fx *fixture) pages(p *Principal, q ListExecutions) (ids []chargehand.ExecutionID) {
	fx.t.Helper()
	for {
		page, err := fx.ListExecutions(fx.t.Context(), p, q)
		if err != nil {
			fx.t.Fatal(err)
		}
		if len(page.Data) > q.Limit || !page.Cursor.IsZero() && len(page.Data) != q.Limit {
			fx.t.Fatalf("a page of %d with limit %d", len(page.Data), q.Limit)
		}
		for _, e := range page.Data {
			ids = append(ids, e.ID)
		}
		if q.After = page.Cursor; q.After.IsZero() {
			return ids
		}
	}
}

func TestListExecutions(t *testing.T) {
	fx := newFixture(t)
	one, two, three := fx.apply(definition("one", "1.0.0")), fx.apply(definition("two", "1.0.0")), fx.apply(definition("three", "1.0.0"))
	var all, ofOne, finished, ofOneOrTwo []chargehand.ExecutionID
	var times []time.Time
	for i := range 12 {
		fx.pass(time.Second)
		flow := []*AppliedWorkflow{one, two, three}[i%3]
		e := fx.create(flow.ID, noInput)
		times = append(times, e.CreatedAt)
		all = append([]chargehand.ExecutionID{e.ID}, all...)
		if i%3 == 0 {
			ofOne = append([]chargehand.ExecutionID{e.ID}, ofOne...)
		}
		if i%3 != 2 {
			ofOneOrTwo = append([]chargehand.ExecutionID{e.ID}, ofOneOrTwo...)
		}
		if i%4 == 0 {
			fx.finish(e.ID, `{"large":"output"}`)
			finished = append([]chargehand.ExecutionID{e.ID}, finished...)
		}
	}
	fx.createAs(fx.test, one.ID, noInput)
	for _, c := range []struct {
		name string
		p    *Principal
		q    ListExecutions
		want []chargehand.ExecutionID
	}{
		{"all", fx.p, ListExecutions{}, all},
		{"of a workflow", fx.p, ListExecutions{Workflow: one.ID}, ofOne},
		{"with a status", fx.p, ListExecutions{Statuses: []chargehand.Status{chargehand.Finished}}, finished},
		{"of a workflow with a status", fx.p, ListExecutions{Workflow: one.ID, Statuses: []chargehand.Status{chargehand.Finished}}, []chargehand.ExecutionID{all[11]}},
		{"after a time", fx.p, ListExecutions{CreatedAfter: times[8]}, all[:3]},
		{"before a time", fx.p, ListExecutions{CreatedBefore: times[3]}, all[9:]},
		{"within a span", fx.p, ListExecutions{CreatedAfter: times[3], CreatedBefore: times[6]}, all[6:8]},
		{"before a microsecond later", fx.p, ListExecutions{CreatedBefore: times[3].Add(time.Microsecond)}, all[8:]},
		{"before 1970", fx.p, ListExecutions{CreatedBefore: time.Unix(-1, 0)}, nil},
		{"after a time before 1970", fx.p, ListExecutions{CreatedAfter: time.Unix(-1, 0)}, all},
		{"of a key with a list", fx.principal(chargehand.Live, PresetAll, one.ID, two.ID, newID[chargehand.WorkflowID](1)), ListExecutions{}, ofOneOrTwo},
		{"of a stranger", fx.stranger(), ListExecutions{}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, limit := range []int{1, 3, 100} {
				c.q.Limit = limit
				if got := fx.pages(c.p, c.q); !slices.Equal(got, c.want) {
					t.Errorf("limit %d: got %d executions %v, want %d", limit, len(got), got, len(c.want))
				}
			}
		})
	}
	page, err := fx.ListExecutions(t.Context(), fx.p, ListExecutions{Limit: 1, Statuses: []chargehand.Status{chargehand.Finished}, View: view})
	if err != nil || page.Data[0].Output != nil || len(page.Data[0].Results) != 1 || page.Data[0].WorkflowVersion != "1.0.0" || page.Data[0].Workflow != three.ID {
		t.Errorf("an entry is %+v, %v", page.Data[0], err)
	}
	_, err = fx.ListExecutions(t.Context(), fx.stranger(), ListExecutions{Workflow: one.ID, Limit: 1})
	wantCode(t, err, chargehand.CodeWorkflowNotFound)
	_, err = fx.ListExecutions(t.Context(), fx.principal(chargehand.Live, PresetAll, two.ID), ListExecutions{Workflow: one.ID, Limit: 1})
	wantCode(t, err, chargehand.CodeWorkflowNotFound)
}

func TestListExecutionsOfABatch(t *testing.T) {
	fx := newFixture(t)
	flow, other := fx.apply(definition("one", "1.0.0")), fx.apply(definition("two", "1.0.0"))
	fx.create(flow.ID, noInput)
	b := fx.createBatch(flow.ID, `{"items": [{}, {}, {}, {}, {}]}`)
	entries, _ := fx.entries(b, BatchEntries{})
	var want []chargehand.ExecutionID
	for _, e := range entries {
		want = append([]chargehand.ExecutionID{e.Execution}, want...)
	}
	fx.finish(want[1], `{}`)
	for _, limit := range []int{1, 2, 5, 6} {
		for _, workflow := range []chargehand.WorkflowID{{}, flow.ID} {
			if got := fx.pages(fx.p, ListExecutions{Workflow: workflow, Batch: b.ID, Limit: limit}); !slices.Equal(got, want) {
				t.Errorf("limit %d: got %v, want %v", limit, got, want)
			}
		}
	}
	if got := fx.pages(fx.p, ListExecutions{Batch: b.ID, Statuses: []chargehand.Status{chargehand.Finished}, Limit: 2}); !slices.Equal(got, want[1:2]) {
		t.Errorf("finished ones are %v", got)
	}
	for name, c := range map[string]struct {
		p *Principal
		q ListExecutions
	}{
		"under another workflow":     {fx.p, ListExecutions{Workflow: other.ID, Batch: b.ID}},
		"an unknown batch":           {fx.p, ListExecutions{Batch: newID[chargehand.BatchID](1)}},
		"in another environment":     {fx.test, ListExecutions{Batch: b.ID}},
		"of a key that is limited":   {fx.principal(chargehand.Live, PresetAll, other.ID), ListExecutions{Batch: b.ID}},
		"of a stranger":              {fx.stranger(), ListExecutions{Batch: b.ID}},
		"with a status of no item":   {fx.p, ListExecutions{Batch: b.ID, Statuses: []chargehand.Status{chargehand.HumanInTheLoop}}},
		"made after the batch":       {fx.p, ListExecutions{Batch: b.ID, CreatedAfter: epoch}},
		"made before the first time": {fx.p, ListExecutions{Batch: b.ID, CreatedBefore: epoch}},
	} {
		c.q.Limit = 10
		if got := fx.pages(c.p, c.q); len(got) != 0 {
			t.Errorf("%s there are %v", name, got)
		}
	}
}

// TestListByPhase tells cancelled executions from faulted ones. A page looks at a bounded number
// of rows, and the pages together miss none.
func TestListByPhase(t *testing.T) {
	fx := newFixture(t)
	flow, other := fx.apply(definition("one", "1.0.0")), fx.apply(definition("two", "1.0.0"))
	var cancelled, faulted, ofOther []chargehand.ExecutionID
	for i := range 24 {
		fx.pass(time.Millisecond)
		workflow := []*AppliedWorkflow{flow, other}[i%2]
		e := fx.create(workflow.ID, noInput)
		phase, list := chargehand.Faulted, &faulted
		if i%5 == 0 {
			phase, list = chargehand.Cancelled, &cancelled
		}
		fault := engine.EncodeFault(&machine.Fault{Type: machine.ErrRuntime, Status: 500})
		if err := fx.engine.end(t.Context(), e.ID, chargehand.Errored, phase, &store.Outcome{Fault: fault}); err != nil {
			t.Fatal(err)
		}
		*list = append([]chargehand.ExecutionID{e.ID}, *list...)
		if i%2 == 1 && i%5 == 0 {
			ofOther = append([]chargehand.ExecutionID{e.ID}, ofOther...)
		}
	}
	fx.create(flow.ID, noInput)
	limited := fx.principal(chargehand.Live, PresetAll, other.ID, newID[chargehand.WorkflowID](1))
	for _, fx.examined = range []int{1, 2, 3, 7, maxExamined} {
		for _, c := range []struct {
			name string
			p    *Principal
			q    ListExecutions
			want []chargehand.ExecutionID
		}{
			{"cancelled", fx.p, ListExecutions{Phases: []chargehand.Phase{chargehand.Cancelled}}, cancelled},
			{"faulted", fx.p, ListExecutions{Phases: []chargehand.Phase{chargehand.Faulted}, Statuses: []chargehand.Status{chargehand.Errored}}, faulted},
			{"of a workflow", fx.p, ListExecutions{Workflow: other.ID, Phases: []chargehand.Phase{chargehand.Cancelled}}, ofOther},
			{"of a limited key", limited, ListExecutions{Phases: []chargehand.Phase{chargehand.Cancelled}}, ofOther},
			{"impossible", fx.p, ListExecutions{Phases: []chargehand.Phase{chargehand.Cancelled}, Statuses: []chargehand.Status{chargehand.Finished}}, nil},
		} {
			for _, c.q.Limit = range []int{1, 3, 100} {
				var got []chargehand.ExecutionID
				for pages := 0; ; pages++ {
					page, err := fx.ListExecutions(t.Context(), c.p, c.q)
					if err != nil || len(page.Data) > min(c.q.Limit, fx.examined) || pages > 30 {
						t.Fatalf("%s: page %d of %d, limit %d, %v", c.name, pages, len(page.Data), c.q.Limit, err)
					}
					for _, e := range page.Data {
						got = append(got, e.ID)
					}
					if c.q.After = page.Cursor; c.q.After.IsZero() {
						break
					}
				}
				if !slices.Equal(got, c.want) {
					t.Errorf("%s, %d examined, limit %d: %d executions, want %d", c.name, fx.examined, c.q.Limit, len(got), len(c.want))
				}
			}
		}
	}
}

// TestItemsTellTheirErrors: the list of items says why each failed, and which were cancelled.
func TestItemsTellTheirErrors(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0"))
	b := fx.createBatch(flow.ID, `{"items": [{}, {}, {}, {}]}`)
	entries, _ := fx.entries(b, BatchEntries{})
	fx.finish(entries[0].Execution, `{}`)
	fault := engine.EncodeFault(&machine.Fault{Type: machine.ErrCommunication, Status: 503, Detail: "backend down"})
	if err := fx.engine.end(t.Context(), entries[1].Execution, chargehand.Errored, chargehand.Faulted, &store.Outcome{Fault: fault}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := fx.CancelBatch(t.Context(), fx.p, ChangeBatch{Workflow: flow.ID, Batch: b.ID}); err != nil {
		t.Fatal(err)
	}
	for _, whole := range []bool{true, false} {
		v := view
		v.Entries = whole // in one snapshot, or in steps
		b = fx.getBatch(b, v)
		if b.Completed != 1 || b.Failed != 3 || b.Cancelled != 2 || b.Status != chargehand.BatchFailed || b.Revision != 1 {
			t.Errorf("%+v", b)
		}
		got, _ := fx.entries(b, BatchEntries{})
		if got[0].Error != nil || got[0].Phase != chargehand.Completed {
			t.Errorf("item 0: %+v", got[0])
		}
		if e := got[1].Error; e == nil || e.Status != 503 || e.Detail != "backend down" || got[1].Phase != chargehand.Faulted {
			t.Errorf("item 1: %+v, %+v", got[1], e)
		}
		for _, e := range got[2:] {
			if e.Error == nil || e.Error.Code != "cancelled" || e.Phase != chargehand.Cancelled {
				t.Errorf("%+v, %+v", e, e.Error)
			}
		}
		only, _ := fx.entries(b, BatchEntries{Phases: []chargehand.Phase{chargehand.Cancelled}, Limit: 10})
		if len(only) != 2 || only[0].Index != 2 {
			t.Errorf("cancelled items: %+v", only)
		}
	}
}
