package embedded

import (
	"context"

	"github.com/chargehand/chargehand/internal/background"
)

// send leaves a message for an execution. If the execution has no driver, the caller drives it.
func (e *Engine) send(no int64, msg message) {
	if inst, drive := e.instances.put(no, msg); drive {
		e.drive(inst)
	}
}

// sendAll sends a message to many executions and waits until each has been driven once. An
// execution whose write set fails is driven again without sendAll waiting for it. sendAll returns
// when ctx ends.
func (e *Engine) sendAll(ctx context.Context, numbers []int64, msg message) {
	var sent background.Drain
	for _, no := range numbers {
		select {
		case e.wakePermits <- struct{}{}:
		case <-ctx.Done():
			return
		}
		sent.Add()
		e.goWork(func() {
			defer sent.Leave()
			defer func() { <-e.wakePermits }()
			e.send(no, msg)
		})
	}
	sent.Wait(ctx)
}

// drive works as the driver of inst until the mailbox is empty or a write set has failed.
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

// nextMessages empties the mailbox of inst. With an empty mailbox the caller is no longer the
// driver.
func (e *Engine) nextMessages(inst *instance) []message {
	q := inst.queue
	messages, passed := e.instances.drainMailbox(inst)
	if passed && q != nil {
		e.slots.notifyQueued(q) // it may still be queued
	}
	return messages
}

// finishDriving ends the caller's work as the driver of inst. Messages that have arrived meanwhile
// get a driver of their own.
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
