package rehearse

import (
	"container/heap"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/machine"
)

// step lets the next thing happen. It reports false if nothing is left to happen.
func (r *Rehearsal) step() bool {
	next := r.ready()
	if next == nil && r.Outside.Idle != nil && r.Outside.Idle(r) {
		return true
	}
	if r.stopped || r.err != nil {
		return true
	}
	if next == nil {
		if next = r.queue.first(); next == nil {
			return false
		}
		r.nowMs = next.dueMs
	}
	if r.queue.first() == next {
		heap.Pop(&r.queue)
	}
	if next.do != nil {
		next.do(r)
		return true
	}
	e := r.executions[next.execution]
	if e.waiting[next.command] == next {
		delete(e.waiting, next.command)
	}
	if next.event.Kind == machine.EventReceived {
		e.delivered[next.command] = next.event.Number
	}
	if next.taken != nil {
		next.taken()
	}
	if next.event.Kind != 0 { // else only the clock had to move
		r.apply(e, next.event)
	}
	return true
}

// ready is what happens next at this moment; nil: nothing does.
func (r *Rehearsal) ready() *happening {
	best := r.queue.first()
	if best != nil && best.dueMs > r.nowMs {
		best = nil
	}
	for _, e := range r.executions {
		if e.ended || e.m.Load().Listens == 0 && len(e.streams) == 0 {
			continue
		}
		if h := r.handed(e, best); h != nil {
			best = h
		}
	}
	return best
}

// handed is what a subscription or a stream of an execution takes in now, if it comes before best.
func (r *Rehearsal) handed(e *Execution, best *happening) *happening {
	consider := func(id machine.CommandID, event func() (machine.Event, bool)) {
		h := &happening{dueMs: r.nowMs, execution: e.number, command: id}
		if best != nil && r.queue.order(best, h) < 0 {
			return
		}
		if ev, ok := event(); ok {
			h.event, best = ev, h
		}
	}
	if len(r.bus) > e.begin {
		for _, s := range e.m.Subscriptions() {
			consider(s.Command, func() (machine.Event, bool) { return r.received(e, s) })
		}
	}
	if len(e.streams) > 0 {
		for _, s := range e.m.Streams() {
			consider(s.Command, func() (machine.Event, bool) { return r.progressed(e, s) })
		}
	}
	return best
}

// received is the next stored event for a subscription: what the machine wants, in the order of the numbers.
func (r *Rehearsal) received(e *Execution, s machine.Subscription) (machine.Event, bool) {
	if s.Paused {
		return machine.Event{}, false
	}
	for at := max(e.delivered[s.Command], s.Position, int64(e.begin)); at < int64(len(r.bus)); at++ {
		envelope := r.bus[at]
		wanted := e.m.Wants(s.Command, envelope)
		if r.Outside.Offered != nil {
			r.Outside.Offered(s, envelope, wanted)
		}
		if !wanted && !r.All {
			continue
		}
		return machine.Event{Kind: machine.EventReceived, Command: s.Command, Output: envelope, Number: at + 1}, true
	}
	return machine.Event{}, false
}

// progressed is what a stream hands over next, or its end.
func (r *Rehearsal) progressed(e *Execution, s machine.Stream) (machine.Event, bool) {
	from, running := e.streams[s.Command]
	if !running || s.Paused || from > r.nowMs {
		return machine.Event{}, false
	}
	a := e.answers[s.Command]
	if int(s.Position) < len(a.Messages) {
		return machine.Event{Kind: machine.Progressed, Command: s.Command, Output: a.Messages[s.Position], Number: s.Position + 1}, true
	}
	if a.Hangs {
		return machine.Event{}, false
	}
	return a.ended(s.Command), true
}

func (a *Answer) ended(id machine.CommandID) machine.Event {
	return machine.Event{Kind: machine.ActivityEnded, Command: id, Output: a.Output, Files: a.Files, Fault: a.Fault, Detail: a.Document}
}

// schedule has an event given to an execution after some time, unless its command is withdrawn before.
func (r *Rehearsal) schedule(e *Execution, id machine.CommandID, afterMs int64, ev machine.Event) {
	ev.Command = id
	h := &happening{dueMs: r.nowMs + max(0, afterMs), execution: e.number, command: id, event: ev}
	if before := e.waiting[id]; before != nil {
		before.gone = true
	}
	e.waiting[id] = h
	r.push(h)
}

// carryOut does what a machine asks for.
func (r *Rehearsal) carryOut(e *Execution, c machine.Command) {
	switch c.Kind {
	case machine.RunActivity:
		r.runActivity(e, c)
	case machine.StartChild:
		r.startChild(e, c)
	case machine.StartTimer:
		r.schedule(e, c.ID, c.DueMs-r.nowMs, machine.Event{Kind: machine.TimerFired})
	case machine.Yield:
		r.schedule(e, c.ID, 0, machine.Event{Kind: machine.Continued})
	case machine.Publish:
		r.store(c.Args)
		r.published = append(r.published, c.Args)
	case machine.OpenTask:
		r.openTask(e, c)
	case machine.StopActivity, machine.StopTimer, machine.StopChild, machine.WithdrawTask:
		r.withdraw(e, c.ID)
	case machine.Finish:
		e.result = c
	}
}

// withdraw takes out what was to come of a command.
func (r *Rehearsal) withdraw(e *Execution, id machine.CommandID) {
	if h := e.waiting[id]; h != nil {
		h.gone = true
		delete(e.waiting, id)
	}
	delete(e.streams, id)
	if child := e.children[id]; child != nil {
		delete(e.children, id)
		r.apply(child, machine.Event{Kind: machine.CancelRequested})
	}
}

func (r *Rehearsal) runActivity(e *Execution, c machine.Command) {
	a, again := e.answers[c.ID]
	if !again {
		answer, err := r.Outside.Activity(e, c)
		if err != nil {
			r.err = err
			return
		}
		a = &answer
		e.answers[c.ID] = a
		for _, envelope := range a.Events {
			r.store(envelope)
		}
	}
	switch {
	case a.Interruptions > 0:
		a.Interruptions--
		r.schedule(e, c.ID, 0, machine.Event{Kind: machine.Interrupted})
	case c.Stream:
		if e.streams == nil {
			e.streams = map[machine.CommandID]int64{}
		}
		e.streams[c.ID] = r.nowMs + a.AfterMs
		if a.AfterMs > 0 {
			r.schedule(e, c.ID, a.AfterMs, machine.Event{})
		}
	case !a.Hangs:
		r.schedule(e, c.ID, a.AfterMs, a.ended(c.ID))
	}
}

func (r *Rehearsal) openTask(e *Execution, c machine.Command) {
	a, err := r.Outside.Person(e, c)
	if err != nil {
		r.err = err
		return
	}
	e.answers[c.ID] = &a
	if !a.Hangs {
		r.schedule(e, c.ID, a.AfterMs, machine.Event{Kind: machine.TaskAnswered, Output: a.Output, Files: a.Files})
		e.waiting[c.ID].taken = a.Taken
	}
}

func (r *Rehearsal) startChild(e *Execution, c machine.Command) {
	if !c.Child.Await || e.answers[c.ID] != nil {
		return
	}
	if depth := e.depth(); depth >= machine.MaxChildDepth { // as in life: a workflow may start itself
		a := Answer{Fault: machine.ChildTooDeep(c.Child, depth)}
		e.answers[c.ID] = &a
		r.schedule(e, c.ID, 0, machine.Event{Kind: machine.ChildEnded, Fault: a.Fault})
		return
	}
	p, a, err := r.Outside.Child(e, c)
	if err != nil {
		r.err = err
		return
	}
	e.answers[c.ID] = &a
	switch {
	case p != nil:
		id := machine.Identity{Execution: c.Child.ID, RuntimeVersion: e.Identity.RuntimeVersion, Secrets: e.Identity.Secrets}
		if e.children == nil {
			e.children = map[machine.CommandID]*Execution{}
		}
		child := r.start(p, id, e, c.ID, c.Child.Input)
		if !child.ended {
			e.children[c.ID] = child
		}
	case !a.Hangs:
		r.schedule(e, c.ID, a.AfterMs, machine.Event{Kind: machine.ChildEnded, Output: a.Output, Fault: a.Fault})
	}
}

// depth counts the executions that it is started by, one inside the other.
func (e *Execution) depth() (n int) {
	for parent := e.Parent; parent != nil; parent = parent.Parent {
		n++
	}
	return n
}

// Phase is the phase of the first execution.
func (r *Rehearsal) Phase() chargehand.Phase { return r.executions[0].m.Phase() }
