package service

import (
	"context"
	"time"

	"github.com/chargehand/chargehand"
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
	Revision         int64
	PublishedVersion string // empty: never published
	InputSchema      []byte // JSON; nil if the definition has none
	Definition       []byte // JSON
	Source           []byte // the definition as it was applied
	SourceType       string // application/yaml or application/json
}

// Version is one version of a workflow: its newest revision.
type Version struct {
	Workflow   chargehand.WorkflowID
	Version    string
	Revision   int64 // counts from 1 within the version
	Title      string
	Published  bool      // the published pointer stands on it
	Draft      bool      // its newest revision was never published
	CreatedAt  time.Time // of the first revision
	UpdatedAt  time.Time // of the newest revision
	Definition []byte    // JSON; only in answers about one version
	Source     []byte    // as WorkflowDetail.Source; only in answers about one version
	SourceType string
}

// VersionPage is one page of versions, newest first.
type VersionPage struct {
	Data   []Version
	Cursor Cursor
}

// ApplyWorkflow is the request to create or update a workflow.
type ApplyWorkflow struct {
	Definition  []byte // YAML or JSON
	MediaType   string // application/yaml or application/json
	Draft       bool   // do not publish
	Idempotency *Idempotency
}

// AppliedWorkflow tells what became of it.
type AppliedWorkflow struct {
	Workflow
	Revision int64
	Draft    bool
	Created  bool // the workflow is new
	Warnings []chargehand.FieldError
}

// Validation tells what is wrong with a definition.
type Validation struct {
	Valid    bool
	Errors   []chargehand.FieldError // at most 100
	Warnings []chargehand.FieldError // at most 100
}

// ListWorkflows lists the workflows that the principal can start, strictly older than
// before; limit is 1 to 100, a zero before starts with the newest.
func (s *Service) ListWorkflows(ctx context.Context, p *Principal, limit int, before time.Time) (*WorkflowPage, error) {
	panic("unfinished")
}

// GetWorkflow returns one workflow. Codes: workflow_not_found.
func (s *Service) GetWorkflow(ctx context.Context, p *Principal, id chargehand.WorkflowID) (*WorkflowDetail, error) {
	panic("unfinished")
}

// ApplyWorkflow creates a workflow, a version or a revision, and publishes it unless it is a
// draft. Identical content under the same version changes nothing.
// Codes: invalid_body (neither YAML nor JSON), definition_invalid, payload_too_large,
// workflow_not_found (outside the key's list), idempotency_key_reused, idempotency_in_progress.
func (s *Service) ApplyWorkflow(ctx context.Context, p *Principal, r ApplyWorkflow) (w *AppliedWorkflow, replayed bool, err error) {
	panic("unfinished")
}

// ValidateWorkflow checks a definition and stores nothing. Codes: payload_too_large,
// invalid_body (neither YAML nor JSON).
func (s *Service) ValidateWorkflow(ctx context.Context, p *Principal, definition []byte) (*Validation, error) {
	panic("unfinished")
}

// DeleteWorkflow takes a workflow out of lists and refuses new starts. What runs goes on, and
// executions stay readable. Codes: workflow_not_found.
func (s *Service) DeleteWorkflow(ctx context.Context, p *Principal, id chargehand.WorkflowID) error {
	panic("unfinished")
}

// ListVersions lists the versions of a workflow. Codes: workflow_not_found.
func (s *Service) ListVersions(ctx context.Context, p *Principal, id chargehand.WorkflowID, limit int, after Cursor) (*VersionPage, error) {
	panic("unfinished")
}

// GetVersion returns one version. Codes: workflow_not_found, version_not_found.
func (s *Service) GetVersion(ctx context.Context, p *Principal, id chargehand.WorkflowID, version string) (*Version, error) {
	panic("unfinished")
}

// PublishVersion moves the published pointer to the newest revision of a version.
// Codes: workflow_not_found, version_not_found, idempotency_key_reused, idempotency_in_progress.
func (s *Service) PublishVersion(ctx context.Context, p *Principal, id chargehand.WorkflowID, version string, i *Idempotency) (v *Version, replayed bool, err error) {
	panic("unfinished")
}
