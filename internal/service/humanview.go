package service

import (
	"slices"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// taskView says which tasks a principal sees: all of some workflows, and of others those that are its own or have no
// assignee.
type taskView struct {
	who   responder
	all   *Principal // sees all tasks of the workflows that it sees as a whole
	whole []int64    // numbers of these; nil: all
	none  bool       // it sees no workflow as a whole
	part  []int64    // numbers of the others; nil: all others
	parts bool       // there are others
}

// viewTasks finds out which tasks a principal sees. Codes: insufficient_scope.
func (s *Service) viewTasks(r *store.Reader, p *Principal) (v taskView, err error) {
	if v.all, err = May(p, ScopeTasksRead|ScopeExecutionsRead, ScopeTasksRead); err != nil {
		// The routes that change a task show it too, and ask for these scopes.
		for _, scopes := range [...][2]Scopes{{ScopeTasksRespond | ScopeExecutionsRead, ScopeTasksRespond}, {ScopeExecutionsManage, 0}} {
			if v.all, err = May(p, scopes[0], scopes[1]); err == nil {
				break
			}
		}
	}
	if err != nil {
		return v, err
	}
	if v.who, err = s.responder(r, p); err != nil {
		return v, err
	}
	if v.all.partial == nil {
		v.whole, err = numbersOfWorkflows(r, p, v.all.Workflows)
		return v, err
	}
	v.parts = true
	if v.none = len(v.all.partial.whole) == 0; !v.none {
		v.whole, err = numbersOfWorkflows(r, p, v.all.partial.whole)
	}
	if err == nil {
		v.part, err = numbersOfWorkflows(r, p, v.all.Workflows)
	}
	return v, err
}

// numbersOfWorkflows is workflowNumbers; nil for nil.
func numbersOfWorkflows(r *store.Reader, p *Principal, ids []chargehand.WorkflowID) ([]int64, error) {
	if ids == nil {
		return nil, nil
	}
	return workflowNumbers(r, p, ids)
}

// sees reports whether a task is shown.
func (v *taskView) sees(s *Service, r *store.Reader, t *store.HumanTask) (bool, error) {
	id, err := s.names.workflow(r, t.Workflow)
	if err != nil || !v.all.Sees(id) {
		return false, err
	}
	return v.all.SeesWhole(id) || v.who.isAssigned(t.Assignees) || t.Claimant == v.who.actor || t.Answerer == v.who.actor, nil
}

// filters are the queries that together find what the view shows of a filter.
func (v *taskView) filters(f store.TaskFilter) []store.TaskFilter {
	var list []store.TaskFilter
	if !v.none {
		whole := f
		whole.Workflows = common(v.whole, f.Workflows)
		list = append(list, whole)
	}
	if !v.parts {
		return list
	}
	part := f
	part.Workflows = common(v.part, f.Workflows)
	if !v.none {
		part.Others = v.whole
	}
	switch mine := v.who.candidates(); {
	case f.Answerer != 0 && f.Answerer == v.who.actor: // what it has answered itself
	case f.Candidates == nil:
		part.Candidates = mine
	default:
		part.Candidates = slices.DeleteFunc(slices.Clone(f.Candidates), func(c store.TaskCandidate) bool { return !slices.Contains(mine, c) })
	}
	return append(list, part)
}

// common are the numbers in both lists; nil stands for all.
func common(a, b []int64) []int64 {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	list := []int64{}
	for _, n := range a {
		if slices.Contains(b, n) {
			list = append(list, n)
		}
	}
	return list
}
