package temporal

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/store"
)

// reconcilerConfig is what a reconciler is made of. Store, Remote and Canceller are required.
type reconcilerConfig struct {
	Store     *store.Store
	Remote    remote
	Canceller *canceller
	Node      [16]byte // a name of this process that no other has
	// Verify reports an error until Remote is known to be where the executions are: in another
	// place all would look as if they were gone. Nil: it is.
	Verify func(ctx context.Context) error

	Every  time.Duration    // between rounds; default 20 s
	Asking time.Duration    // between questions of the walk through the rows; default 20 ms
	Grace  time.Duration    // for which an execution that began is not asked for; default 30 s
	Log    *slog.Logger     // default: slog.Default()
	Now    func() time.Time // wall clock; default: time.Now
}

func (c reconcilerConfig) withDefaults() reconcilerConfig {
	fill(&c.Every, 20*time.Second)
	fill(&c.Asking, 20*time.Millisecond)
	fill(&c.Grace, 30*time.Second)
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
)

// reconciler ends the rows of executions whose workflows ended without doing so, and goes
// on with the cancellation of batches. One node at a time does the work, the others stand by.
type reconciler struct {
	reconcilerConfig
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}
	told   bool // the log knows that a round failed
	sure   bool // Verify has reported nothing

	// The place of the walk.
	run   int
	after *store.Execution
}

func newReconciler(c reconcilerConfig) *reconciler {
	r := &reconciler{reconcilerConfig: c.withDefaults(), done: make(chan struct{})}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	go r.loop()
	return r
}

// stop ends the work and gives the lease back. It may be called again.
func (r *reconciler) stop() {
	r.cancel()
	<-r.done
}

func (r *reconciler) loop() {
	defer close(r.done)
	holds := false
	for r.ctx.Err() == nil {
		begun := r.Now()
		err := r.lease(r.ctx, r.Every*3/2)
		holds = err == nil
		wait := jitter(r.Every)
		if holds {
			err = r.round()
		} else {
			wait = jitter(r.Every / 4) // stand by
		}
		r.report(err)
		r.sleep(wait - r.Now().Sub(begun))
	}
	if holds {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = r.lease(ctx, 0) // otherwise it ends by itself
	}
}

// lease takes or prolongs the lease. ErrConflict: another node has it.
func (r *reconciler) lease(ctx context.Context, d time.Duration) error {
	now := r.Now()
	return r.Store.Update(ctx, func(tx *store.Tx) error {
		return tx.TakeLease(reconcileLease, r.Node, now.UnixMilli(), now.Add(d).UnixMilli())
	})
}

func (r *reconciler) report(err error) {
	switch {
	case errors.Is(err, store.ErrConflict), r.ctx.Err() != nil:
	case err == nil:
		r.told = false
	case !r.told:
		r.told = true
		r.Log.Error("look for executions that ended in Temporal", "error", err)
	}
}

func (r *reconciler) sleep(d time.Duration) {
	timer := time.NewTimer(max(d, 0))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.ctx.Done():
	}
}

// round looks at everything once, or as far as it comes in the time between two rounds.
func (r *reconciler) round() error {
	err := r.cancelBatches() // needs no Temporal
	if !r.sure && r.Verify != nil {
		if failed := r.Verify(r.ctx); failed != nil {
			return errors.Join(err, failed)
		}
	}
	r.sure = true
	return errors.Join(err, r.readClosed(), r.walk(r.Now().Add(r.Every)))
}

// cancelBatches goes on with batches whose cancellation was cut off.
func (r *reconciler) cancelBatches() error {
	var batches []store.Batch
	err := r.Store.View(r.ctx, func(rd *store.Reader) (err error) {
		batches, err = rd.CancelledBatches()
		return err
	})
	for _, b := range batches {
		err = errors.Join(err, r.Canceller.cancelBatchItems(r.ctx, b, ""))
	}
	return err
}

// readClosed ends the rows of workflows that Temporal lists as ended.
func (r *reconciler) readClosed() error {
	since, err := r.since()
	if err != nil {
		return err
	}
	next, err := r.Remote.closed(r.ctx, since, func(c closedWorkflow) error {
		var row store.Execution
		err := r.Store.View(r.ctx, func(rd *store.Reader) (err error) {
			row, err = rd.FindExecution(c.ID)
			return err
		})
		if errors.Is(err, store.ErrNotFound) || err == nil && row.Run == store.RunEnded {
			return nil // known, or of another installation
		}
		if err != nil {
			return err
		}
		detail := fmt.Sprintf("The execution's workflow ended in Temporal (%s) before it could finish", c.Status)
		if c.Reason != "" {
			detail += ": " + c.Reason
		}
		return r.end(row.No, detail+".")
	})
	if err != nil {
		return fmt.Errorf("list ended workflows: %w", err)
	}
	if next <= since {
		return nil
	}
	return r.Store.Update(r.ctx, func(tx *store.Tx) error {
		return tx.SetMeta(reconciledMeta, binary.BigEndian.AppendUint64(nil, uint64(next)))
	})
}

func (r *reconciler) since() (ms int64, err error) {
	err = r.Store.View(r.ctx, func(rd *store.Reader) error {
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

// walk asks Temporal for the workflows of rows that are not final, one after the other,
// until the time is over. The next walk goes on where this one ended.
func (r *reconciler) walk(until time.Time) error {
	states := [...]store.Run{store.RunActive, store.RunReady, store.RunParked}
	for range len(states) + 1 {
		for {
			var page []store.Execution
			err := r.Store.View(r.ctx, func(rd *store.Reader) (err error) {
				page, err = rd.WalkOwed(states[r.run], r.after, walkPage)
				return err
			})
			if err != nil {
				return err
			}
			for i := range page {
				if err := r.check(&page[i]); err != nil {
					return err
				}
				r.after = &page[i]
				if !r.Now().Before(until) || r.ctx.Err() != nil {
					return r.ctx.Err()
				}
			}
			if len(page) < walkPage {
				break
			}
			if err := r.lease(r.ctx, r.Every*3/2); err != nil {
				return err
			}
		}
		r.run, r.after = (r.run+1)%len(states), nil
	}
	return nil
}

// check asks for one workflow. The order matters: once its start has been delivered, what
// Temporal says about it afterwards is true.
func (r *reconciler) check(row *store.Execution) error {
	if r.Now().UnixMilli()-row.StartedMs < r.Grace.Milliseconds() {
		return nil
	}
	var starting bool
	err := r.Store.View(r.ctx, func(rd *store.Reader) (err error) {
		starting, err = rd.InboxStartOpen(row.No)
		return err
	})
	if err != nil || starting {
		return err
	}
	open, err := r.Remote.open(r.ctx, row.ID)
	if err != nil {
		return fmt.Errorf("ask for a workflow: %w", err)
	}
	r.sleep(r.Asking)
	if open {
		return nil
	}
	return r.end(row.No, "The execution's workflow is gone from Temporal, and had not finished.")
}

// end ends a row as an error of the system, unless it has ended.
func (r *reconciler) end(no int64, detail string) error {
	fault := engine.EncodeFault(engine.SystemFault(engine.CodeTerminated, detail))
	var done cancelled
	err := r.Store.Update(r.ctx, func(tx *store.Tx) (err error) {
		done = cancelled{}
		if done.row, err = tx.LockExecution(no); err != nil || done.row.Run == store.RunEnded {
			return err
		}
		o := store.Outcome{Fault: fault}
		done.batchFinal, err = tx.FinishExecution(no, chargehand.Errored, chargehand.Faulted, done.row.StartedMs,
			endMs(&done.row, r.Now().UnixMilli()), &o)
		if err == nil {
			done.messages, err = owe(tx, o.Ending, r.Canceller.Relay.leaseMs())
		}
		return err
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("end execution: %w", err)
	case done.row.Run == store.RunEnded:
		return nil
	}
	r.Log.Error("an execution is ended by the system", "execution", done.row.ID, "code", engine.CodeTerminated, "detail", detail)
	r.Canceller.tell(done)
	if done.batchFinal {
		r.Canceller.batchEnded(r.ctx, done.row.Batch)
	}
	return nil
}
