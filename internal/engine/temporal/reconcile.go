package temporal

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/pause"
	"github.com/chargehand/chargehand/internal/store"
)

// reconcilerConfig configures a reconciler. Store, Remote and Canceller are required.
type reconcilerConfig struct {
	Store     *store.Store
	Remote    remote
	Canceller *canceller
	Node      [16]byte // a name of this process that no other has
	// Verify reports an error until Remote is known to be the cluster and namespace of the executions: in any other
	// place, all of them would seem to be gone. Nil: it is known.
	Verify func(ctx context.Context) error

	// With the defaults a row ends at most 60 s after its workflow: DESIGN.md has the sum.
	Lease  time.Duration    // for which one node does the work; default 10 s
	Every  time.Duration    // between reads of Temporal's list of ended workflows; default 5 s
	Round  time.Duration    // between walks through the rows of one state, at least; default 10 s
	Asking time.Duration    // between questions of a walk; default 10 ms
	Grace  time.Duration    // for which an execution that began is not asked for; default 10 s
	Log    *slog.Logger     // default: slog.Default()
	Now    func() time.Time // wall clock; default: time.Now
}

func (c reconcilerConfig) withDefaults() reconcilerConfig {
	c.Lease = cmp.Or(c.Lease, 10*time.Second)
	c.Every = cmp.Or(c.Every, 5*time.Second)
	c.Round = cmp.Or(c.Round, 10*time.Second)
	c.Asking = cmp.Or(c.Asking, 10*time.Millisecond)
	c.Grace = cmp.Or(c.Grace, 10*time.Second)
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

const (
	reconcileLease = "temporal reconciler"
	reconciledMeta = "temporal reconciled" // until when ends in Temporal are known, in ms
	walkPage       = 100
	// askedAtOnce bounds the requests of a walk that are in flight.
	askedAtOnce = 8
	// maxKnown bounds the remembered ends, which Temporal lists again.
	maxKnown = 100_000
)

// reconciler ends the rows of executions whose workflows have ended without ending them, and continues interrupted
// cancellations of batches. One node at a time does the work, by a lease; the others stand by. If two nodes work for a
// moment, no harm is done.
type reconciler struct {
	reconcilerConfig
	verified  atomic.Bool                      // Verify has reported nothing
	known     map[chargehand.ExecutionID]int64 // ends that Temporal may list again, with their times
	positions [len(walked)]*store.Execution    // where walks were interrupted; nil: at the beginning
}

// walked are the states of rows that have a workflow.
var walked = [...]store.ExecutionState{store.StateActive, store.StateReady, store.StateParked}

func newReconciler(c reconcilerConfig) *reconciler {
	return &reconciler{reconcilerConfig: c.withDefaults()}
}

// run works until ctx ends, and gives the lease back then.
func (r *reconciler) run(ctx context.Context) {
	for logged := false; ctx.Err() == nil; {
		err := r.lease(ctx, r.Lease)
		if err == nil {
			logged = false
			err = r.serve(ctx)
		}
		if err != nil && !errors.Is(err, store.ErrConflict) && ctx.Err() == nil && !logged {
			logged = true
			r.Log.Error("take the lease of the reconciler", "error", err)
		}
		r.sleep(ctx, jitter(r.Lease/4)) // stand by
	}
}

// serve does all parts of the work side by side, so that no part waits for another, until the lease is lost or ctx
// ends.
func (r *reconciler) serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() { r.repeat(ctx, 4*r.Every, "continue with cancelled batches", r.cancelBatches) })
	work.Go(func() { r.repeat(ctx, r.Every, "list the executions that ended in Temporal", r.readClosed) })
	for i := range walked {
		work.Go(func() {
			r.repeat(ctx, r.Round, "ask Temporal for executions", func(ctx context.Context) error { return r.walk(ctx, i) })
		})
	}
	err := r.keep(ctx)
	cancel()
	work.Wait()
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = r.lease(ctx, 0) // otherwise it ends by itself
	}
	return err
}

// keep prolongs the lease until ctx ends, or returns why it is lost.
func (r *reconciler) keep(ctx context.Context) error {
	for last := r.Now(); ; {
		if !r.sleep(ctx, r.Lease/4) {
			return nil
		}
		begun := r.Now()
		err := r.lease(ctx, r.Lease)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			last = begun
		case errors.Is(err, store.ErrConflict), r.Now().Sub(last) >= r.Lease:
			return err
		}
	}
}

// repeat does something again and again, and logs the first of several failures in a row.
func (r *reconciler) repeat(ctx context.Context, every time.Duration, what string, do func(context.Context) error) {
	for logged := false; ctx.Err() == nil; {
		begun := r.Now()
		err := do(ctx)
		if err != nil && !logged && ctx.Err() == nil {
			r.Log.Error(what, "error", err)
		}
		logged = err != nil
		r.sleep(ctx, jitter(every)-r.Now().Sub(begun))
	}
}

// lease takes or prolongs the lease. ErrConflict: another node has it.
func (r *reconciler) lease(ctx context.Context, d time.Duration) error {
	now := r.Now()
	return r.Store.Update(ctx, func(tx *store.Tx) error {
		return tx.TakeLease(reconcileLease, r.Node, now.UnixMilli(), now.Add(d).UnixMilli())
	})
}

// sleep reports false if ctx ends first.
func (r *reconciler) sleep(ctx context.Context, d time.Duration) bool {
	return pause.For(ctx, max(d, 0)) == nil
}

// verify reports an error until Remote is known to be the cluster and namespace of the executions.
func (r *reconciler) verify(ctx context.Context) error {
	if r.Verify == nil || r.verified.Load() {
		return nil
	}
	err := r.Verify(ctx)
	if err == nil {
		r.verified.Store(true)
	}
	return err
}

// cancelBatches continues interrupted cancellations of batches. It needs no Temporal.
func (r *reconciler) cancelBatches(ctx context.Context) error {
	var batches []store.Batch
	err := r.Store.View(ctx, func(rd *store.Reader) (err error) {
		batches, err = rd.CancelledBatches()
		return err
	})
	for _, b := range batches {
		err = errors.Join(err, r.Canceller.cancelBatchItems(ctx, b))
	}
	return err
}

// readClosed ends the rows of workflows that Temporal lists as ended.
func (r *reconciler) readClosed(ctx context.Context) error {
	if err := r.verify(ctx); err != nil {
		return err
	}
	since, err := r.since(ctx)
	if err != nil {
		return err
	}
	next, err := r.Remote.closed(ctx, since, func(c closedWorkflow) error { return r.endClosed(ctx, &c) })
	if err != nil {
		return fmt.Errorf("list ended workflows: %w", err)
	}
	if next <= since {
		return nil
	}
	maps.DeleteFunc(r.known, func(_ chargehand.ExecutionID, endedMs int64) bool { return endedMs < next })
	return r.Store.Update(ctx, func(tx *store.Tx) error {
		return tx.SetMeta(reconciledMeta, binary.BigEndian.AppendUint64(nil, uint64(next)))
	})
}

// endClosed ends the row of a workflow that has ended, unless that has ended.
func (r *reconciler) endClosed(ctx context.Context, c *closedWorkflow) error {
	if _, ok := r.known[c.ID]; ok {
		return nil
	}
	var row store.Execution
	err := r.Store.View(ctx, func(rd *store.Reader) (err error) {
		row, err = rd.FindExecution(c.ID)
		return err
	})
	switch {
	// of another installation, or as it should be
	case errors.Is(err, store.ErrNotFound), err == nil && row.State == store.StateEnded:
	case err != nil:
		return err
	default:
		if err := r.endAs(ctx, row.No, c.Status, c.Reason); err != nil {
			return err
		}
	}
	if r.known == nil {
		r.known = make(map[chargehand.ExecutionID]int64)
	}
	if len(r.known) < maxKnown {
		r.known[c.ID] = c.ClosedMs
	}
	return nil
}

func (r *reconciler) since(ctx context.Context) (ms int64, err error) {
	err = r.Store.View(ctx, func(rd *store.Reader) error {
		value, err := rd.Meta(reconciledMeta)
		if err == nil && len(value) == 8 {
			ms = int64(binary.BigEndian.Uint64(value))
		}
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	})
	return ms, err
}

// endAs ends the row of a workflow that ended in Temporal before it could finish.
func (r *reconciler) endAs(ctx context.Context, no int64, how, reason string) error {
	detail := fmt.Sprintf("The execution's workflow ended in Temporal (%s) before it could finish", how)
	if reason != "" {
		detail += ": " + reason
	}
	return r.end(ctx, no, detail+".")
}

// end ends a row as an error of the system, unless it has ended.
func (r *reconciler) end(ctx context.Context, no int64, detail string) error {
	return r.Canceller.fail(ctx, no, engine.SystemFault(engine.CodeTerminated, detail))
}
