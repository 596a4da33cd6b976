package embedded

import (
	"context"

	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

// progress hands over one outcome of a stream and returns when the outcome is durable, so that a
// stream does not run ahead of its execution. There is one call at a time per stream.
func (e *Engine) progress(ctx context.Context, c *call, v value.Value) error {
	if err := engine.CheckMessage(v, e.limits.ActivityOutputBytes); err != nil {
		return err
	}
	c.progressed++
	reply := make(chan error, 1)
	inst, drive := e.instances.put(c.no, message{kind: applyEvent, call: c, reply: reply, event: machine.Event{
		Kind: machine.Progressed, Command: c.command, Output: v, Number: c.progressed,
	}})
	if drive {
		e.goWork(func() { e.drive(inst) })
	}
	select {
	case err := <-reply:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// acceptsProgress reports whether the outcome of a stream is to be journaled now. If the machine
// cannot take it yet, the stream waits. An outcome that the machine does not want is not journaled.
func (e *Engine) acceptsProgress(inst *instance, msg *message) bool {
	c := msg.call
	if inst.callOf(c.command) != c {
		msg.answer(engine.ErrWithdrawn)
		return false
	}
	if s, _ := inst.machine.Stream(c.command); s.Paused {
		waiting := *msg
		c.waiting = &waiting
		msg.kind, msg.reply = handled, nil
		return false
	}
	return inst.machine.Wants(c.command, msg.event.Output)
}

// resumeStreams sends the waiting outcomes of streams that the machine can take again.
func (e *Engine) resumeStreams(inst *instance) {
	for _, c := range inst.calls {
		if c.waiting == nil || inst.machine == nil {
			continue
		}
		if s, _ := inst.machine.Stream(c.command); !s.Paused {
			msg := *c.waiting
			c.waiting = nil
			e.goWork(func() { e.send(inst.no, msg) })
		}
	}
}
