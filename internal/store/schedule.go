package store

import (
	"errors"
	"fmt"
	"math"

	"github.com/chargehand/chargehand"
)

// NeverMs is the time of what never comes.
const NeverMs = math.MaxInt64

// Schedule says when the published version of a workflow starts by itself next. Of the times,
// 0 is still to be worked out, and NeverMs never comes.
type Schedule struct {
	No       int64 // never used twice; a version that is published gets another one
	Workflow int64
	Account  int64
	Revision int64
	Step     int64 // counts what was done with the row
	// ActivatedMs is when the version was published; 0 if that was before there were schedules.
	ActivatedMs int64
	DueMs       int64 // when to look at the row next; the caller sets it
	EveryMs     int64 // the next tick of `every`
	CronMs      int64
	AfterMs     int64
	TickMs      int64 // the last tick that was started; 0: none
	Execution   int64 // whose end `after` waits for; 0: none
	Listens     bool  // the version has `on`, and was looked at once
	Position    int64 // number of the last event that was taken or needs no look
}

const selectSchedule = `SELECT s.no, s.workflow, s.account, s.revision, s.step, s.activated_ms, s.due_ms, s.every_ms, s.cron_ms, s.after_ms,
 s.tick_ms, s.execution, s.listens, s.position FROM schedule s`

func scanSchedule(r Row, s *Schedule) {
	*s = Schedule{
		No: r.Int(0), Workflow: r.Int(1), Account: r.Int(2), Revision: r.Int(3), Step: r.Int(4), ActivatedMs: r.Int(5),
		DueMs: r.Int(6), EveryMs: r.Int(7), CronMs: r.Int(8), AfterMs: r.Int(9), TickMs: r.Int(10), Execution: r.Int(11),
		Listens: r.Int(12) != 0, Position: r.Int(13),
	}
}

// ActivateSchedule replaces the schedule of a workflow by that of a revision, which is due at once,
// so that its times are worked out. It takes in events from now on. Lock the workflow before.
func (t *Tx) ActivateSchedule(account, workflow, revision, nowMs int64) error {
	if err := t.DeactivateSchedule(workflow); err != nil {
		return err
	}
	stream, err := t.Stream(account, chargehand.Live)
	if err != nil {
		return err
	}
	_, err = t.insert("activate schedule", `INSERT INTO schedule (workflow, account, revision, step, activated_ms, due_ms, every_ms, cron_ms,
 after_ms, tick_ms, execution, listens, position) VALUES (?1, ?2, ?3, 0, ?4, 0, 0, 0, 0, 0, 0, 0, ?5)`,
		workflow, account, revision, nowMs, stream.Last)
	return err
}

// DeactivateSchedule deletes the schedule of a workflow, if it has one. Executions that it has started keep running.
func (t *Tx) DeactivateSchedule(workflow int64) error {
	return t.dropSchedules(`DELETE FROM schedule WHERE workflow = ?1 RETURNING no`, workflow)
}

// DeleteSchedule deletes a schedule that is as it was read. ErrConflict: it is not.
func (t *Tx) DeleteSchedule(s *Schedule) error {
	if err := t.takeSchedule(s); err != nil {
		return err
	}
	return t.dropSchedules(`DELETE FROM schedule WHERE no = ?1 RETURNING no`, s.No)
}

func (t *Tx) dropSchedules(query string, args ...any) error {
	nos, err := t.numbers(query, args...)
	if err != nil {
		return fmt.Errorf("delete schedule: %w", err)
	}
	for _, no := range nos {
		if err := t.dropMatches(`DELETE FROM schedule_match WHERE schedule = ?1 RETURNING state_blob`, no); err != nil {
			return err
		}
	}
	return nil
}

// takeSchedule locks a schedule that is as it was read. It does not wait: who holds the lock
// changes the row.
func (t *Tx) takeSchedule(s *Schedule) error {
	err := t.one(`SELECT no FROM schedule WHERE no = ?1 AND step = ?2`+t.c.SkipLocked(), func(Row) {}, s.No, s.Step)
	if errors.Is(err, ErrNotFound) {
		err = ErrConflict
	}
	if err != nil {
		return fmt.Errorf("take schedule: %w", err)
	}
	return nil
}

// MoveSchedule writes the times, the last tick, the execution and the place in the stream of a
// schedule that is as it was read, and counts its step, in the row only. ErrConflict: another process has changed or
// replaced it, or is about to; nothing was written.
func (t *Tx) MoveSchedule(s *Schedule) error {
	if err := t.takeSchedule(s); err != nil {
		return err
	}
	return t.change("move schedule", `UPDATE schedule SET step = step + 1, activated_ms = ?3, due_ms = ?4, every_ms = ?5, cron_ms = ?6, after_ms = ?7,
 tick_ms = ?8, execution = ?9, listens = ?10, position = ?11 WHERE no = ?1 AND step = ?2`,
		s.No, s.Step, s.ActivatedMs, s.DueMs, s.EveryMs, s.CronMs, s.AfterMs, s.TickMs, s.Execution, flagArg(s.Listens), s.Position)
}

// ForgetCronTimes makes the times of `cron` be worked out anew: the time zone has changed.
func (t *Tx) ForgetCronTimes() error {
	return t.c.Send("forget cron times", `UPDATE schedule SET step = step + 1, cron_ms = 0, due_ms = 0 WHERE due_ms >= 0 AND cron_ms <> 0 AND cron_ms < ?1`, int64(NeverMs))
}

func (r *Reader) schedules(query string, args ...any) ([]Schedule, error) {
	return readAll(r, "read schedules", selectSchedule+query, scanSchedule, args...)
}

// ScheduleOf reads the schedule of a workflow. Errors: ErrNotFound.
func (r *Reader) ScheduleOf(workflow int64) (Schedule, error) {
	return readOne(r, "read schedule", selectSchedule+` WHERE s.workflow = ?1`, scanSchedule, workflow)
}

// SchedulesDue reads up to limit schedules that are due at uptoMs, the longest due first, those
// behind after (zero: from the first).
func (r *Reader) SchedulesDue(uptoMs int64, after Schedule, limit int) ([]Schedule, error) {
	return r.schedules(` WHERE s.due_ms <= ?1 AND (s.due_ms, s.no) > (?2, ?3) ORDER BY s.due_ms, s.no LIMIT ?4`,
		uptoMs, after.DueMs, after.No, int64(limit))
}

// ListeningSchedules reads up to limit schedules with `on` behind the one with number after.
func (r *Reader) ListeningSchedules(after int64, limit int) ([]Schedule, error) {
	return r.schedules(` WHERE s.listens = 1 AND s.no > ?1 ORDER BY s.no LIMIT ?2`, after, int64(limit))
}

// ScheduleEnd is the end of an execution that a schedule waits for. EndedMs is 0 if it is gone.
type ScheduleEnd struct {
	Schedule
	EndedMs int64
}

// EndedSchedules reads up to limit schedules whose execution has ended. It looks at each
// execution that a schedule waits for.
func (r *Reader) EndedSchedules(limit int) ([]ScheduleEnd, error) {
	return readAll(r, "read schedules whose execution has ended", `SELECT s.no, s.workflow, s.account, s.revision, s.step, s.activated_ms, s.due_ms, s.every_ms, s.cron_ms, s.after_ms,
 s.tick_ms, s.execution, s.listens, s.position, COALESCE(e.finished_ms, 0)
 FROM schedule s LEFT JOIN execution e ON e.no = s.execution
 WHERE s.execution <> 0 AND s.execution > 0 AND (e.no IS NULL OR e.state = 0) LIMIT ?1`, func(row Row, e *ScheduleEnd) {
		scanSchedule(row, &e.Schedule)
		e.EndedMs = row.Int(14)
	}, int64(limit))
}

// Agenda is what schedules wait for.
type Agenda struct {
	Any     bool  // there are schedules
	NextMs  int64 // the first time that is due after nowMs; NeverMs: none
	Awaits  bool  // some wait for the end of an execution
	Listens bool  // some wait for events
}

// Agenda reads what schedules wait for. It looks at four index entries.
func (r *Reader) Agenda(nowMs int64) (Agenda, error) {
	return readOne(r, "read agenda", `SELECT CASE WHEN EXISTS (SELECT 1 FROM schedule WHERE no > 0) THEN 1 ELSE 0 END,
 COALESCE((SELECT due_ms FROM schedule WHERE due_ms > ?1 ORDER BY due_ms LIMIT 1), ?2),
 CASE WHEN EXISTS (SELECT 1 FROM schedule WHERE execution <> 0 AND execution > 0) THEN 1 ELSE 0 END,
 CASE WHEN EXISTS (SELECT 1 FROM schedule WHERE listens = 1 AND no > 0) THEN 1 ELSE 0 END`, func(row Row, a *Agenda) {
		*a = Agenda{Any: row.Int(0) != 0, NextMs: row.Int(1), Awaits: row.Int(2) != 0, Listens: row.Int(3) != 0}
	}, nowMs, int64(NeverMs))
}

// Match is what a schedule has taken of the events that one run needs.
type Match struct {
	Schedule int64
	Number   int64 // of the first event in it
	State    Payload
	Starter  int64 // of the execution that its events start; 0: it has no limits
}

// PutMatch writes a match, new or not. The schedule must be moved in the same Update.
func (t *Tx) PutMatch(m Match) error {
	if err := t.DeleteMatch(m.Schedule, m.Number); err != nil {
		return err
	}
	inline := m.State.Inline
	if inline == nil {
		inline = []byte{}
	}
	err := t.c.Send("put match", `INSERT INTO schedule_match (schedule, number, state, state_blob, state_size, starter)
 VALUES (?1, ?2, ?3, ?4, ?5, ?6)`,
		m.Schedule, m.Number, t.seal(kindMatch, rowKey{m.Schedule, m.Number}, inline), t.hide(m.State.Blob), sizeArg(m.State), m.Starter)
	if err != nil {
		return err
	}
	return t.refBlob(m.State.Blob)
}

// DeleteMatch deletes a match, if it exists.
func (t *Tx) DeleteMatch(schedule, number int64) error {
	return t.dropMatches(`DELETE FROM schedule_match WHERE schedule = ?1 AND number = ?2 RETURNING state_blob`, schedule, number)
}

func (t *Tx) dropMatches(query string, args ...any) error {
	var blobs [][]byte
	err := t.c.Query(query, func(r Row) error {
		if b := r.Bytes(0); b != nil {
			blobs = append(blobs, b)
		}
		return nil
	}, args...)
	if err != nil {
		return fmt.Errorf("delete matches: %w", err)
	}
	return t.unrefBlobs(blobs)
}

// Matches reads the matches of a schedule, by number.
func (r *Reader) Matches(schedule int64) ([]Match, error) {
	return readAll(r, "read matches", `SELECT number, state, state_blob, state_size, starter FROM schedule_match WHERE schedule = ?1 ORDER BY number`, func(row Row, m *Match) {
		*m = Match{Schedule: schedule, Number: row.Int(0), State: r.payload(row, 1, kindMatch, rowKey{schedule, row.Int(0)}), Starter: row.Int(4)}
	}, schedule)
}
