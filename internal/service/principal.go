package service

import (
	"context"
	"time"

	"github.com/chargehand/chargehand"
)

// Principal is who makes a request: an API key and what it may do. It is shared by all
// requests of the key and never changed.
type Principal struct {
	Account     chargehand.AccountID
	AccountNo   int64 // internal number of the account
	Environment chargehand.Environment
	Key         chargehand.KeyID
	KeyNo       int64 // internal number of the key
	Scopes      Scopes
	// Workflows are the only workflows that the key may see; nil: all.
	Workflows []chargehand.WorkflowID
	// RatePerSecond is the key's own rate, 0: the installation's.
	RatePerSecond float64
}

// Sees reports whether the key's list of workflows admits id.
func (p *Principal) Sees(id chargehand.WorkflowID) bool { panic("unfinished") }

// Authenticate finds the principal of an API key in plain text. A new or revoked key counts
// within one second, also if another process on the same database made or revoked it.
// Codes: missing_api_key, invalid_api_key, expired_api_key.
func (s *Service) Authenticate(ctx context.Context, key string) (*Principal, error) {
	panic("unfinished")
}

// Rate tells what is left of a key's token bucket.
type Rate struct {
	Limit     int           // requests per second; 0: no limit
	Burst     int           // size of the bucket
	Remaining int           // whole requests left now
	Reset     time.Duration // until the bucket is full again
}

// Allow takes one request out of the key's bucket. It never blocks.
// Codes: rate_limited (with RetryAfter).
func (s *Service) Allow(p *Principal) (Rate, error) { panic("unfinished") }

// Require tells whether the principal has all of the scopes. It needs no Service.
// Codes: insufficient_scope.
func Require(p *Principal, scopes Scopes) error { panic("unfinished") }
