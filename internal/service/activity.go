package service

import (
	"errors"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// Activity is what happens with a workflow in the principal's environment.
type Activity struct {
	Last         chargehand.ExecutionID // the newest execution; zero: there is none
	LastStatus   chargehand.Status
	LastAt       time.Time
	NextSchedule time.Time // zero: it does not start by time
	// Counts are of the executions that were created in the last 24 hours, by status now. AtLeast: one has reached
	// maxActivity, and there may be more.
	Counts  map[chargehand.Status]int
	AtLeast bool
}

const (
	activitySpan = 24 * time.Hour
	maxActivity  = 100 // executions of a status that are counted: a page has 100 workflows and five statuses
)

// activity reads what happens with a workflow.
func (s *Service) activity(r *store.Reader, p *Principal, row *store.Workflow) (*Activity, error) {
	found, err := r.WorkflowActivity(row.No, p.Environment, s.nowMs()-activitySpan.Milliseconds(), maxActivity)
	if err != nil {
		return nil, err
	}
	a := &Activity{Last: found.Last, LastStatus: found.Status, Counts: found.Counts}
	if !a.Last.IsZero() {
		a.LastAt = a.Last.Time()
	}
	for _, n := range found.Counts {
		a.AtLeast = a.AtLeast || n == maxActivity
	}
	if p.Environment != chargehand.Live {
		return a, nil // schedules start in live
	}
	schedule, err := r.ScheduleOf(row.No)
	if errors.Is(err, store.ErrNotFound) {
		return a, nil
	}
	for _, ms := range []int64{schedule.EveryMs, schedule.CronMs, schedule.AfterMs} {
		if next := atMs(ms); ms != 0 && ms != store.NeverMs && (a.NextSchedule.IsZero() || next.Before(a.NextSchedule)) {
			a.NextSchedule = next
		}
	}
	return a, err
}
