package machine

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/value"
)

// The first byte of a stored chunk of the timeline. One with documents ends with these.
const (
	timelineVersion   = 1
	timelineDocuments = 2
)

// The bits of a stored entry; the lowest three hold the phase.
const (
	entryPhase     = 7
	entryFault     = 1 << 3
	entryFiles     = 1 << 4
	entryPosition  = 1 << 5 // iteration or attempt differ from 0 and 1
	entryInstant   = 1 << 6 // it ended when it started
	entrySameInput = 1 << 7 // its input is the output of the entry before
)

// A stored value is null, an earlier value of the chunk or one of the known ones, or new.
const (
	valueNull  = 0
	valueNew   = 1
	valueFirst = 2 // the first value of the table
)

// EncodeTimeline appends the stored form of entries of one execution to dst. A value that
// occurs more than once, or is one of known, is written as a reference; the same known
// values, in the same order, must be given to DecodeTimeline.
func EncodeTimeline(dst []byte, entries []Entry, known ...value.Value) []byte {
	version := byte(timelineVersion)
	if slices.ContainsFunc(entries, func(e Entry) bool { return e.Document != "" }) {
		version = timelineDocuments
	}
	dst = append(dst, version)
	dst = binary.AppendUvarint(dst, uint64(len(entries)))
	w := timelineWriter{}
	for _, v := range known {
		w.table = append(w.table, tableValue{value: v})
	}
	var previous Entry
	for i := range entries {
		e := &entries[i]
		dst = w.entry(dst, e, &previous)
		previous = *e
	}
	if version == timelineDocuments {
		dst = appendDocuments(dst, entries)
	}
	return dst
}

// appendDocuments writes each digest once, and then for each entry its number from 1, or 0.
func appendDocuments(dst []byte, entries []Entry) []byte {
	numbers := map[string]uint64{}
	var distinct []string
	for i := range entries {
		if d := entries[i].Document; d != "" && numbers[d] == 0 {
			distinct = append(distinct, d)
			numbers[d] = uint64(len(distinct))
		}
	}
	dst = binary.AppendUvarint(dst, uint64(len(distinct)))
	for _, d := range distinct {
		dst = appendText(dst, d)
	}
	for i := range entries {
		dst = binary.AppendUvarint(dst, numbers[entries[i].Document])
	}
	return dst
}

func (r *timelineReader) documents(entries []Entry) {
	count := r.number(len(r.rest))
	distinct := make([]string, 1, count+1)
	for range count {
		distinct = append(distinct, r.text())
	}
	for i := range entries {
		entries[i].Document = distinct[r.number(len(distinct)-1)]
	}
}

type timelineWriter struct {
	table  []tableValue
	byHash map[uint64][]int // indexes of the table by the hash of the value's contents
	hashed int              // values of the table that are in byHash
	faults []*Fault
}

type tableValue struct {
	value value.Value
	text  []byte // made when it is needed
}

func (w *timelineWriter) entry(dst []byte, e, previous *Entry) []byte {
	bits := byte(e.Phase) & entryPhase
	set := func(bit byte, on bool) {
		if on {
			bits |= bit
		}
	}
	ended := e.EndedMs
	if !e.Ended() {
		ended = e.StartedMs
	}
	same := previous.Seq != 0 && isSame(e.Input, previous.Output)
	set(entryFault, e.Fault != nil)
	set(entryFiles, len(e.Files) > 0)
	set(entryPosition, e.Iteration != 0 || e.Attempt != 1)
	set(entryInstant, ended == e.StartedMs)
	set(entrySameInput, same)
	dst = append(dst, bits)
	dst = binary.AppendVarint(dst, int64(e.Seq-previous.Seq))
	dst = binary.AppendVarint(dst, int64(e.StartedNo-previous.StartedNo))
	if e.Ended() {
		dst = binary.AppendUvarint(dst, uint64(e.EndedNo-e.StartedNo))
	}
	dst = binary.AppendUvarint(dst, uint64(e.task.Number))
	dst = binary.AppendVarint(dst, e.StartedMs-previous.StartedMs)
	if bits&entryInstant == 0 {
		dst = binary.AppendVarint(dst, ended-e.StartedMs)
	}
	if bits&entryPosition != 0 {
		dst = binary.AppendUvarint(dst, uint64(e.Iteration))
		dst = binary.AppendUvarint(dst, uint64(e.Attempt))
	}
	if !same {
		dst = w.value(dst, e.Input)
	}
	dst = w.value(dst, e.Output)
	if e.Fault != nil {
		dst = w.fault(dst, e)
	}
	if len(e.Files) > 0 {
		dst = appendFiles(dst, e.Files)
	}
	return dst
}

func (w *timelineWriter) fault(dst []byte, e *Entry) []byte {
	for i, known := range w.faults {
		if known == e.Fault || *known == *e.Fault {
			return binary.AppendUvarint(dst, uint64(i)+1)
		}
	}
	if len(w.faults) < maxFaults {
		w.faults = append(w.faults, e.Fault)
	}
	return appendFault(append(dst, 0), e.Fault, e.Reference)
}

// maxFaults bounds how many faults a new one is compared with.
const maxFaults = 64

func (w *timelineWriter) value(dst []byte, v value.Value) []byte {
	if v == nil {
		return append(dst, valueNull)
	}
	for i := len(w.table) - 1; i >= 0 && i >= len(w.table)-8; i-- {
		if isSame(w.table[i].value, v) {
			return binary.AppendUvarint(dst, uint64(i)+valueFirst)
		}
	}
	text := value.Marshal(v)
	if len(text) <= 2 { // no longer than a reference
		return append(append(append(dst, valueNew), byte(len(text))), text...)
	}
	if at, ok := w.find(v, text); ok {
		return binary.AppendUvarint(dst, uint64(at)+valueFirst)
	}
	w.table = append(w.table, tableValue{v, text})
	dst = append(dst, valueNew)
	dst = binary.AppendUvarint(dst, uint64(len(text)))
	return append(dst, text...)
}

// find looks for a value with the same text.
func (w *timelineWriter) find(v value.Value, text []byte) (int, bool) {
	if w.byHash == nil {
		w.byHash = make(map[uint64][]int)
	}
	for ; w.hashed < len(w.table); w.hashed++ {
		h := hashValue(hashSeed, w.table[w.hashed].value)
		if len(w.byHash[h]) < maxCandidates {
			w.byHash[h] = append(w.byHash[h], w.hashed)
		}
	}
	for _, at := range w.byHash[hashValue(hashSeed, v)] {
		known := &w.table[at]
		if known.text == nil {
			known.text = value.Marshal(known.value)
		}
		if bytes.Equal(known.text, text) {
			return at, true
		}
	}
	return 0, false
}

// isSame reports whether two values are one and the same object, list or short scalar. It
// may miss equal values but never takes different ones for the same.
func isSame(a, b value.Value) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && len(a) == len(b) && reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
	case []any:
		b, ok := b.([]any)
		return ok && len(a) == len(b) && len(a) > 0 && &a[0] == &b[0]
	case nil:
		return b == nil
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	case int:
		b, ok := b.(int)
		return ok && a == b
	case string:
		b, ok := b.(string)
		return ok && len(a) < 64 && a == b
	}
	return false
}

// DecodeTimeline is the inverse of EncodeTimeline, for an execution of plan p.
func DecodeTimeline(p *plan.Plan, data []byte, known ...value.Value) ([]Entry, error) {
	r := timelineReader{reader: reader{rest: data}, plan: p}
	r.table = append(r.table, known...)
	version := r.byte()
	if version != timelineVersion && version != timelineDocuments {
		r.fail()
	}
	const least = 6 // bytes of an entry
	count := r.number(len(r.rest) / least)
	entries := make([]Entry, 0, count)
	var previous Entry
	for range count {
		previous = r.entry(&previous)
		entries = append(entries, previous)
	}
	if version == timelineDocuments {
		r.documents(entries)
	}
	if len(r.rest) > 0 {
		r.fail()
	}
	if err := r.err(); err != nil {
		return nil, fmt.Errorf("decode timeline: %w", err)
	}
	return entries, nil
}

type timelineReader struct {
	reader
	plan   *plan.Plan
	table  []value.Value
	faults []*Fault
}

func (r *timelineReader) entry(previous *Entry) Entry {
	bits := r.byte()
	e := Entry{Phase: chargehand.Phase(bits & entryPhase), Attempt: 1}
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
	if bits&entryPosition != 0 {
		e.Iteration = r.number(math.MaxInt32)
		e.Attempt = r.number(math.MaxInt32)
	}
	if bits&entrySameInput != 0 {
		e.Input = previous.Output
	} else {
		e.Input = r.value()
	}
	e.Output = r.value()
	if bits&entryFault != 0 {
		e.Fault = r.fault(e.Reference)
	}
	if bits&entryFiles != 0 {
		e.Files = r.files()
	}
	return e
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

func (r *timelineReader) value() value.Value {
	at := r.number(len(r.table) + valueFirst - 1)
	switch at {
	case valueNull:
		return nil
	case valueNew:
		text := r.bytes()
		v := r.parse(text)
		if len(text) > 2 {
			r.table = append(r.table, v)
		}
		return v
	default:
		return r.table[at-valueFirst]
	}
}
