package service

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// How long the secret before a rotation still counts.
const (
	defaultGrace = 24 * time.Hour
	maxGrace     = 7 * 24 * time.Hour
)

// RotateKey is the request to give a key another secret. Body: grace, how long the secret before counts.
type RotateKey struct {
	Key         chargehand.KeyID
	Body        value.Value
	Idempotency *Idempotency
}

// RotateKey gives a key another secret, which is shown once. The one before counts until the grace ends, and what was
// before that one counts no more. The key stays the same in everything else. The principal must have all that the key
// may do, because it is shown its secret. A replayed answer does not show the secret again.
// Codes: invalid_body, unknown_field, api_key_not_found, insufficient_scope, fresh_sign_in_required, state_conflict,
// idempotency_key_reused, idempotency_in_progress.
func (s *Service) RotateKey(ctx context.Context, p *Principal, r RotateKey) (key *Key, replayed bool, err error) {
	return s.rotateGuarded(ctx, p, r, func(rows *store.Reader) (row store.Key, err error) {
		if row, err = readKey(rows, p, r.Key); err == nil {
			err = notPersonal(&row)
		}
		if err == nil {
			err = s.checkGrant(p, nil, &row)
		}
		return row, err
	})
}

// RotatePersonalKey is RotateKey for a key of the principal's person. Codes: those of RotateKey.
func (s *Service) RotatePersonalKey(ctx context.Context, p *Principal, r RotateKey) (key *Key, replayed bool, err error) {
	if err := needsSession(p); err != nil {
		return nil, false, err
	}
	return s.rotateGuarded(ctx, p, r, func(rows *store.Reader) (store.Key, error) { return readPersonalKey(rows, p, r.Key) })
}

// rotateGuarded rotates the key that read finds and allows to.
func (s *Service) rotateGuarded(ctx context.Context, p *Principal, r RotateKey, read func(*store.Reader) (store.Key, error)) (key *Key, replayed bool, err error) {
	return guarded(ctx, s, p, r.Idempotency,
		func(c *idempotencyGuard) (*Key, error) { return s.rotateKey(ctx, p, r.Body, read, c) },
		func(*idempotencyGuard) (key *Key, err error) {
			err = s.view(ctx, func(rows *store.Reader) error {
				row, err := read(rows)
				if err == nil {
					key = s.key(&row)
				}
				return err
			})
			return key, err
		})
}

func (s *Service) rotateKey(ctx context.Context, p *Principal, body value.Value, read func(*store.Reader) (store.Key, error), c *idempotencyGuard) (*Key, error) {
	f, err := openBody(body, "grace")
	if err != nil {
		return nil, err
	}
	grace := f.grace("grace")
	if err := f.err(); err != nil {
		return nil, err
	}
	var row store.Key
	var secret string
	err = s.update(ctx, func(tx *store.Tx) error {
		found, err := read(&tx.Reader)
		if err != nil {
			return err
		}
		// It is locked, and read again: requests at once rotate one after the other.
		if row, err = tx.KeyForUpdate(found.No); err != nil {
			return err
		}
		switch now := s.nowMs(); {
		case row.RevokedMs != 0:
			return keyNotFound()
		case row.ExpiresMs != 0 && row.ExpiresMs <= now:
			return stateConflict("The key has ended. Make another one.")
		default:
			row.OldHash, row.OldUntilMs = row.Hash, now+grace.Milliseconds()
		}
		row.Rotators = withRotator(row.Rotators, p.creator())
		secret = newKeySecret(&row, s.pepper)
		if err := tx.RotateKey(&row); err != nil {
			return err
		}
		changes := changed("previous_key_until", nil, shownTime(row.OldUntilMs))
		if err := s.audit(ctx, tx, p, audit.KeyRotated, keyTarget(&row), changes); err != nil {
			return err
		}
		return c.record(tx, statusOK, "api_key", row.ID)
	})
	s.keys.clear()
	if err != nil {
		return nil, err
	}
	key := s.key(&row)
	key.Secret = secret
	return key, nil
}

// withRotator adds who has learned the secret of a key to the list of those. No list is longer than makers reads.
func withRotator(list, id string) string {
	all := strings.Fields(list)
	if slices.Contains(all, id) || len(all) > maxMakers {
		return list
	}
	return strings.Join(append(all, id), " ")
}

// grace reads how long the secret before counts; absent and null are the default.
func (f *fields) grace(name string) time.Duration {
	return f.duration(name, defaultGrace, 0, maxGrace, "from 0s to 7d, such as 24h, 30m or 7d")
}

// duration reads a time such as 90m or 7d; absent and null are absent. allowed says for people what is allowed.
func (f *fields) duration(name string, absent, least, most time.Duration, allowed string) time.Duration {
	if f.values[name] == nil {
		return absent
	}
	before := len(f.wrong)
	text := f.text(name, 50)
	d, err := time.ParseDuration(text)
	if days, inDays := strings.CutSuffix(text, "d"); inDays {
		var n uint64
		n, err = strconv.ParseUint(days, 10, 16)
		d = time.Duration(n) * 24 * time.Hour
	}
	if (err != nil || d < least || d > most) && len(f.wrong) == before {
		f.fail(name, "wrong_value", "The field \""+name+"\" must be a time "+allowed+".")
	}
	return d
}
