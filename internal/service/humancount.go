package service

import (
	"context"

	"github.com/chargehand/chargehand/internal/store"
)

// TaskCount counts tasks, up to a bound.
type TaskCount struct {
	Count   int64
	AtLeast bool // there may be more
}

// TaskCounts are the numbers of open and claimed tasks that the principal sees.
type TaskCounts struct {
	Mine       TaskCount // assigned to it, or claimed by it
	Groups     TaskCount // of its groups, and not counted in Mine
	Unassigned TaskCount
	Overdue    TaskCount
	All        TaskCount
}

// CountHumanTasks counts open and claimed tasks. Codes: insufficient_scope.
func (s *Service) CountHumanTasks(ctx context.Context, p *Principal) (c TaskCounts, err error) {
	err = s.view(ctx, func(r *store.Reader) error {
		v, err := s.viewTasks(r, p)
		if err == nil {
			c, err = s.countTasks(r, p, &v)
		}
		return err
	})
	return c, err
}

func (s *Service) countTasks(r *store.Reader, p *Principal, v *taskView) (c TaskCounts, err error) {
	base := store.TaskFilter{Account: p.AccountNo, Environment: p.Environment}
	for _, one := range []struct {
		to     *TaskCount
		change func(f *store.TaskFilter)
	}{
		{&c.Mine, func(f *store.TaskFilter) { f.Candidates = append([]store.TaskCandidate{}, v.who.own()...) }},
		{&c.Groups, func(f *store.TaskFilter) { f.Candidates, f.Without = v.who.ofGroups(), v.who.own() }},
		{&c.Unassigned, func(f *store.TaskFilter) { f.Candidates = []store.TaskCandidate{{Kind: store.CandidateAnybody}} }},
		{&c.Overdue, func(f *store.TaskFilter) { f.DueBeforeMs = s.nowMs() }},
		{&c.All, func(*store.TaskFilter) {}},
	} {
		f := base
		one.change(&f)
		for _, part := range v.filters(f) {
			n, more, err := r.CountHumanTasks(part, maxTaskCount+1)
			if err != nil {
				return c, err
			}
			one.to.Count += n
			one.to.AtLeast = one.to.AtLeast || more
		}
		if one.to.Count > maxTaskCount {
			*one.to = TaskCount{maxTaskCount, true}
		}
	}
	return c, nil
}
