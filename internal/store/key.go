package store

import (
	"errors"

	"github.com/chargehand/chargehand"
)

// Key is the row of an API key. The key itself is not stored.
type Key struct {
	No          int64
	ID          chargehand.KeyID // its time part is the creation time
	Account     int64
	Environment chargehand.Environment
	Name        string
	Scopes      string // separated by spaces
	Preset      string // empty if made from scopes
	Limits      Limits // what it sees
	Addresses   string // networks that it may be used from, separated by spaces; empty: any
	Prefix      string // first characters, for display
	Last4       string // last characters, for display
	Hash        []byte // 32 bytes HMAC of the key
	OldHash     []byte // of the key before its rotation; nil: there was none
	OldUntilMs  int64  // the key before counts until then
	Person      int64  // that it stands for: a personal key; 0: none
	Rate        int64  // requests per second; -1: the installation's default
	Creator     string // who made it: the id of a key or user, or a name
	Rotators    string // ids of the keys and users who have rotated it, separated by spaces
	ExpiresMs   int64  // 0: never
	LastUsedMs  int64  // 0: never
	RevokedMs   int64  // 0 unless revoked
}

const selectKey = `SELECT no, id, account, environment, name, scopes, preset, workflows, prefix, last4, hash, rate,
 creator, expires_ms, last_used_ms, revoked_ms, namespaces, addresses, old_hash, old_until_ms, person, rotators FROM api_key`

func scanKey(r Row, k *Key) {
	*k = Key{
		No: r.Int(0), Account: r.Int(2), Environment: chargehand.Environment(r.Int(3)), Name: r.Text(4), Scopes: r.Text(5),
		Preset: r.Text(6), Limits: rowLimits(r, 7, 16), Prefix: r.Text(8), Last4: r.Text(9), Hash: r.Bytes(10), Rate: r.Int(11),
		Creator: r.Text(12), ExpiresMs: r.Int(13), LastUsedMs: r.Int(14), RevokedMs: r.Int(15),
		Addresses: r.Text(17), OldHash: r.Bytes(18), OldUntilMs: r.Int(19), Person: r.Int(20), Rotators: r.Text(21),
	}
	scanID(r, 1, &k.ID)
}

// InsertKey inserts k and sets k.No. ErrConflict: the id or the hash is taken.
func (t *Tx) InsertKey(k *Key) (err error) {
	k.No, err = t.insert("insert API key", `INSERT INTO api_key (id, account, environment, name, scopes, preset, workflows,
 prefix, last4, hash, rate, creator, expires_ms, namespaces, addresses, person)
 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)`,
		k.ID[:], k.Account, int64(k.Environment), k.Name, k.Scopes, k.Preset, k.Limits.workflowsArg(),
		k.Prefix, k.Last4, k.Hash, k.Rate, k.Creator, k.ExpiresMs, k.Limits.namespacesArg(), textArg(k.Addresses), k.Person)
	return err
}

// UpdateKey writes Name, Scopes, Preset, Limits, Addresses, Rate and ExpiresMs of k.
// ErrConflict: it is revoked.
func (t *Tx) UpdateKey(k *Key) error {
	return t.change("update API key", `UPDATE api_key SET name = ?2, scopes = ?3, preset = ?4, workflows = ?5, rate = ?6, expires_ms = ?7, namespaces = ?8,
 addresses = ?9 WHERE no = ?1 AND revoked_ms = 0`, k.No, k.Name, k.Scopes, k.Preset, k.Limits.workflowsArg(), k.Rate, k.ExpiresMs,
		k.Limits.namespacesArg(), textArg(k.Addresses))
}

// RotateKey writes Prefix, Last4, Hash, OldHash, OldUntilMs and Rotators of k. ErrConflict: it is revoked, or its hash
// is not OldHash any more.
func (t *Tx) RotateKey(k *Key) error {
	return t.change("rotate API key", `UPDATE api_key SET hash = ?3, old_hash = ?2, old_until_ms = ?4, prefix = ?5, last4 = ?6, rotators = ?7
 WHERE no = ?1 AND hash = ?2 AND revoked_ms = 0`, k.No, k.OldHash, k.Hash, k.OldUntilMs, k.Prefix, k.Last4, textArg(k.Rotators))
}

// RevokeKey revokes a key. ErrConflict: it is.
func (t *Tx) RevokeKey(no, revokedMs int64) error {
	return t.change("revoke API key", `UPDATE api_key SET revoked_ms = ?2 WHERE no = ?1 AND revoked_ms = 0`, no, revokedMs)
}

// RevokeKeysOf revokes the personal keys of a person in an account.
func (t *Tx) RevokeKeysOf(account, person, revokedMs int64) error {
	return t.c.Send("revoke personal keys", `UPDATE api_key SET revoked_ms = ?3
 WHERE person = ?2 AND person <> 0 AND account = ?1 AND revoked_ms = 0`, account, person, revokedMs)
}

// TouchKey moves the time of last use forward.
func (t *Tx) TouchKey(no, usedMs int64) error {
	return t.c.Send("touch API key", `UPDATE api_key SET last_used_ms = ?2 WHERE no = ?1 AND last_used_ms < ?2`, no, usedMs)
}

func (r *Reader) key(query string, args ...any) (Key, error) {
	return readOne(r, "read API key", query, scanKey, args...)
}

// KeyByHash reads the key of any account that has a hash, or had it before its rotation, revoked and expired ones too.
// Errors: ErrNotFound.
func (r *Reader) KeyByHash(hash []byte) (Key, error) {
	k, err := r.key(selectKey+` WHERE hash = ?1`, hash)
	if errors.Is(err, ErrNotFound) {
		k, err = r.key(selectKey+` WHERE old_hash = ?1`, hash)
	}
	return k, err
}

// KeyByNo reads a key by its internal number, revoked and expired ones too. Errors: ErrNotFound.
func (r *Reader) KeyByNo(no int64) (Key, error) {
	return r.key(selectKey+` WHERE no = ?1`, no)
}

// KeyByID reads a key of an account and environment. Errors: ErrNotFound.
func (r *Reader) KeyByID(account int64, env chargehand.Environment, id chargehand.KeyID) (Key, error) {
	return r.key(selectKey+` WHERE id = ?1 AND account = ?2 AND environment = ?3`, id[:], account, int64(env))
}

// ListKeys reads a page of the keys that are not revoked, newest first by id, before the
// key with that id (zero: first page).
func (r *Reader) ListKeys(account int64, env chargehand.Environment, before chargehand.KeyID, limit int) ([]Key, error) {
	return r.keys(` WHERE account = ?1 AND environment = ?2 AND revoked_ms = 0 AND id < ?3 ORDER BY id DESC LIMIT ?4`,
		account, int64(env), belowID(before), int64(limit))
}

// ListPersonalKeys is ListKeys for the keys of a person alone.
func (r *Reader) ListPersonalKeys(account int64, env chargehand.Environment, person int64, before chargehand.KeyID, limit int) ([]Key, error) {
	return r.keys(` WHERE person = ?5 AND person <> 0 AND account = ?1 AND environment = ?2 AND revoked_ms = 0 AND id < ?3 ORDER BY id DESC LIMIT ?4`,
		account, int64(env), belowID(before), int64(limit), person)
}

// belowID is the bound that a page of a list by id, newest first, begins below.
func belowID(before chargehand.KeyID) []byte {
	if before.IsZero() {
		_, high := idBounds(0, 0)
		return high
	}
	return before[:]
}

func (r *Reader) keys(where string, args ...any) ([]Key, error) {
	return readAll(r, "list API keys", selectKey+where, scanKey, args...)
}

// PersonalKeysIn counts the personal keys of a person in one account that are not revoked and end after a time.
func (r *Reader) PersonalKeysIn(account, person, nowMs int64) (int64, error) {
	return r.count("count personal keys of an account", `SELECT COUNT(*) FROM api_key WHERE person = ?1 AND person <> 0 AND revoked_ms = 0
 AND account = ?2 AND expires_ms > ?3`, person, account, nowMs)
}

// PersonalKeys counts the personal keys of a person, in all accounts, that are not revoked and end after a time.
func (r *Reader) PersonalKeys(person, nowMs int64) (int64, error) {
	return r.count("count personal keys", `SELECT COUNT(*) FROM api_key WHERE person = ?1 AND person <> 0 AND revoked_ms = 0 AND expires_ms > ?2`,
		person, nowMs)
}
