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
	// maxCounted is up to how many executions are counted.
	maxCounted = 10_000
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

// CountExecutions counts what a list would show. Limit and After of the query are not used.
// Codes: workflow_not_found.
func (s *Service) CountExecutions(ctx context.Context, p *Principal, q ListExecutions) (c ExecutionCount, err error) {
	err = s.view(ctx, func(r *store.Reader) error {
		c = ExecutionCount{}
		return s.eachScope(r, p, &q, func(f store.ExecutionFilter) error {
			if f.Batch == 0 && (len(f.Phases) > 0 || f.StartedBy > 0) {
				id, found, err := r.Examined(f, s.examined)
				if err != nil {
					return err
				}
				if found {
					c.examined(id)
					f.Floor = id
				}
			}
			n, err := r.CountExecutions(f, s.counted+1-int(c.Count))
			c.Count += n
			return err
		})
	})
	if c.Count > int64(s.counted) {
		c.Count, c.AtLeast = int64(s.counted), true
	}
	return c, err
}

// examined notes that nothing was looked at that is older than an execution.
func (c *ExecutionCount) examined(id chargehand.ExecutionID) {
	c.AtLeast = true
	if t := id.Time(); t.After(c.ExaminedUntil) {
		c.ExaminedUntil = t
	}
}

// eachScope calls do for parts of what a list would show. No execution is in two of them.
func (s *Service) eachScope(r *store.Reader, p *Principal, q *ListExecutions, do func(store.ExecutionFilter) error) error {
	beforeMs, possible := millisAbove(q.CreatedBefore)
	f := store.ExecutionFilter{
		Account: p.AccountNo, Environment: p.Environment, Statuses: q.Statuses, Phases: q.Phases,
		CreatedBeforeMs: beforeMs, CreatedAfterMs: max(0, milliOf(q.CreatedAfter)),
	}
	if !q.Workflow.IsZero() {
		row, err := s.knownWorkflow(r, p, q.Workflow)
		if err != nil {
			return err
		}
		f.Workflow = row.No
	}
	if !possible {
		return nil
	}
	if !q.Batch.IsZero() {
		b, seen, err := s.listedBatch(r, p, q.Batch, f.Workflow)
		if err != nil || !seen {
			return err
		}
		f.Batch = b.No
		return do(f)
	}
	scopes, err := executionScopes(r, p, q, f.Workflow)
	if err != nil {
		return err
	}
	for i, scope := range scopes {
		f.Workflow, f.StartedBy, f.Except = scope.workflow, scope.startedBy, nil
		if scope.workflow == 0 {
			for _, other := range slices.Concat(scopes[:i], scopes[i+1:]) {
				f.Except = append(f.Except, other.workflow)
			}
		}
		if err := do(f); err != nil {
			return err
		}
	}
	return nil
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
}

// ListFailures groups the failures among what a list would show. Executions that were cancelled are none. Limit bounds
// the groups; After is not used.
// Codes: workflow_not_found.
func (s *Service) ListFailures(ctx context.Context, p *Principal, q ListExecutions) (g *FailureGroups, err error) {
	err = s.view(ctx, func(r *store.Reader) error {
		g, err = s.failures(r, p, &q)
		return err
	})
	return g, err
}

func (s *Service) failures(r *store.Reader, p *Principal, q *ListExecutions) (*FailureGroups, error) {
	g, seen := &FailureGroups{Data: []FailureGroup{}}, ExecutionCount{}
	groups := map[store.FailureKind]*store.FailureGroup{}
	if len(q.Statuses) > 0 && !slices.Contains(q.Statuses, chargehand.Errored) || len(q.Phases) > 0 && !slices.Contains(q.Phases, chargehand.Faulted) {
		return g, nil
	}
	err := s.eachScope(r, p, q, func(f store.ExecutionFilter) error {
		if f.Batch == 0 {
			id, found, err := r.ExaminedFailures(f, min(s.examined, maxFailuresExamined))
			if err != nil {
				return err
			}
			if found {
				seen.examined(id)
				f.Floor = id
			}
		}
		return r.Failures(f, groups)
	})
	if err != nil {
		return nil, err
	}
	g.AtLeast, g.ExaminedUntil = seen.AtLeast, seen.ExaminedUntil
	var list []*store.FailureGroup
	for _, group := range groups {
		list = append(list, group)
	}
	slices.SortFunc(list, func(a, b *store.FailureGroup) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(b.LastMs, a.LastMs), bytes.Compare(b.SampleID[:], a.SampleID[:]))
	})
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

func (s *Service) showFailures(r *store.Reader, g *store.FailureGroup) (FailureGroup, error) {
	shown := FailureGroup{
		Code: g.Code, Reference: g.At, Count: g.Count, First: atMs(g.FirstMs), Last: atMs(g.LastMs), Sample: g.SampleID,
	}
	var err error
	if shown.Workflow, err = s.names.workflow(r, g.Workflow); err != nil {
		return shown, err
	}
	outcome, err := r.Outcome(g.Sample)
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
