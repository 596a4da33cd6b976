package machine

import (
	"encoding/binary"
	"slices"

	"github.com/chargehand/chargehand/internal/value"
)

// maxChunkOutcomes bounds the values of a chunk that are in it only because they came from outside, in bytes.
const maxChunkOutcomes = 1 << 20

// The bits of a stored outcome; the lowest four hold the kind.
const (
	outcomeKind   = 15
	outcomeOutput = 1 << 4 // its output is not that of the entry
	outcomeFault  = 1 << 5
	outcomeTimes  = 1 << 6 // it was not asked for at the start of the entry, or did not come at its end
	outcomeMore   = 1 << 7 // a byte with the bits below follows
)

const (
	outcomeLost  = 1 << 0
	outcomeTask  = 1 << 1 // its task is not that of the entry
	outcomeFiles = 1 << 2 // its files are not those of the entry
)

// outcomes writes those of an entry.
func (w *timelineWriter) outcomes(dst []byte, e *Entry) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(e.Outcomes)))
	for i := range e.Outcomes {
		dst = w.outcome(dst, e, &e.Outcomes[i])
	}
	return dst
}

func (w *timelineWriter) outcome(dst []byte, e *Entry, o *Outcome) []byte {
	lost, own := o.Lost, !isSame(o.Output, e.Output)
	if own && !lost {
		w.outcomeBytes += w.added(o.Output)
		lost = w.outcomeBytes > maxChunkOutcomes
	}
	bits, more := byte(o.Kind)&outcomeKind, byte(0)
	set := func(to *byte, bit byte, on bool) {
		if on {
			*to |= bit
		}
	}
	set(&more, outcomeLost, lost)
	set(&more, outcomeTask, o.task != nil && o.task != e.task)
	set(&more, outcomeFiles, !lost && !slices.Equal(o.Files, e.Files))
	set(&bits, outcomeOutput, own && !lost)
	set(&bits, outcomeFault, o.Fault != nil && !lost)
	set(&bits, outcomeTimes, o.AskedMs != e.StartedMs || o.AtMs != e.EndedMs)
	set(&bits, outcomeMore, more != 0)
	dst = append(dst, bits)
	if more != 0 {
		dst = append(dst, more)
	}
	if bits&outcomeTimes != 0 {
		dst = binary.AppendVarint(binary.AppendVarint(dst, o.AskedMs-e.StartedMs), o.AtMs-o.AskedMs)
	}
	if more&outcomeTask != 0 {
		dst = binary.AppendUvarint(dst, uint64(o.task.Number))
	}
	if bits&outcomeOutput != 0 {
		dst = w.value(dst, o.Output)
	}
	if bits&outcomeFault != 0 {
		dst = w.fault(dst, o.Fault, e.Reference)
	}
	if more&outcomeFiles != 0 {
		dst = appendFiles(dst, o.Files)
	}
	return dst
}

// storedOutcome is an Outcome as it is stored: without Output.
type storedOutcome struct {
	Outcome
	output storedValue
}

func (r *timelineReader) outcomes(e *Record) {
	const least = 1 // bytes of an outcome
	count := r.number(len(r.rest) / least)
	e.outcomes = make([]storedOutcome, 0, min(count, maxOutcomes+1))
	for range count {
		if r.bad {
			return
		}
		e.outcomes = append(e.outcomes, r.outcome(e))
	}
}

func (r *timelineReader) outcome(e *Record) storedOutcome {
	bits, more := r.byte(), byte(0)
	if bits&outcomeMore != 0 {
		more = r.byte()
	}
	o := storedOutcome{
		Outcome: Outcome{
			Kind: EventKind(bits & outcomeKind), Reference: e.Reference, AskedMs: e.StartedMs, AtMs: e.EndedMs,
			Files: e.Files, Lost: more&outcomeLost != 0,
		},
		output: e.output,
	}
	if o.Kind > TaskAnswered {
		r.fail()
	}
	if o.Lost {
		o.Files, o.output = nil, storedValue{}
	}
	if bits&outcomeTimes != 0 {
		o.AskedMs = e.StartedMs + r.varint()
		o.AtMs = o.AskedMs + r.varint()
	}
	if more&outcomeTask != 0 {
		if number := r.number(len(r.plan.Tasks) - 1); !r.bad {
			o.Reference = r.plan.Tasks[number].Reference
		}
	}
	if bits&outcomeOutput != 0 {
		o.output = r.storedValue()
	}
	if bits&outcomeFault != 0 {
		o.Fault = r.fault(e.Reference)
	}
	if more&outcomeFiles != 0 {
		o.Files = r.files()
	}
	return o
}

// Came are the outcomes of a record, with their outputs as JSON. known are the values that were given to
// EncodeTimeline; those that no outcome uses may be left out (CameUsesKnown).
func (r *Record) Came(known ...value.Value) ([]Outcome, [][]byte) {
	outcomes, outputs := make([]Outcome, 0, len(r.Outcomes)+len(r.outcomes)), make([][]byte, 0, len(r.Outcomes)+len(r.outcomes))
	for i := range r.Outcomes {
		outcomes, outputs = append(outcomes, r.Outcomes[i]), append(outputs, value.Marshal(r.Outcomes[i].Output))
	}
	for i := range r.outcomes {
		outcomes, outputs = append(outcomes, r.outcomes[i].Outcome), append(outputs, r.outcomes[i].output.json(known))
	}
	return outcomes, outputs
}

// CameUsesKnown is UsesKnown for Came.
func (r *Record) CameUsesKnown(number int) bool {
	return slices.ContainsFunc(r.outcomes, func(o storedOutcome) bool { return o.output.known == number+1 })
}
