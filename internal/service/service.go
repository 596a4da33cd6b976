package service

import (
	"context"
	"log/slog"
	"time"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/store"
)

// Config is what a Service is made of. Store, Engine and the two keys are required.
type Config struct {
	Store  *store.Store
	Engine engine.Engine
	// Pepper is the key of the digests of API keys; LinkKey signs file links. At least 32
	// bytes each, derived from the installation's master key.
	Pepper  []byte
	LinkKey []byte
	Log     *slog.Logger     // default: discards
	Now     func() time.Time // default: time.Now
	Limits  Limits           // zero fields stand for the defaults
	// Retention is how long finished things are kept.
	Retention Retention
}

// Retention is how long things are kept after their end. Zero fields stand for the defaults.
type Retention struct {
	Live time.Duration // default 30 days
	Test time.Duration // default 7 days
}

// Service is the rules over one store and one engine.
type Service struct{}

// New returns a Service. It starts nothing; see Run.
func New(c Config) *Service { panic("unfinished") }

// Run does the work in the background (retention, last use of keys, forgetting idle rate
// buckets) until ctx ends. It writes what is pending before it returns.
func (s *Service) Run(ctx context.Context) { panic("unfinished") }

// Ready reports whether requests can be served: the engine has recovered and the store answers.
func (s *Service) Ready(ctx context.Context) bool { panic("unfinished") }

// View says how a resource is to be shown and how long the caller is ready to wait for it.
type View struct {
	// BaseURL is what stands before /api/v1 in addresses: scheme, host and perhaps a path,
	// without a slash at the end.
	BaseURL string
	// Wait is how long to wait until the execution or batch is final or needs a person; at
	// most 60 s, 0: not at all. When it has passed, the resource is answered as it is.
	Wait time.Duration
}

// Cursor is a position in a list that is sorted by time and id, newest first. The zero
// Cursor stands for the start of a list in a query, and for its end in an answer.
type Cursor struct {
	Milli int64
	ID    [16]byte
}

// IsZero reports whether c is unset.
func (c Cursor) IsZero() bool { return c == Cursor{} }
