package store

import (
	"slices"
	"strings"

	"github.com/chargehand/chargehand"
)

// Limits are the only workflows that something has to do with: those of the list, and those of the
// namespaces. The zero value stands for all workflows.
type Limits struct {
	Workflows  []chargehand.WorkflowID
	Namespaces []string
}

// All reports whether there is no limit.
func (l Limits) All() bool { return len(l.Workflows) == 0 && len(l.Namespaces) == 0 }

// Admit reports whether a workflow is within the limits.
func (l Limits) Admit(id chargehand.WorkflowID, namespace string) bool {
	return l.All() || slices.Contains(l.Namespaces, namespace) || slices.Contains(l.Workflows, id)
}

// Within reports whether l names nothing that o does not name.
func (l Limits) Within(o Limits) bool {
	if l.All() || o.All() {
		return o.All()
	}
	for _, id := range l.Workflows {
		if !slices.Contains(o.Workflows, id) {
			return false
		}
	}
	for _, namespace := range l.Namespaces {
		if !slices.Contains(o.Namespaces, namespace) {
			return false
		}
	}
	return true
}

// Limits are in two columns: the ids one after the other, and the namespaces with spaces between
// them, which no namespace has. A missing list is NULL.

func (l Limits) workflowsArg() any { return idsArg(l.Workflows) }

func (l Limits) namespacesArg() any { return textArg(strings.Join(l.Namespaces, " ")) }

func rowLimits(r Row, workflows, namespaces int) (l Limits) {
	l.Workflows = rowIDs[chargehand.WorkflowID](r, workflows)
	l.Namespaces = strings.Fields(r.Text(namespaces))
	if len(l.Namespaces) == 0 {
		l.Namespaces = nil
	}
	return l
}

// idsArg packs ids one after the other; no ids are NULL.
func idsArg[ID ~[16]byte](ids []ID) any {
	if len(ids) == 0 {
		return nil
	}
	packed := make([]byte, 0, 16*len(ids))
	for _, id := range ids {
		packed = append(packed, id[:]...)
	}
	return packed
}

// rowIDs reads what idsArg has packed.
func rowIDs[ID ~[16]byte](r Row, column int) (ids []ID) {
	packed := r.Bytes(column)
	for len(packed) >= 16 {
		ids = append(ids, ID(packed[:16]))
		packed = packed[16:]
	}
	return ids
}

// NoWorkflow are limits that admit no workflow.
func NoWorkflow() Limits { return Limits{Workflows: []chargehand.WorkflowID{{}}} }

// Author is what the definition of a revision may do: it is that of a workflow, and was applied by a key with
// these limits, which might read these of the files that it names.
type Author struct {
	Workflow  chargehand.WorkflowID
	Namespace string
	Limits    Limits
	Files     []chargehand.FileID
}

// AuthorOf reads what the definition of a revision may do. Errors: ErrNotFound.
func (r *Reader) AuthorOf(revision int64) (Author, error) {
	return readOne(r, "read the limits of a revision", `SELECT w.id, w.namespace, r.workflows, r.namespaces, r.files FROM revision r
 JOIN workflow w ON w.no = r.workflow WHERE r.no = ?1`, func(row Row, a *Author) {
		scanID(row, 0, &a.Workflow)
		a.Namespace, a.Limits, a.Files = row.Text(1), rowLimits(row, 2, 3), rowIDs[chargehand.FileID](row, 4)
	}, revision)
}

// WorkflowsOf lists the ids of all workflows of a namespace, deleted or not.
func (r *Reader) WorkflowsOf(account int64, namespace string) ([]chargehand.WorkflowID, error) {
	return readAll(r, "list the workflows of a namespace", `SELECT id FROM workflow WHERE account = ?1 AND namespace = ?2 ORDER BY no`,
		func(row Row, id *chargehand.WorkflowID) { scanID(row, 0, id) }, account, namespace)
}
