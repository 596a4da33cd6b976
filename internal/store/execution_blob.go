package store

import "fmt"

// KeepExecutionBlob makes a blob belong to an execution until that is deleted: a payload that an
// engine keeps outside of the database (Temporal's histories). Repeating it changes nothing.
// The blob must have been reserved (ReserveBlob); otherwise ErrNotFound.
func (t *Tx) KeepExecutionBlob(execution int64, digest []byte) error {
	n, err := t.c.Exec(`INSERT INTO execution_blob (execution, digest) VALUES (?1, ?2) ON CONFLICT (execution, digest) DO NOTHING`,
		execution, digest)
	if err != nil {
		return fmt.Errorf("keep payload: %w", err)
	}
	if n == 0 {
		return nil
	}
	return t.refBlob(digest)
}
