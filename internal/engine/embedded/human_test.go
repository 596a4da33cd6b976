package embedded

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/store"
)

// taskOf reads the only human task of an execution.
func (fx *fixture) taskOf(row store.Execution) (task store.HumanTask) {
	fx.t.Helper()
	synctest.Wait()
	fx.view(func(r *store.Reader) error {
		list, err := r.HumanTasks(store.TaskFilter{
			Account: row.Account, Environment: row.Environment, Execution: row.No, Limit: 2, Sort: store.SortCreated,
			Statuses: []store.TaskStatus{store.TaskOpen, store.TaskClaimed, store.TaskAnswered, store.TaskWithdrawn},
		})
		if err == nil && len(list) != 1 {
			fx.t.Fatalf("%d human tasks", len(list))
		}
		if err == nil {
			task = list[0]
		}
		return err
	})
	return task
}

// An answer to a task that has changed since it was read is undone, also where the answer ends the execution: that a
// row has changed is not that the execution has ended.
func TestAnswerToAChangedTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t)
		fx.start()
		defer func() { fx.stop() }()
		row := fx.run(fx.define("- a: { call: 'human:1.0.0@default', with: { title: A }, output: { as: .outcome } }"), `{}`)
		task := fx.taskOf(row)
		if now := fx.read(row.No); now.Status != chargehand.HumanInTheLoop || now.State != store.StateParked {
			t.Errorf("it waits as %+v", now)
		}
		before := task
		err := fx.store.Update(t.Context(), func(tx *store.Tx) error { return tx.ClaimTask(&task, -4, "p4") })
		if err != nil {
			t.Fatal(err)
		}
		answer := map[string]any{"outcome": "yes"}
		if err := answerTask(t.Context(), fx.engine, before, answer); !errors.Is(err, store.ErrConflict) {
			t.Errorf("the answer to what was changed: %v", err)
		}
		if now := fx.taskOf(row); now.Status != store.TaskClaimed || fx.read(row.No).Status != chargehand.HumanInTheLoop {
			t.Errorf("task %+v, execution %+v", now, fx.read(row.No))
		}
		if err := answerTask(t.Context(), fx.engine, task, answer); err != nil {
			t.Fatal(err)
		}
		if now := fx.taskOf(row); now.Status != store.TaskAnswered || !now.Used || fx.result(row.No) != `"yes"` {
			t.Errorf("task %+v, result %s", now, fx.result(row.No))
		}
		if err := answerTask(t.Context(), fx.engine, task, answer); !errors.Is(err, engine.ErrFinal) {
			t.Errorf("an answer after the end: %v", err)
		}
	})
}

// An answer that is held while the execution is suspended, and then dropped, stays answered and counts as not used.
func TestAnswerThatIsNotUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t)
		fx.start()
		defer func() { fx.stop() }()
		row := fx.run(fx.define("- a: { call: 'human:1.0.0@default', with: { title: A } }"), `{}`)
		task := fx.taskOf(row)
		if err := fx.engine.Suspend(t.Context(), row.ID); err != nil {
			t.Fatal(err)
		}
		if now := fx.read(row.No); now.Status != chargehand.Processing || now.Phase != chargehand.Suspended {
			t.Errorf("suspended: %+v", now)
		}
		if err := answerTask(t.Context(), fx.engine, task, map[string]any{"outcome": "yes"}); err != nil {
			t.Fatal(err)
		}
		if err := fx.engine.Cancel(t.Context(), row.ID, "not needed"); err != nil {
			t.Fatal(err)
		}
		fx.finalIn(row, time.Minute)
		if now := fx.taskOf(row); now.Status != store.TaskAnswered || now.Used {
			t.Errorf("%+v", now)
		}
	})
}

// The due time and the reminders of a task are rows from its opening on, and none is left behind its end.
func TestTimesOfATask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := newFixture(t)
		fx.start()
		defer func() { fx.stop() }()
		row := fx.run(fx.define("- a: { call: 'human:1.0.0@default', with: { title: A, due: PT2H, remind: [PT1H, { minutes: 30 }] } }"), `{}`)
		task := fx.taskOf(row)
		times := func() (list []store.TaskTime) {
			fx.view(func(r *store.Reader) (err error) {
				list, err = r.TaskTimesDue(row.Environment, store.NeverDue, 9)
				return err
			})
			return list
		}
		const minute = int64(time.Minute / time.Millisecond)
		want := []store.TaskTime{
			{Task: task.No, Kind: store.TaskReminder, DueMs: task.CreatedMs + 30*minute}, {Task: task.No, Kind: store.TaskReminder, DueMs: task.CreatedMs + 60*minute},
			{Task: task.No, Kind: store.TaskDue, DueMs: task.CreatedMs + 120*minute},
		}
		if got := times(); !slices.Equal(got, want) || task.DueMs != want[2].DueMs {
			t.Errorf("times %+v, want %+v", got, want)
		}
		if err := answerTask(t.Context(), fx.engine, task, map[string]any{"outcome": "yes"}); err != nil {
			t.Fatal(err)
		}
		if got := times(); len(got) != 0 {
			t.Errorf("times of a task that has ended: %+v", got)
		}
	})
}
