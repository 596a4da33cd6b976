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
	Status        chargehand.Status     // zero: any
	Batch         chargehand.BatchID    // zero: any
	CreatedAfter  time.Time             // exclusive; zero: no bound
	CreatedBefore time.Time             // exclusive; zero: no bound
	Limit         int                   // 1 to 100
	After         Cursor
	View          View
}

// ExecutionPage is one page of executions, newest first. Outputs are left out: one of them
// may be as large as the rest of the page together.
type ExecutionPage struct {
	Data   []*Execution
	Cursor Cursor
}

// ListExecutions lists executions, newest first; those of one batch from its last item.
// Codes: workflow_not_found (there never was such a workflow for this principal).
func (s *Service) ListExecutions(ctx context.Context, p *Principal, q ListExecutions) (*ExecutionPage, error) {
	page := &ExecutionPage{Data: []*Execution{}}
	beforeMs, possible := millisAbove(q.CreatedBefore)
	f := store.ExecutionFilter{
		Account: p.AccountNo, Environment: p.Environment, CreatedBeforeMs: beforeMs, CreatedAfterMs: max(0, milliOf(q.CreatedAfter)),
		After: store.Cursor{ID: q.After.ID, Item: q.After.Milli}, Limit: q.Limit + 1,
	}
	if q.Status != 0 {
		f.Statuses = []chargehand.Status{q.Status}
	}
	var found []snapshot
	err := s.view(ctx, func(r *store.Reader) error {
		rows, err := s.listRows(r, p, &q, f)
		if err != nil || !possible {
			return err
		}
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
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range found {
		e, err := s.show(&found[i], q.View)
		if err != nil {
			return nil, err
		}
		page.Data = append(page.Data, e)
	}
	return page, nil
}

// listRows reads the rows of a page. Codes: workflow_not_found.
func (s *Service) listRows(r *store.Reader, p *Principal, q *ListExecutions, f store.ExecutionFilter) ([]store.Execution, error) {
	if !q.Workflow.IsZero() {
		row, err := s.knownWorkflow(r, p, q.Workflow)
		if err != nil {
			return nil, err
		}
		f.Workflow = row.No
	}
	if !q.Batch.IsZero() {
		b, err := r.BatchByID(p.AccountNo, p.Environment, q.Batch)
		if errors.Is(err, store.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		workflow, err := s.names.workflow(r, b.Workflow)
		if err != nil || !p.Sees(workflow) || f.Workflow != 0 && f.Workflow != b.Workflow {
			return nil, err
		}
		f.Batch = b.No
		return r.ListExecutions(f)
	}
	if p.Workflows == nil || f.Workflow != 0 {
		return r.ListExecutions(f)
	}
	return listOfSome(r, p, f)
}

// listOfSome lists the executions of the workflows that the key is limited to: a page of
// each, merged. There are at most 100 of them.
func listOfSome(r *store.Reader, p *Principal, f store.ExecutionFilter) ([]store.Execution, error) {
	var rows []store.Execution
	for _, id := range p.Workflows {
		w, err := r.WorkflowByID(p.AccountNo, id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		f.Workflow = w.No
		some, err := r.ListExecutions(f)
		if err != nil {
			return nil, err
		}
		rows = append(rows, some...)
	}
	slices.SortFunc(rows, func(a, b store.Execution) int { return bytes.Compare(b.ID[:], a.ID[:]) })
	return rows[:min(len(rows), f.Limit)], nil
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
