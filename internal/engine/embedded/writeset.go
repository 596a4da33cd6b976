package embedded

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
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

// refusedError says that the caller of a cancellation wants it undone.
type requestError struct {
	cause error
	reply chan<- error // of that caller
}

func (r *requestError) Error() string { return r.cause.Error() }
func (r *requestError) Unwrap() error { return r.cause }

// alsoCancel makes the wishes of a cancellation part of the transaction. There is one
// cancellation in a write set: what comes after it is too late.
func (s *writeSet) addCancelHook(msg *message) {
	also, reply := msg.also, msg.reply
	s.also = func(tx *store.Tx, _ int64) error {
		err := engine.DoAlso(tx, also)
		if err == nil || errors.Is(err, store.ErrUnavailable) {
			return err
		}
		return &requestError{err, reply}
	}
}

// apply applies an event to the machine and takes in what it causes. It returns the
// size of what is journaled.
func (s *writeSet) apply(ev machine.Event, maxBytes int) int {
	inst := s.inst
	var payload []byte
	if ev.Kind == machine.ActivityEnded || ev.Kind == machine.ChildEnded {
		payload = machine.AppendEvent(nil, ev)
		if len(payload) > maxBytes {
			ev = machine.Event{
				Kind: ev.Kind, TimeMs: ev.TimeMs, Command: ev.Command,
				Fault: engine.OutputFault(len(payload), maxBytes),
			}
			payload = nil
		}
	}
	begin := time.Now()
	commands := inst.machine.Apply(ev)
	inst.computeTime += time.Since(begin)
	inst.timeMs = ev.TimeMs
	s.collect(commands)
	for _, f := range ev.Files {
		var id chargehand.FileID
		if id.UnmarshalText([]byte(f.ID)) == nil {
			s.files = append(s.files, id)
		}
	}
	if s.finish != nil {
		return 0 // the journal goes away
	}
	if payload == nil {
		payload = machine.AppendEvent(nil, stripped(ev))
	}
	size := len(payload)
	payload = inst.secrets.Seal(engine.SealedEvent, payload)
	inst.seq++
	inst.sinceCheckpoint++
	s.journal = append(s.journal, store.JournalRow{
		Execution: inst.no, Seq: inst.seq,
		Event:  store.Payload{Inline: payload, Size: int64(len(payload))},
		Digest: machine.Digest(commands),
	})
	return size
}

// stripped is the event as it is journaled: the input of the first one stands in the row.
func stripped(ev machine.Event) machine.Event {
	if ev.Kind == machine.Started {
		ev.Output = nil
	}
	return ev
}

// collect sorts the commands of an event.
func (s *writeSet) collect(commands []machine.Command) {
	inst := s.inst
	for i := range commands {
		c := &commands[i]
		switch c.Kind {
		case machine.RunActivity:
			s.activities = append(s.activities, *c)
			inst.hasDetached = inst.hasDetached || c.Detached
		case machine.StopActivity:
			at := slices.IndexFunc(s.activities, func(a machine.Command) bool { return a.ID == c.ID })
			if at >= 0 {
				s.activities = slices.Delete(s.activities, at, at+1)
			} else {
				s.stopActivities = append(s.stopActivities, c.ID)
			}
		case machine.StartTimer:
			t := store.Timer{Execution: inst.no, Command: uint64(c.ID), DueMs: c.DueMs}
			inst.timers = append(inst.timers, t)
			s.startTimers = append(s.startTimers, t)
		case machine.StopTimer:
			s.dropTimer(c.ID)
		case machine.Publish:
			s.publications = append(s.publications, engine.Emitted(inst.row.ID, c.ID, inst.secrets.Redact(c.Args)))
		case machine.StartChild:
			inst.unstarted = append(inst.unstarted, *c)
		case machine.StopChild:
			s.stopChild(c.ID)
		case machine.Yield:
			s.yielded = true
		case machine.Finish:
			s.finish = c
		}
	}
}

// stopChild withdraws a child, which may not have been started yet.
func (s *writeSet) stopChild(id machine.CommandID) {
	inst := s.inst
	started := len(inst.unstarted) + len(s.children)
	inst.unstarted = slices.DeleteFunc(inst.unstarted, func(c machine.Command) bool { return c.ID == id })
	s.children = slices.DeleteFunc(s.children, func(c *engine.ChildStart) bool { return c.Link.Command == uint64(id) })
	if len(inst.unstarted)+len(s.children) == started {
		s.stopChildren = append(s.stopChildren, id)
	}
}

// dropTimer forgets a timer that fired or was stopped.
func (s *writeSet) dropTimer(command machine.CommandID) {
	inst := s.inst
	if at := inst.timerAt(command); at >= 0 {
		inst.timers = slices.Delete(inst.timers, at, at+1)
	}
	at := slices.IndexFunc(s.startTimers, func(t store.Timer) bool { return t.Command == uint64(command) })
	if at >= 0 {
		s.startTimers = slices.Delete(s.startTimers, at, at+1)
		return
	}
	s.stopTimers = append(s.stopTimers, uint64(command))
}

// decideState decides what the row says after the events. It may take a slot.
func (e *Engine) decideState(s *writeSet) error {
	inst := s.inst
	s.row = inst.row
	if s.finish != nil {
		return e.buildOutcome(s)
	}
	stopping := e.stopping.Load()
	if stopping {
		requeueWaiting(inst)
	}
	load := inst.machine.Load()
	s.row.Status, s.row.Phase, s.row.State = chargehand.Processing, inst.machine.Phase(), store.StateActive
	switch {
	case !load.HoldsSlot() && len(inst.unstarted) == 0 && !inst.runsDetached():
		s.row.State = store.StateParked
	case stopping && len(inst.calls) == 0 && (len(s.activities) > 0 || inst.commandsPending || s.yielded):
		s.row.State = store.StateReady
	case inst.lease == nil:
		if inst.lease = e.slots.acquire(inst.queue); inst.lease == nil {
			s.row.State = store.StateReady
		}
	}
	s.awaitsLease = s.row.State == store.StateReady && (inst.row.State != store.StateReady || inst.inDoubt)
	s.stateChanged = s.row.Status != inst.row.Status || s.row.Phase != inst.row.Phase || s.row.State != inst.row.State
	authoritative := inst.seq/e.limits.JournalEvents != s.fromSeq/e.limits.JournalEvents
	if authoritative || len(s.journal) > 0 && (s.row.State == store.StateParked || inst.computeTime > maxReplay || inst.sinceCheckpoint >= e.limits.ReplayEvents) {
		return e.checkpoint(s, authoritative)
	}
	return nil
}

// runsDetached reports whether a process goes on that nobody waits for. It keeps the slot: who
// parks is not found after a crash, which has ended the process.
func (inst *instance) runsDetached() bool {
	if inst.hasDetached {
		inst.hasDetached = slices.ContainsFunc(inst.machine.InFlight(), func(c machine.Command) bool { return c.Detached })
	}
	return inst.hasDetached
}

// checkpoint writes the state down. Timeline entries are part of it, until they are many.
func (e *Engine) checkpoint(s *writeSet, authoritative bool) error {
	inst := s.inst
	if authoritative || endedEntries(inst.machine) > maxStateEntries {
		var err error
		if s.chunk, err = e.timelineChunk(inst, nil, nil); err != nil {
			return err
		}
		if s.chunk != nil {
			s.chunk = inst.secrets.Seal(engine.SealedTimeline, s.chunk)
		}
	}
	inst.computeTime, inst.sinceCheckpoint = 0, 0
	state := inst.secrets.Seal(engine.SealedCheckpoint, inst.machine.Checkpoint())
	s.checkpoint = &store.Checkpoint{
		Execution: inst.no, Seq: inst.seq, Revision: inst.row.Machine,
		State: store.Payload{Inline: state, Size: int64(len(state))},
	}
	s.dropJournal = authoritative
	return nil
}

// endedEntries counts the timeline entries that the state holds only because nobody has
// taken them.
func endedEntries(m *machine.Machine) (n int) {
	for _, entry := range m.Timeline() {
		if entry.Ended() {
			n++
		}
	}
	return n
}

// buildOutcome makes the outcome.
func (e *Engine) buildOutcome(s *writeSet) error {
	inst, c := s.inst, s.finish
	s.row.Status, s.row.Phase, s.row.State = chargehand.Errored, c.Phase, store.StateEnded
	s.row.FinishedMs = inst.timeMs
	o := &store.Outcome{}
	var output value.Value
	if c.Phase == chargehand.Completed {
		s.row.Status = chargehand.Finished
		output = inst.secrets.Redact(c.Output)
		data := value.Marshal(output)
		o.Output = store.Payload{Inline: data, Size: int64(len(data))}
		s.references = engine.References(output)
		s.resultFiles = c.Files
	} else {
		o.Fault = engine.EncodeFault(inst.secrets.RedactFault(c.Fault))
	}
	if inst.machine != nil {
		var err error
		if o.Timeline, err = e.timelineChunk(inst, o, output); err != nil {
			return err
		}
	}
	s.outcome = o
	return nil
}

// timelineChunk encodes the entries that no chunk holds yet, without secrets. o is the outcome, nil while the execution
// goes on, and output what it has completed with: that is not written again.
func (e *Engine) timelineChunk(inst *instance, o *store.Outcome, output value.Value) ([]byte, error) {
	entries := inst.secrets.RedactEntries(inst.machine.TakeTimeline())
	if len(entries) == 0 {
		return nil, nil
	}
	if inst.input == nil {
		var err error
		if inst.input, err = e.input(e.ctx, &inst.row); err != nil {
			return nil, err
		}
	}
	if o != nil && o.Fault == nil {
		return machine.EncodeTimeline(nil, entries, inst.input, output), nil
	}
	return machine.EncodeTimeline(nil, entries, inst.input), nil
}

// fail ends an execution whose machine cannot go on.
func (s *writeSet) fail(f *machine.Fault, nowMs int64) {
	inst := s.inst
	inst.machine = nil
	inst.timeMs = max(nowMs, inst.row.StartedMs, inst.row.ID.Milli())
	s.finish = &machine.Command{Kind: machine.Finish, Phase: chargehand.Faulted, Fault: f}
}

// empty reports whether there is nothing to write.
func (s *writeSet) empty() bool {
	return !s.insert && !s.stateChanged && s.outcome == nil && len(s.journal) == 0 && len(s.stopTimers) == 0 &&
		len(s.unsubscribes) == 0 && len(s.delivered) == 0 && len(s.children) == 0 &&
		!slices.ContainsFunc(s.inst.subscriptions, func(l *subscription) bool { return l.dirty })
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

// write runs in the transaction.
func (s *writeSet) write(tx *store.Tx) error {
	if s.outcome != nil {
		return s.writeEnd(tx)
	}
	inst := s.inst
	switch {
	case s.insert:
		if err := tx.InsertExecution(&s.row); err != nil {
			return err
		}
		s.setNumber(s.row.No)
	case s.begin || s.stateChanged && s.row.Status != inst.row.Status:
		if err := tx.SetRunning(inst.no, s.row.Status, s.row.Phase, s.row.State, s.row.StartedMs); err != nil {
			return err
		}
	case s.stateChanged:
		if err := tx.SetState(inst.no, s.row.Phase, s.row.State); err != nil {
			return err
		}
	}
	s.rowWritten = true
	if s.insert || s.begin {
		if err := inst.secrets.Pin(tx, s.row.No); err != nil {
			return err
		}
	}
	if err := s.writeWork(tx); err != nil {
		return err
	}
	if err := s.writeOthers(tx); err != nil {
		return err
	}
	if s.also != nil {
		return s.also(tx, s.row.No)
	}
	return nil
}

func (s *writeSet) writeWork(tx *store.Tx) error {
	no := s.inst.no
	if err := s.publishFiles(tx); err != nil {
		return err
	}
	for i := range s.journal {
		if err := tx.AppendJournal(&s.journal[i]); err != nil {
			return err
		}
	}
	for _, command := range s.stopTimers {
		if err := tx.DeleteTimer(no, command); err != nil {
			return err
		}
	}
	for _, t := range s.startTimers {
		if err := tx.PutTimer(t); err != nil {
			return err
		}
	}
	if s.checkpoint != nil {
		if err := tx.PutCheckpoint(s.checkpoint); err != nil {
			return err
		}
	}
	if s.chunk != nil {
		if err := tx.AppendTimelineChunk(no, s.chunk); err != nil {
			return err
		}
	}
	if s.dropJournal {
		if err := tx.DropJournal(no, s.checkpoint.Seq); err != nil {
			return err
		}
		return tx.DropTimelineChunks(no, keptChunks)
	}
	return nil
}

// writeOthers writes what concerns others. Locks are taken in the order of package store.
func (s *writeSet) writeOthers(tx *store.Tx) error {
	if err := s.writeChildren(tx); err != nil {
		return err
	}
	if s.outcome == nil {
		if err := s.writeSubscriptions(tx); err != nil {
			return err
		}
	}
	return s.writeEvents(tx)
}

func (s *writeSet) writeEvents(tx *store.Tx) error {
	_, err := tx.InsertEvents(s.eventRows, s.inst.timeMs)
	return err
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

func (s *writeSet) publishFiles(tx *store.Tx) error {
	for _, id := range s.files {
		// A file that is gone was swept during a long outage; the data still names it.
		if err := tx.PublishFile(id, s.inst.no); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return nil
}

// writeEnd makes the execution final.
func (s *writeSet) writeEnd(tx *store.Tx) error {
	inst, row := s.inst, &s.row
	own := *row
	own.No = inst.no
	list, foreign, err := engine.Results(tx, &own, s.references, s.resultFiles, s.files, inst.inputFiles)
	if err != nil {
		return err
	}
	s.outcome.Files = list
	switch {
	case s.insert && len(s.children) == 0:
		if err := tx.InsertFinished(row, s.outcome); err != nil {
			return err
		}
		inst.no = row.No
	case s.insert: // a family counts those of it that have not ended
		first := *row
		first.Status, first.State, first.FinishedMs = chargehand.Processing, store.StateActive, 0
		if err := tx.InsertExecution(&first); err != nil {
			return err
		}
		inst.no, row.No = first.No, first.No
	case len(s.children) > 0: // they must not be written if it has ended
		now, err := tx.LockExecution(inst.no)
		if err == nil && now.State == store.StateEnded {
			err = store.ErrConflict
		}
		if err != nil {
			return err
		}
	}
	if err := s.writeChildren(tx); err != nil {
		return err
	}
	if !s.insert || len(s.children) > 0 {
		s.batchFinal, err = tx.FinishExecution(inst.no, row.Status, row.Phase, row.StartedMs, row.FinishedMs, s.outcome)
		if err != nil {
			return err
		}
	}
	s.rowWritten = true
	if err := s.publishFiles(tx); err != nil {
		return err
	}
	if err := engine.UseResults(tx, inst.no, foreign, s.outcome.Ending); err != nil {
		return err
	}
	if err := s.writeEvents(tx); err != nil {
		return err
	}
	if s.also != nil {
		return s.also(tx, inst.no)
	}
	return nil
}
