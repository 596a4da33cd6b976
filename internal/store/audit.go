package store

import (
	"errors"
	"fmt"

	"github.com/chargehand/chargehand"
)

// Audit is an entry of the audit log: a change, who made it and from where.
type Audit struct {
	No          int64
	ID          chargehand.AuditID // its time part is the time of the change
	Account     int64
	Environment chargehand.Environment // 0: the change belongs to none
	ActorKind   string
	ActorID     string
	ActorName   string
	Action      string
	TargetKind  string
	TargetID    string
	TargetName  string
	Address     string // empty: no request led to the change
	RequestID   string
	Changes     []byte // JSON; nil: none
	Occurred    int64  // how often; 1 unless it was counted (CountAudit)
	Summed      []byte // digest of what counted occurrences have in common; nil: the entry stands for one
}

// AuditFilter selects entries of an account. Of Target, Actor, Action and Environment exactly one is looked at, the
// first that is given: each has an index. The caller compares the others (Selects).
type AuditFilter struct {
	Account     int64
	Target      string                 // id of the target; empty: any
	Actor       string                 // id of the actor; empty: any
	Action      string                 // empty: any
	Environment chargehand.Environment // 0: any
	AfterMs     int64                  // strictly after; 0: no bound
	BeforeMs    int64                  // strictly before; 0: no bound
	Before      chargehand.AuditID     // the last one of the page before; zero: first page
	Limit       int
}

// Selects reports whether the filters by target, actor, action and environment admit an entry.
func (f *AuditFilter) Selects(a *Audit) bool {
	return (f.Target == "" || f.Target == a.TargetID) && (f.Actor == "" || f.Actor == a.ActorID) &&
		(f.Action == "" || f.Action == a.Action) && (f.Environment == 0 || f.Environment == a.Environment)
}

const auditColumns = `no, id, account, environment, actor_kind, actor_id, actor_name, action, target_kind, target_id, target_name,
 address, request_id, changes, occurred, summed`

const auditValues = `INSERT INTO audit (id, account, environment, actor_kind, actor_id, actor_name, action, target_kind, target_id, target_name,
 address, request_id, changes, occurred, summed) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, 1, ?14)`

func (t *Tx) auditArgs(a *Audit) []any {
	return []any{
		a.ID[:], a.Account, int64(a.Environment), a.ActorKind, a.ActorID, a.ActorName, a.Action, a.TargetKind, a.TargetID, a.TargetName,
		a.Address, a.RequestID, t.seal(kindChanges, idKey(a.ID), a.Changes), bytesArg(a.Summed),
	}
}

// InsertAudit appends an entry. ErrConflict, perhaps from a later call: the id is taken.
func (t *Tx) InsertAudit(a *Audit) error {
	if a.Summed != nil {
		return errors.New("insert audit entry: it is one that is counted")
	}
	return t.c.Send("insert audit entry", auditValues, t.auditArgs(a)...)
}

// CountAudit appends an entry, or counts one more occurrence of the entry with the same Summed, which stays as it is.
func (t *Tx) CountAudit(a *Audit) error {
	if a.Summed == nil {
		return errors.New("count audit entry: it has nothing in common with others")
	}
	return t.c.Send("count audit entry", auditValues+` ON CONFLICT (summed) DO UPDATE SET occurred = audit.occurred + 1`, t.auditArgs(a)...)
}

// CountAuditAgain counts one more occurrence of the entry with that Summed, and reports whether there is one.
func (t *Tx) CountAuditAgain(summed []byte) (bool, error) {
	n, err := t.c.Exec(`UPDATE audit SET occurred = occurred + 1 WHERE summed = ?1`, summed)
	if err != nil {
		return false, fmt.Errorf("count audit entry again: %w", err)
	}
	return n > 0, nil
}

// AuditSince counts the entries of an action in an account that were made at sinceMs or later, up to limit.
func (r *Reader) AuditSince(account int64, action string, sinceMs int64, limit int) (int, error) {
	low, high := idBounds(sinceMs-1, 0)
	n, err := r.count("count audit entries", `SELECT COUNT(*) FROM (SELECT 1 FROM audit WHERE account = ?1 AND action = ?2 AND id >= ?3 AND id < ?4
 ORDER BY id DESC LIMIT ?5) AS recent`, account, action, low, high, int64(limit))
	return int(n), err
}

// ListAudit reads a page of entries, newest first by id.
func (r *Reader) ListAudit(f AuditFilter) ([]Audit, error) {
	low, high := idBounds(f.AfterMs, f.BeforeMs)
	if !f.Before.IsZero() && string(f.Before[:]) < string(high) {
		high = f.Before[:]
	}
	condition, args := ` AND occurred > 0`, []any{f.Account, low, high, int64(f.Limit)}
	switch {
	case f.Target != "":
		condition, args = ` AND target_id = ?5`, append(args, f.Target)
	case f.Actor != "":
		condition, args = ` AND actor_id = ?5`, append(args, f.Actor)
	case f.Action != "":
		condition, args = ` AND action = ?5`, append(args, f.Action)
	case f.Environment != 0:
		condition, args = ` AND environment = ?5`, append(args, int64(f.Environment))
	}
	var list []Audit
	err := r.c.Query(`SELECT `+auditColumns+` FROM audit WHERE account = ?1`+condition+` AND id >= ?2 AND id < ?3 ORDER BY id DESC LIMIT ?4`,
		func(row Row) error {
			list = append(list, r.scanAudit(row))
			return nil
		}, args...)
	if err != nil {
		return nil, fmt.Errorf("list audit log: %w", err)
	}
	return list, nil
}

// unreadableChanges stand for changes that cannot be opened, so that the rest of the log can be read.
const unreadableChanges = `{"changes":{"before":null,"after":"they are sealed and cannot be opened"}}`

func (r *Reader) scanAudit(row Row) Audit {
	a := Audit{
		No: row.Int(0), Account: row.Int(2), Environment: chargehand.Environment(row.Int(3)), ActorKind: row.Text(4), ActorID: row.Text(5),
		ActorName: row.Text(6), Action: row.Text(7), TargetKind: row.Text(8), TargetID: row.Text(9), TargetName: row.Text(10), Address: row.Text(11),
		RequestID: row.Text(12), Occurred: row.Int(14), Summed: row.Bytes(15),
	}
	scanID(row, 1, &a.ID)
	var err error
	if a.Changes, err = r.open(kindChanges, idKey(a.ID), row.Bytes(13)); err != nil {
		a.Changes = []byte(unreadableChanges)
	}
	return a
}

// DeleteAudit deletes up to limit entries made before beforeMs, oldest first.
func (t *Tx) DeleteAudit(beforeMs int64, limit int) (int64, error) {
	if beforeMs <= 0 {
		return 0, nil
	}
	_, high := idBounds(0, beforeMs)
	return t.exec("delete audit entries", `DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE id < ?1 ORDER BY id LIMIT ?2)`, high, int64(limit))
}
