package embedded

import (
	"slices"
	"sync"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// instance is an execution in memory. It is an actor: everything that happens to it is a message in
// its mailbox, and the goroutine that works through the mailbox is its driver. There is at most one
// driver at a time. DESIGN.md "Instances" tells more.
//
// The driver changes the fields before the commit. When the commit fails, invalidate throws them
// away and the next step loads them from the store: so memory never says more than the rows.
type instance struct {
	no   int64
	root int64 // of its tree; 0 until it is read

	mu           sync.Mutex
	driven       bool // a goroutine is the driver
	removed      bool // it has left the table: look its number up again
	skipped      bool // a scheduler has gone past it because it was driven
	mailbox      []message
	spareMailbox []message // an empty slice to swap with

	// The following fields belong to the driver.
	loaded     bool // row is set and, unless it has ended or is queued, machine
	row        store.Execution
	input      value.Value         // raw; nil until it is read
	inputFiles []chargehand.FileID // that the start has given (engine.Start.Files)
	machine    *machine.Machine
	secrets    *engine.Secrets // nil if the definition declares none
	queue      *queue
	lease      *lease // nil: it holds no slot
	seq        int64  // of the last journaled event
	timeMs     int64  // of the last event
	// computeTime is how long the events since the last checkpoint have taken, and would take again
	// after a crash. sinceCheckpoint is their number.
	computeTime     time.Duration
	sinceCheckpoint int
	timers          []store.Timer
	calls           []*call // running or waiting in a pool
	subscriptions   []*subscription
	// unstarted are the StartChild commands that have not been carried out. childrenEnded says that
	// ends of children have to be read. hasDetached says that the execution has started a process
	// that no task awaits.
	unstarted     []machine.Command
	childrenEnded bool
	hasDetached   bool
	// commandsPending says that commands wait. They are found in the machine when they may be
	// carried out.
	commandsPending bool
	// inDoubt says that a commit has failed, perhaps after the data was safe: the store may say more
	// than memory knows.
	inDoubt bool
	// childrenInDoubt may have been started by such a commit, and are counted as queued.
	childrenInDoubt []queuedRow
	// recovering says that the execution was active when the server stopped. Nothing starts before a
	// resumeWork message. cutOff are the activities that were in flight then.
	recovering  bool
	cutOffKnown bool
	cutOff      []machine.CommandID
	failures    int       // write sets that failed in a row while the store was available
	spareSet    *writeSet // for the next step
}

// invalidate forgets everything but the activities and the lease. The next step loads the execution
// again, because the failed commit may have been made and the store may say more.
func (inst *instance) invalidate() {
	inst.loaded, inst.inDoubt = false, true
	inst.machine, inst.secrets, inst.input, inst.inputFiles = nil, nil, nil, nil
	inst.seq, inst.timeMs, inst.computeTime, inst.sinceCheckpoint = 0, 0, 0, 0
	inst.timers, inst.subscriptions, inst.unstarted = nil, nil, nil
	inst.childrenEnded, inst.hasDetached, inst.commandsPending = false, false, false
}

// recycle gives back the slice of messages that drainMailbox has returned.
func (inst *instance) recycle(messages []message) {
	clear(messages)
	inst.mu.Lock()
	inst.spareMailbox = messages[:0]
	inst.mu.Unlock()
}

// requeue puts messages back in front of the mailbox, so that they are applied again. If the
// execution is queued, its scheduler has gone past it in the meantime.
func (inst *instance) requeue(messages []message) {
	inst.mu.Lock()
	inst.skipped = inst.skipped || inst.row.State == store.StateQueued
	inst.mailbox = append(append([]message(nil), messages...), inst.mailbox...)
	inst.mu.Unlock()
}

// cancelling reports whether a cancellation waits in the mailbox. Then the driver stops other work
// early.
func (inst *instance) cancelling() bool {
	inst.mu.Lock()
	defer inst.mu.Unlock()
	return slices.ContainsFunc(inst.mailbox, func(m message) bool { return m.event.Kind == machine.CancelRequested })
}

func (inst *instance) timer(c *machine.Command) store.Timer {
	return store.Timer{Environment: inst.row.Environment, Execution: inst.no, Command: uint64(c.ID), DueMs: c.DueMs}
}

func (inst *instance) timerAt(command machine.CommandID) int {
	for i := range inst.timers {
		if inst.timers[i].Command == uint64(command) {
			return i
		}
	}
	return -1
}

func (inst *instance) callOf(command machine.CommandID) *call {
	for _, c := range inst.calls {
		if c.command == command {
			return c
		}
	}
	return nil
}

func (inst *instance) dropCall(c *call) bool {
	for i := range inst.calls {
		if inst.calls[i] == c {
			inst.calls = append(inst.calls[:i], inst.calls[i+1:]...)
			return true
		}
	}
	return false
}
