package temporal

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/sdk/client"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/background"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/eventstream"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// Config configures an engine. Store, Plans, Blobs, Client, Namespace and Queue are required.
type Config struct {
	Store     *store.Store
	Plans     engine.Plans
	Blobs     engine.Blobs
	Client    client.Client
	Namespace string
	Queue     string // prefix of the task queues, which no other installation has

	// Verify reports an error until Client is known to reach the cluster and the namespace in
	// which the executions are. Nil: it does.
	Verify func(ctx context.Context) error

	// RuntimeVersion and RuntimeMetadata are $runtime.version and $runtime.metadata. Executions
	// keep those that they start with.
	RuntimeVersion  string
	RuntimeMetadata value.Value

	Sealer *secret.Sealer // of executions with secrets, as Client's; nil: there are none
	// Lifecycle is what executions tell about themselves from their start on; nil: nothing.
	Lifecycle *machine.Lifecycle

	AccountSlots      int              // executions of an account that run at once; default 1,000
	QueuedPerWorkflow int              // queued singles of a workflow; default 10,000
	Tracer            trace.Tracer     // makes the spans of executions that are cancelled here; nil: none
	Log               *slog.Logger     // default: slog.Default()
	Now               func() time.Time // wall clock; default: time.Now
}

func (c Config) withDefaults() Config {
	c.AccountSlots = cmp.Or(c.AccountSlots, engine.DefaultAccountSlots)
	c.QueuedPerWorkflow = cmp.Or(c.QueuedPerWorkflow, engine.DefaultQueuedPerWorkflow)
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// Engine implements engine.Engine with rows and Temporal. Any number of them work on the same
// database; each holds nothing that another needs. Make it with New, end it with Stop.
type Engine struct {
	config      Config
	log         *slog.Logger
	relay       *relay
	dispatcher  *dispatcher
	reconciler  *reconciler
	canceller   *canceller
	watchers    *watchers
	matcher     *eventstream.Matcher
	workerCount *workerCount
	delays      engine.Delays
	services    *background.Group // all but the relay
	stats       counters
	stopping    atomic.Bool
}

var _ engine.Engine = (*Engine)(nil)

// New starts the work of this node: it gives out slots, delivers outbox messages and takes over the work of nodes that
// have stopped. It does not need Temporal to be reachable.
func New(c Config) *Engine {
	c = c.withDefaults()
	e := &Engine{config: c, log: c.Log, watchers: newWatchers(c.Store), services: background.NewGroup()}
	reached := &cluster{client: c.Client, namespace: c.Namespace, queue: c.Queue}
	e.canceller = &canceller{
		Store: c.Store, Freed: e.Freed, Changed: e.watchers.notify, Now: c.Now, Tracer: c.Tracer, Log: c.Log,
	}
	var metadata []byte
	if c.RuntimeMetadata != nil {
		metadata = value.Marshal(c.RuntimeMetadata)
	}
	e.relay = newRelay(relayConfig{
		Metadata: metadata, Plans: c.Plans, Sealer: c.Sealer, Canceller: e.canceller,
		Store: c.Store, Remote: reached, Blobs: c.Blobs, Queue: c.Queue, Runtime: c.RuntimeVersion, Lifecycle: c.Lifecycle,
		Log: c.Log, Now: c.Now,
	})
	e.dispatcher = newDispatcher(dispatcherConfig{
		Store: c.Store, Relay: e.relay, Services: e.services, AccountSlots: c.AccountSlots, Log: c.Log, Now: c.Now,
	})
	e.matcher = newMatcher(matcherConfig{Store: c.Store, Blobs: c.Blobs, Relay: e.relay, Sealer: c.Sealer, Log: c.Log})
	e.reconciler = newReconciler(reconcilerConfig{
		Store: c.Store, Remote: reached, Canceller: e.canceller, Node: uuid.New(), Verify: c.Verify, Log: c.Log, Now: c.Now,
	})
	e.delays = engine.Delays{
		Store: c.Store, Log: c.Log, NowMs: func() int64 { return c.Now().UnixMilli() }, Released: e.released, Woken: make(chan struct{}, 1),
	}
	e.workerCount = newWorkerCount(reached.workers, c.Log)
	e.services.Start("dispatcher", e.dispatcher.run)
	e.services.Start("delayed executions", e.delays.Run)
	e.services.Start("event matcher", e.matcher.Run)
	e.services.Start("reconciler", e.reconciler.run)
	e.services.Start("watchers", e.watchers.run)
	e.services.Start("worker count", e.workerCount.run)
	return e
}

// stopReserve is the time that Stop has left when its context has ended, for what it interrupts to return.
const stopReserve = time.Second

// Stop gives out no more slots, waits until ctx ends for messages that are being delivered, and leaves the rest to
// other nodes. It returns a second after ctx has ended at the latest, also if the database hangs; its error then names
// the services that have not returned. Call it when no other method is called any more.
func (e *Engine) Stop(ctx context.Context) error {
	e.stopping.Store(true)
	final, cancel := background.Grace(ctx, stopReserve)
	defer cancel()
	err := e.services.Stop(final)
	return errors.Join(err, e.relay.stop(ctx, final))
}

// Freed says that a slot of an account may be free: a worker of this process has seen an
// execution end or wait. It does not block.
func (e *Engine) Freed(account int64) { e.dispatcher.notify(account) }

// Undelivered takes messages that a worker of this process has written to the outbox. It does not block.
func (e *Engine) Undelivered(messages []store.OutboxMessage) { e.relay.handMessages(messages) }

// Published says that a stream has new events. It does not block.
func (e *Engine) Published(account int64, env chargehand.Environment) {
	e.matcher.Notify(eventstream.ID{Account: account, Environment: env})
}

// Ready implements engine.Engine. Executions are accepted also while Temporal is away.
func (e *Engine) Ready() bool { return !e.stopping.Load() }

// Follow implements engine.Engine: workers and other servers move executions on, and this process does not learn of it.
func (e *Engine) Follow([16]byte, func()) (stop func(), notifies bool) { return func() {}, false }

// Watch implements engine.Engine.
func (e *Engine) Watch(id [16]byte) (<-chan struct{}, func()) { return e.watchers.watch(id) }

// Start implements engine.Engine: it writes the row. The dispatcher does the rest.
func (e *Engine) Start(ctx context.Context, s engine.Start) (store.Execution, error) {
	var row store.Execution
	var first *store.JournalRow
	var err error
	if s.Position != nil {
		first, err = engine.StorePosition(ctx, e.config.Blobs, e.config.Sealer, &s.Row, s.Plan, s.Position)
		if err != nil {
			e.stats.refused.Add(1)
			return store.Execution{}, err
		}
	}
	err = e.config.Store.Update(ctx, func(tx *store.Tx) error {
		row = s.Row
		row.Machine = machine.Revision
		row.Status, row.Phase, row.State = chargehand.Initial, chargehand.Pending, store.StateQueued
		row.StartedMs, row.FinishedMs = 0, 0
		if row.StartMs > e.config.Now().UnixMilli() {
			row.State = store.StateDelayed
		} else if row.Batch == 0 {
			full, err := tx.QueuedAtLeast(row.Queue(), e.config.QueuedPerWorkflow)
			if err != nil {
				return err
			}
			if full {
				return engine.ErrQueueFull
			}
		}
		if err := tx.InsertExecution(&row); err != nil {
			return err
		}
		if first != nil {
			first.Execution = row.No
			if err := tx.AppendJournal(first); err != nil {
				return err
			}
		}
		if s.InTx != nil {
			return s.InTx(tx, row.No)
		}
		return nil
	})
	if err != nil {
		e.stats.refused.Add(1)
		return store.Execution{}, err
	}
	e.stats.accepted.Add(1)
	if row.State == store.StateDelayed {
		e.delays.Wake()
	} else {
		e.dispatcher.notify(row.Account)
	}
	return row, nil
}

// released lets delayed executions start that were queued.
func (e *Engine) released(list []store.Released) {
	for _, r := range list {
		e.dispatcher.notify(r.Queue.Account)
	}
}

// BatchReady implements engine.Engine.
func (e *Engine) BatchReady(batch int64) {
	err := e.config.Store.View(e.services.Context(), func(r *store.Reader) error {
		b, err := r.BatchByNo(batch)
		if err == nil {
			e.dispatcher.notify(b.Account)
		}
		return err
	})
	if err != nil { // the dispatcher finds it by itself
		e.log.Debug("look up a batch that is ready", "batch", batch, "error", err)
	}
}

// Cancel implements engine.Engine.
func (e *Engine) Cancel(ctx context.Context, id chargehand.ExecutionID, reason string, inTx ...engine.InTx) error {
	return e.canceller.cancel(ctx, id, reason, inTx...)
}

// CancelBatch implements engine.Engine.
func (e *Engine) CancelBatch(ctx context.Context, id chargehand.BatchID, reason string, inTx ...engine.InTx) error {
	return e.canceller.cancelBatch(ctx, id, reason, inTx...)
}

// counters only ever grow.
type counters struct {
	accepted atomic.Int64
	refused  atomic.Int64
}

// Stats counts the work of this node since it started.
type Stats struct {
	Accepted  int64 // executions whose rows were written here
	Refused   int64 // executions that could not be accepted
	Marked    int64 // executions that were given a slot here
	Delivered int64 // messages that were delivered to Temporal
	Workers   int64 // of the whole installation, that asked Temporal for work lately; -1: not known
}

// Stats returns a snapshot; its numbers are not from one moment.
func (e *Engine) Stats() Stats {
	return Stats{
		Accepted: e.stats.accepted.Load(), Refused: e.stats.refused.Load(),
		Marked: e.dispatcher.marked.Load(), Delivered: e.relay.delivered.Load(), Workers: e.workerCount.workers.Load(),
	}
}
