package embedded

import (
	"errors"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// queuedRow is an execution that a write set makes queued, and that is counted as queued.
type queuedRow struct {
	id    chargehand.ExecutionID
	owner store.QueuedActor // whose singles it is one of
}

func queuedRowOf(row *store.Execution) queuedRow {
	return queuedRow{row.ID, store.QueuedActor{QueuedWorkflow: row.Queue(), Actor: row.Actor()}}
}

// notifyRows lets queued executions start, which a commit in doubt turned out to have made.
func (e *Engine) notifyRows(rows []queuedRow) {
	for _, row := range rows {
		e.slots.notifyQueued(e.slots.singles(row.owner.Account, ownerOfQueued(row.owner)))
	}
}

// inDoubtStart is an execution whose first commit is in doubt: it may exist or not. It keeps its
// lease until that is known. It is identified by its id, because the database gives the number of
// an undone row to the next row.
type inDoubtStart struct {
	id     chargehand.ExecutionID
	lease  *lease      // nil if it holds none
	queued []queuedRow // itself or its children, which exist if it exists
}

// undoInsert forgets a new execution whose commit has failed. If the commit is in doubt, the
// execution is looked up by its id when commits succeed again.
func (e *Engine) undoInsert(s *writeSet, inDoubt bool, queued []queuedRow) {
	inst := s.inst
	if inst.lease == nil { // the execution itself is queued
		queued = append(queued, queuedRowOf(&inst.row))
	}
	d := inDoubtStart{id: inst.row.ID, lease: inst.lease, queued: queued}
	inst.lease = nil
	remains := s.end == nil || len(s.children) > 0
	if !inDoubt || !remains || !e.outage.remember(d) {
		e.releaseStart(d)
	}
	if inst.no == 0 {
		return
	}
	messages, passed := e.instances.abandon(inst)
	if len(messages) > 0 {
		e.goWork(func() {
			for _, msg := range messages {
				e.send(inst.no, msg)
			}
		})
	}
	if passed {
		e.notifyQueueOf(inst.no)
	}
}

// notifyQueueOf lets the queued execution start that has a number now. A scheduler has passed over it, because another
// one had the number, whose insertion was undone.
func (e *Engine) notifyQueueOf(no int64) {
	e.goWork(func() {
		e.retry(func() bool {
			var row store.Execution
			err := e.store.View(e.ctx, func(r *store.Reader) (err error) {
				row, err = r.ExecutionByNo(no)
				return err
			})
			if err == nil && row.State == store.StateQueued {
				var q *queue
				if q, err = e.queueOf(&row); err == nil {
					e.slots.notifyQueued(q)
				}
			}
			return err == nil || errors.Is(err, store.ErrNotFound)
		})
	})
}

// releaseStart gives back what was kept for an execution that does not exist, or that there was no room to remember:
// if that one exists, the next start of the engine finds it.
func (e *Engine) releaseStart(d inDoubtStart) {
	e.slots.release(d.lease)
	for _, row := range d.queued {
		e.queued.leave(row.owner.QueuedWorkflow)
	}
}

// recheckLater starts recheck on a goroutine of its own.
func (e *Engine) recheckLater(starts []inDoubtStart) {
	if len(starts) > 0 {
		e.goWork(func() { e.recheck(starts) })
	}
}

// recheck looks up the executions whose first commit is in doubt. It does so in an Update, which
// waits for a commit that the database has not finished.
func (e *Engine) recheck(starts []inDoubtStart) {
	const atOnce = 100
	for len(starts) > 0 {
		page := starts[:min(len(starts), atOnce)]
		rows := make([]store.Execution, len(page))
		var err error
		tried := e.retry(func() bool {
			err = e.store.Update(e.ctx, func(tx *store.Tx) error {
				for i, d := range page {
					row, err := tx.FindExecution(d.id)
					if err != nil && !errors.Is(err, store.ErrNotFound) {
						return err
					}
					rows[i] = row
				}
				return nil
			})
			if err == nil || errors.Is(err, store.ErrUnavailable) {
				return true
			}
			if e.ctx.Err() == nil {
				e.log.Error("look up executions that are in doubt", "count", len(starts), "error", err)
			}
			return false
		})
		switch {
		case !tried:
			return
		case err != nil:
			for _, d := range starts {
				if !e.outage.remember(d) {
					e.releaseStart(d)
				}
			}
			e.outage.begin()
			return
		}
		for i, d := range page {
			e.resolveStart(d, &rows[i])
		}
		starts = starts[len(page):]
	}
}

// resolveStart continues an execution that turned out to exist. row is zero if it does not exist.
func (e *Engine) resolveStart(d inDoubtStart, row *store.Execution) {
	if row.No == 0 {
		e.releaseStart(d)
		return
	}
	e.notifyRows(d.queued)
	switch {
	case row.State == store.StateEnded:
		e.slots.release(d.lease)
		e.endedInDoubt(*row)
	case !row.State.Begun():
		e.slots.release(d.lease)
	default:
		e.goWork(func() { e.send(row.No, message{kind: recheckStart, lease: d.lease}) })
	}
}

// findRows returns those of rows that a commit in doubt has made, and the others.
func findRows(tx *store.Reader, rows []queuedRow) (made, lost []queuedRow, err error) {
	for _, row := range rows {
		_, err := tx.FindExecution(row.id)
		switch {
		case err == nil:
			made = append(made, row)
		case errors.Is(err, store.ErrNotFound):
			lost = append(lost, row)
		default:
			return nil, nil, err
		}
	}
	return made, lost, nil
}

// foundEnded does what the end of an execution still asks for, when the loaded row says that it has
// ended. before is what memory knew of the row.
func (e *Engine) foundEnded(inst *instance, before store.Execution) {
	e.release(inst)
	if before.No != 0 && before.State != store.StateEnded {
		if inst.row.ID == before.ID {
			e.countEnd(&inst.row)
		}
		e.watchers.notify(before.ID)
		e.endedInDoubt(before)
	} else if inst.inDoubt {
		e.endedInDoubt(inst.row)
	}
}

// endedInDoubt notifies the parent, the children and the batch of an execution whose last commit was in doubt
// and turned out to be made.
func (e *Engine) endedInDoubt(row store.Execution) {
	e.goWork(func() {
		e.retry(func() bool {
			var link store.Child
			var b store.Batch
			err := e.store.View(e.ctx, func(rd *store.Reader) (err error) {
				if row.Batch != 0 {
					if b, err = rd.BatchByNo(row.Batch); err != nil {
						return err
					}
				}
				if link, err = rd.ChildByExecution(row.No); errors.Is(err, store.ErrNotFound) {
					return nil // it has neither parent nor children
				}
				return err
			})
			if err != nil {
				return errors.Is(err, store.ErrNotFound) // it was deleted after its end
			}
			e.notifyBatch(&b)
			e.cancelChildren()
			if link.State == store.ChildEnded {
				e.notifyParent(link.Parent)
			}
			return true
		})
	})
}

// notifyBatch notifies the watchers of a batch whose row has changed.
func (e *Engine) notifyBatch(b *store.Batch) {
	if b.No == 0 {
		return
	}
	if b.Status.Final() {
		e.slots.forget(b.No)
	}
	e.watchers.notify(b.ID)
}
