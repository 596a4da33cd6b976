package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

var factTests = map[string]func(*fixture){
	"times of human tasks":         taskTimes,
	"times end with their task":    taskTimesEnd,
	"facts of each change":         factsOfTasks,
	"facts are published in order": factsPublished,
	"readers":                      factReaders,
	"facts are published once":     factsPublishedOnce,
	"old facts":                    factsDeleted,
	"mail about human tasks":       taskMail,
}

// CheckTaskFacts complains about human tasks whose facts do not say what has happened to them: each was opened once,
// and ended once if it has ended. Facts must not have been deleted.
func CheckTaskFacts(t testing.TB, db store.DB) {
	t.Helper()
	for name, query := range map[string]string{
		"tasks that were not opened once": `SELECT COUNT(*) FROM human_task h WHERE (SELECT COUNT(*) FROM fact f WHERE f.execution = h.execution AND f.task = h.no AND f.kind = 1) <> 1`,
		"tasks that have not ended as their facts say": `SELECT COUNT(*) FROM human_task h WHERE (SELECT COUNT(*) FROM fact f WHERE f.execution = h.execution AND f.task = h.no AND f.kind = 4) <> CASE status WHEN 3 THEN 1 ELSE 0 END
 OR (SELECT COUNT(*) FROM fact f WHERE f.execution = h.execution AND f.task = h.no AND f.kind = 5) <> CASE status WHEN 4 THEN 1 ELSE 0 END`,
	} {
		err := db.View(context.Background(), func(c store.Conn) error {
			return c.Query(query, func(r store.Row) error {
				if n := r.Int(0); n != 0 {
					t.Errorf("%d %s", n, name)
				}
				return nil
			})
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// openUntil opens a task with a due time and reminders, after startMs.
func (f *fixture) openUntil(execution int64, command uint64, dueMs int64, remindMs ...int64) store.HumanTask {
	f.Helper()
	h := f.humanTask(execution, command)
	if dueMs != store.NeverDue {
		h.DueMs = startMs + dueMs
	}
	for i := range remindMs {
		remindMs[i] += startMs
	}
	f.update(func(tx *store.Tx) error { return tx.OpenTask(&h, anybody, remindMs...) })
	return h
}

// timesDue are the times of live that have come, as texts.
func (f *fixture) timesDue(nowMs int64, limit int) (list []string) {
	f.Helper()
	f.view(func(r *store.Reader) error {
		due, err := r.TaskTimesDue(chargehand.Live, startMs+nowMs, limit)
		list = []string{}
		for _, at := range due {
			list = append(list, fmt.Sprintf("%d of %d at %d", at.Kind, at.Task, at.DueMs-startMs))
		}
		return err
	})
	return list
}

func (f *fixture) takeTimes(h store.HumanTask, kind store.TaskTimeKind, nowMs int64) (taken bool) {
	f.Helper()
	f.update(func(tx *store.Tx) (err error) {
		taken, err = tx.TakeTaskTimes(h.No, kind, startMs+nowMs)
		return err
	})
	return taken
}

// facts publishes what there is and lists it as texts.
func (f *fixture) facts() (list []string) {
	f.Helper()
	f.update(func(tx *store.Tx) error { _, err := tx.PublishFacts(1000); return err })
	f.view(func(r *store.Reader) error {
		facts, err := r.Facts(0, 1000)
		list = nil
		for _, fact := range facts {
			list = append(list, fmt.Sprintf("%s of %d at %d", fact.Kind, fact.Task, fact.AtMs-startMs))
		}
		return err
	})
	return list
}

func taskTimes(f *fixture) {
	no := f.inserted()
	first := f.openUntil(no, 1, 20, 10, 15, 15)
	second := f.openUntil(no, 2, 12, 30)
	never := f.openUntil(no, 3, store.NeverDue)
	other := f.humanTask(no, 4)
	other.Environment, other.DueMs = chargehand.Test, startMs
	f.open(other)
	for _, c := range []struct {
		nowMs int64
		limit int
		want  []string
	}{
		{10, 9, nil},
		{11, 9, []string{fmt.Sprintf("1 of %d at 10", first.No)}},
		{21, 9, []string{fmt.Sprintf("1 of %d at 10", first.No), fmt.Sprintf("2 of %d at 12", second.No), fmt.Sprintf("1 of %d at 15", first.No), fmt.Sprintf("2 of %d at 20", first.No)}},
		{21, 1, []string{fmt.Sprintf("1 of %d at 10", first.No)}},
	} {
		if got := f.timesDue(c.nowMs, c.limit); !slices.Equal(got, c.want) {
			f.Errorf("due before %d: %v, want %v", c.nowMs, got, c.want)
		}
	}
	overdue := store.TaskFilter{Account: 1, Environment: chargehand.Live, Limit: 9, DueBeforeMs: startMs + 20}
	if list := f.tasks(overdue); len(list) != 1 || list[0].No != second.No {
		f.Errorf("overdue are %v", list)
	}
	for i, c := range []struct {
		task  store.HumanTask
		kind  store.TaskTimeKind
		nowMs int64
		want  bool
	}{
		{first, store.TaskReminder, 10, false},
		{first, store.TaskReminder, 16, true}, // two that were missed are one
		{first, store.TaskReminder, 17, false},
		{first, store.TaskDue, 20, false}, // not overdue yet
		{first, store.TaskDue, 21, true},
		{never, store.TaskDue, 99, false},
		{second, store.TaskReminder, 31, true},
	} {
		if got := f.takeTimes(c.task, c.kind, c.nowMs); got != c.want {
			f.Errorf("step %d: taken is %t", i, got)
		}
	}
	want := []string{
		fmt.Sprintf("task.opened of %d at 0", first.No), fmt.Sprintf("task.opened of %d at 0", second.No), fmt.Sprintf("task.opened of %d at 0", never.No),
		fmt.Sprintf("task.opened of %d at 0", never.No+1),
		fmt.Sprintf("task.reminded of %d at 16", first.No), fmt.Sprintf("task.overdue of %d at 21", first.No), fmt.Sprintf("task.reminded of %d at 31", second.No),
	}
	if got := f.facts(); !slices.Equal(got, want) {
		f.Errorf("facts %q\nwant %q", got, want)
	}
}

func taskTimesEnd(f *fixture) {
	no := f.inserted()
	answered, withdrawn, ended := f.openUntil(no, 1, 5, 3), f.openUntil(no, 2, 5, 3), f.openUntil(no, 3, 5, 3)
	f.update(func(tx *store.Tx) error { return tx.ClaimTask(&answered, -4, "p4") })
	if n := len(f.timesDue(9, 9)); n != 6 {
		f.Errorf("%d times after a change", n)
	}
	f.update(func(tx *store.Tx) error { return tx.AnswerTask(&answered, -4, inline("1"), startMs+4, true) })
	f.update(func(tx *store.Tx) error { _, err := tx.WithdrawTask(no, 2, 3, startMs+4); return err })
	if got := f.timesDue(9, 9); len(got) != 2 {
		f.Errorf("times of one task are left: %v", got)
	}
	f.update(func(tx *store.Tx) error { _, err := finish(tx, no, startMs+9, "1"); return err })
	for _, h := range []store.HumanTask{answered, withdrawn, ended} {
		if f.takeTimes(h, store.TaskDue, 99) || f.takeTimes(h, store.TaskReminder, 99) {
			f.Errorf("a time of task %d, which has ended", h.No)
		}
	}
	f.facts()
	CheckTaskFacts(f, f.db)
}

func factsOfTasks(f *fixture) {
	no := f.inserted()
	h := f.openUntil(no, 1, 5)
	late := h
	f.update(func(tx *store.Tx) error { return tx.ClaimTask(&h, -4, "p4") })
	f.update(func(tx *store.Tx) error { return tx.AnswerTask(&h, -4, inline("1"), startMs+7, false) })
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.AnswerTask(&late, -5, inline("2"), startMs+8, false) })
	f.update(func(tx *store.Tx) error { _, err := tx.UseAnswer(no, 1); return err })
	f.update(func(tx *store.Tx) error { _, err := tx.WithdrawTask(no, 1, 3, startMs+8); return err })
	other := f.openUntil(no, 2, 5)
	f.update(func(tx *store.Tx) error { _, err := finish(tx, no, startMs+9, "1"); return err })
	want := []string{
		fmt.Sprintf("task.opened of %d at 0", h.No), fmt.Sprintf("task.answered of %d at 7", h.No), fmt.Sprintf("task.opened of %d at 0", other.No),
		fmt.Sprintf("task.withdrawn of %d at 9", other.No),
	}
	if got := f.facts(); !slices.Equal(got, want) {
		f.Errorf("facts %q\nwant %q", got, want)
	}
	CheckTaskFacts(f, f.db)
	f.deleteEnded(chargehand.Live, startMs+10, 10)
	if got := f.facts(); len(got) != 0 {
		f.Errorf("facts of an execution that was deleted: %q", got)
	}
}

func factsPublished(f *fixture) {
	no := f.inserted()
	var published []int
	for i := range 5 {
		f.openUntil(no, uint64(i+1), 5)
	}
	for range 3 {
		f.update(func(tx *store.Tx) error {
			n, err := tx.PublishFacts(4)
			published = append(published, n)
			return err
		})
	}
	if !slices.Equal(published, []int{4, 1, 0}) {
		f.Errorf("published %v", published)
	}
	f.view(func(r *store.Reader) error {
		facts, err := r.Facts(2, 2)
		if len(facts) != 2 || facts[0].Number != 3 || facts[1].Number != 4 || facts[0].Kind != store.FactTaskOpened || facts[0].Execution != no ||
			facts[0].Account != 1 || facts[0].Environment != chargehand.Live || facts[0].Workflow != 7 || facts[0].AtMs != startMs {
			f.Errorf("facts behind 2: %+v", facts)
		}
		if waits, err := r.UnpublishedFacts(); waits || err != nil {
			f.Errorf("there are facts to be published (%v)", err)
		}
		return err
	})
}

func factReaders(f *fixture) {
	no := f.inserted()
	follow := func(name string) (number int64) {
		f.Helper()
		f.update(func(tx *store.Tx) error {
			n, ok, err := tx.FollowFacts(name)
			if number = n; !ok {
				f.Errorf("the cursor of %s is locked", name)
			}
			return err
		})
		return number
	}
	behind := func(name string) (is bool) {
		f.Helper()
		f.view(func(r *store.Reader) (err error) {
			is, err = r.FactsBehind(name)
			return err
		})
		return is
	}
	early := follow("early")
	f.openUntil(no, 1, 5)
	f.facts()
	if late := follow("late"); early != 0 || late != 1 || !behind("early") || behind("late") || !behind("unknown") {
		f.Errorf("early begins at %d and late at %d", early, late)
	}
	f.update(func(tx *store.Tx) error { return tx.MoveFactCursor("early", 1, "half") })
	part := func(name string) (part string, err error) {
		f.view(func(r *store.Reader) error { part, err = r.FactPart(name); return nil })
		return part, err
	}
	if got, err := part("early"); got != "half" || err != nil {
		f.Errorf("the part is %q (%v)", got, err)
	}
	if got, err := part("late"); got != "" || err != nil {
		f.Errorf("the part of another is %q (%v)", got, err)
	}
	if _, err := part("unknown"); !errors.Is(err, store.ErrNotFound) {
		f.Errorf("the part of none: %v", err)
	}
	if behind("early") || follow("early") != 1 {
		f.Error("early has not moved")
	}
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.MoveFactCursor("unknown", 1, "") })
}

// factsPublishedOnce has two publish at the same time.
func factsPublishedOnce(f *fixture) {
	no := f.inserted()
	for i := range 40 {
		f.openUntil(no, uint64(i+1), 5)
	}
	var working sync.WaitGroup
	for range 4 {
		working.Go(func() {
			for range 20 {
				err := f.Update(context.Background(), func(tx *store.Tx) error { _, err := tx.PublishFacts(3); return err })
				if err != nil {
					f.Error(err)
				}
			}
		})
	}
	working.Wait()
	if got := f.facts(); len(got) != 40 {
		f.Errorf("%d facts", len(got))
	}
	f.view(func(r *store.Reader) error {
		facts, err := r.Facts(0, 100)
		for i, fact := range facts {
			if fact.Number != int64(i+1) {
				f.Errorf("fact %d has the number %d", i+1, fact.Number)
			}
		}
		return err
	})
}

func factsDeleted(f *fixture) {
	no := f.inserted()
	for i := range 4 {
		h := f.humanTask(no, uint64(i+1))
		h.CreatedMs = startMs + int64(i)
		f.open(h)
	}
	f.facts()
	var deleted []int64
	for range 3 {
		f.update(func(tx *store.Tx) error {
			n, err := tx.DeleteFacts(startMs+3, 2)
			deleted = append(deleted, n)
			return err
		})
	}
	if got := f.facts(); !slices.Equal(deleted, []int64{2, 1, 0}) || len(got) != 1 {
		f.Errorf("deleted %v, left %q", deleted, got)
	}
	f.openUntil(no, 9, 5)
	f.facts()
	f.view(func(r *store.Reader) error {
		facts, err := r.Facts(4, 9)
		if len(facts) != 1 || facts[0].Number != 5 {
			f.Errorf("the next fact is %+v", facts)
		}
		return err
	})
}

func taskMail(f *fixture) {
	mail := func(workflow, person int64, address string) store.TaskMail {
		return store.TaskMail{Account: 1, Environment: chargehand.Live, Workflow: workflow, Task: 5, Fact: store.FactTaskOpened, Person: person, Address: address}
	}
	insert := func(nowMs int64, mails ...store.TaskMail) (left int) {
		f.Helper()
		f.update(func(tx *store.Tx) (err error) {
			left, err = tx.InsertTaskMail(mails, 3, startMs+nowMs)
			return err
		})
		return left
	}
	if left := insert(5, mail(1, 4, ""), mail(1, 0, "ä@example.org")); left != 0 {
		f.Errorf("%d left out", left)
	}
	if left := insert(6, mail(1, 5, ""), mail(1, 6, "")); left != 1 {
		f.Errorf("%d left out, want 1", left)
	}
	insert(2, mail(2, 9, ""))
	insert(1)
	f.view(func(r *store.Reader) error {
		due, err := r.TaskMailDue(startMs+6, 9)
		if len(due) != 2 || due[0].Workflow != 2 || due[1] != (store.TaskMailRate{Account: 1, Workflow: 1, Environment: chargehand.Live, DueMs: startMs + 6, Waiting: 3}) {
			f.Errorf("due are %+v", due)
		}
		if due, _ := r.TaskMailDue(startMs+1, 9); len(due) != 0 {
			f.Errorf("due early are %+v", due)
		}
		if n, err := r.CountTaskMail(); n != 4 || err != nil {
			f.Errorf("%d wait (%v)", n, err)
		}
		return err
	})
	f.update(func(tx *store.Tx) error {
		rate, ok, err := tx.LockTaskMailRate(1, chargehand.Live)
		if !ok || err != nil {
			f.Errorf("no rate (%v)", err)
		}
		mails, err := tx.WaitingTaskMail(1, chargehand.Live, 2)
		if len(mails) != 2 || mails[0].Person != 4 || mails[0].Address != "" || mails[1].Address != "ä@example.org" || mails[1].Workflow != 1 || mails[1].Fact != store.FactTaskOpened {
			f.Errorf("mails %+v", mails)
		}
		if err != nil {
			return err
		}
		if err := tx.EndTaskMail(mails[0].No); err != nil {
			return err
		}
		rate.DueMs, rate.MinuteMs, rate.Sent, rate.Waiting = startMs+70, startMs+10, 1, 2
		return tx.MoveTaskMailRate(&rate)
	})
	f.refused(store.ErrConflict, func(tx *store.Tx) error { return tx.EndTaskMail(99_999) })
	f.update(func(tx *store.Tx) error {
		rate, _, err := tx.LockTaskMailRate(1, chargehand.Live)
		if rate != (store.TaskMailRate{Account: 1, Workflow: 1, Environment: chargehand.Live, DueMs: startMs + 70, MinuteMs: startMs + 10, Sent: 1, Waiting: 2}) {
			f.Errorf("moved to %+v", rate)
		}
		if _, ok, _ := tx.LockTaskMailRate(1, chargehand.Test); ok {
			f.Error("there is a rate in the other environment")
		}
		return err
	})
	f.update(func(tx *store.Tx) error {
		rate, _, err := tx.LockTaskMailRate(2, chargehand.Live)
		if err != nil {
			return err
		}
		mails, err := tx.WaitingTaskMail(2, chargehand.Live, 9)
		if err != nil {
			return err
		}
		rate.Waiting, rate.Sent = 0, 0
		if err := tx.EndTaskMail(mails[0].No); err != nil {
			return err
		}
		return tx.MoveTaskMailRate(&rate)
	})
	if n := f.number(`SELECT COUNT(*) FROM task_mail_rate`); n != 1 {
		f.Errorf("%d rates", n)
	}
	// Accounts take turns, whatever number of workflows they have.
	for i := range int64(3) {
		insert(80+i, mail(10+i, 4, ""))
	}
	other := mail(20, 4, "")
	other.Account = 2
	insert(90, other, other)
	f.view(func(r *store.Reader) error {
		due, err := r.TaskMailDue(startMs+99, 4)
		var order []int64
		for _, rate := range due {
			order = append(order, rate.Workflow)
		}
		if !slices.Equal(order, []int64{1, 20, 10, 11}) || due[1].Account != 2 {
			f.Errorf("the order is %v", order)
		}
		waiting, err2 := r.TaskMailOfAccounts()
		if !maps.Equal(waiting, map[int64]int64{1: 5, 2: 2}) || err2 != nil {
			f.Errorf("of accounts wait %v (%v)", waiting, err2)
		}
		return err
	})
}
