package embedded

import (
	"context"
	"maps"

	"github.com/chargehand/chargehand/internal/store"
)

// recoveryPage is the number of rows that are read at a time.
const recoveryPage = 500

// recover loads what the rows ask for (DESIGN.md "Recovery"). Until it is done, no slots are handed
// out and no timers fire.
func (e *Engine) recover(ctx context.Context) error {
	e.slots.stop()
	var queued map[store.QueuedWorkflow]int64
	var waiting []store.QueuedActor
	var accounts []store.Account
	var batches []store.Batch
	err := e.store.View(ctx, func(r *store.Reader) (err error) {
		if queued, err = r.QueuedWorkflows(); err != nil {
			return err
		}
		if waiting, err = e.queuedSingles(r, queued); err != nil {
			return err
		}
		if accounts, err = r.Accounts(); err != nil {
			return err
		}
		batches, err = r.ActiveBatches()
		return err
	})
	if err != nil {
		return err
	}
	maps.DeleteFunc(queued, func(_ store.QueuedWorkflow, n int64) bool { return n == 0 }) // all of them were delayed
	e.queued.count = queued
	for _, a := range accounts {
		e.accounts.Store(a.No, a.ID)
	}
	for _, b := range batches {
		e.slots.addBatch(&b)
	}
	active, err := e.recoverRows(ctx)
	if err != nil {
		return err
	}
	e.sendAll(ctx, active, message{kind: fireTimers})
	e.sendAll(ctx, active, message{kind: resumeWork})
	if err := ctx.Err(); err != nil {
		return err
	}
	e.startQueues(waiting, batches)
	if len(active) > 0 {
		e.log.Info("executions recovered", "count", len(active), "interruptions", e.stats.interruptions.Load())
	}
	return nil
}

// recoverRows gives active executions their slots, puts woken ones into their queues, and returns
// the active ones.
func (e *Engine) recoverRows(ctx context.Context) (active []int64, err error) {
	for _, state := range []store.ExecutionState{store.StateActive, store.StateReady} {
		var after *store.Execution
		for {
			var page []store.Execution
			err := e.store.View(ctx, func(r *store.Reader) (err error) {
				page, err = r.ExecutionsByState(state, after, recoveryPage)
				return err
			})
			if err != nil {
				return nil, err
			}
			for i := range page {
				q, err := e.queueOf(&page[i])
				if err != nil {
					return nil, err
				}
				if state == store.StateReady {
					e.slots.enqueueReady(q, page[i].No)
					continue
				}
				inst := e.instances.lookup(page[i].No)
				inst.queue, inst.lease, inst.recovering = q, e.slots.adopt(q), true
				active = append(active, inst.no)
			}
			if len(page) < recoveryPage {
				break
			}
			after = &page[len(page)-1]
		}
	}
	return active, nil
}

// queuedSingles returns which queues have singles.
func (e *Engine) queuedSingles(r *store.Reader, counts map[store.QueuedWorkflow]int64) (list []store.QueuedActor, err error) {
	if e.limits.SlotsPerKey > 0 {
		return r.QueuedActors()
	}
	for workflow := range counts {
		list = append(list, store.QueuedActor{QueuedWorkflow: workflow})
	}
	return list, nil
}

// startQueues lets queued executions start and continues the cancellation of batches.
func (e *Engine) startQueues(waiting []store.QueuedActor, batches []store.Batch) {
	for _, w := range waiting {
		e.slots.notifyQueued(e.slots.singles(w.Account, ownerOfQueued(w)))
	}
	for _, b := range batches {
		if !b.CancelRequested {
			e.slots.notifyQueued(e.slots.addBatch(&b))
			continue
		}
		e.goWork(func() { e.continueCancel(b) })
	}
	e.slots.open()
}
