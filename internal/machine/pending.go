package machine

import (
	"slices"
	"sort"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/value"
)

// use says for what a command was issued whose outcome is pending. Checkpoints hold the name of a
// use and not its number, see useNames.
type use uint8

const (
	useActivity use = iota
	useTimeout
	useWait
	useRetry
	useAttemptTimeout
	useRetryTimeout
	useWorkflowTimeout
	useListen   // a Subscribe
	useChild    // a StartChild that is awaited
	useDetached // an activity whose task has ended (T67)
	useConsume  // the `for` of a subscription (AsyncAPI)
	useHuman    // an OpenTask
)

// pending is a command without an outcome.
type pending struct {
	id   CommandID
	node *node // nil: the command has its outcome or was withdrawn
	use  use

	dueMs         int64       // timers
	askedMs       int64       // activities, executions of other workflows and human tasks: when they were asked for
	args          value.Value // activities
	interruptions int         // activities (T91)
	key           string      // activities: the idempotency key of a former attempt; empty: one of its own
	position      int64       // subscriptions: number of the last event; streams: of the last one of this run
	filters       []Filter    // subscriptions
	child         *Child
	task          chargehand.HumanTaskID // of an OpenTask
	bytes         int                    // of its request
	detached      *Command               // as it was issued
	resting       bool                   // the execution is suspended: its outcome is held, or it is to be issued again
}

// pendings holds the commands without an outcome in the order of their IDs, with gaps where
// some have ended, so that lookup is a binary search and removal costs nothing.
type pendings struct {
	list                       []*pending
	gone                       int
	activities, retries, waits int
	listens, children, humans  int
	detached                   int
	humanBytes                 int // requests of open human tasks, also of those that rest
}

func isActivity(u use) bool { return u == useActivity || u == useDetached }
func isListen(u use) bool   { return u == useListen }
func isChild(u use) bool    { return u == useChild }
func isHuman(u use) bool    { return u == useHuman }
func isTimer(u use) bool    { return !isActivity(u) && !isListen(u) && !isChild(u) && !isHuman(u) }

// isAwaited reports whether the command is an activity whose task waits for it, unlike a detached one.
func isAwaited(u use) bool { return u == useActivity }

func (ps *pendings) add(p *pending) {
	ps.list = append(ps.list, p)
	ps.humanBytes += p.bytes
	ps.count(p, 1)
}

func (ps *pendings) count(p *pending, by int) {
	switch p.use {
	case useActivity:
		ps.activities += by
	case useRetry:
		ps.retries += by
	case useWait:
		ps.waits += by
	case useListen:
		ps.listens += by
	case useChild:
		ps.children += by
	case useHuman:
		ps.humans += by
	case useDetached:
		ps.detached += by
	}
}

func (ps *pendings) find(id CommandID, is func(use) bool) *pending {
	_, p := ps.search(id, is)
	return p
}

// search is find that also tells where in the list the command is.
func (ps *pendings) search(id CommandID, is func(use) bool) (at int, p *pending) {
	at = sort.Search(len(ps.list), func(i int) bool { return ps.list[i].id >= id })
	if at == len(ps.list) || ps.list[at].id != id || ps.list[at].node == nil || !is(ps.list[at].use) {
		return at, nil
	}
	return at, ps.list[at]
}

// take finds a command and removes it.
func (ps *pendings) take(id CommandID, is func(use) bool) *pending {
	at, p := ps.search(id, is)
	if p == nil {
		return nil
	}
	ps.humanBytes -= p.bytes
	if !p.resting {
		ps.count(p, -1)
	}
	if at == len(ps.list)-1 { // mostly: tasks follow each other
		ps.dropLast()
		return p
	}
	ps.list[at] = &pending{id: id}
	ps.gone++
	if ps.gone > 16 && ps.gone > len(ps.list)/2 {
		ps.list = slices.DeleteFunc(ps.list, func(p *pending) bool { return p.node == nil })
		ps.gone = 0
	}
	return p
}

// dropLast takes the last command out of the list, and those before it that are gone already.
func (ps *pendings) dropLast() {
	for n := len(ps.list) - 1; ; n-- {
		ps.list[n] = nil
		if ps.list = ps.list[:n]; n == 0 || ps.list[n-1].node != nil {
			return
		}
		ps.gone--
	}
}

// commandOf is the command that a pending stands for, as it was issued.
func (m *Machine) commandOf(p *pending) Command {
	switch p.use {
	case useListen:
		return Command{Kind: Subscribe, ID: p.id, Filters: p.filters, SinceMs: m.startedMs}
	case useChild:
		return Command{Kind: StartChild, ID: p.id, Child: p.child}
	case useDetached:
		return *p.detached
	case useActivity:
	default:
		return Command{Kind: StartTimer, ID: p.id, DueMs: p.dueMs}
	}
	n := p.node
	seq := 0
	if e := n.entryOf(); e != nil {
		seq = e.Seq
	}
	return Command{
		Kind: RunActivity, ID: p.id,
		Activity: n.task.Activity.Kind, Args: p.args, Input: n.input,
		Reference: n.reference(), Iteration: n.iteration(), Attempt: n.attempt, Seq: seq,
		Metadata: n.metadata(), Key: m.keyOf(p),
		Stream: n.task.Stream != nil,
	}
}

func (m *Machine) startTimer(n *node, u use, dueMs int64) CommandID {
	id := m.issue(Command{Kind: StartTimer, DueMs: dueMs})
	m.pending.add(&pending{id: id, node: n, use: u, dueMs: dueMs})
	return id
}

// stopTimer withdraws the timer that *id names, if there is one.
func (m *Machine) stopTimer(id *CommandID) { m.stop(id, StopTimer, isTimer) }

func (m *Machine) stopActivity(id *CommandID) { m.stop(id, StopActivity, isActivity) }

func (m *Machine) stop(id *CommandID, kind CommandKind, is func(use) bool) {
	if *id == 0 {
		return
	}
	if p := m.pending.take(*id, is); p != nil && !p.resting && !m.retract(*id) {
		m.out = append(m.out, Command{Kind: kind, ID: *id})
	}
	*id = 0
}

// timerFired does what a timer was for. It returns the node to step next.
func (m *Machine) timerFired(p *pending) *node {
	n := p.node
	switch p.use {
	case useWait:
		n.delay = 0
		return m.complete(n, n.input, n.task.Then)
	case useRetry:
		n.delay = 0
		return m.attempt(n)
	case useTimeout:
		n.timer = 0
		m.decided(n.task, BranchTimeout, 0)
		m.why = WithdrawnTimeout
		return m.fail(n, timeoutFault("The task took longer than its timeout.", n.reference()))
	case useAttemptTimeout:
		n.try.attemptTimer = 0
		return m.interruptAttempt(n, "The attempt took longer than the retry policy allows.", false)
	case useRetryTimeout:
		n.try.limitTimer = 0
		return m.interruptAttempt(n, "All attempts together took longer than the retry policy allows.", true)
	case useConsume:
		n.consumption.timer = 0
		return m.streamEnded(n)
	default: // useWorkflowTimeout
		m.timeout = 0
		if m.observe != nil {
			m.observe("", Branch{Kind: BranchTimeout})
		}
		m.why = WithdrawnTimeout
		m.abort(m.root, timeoutFault("The workflow took longer than its timeout.", "/timeout"))
		return nil
	}
}
