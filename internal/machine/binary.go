package machine

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/chargehand/chargehand/internal/expr"
	"github.com/chargehand/chargehand/internal/value"
)

// errCorrupt is wrapped by the errors of all decoders.
var errCorrupt = errors.New("the stored bytes are damaged or of an unknown version")

// storedLimits are above every limit of data, so that whatever was written can be read.
var storedLimits = value.Limits{Depth: 100_000, Bytes: 1 << 30, Values: 1 << 30, IntegerDigits: expr.MaxIntegerBits}

func appendText(dst []byte, s string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

// appendValue appends the value as JSON, after its length.
func appendValue(dst []byte, v value.Value) []byte {
	const room = 1 // the length of most values takes one byte
	start := len(dst)
	dst = append(dst, 0)
	dst = value.Append(dst, v)
	size := len(dst) - start - room
	if size < 0x80 {
		dst[start] = byte(size)
		return dst
	}
	var head [binary.MaxVarintLen64]byte
	n := binary.PutUvarint(head[:], uint64(size))
	dst = append(dst, head[:n-room]...)
	copy(dst[start+n:], dst[start+room:start+room+size])
	copy(dst[start:], head[:n])
	return dst
}

// reader takes stored bytes apart. After the first failure it returns zero values.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) fail() { r.rest, r.bad = nil, true }

func (r *reader) err() error {
	if r.bad {
		return errCorrupt
	}
	return nil
}

func (r *reader) byte() byte {
	if len(r.rest) == 0 {
		r.fail()
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.rest)
	if n <= 0 {
		r.fail()
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// number is a uvarint that is no more than limit.
func (r *reader) number(limit int) int {
	v := r.uvarint()
	if limit < 0 || v > uint64(limit) {
		r.fail()
		return 0
	}
	return int(v)
}

func (r *reader) bytes() []byte {
	n := r.number(len(r.rest))
	if r.bad || n > len(r.rest) {
		r.fail()
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) text() string { return string(r.bytes()) }

func (r *reader) value() value.Value {
	return r.parse(r.bytes())
}

func (r *reader) parse(text []byte) value.Value {
	if r.bad {
		return nil
	}
	v, err := value.Parse(text, storedLimits)
	if err != nil {
		r.fail()
		return nil
	}
	return v
}

// faultTypes numbers the standard types in stored bytes, from 1. It may only grow.
var faultTypes = [...]string{"", ErrConfiguration, ErrValidation, ErrExpression, ErrAuthentication,
	ErrAuthorization, ErrTimeout, ErrCommunication, ErrRuntime}

// The bits of a stored fault.
const (
	faultSystem     = 1 << 0
	faultRetryable  = 1 << 1
	faultCode       = 1 << 2
	faultTitle      = 1 << 3 // present: not the title of the type
	faultOwnPointer = 1 << 4 // the instance is the pointer that the reader knows
	faultNoResponse = 1 << 5
)

// appendFault appends a fault. own is a pointer that the reader will know.
func appendFault(dst []byte, f *Fault, own string) []byte {
	var bits byte
	set := func(bit byte, on bool) {
		if on {
			bits |= bit
		}
	}
	set(faultSystem, f.System)
	set(faultRetryable, f.Retryable)
	set(faultCode, f.Code != "")
	set(faultTitle, f.Title != titles[f.Type])
	set(faultOwnPointer, f.Instance == own)
	set(faultNoResponse, f.NoResponse)
	dst = append(dst, bits)
	kind := 0
	for i, name := range faultTypes {
		if name == f.Type && i > 0 {
			kind = i
		}
	}
	dst = binary.AppendUvarint(dst, uint64(kind))
	if kind == 0 {
		dst = appendText(dst, f.Type)
	}
	dst = binary.AppendVarint(dst, int64(f.Status))
	dst = appendText(dst, f.Detail)
	if bits&faultCode != 0 {
		dst = appendText(dst, f.Code)
	}
	if bits&faultTitle != 0 {
		dst = appendText(dst, f.Title)
	}
	if bits&faultOwnPointer == 0 {
		dst = appendText(dst, f.Instance)
	}
	return dst
}

func (r *reader) fault(own string) *Fault {
	bits := r.byte()
	f := &Fault{System: bits&faultSystem != 0, Retryable: bits&faultRetryable != 0, NoResponse: bits&faultNoResponse != 0, Instance: own}
	f.Type = faultTypes[r.number(len(faultTypes)-1)]
	if f.Type == "" {
		f.Type = r.text()
	}
	status := r.varint()
	if status < math.MinInt32 || status > math.MaxInt32 {
		r.fail()
	}
	f.Status = int(status)
	f.Detail = r.text()
	f.Title = titles[f.Type]
	if bits&faultCode != 0 {
		f.Code = r.text()
	}
	if bits&faultTitle != 0 {
		f.Title = r.text()
	}
	if bits&faultOwnPointer == 0 {
		f.Instance = r.text()
	}
	return f
}

func appendFiles(dst []byte, files []File) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(files)))
	for _, f := range files {
		dst = appendText(dst, f.ID)
		dst = appendText(dst, f.Name)
		dst = appendText(dst, f.MediaType)
		dst = binary.AppendVarint(dst, f.Size)
		dst = appendText(dst, f.Digest)
	}
	return dst
}

func (r *reader) files() []File {
	const least = 5 // bytes of a file
	count := r.number(len(r.rest) / least)
	if count == 0 {
		return nil
	}
	files := make([]File, 0, count)
	for range count {
		files = append(files, File{
			ID: r.text(), Name: r.text(), MediaType: r.text(), Size: r.varint(), Digest: r.text(),
		})
	}
	return files
}
