package engine

import (
	"context"
	"errors"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// Defaults of both engines.
const (
	DefaultAccountSlots      = 1_000  // executions of an account that run at once
	DefaultQueuedPerWorkflow = 10_000 // queued singles of a workflow
)

// ErrQueueFull is returned by Start when the workflow has too many queued executions.
var ErrQueueFull = errors.New("too many queued executions")

// ErrFinal is returned by Cancel, Suspend and Resume for an execution that has already ended.
var ErrFinal = errors.New("execution has ended")

// ErrSuspended is returned by Suspend for an execution that is suspended, ErrNotSuspended by Resume for one that is
// not.
var (
	ErrSuspended    = errors.New("execution is suspended")
	ErrNotSuspended = errors.New("execution is not suspended")
)

// Start is one execution to be accepted. Row must be complete except for No, Status,
// Phase, State, Machine, StartedMs and FinishedMs, which the engine sets.
type Start struct {
	Row   store.Execution
	Plan  *plan.Plan
	Input value.Value // parsed Row.Input; {} where no input was given (T16)
	// Position is the task that the execution begins with; nil: the first.
	Position *machine.Position
	// Files are those that the execution is given: Input or the data of Position name them, and its starter may read
	// them. InTx writes their use.
	Files []chargehand.FileID
	// InTx runs in the transaction that accepts the execution, after its row is written
	// (idempotency); its error undoes the acceptance and is returned.
	InTx func(tx *store.Tx, executionNo int64) error
	// Outcome is set, with its Execution, to how the execution has ended, if it has when Start returns and the engine
	// need not read it; nil: the caller does not want it.
	Outcome *store.Outcome
}

// EventsSinceMs is since when events are for an execution, of which its machine says that they are for it since a time
// (machine.Subscription.SinceMs). Its client may publish an event as soon as it is accepted. That it gets its
// first slot later is no reason to lose the event; only a start that was delayed on purpose is.
func EventsSinceMs(row *store.Execution, machineMs int64) int64 {
	return min(machineMs, max(row.ID.Milli(), row.StartMs))
}

// InTx is a function of a caller that the engine runs in its own transaction: remembering the request
// that led to it. It does nothing but SQL, may run more than once (store.DB.Update), and its
// error undoes the transaction and is returned as it is.
type InTx func(tx *store.Tx) error

// RunInTx does what a caller of an engine wants done in the transaction.
func RunInTx(tx *store.Tx, inTx []InTx) error {
	for _, do := range inTx {
		if err := do(tx); err != nil {
			return err
		}
	}
	return nil
}

// Publisher is who publishes events: an execution, or a request from outside.
type Publisher struct {
	Account     int64
	Environment chargehand.Environment
	Starter     int64            // of the executions that events from outside start (store.Event)
	Execution   *store.Execution // nil: they come from outside
}

// Engine drives executions. All methods are safe for concurrent use. Accepted means
// durable: when Start returns nil, the execution survives a power cut and will end.
type Engine interface {
	// Start accepts an execution. It may run the pure steps, and even the end, in the
	// accepting transaction. Errors: ErrQueueFull, store.ErrUnavailable, the error of s.InTx.
	Start(ctx context.Context, s Start) (store.Execution, error)

	// BatchReady tells the engine that the rows of a batch (StateQueued or StateDelayed) are durable.
	// The engine also finds them by itself after a restart.
	BatchReady(batch int64)

	// Cancel ends an execution as cancelled, decisively: when it returns nil, the row is
	// final. inTx runs in the transaction that makes it final, and only if this call makes it
	// final. Errors: store.ErrNotFound, ErrFinal, store.ErrUnavailable, the error of inTx.
	Cancel(ctx context.Context, id chargehand.ExecutionID, reason string, inTx ...InTx) error

	// Suspend keeps an execution from starting anything until Resume: activities that run are left to end, then its
	// slot is free; a queued execution stays queued, and its children continue. What happens meanwhile is journaled, and
	// takes effect at Resume. Both are durable when they return nil. inTx runs in the same transaction.
	// Errors: store.ErrNotFound, ErrFinal, ErrSuspended or ErrNotSuspended, store.ErrUnavailable, the error of inTx.
	Suspend(ctx context.Context, id chargehand.ExecutionID, inTx ...InTx) error
	Resume(ctx context.Context, id chargehand.ExecutionID, inTx ...InTx) error

	// AnswerTask gives an execution the answer to one of its human tasks, decisively: when it returns nil, the row of the
	// task is answered and the execution will take the answer, unless the branch of the task is lost before. A
	// suspended execution takes it when it is resumed. Errors: ErrTaskEnded, ErrFinal, store.ErrUnavailable, the error
	// of a.Write.
	AnswerTask(ctx context.Context, a TaskAnswer) error

	// CancelBatch cancels every item that has not ended and makes the batch failed. inTx runs
	// in the transaction that marks the batch as cancelled: from then on none of its items
	// starts and all of them will end, even if the call fails or the process dies. A batch that
	// is marked and has not ended may be cancelled again.
	// Errors: store.ErrNotFound, ErrFinal, store.ErrUnavailable, the error of inTx.
	CancelBatch(ctx context.Context, id chargehand.BatchID, reason string, inTx ...InTx) error

	// Publish stores events from outside that passed cloudevent.Check and Size, and
	// wakes what listens to them. They are durable when it returns nil. One
	// whose source and id are those of a stored one is the same and is not stored again.
	// Errors: store.ErrUnavailable.
	Publish(ctx context.Context, from Publisher, events []map[string]any) error

	// Watch returns a channel that is closed at the next change of status of the execution
	// or batch with that id (16 bytes), and a function that stops watching. Subscribe
	// first, then read the row, then wait. The channel may also be closed without a change. An id may be watched before
	// its row is there. That the row appears is no change: Start returns its status, and so does a read.
	Watch(id [16]byte) (changed <-chan struct{}, stop func())

	// Follow calls moved after each commit of this process that may have changed the row or the timeline of the
	// execution with that id, or the row or the counts of the batch, until stop is called. moved must not block; it
	// may also be called without a change. notifies is false if other processes make such commits, too: then the
	// caller has to read by itself.
	Follow(id [16]byte, moved func()) (stop func(), notifies bool)

	// Timeline returns the entries of an execution, running or ended, by Seq, and whether
	// older ones were dropped.
	Timeline(ctx context.Context, executionNo int64) (*Timeline, error)
	// Progress counts the tasks of an execution, running or ended. It counts all that have started, also those that
	// the timeline does not hold any more.
	Progress(ctx context.Context, executionNo int64) (*Progress, error)

	// Ready reports whether recovery is done and events are being processed.
	Ready() bool
}

// Plans finds the compiled plan of a definition revision, from cache or store.
type Plans interface {
	Plan(ctx context.Context, revisionNo int64) (*plan.Plan, error)
}
