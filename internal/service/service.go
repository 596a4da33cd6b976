package service

import (
	"context"
	"crypto/cipher"
	"errors"
	"log/slog"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/blob"
	"github.com/chargehand/chargehand/internal/disk"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/mail"
	"github.com/chargehand/chargehand/internal/runlog"
	"github.com/chargehand/chargehand/internal/schedule"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/testserve"
)

// Config is what a Service is made of. Store, Engine, Plans, Blobs, the two keys and Sealer are
// required.
type Config struct {
	Store  *store.Store
	Engine engine.Engine
	// Plans is shared with the engine.
	Plans *Plans
	// Blobs protects from the sweep what it stores (store.Tx.ReserveBlob).
	Blobs *blob.Store
	// Pepper is the key of the digests of API keys; LinkKey signs file links. At least 32
	// bytes each, derived from the installation's master key.
	Pepper  []byte
	LinkKey []byte
	// Sealer seals secrets. It is that of the engine.
	Sealer *secret.Sealer
	// Mail sends mails; nil: none is sent.
	Mail *mail.Outbox
	// Fetch reads the external resources of definitions; nil: none can be had.
	Fetch  FetchFunc
	Log    *slog.Logger     // default: discards
	Now    func() time.Time // default: time.Now
	Limits Limits           // zero fields stand for the defaults
	Quotas Quotas           // zero fields stand for the defaults
	// Reserve is that of the disks that this process writes to; nil: none.
	Reserve *disk.Reserve
	// Retention is how long finished things are kept.
	Retention Retention
	// RedirectLinks sends those who follow a signed address to the store of contents itself,
	// which must have addresses of its own (blob.Store.Address).
	RedirectLinks bool
	// Zone is the time zone of `schedule.cron` (T63); default: UTC.
	Zone *time.Location
	// UnreadEvents is the form of the events that `schedule.on` gives a run whose definition
	// does not say `read`: data (default) or envelope (T61).
	UnreadEvents string
	// Lifecycle is what the types of the events begin with that executions publish about themselves; empty: they
	// publish none. Clients publish no events of these types.
	Lifecycle string
	// Logs writes the logs of executions in this process; nil: none does.
	Logs *runlog.Writer
	// RunTests runs the tests of requests; default: testserve.Tests.
	RunTests RunTests
	Version  string // of this program, which tests see as $runtime.version
	// Shared tells that other processes serve the same database. Then what one of them did to
	// a workflow counts at once in this one, for a query more per request, and they sweep one
	// at a time.
	Shared bool
}

// Service is the rules over one store and one engine.
type Service struct {
	store     *store.Store
	engine    engine.Engine
	plans     *Plans
	fetch     FetchFunc
	blobs     *blob.Store
	logs      *runlog.Writer
	signer    *blob.Signer
	mail      *mail.Outbox
	lifecycle string // Config.Lifecycle
	log       *slog.Logger
	now       func() time.Time
	limits    Limits
	quotas    quotaKeeper
	reserve   *disk.Reserve
	examined  int   // maxExamined, less in tests
	inputs    int64 // maxListedInputs, less in tests
	counted   int   // maxNow, less in tests
	openLinks int   // MaxOpenLinks, less in tests
	// archiveBytes and archiveFiles are MaxArchiveBytes and MaxArchiveFiles, less in tests.
	archiveBytes int64
	archiveFiles int
	archives     archivePermits
	retention    Retention
	redirect     bool
	shared       bool
	node         [16]byte // names this process while it sweeps

	sealer   *secret.Sealer
	pepper   *pepper
	keys     keyCache
	uses     useLog
	sessions keyCache
	// sessionUses is when sessions were last seen.
	sessionUses useLog
	strangers   chan struct{} // a permit for each that looks for an unknown key or session
	starters    starterCache
	limiter     *limiter
	workflows   workflowCache
	names       names
	running     runningKeys
	schedules   *schedule.Scheduler
	holds       holds
	cursors     cipher.Block  // of cursors that tell nothing
	evaluations *computations // of expressions of requests
	tests       *computations // of tests of requests
	runTests    RunTests
	program     string // version of this program
	live        live
	operations  operations
}

// New returns a Service. It starts nothing; see Run. It panics if a required part is
// missing, because that is a mistake of the wiring.
func New(c Config) *Service {
	if c.Store == nil || c.Engine == nil || c.Plans == nil || c.Blobs == nil || c.Sealer == nil {
		panic("service: a required part is missing")
	}
	if len(c.Pepper) < 32 || len(c.LinkKey) < 32 {
		panic("service: pepper and link key need 32 bytes")
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	s := &Service{
		store: c.Store, engine: c.Engine, plans: c.Plans, blobs: c.Blobs, logs: c.Logs, log: c.Log, now: c.Now,
		limits: c.Limits.WithDefaults(), quotas: quotaKeeper{limits: c.Quotas.WithDefaults(), events: newLimiter()}, reserve: c.Reserve, examined: maxExamined, inputs: maxListedInputs, counted: maxNow, openLinks: MaxOpenLinks, archiveBytes: MaxArchiveBytes, archiveFiles: MaxArchiveFiles, retention: c.Retention.withDefaults(), shared: c.Shared, node: newID[[16]byte](c.Now().UnixMilli()), redirect: c.RedirectLinks,
		mail: c.Mail, lifecycle: c.Lifecycle, fetch: c.Fetch, sealer: c.Sealer, pepper: newPepper(c.Pepper), signer: blob.NewSigner(c.LinkKey), limiter: newLimiter(),
		strangers: make(chan struct{}, maxStrangers),
	}
	s.live.init(s)
	s.operations.init()
	s.cursors, s.evaluations = newCursors(s.pepper), newComputations(evaluationBounds)
	s.tests, s.runTests, s.program = newComputations(testBounds), c.RunTests, c.Version
	if s.runTests == nil {
		s.runTests = testserve.Tests
	}
	s.schedules = schedule.New(schedule.Config{
		Store: c.Store, Plans: c.Plans, Blobs: eventContents{s}, Starter: s, Zone: c.Zone, Unread: c.UnreadEvents,
		Shared: c.Shared, Now: c.Now, Log: c.Log,
	})
	return s
}

// Ready reports whether requests can be served: the engine has recovered and the store answers.
func (s *Service) Ready(ctx context.Context) bool {
	return s.engine.Ready() && s.store.View(ctx, func(*store.Reader) error { return nil }) == nil
}

// Degraded names what this process refuses although it is ready.
func (s *Service) Degraded() []string {
	if s.reserve.Low() {
		return []string{string(chargehand.CodeStorageReserve)}
	}
	return nil
}

// checkReserve refuses what fills the disk while it has less free space than its reserve. Codes: storage_reserve.
func (s *Service) checkReserve() error {
	if !s.reserve.Low() {
		return nil
	}
	return chargehand.NewError(chargehand.CodeStorageReserve,
		"The disk of the server has less free space than its reserve. New executions and uploads are refused until there is room; what runs continues.")
}

// View says how a resource is to be shown and how long the caller is ready to wait for it.
type View struct {
	// BaseURL is what stands before /api/v1 in addresses: scheme, host and perhaps a path,
	// without a slash at the end.
	BaseURL string
	// Wait is how long to wait until the execution or batch is final or needs a person; at
	// most 60 s, 0: not at all. When it has passed, the resource is answered as it is.
	Wait time.Duration
	// Entries makes GetBatch read the entries in the same snapshot as the counts, for a
	// caller that will show all of them.
	Entries bool
}

// Cursor is a position in a list, newest first. The zero Cursor stands for the start of a
// list in a query, and for its end in an answer. Milli is the time of the item in most
// lists and a number of its own in others; it is never negative.
type Cursor struct {
	Milli int64
	ID    [16]byte
}

// IsZero reports whether c is unset.
func (c Cursor) IsZero() bool { return c == Cursor{} }

func (s *Service) nowMs() int64 { return s.now().UnixMilli() }

// view reads a snapshot. Codes: unavailable.
func (s *Service) view(ctx context.Context, fn func(*store.Reader) error) error {
	return storageError(s.store.View(ctx, fn))
}

// update writes durably. Codes: unavailable.
func (s *Service) update(ctx context.Context, fn func(*store.Tx) error) error {
	return storageError(s.store.Update(ctx, fn))
}

// storageError makes an error of the store or the engine one that callers may see, if it is
// their business.
func storageError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, engine.ErrQueueFull):
		return &chargehand.Error{
			Code:       chargehand.CodeQueueFull,
			Detail:     "The workflow has as many queued executions as it may have.",
			RetryAfter: 1,
		}
	case errors.Is(err, store.ErrUnavailable):
		return &unavailableError{shown: store.Shown(err), cause: err}
	}
	return err
}

// unavailableError shows callers one thing and the log another.
type unavailableError struct {
	shown *chargehand.Error
	cause error
}

func (e *unavailableError) Error() string   { return e.cause.Error() }
func (e *unavailableError) Unwrap() []error { return []error{e.shown, e.cause} }

func atMs(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
