package service

import (
	"context"
	"errors"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/store"
)

// deletedAtOnce is how many items of a batch one transaction deletes, so that others need not wait for all of them.
const deletedAtOnce = 200

// DeleteBatch deletes a batch that has ended, with its items and everything that belongs to them. It does so in steps:
// if it is cut off, the batch is still there with fewer items, and can be deleted again. Executions that the items have
// started stay. Codes: batch_not_found, state_conflict (it, or what an item has started, has not ended).
func (s *Service) DeleteBatch(ctx context.Context, p *Principal, workflow chargehand.WorkflowID, id chargehand.BatchID) error {
	for begun := false; ; begun = true {
		gone, err := s.deleteSomeOfBatch(ctx, p, workflow, id)
		if missing := (*chargehand.Error)(nil); begun && errors.As(err, &missing) && missing.Code == chargehand.CodeBatchNotFound {
			return nil // another request, or the end of its retention, has deleted the rest
		}
		if err != nil || gone {
			return err
		}
	}
}

func (s *Service) deleteSomeOfBatch(ctx context.Context, p *Principal, workflow chargehand.WorkflowID, id chargehand.BatchID) (gone bool, err error) {
	err = s.update(ctx, func(tx *store.Tx) error {
		row, err := s.findBatch(&tx.Reader, p, workflow, id)
		if err != nil {
			return err
		}
		if row, err = tx.LockBatch(row.No); err != nil {
			return notFoundIs(err, batchNotFound)
		}
		if !row.Status.Final() {
			return stateConflict("The batch has not ended. Cancel it first.")
		}
		unfinished, err := tx.UnfinishedOfBatch(row.No)
		if err != nil {
			return err
		}
		if unfinished {
			return stateConflict("Executions that its items have started have not ended.")
		}
		target, err := batchTarget(&tx.Reader, id)
		if err != nil {
			return err
		}
		n, err := tx.DeleteBatch(row.No, deletedAtOnce)
		if gone = n < deletedAtOnce; err != nil || !gone {
			return err
		}
		return s.audit(ctx, tx, p, audit.BatchDeleted, target, changed("status", row.Status.String(), nil).Set("items", row.Total, nil))
	})
	return gone, err
}
