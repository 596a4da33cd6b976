package embedded

import (
	"context"
	"fmt"
	"slices"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/eventstream"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/secret"
	"github.com/chargehand/chargehand/internal/store"
)

// writeSet is what one execution writes in one transaction, and what the engine does once that is
// durable. The driver of the instance builds it, the writer of the store writes it, and the driver
// carries it out.
type writeSet struct {
	inst     *instance
	self     [1]*writeSet // the list that alone returns
	messages []message
	received int  // messages that were applied before the end
	grouped  bool // a scheduler writes it together with those of other executions
	idle     bool // there is nothing to write and nothing to dispatch

	// The row.
	insert       bool // the row is new
	begin        bool // it holds the first event of the execution
	stateChanged bool // status, phase or state differ from those of inst.row
	switched     bool // it has not begun, and its suspension begins or ends
	row          store.Execution
	inTx         func(tx *store.Tx, executionNo int64) error
	fromSeq      int64 // of the last event before this write set

	journal      []store.JournalRow
	startTimers  []store.Timer
	stopTimers   []uint64
	files        []chargehand.FileID // that become visible
	checkpoint   *store.Checkpoint
	dropJournal  bool           // the checkpoint becomes authoritative
	filterSealer *secret.Sealer // hides the filters of subscriptions; nil: they may be seen
	chunk        []byte
	end          *engine.End

	// What the events command.
	activities     []machine.Command
	stopActivities []machine.CommandID
	publications   []eventstream.Publication
	yielded        bool
	finish         *machine.Command
	awaitsLease    bool // the execution joins its queue

	// What concerns other executions and streams.
	eventRows       []store.Event // the publications as rows
	unsubscribes    []uint64
	children        []*engine.ChildStart
	reserved        int          // children that are counted in trees
	withdrawn       *store.Child // the link to the parent, which no longer needs the end
	childrenCounted bool         // the children are counted as queued
	childStarted    []bool       // by this transaction; an earlier one has started the others
	stopChildren    []machine.CommandID
	openTasks       []engine.OpenedTask
	withdrawTasks   []machine.Command
	answers         []func(tx *store.Tx) error // end the rows of human tasks that were answered
	delivered       []int64                    // children whose ends were applied
	subscriptions   []store.Subscription       // rows of the dirty ones, in order; set by the transaction

	refreshAgain bool // there is more to read
	resumed      bool // interruptions were counted: the recovery of the instance is over

	// Set by the transaction.
	rowWritten        bool // the row was inserted or updated
	written           bool // everything was written, though perhaps not committed
	conflict          bool // another transaction has ended the execution
	batchFinal        bool
	childrenCancelled bool // children have to be cancelled
}

// nextWriteSet returns an empty write set for the messages of an execution.
func nextWriteSet(inst *instance, messages []message) *writeSet {
	s := inst.spareSet
	if inst.spareSet = nil; s == nil {
		s = &writeSet{inst: inst}
	}
	s.messages = messages
	return s
}

// reuse empties s for the next step of the same execution.
func (s *writeSet) reuse() {
	clear(s.journal)
	clear(s.activities)
	*s = writeSet{inst: s.inst, journal: s.journal[:0], activities: s.activities[:0]}
	s.inst.spareSet = s
}

// alone is a list that holds only s. It costs no allocation.
func (s *writeSet) alone() []*writeSet {
	s.self[0] = s
	return s.self[:]
}

// empty reports whether there is nothing to write.
func (s *writeSet) empty() bool {
	return !s.insert && !s.stateChanged && !s.switched && s.end == nil && len(s.journal) == 0 && len(s.stopTimers) == 0 &&
		len(s.unsubscribes) == 0 && len(s.delivered) == 0 && len(s.children) == 0 &&
		!slices.ContainsFunc(s.inst.subscriptions, func(l *subscription) bool { return l.dirty })
}

// setNumber sets the number that the insertion has assigned to the execution in everything that
// refers to it.
func (s *writeSet) setNumber(no int64) {
	inst := s.inst
	inst.no = no
	for i := range s.journal {
		s.journal[i].Execution = no
	}
	for i := range s.startTimers {
		s.startTimers[i].Execution = no
	}
	for i := range inst.timers {
		inst.timers[i].Execution = no
	}
	if s.checkpoint != nil {
		s.checkpoint.Execution = no
	}
}

// offload moves what is too large for a row into the blob store.
func (s *writeSet) offload(ctx context.Context, blobs engine.Blobs) error {
	if len(s.publications) > 0 {
		var err error
		s.eventRows, err = eventstream.Rows(ctx, blobs, s.row.Account, s.row.Environment, s.publications)
		if err != nil {
			return err
		}
	}
	for _, child := range s.children {
		if err := engine.Externalize(ctx, blobs, &child.Row.Input); err != nil {
			return fmt.Errorf("store input of child: %w", err)
		}
	}
	for i := range s.journal {
		if err := engine.Externalize(ctx, blobs, &s.journal[i].Event); err != nil {
			return fmt.Errorf("store event: %w", err)
		}
	}
	for i := range s.openTasks {
		if err := engine.Externalize(ctx, blobs, &s.openTasks[i].Row.Request); err != nil {
			return fmt.Errorf("store the request of a human task: %w", err)
		}
	}
	if s.checkpoint != nil {
		if err := engine.Externalize(ctx, blobs, &s.checkpoint.State); err != nil {
			return fmt.Errorf("store checkpoint: %w", err)
		}
	}
	if s.end != nil {
		if err := engine.Externalize(ctx, blobs, &s.end.Output); err != nil {
			return fmt.Errorf("store output: %w", err)
		}
	}
	return nil
}
