package store

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// What several nodes change at once is read with a lock before it is decided on: otherwise
// two that have read the same row overwrite each other's change. The lock lasts until the
// Update is committed. Where only one Update runs at a time, the methods that read only read.

// LockInstallation makes the caller the only one that decides what there is once in an
// installation: its name, its first account.
func (t *Tx) LockInstallation() error {
	n, err := t.c.Exec(`INSERT INTO meta (name, value) VALUES ('first_account', ?1) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, []byte{1})
	if err == nil && n == 0 {
		err = ErrConflict
	}
	if err != nil {
		return fmt.Errorf("lock installation: %w", err)
	}
	return nil
}

// WorkflowForUpdate reads a workflow by its number and locks it. Errors: ErrNotFound.
func (t *Tx) WorkflowForUpdate(no int64) (Workflow, error) {
	return t.workflow(selectWorkflow+` WHERE no = ?1`+t.c.ForUpdate(), no)
}

// BatchForUpdate reads a batch by its number and locks it. Errors: ErrNotFound.
func (t *Tx) BatchForUpdate(no int64) (Batch, error) {
	return t.batch(selectBatch+` WHERE no = ?1`+t.c.ForUpdate(), no)
}

// KeyForUpdate reads an API key by its number and locks it. Errors: ErrNotFound.
func (t *Tx) KeyForUpdate(no int64) (Key, error) {
	return t.key(selectKey+` WHERE no = ?1`+t.c.ForUpdate(), no)
}

// KeepFile locks a file, so that no sweep deletes it before a use of it (UseFile) is
// committed. Lock several in the order of their numbers. Errors: ErrNotFound.
func (t *Tx) KeepFile(no int64) error {
	if _, err := t.file(selectFile+` WHERE no = ?1`+t.c.ForUpdate(), no); err != nil {
		return fmt.Errorf("keep file: %w", err)
	}
	return nil
}

// KeepFiles is KeepFile for many, in any order. Those that are gone are left out.
func (t *Tx) KeepFiles(nos []int64) (kept []int64, err error) {
	nos = slices.Sorted(slices.Values(nos)) // who locks other ones of them waits for us, and not in a circle
	err = inGroups(nos, func(list string, args []any) error {
		found, err := t.numbers(`SELECT no FROM file WHERE no IN (`+list+`) ORDER BY no`+t.c.ForUpdate(), args...)
		kept = append(kept, found...)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("keep files: %w", err)
	}
	return kept, nil
}

// TakeLease gives the holder a lease of that name until untilMs, or prolongs it. It ends by
// itself, so that a holder that died keeps others away for a short time only; a holder that
// continues after its end does so beside another one. ErrConflict: it is another's and not over at nowMs.
func (t *Tx) TakeLease(name string, holder [16]byte, nowMs, untilMs int64) error {
	value := append(binary.BigEndian.AppendUint64(nil, uint64(untilMs)), holder[:]...)
	now := binary.BigEndian.AppendUint64(nil, uint64(nowMs))
	return t.change("take lease", `INSERT INTO meta (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value
 WHERE substr(meta.value, 9) = ?3 OR meta.value < ?4`, leaseName(name), value, holder[:], now)
}

// leaseName is the name in table meta.
func leaseName(name string) string { return "lease " + name }
