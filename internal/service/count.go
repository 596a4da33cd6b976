package service

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/fingerprint"
	"github.com/chargehand/chargehand/internal/store"
)

const (
	// maxFailuresExamined is how many failures are looked at for their groups, the newest ones.
	maxFailuresExamined = 10_000
	// maxFailureGroups bounds the groups of an answer.
	maxFailureGroups = 100
)

// ExecutionCount is how many executions a query selects.
type ExecutionCount struct {
	Count   int64
	AtLeast bool // there may be more
	// ExaminedUntil is the time of creation before which no execution was looked at; zero: all were.
	ExaminedUntil time.Time
}

// CountExecutions counts what a list would show. Limit, After and what is shown of an execution are not used.
// Codes: workflow_not_found.
func (s *Service) CountExecutions(ctx context.Context, p *Principal, q ListExecutions) (c ExecutionCount, err error) {
	q.After, q.Filter.Ascending = Cursor{}, false
	f, possible := s.listFilter(p, &q)
	f.Limit = s.counted + 1
	err = s.view(ctx, func(r *store.Reader) error {
		n, floor, err := s.countRows(r, p, &q, f)
		if err != nil || !possible {
			return err
		}
		most := int64(s.counted)
		c = ExecutionCount{Count: min(n, most), AtLeast: n > most || !floor.IsZero(), ExaminedUntil: examinedUntil(p, floor)}
		return nil
	})
	return c, err
}

// countRows counts up to f.Limit rows of a list, and returns the id behind which it has not looked. The database counts
// where that is enough; otherwise the keys are read, and those that are in several parts of the list count once.
func (s *Service) countRows(r *store.Reader, p *Principal, q *ListExecutions, f store.ExecutionFilter) (n int64, floor chargehand.ExecutionID, err error) {
	keys := &lister[store.ExecutionKey]{r, r.ExecutionKeys, func(k *store.ExecutionKey) store.ExecutionKey { return *k }}
	if !q.Batch.IsZero() {
		list, floor, err := listRows(s, p, q, f, keys)
		return int64(len(list)), floor, err
	}
	plan, err := s.planList(r, p, q, f)
	if err != nil || len(plan.scopes) == 0 {
		return 0, floor, err
	}
	if n, counted, err := plan.count(r); err != nil || counted {
		return n, plan.Floor, err
	}
	list, floor, err := keys.planned(&plan)
	return int64(len(list)), floor, err
}

// count lets the database count the rows of a list. counted is false if they must be read: nothing is known then.
func (l *listPlan) count(r *store.Reader) (n int64, counted bool, err error) {
	f, limit := l.ExecutionFilter, int64(l.Limit)
	if _, _, parts := idRange(f.Search); parts || !l.apart() {
		return 0, false, nil
	}
	labelled := f.Label != nil && !f.Related() // the items of batches with the label come to those that have it themselves
	if labelled && (f.Narrowed() || len(l.scopes) > 1 || l.scopes[0] != executionScope{}) {
		return 0, false, nil
	}
	for _, scope := range l.scopes {
		f.Workflow, f.StartedBy, f.Limit = scope.workflow, scope.startedBy, int(limit-n)
		some, err := r.CountListed(f)
		if n += some; err != nil || n >= limit {
			return n, true, err
		}
	}
	return n, !labelled, nil
}

// apart reports whether no execution is in two of the scopes.
func (l *listPlan) apart() bool {
	seen := map[int64]bool{}
	for _, scope := range l.scopes {
		if seen[scope.workflow] || scope.workflow == 0 && len(l.scopes) > 1 {
			return false
		}
		seen[scope.workflow] = true
	}
	return true
}

// examinedUntil is the time before which nothing was looked at, of an id behind which nothing was. It is zero for a
// principal that does not see everything: the id may be that of an execution that it does not see.
func examinedUntil(p *Principal, floor chargehand.ExecutionID) (at time.Time) {
	if !floor.IsZero() && p.seesEverything() {
		at = floor.Time()
	}
	return at
}

// FailureGroups are the ways in which the executions that a query selects have failed, the most frequent first.
type FailureGroups struct {
	Data []FailureGroup
	// AtLeast tells that not all failures were looked at, or not all groups are shown.
	AtLeast       bool
	ExaminedUntil time.Time // as in ExecutionCount
}

// FailureGroup are executions that have failed in the same way.
type FailureGroup struct {
	Workflow    chargehand.WorkflowID
	Code        string
	Reference   string // of the task, as a JSON pointer; empty: none
	Detail      string // of the sample, without what differs from case to case
	Count       int64
	First, Last time.Time // when the first and the last of them ended
	Sample      chargehand.ExecutionID
	Mark        FailureMark
}

// ListFailures groups the failures among what a list would show. Executions that were cancelled are none. Limit bounds
// the groups; After and what is shown of an execution are not used.
// Codes: workflow_not_found, invalid_parameter (what was asked for cannot have failed).
func (s *Service) ListFailures(ctx context.Context, p *Principal, q ListExecutions) (g *FailureGroups, err error) {
	switch {
	case len(q.Statuses) > 0 && !slices.Contains(q.Statuses, chargehand.Errored):
		return nil, badParameter("status", "must be error, or be left out: executions of another status have not failed.")
	case len(q.Phases) > 0 && !slices.Contains(q.Phases, chargehand.Faulted):
		return nil, badParameter("phase", "must be faulted, or be left out: executions in another phase have not failed.")
	case len(q.Filter.Waits) > 0:
		return nil, badParameter("waiting_for", "must be left out: what has failed waits for nothing.")
	}
	err = s.view(ctx, func(r *store.Reader) error {
		g, err = s.failures(r, p, &q)
		return err
	})
	return g, err
}

func (s *Service) failures(r *store.Reader, p *Principal, q *ListExecutions) (*FailureGroups, error) {
	g, most := &FailureGroups{Data: []FailureGroup{}}, min(s.examined, maxFailuresExamined)
	q.After, q.Filter.Ascending = Cursor{}, false
	f, possible := s.listFilter(p, q)
	f.Failed, f.Limit = true, most+1
	rows, floor, err := listRows(s, p, q, f, &lister[store.FailedExecution]{r, r.Failures, func(f *store.FailedExecution) store.ExecutionKey { return f.ExecutionKey }})
	if err != nil || !possible {
		return g, err
	}
	if len(rows) > most {
		rows, floor = rows[:most], rows[most-1].ID
	}
	g.AtLeast, g.ExaminedUntil = !floor.IsZero(), examinedUntil(p, floor)
	list := groupFailures(rows)
	limit := q.Limit
	if limit == 0 {
		limit = maxFailureGroups
	}
	if len(list) > limit {
		list, g.AtLeast = list[:limit], true
	}
	for _, group := range list {
		shown, err := s.showFailures(r, group)
		if err != nil {
			return nil, err
		}
		g.Data = append(g.Data, shown)
	}
	return g, nil
}

// failureGroup are executions that have failed in the same way.
type failureGroup struct {
	store.FailedExecution // the one that was created last
	count                 int64
	firstMs, lastMs       int64 // when the first and the last of them ended
}

// groupFailures groups failures that are listed from the newest, the largest group first.
func groupFailures(rows []store.FailedExecution) (list []*failureGroup) {
	groups := map[store.FailureKind]*failureGroup{}
	for _, one := range rows {
		g := groups[one.FailureKind]
		if g == nil {
			g = &failureGroup{FailedExecution: one, firstMs: one.EndedMs, lastMs: one.EndedMs}
			groups[one.FailureKind], list = g, append(list, g)
		}
		g.count++
		g.firstMs, g.lastMs = min(g.firstMs, one.EndedMs), max(g.lastMs, one.EndedMs)
	}
	slices.SortFunc(list, func(a, b *failureGroup) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(b.lastMs, a.lastMs), bytes.Compare(b.ID[:], a.ID[:]))
	})
	return list
}

func (s *Service) showFailures(r *store.Reader, g *failureGroup) (FailureGroup, error) {
	shown := FailureGroup{
		Code: g.Code, Reference: g.At, Count: g.count, First: atMs(g.firstMs), Last: atMs(g.lastMs), Sample: g.ID,
		Mark: FailureMark{g.At, g.Hash},
	}
	var err error
	if shown.Workflow, err = s.names.workflow(r, g.Workflow); err != nil {
		return shown, err
	}
	outcome, err := r.Outcome(g.No)
	if errors.Is(err, store.ErrNotFound) || err == nil && outcome.Fault == nil {
		return shown, nil
	}
	if err != nil {
		return shown, err
	}
	fault, err := faultError(outcome.Fault)
	if err == nil {
		shown.Detail = fingerprint.Normalize(fault.Detail)
	}
	return shown, err
}
