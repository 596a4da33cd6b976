package embedded

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

// send leaves a message for an execution and drives it, unless somebody else does.
func (e *Engine) send(no int64, msg message) {
	if r, drive := e.runs.put(no, msg); drive {
		e.drive(r)
	}
}

// drive is the driver of r until its mailbox is empty, or it has stalled.
func (e *Engine) drive(r *run) {
	for {
		var passedOver *source
		if r.loaded && r.row.Run == store.RunQueued {
			passedOver = r.source
		}
		messages := e.runs.take(r)
		if messages == nil {
			if passedOver != nil { // by a feeder that has found it driven
				e.slots.queued(passedOver)
			}
			return
		}
		if !e.step(r, messages) {
			return
		}
		r.recycle(messages)
	}
}

// handOver ends the caller's part as the driver of r. If messages have come in, they get
// a driver of their own.
func (e *Engine) handOver(r *run) {
	messages := e.runs.take(r)
	if messages == nil {
		return
	}
	e.goWork(func() {
		if e.step(r, messages) {
			r.recycle(messages)
			e.drive(r)
		}
	})
}

// step delivers messages in one submission. It reports false if the run has stalled: its
// messages are back in the mailbox, and somebody else will be its driver.
func (e *Engine) step(r *run, messages []message) bool {
	s := &submission{run: r}
	if slices.ContainsFunc(messages, func(m message) bool { return m.kind == verify }) {
		r.distrust() // perhaps an event has brought it into memory before this
	}
	if !r.loaded {
		if err := e.load(e.ctx, r); err != nil {
			var broken *brokenError
			if !errors.As(err, &broken) {
				return e.stall(r, messages, err)
			}
			if err := e.breakOff(s, broken.fault); err != nil {
				return e.stall(r, messages, err)
			}
		}
	}
	s.fromSeq = r.seq
	taken := 0 // messages before the end
	for taken < len(messages) && r.row.Run != store.RunEnded && s.finish == nil {
		e.receive(s, &messages[taken])
		taken++
	}
	switch {
	case r.row.Run == store.RunEnded:
	case r.row.Run == store.RunQueued && s.finish == nil: // its turn comes
		e.release(r)
	default:
		if err := e.submit(s); err != nil {
			e.pokePump(s) // they may be there all the same
			return e.stall(r, messages, err)
		}
		r.failures, r.doubtful = 0, false
		e.committed(s)
	}
	for i := range messages {
		if i >= taken {
			e.late(r, &messages[i])
		}
		e.stats.retained.Add(-messages[i].bytes)
		messages[i].answer(nil)
	}
	return true
}

// submit writes what the messages led to, if anything.
func (e *Engine) submit(s *submission) error {
	if err := e.attend(s); err != nil {
		return err
	}
	if err := e.settle(s); err != nil {
		return err
	}
	if s.empty() {
		return nil
	}
	if err := s.store(e.ctx, e.config.Blobs); err != nil {
		return err
	}
	if err := e.store.Update(e.ctx, s.write); err != nil {
		return err
	}
	e.outage.over()
	return nil
}

// attend takes in what others have for an execution: events that it listens to, and ends of
// its children. Children are started on the way, because one that cannot be has ended at once.
func (e *Engine) attend(s *submission) error {
	r := s.run
	if r.machine == nil || !r.hasOthers() {
		return nil
	}
	budget := newLookBudget()
	for range maxRounds {
		if err := e.relate(s); err != nil {
			return fmt.Errorf("start children: %w", err)
		}
		if err := e.listen(s, &budget); err != nil {
			return fmt.Errorf("look at events: %w", err)
		}
		if len(r.unstarted) == 0 || s.finish != nil {
			break
		}
	}
	if err := e.startIndependent(s); err != nil {
		return fmt.Errorf("start children: %w", err)
	}
	s.lookAgain = s.lookAgain || len(r.unstarted) > 0
	return nil
}

// hasOthers reports whether attend may find anything. Most executions neither listen nor have children.
func (r *run) hasOthers() bool {
	return r.told || len(r.unstarted) > 0 || len(r.listens) > 0 || r.machine.Load().Listens > 0
}

// maxRounds bounds how often a submission starts children and looks at events in turn.
const maxRounds = 10

// receive takes in one message.
func (e *Engine) receive(s *submission, msg *message) {
	switch msg.kind {
	case deliver:
		e.event(s, msg)
	case grant:
		e.granted(s, msg)
	case overdue:
		e.fireOverdue(s)
	case resume:
		e.countInterruptions(s)
	case verify:
		e.verified(s, msg)
	case listen:
		s.run.wake(msg.woken)
	case family:
		s.run.told = true
	}
}

// event hands an event to the machine, unless it is too late for it.
func (e *Engine) event(s *submission, msg *message) {
	r, ev := s.run, msg.event
	switch ev.Kind {
	case machine.ActivityEnded:
		if !r.dropCall(msg.call) {
			e.late(r, msg)
			return
		}
	case machine.Progressed:
		if !e.flows(r, msg) {
			return
		}
	case machine.Interrupted:
		if msg.call != nil && !r.dropCall(msg.call) {
			return
		}
	case machine.TimerFired:
		if r.timerAt(ev.Command) < 0 {
			return // stopped in the meantime, or fired already
		}
		s.dropTimer(ev.Command)
	}
	ev.TimeMs = max(r.timeMs, e.nowMs())
	s.journalEvent(ev, e.limits.ActivityOutputBytes)
	if len(msg.also) > 0 {
		s.alsoCancel(msg)
	}
}

// late deals with a message that comes after the end, or after a command was withdrawn.
func (e *Engine) late(r *run, msg *message) {
	switch {
	case msg.kind == grant, msg.kind == verify && msg.source != nil:
		e.slots.free(msg.source, 1)
	case msg.kind == deliver && msg.event.Kind == machine.Progressed:
		msg.answer(errWithdrawn)
	case msg.reply != nil:
		msg.answer(engine.ErrFinal)
	case msg.call != nil && msg.call.detached: // it may end after its execution
	case msg.kind == deliver && msg.event.Kind == machine.ActivityEnded:
		e.stats.late.Add(1)
		e.log.Info("late outcome dropped", "execution", r.row.ID, "command", msg.event.Command)
	}
	msg.kind = nothing
}

// granted takes in a slot that was granted to a woken execution.
func (e *Engine) granted(s *submission, msg *message) {
	e.holdSlot(s.run, msg)
	e.fireOverdue(s)
}

// verified takes in the slot that a doubtful execution has kept.
func (e *Engine) verified(s *submission, msg *message) {
	if msg.source != nil {
		e.holdSlot(s.run, msg)
	}
}

// holdSlot gives the slot of a message to a run, unless it has one. The run keeps it also
// if the submission fails; so the message must not give it again.
func (e *Engine) holdSlot(r *run, msg *message) {
	msg.kind = nothing
	if r.slot {
		e.slots.free(msg.source, 1)
	}
	r.slot = true
}

// fireOverdue delivers the timers that are due, by due time.
func (e *Engine) fireOverdue(s *submission) {
	r := s.run
	now := max(r.timeMs, e.nowMs())
	due := slices.DeleteFunc(slices.Clone(r.timers), func(t store.Timer) bool { return t.DueMs > now })
	slices.SortFunc(due, func(a, b store.Timer) int {
		if before(a, b) {
			return -1
		}
		return 1
	})
	for _, t := range due {
		if s.finish != nil {
			return
		}
		command := machine.CommandID(t.Command)
		if r.timerAt(command) < 0 {
			continue // stopped by the one before
		}
		s.dropTimer(command)
		s.journalEvent(machine.Event{Kind: machine.TimerFired, TimeMs: now, Command: command}, e.limits.ActivityOutputBytes)
	}
}

// countInterruptions tells the machine which activities the stop of the server cut off.
// It answers with the same commands again, or with faults (T91).
func (e *Engine) countInterruptions(s *submission) {
	r := s.run
	open := make(map[machine.CommandID]bool)
	for _, c := range r.machine.InFlight() {
		if c.Kind == machine.RunActivity {
			open[c.ID] = true
		}
	}
	now := max(r.timeMs, e.nowMs())
	for _, id := range r.suspects {
		if s.finish != nil {
			return
		}
		if open[id] {
			e.stats.interruptions.Add(1)
			s.journalEvent(machine.Event{Kind: machine.Interrupted, TimeMs: now, Command: id}, e.limits.ActivityOutputBytes)
		}
	}
	s.resumed = true
}

// committed carries out what a durable submission asks for.
func (e *Engine) committed(s *submission) {
	r, before := s.run, s.run.row.Status
	if r.row.Run == store.RunQueued && r.row.Batch == 0 && !s.insert {
		e.queue.leave(r.row.Workflow)
	}
	r.row = s.row
	if s.resumed {
		r.recovering, r.suspects = false, nil
	}
	if r.slot && r.row.Run != store.RunActive {
		r.slot = false
		e.slots.free(r.source, 1)
	}
	if s.wake {
		e.slots.wake(r.source, r.no)
	}
	e.moveTimers(s)
	for _, id := range s.stops {
		if c := r.callOf(id); c != nil {
			r.dropCall(c)
			c.pool.withdraw(c)
		}
	}
	e.stats.published.Add(int64(len(s.events)))
	e.pokePump(s)
	e.resumeStreams(r)
	e.listenCommitted(s)
	e.childrenCommitted(s)
	if s.outcome != nil {
		e.ended(s)
	} else {
		e.goOn(s)
	}
	if s.lookAgain && s.outcome == nil {
		e.goWork(func() { e.send(r.no, message{kind: look}) })
	}
	if r.row.Status != before {
		e.watches.notify(r.row.ID)
	}
}

func (e *Engine) moveTimers(s *submission) {
	r := s.run
	for _, command := range s.stopTimers {
		e.timers.remove(r.no, command)
	}
	if s.outcome != nil {
		for _, t := range r.timers {
			e.timers.remove(t.Execution, t.Command)
		}
		r.timers = nil
		return
	}
	for _, t := range s.startTimers {
		e.timers.add(t)
	}
}

// ended lets go of everything that an execution held.
func (e *Engine) ended(s *submission) {
	r := s.run
	if e.config.Tracer != nil && r.row.Trace != nil {
		row := r.row
		e.goWork(func() { engine.TraceEnd(e.ctx, e.config.Tracer, e.store, &row, e.log) })
	}
	for _, c := range r.calls {
		// What nobody waits for goes on, unless the execution has failed (T67).
		if !c.detached || r.row.Status != chargehand.Finished {
			c.pool.withdraw(c)
		}
	}
	if r.row.Status == chargehand.Finished && !e.stopping.Load() {
		for i := range s.activities {
			if s.activities[i].Detached {
				e.startActivity(r, &s.activities[i])
			}
		}
	}
	r.calls, r.machine, r.secrets = nil, nil, nil
	r.row.Input = store.Payload{}
	if r.row.Status == chargehand.Finished {
		e.stats.finished.Add(1)
	} else {
		e.stats.failed.Add(1)
	}
	if s.batchFinal {
		e.slots.forget(r.row.Batch)
		e.watches.notify(r.source.batchID)
	}
}

// goOn starts the activities that may start and answers a yield. What may not start yet
// is found in the machine later.
func (e *Engine) goOn(s *submission) {
	r := s.run
	if r.row.Run != store.RunActive || r.recovering || e.stopping.Load() {
		r.held = r.held || len(s.activities) > 0 || s.yielded
		return
	}
	activities, yielded := s.activities, s.yielded
	if r.held {
		r.held = false
		activities = r.machine.InFlight()
		yielded = r.machine.Load().Yielded
	}
	for i := range activities {
		c := &activities[i]
		if c.Kind == machine.RunActivity && r.callOf(c.ID) == nil {
			e.startActivity(r, c)
		}
	}
	if yielded {
		e.continueLater(r)
	}
}

// continueLater answers a yield when it is this execution's turn to compute.
func (e *Engine) continueLater(r *run) {
	e.goWork(func() {
		select {
		case e.yields <- struct{}{}:
		case <-e.ctx.Done():
			return
		}
		defer func() { <-e.yields }()
		e.send(r.no, message{kind: deliver, event: machine.Event{Kind: machine.Continued}})
	})
}

// standDown takes activities that have not started out of the line, so that the stop of
// the server does not count as their interruption.
func standDown(r *run) {
	for _, c := range slices.Clone(r.calls) {
		if c.pool.unqueue(c) {
			r.dropCall(c)
			r.held = true
		}
	}
}

// stall gives up a submission that failed: the machine is discarded, and the messages are
// delivered again later to the one that is rebuilt from the store. A slot that was taken is
// kept, because the row may say so by now. It always reports false.
func (e *Engine) stall(r *run, messages []message, err error) bool {
	var refused *refusedError
	if !errors.As(err, &refused) {
		e.stats.failures.Add(1)
	}
	kept := e.retain(r, messages, err, refused)
	if len(kept) == 0 {
		kept = []message{{kind: look}} // at what the store says now
	}
	r.distrust()
	r.putBack(kept)
	switch {
	case refused != nil: // the others go on without it
		e.goWork(func() { e.drive(r) })
	case e.ctx.Err() != nil: // the engine has stopped
	case errors.Is(err, store.ErrUnavailable):
		e.outage.stall(r)
		return false
	default:
		r.failures++
		e.log.Error("a submission failed", "execution", r.no, "failures", r.failures, "error", err)
		e.goWork(func() {
			if e.sleep(min(minBackoff<<min(r.failures, 10), maxBackoff)) {
				e.drive(r)
			}
		})
	}
	return false
}

// retain sorts out the messages that are delivered again. Who waits for an answer is told
// at once, but a cancellation that was refused concerns its own caller only. Outcomes beyond
// what may be kept are given up: their activities run again.
func (e *Engine) retain(r *run, messages []message, err error, refused *refusedError) []message {
	var kept []message
	for _, msg := range messages {
		if msg.kind == nothing {
			continue
		}
		switch {
		case msg.event.Kind == machine.Progressed: // whoever has handed it over waits until it is durable
		case msg.reply != nil && refused == nil:
			msg.answer(unavailable(err))
			continue
		case msg.reply != nil && refused != nil && msg.reply == refused.reply:
			msg.answer(refused.cause)
			continue
		}
		if msg.call != nil && msg.event.Kind == machine.ActivityEnded {
			if msg.bytes == 0 {
				msg.bytes = int64(1 + expr.Size(msg.event.Output))
				e.stats.retained.Add(msg.bytes)
			}
			if e.stats.retained.Load() > e.limits.RetainedBytes {
				e.stats.retained.Add(-msg.bytes)
				e.log.Warn("an outcome is given up for lack of memory; its activity will run again",
					"execution", r.no, "bytes", msg.bytes)
				msg.event = machine.Event{Kind: machine.Interrupted, Command: msg.event.Command}
				msg.bytes = 0
			}
			if r.callOf(msg.call.command) == nil {
				r.calls = append(r.calls, msg.call) // its outcome has not been journaled
			}
		}
		kept = append(kept, msg)
	}
	return kept
}

// unavailable is what a caller is told whose request could not be written.
func unavailable(err error) error {
	if errors.Is(err, context.Canceled) {
		return store.ErrUnavailable
	}
	return err
}
