package service

import (
	"context"
	"errors"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/store"
)

// DeleteExecution deletes an execution that has ended, with its payloads, files and timeline. Files that another
// execution uses stay. Executions that it has started stay, and can then be deleted themselves.
// Codes: execution_not_found, state_conflict (it has not ended, is an item of a batch, was started by another execution
// that is still there, or what it has started has not ended).
func (s *Service) DeleteExecution(ctx context.Context, p *Principal, workflow chargehand.WorkflowID, id chargehand.ExecutionID) error {
	return s.update(ctx, func(tx *store.Tx) error {
		row, err := s.deleteExecution(tx, p, workflow, id)
		if err != nil {
			return err
		}
		name, err := s.names.revision(&tx.Reader, row.Revision)
		if err != nil {
			return err
		}
		w, err := tx.WorkflowByNo(row.Workflow)
		if err != nil {
			return err
		}
		changes := changed("status", row.Status.String(), nil).Set("phase", row.Phase.String(), nil)
		target := audit.Target{Kind: "execution", ID: id.String(), Name: w.Namespace + "/" + w.Name}
		return s.audit(ctx, tx, p, audit.ExecutionDeleted, target, changes.Set("workflow_version", name.version, nil))
	})
}

// deleteExecution deletes an execution, and returns what its row was. Codes: those of DeleteExecution.
func (s *Service) deleteExecution(tx *store.Tx, p *Principal, workflow chargehand.WorkflowID, id chargehand.ExecutionID) (row store.Execution, err error) {
	if row, err = s.findExecution(&tx.Reader, p, workflow, id); err != nil {
		return row, err
	}
	if row, err = tx.LockExecution(row.No); err != nil {
		return row, notFoundIs(err, executionNotFound)
	}
	if err := deletable(&tx.Reader, &row); err != nil {
		return row, err
	}
	return row, tx.DeleteExecution(row.No)
}

// deletable says why an execution may not be deleted. Codes: state_conflict.
func deletable(r *store.Reader, row *store.Execution) error {
	switch {
	case !row.Status.Final():
		return stateConflict("The execution has not ended. Cancel it first.")
	case row.Batch != 0:
		return stateConflict("The execution is an item of a batch, which counts it. It is deleted with its batch.")
	}
	link, err := r.ChildByExecution(row.No)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	if link.Parent != 0 {
		parent, err := r.ExecutionByNo(link.Parent)
		if err == nil {
			return stateConflict("The execution was started by the execution " + parent.ID.String() + ". Delete that one first.")
		}
		if !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	unfinished, err := r.UnfinishedInTree(link.Root)
	if err == nil && unfinished > 0 {
		err = stateConflict("Executions that it has started have not ended.")
	}
	return err
}
