package asyncapi_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chargehand/chargehand/internal/activity"
	. "github.com/chargehand/chargehand/internal/activity/asyncapi"
	asyncapihttp "github.com/chargehand/chargehand/internal/activity/asyncapi/http"
	"github.com/chargehand/chargehand/internal/activity/asyncapi/nats"
	"github.com/chargehand/chargehand/internal/activity/asyncapi/ws"
	"github.com/chargehand/chargehand/internal/activity/failure"
	"github.com/chargehand/chargehand/internal/activity/remote"
	"github.com/chargehand/chargehand/internal/credential"
	"github.com/chargehand/chargehand/internal/egress"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/resource"
	"github.com/chargehand/chargehand/internal/value"
)

type object = map[string]any

const testMessageBytes = 64 << 10

// soon makes connections again without much waiting.
var soon = Reconnect{First: 5 * time.Millisecond, Most: 20 * time.Millisecond, Steady: time.Hour, MaxDown: 10 * time.Second}

// runner speaks all protocols, under egress rules that allow 127.0.0.1 alone.
func runner(t *testing.T, reconnect Reconnect) *Runner {
	t.Helper()
	return runnerWith(t, reconnect, func(*nats.Config, *credential.Config) {})
}

func runnerWith(t *testing.T, reconnect Reconnect, edit func(*nats.Config, *credential.Config)) *Runner {
	t.Helper()
	policy, err := egress.New(egress.Config{Allow: []string{"127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	transport := policy.Transport()
	t.Cleanup(transport.CloseIdleConnections)
	overNATS := nats.Config{
		Dial: policy.Dial, TLS: transport.TLSClientConfig, Reconnect: reconnect, PendingMessages: 100, PendingBytes: 1 << 20,
	}
	credentials := credential.Config{Transport: transport}
	edit(&overNATS, &credentials)
	source := credential.New(credentials)
	clients := remote.Config{Transport: transport, Authenticate: remote.AuthenticateBy(source)}
	return New(Config{
		Documents:    resource.NewCache(resource.CacheConfig{Fetcher: resource.New(resource.Config{Transport: transport, Auth: source})}),
		Authenticate: clients.Authenticate,
		Protocols: map[string]Protocol{
			"http": asyncapihttp.New(asyncapihttp.Config{Remote: clients, Reconnect: reconnect}),
			"ws":   ws.New(ws.Config{Remote: clients, Reconnect: reconnect}),
			"nats": nats.New(overNATS),
		},
		Timeout: 10 * time.Second, MessageBytes: testMessageBytes,
	})
}

// pinned is a document of version 2 with one server and the channel c, both ways; extra goes
// to the operations.
func pinned(address, protocol, extra string) object {
	return object{"content": `{asyncapi: 2.6.0, servers: {s: {url: '` + address + `', protocol: ` + protocol + `}},
		channels: {c: {publish: {` + extra + `}, subscribe: {` + extra + `}}, 'c.*': {subscribe: {}}}}`}
}

func publish(t *testing.T, r *Runner, document object, message object, more object) activity.Result {
	t.Helper()
	args := object{"document": document, "channel": "c", "message": message}
	for key, value := range more {
		args[key] = value
	}
	return r.Run(t.Context(), activity.Call{Kind: "asyncapi", Args: args, Key: "key-1", Metadata: object{"idempotencyKey": true}})
}

// subscription is a running subscription.
type subscription struct {
	t        *testing.T
	messages chan value.Value
	result   chan activity.Result
	cancel   context.CancelFunc
}

var errOver = errors.New("the run is over")

// subscribe starts one. Messages are held until the test takes them.
func subscribe(t *testing.T, r *Runner, args object) *subscription {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s := &subscription{t: t, messages: make(chan value.Value), result: make(chan activity.Result, 1), cancel: cancel}
	t.Cleanup(cancel)
	args["subscription"] = object{}
	if args["channel"] == nil && args["operation"] == nil {
		args["channel"] = "c"
	}
	go func() {
		s.result <- r.Run(ctx, activity.Call{Kind: "asyncapi", Args: args, Progress: func(ctx context.Context, v value.Value) error {
			select {
			case s.messages <- v:
				return nil
			case <-ctx.Done():
				return errOver
			}
		}})
	}()
	return s
}

// want takes the next message and compares it.
func (s *subscription) want(text string) {
	s.t.Helper()
	select {
	case got := <-s.messages:
		if shown := string(value.Marshal(got)); shown != text {
			s.t.Errorf("message %s, want %s", shown, text)
		}
	case got := <-s.result:
		s.t.Fatalf("the subscription ended: %v", got.Fault)
	case <-time.After(time.Minute):
		s.t.Fatalf("no message, want %s", text)
	}
}

// fault waits for the end by a fault, and lets messages go.
func (s *subscription) fault(kind string, status int, words ...string) {
	s.t.Helper()
	for {
		select {
		case <-s.messages:
			continue
		case got := <-s.result:
			wantFault(s.t, got, kind, status, words...)
		case <-time.After(time.Minute):
			s.t.Fatal("the subscription continues")
		}
		return
	}
}

// stop cancels and waits for the end.
func (s *subscription) stop() {
	s.t.Helper()
	s.cancel()
	select {
	case got := <-s.result:
		if got.Fault != nil {
			s.t.Errorf("a cancelled subscription has the fault %v", got.Fault)
		}
	case <-time.After(time.Minute):
		s.t.Fatal("the subscription continues after it was cancelled")
	}
}

func wantFault(t *testing.T, got activity.Result, kind string, status int, words ...string) {
	t.Helper()
	if got.Fault == nil {
		t.Fatalf("no fault, output %s", value.Marshal(got.Output))
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

func wantOK(t *testing.T, got activity.Result) {
	t.Helper()
	if got.Fault != nil || got.Output != nil {
		t.Fatalf("%v, fault %v; want the output null", got.Output, got.Fault)
	}
}

func TestBadArguments(t *testing.T) {
	r := runner(t, soon)
	ok := pinned("http://127.0.0.1:1", "http", "")
	for detail, args := range map[string]object{
		"a message or a subscription":  {"document": ok, "channel": "c"},
		"either a channel":             {"document": ok, "message": object{}},
		"no channel \"d\"":             {"document": ok, "channel": "d", "message": object{}},
		"variables":                    {"document": ok, "channel": "c", "message": object{}, "server": object{"name": "s", "variables": []any{}}},
		"must be a text":               {"document": ok, "channel": "c", "message": object{}, "server": object{"name": "s", "variables": object{"a": object{}}}},
		"headers of a message":         {"document": ok, "channel": "c", "message": object{"headers": "x"}},
		"cannot be given":              {"document": ok, "channel": "c", "message": object{"headers": object{"Host": "x"}}},
		"payload must be a text":       {"document": pinned("http://127.0.0.1:1", "http", "message: {contentType: text/plain}"), "channel": "c", "message": object{"payload": object{}}},
		"not an HTTP method":           {"document": pinned("http://127.0.0.1:1", "http", "bindings: {http: {method: 'G T'}}"), "channel": "c", "message": object{}},
		"CONNECT cannot be called":     {"document": pinned("http://127.0.0.1:1", "http", "bindings: {http: {method: connect}}"), "channel": "c", "message": object{}},
		"TRACE cannot be called":       {"document": pinned("http://127.0.0.1:1", "http", "bindings: {http: {method: TRACE}}"), "channel": "c", "message": object{}},
		"cannot be a subject":          {"document": object{"content": "{asyncapi: 2.6.0, servers: {s: {url: 'nats://127.0.0.1:1', protocol: nats}}, channels: {'a.*': {}}}"}, "channel": "a.*", "message": object{}},
		"is not supported":             {"document": pinned("kafka://127.0.0.1:1", "kafka", ""), "channel": "c", "server": object{"name": "s"}, "message": object{}},
		"cannot be read: it is no JSO": {"document": object{"content": "{"}, "channel": "c", "message": object{}},
	} {
		wantFault(t, r.Run(t.Context(), activity.Call{Args: args}), machine.ErrConfiguration, 400, detail)
	}
	large := publish(t, r, ok, object{"payload": strings.Repeat("x", testMessageBytes)}, nil)
	wantFault(t, large, machine.ErrRuntime, 500, "64 KiB")
}

func TestEgressRulesHoldForEveryProtocol(t *testing.T) {
	r := runner(t, soon)
	for protocol, address := range map[string]string{"http": "http://10.0.0.1:1", "ws": "ws://10.0.0.1:1", "nats": "nats://10.0.0.1:4222"} {
		document := pinned(address, protocol, "")
		wantFault(t, publish(t, r, document, object{"payload": 1}, nil), machine.ErrCommunication, 500, "--allow-egress")
		subscribe(t, r, object{"document": document}).fault(machine.ErrCommunication, 500, "--allow-egress")
	}
	fetched := publish(t, r, object{"endpoint": "http://10.0.0.1/doc.yaml"}, object{"payload": 1}, nil)
	wantFault(t, fetched, machine.ErrCommunication, 500, "10.0.0.1")
}

func TestFirstConnectionIsNotWaitedFor(t *testing.T) {
	r := runner(t, Reconnect{MaxDown: time.Hour, First: time.Hour})
	for protocol, address := range map[string]string{"http": "http://127.0.0.1:1", "ws": "ws://127.0.0.1:1", "nats": "nats://127.0.0.1:1"} {
		subscribe(t, r, object{"document": pinned(address, protocol, "")}).fault(machine.ErrCommunication, 500, "refused")
	}
}

func TestReconnectGivesUp(t *testing.T) { synctest.Test(t, reconnectGivesUp) }

func reconnectGivesUp(t *testing.T) {
	r := Reconnect{First: time.Millisecond, Most: time.Millisecond, MaxDown: 20 * time.Millisecond, Steady: time.Hour}.WithDefaults()
	calls := 0
	fault := r.Follow(t.Context(), func(up func()) *machine.Fault {
		if calls++; calls == 1 {
			up()
		}
		return failure.Communication(500, "gone")
	})
	if fault == nil || calls < 3 || !strings.Contains(fault.Detail, "20ms: gone") {
		t.Errorf("%v after %d calls", fault, calls)
	}
	calls = 0
	fault = r.Follow(t.Context(), func(up func()) *machine.Fault {
		calls++
		up()
		return failure.Communication(403, "no more")
	})
	if fault == nil || calls != 1 || fault.Status != 403 {
		t.Errorf("%v after %d calls", fault, calls)
	}
}
