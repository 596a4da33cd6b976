package temporal

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/chargehand/chargehand/internal/fair"
	"github.com/chargehand/chargehand/internal/store"
)

const (
	// The time between two searches for acknowledgements, while messages wait for permits.
	minAckPause = 5 * time.Millisecond
	maxAckPause = 100 * time.Millisecond
	// maxAckGap is the longest time between two searches that still says something about the time of a step.
	maxAckGap = 3 * time.Second
)

// unacked holds the executions of a lane that have a message and have not acknowledged it, as their rows show. Each
// keeps the permit of its message. Temporal's task queues serve tasks in the order in which they come; so they never
// have more tasks of a flood of messages than the lane has permits. An execution that makes no progress for a while
// loses its permit: its subscription may be paused, or there is no worker. Guarded by relay.mu.
type unacked struct {
	byExecution map[int64]*ack
	contended   chan struct{} // has room for one: messages wait for permits
	interval    time.Duration // between two steps of an execution, on average
	polled      time.Time
}

// ack is what the relay knows about an execution's acknowledgement, which is still to come.
type ack struct {
	owner    fair.Owner
	target   int64 // progress at which the message is acknowledged; 0: not known yet
	progress int64
	moved    time.Time // when progress changed
}

func newUnacked() unacked {
	return unacked{byExecution: make(map[int64]*ack), contended: make(chan struct{}, 1)}
}

// add notes that an execution has a message. It reports false if the execution has a permit already.
func (u *unacked) add(d *delivery, now time.Time) bool {
	if known := u.byExecution[d.Execution]; known != nil {
		known.target, known.moved = 0, now
		return false
	}
	u.byExecution[d.Execution] = &ack{owner: d.owner(), moved: now}
	return true
}

// contend makes watchAcks look for acknowledgements, because a message waits.
func (u *unacked) contend() {
	select {
	case u.contended <- struct{}{}:
	default:
	}
}

// update notes the progress that the rows of an execution show, and reports whether its permit is free now. open: the
// execution has not caught up.
func (u *unacked) update(a *ack, state store.Unread, open bool, now time.Time, timeout time.Duration) (free bool) {
	if a.target == 0 {
		a.target = state.Last
	}
	if !open || state.Since != a.progress {
		if now.Sub(u.polled) < maxAckGap {
			u.interval += (now.Sub(a.moved) - u.interval) / 8
		}
		a.progress, a.moved = state.Since, now
	}
	// A slow system must not get more work because it is slow.
	return !open || state.Since >= a.target || now.Sub(a.moved) > max(timeout, 4*u.interval)
}

// watchAcks frees the permits of executions that have acknowledged their messages, while messages of their lane wait.
func (r *relay) watchAcks(l *lane) {
	for pause := time.Duration(0); ; {
		if pause == 0 {
			select {
			case <-r.stopping:
				return
			case <-l.unacked.contended:
			}
		}
		left, freed, err := r.freeAcked(l)
		if err != nil && !errors.Is(err, store.ErrUnavailable) && r.ctx.Err() == nil {
			r.Log.Error("look for acknowledgements of messages", "error", err)
		}
		switch {
		case !left:
			pause = 0
			continue
		case freed:
			pause = minAckPause
		default:
			pause = min(max(2*pause, minAckPause), maxAckPause)
		}
		select {
		case <-r.stopping:
			return
		case <-time.After(pause):
		}
	}
}

// freeAcked gives the permits of executions that have acknowledged their messages to waiting ones. left: some messages
// still wait.
func (r *relay) freeAcked(l *lane) (left, freed bool, err error) {
	r.mu.Lock()
	executions := slices.Collect(maps.Keys(l.unacked.byExecution))
	r.mu.Unlock()
	var open map[int64]store.Unread
	err = r.Store.View(r.ctx, func(rd *store.Reader) (err error) {
		open, err = l.open(rd, executions)
		return err
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		return !r.closed && l.line.Waiting() > 0, false, err
	}
	now := r.Now()
	for _, execution := range executions {
		state, isOpen := open[execution]
		if a := l.unacked.byExecution[execution]; a != nil && l.unacked.update(a, state, isOpen, now, r.AckTimeout) {
			delete(l.unacked.byExecution, execution)
			r.leave(l, a.owner)
			freed = true
		}
	}
	l.unacked.polled = now
	return !r.closed && l.line.Waiting() > 0, freed, nil
}

// openEnds finds the cancelled executions whose workflows have not ended yet. The last thing that a workflow does is to
// store its timeline.
func openEnds(r *store.Reader, executions []int64) (map[int64]store.Unread, error) {
	nos, err := r.OpenTimelines(executions)
	open := make(map[int64]store.Unread, len(nos))
	for _, no := range nos {
		open[no] = store.Unread{Last: 1}
	}
	return open, err
}
