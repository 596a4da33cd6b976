package machine

import (
	"encoding/binary"

	"github.com/chargehand/chargehand/internal/value"
)

// maxTaskData bounds the values of a chunk that are in it only because a top-level task began with them, in bytes.
const maxTaskData = 1 << 20

// The bits of what a top-level task began with.
const (
	dataLost        = 1 << 0
	dataSameInput   = 1 << 1 // its input is the output of the top-level task before
	dataSameContext = 1 << 2 // its context is the one before
)

// data writes what the top-level tasks of a chunk began with, each after the number of entries since the one before.
func (w *timelineWriter) data(dst []byte, entries []Entry) []byte {
	count := 0
	for i := range entries {
		if entries[i].Data != nil {
			count++
		}
	}
	dst = binary.AppendUvarint(dst, uint64(count))
	next := 0
	var output, context value.Value
	for i := range entries {
		e := &entries[i]
		if d := e.Data; d != nil {
			dst = binary.AppendUvarint(dst, uint64(i-next))
			next = i + 1
			at := len(dst)
			dst = w.taskData(dst, d, output, context)
			if dst[at] != dataLost {
				context = d.Context
			}
		}
		if e.Parent == 0 {
			output = e.Output
		}
	}
	return dst
}

func (w *timelineWriter) taskData(dst []byte, d *TaskData, output, context value.Value) []byte {
	sameInput, sameContext := isSame(d.Input, output), isSame(d.Context, context)
	if d.Lost || !sameInput && !w.fits(d.Input) || !sameContext && !w.fits(d.Context) {
		return append(dst, dataLost)
	}
	var bits byte
	if sameInput {
		bits |= dataSameInput
	}
	if sameContext {
		bits |= dataSameContext
	}
	dst = append(dst, bits)
	if !sameInput {
		dst = w.value(dst, d.Input)
	}
	if !sameContext {
		dst = w.value(dst, d.Context)
	}
	return dst
}

// fits reports whether there is room for what a task began with, unless the chunk has it anyway.
func (w *timelineWriter) fits(v value.Value) bool {
	w.dataBytes += w.added(v)
	return w.dataBytes <= maxTaskData
}

// added is how many bytes a value would take that the chunk does not have yet.
func (w *timelineWriter) added(v value.Value) int {
	text := value.Marshal(v)
	if len(text) <= 2 {
		return 0
	}
	if _, has := w.find(v, text); has {
		return 0
	}
	return len(text)
}

// data reads what timelineWriter.data has written.
func (r *timelineReader) data(records []Record) {
	next := 0
	var output, context storedValue
	for range r.number(len(records)) {
		gap := r.number(len(records) - 1 - next)
		if r.bad {
			return
		}
		for ; gap > 0; gap, next = gap-1, next+1 {
			if records[next].Parent == 0 {
				output = records[next].output
			}
		}
		e := &records[next]
		if r.taskData(e, output, context); !e.data.lost {
			context = e.data.context
		}
		if e.Parent == 0 {
			output = e.output
		}
		next++
	}
}

func (r *timelineReader) taskData(e *Record, output, context storedValue) {
	bits := r.byte()
	e.data = storedData{there: true, lost: bits&dataLost != 0, input: output, context: context}
	if bits&^(dataLost|dataSameInput|dataSameContext) != 0 {
		r.fail()
	}
	if e.data.lost || r.bad {
		return
	}
	if bits&dataSameInput == 0 {
		e.data.input = r.storedValue()
	}
	if bits&dataSameContext == 0 {
		e.data.context = r.storedValue()
	}
}

// storedData is a TaskData as it is stored.
type storedData struct {
	there, lost    bool
	input, context storedValue
}

// TaskData is what a top-level task began with, as Values; nil as Entry.Data.
func (r *Record) TaskData(known ...value.Value) (*TaskData, error) {
	switch {
	case !r.stored:
		return r.Entry.Data, nil
	case !r.data.there:
		return nil, nil
	case r.data.lost:
		return &TaskData{Lost: true}, nil
	}
	input, err := value.Parse(r.data.input.json(known), storedLimits)
	if err != nil {
		return nil, errCorrupt
	}
	context, err := value.Parse(r.data.context.json(known), storedLimits)
	if err != nil {
		return nil, errCorrupt
	}
	return &TaskData{Input: input, Context: context}, nil
}

// HasTaskData reports whether TaskData has something to tell.
func (r *Record) HasTaskData() bool { return r.Entry.Data != nil || r.data.there }

// DataUsesKnown is UsesKnown for TaskData.
func (r *Record) DataUsesKnown(number int) bool {
	return r.data.input.known == number+1 || r.data.context.known == number+1
}
