package grpc

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/chargehand/chargehand/internal/value"
)

// invocation is one call of a method.
type invocation struct {
	cfg      *Config
	method   protoreflect.MethodDescriptor
	types    *dynamicpb.Types
	to       target
	requests []proto.Message
	weight   weight // of all answers
}

func (i *invocation) path() string {
	return "/" + string(i.method.Parent().FullName()) + "/" + string(i.method.Name())
}

// where names the call in faults.
func (i *invocation) where() string { return i.path()[1:] + " at " + i.to.address() }

// run sends the requests and collects the responses. One way serves all four kinds: a unary
// call is a stream of one message each way.
func (i *invocation) run(ctx context.Context, client *grpc.ClientConn) (value.Value, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the sender below, whatever happens
	stream, err := client.NewStream(ctx, &grpc.StreamDesc{
		StreamName: string(i.method.Name()), ClientStreams: i.method.IsStreamingClient(), ServerStreams: i.method.IsStreamingServer(),
	}, i.path(), grpc.ForceCodecV2(codec{encoding.GetCodecV2(protocodec.Name)}))
	if err != nil {
		return nil, err
	}
	i.weight = weight{mostValues: i.cfg.Values, types: i.types}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		i.send(stream)
	}()
	output, err := i.receive(stream)
	cancel()
	<-sent
	return output, err
}

// send sends until the stream ends. Its errors come again from receiving, with their reason.
func (i *invocation) send(stream grpc.ClientStream) {
	for _, request := range i.requests {
		if stream.SendMsg(request) != nil {
			return
		}
	}
	_ = stream.CloseSend()
}

func (i *invocation) receive(stream grpc.ClientStream) (value.Value, error) {
	if !i.method.IsStreamingServer() {
		v, _, err := i.next(stream)
		if errors.Is(err, io.EOF) {
			err = limitError("the server ended the call without an answer")
		}
		return v, err
	}
	responses := []any{}
	total := 0
	for {
		v, size, err := i.next(stream)
		if errors.Is(err, io.EOF) {
			return responses, nil
		}
		if err != nil {
			return nil, err
		}
		if len(responses) == i.cfg.Messages {
			return nil, limitError(fmt.Sprintf("the server sent more than %d messages, the limit of a stream", i.cfg.Messages))
		}
		if total += size; total > i.cfg.StreamBytes {
			return nil, limitError(fmt.Sprintf("the server sent more than %d bytes, the limit of a stream", i.cfg.StreamBytes))
		}
		responses = append(responses, v)
	}
}

func (i *invocation) next(stream grpc.ClientStream) (value.Value, int, error) {
	var answer raw
	if err := stream.RecvMsg(&answer); err != nil {
		return nil, 0, err
	}
	i.weight.text = 0 // a message has a limit of its own
	if err := i.weight.message(i.method.Output(), answer.bytes, 0); err != nil {
		return nil, 0, i.unreadable(err)
	}
	message := dynamicpb.NewMessage(i.method.Output())
	if err := proto.Unmarshal(answer.bytes, message); err != nil {
		return nil, 0, i.unreadable(err)
	}
	return valueOf(message, i.types)
}

func (i *invocation) unreadable(err error) error {
	if limit := limitError(""); errors.As(err, &limit) {
		return err
	}
	return limitError(fmt.Sprintf("the answer is not a message %s: %s", i.method.Output().FullName(), plain(err)))
}
