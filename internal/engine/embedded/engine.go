package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/fair"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/store"
)

const (
	// keptChunks bounds the timeline chunks of an execution. Each holds an entry at least,
	// and 10,000 entries are kept.
	keptChunks = 10_000
	// maxFailures is how often a submission is tried that fails though the store is available.
	maxFailures = 5
	// maxStateEntries is the number of ended timeline entries up to which they stand in the
	// checkpoint; beyond, they are moved to a chunk, so that parking again and again does not
	// write them again and again.
	maxStateEntries = 32
	// maxReplay is what the events behind a checkpoint may have taken to compute, before
	// another one is written: the next start has to compute them again before it is ready.
	maxReplay = 250 * time.Millisecond
	// What failed is tried again after minBackoff, doubled up to maxBackoff.
	minBackoff = 50 * time.Millisecond
	maxBackoff = 2 * time.Second
)

// Engine implements engine.Engine over the store. Make it with New, end it with Stop.
type Engine struct {
	config Config
	limits Limits
	log    *slog.Logger
	store  *store.Store

	runs      table
	slots     *slots
	timers    *timers
	watches   hub
	outage    outage
	reader    *engine.Reader
	pumps     *pumps
	queue     queue
	stats     counters
	calls     *pool
	streams   *pool
	processes *pool
	scripts   *pool
	accounts  sync.Map // internal number → chargehand.AccountID
	// doubtfulBatches are the numbers of batches whose mark as cancelled is in doubt.
	doubtfulBatches sync.Map
	stops           *stopper

	requests   gate // calls of the public methods
	work       gate // goroutines that drive, claim and carry out
	background gate // goroutines that end with the engine
	ready      atomic.Bool
	stopping   atomic.Bool
	abandon    atomic.Bool // outcomes are dropped: the deadline of Stop has passed

	wakers chan struct{} // places for executions that are woken
	yields chan struct{} // places for machines that have yielded

	ctx        context.Context // of the engine's own reads and writes; ends with Stop
	cancel     context.CancelFunc
	activities context.Context // of all activities
	cancelAll  context.CancelFunc
}

var _ engine.Engine = (*Engine)(nil)

// New recovers what the store holds and starts the engine. When it returns without an
// error, the engine is ready; ctx bounds the recovery only. Errors: store.ErrUnavailable.
func New(ctx context.Context, c Config) (*Engine, error) {
	c = c.withDefaults()
	e := &Engine{config: c, limits: c.Limits, log: c.Log, store: c.Store}
	e.ctx, e.cancel = context.WithCancel(context.Background())
	e.activities, e.cancelAll = context.WithCancel(context.Background())
	spawn := func(c *call) { e.goWork(func() { e.perform(c) }) }
	e.calls = newPool(fair.Limits{Places: c.Limits.Calls, PerWorkflow: c.Limits.CallsPerWorkflow}, spawn)
	e.streams = newPool(fair.Limits{Places: c.Limits.Streams}, spawn)
	e.processes = newPool(fair.Limits{Places: c.Limits.Processes, PerWorkflow: c.Limits.ProcessesPerWorkflow}, spawn)
	e.scripts = newPool(fair.Limits{Places: c.Limits.Scripts, PerWorkflow: c.Limits.ScriptsPerWorkflow}, spawn)
	e.slots = newSlots(c.Limits.AccountSlots, func(src *source) { e.goWork(func() { e.feed(src) }) })
	e.timers = newTimers(c.Limits.TimerWindow, e.nowMs)
	e.timers.read, e.timers.fire = e.readTimers, e.fire
	e.queue.limit = c.Limits.QueuedPerWorkflow
	e.outage.pause, e.outage.tell, e.outage.drive, e.outage.resolve = e.pause, e.tellOutage, e.driveAll, e.resolve
	e.wakers = make(chan struct{}, c.Limits.Wakes)
	e.yields = make(chan struct{}, c.Limits.Yields)
	e.stops = newStopper()
	e.reader, e.pumps = engine.NewReader(c.Store, c.Blobs), newPumps()
	if err := e.recover(ctx); err != nil {
		e.cancel()
		e.cancelAll()
		return nil, fmt.Errorf("recover executions: %w", err)
	}
	e.background.add()
	go func() {
		defer e.background.leave()
		e.timers.run(e.ctx, e.failed("read timers"))
	}()
	e.background.add()
	go func() {
		defer e.background.leave()
		e.pumps.run(e.ctx)
	}()
	e.recoverFamilies()
	e.ready.Store(true)
	return e, nil
}

// Ready implements engine.Engine.
func (e *Engine) Ready() bool { return e.ready.Load() && !e.stopping.Load() }

// Watch implements engine.Engine.
func (e *Engine) Watch(id [16]byte) (<-chan struct{}, func()) { return e.watches.watch(id) }

func (e *Engine) nowMs() int64 { return e.config.Now().UnixMilli() }

// goWork runs f on a goroutine that Stop waits for.
func (e *Engine) goWork(f func()) {
	e.work.add()
	go func() {
		defer e.work.leave()
		f()
	}()
}

// failed logs what cannot be answered to anybody.
func (e *Engine) failed(what string) func(error) {
	return func(err error) { e.log.Error(what, "error", err) }
}

func (e *Engine) identity(row *store.Execution, secrets *engine.Secrets) machine.Identity {
	return machine.Identity{
		Execution: row.ID, Revision: row.Machine, RuntimeVersion: e.config.RuntimeVersion, RuntimeMetadata: e.config.RuntimeMetadata,
		Secrets: secrets.Values(),
	}
}

// Start implements engine.Engine.
func (e *Engine) Start(ctx context.Context, start engine.Start) (store.Execution, error) {
	if !e.requests.enter() {
		return store.Execution{}, store.ErrUnavailable
	}
	defer e.requests.leave()
	row := start.Row
	row.Machine = machine.Revision
	source, ok := e.slots.start(row.Account)
	if !ok {
		return e.enqueue(ctx, start, row, source)
	}
	r := &run{driven: true, loaded: true, row: row, source: source, slot: true, input: start.Input}
	s := &submission{run: r, insert: true, also: start.Also}
	err := e.first(s, start.Plan)
	if err == nil {
		err = s.store(ctx, e.config.Blobs)
	}
	written := false // but perhaps not committed
	if err == nil {
		err = e.store.Update(ctx, func(tx *store.Tx) error {
			e.runs.takeOut(r) // under the number of a run of this transaction that was undone
			if err := s.write(tx); err != nil {
				return err
			}
			if s.outcome == nil {
				e.runs.insert(r)
			}
			written = true
			return nil
		})
	}
	if err != nil {
		e.undoStart(s, written && errors.Is(err, store.ErrUnavailable))
		return store.Execution{}, e.refused(ctx, err)
	}
	e.outage.over()
	e.stats.started.Add(1)
	e.committed(s)
	row = r.row
	if s.outcome == nil {
		e.handOver(r)
	}
	return row, nil
}

// first applies the first event of an execution, whose run holds a slot.
func (e *Engine) first(s *submission, p *plan.Plan) error {
	r := s.run
	secrets, err := e.currentSecrets(&r.row, p)
	if err != nil {
		var broken *brokenError
		if !s.insert || !errors.As(err, &broken) {
			return err
		}
		return e.breakOff(s, broken.fault)
	}
	r.secrets, r.machine = secrets, machine.New(p, e.identity(&r.row, secrets))
	nowMs := max(e.nowMs(), r.row.ID.Milli())
	r.row.Status, r.row.Phase, r.row.Run = chargehand.Initial, chargehand.Pending, store.RunQueued
	r.row.StartedMs = nowMs
	s.journalEvent(machine.Event{
		Kind: machine.Started, TimeMs: nowMs, Output: r.input, Detail: e.config.RuntimeVersion, Runtime: e.config.RuntimeMetadata, Lifecycle: e.config.Lifecycle,
	}, e.limits.ActivityOutputBytes)
	if err := e.attend(s); err != nil {
		return err
	}
	return e.settle(s)
}

// undoStart forgets a run whose insertion was undone, or seems to be.
func (e *Engine) undoStart(s *submission, doubtful bool) {
	r := s.run
	e.pokePump(s)
	kept := doubtful && (s.outcome == nil || len(s.children) > 0) && e.outage.remember(doubt{r.no, r.source})
	if !kept {
		e.slots.free(r.source, 1)
	}
	if r.no != 0 {
		r.distrust()
		r.slot = false
		e.handOver(r) // who has read its row may have sent it something
	}
}

// refused tells what a caller whose transaction failed is told.
func (e *Engine) refused(ctx context.Context, err error) error {
	if errors.Is(err, store.ErrUnavailable) {
		e.outage.began()
		e.stats.refused.Add(1)
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// enqueue accepts an execution that has to wait for a slot.
func (e *Engine) enqueue(ctx context.Context, start engine.Start, row store.Execution, source *source) (store.Execution, error) {
	if !e.queue.enter(row.Workflow) {
		return store.Execution{}, engine.ErrQueueFull
	}
	row.Status, row.Phase, row.Run = chargehand.Initial, chargehand.Pending, store.RunQueued
	row.StartedMs, row.FinishedMs = 0, 0
	err := e.store.Update(ctx, func(tx *store.Tx) error {
		if err := tx.InsertExecution(&row); err != nil {
			return err
		}
		if start.Also != nil {
			return start.Also(tx, row.No)
		}
		return nil
	})
	if err != nil {
		e.queue.leave(row.Workflow)
		if row.No != 0 && errors.Is(err, store.ErrUnavailable) {
			e.outage.remember(doubt{no: row.No})
		}
		return store.Execution{}, e.refused(ctx, err)
	}
	e.outage.over()
	e.stats.queued.Add(1)
	e.slots.queued(source)
	return row, nil
}

// BatchReady implements engine.Engine.
func (e *Engine) BatchReady(batch int64) {
	if !e.requests.enter() {
		return // found after the restart
	}
	defer e.requests.leave()
	e.goWork(func() {
		for wait := minBackoff; ; wait = min(2*wait, maxBackoff) {
			src, err := e.batchSource(batch)
			if err == nil {
				e.slots.queued(src)
				return
			}
			e.log.Error("read a batch that is ready", "batch", batch, "error", err)
			if errors.Is(err, store.ErrNotFound) || !e.sleep(wait) {
				return
			}
		}
	})
}

// batchSource returns the source of a batch.
func (e *Engine) batchSource(batch int64) (*source, error) {
	if src := e.slots.batch(batch); src != nil {
		return src, nil
	}
	var b store.Batch
	err := e.store.View(e.ctx, func(r *store.Reader) (err error) {
		b, err = r.BatchByNo(batch)
		return err
	})
	if err != nil {
		return nil, err
	}
	src := e.slots.addBatch(b.Account, b.No, b.ID, b.Concurrency)
	if b.Cancelled {
		e.slots.close(src)
	}
	return src, nil
}

// sleep waits, and reports false if the engine has stopped.
func (e *Engine) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-e.ctx.Done():
		return false
	}
}
