package store

import "fmt"

// Timer is a due command of a parked or active execution.
type Timer struct {
	Execution int64
	Command   uint64
	DueMs     int64
}

// PutTimer inserts a timer. ErrConflict: the command has one.
func (t *Tx) PutTimer(tm Timer) error {
	return t.c.Send("put timer", `INSERT INTO timer (execution, command, due_ms) VALUES (?1, ?2, ?3)`, tm.Execution, int64(tm.Command), tm.DueMs)
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
	return r.timers(`SELECT execution, command, due_ms FROM timer WHERE execution = ?1 ORDER BY command`, no)
}

// TimersDue reads up to limit timers due at or before uptoMs, by due time.
func (r *Reader) TimersDue(uptoMs int64, limit int) ([]Timer, error) {
	return r.timers(`SELECT execution, command, due_ms FROM timer WHERE due_ms <= ?1 ORDER BY due_ms, execution, command LIMIT ?2`,
		uptoMs, int64(limit))
}

// TimersAfter reads up to limit timers that come after the given one in the order of due
// time, execution and command.
func (r *Reader) TimersAfter(after Timer, limit int) ([]Timer, error) {
	return r.timers(`SELECT execution, command, due_ms FROM timer WHERE (due_ms, execution, command) > (?1, ?2, ?3)
 ORDER BY due_ms, execution, command LIMIT ?4`, after.DueMs, after.Execution, int64(after.Command), int64(limit))
}

// NextTimerMs is the due time of the first timer; ok is false if there is none.
func (r *Reader) NextTimerMs() (dueMs int64, ok bool, err error) {
	err = r.c.Query(`SELECT due_ms FROM timer ORDER BY due_ms LIMIT 1`, func(row Row) error {
		dueMs, ok = row.Int(0), true
		return nil
	})
	if err != nil {
		return 0, false, fmt.Errorf("read next timer: %w", err)
	}
	return dueMs, ok, nil
}

func (r *Reader) timers(query string, args ...any) ([]Timer, error) {
	return readAll(r, "read timers", query, func(row Row, timer *Timer) {
		*timer = Timer{Execution: row.Int(0), Command: uint64(row.Int(1)), DueMs: row.Int(2)}
	}, args...)
}
