package embedded

import (
	"context"
	"fmt"
	"slices"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

// writeSet is what one execution writes in one transaction, and what is to be done when
// that is durable. It is built by the driver of the run, written by the writer, and
// carried out by the driver again.
type writeSet struct {
	inst     *instance
	self     [1]*writeSet // see alone
	messages []message
	received int  // messages before the end
	grouped  bool // it is written with those of other executions, by their scheduler
	idle     bool // there is nothing to write and nothing to carry out

	// How the row comes about or moves.
	insert       bool // the row is new
	begin        bool // with the first event of the execution
	stateChanged bool // status, phase or run differ from row
	row          store.Execution
	also         func(tx *store.Tx, executionNo int64) error
	fromSeq      int64 // of the last event before it

	journal     []store.JournalRow
	startTimers []store.Timer
	stopTimers  []uint64
	files       []chargehand.FileID // that become visible
	checkpoint  *store.Checkpoint
	dropJournal bool // the checkpoint becomes authoritative
	chunk       []byte
	outcome     *store.Outcome
	resultFiles []machine.File // of the Finish command

	references []chargehand.FileID // in the output

	// What follows from the events.
	activities     []machine.Command
	stopActivities []machine.CommandID
	publications   []engine.Publication
	yielded        bool
	finish         *machine.Command
	awaitsLease    bool // it joins the line for a slot

	// What others are told, and what is taken in from them.
	eventRows           []store.Event // events, ready to be written
	unsubscribes        []uint64
	children            []*engine.ChildStart
	reserved            int          // children that count as executions of the tree (trees)
	withdrawn           *store.Child // the link to its parent, which needs its end no more
	childrenCounted     bool         // the children are counted as queued
	childStarted        []bool       // by this transaction; others are there already
	stopChildren        []machine.CommandID
	delivered           []int64              // children of whose end it was told
	subscriptionResults []subscriptionResult // of the subscriptions that it touches, in their order; set by the transaction

	refreshAgain bool // there is more to take in
	resumed      bool // interruptions were counted: recovery is over for the run
	// Set by the transaction.
	rowWritten        bool // the row is as it should be
	written           bool // all of it, though perhaps not committed
	conflict          bool // another transaction has ended the execution
	batchFinal        bool
	childrenCancelled bool // children must be cancelled
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

// reuse empties s for the next step of its execution. An execution that is in memory takes many.
func (s *writeSet) reuse() {
	clear(s.journal)
	clear(s.activities)
	*s = writeSet{inst: s.inst, journal: s.journal[:0], activities: s.activities[:0]}
	s.inst.spareSet = s
}

// alone is a list of s only, which costs no allocation.
func (s *writeSet) alone() []*writeSet {
	s.self[0] = s
	return s.self[:]
}

// empty reports whether there is nothing to write.
func (s *writeSet) empty() bool {
	return !s.insert && !s.stateChanged && s.outcome == nil && len(s.journal) == 0 && len(s.stopTimers) == 0 &&
		len(s.unsubscribes) == 0 && len(s.delivered) == 0 && len(s.children) == 0 &&
		!slices.ContainsFunc(s.inst.subscriptions, func(l *subscription) bool { return l.dirty })
}

// number gives the execution's number, which the insertion has assigned, to what refers to it.
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

// offload puts what is too large for a row into the blob store.
func (s *writeSet) offload(ctx context.Context, blobs engine.Blobs) error {
	if len(s.publications) > 0 {
		var err error
		s.eventRows, err = engine.StoredEvents(ctx, blobs, s.row.Account, s.row.Environment, s.publications)
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
	if s.checkpoint != nil {
		if err := engine.Externalize(ctx, blobs, &s.checkpoint.State); err != nil {
			return fmt.Errorf("store checkpoint: %w", err)
		}
	}
	if s.outcome != nil {
		if err := engine.Externalize(ctx, blobs, &s.outcome.Output); err != nil {
			return fmt.Errorf("store output: %w", err)
		}
	}
	return nil
}
