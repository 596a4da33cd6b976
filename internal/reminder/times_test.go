package reminder

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/store"
)

func (f *fixture) wantFacts(want ...string) {
	f.Helper()
	if got := f.facts(); !slices.Equal(got, want) {
		f.Errorf("facts are %q, want %q\n%s", got, want, f.log.String())
	}
}

func (f *fixture) overdue() int {
	var list []store.HumanTask
	f.view(func(r *store.Reader) (err error) {
		list, err = r.HumanTasks(store.TaskFilter{Account: f.account.No, Environment: chargehand.Live, Limit: 100, DueBeforeMs: f.now().UnixMilli()})
		return err
	})
	return len(list)
}

// A time becomes a fact when it has passed, once, and a task is overdue in lists from the same millisecond on.
func TestTimesBecomeFacts(t *testing.T) {
	each(t, func(f *fixture) {
		w := f.worker(nil)
		h := f.open(f.task(f.execution, users("ada@example.org")), 2*time.Hour, time.Hour, 3*time.Hour)
		opened, reminded, overdue := fmt.Sprintf("task.opened %d", h.No), fmt.Sprintf("task.reminded %d", h.No), fmt.Sprintf("task.overdue %d", h.No)
		f.step(w)
		f.wantFacts(opened)
		f.advance(time.Hour)
		f.step(w)
		f.wantFacts(opened)
		f.advance(time.Millisecond)
		f.step(w)
		f.step(w)
		f.wantFacts(opened, reminded)
		f.advance(time.Hour - time.Millisecond)
		f.step(w)
		if n := f.overdue(); n != 0 {
			f.Errorf("%d are overdue at the due time", n)
		}
		f.wantFacts(opened, reminded)
		f.advance(time.Millisecond)
		f.step(f.worker(nil)) // another process
		if n := f.overdue(); n != 1 {
			f.Errorf("%d are overdue behind the due time", n)
		}
		f.wantFacts(opened, reminded, overdue)
		f.update(func(tx *store.Tx) error {
			return tx.AnswerTask(&h, -1, engine.Inline("yes"), f.now().UnixMilli(), true)
		})
		f.advance(24 * time.Hour)
		f.step(w)
		f.wantFacts(opened, reminded, overdue, fmt.Sprintf("task.answered %d", h.No))
		if got := w.Stats(); got.Noted != 1 {
			f.Errorf("%+v", got)
		}
	})
}

// After the server was down for long, a task is reminded of once, and one that has ended not at all.
func TestMissedTimes(t *testing.T) {
	each(t, func(f *fixture) {
		h := f.open(f.task(f.execution, users("ada@example.org")), 4*time.Hour, time.Hour, 2*time.Hour, 3*time.Hour)
		ended := f.open(f.task(f.execution, users("ada@example.org")), 4*time.Hour, time.Hour)
		f.update(func(tx *store.Tx) error {
			_, err := tx.WithdrawTask(f.execution.No, ended.Command, 2, f.now().UnixMilli())
			return err
		})
		f.advance(48 * time.Hour)
		f.step(f.worker(nil))
		f.wantFacts(fmt.Sprintf("task.opened %d", h.No), fmt.Sprintf("task.opened %d", ended.No), fmt.Sprintf("task.withdrawn %d", ended.No),
			fmt.Sprintf("task.reminded %d", h.No), fmt.Sprintf("task.overdue %d", h.No))
	})
}

// However many times have come in one environment, those of the other are noted in the same step.
func TestEnvironmentsShareAStep(t *testing.T) {
	f := newSQLite(t)
	w := f.worker(nil)
	for range 3 * timesAtOnce {
		f.open(f.task(f.newExecution(f.workflow, chargehand.Test), users("ada@example.org")), time.Second)
	}
	for range 2 {
		f.open(f.task(f.execution, users("ada@example.org")), time.Hour)
	}
	f.advance(2 * time.Hour)
	if more, err := w.Step(t.Context()); err != nil || !more {
		t.Fatal(more, err)
	}
	if got := w.Stats().Noted; got != timesAtOnce+2 {
		t.Errorf("%d were noted in a step, want %d", got, timesAtOnce+2)
	}
	f.step(w)
	if got := w.Stats().Noted; got != 3*timesAtOnce+2 {
		t.Errorf("%d were noted", got)
	}
}

// Nodes that work at the same time note each time once, also while tasks are answered.
func TestConcurrentNodes(t *testing.T) {
	each(t, func(f *fixture) {
		const tasks = 60
		var opened []store.HumanTask
		for range tasks {
			opened = append(opened, f.open(f.task(f.newExecution(f.workflow, chargehand.Live), users("ada@example.org")), time.Minute, time.Second))
		}
		f.advance(time.Hour)
		var working sync.WaitGroup
		for range 3 {
			working.Go(func() { f.step(f.worker(nil)) }) // without leases
		}
		working.Go(func() {
			for i := range opened {
				h := opened[i]
				err := f.store.Update(context.Background(), func(tx *store.Tx) error {
					return tx.AnswerTask(&h, -1, engine.Inline("yes"), f.now().UnixMilli(), true)
				})
				if err != nil {
					f.Error(err)
				}
			}
		})
		working.Wait()
		f.step(f.worker(nil))
		counts, ended := map[string]int{}, map[string]bool{}
		for _, fact := range f.facts() {
			var kind string
			var no int64
			fmt.Sscanf(fact, "%s %d", &kind, &no)
			if counts[fact]++; counts[fact] > 1 {
				t.Errorf("%s twice", fact)
			}
			if task := fmt.Sprint(no); ended[task] {
				t.Errorf("%s behind its answer", fact)
			} else if kind == "task.answered" {
				ended[task] = true
			}
		}
		if len(ended) != tasks {
			t.Errorf("%d were answered", len(ended))
		}
	})
}

// Of nodes on one database, one has the lease, and another one continues when it ends or stops.
func TestOneNodeHasTheLease(t *testing.T) {
	each(t, func(f *fixture) {
		var workers []*Worker
		for range 2 {
			w := f.worker(nil)
			w.config.Shared = true
			workers = append(workers, w)
		}
		open := func() {
			f.open(f.task(f.execution, users("ada@example.org")), 0, time.Second)
			f.advance(2 * time.Second)
		}
		noted := func() (n [2]int64) { return [2]int64{workers[0].Stats().Noted, workers[1].Stats().Noted} }
		open()
		f.step(workers[0])
		open()
		f.step(workers[1])
		if got := noted(); got != [2]int64{1, 0} {
			t.Errorf("noted %v", got)
		}
		f.advance(leaseTime) // the first one has died
		f.step(workers[1])
		if got := noted(); got != [2]int64{1, 1} {
			t.Errorf("noted %v", got)
		}
		workers[1].release(t.Context())
		open()
		f.step(workers[0])
		if got := noted(); got != [2]int64{2, 1} {
			t.Errorf("noted %v", got)
		}
	})
}

// TestRunStops: it works by itself, says when the database cannot be used, and ends with its context.
func TestRunStops(t *testing.T) {
	f := newSQLite(t)
	w := f.worker(nil)
	w.config.Every = time.Millisecond
	f.open(f.task(f.execution, users("ada@example.org")), time.Second)
	f.advance(time.Minute)
	f.db.breakAt(1, false)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.Run(ctx)
	}()
	f.eventually("a line of the log", func() bool { return f.logged("the times of human tasks cannot be looked at") == 1 })
	f.db.breakAt(0, false)
	f.eventually("it is noted", func() bool { return w.Stats().Noted == 1 })
	cancel()
	<-done
	if n := f.logged("the times of human tasks cannot be looked at"); n != 1 {
		t.Errorf("%d lines", n)
	}
}

// stepAll does all that is to be done now.
func (f *fixture) stepAll(w *Worker) error {
	for {
		more, err := w.Step(context.Background())
		if err != nil || !more {
			return err
		}
	}
}
