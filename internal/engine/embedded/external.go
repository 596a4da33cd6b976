package embedded

import (
	"fmt"
)

// maxRounds bounds how often one write set starts children and reads events in turn.
const maxRounds = 10

// pullExternal takes in what comes from outside the execution: events that it listens to, and ends
// of its children. It also starts children, because a child that cannot be started has ended at
// once.
func (e *Engine) pullExternal(s *writeSet) error {
	inst := s.inst
	if inst.machine == nil || !inst.hasExternal() {
		return nil
	}
	budget := newBudget()
	for range maxRounds {
		if err := e.startChildren(s); err != nil {
			return fmt.Errorf("start children: %w", err)
		}
		if err := e.readSubscriptions(s, &budget); err != nil {
			return fmt.Errorf("look at events: %w", err)
		}
		if len(inst.unstarted) == 0 || s.finish != nil {
			break
		}
	}
	if err := e.startIndependent(s); err != nil {
		return fmt.Errorf("start children: %w", err)
	}
	s.refreshAgain = s.refreshAgain || len(inst.unstarted) > 0
	return nil
}

// hasExternal reports whether pullExternal may find anything. Most executions neither listen nor
// have children.
func (inst *instance) hasExternal() bool {
	return inst.childrenEnded || len(inst.unstarted) > 0 || len(inst.subscriptions) > 0 ||
		inst.machine.Load().Listens > 0
}
