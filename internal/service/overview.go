package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// Overview is a question for what was done in a time, and what is being done.
type Overview struct {
	Workflow chargehand.WorkflowID // zero: all
	From, To time.Time             // zero To: now; zero From: a day before To
	Step     time.Duration         // of a bucket: whole hours; 0: an hour, or a day for more than a week
}

const (
	overviewDay = 24 * time.Hour
	// rollupLife is how long the counts of an hour are kept.
	rollupLife = store.RollupLife
	// hourlyOverview is the longest time that is shown by the hour unless that is asked for.
	hourlyOverview = 7*overviewDay + time.Hour
	// maxOverviewBuckets bounds the buckets of an overview.
	maxOverviewBuckets = 1000
	// maxRollupsRead bounds the hours that are read for an overview, those of each workflow that the caller is limited to.
	maxRollupsRead = 20_000
	// maxNow is up to how many executions are counted of each kind that has not ended.
	maxNow = 10_000
	// overviewGroups is how many groups of failures an overview shows.
	overviewGroups = 10
)

// OverviewReport answers an Overview.
type OverviewReport struct {
	From, To  time.Time // those that were asked for, to the full step
	Step      time.Duration
	AsOf      time.Time // all that had happened by then is in the buckets
	Buckets   []OverviewBucket
	Total     OverviewBucket // of all buckets
	Workflows OverviewWorkflows
	Now       OverviewNow
	Failures  *FailureGroups // of what was created in the time
}

// OverviewBucket is what was accepted and what has ended in a time.
type OverviewBucket struct {
	From                                 time.Time
	Started, Finished, Failed, Cancelled int64
	P50, P95                             time.Duration // of those that finished or failed, from start to end
	Timed                                bool          // there are P50 and P95
}

// OverviewNow is what is being done.
type OverviewNow struct {
	Queued, Running, Waiting, Human int64 // Human is a part of Waiting
	Delayed                         int64
	AtLeast                         bool             // there are more: not all were counted
	Oldest                          *OldestExecution // without the delayed ones
}

// OldestExecution is the one that was accepted first, of those that have not ended.
type OldestExecution struct {
	ID        chargehand.ExecutionID
	Workflow  chargehand.WorkflowID
	Status    chargehand.Status
	Phase     chargehand.Phase
	CreatedAt time.Time
}

// Overview tells what was done in a time, and what is being done, as far as the principal sees it.
// Codes: workflow_not_found, invalid_parameter.
func (s *Service) Overview(ctx context.Context, p *Principal, q Overview) (*OverviewReport, error) {
	report, err := s.newOverview(q)
	if err != nil {
		return nil, err
	}
	err = s.view(ctx, func(r *store.Reader) error {
		workflow := int64(0)
		if !q.Workflow.IsZero() {
			row, err := s.knownWorkflow(r, p, q.Workflow)
			if err != nil {
				return err
			}
			workflow = row.No
		}
		scopes, err := executionScopes(r, p, &ListExecutions{Workflow: q.Workflow}, workflow)
		if err != nil {
			return err
		}
		whole, err := s.readBuckets(r, p, report, scopes)
		if err != nil {
			return err
		}
		if err := s.readWorkflows(r, p, report, scopes, whole); err != nil {
			return err
		}
		if err := s.readNow(r, p, &report.Now, scopes); err != nil {
			return err
		}
		created := ListExecutions{Workflow: q.Workflow, CreatedAfter: report.From.Add(-time.Millisecond), CreatedBefore: report.To, Limit: overviewGroups}
		report.Failures, err = s.failures(r, p, &created)
		return err
	})
	if err != nil {
		return nil, err
	}
	return report, nil
}

// newOverview checks and completes a question. Codes: invalid_parameter.
func (s *Service) newOverview(q Overview) (*OverviewReport, error) {
	now := s.now().UTC()
	if q.To.IsZero() {
		q.To = now.Add(time.Millisecond) // what is accepted at this moment belongs to it
	}
	if q.From.IsZero() {
		q.From = q.To.Add(-overviewDay)
	}
	if !q.From.Before(q.To) {
		return nil, badParameter("from", "must be before to.")
	}
	if q.To.Sub(q.From) > rollupLife {
		return nil, badParameter("from", "is too early: the time from it until to is 400 days at most, which is how long counts are kept.")
	}
	step := q.Step
	if step == 0 {
		if step = time.Hour; q.To.Sub(q.From) > hourlyOverview {
			step = overviewDay
		}
	}
	if step < time.Hour || step%time.Hour != 0 || step > rollupLife {
		return nil, badParameter("step", "must be whole hours or days, such as 1h, 6h or 1d.")
	}
	r := &OverviewReport{From: q.From.UTC().Truncate(step), To: q.To.UTC().Truncate(step), Step: step}
	if r.To.Before(q.To) {
		r.To = r.To.Add(step)
	}
	if n := r.To.Sub(r.From) / step; n > maxOverviewBuckets {
		return nil, badParameter("step", fmt.Sprintf("gives %d buckets, more than %d. Choose a longer step or a shorter time.", n, maxOverviewBuckets))
	}
	return r, nil
}

// badParameter is the error for a parameter; detail completes a sentence that starts with its name.
func badParameter(parameter, detail string) error {
	detail = parameter + " " + detail
	return &chargehand.Error{
		Code: chargehand.CodeInvalidParameter, Detail: detail,
		Fields: []chargehand.FieldError{{Parameter: parameter, Code: string(chargehand.CodeInvalidParameter), Detail: detail}},
	}
}

// readBuckets adds up the rollups of the scopes, and returns the sums of the workflows that are scopes of their own.
// What an actor has started in a workflow that it sees as a whole is in two scopes, and is taken away once.
func (s *Service) readBuckets(r *store.Reader, p *Principal, report *OverviewReport, scopes []executionScope) (whole map[int64]*store.Rollup, err error) {
	cursor, behind, err := r.RollupState()
	if err != nil {
		return nil, err
	}
	if report.AsOf = atMs(cursor.AsOfMs); !behind {
		report.AsOf = s.now().UTC()
	}
	hours := int(report.To.Sub(report.From) / time.Hour)
	if n := hours * len(scopes); n > max(maxRollupsRead, hours) {
		return nil, badParameter("from", fmt.Sprintf("is too early for %d workflows: choose one of them with workflow_id, or a shorter time.", len(scopes)))
	}
	rollups := make([]store.Rollup, int(report.To.Sub(report.From)/report.Step))
	var total store.Rollup
	whole = map[int64]*store.Rollup{}
	fromMs, stepMs := report.From.UnixMilli(), report.Step.Milliseconds()
	read := func(of store.RollupKey, each func(bucket int64, c *store.Rollup)) error {
		of.Account, of.Environment = p.AccountNo, p.Environment
		of.Day = report.Step%overviewDay == 0 // then buckets begin and end with a day
		return r.Rollups(of, fromMs, report.To.UnixMilli(), func(hourMs int64, c *store.Rollup) { each((hourMs-fromMs)/stepMs, c) })
	}
	own := int64(0)
	for _, scope := range scopes {
		err := read(store.RollupKey{Workflow: scope.workflow, Actor: scope.startedBy}, func(bucket int64, c *store.Rollup) {
			rollups[bucket].Merge(c)
			total.Merge(c)
			if scope.workflow == 0 {
				return
			}
			if whole[scope.workflow] == nil {
				whole[scope.workflow] = new(store.Rollup)
			}
			whole[scope.workflow].Merge(c)
		})
		if err != nil {
			return nil, err
		}
		if scope.workflow == 0 {
			own = scope.startedBy
		} else if own != 0 {
			err := read(store.RollupKey{Workflow: scope.workflow, Actor: own}, func(bucket int64, c *store.Rollup) {
				rollups[bucket].Remove(c)
				total.Remove(c)
			})
			if err != nil {
				return nil, err
			}
		}
	}
	report.Total = overviewBucket(report.From, &total)
	for i := range rollups {
		report.Buckets = append(report.Buckets, overviewBucket(report.From.Add(time.Duration(i)*report.Step), &rollups[i]))
	}
	return whole, nil
}

func overviewBucket(from time.Time, c *store.Rollup) OverviewBucket {
	b := OverviewBucket{From: from, Started: c.Started, Finished: c.Finished, Failed: c.Failed, Cancelled: c.Cancelled}
	var p50, p95 int64
	if p50, b.Timed = c.Durations.Quantile(0.5); b.Timed {
		p95, _ = c.Durations.Quantile(0.95)
	}
	b.P50, b.P95 = time.Duration(p50)*time.Millisecond, time.Duration(p95)*time.Millisecond
	return b
}

// readNow counts what has not ended.
func (s *Service) readNow(r *store.Reader, p *Principal, now *OverviewNow, scopes []executionScope) error {
	var whole []int64 // workflows that are counted as a whole, too
	for _, scope := range scopes {
		if scope.workflow != 0 && scope.startedBy == 0 {
			whole = append(whole, scope.workflow)
		}
	}
	var sum store.Now
	var oldest *store.Execution
	for _, scope := range scopes {
		f := store.NowFilter{Account: p.AccountNo, Environment: p.Environment, Workflow: scope.workflow, StartedBy: scope.startedBy}
		if scope.workflow == 0 {
			f.Except = whole
		}
		counts, err := r.CountNow(f, s.counted)
		if err != nil {
			return err
		}
		sum.Add(counts)
		e, err := r.OldestUnfinished(f, s.counted)
		switch {
		case errors.Is(err, store.ErrNotFound):
		case err != nil:
			return err
		case oldest == nil || string(e.ID[:]) < string(oldest.ID[:]):
			oldest = &e
		}
	}
	now.Queued, now.Running, now.Waiting, now.Human, now.Delayed, now.AtLeast = sum.Queued, sum.Running, sum.Waiting, sum.Human, sum.Delayed, sum.More
	if oldest == nil {
		return nil
	}
	workflow, err := s.names.workflow(r, oldest.Workflow)
	now.Oldest = &OldestExecution{oldest.ID, workflow, oldest.Status, oldest.Phase, oldest.ID.Time()}
	return err
}
