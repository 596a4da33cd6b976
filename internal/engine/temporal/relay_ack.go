package temporal

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/fair"
	"github.com/chargehand/chargehand/internal/store"
)

const (
	// The time between two searches for acknowledgements, while messages wait for permits. Starts are short: a permit
	// that is noticed late keeps them waiting for longer than they take.
	minAckPause  = 5 * time.Millisecond
	maxAckPause  = 100 * time.Millisecond
	workAckPause = 30 * time.Millisecond
	// maxAckGap is the longest time between two searches that still says something about the time of a step.
	maxAckGap = 3 * time.Second
)

// unacked holds the executions of a lane that have a message and have not acknowledged it. Each keeps the permit of its
// message. Temporal's task queues serve tasks in the order in which they come; so they never
// have more tasks of a flood of messages than the lane has permits. An execution that makes no progress for a while
// loses its permit: its subscription may be paused, or there is no worker. Guarded by relay.mu.
type unacked struct {
	byExecution map[int64]*ack
	contended   chan struct{} // has room for one: messages wait for permits
	interval    time.Duration // between two steps of an execution, on average
	usual       time.Duration // the same, of the quicker ones
	polled      time.Time
}

// ack is what the relay knows about an execution's acknowledgement, which is still to come.
type ack struct {
	unackedExecution
	owner    fair.Owner
	since    time.Time
	target   int64 // progress at which the message is acknowledged; 0: not known yet
	progress int64
	moved    time.Time // when progress changed
}

// unackedExecution is an execution that has not acknowledged its message.
type unackedExecution struct {
	no int64
	id chargehand.ExecutionID
}

func newUnacked() unacked {
	return unacked{byExecution: make(map[int64]*ack), contended: make(chan struct{}, 1)}
}

// add notes that an execution has a message. It reports false if the execution has a permit already.
func (u *unacked) add(d *delivery, now time.Time) bool {
	if known := u.byExecution[d.Execution]; known != nil {
		known.target, known.moved, known.since = 0, now, now
		return false
	}
	execution := unackedExecution{d.Execution, d.ID}
	u.byExecution[d.Execution] = &ack{unackedExecution: execution, owner: d.owner(), moved: now, since: now}
	return true
}

// list returns the executions, the longest wait first.
func (u *unacked) list() []unackedExecution {
	all := slices.SortedFunc(maps.Values(u.byExecution), func(a, b *ack) int {
		return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.no, b.no))
	})
	list := make([]unackedExecution, len(all))
	for i, a := range all {
		list[i] = a.unackedExecution
	}
	return list
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
			u.sample(now.Sub(a.moved))
		}
		a.progress, a.moved = state.Since, now
	}
	// A slow system must not get more work because it is slow.
	return !open || state.Since >= a.target || now.Sub(a.moved) > max(timeout, 4*u.interval)
}

// sample notes the time of a step.
func (u *unacked) sample(took time.Duration) {
	u.interval += (took - u.interval) / 8
	weight := time.Duration(128)
	if took < u.usual {
		weight = 16
	}
	u.usual += (took - u.usual) / weight
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
			pause = min(max(2*pause, minAckPause), l.ackPause)
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
	executions := l.unacked.list()
	r.mu.Unlock()
	open, err := l.open(r.ctx, executions)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		return !r.closed && l.line.Waiting() > 0, false, err
	}
	now := r.Now()
	for _, execution := range executions {
		state, isOpen := open[execution.no]
		if a := l.unacked.byExecution[execution.no]; a != nil && l.unacked.update(a, state, isOpen, now, r.AckTimeout) {
			delete(l.unacked.byExecution, execution.no)
			r.leave(l, a.owner)
			freed = true
		}
	}
	l.unacked.polled = now
	if freed {
		l.adapt(r.SlowStep, now)
		r.fill(l)
	}
	return !r.closed && l.line.Waiting() > 0, freed, nil
}

// openFunc finds which of some executions have not acknowledged their messages. It gets those with the longest wait
// first.
type openFunc func(context.Context, []unackedExecution) (map[int64]store.Unread, error)

// fromRows asks the rows which executions have not acknowledged their messages.
func (r *relay) fromRows(read func(*store.Reader, []int64) (map[int64]store.Unread, error)) openFunc {
	return func(ctx context.Context, executions []unackedExecution) (open map[int64]store.Unread, err error) {
		nos := make([]int64, len(executions))
		for i, e := range executions {
			nos[i] = e.no
		}
		err = r.Store.View(ctx, func(rd *store.Reader) (err error) {
			open, err = read(rd, nos)
			return err
		})
		return open, err
	}
}

// openQueued finds the executions whose tasks wait in a task queue. No row shows that, so it asks Temporal. Tasks leave
// a queue in about the order in which they came: what came before one that has left has left, too. So it asks for the
// last one of the list; if that one still waits, for the one in the middle, and then for the first one.
func (r *relay) openQueued(ctx context.Context, executions []unackedExecution) (map[int64]store.Unread, error) {
	begun := 0 // so many of the list have left their queues
	for _, at := range slices.Compact([]int{len(executions) - 1, len(executions) / 2, 0}) {
		if len(executions) == 0 {
			break
		}
		ctx, cancel := context.WithTimeout(ctx, r.Attempt)
		waits, err := r.Remote.queued(ctx, executions[at].id)
		cancel()
		if err != nil {
			break // no one knows: an execution loses its permit after a while
		}
		if !waits {
			begun = at + 1
			break
		}
	}
	open := make(map[int64]store.Unread, len(executions)-begun)
	for _, e := range executions[begun:] {
		open[e.no] = store.Unread{Last: 1}
	}
	return open, nil
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
