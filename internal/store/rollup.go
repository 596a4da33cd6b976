package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/histogram"
)

// RollupKey says what a Rollup is of.
type RollupKey struct {
	Account     int64
	Environment chargehand.Environment
	Workflow    int64 // 0: of all
	Actor       int64 // what it has started, as in Execution.StartedBy; 0: all
	Day         bool  // of a day in UTC instead of an hour
	HourMs      int64 // beginning of the hour or day
}

// day is Day as it is stored.
func (k *RollupKey) day() int64 {
	if k.Day {
		return 1
	}
	return 0
}

// Rollup is how many executions of its key were accepted in the hour or day, and how many ended in it.
type Rollup struct {
	Started   int64
	Finished  int64
	Failed    int64 // cancelled ones are not among them
	Cancelled int64
	Durations histogram.Histogram // from start to end, of those that finished or failed
}

// Merge adds the counts of o.
func (c *Rollup) Merge(o *Rollup) {
	c.Started, c.Finished, c.Failed, c.Cancelled = c.Started+o.Started, c.Finished+o.Finished, c.Failed+o.Failed, c.Cancelled+o.Cancelled
	c.Durations.Merge(o.Durations)
}

// Remove takes away the counts of o, which must be a part of c.
func (c *Rollup) Remove(o *Rollup) {
	c.Started, c.Finished, c.Failed, c.Cancelled = c.Started-o.Started, c.Finished-o.Finished, c.Failed-o.Failed, c.Cancelled-o.Cancelled
	c.Durations.Remove(o.Durations)
}

// Rollups are rollups by their keys.
type Rollups map[RollupKey]*Rollup

// HourMs is the length of an hour, and DayMs that of a day.
const (
	HourMs = 3_600_000
	DayMs  = 24 * HourMs
)

// add counts something in the hour and the day of a time, in every rollup that an execution belongs to.
func (c Rollups) add(e *Execution, ms int64, count func(*Rollup)) {
	for _, workflow := range [...]int64{0, e.Workflow} {
		key := RollupKey{Account: e.Account, Environment: e.Environment, Workflow: workflow}
		c.addTime(key, ms, count)
		if key.Actor = e.StartedBy; key.Actor != 0 {
			c.addTime(key, ms, count)
		}
	}
}

func (c Rollups) addTime(key RollupKey, ms int64, count func(*Rollup)) {
	key.HourMs = ms - ms%HourMs
	count(c.at(key))
	key.Day, key.HourMs = true, ms-ms%DayMs
	count(c.at(key))
}

func (c Rollups) at(key RollupKey) *Rollup {
	if c[key] == nil {
		c[key] = new(Rollup)
	}
	return c[key]
}

// AddStarted counts that an execution was accepted.
func (c Rollups) AddStarted(e *Execution) {
	c.add(e, e.ID.Milli(), func(r *Rollup) { r.Started++ })
}

// AddEnded counts the end of an execution.
func (c Rollups) AddEnded(e *Execution) {
	c.add(e, e.FinishedMs, func(r *Rollup) { r.end(e) })
}

func (c *Rollup) end(e *Execution) {
	switch {
	case e.Phase == chargehand.Cancelled:
		c.Cancelled++
		return
	case e.Status == chargehand.Finished:
		c.Finished++
	default:
		c.Failed++
	}
	if e.StartedMs != 0 {
		c.Durations.Add(e.FinishedMs - e.StartedMs)
	}
}

// tally counts executions before they are added to rollups: each execution belongs to eight, and many follow each other
// that belong to the same.
type tally struct {
	parts          map[RollupKey]*Rollup // by workflow and actor; 0 is an actor of its own
	started, ended struct {              // of the last execution
		key  RollupKey
		part *Rollup
	}
}

func (t *tally) addStarted(e *Execution) {
	if key := partOf(e, e.ID.Milli()); t.started.part == nil || key != t.started.key {
		t.started.key, t.started.part = key, t.at(key)
	}
	t.started.part.Started++
}

func (t *tally) addEnded(e *Execution) {
	if key := partOf(e, e.FinishedMs); t.ended.part == nil || key != t.ended.key {
		t.ended.key, t.ended.part = key, t.at(key)
	}
	t.ended.part.end(e)
}

func (t *tally) at(key RollupKey) *Rollup {
	if t.parts == nil {
		t.parts = make(map[RollupKey]*Rollup)
	}
	return Rollups(t.parts).at(key)
}

func partOf(e *Execution, ms int64) RollupKey {
	return RollupKey{Account: e.Account, Environment: e.Environment, Workflow: e.Workflow, Actor: e.StartedBy, HourMs: ms - ms%HourMs}
}

// rollups are what was counted.
func (t *tally) rollups() Rollups {
	all := make(Rollups, 4*len(t.parts)+4)
	for key, part := range t.parts {
		all.add(&Execution{Account: key.Account, Environment: key.Environment, Workflow: key.Workflow, StartedBy: key.Actor}, key.HourMs,
			func(r *Rollup) { r.Merge(part) })
	}
	return all
}

// RollupCursor is how far executions were counted (DESIGN.md "Rollups").
type RollupCursor struct {
	Counted int64 // number of the last execution that was counted
	Closing int64 // up to it they are being counted: the end of one of them is noted in rollup_ended
	Step    int64 // counts the changes of the row and of all rollups; 0: there is no row yet
	AsOfMs  int64 // all that had happened by then is counted
	// ClosingMs is when Closing was set.
	ClosingMs int64
}

const selectRollupCursor = `SELECT counted, closing, step, as_of_ms, closing_ms FROM rollup_cursor WHERE one = 1`

func (r *Reader) rollupCursor(lock string) (c RollupCursor, err error) {
	err = r.one(selectRollupCursor+lock, func(row Row) {
		c = RollupCursor{row.Int(0), row.Int(1), row.Int(2), row.Int(3), row.Int(4)}
	})
	if err != nil && !errors.Is(err, ErrNotFound) {
		return RollupCursor{}, fmt.Errorf("read rollup cursor: %w", err)
	}
	return c, nil
}

// RollupState reads how far executions were counted, and tells whether anything is left to count.
func (r *Reader) RollupState() (c RollupCursor, behind bool, err error) {
	if c, err = r.rollupCursor(""); err != nil {
		return c, false, err
	}
	last, err := r.lastExecution()
	if err != nil || last > c.Counted {
		return c, true, err
	}
	behind, err = r.exists("look for ends to count", `SELECT 1 FROM rollup_ended WHERE execution > ?1 LIMIT 1`, int64(0))
	return c, behind, err
}

// lastExecution is the largest number of an execution; 0: there is none.
func (r *Reader) lastExecution() (int64, error) {
	return r.count("read last execution", `SELECT COALESCE(MAX(no), 0) FROM execution`)
}

// CloseRollup lets the executions that there are now be counted. When all Updates have ended that run at this moment
// (Writers), each of them either has not ended, or its end is visible or noted. Errors: ErrConflict, if the cursor was
// changed since it was read.
func (t *Tx) CloseRollup(c RollupCursor, nowMs int64) error {
	return t.change("close rollup", `INSERT INTO rollup_cursor (one, counted, closing, step, as_of_ms, closing_ms)
 VALUES (1, 0, (SELECT COALESCE(MAX(no), 0) FROM execution), 1, 0, ?2)
 ON CONFLICT (one) DO UPDATE SET closing = excluded.closing, step = rollup_cursor.step + 1, closing_ms = ?2 WHERE rollup_cursor.step = ?1`, c.Step, nowMs)
}

// RollupPart is what a View has counted of the executions up to Closing.
type RollupPart struct {
	cursor RollupCursor
	upTo   int64   // the last execution that was counted
	ended  []int64 // whose noted ends were counted
	values Rollups // as they are to be written
	Last   bool    // everything up to Closing is counted with it
}

// maxParts bounds what one RollupPart counts apart, so that its Update is short: each of them is in four rollups of its
// own, and in four that it shares with others.
const maxParts = 100

// RollupPart counts up to limit executions, and up to limit ends of those that were counted before they ended.
func (r *Reader) RollupPart(limit int) (p RollupPart, err error) {
	if p.cursor, err = r.rollupCursor(""); err != nil {
		return p, err
	}
	var counted tally
	started, noted, err := r.countStarted(&p, &counted, limit)
	ended := false
	if err == nil {
		ended, err = r.countEnded(&p, &counted, limit)
	}
	if err == nil {
		p.values, err = r.currentRollups(counted.rollups())
	}
	p.Last = !started && !noted && !ended
	if p.Last {
		p.upTo = p.cursor.Closing
	}
	return p, err
}

const rollupColumns = `no, id, account, environment, workflow, started_by, status, phase, state, started_ms, finished_ms`

func scanRolledUp(row Row, e *Execution) {
	*e = Execution{
		No: row.Int(0), Account: row.Int(2), Environment: chargehand.Environment(row.Int(3)), Workflow: row.Int(4), StartedBy: row.Int(5),
		Status: chargehand.Status(row.Int(6)), Phase: chargehand.Phase(row.Int(7)), State: ExecutionState(row.Int(8)),
		StartedMs: row.Int(9), FinishedMs: row.Int(10),
	}
	scanID(row, 1, &e.ID)
}

// countStarted counts executions in the order of their numbers, with the ends of those that have ended without a note.
// full: there may be more of them; noted: the end of one of them is noted.
func (r *Reader) countStarted(p *RollupPart, counted *tally, limit int) (full, noted bool, err error) {
	p.upTo = p.cursor.Counted
	n := 0
	err = r.acceptedAfter(p.cursor.Counted, p.cursor.Closing, limit, func(e *Execution, endNoted bool) error {
		if len(counted.parts) >= maxParts {
			return errEnough
		}
		n++
		p.upTo = e.No
		counted.addStarted(e)
		if endNoted {
			noted = true
		} else if e.State == StateEnded {
			counted.addEnded(e)
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return true, noted, nil
	}
	return err == nil && n == limit, noted, err
}

// acceptedAfter reads up to limit executions by their numbers, with what counts of them and whether their end is noted.
func (r *Reader) acceptedAfter(after, upTo int64, limit int, each func(e *Execution, noted bool) error) error {
	var e Execution
	err := r.c.Query(`SELECT `+rollupColumns+`, (SELECT 1 FROM rollup_ended m WHERE m.execution = e.no)
 FROM execution e WHERE e.no > ?1 AND e.no <= ?2 ORDER BY e.no LIMIT ?3`, func(row Row) error {
		scanRolledUp(row, &e)
		return each(&e, !row.Null(11))
	}, after, upTo, int64(limit))
	if err != nil && !errors.Is(err, errEnough) {
		return fmt.Errorf("count executions: %w", err)
	}
	return err
}

// countEnded counts noted ends of executions that are counted already. full: there may be more of them.
func (r *Reader) countEnded(p *RollupPart, counted *tally, limit int) (full bool, err error) {
	var e Execution
	err = r.c.Query(`SELECT `+rollupColumns+` FROM rollup_ended m JOIN execution e ON e.no = m.execution
 WHERE m.execution > 0 AND m.execution <= ?1 ORDER BY m.execution LIMIT ?2`, func(row Row) error {
		if len(counted.parts) >= 2*maxParts {
			return errEnough
		}
		scanRolledUp(row, &e)
		p.ended = append(p.ended, e.No)
		counted.addEnded(&e)
		return nil
	}, p.cursor.Counted, int64(limit))
	switch {
	case errors.Is(err, errEnough):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("count ends: %w", err)
	}
	return len(p.ended) == limit, nil
}

// currentRollups adds what is stored to changes.
func (r *Reader) currentRollups(changes Rollups) (Rollups, error) {
	return changes, r.storedRollups(slices.SortedFunc(maps.Keys(changes), compareRollups), func(key RollupKey, stored *Rollup) {
		if c := changes[key]; c != nil {
			c.Merge(stored)
		}
	})
}

// rollupsAtOnce is how many rollups a statement reads by their keys: each of them is a step into the index, and a round
// trip would cost more.
const rollupsAtOnce = 40

// storedRollups reads the rollups of some keys, as far as there are any.
func (r *Reader) storedRollups(keys []RollupKey, each func(RollupKey, *Rollup)) error {
	for some := range slices.Chunk(keys, rollupsAtOnce) {
		err := groups(len(some), func(from, n, size int) error {
			var query strings.Builder
			args := make([]any, 0, 6*size)
			for i := range size {
				if i > 0 {
					query.WriteString("\nUNION ALL ")
				}
				at := len(args)
				fmt.Fprintf(&query, `SELECT account, environment, workflow, actor, day, hour_ms, started, finished, failed, cancelled, durations FROM rollup
 WHERE account = ?%d AND environment = ?%d AND workflow = ?%d AND actor = ?%d AND day = ?%d AND hour_ms = ?%d`, at+1, at+2, at+3, at+4, at+5, at+6)
				key := RollupKey{} // fills the list up: there is no account 0
				if i < n {
					key = some[from+i]
				}
				args = append(args, key.Account, int64(key.Environment), key.Workflow, key.Actor, key.day(), key.HourMs)
			}
			return r.c.Query(query.String(), func(row Row) error {
				key := RollupKey{
					Account: row.Int(0), Environment: chargehand.Environment(row.Int(1)), Workflow: row.Int(2), Actor: row.Int(3), Day: row.Int(4) != 0, HourMs: row.Int(5),
				}
				c := Rollup{Started: row.Int(6), Finished: row.Int(7), Failed: row.Int(8), Cancelled: row.Int(9)}
				if err := c.Durations.MergeBytes(row.Bytes(10)); err != nil {
					return err
				}
				each(key, &c)
				return nil
			}, args...)
		})
		if err != nil {
			return fmt.Errorf("read rollups: %w", err)
		}
	}
	return nil
}

// PutRollupPart writes what a View has counted, and how far it got. Errors: ErrConflict, if another Update has counted
// something since: nothing was written, and the part is to be read again.
func (t *Tx) PutRollupPart(p *RollupPart) error {
	asOf := p.cursor.AsOfMs
	if p.Last {
		asOf = p.cursor.ClosingMs
	}
	err := t.change("count executions", `UPDATE rollup_cursor SET counted = ?2, as_of_ms = ?3, step = step + 1 WHERE one = 1 AND step = ?1`, p.cursor.Step, p.upTo, asOf)
	if err != nil {
		return err
	}
	err = inGroups(p.ended, func(list string, args []any) error {
		return t.c.Send("delete notes of ends", `DELETE FROM rollup_ended WHERE execution IN (`+list+`)`, args...)
	})
	if err != nil {
		return err
	}
	return t.putRollups(p.values)
}

func (t *Tx) putRollups(values Rollups) error {
	rows := make([][]any, 0, len(values))
	for _, key := range slices.SortedFunc(maps.Keys(values), compareRollups) {
		c := values[key]
		rows = append(rows, []any{
			key.Account, int64(key.Environment), key.Workflow, key.Actor, key.day(), key.HourMs,
			c.Started, c.Finished, c.Failed, c.Cancelled, bytesArg(c.Durations.Bytes()),
		})
	}
	if len(rows) == 0 {
		return nil
	}
	_, err := t.c.Each(`INSERT INTO rollup (account, environment, workflow, actor, day, hour_ms, started, finished, failed, cancelled, durations)
 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
 ON CONFLICT (account, environment, workflow, actor, day, hour_ms) DO UPDATE SET started = excluded.started, finished = excluded.finished,
 failed = excluded.failed, cancelled = excluded.cancelled, durations = excluded.durations`, rows)
	if err != nil {
		return fmt.Errorf("write rollups: %w", err)
	}
	return nil
}

func compareRollups(a, b RollupKey) int {
	return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.Environment, b.Environment),
		cmp.Compare(a.Workflow, b.Workflow), cmp.Compare(a.Actor, b.Actor), cmp.Compare(a.day(), b.day()), cmp.Compare(a.HourMs, b.HourMs))
}

// Rollups reads the rollups of an account and environment, of a workflow (0: all) and an actor (0: all), by the hour or
// day, from a time on and before another one, in the order of time.
func (r *Reader) Rollups(of RollupKey, fromMs, beforeMs int64, each func(hourMs int64, c *Rollup)) error {
	err := r.c.Query(`SELECT hour_ms, started, finished, failed, cancelled, durations FROM rollup
 WHERE account = ?1 AND environment = ?2 AND workflow = ?3 AND actor = ?4 AND day = ?5 AND hour_ms >= ?6 AND hour_ms < ?7 ORDER BY hour_ms`, func(row Row) error {
		c := Rollup{Started: row.Int(1), Finished: row.Int(2), Failed: row.Int(3), Cancelled: row.Int(4)}
		if err := c.Durations.MergeBytes(row.Bytes(5)); err != nil {
			return err
		}
		each(row.Int(0), &c)
		return nil
	}, of.Account, int64(of.Environment), of.Workflow, of.Actor, of.day(), fromMs, beforeMs)
	if err != nil {
		return fmt.Errorf("read rollups: %w", err)
	}
	return nil
}

// DeleteRollups deletes up to limit rollups of hours and days that begin before a time.
func (t *Tx) DeleteRollups(beforeMs int64, limit int) (int64, error) {
	n, err := t.c.Exec(`DELETE FROM rollup WHERE (account, environment, workflow, actor, day, hour_ms) IN
 (SELECT account, environment, workflow, actor, day, hour_ms FROM rollup WHERE hour_ms < ?1 ORDER BY hour_ms LIMIT ?2)`, beforeMs, int64(limit))
	if err != nil {
		return 0, fmt.Errorf("delete rollups: %w", err)
	}
	return n, nil
}

// uncounted counts executions that are deleted before they were counted.
type uncounted struct {
	cursor  RollupCursor
	changes Rollups
}

// lockRollups keeps executions from being counted until the Update is committed.
func (t *Tx) lockRollups() (uncounted, error) {
	c, err := t.rollupCursor(t.c.ForUpdate())
	if err == nil && c.Step == 0 {
		if err = t.c.Send("insert rollup cursor", `INSERT INTO rollup_cursor (one, counted, closing, step, as_of_ms, closing_ms)
 VALUES (1, 0, 0, 1, 0, 0) ON CONFLICT (one) DO NOTHING`); err == nil {
			c, err = t.rollupCursor(t.c.ForUpdate())
		}
	}
	return uncounted{c, Rollups{}}, err
}

// add counts what was not counted yet of executions that are being deleted, given as in deleteListed and as they were.
func (u *uncounted) add(t *Tx, list string, nos []any, gone []Execution) error {
	noted := map[int64]bool{}
	err := t.c.Query(`DELETE FROM rollup_ended WHERE execution IN (`+list+`) RETURNING execution`, func(r Row) error {
		noted[r.Int(0)] = true
		return nil
	}, nos...)
	if err != nil {
		return fmt.Errorf("delete notes of ends: %w", err)
	}
	for i := range gone {
		e := &gone[i]
		if e.No > u.cursor.Counted {
			u.changes.AddStarted(e)
		}
		if e.No > u.cursor.Counted || noted[e.No] {
			u.changes.AddEnded(e)
		}
	}
	return nil
}

// put writes what was counted. The numbers of the last executions may be given again when they are deleted: the cursor
// goes back behind them.
func (u *uncounted) put(t *Tx) error {
	last, err := t.lastExecution()
	if err != nil || last >= u.cursor.Closing && len(u.changes) == 0 {
		return err
	}
	err = t.c.Send("move rollup cursor", `UPDATE rollup_cursor SET step = step + 1, counted = ?1, closing = ?2 WHERE one = 1`,
		min(last, u.cursor.Counted), min(last, u.cursor.Closing))
	if err != nil {
		return err
	}
	if _, err := t.currentRollups(u.changes); err != nil {
		return err
	}
	return t.putRollups(u.changes)
}

// noteEnd notes that an execution has ended that was, or is being, counted.
func (t *Tx) noteEnd(no int64) error {
	return t.c.Send("note end", `INSERT INTO rollup_ended (execution) VALUES (?1) ON CONFLICT (execution) DO NOTHING`, no)
}

// Writers names the Updates that run at the moment.
func (r *Reader) Writers() ([]string, error) { return r.c.Writers() }

// awaitPause lies between two looks at the Updates that run.
const awaitPause = 20 * time.Millisecond

// AwaitWriters waits until all Updates have ended that run when it is called.
func (s *Store) AwaitWriters(ctx context.Context) error {
	var before []string
	for first := true; ; first = false {
		var now []string
		err := s.View(ctx, func(r *Reader) (err error) {
			now, err = r.c.Writers()
			return err
		})
		if err != nil {
			return fmt.Errorf("await updates: %w", err)
		}
		if first {
			before = now
		}
		before = slices.DeleteFunc(before, func(name string) bool { return !slices.Contains(now, name) })
		if len(before) == 0 {
			return nil
		}
		select {
		case <-time.After(awaitPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
