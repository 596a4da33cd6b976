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
type run struct {
	no   int64
	root int64 // of its tree; 0 where that has not been read

	mu      sync.Mutex
	driven  bool // a goroutine is the driver
	gone    bool // out of the table: look it up again
	passed  bool // a scheduler has passed over it because it was driven
	mailbox []message
	spare   []message // an empty slice to swap with

	// The rest belongs to the driver.
	loaded  bool // row and, unless it has ended, machine are there
	row     store.Execution
	input   value.Value         // raw; nil where it has not been read
	given   []chargehand.FileID // by the start (engine.Start.Files)
	machine *machine.Machine
	secrets *engine.Secrets // nil where the definition declares none
	queue   *queue
	lease   *lease // nil: it holds no slot
	seq     int64  // of the last journaled event
	timeMs  int64  // of the last event
	// computed is what the events since the last checkpoint took, and would take again;
	// behind is their number.
	computed time.Duration
	behind   int
	timers   []store.Timer
	calls    []*call // started or in line, by command
	listens  []*listening
	// unstarted are children that are to be started; told: children have ended, and that is to
	// be taken in; detached: there was a process that nobody waits for.
	unstarted []machine.Command
	told      bool
	detached  bool
	// held: commands wait; they are found in the machine when they may be carried out.
	held bool
	// inDoubt: a commit of it failed, so the store may say more than memory knows. Some
	// failures strike after the data is safe.
	inDoubt bool
	// queued are children that such a commit may have made, and that are counted as queued.
	queued []queuedRow
	// recovering: found Active after a restart; nothing starts before it is resumed. suspects
	// are the activities that were in flight when the server stopped.
	recovering bool
	suspected  bool
	suspects   []machine.CommandID
	failures   int       // write sets in a row that failed though the store was available
	used       *writeSet // an empty one, for the next step
}

type messageKind uint8

const (
	// nothing: dealt with, though it may be seen again after a failed write set.
	nothing messageKind = iota
	// deliver hands an event to the machine.
	deliver
	// grant gives an execution its lease.
	grant
	// overdue delivers timers that are due after a restart, and starts nothing.
	overdue
	// resume counts interruptions and starts again what was in flight.
	resume
	// look does nothing but settle what the row should say.
	look
	// recheck is look for an execution whose first commit seemed to fail. It may bring the lease.
	recheck
	// listen tells of events that a subscription may want.
	listen
	// family tells of the end of a child.
	family
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
	mu   sync.Mutex
	runs map[int64]*run
}

// lookup returns the run of that number, made if it is not there.
func (t *table) lookup(no int64) *run {
	shard := &t[uint64(no)%tableShards]
	shard.mu.Lock()
	defer shard.mu.Unlock()
	r := shard.runs[no]
	if r == nil {
		if shard.runs == nil {
			shard.runs = make(map[int64]*run)
		}
		r = &run{no: no}
		shard.runs[no] = r
	}
	return r
}

// insert puts in a run that is driven already. A run of the same number can only be one
// whose insertion was undone: numbers of undone rows are used again.
func (t *table) insert(r *run) {
	shard := &t[uint64(r.no)%tableShards]
	shard.mu.Lock()
	defer shard.mu.Unlock()
	if shard.runs == nil {
		shard.runs = make(map[int64]*run)
	}
	shard.runs[r.no] = r
}

// remove needs r.mu.
func (t *table) remove(r *run) {
	r.gone = true
	t.takeOut(r)
}

// takeOut undoes an insert.
func (t *table) takeOut(r *run) {
	shard := &t[uint64(r.no)%tableShards]
	shard.mu.Lock()
	defer shard.mu.Unlock()
	if shard.runs[r.no] == r {
		delete(shard.runs, r.no)
	}
}

// put leaves a message for an execution. drive: the caller is now the driver.
func (t *table) put(no int64, msg message) (r *run, drive bool) {
	for {
		r = t.lookup(no)
		r.mu.Lock()
		if r.gone {
			r.mu.Unlock()
			continue
		}
		r.mailbox = append(r.mailbox, msg)
		drive = !r.driven
		r.driven = true
		r.mu.Unlock()
		return r, drive
	}
}

// tryDrive makes the caller the driver of an execution, unless another goroutine is. That one
// then says that the execution was passed over, if it leaves it queued.
func (t *table) tryDrive(no int64) (r *run, ok bool) {
	for {
		r = t.lookup(no)
		r.mu.Lock()
		if r.gone {
			r.mu.Unlock()
			continue
		}
		ok = !r.driven
		r.driven = true
		r.passed = r.passed || !ok
		r.mu.Unlock()
		return r, ok
	}
}

// take empties the mailbox. With nothing in it, the caller is no longer the driver, and a
// run that is not active leaves the table. passed: a scheduler has passed over it.
func (t *table) take(r *run) (messages []message, passed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.mailbox) == 0 {
		r.driven = false
		passed, r.passed = r.passed, false
		if !r.loaded || r.row.State != store.StateActive {
			t.remove(r)
		}
		return nil, passed
	}
	messages = r.mailbox
	r.mailbox = r.spare[:0]
	r.spare = nil
	return messages, false
}

// abandon removes a run whose insertion was undone, or seems to be, and returns the messages
// that have come in for its number: that may be another execution's by now.
func (t *table) abandon(r *run) (messages []message, passed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t.remove(r)
	messages, r.mailbox = r.mailbox, nil
	return messages, r.passed
}

// invalidate forgets what memory knows of an execution, but for its activities and its lease: the
// store may say more, because a commit has failed.
func (r *run) invalidate() {
	r.loaded, r.inDoubt = false, true
	r.machine, r.secrets, r.input, r.given = nil, nil, nil, nil
	r.seq, r.timeMs, r.computed, r.behind = 0, 0, 0, 0
	r.timers, r.listens, r.unstarted = nil, nil, nil
	r.told, r.detached, r.held = false, false, false
}

// recycle gives back a slice that take returned.
func (r *run) recycle(messages []message) {
	clear(messages)
	r.mu.Lock()
	r.spare = messages[:0]
	r.mu.Unlock()
}

// requeue puts messages in front of the mailbox: they are tried again. A scheduler has gone on
// without it.
func (r *run) requeue(messages []message) {
	r.mu.Lock()
	r.passed = r.passed || r.row.State == store.StateQueued
	r.mailbox = append(append([]message(nil), messages...), r.mailbox...)
	r.mu.Unlock()
}

// each calls visit for every run.
func (t *table) each(visit func(*run)) {
	for i := range t {
		shard := &t[i]
		shard.mu.Lock()
		runs := make([]*run, 0, len(shard.runs))
		for _, r := range shard.runs {
			runs = append(runs, r)
		}
		shard.mu.Unlock()
		for _, r := range runs {
			visit(r)
		}
	}
}

func (t *table) size() int {
	n := 0
	for i := range t {
		t[i].mu.Lock()
		n += len(t[i].runs)
		t[i].mu.Unlock()
	}
	return n
}

func (r *run) timerAt(command machine.CommandID) int {
	for i := range r.timers {
		if r.timers[i].Command == uint64(command) {
			return i
		}
	}
	return -1
}

func (r *run) callOf(command machine.CommandID) *call {
	for _, c := range r.calls {
		if c.command == command {
			return c
		}
	}
	return nil
}

func (r *run) dropCall(c *call) bool {
	for i := range r.calls {
		if r.calls[i] == c {
			r.calls = append(r.calls[:i], r.calls[i+1:]...)
			return true
		}
	}
	return false
}
