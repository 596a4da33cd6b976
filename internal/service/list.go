package service

import (
	"context"
	"errors"
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
	Summary       bool      // leave the results out
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
// that looks at rows in vain looks at no more than maxExamined, and one with inputs has no more than maxListedInputs of
// them; it may be short, and have a cursor.
// Codes: workflow_not_found (there never was such a workflow for this principal).
func (s *Service) ListExecutions(ctx context.Context, p *Principal, q ListExecutions) (*ExecutionPage, error) {
	page := &ExecutionPage{Data: []*Execution{}}
	q.After = s.openCursor(q.After)
	f, possible := s.listFilter(p, &q)
	f.Limit = q.Limit + 1
	var found []snapshot
	err := s.view(ctx, func(r *store.Reader) error {
		rows, floor, err := listRows(s, p, &q, f, fullRows(r))
		if err != nil || !possible {
			return err
		}
		page.Cursor = s.floorCursor(p, floor)
		n := min(len(rows), q.Limit)
		if q.Inputs {
			if n, err = s.readInputs(r, rows[:n]); err != nil {
				return err
			}
		}
		if len(rows) > n {
			rows = rows[:n]
			last := &rows[n-1]
			page.Cursor = idCursor(last.ID)
			if !q.Batch.IsZero() {
				page.Cursor.Milli = last.Item
			}
		}
		found = make([]snapshot, len(rows))
		for i := range rows {
			found[i].row, found[i].summary = rows[i], q.Summary
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

// readInputs reads the inputs of executions up to maxListedInputs, and returns how many executions that were.
func (s *Service) readInputs(r *store.Reader, rows []store.Execution) (n int, err error) {
	size := int64(0)
	for n = range rows {
		row, err := r.ExecutionByNo(rows[n].No)
		if err != nil {
			return n, err
		}
		if size += row.Input.Size; n > 0 && size > s.inputs {
			return n, nil
		}
		rows[n].Input = row.Input
	}
	return len(rows), nil
}

// maxListedInputs bounds the inputs of one page, in bytes. The first one is always shown.
const maxListedInputs = 4 << 20

// maxExamined is the number of rows that are read for one page to find those that it shows. Rows that an index names
// may lie far from each other: with a million executions, so many of them take some 20 ms on SQLite.
const maxExamined = 6_000

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
