package service

import (
	"context"
	"fmt"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// TestExecutionShowsItsHumanTasks: by id, in lists and in streams; the entity tag changes with them, and one that
// a person has taken is still shown.
func TestExecutionShowsItsHumanTasks(t *testing.T) {
	fx := newHumanFixture(t)
	shown := make(chan int, 100)
	fx.follows(t, func(ctx context.Context, _ func([]StreamEvent) error) error {
		return fx.Follow(ctx, fx.p, []Topic{{TopicExecution, fx.e.ID}}, view, func(events []StreamEvent) error {
			for _, e := range events {
				shown <- len(e.Execution.HumanTasks)
			}
			return nil
		})
	})
	fx.run(fx.e.ID, store.StateActive)
	if e := fx.get(fx.e); e.HumanTasks != nil {
		t.Errorf("before the first: %+v", e.HumanTasks)
	}
	before := fx.get(fx.e).ETag
	var ids []chargehand.HumanTaskID
	for i := range MaxOpenTasks + 1 {
		ids = append(ids, fx.open(map[string]any{"title": fmt.Sprintf("Task %d", i), "due": "PT1H"}))
	}
	if _, err := fx.ClaimHumanTask(t.Context(), fx.p, ids[1], nil); err != nil {
		t.Fatal(err)
	}
	page, err := fx.ListExecutions(t.Context(), fx.p, ListExecutions{Limit: 10})
	if err != nil || len(page.Data) != 1 {
		t.Fatalf("list %+v, %v", page, err)
	}
	for what, e := range map[string]*Execution{"by id": fx.get(fx.e), "in a list": page.Data[0]} {
		list := e.HumanTasks
		if len(list) != MaxOpenTasks || list[0].ID != ids[1] || list[0].Title != "Task 1" || list[0].Reference != "/do/0/ask" ||
			!list[0].DueAt.Equal(epoch.Add(3600e9)) || list[MaxOpenTasks-1].ID != ids[MaxOpenTasks] {
			t.Errorf("%s: %+v", what, list)
		}
		if e.ETag == before {
			t.Errorf("%s: the entity tag is the same", what)
		}
	}
	for n := range shown { // the row of the execution stays as it is
		if n == MaxOpenTasks {
			break
		}
	}
	if err := fx.answer(fx.p, ids[MaxOpenTasks], map[string]any{}); err != nil {
		t.Fatal(err)
	}
	if e := fx.get(fx.e); len(e.HumanTasks) != MaxOpenTasks || e.HumanTasks[0].ID != ids[0] {
		t.Errorf("after an answer: %+v", e.HumanTasks)
	}
	fx.finish(fx.e.ID, `1`)
	if e := fx.get(fx.e); e.HumanTasks != nil {
		t.Errorf("at the end: %+v", e.HumanTasks)
	}
}
