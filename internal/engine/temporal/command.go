package temporal

import (
	"slices"
	"time"

	sdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

const (
	// heartbeatTimeout is the silence after which an activity counts as lost. It is longer than Temporal is away when
	// its database restarts: all running activities are silent then.
	heartbeatTimeout = 25 * time.Second
	// maxCall bounds an attempt that keeps its heartbeat. The activities have limits of
	// their own, far below.
	maxCall = 24 * time.Hour
	// longCall is that bound of activities that have none: streams, and processes that no task awaits.
	longCall = 10 * 365 * 24 * time.Hour
	// callBytes is the most that the outcome of an activity takes in the history: the largest payload that is stored
	// inline, and the events around it.
	callBytes = externalBytes + 1<<10
)

// startCalls starts held activities, in order, as far as the slot, the limit of running activities and the size of a
// worker's response allow. A process that no task awaits needs no slot.
func (r *run) startCalls() {
	full := r.drain.on
	r.held = slices.DeleteFunc(r.held, func(c machine.Command) bool {
		switch {
		case full || !r.slots.held && !c.Detached:
			return false
		case !r.hasCapacity():
			full = true
			return false
		case !r.startCall(&c):
			full = true
			r.pause()
			return false
		}
		return true
	})
}

// hasCapacity reports whether one more activity may run. Running activities cannot be kept from answering, so their
// answers must fit into the history.
func (r *run) hasCapacity() bool {
	pending := len(r.calls)
	bytes := workflow.GetInfo(r.ctx).GetCurrentHistorySize() + r.taskBytes + (pending+1)*callBytes
	return pending == 0 || pending < r.limits.pending && bytes <= r.limits.roomBytes
}

// startCall reports false if this workflow task cannot carry any more arguments.
func (r *run) startCall(c *machine.Command) bool {
	a := r.argument
	in := call{
		Account: a.Account, Environment: a.Environment, Execution: a.Execution, No: a.No,
		Kind: c.Activity, Args: value.Marshal(c.Args), Input: value.Marshal(c.Input),
		Reference: c.Reference, Key: c.Key, Attempt: c.Attempt, Seq: c.Seq, Detached: c.Detached, Confidential: a.Confidential,
	}
	if c.Metadata != nil {
		in.Metadata = value.Marshal(c.Metadata)
	}
	size := len(in.Args) + len(in.Input) + len(in.Metadata)
	if r.taskBytes > 0 && r.taskBytes+size > r.limits.taskBytes {
		return false
	}
	r.taskBytes += size
	flow := r.newInflow(c)
	longest := maxCall
	if flow != nil {
		in.Stream = flow.number
	}
	if flow != nil || c.Detached {
		longest = longCall
	}
	ctx, cancel := workflow.WithCancel(r.ctx)
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:           activityQueue(a.Queue, a.Environment, c),
		StartToCloseTimeout: longest,
		HeartbeatTimeout:    heartbeatTimeout,
		WaitForCancellation: c.Detached, // cutDetached
		// The machine decides on another attempt (T91).
		RetryPolicy: &sdk.RetryPolicy{MaximumAttempts: 1},
	})
	again := *c // c belongs to a list that changes
	r.calls = append(r.calls, &pendingCommand{
		id: c.ID, command: &again, future: workflow.ExecuteActivity(ctx, performType, in), cancel: cancel, inflow: flow,
	})
	return true
}

// StopActivity implements engine.Commands: it withdraws an activity that is held or runs.
func (r *run) StopActivity(id machine.CommandID) {
	r.held = slices.DeleteFunc(r.held, func(c machine.Command) bool { return c.ID == id })
	r.calls = stop(r.calls, id)
}

// StartTimer implements engine.Commands. A timer that is already due fires in the next workflow task: a loop of such
// timers must not hog this one.
func (r *run) StartTimer(c *machine.Command) {
	rest := time.Duration(max(c.DueMs-workflow.Now(r.ctx).UnixMilli(), 1)) * time.Millisecond
	ctx, cancel := workflow.WithCancel(r.ctx)
	timer := workflow.NewTimer(ctx, rest)
	r.timers = append(r.timers, &pendingCommand{id: c.ID, dueMs: c.DueMs, future: timer, cancel: cancel})
}

// StopTimer implements engine.Commands.
func (r *run) StopTimer(id machine.CommandID) { r.timers = stop(r.timers, id) }

// stop cancels a pending command and removes it from the list: its outcome is ignored.
func stop(list []*pendingCommand, id machine.CommandID) []*pendingCommand {
	return slices.DeleteFunc(list, func(f *pendingCommand) bool {
		if f.id != id {
			return false
		}
		f.cancel()
		return true
	})
}

// write runs an activity that writes to the database, however often it takes.
func (r *run) write(name string, in any) workflow.Future {
	return workflow.ExecuteActivity(workflow.WithActivityOptions(r.ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 30 * time.Second,
		RetryPolicy: &sdk.RetryPolicy{
			InitialInterval: 100 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 10 * time.Second,
		},
	}), name, in)
}

// activityQueue is the task queue of an activity. Histories depend on it, so it is no setting.
func activityQueue(prefix string, env chargehand.Environment, c *machine.Command) string {
	switch engine.ClassOf(c) {
	case engine.Process:
		return processQueue(prefix, env)
	case engine.Script:
		return scriptQueue(prefix, env)
	case engine.Stream:
		return streamQueue(prefix, env)
	default:
		return callQueue(prefix, env)
	}
}
