package embedded

import (
	"slices"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

const (
	// maxDelivered and maxDeliveredBytes bound the ends of children that go into one write set.
	maxDelivered      = 100
	maxDeliveredBytes = 8 << 20
	// maxRefusals bounds the children that cannot be started in one of the rounds of a write set (maxRounds), so that
	// a loop that asks for nothing else is written down from time to time.
	maxRefusals = 100
)

// loadFamily finds out what is owed between an execution that has come into memory and its relatives.
func (e *Engine) loadChildren(inst *instance) error {
	inst.unstarted, inst.childrenEnded = nil, false
	if inst.machine.Load().Children == 0 && !inst.inDoubt {
		return nil
	}
	var open []store.Child
	err := e.store.View(e.ctx, func(rd *store.Reader) (err error) {
		open, err = rd.OpenChildren(inst.no, engine.MaxOpenChildren+1)
		return err
	})
	if err != nil {
		return err
	}
	e.catchUpChildren(inst, open)
	for _, c := range inst.machine.InFlight() {
		if c.Kind == machine.StartChild && !slices.ContainsFunc(open, func(l store.Child) bool { return l.Command == uint64(c.ID) }) {
			inst.unstarted = append(inst.unstarted, c)
		}
	}
	return nil
}

// startChildren does what is owed between an execution and its children: it starts them and takes in
// their ends.
func (e *Engine) startChildren(s *writeSet) error {
	inst := s.inst
	if inst.childrenEnded {
		if err := e.readChildEnds(s); err != nil {
			return err
		}
	}
	refusals := 0
	for len(inst.unstarted) > 0 && refusals < maxRefusals && s.finish == nil {
		refused, err := e.prepareChildren(s)
		if err != nil {
			return err
		}
		for _, ev := range refused {
			if s.finish != nil {
				break
			}
			refusals++
			ev.TimeMs = max(inst.timeMs, e.nowMs())
			s.apply(ev, e.limits.ActivityOutputBytes)
		}
	}
	return nil
}

// startIndependent starts the children that nobody awaits and leaves the others. No write set ends
// without them: what was awaited is found in the machine later, or was withdrawn if the execution ends,
// but these were asked for by events that are journaled now, and nothing tells of them again.
func (e *Engine) startIndependent(s *writeSet) error {
	inst := s.inst
	var awaited, independent []machine.Command
	for _, c := range inst.unstarted {
		if c.Child.Await {
			awaited = append(awaited, c)
		} else {
			independent = append(independent, c)
		}
	}
	if len(independent) > 0 {
		inst.unstarted = independent
		if _, err := e.prepareChildren(s); err != nil { // refusals concern only those who wait
			return err
		}
	}
	inst.unstarted = awaited
	if s.finish != nil {
		inst.unstarted = nil
	}
	return nil
}

// makeChildren makes the executions of the StartChild commands that wait, and the events that
// tell of those that cannot be started.
func (e *Engine) prepareChildren(s *writeSet) (refused []machine.Event, err error) {
	inst := s.inst
	commands := inst.unstarted
	others, withdrawn, err := e.reserve(s, len(commands))
	if err != nil {
		return nil, err
	}
	var starts []*engine.ChildStart
	err = e.store.View(e.ctx, func(rd *store.Reader) error {
		starts, refused = nil, nil
		family, err := engine.ReadFamily(rd, inst.no)
		if err != nil {
			return err
		}
		family.Stopped = family.Stopped || withdrawn
		family.Tree += others
		for i := range commands {
			c := commands[i]
			if family.Stopped && c.Child.Await {
				continue // it will be cancelled before it could wait for it
			}
			if inst.secrets != nil {
				child := *c.Child
				child.Input = inst.secrets.Redact(child.Input)
				c.Child = &child
			}
			start, fault, err := family.Child(rd, &inst.row, c, len(s.children)+len(starts))
			if err == nil && fault == nil {
				fault, err = start.Give(rd, &inst.row, c.Child.Input, inst.inputFiles)
			}
			switch {
			case err != nil:
				return err
			case fault == nil:
				starts = append(starts, start)
			case c.Child.Await:
				refused = append(refused, machine.Event{Kind: machine.ChildEnded, Command: c.ID, Fault: fault})
			default:
				e.log.Warn("a workflow that nobody waits for cannot be started", "execution", inst.row.ID,
					"workflow", inst.secrets.RedactText(c.Child.Namespace+"/"+c.Child.Name), "version", inst.secrets.RedactText(c.Child.Version),
					"detail", inst.secrets.RedactText(fault.Detail))
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	inst.unstarted = nil
	s.children = append(s.children, starts...)
	e.trees.release(s, s.reserved-len(s.children))
	return refused, nil
}

// takeEnds tells the machine of children that have ended.
func (e *Engine) readChildEnds(s *writeSet) error {
	inst := s.inst
	var open []store.Child
	err := e.store.View(e.ctx, func(rd *store.Reader) (err error) {
		open, err = rd.OpenChildren(inst.no, engine.MaxOpenChildren+1)
		return err
	})
	if err != nil {
		return err
	}
	count, bytes := 0, 0
	for _, link := range open {
		if link.State != store.ChildEnded || slices.Contains(s.delivered, link.Execution) {
			continue
		}
		if s.finish != nil {
			break
		}
		if count >= maxDelivered || bytes >= maxDeliveredBytes {
			s.refreshAgain = true
			return nil // r.told stays
		}
		ev, err := engine.ChildEnd(e.ctx, e.store, e.config.Blobs, link)
		if err != nil {
			return err
		}
		ev.TimeMs = max(inst.timeMs, e.nowMs())
		bytes += s.apply(ev, e.limits.ActivityOutputBytes)
		count++
		s.delivered = append(s.delivered, link.Execution)
	}
	inst.childrenEnded = false
	return nil
}

// writeChildren writes what a write set does to relatives. The execution has not ended yet.
func (s *writeSet) writeChildren(tx *store.Tx) error {
	s.childrenCancelled, s.childStarted = false, s.childStarted[:0]
	if s.withdrawn != nil { // its parent, which ends too, is not to hear of this end
		if _, err := tx.StopChild(s.withdrawn.Parent, s.withdrawn.Command); err != nil {
			return err
		}
	}
	for _, no := range s.delivered {
		if err := tx.DeliverChild(no); err != nil {
			return err
		}
	}
	for _, command := range s.stopChildren {
		no, err := tx.StopChild(s.inst.no, uint64(command))
		if err != nil {
			return err
		}
		s.childrenCancelled = s.childrenCancelled || no != 0
	}
	for _, child := range s.children {
		started, err := child.Insert(tx, s.inst.no)
		if err != nil {
			return err
		}
		s.childStarted = append(s.childStarted, started)
	}
	return nil
}

// childrenCommitted lets children start and end as a durable write set says.
func (e *Engine) dispatchChildren(s *writeSet) {
	if len(s.children) > 0 {
		for i, child := range s.children {
			if !s.childStarted[i] { // it was there, and was counted then
				e.queued.leave(child.Row.Workflow)
			}
		}
		e.stats.queued.Add(int64(len(s.children)))
		for _, child := range s.children {
			e.slots.notifyQueued(e.slots.singles(child.Row.Account, ownerOf(&child.Row)))
		}
	}
	if s.childrenCancelled || s.outcome != nil && len(s.outcome.Ending.Children) > 0 {
		e.cancelChildren()
	}
	if s.outcome == nil {
		return
	}
	if parent := s.outcome.Ending.Parent; parent != 0 {
		e.notifyParent(parent)
	}
}

// tellParent tells an execution that one of its children has ended.
func (e *Engine) notifyParent(no int64) {
	e.goWork(func() { e.send(no, message{kind: readChildren}) })
}

// oweChildren does what rows say of children that a commit has written which seemed to fail.
func (e *Engine) catchUpChildren(inst *instance, open []store.Child) {
	for _, link := range open {
		inst.childrenEnded = inst.childrenEnded || link.State == store.ChildEnded
	}
	if inst.inDoubt {
		e.cancelChildren()
		e.slots.notifyAllQueued() // some may be queued
	}
}

// recoverFamilies does what the rows say is owed between executions, after a restart.
func (e *Engine) recoverChildren() {
	e.cancelChildren()
	e.goWork(func() {
		wait := minBackoff
		for after := int64(0); ; {
			var page []store.Child
			err := e.store.View(e.ctx, func(r *store.Reader) (err error) {
				page, err = r.DueChildren(store.ChildEnded, after, recoveryPage)
				return err
			})
			if err != nil {
				if !e.sleep(wait) {
					return
				}
				wait = min(2*wait, maxBackoff)
				continue
			}
			var ended []int64
			for _, link := range page {
				after = link.Execution
				if !slices.Contains(ended, link.Parent) {
					ended = append(ended, link.Parent)
				}
			}
			e.sendAll(e.ctx, ended, message{kind: readChildren})
			if len(page) < recoveryPage {
				return
			}
		}
	})
}
