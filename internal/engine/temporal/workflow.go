package temporal

import (
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/value"
)

// workflows holds what the workflow function needs beside its argument.
type workflows struct {
	plans  *plan.Cache
	limits limits
}

// limits bounds the work of a run and of one workflow task. Histories depend on these numbers: a change needs
// workflow.GetVersion. Only tests use others than defaultLimits.
type limits struct {
	pending int // activities that run at once
	// size that the history may have once all running activities have answered: Temporal ends a workflow at 50 MiB
	roomBytes  int
	taskBytes  int           // arguments scheduled in one workflow task
	taskSlices int           // slices of the machine in one workflow task
	runSlices  int           // slices until the run continues as new
	sliceSteps int           // steps of expressions that count as a slice, outside of those of the machine
	pause      time.Duration // between two workflow tasks that compute
	// how long held commands wait for running activities before they continue in the same run
	drainTimeout time.Duration
	moreEvents   int // by which the history may grow after that
	moreBytes    int
	maxEvents    int // of the history, from which on the run only waits for running activities to end
	maxBytes     int
}

func defaultLimits() limits {
	return limits{
		pending: 500, roomBytes: 48 << 20, taskBytes: 1 << 20, taskSlices: 4, runSlices: 40, sliceSteps: machine.SliceSpent,
		pause: time.Millisecond, drainTimeout: 10 * time.Second,
		moreEvents: 4096, moreBytes: 4 << 20,
		maxEvents: 40_000, maxBytes: 40 << 20,
	}
}

// run is one run of an execution's workflow: from the start, or from a continue-as-new, to the next continue-as-new or
// the end. It belongs to one coroutine; queries run while that coroutine is blocked.
type run struct {
	ctx      workflow.Context // nothing cancels it
	canceled workflow.Context // Temporal cancels it
	limits   limits
	argument *argument
	input    value.Value // raw
	machine  *machine.Machine
	timeMs   int64 // of the last event
	moved    bool  // an event has been applied in this run
	applied  int   // events of this run
	// suspended: the machine was, before its last event, which did not resume it. It has ended all the same then, as it
	// does where it cannot even begin.
	suspended bool

	signals        workflow.ReceiveChannel
	seen           []int64 // message numbers, the newest last
	switched       int64   // number of the last of them that suspended or resumed it
	cancelNotified bool    // of its cancellation in Temporal

	held   []machine.Command // activities that wait for a slot, a place, or the next run
	calls  []*pendingCommand // activities that run, in the order of their starts
	timers []*pendingCommand

	yielded    bool // the machine waits for Continued
	slices     int  // in this run
	taskSlices int  // in this workflow task
	taskBytes  int
	budget     budget
	pausing    workflow.Future // nil, or a new workflow task is on its way

	slots    slots
	bus      bus
	listens  listens
	children children
	tasks    humanTasks
	streams  streams
	secrets  *engine.Secrets
	drain    drain
	finish   *machine.Command
	rest     []machine.Entry // of the timeline, taken for the end that is being written
	isFinal  bool            // the row has ended already
	failure  error
}

// pendingCommand is a command that Temporal carries out.
type pendingCommand struct {
	id      machine.CommandID
	dueMs   int64            // timers
	command *machine.Command // activities
	future  workflow.Future
	cancel  workflow.CancelFunc
	inflow  *inflow // streams
	cut     bool    // it was cancelled to be started again by the next run
}

// execute is the workflow function. It fails only by a panic, which is a defect of this program.
func (w *workflows) execute(ctx workflow.Context, a argument) error {
	free, _ := workflow.NewDisconnectedContext(ctx)
	r := &run{
		ctx: free, canceled: ctx, limits: w.limits, argument: &a,
		signals: workflow.GetSignalChannel(ctx, messageSignal),
	}
	r.streams.channel = workflow.GetSignalChannel(ctx, streamSignal)
	if broken := r.revive(w.plans); broken != nil {
		return r.failExecution(broken.Fault)
	}
	if err := workflow.SetQueryHandler(ctx, timelineQuery, r.timeline); err != nil {
		return fmt.Errorf("answer queries: %w", err)
	}
	if err := workflow.SetQueryHandler(ctx, streamQuery, r.taken); err != nil {
		return fmt.Errorf("answer queries: %w", err)
	}
	return r.loop()
}

// revive makes the machine: a new one, or the one of the run before.
func (r *run) revive(plans *plan.Cache) *engine.Unrecoverable {
	a := r.argument
	if unknown := engine.CheckRevision(a.Revision); unknown != nil {
		return unknown
	}
	p, err := planOf(plans, a.Digest, a.Definition, a.Resources)
	if err != nil {
		return engine.Unreadable("definition", err)
	}
	r.input = map[string]any{} // T16
	if len(a.Input) > 0 {
		if r.input, err = value.Parse(a.Input, value.Limits{Depth: value.MaxDepth}); err != nil {
			return engine.Unreadable("input", err)
		}
	}
	if r.secrets, err = knownSecrets(a); err != nil {
		return engine.Unreadable("secrets", err)
	}
	identity := machine.Identity{
		Execution: a.Execution, Revision: a.Revision, RuntimeVersion: a.Runtime, Secrets: r.secrets.Values(),
	}
	if len(a.Metadata) > 0 {
		if identity.RuntimeMetadata, err = value.Parse(a.Metadata, value.Limits{Depth: value.MaxDepth}); err != nil {
			return engine.Unreadable("metadata of the runtime", err)
		}
	}
	if a.Continued == nil {
		r.machine = machine.New(p, identity)
		r.timeMs = a.StartedMs
		r.slots = slots{held: true, phase: chargehand.Running.String()}
		if a.Position != nil {
			first, err := a.Position.event(a.StartedMs)
			if err != nil {
				return engine.Unreadable("position", err)
			}
			engine.Sort(r.machine.Apply(first), r)
			a.Position = nil // the next run begins with the state
		}
		if a.Suspended {
			engine.Sort(r.machine.Apply(machine.Event{Kind: machine.SuspendRequested, TimeMs: a.StartedMs}), r)
		}
		r.suspended = a.Suspended
		engine.Sort(r.machine.Apply(engine.StartedEvent(identity, a.StartedMs, r.input, a.Lifecycle)), r)
		return nil
	}
	c := a.Continued
	if r.machine, err = machine.Restore(p, identity, c.State); err != nil {
		return engine.Unreadable("state", err)
	}
	r.timeMs, r.seen, r.switched = c.TimeMs, c.Seen, c.Switched
	r.slots = slots{held: c.Slot, asked: c.Asked, number: c.Reported, phase: c.Phase, person: c.Person, waits: c.Waits}
	r.slots.waits.Kind = c.WaitKind
	r.drain.chunks, r.drain.sizes = c.Chunks, c.Sizes
	r.yielded = r.machine.Load().Yielded
	r.streams.waiting, r.children.delivered = c.Waiting, c.Delivered
	r.resumeListens(c)
	// Children are started before a run ends.
	started := func(c machine.Command) bool { return c.Kind == machine.StartChild }
	engine.Sort(slices.DeleteFunc(r.machine.InFlight(), started), r)
	a.Continued = nil // it may be large
	return nil
}

// loop applies what has happened to the machine and carries out the machine's commands, until the execution has ended
// or continues as new.
func (r *run) loop() error {
	for {
		r.receive()
		if r.failure != nil {
			return r.failure
		}
		r.steer()
		r.compute()
		if r.finish != nil {
			return r.end()
		}
		r.sendTaskSteps()
		r.reportState()
		r.startCalls()
		r.armDrainTimeout()
		r.publish()
		r.sendChildSteps()
		r.requestEvents()
		r.cutDetached()
		if r.canFlow() {
			continue
		}
		if r.drained() {
			if next := r.continueAsNew(); next != nil {
				return next
			}
			continue
		}
		r.await()
	}
}

// await blocks until something has happened. Every event of the history evaluates the condition once, so the condition
// changes nothing.
func (r *run) await() {
	blocked := false
	_ = workflow.Await(r.ctx, func() bool { // its context is never cancelled
		if r.somethingHappened() {
			return true
		}
		blocked = true
		return false
	})
	if blocked { // that was another workflow task
		r.taskSlices, r.taskBytes = 0, 0
	}
}

func (r *run) somethingHappened() bool {
	if r.signals.Len() > 0 || r.streams.channel.Len() > 0 || r.canceled.Err() != nil && !r.cancelNotified {
		return true
	}
	for _, f := range [...]workflow.Future{
		r.pausing, r.slots.reporting, r.bus.sending, r.drain.timer, r.drain.chunking, r.listens.reading,
		r.children.sending, r.children.asking, r.tasks.sending,
	} {
		if f != nil && f.IsReady() {
			return true
		}
	}
	for _, f := range r.calls {
		if f.ended() {
			return true
		}
	}
	for _, f := range r.timers {
		if f.future.IsReady() {
			return true
		}
	}
	return false
}

// apply hands an event to the machine, at the time that Temporal says it is.
func (r *run) apply(ev machine.Event) {
	r.timeMs = max(r.timeMs, ev.TimeMs, workflow.Now(r.ctx).UnixMilli())
	ev.TimeMs = r.timeMs
	r.moved = true
	r.applied++
	if r.finish == nil {
		r.suspended = r.machine.Suspended() && ev.Kind != machine.ResumeRequested
	}
	engine.Sort(r.machine.Apply(ev), r)
}

// RunActivity implements engine.Commands: the activity waits until it may start.
func (r *run) RunActivity(c *machine.Command) { r.held = append(r.held, *c) }

// Publish implements engine.Commands.
func (r *run) Publish(c *machine.Command) { r.bus.queue = append(r.bus.queue, r.publication(c)) }

// Yield implements engine.Commands.
func (r *run) Yield() { r.yielded = true }

// Finish implements engine.Commands.
func (r *run) Finish(c *machine.Command) { r.finish = c }

// compute continues the machine after a yield, a few times in one workflow task.
func (r *run) compute() {
	for r.yielded && r.slots.held && !r.drain.on && r.finish == nil {
		switch {
		case r.slices >= r.limits.runSlices:
			r.drain.on = true
			return
		case r.taskSlices >= r.limits.taskSlices:
			r.pause()
			return
		}
		r.slices++
		r.taskSlices++
		r.yielded = false
		r.apply(machine.Event{Kind: machine.Continued})
	}
}

// pause ends this workflow task and asks for another one.
func (r *run) pause() {
	if r.pausing == nil {
		r.pausing = workflow.NewTimer(r.ctx, r.limits.pause)
	}
}

// timeline answers the query.
func (r *run) timeline() (liveTimeline, error) {
	entries := append(slices.Clip(r.rest), r.machine.Timeline()...)
	return liveTimeline{
		Entries: r.secrets.EncodeTimeline(entries, r.machine.Tally(), r.input), Moving: r.drain.chunking != nil,
	}, nil
}
