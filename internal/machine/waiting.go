package machine

import "github.com/chargehand/chargehand"

// WaitKind is what an execution waits for.
type WaitKind uint8

// The kinds, the least blocking one first.
const (
	WaitNone WaitKind = iota // it waits for nothing
	WaitTimer
	WaitRetry
	WaitEvent
	WaitChild
	WaitPerson
)

// Waiting is what an execution waits for: the most blocking one of all.
type Waiting struct {
	Kind    WaitKind
	UntilMs int64                  // WaitTimer and WaitRetry: the first one
	Task    chargehand.HumanTaskID // WaitPerson: the one that was opened first
	Types   []string               // WaitEvent: of the events, up to maxWaitTypes
	Retry   *Retry                 // the first one that is delayed, also beside tasks that run
}

// Retry is an attempt that is delayed.
type Retry struct {
	Reference string // of the task
	Attempt   int    // its number, from 1
	Of        int    // how many there are at most; 0: as many as it takes
	NextMs    int64
}

// maxWaitTypes bounds the types of Waiting and Wait.
const maxWaitTypes = 10

// Waiting says what the execution waits for. While a task runs it is WaitNone.
func (m *Machine) Waiting() (w Waiting) {
	load := m.Load()
	runs := load.Activities > 0 || load.Yielded
	if runs && load.Retries == 0 || load == (Load{}) {
		return w
	}
	for _, p := range m.pending.list {
		if p.node == nil {
			continue
		}
		if p.use == useRetry && (w.Retry == nil || p.dueMs < w.Retry.NextMs) {
			w.Retry = &Retry{Reference: p.node.reference(), Attempt: p.node.try.attempt + 1, Of: attemptsOf(p.node), NextMs: p.dueMs}
		}
		if !runs {
			w.note(p)
		}
	}
	return w
}

// note takes a pending command in, if it is more blocking than what is known.
func (w *Waiting) note(p *pending) {
	kind := WaitNone
	switch p.use {
	case useWait:
		kind = WaitTimer
	case useRetry:
		kind = WaitRetry
	case useListen:
		kind = WaitEvent
	case useChild:
		kind = WaitChild
	case useHuman:
		kind = WaitPerson
	}
	switch {
	case kind == WaitNone || kind < w.Kind:
		return
	case kind > w.Kind:
		w.Kind, w.UntilMs, w.Types, w.Task = kind, p.dueMs, nil, p.task
	case p.dueMs < w.UntilMs:
		w.UntilMs = p.dueMs
	}
	for _, f := range p.filters {
		if f.Type != "" && len(w.Types) < maxWaitTypes {
			w.Types = append(w.Types, f.Type)
		}
	}
}

// attemptsOf is how often a try tries at most; 0: as often as it takes.
func attemptsOf(n *node) int {
	if r := n.task.Catch.Retry; r != nil && r.AttemptCount >= 0 {
		return r.AttemptCount + 1
	}
	return 0
}
