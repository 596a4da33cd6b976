package storetest

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

var humanTaskTests = map[string]func(*fixture){
	"round trip":                   taskRoundTrip,
	"claims":                       taskClaims,
	"reassignment":                 taskReassigned,
	"one answer":                   taskAnswered,
	"withdrawal and a used answer": taskWithdrawn,
	"end of the execution":         taskEnds,
	"lists in every order":         taskLists,
	"counts":                       taskCounts,
	"counts of long lists":         taskCountsOfLongLists,
	"comments":                     taskComments,
	"drafts":                       taskDrafts,
	"bulk answers":                 bulkAnswers,
	"links":                        taskLinks,
	"links of sessions":            taskLinksOfSessions,
	"tasks of executions":          openTasks,
	"changes are counted":          taskChanges,
}

type taskKind = chargehand.HumanTaskID

func (f *fixture) taskID() (id taskKind) {
	f.n++
	copy(id[:], fmt.Sprintf("task%012d", f.n))
	return id
}

func (f *fixture) humanTask(execution int64, command uint64) store.HumanTask {
	return store.HumanTask{
		ID: f.taskID(), Account: 1, Environment: chargehand.Live, Workflow: 7, Execution: execution, Command: command, Seq: 3, Reference: "/do/0/ask",
		Priority: 50, DueMs: store.NeverDue, CreatedMs: startMs, Title: "Ask", Request: inline(`{"title":"Ask"}`),
	}
}

var anybody = []store.TaskCandidate{{Kind: store.CandidateAnybody}}

func user(name string) store.TaskCandidate {
	return store.TaskCandidate{Kind: store.CandidateUser, Name: name}
}

func team(name string) store.TaskCandidate {
	return store.TaskCandidate{Kind: store.CandidateGroup, Name: name}
}

func (f *fixture) open(h store.HumanTask, candidates ...store.TaskCandidate) store.HumanTask {
	f.Helper()
	if len(candidates) == 0 {
		candidates = anybody
	}
	f.update(func(tx *store.Tx) error { return tx.OpenTask(&h, candidates) })
	return h
}

func (f *fixture) readTask(h store.HumanTask) (got store.HumanTask) {
	f.Helper()
	f.view(func(r *store.Reader) (err error) {
		got, err = r.HumanTaskByID(h.Account, h.Environment, h.ID)
		return err
	})
	return got
}

func taskRoundTrip(f *fixture) {
	h := f.humanTask(f.inserted(), 1<<40)
	h.Batch, h.Iterations, h.DueMs, h.Priority = 9, []int{0, 4}, startMs+5, 99
	h.Assignees = store.TaskAssignees{Users: []string{"a@example.com"}, Groups: []string{"G"}, Exclude: []string{"b"}}
	h.Request = f.blobPayload(1, 1<<18)
	h = f.open(h, user("a@example.com"), team("g"))
	if h.No == 0 || h.Step != 1 || h.Status != store.TaskOpen {
		f.Errorf("opened: %+v", h)
	}
	if got := f.readTask(h); !reflect.DeepEqual(got, h) {
		f.Errorf("read %+v\nwant %+v", got, h)
	}
	f.view(func(r *store.Reader) error {
		if _, err := r.HumanTaskByID(2, chargehand.Live, h.ID); err == nil {
			f.Error("another account reads it")
		}
		if got, err := r.HumanTaskOf(h.Execution, h.Command); err != nil || !reflect.DeepEqual(got, h) {
			f.Errorf("by command: %+v, %v", got, err)
		}
		return nil
	})
	f.wantOpenTasks([]int64{h.Execution}, 10, h)
	again := f.humanTask(h.Execution, h.Command)
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.OpenTask(&again, anybody) })
	f.update(func(tx *store.Tx) error { _, err := finish(tx, h.Execution, startMs+9, "1"); return err })
	f.deleteEnded(chargehand.Live, startMs+10, 10)
}

func taskClaims(f *fixture) {
	h := f.open(f.humanTask(f.inserted(), 1))
	late := h
	f.update(func(tx *store.Tx) error { return tx.ClaimTask(&h, -4, "p4") })
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.ClaimTask(&late, -5, "p5") })
	if got := f.readTask(h); got.Status != store.TaskClaimed || got.Claimant != -4 || got.Step != 2 {
		f.Errorf("claimed: %+v", got)
	}
	claim := store.TaskFilter{Account: 1, Environment: chargehand.Live, Limit: 9, Candidates: []store.TaskCandidate{{Kind: store.CandidateClaim, Name: "p4"}}}
	if list := f.tasks(claim); len(list) != 1 {
		f.Errorf("%d tasks are claimed", len(list))
	}
	f.update(func(tx *store.Tx) error { return tx.ClaimTask(&h, -5, "p5") }) // by force
	if list := f.tasks(claim); len(list) != 0 {
		f.Errorf("%d tasks are still claimed", len(list))
	}
	f.update(func(tx *store.Tx) error { return tx.ReleaseTask(&h) })
	if got := f.readTask(h); got.Status != store.TaskOpen || got.Claimant != 0 || got.Step != 4 {
		f.Errorf("released: %+v", got)
	}

	// All claims of a person end together, and no others.
	other := f.open(f.humanTask(f.inserted(), 2))
	f.update(func(tx *store.Tx) error {
		return errors.Join(tx.ClaimTask(&h, -4, "p4"), tx.ClaimTask(&other, -5, "p5"))
	})
	f.update(func(tx *store.Tx) error { return errors.Join(tx.ReleaseTasksOf(2, "p4"), tx.ReleaseTasksOf(1, "p")) })
	if list := f.tasks(claim); len(list) != 1 {
		f.Error("the claims of another account or person were taken back")
	}
	f.update(func(tx *store.Tx) error { return tx.ReleaseTasksOf(1, "p4") })
	if got := f.readTask(h); got.Status != store.TaskOpen || got.Claimant != 0 || got.Step != 6 || len(f.tasks(claim)) != 0 {
		f.Errorf("released with all others: %+v", got)
	}
	if got := f.readTask(other); got.Status != store.TaskClaimed || got.Claimant != -5 {
		f.Errorf("the task of another person: %+v", got)
	}
}

func taskReassigned(f *fixture) {
	h := f.open(f.humanTask(f.inserted(), 1), user("a"))
	f.update(func(tx *store.Tx) error { return tx.ClaimTask(&h, -4, "p4") })
	to := store.TaskAssignees{Groups: []string{"G"}}
	f.update(func(tx *store.Tx) error { return tx.ReassignTask(&h, to, "ada ben", []store.TaskCandidate{team("g")}) })
	got := f.readTask(h)
	if !reflect.DeepEqual(got.Assignees, to) || got.Claimant != 0 || got.Status != store.TaskOpen {
		f.Errorf("reassigned: %+v", got)
	}
	for c, n := range map[store.TaskCandidate]int{user("a"): 0, team("g"): 1, {Kind: store.CandidateClaim, Name: "p4"}: 0} {
		list := f.tasks(store.TaskFilter{Account: 1, Environment: chargehand.Live, Limit: 9, Candidates: []store.TaskCandidate{c}})
		if len(list) != n {
			f.Errorf("%d tasks of %v, want %d", len(list), c, n)
		}
	}
}

func taskAnswered(f *fixture) {
	h := f.open(f.humanTask(f.inserted(), 1))
	late, answer := h, f.blobPayload(2, 1<<18)
	f.update(func(tx *store.Tx) error { return tx.AnswerTask(&h, -4, answer, startMs+7, true) })
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.AnswerTask(&late, -5, inline("1"), startMs+8, true) })
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.ClaimTask(&h, -5, "p") })
	if got := f.readTask(h); !reflect.DeepEqual(got, h) || got.Status != store.TaskAnswered || !got.Used || got.EndedMs != startMs+7 {
		f.Errorf("answered: %+v\nwant %+v", got, h)
	}
	mine := store.TaskFilter{Account: 1, Environment: chargehand.Live, Limit: 9, Answerer: -4, Statuses: []store.TaskStatus{store.TaskAnswered}, Sort: store.SortCreated}
	if list := f.tasks(mine); len(list) != 1 || list[0].No != h.No {
		f.Errorf("answered by me: %v", list)
	}
	f.update(func(tx *store.Tx) error { _, err := finish(tx, h.Execution, startMs+9, "1"); return err })
	if got := f.readTask(h); got.Status != store.TaskAnswered {
		f.Errorf("after the end: %+v", got)
	}
}

func taskWithdrawn(f *fixture) {
	no := f.inserted()
	h := f.open(f.humanTask(no, 1))
	f.update(func(tx *store.Tx) error {
		status, err := tx.WithdrawTask(no, 1, 3, startMs+4)
		if status != store.TaskWithdrawn {
			f.Errorf("withdrawn: %d", status)
		}
		return err
	})
	if got := f.readTask(h); got.Status != store.TaskWithdrawn || got.Why != 3 || got.EndedMs != startMs+4 || got.Step != 2 {
		f.Errorf("withdrawn: %+v", got)
	}
	h = f.open(f.humanTask(no, 2))
	f.update(func(tx *store.Tx) error { return tx.AnswerTask(&h, -4, inline("1"), startMs+7, false) })
	for _, used := range []bool{true, true, false} {
		f.update(func(tx *store.Tx) error {
			if !used {
				status, err := tx.WithdrawTask(no, 2, 3, startMs+9)
				if status != store.TaskAnswered {
					f.Errorf("withdrawn too late: %d", status)
				}
				return err
			}
			got, err := tx.UseAnswer(no, 2)
			if !got.Used || string(got.Answer.Inline) != "1" {
				f.Errorf("used: %+v", got)
			}
			return err
		})
		if got := f.readTask(h); got.Used != used || got.Status != store.TaskAnswered {
			f.Errorf("used is %t, want %t", got.Used, used)
		}
	}
	f.update(func(tx *store.Tx) error {
		status, err := tx.WithdrawTask(no, 3, 3, startMs)
		if status != 0 {
			f.Errorf("withdrawal of none: %d", status)
		}
		return err
	})
}

func taskEnds(f *fixture) {
	no := f.inserted()
	h := f.open(f.humanTask(no, 1), user("a"), team("b"))
	f.update(func(tx *store.Tx) error { return tx.ClaimTask(&h, -4, "p4") })
	f.update(func(tx *store.Tx) error { _, err := finish(tx, no, startMs+9, "1"); return err })
	if got := f.readTask(h); got.Status != store.TaskWithdrawn || got.EndedMs != startMs+9 || got.Why != 5 || got.Claimant != 0 {
		f.Errorf("after the end: %+v", got)
	}
}

func (f *fixture) tasks(filter store.TaskFilter) (list []store.HumanTask) {
	f.Helper()
	f.view(func(r *store.Reader) (err error) {
		list, err = r.HumanTasks(filter)
		return err
	})
	return list
}

func taskLists(f *fixture) {
	no := f.inserted()
	other := f.humanTask(f.inserted(), 1)
	other.Environment = chargehand.Test
	f.open(other, user("a"))
	var opened []store.HumanTask
	for i := range 12 {
		h := f.humanTask(no, uint64(i+1))
		h.Workflow, h.Batch = int64(7+i%2), int64(i%3)
		h.DueMs, h.Priority = startMs+int64(i*7%5), 10+i%4
		if i%6 == 5 {
			h.DueMs = store.NeverDue
		}
		candidates := []store.TaskCandidate{user("a"), team("g")}
		if i%2 == 1 {
			candidates = []store.TaskCandidate{user("b"), team("g")}
		}
		opened = append(opened, f.open(h, candidates...))
	}
	base := store.TaskFilter{Account: 1, Environment: chargehand.Live}
	for _, order := range []store.TaskSort{store.SortDue, store.SortCreated, store.SortPriority} {
		for name, c := range map[string]struct {
			filter func(*store.TaskFilter)
			fits   func(h *store.HumanTask) bool
		}{
			"all":         {func(*store.TaskFilter) {}, func(*store.HumanTask) bool { return true }},
			"a user":      {func(t *store.TaskFilter) { t.Candidates = []store.TaskCandidate{user("a")} }, func(h *store.HumanTask) bool { return h.Command%2 == 1 }},
			"a and group": {func(t *store.TaskFilter) { t.Candidates = []store.TaskCandidate{user("a"), team("g")} }, func(*store.HumanTask) bool { return true }},
			"the group without a": {func(t *store.TaskFilter) {
				t.Candidates, t.Without = []store.TaskCandidate{team("g")}, []store.TaskCandidate{user("a"), user("none")}
			}, func(h *store.HumanTask) bool { return h.Command%2 == 0 }},
			"a workflow": {func(t *store.TaskFilter) { t.Workflows = []int64{8, 99} }, func(h *store.HumanTask) bool { return h.Workflow == 8 }},
			"a workflow of a user": {func(t *store.TaskFilter) { t.Workflows, t.Candidates = []int64{8}, []store.TaskCandidate{team("g")} },
				func(h *store.HumanTask) bool { return h.Workflow == 8 }},
			"no workflow":  {func(t *store.TaskFilter) { t.Workflows = []int64{} }, func(*store.HumanTask) bool { return false }},
			"a batch":      {func(t *store.TaskFilter) { t.Batch = 2 }, func(h *store.HumanTask) bool { return h.Batch == 2 }},
			"an execution": {func(t *store.TaskFilter) { t.Execution = no }, func(*store.HumanTask) bool { return true }},
			"an execution of a user": {func(t *store.TaskFilter) { t.Execution, t.Candidates = no, []store.TaskCandidate{user("a")} },
				func(h *store.HumanTask) bool { return h.Command%2 == 1 }},
			"overdue": {func(t *store.TaskFilter) { t.DueBeforeMs = startMs + 2 }, func(h *store.HumanTask) bool { return h.DueMs < startMs+2 }},
			"overdue of a user": {func(t *store.TaskFilter) { t.DueBeforeMs, t.Candidates = startMs+2, []store.TaskCandidate{user("a")} },
				func(h *store.HumanTask) bool { return h.DueMs < startMs+2 && h.Command%2 == 1 }},
			"answered": {func(t *store.TaskFilter) { t.Statuses = []store.TaskStatus{store.TaskAnswered} }, func(*store.HumanTask) bool { return false }},
		} {
			if name == "answered" && order != store.SortCreated || strings.HasPrefix(name, "overdue") && order != store.SortDue {
				continue // they have no other order
			}
			filter := base
			filter.Sort, filter.Limit = order, 3
			c.filter(&filter)
			var want, got []int64
			fitting := slices.Clone(opened)
			slices.SortFunc(fitting, func(a, b store.HumanTask) int {
				if order.Before(&a, &b) {
					return -1
				}
				return 1
			})
			for i := range fitting {
				if c.fits(&fitting[i]) {
					want = append(want, fitting[i].No)
				}
			}
			for {
				page := f.tasks(filter)
				for i := range page {
					got = append(got, page[i].No)
				}
				if len(page) < filter.Limit || len(got) > 20 {
					break
				}
				filter.After = order.Key(&page[len(page)-1])
			}
			if !slices.Equal(got, want) {
				f.Errorf("%s in order %d: %v, want %v", name, order, got, want)
			}
		}
	}
	f.mixedList(base, opened)
}

// mixedList lists a task that has ended beside those that have not.
func (f *fixture) mixedList(base store.TaskFilter, opened []store.HumanTask) {
	f.Helper()
	h := f.open(f.humanTask(opened[0].Execution, 99))
	f.update(func(tx *store.Tx) error { return tx.AnswerTask(&h, -4, inline("1"), startMs+7, true) })
	base.Statuses, base.Sort, base.Limit = []store.TaskStatus{store.TaskAnswered, store.TaskOpen}, store.SortCreated, 3
	var got []int64
	for _, h := range f.tasks(base) {
		got = append(got, h.No)
	}
	if want := []int64{h.No, opened[len(opened)-1].No, opened[len(opened)-2].No}; !slices.Equal(got, want) {
		f.Errorf("a list of open and answered tasks: %v, want %v", got, want)
	}
}

func taskCounts(f *fixture) {
	no := f.inserted()
	for i := range 10 {
		h := f.humanTask(no, uint64(i+1))
		h.Workflow, h.DueMs = int64(7+i%2), startMs+int64(i)
		candidates := []store.TaskCandidate{user("a"), team("g"), team("h")}
		if i%2 == 1 {
			candidates[0] = user("b")
		}
		if i >= 8 {
			candidates = anybody
		}
		f.open(h, candidates...)
	}
	groups := []store.TaskCandidate{team("g"), team("h"), team("none")}
	for i, c := range []struct {
		filter store.TaskFilter
		limit  int
		want   int64
	}{
		{store.TaskFilter{}, 100, 10},
		{store.TaskFilter{}, 4, 4},
		{store.TaskFilter{Candidates: groups}, 100, 8},
		{store.TaskFilter{Candidates: groups}, 5, 5},
		{store.TaskFilter{Candidates: groups, Without: []store.TaskCandidate{user("b")}}, 100, 4},
		{store.TaskFilter{Candidates: groups, Without: []store.TaskCandidate{user("b")}}, 3, 3},
		{store.TaskFilter{Candidates: groups, Without: []store.TaskCandidate{user("b"), user("a")}}, 100, 0},
		{store.TaskFilter{Candidates: anybody}, 100, 2},
		{store.TaskFilter{Candidates: []store.TaskCandidate{}}, 100, 0},
		{store.TaskFilter{Candidates: groups, Workflows: []int64{7}}, 100, 4},
		{store.TaskFilter{Workflows: []int64{}}, 100, 0},
		{store.TaskFilter{Workflows: []int64{7, 9}}, 100, 5},
		{store.TaskFilter{DueBeforeMs: startMs + 3}, 100, 3},
		{store.TaskFilter{DueBeforeMs: startMs + 3, Candidates: groups}, 100, 3},
		{store.TaskFilter{DueBeforeMs: startMs + 3, Candidates: anybody}, 100, 0},
	} {
		c.filter.Account, c.filter.Environment = 1, chargehand.Live
		f.view(func(r *store.Reader) error {
			got, more, err := r.CountHumanTasks(c.filter, c.limit)
			if got != c.want || more && got < int64(c.limit) {
				f.Errorf("count %d is %d, more %v, want %d", i, got, more, c.want)
			}
			return err
		})
	}
}

// taskCountsOfLongLists counts what is left of a list without another long one.
func taskCountsOfLongLists(f *fixture) {
	const own, others = 2_100, 130
	no := f.inserted()
	for done := 0; done < own+others; {
		first := done
		f.update(func(tx *store.Tx) error {
			for done = first; done < min(first+500, own+others); done++ {
				h := f.humanTask(no, uint64(done+1))
				candidates := []store.TaskCandidate{team("g"), user("a")}
				if done%17 == 0 && done/17 < others {
					candidates = candidates[:1]
				}
				if err := tx.OpenTask(&h, candidates); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for i, c := range []struct {
		candidates, without []store.TaskCandidate
		limit               int
		want                int64
		more                bool
	}{
		{[]store.TaskCandidate{team("g")}, []store.TaskCandidate{user("a")}, 10_000, others, false},
		{[]store.TaskCandidate{team("g")}, []store.TaskCandidate{user("a")}, 100, 100, true},
		{[]store.TaskCandidate{team("g"), user("a")}, nil, 10_000, own + others, false},
		{[]store.TaskCandidate{team("g"), user("a")}, nil, 2_000, 2_000, true},
		{[]store.TaskCandidate{user("a")}, []store.TaskCandidate{team("g")}, 10_000, 0, false},
		{[]store.TaskCandidate{team("g")}, []store.TaskCandidate{user("b")}, 10_000, own + others, false},
	} {
		f.view(func(r *store.Reader) error {
			n, more, err := r.CountHumanTasks(store.TaskFilter{
				Account: 1, Environment: chargehand.Live, Candidates: c.candidates, Without: c.without,
			}, c.limit)
			if n != c.want || more != c.more {
				f.Errorf("count %d is %d, more %v, want %d, %v", i, n, more, c.want, c.more)
			}
			return err
		})
	}
}

func taskDrafts(f *fixture) {
	no := f.inserted()
	answered, withdrawn, ended := f.open(f.humanTask(no, 1)), f.open(f.humanTask(no, 2)), f.open(f.humanTask(no, 3))
	draft := func(h store.HumanTask, author int64) (d store.HumanDraft, err error) {
		f.view(func(r *store.Reader) error {
			d, err = r.HumanDraft(h.No, author)
			return nil
		})
		return d, err
	}
	for _, h := range []store.HumanTask{answered, withdrawn, ended} {
		for i, d := range []store.HumanDraft{
			{Task: h.No, Author: -4, Data: []byte(`{"a":1}`), UpdatedMs: startMs},
			{Task: h.No, Author: -4, Data: []byte(`{"a":2}`), UpdatedMs: startMs + 1},
			{Task: h.No, Author: -5, Data: []byte(`{}`), UpdatedMs: startMs},
			{Task: h.No, Author: 5, Data: []byte(`{"key":1}`), UpdatedMs: startMs},
		} {
			f.update(func(tx *store.Tx) error { return tx.PutHumanDraft(&d) })
			if got, err := draft(h, d.Author); err != nil || !reflect.DeepEqual(got, d) {
				f.Errorf("draft %d: %+v, %v", i, got, err)
			}
		}
		f.update(func(tx *store.Tx) error { return tx.DeleteHumanDraft(&h, -5) })
		if _, err := draft(h, -5); !errors.Is(err, store.ErrNotFound) {
			f.Errorf("deleted: %v", err)
		}
	}
	f.update(func(tx *store.Tx) error { return tx.ReassignTask(&withdrawn, store.TaskAssignees{}, "ada", anybody) })
	if d, err := draft(withdrawn, -4); err != nil || string(d.Data) != `{"a":2}` {
		f.Errorf("after a reassignment: %+v, %v", d, err)
	}
	f.update(func(tx *store.Tx) error { return tx.AnswerTask(&answered, -4, inline("1"), startMs+7, false) })
	f.update(func(tx *store.Tx) error { _, err := tx.WithdrawTask(no, 2, 3, startMs+4); return err })
	f.update(func(tx *store.Tx) error { _, err := finish(tx, no, startMs+9, "1"); return err })
	for _, h := range []store.HumanTask{answered, withdrawn, ended} {
		if d, err := draft(h, -4); !errors.Is(err, store.ErrNotFound) {
			f.Errorf("after the end: %+v, %v", d, err)
		}
		f.refused(store.ErrConflict, func(tx *store.Tx) error {
			return tx.PutHumanDraft(&store.HumanDraft{Task: h.No, Author: -4, Data: []byte(`{}`), UpdatedMs: startMs})
		})
	}
}

func bulkAnswers(f *fixture) {
	read := func(id taskKind) (b store.BulkAnswer, err error) {
		f.view(func(r *store.Reader) error {
			b, err = r.BulkAnswer(id)
			return nil
		})
		return b, err
	}
	var all []store.BulkAnswer
	for i := range 4 {
		b := store.BulkAnswer{ID: f.taskID(), CreatedMs: startMs + int64(i)}
		for range i {
			b.Tasks = append(b.Tasks, f.taskID())
		}
		f.update(func(tx *store.Tx) error { return tx.InsertBulkAnswer(&b) })
		if got, err := read(b.ID); err != nil || !reflect.DeepEqual(got, b) {
			f.Errorf("inserted %+v, %v", got, err)
		}
		all = append(all, b)
	}
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.InsertBulkAnswer(&all[0]) })
	for _, result := range []string{"first", "second"} { // the first one counts
		f.update(func(tx *store.Tx) error { return tx.FinishBulkAnswer(all[2].ID, []byte(result)) })
	}
	if got, err := read(all[2].ID); err != nil || string(got.Result) != "first" {
		f.Errorf("finished: %+v, %v", got, err)
	}
	for _, want := range []int64{2, 1, 0} {
		f.update(func(tx *store.Tx) error {
			n, err := tx.DeleteBulkAnswers(startMs+3, 2)
			if n != want {
				f.Errorf("%d were deleted, want %d", n, want)
			}
			return err
		})
	}
	for i, b := range all {
		if _, err := read(b.ID); errors.Is(err, store.ErrNotFound) != (i < 3) {
			f.Errorf("bulk answer %d after the deletion: %v", i, err)
		}
	}
}

func taskComments(f *fixture) {
	h := f.open(f.humanTask(f.inserted(), 1))
	var want []store.HumanComment
	for i := range 3 {
		c := store.HumanComment{
			ID: f.taskID(), Task: h.No, Author: -4, ByID: "p4", ByName: "Person", Text: fmt.Sprintf("comment %d", i), CreatedMs: startMs + int64(i),
		}
		f.update(func(tx *store.Tx) error { return tx.InsertHumanComment(&h, &c) })
		want = append(want, c)
	}
	f.view(func(r *store.Reader) error {
		got, err := r.HumanComments(h.No, 10)
		if !reflect.DeepEqual(got, want) {
			f.Errorf("comments %+v", got)
		}
		if n, err := r.CountHumanComments(h.No, 2); n != 2 || err != nil {
			f.Errorf("%d comments (%v)", n, err)
		}
		return err
	})
}
