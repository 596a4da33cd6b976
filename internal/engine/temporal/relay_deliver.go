package temporal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/serviceerror"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/span"
	"github.com/chargehand/chargehand/internal/store"
)

// deliver delivers a message, or leaves it in the outbox. It reports whether a workflow has it now.
func (r *relay) deliver(d *delivery) (taken bool) {
	for {
		if r.isOver(d) {
			return false // another process may have it
		}
		if r.stopped() || !r.pause.wait(r.stopping, r.Now) {
			r.mu.Lock()
			r.back = append(r.back, d.No)
			r.mu.Unlock()
			return false
		}
		if r.isOver(d) {
			return false
		}
		ctx, cancel := context.WithTimeout(r.ctx, r.Attempt)
		taken, err := r.attempt(ctx, d)
		cancel()
		var invalid *serviceerror.InvalidArgument
		var broken *engine.Unrecoverable
		switch {
		case err == nil:
			r.delivered.Add(1)
			r.done <- d.No
			return taken
		case errors.As(err, &broken):
			if r.Canceller.fail(r.ctx, d.Execution, broken.Fault, d.No) != nil {
				r.again(*d)
			}
			return false
		case errors.As(err, &invalid):
			r.refuse(d, err)
			return false
		case errors.Is(err, errRemote):
			r.pause.failed(err, r.Now)
		default: // the database, the blob store, or a start that is still on its way
			r.again(*d)
			return false
		}
	}
}

// isOver reports whether the lease of a message is as good as over.
func (r *relay) isOver(d *delivery) bool { return r.nowMs() >= d.DueMs-r.Lease.Milliseconds()/10 }

// errRemote says that Temporal did not take a message; errEarly says that a signal has to wait for the start of its
// workflow.
var (
	errRemote = errors.New("not taken by Temporal")
	errEarly  = errors.New("the start is still on its way")
)

// remoteError marks an error as one of Temporal, and tells the backoff whether Temporal has answered.
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

// attempt tries once to deliver a message. taken: a workflow has it now.
func (r *relay) attempt(ctx context.Context, d *delivery) (taken bool, err error) {
	if d.Kind == store.OutboxStart {
		return true, r.start(ctx, d)
	}
	if d.ID.IsZero() {
		return false, nil // the execution has been deleted
	}
	if d.waited && d.Kind == store.OutboxEvents {
		if unread, err := r.hasUnread(ctx, d.Execution); err != nil || !unread {
			return false, err // it has read for another message, or has ended
		}
	}
	m := message{No: d.No}
	switch d.Kind {
	case store.OutboxCancel:
		m.Kind, m.Reason = kindCancel, d.Reason
	case store.OutboxGrant:
		m.Kind, m.Report = kindGrant, d.Report
	case store.OutboxEvents:
		m.Kind = kindEvents
	case store.OutboxChild:
		m.Kind = kindChild
	case store.OutboxSuspend:
		m.Kind = kindSuspend
	case store.OutboxResume:
		m.Kind = kindResume
	case store.OutboxAnswer:
		m.Kind, m.Task = kindAnswer, uint64(d.Report)
	case store.OutboxStop:
		return false, r.Canceller.cancelChild(ctx, d.Execution, d.Reason)
	default:
		return false, fmt.Errorf("a message of the unknown kind %d", d.Kind)
	}
	err = r.remoteError(r.Remote.signal(ctx, d.ID, m))
	if !errors.Is(err, errGone) {
		return true, err
	}
	// The workflow has ended, or has not been started yet. Only a read from before the signal can tell which.
	open := false
	err = r.Store.View(ctx, func(rd *store.Reader) (err error) {
		open, err = rd.StartUndelivered(d.Execution)
		return err
	})
	switch {
	case err != nil:
		return false, err
	case open:
		return false, errEarly
	}
	err = r.remoteError(r.Remote.signal(ctx, d.ID, m))
	if errors.Is(err, errGone) {
		return false, nil
	}
	return true, err
}

// hasUnread reports whether an execution still has to read events.
func (r *relay) hasUnread(ctx context.Context, execution int64) (unread bool, err error) {
	err = r.Store.View(ctx, func(rd *store.Reader) error {
		list, err := rd.UnreadEvents([]int64{execution})
		unread = len(list) > 0
		return err
	})
	return unread, err
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
	time.AfterFunc(jitter(d.wait), func() { r.hand(d) })
}

// refuse postpones a message that Temporal refuses as invalid.
func (r *relay) refuse(d *delivery, cause error) {
	now := r.nowMs()
	if last := r.refusedAt.Load(); now-last > refusedRest.Milliseconds() && r.refusedAt.CompareAndSwap(last, now) {
		r.Log.Error("Temporal refuses executions; they stay accepted and are tried again every minute. "+
			"If it misses search attributes, run `chargehand temporal setup`",
			"execution", d.ID, "error", cause)
	}
	err := r.Store.Update(r.ctx, func(tx *store.Tx) error {
		return tx.PostponeOutboxMessages(now+jitter(refusedRest).Milliseconds(), d.No)
	})
	if err != nil && !errors.Is(err, store.ErrUnavailable) && r.ctx.Err() == nil {
		r.Log.Error("postpone a message", "execution", d.ID, "error", err)
	}
}
