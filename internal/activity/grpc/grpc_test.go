package grpc

import (
	"context"
	"encoding/base64"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/egress"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

func wantOutput(t *testing.T, got activity.Result, want string) {
	t.Helper()
	if got.Fault != nil {
		t.Errorf("fault %v", got.Fault)
	} else if text := string(value.Marshal(got.Output)); text != want {
		t.Errorf("output %s, want %s", text, want)
	}
}

func wantFault(t *testing.T, got activity.Result, kind string, status int, words ...string) {
	t.Helper()
	if got.Fault == nil {
		t.Errorf("no fault, output %.200s", value.Marshal(got.Output))
		return
	}
	if got.Fault.Type != kind || got.Fault.Status != status {
		t.Errorf("fault %s %d (%s), want %s %d", got.Fault.Type, got.Fault.Status, got.Fault.Detail, kind, status)
	}
	for _, word := range words {
		if !strings.Contains(got.Fault.Detail, word) {
			t.Errorf("detail %q lacks %q", got.Fault.Detail, word)
		}
	}
}

func shot(target string, photons any) map[string]any {
	return map[string]any{"target": target, "photons": photons}
}

func TestAllFourKindsOfStreaming(t *testing.T) {
	port := (&observatory{}).serve(t)
	r := runner(t, loopback, nil)
	wantOutput(t, invoke(t, r, port, "Echo", shot("M31", 7), nil), `{"photons":"7","target":"M31"}`)
	wantOutput(t, invoke(t, r, port, "Echo", nil, nil), `{}`)
	wantOutput(t, invoke(t, r, port, "Watch", map[string]any{"frameCount": 2}, nil), `[{"frameCount":2},{"frameCount":2}]`)
	wantOutput(t, invoke(t, r, port, "Watch", nil, nil), `[]`)
	wantOutput(t, invoke(t, r, port, "Sum", []any{shot("a", 1), shot("b", 2), shot("c", 3)}, nil), `{"frameCount":3,"photons":"6"}`)
	wantOutput(t, invoke(t, r, port, "Sum", shot("a", 5), nil), `{"frameCount":1,"photons":"5"}`)
	wantOutput(t, invoke(t, r, port, "Sum", nil, nil), `{}`)
	wantOutput(t, invoke(t, r, port, "Sum", []any{}, nil), `{}`)
	wantOutput(t, invoke(t, r, port, "Chat", []any{shot("a", 1), shot("b", 2)}, nil), `[{"photons":"1","target":"a"},{"photons":"2","target":"b"}]`)
}

func TestMessagesAreTheJSONMappingAndIntegersAreExact(t *testing.T) {
	port := (&observatory{}).serve(t)
	r := runner(t, loopback, nil)
	largest, _ := new(big.Int).SetString("18446744073709551615", 10)
	wantOutput(t, invoke(t, r, port, "Echo", map[string]any{
		"photons": 9007199254740993, "serial": largest, "frame_count": 3.0, "filter": "FILTER_RED", "raw": "AAE=",
		"takenAt": "2026-01-02T03:04:05Z", "angles": []any{1, 0.5}, "counts": map[string]any{"a": "9223372036854775807"},
		"note": map[string]any{"deep": []any{nil, true}}, "retries": 0, "inner": map[string]any{"filter": 1},
	}, nil), `{"angles":[1,0.5],"counts":{"a":"9223372036854775807"},"filter":"FILTER_RED","frameCount":3,"inner":{"filter":"FILTER_RED"},`+
		`"note":{"deep":[null,true]},"photons":"9007199254740993","raw":"AAE=","retries":0,"serial":"18446744073709551615","takenAt":"2026-01-02T03:04:05Z"}`)
}

func TestArgumentsThatDoNotFitNameTheField(t *testing.T) {
	r := runner(t, loopback, nil)
	for _, c := range []struct {
		method    string
		arguments any
		words     []string
	}{
		{"Echo", map[string]any{"tarjet": "x"}, []string{`arguments: not a message sky.v1.Shot: unknown field "tarjet"`}},
		{"Echo", map[string]any{"inner": map[string]any{"nope": 1}}, []string{`unknown field "nope"`}},
		{"Echo", map[string]any{"frameCount": "many"}, []string{"frameCount", "many"}},
		{"Echo", map[string]any{"photons": 1.5}, []string{"photons"}},
		{"Echo", []any{}, []string{"sky.v1.Shot"}},
		{"Sum", []any{shot("a", 1), map[string]any{"bad": 1}}, []string{`arguments[1]`, `"bad"`}},
	} {
		got := invoke(t, r, 1, c.method, c.arguments, nil)
		wantFault(t, got, machine.ErrValidation, 400, c.words...)
		if got.Fault != nil && strings.Contains(got.Fault.Detail, "(line") {
			t.Errorf("detail %q shows a position in a text that no author wrote", got.Fault.Detail)
		}
	}
}

func TestStatusBecomesTheHTTPStatus(t *testing.T) {
	port := (&observatory{}).serve(t)
	r := runner(t, loopback, nil)
	for code, want := range map[codes.Code]struct {
		status int
		name   string
		again  bool
	}{
		codes.Canceled: {499, "CANCELLED", false}, codes.Unknown: {500, "UNKNOWN", true}, codes.InvalidArgument: {400, "INVALID_ARGUMENT", false},
		codes.DeadlineExceeded: {504, "DEADLINE_EXCEEDED", true}, codes.NotFound: {404, "NOT_FOUND", false},
		codes.AlreadyExists: {409, "ALREADY_EXISTS", false}, codes.PermissionDenied: {403, "PERMISSION_DENIED", false},
		codes.ResourceExhausted: {429, "RESOURCE_EXHAUSTED", true}, codes.FailedPrecondition: {400, "FAILED_PRECONDITION", false},
		codes.Aborted: {409, "ABORTED", true}, codes.OutOfRange: {400, "OUT_OF_RANGE", false}, codes.Unimplemented: {501, "UNIMPLEMENTED", false},
		codes.Internal: {500, "INTERNAL", true}, codes.Unavailable: {503, "UNAVAILABLE", true}, codes.DataLoss: {500, "DATA_LOSS", false},
		codes.Unauthenticated: {401, "UNAUTHENTICATED", false}, 77: {500, "code 77", false},
	} {
		got := invoke(t, r, port, "Fail", map[string]any{"frameCount": int(code), "target": "the dome is shut"}, nil)
		wantFault(t, got, machine.ErrCommunication, want.status, "sky.v1.Telescope/Fail at 127.0.0.1", want.name+": the dome is shut")
		if got.Fault != nil && got.Fault.Retryable != want.again {
			t.Errorf("%s: retryable %v", want.name, got.Fault.Retryable)
		}
	}
}

func TestTLSByPortSchemeAndMetadata(t *testing.T) {
	caFile, certificate := authority(t)
	secure := (&observatory{}).serve(t, serverTLS(certificate))
	plain := (&observatory{}).serve(t)
	rules := egress.Config{TrustedCA: []string{caFile}, ConnectTo: []string{
		fmt.Sprintf("sky.example:443:127.0.0.1:%d", secure), fmt.Sprintf("sky.example:8443:127.0.0.1:%d", secure),
		fmt.Sprintf("sky.example:80:127.0.0.1:%d", plain), fmt.Sprintf("sky.example:5011:127.0.0.1:%d", plain),
		fmt.Sprintf("wrong.example:443:127.0.0.1:%d", secure),
	}}
	r := runner(t, rules, nil)
	call := func(r *Runner, host string, port any, metadata map[string]any) activity.Result {
		args := map[string]any{"proto": map[string]any{"content": telescope}, "service": "Telescope", "host": host, "method": "Echo"}
		if port != nil {
			args["port"] = port
		}
		return r.Run(t.Context(), activity.Call{Args: args, Metadata: metadata})
	}
	withTLS := func(on any) map[string]any { return map[string]any{"grpc": map[string]any{"tls": on}} }
	for _, c := range []struct {
		host     string
		port     any
		metadata map[string]any
	}{
		{"sky.example", 443, nil}, {"sky.example", nil, nil}, {"https://sky.example", nil, nil}, {"grpcs://sky.example", 8443, nil},
		{"https://sky.example:8443/", nil, nil}, {"sky.example", 8443, withTLS(true)}, {"sky.example:8443", nil, withTLS(true)},
		{"sky.example", 5011, nil}, {"http://sky.example", nil, nil}, {"grpc://sky.example", 5011, nil}, {"sky.example:5011", 5011, nil},
		{"sky.example", nil, withTLS(false)}, {"https://sky.example", 5011, withTLS(false)},
	} {
		if got := call(r, c.host, c.port, c.metadata); got.Fault != nil {
			t.Errorf("%s %v %v: %v", c.host, c.port, c.metadata, got.Fault)
		}
	}
	wantFault(t, call(r, "wrong.example", 443, nil), machine.ErrCommunication, 503, "UNAVAILABLE", "certificate")
	wantFault(t, call(runner(t, egress.Config{ConnectTo: rules.ConnectTo}, nil), "sky.example", 443, nil), machine.ErrCommunication, 503, "certificate")
	for _, c := range []struct {
		host     string
		port     any
		metadata map[string]any
		word     string
	}{
		{"ftp://sky.example", nil, nil, "scheme"}, {"", nil, nil, "no name"}, {"a/b", nil, nil, "no name"}, {"sky.example:99999", nil, nil, "port"},
		{"sky.example:443", 80, nil, "different ports"}, {"sky.example", 0, nil, "from 1 to"}, {"sky.example", "x", nil, "from 1 to"},
		{"sky.example", 443, withTLS("yes"), "metadata.grpc.tls"}, {"user@sky.example", nil, nil, "no name"},
	} {
		wantFault(t, call(r, c.host, c.port, c.metadata), machine.ErrConfiguration, 400, c.word)
	}
}

func TestTargetsOfAddresses(t *testing.T) {
	for host, want := range map[string]string{
		"::1": "[::1]:443", "[::1]": "[::1]:443", "[::1]:7": "[::1]:7", "10.0.0.1": "10.0.0.1:443", "grpc://[2001:db8::1]": "[2001:db8::1]:80",
	} {
		got, fault := targetOf(map[string]any{"host": host}, nil)
		if fault != nil || got.address() != want {
			t.Errorf("%s: %s, %v; want %s", host, got.address(), fault, want)
		}
	}
}

func TestEgressRulesHold(t *testing.T) {
	port := (&observatory{}).serve(t)
	got := invoke(t, runner(t, egress.Config{}, nil), port, "Echo", nil, nil)
	wantFault(t, got, machine.ErrCommunication, 500, "egress rules", "--allow-egress")
	if got.Fault != nil && got.Fault.Code != "egress_refused" {
		t.Errorf("code %q", got.Fault.Code)
	}
}

func TestCredentialsAndKeyAreMetadata(t *testing.T) {
	port := (&observatory{}).serve(t)
	r := runner(t, loopback, func(c *Config) { c.UserAgent = "chargehand/test" })
	output := func(authentication any, metadata map[string]any) string {
		got := r.Run(t.Context(), activity.Call{Key: "key-1", Metadata: metadata, Args: map[string]any{
			"proto": map[string]any{"content": telescope}, "service": "Telescope", "host": "127.0.0.1", "port": port, "method": "Metadata",
			"authentication": authentication,
		}})
		if got.Fault != nil {
			return got.Fault.Type + got.Fault.Detail
		}
		return string(value.Marshal(got.Output))
	}
	basic := "authorization=Basic " + base64.StdEncoding.EncodeToString([]byte("ada:secret"))
	for _, c := range []struct {
		authentication any
		metadata       map[string]any
		want, absent   string
	}{
		{map[string]any{"scheme": "basic", "username": "ada", "password": "secret"}, nil, basic, "idempotency"},
		{map[string]any{"scheme": "bearer", "token": "t-1"}, nil, "authorization=Bearer t-1", "Basic"},
		{nil, map[string]any{"idempotencyKey": true}, "idempotency-key=key-1", "authorization"},
		{nil, nil, "user-agent=chargehand/test", "authorization"},
		{map[string]any{"scheme": "digest", "username": "a", "password": "b"}, nil, machine.ErrConfiguration, "b\""},
		{map[string]any{"scheme": "basic", "username": "a:b"}, nil, machine.ErrAuthentication, "{"},
	} {
		got := output(c.authentication, c.metadata)
		if !strings.Contains(got, c.want) || strings.Contains(got, c.absent) {
			t.Errorf("%v: %s, want %s without %s", c.authentication, got, c.want, c.absent)
		}
	}
}

func TestCancellationReachesTheServer(t *testing.T) {
	sky := &observatory{}
	port := sky.serve(t)
	r := runner(t, loopback, nil)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan activity.Result, 1)
	go func() {
		ended <- r.Run(ctx, activity.Call{Args: map[string]any{
			"proto": map[string]any{"content": telescope}, "service": "Telescope", "host": "127.0.0.1", "port": port, "method": "Hang",
		}})
	}()
	remote := <-sky.running
	cancel()
	<-ended
	<-remote.Done()
}

func TestDeadline(t *testing.T) {
	sky := &observatory{}
	port := sky.serve(t)
	// On a busy machine a short time may be over before the server has seen the call.
	for timeout := 50 * time.Millisecond; ; timeout *= 2 {
		r := runner(t, loopback, func(c *Config) { c.Timeout = timeout })
		got := invoke(t, r, port, "Hang", nil, nil)
		if got.Fault != nil && strings.Contains(got.Fault.Detail, "compiled in time") && timeout < 10*time.Second {
			continue // nor before there was a call
		}
		wantFault(t, got, machine.ErrCommunication, 504, "DEADLINE_EXCEEDED", "within "+timeout.String())
		if got.Fault != nil && !got.Fault.Retryable {
			t.Error("a call that took too long may be tried again")
		}
		select {
		case remote := <-sky.running:
			<-remote.Done()
			return
		default:
			if timeout > 10*time.Second {
				t.Fatal("the server never saw the call")
			}
		}
	}
}

func TestLimitsAreNamed(t *testing.T) {
	port := (&observatory{}).serve(t)
	r := runner(t, loopback, func(c *Config) { c.MessageBytes, c.StreamBytes, c.Messages = 4096, 6000, 5 })
	large := shot(strings.Repeat("x", 5000), 0)
	wantFault(t, invoke(t, r, port, "Echo", large, nil), machine.ErrCommunication, 500, "more than 4096 bytes")
	wantFault(t, invoke(t, r, port, "Watch", map[string]any{"frameCount": 6}, nil), machine.ErrCommunication, 500, "more than 5 messages")
	wantFault(t, invoke(t, r, port, "Watch", map[string]any{"frameCount": 3, "target": strings.Repeat("x", 3000)}, nil), machine.ErrCommunication, 500, "more than 6000 bytes")
	wantOutput(t, invoke(t, r, port, "Watch", map[string]any{"frameCount": 1}, nil), `[{"frameCount":1}]`)
}

func TestLargeMessagesPass(t *testing.T) {
	port := (&observatory{}).serve(t)
	text := strings.Repeat("0123456789", 700_000)
	got := invoke(t, runner(t, loopback, nil), port, "Echo", shot(text, 0), nil)
	if got.Fault != nil || got.Output.(map[string]any)["target"] != text {
		t.Errorf("7 MB: %v", got.Fault)
	}
}

func TestProtoFileIsReadAtTheCallWhereItIsNotPinned(t *testing.T) {
	port := (&observatory{}).serve(t)
	asked := 0
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		asked++
		if req.URL.Path != "/sky.proto" || req.Header.Get("Authorization") != "Bearer p" {
			http.NotFound(w, req)
			return
		}
		w.Header().Set("Cache-Control", "max-age=60")
		_, _ = w.Write([]byte(telescope))
	}))
	defer files.Close()
	r := runner(t, loopback, nil)
	authentication := map[string]any{"scheme": "bearer", "token": "p"}
	for range 2 {
		wantOutput(t, invoke(t, r, port, "Echo", nil, map[string]any{
			"proto": map[string]any{"endpoint": files.URL + "/sky.proto", "authentication": authentication},
		}), `{}`)
	}
	if asked != 1 {
		t.Errorf("the file was read %d times", asked)
	}
	for _, c := range []struct {
		proto  any
		status int
		kind   string
		word   string
	}{
		{map[string]any{"endpoint": files.URL + "/absent.proto"}, 404, machine.ErrCommunication, "404"},
		{map[string]any{"content": "message A {\n int32 = 1;\n}"}, 400, machine.ErrConfiguration, "line 2, column 8"},
		{map[string]any{}, 400, machine.ErrConfiguration, "no endpoint"},
		{map[string]any{"content": telescope + `service Other {}`}, 400, machine.ErrConfiguration, "it has sky.v1.Other, sky.v1.Telescope"},
	} {
		wantFault(t, invoke(t, r, port, "Echo", nil, map[string]any{"proto": c.proto, "service": "None"}), c.kind, c.status, c.word)
	}
}

func TestConnectionsAreSharedAndBounded(t *testing.T) {
	port := (&observatory{}).serve(t)
	dials := 0
	r := runner(t, egress.Config{}, func(c *Config) {
		c.Connections = 2
		c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			dials++
			return (&net.Dialer{}).DialContext(ctx, network, fmt.Sprintf("127.0.0.1:%d", port))
		}
	})
	for _, host := range []string{"a", "a", "b", "a", "c", "a", "b"} { // c puts b out, b puts c out
		wantOutput(t, invoke(t, r, 1000, "Echo", nil, map[string]any{"host": host}), `{}`)
	}
	if dials != 4 || len(r.pool.known) != 2 {
		t.Errorf("%d connections were opened and %d are kept, want 4 and 2", dials, len(r.pool.known))
	}
	r.Close()
	wantFault(t, invoke(t, r, 1000, "Echo", nil, map[string]any{"host": "a"}), machine.ErrCommunication, 500, "stopping")
}

func TestServerThatComesBackIsReachedAtOnce(t *testing.T) {
	port := (&observatory{}).serve(t)
	away := true
	r := runner(t, egress.Config{}, func(c *Config) {
		c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if away {
				return nil, fmt.Errorf("connection refused")
			}
			return (&net.Dialer{}).DialContext(ctx, network, fmt.Sprintf("127.0.0.1:%d", port))
		}
	})
	for range 3 {
		got := invoke(t, r, 1000, "Echo", nil, nil)
		wantFault(t, got, machine.ErrCommunication, 503, "UNAVAILABLE", "connection refused")
		if got.Fault != nil && !got.Fault.Retryable {
			t.Error("a server that is away may come back")
		}
	}
	away = false
	wantOutput(t, invoke(t, r, 1000, "Echo", nil, nil), `{}`)
}
