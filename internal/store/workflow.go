package store

import (
	"fmt"
	"math"

	"github.com/chargehand/chargehand"
)

// Workflow is a namespace/name of an account. Published and Draft point to revisions.
type Workflow struct {
	No        int64
	ID        chargehand.WorkflowID
	Account   int64
	Namespace string
	Name      string
	CreatedMs int64 // unique per account: it is the cursor of lists
	UpdatedMs int64
	Published int64 // number of the published revision, 0: none
	Draft     int64 // number of the newest draft revision, 0: none
	DeletedMs int64 // 0 unless deleted
}

const selectWorkflow = `SELECT no, id, account, namespace, name, created_ms, updated_ms, published, draft, deleted_ms FROM workflow`

func scanWorkflow(r Row, w *Workflow) {
	*w = Workflow{
		No: r.Int(0), Account: r.Int(2), Namespace: r.Text(3), Name: r.Text(4), CreatedMs: r.Int(5),
		UpdatedMs: r.Int(6), Published: r.Int(7), Draft: r.Int(8), DeletedMs: r.Int(9),
	}
	scanID(r, 1, &w.ID)
}

// InsertWorkflow inserts w and sets w.No. w.CreatedMs is moved to the next millisecond
// that no workflow of the account has. ErrConflict: namespace/name is in use.
func (t *Tx) InsertWorkflow(w *Workflow) error {
	// Two nodes may look for a free millisecond at once.
	if _, err := t.numbers(`SELECT no FROM account WHERE no = ?1`+t.c.ForUpdate(), w.Account); err != nil {
		return fmt.Errorf("insert workflow: %w", err)
	}
	for {
		n, err := t.count("insert workflow", `SELECT COUNT(*) FROM workflow WHERE account = ?1 AND created_ms = ?2`, w.Account, w.CreatedMs)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		w.CreatedMs++
	}
	w.UpdatedMs = max(w.UpdatedMs, w.CreatedMs)
	no, err := t.insert("insert workflow", `INSERT INTO workflow (id, account, namespace, name, created_ms, updated_ms, published, draft)
 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)`, w.ID[:], w.Account, w.Namespace, w.Name, w.CreatedMs, w.UpdatedMs, w.Published, w.Draft)
	w.No = no
	return err
}

// UpdateWorkflow writes UpdatedMs, Published and Draft of w. ErrConflict: it is deleted.
func (t *Tx) UpdateWorkflow(w *Workflow) error {
	return t.change("update workflow", `UPDATE workflow SET updated_ms = ?2, published = ?3, draft = ?4 WHERE no = ?1 AND deleted_ms = 0`,
		w.No, w.UpdatedMs, w.Published, w.Draft)
}

// DeleteWorkflow marks a workflow as deleted; its name becomes free. ErrConflict: it is.
func (t *Tx) DeleteWorkflow(no, deletedMs int64) error {
	return t.change("delete workflow", `UPDATE workflow SET deleted_ms = ?2 WHERE no = ?1 AND deleted_ms = 0`, no, deletedMs)
}

func (r *Reader) workflow(query string, args ...any) (Workflow, error) {
	return readOne(r, "read workflow", query, scanWorkflow, args...)
}

// WorkflowByID reads a workflow of an account, deleted or not. Errors: ErrNotFound.
func (r *Reader) WorkflowByID(account int64, id chargehand.WorkflowID) (Workflow, error) {
	return r.workflow(selectWorkflow+` WHERE id = ?1 AND account = ?2`, id[:], account)
}

// WorkflowByNo reads a workflow by its internal number, deleted or not. Errors: ErrNotFound.
func (r *Reader) WorkflowByNo(no int64) (Workflow, error) {
	return r.workflow(selectWorkflow+` WHERE no = ?1`, no)
}

// WorkflowByName reads the workflow of that name that is not deleted. Errors: ErrNotFound.
func (r *Reader) WorkflowByName(account int64, namespace, name string) (Workflow, error) {
	return r.workflow(selectWorkflow+` WHERE account = ?1 AND namespace = ?2 AND name = ?3 AND deleted_ms = 0`, account, namespace, name)
}

// WorkflowFilter selects workflows that are not deleted.
type WorkflowFilter struct {
	Account   int64
	Namespace string // empty: any
	Name      string // empty: any
	Drafts    bool   // also those without a published revision
	BeforeMs  int64  // created strictly before; 0: from the newest
	Limit     int
}

// ListWorkflows reads workflows, newest first.
func (r *Reader) ListWorkflows(f WorkflowFilter) ([]Workflow, error) {
	if f.BeforeMs == 0 {
		f.BeforeMs = math.MaxInt64
	}
	query := selectWorkflow + ` WHERE account = ?1 AND created_ms < ?2 AND deleted_ms = 0`
	args := []any{f.Account, f.BeforeMs, int64(f.Limit)}
	if !f.Drafts {
		query += ` AND published <> 0`
	}
	if f.Namespace != "" {
		args = append(args, f.Namespace)
		query += fmt.Sprintf(` AND namespace = ?%d`, len(args))
	}
	if f.Name != "" {
		args = append(args, f.Name)
		query += fmt.Sprintf(` AND name = ?%d`, len(args))
	}
	return readAll(r, "list workflows", query+` ORDER BY created_ms DESC LIMIT ?3`, scanWorkflow, args...)
}
