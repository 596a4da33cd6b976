package grpc

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/credential"
	"github.com/chargehand/chargehand/internal/egress"
	"github.com/chargehand/chargehand/internal/protofile"
	"github.com/chargehand/chargehand/internal/resource"
)

const telescope = `syntax = "proto3";
package sky.v1;
import "google/protobuf/timestamp.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/any.proto";

enum Filter { FILTER_NONE = 0; FILTER_RED = 1; }
message Shot {
  string target = 1;
  int64 photons = 2;
  uint64 serial = 3;
  int32 frame_count = 4;
  Filter filter = 5;
  bytes raw = 6;
  google.protobuf.Timestamp taken_at = 7;
  repeated double angles = 8;
  map<string, int64> counts = 9;
  google.protobuf.Value note = 10;
  optional int32 retries = 11;
  Shot inner = 12;
  repeated bool flags = 13;
  repeated Filter filters = 14;
  repeated Shot series = 15;
  google.protobuf.Any extra = 16;
  repeated fixed32 codes = 17;
}
service Telescope {
  rpc Echo(Shot) returns (Shot);
  rpc Watch(Shot) returns (stream Shot);
  rpc Sum(stream Shot) returns (Shot);
  rpc Chat(stream Shot) returns (stream Shot);
  rpc Hang(stream Shot) returns (stream Shot);
  rpc Fail(Shot) returns (Shot);
  rpc Metadata(Shot) returns (Shot);
}
`

// observatory serves the service of the file with messages made at run time.
type observatory struct {
	file    *protofile.File
	running chan context.Context // calls of Hang
}

func (o *observatory) serve(t *testing.T, options ...grpc.ServerOption) (port int) {
	t.Helper()
	var err error
	if o.file, err = protofile.Compile(t.Context(), []byte(telescope)); err != nil {
		t.Fatal(err)
	}
	o.running = make(chan context.Context, 16)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(append(options, grpc.UnknownServiceHandler(o.handle), grpc.MaxRecvMsgSize(64<<20))...)
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		<-done
	})
	return listener.Addr().(*net.TCPAddr).Port
}

func (o *observatory) handle(_ any, stream grpc.ServerStream) error {
	path, _ := grpc.MethodFromServerStream(stream)
	service, name := filepath.Split(path[1:])
	method, err := o.file.Method(service[:len(service)-1], name)
	if err != nil {
		return status.Error(codes.Unimplemented, err.Error())
	}
	receive := func() (*dynamicpb.Message, error) {
		m := dynamicpb.NewMessage(method.Input())
		return m, stream.RecvMsg(m)
	}
	field := func(name string) protoreflect.FieldDescriptor {
		return method.Input().Fields().ByName(protoreflect.Name(name))
	}
	switch name {
	case "Hang":
		o.running <- stream.Context()
		<-stream.Context().Done()
		return stream.Context().Err()
	case "Sum":
		answer := dynamicpb.NewMessage(method.Output())
		total, frames := int64(0), int32(0)
		for {
			m, err := receive()
			if err == io.EOF {
				break
			}
			if err != nil {
				return err
			}
			total += m.Get(field("photons")).Int()
			frames++
		}
		answer.Set(field("photons"), protoreflect.ValueOfInt64(total))
		answer.Set(field("frame_count"), protoreflect.ValueOfInt32(frames))
		return stream.SendMsg(answer)
	case "Chat":
		for {
			m, err := receive()
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
			if err := stream.SendMsg(m); err != nil {
				return err
			}
		}
	}
	m, err := receive()
	if err != nil {
		return err
	}
	switch name {
	case "Watch":
		for range m.Get(field("frame_count")).Int() {
			if err := stream.SendMsg(m); err != nil {
				return err
			}
		}
		return nil
	case "Fail":
		return status.Error(codes.Code(m.Get(field("frame_count")).Int()), m.Get(field("target")).String())
	case "Metadata":
		incoming, _ := metadata.FromIncomingContext(stream.Context())
		counts := m.Mutable(field("counts")).Map()
		for key, values := range incoming {
			counts.Set(protoreflect.ValueOfString(key+"="+values[0]).MapKey(), protoreflect.ValueOfInt64(1))
		}
	}
	return stream.SendMsg(m)
}

// authority is a certificate authority for one test and a certificate for sky.example.
func authority(t *testing.T) (caFile string, server tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, DNSNames: []string{"sky.example"},
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	caFile = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(caFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return caFile, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func serverTLS(certificate tls.Certificate) grpc.ServerOption {
	return grpc.Creds(credentials.NewServerTLSFromCert(&certificate))
}

func runner(t *testing.T, rules egress.Config, edit func(*Config)) *Runner {
	t.Helper()
	policy, err := egress.New(rules)
	if err != nil {
		t.Fatal(err)
	}
	transport := policy.Transport()
	t.Cleanup(transport.CloseIdleConnections)
	cfg := Config{
		Dial: policy.Dial, TLS: transport.TLSClientConfig, Auth: credential.New(credential.Config{Transport: transport}),
		Resources: resource.NewCache(resource.CacheConfig{Fetcher: resource.New(resource.Config{Transport: transport})}),
	}
	if edit != nil {
		edit(&cfg)
	}
	r := New(cfg)
	t.Cleanup(r.Close)
	return r
}

var loopback = egress.Config{Allow: []string{"127.0.0.1"}}

func invoke(t *testing.T, r *Runner, port int, method string, arguments any, more map[string]any) activity.Result {
	t.Helper()
	args := map[string]any{
		"proto": map[string]any{"content": telescope, "digest": "sha256:0"}, "service": "sky.v1.Telescope",
		"host": "127.0.0.1", "port": port, "method": method,
	}
	if arguments != nil {
		args["arguments"] = arguments
	}
	for name, value := range more {
		args[name] = value
	}
	return r.Run(t.Context(), activity.Call{Kind: "grpc", Args: args, Key: "key-1"})
}
