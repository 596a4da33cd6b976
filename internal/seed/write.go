package seed

import (
	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// part is what is written in one transaction.
type part struct {
	batch *store.Batch // nil: the executions have none
	list  []*made
}

func (p *part) size() (n int) {
	for _, m := range p.list {
		if n++; m.child != nil {
			n++
		}
	}
	return n
}

// write writes a part as engines would have written it.
func (p *part) write(tx *store.Tx) error {
	if p.batch != nil {
		return p.writeBatch(tx)
	}
	for _, m := range p.list {
		if err := m.write(tx); err != nil {
			return err
		}
	}
	return nil
}

func (m *made) write(tx *store.Tx) error {
	row := m.row // the transaction may be repeated
	switch {
	case m.end == nil:
		return m.writeOpen(tx, &row)
	case m.child != nil:
		return m.writeTree(tx, &row)
	}
	o := m.end.Outcome
	return tx.InsertFinished(&row, &o)
}

// writeOpen writes an execution that has not ended.
func (m *made) writeOpen(tx *store.Tx, row *store.Execution) error {
	if err := tx.InsertExecution(row); err != nil {
		return err
	}
	for _, j := range m.journal {
		j.Execution = row.No
		if err := tx.AppendJournal(&j); err != nil {
			return err
		}
	}
	for _, t := range m.timers {
		t.Execution, t.Environment = row.No, row.Environment
		if err := tx.PutTimer(t); err != nil {
			return err
		}
	}
	if m.state == nil {
		return nil
	}
	return tx.PutCheckpoint(&store.Checkpoint{
		Execution: row.No, Seq: int64(len(m.journal)), Revision: row.Machine, State: store.Payload{Inline: m.state, Size: int64(len(m.state))},
	})
}

// begun is a row as it was while the execution ran.
func begun(row store.Execution) store.Execution {
	row.Status, row.Phase, row.State, row.FinishedMs = chargehand.Processing, chargehand.Running, store.StateActive, 0
	return row
}

// writeTree writes an execution and the one that it has started.
func (m *made) writeTree(tx *store.Tx, row *store.Execution) error {
	open, inner := begun(*row), begun(m.child.row)
	if err := tx.InsertExecution(&open); err != nil {
		return err
	}
	inner.Root = open.No
	if err := tx.InsertExecution(&inner); err != nil {
		return err
	}
	link := store.Child{Execution: inner.No, Parent: open.No, Command: m.child.command, State: store.ChildAwaited}
	if err := tx.InsertChild(&link); err != nil {
		return err
	}
	if _, err := m.child.finish(tx, inner.No); err != nil {
		return err
	}
	if err := tx.DeliverChild(inner.No); err != nil {
		return err
	}
	_, err := m.finish(tx, open.No)
	return err
}

func (m *made) finish(tx *store.Tx, no int64) (batchFinal bool, err error) {
	o := m.end.Outcome
	return tx.FinishExecution(no, m.row.Status, m.row.Phase, m.row.StartedMs, m.row.FinishedMs, &o)
}

// writeBatch writes a batch with its items, which end together.
func (p *part) writeBatch(tx *store.Tx) error {
	b := *p.batch
	if err := tx.InsertBatch(&b); err != nil {
		return err
	}
	ended := make([]store.EndedItem, len(p.list))
	for i, m := range p.list {
		row, outcome := m.row, m.end.Outcome
		row.Batch, row.Status, row.Phase, row.State = b.No, chargehand.Initial, chargehand.Pending, store.StateQueued
		row.StartedMs, row.FinishedMs = 0, 0
		if err := tx.InsertExecution(&row); err != nil {
			return err
		}
		row.Status, row.Phase, row.State = m.row.Status, m.row.Phase, m.row.State
		row.StartedMs, row.FinishedMs = m.row.StartedMs, m.row.FinishedMs
		ended[i] = store.EndedItem{Row: &row, Outcome: &outcome}
	}
	_, err := tx.FinishItems(b.No, ended)
	return err
}
