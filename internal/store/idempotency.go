package store

import (
	"github.com/chargehand/chargehand"
)

// Idempotency remembers the answer to a request with an Idempotency-Key. It is inserted in
// the transaction of what the request made.
type Idempotency struct {
	Hash        []byte // 32 bytes over account, environment, method, concrete path and key
	Account     int64
	Environment chargehand.Environment
	BodyHash    []byte // 32 bytes sha256 of the request's body
	Status      int    // HTTP status of the original answer
	Kind        string // of the resource, in the service's words
	Resource    [16]byte
	CreatedMs   int64
}

// InsertIdempotency inserts i. A row of the same hash that is older than expiredMs is
// replaced. ErrConflict: there is one that is not; find it and answer from it.
func (t *Tx) InsertIdempotency(i *Idempotency, expiredMs int64) error {
	return t.change("insert idempotency key", `INSERT INTO idempotency (hash, account, environment, body_hash, status, kind, resource, created_ms)
 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
 ON CONFLICT (hash) DO UPDATE SET body_hash = excluded.body_hash, status = excluded.status, kind = excluded.kind,
  resource = excluded.resource, created_ms = excluded.created_ms WHERE idempotency.created_ms < ?9`,
		i.Hash, i.Account, int64(i.Environment), t.sealHash(i.BodyHash), int64(i.Status), i.Kind, i.Resource[:], i.CreatedMs, expiredMs)
}

// FindIdempotency reads the row of a hash, made at or after expiredMs. Errors: ErrNotFound.
func (r *Reader) FindIdempotency(hash []byte, expiredMs int64) (Idempotency, error) {
	return readOne(r, "find idempotency key", `SELECT hash, account, environment, body_hash, status, kind, resource, created_ms FROM idempotency
 WHERE hash = ?1 AND created_ms >= ?2`, func(row Row, i *Idempotency) {
		*i = Idempotency{
			Hash: row.Bytes(0), Account: row.Int(1), Environment: chargehand.Environment(row.Int(2)), BodyHash: r.openHash(row.Bytes(3)),
			Status: int(row.Int(4)), Kind: row.Text(5), CreatedMs: row.Int(7),
		}
		copy(i.Resource[:], row.Bytes(6))
	}, hash, expiredMs)
}

// DeleteIdempotency deletes up to limit rows made before expiredMs, oldest first.
func (t *Tx) DeleteIdempotency(expiredMs int64, limit int) (int64, error) {
	return t.exec("delete idempotency keys", `DELETE FROM idempotency WHERE created_ms < ?1 AND hash IN
 (SELECT hash FROM idempotency WHERE created_ms < ?1 ORDER BY created_ms LIMIT ?2)`, expiredMs, int64(limit))
}
