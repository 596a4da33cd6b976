package service

import (
	"context"
	"slices"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// TestSummaries: a summary of executions has no results, one of items no inputs; nothing else is missing.
func TestSummaries(t *testing.T) {
	fx := newFixture(t)
	w := fx.apply(definition("flow", "1.0.0"))
	finished, failed := fx.create(w.ID, noInput), fx.create(w.ID, noInput)
	fx.finish(finished.ID, `{"a":1}`)
	fx.fail(failed)
	list := func(summary bool) []*Execution {
		page, err := fx.ListExecutions(t.Context(), fx.p, ListExecutions{Limit: 10, Summary: summary})
		if err != nil || len(page.Data) != 2 {
			t.Fatalf("%d executions, %v", len(page.Data), err)
		}
		return page.Data
	}
	whole, summary := list(false), list(true)
	for i := range whole {
		w, s := *whole[i], *summary[i]
		if s.Results != nil || (w.Results != nil) != (w.Status == chargehand.Finished) {
			t.Errorf("results of a %s one: %v, in a summary %v", w.Status, w.Results, s.Results)
		}
		if (s.Error != nil) != (w.Status == chargehand.Errored) || s.ETag != w.ETag || s.WorkflowName != w.WorkflowName || !s.RetainedUntil.Equal(w.RetainedUntil) {
			t.Errorf("the summary is %+v of %+v", s, w)
		}
	}

	b, _, err := fx.CreateBatch(t.Context(), fx.p, CreateBatch{Workflow: w.ID, Body: parse(t, `{"items":[{"n":1},{"n":2}]}`)})
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []BatchEntries{{Summary: true}, {Summary: true, Limit: 1}, {Summary: true, Phases: []chargehand.Phase{chargehand.Pending}}} {
		_, err = fx.Entries(t.Context(), b, of, func(e *BatchEntry) error {
			if e.Inputs != nil || e.Execution.IsZero() || e.Status != chargehand.Initial {
				t.Errorf("a summary has %+v", e)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestFollowedLabels: what streams show of an execution is what reads show: its labels, its tree, and until when it is
// kept.
func TestFollowedLabels(t *testing.T) {
	fx := telling(newFixture(t))
	w := fx.apply(definition("flow", "1.0.0"))
	b, _, err := fx.CreateBatch(t.Context(), fx.p, CreateBatch{Workflow: w.ID, Body: parse(t, `{"items":[{}],"labels":{"team":"blue"}}`)})
	if err != nil {
		t.Fatal(err)
	}
	items, _ := fx.entries(b, BatchEntries{})
	item := items[0].Execution
	single, _, err := fx.CreateExecution(t.Context(), fx.p, CreateExecution{Workflow: w.ID, Body: parse(t, `{"labels":{"region":"north"}}`)})
	if err != nil {
		t.Fatal(err)
	}
	want := map[Topic][]Label{
		{TopicExecution, item}:      {{Name: "team", Value: "blue"}},
		{TopicExecution, single.ID}: {{Name: "region", Value: "north"}},
	}
	shown := make(chan *Execution, 10)
	fx.follows(t, func(ctx context.Context, send func([]StreamEvent) error) error {
		return fx.Follow(ctx, fx.p, []Topic{{TopicExecution, item}, {TopicExecution, single.ID}}, view, func(events []StreamEvent) error {
			for i := range events {
				shown <- events[i].Execution
			}
			return nil
		})
	})
	next := func() *Execution {
		e := <-shown
		if !slices.Equal(e.Labels, want[Topic{TopicExecution, e.ID}]) {
			t.Errorf("%s has the labels %v in a stream", e.Status, e.Labels)
		}
		return e
	}
	next()
	next()
	fx.run(single.ID, store.StateActive)
	if e := next(); e.Status != chargehand.Processing || !e.RetainedUntil.IsZero() {
		t.Errorf("the stream has %+v", e)
	}
	fx.finish(single.ID, `1`)
	read, err := fx.GetExecution(t.Context(), fx.p, w.ID, single.ID, view)
	if e := next(); err != nil || e.Status != chargehand.Finished || !e.RetainedUntil.Equal(read.RetainedUntil) || e.RetainedUntil.IsZero() {
		t.Errorf("the stream has %+v, a read %+v, %v", e, read, err)
	}
}
