package machine

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"slices"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/value"
)

// The first byte of a stored chunk of the timeline: the version, and bits for what follows the entries, in this order
// but for timelineData and timelineOutcomes, which come before timelineTally.
const (
	timelineVersion   = 1
	timelineOutcomes  = 1 << 2 // what came to tasks from outside
	timelineData      = 1 << 3 // what top-level tasks began with
	timelineDocuments = 1 << 4 // of API descriptions
	timelineChildren  = 1 << 5 // executions that tasks started
	timelineWaits     = 1 << 6 // what entries wait for
	timelineTally     = 1 << 7

	timelineParts = timelineOutcomes | timelineData | timelineDocuments | timelineChildren | timelineWaits | timelineTally
)

// The bits of a stored entry; the lowest three hold the phase.
const (
	entryPhase     = 7
	entryFault     = 1 << 3
	entryFiles     = 1 << 4
	entryPosition  = 1 << 5 // it does not have the parent and iterations of the entry before, or it is no first attempt
	entryInstant   = 1 << 6 // it ended when it started
	entrySameInput = 1 << 7 // its input is the output of the entry before
)

// What most chunks need: bytes of the values, and of each entry beside them.
const (
	firstTimeline = 128
	entryBytes    = 20
)

// A stored value is null, an earlier value of the chunk or one of the known ones, or new.
const (
	valueNull  = 0
	valueNew   = 1
	valueFirst = 2 // the first value of the table
)

// EncodeTimeline appends the stored form of entries of one execution to dst, with the tally of those before them. A
// value that occurs more than once, or is one of known, is written as a reference; the same known values, in the same
// order, must be given to Record.Values.
func EncodeTimeline(dst []byte, entries []Entry, tally Tally, known ...value.Value) []byte {
	start := len(dst)
	dst = slices.Grow(dst, firstTimeline+entryBytes*len(entries))
	dst = append(dst, timelineVersion)
	dst = binary.AppendUvarint(dst, uint64(len(entries)))
	w := timelineWriter{table: make([]tableValue, 0, len(known)+min(len(entries), maxScanned))}
	for _, v := range known {
		w.table = append(w.table, tableValue{value: v})
	}
	previous := &Entry{}
	for i := range entries {
		dst = w.entry(dst, &entries[i], previous)
		previous = &entries[i]
	}
	for i := range entries {
		e := &entries[i]
		if e.Document != "" {
			dst[start] |= timelineDocuments
		}
		if e.Child != (chargehand.ExecutionID{}) {
			dst[start] |= timelineChildren
		}
		if e.Wait != nil {
			dst[start] |= timelineWaits
		}
		if e.Data != nil {
			dst[start] |= timelineData
		}
		if len(e.Outcomes) > 0 {
			dst[start] |= timelineOutcomes
		}
	}
	if dst[start]&timelineDocuments != 0 {
		dst = appendDocuments(dst, entries)
	}
	if dst[start]&timelineChildren != 0 {
		dst = appendSome(dst, entries, func(e *Entry) bool { return e.Child != (chargehand.ExecutionID{}) },
			func(dst []byte, e *Entry) []byte { return append(dst, e.Child[:]...) })
	}
	if dst[start]&timelineWaits != 0 {
		dst = appendSome(dst, entries, func(e *Entry) bool { return e.Wait != nil },
			func(dst []byte, e *Entry) []byte { return e.Wait.append(dst) })
	}
	if dst[start]&timelineData != 0 {
		dst = w.data(dst, entries)
	}
	if dst[start]&timelineOutcomes != 0 {
		dst = appendSome(dst, entries, func(e *Entry) bool { return len(e.Outcomes) > 0 }, w.outcomes)
	}
	if !tally.Empty() {
		dst[start] |= timelineTally
		dst = tally.append(dst)
	}
	return dst
}

// appendSome writes something of the entries that have it, each after the number of entries since the one before.
func appendSome(dst []byte, entries []Entry, has func(*Entry) bool, one func([]byte, *Entry) []byte) []byte {
	count := 0
	for i := range entries {
		if has(&entries[i]) {
			count++
		}
	}
	dst = binary.AppendUvarint(dst, uint64(count))
	next := 0
	for i := range entries {
		if has(&entries[i]) {
			dst = one(binary.AppendUvarint(dst, uint64(i-next)), &entries[i])
			next = i + 1
		}
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

type timelineWriter struct {
	table  []tableValue
	byHash map[uint64][]int // indexes of the table by the hash of the value's contents
	hashed int              // values of the table that are in byHash
	faults []*Fault

	dataBytes    int // of values that are there only because a task began with them
	outcomeBytes int // of values that are there only because they came from outside
}

type tableValue struct {
	value value.Value
	text  []byte // made when it is needed
	hash  uint64 // of its contents; 0: not made yet
}

func (t *tableValue) json() []byte {
	if t.text == nil {
		t.text = value.Marshal(t.value)
	}
	return t.text
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
	set(entryPosition, e.Attempt != 1 || e.Parent != previous.Parent || !slices.Equal(e.Iterations, previous.Iterations))
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
		dst = binary.AppendUvarint(dst, uint64(e.Parent))
		dst = binary.AppendUvarint(dst, uint64(len(e.Iterations)))
		for _, index := range e.Iterations {
			dst = binary.AppendUvarint(dst, uint64(index))
		}
		dst = binary.AppendUvarint(dst, uint64(e.Attempt))
	}
	if !same {
		dst = w.value(dst, e.Input)
	}
	dst = w.value(dst, e.Output)
	if e.Fault != nil {
		dst = w.fault(dst, e.Fault, e.Reference)
	}
	if len(e.Files) > 0 {
		dst = appendFiles(dst, e.Files)
	}
	return dst
}

// fault writes a fault. own is a pointer that the reader will know.
func (w *timelineWriter) fault(dst []byte, f *Fault, own string) []byte {
	for i, known := range w.faults {
		if known == f || *known == *f {
			return binary.AppendUvarint(dst, uint64(i)+1)
		}
	}
	if len(w.faults) < maxFaults {
		w.faults = append(w.faults, f)
	}
	return appendFault(append(dst, 0), f, own)
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
	w.table = append(w.table, tableValue{value: v, text: text})
	dst = append(dst, valueNew)
	dst = binary.AppendUvarint(dst, uint64(len(text)))
	return append(dst, text...)
}

// maxScanned is up to how many values the table is searched without hashes.
const maxScanned = 16

// find looks for a value with the same text.
func (w *timelineWriter) find(v value.Value, text []byte) (int, bool) {
	if len(w.table) <= maxScanned {
		var hash uint64
		for i := range w.table {
			if known := &w.table[i]; known.text == nil { // it may be large: its hash needs no memory
				if hash == 0 {
					hash = hashValue(hashSeed, v)
				}
				if known.hash == 0 {
					known.hash = hashValue(hashSeed, known.value)
				}
				if known.hash != hash {
					continue
				}
			}
			if bytes.Equal(w.table[i].json(), text) {
				return i, true
			}
		}
		return 0, false
	}
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
		if bytes.Equal(w.table[at].json(), text) {
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
