package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chargehand/chargehand/internal/background"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/eventstream"
	"github.com/chargehand/chargehand/internal/fair"
	"github.com/chargehand/chargehand/internal/pause"
	"github.com/chargehand/chargehand/internal/store"
)

const (
	// maxFailures is how often the write set of an execution may fail in a row while the store is
	// available.
	maxFailures = 5
	// maxStateEntries is the number of ended timeline entries that a checkpoint may hold. More are
	// moved to a chunk, so that an execution which parks often does not write them each time.
	maxStateEntries = 32
	// maxReplay bounds the time that it took to compute the events since the last checkpoint. The next start of the
	// server computes them again before it is ready.
	maxReplay = 250 * time.Millisecond
	// A failed attempt is repeated after minBackoff, doubled up to maxBackoff.
	minBackoff = 50 * time.Millisecond
	maxBackoff = 2 * time.Second
)

// Engine implements engine.Engine over the store. New makes an engine, Stop ends it.
type Engine struct {
	config Config
	limits Limits
	log    *slog.Logger
	store  *store.Store

	instances table
	slots     *slots
	timers    timers
	watchers  watchers
	outage    outage
	reader    *eventstream.Reader
	matcher   *eventstream.Matcher
	wakeups   *wakeQueue
	// endingBatches are the numbers of the batches that are being cancelled: their items read no more events.
	endingBatches sync.Map
	queued        queuedCounts
	stats         counters
	calls         *pool
	streams       *pool
	processes     *pool
	scripts       *pool
	accounts      sync.Map // internal number → chargehand.AccountID
	// batchesInDoubt are the numbers of the batches whose mark as cancelled is in doubt.
	batchesInDoubt sync.Map
	canceller      *childCanceller
	trees          trees
	delays         engine.Delays

	requests background.Drain // calls of the public methods
	work     background.Drain // goroutines that drive, schedule and run activities
	services *background.Group
	ready    atomic.Bool
	stopping atomic.Bool
	abandon  atomic.Bool // outcomes are dropped: the deadline of Stop has passed
	stopped  chan struct{}
	stopErr  error      // set before stopped is closed
	pausing  sync.Mutex // held while activities and timers are paused or resumed

	wakePermits chan struct{} // of executions that are loaded and woken
	yieldGate   *fair.Gate    // shares the permits of machines that have yielded

	ctx        context.Context // of the engine's own reads and writes; ends with Stop
	activities context.Context // of all activities
	cancelAll  context.CancelFunc
}

var _ engine.Engine = (*Engine)(nil)

// New recovers what the store holds and starts the engine. When it returns without an
// error, the engine is ready; ctx bounds the recovery only. Errors: store.ErrUnavailable.
func New(ctx context.Context, c Config) (*Engine, error) {
	c = c.withDefaults()
	e := &Engine{config: c, limits: c.Limits, log: c.Log, store: c.Store}
	e.services, e.stopped = background.NewGroup(), make(chan struct{})
	e.ctx = e.services.Context()
	e.activities, e.cancelAll = context.WithCancel(context.Background())
	spawn := func(c *call) { e.goWork(func() { growStack(); e.perform(c) }) }
	e.calls = newPool(fair.Limits{Permits: c.Limits.Calls, PerWorkflow: c.Limits.CallsPerWorkflow, PerKey: c.Limits.CallsPerKey}, spawn)
	e.streams = newPool(fair.Limits{Permits: c.Limits.Streams}, spawn)
	e.processes = newPool(fair.Limits{
		Permits: c.Limits.Processes, PerWorkflow: c.Limits.ProcessesPerWorkflow, PerKey: c.Limits.ProcessesPerKey,
	}, spawn)
	e.scripts = newPool(fair.Limits{
		Permits: c.Limits.Scripts, PerWorkflow: c.Limits.ScriptsPerWorkflow, PerKey: c.Limits.ScriptsPerKey,
	}, spawn)
	schedule := func(q *queue) { e.goWork(func() { e.schedule(q) }) }
	e.slots = newSlots(fair.Limits{
		Permits: c.Limits.AccountSlots, PerWorkflow: c.Limits.SlotsPerWorkflow, PerKey: c.Limits.SlotsPerKey,
	}, schedule)
	e.timers = newTimers(c.Limits.TimerWindow, c.Limits.Wakes, e.nowMs)
	for _, clock := range e.timers.each() {
		clock.read = e.readTimers
		clock.fire = func(due []store.Timer) { e.fire(due, clock.permits) }
	}
	e.queued.limit = c.Limits.QueuedPerWorkflow
	e.outage.pause, e.outage.report = e.pauseAll, e.logOutage
	e.outage.drive, e.outage.recheck = e.driveStalled, e.recheckLater
	e.outage.most = maxInDoubt
	e.wakePermits = make(chan struct{}, c.Limits.Wakes)
	e.yieldGate = fair.NewGate(fair.Limits{Permits: c.Limits.Yields})
	e.canceller = newChildCanceller()
	e.wakeups = newWakeQueue(c.Limits.Wakes)
	e.wakeups.begin, e.wakeups.stopped = e.startWakeup, e.stopping.Load
	e.reader = eventstream.NewReader(c.Store, c.Blobs)
	e.matcher = e.newMatcher()
	e.wakeups.drained = e.matcher.Notify
	e.delays = engine.Delays{
		Store: c.Store, Log: e.log, NowMs: e.nowMs, Released: e.released, Woken: make(chan struct{}, 1), Alone: true,
	}
	if err := e.recover(ctx); err != nil {
		_ = e.services.Stop(ctx) // none has started
		e.cancelAll()
		return nil, fmt.Errorf("recover executions: %w", err)
	}
	for _, clock := range e.timers.each() {
		e.services.Start("timers", func(ctx context.Context) { clock.run(ctx, e.logError("read timers")) })
	}
	e.services.Start("delayed executions", e.delays.Run)
	e.services.Start("event matcher", e.matcher.Run)
	e.recoverChildren()
	e.ready.Store(true)
	return e, nil
}

// Ready implements engine.Engine.
func (e *Engine) Ready() bool { return e.ready.Load() && !e.stopping.Load() }

// Watch implements engine.Engine.
func (e *Engine) Watch(id [16]byte) (<-chan struct{}, func()) { return e.watchers.watch(id) }

func (e *Engine) nowMs() int64 { return e.config.Now().UnixMilli() }

// goWork runs f on a goroutine that Stop waits for.
func (e *Engine) goWork(f func()) {
	e.work.Add()
	go func() {
		defer e.work.Leave()
		f()
	}()
}

// retry calls try until it reports true, with growing pauses. It reports false if the engine has stopped.
func (e *Engine) retry(try func() (done bool)) bool {
	return pause.Retry(e.ctx, minBackoff, maxBackoff, try) == nil
}

// noteFailure counts a failure that belongs to no single execution, and logs it unless the store is unavailable.
func (e *Engine) noteFailure(what string, err error) {
	e.stats.failures.Add(1)
	if errors.Is(err, store.ErrUnavailable) {
		e.outage.begin()
	} else if e.ctx.Err() == nil {
		e.log.Error(what, "error", err)
	}
}

// logError returns a function that logs an error which no caller can be given.
func (e *Engine) logError(what string) func(error) {
	return func(err error) { e.log.Error(what, "error", err) }
}

// callerError turns the error of a failed transaction into the error that the caller of the engine
// gets. It also notes that the store is unavailable.
func (e *Engine) callerError(ctx context.Context, err error) error {
	if errors.Is(err, store.ErrUnavailable) {
		e.outage.begin()
		e.stats.refused.Add(1)
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
