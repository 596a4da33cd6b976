package schedule

import (
	"time"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/store"
)

// calendar works out the times of schedules. It is a pure function of row, plan and clock.
type calendar struct {
	zone *time.Location
}

// tick is what is to be done with a schedule.
type tick struct {
	row   store.Schedule // as it is to be written
	run   bool           // a run is to be started
	after bool           // it is one that `after` waits for
}

// due tells what is due at nowMs.
func (c calendar) due(row store.Schedule, s *plan.Schedule, nowMs int64) tick {
	first := row.ActivatedMs == 0 || row.Step == 0
	if row.ActivatedMs == 0 {
		row.ActivatedMs = nowMs
	}
	row.Listens = s.Listener(dsl.ReadData) != nil
	c.fill(&row, s, first)
	t := tick{row: row}
	due := earliest(&row)
	// The clock may have gone back: what was started is not started again.
	if due <= nowMs && nowMs > row.TickMs {
		t.run = true
		t.after = row.AfterMs <= nowMs
		c.move(&t.row, s, nowMs)
	}
	t.row.DueMs = max(earliest(&t.row), t.row.TickMs+1)
	return t
}

// earliest is the first of the times of a row.
func earliest(row *store.Schedule) int64 { return min(row.EveryMs, row.CronMs, row.AfterMs) }

// fill works out the times that are not known yet. first: the row was never looked at.
func (c calendar) fill(row *store.Schedule, s *plan.Schedule, first bool) {
	now := first && s.FirstNow
	if row.EveryMs == 0 {
		row.EveryMs = store.NeverMs
		if s.Every != (dsl.Span{}) {
			row.EveryMs = row.ActivatedMs
			if !now {
				row.EveryMs = machine.AddSpan(row.ActivatedMs, s.Every)
			}
		}
	}
	if row.CronMs == 0 {
		row.CronMs = store.NeverMs
		if s.Cron != nil {
			row.CronMs = row.ActivatedMs
			if !now {
				row.CronMs = c.next(s.Cron, max(row.ActivatedMs, row.TickMs))
			}
		}
	}
	if row.AfterMs == 0 {
		row.AfterMs = store.NeverMs
		if s.After != (dsl.Span{}) {
			row.AfterMs = row.ActivatedMs
			if !now {
				row.AfterMs = machine.AddSpan(row.ActivatedMs, s.After)
			}
		}
	}
}

// move continues with the times behind nowMs, of those that are due.
func (c calendar) move(row *store.Schedule, s *plan.Schedule, nowMs int64) {
	if row.EveryMs <= nowMs {
		row.EveryMs = nextEvery(row.ActivatedMs, s.Every, nowMs)
	}
	if row.CronMs <= nowMs {
		row.CronMs = c.next(s.Cron, nowMs)
	}
	if row.AfterMs <= nowMs {
		row.AfterMs = store.NeverMs // until the run has ended
	}
	row.TickMs = nowMs
}

// ended continues after the end of the run that `after` waits for. endedMs is 0 if it is not known.
func (c calendar) ended(row store.Schedule, s *plan.Schedule, endedMs, nowMs int64) store.Schedule {
	row.Execution = 0
	if endedMs == 0 {
		endedMs = nowMs
	}
	if s.After != (dsl.Span{}) {
		row.AfterMs = machine.AddSpan(endedMs, s.After)
	}
	row.DueMs = max(earliest(&row), row.TickMs+1)
	return row
}

func (c calendar) next(cron *plan.Cron, afterMs int64) int64 {
	if ms := cron.NextMs(afterMs, c.zone); ms > 0 {
		return ms
	}
	return store.NeverMs
}

// nextEvery is the first of the moments behind afterMs that lie a multiple of the span after
// the anchor. Months are counted from the anchor, so that the 31st stays the 31st where there
// is one.
func nextEvery(anchorMs int64, span dsl.Span, afterMs int64) int64 {
	if span.Months == 0 {
		n := max(afterMs-anchorMs, 0)/span.Milliseconds + 1
		return anchorMs + n*span.Milliseconds
	}
	// The longest month makes the count too small at first, never too large.
	const longestMonthMs = 31 * 24 * 60 * 60 * 1000
	n := max(afterMs-anchorMs, 0) / (span.Months*longestMonthMs + span.Milliseconds)
	for {
		n++
		at := machine.AddSpan(anchorMs, dsl.Span{Months: n * span.Months, Milliseconds: n * span.Milliseconds})
		if at > afterMs {
			return at
		}
	}
}
