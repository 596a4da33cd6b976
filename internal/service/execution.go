package service

import (
	"context"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/expr"
)

// Execution is one execution as it is read. In lists Output is nil.
type Execution struct {
	ID              chargehand.ExecutionID
	Workflow        chargehand.WorkflowID
	WorkflowVersion string
	Environment     chargehand.Environment
	Status          chargehand.Status
	Phase           chargehand.Phase
	Batch           chargehand.BatchID     // zero: none
	RetryOf         chargehand.ExecutionID // zero: none
	CreatedAt       time.Time
	StartedAt       time.Time // zero: not yet
	FinishedAt      time.Time // zero: not yet
	Output          []byte    // JSON; nil unless finished
	Error           *ExecutionError
	Results         []Result // nil unless finished; never empty then
	// ETag is a strong entity tag without quotes. It covers the row and the half-hour.
	ETag string
}

// ExecutionError is the language's error object and what the API adds to it.
type ExecutionError struct {
	Type      string // full address
	Status    int
	Title     string
	Detail    string
	Instance  string
	Code      string
	Origin    string // "workflow" or "system"
	Retryable bool
}

// Result is one result file of an execution.
type Result struct {
	Filename    string
	URL         string // absolute, signed
	Size        int64
	ContentType string
	SHA256      string // hex
	ExpiresAt   time.Time
}

// ExecutionPage is one page of executions, newest first.
type ExecutionPage struct {
	Data   []*Execution
	Cursor Cursor
}

// CreateExecution is the request to start one execution.
type CreateExecution struct {
	Workflow    chargehand.WorkflowID
	Version     string     // empty: the current one
	Body        expr.Value // an object with `input`; nil: an empty body
	Idempotency *Idempotency
	View        View
}

// CreateExecution starts an execution. When it returns, the execution is durable. Status is
// initial unless the caller waited or the answer is a replay.
// Codes: workflow_not_found, version_not_found, invalid_body, unknown_field, input_invalid,
// queue_full (with RetryAfter), idempotency_key_reused, idempotency_in_progress.
func (s *Service) CreateExecution(ctx context.Context, p *Principal, r CreateExecution) (e *Execution, replayed bool, err error) {
	panic("unfinished")
}

// GetExecution reads an execution under its workflow. Codes: execution_not_found.
func (s *Service) GetExecution(ctx context.Context, p *Principal, workflow chargehand.WorkflowID, id chargehand.ExecutionID, v View) (*Execution, error) {
	panic("unfinished")
}

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

// ListExecutions lists executions, newest first. Codes: workflow_not_found (there never was
// such a workflow for this principal).
func (s *Service) ListExecutions(ctx context.Context, p *Principal, q ListExecutions) (*ExecutionPage, error) {
	panic("unfinished")
}

// ChangeExecution is the request to cancel an execution.
type ChangeExecution struct {
	Workflow    chargehand.WorkflowID
	Execution   chargehand.ExecutionID
	Body        expr.Value // nil, or an object with `reason`
	Idempotency *Idempotency
	View        View
}

// CancelExecution ends an execution as cancelled; it is final when this returns.
// Codes: execution_not_found, state_conflict (it has ended), invalid_body, unknown_field,
// idempotency_key_reused, idempotency_in_progress.
func (s *Service) CancelExecution(ctx context.Context, p *Principal, r ChangeExecution) (e *Execution, replayed bool, err error) {
	panic("unfinished")
}

// RetryExecution is the request to run an execution again.
type RetryExecution struct {
	Workflow    chargehand.WorkflowID
	Execution   chargehand.ExecutionID
	Version     string     // empty: the revision of the original
	From        string     // not supported yet
	Body        expr.Value // nil or an empty object
	Idempotency *Idempotency
	View        View
}

// RetryExecution starts a new execution with the input of one that has ended.
// Codes: execution_not_found, state_conflict (it has not ended), invalid_parameter (From),
// workflow_not_found (deleted), version_not_found, and those of CreateExecution.
func (s *Service) RetryExecution(ctx context.Context, p *Principal, r RetryExecution) (e *Execution, replayed bool, err error) {
	panic("unfinished")
}

// TimelineEntry is one run of a task.
type TimelineEntry struct {
	Seq       int64
	Name      string
	Reference string // JSON pointer of the task (T2)
	Iteration int
	Attempt   int
	Phase     chargehand.Phase
	StartedAt time.Time
	EndedAt   time.Time // zero: not yet
	Input     []byte    // JSON; nil: unknown
	Output    []byte    // JSON; nil: none
	Error     *ExecutionError
	Files     []Result
}

// TimelinePage is one page of a timeline, by Seq.
type TimelinePage struct {
	Data      []TimelineEntry
	Next      int64 // Seq to go on after; 0: the end
	Truncated bool  // older entries were dropped
}

// Timeline lists the tasks of an execution that have started, with Seq above after.
// Codes: execution_not_found.
func (s *Service) Timeline(ctx context.Context, p *Principal, workflow chargehand.WorkflowID, id chargehand.ExecutionID, limit int, after int64, v View) (*TimelinePage, error) {
	panic("unfinished")
}
