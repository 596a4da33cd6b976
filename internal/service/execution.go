package service

import (
	"context"
	"errors"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// maxReasonBytes bounds the reason of a cancellation.
const maxReasonBytes = 1000

func (s *Service) startNames(r *store.Reader, row *store.Execution) (n startNames, err error) {
	if n.workflow, err = s.names.workflow(r, row.Workflow); err == nil {
		n.name, err = s.names.workflowName(r, row.Workflow)
	}
	if err == nil {
		n.revision, err = s.names.revision(r, row.Revision)
	}
	if err == nil {
		n.startedBy, err = s.names.actor(r, row.StartedBy, s.now())
	}
	return n, err
}

// fresh shows an execution as it was when it was accepted.
func (s *Service) fresh(row *store.Execution, labels []store.Label, n startNames) *Execution {
	e := &Execution{
		ID: row.ID, Workflow: n.workflow, WorkflowVersion: n.revision.version, Revision: n.revision.number, Environment: row.Environment,
		Status: chargehand.Initial, Phase: chargehand.Pending, RetryOf: row.RetryOf, CreatedAt: row.ID.Time(),
		StartedBy: n.startedBy, revisionNo: row.Revision, WorkflowName: n.name, Title: n.revision.title, Labels: labels,
		Cause: causeOf(row),
	}
	if row.StartMs > row.ID.Milli() {
		e.WaitingFor = &WaitingFor{Kind: "timer", Until: atMs(row.StartMs)}
	}
	e.ETag = executionTag(e, 0, s.now())
	return e
}

// notFoundIs replaces the store's "not found" by the error that the caller gets.
func notFoundIs(err error, instead func() error) error {
	if errors.Is(err, store.ErrNotFound) {
		return instead()
	}
	return err
}

func executionNotFound() error {
	return chargehand.NewError(chargehand.CodeExecutionNotFound, "There is no such execution.")
}

func stateConflict(detail string) error {
	return chargehand.NewError(chargehand.CodeStateConflict, detail)
}

// ChangeExecution is the request to cancel an execution.
type ChangeExecution struct {
	Workflow    chargehand.WorkflowID
	Execution   chargehand.ExecutionID
	Body        value.Value // nil, or an object with `reason`
	Idempotency *Idempotency
	View        View
}

// CancelExecution ends an execution as cancelled; it is final when this returns.
// Codes: execution_not_found, state_conflict (it has ended), invalid_body, unknown_field,
// idempotency_key_reused, idempotency_in_progress.
func (s *Service) CancelExecution(ctx context.Context, p *Principal, r ChangeExecution) (e *Execution, replayed bool, err error) {
	show := func(*idempotencyGuard) (*Execution, error) {
		return s.GetExecution(context.WithoutCancel(ctx), p, r.Workflow, r.Execution, View{BaseURL: r.View.BaseURL})
	}
	return guarded(ctx, s, p, r.Idempotency, func(c *idempotencyGuard) (*Execution, error) {
		if err := s.checkExecution(ctx, p, r.Workflow, r.Execution); err != nil {
			return nil, err
		}
		reason, err := readReason(r.Body)
		if err != nil {
			return nil, err
		}
		audited := func(tx *store.Tx) error {
			target, err := executionTarget(&tx.Reader, r.Execution)
			if err != nil {
				return err
			}
			return s.audit(ctx, tx, p, audit.ExecutionCancelled, target, changed("reason", nil, reason))
		}
		err = s.engine.Cancel(ctx, r.Execution, reason, append(c.recording(statusAccepted, "execution", r.Execution), audited)...)
		if err := s.cancelled(err, "execution", executionNotFound); err != nil {
			return nil, err
		}
		return show(c)
	}, show)
}

// cancelled tells what became of a cancellation.
func (s *Service) cancelled(err error, what string, notFound func() error) error {
	if errors.Is(err, engine.ErrFinal) {
		return stateConflict("The " + what + " has ended already.")
	}
	return storageError(notFoundIs(err, notFound))
}

// readReason reads the body of a cancellation. Codes: invalid_body, unknown_field.
func readReason(body value.Value) (string, error) {
	f, err := openBody(body, "reason")
	if err != nil {
		return "", err
	}
	reason := f.text("reason", maxReasonBytes)
	return reason, f.err()
}

// checkExecution tells whether the principal can see the execution. Codes: execution_not_found.
func (s *Service) checkExecution(ctx context.Context, p *Principal, workflow chargehand.WorkflowID, id chargehand.ExecutionID) error {
	return s.view(ctx, func(r *store.Reader) error {
		_, err := s.findExecution(r, p, workflow, id)
		return err
	})
}

// Execution is one execution as it is read. In lists Output is nil.
type Execution struct {
	ID              chargehand.ExecutionID
	Workflow        chargehand.WorkflowID
	WorkflowVersion string
	Revision        int64 // of WorkflowVersion, counts from 1
	Environment     chargehand.Environment
	Status          chargehand.Status
	Phase           chargehand.Phase
	Batch           chargehand.BatchID     // zero: none
	RetryOf         chargehand.ExecutionID // zero: none
	WorkflowName    string                 // namespace/name
	Title           string                 // of the revision; empty: none
	ItemID          string                 // empty: none
	Labels          []store.Label          // by name
	Cause           Cause
	Parent          chargehand.ExecutionID // zero: none
	Root            chargehand.ExecutionID // zero: none
	RetainedUntil   time.Time              // zero: it has not ended, or its batch has not
	WaitingFor      *WaitingFor            // nil: for nothing
	HumanTasks      []OpenTask             // that have not ended; the newest MaxOpenTasks, the oldest first
	Attempting      *Attempting            // nil: no attempt is delayed for long
	Input           []byte                 // JSON; nil where it was not asked for
	StartedBy       Actor
	CreatedAt       time.Time
	StartedAt       time.Time // zero: not yet
	FinishedAt      time.Time // zero: not yet
	Output          []byte    // JSON; nil unless finished
	Error           *ExecutionError
	Results         []Result // nil unless finished; never empty then
	// ETag is a strong entity tag without quotes. It covers the row, the number of result files and the half-hour.
	ETag string
	// Newer is what a start would run now, if that is newer than what this execution runs; only
	// in the answer to a retry. Nil: there is nothing newer.
	Newer *NewerRevision

	revisionNo int64
}

// NewerRevision names a revision of a workflow.
type NewerRevision struct {
	Version  string
	Revision int64
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
	// Line and Column are the position of Instance in the source of the definition, counted from 1.
	// Zero: it is not known, as in lists.
	Line, Column int
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
