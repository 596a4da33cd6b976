package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/chargehand/chargehand"
)

// Definition is the text of a workflow as it was applied, with the external resources that
// were read then. It never changes; equal ones of an account are stored once.
type Definition struct {
	No        int64
	Account   int64
	Digest    []byte // 32 bytes of Source and Resources (plan.SourceDigest)
	MediaType string
	Source    []byte
	Resources []byte // plan.EncodePins; nil for none
}

// key is what the row is found by.
func (d *Definition) key() rowKey {
	var digest [16]byte
	copy(digest[:], d.Digest)
	return rowKey{d.Account, int64(binary.BigEndian.Uint64(digest[:])), int64(binary.BigEndian.Uint64(digest[8:]))}
}

// PutDefinition inserts d unless the account has that digest, and sets d.No either way.
func (t *Tx) PutDefinition(d *Definition) error {
	find := func() error {
		return t.one(`SELECT no FROM definition WHERE account = ?1 AND digest = ?2`, func(r Row) { d.No = r.Int(0) }, d.Account, d.Digest)
	}
	err := find()
	if err == nil || !errors.Is(err, ErrNotFound) {
		return err
	}
	d.No, err = t.insert("insert definition", `INSERT INTO definition (account, digest, media_type, source, resources)
 VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (account, digest) DO NOTHING`, d.Account, d.Digest, d.MediaType, t.seal(kindDefinition, d.key(), d.Source), t.seal(kindResources, d.key(), d.Resources))
	if err == nil && d.No == 0 {
		return find() // another node has just inserted it
	}
	return err
}

// Definition reads a definition by its number. Errors: ErrNotFound.
func (r *Reader) Definition(no int64) (d Definition, err error) {
	in := opener{r: r}
	err = r.one(`SELECT no, account, digest, media_type, source, resources FROM definition WHERE no = ?1`, func(row Row) {
		d = Definition{No: row.Int(0), Account: row.Int(1), Digest: row.Bytes(2), MediaType: row.Text(3)}
		in.key = d.key()
		d.Source, d.Resources = in.open(kindDefinition, row.Bytes(4)), in.open(kindResources, row.Bytes(5))
	}, no)
	if err == nil {
		err = in.err
	}
	if err != nil {
		return Definition{}, fmt.Errorf("read definition: %w", err)
	}
	return d, nil
}

// Revision is one content of a version of a workflow.
type Revision struct {
	No         int64
	Workflow   int64
	Version    string
	Number     int64 // within the version, from 1
	Definition int64
	Digest     []byte // of the definition
	Title      string // document.title, for lists
	Draft      bool   // never published so far
	CreatedMs  int64
	Limits     Limits // of the key that has applied it: what its definition may start and use
	// Files are those that the definition names and the key might read when it was applied.
	Files     []chargehand.FileID
	CreatedBy int64  // who has applied it, as StartedBy of Execution; 0: this server, or it is not known
	Message   string // what that one says about it
	Tags      string // document.tags: a JSON array of "key:value"; empty: none
}

const selectRevision = `SELECT r.no, r.workflow, r.version, r.number, r.definition, d.digest, r.title, r.draft, r.created_ms, r.workflows, r.namespaces, r.files,
 r.created_by, r.message, r.tags
 FROM revision r JOIN definition d ON d.no = r.definition`

func scanRevision(r Row, v *Revision) {
	*v = Revision{
		No: r.Int(0), Workflow: r.Int(1), Version: r.Text(2), Number: r.Int(3), Definition: r.Int(4),
		Digest: r.Bytes(5), Title: r.Text(6), Draft: r.Int(7) != 0, CreatedMs: r.Int(8), Limits: rowLimits(r, 9, 10),
		Files: rowIDs[chargehand.FileID](r, 11), CreatedBy: r.Int(12), Message: r.Text(13), Tags: r.Text(14),
	}
}

// InsertRevision inserts v as the next revision of its version; it sets v.No and v.Number.
func (t *Tx) InsertRevision(v *Revision) error {
	// Numbers are given one after the other: two nodes may apply the same workflow.
	if _, err := t.numbers(`SELECT no FROM workflow WHERE no = ?1`+t.c.ForUpdate(), v.Workflow); err != nil {
		return fmt.Errorf("insert revision: %w", err)
	}
	last, err := t.count("insert revision", `SELECT COALESCE(MAX(number), 0) FROM revision WHERE workflow = ?1 AND version = ?2`, v.Workflow, v.Version)
	if err != nil {
		return err
	}
	v.Number = last + 1
	v.No, err = t.insert("insert revision", `INSERT INTO revision (workflow, version, number, definition, title, draft, created_ms, workflows, namespaces, files, created_by, message, tags)
 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)`, v.Workflow, v.Version, v.Number, v.Definition, textArg(v.Title), flagArg(v.Draft), v.CreatedMs,
		v.Limits.workflowsArg(), v.Limits.namespacesArg(), idsArg(v.Files), v.CreatedBy, textArg(v.Message), textArg(v.Tags))
	return err
}

// SetRevisionDraft changes whether a revision counts as a draft.
func (t *Tx) SetRevisionDraft(no int64, draft bool) error {
	return t.change("set revision draft", `UPDATE revision SET draft = ?2 WHERE no = ?1`, no, flagArg(draft))
}

func (r *Reader) revision(query string, args ...any) (Revision, error) {
	return readOne(r, "read revision", query, scanRevision, args...)
}

// RevisionByNo reads a revision. Errors: ErrNotFound.
func (r *Reader) RevisionByNo(no int64) (Revision, error) {
	return r.revision(selectRevision+` WHERE r.no = ?1`, no)
}

// RevisionByVersion reads the newest revision of a version; without drafts the newest that
// is not one. Errors: ErrNotFound.
func (r *Reader) RevisionByVersion(workflow int64, version string, drafts bool) (Revision, error) {
	return r.revision(selectRevision+` WHERE r.workflow = ?1 AND r.version = ?2 AND r.draft <= ?3 ORDER BY r.number DESC LIMIT 1`,
		workflow, version, flagArg(drafts))
}

// RevisionByNumber reads one revision of a version. Errors: ErrNotFound.
func (r *Reader) RevisionByNumber(workflow int64, version string, number int64) (Revision, error) {
	return r.revision(selectRevision+` WHERE r.workflow = ?1 AND r.version = ?2 AND r.number = ?3`, workflow, version, number)
}

// RevisionsOf reads up to limit revisions of a version, newest first.
func (r *Reader) RevisionsOf(workflow int64, version string, limit int) ([]Revision, error) {
	return readAll(r, "list revisions", selectRevision+` WHERE r.workflow = ?1 AND r.version = ?2 ORDER BY r.number DESC LIMIT ?3`, scanRevision,
		workflow, version, int64(limit))
}

// ListRevisions reads the revisions of a workflow, newest first, those numbered (No) below
// before (0: from the newest).
func (r *Reader) ListRevisions(workflow, before int64, limit int) ([]Revision, error) {
	if before == 0 {
		before = math.MaxInt64
	}
	return readAll(r, "list revisions", selectRevision+` WHERE r.workflow = ?1 AND r.no < ?2 ORDER BY r.no DESC LIMIT ?3`, scanRevision, workflow, before, int64(limit))
}
