package machine

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/value"
)

// Record is an entry as it is read. A reader of a long timeline looks at the values of a few entries only, so they stay
// as they are stored until Values is called: Input and Output are not set, unless the record was never stored.
type Record struct {
	Entry
	input, output storedValue
	data          storedData
	outcomes      []storedOutcome
	stored        bool
}

// storedValue is null, one of the known values by its number from 1, or JSON.
type storedValue struct {
	known int
	text  []byte
}

// RecordsOf makes records of entries that were not stored.
func RecordsOf(entries []Entry) []Record {
	records := make([]Record, len(entries))
	for i := range entries {
		records[i].Entry = entries[i]
	}
	return records
}

// UsesKnown reports whether Values needs a known value of that number, from 0.
func (r *Record) UsesKnown(number int) bool {
	return r.input.known == number+1 || r.output.known == number+1
}

// Values are the input and the output as JSON. known are the values that were given to EncodeTimeline; those that
// the record does not use may be left out.
func (r *Record) Values(known ...value.Value) (input, output []byte) {
	if !r.stored {
		return value.Marshal(r.Entry.Input), value.Marshal(r.Entry.Output)
	}
	return r.input.json(known), r.output.json(known)
}

func (v storedValue) json(known []value.Value) []byte {
	switch {
	case v.text != nil:
		return v.text
	case v.known > 0 && v.known <= len(known):
		return value.Marshal(known[v.known-1])
	default:
		return []byte("null")
	}
}

// DecodeTimeline reads a stored chunk of an execution of plan p. known is how many known values EncodeTimeline was
// given. The records keep parts of data.
func DecodeTimeline(p *plan.Plan, data []byte, known int) ([]Record, Tally, error) {
	r := timelineReader{reader: reader{rest: data}, plan: p}
	for i := range known {
		r.table = append(r.table, storedValue{known: i + 1})
	}
	parts := r.byte()
	if parts&^timelineParts != timelineVersion {
		r.fail()
	}
	const least = 6 // bytes of an entry
	count := r.number(len(r.rest) / least)
	records := make([]Record, count)
	previous := &Record{}
	for i := range records {
		r.record(&records[i], previous)
		previous = &records[i]
	}
	if parts&timelineDocuments != 0 {
		r.documents(records)
	}
	if parts&timelineChildren != 0 {
		r.some(records, func(e *Record) {
			if len(r.rest) < len(e.Child) {
				r.fail()
			}
			r.rest = r.rest[copy(e.Child[:], r.rest):]
		})
	}
	if parts&timelineWaits != 0 {
		r.some(records, func(e *Record) { e.Wait = r.wait() })
	}
	if parts&timelineData != 0 {
		r.data(records)
	}
	if parts&timelineOutcomes != 0 {
		r.some(records, r.outcomes)
	}
	var tally Tally
	if parts&timelineTally != 0 {
		tally = r.tally()
	}
	if len(r.rest) > 0 {
		r.fail()
	}
	if err := r.err(); err != nil {
		return nil, Tally{}, fmt.Errorf("decode timeline: %w", err)
	}
	return records, tally, nil
}

type timelineReader struct {
	reader
	plan   *plan.Plan
	table  []storedValue
	faults []*Fault
}

func (r *timelineReader) documents(records []Record) {
	count := r.number(len(r.rest))
	distinct := make([]string, 1, count+1)
	for range count {
		distinct = append(distinct, r.text())
	}
	for i := range records {
		records[i].Document = distinct[r.number(len(distinct)-1)]
	}
}

// some reads what appendSome has written.
func (r *timelineReader) some(records []Record, one func(*Record)) {
	next := 0
	for range r.number(len(records)) {
		next += r.number(len(records) - 1 - next)
		if r.bad {
			return
		}
		one(&records[next])
		next++
	}
}

func (r *timelineReader) record(e, previous *Record) {
	bits := r.byte()
	e.stored, e.Phase, e.Attempt = true, chargehand.Phase(bits&entryPhase), 1
	if e.Phase < chargehand.Pending {
		r.fail()
	}
	e.Seq = previous.Seq + int(r.varint())
	e.StartedNo = previous.StartedNo + int(r.varint())
	if e.Ended() {
		e.EndedNo = e.StartedNo + r.number(math.MaxInt32)
	}
	if number := r.number(len(r.plan.Tasks) - 1); !r.bad {
		e.task = r.plan.Tasks[number]
		e.Name, e.Reference = e.task.Name, e.task.Reference
	}
	e.StartedMs = previous.StartedMs + r.varint()
	ended := e.StartedMs
	if bits&entryInstant == 0 {
		ended += r.varint()
	}
	if e.Ended() {
		e.EndedMs = ended
	}
	if e.Parent, e.Iterations = previous.Parent, previous.Iterations; bits&entryPosition != 0 {
		e.Parent = r.number(math.MaxInt32)
		e.Iterations = nil
		if count := r.number(len(r.rest)); count > 0 {
			e.Iterations = make([]int, count)
			for i := range e.Iterations {
				e.Iterations[i] = r.number(math.MaxInt32)
			}
		}
		e.Attempt = r.number(math.MaxInt32)
	}
	if e.input = previous.output; bits&entrySameInput == 0 {
		e.input = r.storedValue()
	}
	e.output = r.storedValue()
	if bits&entryFault != 0 {
		e.Fault = r.fault(e.Reference)
	}
	if bits&entryFiles != 0 {
		e.Files = r.files()
	}
}

func (r *timelineReader) fault(own string) *Fault {
	at := r.number(len(r.faults))
	if at > 0 {
		return r.faults[at-1]
	}
	f := r.reader.fault(own)
	if len(r.faults) < maxFaults {
		r.faults = append(r.faults, f)
	}
	return f
}

func (r *timelineReader) storedValue() storedValue {
	at := r.number(len(r.table) + valueFirst - 1)
	switch at {
	case valueNull:
		return storedValue{}
	case valueNew:
		v := storedValue{text: r.bytes()}
		if len(v.text) > 2 {
			r.table = append(r.table, v)
		}
		return v
	default:
		return r.table[at-valueFirst]
	}
}

func (w *Wait) append(dst []byte) []byte {
	dst = binary.AppendVarint(append(dst, byte(w.Kind)), w.UntilMs)
	dst = binary.AppendUvarint(dst, uint64(len(w.Types)))
	for _, name := range w.Types {
		dst = appendText(dst, name)
	}
	if w.Kind == WaitPerson {
		dst = append(dst, w.Task[:]...)
	}
	return dst
}

func (r *timelineReader) wait() *Wait {
	w := &Wait{Kind: WaitKind(r.byte()), UntilMs: r.varint()}
	for range r.number(maxWaitTypes) {
		w.Types = append(w.Types, r.text())
	}
	if w.Kind.String() == "" {
		r.fail()
	}
	if w.Kind == WaitPerson {
		for i := range w.Task {
			w.Task[i] = r.byte()
		}
	}
	return w
}
