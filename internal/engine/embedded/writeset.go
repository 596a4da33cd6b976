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
	run      *run
	self     [1]*writeSet // see alone
	messages []message
	taken    int  // messages before the end
	grouped  bool // it is written with those of other executions, by their scheduler
	idle     bool // there is nothing to write and nothing to carry out

	// How the row comes about or moves.
	insert  bool // the row is new
	begin   bool // with the first event of the execution
	move    bool // status, phase or run differ from row
	row     store.Execution
	also    func(tx *store.Tx, executionNo int64) error
	fromSeq int64 // of the last event before it

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
	activities []machine.Command
	stops      []machine.CommandID
	events     []engine.Publication
	yielded    bool
	finish     *machine.Command
	wake       bool // it joins the line for a slot

	// What others are told, and what is taken in from them.
	stored       []store.Event // events, ready to be written
	unsubscribes []uint64
	children     []*engine.ChildStart
	reserved     int          // children that count as executions of the tree (trees)
	withdrawn    *store.Child // the link to its parent, which needs its end no more
	counted      bool         // the children are counted as queued
	childStarted []bool       // by this transaction; others are there already
	stopChildren []machine.CommandID
	delivered    []int64        // children of whose end it was told
	listened     []listenResult // of the subscriptions that it touches, in their order; set by the transaction

	lookAgain bool // there is more to take in
	resumed   bool // interruptions were counted: recovery is over for the run
	// Set by the transaction.
	moved      bool // the row is as it should be
	written    bool // all of it, though perhaps not committed
	conflict   bool // another transaction has ended the execution
	batchFinal bool
	cancelled  bool // children must be cancelled
}

// nextWriteSet returns an empty write set for the messages of an execution.
func nextWriteSet(r *run, messages []message) *writeSet {
	s := r.used
	if r.used = nil; s == nil {
		s = &writeSet{run: r}
	}
	s.messages = messages
	return s
}

// reuse empties s for the next step of its execution. An execution that is in memory takes many.
func (s *writeSet) reuse() {
	clear(s.journal)
	clear(s.activities)
	*s = writeSet{run: s.run, journal: s.journal[:0], activities: s.activities[:0]}
	s.run.used = s
}

// alone is a list of s only, which costs no allocation.
func (s *writeSet) alone() []*writeSet {
	s.self[0] = s
	return s.self[:]
}

// refusedError says that the caller of a cancellation wants it undone.
type refusedError struct {
	cause error
	reply chan<- error // of that caller
}

func (r *refusedError) Error() string { return r.cause.Error() }
func (r *refusedError) Unwrap() error { return r.cause }

// alsoCancel makes the wishes of a cancellation part of the transaction. There is one
// cancellation in a write set: what comes after it is too late.
func (s *writeSet) alsoCancel(msg *message) {
	also, reply := msg.also, msg.reply
	s.also = func(tx *store.Tx, _ int64) error {
		err := engine.DoAlso(tx, also)
		if err == nil || errors.Is(err, store.ErrUnavailable) {
			return err
		}
		return &refusedError{err, reply}
	}
}

// apply applies an event to the machine and takes in what it causes. It returns the
// size of what is journaled.
func (s *writeSet) apply(ev machine.Event, maxBytes int) int {
	r := s.run
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
	commands := r.machine.Apply(ev)
	r.computed += time.Since(begin)
	r.timeMs = ev.TimeMs
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
	payload = r.secrets.Seal(engine.SealedEvent, payload)
	r.seq++
	r.behind++
	s.journal = append(s.journal, store.JournalRow{
		Execution: r.no, Seq: r.seq,
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
	r := s.run
	for i := range commands {
		c := &commands[i]
		switch c.Kind {
		case machine.RunActivity:
			s.activities = append(s.activities, *c)
			r.detached = r.detached || c.Detached
		case machine.StopActivity:
			at := slices.IndexFunc(s.activities, func(a machine.Command) bool { return a.ID == c.ID })
			if at >= 0 {
				s.activities = slices.Delete(s.activities, at, at+1)
			} else {
				s.stops = append(s.stops, c.ID)
			}
		case machine.StartTimer:
			t := store.Timer{Execution: r.no, Command: uint64(c.ID), DueMs: c.DueMs}
			r.timers = append(r.timers, t)
			s.startTimers = append(s.startTimers, t)
		case machine.StopTimer:
			s.dropTimer(c.ID)
		case machine.Publish:
			s.events = append(s.events, engine.Emitted(r.row.ID, c.ID, r.secrets.Redact(c.Args)))
		case machine.StartChild:
			r.unstarted = append(r.unstarted, *c)
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
	r := s.run
	started := len(r.unstarted) + len(s.children)
	r.unstarted = slices.DeleteFunc(r.unstarted, func(c machine.Command) bool { return c.ID == id })
	s.children = slices.DeleteFunc(s.children, func(c *engine.ChildStart) bool { return c.Link.Command == uint64(id) })
	if len(r.unstarted)+len(s.children) == started {
		s.stopChildren = append(s.stopChildren, id)
	}
}

// dropTimer forgets a timer that fired or was stopped.
func (s *writeSet) dropTimer(command machine.CommandID) {
	r := s.run
	if at := r.timerAt(command); at >= 0 {
		r.timers = slices.Delete(r.timers, at, at+1)
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
	r := s.run
	s.row = r.row
	if s.finish != nil {
		return e.buildOutcome(s)
	}
	stopping := e.stopping.Load()
	if stopping {
		requeueWaiting(r)
	}
	load := r.machine.Load()
	s.row.Status, s.row.Phase, s.row.State = chargehand.Processing, r.machine.Phase(), store.StateActive
	switch {
	case !load.HoldsSlot() && len(r.unstarted) == 0 && !r.runsDetached():
		s.row.State = store.StateParked
	case stopping && len(r.calls) == 0 && (len(s.activities) > 0 || r.held || s.yielded):
		s.row.State = store.StateReady
	case r.lease == nil:
		if r.lease = e.slots.take(r.queue); r.lease == nil {
			s.row.State = store.StateReady
		}
	}
	s.wake = s.row.State == store.StateReady && (r.row.State != store.StateReady || r.inDoubt)
	s.move = s.row.Status != r.row.Status || s.row.Phase != r.row.Phase || s.row.State != r.row.State
	authoritative := r.seq/e.limits.JournalEvents != s.fromSeq/e.limits.JournalEvents
	if authoritative || len(s.journal) > 0 && (s.row.State == store.StateParked || r.computed > maxReplay || r.behind >= e.limits.ReplayEvents) {
		return e.checkpoint(s, authoritative)
	}
	return nil
}

// runsDetached reports whether a process goes on that nobody waits for. It keeps the slot: who
// parks is not found after a crash, which has ended the process.
func (r *run) runsDetached() bool {
	if r.detached {
		r.detached = slices.ContainsFunc(r.machine.InFlight(), func(c machine.Command) bool { return c.Detached })
	}
	return r.detached
}

// checkpoint writes the state down. Timeline entries are part of it, until they are many.
func (e *Engine) checkpoint(s *writeSet, authoritative bool) error {
	r := s.run
	if authoritative || endedEntries(r.machine) > maxStateEntries {
		var err error
		if s.chunk, err = e.timelineChunk(r, nil, nil); err != nil {
			return err
		}
		if s.chunk != nil {
			s.chunk = r.secrets.Seal(engine.SealedTimeline, s.chunk)
		}
	}
	r.computed, r.behind = 0, 0
	state := r.secrets.Seal(engine.SealedCheckpoint, r.machine.Checkpoint())
	s.checkpoint = &store.Checkpoint{
		Execution: r.no, Seq: r.seq, Revision: r.row.Machine,
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
	r, c := s.run, s.finish
	s.row.Status, s.row.Phase, s.row.State = chargehand.Errored, c.Phase, store.StateEnded
	s.row.FinishedMs = r.timeMs
	o := &store.Outcome{}
	var output value.Value
	if c.Phase == chargehand.Completed {
		s.row.Status = chargehand.Finished
		output = r.secrets.Redact(c.Output)
		data := value.Marshal(output)
		o.Output = store.Payload{Inline: data, Size: int64(len(data))}
		s.references = engine.References(output)
		s.resultFiles = c.Files
	} else {
		o.Fault = engine.EncodeFault(r.secrets.RedactFault(c.Fault))
	}
	if r.machine != nil {
		var err error
		if o.Timeline, err = e.timelineChunk(r, o, output); err != nil {
			return err
		}
	}
	s.outcome = o
	return nil
}

// timelineChunk encodes the entries that no chunk holds yet, without secrets. o is the outcome, nil while the execution
// goes on, and output what it has completed with: that is not written again.
func (e *Engine) timelineChunk(r *run, o *store.Outcome, output value.Value) ([]byte, error) {
	entries := r.secrets.RedactEntries(r.machine.TakeTimeline())
	if len(entries) == 0 {
		return nil, nil
	}
	if r.input == nil {
		var err error
		if r.input, err = e.input(e.ctx, &r.row); err != nil {
			return nil, err
		}
	}
	if o != nil && o.Fault == nil {
		return machine.EncodeTimeline(nil, entries, r.input, output), nil
	}
	return machine.EncodeTimeline(nil, entries, r.input), nil
}

// fail ends an execution whose machine cannot go on.
func (s *writeSet) fail(f *machine.Fault, nowMs int64) {
	r := s.run
	r.machine = nil
	r.timeMs = max(nowMs, r.row.StartedMs, r.row.ID.Milli())
	s.finish = &machine.Command{Kind: machine.Finish, Phase: chargehand.Faulted, Fault: f}
}

// empty reports whether there is nothing to write.
func (s *writeSet) empty() bool {
	return !s.insert && !s.move && s.outcome == nil && len(s.journal) == 0 && len(s.stopTimers) == 0 &&
		len(s.unsubscribes) == 0 && len(s.delivered) == 0 && len(s.children) == 0 &&
		!slices.ContainsFunc(s.run.listens, func(l *listening) bool { return l.touched })
}

// offload puts what is too large for a row into the blob store.
func (s *writeSet) offload(ctx context.Context, blobs engine.Blobs) error {
	if len(s.events) > 0 {
		var err error
		s.stored, err = engine.StoredEvents(ctx, blobs, s.row.Account, s.row.Environment, s.events)
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
	r := s.run
	switch {
	case s.insert:
		if err := tx.InsertExecution(&s.row); err != nil {
			return err
		}
		s.number(s.row.No)
	case s.begin || s.move && s.row.Status != r.row.Status:
		if err := tx.SetRunning(r.no, s.row.Status, s.row.Phase, s.row.State, s.row.StartedMs); err != nil {
			return err
		}
	case s.move:
		if err := tx.SetState(r.no, s.row.Phase, s.row.State); err != nil {
			return err
		}
	}
	s.moved = true
	if s.insert || s.begin {
		if err := r.secrets.Pin(tx, s.row.No); err != nil {
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
	no := s.run.no
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
		if err := s.writeListens(tx); err != nil {
			return err
		}
	}
	return s.writeEvents(tx)
}

func (s *writeSet) writeEvents(tx *store.Tx) error {
	_, err := tx.InsertEvents(s.stored, s.run.timeMs)
	return err
}

// number gives the execution's number, which the insertion has assigned, to what refers to it.
func (s *writeSet) number(no int64) {
	r := s.run
	r.no = no
	for i := range s.journal {
		s.journal[i].Execution = no
	}
	for i := range s.startTimers {
		s.startTimers[i].Execution = no
	}
	for i := range r.timers {
		r.timers[i].Execution = no
	}
	if s.checkpoint != nil {
		s.checkpoint.Execution = no
	}
}

func (s *writeSet) publishFiles(tx *store.Tx) error {
	for _, id := range s.files {
		// A file that is gone was swept during a long outage; the data still names it.
		if err := tx.PublishFile(id, s.run.no); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return nil
}

// writeEnd makes the execution final.
func (s *writeSet) writeEnd(tx *store.Tx) error {
	r, row := s.run, &s.row
	own := *row
	own.No = r.no
	list, foreign, err := engine.Results(tx, &own, s.references, s.resultFiles, s.files, r.given)
	if err != nil {
		return err
	}
	s.outcome.Files = list
	switch {
	case s.insert && len(s.children) == 0:
		if err := tx.InsertFinished(row, s.outcome); err != nil {
			return err
		}
		r.no = row.No
	case s.insert: // a family counts those of it that have not ended
		first := *row
		first.Status, first.State, first.FinishedMs = chargehand.Processing, store.StateActive, 0
		if err := tx.InsertExecution(&first); err != nil {
			return err
		}
		r.no, row.No = first.No, first.No
	case len(s.children) > 0: // they must not be written if it has ended
		now, err := tx.LockExecution(r.no)
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
		s.batchFinal, err = tx.FinishExecution(r.no, row.Status, row.Phase, row.StartedMs, row.FinishedMs, s.outcome)
		if err != nil {
			return err
		}
	}
	s.moved = true
	if err := s.publishFiles(tx); err != nil {
		return err
	}
	if err := engine.UseResults(tx, r.no, foreign, s.outcome.Ending); err != nil {
		return err
	}
	if err := s.writeEvents(tx); err != nil {
		return err
	}
	if s.also != nil {
		return s.also(tx, r.no)
	}
	return nil
}
