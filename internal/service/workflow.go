package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/form"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// Workflow is what lists show. Version is the version that a start without `version` runs
// in the principal's environment.
type Workflow struct {
	ID        chargehand.WorkflowID
	Namespace string
	Name      string
	Title     string // may be empty
	Version   string
	Draft     bool     // Version is a draft
	Tags      []string // document.tags of Version, as key:value
	CreatedAt time.Time
	UpdatedAt time.Time
	Activity  *Activity // only where it is asked for, and the principal sees the whole workflow
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
	ETag             string // without quotes
}

func shownWorkflow(row *store.Workflow, revision revisionName) Workflow {
	return Workflow{
		ID: row.ID, Namespace: row.Namespace, Name: row.Name, Title: revision.title, Version: revision.version,
		Tags: parseTags(revision.tags), CreatedAt: atMs(row.CreatedMs), UpdatedAt: atMs(row.UpdatedMs),
	}
}

// ListWorkflows is a query for workflows.
type ListWorkflows struct {
	Namespace string    // empty: any
	Name      string    // empty: any
	Text      string    // is in namespace/name or in the title, in whatever case; empty: any
	Tags      []string  // key, or key:value: it has all of them
	Drafts    *bool     // also, or not, what has drafts only; nil: in test
	Activity  bool      // also what happens with each
	Limit     int       // 1 to 100
	Before    time.Time // created strictly before; zero: from the newest
}

// ListWorkflows lists the workflows that the principal can start, newest first. A page by text
// looks at no more than maxExamined workflows; it may be short, and have a cursor.
func (s *Service) ListWorkflows(ctx context.Context, p *Principal, q ListWorkflows) (*WorkflowPage, error) {
	page := &WorkflowPage{Data: []Workflow{}}
	beforeMs, ok := millisAbove(q.Before)
	if !ok {
		return page, nil
	}
	f := store.WorkflowFilter{
		Account: p.AccountNo, Namespace: q.Namespace, Name: q.Name, Drafts: p.Environment == chargehand.Test,
		BeforeMs: beforeMs, Limit: q.Limit + 1,
	}
	if q.Drafts != nil {
		f.Drafts = *q.Drafts && p.partial == nil // who may start workflows in part sees no drafts
	}
	if q.Text != "" || len(q.Tags) > 0 {
		f.Limit = workflowsAtOnce
	}
	text := strings.ToLower(q.Text)
	err := s.view(ctx, func(r *store.Reader) error {
		for examined := 0; ; {
			rows, err := listWorkflows(r, p, f)
			if err != nil {
				return err
			}
			for i := range rows {
				w, err := s.listedWorkflow(r, p, &rows[i])
				if err != nil {
					return err
				}
				if !w.has(text) || !w.tagged(q.Tags) {
					continue
				}
				if len(page.Data) == q.Limit {
					page.Cursor = page.Data[q.Limit-1].CreatedAt
					return nil
				}
				if q.Activity && p.SeesWhole(w.ID) {
					if w.Activity, err = s.activity(r, p, &rows[i]); err != nil {
						return err
					}
				}
				page.Data = append(page.Data, w)
			}
			if len(rows) < f.Limit {
				return nil
			}
			f.BeforeMs = rows[len(rows)-1].CreatedMs
			if examined += len(rows); examined >= s.examined {
				page.Cursor = atMs(f.BeforeMs)
				return nil
			}
		}
	})
	return page, err
}

// workflowsAtOnce is how many workflows a search reads at a time.
const workflowsAtOnce = 500

// listedWorkflow shows a workflow with what a start runs.
func (s *Service) listedWorkflow(r *store.Reader, p *Principal, row *store.Workflow) (Workflow, error) {
	no := row.Published
	if row.Draft != 0 && (p.Environment == chargehand.Test || no == 0) {
		no = row.Draft
	}
	name, err := s.names.revision(r, no)
	w := shownWorkflow(row, name)
	w.Draft = no == row.Draft
	return w, err
}

// tagged reports whether a workflow has all of some tags.
func (w *Workflow) tagged(tags []string) bool {
	for _, tag := range tags {
		if !slices.ContainsFunc(w.Tags, func(own string) bool { return own == tag || strings.HasPrefix(own, tag+":") }) {
			return false
		}
	}
	return true
}

// parseTags reads store.Revision.Tags.
func parseTags(stored string) (tags []string) {
	if stored == "" {
		return nil
	}
	parsed, _ := value.Parse([]byte(stored), value.Limits{})
	list, _ := parsed.([]any)
	for _, v := range list {
		if text, ok := v.(string); ok {
			tags = append(tags, text)
		}
	}
	return tags
}

// has reports whether a text in lower case is in the names of the workflow.
func (w *Workflow) has(text string) bool {
	return text == "" || strings.Contains(strings.ToLower(w.Namespace+"/"+w.Name), text) || strings.Contains(strings.ToLower(w.Title), text)
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
func listWorkflows(r *store.Reader, p *Principal, f store.WorkflowFilter) ([]store.Workflow, error) {
	if p.Workflows == nil {
		return r.ListWorkflows(f)
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
		if row.DeletedMs == 0 && (f.Drafts || row.Published != 0) && (f.BeforeMs == 0 || row.CreatedMs < f.BeforeMs) &&
			(f.Namespace == "" || f.Namespace == row.Namespace) && (f.Name == "" || f.Name == row.Name) {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b store.Workflow) int { return int(b.CreatedMs - a.CreatedMs) })
	return rows[:min(len(rows), f.Limit)], nil
}

// WorkflowNamed finds the workflow of that name that is not deleted. Codes: workflow_not_found.
func (s *Service) WorkflowNamed(ctx context.Context, p *Principal, namespace, name string) (id chargehand.WorkflowID, err error) {
	err = s.view(ctx, func(r *store.Reader) error {
		row, err := r.WorkflowByName(p.AccountNo, namespace, name)
		if err == nil && !p.Sees(row.ID) {
			err = workflowNotFound()
		}
		id = row.ID
		return notFoundIs(err, workflowNotFound)
	})
	var shown *chargehand.Error
	if errors.As(err, &shown) {
		err = chargehand.NewError(chargehand.CodeWorkflowNotFound, "There is no workflow "+excerpt.Quote(namespace+"/"+name)+".")
	}
	return id, err
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
		Workflow: shownWorkflow(&w.row, nameOf(&revision)), Revision: revision.Number, PublishedVersion: w.published.Version,
		ETag: workflowTag(&w.row),
	}
	detail.Draft = revision.No == w.row.Draft
	compiled, err := s.plans.Plan(ctx, revision.No)
	if err != nil {
		return nil, storageError(err)
	}
	detail.InputSchema = inputSchema(compiled)
	if !p.SeesWhole(id) {
		return detail, nil
	}
	detail.Definition = value.Marshal(compiled.Definition())
	err = s.view(ctx, func(r *store.Reader) error {
		definition, err := r.Definition(revision.Definition)
		detail.Source, detail.SourceType = definition.Source, definition.MediaType
		return err
	})
	return detail, err
}

// Outline is the form for the input of a workflow: of what a start without a version runs. It is nil if the definition
// has no schema of the input, or has it elsewhere. Codes: workflow_not_found.
func (s *Service) Outline(ctx context.Context, p *Principal, id chargehand.WorkflowID) ([]form.Field, error) {
	_, revision, err := s.readable(ctx, p, id)
	if err != nil {
		return nil, err
	}
	var definition store.Definition
	err = s.view(ctx, func(r *store.Reader) error {
		definition, err = r.Definition(revision.Definition)
		return err
	})
	if err != nil {
		return nil, err
	}
	doc, problems := dsl.Parse(definition.Source) // plans do not keep the positions
	if problems.HasErrors() {
		return nil, fmt.Errorf("parse stored definition of workflow %s: %w", id, problems.Err())
	}
	if doc.Input == nil || doc.Input.Schema == nil || !doc.Input.Schema.Document.Present() {
		return nil, nil
	}
	schema := doc.Input.Schema.Document
	return form.Of(schema.Value, func(pointer string) int {
		line, column := doc.Position(schema.Pointer + pointer)
		return line<<20 + column // a definition has at most 1 MiB
	}), nil
}

// inputSchema is the JSON Schema of the input as the definition has it; nil if none.
func inputSchema(p *plan.Plan) []byte {
	input := p.Document().Input
	if input == nil || input.Schema == nil || !input.Schema.Document.Present() {
		return nil
	}
	return value.Marshal(input.Schema.Document.Value)
}

// DeleteWorkflow takes a workflow out of lists, refuses new starts and ends its schedule. Running executions
// continue, and all executions stay readable. A workflow that was ever published needs the scope workflows:publish.
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
			if err := p.mayOn(ScopeWorkflowsPublish, id, row.Namespace); err != nil {
				return err
			}
		}
		if err := tx.DeleteWorkflow(w.row.No, s.nowMs()); err != nil {
			return err
		}
		if err := tx.DeactivateSchedule(w.row.No); err != nil {
			return err
		}
		was, err := publishedRevision(&tx.Reader, &row)
		if err != nil {
			return err
		}
		return s.audit(ctx, tx, p, audit.WorkflowDeleted, workflowTarget(&row), changed("version", was.Version, nil).Set("revision", was.Number, nil))
	})
	s.workflows.forget(workflowKey{p.AccountNo, id})
	if errors.Is(err, store.ErrConflict) {
		return workflowNotFound()
	}
	return err
}
