package service

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine/embedded"
)

// events follows an execution until the events are there that it is asked for.
func (fx *fixture) events(t *testing.T, e *Execution, enough func(StreamEvent) bool) (events []StreamEvent) {
	t.Helper()
	errEnough := errors.New("enough")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	err := fx.FollowExecution(ctx, fx.p, FollowExecution{Workflow: e.Workflow, Execution: e.ID}, func(news []StreamEvent) error {
		events = append(events, news...)
		if slices.ContainsFunc(news, enough) {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Fatalf("%d events, %v", len(events), err)
	}
	return events
}

// TestEventsOfCutTimeline: an execution that continues has lost entries of its timeline, because their values are too
// large. Its readers get a gap for them, and the others.
func TestEventsOfCutTimeline(t *testing.T) {
	fx := newFixture(t)
	withEngine(t, fx, embedded.Limits{})
	flow := fx.apply([]byte(`document: {dsl: '1.0.3', namespace: test, name: large, version: '1.0.0'}
do:
  - each:
      for: {each: n, in: '${ [range(120)] }'}
      do: [{large: {set: '${ "\($n)" * 300000 }'}}]
  - last: {wait: {hours: 1}}
`))
	e := fx.create(flow.ID, noInput)
	last := func(e StreamEvent) bool { return e.Task != nil && e.Task.Name == "last" }
	fx.events(t, e, last) // one who reads from the start may be quick enough to lose nothing
	events := fx.events(t, e, last)
	gaps, after := 0, int64(0)
	for _, event := range events {
		switch {
		case event.Gap != nil:
			gaps++
			if event.Gap.From != after+1 || event.Gap.To < event.Gap.From {
				t.Errorf("after %d comes the gap %+v", after, *event.Gap)
			}
			after = event.Gap.To
		case event.Task != nil:
			if after++; event.Task.No != after {
				t.Fatalf("event %d is %+v", after, event.Task)
			}
		}
	}
	const all = 2 + 2*120 + 1
	if gaps == 0 || after != all {
		t.Errorf("%d gaps, the last event is %d of %d", gaps, after, all)
	}
}

// TestEventsAreThoseOfTheTimeline: what an event says about its task is what the timeline says.
func TestEventsAreThoseOfTheTimeline(t *testing.T) {
	fx := newFixture(t)
	withEngine(t, fx, embedded.Limits{})
	e := fx.create(fx.apply([]byte(nested)).ID, noInput)
	events := fx.events(t, e, func(e StreamEvent) bool { return e.Task != nil && e.Task.Name == "pause" })
	page, err := fx.Timeline(t.Context(), fx.p, ListTimeline{Workflow: e.Workflow, Execution: e.ID, Limit: 100, View: view})
	if err != nil || len(page.Data) < 10 {
		t.Fatalf("%d entries, %v", len(page.Data), err)
	}
	bySeq := map[int64]*TimelineEntry{}
	for i := range page.Data {
		bySeq[page.Data[i].Seq] = &page.Data[i]
	}
	seen := 0
	for _, event := range events {
		if event.Task == nil {
			continue
		}
		seen++
		got, want := event.Task, bySeq[event.Task.Seq]
		if want == nil || got.Name != want.Name || got.Kind != want.Kind || got.Reference != want.Reference || got.Parent != want.Parent ||
			!slices.Equal(got.Iterations, want.Iterations) || got.Attempt != want.Attempt || got.Ended && got.Phase != chargehand.Completed {
			t.Errorf("event %+v of the entry %+v", got, want)
		}
	}
	if seen != 2*len(page.Data)-1 {
		t.Errorf("%d events of %d entries", seen, len(page.Data))
	}
}
