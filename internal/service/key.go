package service

import (
	"context"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// Bounds of what a key holds.
const (
	maxKeyNameBytes = 200
	maxKeyRate      = 1_000_000
)

// Key is an API key as it may be shown: never the key itself.
type Key struct {
	ID          chargehand.KeyID
	Name        string
	Environment chargehand.Environment
	Prefix      string // "sk_live_" or "sk_test_"
	LastFour    string
	Scopes      Scopes
	Limits      store.Limits // what it sees
	// RatePerSecond is the key's own rate; 0: the installation's, negative: no limit.
	RatePerSecond float64
	CreatedAt     time.Time
	ExpiresAt     time.Time // zero: never
	LastUsedAt    time.Time // zero: not yet
	// Addresses are the networks that it may be used from; none: any.
	Addresses []string
	// OldUntil is when the secret before the last rotation ends; zero: there is none that counts.
	OldUntil time.Time
	// CreatedBy is the id of the user or the key that made this one; zero: the command line.
	CreatedBy chargehand.KeyID
	// User is whom a personal key stands for; zero: it is none.
	User chargehand.UserID
	// Secret is the key in plain text: set once, in the answer that creates it.
	Secret string
}

// creatorCommandLine is the creator of keys that were made without a server.
const creatorCommandLine = "command line"

// noTestPublishing is why a key of test has no scope workflows:publish.
const noTestPublishing = "A key of test cannot have the scope workflows:publish: it changes nothing that live runs."

// CreateKey is the request to make a key. Body: name (required), environment, preset or
// scopes (default preset run), workflows, namespaces, expires_at, rate_limit (requests per
// second, 0: none, null: the installation's).
type CreateKey struct {
	Body        value.Value
	Idempotency *Idempotency
}

// CreateKey makes a key that may do no more than the principal, in its environment. What the body does not
// say of its life and its rate is that of the principal.
// A replayed answer does not show the secret again.
// Codes: invalid_body, unknown_field, insufficient_scope, workflow_not_found, api_key_not_found
// (a replay, and the key was revoked since), idempotency_key_reused, idempotency_in_progress.
func (s *Service) CreateKey(ctx context.Context, p *Principal, r CreateKey) (key *Key, replayed bool, err error) {
	return guarded(ctx, s, p, r.Idempotency,
		func(c *idempotencyGuard) (*Key, error) { return s.createKey(ctx, p, r.Body, ordinaryKey, c) },
		func(c *idempotencyGuard) (*Key, error) { return s.GetKey(ctx, p, chargehand.KeyID(c.found.Resource)) })
}

// keyKind tells keys that stand for no person from those that do.
type keyKind bool

const (
	ordinaryKey keyKind = false
	personalKey keyKind = true
)

func (s *Service) createKey(ctx context.Context, p *Principal, body value.Value, kind keyKind, c *idempotencyGuard) (*Key, error) {
	f, err := openBody(body, "name", "environment", "preset", "scopes", "workflows", "namespaces", "allowed_addresses", "expires_at", "rate_limit")
	if err != nil {
		return nil, err
	}
	row := store.Key{Account: p.AccountNo, Environment: p.Environment, Rate: -1, Creator: p.creator(), Addresses: p.addresses()}
	if p.SessionNo == 0 && !p.ExpiresAt.IsZero() {
		row.ExpiresMs = p.ExpiresAt.UnixMilli()
	}
	if p.RatePerSecond > 0 {
		row.Rate = int64(p.RatePerSecond)
	}
	if !f.has("name") {
		f.fail("name", "required", "The field \"name\" is missing.")
	}
	scopes := PresetRun
	if !f.has("scopes") {
		row.Preset = "run"
	}
	environment := f.text("environment", 10)
	if _, isText := f.values["environment"].(string); isText &&
		environment != chargehand.Live.String() && environment != chargehand.Test.String() {
		f.fail("environment", "unknown_value", "The field \"environment\" must be \"live\" or \"test\".")
	}
	limits := f.change(&row, scopes, s.now())
	if kind == personalKey {
		row.Person = p.PersonNo
		f.personalKey(&row, s.now())
	}
	if err := f.err(); err != nil {
		return nil, err
	}
	if environment != "" && environment != p.Environment.String() {
		return nil, chargehand.NewError(chargehand.CodeInsufficientScope,
			"A key makes keys in its own environment only, which is "+p.Environment.String()+".")
	}
	secret := fillKey(&row, s.pepper, s.nowMs())
	err = s.update(ctx, func(tx *store.Tx) (err error) {
		if row.Limits, err = limits.on(&tx.Reader, p.AccountNo, store.Limits{}); err != nil {
			return err
		}
		if kind == personalKey {
			err = s.checkPersonalKey(tx, p, &row, limits.workflows)
		} else {
			err = s.checkGrant(p, nil, &row)
		}
		if err == nil {
			err = s.insertKey(ctx, tx, p, &row)
		}
		if err != nil {
			return err
		}
		return c.record(tx, statusCreated, "api_key", row.ID)
	})
	if err != nil {
		return nil, err
	}
	key := s.key(&row)
	key.Secret = secret
	return key, nil
}

func (s *Service) insertKey(ctx context.Context, tx *store.Tx, p *Principal, row *store.Key) error {
	if err := tx.InsertKey(row); err != nil {
		return err
	}
	return s.audit(ctx, tx, p, audit.KeyCreated, keyTarget(row), keyChanges(&store.Key{}, row))
}

// effectiveRate is a rate in the stored form (-1: the installation's, 0: none) as requests per second.
func (s *Service) effectiveRate(stored int64) float64 {
	rate := float64(stored)
	if stored < 0 {
		rate = s.limits.RatePerSecond
	}
	if rate <= 0 {
		return math.Inf(1)
	}
	return rate
}

// fillKey makes the secret of a key and fills in what follows from it.
func fillKey(row *store.Key, p *pepper, nowMs int64) (secret string) {
	row.ID = newID[chargehand.KeyID](nowMs)
	return newKeySecret(row, p)
}

// newKeySecret gives a key another secret.
func newKeySecret(row *store.Key, p *pepper) (secret string) {
	secret = newSecret(row.Environment)
	digest := p.digest(secret)
	row.Hash = digest[:]
	row.Prefix = secretPrefix(row.Environment)
	row.Last4 = secret[len(secret)-4:]
	return secret
}

// key is what may be shown of a row.
func (s *Service) key(row *store.Key) *Key {
	// A creator that is no id is the command line.
	var creator chargehand.KeyID
	_ = creator.UnmarshalText([]byte(row.Creator))
	var user chargehand.UserID
	if row.Person != 0 {
		user = chargehand.UserID(creator) // none but the person itself makes its personal keys
	}
	shown := &Key{
		User: user, Addresses: strings.Fields(row.Addresses), ID: row.ID, Name: row.Name, Environment: row.Environment, Prefix: row.Prefix, LastFour: row.Last4,
		Scopes: parseScopes(row.Scopes), Limits: row.Limits, RatePerSecond: rateOf(row.Rate),
		CreatedAt: row.ID.Time(), ExpiresAt: atMs(row.ExpiresMs),
		LastUsedAt: atMs(max(row.LastUsedMs, s.uses.lastMs(row.No))), CreatedBy: creator,
	}
	if row.OldUntilMs > s.nowMs() {
		shown.OldUntil = atMs(row.OldUntilMs)
	}
	return shown
}

// ListKeys lists the keys of the principal's environment that are not revoked. limit is 1 to 100.
func (s *Service) ListKeys(ctx context.Context, p *Principal, limit int, after Cursor) (*Page[Key], error) {
	return s.listKeys(ctx, limit, func(r *store.Reader, most int) ([]store.Key, error) {
		return r.ListKeys(p.AccountNo, p.Environment, chargehand.KeyID(after.ID), most)
	})
}

func (s *Service) listKeys(ctx context.Context, limit int, read func(r *store.Reader, most int) ([]store.Key, error)) (*Page[Key], error) {
	return readPage(ctx, s, limit, read, func(last *store.Key) Cursor { return idCursor(last.ID) },
		each(func(_ *store.Reader, row *store.Key) (Key, error) { return *s.key(row), nil }))
}

// GetKey returns one key. Codes: api_key_not_found.
func (s *Service) GetKey(ctx context.Context, p *Principal, id chargehand.KeyID) (key *Key, err error) {
	err = s.view(ctx, func(r *store.Reader) error {
		row, err := readKey(r, p, id)
		if err == nil {
			key = s.key(&row)
		}
		return err
	})
	return key, err
}

// readKey reads a key that is not revoked. Codes: api_key_not_found.
func readKey(r *store.Reader, p *Principal, id chargehand.KeyID) (store.Key, error) {
	row, err := r.KeyByID(p.AccountNo, p.Environment, id)
	if errors.Is(err, store.ErrNotFound) || err == nil && row.RevokedMs != 0 {
		return row, keyNotFound()
	}
	return row, err
}

func keyNotFound() error {
	return chargehand.NewError(chargehand.CodeKeyNotFound, "There is no such API key.")
}

// PatchKey changes name, preset or scopes, workflows, namespaces, allowed_addresses, expires_at or rate_limit; a field
// that is absent stays. Codes: api_key_not_found, invalid_body, unknown_field, insufficient_scope,
// workflow_not_found.
func (s *Service) PatchKey(ctx context.Context, p *Principal, id chargehand.KeyID, body value.Value) (*Key, error) {
	var row store.Key
	err := s.view(ctx, func(r *store.Reader) (err error) {
		if row, err = readKey(r, p, id); err == nil {
			err = notPersonal(&row)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	f, err := openBody(body, "name", "preset", "scopes", "workflows", "namespaces", "allowed_addresses", "expires_at", "rate_limit")
	if err != nil {
		return nil, err
	}
	no, now := row.No, s.now()
	limits := f.change(&row, parseScopes(row.Scopes), now)
	if err := f.err(); err != nil {
		return nil, err
	}
	err = s.update(ctx, func(tx *store.Tx) (err error) {
		was, err := tx.KeyForUpdate(no)
		if err != nil {
			return err
		}
		if was.RevokedMs != 0 {
			return keyNotFound()
		}
		row = was
		f.change(&row, parseScopes(was.Scopes), now)
		if row.Limits, err = limits.on(&tx.Reader, p.AccountNo, was.Limits); err != nil {
			return err
		}
		if err := s.checkGrant(p, &was, &row); err != nil {
			return err
		}
		if err := tx.UpdateKey(&row); err != nil {
			return err
		}
		changes := keyChanges(&was, &row)
		if len(changes) == 0 {
			return nil
		}
		return s.audit(ctx, tx, p, audit.KeyChanged, keyTarget(&row), changes)
	})
	s.keys.clear()
	if err != nil {
		return nil, err
	}
	return s.key(&row), nil
}

// RevokeKey makes a key unusable; nothing makes it usable again. Codes: api_key_not_found.
func (s *Service) RevokeKey(ctx context.Context, p *Principal, id chargehand.KeyID) error {
	return s.revokeKey(ctx, p, func(r *store.Reader) (store.Key, error) { return readKey(r, p, id) })
}

func (s *Service) revokeKey(ctx context.Context, p *Principal, read func(r *store.Reader) (store.Key, error)) error {
	err := s.update(ctx, func(tx *store.Tx) error {
		row, err := read(&tx.Reader)
		if err != nil {
			return err
		}
		if err = tx.RevokeKey(row.No, s.nowMs()); errors.Is(err, store.ErrConflict) {
			err = keyNotFound() // another node has revoked it in between
		}
		if err != nil {
			return err
		}
		return s.audit(ctx, tx, p, audit.KeyRevoked, keyTarget(&row), nil)
	})
	s.keys.clear()
	return err
}
