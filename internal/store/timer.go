package store

import "github.com/chargehand/chargehand"

// Timer is a due command of a parked or active execution.
type Timer struct {
	Environment chargehand.Environment // of the execution
	Execution   int64
	Command     uint64
	DueMs       int64
}

// PutTimer inserts a timer. ErrConflict: the command has one.
func (t *Tx) PutTimer(tm Timer) error {
	return t.c.Send("put timer", `INSERT INTO timer (execution, command, environment, due_ms) VALUES (?1, ?2, ?3, ?4)`,
		tm.Execution, int64(tm.Command), int64(tm.Environment), tm.DueMs)
}

// DeleteTimer deletes the timer of a command, if it exists.
func (t *Tx) DeleteTimer(no int64, command uint64) error {
	return t.c.Send("delete timer", `DELETE FROM timer WHERE execution = ?1 AND command = ?2`, no, int64(command))
}

// DeleteTimers deletes all timers of an execution.
func (t *Tx) DeleteTimers(no int64) error {
	return t.c.Send("delete timers", `DELETE FROM timer WHERE execution = ?1`, no)
}

// Timers reads the timers of an execution by command.
func (r *Reader) Timers(no int64) ([]Timer, error) {
	return r.timers(`SELECT environment, execution, command, due_ms FROM timer WHERE execution = ?1 ORDER BY command`, no)
}

// TimersAfter reads up to limit timers of the environment of the given one that come after it in the order of due time,
// execution and command.
func (r *Reader) TimersAfter(after Timer, limit int) ([]Timer, error) {
	return r.timers(`SELECT environment, execution, command, due_ms FROM timer
 WHERE environment = ?1 AND (due_ms, execution, command) > (?2, ?3, ?4) ORDER BY due_ms, execution, command LIMIT ?5`,
		int64(after.Environment), after.DueMs, after.Execution, int64(after.Command), int64(limit))
}

func (r *Reader) timers(query string, args ...any) ([]Timer, error) {
	return readAll(r, "read timers", query, func(row Row, timer *Timer) {
		*timer = Timer{
			Environment: chargehand.Environment(row.Int(0)), Execution: row.Int(1), Command: uint64(row.Int(2)), DueMs: row.Int(3),
		}
	}, args...)
}
