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
	Restores    int64 // the version whose value it has again; 0: none
}

// KeptVersions is how many versions of a secret are kept, the newest included.
const KeptVersions = 10

// SecretVersion is an earlier version of a secret. Its value is sealed at its own number.
type SecretVersion struct {
	Version  int64
	Sealed   []byte
	SetMs    int64
	Restores int64 // as in Secret
}

const secretColumns = `no, account, environment, name, version, created_ms, updated_ms, workflows, namespaces, restores`

func scanSecret(r Row, s *Secret) {
	*s = Secret{
		No: r.Int(0), Account: r.Int(1), Environment: chargehand.Environment(r.Int(2)), Name: r.Text(3),
		Version: r.Int(4), CreatedMs: r.Int(5), UpdatedMs: r.Int(6), Limits: rowLimits(r, 7, 8), Restores: r.Int(9),
	}
}

// LastSecret reads the newest version of a secret with its value, also of one that was
// deleted (Sealed is nil). Errors: ErrNotFound if there never was one of that name.
func (r *Reader) LastSecret(account int64, env chargehand.Environment, name string) (Secret, error) {
	return readOne(r, "read secret", `SELECT `+secretColumns+`, sealed FROM secret WHERE account = ?1 AND environment = ?2 AND name = ?3`, func(row Row, s *Secret) {
		scanSecret(row, s)
		s.Sealed = row.Bytes(10)
	}, account, int64(env), name)
}

// CountSecrets counts the secrets of an environment that are not deleted.
func (r *Reader) CountSecrets(account int64, env chargehand.Environment) (int, error) {
	n, err := r.count("count secrets", `SELECT COUNT(*) FROM secret WHERE account = ?1 AND environment = ?2 AND sealed IS NOT NULL`, account, int64(env))
	return int(n), err
}

// ListSecrets reads a page of the secrets that are not deleted, without their values, newest
// first by number, those before the one with that number (0: first page).
func (r *Reader) ListSecrets(account int64, env chargehand.Environment, before int64, limit int) ([]Secret, error) {
	if before == 0 {
		before = maxSeq
	}
	return readAll(r, "list secrets", `SELECT `+secretColumns+` FROM secret
 WHERE account = ?1 AND environment = ?2 AND sealed IS NOT NULL AND no < ?3 ORDER BY no DESC LIMIT ?4`, scanSecret, account, int64(env), before, int64(limit))
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
			s.Sealed = row.Bytes(10)
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
		_, err := t.c.Exec(`INSERT INTO secret_version (secret, version, sealed, set_ms, restores)
 SELECT no, version, sealed, updated_ms, restores FROM secret
 WHERE account = ?1 AND environment = ?2 AND name = ?3 AND version = ?4 - 1 AND sealed IS NOT NULL`, s.Account, int64(s.Environment), s.Name, s.Version)
		if err != nil {
			return fmt.Errorf("keep version of secret: %w", err)
		}
		err = t.one(`UPDATE secret SET version = ?4, sealed = ?5, updated_ms = ?6, workflows = ?7, namespaces = ?8, restores = ?9
 WHERE account = ?1 AND environment = ?2 AND name = ?3 AND version = ?4 - 1 AND sealed IS NOT NULL RETURNING no, created_ms`, func(r Row) {
			s.No, s.CreatedMs = r.Int(0), r.Int(1)
		}, s.Account, int64(s.Environment), s.Name, s.Version, s.Sealed, s.UpdatedMs,
			s.Limits.workflowsArg(), s.Limits.namespacesArg(), s.Restores)
		if err == nil {
			return t.c.Send("drop versions of secret", `DELETE FROM secret_version WHERE secret = ?1 AND version <= ?2`, s.No, s.Version-KeptVersions)
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
	no, err := t.insert("put secret", `INSERT INTO secret (account, environment, name, version, sealed, created_ms, updated_ms, workflows, namespaces, restores)
 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)`, s.Account, int64(s.Environment), s.Name, s.Version, s.Sealed, s.CreatedMs, s.UpdatedMs,
		s.Limits.workflowsArg(), s.Limits.namespacesArg(), s.Restores)
	s.No = no
	return err
}

// SecretVersions reads the earlier versions of a secret, by its number, that are kept, newest first.
func (r *Reader) SecretVersions(no int64) ([]SecretVersion, error) {
	return readAll(r, "list versions of secret", `SELECT version, sealed, set_ms, restores FROM secret_version WHERE secret = ?1 ORDER BY version DESC`, func(row Row, version *SecretVersion) {
		*version = SecretVersion{Version: row.Int(0), Sealed: row.Bytes(1), SetMs: row.Int(2), Restores: row.Int(3)}
	}, no)
}

// UseSecrets writes that the definition of a revision declares these secrets.
func (t *Tx) UseSecrets(account, revision int64, names []string) error {
	for _, name := range names {
		err := t.c.Send("use secret", `INSERT INTO secret_use (account, name, revision) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING`, account, name, revision)
		if err != nil {
			return err
		}
	}
	return nil
}

// SecretUsers reads the workflows whose definition declares a secret of that name: what runs in the environment, the
// published revision, or in test the draft before it. The one that was applied last comes first.
func (r *Reader) SecretUsers(account int64, env chargehand.Environment, name string, limit int) ([]Workflow, error) {
	current := `w.published`
	if env == chargehand.Test {
		current = `CASE WHEN w.draft <> 0 THEN w.draft ELSE w.published END`
	}
	return readAll(r, "list users of secret", `SELECT w.no, w.id, w.namespace, w.name FROM secret_use u JOIN revision r ON r.no = u.revision JOIN workflow w ON w.no = r.workflow
 WHERE u.account = ?1 AND u.name = ?2 AND w.deleted_ms = 0 AND u.revision = `+current+` ORDER BY u.revision DESC LIMIT ?3`, func(row Row, w *Workflow) {
		*w = Workflow{No: row.Int(0), Account: account, Namespace: row.Text(2), Name: row.Text(3)}
		scanID(row, 1, &w.ID)
	}, account, name, int64(limit))
}

// DeleteSecret forgets the value of a secret, with those of earlier versions, and keeps the number of its version.
// ErrConflict: there is none, or it is deleted.
func (t *Tx) DeleteSecret(account int64, env chargehand.Environment, name string, deletedMs int64) error {
	err := t.c.Send("delete versions of secret", `DELETE FROM secret_version
 WHERE secret IN (SELECT no FROM secret WHERE account = ?1 AND environment = ?2 AND name = ?3)`, account, int64(env), name)
	if err != nil {
		return err
	}
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
func (r *Reader) PinnedSecrets(execution int64) ([]byte, error) {
	return readOne(r, "read pinned secrets", `SELECT sealed FROM execution_secret WHERE execution = ?1`, func(row Row, sealed *[]byte) { *sealed = row.Bytes(0) }, execution)
}

// dropSecrets deletes what PinSecrets has kept.
func (t *Tx) dropSecrets(execution int64) error {
	return t.c.Send("drop pinned secrets", `DELETE FROM execution_secret WHERE execution = ?1`, execution)
}
