package temporal

import (
	"encoding/json"
	"fmt"
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

// maxPublishBytes and maxPublished bound the events of one publish activity.
const (
	maxPublishBytes = 1 << 20
	maxPublished    = 500
)

// bus publishes events into the stream of the environment: in order, one activity at a time.
type bus struct {
	queue   []emitted
	sending workflow.Future
}

// emitted is an event of an emit task.
type emitted struct {
	command uint64
	event   json.RawMessage
}

func (b *bus) idle() bool { return b.sending == nil && len(b.queue) == 0 }

// publication is the event of a Publish command, without secrets.
func (r *run) publication(c *machine.Command) emitted {
	return emitted{command: uint64(c.ID), event: value.Marshal(r.secrets.Redact(c.Args))}
}

// takeEnd takes the lifecycle event about the end out of the queue, which it is the last of: the activity finish stores
// it, so that it says nothing before the row does. The zero value: there is none, or it says what the row says already.
func (r *run) takeEnd() (last emitted) {
	b := &r.bus
	known := r.isFinal && r.finish.Phase == chargehand.Cancelled
	if !r.argument.TellsEnd || r.argument.Lifecycle == nil || known || len(b.queue) == 0 {
		return emitted{}
	}
	last = b.queue[len(b.queue)-1]
	b.queue = b.queue[:len(b.queue)-1]
	return last
}

// publish sends the queued events, unless an activity is in flight.
func (r *run) publish() {
	b := &r.bus
	if b.sending != nil || len(b.queue) == 0 {
		return
	}
	a := r.argument
	in := publishing{No: a.No, Environment: a.Environment, Execution: a.Execution}
	most := min(len(b.queue), maxPublished)
	for bytes := 0; len(in.Events) < most; {
		next := &b.queue[len(in.Events)]
		if bytes += len(next.event); bytes > maxPublishBytes && len(in.Events) > 0 {
			break
		}
		in.Events, in.Commands = append(in.Events, next.event), append(in.Commands, next.command)
	}
	b.queue = b.queue[len(in.Events):]
	b.sending = r.write(publishType, in)
}

// receivePublished takes in the end of a publish activity; then publish may send the next events.
func (r *run) receivePublished() {
	b := &r.bus
	if b.sending == nil || !b.sending.IsReady() {
		return
	}
	if err := b.sending.Get(r.ctx, nil); err != nil {
		r.failure = fmt.Errorf("publish events: %w", err)
	}
	b.sending = nil
}

// end writes the end of the execution and completes the workflow, once nothing of it runs any more. Emitted events are
// stored and detached children are started before the row shows the end, and the lifecycle event about it together with
// it.
func (r *run) end() error {
	r.rest = r.machine.TakeTimeline()
	last := r.takeEnd()
	attended := func(s childStep) bool { return s.Start == nil || s.Start.Await }
	r.children.queue = slices.DeleteFunc(r.children.queue, attended)
	for r.failure == nil && (!r.bus.idle() || r.children.sending != nil || len(r.children.queue) > 0 || !r.tasks.idle()) {
		r.publish()
		r.sendChildSteps()
		r.sendTaskSteps()
		_ = workflow.Await(r.ctx, func() bool {
			return r.bus.sending != nil && r.bus.sending.IsReady() || r.children.sending != nil && r.children.sending.IsReady() ||
				r.tasks.sending != nil && r.tasks.sending.IsReady()
		})
		r.receivePublished()
		r.receiveChildren()
		r.receiveTasks()
	}
	if r.failure != nil {
		return r.failure
	}
	if err := r.writeEnd(r.finish, r.rest, last); err != nil {
		return err
	}
	if !r.isFinal { // otherwise it was cancelled, and they are stopped with the workflow
		r.awaitDetached()
	}
	return nil
}

// awaitDetached keeps the workflow open for detached processes, because an activity ends with its workflow. An
// execution that has not completed has withdrawn its detached processes.
func (r *run) awaitDetached() {
	r.calls = slices.DeleteFunc(r.calls, func(f *pendingCommand) bool { return !f.command.Detached })
	r.held = slices.DeleteFunc(r.held, func(c machine.Command) bool { return !c.Detached })
	for {
		r.drain.on = false
		r.startCalls()
		if len(r.calls) == 0 && len(r.held) == 0 {
			return
		}
		_ = workflow.Await(r.ctx, func() bool {
			return r.canceled.Err() != nil || r.pausing != nil && r.pausing.IsReady() ||
				slices.ContainsFunc(r.calls, func(f *pendingCommand) bool { return f.future.IsReady() })
		})
		if r.pausing != nil && r.pausing.IsReady() {
			r.pausing, r.taskBytes = nil, 0
		}
		if r.canceled.Err() != nil {
			for _, f := range r.calls {
				f.cancel()
			}
			return
		}
		r.calls = slices.DeleteFunc(r.calls, func(f *pendingCommand) bool {
			if !f.future.IsReady() {
				return false
			}
			if err := f.future.Get(r.ctx, nil); err != nil && (isNotBegun(err) || f.cut) {
				r.held = append(r.held, *f.command)
			}
			return true
		})
	}
}

// writeEnd makes the row final, and stores last with it, the lifecycle event about the end, if there is one. A row that
// has ended without this workflow, by a cancellation or because the reconciler took it for lost, stays as it is: then
// only the end of the timeline is stored, and of a cancellation its own event instead of last.
func (r *run) writeEnd(c *machine.Command, entries []machine.Entry, last emitted) error {
	var tally machine.Tally
	if r.machine != nil { // otherwise the execution could not be revived, and nothing of it was counted here
		tally = r.machine.Tally()
	}
	if !r.isFinal || len(last.event) > 0 {
		end := engine.EndOf(c, r.secrets)
		e := ending{
			Execution: r.argument.Execution, No: r.argument.No, Phase: c.Phase.String(),
			StartedMs: r.argument.StartedMs, FinishedMs: r.timeMs,
			Output: json.RawMessage(end.Output.Inline), Fault: r.secrets.RedactFault(c.Fault), Files: c.Files,
			Event: last.event, Command: last.command,
		}
		if len(entries) > 0 || !tally.Empty() {
			e.Timeline = r.secrets.EncodeTimeline(entries, tally, end.Known(r.input)...)
		}
		e.UnlessSuspended = r.machine != nil && !r.suspended && c.Phase != chargehand.Cancelled
		conflict, err := r.writeEnding(&e)
		if err != nil {
			return err
		}
		if !conflict {
			return nil
		}
		r.isFinal = true
	}
	// Also without entries: readers wait for it.
	return r.write(chunkType, chunk{
		Execution: r.argument.Execution, No: r.argument.No, Last: true, Data: r.secrets.EncodeTimeline(entries, tally, r.input),
	}).Get(r.ctx, nil)
}

// writeEnding makes the row final, and reports whether another process has done so before. An execution that was
// suspended before the workflow knew of it ends when it is resumed; until then it has no slot.
func (r *run) writeEnding(e *ending) (conflict bool, err error) {
	for {
		var done finished
		if err := r.write(finishType, *e).Get(r.ctx, &done); err != nil {
			return false, err
		}
		if !done.Suspended {
			return done.Conflict, nil
		}
		if s := &r.slots; s.held || s.asked {
			s.held, s.asked = false, false
			s.number++
			park := stateReport{Execution: e.Execution, No: e.No, Number: s.number, Phase: chargehand.Suspended.String()}
			var now stateAnswer
			if err := r.write(reportType, park).Get(r.ctx, &now); err != nil {
				return false, err
			}
			if now.Final { // perhaps no message comes of that
				continue
			}
		}
		e.UnlessSuspended = !r.awaitResumption()
		e.FinishedMs = max(e.FinishedMs, workflow.Now(r.ctx).UnixMilli())
	}
}

// awaitResumption waits for a message that the execution is resumed, cancelled or suspended: one follows every such
// change of the row. After the restore of a database in which the row was not suspended yet, none comes before the
// execution is suspended again or cancelled. It reports whether the workflow was cancelled in Temporal itself.
func (r *run) awaitResumption() (canceled bool) {
	for {
		_ = workflow.Await(r.ctx, func() bool { return r.signals.Len() > 0 || r.canceled.Err() != nil })
		changed := false
		for m := (message{}); r.signals.ReceiveAsync(&m); m = (message{}) {
			changed = changed || m.Kind == kindSuspend || m.Kind == kindResume || m.Kind == kindCancel
		}
		if changed || r.canceled.Err() != nil {
			return !changed
		}
	}
}

// failExecution ends an execution whose machine cannot continue.
func (r *run) failExecution(f *machine.Fault) error {
	r.timeMs = max(r.argument.StartedMs, workflow.Now(r.ctx).UnixMilli())
	return r.writeEnd(engine.FinishFaulted(f), nil, emitted{})
}
