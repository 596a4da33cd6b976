package embedded

import (
	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

// buildOutcome makes the outcome of an execution whose machine has finished.
func (e *Engine) buildOutcome(s *writeSet) error {
	inst, c := s.inst, s.finish
	s.row.Status, s.row.Phase, s.row.State = chargehand.Errored, c.Phase, store.StateEnded
	s.row.FinishedMs = inst.timeMs
	o := &store.Outcome{}
	var output value.Value
	if c.Phase == chargehand.Completed {
		s.row.Status = chargehand.Finished
		output = inst.secrets.Redact(c.Output)
		data := value.Marshal(output)
		o.Output = store.Payload{Inline: data, Size: int64(len(data))}
		s.references = engine.References(output)
		s.resultFiles = c.Files
	} else {
		o.Fault = engine.EncodeFault(inst.secrets.RedactFault(c.Fault))
	}
	if inst.machine != nil {
		var err error
		if o.Timeline, err = e.timelineChunk(inst, o, output); err != nil {
			return err
		}
	}
	s.outcome = o
	return nil
}

// timelineChunk encodes the timeline entries that no chunk holds yet, without secrets. o is the
// outcome, or nil if the execution has not ended. output is the output of a completed execution;
// the chunk refers to it instead of holding it again.
func (e *Engine) timelineChunk(inst *instance, o *store.Outcome, output value.Value) ([]byte, error) {
	entries := inst.secrets.RedactEntries(inst.machine.TakeTimeline())
	if len(entries) == 0 {
		return nil, nil
	}
	if inst.input == nil {
		var err error
		if inst.input, err = e.input(e.ctx, &inst.row); err != nil {
			return nil, err
		}
	}
	if o != nil && o.Fault == nil {
		return machine.EncodeTimeline(nil, entries, inst.input, output), nil
	}
	return machine.EncodeTimeline(nil, entries, inst.input), nil
}

// fail ends an execution whose machine cannot continue.
func (s *writeSet) fail(f *machine.Fault, nowMs int64) {
	inst := s.inst
	inst.machine = nil
	inst.timeMs = max(nowMs, inst.row.StartedMs, inst.row.ID.Milli())
	s.finish = &machine.Command{Kind: machine.Finish, Phase: chargehand.Faulted, Fault: f}
}
