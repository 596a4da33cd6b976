package schedule

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/store"
)

// costly is a filter of data that takes some hundredths of a second.
const costly = `data: '${ [range(200000)] | length < 0 }'`

// impatient makes the turn of a schedule end with the first thing that takes time.
func (w *fixture) impatient(s *Scheduler) { s.events.readTime = time.Millisecond }

// events stores n events of a type, whose data is {"id": 0} and so on.
func (w *fixture) events(kind string, n int) {
	w.t.Helper()
	var list [][2]string
	for i := range n {
		list = append(list, [2]string{kind, fmt.Sprintf(`{"id":%d}`, i)})
	}
	w.store(list)
}

// position is how far a workflow's schedule has looked at the events.
func (w *fixture) position(s *Scheduler, workflow int64) int64 {
	w.t.Helper()
	var row store.Schedule
	w.view(func(r *store.Reader) (err error) {
		row, err = r.ScheduleOf(workflow)
		return err
	})
	return s.events.known[row.No].examined
}

// TestCostlyFilters: filters that take long keep neither what is due by time nor the events of other schedules waiting.
func TestCostlyFilters(t *testing.T) {
	w := newFixture(t)
	for workflow := range int64(3) {
		w.publish(workflow+1, "{on: {one: {with: {type: a, "+costly+"}}}}")
	}
	w.publish(4, "{every: PT1M}")
	w.publish(5, "{on: {one: {with: {type: b}}}}")
	s := w.scheduler()
	w.step(s)
	w.impatient(s)
	w.events("a", 100)
	w.events("b", 2)
	steps := 0
	for ; len(w.started(5)) < 2; steps++ {
		w.pass(time.Minute)
		if wait := w.step(s); wait != time.Millisecond {
			t.Fatalf("with events left, it sleeps for %s", wait)
		}
		w.runs(4, steps+1)
	}
	if steps > 15 {
		t.Errorf("what is quick had to wait for %d turns", steps)
	}
	var least, most int64 = 100, 0
	for workflow := range int64(3) {
		position := w.position(s, workflow+1)
		least, most = min(least, position), max(most, position)
	}
	if least < 1 || most-least > 2 || most > int64(steps)+1 {
		t.Errorf("after %d turns, those that are slow have looked at %d to %d events", steps, least, most)
	}
}

// TestCostlyMatches: one event that concerns many matches is asked about in several turns.
func TestCostlyMatches(t *testing.T) {
	w := newFixture(t)
	w.publish(1, "{on: {all: [{with: {type: a}, correlate: {id: {from: .data.id}}}, "+
		"{with: {type: b, data: '${ [range(200000)] | length > 0 }'}, correlate: {id: {from: .data.id}}}]}}")
	s := w.scheduler()
	w.step(s)
	w.events("a", 8)
	w.step(s)
	w.impatient(s)
	w.event("b", `{"id":6}`)
	for asked := 1; asked <= 6; asked++ {
		w.step(s)
		if l := s.events.known[1]; l.asked != asked || l.examined != 8 {
			t.Fatalf("after %d turns, %d matches were asked about the event behind %d", asked, l.asked, l.examined)
		}
	}
	w.step(s)
	if got := w.started(1); !slices.Equal(got, []string{`[{"id":6},{"id":6}]`}) {
		t.Errorf("runs %q", got)
	}
}

// ending is a database that ends a context when events were read.
type ending struct {
	store.DB
	end context.CancelFunc
}

func (e ending) View(ctx context.Context, fn func(store.Conn) error) error {
	return e.DB.View(ctx, func(c store.Conn) error { return fn(endingConn{c, e.end}) })
}

type endingConn struct {
	store.Conn
	end context.CancelFunc
}

func (e endingConn) Query(query string, row func(store.Row) error, args ...any) error {
	if strings.Contains(query, "FROM event") {
		defer e.end()
	}
	return e.Conn.Query(query, row, args...)
}

// TestStopWhileFilteringIsQuick: what was read and is costly to look at is left for the next start.
func TestStopWhileFilteringIsQuick(t *testing.T) {
	w := newFixture(t)
	w.publish(1, "{on: {one: {with: {type: a, "+costly+"}}}}")
	w.step(w.scheduler())
	w.events("a", 20)
	ctx, stop := context.WithCancel(t.Context())
	s := w.schedulerOver(store.New(ending{w.db, stop}))
	s.events.readTime = time.Hour
	if _, err := s.Step(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("the end of the step: %v", err)
	}
	if position := w.position(s, 1); position != 0 {
		t.Errorf("%d events were looked at after the end", position)
	}
}
