package embedded

import (
	"errors"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/store"
)

// queuedRow is an execution that a write set makes queued, and that is counted as such.
type queuedRow struct {
	id       chargehand.ExecutionID
	workflow int64
}

// inDoubtStart is an execution whose first commit failed, so that it may or may not be there. It
// keeps its lease until that is known. It goes by its id: the number of a row whose insertion was undone is
// given to the next one.
type inDoubtStart struct {
	id     chargehand.ExecutionID
	lease  *lease      // nil: it holds none
	queued []queuedRow // that are there if it is: itself or its children
}

// undoInsert forgets a new execution. If it is in doubt, it is looked up by its id when commits
// succeed again: its number may be another execution's by then.
func (e *Engine) undoInsert(s *writeSet, inDoubt bool, queued []queuedRow) {
	inst := s.inst
	if inst.lease == nil { // it is queued itself
		queued = append(queued, queuedRow{inst.row.ID, inst.row.Workflow})
	}
	d := inDoubtStart{id: inst.row.ID, lease: inst.lease, queued: queued}
	inst.lease = nil
	remains := s.outcome == nil || len(s.children) > 0
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
		e.slots.notifyAllQueued() // its number was another execution's, which is queued
	}
}

// undo gives back what an execution has kept that does not exist.
func (e *Engine) releaseStart(d inDoubtStart) {
	e.slots.release(d.lease)
	for _, row := range d.queued {
		e.queued.leave(row.workflow)
	}
}

// recheckLater finds out what executions have become whose first commit is in doubt.
func (e *Engine) recheckLater(starts []inDoubtStart) {
	if len(starts) > 0 {
		e.goWork(func() { e.recheck(starts) })
	}
}

// recheck finds out what executions have become whose first commit is in doubt. The Update waits
// for a commit that the database is still working on.
func (e *Engine) recheck(starts []inDoubtStart) {
	const atOnce = 100
	for wait := minBackoff; len(starts) > 0; {
		n := min(len(starts), atOnce)
		rows := make([]store.Execution, n)
		err := e.store.Update(e.ctx, func(tx *store.Tx) error {
			for i, d := range starts[:n] {
				row, err := tx.FindExecution(d.id)
				if err != nil && !errors.Is(err, store.ErrNotFound) {
					return err
				}
				rows[i] = row
			}
			return nil
		})
		switch {
		case err == nil:
			for i, d := range starts[:n] {
				e.resolveStart(d, &rows[i])
			}
			starts, wait = starts[n:], minBackoff
		case errors.Is(err, store.ErrUnavailable):
			for _, d := range starts {
				e.outage.remember(d)
			}
			e.outage.begin()
			return
		case e.ctx.Err() != nil:
			return
		default:
			e.log.Error("look up executions that are in doubt", "count", len(starts), "error", err)
			e.sleep(wait)
			wait = min(2*wait, maxBackoff)
		}
	}
	e.slots.notifyAllQueued() // some may be queued
}

// rechecked brings an execution into memory that turned out to be there. row is zero if it is not.
func (e *Engine) resolveStart(d inDoubtStart, row *store.Execution) {
	switch {
	case row.No == 0:
		e.releaseStart(d)
	case row.State == store.StateEnded:
		e.slots.release(d.lease)
		e.endedInDoubt(*row)
	case row.State == store.StateQueued:
		e.slots.release(d.lease)
	default:
		e.goWork(func() { e.send(row.No, message{kind: recheckStart, lease: d.lease}) })
	}
}

// missing returns those of rows that a commit in doubt has not made.
func missing(tx *store.Reader, rows []queuedRow) (lost []queuedRow, err error) {
	for _, row := range rows {
		_, err := tx.FindExecution(row.id)
		if errors.Is(err, store.ErrNotFound) {
			lost = append(lost, row)
		} else if err != nil {
			return nil, err
		}
	}
	return lost, nil
}

// foundEnded does for an execution that is not in memory, or has ended by a commit that seemed to
// fail, what its end still owes. before is what memory knew, if anything.
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

// endedInDoubt tells relatives, and whoever waits for its batch, of the end of an execution by a commit that
// seemed to fail.
func (e *Engine) endedInDoubt(row store.Execution) {
	e.goWork(func() {
		for wait := minBackoff; ; wait = min(2*wait, maxBackoff) {
			var open []store.Child
			var link store.Child
			var b store.Batch
			err := e.store.View(e.ctx, func(rd *store.Reader) (err error) {
				if row.Batch != 0 {
					if b, err = rd.BatchByNo(row.Batch); err != nil {
						return err
					}
				}
				if link, err = rd.ChildByExecution(row.No); errors.Is(err, store.ErrNotFound) {
					return nil // it has no relatives
				} else if err != nil {
					return err
				}
				open, err = rd.OpenChildren(row.No, engine.MaxOpenChildren+1)
				return err
			})
			if errors.Is(err, store.ErrNotFound) {
				return // deleted after its end
			}
			if err == nil {
				e.notifyBatch(&b)
				e.catchUpChildren(&instance{inDoubt: true, row: store.Execution{Account: row.Account}}, open)
				if link.State == store.ChildEnded {
					e.notifyParent(link.Parent)
				}
				return
			}
			if !e.sleep(wait) {
				return
			}
		}
	})
}

// batchMoved tells whoever waits for a batch what its row says.
func (e *Engine) notifyBatch(b *store.Batch) {
	if b.No == 0 {
		return
	}
	if b.Status.Final() {
		e.slots.forget(b.No)
	}
	e.watchers.notify(b.ID)
}
