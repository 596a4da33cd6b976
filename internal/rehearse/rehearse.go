package rehearse

import (
	"container/heap"
	"context"
	"errors"
	"fmt"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/value"
)

// Outside plays what is outside of the executions. An error ends the rehearsal with it.
type Outside struct {
	// Activity says how a run of an activity ends. An activity that is cut off (Answer.Interruptions) and made again is
	// asked for once.
	Activity func(e *Execution, c machine.Command) (Answer, error)
	// Child gives the plan of an execution that is awaited: it then runs on the same clock. Without a plan the answer
	// counts.
	Child func(e *Execution, c machine.Command) (*plan.Plan, Answer, error)
	// Person says how a person answers a human task: Output and Files are those of the task.
	Person func(e *Execution, c machine.Command) (Answer, error)
	// Idle is asked when nothing more happens at this moment. It reports whether it has changed that, by a method of the
	// rehearsal; otherwise the clock moves on.
	Idle func(r *Rehearsal) bool
	// Offered, if set, gets each stored event that comes up for a subscription.
	Offered func(s machine.Subscription, envelope value.Value, wanted bool)
}

// Answer is the outcome of a command.
type Answer struct {
	AfterMs       int64 // how long it takes
	Hangs         bool  // it never ends
	Interruptions int   // so often a crash cuts it off before (T91)

	Output   value.Value
	Files    []machine.File
	Fault    *machine.Fault
	Document string        // digest of the API document (T69)
	Messages []value.Value // what a stream hands over before
	Events   []value.Value // envelopes that are stored when it is asked for
	Taken    func()        // of a person: called when the task is answered, which a timeout may prevent
}

// Config says what is run.
type Config struct {
	Plan     *plan.Plan
	Identity machine.Identity
	Input    value.Value
	StartMs  int64
	Before   []value.Value // envelopes that are stored before the start, and never delivered (T60)
	Outside  Outside

	Last  bool // what happens at the same time, happens in the reverse order
	Crash bool // the machine is restored from its checkpoint before each event
	All   bool // subscriptions get each event, without being asked whether they want it
	// Restore, if set, may exchange the machine of the first execution before each event.
	Restore func(m *machine.Machine) *machine.Machine
	// Observe gets every decision (machine.Machine.Observe).
	Observe func(e *Execution, reference string, b machine.Branch)
	// MaxEvents bounds the events of all executions together; 0 stands for 100,000.
	MaxEvents int
}

const defaultMaxEvents = 100_000

// Result is how the execution ended, or what it was doing when Stop was called.
type Result struct {
	Phase     chargehand.Phase
	Output    value.Value
	Fault     *machine.Fault
	Files     []machine.File
	Timeline  []machine.Record
	Published []value.Value // by all executions, in their order
	EndMs     int64
	Events    int // that were applied
	// Executions are all that ran, in the order of their starts: the first one, and those that were started by others.
	Executions []*Execution
}

// ErrEndless says that Config.MaxEvents is reached.
var ErrEndless = errors.New("the execution does not end")

// Stuck is the error of an execution for which nothing is left to happen.
type Stuck struct {
	Phase   chargehand.Phase
	AtMs    int64
	Open    []machine.Entry // the open entries of its timeline, with what they wait for
	Hanging []machine.Command
}

func (s *Stuck) Error() string {
	return fmt.Sprintf("nothing is left to happen, and the execution is %s", s.Phase)
}

// Execution is one of those that run: the first one, or one that another has started.
type Execution struct {
	Plan     *plan.Plan
	Identity machine.Identity
	Parent   *Execution // nil: the first one

	run     *Rehearsal
	m       *machine.Machine
	number  int // in the order of their starts
	command machine.CommandID
	begin   int // events that were stored before its start
	ended   bool
	chunks  [][]machine.Record
	result  machine.Command // Finish

	answers   map[machine.CommandID]*Answer // of the activities, also of those that have ended
	waiting   map[machine.CommandID]*happening
	streams   map[machine.CommandID]int64 // the time from which a stream hands over
	delivered map[machine.CommandID]int64 // number of the last event or message that was read
	children  map[machine.CommandID]*Execution
}

// Machine is the machine of the execution. It is for reading.
func (e *Execution) Machine() *machine.Machine { return e.m }

// Rehearsal is a run of Config.
type Rehearsal struct {
	Config
	ctx        context.Context
	nowMs      int64
	queue      queue
	executions []*Execution
	bus        []value.Value // the number of an event is its index and 1
	known      map[string]bool
	published  []value.Value
	events     int
	scheduled  int
	stopped    bool
	err        error
}

// Run runs the execution until it has ended, or Outside has stopped it.
func Run(ctx context.Context, c Config) (Result, error) {
	if c.MaxEvents == 0 {
		c.MaxEvents = defaultMaxEvents
	}
	r := &Rehearsal{Config: c, ctx: ctx, nowMs: c.StartMs}
	for _, envelope := range c.Before {
		r.store(envelope)
	}
	r.queue.last = c.Last
	root := r.start(c.Plan, c.Identity, nil, 0, c.Input)
	for !root.m.Done() && !r.stopped && r.err == nil {
		if err := ctx.Err(); err != nil {
			return r.result(root), err
		}
		if !r.step() && r.err == nil {
			r.err = r.stuck(root)
		}
	}
	return r.result(root), r.err
}

func (r *Rehearsal) result(root *Execution) Result {
	result := Result{Phase: root.m.Phase(), Published: r.published, EndMs: r.nowMs, Events: r.events, Executions: r.executions}
	if root.m.Done() {
		end := root.result
		result.Phase, result.Output, result.Fault, result.Files = end.Phase, end.Output, end.Fault, end.Files
	}
	result.Timeline = root.Timeline()
	return result
}

// Timeline is what the execution has done, the newest entries of it (machine.MergeTimeline).
func (e *Execution) Timeline() []machine.Record {
	chunks := e.chunks
	if !e.m.Done() {
		chunks = append(chunks[:len(chunks):len(chunks)], machine.RecordsOf(e.m.Timeline()))
	}
	records, _ := machine.MergeTimeline(chunks...)
	return records
}

func (r *Rehearsal) stuck(root *Execution) error {
	s := &Stuck{Phase: root.m.Phase(), AtMs: r.nowMs}
	for _, entry := range root.m.Timeline() {
		if !entry.Ended() {
			s.Open = append(s.Open, entry)
		}
	}
	for _, e := range r.executions {
		for _, c := range e.m.InFlight() {
			if a := e.answers[c.ID]; a != nil && a.Hangs {
				s.Hanging = append(s.Hanging, c)
			}
		}
	}
	return s
}

// NowMs is the time of the virtual clock.
func (r *Rehearsal) NowMs() int64 { return r.nowMs }

// NextMs is the time to which the clock would move next.
func (r *Rehearsal) NextMs() (int64, bool) {
	if next := r.queue.first(); next != nil {
		return next.dueMs, true
	}
	return 0, false
}

// Executions are all that have been started, in their order.
func (r *Rehearsal) Executions() []*Execution { return r.executions }

// NowMs is the time of the virtual clock.
func (e *Execution) NowMs() int64 { return e.run.nowMs }

// Ended reports whether the execution has ended.
func (e *Execution) Ended() bool { return e.ended }

// Scheduled is the number of outcomes of activities and people, of ends of workflows and of steps from outside that are
// still to come. Timers do not count.
func (r *Rehearsal) Scheduled() (n int) {
	for _, h := range r.queue.list {
		if !h.gone && h.event.Kind != machine.TimerFired {
			n++
		}
	}
	return n
}

// Root is the execution that was started first.
func (r *Rehearsal) Root() *Execution { return r.executions[0] }

// Hanging is the number of running activities that never end.
func (r *Rehearsal) Hanging() (n int) {
	for _, e := range r.executions {
		if e.ended {
			continue
		}
		for _, c := range e.m.InFlight() {
			if a := e.answers[c.ID]; a != nil && a.Hangs && c.Kind == machine.RunActivity {
				n++
			}
		}
	}
	return n
}

// Published are the events that the executions have published so far.
func (r *Rehearsal) Published() []value.Value { return r.published }

// Publish stores an event now.
func (r *Rehearsal) Publish(envelope value.Value) { r.store(envelope) }

// store stores an event, unless it is known by its source and id: it is the same then, whatever it says.
func (r *Rehearsal) store(envelope value.Value) {
	if object, _ := envelope.(map[string]any); object["source"] != nil && object["id"] != nil {
		known := fmt.Sprintf("%q %q", object["source"], object["id"])
		if r.known[known] {
			return
		}
		if r.known == nil {
			r.known = map[string]bool{}
		}
		r.known[known] = true
	}
	r.bus = append(r.bus, envelope)
}

// Cancel cancels the first execution now.
func (r *Rehearsal) Cancel(reason string) {
	r.tell(machine.Event{Kind: machine.CancelRequested, Detail: reason})
}

// Suspend suspends the first execution now, Resume resumes it.
func (r *Rehearsal) Suspend() { r.tell(machine.Event{Kind: machine.SuspendRequested}) }

// Resume is the inverse of Suspend.
func (r *Rehearsal) Resume() { r.tell(machine.Event{Kind: machine.ResumeRequested}) }

// Stop ends the rehearsal although the execution has not ended.
func (r *Rehearsal) Stop() { r.stopped = true }

// tell applies an event to the first execution at once.
func (r *Rehearsal) tell(ev machine.Event) { r.apply(r.executions[0], ev) }

// At has something done at a time, before all else that happens then.
func (r *Rehearsal) At(ms int64, do func(r *Rehearsal)) {
	r.scheduled++
	r.push(&happening{dueMs: max(ms, r.nowMs), execution: -1, command: machine.CommandID(r.scheduled), do: do})
}

func (r *Rehearsal) push(h *happening) {
	heap.Push(&r.queue, h)
}

// start starts an execution, the first one or a child.
func (r *Rehearsal) start(p *plan.Plan, id machine.Identity, parent *Execution, command machine.CommandID, input value.Value) *Execution {
	e := &Execution{
		Plan: p, Identity: id, Parent: parent, run: r, m: machine.New(p, id), number: len(r.executions), command: command, begin: len(r.bus),
		answers: map[machine.CommandID]*Answer{}, waiting: map[machine.CommandID]*happening{},
		delivered: map[machine.CommandID]int64{},
	}
	r.executions = append(r.executions, e)
	r.observe(e)
	r.apply(e, machine.Event{Kind: machine.Started, Output: input})
	return e
}

func (r *Rehearsal) observe(e *Execution) {
	if r.Observe != nil {
		e.m.Observe(func(reference string, b machine.Branch) { r.Observe(e, reference, b) })
	}
}

// apply gives an event to an execution and carries out what it asks for.
func (r *Rehearsal) apply(e *Execution, ev machine.Event) {
	if e.ended || r.err != nil {
		return
	}
	if r.events++; r.events > r.MaxEvents {
		r.err = fmt.Errorf("%w: %d events have happened", ErrEndless, r.MaxEvents)
		return
	}
	if r.err = r.ctx.Err(); r.err != nil { // executions that start others come back to the loop of Run late
		return
	}
	if err := r.restore(e); err != nil {
		r.err = err
		return
	}
	ev.TimeMs = r.nowMs
	for _, c := range e.m.Apply(ev) {
		if r.carryOut(e, c); r.err != nil {
			break
		}
	}
	e.chunks = append(e.chunks, machine.RecordsOf(e.m.TakeTimeline()))
	if e.m.Done() {
		r.end(e)
	}
}

func (r *Rehearsal) restore(e *Execution) error {
	if r.Restore != nil && e.Parent == nil {
		e.m = r.Restore(e.m)
	}
	if !r.Crash {
		return nil
	}
	restored, err := machine.Restore(e.Plan, e.Identity, e.m.Checkpoint())
	if err != nil {
		return fmt.Errorf("restore from the checkpoint: %w", err)
	}
	e.m = restored
	r.observe(e)
	return nil
}

// end tells the execution that waits for one that has ended.
func (r *Rehearsal) end(e *Execution) {
	e.ended = true
	for _, h := range e.waiting {
		h.gone = true
	}
	if e.Parent != nil {
		r.schedule(e.Parent, e.command, 0, machine.Event{Kind: machine.ChildEnded, Output: e.result.Output, Fault: e.result.Fault})
	}
}
