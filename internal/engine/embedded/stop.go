package embedded

import (
	"context"
	"errors"
	"time"

	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

const (
	// stopTime is what Stop takes at most. The server as a whole has 10 s.
	stopTime = 9 * time.Second
	// stopReserve of it is for activities to return after they were cancelled.
	stopReserve = time.Second
)

// Stop refuses new executions, starts nothing more, waits for running activities until ctx
// ends or for 8 s, and cancels the others; those stay in flight in the journal, and an interruption is
// counted on the next start. It returns after 9 s at most, also if the database hangs. The store may be closed
// afterwards. Another call waits for the first one.
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
	patient, cancelPatience := context.WithTimeout(ctx, stopTime-stopReserve)
	defer cancelPatience()
	e.requests.close()
	e.slots.stop()
	e.pauseAll(true)
	e.requests.wait(patient)
	var numbers []int64
	e.instances.each(func(inst *instance) { numbers = append(numbers, inst.no) })
	e.sendAll(patient, numbers, message{kind: refresh})
	done := e.work.wait(patient)
	e.abandon.Store(true)
	e.cancelAll()
	if !done {
		short, cancel := context.WithTimeout(final, stopReserve/2)
		defer cancel()
		e.work.wait(short)
	}
	e.outage.close()
	err := e.services.stop(final)
	if !e.work.wait(final) {
		err = errors.Join(err, errors.New("stop: an activity or the database did not return in time"))
	}
	return err
}

// pause keeps activities and timers from starting, or lets them start again.
func (e *Engine) pauseAll(paused bool) {
	e.pausing.Lock()
	defer e.pausing.Unlock()
	if !paused && e.stopping.Load() {
		return
	}
	e.calls.pause(paused)
	e.streams.pause(paused)
	e.processes.pause(paused)
	e.scripts.pause(paused)
	e.timers.pause(paused)
}

// tellOutage logs the begin and the end of an outage, once each.
func (e *Engine) logOutage(over bool) {
	if over {
		e.log.Info("the storage is available again")
	} else {
		e.log.Error("the storage is unavailable; nothing new is started until it is back")
	}
}

// driveAll tries stalled runs again.
func (e *Engine) driveStalled(runs []*instance) {
	for _, inst := range runs {
		e.goWork(func() { e.drive(inst) })
	}
}

// recheckLater finds out what executions have become whose first commit is in doubt.
func (e *Engine) recheckLater(starts []inDoubtStart) {
	if len(starts) > 0 {
		e.goWork(func() { e.recheck(starts) })
	}
}

// fire delivers due timers. It returns when all of them have a place among those who wake.
func (e *Engine) fire(due []store.Timer) {
	for _, t := range due {
		inst, drive := e.instances.put(t.Execution, message{kind: applyEvent, event: machine.Event{
			Kind: machine.TimerFired, Command: machine.CommandID(t.Command),
		}})
		if !drive {
			continue
		}
		select {
		case e.wakePermits <- struct{}{}:
		case <-e.ctx.Done():
			return // the rows say that they are due
		}
		e.goWork(func() {
			defer func() { <-e.wakePermits }()
			e.drive(inst)
		})
	}
}
