package embedded

import (
	"context"
	"errors"
	"time"
)

const (
	// stopTime bounds Stop. The server as a whole has 10 s.
	stopTime = 9 * time.Second
	// stopReserve is the part of stopTime that cancelled activities have to return.
	stopReserve = time.Second
)

// Stop refuses new executions and starts nothing more. It waits for running activities until ctx
// ends, or for 8 s. It cancels the others: the journal says that they are in flight, and the next
// start counts them as interrupted. Stop returns after 9 s at most, also if the database hangs. The
// store may be closed afterwards. A second call waits for the first one.
func (e *Engine) Stop(ctx context.Context) error {
	if e.stopping.Swap(true) {
		select {
		case <-e.stopped:
			return e.stopErr
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	e.stopErr = e.stop(ctx)
	close(e.stopped)
	return e.stopErr
}

func (e *Engine) stop(ctx context.Context) error {
	final, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	running, cancelRunning := context.WithTimeout(ctx, stopTime-stopReserve)
	defer cancelRunning()
	e.requests.Close()
	e.slots.stop()
	e.pauseAll(true)
	e.requests.Wait(running)
	var numbers []int64
	e.instances.each(func(inst *instance) { numbers = append(numbers, inst.no) })
	e.sendAll(running, numbers, message{kind: refresh})
	done := e.work.Wait(running)
	e.abandon.Store(true)
	e.cancelAll()
	if !done {
		short, cancel := context.WithTimeout(final, stopReserve/2)
		defer cancel()
		e.work.Wait(short)
	}
	e.outage.close()
	err := e.services.Stop(final)
	if !e.work.Wait(final) {
		err = errors.Join(err, errors.New("stop: an activity or the database did not return in time"))
	}
	return err
}
