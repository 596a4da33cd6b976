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

// look lets the scheduler do what is due, and returns what it has started since the last look.
func (w *world) look() (runs []store.Execution) {
	w.t.Helper()
	known := len(w.engine.starts)
	if _, err := w.schedules.Step(context.Background()); err != nil {
		w.t.Fatal(err)
	}
	for _, s := range w.engine.starts[known:] {
		runs = append(runs, s.Row)
	}
	return runs
}

// scheduledRevision is the revision whose schedule is active; 0 if there is none.
func (w *world) scheduledRevision(id chargehand.WorkflowID) (revision int64) {
	w.t.Helper()
	err := w.rows.View(context.Background(), func(r *store.Reader) error {
		row, err := r.WorkflowByID(w.account.No, id)
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
		w.t.Fatal(err)
	}
	return revision
}

func TestScheduleFollowsThePublishedVersion(t *testing.T) {
	w := newWorld(t)
	first := w.apply(definition("flow", "1.0.0", everyMinute))
	one := w.scheduledRevision(first.ID)
	if one == 0 {
		t.Fatal("a version that is published has no schedule")
	}
	w.look()
	w.pass(time.Minute)
	w.apply(definition("flow", "1.0.0", everyMinute)) // identical content changes nothing
	runs := w.look()
	if len(runs) != 1 || runs[0].Revision != one || runs[0].Environment != chargehand.Live {
		t.Fatalf("runs %+v", runs)
	}
	w.applyAs(w.p, definition("flow", "2.0.0", "schedule: {every: PT10S}\n"), true) // T88
	if got := w.scheduledRevision(first.ID); got != one {
		t.Errorf("a draft is scheduled: revision %d", got)
	}
	w.pass(30 * time.Second)
	if runs := w.look(); len(runs) != 0 {
		t.Errorf("a draft has the runs %+v", runs)
	}
	if _, _, err := w.PublishVersion(t.Context(), w.p, PublishVersion{Workflow: first.ID, Version: "2.0.0"}); err != nil {
		t.Fatal(err)
	}
	w.pass(30 * time.Second) // the tick of 1.0.0 has come
	w.look()
	w.pass(10 * time.Second)
	for _, run := range w.look() {
		if run.Revision == one {
			t.Error("the old version ran")
		}
	}
	w.apply(definition("flow", "3.0.0"))
	if got := w.scheduledRevision(first.ID); got != 0 {
		t.Errorf("a version without a schedule has that of revision %d", got)
	}
	if _, _, err := w.PublishVersion(t.Context(), w.p, PublishVersion{Workflow: first.ID, Version: "1.0.0"}); err != nil { // back again
		t.Fatal(err)
	}
	if err := w.DeleteWorkflow(t.Context(), w.p, first.ID); err != nil {
		t.Fatal(err)
	}
	w.pass(time.Hour)
	if runs := w.look(); len(runs) != 0 || w.scheduledRevision(first.ID) != 0 {
		t.Errorf("a deleted workflow has the runs %+v", runs)
	}
}

// A run is an execution like others, and faults by itself where its input does not fit.
func TestRunOfAScheduleIsAnExecution(t *testing.T) {
	w := newWorld(t)
	flow := w.apply(definition("flow", "1.0.0", everyMinute, wantsText))
	w.look()
	w.pass(time.Minute)
	if runs := w.look(); len(runs) != 1 {
		t.Fatalf("runs %+v", runs)
	}
	page, err := w.ListExecutions(t.Context(), w.p, ListExecutions{Workflow: flow.ID, Limit: 10})
	if err != nil || len(page.Data) != 1 {
		t.Fatalf("the list is %+v, %v", page, err)
	}
	if got := value.Marshal(w.engine.starts[0].Input); string(got) != "{}" {
		t.Errorf("the input is %s", got)
	}
}
