package service

import (
	"context"
	"errors"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/store"
)

// DeleteFile deletes a file: an upload of the principal's own, or, with executions:manage over the workflow, a file
// that an execution has made; an upload of others needs executions:manage over everything. The content goes with its
// last file.
// Codes: file_not_found, insufficient_scope, state_conflict (an execution that has not ended refers to it).
func (s *Service) DeleteFile(ctx context.Context, p *Principal, id chargehand.FileID) error {
	return s.update(ctx, func(tx *store.Tx) error {
		row, err := tx.FileByID(p.AccountNo, p.Environment, id)
		if err == nil {
			err = s.checkFile(&tx.Reader, p, &row)
		}
		if errors.Is(err, store.ErrNotFound) {
			err = fileNotFound()
		}
		if err == nil {
			err = s.mayDeleteFile(&tx.Reader, p, &row)
		}
		if err != nil {
			return err
		}
		switch err := tx.DeleteFile(row.No); {
		case errors.Is(err, store.ErrNotFound):
			return fileNotFound()
		case errors.Is(err, store.ErrConflict):
			return stateConflict("An execution that has not ended refers to the file. Delete the file when it has ended.")
		case err != nil:
			return err
		}
		target := audit.Target{Kind: "file", ID: row.ID.String(), Name: row.Name}
		return s.audit(ctx, tx, p, audit.FileDeleted, target, changed("size", row.Size, nil))
	})
}

// mayDeleteFile checks what the scope of the route does not say. Codes: insufficient_scope.
func (s *Service) mayDeleteFile(r *store.Reader, p *Principal, row *store.File) error {
	if row.Execution == 0 {
		if row.Uploader != 0 && row.Uploader == p.actor() {
			return nil
		}
		return p.mayEverywhere(ScopeExecutionsManage)
	}
	e, err := r.ExecutionByNo(row.Execution)
	if err != nil {
		return err
	}
	w, err := r.WorkflowByNo(e.Workflow)
	if err != nil {
		return err
	}
	return p.mayOn(ScopeExecutionsManage, w.ID, w.Namespace)
}
