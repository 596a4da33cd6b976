package embedded

import (
	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/store"
)

// write writes the write set. It runs inside the transaction.
func (s *writeSet) write(tx *store.Tx) error {
	if s.end != nil {
		return s.writeEnd(tx)
	}
	inst := s.inst
	switch {
	case s.insert:
		if err := tx.InsertExecution(&s.row); err != nil {
			return err
		}
		s.setNumber(s.row.No)
	case s.switched && !s.begin: // another transaction may have queued what was delayed: only the phase is written
		if _, err := tx.SetSuspended(inst.no, s.row.Phase == chargehand.Suspended); err != nil {
			return err
		}
	case s.begin || s.stateChanged && s.row.Status != inst.row.Status:
		if err := tx.SetStatus(inst.no, s.row.Status, s.row.Phase, s.row.State, s.row.StartedMs, s.row.Waits); err != nil {
			return err
		}
	case s.stateChanged:
		if err := tx.SetState(inst.no, s.row.Phase, s.row.State, s.row.Waits); err != nil {
			return err
		}
	}
	s.rowWritten = true
	if s.insert || s.begin {
		if err := inst.secrets.Pin(tx, s.row.No); err != nil {
			return err
		}
	}
	if err := s.writeWork(tx); err != nil {
		return err
	}
	if err := s.writeOthers(tx); err != nil {
		return err
	}
	if s.inTx != nil {
		return s.inTx(tx, s.row.No)
	}
	return nil
}

func (s *writeSet) writeWork(tx *store.Tx) error {
	no := s.inst.no
	if err := engine.PublishFiles(tx, no, s.files); err != nil {
		return err
	}
	for i := range s.journal {
		if err := tx.AppendJournal(&s.journal[i]); err != nil {
			return err
		}
	}
	for _, command := range s.stopTimers {
		if err := tx.DeleteTimer(no, command); err != nil {
			return err
		}
	}
	for _, t := range s.startTimers {
		if err := tx.PutTimer(t); err != nil {
			return err
		}
	}
	if s.checkpoint != nil {
		if err := tx.PutCheckpoint(s.checkpoint); err != nil {
			return err
		}
	}
	if s.chunk != nil {
		if err := tx.AppendTimelineChunk(no, s.chunk); err != nil {
			return err
		}
	}
	if s.dropJournal {
		if err := tx.DropJournal(no, s.checkpoint.Seq); err != nil {
			return err
		}
		return tx.DropTimelineChunks(no, engine.TimelineEntries) // each holds at least one
	}
	return nil
}

// writeOthers writes what concerns other executions and streams. It takes locks in the order that
// package store prescribes.
func (s *writeSet) writeOthers(tx *store.Tx) error {
	if err := s.writeChildren(tx); err != nil {
		return err
	}
	if err := s.writeTasks(tx); err != nil {
		return err
	}
	if s.end == nil {
		if err := s.writeSubscriptions(tx); err != nil {
			return err
		}
	}
	return s.writeEvents(tx)
}

func (s *writeSet) writeEvents(tx *store.Tx) error {
	if err := engine.LimitEvents(tx, &s.row, s.eventRows); err != nil {
		return err
	}
	_, err := tx.InsertEvents(s.eventRows, s.inst.timeMs)
	return err
}

// endTogether takes out the write sets of items of a batch that end in their first step and have started nothing. All
// of them are of one batch.
func endTogether(sets []*writeSet) (together, others []*writeSet) {
	if len(sets) == 1 {
		return nil, sets
	}
	for _, s := range sets {
		// The journal of a queued execution may hold its position (engine.StorePosition).
		if s.grouped && s.end != nil && s.inst.row.Batch != 0 && s.inst.row.State == store.StateQueued && s.inst.row.RetryOf.IsZero() && len(s.children) == 0 {
			together = append(together, s)
		} else {
			others = append(others, s)
		}
	}
	return together, others
}

// writeEnds makes items of a batch final that end in their first step.
func writeEnds(tx *store.Tx, sets []*writeSet) error {
	if len(sets) == 0 {
		return nil
	}
	items := make([]store.EndedItem, len(sets))
	for i, s := range sets {
		s.conflict, s.rowWritten, s.written, s.batchFinal = false, false, false, false
		if err := s.end.FindResults(tx, &s.row, s.files, s.inst.inputFiles); err != nil {
			return err
		}
		items[i] = store.EndedItem{Row: &s.row, Outcome: &s.end.Outcome}
	}
	final, err := tx.FinishItems(sets[0].row.Batch, items)
	if err != nil {
		return err
	}
	sets[len(sets)-1].batchFinal = final
	for _, s := range sets {
		s.rowWritten = true
		if err := s.writeAfterEnd(tx); err != nil {
			return err
		}
		s.written = true
	}
	return nil
}

// writeEnd makes the execution final.
func (s *writeSet) writeEnd(tx *store.Tx) error {
	inst, row := s.inst, &s.row
	if s.insert {
		row.No = 0 // an attempt that was undone may have set it
	}
	if err := s.end.FindResults(tx, row, s.files, inst.inputFiles); err != nil {
		return err
	}
	switch {
	case s.insert && len(s.children) == 0:
		if err := tx.InsertFinished(row, &s.end.Outcome); err != nil {
			return err
		}
		inst.no = row.No
	case s.insert: // a tree counts its executions that have not ended
		first := *row
		first.Status, first.State, first.FinishedMs = chargehand.Processing, store.StateActive, 0
		if err := tx.InsertExecution(&first); err != nil {
			return err
		}
		inst.no, row.No = first.No, first.No
	case len(s.children)+len(s.withdrawTasks)+len(s.answers) > 0: // not to be written if the execution has ended
		now, err := tx.LockExecution(inst.no)
		if err == nil && now.State == store.StateEnded {
			err = store.ErrConflict
		}
		if err != nil {
			return err
		}
	}
	if err := s.writeChildren(tx); err != nil {
		return err
	}
	if err := s.writeTasks(tx); err != nil {
		return err
	}
	if !s.insert || len(s.children) > 0 {
		var err error
		s.batchFinal, err = tx.FinishExecution(inst.no, row.Status, row.Phase, row.StartedMs, row.FinishedMs, &s.end.Outcome)
		if err != nil {
			return err
		}
	}
	s.rowWritten = true
	return s.writeAfterEnd(tx)
}

// writeAfterEnd writes what belongs to an execution that has become final.
func (s *writeSet) writeAfterEnd(tx *store.Tx) error {
	no := s.inst.no
	if err := engine.PublishFiles(tx, no, s.files); err != nil {
		return err
	}
	if err := s.end.UseResults(tx, no); err != nil {
		return err
	}
	if err := s.writeEvents(tx); err != nil {
		return err
	}
	if s.inTx != nil {
		return s.inTx(tx, no)
	}
	return nil
}
