package grpc

import (
	"errors"
	"fmt"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/chargehand/chargehand/internal/value"
)

// raw is a message that was received and not read yet.
type raw struct{ bytes []byte }

// codec is the library's for messages, and leaves those to be received as they are.
type codec struct{ encoding.CodecV2 }

// Unmarshal implements encoding.CodecV2.
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	if to, ok := v.(*raw); ok {
		to.bytes = data.Materialize()
		return nil
	}
	return c.CodecV2.Unmarshal(data, v)
}

// weight adds up what the messages of a call will hold once they are data. A message that is
// small on the wire can be large then: a value takes one byte there and two dozen as data,
// before anything could limit it.
type weight struct {
	mostValues int
	types      *dynamicpb.Types

	values int
	text   int // bytes of text as JSON, at least
}

// messageValues is how many values a message counts as, for the memory that it takes.
const messageValues = 4

var errMalformed = errors.New("malformed")

func (w *weight) add(values, text int) error {
	w.values += values
	w.text += text
	if w.values > w.mostValues {
		return limitError(fmt.Sprintf("the server sent more than %d values, the limit of a call (a message counts as %d)", w.mostValues, messageValues))
	}
	if w.text > value.DefaultBytes {
		return limitError(fmt.Sprintf("the answer has more than %d bytes as JSON, the limit of data", value.DefaultBytes))
	}
	return nil
}

// message weighs a message in its form on the wire. What it does not understand, it leaves to
// the reader of the message.
func (w *weight) message(of protoreflect.MessageDescriptor, data []byte, depth int) error {
	if depth > maxMessageDepth {
		return limitError(fmt.Sprintf("the answer is nested deeper than %d levels", maxMessageDepth))
	}
	if err := w.add(messageValues, 0); err != nil {
		return err
	}
	packed := anything{is: of.FullName() == "google.protobuf.Any"}
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return errMalformed
		}
		data = data[n:]
		if n = protowire.ConsumeFieldValue(number, kind, data); n < 0 {
			return errMalformed
		}
		value := data[:n]
		data = data[n:]
		field := of.Fields().ByNumber(number)
		if field == nil {
			continue // is kept as it is, and not in the output
		}
		packed.take(number, kind, value)
		if err := w.field(field, kind, value, depth); err != nil {
			return err
		}
	}
	if packed.url == "" {
		return nil
	}
	inner, err := w.types.FindMessageByURL(packed.url)
	if err != nil {
		return nil // the output cannot be made, as with a value that is malformed: that has an error of its own
	}
	if err := w.message(inner.Descriptor(), packed.value, depth+1); !errors.Is(err, errMalformed) {
		return err
	}
	return nil
}

// anything collects the fields of a message Any, whose value is a message in turn.
type anything struct {
	is    bool
	url   string
	value []byte
}

func (a *anything) take(number protowire.Number, kind protowire.Type, value []byte) {
	if !a.is || kind != protowire.BytesType {
		return
	}
	content, _ := protowire.ConsumeBytes(value)
	if number == 1 {
		a.url = string(content)
	} else {
		a.value = content
	}
}

// field weighs one occurrence of a field.
func (w *weight) field(field protoreflect.FieldDescriptor, kind protowire.Type, value []byte, depth int) error {
	// Entries of maps and messages of the standard package have short forms of their own.
	if in := field.ContainingMessage(); !field.IsList() && !field.IsMap() && !in.IsMapEntry() && in.ParentFile().Package() != "google.protobuf" {
		w.text += len(field.JSONName()) + len(`"":`)
	}
	switch kind {
	case protowire.BytesType:
		content, _ := protowire.ConsumeBytes(value)
		switch {
		case field.Kind() == protoreflect.MessageKind:
			return w.message(field.Message(), content, depth+1)
		case field.Kind() == protoreflect.StringKind || field.Kind() == protoreflect.BytesKind:
			return w.add(1, len(content))
		case field.IsList():
			return w.list(field, content)
		}
		return nil // of another type than the field, and so not read
	case protowire.StartGroupType:
		if field.Kind() != protoreflect.GroupKind {
			return nil
		}
		content, n := protowire.ConsumeGroup(field.Number(), value)
		if n < 0 {
			return errMalformed
		}
		return w.message(field.Message(), content, depth+1)
	case protowire.VarintType:
		number, _ := protowire.ConsumeVarint(value)
		return w.add(1, varintText(field, number))
	}
	return w.add(1, 1)
}

// list weighs scalars in a packed form.
func (w *weight) list(field protoreflect.FieldDescriptor, content []byte) error {
	switch field.Kind() {
	case protoreflect.GroupKind:
		return nil
	case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind, protoreflect.FloatKind:
		return w.add(len(content)/4, len(content)/4)
	case protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind, protoreflect.DoubleKind:
		return w.add(len(content)/8, len(content)/8)
	}
	for len(content) > 0 {
		number, n := protowire.ConsumeVarint(content)
		if n < 0 {
			return errMalformed
		}
		content = content[n:]
		if err := w.add(1, varintText(field, number)+1); err != nil {
			return err
		}
	}
	return nil
}

// varintText is the least length of a number as text: an enumeration is written by its name.
func varintText(field protoreflect.FieldDescriptor, number uint64) int {
	if field.Enum() == nil {
		return 1
	}
	value := field.Enum().Values().ByNumber(protoreflect.EnumNumber(int32(number)))
	if value == nil {
		return 1
	}
	return len(value.Name()) + len(`""`)
}
