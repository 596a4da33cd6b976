package store

import "fmt"

// rollupSpan is a part of a time: its full days, or hours beside them.
type rollupSpan struct {
	day              bool
	fromMs, beforeMs int64
}

// rollupSpans are the fewest rollups that a time is made of, which begins and ends with an hour: the last ones first.
func rollupSpans(fromMs, beforeMs int64) []rollupSpan {
	first, end := (fromMs+DayMs-1)/DayMs*DayMs, beforeMs/DayMs*DayMs
	if first >= end {
		return []rollupSpan{{false, fromMs, beforeMs}}
	}
	return []rollupSpan{{false, end, beforeMs}, {true, first, end}, {false, fromMs, first}}
}

// WorkflowCounts adds up the rollups of each workflow, without durations: those of an account, environment and actor
// (0: all) of a time from fromMs on and before beforeMs, both the beginning of an hour. It reads up to limit rollups,
// the last ones. completeMs is from when on all is counted: fromMs, unless there are more.
func (r *Reader) WorkflowCounts(of RollupKey, fromMs, beforeMs int64, limit int) (counts map[int64]*Rollup, completeMs int64, err error) {
	counts, completeMs = map[int64]*Rollup{}, beforeMs
	for _, span := range rollupSpans(fromMs, beforeMs) {
		if span.fromMs == span.beforeMs {
			continue
		}
		if limit <= 0 {
			return counts, completeMs, nil
		}
		read, firstMs := 0, span.beforeMs
		// Days are compared together with hours, so that no planner takes the index of the hours of all accounts.
		err := r.c.Query(`SELECT workflow, CAST(SUM(started) AS BIGINT), CAST(SUM(finished) AS BIGINT), CAST(SUM(failed) AS BIGINT), CAST(SUM(cancelled) AS BIGINT),
 COUNT(*), MIN(hour_ms) FROM (SELECT workflow, started, finished, failed, cancelled, hour_ms FROM rollup
 WHERE account = ?1 AND environment = ?2 AND actor = ?3 AND (day, hour_ms) >= (?4, ?5) AND (day, hour_ms) < (?4, ?6) AND workflow <> 0
 ORDER BY day DESC, hour_ms DESC, workflow DESC LIMIT ?7) counted GROUP BY workflow`, func(row Row) error {
			c := counts[row.Int(0)]
			if c == nil {
				c = new(Rollup)
				counts[row.Int(0)] = c
			}
			c.Merge(&Rollup{Started: row.Int(1), Finished: row.Int(2), Failed: row.Int(3), Cancelled: row.Int(4)})
			read, firstMs = read+int(row.Int(5)), min(firstMs, row.Int(6))
			return nil
		}, of.Account, int64(of.Environment), of.Actor, (&RollupKey{Day: span.day}).day(), span.fromMs, span.beforeMs, int64(limit))
		if err != nil {
			return nil, 0, fmt.Errorf("add up rollups of workflows: %w", err)
		}
		if limit -= read; limit <= 0 { // of the first of them, some may be missing
			length := int64(HourMs)
			if span.day {
				length = DayMs
			}
			return counts, firstMs + length, nil
		}
		completeMs = span.fromMs
	}
	return counts, completeMs, nil
}

// WorkflowDurations adds the durations of workflows to their counts. Account, environment, actor and the time are as
// for WorkflowCounts.
func (r *Reader) WorkflowDurations(of RollupKey, fromMs, beforeMs int64, counts map[int64]*Rollup) error {
	workflows := make([]int64, 0, len(counts))
	for no := range counts {
		workflows = append(workflows, no)
	}
	for _, span := range rollupSpans(fromMs, beforeMs) {
		err := inGroups(workflows, func(list string, args []any) error {
			n := len(args)
			return r.c.Query(fmt.Sprintf(`SELECT workflow, durations FROM rollup WHERE workflow IN (%s)
 AND account = ?%d AND environment = ?%d AND actor = ?%d AND day = ?%d AND hour_ms >= ?%d AND hour_ms < ?%d AND durations IS NOT NULL`,
				list, n+1, n+2, n+3, n+4, n+5, n+6), func(row Row) error {
				if c := counts[row.Int(0)]; c != nil { // lists are filled up with 0, which stands for all workflows here
					return c.Durations.MergeBytes(row.Bytes(1))
				}
				return nil
			}, append(args, of.Account, int64(of.Environment), of.Actor, (&RollupKey{Day: span.day}).day(), span.fromMs, span.beforeMs)...)
		})
		if err != nil {
			return fmt.Errorf("read durations of workflows: %w", err)
		}
	}
	return nil
}
