package conformance

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/chargehand/chargehand/internal/protofile"
)

// serveGRPC serves testdata/resources/sky.proto, with TLS if it has a certificate, and tells
// its address.
func serveGRPC(t *testing.T, certificate *tls.Certificate) string {
	t.Helper()
	source, err := os.ReadFile(filepath.Join("testdata", "resources", "sky.proto"))
	if err != nil {
		t.Fatal(err)
	}
	sky, err := protofile.Compile(context.Background(), source)
	if err != nil {
		t.Fatal(err)
	}
	options := []grpc.ServerOption{grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error { return telescope(sky, stream) })}
	if certificate != nil {
		options = append(options, grpc.Creds(credentials.NewServerTLSFromCert(certificate)))
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(options...)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() {
		server.Stop()
		<-ended
	})
	return listener.Addr().String()
}

// telescope carries out a call with messages that are made at run time.
func telescope(sky *protofile.File, stream grpc.ServerStream) error {
	path, _ := grpc.MethodFromServerStream(stream)
	service, name, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	method, err := sky.Method(service, name)
	if err != nil {
		return status.Error(codes.Unimplemented, err.Error())
	}
	var shots []*dynamicpb.Message
	for {
		shot := dynamicpb.NewMessage(method.Input())
		err := stream.RecvMsg(shot)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		shots = append(shots, shot)
		if name == "Chat" { // answers as it goes
			if err := stream.SendMsg(shot); err != nil {
				return err
			}
		}
	}
	return answerShots(stream, method, name, shots)
}

func answerShots(stream grpc.ServerStream, method protoreflect.MethodDescriptor, name string, shots []*dynamicpb.Message) error {
	field := func(name protoreflect.Name) protoreflect.FieldDescriptor { return method.Input().Fields().ByName(name) }
	switch name {
	case "Sum":
		total := int64(0)
		for _, shot := range shots {
			total += shot.Get(field("photons")).Int()
		}
		sum := dynamicpb.NewMessage(method.Output())
		sum.Set(field("photons"), protoreflect.ValueOfInt64(total))
		sum.Set(field("frame_count"), protoreflect.ValueOfInt32(int32(len(shots))))
		return stream.SendMsg(sum)
	case "Watch":
		for n := range shots[0].Get(field("frame_count")).Int() {
			frame := dynamicpb.NewMessage(method.Output())
			frame.Set(field("frame_count"), protoreflect.ValueOfInt32(int32(n+1)))
			if err := stream.SendMsg(frame); err != nil {
				return err
			}
		}
		return nil
	case "Chat":
		return nil
	case "Fail":
		return status.Error(codes.Code(shots[0].Get(field("frame_count")).Int()), shots[0].Get(field("target")).String())
	case "WhoAmI":
		incoming, _ := metadata.FromIncomingContext(stream.Context())
		shots[0].Set(field("target"), protoreflect.ValueOfString(strings.Join(incoming.Get("authorization"), ",")))
	}
	return stream.SendMsg(shots[0])
}
