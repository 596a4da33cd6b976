package embedded

import (
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

type messageKind uint8

const (
	// nothing: dealt with, though it may be seen again after a failed write set.
	handled messageKind = iota
	// deliver hands an event to the machine.
	applyEvent
	// grant gives an execution its lease.
	takeLease
	// overdue delivers timers that are due after a restart, and starts nothing.
	fireTimers
	// resume counts interruptions and starts again what was in flight.
	resumeWork
	// look does nothing but settle what the row should say.
	refresh
	// recheck is look for an execution whose first commit seemed to fail. It may bring the lease.
	recheckStart
	// listen tells of events that a subscription may want.
	readEvents
	// family tells of the end of a child.
	readChildren
)

type message struct {
	kind  messageKind
	event machine.Event
	call  *call         // of an outcome
	reply chan<- error  // of a cancellation; has room for one
	also  []engine.Also // of a cancellation
	bytes int64         // of an outcome that counts as retained
	lease *lease        // of a grant or a recheck
	woken store.Subscription
}

func (m *message) answer(err error) {
	if m.reply != nil {
		m.reply <- err
		m.reply = nil
	}
}

const tableShards = 64

// table holds the runs in memory, by number.
type table [tableShards]struct {
	mu        sync.Mutex
	instances map[int64]*instance
}

// lookup returns the run of that number, made if it is not there.
func (t *table) lookup(no int64) *instance {
	shard := &t[uint64(no)%tableShards]
	shard.mu.Lock()
	defer shard.mu.Unlock()
	inst := shard.instances[no]
	if inst == nil {
		if shard.instances == nil {
			shard.instances = make(map[int64]*instance)
		}
		inst = &instance{no: no}
		shard.instances[no] = inst
	}
	return inst
}

// insert puts in a run that is driven already. A run of the same number can only be one
// whose insertion was undone: numbers of undone rows are used again.
func (t *table) insert(inst *instance) {
	shard := &t[uint64(inst.no)%tableShards]
	shard.mu.Lock()
	defer shard.mu.Unlock()
	if shard.instances == nil {
		shard.instances = make(map[int64]*instance)
	}
	shard.instances[inst.no] = inst
}

// remove needs r.mu.
func (t *table) remove(inst *instance) {
	inst.removed = true
	t.takeOut(inst)
}

// takeOut undoes an insert.
func (t *table) takeOut(inst *instance) {
	shard := &t[uint64(inst.no)%tableShards]
	shard.mu.Lock()
	defer shard.mu.Unlock()
	if shard.instances[inst.no] == inst {
		delete(shard.instances, inst.no)
	}
}

// put leaves a message for an execution. drive: the caller is now the driver.
func (t *table) put(no int64, msg message) (inst *instance, drive bool) {
	for {
		inst = t.lookup(no)
		inst.mu.Lock()
		if inst.removed {
			inst.mu.Unlock()
			continue
		}
		inst.mailbox = append(inst.mailbox, msg)
		drive = !inst.driven
		inst.driven = true
		inst.mu.Unlock()
		return inst, drive
	}
}

// tryDrive makes the caller the driver of an execution, unless another goroutine is. That one
// then says that the execution was passed over, if it leaves it queued.
func (t *table) tryDrive(no int64) (inst *instance, ok bool) {
	for {
		inst = t.lookup(no)
		inst.mu.Lock()
		if inst.removed {
			inst.mu.Unlock()
			continue
		}
		ok = !inst.driven
		inst.driven = true
		inst.skipped = inst.skipped || !ok
		inst.mu.Unlock()
		return inst, ok
	}
}

// take empties the mailbox. With nothing in it, the caller is no longer the driver, and a
// run that is not active leaves the table. passed: a scheduler has passed over it.
func (t *table) drainMailbox(inst *instance) (messages []message, passed bool) {
	inst.mu.Lock()
	defer inst.mu.Unlock()
	if len(inst.mailbox) == 0 {
		inst.driven = false
		passed, inst.skipped = inst.skipped, false
		if !inst.loaded || inst.row.State != store.StateActive {
			t.remove(inst)
		}
		return nil, passed
	}
	messages = inst.mailbox
	inst.mailbox = inst.spareMailbox[:0]
	inst.spareMailbox = nil
	return messages, false
}

// abandon removes a run whose insertion was undone, or seems to be, and returns the messages
// that have come in for its number: that may be another execution's by now.
func (t *table) abandon(inst *instance) (messages []message, passed bool) {
	inst.mu.Lock()
	defer inst.mu.Unlock()
	t.remove(inst)
	messages, inst.mailbox = inst.mailbox, nil
	return messages, inst.skipped
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

// each calls visit for every run.
func (t *table) each(visit func(*instance)) {
	for i := range t {
		shard := &t[i]
		shard.mu.Lock()
		all := make([]*instance, 0, len(shard.instances))
		for _, inst := range shard.instances {
			all = append(all, inst)
		}
		shard.mu.Unlock()
		for _, inst := range all {
			visit(inst)
		}
	}
}

func (t *table) size() int {
	n := 0
	for i := range t {
		t[i].mu.Lock()
		n += len(t[i].instances)
		t[i].mu.Unlock()
	}
	return n
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
