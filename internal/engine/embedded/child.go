package embedded

import (
	"slices"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

// maxRefusals bounds the refused children in one round of a write set (maxRounds), so that a loop which asks for
// nothing else commits from time to time.
const maxRefusals = 100

// loadChildren finds the children that an execution which has been loaded still has to start, and
// those whose ends it has to take in.
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
	for _, link := range open {
		inst.childrenEnded = inst.childrenEnded || link.State == store.ChildEnded
	}
	if inst.inDoubt {
		e.cancelChildren()
	}
	for _, c := range inst.machine.InFlight() {
		started := func(l store.Child) bool { return l.Command == uint64(c.ID) }
		if c.Kind == machine.StartChild && !slices.ContainsFunc(open, started) {
			inst.unstarted = append(inst.unstarted, c)
		}
	}
	return nil
}

// startChildren takes in the ends of children and starts new children.
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
			s.apply(ev)
		}
	}
	return nil
}

// startIndependent starts the children that the execution does not await, and leaves the others for
// later. Every write set starts its independent children: the events that ask for them are
// journaled with it, and no later event names them again. An awaited child is found in the machine
// later.
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
		if _, err := e.prepareChildren(s); err != nil { // only awaited children are refused with an event
			return err
		}
	}
	inst.unstarted = awaited
	if s.finish != nil {
		inst.unstarted = nil
	}
	return nil
}

// prepareChildren makes the executions of the StartChild commands that wait, and an event for each
// child that cannot be started.
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
		tree, err := engine.ReadTree(rd, inst.no)
		if err != nil {
			return err
		}
		tree.Stopped = tree.Stopped || withdrawn
		tree.Size += others
		for i := range commands {
			c := commands[i]
			if tree.Stopped && c.Child.Await {
				continue // the execution is about to be cancelled and needs no awaited child
			}
			if inst.secrets != nil {
				child := *c.Child
				child.Input = inst.secrets.Redact(child.Input)
				c.Child = &child
			}
			start, fault, err := tree.NewChild(rd, &inst.row, c, len(s.children)+len(starts), inst.inputFiles)
			switch {
			case err != nil:
				return err
			case fault == nil:
				start.Row.Input = engine.Inline(c.Child.Input)
				starts = append(starts, start)
			case c.Child.Await:
				refused = append(refused, machine.Event{Kind: machine.ChildEnded, Command: c.ID, Fault: fault})
			default:
				engine.LogRefusedChild(e.log, inst.row.ID, c.Child, fault)
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

// readChildEnds applies the ends of children to the machine.
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
	ends, more, err := engine.ReadChildEnds(e.ctx, e.store, e.config.Blobs, open, s.delivered, e.limits.ActivityOutputBytes)
	if err != nil {
		return err
	}
	for _, end := range ends {
		if s.finish != nil {
			break
		}
		end.Event.TimeMs = max(inst.timeMs, e.nowMs())
		s.apply(end.Event)
		s.delivered = append(s.delivered, end.No)
	}
	inst.childrenEnded = more && s.finish == nil
	s.refreshAgain = s.refreshAgain || inst.childrenEnded
	return nil
}

// writeChildren writes the changes to the parent's and children's links. The execution has not
// ended yet in this transaction.
func (s *writeSet) writeChildren(tx *store.Tx) error {
	s.childrenCancelled, s.childStarted = false, s.childStarted[:0]
	if s.withdrawn != nil { // its parent, which is about to be cancelled, does not get this end
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

// dispatchChildren lets the queues, the parent and the children know what a durable write set has
// changed for them.
func (e *Engine) dispatchChildren(s *writeSet) {
	if len(s.children) > 0 {
		for i, child := range s.children {
			if !s.childStarted[i] { // an earlier commit has started it, and it was counted then
				e.queued.leave(child.Row.Queue())
			}
		}
		e.stats.queued.Add(int64(len(s.children)))
		for _, child := range s.children {
			e.slots.notifyQueued(e.slots.singles(child.Row.Account, ownerOf(&child.Row)))
		}
	}
	if s.childrenCancelled || s.end != nil && len(s.end.Ending.Children) > 0 {
		e.cancelChildren()
	}
	if s.end == nil {
		return
	}
	if parent := s.end.Ending.Parent; parent != 0 {
		e.notifyParent(parent)
	}
}

// notifyParent makes an execution read the end of one of its children.
func (e *Engine) notifyParent(no int64) {
	e.goWork(func() { e.send(no, message{kind: readChildren}) })
}

// recoverChildren does what the rows of children ask for after a restart.
func (e *Engine) recoverChildren() {
	e.cancelChildren()
	e.goWork(func() {
		for after := int64(0); ; {
			var page []store.Child
			read := e.retry(func() bool {
				return nil == e.store.View(e.ctx, func(r *store.Reader) (err error) {
					page, err = r.DueChildren(store.ChildEnded, after, recoveryPage)
					return err
				})
			})
			if !read {
				return
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
