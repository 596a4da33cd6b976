package temporal

import (
	"slices"

	"go.temporal.io/sdk/workflow"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
)

// maxChunks bounds the chunks of an execution.
const maxChunks = 500

// drain is the way to the next run (DESIGN.md "Continue as new").
type drain struct {
	on bool // activities are held
	// A held command must not wait without end for an activity of another branch: after a while the run continues, as
	// long as its history has room.
	timer      workflow.Future
	fromEvents int // drains again from here
	fromBytes  int

	chunking workflow.Future // nil, or the timeline is on its way to the database
	chunked  bool
	behind   int   // events that were applied when the timeline was stored
	chunks   int64 // stored
	sizes    []int // entries of the newest chunks, the newest last
}

// steer decides whether the run continues or drains, to continue as new.
func (r *run) steer() {
	d, info := &r.drain, workflow.GetInfo(r.ctx)
	events, bytes := info.GetCurrentHistoryLength(), info.GetCurrentHistorySize()
	if !d.on {
		// A run in which nothing has happened yet would be followed by one like it.
		d.on = r.moved && info.GetContinueAsNewSuggested() && (events >= d.fromEvents || bytes >= d.fromBytes)
		return
	}
	if d.timer == nil || !d.timer.IsReady() {
		return
	}
	d.timer = nil
	if r.mayGiveWay() {
		d.on, r.slices, r.streams.acksPaused = false, 0, false
		if len(r.listens.pages) > 0 {
			r.pause() // the next workflow task applies the events that are left
		}
		d.fromEvents, d.fromBytes = events+r.limits.moreEvents, bytes+r.limits.moreBytes
	}
}

// armDrainTimeout starts the timer of the drain, if a held command could continue without it.
func (r *run) armDrainTimeout() {
	if d := &r.drain; d.on && d.timer == nil && r.mayGiveWay() {
		d.timer = workflow.NewTimer(r.ctx, r.limits.drainTimeout)
	}
}

// mayGiveWay reports whether the run could continue with its held commands instead of waiting for running activities.
func (r *run) mayGiveWay() bool {
	return r.runs() && r.mayGoOn() && r.roomLeft()
}

// runs reports whether a running activity keeps the next run from beginning. A stream does not: the next run begins it
// again.
func (r *run) runs() bool {
	return slices.ContainsFunc(r.calls, func(f *pendingCommand) bool { return f.inflow == nil })
}

// mayGoOn reports whether a held command could continue.
func (r *run) mayGoOn() bool {
	return r.slots.held && (len(r.held) > 0 || r.yielded) ||
		slices.ContainsFunc(r.held, func(c machine.Command) bool { return c.Detached }) ||
		slices.ContainsFunc(r.listens.list, func(l *listening) bool {
			return (l.woken || r.listens.waiting(l)) && !l.sub.Paused
		})
}

func (r *run) roomLeft() bool {
	info := workflow.GetInfo(r.ctx)
	return info.GetCurrentHistoryLength() < r.limits.maxEvents && info.GetCurrentHistorySize() < r.limits.maxBytes
}

// cutDetached stops detached processes when the history has no more room and nothing else keeps the next run from
// beginning. The next run starts them again.
func (r *run) cutDetached() {
	awaited := func(f *pendingCommand) bool { return f.inflow == nil && !f.command.Detached }
	if !r.drain.on || r.roomLeft() || slices.ContainsFunc(r.calls, awaited) {
		return
	}
	for _, f := range r.calls {
		if f.command.Detached && !f.cut {
			f.cut = true
			f.cancel()
		}
	}
}

// drained reports whether nothing but timers is in flight.
func (r *run) drained() bool {
	return r.drain.on && !r.runs() && r.slots.reporting == nil && r.bus.idle() && r.listens.idle() && r.children.idle() && r.tasks.idle() &&
		(r.drain.chunking == nil || r.drain.chunking.IsReady())
}

// continueAsNew stores the timeline, then ends this run in favour of the next one. It
// returns nil if it has to be called again.
func (r *run) continueAsNew() error {
	d := &r.drain
	// Events that come meanwhile make timeline entries of their own.
	if !d.chunked || d.behind != r.applied {
		d.chunked, d.behind = true, r.applied
		entries := r.machine.TakeTimeline()
		if len(entries) > 0 {
			d.chunking = r.storeChunk(entries)
			return nil
		}
	}
	d.chunking = nil
	r.receiveMessages()
	r.streams.acksPaused = true
	r.receiveStreams()
	if r.signals.Len() > 0 || r.streams.channel.Len() > 0 || r.canFlow() || !r.drained() || r.finish != nil {
		return nil
	}
	next := *r.argument
	next.Continued = &continued{
		State: r.machine.Checkpoint(), TimeMs: r.timeMs,
		Reported: r.slots.number, Slot: r.slots.held, Asked: r.slots.asked, Phase: r.slots.phase, Person: r.slots.person,
		WaitKind: r.slots.waits.Kind, Waits: r.slots.waits,
		Chunks: d.chunks, Sizes: d.sizes, Seen: r.seen, Switched: r.switched,
		Listens: r.readPositions(), Unsubscribed: r.listens.unsubscribed, Delivered: r.children.delivered,
		Waiting: r.leftMessages(),
	}
	return workflow.NewContinueAsNewError(r.ctx, workflowType, next)
}

// storeChunk writes timeline entries to the database.
func (r *run) storeChunk(entries []machine.Entry) workflow.Future {
	d := &r.drain
	d.chunks++
	d.sizes = append(d.sizes, len(entries))
	kept := 0
	for i := len(d.sizes) - 1; i >= 0; i-- {
		kept += d.sizes[i]
		if kept >= engine.TimelineEntries || len(d.sizes)-i >= maxChunks {
			d.sizes = d.sizes[i:]
			break
		}
	}
	return r.write(chunkType, chunk{
		Execution: r.argument.Execution, No: r.argument.No, Number: d.chunks, Keep: len(d.sizes),
		Data: r.secrets.EncodeTimeline(entries, machine.Tally{}, r.input), Confidential: r.argument.Confidential,
	})
}
