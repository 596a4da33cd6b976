package machine

import (
	"slices"

	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/value"
)

// Subscription is an open Subscribe command. Events are given to it in the order of their
// numbers, from the first one that was stored after SinceMs and is above Position.
type Subscription struct {
	Command CommandID
	Filters []Filter
	SinceMs int64 // milliseconds since 1970: the start of the execution; an engine takes its acceptance (T60)
	// Position is the number of the last event that it was given; what is not above it is
	// ignored. It may start above 0.
	Position int64
	// Paused: nothing may be given to it for now. Events that come nevertheless are ignored
	// and Position stays, so that they are to be given again. Every Apply may change it.
	Paused bool
}

// Subscriptions lists the open Subscribe commands in the order of their IDs.
func (m *Machine) Subscriptions() []Subscription {
	var list []Subscription
	for _, p := range m.pending.list {
		if p.node != nil && p.use == useListen {
			list = append(list, m.subscription(p))
		}
	}
	return list
}

// Subscription is the open Subscribe command of that ID. It costs less than to list all.
func (m *Machine) Subscription(id CommandID) (Subscription, bool) {
	if p := m.pending.find(id, isListen); p != nil {
		return m.subscription(p), true
	}
	return Subscription{}, false
}

func (m *Machine) subscription(p *pending) Subscription {
	return Subscription{Command: p.id, Filters: p.filters, SinceMs: m.startedMs, Position: p.position, Paused: m.paused(p)}
}

// Wants reports whether the execution would take in what comes next for a command: the
// envelope of an event for a Subscribe, or what a stream hands over. It changes nothing. What
// it does not want need not be applied, if the command is not paused. It may want what is
// ignored then, but never the other way round.
func (m *Machine) Wants(id CommandID, v value.Value) bool {
	sliceSteps, pureSteps := m.sliceSteps, m.pureSteps
	defer func() { m.sliceSteps, m.pureSteps = sliceSteps, pureSteps }()
	if p := m.pending.find(id, isListen); p != nil {
		envelope, ok := v.(map[string]any)
		return ok && !m.paused(p) && (timed(p.node.task.Listen) || m.wantsEvent(p.node, envelope))
	}
	if p := m.pending.find(id, isAwaited); p != nil && p.node.consumption != nil {
		return !m.paused(p) && (p.node.task.Stream.Timed || m.wantsMessage(p.node, v))
	}
	return false
}

// timed reports whether a filter may look at the clock, which stands still between events.
func timed(l *plan.Listen) bool {
	return slices.ContainsFunc(l.Filters, func(f *plan.EventFilter) bool { return f.Timed })
}

func (m *Machine) wantsEvent(n *node, envelope map[string]any) bool {
	if deeper(envelope, maxEventDepth) {
		return false
	}
	_, _, ok := m.choose(n, envelope)
	return ok
}

// maxEventDepth leaves levels for what surrounds an event in the output of a task, and for
// what surrounds that in the data. Events that are deeper match nothing: they must not fault a task.
const maxEventDepth = value.MaxDepth / 2

// beginListen evaluates what does not depend on events (T58) and starts to listen.
func (m *Machine) beginListen(n *node) *node {
	l := n.task.Listen
	c := &consumption{
		fixed: make([]value.Value, len(l.Fixed)), expected: make([]expectation, len(l.Keys)),
		met: make([]bool, len(l.Filters)),
	}
	n.consumption = c
	for i, position := range l.Fixed {
		v, f := m.eval(n, position, inBody, n.input)
		if f != nil {
			return m.fail(n, f)
		}
		c.fixed[i] = v
	}
	for i := range l.Keys {
		if l.Keys[i].Expect == nil {
			continue
		}
		v, f := m.eval(n, l.Keys[i].Expect, inBody, n.input)
		if f != nil {
			return m.fail(n, f)
		}
		c.expected[i] = expectation{known: true, value: v}
	}
	m.tellCorrelation(n, false)
	if n.satisfied(l.To) || l.To.UntilEvents != nil && n.satisfied(l.To.UntilEvents) {
		return m.consumptionDone(n)
	}
	consumed := m.consumed[n.consumer()]
	p := &pending{id: m.lastCommand + 1, node: n, use: useListen, filters: m.filtersOf(n), askedMs: m.nowMs}
	if consumed != nil {
		p.position = max(consumed.floor, consumed.passed)
	}
	m.grown += nodeBytes * len(p.filters)
	m.issue(m.commandOf(p))
	c.subscription = p.id
	m.pending.add(p)
	m.markConsuming(n)
	return nil
}

// satisfied reports whether all filters of an `all` are.
func (n *node) satisfied(s *plan.Strategy) bool {
	return s.Mode == dsl.StrategyAll && !slices.ContainsFunc(s.Filters,
		func(f *plan.EventFilter) bool { return !n.consumption.met[f.Number] })
}

// eventReceived takes in a stored event, if it is one of those that the listen waits for. It
// returns the node to step next.
func (m *Machine) eventReceived(p *pending, ev Event) *node {
	n := p.node
	envelope, ok := ev.Output.(map[string]any)
	if !ok || deeper(envelope, maxEventDepth) || m.hadEvent(n, ev.Number) {
		return nil
	}
	f, until, ok := m.choose(n, envelope)
	if !ok {
		return nil
	}
	m.consumedAt(n).add(ev.Number)
	m.grown += consumedBytes
	m.record(p, Outcome{Kind: EventReceived, Output: envelope})
	to := n.task.Listen.To
	if f != nil {
		m.learn(n, f, envelope)
		n.consumption.met[f.Number] = true
	}
	if until {
		if to.UntilEvents.Mode == dsl.StrategyAll && !n.satisfied(to.UntilEvents) {
			return nil
		}
		m.closeConsumption(n)
		if n.list != nil { // the foreach continues with what came before
			return nil
		}
		return m.consumptionDone(n)
	}
	if to.Mode == dsl.StrategyOne || n.satisfied(to) ||
		to.Mode == dsl.StrategyAny && to.Until == nil && to.UntilEvents == nil {
		m.closeConsumption(n)
	}
	return m.accept(n, ev.Number, readEvent(n.task.Listen.Read, envelope))
}

// hadEvent reports whether the task was given an event before, by this listen or another one (T60).
func (m *Machine) hadEvent(n *node, number int64) bool {
	consumed := m.consumed[n.consumer()]
	return consumed != nil && consumed.has(number)
}
