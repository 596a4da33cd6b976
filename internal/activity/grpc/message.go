package grpc

import (
	"fmt"
	"regexp"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/chargehand/chargehand/internal/excerpt"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

// maxMessageDepth bounds the nesting of messages, both ways.
const maxMessageDepth = 256

// requestsOf makes the messages of a call: exactly one, or for a client stream any number.
func requestsOf(arguments value.Value, method protoreflect.MethodDescriptor, types *dynamicpb.Types) ([]proto.Message, *machine.Fault) {
	values := []any{arguments}
	if method.IsStreamingClient() {
		switch arguments := arguments.(type) {
		case nil:
			values = nil
		case []any:
			values = arguments
		}
	} else if arguments == nil {
		values = []any{map[string]any{}}
	}
	messages := make([]proto.Message, len(values))
	for i, v := range values {
		message := dynamicpb.NewMessage(method.Input())
		options := protojson.UnmarshalOptions{Resolver: types, RecursionLimit: maxMessageDepth}
		if err := options.Unmarshal(value.Marshal(v), message); err != nil {
			what := "arguments"
			if len(values) > 1 {
				what = fmt.Sprintf("arguments[%d]", i)
			}
			return nil, validation(fmt.Sprintf("%s: not a message %s: %s", what, method.Input().FullName(), plain(err)))
		}
		messages[i] = message
	}
	return messages, nil
}

// positionPrefix is what errors of package protojson begin with: a position in a text that the author
// never saw.
var positionPrefix = regexp.MustCompile(`^proto:[\s\x{a0}]*(syntax error )?(\(line \d+:\d+\): )?`)

func plain(err error) string {
	return excerpt.Clip(positionPrefix.ReplaceAllString(strings.ReplaceAll(err.Error(), "\u00a0", " "), ""), clipBytes)
}

// valueOf is a response as data. The size is that of its JSON text.
func valueOf(message proto.Message, types *dynamicpb.Types) (v value.Value, size int, err error) {
	text, err := protojson.MarshalOptions{Resolver: types}.Marshal(message)
	if err != nil {
		return nil, 0, limitError("the answer has no form as JSON: " + plain(err))
	}
	v, err = value.Parse(text, value.Limits{Depth: maxMessageDepth})
	if err != nil {
		return nil, 0, limitError("the answer cannot become data: " + err.Error())
	}
	return v, len(text), nil
}
