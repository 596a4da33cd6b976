package service

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/store"
)

// Workflow is what lists show. Version is the version that a start without `version` runs
// in the principal's environment.
type Workflow struct {
	ID        chargehand.WorkflowID
	Namespace string
	Name      string
	Title     string // may be empty
	Version   string
	CreatedAt time.Time
	UpdatedAt time.Time
}

// WorkflowPage is one page of workflows, newest first. Cursor is the created_at of the last
// item, zero if there is no next page.
type WorkflowPage struct {
	Data   []Workflow
	Cursor time.Time
}

// WorkflowDetail is one workflow with what it runs.
type WorkflowDetail struct {
	Workflow
	Revision         int64  // of Version, counts from 1
	PublishedVersion string // empty: never published
	InputSchema      []byte // JSON; nil if the definition has none
	Definition       []byte // JSON
	Source           []byte // the definition as it was applied
	SourceType       string // application/yaml or application/json
}

func shownWorkflow(row *store.Workflow, revision *store.Revision) Workflow {
	return Workflow{
		ID: row.ID, Namespace: row.Namespace, Name: row.Name, Title: revision.Title, Version: revision.Version,
		CreatedAt: atMs(row.CreatedMs), UpdatedAt: atMs(row.UpdatedMs),
	}
}

// ListWorkflows lists the workflows that the principal can start, strictly older than
// before; limit is 1 to 100, a zero before starts with the newest.
func (s *Service) ListWorkflows(ctx context.Context, p *Principal, limit int, before time.Time) (*WorkflowPage, error) {
	page := &WorkflowPage{Data: []Workflow{}}
	beforeMs, ok := millisAbove(before)
	if !ok {
		return page, nil
	}
	err := s.view(ctx, func(r *store.Reader) error {
		rows, err := listWorkflows(r, p, beforeMs, limit+1)
		if err != nil {
			return err
		}
		if len(rows) > limit {
			rows = rows[:limit]
			page.Cursor = atMs(rows[limit-1].CreatedMs)
		}
		for i := range rows {
			no := rows[i].Published
			if p.Environment == chargehand.Test && rows[i].Draft != 0 {
				no = rows[i].Draft
			}
			revision, err := r.RevisionByNo(no)
			if err != nil {
				return err
			}
			page.Data = append(page.Data, shownWorkflow(&rows[i], &revision))
		}
		return nil
	})
	return page, err
}

// millisAbove is the smallest millisecond that is not before t, so that "created_ms is less
// than it" means "created before t". ok is false if nothing can have been created before t.
func millisAbove(t time.Time) (ms int64, ok bool) {
	if t.IsZero() {
		return 0, true
	}
	ms = t.UnixMilli()
	if t.After(time.UnixMilli(ms)) {
		ms++
	}
	return ms, ms > 0
}

// listWorkflows reads a page of the workflows that can be started, newest first.
func listWorkflows(r *store.Reader, p *Principal, beforeMs int64, limit int) ([]store.Workflow, error) {
	drafts := p.Environment == chargehand.Test
	if p.Workflows == nil {
		return r.ListWorkflows(p.AccountNo, drafts, beforeMs, limit)
	}
	var rows []store.Workflow
	for _, id := range p.Workflows {
		row, err := r.WorkflowByID(p.AccountNo, id)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if row.DeletedMs == 0 && (drafts || row.Published != 0) && (beforeMs == 0 || row.CreatedMs < beforeMs) {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b store.Workflow) int { return int(b.CreatedMs - a.CreatedMs) })
	return rows[:min(len(rows), limit)], nil
}

// readable finds a workflow of which the principal can start something; others are not
// there for readers. Codes: workflow_not_found.
func (s *Service) readable(ctx context.Context, p *Principal, id chargehand.WorkflowID) (*currentWorkflow, store.Revision, error) {
	w, err := s.current(ctx, p, id)
	if err != nil {
		return nil, store.Revision{}, err
	}
	revision, ok := w.revision(p.Environment)
	if !ok {
		return nil, store.Revision{}, workflowNotFound()
	}
	return w, revision, nil
}

// GetWorkflow returns one workflow. Codes: workflow_not_found.
func (s *Service) GetWorkflow(ctx context.Context, p *Principal, id chargehand.WorkflowID) (*WorkflowDetail, error) {
	w, revision, err := s.readable(ctx, p, id)
	if err != nil {
		return nil, err
	}
	detail := &WorkflowDetail{
		Workflow: shownWorkflow(&w.row, &revision), Revision: revision.Number, PublishedVersion: w.published.Version,
	}
	compiled, err := s.plans.Plan(ctx, revision.No)
	if err != nil {
		return nil, storageError(err)
	}
	detail.InputSchema = inputSchema(compiled)
	detail.Definition = expr.Marshal(compiled.Definition())
	err = s.view(ctx, func(r *store.Reader) error {
		definition, err := r.Definition(revision.Definition)
		detail.Source, detail.SourceType = definition.Source, definition.MediaType
		return err
	})
	return detail, err
}

// inputSchema is the JSON Schema of the input as the definition has it; nil if none.
func inputSchema(p *plan.Plan) []byte {
	input := p.Document().Input
	if input == nil || input.Schema == nil || !input.Schema.Document.Present() {
		return nil
	}
	return expr.Marshal(input.Schema.Document.Value)
}

// DeleteWorkflow takes a workflow out of lists, refuses new starts and ends its schedule. What runs goes on, and
// executions stay readable. One that was ever published needs the scope workflows:publish.
// Codes: workflow_not_found, insufficient_scope.
func (s *Service) DeleteWorkflow(ctx context.Context, p *Principal, id chargehand.WorkflowID) error {
	w, err := s.current(ctx, p, id)
	if err != nil {
		return err
	}
	err = s.update(ctx, func(tx *store.Tx) error {
		row, err := tx.WorkflowForUpdate(w.row.No)
		if err != nil {
			return err
		}
		// The pointer never becomes empty again.
		if row.Published != 0 && row.DeletedMs == 0 {
			if err := Require(p, ScopeWorkflowsPublish); err != nil {
				return err
			}
		}
		if err := tx.DeleteWorkflow(w.row.No, s.nowMs()); err != nil {
			return err
		}
		return tx.DeactivateSchedule(w.row.No)
	})
	s.workflows.forget(workflowKey{p.AccountNo, id})
	if errors.Is(err, store.ErrConflict) {
		return workflowNotFound()
	}
	return err
}
