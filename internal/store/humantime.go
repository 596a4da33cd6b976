package store

import (
	"errors"
	"fmt"

	"github.com/chargehand/chargehand"
)

// TaskTimeKind says what comes due at a TaskTime. Numbers are stored.
type TaskTimeKind uint8

// The kinds.
const (
	TaskReminder TaskTimeKind = 1 // to remind of the task
	TaskDue      TaskTimeKind = 2 // its answer
)

// fact is what is noted when such a time has come.
func (k TaskTimeKind) fact() FactKind {
	if k == TaskDue {
		return FactTaskOverdue
	}
	return FactTaskReminded
}

// TaskTime is a time at which something is to be noted of a human task that has not ended.
type TaskTime struct {
	Task  int64
	Kind  TaskTimeKind
	DueMs int64
}

// insertTaskTimes inserts the times of a task. Two reminders at the same time are one.
func (t *Tx) insertTaskTimes(h *HumanTask, remindMs []int64) error {
	times := make([]TaskTime, 0, len(remindMs)+1)
	for _, ms := range remindMs {
		times = append(times, TaskTime{h.No, TaskReminder, ms})
	}
	if h.DueMs != NeverDue {
		times = append(times, TaskTime{h.No, TaskDue, h.DueMs})
	}
	for _, at := range times {
		err := t.c.Send("insert time of a human task", `INSERT INTO human_time (task, kind, due_ms, environment) VALUES (?1, ?2, ?3, ?4)
 ON CONFLICT (task, kind, due_ms) DO NOTHING`, at.Task, int64(at.Kind), at.DueMs, int64(h.Environment))
		if err != nil {
			return err
		}
	}
	return nil
}

// TaskTimesDue reads up to limit times of an environment that are before beforeMs, the earliest first. A task is
// overdue when its due time is before now, as for TaskFilter.DueBeforeMs.
func (r *Reader) TaskTimesDue(env chargehand.Environment, beforeMs int64, limit int) ([]TaskTime, error) {
	return readAll(r, "read times of human tasks", `SELECT task, kind, due_ms FROM human_time WHERE environment = ?1 AND due_ms < ?2
 ORDER BY due_ms, task, kind LIMIT ?3`, func(row Row, at *TaskTime) {
		*at = TaskTime{row.Int(0), TaskTimeKind(row.Int(1)), row.Int(2)}
	}, int64(env), beforeMs, int64(limit))
}

// TakeTaskTimes removes the times of a kind of a task that are before nowMs, and notes them as one fact: of several
// reminders that were missed, there is one. taken is false, and nothing was written, if there are none, the task has
// ended, or another Update changes it just now: it waits for no lock.
func (t *Tx) TakeTaskTimes(task int64, kind TaskTimeKind, nowMs int64) (taken bool, err error) {
	h := HumanTask{No: task}
	err = t.one(`SELECT account, environment FROM human_task WHERE no = ?1 AND ended_ms = 0`+t.c.SkipLocked(), func(r Row) {
		h.Account, h.Environment = r.Int(0), chargehand.Environment(r.Int(1))
	}, task)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	var n int64
	if err == nil {
		n, err = t.c.Exec(`DELETE FROM human_time WHERE task = ?1 AND kind = ?2 AND due_ms < ?3`, task, int64(kind), nowMs)
	}
	if err == nil && n > 0 {
		err = t.noteTask(&h, kind.fact(), nowMs)
	}
	if err != nil {
		return false, fmt.Errorf("take times of a human task: %w", err)
	}
	return n > 0, nil
}
