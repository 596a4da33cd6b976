package store

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/chargehand/chargehand"
)

// RollupLife is how long rollups are kept.
const RollupLife = 400 * 24 * time.Hour

// maxRecounted bounds the rollups of a Recount, which are held in memory.
const maxRecounted = 500_000

// Recount counts the executions that are stored, as their rollups should have counted them. What was deleted is in the
// rollups and not in the recount, so a rollup may have more, and never less.
type Recount struct {
	Executions int64 // that were recounted
	Partial    bool  // there are more of them: what is compared does not fit into memory

	counts Rollups
	last   int64
}

// RecountPage is what a View has recounted.
type RecountPage struct {
	counts     Rollups
	executions int64
	last       int64
	full       bool
}

// Read recounts up to limit more executions.
func (c *Recount) Read(r *Reader, limit int) (RecountPage, error) {
	page := RecountPage{counts: Rollups{}, last: c.last}
	cursor, err := r.rollupCursor("")
	if err != nil {
		return page, err
	}
	err = r.acceptedAfter(c.last, cursor.Counted, limit, func(e *Execution, noted bool) error {
		page.executions++
		page.last = e.No
		page.counts.AddStarted(e)
		if e.State == StateEnded && !noted {
			page.counts.AddEnded(e)
		}
		return nil
	})
	page.full = page.executions == int64(limit)
	return page, err
}

// Add takes a page in. more: there may be another one.
func (c *Recount) Add(page RecountPage) (more bool) {
	if c.counts == nil {
		c.counts = Rollups{}
	}
	for key, counts := range page.counts {
		c.counts.at(key).Merge(counts)
	}
	c.Executions, c.last = c.Executions+page.executions, page.last
	c.Partial = page.full && len(c.counts) > maxRecounted
	return page.full && !c.Partial
}

// Keys are the keys of the rollups that were recounted, of hours and days from a time on, in the order of their rows.
func (c *Recount) Keys(fromMs int64) []RollupKey {
	keys := slices.SortedFunc(maps.Keys(c.counts), compareRollups)
	return slices.DeleteFunc(keys, func(k RollupKey) bool { return k.HourMs < fromMs })
}

// RollupFault is a rollup that lacks something.
type RollupFault struct {
	Key  RollupKey
	Has  Rollup
	Want Rollup // at least
}

// Compare compares some of the Keys with what is stored, and returns those that have less than was recounted.
func (c *Recount) Compare(r *Reader, keys []RollupKey) (faults []RollupFault, err error) {
	for len(keys) > 0 {
		first, n := keys[0], 1
		for n < len(keys) && sameRows(first, keys[n]) {
			n++
		}
		stored := make(map[int64]Rollup, n)
		err := r.Rollups(first, first.HourMs, keys[n-1].HourMs+1, func(hourMs int64, has *Rollup) { stored[hourMs] = *has })
		if err != nil {
			return nil, err
		}
		for _, key := range keys[:n] {
			if has, want := stored[key.HourMs], c.counts[key]; has.lacks(want) {
				faults = append(faults, RollupFault{key, has, *want})
			}
		}
		keys = keys[n:]
	}
	return faults, nil
}

// sameRows reports whether two keys differ in nothing but when their hour or day begins.
func sameRows(a, b RollupKey) bool {
	a.HourMs = b.HourMs
	return a == b
}

// lacks reports whether a rollup has less than another one.
func (c *Rollup) lacks(o *Rollup) bool {
	return c.Started < o.Started || c.Finished < o.Finished || c.Failed < o.Failed || c.Cancelled < o.Cancelled ||
		c.Durations.Count() < o.Durations.Count()
}

// raise makes a rollup have as much as another one.
func (c *Rollup) raise(o *Rollup) {
	c.Started, c.Finished = max(c.Started, o.Started), max(c.Finished, o.Finished)
	c.Failed, c.Cancelled = max(c.Failed, o.Failed), max(c.Cancelled, o.Cancelled)
	if c.Durations.Count() < o.Durations.Count() {
		c.Durations = o.Durations
	}
}

// ShortTotals returns the rollups of all workflows that have less than those of the workflows together, of hours and
// days from a time on and before another one. It counts no durations.
func (r *Reader) ShortTotals(fromMs, beforeMs int64) (faults []RollupFault, err error) {
	err = r.c.Query(`SELECT account, environment, actor, day, hour_ms,
 CAST(SUM(CASE workflow WHEN 0 THEN started ELSE 0 END) AS BIGINT), CAST(SUM(CASE workflow WHEN 0 THEN 0 ELSE started END) AS BIGINT),
 CAST(SUM(CASE workflow WHEN 0 THEN finished ELSE 0 END) AS BIGINT), CAST(SUM(CASE workflow WHEN 0 THEN 0 ELSE finished END) AS BIGINT),
 CAST(SUM(CASE workflow WHEN 0 THEN failed ELSE 0 END) AS BIGINT), CAST(SUM(CASE workflow WHEN 0 THEN 0 ELSE failed END) AS BIGINT),
 CAST(SUM(CASE workflow WHEN 0 THEN cancelled ELSE 0 END) AS BIGINT), CAST(SUM(CASE workflow WHEN 0 THEN 0 ELSE cancelled END) AS BIGINT)
 FROM rollup WHERE hour_ms >= ?1 AND hour_ms < ?2 GROUP BY account, environment, actor, day, hour_ms ORDER BY account, environment, actor, day, hour_ms`, func(row Row) error {
		f := RollupFault{
			Key:  RollupKey{Account: row.Int(0), Environment: chargehand.Environment(row.Int(1)), Actor: row.Int(2), Day: row.Int(3) != 0, HourMs: row.Int(4)},
			Has:  Rollup{Started: row.Int(5), Finished: row.Int(7), Failed: row.Int(9), Cancelled: row.Int(11)},
			Want: Rollup{Started: row.Int(6), Finished: row.Int(8), Failed: row.Int(10), Cancelled: row.Int(12)},
		}
		if f.Has.lacks(&f.Want) {
			faults = append(faults, f)
		}
		return nil
	}, fromMs, beforeMs)
	if err != nil {
		return nil, fmt.Errorf("add up rollups: %w", err)
	}
	return faults, nil
}

// FirstRollup is when the first hour or day begins, from a time on, that has a rollup. Errors: ErrNotFound.
func (r *Reader) FirstRollup(fromMs int64) (hourMs int64, err error) {
	err = r.one(`SELECT hour_ms FROM rollup WHERE hour_ms >= ?1 ORDER BY hour_ms LIMIT 1`, func(row Row) { hourMs = row.Int(0) }, fromMs)
	if err != nil && !errors.Is(err, ErrNotFound) {
		err = fmt.Errorf("find first rollup: %w", err)
	}
	return hourMs, err
}

// MendRollups gives rollups what they lack, and their totals what the rollups of the workflows have together.
func (t *Tx) MendRollups(faults []RollupFault) error {
	c, err := t.lockRollups()
	if err != nil {
		return err
	}
	// What a Counter has read before is outdated now.
	if err := t.c.Send("move rollup cursor", `UPDATE rollup_cursor SET step = step + 1 WHERE one = 1`); err != nil {
		return err
	}
	changes := c.changes
	for i := range faults {
		key := faults[i].Key
		if changes[key] == nil {
			if err := t.Rollups(key, key.HourMs, key.HourMs+1, func(_ int64, has *Rollup) { *changes.at(key) = *has }); err != nil {
				return err
			}
		}
		changes.at(key).raise(&faults[i].Want)
	}
	if err := t.putRollups(changes); err != nil {
		return err
	}
	totals := Rollups{}
	for key := range changes {
		key.Workflow = 0
		if totals[key] != nil {
			continue
		}
		has, want, err := t.total(key)
		if err != nil {
			return err
		}
		has.raise(&want)
		totals[key] = &has
	}
	return t.putRollups(totals)
}

// total reads the rollup of all workflows, and what those of the workflows are together.
func (r *Reader) total(key RollupKey) (has, want Rollup, err error) {
	err = r.c.Query(`SELECT workflow, started, finished, failed, cancelled, durations FROM rollup
 WHERE hour_ms = ?1 AND account = ?2 AND environment = ?3 AND actor = ?4 AND day = ?5`, func(row Row) error {
		c := Rollup{Started: row.Int(1), Finished: row.Int(2), Failed: row.Int(3), Cancelled: row.Int(4)}
		err := c.Durations.MergeBytes(row.Bytes(5))
		if row.Int(0) == 0 {
			has = c
		} else {
			want.Merge(&c)
		}
		return err
	}, key.HourMs, key.Account, int64(key.Environment), key.Actor, key.day())
	if err != nil {
		return has, want, fmt.Errorf("add up rollup: %w", err)
	}
	return has, want, nil
}
