package temporal

import (
	"cmp"
	"errors"
	"slices"

	sdk "go.temporal.io/sdk/temporal"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

// maxSeen bounds the message numbers that a workflow remembers. The relay repeats a message
// within seconds, long before a thousand others have come.
const maxSeen = 1000

// receive applies everything that has happened: messages, then outcomes, then timers. The machine ignores the outcomes
// of commands that it has withdrawn.
func (r *run) receive() {
	r.receiveMessages()
	r.receiveStreams()
	r.receiveCancel()
	if f := r.pausing; f != nil && f.IsReady() {
		r.pausing = nil
	}
	r.receiveReported()
	r.receivePublished()
	r.receivePages()
	r.applyPages()
	r.receiveChildren()
	r.receiveTasks()
	r.receiveOutcomes()
	r.receiveTimers()
}

func (r *run) receiveMessages() {
	for {
		var m message
		if !r.signals.ReceiveAsync(&m) {
			return
		}
		// A grant names the state report that it answers, so it may come again. Its number need not be
		// new either: a database that was restored to an older state gives numbers out again.
		if !r.remember(m.No) && m.Kind != kindGrant {
			continue
		}
		switch m.Kind {
		case kindCancel:
			r.isFinal = true
			r.apply(machine.Event{Kind: machine.CancelRequested, Detail: m.Reason})
		case kindGrant:
			r.granted(m.Report)
		case kindEvents:
			r.wakeListens()
		case kindChild:
			r.children.ended = true
		case kindAnswer:
			r.readAnswer(m.Task)
		case kindSuspend, kindResume:
			r.switchSuspension(&m)
		}
	}
}

// remember reports whether the message of that number is new.
func (r *run) remember(no int64) bool {
	if slices.Contains(r.seen, no) {
		return false
	}
	r.seen = append(r.seen, no)
	if extra := len(r.seen) - maxSeen; extra > 0 {
		r.seen = slices.Delete(r.seen, 0, extra)
	}
	return true
}

// receiveCancel applies a cancellation of the workflow that was made in Temporal itself.
func (r *run) receiveCancel() {
	if r.canceled.Err() != nil && !r.cancelNotified {
		r.cancelNotified = true
		r.apply(machine.Event{Kind: machine.CancelRequested, Detail: "The workflow was cancelled in Temporal."})
	}
}

func (r *run) receiveOutcomes() {
	var ended []*pendingCommand
	r.calls = slices.DeleteFunc(r.calls, func(f *pendingCommand) bool {
		if !f.ended() {
			return false
		}
		ended = append(ended, f)
		return true
	})
	for _, f := range ended {
		err := f.future.Get(r.ctx, nil)
		if err != nil && isNotBegun(err) {
			r.requeue(f.command)
		} else if !f.cut || err == nil {
			r.apply(r.outcomeOf(f))
		}
		f.cancel() // lets go of its context
	}
}

// ended reports whether the outcome of a pending command may be applied: the messages of its stream come first.
func (f *pendingCommand) ended() bool { return f.future.IsReady() && !f.flows() }

// outcomeOf is the event that an attempt leads to. A fault is an outcome; an error says that the attempt was lost.
func (r *run) outcomeOf(f *pendingCommand) machine.Event {
	ev := machine.Event{Kind: machine.ActivityEnded, Command: f.id}
	var o outcome
	err := f.future.Get(r.ctx, &o)
	var failed *sdk.ActivityError
	switch {
	case err == nil:
		ev.Fault, ev.Files, ev.Detail = o.Fault, o.Files, o.Document
		if len(o.Output) > 0 {
			ev.Output, err = value.Parse(o.Output, value.Limits{Depth: value.MaxDepth})
		}
	case errors.As(err, &failed) && isInterruption(err):
		return machine.Event{Kind: machine.Interrupted, Command: f.id}
	}
	if err != nil {
		ev.Output, ev.Files = nil, nil
		ev.Fault = engine.SystemFault(engine.CodeInternal, "The outcome of the task cannot be read: "+err.Error())
	}
	return ev
}

// isInterruption reports whether an attempt was lost: its worker died or cut it off while stopping, or the store of
// large payloads was away when its arguments were read or its outcome was written. Only a panic of our own code is no
// interruption, because it would come again.
func isInterruption(err error) bool {
	var panicked *sdk.PanicError
	return !errors.As(err, &panicked)
}

func (r *run) receiveTimers() {
	var fired []*pendingCommand
	r.timers = slices.DeleteFunc(r.timers, func(f *pendingCommand) bool {
		if !f.future.IsReady() {
			return false
		}
		fired = append(fired, f)
		return true
	})
	slices.SortFunc(fired, func(a, b *pendingCommand) int {
		return cmp.Or(cmp.Compare(a.dueMs, b.dueMs), cmp.Compare(a.id, b.id))
	})
	for _, f := range fired {
		// Temporal's clocks need not agree; a timer that has fired is due.
		if !r.expire(f) {
			r.apply(machine.Event{Kind: machine.TimerFired, TimeMs: f.dueMs, Command: f.id})
		}
		f.cancel()
	}
}
