package service

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// Batch is one batch as it is read, without its entries (see Entries).
type Batch struct {
	ID              chargehand.BatchID
	Workflow        chargehand.WorkflowID
	WorkflowVersion string
	Revision        int64 // of WorkflowVersion, counts from 1
	Environment     chargehand.Environment
	Status          chargehand.BatchStatus
	Total           int
	Completed       int    // finished
	Failed          int    // error
	Cancelled       int    // among those that failed
	Running         int    // holding a slot
	Waiting         int    // started, and waiting for a timer or for a slot
	Queued          int    // not started
	Phase           string // as Status, or cancelled
	ETAMs           int64  // how long it will run, if it continues as so far; 0: that is not known
	// Concurrency is what was asked for, EffectiveConcurrency what the server grants.
	Concurrency          int
	EffectiveConcurrency int
	StartedBy            Actor
	Labels               []store.Label // by name
	CreatedAt            time.Time
	StartedAt            time.Time // zero: not yet
	CompletedAt          time.Time // zero: not yet
	ETag                 string    // without quotes
	// BaseURL is where addresses in the entries start, as in View; ListBatches leaves it empty.
	BaseURL string

	no      int64
	account int64
	initial bool         // shown as it was when it was accepted
	entries []batchEntry // of the snapshot that the counts are from; nil: not read
}

// BatchPage is one page of batches, newest first.
type BatchPage struct {
	Data   []*Batch
	Cursor Cursor
}

// GetBatch reads a batch under its workflow. Codes: batch_not_found.
func (s *Service) GetBatch(ctx context.Context, p *Principal, workflow chargehand.WorkflowID, id chargehand.BatchID, v View) (b *Batch, err error) {
	err = s.await(ctx, id, v.Wait, func(ctx context.Context) (done bool, err error) {
		b, err = s.readBatch(ctx, v, func(r *store.Reader) (store.Batch, error) { return s.findBatch(r, p, workflow, id) })
		return err == nil && b.Status.Final(), err
	})
	return b, err
}

// findBatch reads the row of a batch that stands under the workflow and that the principal
// can see. Codes: batch_not_found.
func (s *Service) findBatch(r *store.Reader, p *Principal, workflow chargehand.WorkflowID, id chargehand.BatchID) (store.Batch, error) {
	if !p.Sees(workflow) {
		return store.Batch{}, batchNotFound()
	}
	row, err := r.BatchByID(p.AccountNo, p.Environment, id)
	if err != nil {
		return row, notFoundIs(err, batchNotFound)
	}
	own, err := s.names.workflow(r, row.Workflow)
	if err == nil && (own != workflow || !p.seesStarted(workflow, row.StartedBy)) {
		err = batchNotFound()
	}
	return row, err
}

func batchNotFound() error {
	return chargehand.NewError(chargehand.CodeBatchNotFound, "There is no such batch.")
}

func (s *Service) readBatch(ctx context.Context, v View, find func(*store.Reader) (store.Batch, error)) (b *Batch, err error) {
	err = s.view(ctx, func(r *store.Reader) error {
		row, err := find(r)
		if err == nil {
			b, err = s.batch(r, &row, v)
		}
		if err == nil && v.Entries && row.Total <= maxSnapshotEntries {
			b.entries, err = snapshotEntries(r, row.No, int(row.Total))
		}
		return err
	})
	return b, err
}

// batch shows a row with the counts of the items that have begun and not ended.
func (s *Service) batch(r *store.Reader, row *store.Batch, v View) (*Batch, error) {
	var n store.StateCounts
	if !row.Status.Final() {
		var err error
		if n, err = r.CountItems(row.No); err != nil {
			return nil, err
		}
	}
	return s.batchCounted(r, row, n, v)
}

// batchCounted is batch with counts that were read before.
func (s *Service) batchCounted(r *store.Reader, row *store.Batch, n store.StateCounts, v View) (*Batch, error) {
	b, err := s.batchWith(r, row, n, v)
	if err == nil {
		b.Labels, err = r.BatchLabels(row.No)
	}
	return b, err
}

// batchWith shows a row with counts that were read before, without its labels.
func (s *Service) batchWith(r *store.Reader, row *store.Batch, n store.StateCounts, v View) (*Batch, error) {
	workflow, err := s.names.workflow(r, row.Workflow)
	if err != nil {
		return nil, err
	}
	revision, err := s.names.revision(r, row.Revision)
	if err != nil {
		return nil, err
	}
	by, err := s.names.actor(r, row.StartedBy, s.now())
	if err != nil {
		return nil, err
	}
	b := &Batch{
		StartedBy: by, ID: row.ID, Workflow: workflow, WorkflowVersion: revision.version, Revision: revision.number,
		Environment: row.Environment, Status: row.Status,
		Total: int(row.Total), Completed: int(row.Finished), Failed: int(row.Failed), Cancelled: int(row.Cancelled),
		Concurrency: row.RequestedConcurrency, EffectiveConcurrency: row.Concurrency,
		CreatedAt: row.ID.Time(), StartedAt: atMs(row.StartedMs), CompletedAt: atMs(row.FinishedMs),
		no: row.No, account: row.Account, BaseURL: v.BaseURL,
	}
	if !row.Status.Final() {
		b.Running, b.Waiting = int(n[store.StateActive]), int(n[store.StateReady]+n[store.StateParked])
		b.Queued = b.Total - b.Completed - b.Failed - b.Running - b.Waiting
	}
	b.Phase = batchPhase(row)
	if ended := row.Finished + row.Failed; ended > 0 && row.StartedMs > 0 && !row.Status.Final() {
		b.ETAMs = (s.nowMs() - row.StartedMs) * (row.Total - ended) / ended
	}
	b.ETag = batchTag(b)
	return b, nil
}

// batchTag changes whenever a count does.
func batchTag(b *Batch) string {
	tag := append(make([]byte, 0, 48), 'a'+byte(b.Status))
	for _, n := range [...]int{b.Completed, b.Failed, b.Running, b.Waiting, b.Queued, b.EffectiveConcurrency} {
		tag = strconv.AppendInt(append(tag, '-'), int64(n), 36)
	}
	return string(tag)
}

// batchPhase is the status of a batch, or cancelled.
func batchPhase(row *store.Batch) string {
	if row.Status == chargehand.BatchFailed && row.CancelRequested {
		return "cancelled"
	}
	return row.Status.String()
}

// freshBatch shows a batch as it was when it was accepted.
func freshBatch(row *store.Batch, n startNames, v View) *Batch {
	b := &Batch{
		StartedBy: n.startedBy, ID: row.ID, Workflow: n.workflow, WorkflowVersion: n.revision.version, Revision: n.revision.number, Environment: row.Environment,
		Status: chargehand.BatchPending, Total: int(row.Total), Queued: int(row.Total),
		Concurrency: row.RequestedConcurrency, EffectiveConcurrency: row.Concurrency, CreatedAt: row.ID.Time(),
		Phase: chargehand.BatchPending.String(), no: row.No, account: row.Account, BaseURL: v.BaseURL, initial: true, Labels: row.Labels,
	}
	b.ETag = batchTag(b)
	return b
}

// WorkflowOfBatch finds the workflow under which a batch stands. Codes: batch_not_found.
func (s *Service) WorkflowOfBatch(ctx context.Context, p *Principal, id chargehand.BatchID) (workflow chargehand.WorkflowID, err error) {
	err = s.view(ctx, func(r *store.Reader) error {
		row, err := r.BatchByID(p.AccountNo, p.Environment, id)
		if err != nil {
			return notFoundIs(err, batchNotFound)
		}
		if workflow, err = s.names.workflow(r, row.Workflow); err == nil && !p.seesStarted(workflow, row.StartedBy) {
			err = batchNotFound()
		}
		return err
	})
	return workflow, err
}

// ChangeBatch is the request to cancel a batch.
type ChangeBatch struct {
	Workflow    chargehand.WorkflowID
	Batch       chargehand.BatchID
	Body        value.Value // nil, or an object with `reason`
	Idempotency *Idempotency
	View        View
}

// CancelBatch cancels every item that has not ended; the batch is failed when it returns.
// Codes: batch_not_found, state_conflict (it has ended), invalid_body, unknown_field,
// idempotency_key_reused, idempotency_in_progress.
func (s *Service) CancelBatch(ctx context.Context, p *Principal, r ChangeBatch) (b *Batch, replayed bool, err error) {
	r.View.Wait = 0
	show := func(*idempotencyGuard) (*Batch, error) {
		return s.GetBatch(context.WithoutCancel(ctx), p, r.Workflow, r.Batch, r.View)
	}
	again := func(c *idempotencyGuard) (*Batch, error) {
		b, err := show(c)
		if err != nil || b.Status.Final() {
			return b, err
		}
		// The request that was first has died or is still at work: it has marked the batch, and this one completes it.
		reason, err := readReason(r.Body)
		if err != nil {
			return nil, err
		}
		if err := s.engine.CancelBatch(ctx, r.Batch, reason); err != nil && !errors.Is(err, engine.ErrFinal) {
			return nil, storageError(notFoundIs(err, batchNotFound))
		}
		return show(c)
	}
	return guarded(ctx, s, p, r.Idempotency, func(c *idempotencyGuard) (*Batch, error) {
		err := s.view(ctx, func(reader *store.Reader) error {
			_, err := s.findBatch(reader, p, r.Workflow, r.Batch)
			return err
		})
		if err != nil {
			return nil, err
		}
		reason, err := readReason(r.Body)
		if err != nil {
			return nil, err
		}
		audited := func(tx *store.Tx) error {
			target, err := batchTarget(&tx.Reader, r.Batch)
			if err != nil {
				return err
			}
			return s.audit(ctx, tx, p, audit.BatchCancelled, target, changed("reason", nil, reason))
		}
		err = s.engine.CancelBatch(ctx, r.Batch, reason, append(c.recording(statusAccepted, "batch", r.Batch), audited)...)
		if err := s.cancelled(err, "batch", batchNotFound); err != nil {
			return nil, err
		}
		return show(c)
	}, again)
}
