package service

import (
	"cmp"
	"slices"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

const (
	// overviewWorkflows is how many workflows an overview lists in each order.
	overviewWorkflows = 10
	// maxWorkflowsTimed is of how many workflows the durations are compared. Of each of them, the histograms of the days
	// are read, and of the hours before and behind them.
	maxWorkflowsTimed = 50
	// maxWorkflowRollups bounds the rollups that are added up by workflow: those of 500 workflows that had executions in
	// every hour of a week, or on 50 days. On SQLite, so many take some 30 ms.
	maxWorkflowRollups = 25_000
)

// OverviewWorkflows are the workflows whose executions an overview counts.
type OverviewWorkflows struct {
	ByFailures []OverviewWorkflow // those with the most failures
	ByP95      []OverviewWorkflow // those whose executions took the longest
	Count      int                // workflows of which something was counted
	Compared   int                // of how many of them ByP95 was chosen: those of which most finished or failed
	AtLeast    bool               // of the beginning of the time, not all was counted
	// ExaminedUntil is from when on all was counted; zero: all was, or the principal does not see everything.
	ExaminedUntil time.Time
}

// OverviewWorkflow is what an overview counts of a workflow. From is the beginning of the overview.
type OverviewWorkflow struct {
	ID   chargehand.WorkflowID
	Name string // namespace/name
	OverviewBucket
}

// workflowSum is what was done in a workflow.
type workflowSum struct {
	no int64
	*store.Rollup
}

func (w workflowSum) ended() int64 { return w.Finished + w.Failed }

func (w workflowSum) p95() int64 {
	ms, _ := w.Durations.Quantile(0.95)
	return ms
}

// readWorkflows adds up what was done by workflow. whole are the workflows that are scopes of their own: they were
// added up for the buckets.
func (s *Service) readWorkflows(r *store.Reader, p *Principal, report *OverviewReport, scopes []executionScope, whole map[int64]*store.Rollup) error {
	fromMs, beforeMs := report.From.UnixMilli(), report.To.UnixMilli()
	of := store.RollupKey{Account: p.AccountNo, Environment: p.Environment}
	others, completeMs := map[int64]*store.Rollup{}, fromMs
	if i := slices.IndexFunc(scopes, func(scope executionScope) bool { return scope.workflow == 0 }); i >= 0 {
		of.Actor = scopes[i].startedBy
		var err error
		if others, completeMs, err = r.WorkflowCounts(of, fromMs, beforeMs, maxWorkflowRollups); err != nil {
			return err
		}
	}
	var all []workflowSum
	for no, sum := range whole {
		delete(others, no) // what an actor has started in it is in whole
		all = append(all, workflowSum{no, sum})
	}
	for no, sum := range others {
		all = append(all, workflowSum{no, sum})
	}
	failed := slices.DeleteFunc(slices.Clone(all), func(w workflowSum) bool { return w.Failed == 0 })
	failed = greatest(failed, overviewWorkflows, func(w workflowSum) int64 { return w.Failed })
	timed := greatest(slices.Clone(all), maxWorkflowsTimed, workflowSum.ended)

	untimed := map[int64]*store.Rollup{}
	for _, w := range slices.Concat(failed, timed) {
		if others[w.no] != nil {
			untimed[w.no] = w.Rollup
		}
	}
	if err := r.WorkflowDurations(of, fromMs, beforeMs, untimed); err != nil {
		return err
	}
	report.Workflows = OverviewWorkflows{Count: len(all), Compared: len(timed), AtLeast: completeMs > fromMs}
	if report.Workflows.AtLeast && p.seesEverything() {
		report.Workflows.ExaminedUntil = atMs(completeMs)
	}
	var err error
	if report.Workflows.ByFailures, err = s.showWorkflows(r, report.From, failed); err != nil {
		return err
	}
	timed = slices.DeleteFunc(timed, func(w workflowSum) bool { return w.Durations.Count() == 0 })
	report.Workflows.ByP95, err = s.showWorkflows(r, report.From, greatest(timed, overviewWorkflows, workflowSum.p95))
	return err
}

// greatest sorts workflows by a number, the greatest first, and returns n of them at most.
func greatest(list []workflowSum, n int, by func(workflowSum) int64) []workflowSum {
	slices.SortFunc(list, func(a, b workflowSum) int {
		return cmp.Or(cmp.Compare(by(b), by(a)), cmp.Compare(b.ended(), a.ended()), cmp.Compare(a.no, b.no))
	})
	return list[:min(n, len(list))]
}

func (s *Service) showWorkflows(r *store.Reader, from time.Time, list []workflowSum) ([]OverviewWorkflow, error) {
	shown := make([]OverviewWorkflow, len(list))
	for i, w := range list {
		id, err := s.names.workflow(r, w.no)
		if err != nil {
			return nil, err
		}
		name, err := s.names.workflowName(r, w.no)
		if err != nil {
			return nil, err
		}
		shown[i] = OverviewWorkflow{id, name, overviewBucket(from, w.Rollup)}
	}
	return shown, nil
}
