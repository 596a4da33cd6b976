package storetest

import (
	"fmt"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// wantOpenTasks reads what executions show of their tasks.
func (f *fixture) wantOpenTasks(executions []int64, limit int, want ...store.HumanTask) {
	f.Helper()
	wanted := map[int64][]store.OpenTask{}
	for _, h := range want {
		wanted[h.Execution] = append(wanted[h.Execution], store.OpenTask{ID: h.ID, Title: h.Title, Reference: h.Reference, Iterations: h.Iterations, DueMs: h.DueMs})
	}
	f.view(func(r *store.Reader) error {
		got, err := r.OpenTasksOf(executions, limit)
		if fmt.Sprint(texts(got)) != fmt.Sprint(texts(wanted)) {
			f.Errorf("open tasks %+v, want %+v", got, wanted)
		}
		return err
	})
}

// texts are the tasks of executions as texts.
func texts(found map[int64][]store.OpenTask) map[int64][]string {
	list := map[int64][]string{}
	for no, tasks := range found {
		for _, t := range tasks {
			list[no] = append(list[no], fmt.Sprint(t.ID, t.Title, t.Reference, t.Iterations, t.DueMs))
		}
	}
	return list
}

// openTasks: each execution has its own, the newest of many, and none that has ended.
func openTasks(f *fixture) {
	none, one, many := f.inserted(), f.inserted(), f.inserted()
	single := f.humanTask(one, 1)
	single.Iterations, single.DueMs, single.Title = []int{2, 0}, startMs+9, "Only one"
	single = f.open(single)
	var list []store.HumanTask
	for i := range 5 {
		h := f.humanTask(many, uint64(i+1))
		h.Title = fmt.Sprintf("Task %d", i)
		list = append(list, f.open(h))
	}
	f.update(func(tx *store.Tx) error { h := list[3]; return tx.AnswerTask(&h, -4, inline("1"), startMs+7, true) })
	f.wantOpenTasks([]int64{none, one, many}, 3, single, list[1], list[2], list[4])
	f.wantOpenTasks([]int64{many}, 9, list[0], list[1], list[2], list[4])
	f.wantOpenTasks(nil, 9)
}

// taskChanges: each change of a task counts, in its scope alone, and so does who is in a group.
func taskChanges(f *fixture) {
	live, test, other := store.TaskScope{Account: 1, Environment: 1}, store.TaskScope{Account: 1, Environment: 2}, store.TaskScope{Account: 2, Environment: 1}
	count := func() (n [3]int64) {
		f.view(func(r *store.Reader) error {
			found, err := r.TaskChanges([]store.TaskScope{live, test, other})
			n = [3]int64{found[live], found[test], found[other]}
			return err
		})
		return n
	}
	if n := count(); n != [3]int64{} {
		f.Errorf("before the first change: %v", n)
	}
	var h, withdrawn store.HumanTask
	g := store.Group{ID: chargehand.GroupID{7}, Account: 1, Name: "g", NameKey: "g", CreatedMs: startMs}
	no := f.inserted()
	f.update(func(tx *store.Tx) error { return tx.InsertGroup(&g) })
	for _, step := range []step{
		{"open", func(tx *store.Tx) error {
			h = f.humanTask(no, 1)
			h.DueMs = startMs + 5
			return tx.OpenTask(&h, anybody)
		}},
		{"claim", func(tx *store.Tx) error { return tx.ClaimTask(&h, -4, "p4") }},
		{"release", func(tx *store.Tx) error { return tx.ReleaseTask(&h) }},
		{"reassign", func(tx *store.Tx) error { return tx.ReassignTask(&h, store.TaskAssignees{}, "ada", anybody) }},
		{"become due", func(tx *store.Tx) error { _, err := tx.TakeTaskTimes(h.No, store.TaskDue, startMs+9); return err }},
		{"answer", func(tx *store.Tx) error { return tx.AnswerTask(&h, -4, inline("1"), startMs+9, true) }},
		{"open another one", func(tx *store.Tx) error { withdrawn = f.humanTask(no, 2); return tx.OpenTask(&withdrawn, anybody) }},
		{"withdraw", func(tx *store.Tx) error { _, err := tx.WithdrawTask(no, 2, 1, startMs+9); return err }},
	} {
		before := count()
		copies := [2]store.HumanTask{h, withdrawn}
		f.update(func(tx *store.Tx) error { h, withdrawn = copies[0], copies[1]; return step.do(tx) })
		if after := count(); after[0] <= before[0] || after[1] != before[1] || after[2] != before[2] {
			f.Errorf("%s: %v, before %v", step.what, after, before)
		}
	}
	for _, step := range []step{
		{"join", func(tx *store.Tx) error { return tx.JoinGroup(&g, 3) }},
		{"leave", func(tx *store.Tx) error { return tx.LeaveGroup(g.No, 3) }},
		{"rename", func(tx *store.Tx) error { return tx.RenameGroup(&g) }},
		{"delete the group", func(tx *store.Tx) error { return tx.DeleteGroup(g.No) }},
		{"release all of a person", func(tx *store.Tx) error { return tx.ReleaseTasksOf(1, "p4") }},
	} {
		before := count()
		f.update(step.do)
		if after := count(); after[0] <= before[0] || after[1] <= before[1] || after[2] != before[2] {
			f.Errorf("%s: %v, before %v", step.what, after, before)
		}
	}
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.LeaveGroup(g.No, 3) })
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.DeleteGroup(g.No) })
	before := count()
	for n := 1; n > 0; {
		f.update(func(tx *store.Tx) (err error) { n, err = tx.FoldUsage(3); return err })
	}
	if after := count(); after != before {
		f.Errorf("folded: %v, before %v", after, before)
	}
}

type step struct {
	what string
	do   func(tx *store.Tx) error
}
