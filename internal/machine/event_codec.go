package machine

import (
	"encoding/binary"
	"fmt"
)

// eventVersion is the version of the journal format, in the high half of its first byte.
const eventVersion = 1

// The bits that tell which parts follow in a stored event.
const (
	eventOutput = 1 << iota
	eventFault
	eventFiles
	eventDetail
	eventCommand
	eventNumber
	eventRuntime
	eventLifecycle
)

// AppendEvent appends the journal form of an event to dst.
func AppendEvent(dst []byte, ev Event) []byte {
	var bits byte
	set := func(bit byte, on bool) {
		if on {
			bits |= bit
		}
	}
	set(eventOutput, ev.Output != nil)
	set(eventFault, ev.Fault != nil)
	set(eventFiles, len(ev.Files) > 0)
	set(eventDetail, ev.Detail != "")
	set(eventCommand, ev.Command != 0)
	set(eventNumber, ev.Number != 0)
	set(eventRuntime, ev.Runtime != nil)
	set(eventLifecycle, ev.Lifecycle != nil)
	dst = append(dst, eventVersion<<4|byte(ev.Kind), bits)
	dst = binary.AppendVarint(dst, ev.TimeMs)
	if bits&eventCommand != 0 {
		dst = binary.AppendUvarint(dst, uint64(ev.Command))
	}
	if bits&eventOutput != 0 {
		dst = appendValue(dst, ev.Output)
	}
	if bits&eventFault != 0 {
		dst = appendFault(dst, ev.Fault, "")
	}
	if bits&eventFiles != 0 {
		dst = appendFiles(dst, ev.Files)
	}
	if bits&eventDetail != 0 {
		dst = appendText(dst, ev.Detail)
	}
	if bits&eventNumber != 0 {
		dst = binary.AppendVarint(dst, ev.Number)
	}
	if bits&eventRuntime != 0 {
		dst = appendValue(dst, ev.Runtime)
	}
	if bits&eventLifecycle != 0 {
		dst = appendValue(dst, ev.Lifecycle.value())
	}
	return dst
}

// DecodeEvent is the inverse of AppendEvent. It reports an error for anything else.
func DecodeEvent(data []byte) (Event, error) {
	r := reader{rest: data}
	head := r.byte()
	ev := Event{Kind: EventKind(head & 0x0f)}
	if head>>4 != eventVersion || ev.Kind < Started || ev.Kind > TaskAnswered {
		r.fail()
	}
	bits := r.byte()
	ev.TimeMs = r.varint()
	if bits&eventCommand != 0 {
		ev.Command = CommandID(r.uvarint())
	}
	if bits&eventOutput != 0 {
		ev.Output = r.value()
	}
	if bits&eventFault != 0 {
		ev.Fault = r.fault("")
	}
	if bits&eventFiles != 0 {
		ev.Files = r.files()
	}
	if bits&eventDetail != 0 {
		ev.Detail = r.text()
	}
	if bits&eventNumber != 0 {
		ev.Number = r.varint()
	}
	if bits&eventRuntime != 0 {
		ev.Runtime = r.value()
	}
	if bits&eventLifecycle != 0 {
		var ok bool
		if ev.Lifecycle, ok = lifecycleOf(r.value()); !ok {
			r.fail()
		}
	}
	if len(r.rest) > 0 {
		r.fail()
	}
	if err := r.err(); err != nil {
		return Event{}, fmt.Errorf("decode event: %w", err)
	}
	return ev, nil
}
