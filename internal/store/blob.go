package store

import "fmt"

// Blobs are contents in the blob store (internal/blob), by digest. Their rows count
// references: one per file and one per payload that is not inline. The count is kept by
// the methods that insert and delete those rows.
//
// A blob leaves in four steps, so that no content is lost to a race and none of them needs
// the file system inside a transaction:
//
//	StampUnusedBlobs    stamps the ones that nothing refers to;
//	StartBlobDeletion   marks, an hour later, those that still have the stamp and no reference;
//	               from now on ReserveBlob and every new reference to them fail;
//	               then the caller deletes the content;
//	RemoveBlob     deletes the row.
//
// A caller that stores content reserves its digest before it asks whether the content exists: that takes the stamp
// away. ErrConflict from a blob that is being deleted: try again when it is gone.

// ReserveBlob makes sure that a blob has a row and an hour from now to get a reference.
// ErrConflict: it is being deleted; wait and reserve it again.
func (t *Tx) ReserveBlob(digest []byte, size int64) error {
	return t.change("reserve blob", `INSERT INTO blob (digest, size) VALUES (?1, ?2)
 ON CONFLICT (digest) DO UPDATE SET unused_ms = 0 WHERE blob.deleting = 0`, t.hidden(digest), size)
}

// StampUnusedBlobs stamps up to limit blobs without references that have no stamp.
func (t *Tx) StampUnusedBlobs(nowMs int64, limit int) (int64, error) {
	// The conditions stand twice, here and below: between the search and the change, another
	// Update may have reserved the blob, and only the outer ones are evaluated again then.
	return t.exec("notice blobs", `UPDATE blob SET unused_ms = ?1 WHERE refs = 0 AND deleting = 0 AND unused_ms = 0 AND digest IN
 (SELECT digest FROM blob WHERE refs = 0 AND deleting = 0 AND unused_ms = 0 LIMIT ?2)`, nowMs, int64(limit))
}

// StartBlobDeletion marks up to limit blobs that have had no reference since before looseMs.
func (t *Tx) StartBlobDeletion(looseMs int64, limit int) (int64, error) {
	return t.exec("condemn blobs", `UPDATE blob SET deleting = 1 WHERE refs = 0 AND deleting = 0 AND unused_ms > 0 AND unused_ms < ?1 AND digest IN
 (SELECT digest FROM blob WHERE refs = 0 AND deleting = 0 AND unused_ms > 0 AND unused_ms < ?1 ORDER BY unused_ms LIMIT ?2)`, looseMs, int64(limit))
}

// BlobsToDelete reads digests whose content is to be deleted, also after a crash.
func (r *Reader) BlobsToDelete(limit int) ([][]byte, error) {
	return readAll(r, "read condemned blobs", `SELECT digest FROM blob WHERE refs = 0 AND deleting = 1 LIMIT ?1`, func(row Row, digest *[]byte) {
		*digest = r.show(row.Bytes(0))
	}, int64(limit))
}

// RemoveBlob deletes the row of a condemned blob, after its content. Errors: ErrConflict.
func (t *Tx) RemoveBlob(digest []byte) error {
	return t.change("remove blob", `DELETE FROM blob WHERE digest = ?1 AND refs = 0 AND deleting = 1`, t.hidden(digest))
}

// BlobKnown reports whether a blob has a row. Content without one is left over from a
// crash between the deletion of a row and of the content, or not reserved yet.
func (r *Reader) BlobKnown(digest []byte) (bool, error) {
	return r.exists("look up blob", `SELECT 1 FROM blob WHERE digest = ?1`, r.hidden(digest))
}

// BlobSize is a content that rows refer to.
type BlobSize struct {
	Name []byte // blob.Name
	Size int64
}

// ReferredBlobs reads up to limit contents that rows refer to, in the order of names, after one; nil: from the
// first.
func (r *Reader) ReferredBlobs(after []byte, limit int) ([]BlobSize, error) {
	if after == nil {
		after = []byte{0} // before every digest, which are longer
	}
	return readAll(r, "read blobs", `SELECT digest, size FROM blob WHERE digest > ?1 AND refs > 0 ORDER BY digest LIMIT ?2`, func(row Row, b *BlobSize) {
		*b = BlobSize{row.Bytes(0), row.Int(1)}
	}, after, int64(limit))
}

// BlobReferred reports whether rows refer to a content, by its name.
func (r *Reader) BlobReferred(name []byte) (bool, error) {
	return r.exists("look up blob", `SELECT 1 FROM blob WHERE digest = ?1 AND refs > 0`, name)
}

// FileNameOf is the name of a file with the content of that name; empty if it is the content of a payload. It reads
// all files.
func (r *Reader) FileNameOf(content []byte) (name string, err error) {
	err = r.c.Query(`SELECT name FROM file WHERE digest = ?1 ORDER BY no LIMIT 1`, func(row Row) error {
		name = row.Text(0)
		return nil
	}, content)
	if err != nil {
		return "", fmt.Errorf("look up file: %w", err)
	}
	return name, nil
}

// refBlob adds a reference; nil is no blob.
func (t *Tx) refBlob(digest []byte) error {
	if digest == nil {
		return nil
	}
	n, err := t.c.Exec(`UPDATE blob SET refs = refs + 1, unused_ms = 0 WHERE digest = ?1 AND deleting = 0`, t.hidden(digest))
	if err == nil && n == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("refer to blob %x: %w", digest, err)
	}
	return nil
}

// unrefBlobs takes one reference away for each name of a content, which columns of digests hold.
func (t *Tx) unrefBlobs(names [][]byte) error {
	for _, name := range names {
		n, err := t.c.Exec(`UPDATE blob SET refs = refs - 1, unused_ms = 0 WHERE digest = ?1 AND refs > 0`, name)
		if err == nil && n == 0 {
			err = ErrNotFound
		}
		if err != nil {
			return fmt.Errorf("release blob %x: %w", name, err)
		}
	}
	return nil
}

// KeepExecutionBlob makes a blob belong to an execution until that is deleted: a payload that an
// engine keeps outside of the database (Temporal's histories). Repeating it changes nothing.
// The blob must have been reserved (ReserveBlob); otherwise ErrNotFound.
func (t *Tx) KeepExecutionBlob(execution int64, digest []byte) error {
	n, err := t.c.Exec(`INSERT INTO execution_blob (execution, digest) VALUES (?1, ?2) ON CONFLICT (execution, digest) DO NOTHING`,
		execution, t.hidden(digest))
	if err != nil {
		return fmt.Errorf("keep payload: %w", err)
	}
	if n == 0 {
		return nil
	}
	return t.refBlob(digest)
}
