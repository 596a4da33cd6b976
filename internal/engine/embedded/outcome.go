package embedded

import (
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

// buildEnd makes the end of an execution whose machine has finished.
func (e *Engine) buildEnd(s *writeSet) (err error) {
	end := engine.EndOf(s.finish, s.inst.secrets)
	s.row.Status, s.row.Phase, s.row.State, s.row.FinishedMs = end.Status, end.Phase, store.StateEnded, s.inst.timeMs
	s.end = end
	if s.inst.machine != nil {
		end.Timeline, err = e.timelineChunk(s.inst, end)
	}
	return err
}

// timelineChunk encodes the timeline entries that no chunk holds yet. end is nil if the execution has not ended.
func (e *Engine) timelineChunk(inst *instance, end *engine.End) (chunk []byte, err error) {
	entries := inst.machine.TakeTimeline()
	var tally machine.Tally
	if end != nil {
		tally = inst.machine.Tally()
	}
	if len(entries) == 0 && tally.Empty() {
		return nil, nil
	}
	if inst.input == nil {
		if inst.input, err = e.input(e.ctx, &inst.row); err != nil {
			return nil, err
		}
	}
	return inst.secrets.EncodeTimeline(entries, tally, end.Known(inst.input)...), nil
}

// fail ends an execution whose machine cannot continue.
func (s *writeSet) fail(f *machine.Fault, nowMs int64) {
	s.inst.machine = nil
	s.inst.timeMs = engine.EndMs(&s.inst.row, nowMs)
	s.finish = engine.FinishFaulted(f)
}
