package temporal

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chargehand/chargehand/internal/background"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
)

// relayConfig configures a relay. Store, Remote, Blobs and Queue are required.
type relayConfig struct {
	Store   *store.Store
	Remote  remote
	Blobs   engine.Blobs
	Queue   string // prefix of the task queues
	Runtime string // $runtime.version
	// Lifecycle says which lifecycle events executions publish that start from now on.
	Lifecycle *machine.Lifecycle
	// Metadata is $runtime.metadata, as JSON; nil: none.
	Metadata []byte
	// Plans and Sealer are needed for executions with secrets.
	Plans  engine.Plans
	Sealer *secret.Sealer
	// Canceller ends executions that their parents no longer await, and those that cannot be started. newRelay makes the
	// relay that of the canceller.
	Canceller *canceller

	// AtOnce and Unacked bound the executions of a lane that have not acknowledged their message: those that start or
	// continue, default 32, and those that read events or were cancelled, default 16.
	AtOnce  int
	Unacked int
	Lease   time.Duration // for which a message is this node's; default 10 s
	Every   time.Duration // between searches for messages whose lease is over; default 1 s
	Attempt time.Duration // bound of one request to Temporal; default 5 s
	// SlowStep is the time of a step of an execution, on average, from which on a lane gets fewer permits; default 500 ms.
	SlowStep time.Duration
	// AckTimeout is how long an execution that makes no progress keeps its permit of a lane, at least; default 5 s.
	AckTimeout time.Duration
	Log        *slog.Logger     // default: slog.Default()
	Now        func() time.Time // wall clock; default: time.Now
}

func (c relayConfig) withDefaults() relayConfig {
	c.AtOnce = cmp.Or(c.AtOnce, 32)
	c.Unacked = cmp.Or(c.Unacked, 16)
	c.Lease = cmp.Or(c.Lease, ownLease)
	c.Every = cmp.Or(c.Every, time.Second)
	c.Attempt = cmp.Or(c.Attempt, 5*time.Second)
	c.SlowStep = cmp.Or(c.SlowStep, 500*time.Millisecond)
	c.AckTimeout = cmp.Or(c.AckTimeout, 5*time.Second)
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// ownLease is the default of relayConfig.Lease.
const ownLease = 10 * time.Second

const (
	// maxHeld bounds the messages of a lane that a node holds in memory. More wait in the outbox.
	maxHeld = 100_000
	// maxHeldRows bounds the starts that are held together with their rows.
	maxHeldRows = 1_000
	// freshTime is how long a row that was just marked need not be read again.
	freshTime = 500 * time.Millisecond
	// refusedRest is how long the relay waits before it tries a message again that Temporal has refused as invalid.
	refusedRest = time.Minute
	// againAfter is the first pause before a message is tried again.
	againAfter = 50 * time.Millisecond
)

// delivery is a message that this node delivers.
type delivery struct {
	store.OutboxMessage
	row    *store.Candidate // of a start: the row as this node has just marked it
	marked time.Time
	wait   time.Duration // before it is tried again
	since  time.Time     // when this node began to hold it
	waited bool          // in a lane
}

// relay delivers outbox messages: those that this node wrote, at once, and those whose lease is
// over. Delivered means that Temporal has answered. Messages have lanes by their kinds; in a lane,
// environments and workflows take turns. Methods are safe for concurrent use.
type relay struct {
	relayConfig
	origins *origins
	done    chan int64 // numbers of delivered messages
	pause   backoff

	ctx      context.Context // of requests and transactions
	cancel   context.CancelFunc
	stopping chan struct{} // closed by stop: what is held is left to others
	once     sync.Once
	workers  sync.WaitGroup
	cleaner  sync.WaitGroup
	ended    *background.Group // what stop begins

	mu     sync.Mutex
	closed bool // stop has begun
	lanes  [laneCount]*lane
	back   []int64 // numbers of messages that a stop kept from being delivered

	delivered atomic.Int64
	refusedAt atomic.Int64 // when a refusal was logged last, in ms
}

func newRelay(c relayConfig) *relay {
	r := &relay{
		relayConfig: c.withDefaults(), origins: newOrigins(c.Store, c.Plans),
		done: make(chan int64, 1024), stopping: make(chan struct{}), ended: background.NewGroup(),
	}
	if c.Canceller != nil {
		c.Canceller.Relay = r
	}
	r.lanes = [laneCount]*lane{
		cancelLane: newLane(laneKinds[cancelLane], r.Unacked),
		workLane:   newLane(laneKinds[workLane], r.AtOnce),
		eventLane:  newLane(laneKinds[eventLane], r.Unacked),
	}
	r.lanes[cancelLane].open = r.fromRows(openEnds)
	r.lanes[eventLane].open = r.fromRows((*store.Reader).UnreadEvents)
	r.lanes[workLane].open, r.lanes[workLane].ackPause = r.openQueued, workAckPause
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.pause.log = r.Log
	r.workers.Go(r.leaseLoop)
	r.workers.Go(r.prolongLoop)
	for _, l := range r.lanes {
		r.workers.Go(func() { r.watchAcks(l) })
	}
	r.cleaner.Go(r.clean)
	return r
}

// stop waits until ctx ends for deliveries in progress, and releases the leases of all other messages. What ctx
// interrupts has until final ends to return; the error says that it has not. stop may be called again. Stop the
// components that hand messages to the relay first.
func (r *relay) stop(ctx, final context.Context) error {
	defer context.AfterFunc(ctx, r.cancel)()
	r.once.Do(func() {
		r.mu.Lock()
		r.closed = true
		r.mu.Unlock()
		close(r.stopping)
		r.ended.Start("message relay", func(context.Context) {
			r.workers.Wait()
			r.release()
			close(r.done)
			r.cleaner.Wait()
			r.cancel()
		})
	})
	return r.ended.Stop(final)
}

// release ends the leases of held messages, so that other nodes deliver them at once.
func (r *relay) release() {
	r.mu.Lock()
	nos := r.back
	for _, l := range r.lanes {
		for no := range l.waiting {
			nos = append(nos, no)
		}
	}
	r.mu.Unlock()
	if len(nos) == 0 {
		return
	}
	err := r.Store.Update(r.ctx, func(tx *store.Tx) error { return tx.PostponeOutboxMessages(r.nowMs(), nos...) })
	if err != nil && !errors.Is(err, store.ErrUnavailable) && r.ctx.Err() == nil {
		r.Log.Error("release the leases of outbox messages", "error", err)
	}
}

func (r *relay) stopped() bool {
	select {
	case <-r.stopping:
		return true
	default:
		return false
	}
}

func (r *relay) nowMs() int64 { return r.Now().UnixMilli() }

// leaseMs is the end of a lease that begins now.
func (r *relay) leaseMs() int64 { return r.nowMs() + r.Lease.Milliseconds() }
