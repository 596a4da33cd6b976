package service

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"sync"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/store"
)

// idempotencyLife is how long an Idempotency-Key counts.
const idempotencyLife = 24 * time.Hour

// What is stored of the answer beside the resource. The numbers are HTTP's.
const (
	statusOK       = 200
	statusCreated  = 201
	statusAccepted = 202
)

// Idempotency is the Idempotency-Key of a POST and what it stands for (docs/reference/api.md "Limits,
// repetition, waiting"). It counts for 24 hours, for one person or API key, within one environment, method and path.
type Idempotency struct {
	Method string // upper case
	Path   string // concrete path, without the query
	Key    string // 1 to 255 characters, checked by the caller
	// BodyHash is the SHA-256 of the body as it was sent. Uploads leave it zero.
	BodyHash [32]byte
}

// errRepeated is returned out of a transaction when another node was first with the same
// Idempotency-Key.
var errRepeated = errors.New("the request was made before")

// runningKeys are the requests with an Idempotency-Key that this process works on.
type runningKeys struct {
	mu     sync.Mutex
	hashes map[[sha256.Size]byte]struct{}
}

// idempotencyGuard is the right to work on a request with an Idempotency-Key. A nil idempotencyGuard stands for a
// request without one.
type idempotencyGuard struct {
	service *Service
	row     store.Idempotency
	hash    [sha256.Size]byte
	found   *store.Idempotency // what the same request made before
}

// guarded does a request, or finds what the same request did before. make works on the guard
// and records it in its transaction; replay shows what c.found names.
// Codes: idempotency_key_reused, idempotency_in_progress.
func guarded[T any](ctx context.Context, s *Service, p *Principal, i *Idempotency, make, replay func(c *idempotencyGuard) (T, error)) (v T, replayed bool, err error) {
	if i == nil {
		v, err = make(nil)
		return v, false, err
	}
	c, err := s.beginGuarded(ctx, p, i)
	if err != nil {
		return v, false, err
	}
	defer c.release()
	if c.found == nil {
		if v, err = make(c); err == nil || !mayBeRepeated(err) {
			return v, false, err
		}
		if failed := c.find(ctx); failed != nil {
			return v, false, failed
		}
		if c.found == nil {
			return v, false, err
		}
	}
	v, err = replay(c)
	return v, err == nil, err
}

// mayBeRepeated tells whether a request may have failed because another node was first with
// it: that node's answer counts then. Two cancellations with one key are an example, of which
// the second one finds that the execution has ended.
func mayBeRepeated(err error) bool {
	var shown *chargehand.Error
	return errors.Is(err, errRepeated) || errors.As(err, &shown) && shown.Code != chargehand.CodeUnavailable
}

// beginGuarded begins a guarded request. Codes: idempotency_key_reused, idempotency_in_progress.
func (s *Service) beginGuarded(ctx context.Context, p *Principal, i *Idempotency) (*idempotencyGuard, error) {
	c := &idempotencyGuard{service: s, hash: i.hash(p)}
	c.row = store.Idempotency{
		Hash: c.hash[:], Account: p.AccountNo, Environment: p.Environment, BodyHash: i.BodyHash[:], CreatedMs: s.nowMs(),
	}
	if !s.running.add(c.hash) {
		return nil, &chargehand.Error{
			Code:       chargehand.CodeIdempotencyInProgress,
			Detail:     "The first request with this Idempotency-Key has not been answered yet.",
			RetryAfter: 1,
		}
	}
	if err := c.find(ctx); err != nil {
		c.release()
		return nil, err
	}
	return c, nil
}

// hash tells requests apart. Every part is written with its length, so that no two
// different requests have the same text.
func (i *Idempotency) hash(p *Principal) [sha256.Size]byte {
	text := make([]byte, 0, 64+len(i.Path)+len(i.Key))
	text = binary.AppendVarint(text, p.AccountNo)
	text = binary.AppendVarint(text, p.actor())
	text = append(text, byte(p.Environment))
	for _, part := range [...]string{i.Method, i.Path, i.Key} {
		text = binary.AppendUvarint(text, uint64(len(part)))
		text = append(text, part...)
	}
	return sha256.Sum256(text)
}

// find looks for what the same request made before. Codes: idempotency_key_reused.
func (c *idempotencyGuard) find(ctx context.Context) error {
	err := c.service.view(ctx, func(r *store.Reader) error {
		row, err := r.FindIdempotency(c.hash[:], c.expiredMs())
		if err == nil {
			c.found = &row
		}
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return c.compare()
}

// compare refuses another body under the same key. The body of an upload is compared when
// it was read. Codes: idempotency_key_reused.
func (c *idempotencyGuard) compare() error {
	if c.found == nil || string(c.row.BodyHash) == string(c.found.BodyHash) || string(c.row.BodyHash) == string(zeroHash[:]) {
		return nil
	}
	return chargehand.NewError(chargehand.CodeIdempotencyKeyReused,
		"This Idempotency-Key was used before with another body. Use a new key for a new request.")
}

var zeroHash [sha256.Size]byte

// setBody tells the hash of a body that was not known when the request began.
func (c *idempotencyGuard) setBody(hash [sha256.Size]byte) {
	if c != nil {
		c.row.BodyHash = hash[:]
	}
}

func (c *idempotencyGuard) expiredMs() int64 { return c.row.CreatedMs - idempotencyLife.Milliseconds() }

// recording is record for the engine, which may have to do it in a transaction of its own.
func (c *idempotencyGuard) recording(status int, kind string, resource [16]byte) []engine.InTx {
	if c == nil {
		return nil
	}
	return []engine.InTx{func(tx *store.Tx) error { return c.record(tx, status, kind, resource) }}
}

// record stores what the request made, in the transaction that makes it. It returns
// errRepeated if another node was first.
func (c *idempotencyGuard) record(tx *store.Tx, status int, kind string, resource [16]byte) error {
	if c == nil {
		return nil
	}
	c.row.Status, c.row.Kind, c.row.Resource = status, kind, resource
	err := tx.InsertIdempotency(&c.row, c.expiredMs())
	if errors.Is(err, store.ErrConflict) {
		return errRepeated
	}
	return err
}

func (c *idempotencyGuard) release() { c.service.running.remove(c.hash) }

func (k *runningKeys) add(hash [sha256.Size]byte) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.hashes[hash]; ok {
		return false
	}
	if k.hashes == nil {
		k.hashes = make(map[[sha256.Size]byte]struct{})
	}
	k.hashes[hash] = struct{}{}
	return true
}

func (k *runningKeys) remove(hash [sha256.Size]byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.hashes, hash)
}
