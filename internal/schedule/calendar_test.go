package schedule

import (
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/store"
)

// compiled is the plan of a definition with that schedule.
func compiled(t testing.TB, schedule string) *plan.Plan {
	t.Helper()
	doc, problems := dsl.Parse([]byte("document: {dsl: '1.0.3', namespace: test, name: flow, version: '1.0.0'" + schedule))
	if problems.HasErrors() {
		t.Fatal(problems.Err())
	}
	p, problems := plan.Compile(doc, plan.Options{})
	if p == nil {
		t.Fatal(problems.Err())
	}
	return p
}

func scheduled(t testing.TB, schedule string) *plan.Plan {
	t.Helper()
	return compiled(t, "}\nschedule: "+schedule+"\ndo: [{a: {set: {x: 1}}}]")
}

func at(text string) int64 {
	moment, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return moment.UnixMilli()
}

// ticks plays the calendar from an activation on: the clock jumps from due time to due time. It
// returns the moments of the first n runs.
func ticks(c calendar, s *plan.Schedule, activatedMs int64, n int) (runs []int64) {
	row := store.Schedule{ActivatedMs: activatedMs}
	nowMs := activatedMs
	for len(runs) < n {
		t := c.due(row, s, nowMs)
		if t.run {
			runs = append(runs, nowMs)
		}
		row = t.row
		row.Step++
		if row.DueMs == store.NeverMs {
			break
		}
		nowMs = row.DueMs
	}
	return runs
}

func wantTimes(t *testing.T, got []int64, want ...string) {
	t.Helper()
	same := len(got) == len(want)
	for i := 0; same && i < len(want); i++ {
		same = got[i] == at(want[i])
	}
	if !same {
		var texts []string
		for _, ms := range got {
			texts = append(texts, time.UnixMilli(ms).UTC().Format(time.RFC3339))
		}
		t.Errorf("runs at %v, want %v", texts, want)
	}
}

func TestTicks(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		schedule, activated string
		zone                *time.Location
		want                []string
	}{
		"every, one interval later": {"{every: PT15M}", "2026-03-01T12:00:07Z", time.UTC,
			[]string{"2026-03-01T12:15:07Z", "2026-03-01T12:30:07Z"}},
		"every month keeps its day": {"{every: P1M}", "2026-01-31T08:00:00Z", time.UTC,
			[]string{"2026-02-28T08:00:00Z", "2026-03-31T08:00:00Z", "2026-04-30T08:00:00Z", "2026-05-31T08:00:00Z"}},
		"cron": {"{cron: '30 6 * * MON'}", "2026-03-02T06:30:00Z", time.UTC,
			[]string{"2026-03-09T06:30:00Z", "2026-03-16T06:30:00Z"}},
		"cron of six fields": {"{cron: '*/20 * * * * *'}", "2026-03-02T06:30:00Z", time.UTC,
			[]string{"2026-03-02T06:30:20Z", "2026-03-02T06:30:40Z", "2026-03-02T06:31:00Z"}},
		"cron in a time zone": {"{cron: '0 6 * * *'}", "2026-01-10T00:00:00Z", berlin,
			[]string{"2026-01-10T05:00:00Z", "2026-01-11T05:00:00Z"}},
		"an hour that is left out": {"{cron: '30 2 * * *'}", "2026-03-28T00:00:00Z", berlin,
			[]string{"2026-03-28T01:30:00Z", "2026-03-29T01:30:00Z", "2026-03-30T00:30:00Z"}},
		"an hour that comes twice": {"{cron: '30 2 * * *'}", "2026-10-24T00:00:00Z", berlin,
			[]string{"2026-10-24T00:30:00Z", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"}},
		"each half hour while an hour comes twice": {"{cron: '*/30 * * * *'}", "2026-10-25T00:00:00Z", berlin,
			[]string{"2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z", "2026-10-25T01:30:00Z", "2026-10-25T02:00:00Z"}},
		"a union": {"{every: PT1H, cron: '*/40 * * * *'}", "2026-03-01T12:00:00Z", time.UTC,
			[]string{"2026-03-01T12:40:00Z", "2026-03-01T13:00:00Z", "2026-03-01T13:40:00Z", "2026-03-01T14:00:00Z"}},
		"after, at once": {"{after: PT1H}", "2026-03-01T12:00:00Z", time.UTC, []string{"2026-03-01T12:00:00Z"}},
	} {
		t.Run(name, func(t *testing.T) {
			runs := ticks(calendar{test.zone}, scheduled(t, test.schedule).Schedule, at(test.activated), len(test.want))
			wantTimes(t, runs, test.want...)
		})
	}
}

func TestFirstRun(t *testing.T) {
	definition := func(first, schedule string) *plan.Schedule {
		return compiled(t, ", metadata: {schedule: {firstRun: "+first+"}}}\nschedule: "+schedule+"\ndo: [{a: {set: {x: 1}}}]").Schedule
	}
	c, activated := calendar{time.UTC}, at("2026-03-01T12:10:00Z")
	wantTimes(t, ticks(c, definition("immediately", "{every: PT1H}"), activated, 3),
		"2026-03-01T12:10:00Z", "2026-03-01T13:10:00Z", "2026-03-01T14:10:00Z")
	wantTimes(t, ticks(c, definition("immediately", "{cron: '0 * * * *'}"), activated, 2), "2026-03-01T12:10:00Z", "2026-03-01T13:00:00Z")
	wantTimes(t, ticks(c, definition("next", "{after: PT1H}"), activated, 2), "2026-03-01T13:10:00Z")
}

// A month of downtime makes one run, at the end of it, and then the ticks continue as before.
func TestDowntimeMakesOneRun(t *testing.T) {
	c := calendar{time.UTC}
	for name, test := range map[string]struct{ schedule, next string }{
		"every": {"{every: PT7M}", "2026-04-01T12:01:00Z"},
		"cron":  {"{cron: '*/5 * * * *'}", "2026-04-01T12:05:00Z"},
		"both":  {"{every: PT7M, cron: '*/5 * * * *'}", "2026-04-01T12:01:00Z"},
	} {
		s := scheduled(t, test.schedule).Schedule
		first := c.due(store.Schedule{ActivatedMs: at("2026-03-01T12:01:00Z")}, s, at("2026-03-01T12:01:00Z"))
		first.row.Step++
		late := c.due(first.row, s, at("2026-04-01T12:00:01Z"))
		if first.run || !late.run || late.row.DueMs <= at("2026-04-01T12:00:01Z") {
			t.Fatalf("%s: %+v, then %+v", name, first, late)
		}
		late.row.Step++
		if again := c.due(late.row, s, at("2026-04-01T12:00:01Z")); again.run {
			t.Errorf("%s: it ran twice", name)
		}
		if name != "every" && late.row.CronMs != at("2026-04-01T12:05:00Z") {
			t.Errorf("%s: the next time of cron is %d", name, late.row.CronMs)
		}
		if left := (late.row.EveryMs - at("2026-03-01T12:01:00Z")) % (7 * 60_000); name != "cron" && left != 0 {
			t.Errorf("%s: the intervals have moved by %d ms", name, left)
		}
	}
}

// A clock that goes back starts nothing twice.
func TestClockGoesBack(t *testing.T) {
	c, s := calendar{time.UTC}, scheduled(t, "{cron: '* * * * *'}").Schedule
	row := c.due(store.Schedule{ActivatedMs: at("2026-03-01T12:00:30Z")}, s, at("2026-03-01T12:00:30Z")).row
	row.Step++
	ran := c.due(row, s, at("2026-03-01T12:01:00Z"))
	ran.row.Step++
	for _, now := range []string{"2026-03-01T12:00:59Z", "2026-03-01T12:01:00Z", "2026-03-01T11:00:00Z"} {
		if back := c.due(ran.row, s, at(now)); back.run || back.row.DueMs != at("2026-03-01T12:02:00Z") {
			t.Errorf("at %s: %+v", now, back)
		}
	}
	if on := c.due(ran.row, s, at("2026-03-01T12:02:00Z")); !ran.run || !on.run {
		t.Error("a tick is missing")
	}
}

// `after` waits for the end of its run.
func TestAfter(t *testing.T) {
	c, s := calendar{time.UTC}, scheduled(t, "{after: PT1M}").Schedule
	activated := at("2026-03-01T12:00:00Z")
	first := c.due(store.Schedule{ActivatedMs: activated}, s, activated)
	if !first.run || !first.after || first.row.DueMs != store.NeverMs {
		t.Fatalf("first: %+v", first)
	}
	first.row.Step++
	first.row.Execution = 5
	next := c.ended(first.row, s, activated+10_000, activated+11_000)
	if next.Execution != 0 || next.DueMs != activated+70_000 {
		t.Errorf("next: %+v", next)
	}
	if gone := c.ended(first.row, s, 0, activated+11_000); gone.DueMs != activated+71_000 {
		t.Errorf("after a run that is gone: %+v", gone)
	}
}
