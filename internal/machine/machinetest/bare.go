package machinetest

import (
	"slices"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/value"
)

// Bare runs scripts on the machine alone, with a clock that jumps to the next due timer.
type Bare struct {
	// Between, if set, may exchange the machine before each event, for example by one that
	// was restored from its checkpoint.
	Between func(m *machine.Machine) *machine.Machine
	// Last delivers the outcome that came last first, instead of the first.
	Last bool
	// All delivers every event to every subscription, without asking whether it is wanted.
	All bool
}

// epoch is the time of the first event.
const epoch = 1769860800000

// Run implements Runner.
func (b Bare) Run(t *testing.T, p *plan.Plan, input value.Value, w *Fixture) Result {
	t.Helper()
	id, err := chargehand.ParseID[executionKind]("01980000-0000-7000-8000-000000000001")
	if err != nil {
		t.Fatal(err)
	}
	r := bareRun{
		Bare: b, t: t, fixture: w, nowMs: epoch,
		m:      machine.New(p, machine.Identity{Execution: chargehand.ExecutionID(id), RuntimeVersion: "test"}),
		timers: map[machine.CommandID]int64{}, hanging: map[machine.CommandID]bool{},
		delivered: map[machine.CommandID]int64{}, streams: map[machine.CommandID]*stream{},
	}
	r.store(w.Before)
	r.begin = len(r.bus)
	r.apply(machine.Event{Kind: machine.Started, Output: input})
	r.toEnd()
	r.result.Timeline, _ = machine.MergeTimeline(r.chunks...)
	return r.result
}

// toEnd applies events until the execution has ended.
func (r *bareRun) toEnd() {
	r.t.Helper()
	for steps := 0; !r.m.Done(); steps++ {
		if steps > 100_000 {
			r.t.Fatal("the execution does not end")
		}
		r.apply(r.next())
	}
}

// startChild runs another execution to its end, if it comes to one within a minute of its own
// clock; else the child counts as hanging.
func (r *bareRun) startChild(c machine.Command) {
	p := r.fixture.Child(r.t, c.Child.Name)
	if p == nil || !c.Child.Await {
		if p == nil {
			r.t.Fatalf("there is no child named %s", c.Child.Name)
		}
		return
	}
	child := bareRun{
		Bare: Bare{Last: r.Last}, t: r.t, fixture: r.fixture, nowMs: r.nowMs,
		m:      machine.New(p, machine.Identity{Execution: c.Child.ID, RuntimeVersion: "test"}),
		timers: map[machine.CommandID]int64{}, hanging: map[machine.CommandID]bool{},
		delivered: map[machine.CommandID]int64{}, streams: map[machine.CommandID]*stream{},
	}
	child.apply(machine.Event{Kind: machine.Started, Output: c.Child.Input})
	for !child.m.Done() {
		if ev := child.next(); child.nowMs <= r.nowMs+60_000 {
			child.apply(ev)
			continue
		}
		r.hanging[c.ID] = true
		return
	}
	r.queue = append(r.queue, machine.Event{Kind: machine.ChildEnded, Command: c.ID,
		Output: child.result.Output, Fault: child.result.Fault})
}

type executionKind struct{}

type bareRun struct {
	Bare
	t       *testing.T
	m       *machine.Machine
	fixture *Fixture
	nowMs   int64
	queue   []machine.Event // outcomes to be applied
	timers  map[machine.CommandID]int64
	hanging map[machine.CommandID]bool
	chunks  [][]machine.Record
	result  Result

	bus       []stored
	delivered map[machine.CommandID]int64 // number of the last event or message that was read
	streams   map[machine.CommandID]*stream
	begin     int  // events that were stored before the start
	waited    bool // the events for when the execution waits are stored
}

// next is the event that happens now: an outcome, or else the next timer.
func (r *bareRun) next() machine.Event {
	if r.Last || len(r.queue) == 0 {
		if ev, ok := r.happening(); ok {
			return ev
		}
	}
	if len(r.queue) > 0 {
		at := 0
		if r.Last {
			at = len(r.queue) - 1
		}
		ev := r.queue[at]
		r.queue = slices.Delete(r.queue, at, at+1)
		return ev
	}
	if r.fixture.Cancel && len(r.hanging) > 0 {
		return machine.Event{Kind: machine.CancelRequested, Detail: "by the suite"}
	}
	var id machine.CommandID
	for timer, due := range r.timers {
		if id == 0 || due < r.timers[id] || due == r.timers[id] && timer < id {
			id = timer
		}
	}
	if id == 0 {
		r.t.Fatal("nothing can happen any more, and the execution has not ended")
	}
	r.nowMs = max(r.nowMs, r.timers[id])
	delete(r.timers, id)
	return machine.Event{Kind: machine.TimerFired, Command: id}
}

func (r *bareRun) apply(ev machine.Event) {
	if r.Between != nil {
		r.m = r.Between(r.m)
	}
	ev.TimeMs = r.nowMs
	for _, c := range r.m.Apply(ev) {
		r.carryOut(c)
	}
	r.chunks = append(r.chunks, machine.RecordsOf(r.m.TakeTimeline()))
}

func (r *bareRun) carryOut(c machine.Command) {
	switch c.Kind {
	case machine.RunActivity:
		answer := r.fixture.Answer(c.Reference)
		r.store(answer.Events)
		if c.Stream {
			delete(r.delivered, c.ID)
			r.streams[c.ID] = &stream{messages: answer.Values(), answer: answer}
			return
		}
		if answer.Hang {
			r.hanging[c.ID] = true
			return
		}
		r.queue = append(r.queue, machine.Event{Kind: machine.ActivityEnded, Command: c.ID,
			Output: answer.Value(), Files: answer.Files, Fault: answer.Fault})
	case machine.StartChild:
		r.startChild(c)
	case machine.OpenTask:
		answer := r.fixture.Answer(c.Reference)
		if answer.Hang {
			r.hanging[c.ID] = true
			return
		}
		r.queue = append(r.queue, machine.Event{Kind: machine.TaskAnswered, Command: c.ID, Output: answer.Value()})
	case machine.StopActivity, machine.StopChild, machine.WithdrawTask:
		delete(r.hanging, c.ID)
		delete(r.streams, c.ID)
	case machine.StartTimer:
		r.timers[c.ID] = c.DueMs
	case machine.StopTimer:
		delete(r.timers, c.ID)
	case machine.Publish:
		r.result.Published = append(r.result.Published, c.Args)
		r.bus = append(r.bus, stored{int64(len(r.bus) + 1), c.Args})
	case machine.Yield:
		r.queue = append(r.queue, machine.Event{Kind: machine.Continued, Command: c.ID})
	case machine.Finish:
		r.result.Phase, r.result.Output, r.result.Fault, r.result.Files = c.Phase, c.Output, c.Fault, c.Files
	}
}
