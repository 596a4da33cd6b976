package embedded

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

// submission is what one execution writes in one transaction, and what is to be done when
// that is durable. It is built by the driver of the run, written by the writer, and
// carried out by the driver again.
type submission struct {
	run *run

	// How the row comes about or moves.
	insert  bool // the row is new
	begin   bool // the row was queued
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
	events     []expr.Value // to publish
	yielded    bool
	finish     *machine.Command
	wake       bool // it joins the line for a slot

	resumed bool // interruptions were counted: recovery is over for the run
	broken  bool // it ends the execution because a submission before it failed

	// Set by the transaction.
	moved      bool // the row is as it should be
	conflict   bool // the execution was ended by somebody else
	batchFinal bool
}

// refusedError says that the caller of a cancellation wants it undone.
type refusedError struct {
	cause error
	reply chan<- error // of that caller
}

func (r *refusedError) Error() string { return r.cause.Error() }
func (r *refusedError) Unwrap() error { return r.cause }

// alsoCancel makes the wishes of a cancellation part of the transaction. There is one
// cancellation in a submission: what comes after it is too late.
func (s *submission) alsoCancel(msg *message) {
	also, reply := msg.also, msg.reply
	s.also = func(tx *store.Tx, _ int64) error {
		err := engine.DoAlso(tx, also)
		if err == nil || errors.Is(err, store.ErrUnavailable) {
			return err
		}
		return &refusedError{err, reply}
	}
}

// journalEvent applies an event to the machine and takes in what it causes.
func (s *submission) journalEvent(ev machine.Event, maxBytes int) {
	r := s.run
	var payload []byte
	if ev.Kind == machine.ActivityEnded {
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
	s.take(commands)
	for _, f := range ev.Files {
		var id chargehand.FileID
		if id.UnmarshalText([]byte(f.ID)) == nil {
			s.files = append(s.files, id)
		}
	}
	if s.finish != nil {
		return // the journal goes away
	}
	if payload == nil {
		payload = machine.AppendEvent(nil, stripped(ev))
	}
	r.seq++
	r.behind++
	s.journal = append(s.journal, store.JournalRow{
		Execution: r.no, Seq: r.seq,
		Event:  store.Payload{Inline: payload, Size: int64(len(payload))},
		Digest: machine.Digest(commands),
	})
}

// stripped is the event as it is journaled: the input of the first one stands in the row.
func stripped(ev machine.Event) machine.Event {
	if ev.Kind == machine.Started {
		ev.Output = nil
	}
	return ev
}

// take sorts the commands of an event.
func (s *submission) take(commands []machine.Command) {
	r := s.run
	for i := range commands {
		c := &commands[i]
		switch c.Kind {
		case machine.RunActivity:
			s.activities = append(s.activities, *c)
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
			s.events = append(s.events, c.Args)
		case machine.Yield:
			s.yielded = true
		case machine.Finish:
			s.finish = c
		}
	}
}

// dropTimer forgets a timer that fired or was stopped.
func (s *submission) dropTimer(command machine.CommandID) {
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

// settle decides what the row says after the events. It may take a slot.
func (e *Engine) settle(s *submission) error {
	r := s.run
	s.row = r.row
	if s.finish != nil {
		return e.settleEnd(s)
	}
	stopping := e.stopping.Load()
	if stopping {
		standDown(r)
	}
	load := r.machine.Load()
	s.row.Status, s.row.Phase = chargehand.Processing, r.machine.Phase()
	switch {
	case !load.HoldsSlot():
		s.row.Run = store.RunParked
	case stopping && len(r.calls) == 0 && (len(s.activities) > 0 || r.held || s.yielded):
		s.row.Run = store.RunReady
	case r.slot:
		s.row.Run = store.RunActive
	case e.slots.take(r.source):
		r.slot = true
		s.row.Run = store.RunActive
	default:
		s.row.Run = store.RunReady
	}
	s.wake = s.row.Run == store.RunReady && (r.row.Run != store.RunReady || r.doubtful)
	s.move = s.row.Status != r.row.Status || s.row.Phase != r.row.Phase || s.row.Run != r.row.Run
	authoritative := r.seq/e.limits.JournalEvents != s.fromSeq/e.limits.JournalEvents
	if authoritative || len(s.journal) > 0 && (s.row.Run == store.RunParked || r.computed > maxReplay || r.behind >= e.limits.ReplayEvents) {
		return e.checkpoint(s, authoritative)
	}
	return nil
}

// checkpoint writes the state down. Timeline entries are part of it, until they are many.
func (e *Engine) checkpoint(s *submission, authoritative bool) error {
	r := s.run
	if authoritative || endedEntries(r.machine) > maxStateEntries {
		var err error
		if s.chunk, err = e.timelineChunk(r, nil); err != nil {
			return err
		}
	}
	r.computed, r.behind = 0, 0
	state := r.machine.Checkpoint()
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

// settleEnd makes the outcome.
func (e *Engine) settleEnd(s *submission) error {
	r, c := s.run, s.finish
	s.row.Status, s.row.Phase, s.row.Run = chargehand.Errored, c.Phase, store.RunEnded
	s.row.FinishedMs = r.timeMs
	o := &store.Outcome{}
	if c.Phase == chargehand.Completed {
		s.row.Status = chargehand.Finished
		data := expr.Marshal(c.Output)
		o.Output = store.Payload{Inline: data, Size: int64(len(data))}
		s.references = engine.References(c.Output)
		s.resultFiles = c.Files
	} else {
		o.Fault = engine.EncodeFault(c.Fault)
	}
	if r.machine != nil {
		var err error
		if o.Timeline, err = e.timelineChunk(r, c); err != nil {
			return err
		}
	}
	s.outcome = o
	return nil
}

// timelineChunk encodes the entries that no chunk holds yet. finish is the last command,
// nil while the execution goes on.
func (e *Engine) timelineChunk(r *run, finish *machine.Command) ([]byte, error) {
	entries := r.machine.TakeTimeline()
	if len(entries) == 0 {
		return nil, nil
	}
	if r.input == nil {
		var err error
		if r.input, err = e.input(e.ctx, &r.row); err != nil {
			return nil, err
		}
	}
	if finish != nil && finish.Phase == chargehand.Completed {
		return machine.EncodeTimeline(nil, entries, r.input, finish.Output), nil
	}
	return machine.EncodeTimeline(nil, entries, r.input), nil
}

// breakOff ends an execution whose machine cannot go on.
func (s *submission) breakOff(f *machine.Fault, nowMs int64) {
	r := s.run
	r.machine = nil
	r.timeMs = max(nowMs, r.row.StartedMs, r.row.ID.Milli())
	s.finish = &machine.Command{Kind: machine.Finish, Phase: chargehand.Faulted, Fault: f}
}

// empty reports whether there is nothing to write.
func (s *submission) empty() bool {
	return !s.insert && !s.move && s.outcome == nil && len(s.journal) == 0 && len(s.stopTimers) == 0
}

// store puts what is too large for a row into the blob store.
func (s *submission) store(ctx context.Context, blobs engine.Blobs) error {
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
func (s *submission) write(tx *store.Tx) error {
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
		if err := tx.SetRunning(r.no, s.row.Status, s.row.Phase, s.row.Run, s.row.StartedMs); err != nil {
			return err
		}
	case s.move:
		if err := tx.SetRun(r.no, s.row.Phase, s.row.Run); err != nil {
			return err
		}
	}
	s.moved = true
	if err := s.writeWork(tx); err != nil {
		return err
	}
	if s.also != nil {
		return s.also(tx, s.row.No)
	}
	return nil
}

func (s *submission) writeWork(tx *store.Tx) error {
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

// number gives the execution's number, which the insertion has assigned, to what refers to it.
func (s *submission) number(no int64) {
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

func (s *submission) publishFiles(tx *store.Tx) error {
	for _, id := range s.files {
		// A file that is gone was swept during a long outage; the data still names it.
		if err := tx.PublishFile(id, s.run.no); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return nil
}

// writeEnd makes the execution final.
func (s *submission) writeEnd(tx *store.Tx) error {
	r, row := s.run, &s.row
	own := *row
	own.No = r.no
	list, foreign, err := engine.Results(tx, &own, s.references, s.resultFiles, s.files)
	if err != nil {
		return err
	}
	s.outcome.Files = list
	if s.insert {
		if err := tx.InsertFinished(row, s.outcome); err != nil {
			return err
		}
		r.no = row.No
	} else {
		s.batchFinal, err = tx.FinishExecution(r.no, row.Status, row.Phase, row.StartedMs, row.FinishedMs, s.outcome)
		if err != nil {
			return err
		}
	}
	s.moved = true
	if err := s.publishFiles(tx); err != nil {
		return err
	}
	for _, file := range foreign {
		if err := tx.UseFile(file, r.no); err != nil {
			return err
		}
	}
	if s.also != nil {
		return s.also(tx, r.no)
	}
	return nil
}
