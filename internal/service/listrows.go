package service

import (
	"bytes"
	"slices"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// lister reads what a list shows: rows, or what is counted or grouped of them.
type lister[T any] struct {
	r    *store.Reader
	read func(store.ExecutionFilter) ([]T, error)
	key  func(*T) store.ExecutionKey
}

// fullRows reads rows as lists show them.
func fullRows(r *store.Reader) *lister[store.Execution] {
	return &lister[store.Execution]{r, r.ListExecutions, func(e *store.Execution) store.ExecutionKey { return store.ExecutionKey{No: e.No, ID: e.ID} }}
}

// listFilter is the filter of a query as rows are read by, but for what is looked up. possible is false if nothing can
// fit.
func (s *Service) listFilter(p *Principal, q *ListExecutions) (f store.ExecutionFilter, possible bool) {
	beforeMs, possible := millisAbove(q.CreatedBefore)
	return store.ExecutionFilter{
		Statuses: q.Statuses, Phases: q.Phases, Conditions: q.Filter.conditions(s.nowMs()), Ascending: q.Filter.Ascending,
		Account: p.AccountNo, Environment: p.Environment, CreatedBeforeMs: beforeMs, CreatedAfterMs: max(0, milliOf(q.CreatedAfter)),
		After: store.Cursor{ID: q.After.ID, Item: q.After.Milli},
	}, possible
}

// listPlan is a list that is to be read: in which scopes, how far, and how many rows are looked at, at most.
type listPlan struct {
	store.ExecutionFilter
	scopes []executionScope // none: nothing is seen of what is listed
	most   int
}

// planList looks up what a list is of; not that of a batch. Codes: workflow_not_found.
func (s *Service) planList(r *store.Reader, p *Principal, q *ListExecutions, f store.ExecutionFilter) (plan listPlan, err error) {
	if f.Workflow, err = s.workflowOfList(r, p, q); err != nil {
		return plan, err
	}
	scopes, err := s.listScopesOf(r, p, q, f.Workflow)
	if err != nil || len(scopes) == 0 {
		return plan, err
	}
	if !q.Filter.Root.IsZero() {
		root, err := r.ExecutionByID(p.AccountNo, p.Environment, q.Filter.Root)
		if err != nil {
			return plan, notFoundIs(err, func() error { return nil })
		}
		f.Root = root.No
	}
	most := s.examined
	if f.Narrowed() && f.Label != nil {
		most = max(1, most/2) // as many rows that have the label themselves, and as many items of batches that have it
	}
	if f.Narrowed() || slices.ContainsFunc(scopes, func(s executionScope) bool { return s.startedBy > 0 }) {
		if f.Floor, err = listFloor(r, f, scopes, most); err != nil {
			return plan, err
		}
	}
	return listPlan{f, scopes, most}, nil
}

// workflowOfList is the number of the workflow that a list is of; 0: of any. Codes: workflow_not_found.
func (s *Service) workflowOfList(r *store.Reader, p *Principal, q *ListExecutions) (int64, error) {
	if q.Workflow.IsZero() {
		return 0, nil
	}
	row, err := s.knownWorkflow(r, p, q.Workflow)
	return row.No, err
}

// listRows reads up to f.Limit rows, and the id behind which it has not looked (zero: there is none).
// Codes: workflow_not_found.
func listRows[T any](s *Service, p *Principal, q *ListExecutions, f store.ExecutionFilter, l *lister[T]) (rows []T, floor chargehand.ExecutionID, err error) {
	if !q.Batch.IsZero() { // there are at most as many as a batch has
		if f.Workflow, err = s.workflowOfList(l.r, p, q); err != nil {
			return nil, floor, err
		}
		rows, err := listItems(s, p, q, f, l)
		return rows, floor, err
	}
	plan, err := s.planList(l.r, p, q, f)
	if err != nil || len(plan.scopes) == 0 {
		return nil, floor, err
	}
	return l.planned(&plan)
}

// planned reads the rows of a list, and the id behind which it has not looked.
func (l *lister[T]) planned(plan *listPlan) (rows []T, floor chargehand.ExecutionID, err error) {
	f := plan.ExecutionFilter
	if rows, err = l.scopes(f, plan.scopes); err != nil {
		return nil, floor, err
	}
	if rows, err = l.inRange(rows, f, plan.scopes); err != nil {
		return nil, floor, err
	}
	if f.Label != nil && !f.Related() {
		rows, f.Floor, err = l.labelled(f, plan.scopes, rows, plan.most)
	}
	return rows, f.Floor, err
}

// listItems reads the items of a batch. They are in no tree: none has another execution above it.
func listItems[T any](s *Service, p *Principal, q *ListExecutions, f store.ExecutionFilter, l *lister[T]) ([]T, error) {
	b, seen, err := s.listedBatch(l.r, p, q.Batch, f.Workflow)
	if err != nil || !seen || !q.Filter.Root.IsZero() {
		return nil, err
	}
	if len(q.Filter.Workflows)+len(q.Filter.WorkflowNames) > 0 {
		scopes, err := s.listScopesOf(l.r, p, q, f.Workflow)
		if err != nil || !slices.ContainsFunc(scopes, func(s executionScope) bool { return s.workflow == b.Workflow }) {
			return nil, err
		}
	}
	f.Batch = b.No
	rows, err := l.read(f)
	if err != nil {
		return nil, err
	}
	return l.inRange(rows, f, []executionScope{{}})
}

// inRange adds to a page by text the executions whose ids begin with the text. All of them fit: no row is looked at in
// vain.
func (l *lister[T]) inRange(rows []T, f store.ExecutionFilter, scopes []executionScope) ([]T, error) {
	low, high, ok := idRange(f.Search)
	if !ok {
		return rows, nil
	}
	f.Search, f.LowID, f.HighID = "", low, high
	more, err := l.scopes(f, scopes)
	if err != nil {
		return nil, err
	}
	return l.merge(append(rows, more...), &f), nil
}

// listFloor is the id behind which a page that looks at rows in vain does not look; zero: it looks at everything.
func listFloor(r *store.Reader, f store.ExecutionFilter, scopes []executionScope, most int) (floor chargehand.ExecutionID, err error) {
	for _, scope := range scopes {
		f.Workflow, f.StartedBy = scope.workflow, scope.startedBy
		id, found, err := r.Examined(f, most)
		if err != nil {
			return floor, err
		}
		order := bytes.Compare(id[:], floor[:])
		if found && (floor.IsZero() || (order > 0) != f.Ascending) {
			floor = id
		}
	}
	return floor, nil
}

// scopes lists the executions of some scopes: a page of each, merged.
func (l *lister[T]) scopes(f store.ExecutionFilter, scopes []executionScope) ([]T, error) {
	var rows []T
	for _, scope := range scopes {
		f.Workflow, f.StartedBy = scope.workflow, scope.startedBy
		some, err := l.read(f)
		if err != nil || len(scopes) == 1 {
			return some, err
		}
		rows = l.merge(append(rows, some...), &f)
	}
	return rows, nil
}

// merge orders the rows of several lists, and cuts them to a page.
func (l *lister[T]) merge(rows []T, f *store.ExecutionFilter) []T {
	slices.SortFunc(rows, func(a, b T) int {
		first, second := l.key(&a).ID, l.key(&b).ID
		if f.Ascending {
			return bytes.Compare(first[:], second[:])
		}
		return bytes.Compare(second[:], first[:])
	})
	rows = slices.CompactFunc(rows, func(a, b T) bool { return l.key(&a).No == l.key(&b).No })
	return rows[:min(len(rows), f.Limit)]
}

// maxLabelledBatches bounds the batches that are looked at for a page by label.
const maxLabelledBatches = 200

// labelled adds the items of labelled batches to a page by label. What lies behind the new floor was not looked at.
func (l *lister[T]) labelled(f store.ExecutionFilter, scopes []executionScope, rows []T, most int) ([]T, chargehand.ExecutionID, error) {
	batches, err := l.r.LabelledBatches(f.Account, f.Environment, *f.Label, f.After.ID, maxLabelledBatches+1)
	if err != nil {
		return nil, f.Floor, err
	}
	// What batches have is merged when there is as much of it as a page has: each time costs a sort of the page.
	var more []T
	merge := func() { rows, more = l.merge(append(rows, more...), &f), more[:0] }
	examined := int64(0)
	for i, b := range batches {
		if len(more) >= f.Limit {
			merge()
		}
		if len(rows) >= f.Limit && l.before(&rows[f.Limit-1], b.Last) || bytes.Compare(b.Last[:], f.Floor[:]) < 0 {
			break
		}
		if examined += b.Total; i == maxLabelledBatches || i > 0 && examined > int64(most) {
			merge()
			f.Floor = after(b.Last)
			return l.cutAt(rows, f.Floor), f.Floor, nil
		}
		part := f
		part.Batch, part.Part, part.Inherited = b.No, true, true
		for _, scope := range scopes {
			part.Workflow, part.StartedBy = 0, scope.startedBy
			if scope.workflow != 0 && scope.workflow != b.Workflow {
				continue
			}
			items, err := l.read(part)
			if err != nil {
				return nil, f.Floor, err
			}
			more = append(more, items...)
		}
	}
	merge()
	return rows, f.Floor, nil
}

// before reports whether a row comes before an id, where the newest come first.
func (l *lister[T]) before(row *T, id chargehand.ExecutionID) bool {
	at := l.key(row).ID
	return bytes.Compare(at[:], id[:]) > 0
}

// cutAt leaves out the rows behind a floor.
func (l *lister[T]) cutAt(rows []T, floor chargehand.ExecutionID) []T {
	for i := range rows {
		if id := l.key(&rows[i]).ID; bytes.Compare(id[:], floor[:]) < 0 {
			return rows[:i]
		}
	}
	return rows
}
