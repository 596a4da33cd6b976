package store

import (
	"errors"
	"fmt"
	"strings"

	"github.com/chargehand/chargehand"
)

// Secret is the row of a secret: its newest version. The value is sealed; the store cannot
// read it.
type Secret struct {
	No          int64 // ascends in the order of creation; another one after each deletion
	Account     int64
	Environment chargehand.Environment
	Name        string
	Version     int64  // from 1; a number is never used twice, not even after a deletion
	Sealed      []byte // nil: deleted
	Limits      Limits // the workflows that may declare it
	CreatedMs   int64
	UpdatedMs   int64 // when this version was set, or when it was deleted
}

const secretColumns = `no, account, environment, name, version, created_ms, updated_ms, workflows, namespaces`

func scanSecret(r Row, s *Secret) {
	*s = Secret{
		No: r.Int(0), Account: r.Int(1), Environment: chargehand.Environment(r.Int(2)), Name: r.Text(3),
		Version: r.Int(4), CreatedMs: r.Int(5), UpdatedMs: r.Int(6), Limits: rowLimits(r, 7, 8),
	}
}

// LastSecret reads the newest version of a secret with its value, also of one that was
// deleted (Sealed is nil). Errors: ErrNotFound if there never was one of that name.
func (r *Reader) LastSecret(account int64, env chargehand.Environment, name string) (s Secret, err error) {
	err = r.one(`SELECT `+secretColumns+`, sealed FROM secret WHERE account = ?1 AND environment = ?2 AND name = ?3`, func(row Row) {
		scanSecret(row, &s)
		s.Sealed = row.Bytes(9)
	}, account, int64(env), name)
	if err != nil {
		return Secret{}, fmt.Errorf("read secret: %w", err)
	}
	return s, nil
}

// CountSecrets counts the secrets of an environment that are not deleted.
func (r *Reader) CountSecrets(account int64, env chargehand.Environment) (int, error) {
	n, err := r.count(`SELECT COUNT(*) FROM secret WHERE account = ?1 AND environment = ?2 AND sealed IS NOT NULL`, account, int64(env))
	if err != nil {
		return 0, fmt.Errorf("count secrets: %w", err)
	}
	return int(n), nil
}

// ListSecrets reads a page of the secrets that are not deleted, without their values, newest
// first by number, those before the one with that number (0: first page).
func (r *Reader) ListSecrets(account int64, env chargehand.Environment, before int64, limit int) ([]Secret, error) {
	if before == 0 {
		before = maxSeq
	}
	var list []Secret
	err := r.c.Query(`SELECT `+secretColumns+` FROM secret
 WHERE account = ?1 AND environment = ?2 AND sealed IS NOT NULL AND no < ?3 ORDER BY no DESC LIMIT ?4`, func(row Row) error {
		var s Secret
		scanSecret(row, &s)
		list = append(list, s)
		return nil
	}, account, int64(env), before, int64(limit))
	if err != nil {
		return nil, fmt.Errorf("list secrets: %w", err)
	}
	return list, nil
}

// secretsAtOnce is how many names one statement asks for.
const secretsAtOnce = 16

// SecretValues reads the secrets of those names that are not deleted, with their values, in no
// order. It takes a statement for each 16 names.
func (r *Reader) SecretValues(account int64, env chargehand.Environment, names []string) ([]Secret, error) {
	var list []Secret
	for len(names) > 0 {
		page := names[:min(len(names), secretsAtOnce)]
		names = names[len(page):]
		// Few texts are to be prepared: 1, 2, 4, 8 or 16 names. The last one is repeated.
		size := 1
		for size < len(page) {
			size *= 2
		}
		args := []any{account, int64(env)}
		var parameters strings.Builder
		for i := range size {
			if i > 0 {
				parameters.WriteString(", ")
			}
			fmt.Fprintf(&parameters, "?%d", i+3)
			args = append(args, page[min(i, len(page)-1)])
		}
		err := r.c.Query(`SELECT `+secretColumns+`, sealed FROM secret
 WHERE account = ?1 AND environment = ?2 AND name IN (`+parameters.String()+`) AND sealed IS NOT NULL`, func(row Row) error {
			var s Secret
			scanSecret(row, &s)
			s.Sealed = row.Bytes(9)
			list = append(list, s)
			return nil
		}, args...)
		if err != nil {
			return nil, fmt.Errorf("read secrets: %w", err)
		}
	}
	return list, nil
}

// PutSecret writes a version of a secret in the place of the one before, deleted or not, and
// sets s.No. A secret that is not there, or was deleted, is created at s.CreatedMs; otherwise
// s.CreatedMs is left as it is in the row. ErrConflict: the version before is not s.Version-1.
func (t *Tx) PutSecret(s *Secret) error {
	if s.Version < 1 || s.Sealed == nil {
		return errors.New("put secret: version and value must be given")
	}
	if s.Version > 1 {
		err := t.one(`UPDATE secret SET version = ?4, sealed = ?5, updated_ms = ?6, workflows = ?7, namespaces = ?8
 WHERE account = ?1 AND environment = ?2 AND name = ?3 AND version = ?4 - 1 AND sealed IS NOT NULL RETURNING no, created_ms`, func(r Row) {
			s.No, s.CreatedMs = r.Int(0), r.Int(1)
		}, s.Account, int64(s.Environment), s.Name, s.Version, s.Sealed, s.UpdatedMs,
			s.Limits.workflowsArg(), s.Limits.namespacesArg())
		if err == nil {
			return nil
		}
		if !errors.Is(err, ErrNotFound) {
			return fmt.Errorf("put secret: %w", err)
		}
		err = t.change("put secret", `DELETE FROM secret
 WHERE account = ?1 AND environment = ?2 AND name = ?3 AND version = ?4 AND sealed IS NULL`, s.Account, int64(s.Environment), s.Name, s.Version-1)
		if err != nil {
			return err
		}
	}
	no, err := t.insert("put secret", `INSERT INTO secret (account, environment, name, version, sealed, created_ms, updated_ms, workflows, namespaces)
 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)`, s.Account, int64(s.Environment), s.Name, s.Version, s.Sealed, s.CreatedMs, s.UpdatedMs,
		s.Limits.workflowsArg(), s.Limits.namespacesArg())
	s.No = no
	return err
}

// DeleteSecret forgets the value of a secret and keeps the number of its version.
// ErrConflict: there is none, or it is deleted.
func (t *Tx) DeleteSecret(account int64, env chargehand.Environment, name string, deletedMs int64) error {
	return t.change("delete secret", `UPDATE secret SET sealed = NULL, updated_ms = ?4
 WHERE account = ?1 AND environment = ?2 AND name = ?3 AND sealed IS NOT NULL`, account, int64(env), name, deletedMs)
}

// PinSecrets keeps the sealed secrets of an execution until it ends (FinishExecution,
// CancelQueuedItems). What was pinned first stays: repeating it changes nothing. The execution
// must not have ended.
func (t *Tx) PinSecrets(execution int64, sealed []byte) error {
	return t.c.Send("pin secrets", `INSERT INTO execution_secret (execution, sealed) VALUES (?1, ?2) ON CONFLICT (execution) DO NOTHING`,
		execution, sealed)
}

// PinnedSecrets reads what PinSecrets has kept. Errors: ErrNotFound.
func (r *Reader) PinnedSecrets(execution int64) (sealed []byte, err error) {
	err = r.one(`SELECT sealed FROM execution_secret WHERE execution = ?1`, func(row Row) { sealed = row.Bytes(0) }, execution)
	if err != nil {
		return nil, fmt.Errorf("read pinned secrets: %w", err)
	}
	return sealed, nil
}

// dropSecrets deletes what PinSecrets has kept.
func (t *Tx) dropSecrets(execution int64) error {
	return t.c.Send("drop pinned secrets", `DELETE FROM execution_secret WHERE execution = ?1`, execution)
}
