package service

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// ListExecutions is a query for executions.
type ListExecutions struct {
	Workflow      chargehand.WorkflowID // zero: of all workflows
	Statuses      []chargehand.Status   // none: any
	Phases        []chargehand.Phase    // none: any
	Batch         chargehand.BatchID    // zero: any
	Filter        ExecutionFilter
	Inputs        bool      // show the inputs
	CreatedAfter  time.Time // exclusive; zero: no bound
	CreatedBefore time.Time // exclusive; zero: no bound
	Limit         int       // 1 to 100
	After         Cursor
	View          View
}

// ExecutionPage is one page of executions, newest first. Outputs are left out: one of them
// may be as large as the rest of the page together.
type ExecutionPage struct {
	Data   []*Execution
	Cursor Cursor
}

// ListExecutions lists executions, newest first; those of one batch from its last item. A page
// by phase looks at no more than maxExamined executions; it may be short, and have a cursor.
// Codes: workflow_not_found (there never was such a workflow for this principal).
func (s *Service) ListExecutions(ctx context.Context, p *Principal, q ListExecutions) (*ExecutionPage, error) {
	page := &ExecutionPage{Data: []*Execution{}}
	beforeMs, possible := millisAbove(q.CreatedBefore)
	f := store.ExecutionFilter{
		Statuses: q.Statuses, Phases: q.Phases, Conditions: q.Filter.conditions(s.nowMs()), Ascending: q.Filter.Ascending, Inputs: q.Inputs,
		Account: p.AccountNo, Environment: p.Environment, CreatedBeforeMs: beforeMs, CreatedAfterMs: max(0, milliOf(q.CreatedAfter)),
		After: store.Cursor{ID: q.After.ID, Item: q.After.Milli}, Limit: q.Limit + 1,
	}
	var found []snapshot
	err := s.view(ctx, func(r *store.Reader) error {
		rows, floor, err := s.listRows(r, p, &q, f)
		if err != nil || !possible {
			return err
		}
		page.Cursor = idCursor(floor)
		if len(rows) > q.Limit {
			rows = rows[:q.Limit]
			last := &rows[q.Limit-1]
			page.Cursor = idCursor(last.ID)
			if !q.Batch.IsZero() {
				page.Cursor.Milli = last.Item
			}
		}
		found = make([]snapshot, len(rows))
		for i := range rows {
			found[i].row = rows[i]
			if err := s.complete(r, &found[i]); err != nil {
				return err
			}
		}
		return s.completeAll(r, found)
	})
	if err != nil {
		return nil, err
	}
	for i := range found {
		e, err := s.show(&found[i], q.View)
		if err == nil && q.Inputs {
			e.Input, err = s.showInput(ctx, &found[i].row, q.View)
		}
		if err != nil {
			return nil, err
		}
		page.Data = append(page.Data, e)
	}
	return page, nil
}

// maxExamined is the number of rows that are read for one page to find those that it shows.
const maxExamined = 50_000

// listRows reads the rows of a page, and the id to continue from if the page was cut short.
// Codes: workflow_not_found.
func (s *Service) listRows(r *store.Reader, p *Principal, q *ListExecutions, f store.ExecutionFilter) (rows []store.Execution, floor chargehand.ExecutionID, err error) {
	if !q.Workflow.IsZero() {
		row, err := s.knownWorkflow(r, p, q.Workflow)
		if err != nil {
			return nil, floor, err
		}
		f.Workflow = row.No
	}
	if !q.Batch.IsZero() {
		rows, err := s.listBatchRows(r, p, q, f)
		return rows, floor, err
	}
	scopes, err := s.listScopesOf(r, p, q, f.Workflow)
	if err != nil || len(scopes) == 0 {
		return nil, floor, err
	}
	if !q.Filter.Root.IsZero() {
		root, err := r.ExecutionByID(p.AccountNo, p.Environment, q.Filter.Root)
		if err != nil {
			return nil, floor, notFoundIs(err, func() error { return nil })
		}
		f.Root = root.No
	}
	if f.Narrowed() || slices.ContainsFunc(scopes, func(s executionScope) bool { return s.startedBy > 0 }) {
		if f.Floor, err = s.listFloor(r, f, scopes); err != nil {
			return nil, floor, err
		}
	}
	if rows, err = listScopes(r, f, scopes); err != nil {
		return nil, floor, err
	}
	if low, high, ok := idRange(q.Filter.Search); ok { // all of a range match: no row is looked at in vain
		more, err := listIDs(r, f, scopes, low, high)
		if err != nil {
			return nil, floor, err
		}
		rows = mergeRows(append(rows, more...), &f)
	}
	if f.Label != nil && f.Root == 0 {
		rows, f.Floor, err = s.listLabelled(r, f, scopes, rows)
	}
	return rows, f.Floor, err
}

// listBatchRows reads a page of the items of a batch. There are at most as many as a batch has.
func (s *Service) listBatchRows(r *store.Reader, p *Principal, q *ListExecutions, f store.ExecutionFilter) ([]store.Execution, error) {
	b, seen, err := s.listedBatch(r, p, q.Batch, f.Workflow)
	if err != nil || !seen {
		return nil, err
	}
	f.Batch = b.No
	return r.ListExecutions(f)
}

// listedBatch reads a batch whose items are listed, of a workflow (0: of any). seen is false if the principal does not
// see it.
func (s *Service) listedBatch(r *store.Reader, p *Principal, id chargehand.BatchID, of int64) (b store.Batch, seen bool, err error) {
	b, err = r.BatchByID(p.AccountNo, p.Environment, id)
	if errors.Is(err, store.ErrNotFound) {
		return b, false, nil
	}
	if err != nil {
		return b, false, err
	}
	workflow, err := s.names.workflow(r, b.Workflow)
	return b, err == nil && p.seesStarted(workflow, b.StartedBy) && (of == 0 || of == b.Workflow), err
}

// listFloor is the id behind which a page that looks at rows in vain does not look; zero: it looks at everything.
func (s *Service) listFloor(r *store.Reader, f store.ExecutionFilter, scopes []executionScope) (floor chargehand.ExecutionID, err error) {
	for _, scope := range scopes {
		f.Workflow, f.StartedBy = scope.workflow, scope.startedBy
		id, found, err := r.Examined(f, s.examined)
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

// executionScope is a part of a list: the executions of a workflow (0: of all), or those of them that an actor has
// started (0: any).
type executionScope struct{ workflow, startedBy int64 }

// executionScopes are the parts of a list of executions of a workflow (0: of all).
func executionScopes(r *store.Reader, p *Principal, q *ListExecutions, workflow int64) (scopes []executionScope, err error) {
	if workflow != 0 {
		if p.SeesWhole(q.Workflow) {
			return []executionScope{{workflow: workflow}}, nil
		}
		return []executionScope{{workflow, p.actor()}}, nil
	}
	if p.Workflows == nil {
		if p.partial == nil {
			return []executionScope{{}}, nil
		}
		scopes = []executionScope{{startedBy: p.actor()}}
		whole, err := workflowNumbers(r, p, p.partial.whole)
		for _, no := range whole {
			scopes = append(scopes, executionScope{workflow: no})
		}
		return scopes, err
	}
	for _, id := range p.Workflows {
		numbers, err := workflowNumbers(r, p, []chargehand.WorkflowID{id})
		if err != nil {
			return nil, err
		}
		for _, no := range numbers {
			scope := executionScope{workflow: no}
			if !p.SeesWhole(id) {
				scope.startedBy = p.actor()
			}
			scopes = append(scopes, scope)
		}
	}
	return scopes, nil
}

// workflowNumbers finds the numbers of workflows.
func workflowNumbers(r *store.Reader, p *Principal, ids []chargehand.WorkflowID) ([]int64, error) {
	numbers := []int64{}
	for _, id := range ids {
		w, err := r.WorkflowByID(p.AccountNo, id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, w.No)
	}
	return numbers, nil
}

// listScopes lists the executions of some scopes: a page of each, merged.
func listScopes(r *store.Reader, f store.ExecutionFilter, scopes []executionScope) ([]store.Execution, error) {
	var rows []store.Execution
	for _, scope := range scopes {
		f.Workflow, f.StartedBy = scope.workflow, scope.startedBy
		some, err := r.ListExecutions(f)
		if err != nil || len(scopes) == 1 {
			return some, err
		}
		rows = append(rows, some...)
	}
	return mergeRows(rows, &f), nil
}

// mergeRows orders the rows of several lists, and cuts them to a page.
func mergeRows(rows []store.Execution, f *store.ExecutionFilter) []store.Execution {
	slices.SortFunc(rows, func(a, b store.Execution) int {
		if f.Ascending {
			return bytes.Compare(a.ID[:], b.ID[:])
		}
		return bytes.Compare(b.ID[:], a.ID[:])
	})
	rows = slices.CompactFunc(rows, func(a, b store.Execution) bool { return a.No == b.No })
	return rows[:min(len(rows), f.Limit)]
}

// knownWorkflow reads a workflow whose executions the principal may read, although it may
// be deleted. Codes: workflow_not_found.
func (s *Service) knownWorkflow(r *store.Reader, p *Principal, id chargehand.WorkflowID) (store.Workflow, error) {
	if !p.Sees(id) {
		return store.Workflow{}, workflowNotFound()
	}
	row, err := r.WorkflowByID(p.AccountNo, id)
	if err == nil && row.DeletedMs == 0 && row.Published == 0 && p.Environment == chargehand.Live {
		err = workflowNotFound()
	}
	return row, notFoundIs(err, workflowNotFound)
}
