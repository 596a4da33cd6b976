package machine

import (
	"slices"

	"github.com/chargehand/chargehand"
)

var waitNames = [...]string{WaitTimer: "timer", WaitRetry: "retry", WaitEvent: "event", WaitChild: "child", WaitPerson: "person"}

// String is the name of the kind in the API; empty: there is no such kind, or it is WaitNone.
func (k WaitKind) String() string {
	if int(k) >= len(waitNames) {
		return ""
	}
	return waitNames[k]
}

// Wait is what an open task waits for.
type Wait struct {
	Kind    WaitKind
	UntilMs int64                  // of a retry and a timer; else 0
	Task    chargehand.HumanTaskID // of a person
	Types   []string               // of an event: the types that may come, up to maxWaitTypes; empty: any type
}

// markWaits sets what the entries, which are sorted, wait for.
func (m *Machine) markWaits(entries []Entry) {
	for _, p := range m.pending.list {
		if p.node == nil {
			continue
		}
		w := waitOf(p)
		e := p.node.entryOf()
		if w == nil || e == nil {
			continue
		}
		at, found := slices.BinarySearchFunc(entries, e.Seq, func(e Entry, seq int) int { return e.Seq - seq })
		if found && (entries[at].Wait == nil || w.Kind > entries[at].Wait.Kind) {
			entries[at].Wait = w
		}
	}
}

// waitOf is what a command without an outcome waits for; nil: the task works, or the command only limits its time.
func waitOf(p *pending) *Wait {
	switch p.use {
	case useHuman:
		return &Wait{Kind: WaitPerson, Task: p.task}
	case useChild:
		return &Wait{Kind: WaitChild}
	case useListen:
		return &Wait{Kind: WaitEvent, Types: typesOf(p.filters)}
	case useRetry:
		return &Wait{Kind: WaitRetry, UntilMs: p.dueMs}
	case useWait:
		return &Wait{Kind: WaitTimer, UntilMs: p.dueMs}
	}
	return nil
}

// typesOf names the types of events that filters let through, each once.
func typesOf(filters []Filter) []string {
	var types []string
	for i := range filters {
		if filters[i].Type == "" {
			return nil
		}
		if len(types) < maxWaitTypes && !slices.Contains(types, filters[i].Type) {
			types = append(types, filters[i].Type)
		}
	}
	return types
}
