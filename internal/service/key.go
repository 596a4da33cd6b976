package service

import (
	"context"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/store"
)

// Key is an API key as it may be shown: never the key itself.
type Key struct {
	ID          chargehand.KeyID
	Name        string
	Environment chargehand.Environment
	Prefix      string // "sk_live_" or "sk_test_"
	LastFour    string
	Scopes      Scopes
	Workflows   []chargehand.WorkflowID // nil: all
	// RatePerSecond is the key's own rate, 0: the installation's.
	RatePerSecond float64
	CreatedAt     time.Time
	ExpiresAt     time.Time // zero: never
	LastUsedAt    time.Time // zero: not yet; written with some delay
	// CreatedBy is the key that made this one; zero: the command line.
	CreatedBy chargehand.KeyID
	// Secret is the key in plain text: set once, in the answer that creates it.
	Secret string
}

// KeyPage is one page of keys, newest first.
type KeyPage struct {
	Data   []Key
	Cursor Cursor
}

// CreateKey is the request to make a key. Body: name (required), environment, preset or
// scopes (default preset run), workflows, expires_at, rate_limit.
type CreateKey struct {
	Body        expr.Value
	Idempotency *Idempotency
}

// CreateKey makes a key with at most the principal's scopes, workflows and environment.
// A replayed answer does not show the secret again.
// Codes: invalid_body, unknown_field, insufficient_scope, workflow_not_found,
// idempotency_key_reused, idempotency_in_progress.
func (s *Service) CreateKey(ctx context.Context, p *Principal, r CreateKey) (key *Key, replayed bool, err error) {
	panic("unfinished")
}

// ListKeys lists the keys of the principal's environment that are not revoked. limit is 1 to 100.
func (s *Service) ListKeys(ctx context.Context, p *Principal, limit int, after Cursor) (*KeyPage, error) {
	panic("unfinished")
}

// GetKey returns one key. Codes: api_key_not_found.
func (s *Service) GetKey(ctx context.Context, p *Principal, id chargehand.KeyID) (*Key, error) {
	panic("unfinished")
}

// PatchKey changes name, scopes, workflows, expires_at or rate_limit; a field that is absent stays.
// Codes: api_key_not_found, invalid_body, unknown_field, insufficient_scope, workflow_not_found.
func (s *Service) PatchKey(ctx context.Context, p *Principal, id chargehand.KeyID, body expr.Value) (*Key, error) {
	panic("unfinished")
}

// RevokeKey makes a key unusable for ever. Codes: api_key_not_found.
func (s *Service) RevokeKey(ctx context.Context, p *Principal, id chargehand.KeyID) error {
	panic("unfinished")
}

// IssueKey is the request of the command line to make a key without a server.
type IssueKey struct {
	Account     chargehand.AccountID // zero: the first account, which is made if there is none
	Name        string
	Environment chargehand.Environment // zero: live
	Scopes      Scopes                 // zero: PresetRun
	ExpiresAt   time.Time              // zero: never
}

// Issue makes a key in the database, beside a running server or without one. pepper is as
// in Config.
func Issue(ctx context.Context, db *store.Store, pepper []byte, now time.Time, r IssueKey) (*Key, error) {
	panic("unfinished")
}
