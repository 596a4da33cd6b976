package embedded

import (
	"context"
)

// send leaves a message for an execution and drives it, unless somebody else does.
func (e *Engine) send(no int64, msg message) {
	if inst, drive := e.instances.put(no, msg); drive {
		e.drive(inst)
	}
}

// sendAll sends a message to many executions and waits until it was dealt with once; what
// fails is tried again by itself. It does not wait beyond the end of ctx.
func (e *Engine) sendAll(ctx context.Context, numbers []int64, msg message) {
	var sent drainGroup
	for _, no := range numbers {
		select {
		case e.wakePermits <- struct{}{}:
		case <-ctx.Done():
			return
		}
		sent.add()
		e.goWork(func() {
			defer sent.leave()
			defer func() { <-e.wakePermits }()
			e.send(no, msg)
		})
	}
	sent.wait(ctx)
}

// drive is the driver of r until its mailbox is empty, or it has stalled.
func (e *Engine) drive(inst *instance) {
	for {
		messages := e.nextMessages(inst)
		if messages == nil {
			return
		}
		if !e.step(inst, messages) {
			return
		}
		inst.recycle(messages)
	}
}

// take empties the mailbox of r. With nothing in it, the caller is no longer the driver.
func (e *Engine) nextMessages(inst *instance) []message {
	q := inst.queue
	messages, passed := e.instances.drainMailbox(inst)
	if passed && q != nil {
		e.slots.notifyQueued(q) // it may be queued still
	}
	return messages
}

// finishDriving ends the caller's part as the driver of r. If messages have come in, they get
// a driver of their own.
func (e *Engine) finishDriving(inst *instance) {
	messages := e.nextMessages(inst)
	if messages == nil {
		return
	}
	e.goWork(func() {
		if e.step(inst, messages) {
			inst.recycle(messages)
			e.drive(inst)
		}
	})
}
