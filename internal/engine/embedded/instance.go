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

// run is an execution in memory. See DESIGN.md, "Who may touch a run".
type instance struct {
	no   int64
	root int64 // of its tree; 0 where that has not been read

	mu           sync.Mutex
	driven       bool // a goroutine is the driver
	removed      bool // out of the table: look it up again
	skipped      bool // a scheduler has passed over it because it was driven
	mailbox      []message
	spareMailbox []message // an empty slice to swap with

	// The rest belongs to the driver.
	loaded     bool // row and, unless it has ended, machine are there
	row        store.Execution
	input      value.Value         // raw; nil where it has not been read
	inputFiles []chargehand.FileID // by the start (engine.Start.Files)
	machine    *machine.Machine
	secrets    *engine.Secrets // nil where the definition declares none
	queue      *queue
	lease      *lease // nil: it holds no slot
	seq        int64  // of the last journaled event
	timeMs     int64  // of the last event
	// computed is what the events since the last checkpoint took, and would take again;
	// behind is their number.
	computeTime     time.Duration
	sinceCheckpoint int
	timers          []store.Timer
	calls           []*call // started or in line, by command
	subscriptions   []*subscription
	// unstarted are children that are to be started; told: children have ended, and that is to
	// be taken in; detached: there was a process that nobody waits for.
	unstarted     []machine.Command
	childrenEnded bool
	hasDetached   bool
	// held: commands wait; they are found in the machine when they may be carried out.
	commandsPending bool
	// inDoubt: a commit of it failed, so the store may say more than memory knows. Some
	// failures strike after the data is safe.
	inDoubt bool
	// queued are children that such a commit may have made, and that are counted as queued.
	childrenInDoubt []queuedRow
	// recovering: found Active after a restart; nothing starts before it is resumed. suspects
	// are the activities that were in flight when the server stopped.
	recovering  bool
	cutOffKnown bool
	cutOff      []machine.CommandID
	failures    int       // write sets in a row that failed though the store was available
	spareSet    *writeSet // an empty one, for the next step
}

// invalidate forgets what memory knows of an execution, but for its activities and its lease: the
// store may say more, because a commit has failed.
func (inst *instance) invalidate() {
	inst.loaded, inst.inDoubt = false, true
	inst.machine, inst.secrets, inst.input, inst.inputFiles = nil, nil, nil, nil
	inst.seq, inst.timeMs, inst.computeTime, inst.sinceCheckpoint = 0, 0, 0, 0
	inst.timers, inst.subscriptions, inst.unstarted = nil, nil, nil
	inst.childrenEnded, inst.hasDetached, inst.commandsPending = false, false, false
}

// recycle gives back a slice that take returned.
func (inst *instance) recycle(messages []message) {
	clear(messages)
	inst.mu.Lock()
	inst.spareMailbox = messages[:0]
	inst.mu.Unlock()
}

// requeue puts messages in front of the mailbox: they are tried again. A scheduler has gone on
// without it.
func (inst *instance) requeue(messages []message) {
	inst.mu.Lock()
	inst.skipped = inst.skipped || inst.row.State == store.StateQueued
	inst.mailbox = append(append([]message(nil), messages...), inst.mailbox...)
	inst.mu.Unlock()
}

// cancelling reports whether a cancellation waits: what else the execution does can wait.
func (inst *instance) cancelling() bool {
	inst.mu.Lock()
	defer inst.mu.Unlock()
	return slices.ContainsFunc(inst.mailbox, func(m message) bool { return m.event.Kind == machine.CancelRequested })
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
