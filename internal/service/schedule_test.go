package service

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

const everyMinute = "schedule: {every: PT1M}\n"

// runScheduler lets the scheduler do what is due, and returns the executions that this starts.
func (fx *fixture) runScheduler() (runs []store.Execution) {
	fx.t.Helper()
	known := len(fx.engine.starts)
	if _, err := fx.schedules.Step(context.Background()); err != nil {
		fx.t.Fatal(err)
	}
	for _, s := range fx.engine.starts[known:] {
		runs = append(runs, s.Row)
	}
	return runs
}

// scheduledRevision is the revision whose schedule is active; 0 if there is none.
func (fx *fixture) scheduledRevision(id chargehand.WorkflowID) (revision int64) {
	fx.t.Helper()
	err := fx.rows.View(context.Background(), func(r *store.Reader) error {
		row, err := r.WorkflowByID(fx.account.No, id)
		if err != nil {
			return err
		}
		s, err := r.ScheduleOf(row.No)
		revision = s.Revision
		if errors.Is(err, store.ErrNotFound) {
			err = nil
		}
		return err
	})
	if err != nil {
		fx.t.Fatal(err)
	}
	return revision
}

func TestScheduleFollowsThePublishedVersion(t *testing.T) {
	fx := newFixture(t)
	first := fx.apply(definition("flow", "1.0.0", everyMinute))
	one := fx.scheduledRevision(first.ID)
	if one == 0 {
		t.Fatal("a version that is published has no schedule")
	}
	fx.runScheduler()
	fx.pass(time.Minute)
	fx.apply(definition("flow", "1.0.0", everyMinute)) // identical content changes nothing
	runs := fx.runScheduler()
	if len(runs) != 1 || runs[0].Revision != one || runs[0].Environment != chargehand.Live {
		t.Fatalf("runs %+v", runs)
	}
	fx.applyAs(fx.p, definition("flow", "2.0.0", "schedule: {every: PT10S}\n"), true) // T88
	if got := fx.scheduledRevision(first.ID); got != one {
		t.Errorf("a draft is scheduled: revision %d", got)
	}
	fx.pass(30 * time.Second)
	if runs := fx.runScheduler(); len(runs) != 0 {
		t.Errorf("a draft has the runs %+v", runs)
	}
	if _, _, err := fx.PublishVersion(t.Context(), fx.p, PublishVersion{Workflow: first.ID, Version: "2.0.0"}); err != nil {
		t.Fatal(err)
	}
	fx.pass(30 * time.Second) // the tick of 1.0.0 has come
	fx.runScheduler()
	fx.pass(10 * time.Second)
	for _, run := range fx.runScheduler() {
		if run.Revision == one {
			t.Error("the old version ran")
		}
	}
	fx.apply(definition("flow", "3.0.0"))
	if got := fx.scheduledRevision(first.ID); got != 0 {
		t.Errorf("a version without a schedule has that of revision %d", got)
	}
	// Back again.
	if _, _, err := fx.PublishVersion(t.Context(), fx.p, PublishVersion{Workflow: first.ID, Version: "1.0.0"}); err != nil {
		t.Fatal(err)
	}
	if err := fx.DeleteWorkflow(t.Context(), fx.p, first.ID); err != nil {
		t.Fatal(err)
	}
	fx.pass(time.Hour)
	if runs := fx.runScheduler(); len(runs) != 0 || fx.scheduledRevision(first.ID) != 0 {
		t.Errorf("a deleted workflow has the runs %+v", runs)
	}
}

// A run is an execution like others, and faults by itself where its input does not fit.
func TestRunOfAScheduleIsAnExecution(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("flow", "1.0.0", everyMinute, wantsText))
	fx.runScheduler()
	fx.pass(time.Minute)
	if runs := fx.runScheduler(); len(runs) != 1 {
		t.Fatalf("runs %+v", runs)
	}
	page, err := fx.ListExecutions(t.Context(), fx.p, ListExecutions{Workflow: flow.ID, Limit: 10})
	if err != nil || len(page.Data) != 1 {
		t.Fatalf("the list is %+v, %v", page, err)
	}
	if got := value.Marshal(fx.engine.starts[0].Input); string(got) != "{}" {
		t.Errorf("the input is %s", got)
	}
}
