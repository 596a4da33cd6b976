package embedded

import (
	"slices"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

// decideState decides the state of the row after the events. It may take a slot.
func (e *Engine) decideState(s *writeSet) error {
	inst := s.inst
	s.row = inst.row
	if s.finish != nil {
		return e.buildEnd(s)
	}
	stopping := e.stopping.Load()
	if stopping {
		requeueWaiting(inst)
	}
	load := inst.machine.Load()
	s.row.Status, s.row.Phase, s.row.State = chargehand.Processing, inst.machine.Phase(), store.StateActive
	switch {
	case !load.HoldsSlot() && len(inst.unstarted) == 0 && !inst.runsDetached():
		s.row.State = store.StateParked
		if inst.machine.NeedsPerson() {
			s.row.Status = chargehand.HumanInTheLoop
		}
	case stopping && len(inst.calls) == 0 && (len(s.activities) > 0 || inst.commandsPending || s.yielded):
		s.row.State = store.StateReady
	case inst.lease == nil:
		if inst.lease = e.slots.acquire(inst.queue); inst.lease == nil {
			s.row.State = store.StateReady
		}
	}
	s.row.Waits = engine.WaitsOf(inst.machine, inst.timeMs, inst.row.Waits, inst.secrets)
	s.awaitsLease = s.row.State == store.StateReady && (inst.row.State != store.StateReady || inst.inDoubt)
	s.stateChanged = s.row.Status != inst.row.Status || s.row.Phase != inst.row.Phase || s.row.State != inst.row.State ||
		!engine.SameWaits(s.row.Waits, inst.row.Waits)
	authoritative := inst.seq/e.limits.JournalEvents != s.fromSeq/e.limits.JournalEvents
	due := s.row.State == store.StateParked || inst.computeTime > maxReplay ||
		inst.sinceCheckpoint >= e.limits.ReplayEvents
	if authoritative || len(s.journal) > 0 && due {
		return e.checkpoint(s, authoritative)
	}
	return nil
}

// runsDetached reports whether a process runs that no task awaits. Such an execution keeps its
// slot: a parked execution is not loaded after a crash, and would not learn that the process has
// ended.
func (inst *instance) runsDetached() bool {
	if inst.hasDetached {
		detached := func(c machine.Command) bool { return c.Detached }
		inst.hasDetached = slices.ContainsFunc(inst.machine.InFlight(), detached)
	}
	return inst.hasDetached
}

// checkpoint adds a checkpoint to the write set. Timeline entries are a part of the checkpoint
// until there are many.
func (e *Engine) checkpoint(s *writeSet, authoritative bool) error {
	inst := s.inst
	if authoritative || inst.machine.EndedEntries() > maxStateEntries {
		var err error
		if s.chunk, err = e.timelineChunk(inst, nil); err != nil {
			return err
		}
		if s.chunk != nil {
			s.chunk = inst.secrets.Seal(engine.SealedTimeline, s.chunk)
		}
	}
	inst.computeTime, inst.sinceCheckpoint = 0, 0
	state := inst.secrets.Seal(engine.SealedCheckpoint, inst.machine.Checkpoint())
	s.checkpoint = &store.Checkpoint{
		Execution: inst.no, Seq: inst.seq, Revision: inst.row.Machine,
		State: store.Payload{Inline: state, Size: int64(len(state))},
	}
	s.dropJournal = authoritative
	return nil
}
