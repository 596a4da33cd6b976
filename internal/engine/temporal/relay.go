package temporal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/api/serviceerror"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/span"
	"github.com/chargehand/chargehand/internal/store"
)

// relayConfig is what a relay is made of. Store, Remote, Blobs and Queue are required.
type relayConfig struct {
	Store   *store.Store
	Remote  remote
	Blobs   engine.Blobs
	Queue   string // prefix of the task queues
	Runtime string // $runtime.version
	// Lifecycle is what executions that start from now on tell about themselves.
	Lifecycle *machine.Lifecycle
	// Metadata is $runtime.metadata, as JSON; nil: none.
	Metadata []byte
	// Plans and Sealer are needed for executions with secrets.
	Plans  engine.Plans
	Sealer *secret.Sealer
	// Stop ends an execution that nobody awaits any more. Errors: store.ErrUnavailable.
	Stop func(ctx context.Context, no int64, reason string) error

	AtOnce  int                 // deliveries at once; default 64
	Lease   time.Duration       // for which a message is this node's; default 10 s
	Every   time.Duration       // between looks for what others left; default 1 s
	Attempt time.Duration       // bound of one request to Temporal; default 5 s
	Freed   func(account int64) // an execution was ended here; must not block
	Changed func(id [16]byte)   // an execution or batch has ended here; must not block
	Log     *slog.Logger        // default: slog.Default()
	Now     func() time.Time    // wall clock; default: time.Now
}

func (c relayConfig) withDefaults() relayConfig {
	fill(&c.AtOnce, 64)
	fill(&c.Lease, ownLease)
	fill(&c.Every, time.Second)
	fill(&c.Attempt, 5*time.Second)
	if c.Freed == nil {
		c.Freed = func(int64) {}
	}
	if c.Changed == nil {
		c.Changed = func([16]byte) {}
	}
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
	// maxHeld bounds the messages that a node holds in memory. More wait in the inbox.
	maxHeld = 1024
	// claimPage bounds the messages that are taken over in one transaction.
	claimPage = 200
	// freshTime is how long a row that was just marked is not read again.
	freshTime = 500 * time.Millisecond
	// refusedRest is how long a message rests that Temporal refuses for what it says.
	refusedRest = time.Minute
	// againAfter is the first pause before a message is tried again that had to wait.
	againAfter = 50 * time.Millisecond
)

// delivery is a message that this node delivers.
type delivery struct {
	store.OutboxMessage
	row    *store.Candidate // of a start: the row as this node has just marked it
	marked time.Time
	wait   time.Duration // before it is tried again
}

// relay delivers inbox rows: those that this node wrote, at once, and those whose lease is
// over. Delivered means that Temporal has answered. Methods are safe for concurrent use.
type relay struct {
	relayConfig
	origins *origins
	queue   chan delivery
	done    chan int64 // numbers of delivered messages
	back    chan int64 // numbers of messages that a stop kept from being delivered
	pause   breather

	ctx      context.Context
	cancel   context.CancelFunc
	stopping chan struct{} // closed by stop: what is held is left to others
	once     sync.Once
	workers  sync.WaitGroup
	cleaner  sync.WaitGroup

	delivered atomic.Int64
	refusedAt atomic.Int64 // when a refusal was logged last, in ms
}

func newRelay(c relayConfig) *relay {
	r := &relay{
		relayConfig: c.withDefaults(), origins: newOrigins(c.Store, c.Plans),
		queue: make(chan delivery, maxHeld), done: make(chan int64, maxHeld), back: make(chan int64, 2*maxHeld), stopping: make(chan struct{}),
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.pause.log = r.Log
	for range r.AtOnce {
		r.workers.Go(r.work)
	}
	r.workers.Go(r.claimLoop)
	r.cleaner.Go(r.clean)
	return r
}

// stop lets what is being delivered end, until ctx ends, and gives the rest back to the
// inbox. It may be called again. Stop first who hands messages to it.
func (r *relay) stop(ctx context.Context) {
	r.once.Do(func() {
		close(r.stopping)
		undo := context.AfterFunc(ctx, r.cancel) // also of what waits for a database that does not answer
		r.workers.Wait()
		r.release()
		close(r.done)
		r.cleaner.Wait()
		undo()
		r.cancel()
	})
}

// release gives the leases of what is held back, so that others need not wait for them.
func (r *relay) release() {
	var nos []int64
	for len(r.queue) > 0 {
		nos = append(nos, (<-r.queue).No)
	}
	for len(r.back) > 0 {
		nos = append(nos, <-r.back)
	}
	if len(nos) == 0 {
		return
	}
	now := r.nowMs()
	err := r.Store.Update(r.ctx, func(tx *store.Tx) error {
		for _, no := range nos {
			if err := tx.PostponeOutboxMessage(no, now); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, store.ErrUnavailable) && r.ctx.Err() == nil {
		r.Log.Error("give messages back", "error", err)
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

// hand gives messages to the relay whose lease this node has. It waits while there are too
// many, and returns when ctx ends or the relay stops: then others deliver the rest.
func (r *relay) hand(ctx context.Context, list ...delivery) {
	for _, d := range list {
		select {
		case r.queue <- d: // also when ctx has ended: what is held is given back at the end
			continue
		default:
		}
		select {
		case r.queue <- d:
		case <-r.stopping:
			return
		case <-ctx.Done():
			return
		}
	}
}

// offer is hand for who must not wait: without room, the rest is delivered when its lease is over.
func (r *relay) offer(list ...delivery) {
	for _, d := range list {
		select {
		case r.queue <- d:
		default:
			return
		}
	}
}

// offerAll offers messages that were just written.
func (r *relay) offerAll(messages []store.OutboxMessage) {
	for _, m := range messages {
		r.offer(delivery{OutboxMessage: m})
	}
}

func (r *relay) work() {
	for {
		select {
		case <-r.stopping:
			return
		case d := <-r.queue:
			r.deliver(d)
		}
	}
}

// deliver delivers a message, or leaves it in the inbox.
func (r *relay) deliver(d delivery) {
	for {
		if r.stopped() || !r.pause.wait(r.stopping, r.Now) {
			r.back <- d.No
			return
		}
		if r.nowMs() >= d.DueMs-r.Lease.Milliseconds()/10 {
			return // its lease is as good as over: somebody else may have it
		}
		ctx, cancel := context.WithTimeout(r.ctx, r.Attempt)
		err := r.attempt(ctx, &d)
		cancel()
		var invalid *serviceerror.InvalidArgument
		switch {
		case err == nil:
			r.delivered.Add(1)
			r.done <- d.No
			return
		case errors.Is(err, errBroken):
			err = r.breakOff(&d, err)
			if err == nil {
				return
			}
			r.again(d)
			return
		case errors.As(err, &invalid):
			r.refuse(&d, err)
			return
		case errors.Is(err, errRemote):
			r.pause.failed(err, r.Now)
		default: // the database, the blob store, or a start that is still on its way
			r.again(d)
			return
		}
	}
}

// errRemote says that Temporal did not take a message, and errEarly that a signal has to
// wait for the start of its workflow.
var (
	errRemote = errors.New("not taken by Temporal")
	errEarly  = errors.New("the start is still on its way")
)

// remoteError marks what Temporal answered.
func (r *relay) remoteError(err error) error {
	switch {
	case err == nil:
		r.pause.over()
		return nil
	case errors.Is(err, errGone):
		r.pause.over()
		return err
	}
	var invalid *serviceerror.InvalidArgument
	if errors.As(err, &invalid) {
		r.pause.over() // it has answered
	}
	return fmt.Errorf("%w: %w", errRemote, err)
}

func (r *relay) attempt(ctx context.Context, d *delivery) error {
	if d.Kind == store.OutboxStart {
		return r.start(ctx, d)
	}
	if d.ID.IsZero() {
		return nil // the execution has been deleted
	}
	m := message{No: d.No}
	switch d.Kind {
	case store.OutboxCancel:
		m.Kind, m.Reason = kindCancel, d.Reason
	case store.OutboxGrant:
		m.Kind, m.Settle = kindGrant, d.Report
	case store.OutboxEvents:
		m.Kind = kindEvents
	case store.OutboxChild:
		m.Kind = kindChild
	case store.OutboxStop:
		return r.Stop(ctx, d.Execution, d.Reason)
	default:
		return fmt.Errorf("a message of the unknown kind %d", d.Kind)
	}
	err := r.remoteError(r.Remote.signal(ctx, d.ID, m))
	if !errors.Is(err, errGone) {
		return err
	}
	// Either it has ended, or it has not been started. Only a look before the signal tells.
	open := false
	err = r.Store.View(ctx, func(rd *store.Reader) (err error) {
		open, err = rd.StartUndelivered(d.Execution)
		return err
	})
	switch {
	case err != nil:
		return err
	case open:
		return errEarly
	}
	err = r.remoteError(r.Remote.signal(ctx, d.ID, m))
	if errors.Is(err, errGone) {
		return nil
	}
	return err
}

// start starts a workflow, unless its execution has ended in the meantime.
func (r *relay) start(ctx context.Context, d *delivery) error {
	var row store.Execution
	if d.row != nil && !d.row.InputApart && r.Now().Sub(d.marked) < freshTime {
		row = d.row.Execution
	} else {
		err := r.Store.View(ctx, func(rd *store.Reader) (err error) {
			row, err = rd.ExecutionByNo(d.Execution)
			return err
		})
		if errors.Is(err, store.ErrNotFound) || err == nil && row.State == store.StateEnded {
			return nil
		}
		if err != nil {
			return err
		}
	}
	s, err := r.started(ctx, &row)
	if errors.Is(err, errEnded) {
		return nil
	}
	if err != nil {
		return err
	}
	return r.remoteError(r.Remote.start(span.Follow(ctx, spanOf(&row)), s))
}

// again tries a message again after a while, if its lease lasts so long and there is room.
func (r *relay) again(d delivery) {
	d.wait = min(max(2*d.wait, againAfter), time.Second)
	d.row = nil
	time.AfterFunc(jitter(d.wait), func() {
		select {
		case r.queue <- d:
		default:
		}
	})
}

// refuse lets a message rest that Temporal does not take for what it says.
func (r *relay) refuse(d *delivery, cause error) {
	now := r.nowMs()
	if last := r.refusedAt.Load(); now-last > refusedRest.Milliseconds() && r.refusedAt.CompareAndSwap(last, now) {
		r.Log.Error("Temporal refuses executions; they stay accepted and are tried again every minute. "+
			"If it misses search attributes, run `chargehand temporal setup`",
			"execution", d.ID, "error", cause)
	}
	err := r.Store.Update(r.ctx, func(tx *store.Tx) error {
		return tx.PostponeOutboxMessage(d.No, now+jitter(refusedRest).Milliseconds())
	})
	if err != nil && !errors.Is(err, store.ErrUnavailable) && r.ctx.Err() == nil {
		r.Log.Error("postpone a message", "execution", d.ID, "error", err)
	}
}

// breakOff ends an execution that can never be started.
func (r *relay) breakOff(d *delivery, cause error) error {
	r.Log.Error("an execution is ended by the system", "execution", d.ID, "error", cause)
	var row store.Execution
	fault := engine.SystemFault(engine.CodeInternal, "The execution could not be started: something that belongs to it is missing. The server's log says more.")
	if errors.Is(cause, engine.ErrSecretsTooLarge) {
		fault = engine.SecretsFault()
	}
	var ended, batchFinal bool
	var owed []store.OutboxMessage
	var batch store.Batch
	err := r.Store.Update(r.ctx, func(tx *store.Tx) (err error) {
		row, err = tx.LockExecution(d.Execution)
		ended, batchFinal = err == nil && row.State != store.StateEnded, false
		if ended {
			o := store.Outcome{Fault: engine.EncodeFault(fault)}
			batchFinal, err = tx.FinishExecution(row.No, chargehand.Errored, chargehand.Faulted, row.StartedMs, endMs(&row, r.nowMs()), &o)
			if err == nil {
				owed, err = owe(tx, o.Ending, r.leaseMs())
			}
			if err == nil && batchFinal {
				batch, err = tx.BatchByNo(row.Batch)
			}
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		return tx.DeleteOutboxMessages(d.No)
	})
	if err == nil && ended {
		r.offerAll(owed)
		r.Freed(row.Account)
		r.Changed(row.ID)
		if batchFinal {
			r.Changed(batch.ID)
		}
	}
	return err
}

// endMs is the time of an end: never before the execution's other times.
func endMs(row *store.Execution, nowMs int64) int64 {
	return max(nowMs, row.StartedMs, row.ID.Milli())
}

// claimLoop takes over messages whose lease is over.
func (r *relay) claimLoop() {
	for {
		full, err := r.claim()
		if err != nil && !errors.Is(err, store.ErrUnavailable) && r.ctx.Err() == nil {
			r.Log.Error("take over messages", "error", err)
		}
		wait := jitter(r.Every)
		if full && err == nil {
			wait = 0
		}
		select {
		case <-r.stopping:
			return
		case <-time.After(wait):
		}
	}
}

// claim takes over what is due, as far as there is room. full: there may be more.
func (r *relay) claim() (full bool, err error) {
	limit := min(claimPage, maxHeld/2-len(r.queue))
	if r.pause.holds() {
		limit = min(limit, 1) // to learn whether Temporal is back
	}
	if limit <= 0 {
		return false, nil
	}
	var due bool
	err = r.Store.View(r.ctx, func(rd *store.Reader) (err error) {
		due, err = rd.OutboxDue(r.nowMs())
		return err
	})
	if err != nil || !due {
		return false, err
	}
	var list []store.OutboxMessage
	err = r.Store.Update(r.ctx, func(tx *store.Tx) (err error) {
		list, err = tx.LeaseOutbox(r.nowMs(), r.leaseMs(), limit)
		return err
	})
	if err != nil {
		return false, err
	}
	for _, i := range list {
		r.hand(r.ctx, delivery{OutboxMessage: i})
	}
	return len(list) == claimPage, nil
}

// clean deletes delivered messages, as many at a time as there are.
func (r *relay) clean() {
	for no := range r.done {
		nos := []int64{no}
	gather:
		for len(nos) < claimPage {
			select {
			case no, ok := <-r.done:
				if !ok {
					break gather
				}
				nos = append(nos, no)
			default:
				break gather
			}
		}
		// What cannot be deleted is delivered again, which changes nothing.
		err := r.Store.Update(r.ctx, func(tx *store.Tx) error { return tx.DeleteOutboxMessages(nos...) })
		if err != nil && !errors.Is(err, store.ErrUnavailable) && r.ctx.Err() == nil {
			r.Log.Error("delete delivered messages", "error", err)
		}
	}
}

// jitter is d, give or take a fifth.
func jitter(d time.Duration) time.Duration {
	return d - d/5 + time.Duration(rand.Int64N(int64(2*d/5)+1))
}
