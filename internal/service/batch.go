package service

import (
	"context"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/expr"
)

// Batch is one batch as it is read, without its entries (see BatchEntries).
type Batch struct {
	ID              chargehand.BatchID
	Workflow        chargehand.WorkflowID
	WorkflowVersion string
	Environment     chargehand.Environment
	Status          chargehand.BatchStatus
	Total           int
	Completed       int // finished
	Failed          int // error
	Running         int
	Waiting         int
	Queued          int
	// Concurrency is what was asked for, EffectiveConcurrency what the server grants.
	Concurrency          int
	EffectiveConcurrency int
	CreatedAt            time.Time
	StartedAt            time.Time // zero: not yet
	CompletedAt          time.Time // zero: not yet
	ETag                 string    // without quotes

	no int64
}

// BatchEntry is one item of a batch.
type BatchEntry struct {
	Index     int
	ItemID    string // empty: none
	Execution chargehand.ExecutionID
	Inputs    []byte // JSON object
	Status    chargehand.Status
	// Ended reports whether DurationMs is known.
	Ended      bool
	DurationMs int64
}

// BatchPage is one page of batches, newest first.
type BatchPage struct {
	Data   []*Batch
	Cursor Cursor
}

// CreateBatch is the request to start a batch.
type CreateBatch struct {
	Workflow    chargehand.WorkflowID
	Version     string     // empty: the current one
	Body        expr.Value // an object with `items` and perhaps `concurrency`
	Idempotency *Idempotency
	View        View
}

// CreateBatch starts one execution per item. All of them are durable when it returns, or none.
// Codes: workflow_not_found, version_not_found, invalid_body, unknown_field, items_empty,
// too_many_items, input_invalid, idempotency_key_reused, idempotency_in_progress.
func (s *Service) CreateBatch(ctx context.Context, p *Principal, r CreateBatch) (b *Batch, replayed bool, err error) {
	panic("unfinished")
}

// GetBatch reads a batch under its workflow. Codes: batch_not_found.
func (s *Service) GetBatch(ctx context.Context, p *Principal, workflow chargehand.WorkflowID, id chargehand.BatchID, v View) (*Batch, error) {
	panic("unfinished")
}

// ListBatches lists the batches of a workflow. Codes: workflow_not_found.
func (s *Service) ListBatches(ctx context.Context, p *Principal, workflow chargehand.WorkflowID, limit int, after Cursor) (*BatchPage, error) {
	panic("unfinished")
}

// BatchEntries selects entries of a batch, in input order.
type BatchEntries struct {
	Status chargehand.Status // zero: any
	From   int               // first index
	Limit  int               // 0: all
}

// Entries calls each for the entries of a batch that this Service returned, in input order.
// It reads in steps, so that a slow consumer holds nothing open; the entry and its bytes are
// valid during the call only. next is the index to go on from, -1 at the end.
func (s *Service) Entries(ctx context.Context, b *Batch, q BatchEntries, each func(*BatchEntry) error) (next int, err error) {
	panic("unfinished")
}

// ChangeBatch is the request to cancel a batch.
type ChangeBatch struct {
	Workflow    chargehand.WorkflowID
	Batch       chargehand.BatchID
	Body        expr.Value // nil, or an object with `reason`
	Idempotency *Idempotency
	View        View
}

// CancelBatch cancels every item that has not ended; the batch is failed when it returns.
// Codes: batch_not_found, state_conflict (it has ended), invalid_body, unknown_field,
// idempotency_key_reused, idempotency_in_progress.
func (s *Service) CancelBatch(ctx context.Context, p *Principal, r ChangeBatch) (b *Batch, replayed bool, err error) {
	panic("unfinished")
}
