package a2a

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2asrv"
	"github.com/a2aproject/a2a-go/a2asrv/eventqueue"
	"github.com/a2aproject/a2a-go/a2asrv/push"

	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/activity/remote"
	"github.com/chargehand/chargehand/internal/credential"
	"github.com/chargehand/chargehand/internal/egress"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

type object = map[string]any

// agent works off a task in three events, or waits to be cancelled when told "wait".
type agent struct{}

func (agent) Execute(ctx context.Context, req *a2asrv.RequestContext, q eventqueue.Queue) error {
	said := req.Message.Parts[0].(a2a.TextPart).Text
	if err := q.Write(ctx, a2a.NewSubmittedTask(req, req.Message)); err != nil {
		return err
	}
	if err := q.Write(ctx, a2a.NewStatusUpdateEvent(req, a2a.TaskStateWorking, nil)); err != nil {
		return err
	}
	if said == "wait" {
		<-ctx.Done()
		return ctx.Err()
	}
	if err := q.Write(ctx, a2a.NewArtifactEvent(req, a2a.TextPart{Text: "heard " + said + " from " + string(req.Message.Role)})); err != nil {
		return err
	}
	done := a2a.NewStatusUpdateEvent(req, a2a.TaskStateCompleted, nil)
	done.Final = true
	return q.Write(ctx, done)
}

func (agent) Cancel(ctx context.Context, req *a2asrv.RequestContext, q eventqueue.Queue) error {
	done := a2a.NewStatusUpdateEvent(req, a2a.TaskStateCanceled, nil)
	done.Final = true
	return q.Write(ctx, done)
}

// serveAgent is a server of the official module with a card; it tells its base address.
func serveAgent(t *testing.T) string {
	t.Helper()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	card := &a2a.AgentCard{Name: "test", PreferredTransport: a2a.TransportProtocolJSONRPC, ProtocolVersion: "0.3.0",
		Capabilities: a2a.AgentCapabilities{Streaming: true, PushNotifications: true}, SupportsAuthenticatedExtendedCard: true}
	handler := a2asrv.NewHandler(agent{}, a2asrv.WithExtendedAgentCard(card),
		a2asrv.WithPushNotifications(push.NewInMemoryStore(), push.NewHTTPPushSender(nil)))
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	card.URL = server.URL + "/invoke"
	mux.Handle("/invoke", a2asrv.NewJSONRPCHandler(handler))
	mux.Handle("/card.json", a2asrv.NewStaticAgentCardHandler(card))
	return server.URL
}

func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func runner(t *testing.T, edit func(*Config)) *Runner {
	t.Helper()
	policy, err := egress.New(egress.Config{Allow: []string{"127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	transport := policy.Transport()
	t.Cleanup(transport.CloseIdleConnections)
	cfg := Config{Remote: remote.Config{Transport: transport, Authenticate: remote.AuthenticateBy(credential.New(credential.Config{Transport: transport}))}}
	if edit != nil {
		edit(&cfg)
	}
	return New(cfg)
}

func run(t *testing.T, r *Runner, to object, method string, parameters any) activity.Result {
	t.Helper()
	args := object{"method": method}
	if parameters != nil {
		args["parameters"] = parameters
	}
	for name, value := range to {
		args[name] = value
	}
	return r.Run(t.Context(), activity.Call{Kind: "a2a", Args: args, Key: "key-1"})
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

func say(text string) object {
	return object{"message": object{"kind": "message", "parts": []any{object{"kind": "text", "text": text}}}}
}

// at follows keys and indexes.
func at(v value.Value, path ...any) value.Value {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[step]
		case int:
			list, _ := v.([]any)
			if step >= len(list) {
				return nil
			}
			v = list[step]
		}
	}
	return v
}

func TestEveryMethodAgainstTheOfficialServer(t *testing.T) {
	base := serveAgent(t)
	r := runner(t, nil)
	card := object{"agentCard": object{"endpoint": base + "/card.json"}}
	must := func(method string, parameters any) value.Value {
		t.Helper()
		got := run(t, r, card, method, parameters)
		if got.Fault != nil {
			t.Fatalf("%s: %v", method, got.Fault)
		}
		return got.Output
	}
	task := must("message/send", say("hi"))
	id := at(task, "id")
	if text := at(task, "artifacts", 0, "parts", 0, "text"); text != "heard hi from user" || at(task, "status", "state") != "completed" {
		t.Errorf("message/send gave %s", value.Marshal(task))
	}
	if got := must("tasks/get", object{"id": id}); !value.Equal(at(got, "id"), id) {
		t.Errorf("tasks/get gave %s", value.Marshal(got))
	}
	stream := must("message/stream", say("again"))
	events, _ := stream.([]any)
	if len(events) != 4 || at(stream, 0, "kind") != "task" || at(stream, 3, "final") != true {
		t.Errorf("message/stream gave %s", value.Marshal(stream))
	}
	push := object{"taskId": id, "pushNotificationConfig": object{"id": "p1", "url": "https://example.com/hook"}}
	must("tasks/pushNotificationConfig/set", push)
	named := object{"id": id, "pushNotificationConfigId": "p1"}
	if got := must("tasks/pushNotificationConfig/get", named); at(got, "pushNotificationConfig", "url") != "https://example.com/hook" {
		t.Errorf("get gave %s", value.Marshal(got))
	}
	if got := must("tasks/pushNotificationConfig/list", object{"id": id}); at(got, 0, "taskId") != id {
		t.Errorf("list gave %s", value.Marshal(got))
	}
	must("tasks/pushNotificationConfig/delete", named)
	if got := must("agent/getAuthenticatedExtendedCard", nil); at(got, "name") != "test" {
		t.Errorf("card %s", value.Marshal(got))
	}
	// This server has no tasks/list, and says so by JSON-RPC (T54).
	server := object{"server": object{"endpoint": base + "/invoke"}}
	wantFault(t, run(t, r, server, "tasks/list", object{}), machine.ErrRuntime, 500, "-32601")
	wantFault(t, run(t, r, server, "tasks/get", object{"id": "none"}), machine.ErrRuntime, 500, "-32001")
	wantFault(t, run(t, r, server, "tasks/resubscribe", object{"id": "none"}), machine.ErrRuntime, 500, "-32001")
}

func TestResubscribeAndCancelATask(t *testing.T) {
	base := serveAgent(t)
	r := runner(t, nil)
	server := object{"server": object{"endpoint": base + "/invoke"}}
	waiting := say("wait")
	waiting["configuration"] = object{"blocking": false}
	task := run(t, r, server, "message/send", waiting)
	id, _ := at(task.Output, "id").(string)
	if id == "" {
		t.Fatalf("%s, %v", value.Marshal(task.Output), task.Fault)
	}
	followed := make(chan activity.Result, 1)
	go func() { followed <- run(t, r, server, "tasks/resubscribe", object{"id": id}) }()
	if got := run(t, r, server, "tasks/cancel", object{"id": id}); at(got.Output, "status", "state") != "canceled" {
		t.Errorf("cancel: %s, %v", value.Marshal(got.Output), got.Fault)
	}
	select {
	case got := <-followed: // before the cancellation a stream, after it none to follow
		if events, isList := got.Output.([]any); got.Fault == nil && !isList {
			t.Errorf("resubscribe gave %v", events)
		}
	case <-time.After(time.Minute):
		t.Fatal("the stream did not end")
	}
}

func TestMessagesAreCompletedTheSameOnEveryRun(t *testing.T) {
	var seen []object
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var request object
		decoder := json.NewDecoder(r.Body)
		decoder.UseNumber()
		if err := decoder.Decode(&request); err != nil {
			t.Error(err)
		}
		seen = append(seen, request)
		io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"n":9007199254740993}}`)
	})
	r := runner(t, nil)
	to := object{"server": object{"endpoint": url}}
	parameters := say("x")
	parameters["metadata"] = object{"n": 9007199254740993}
	for range 2 {
		if got := run(t, r, to, "message/send", parameters); !value.Equal(at(got.Output, "n"), 9007199254740993) {
			t.Errorf("%s, %v", value.Marshal(got.Output), got.Fault)
		}
	}
	run(t, r, to, "message/send", object{"message": object{"messageId": "mine", "role": "agent"}})
	run(t, r, to, "tasks/get", object{"id": "1", "message": object{}})
	first, second := at(seen[0], "params", "message", "messageId"), at(seen[1], "params", "message", "messageId")
	if text, _ := first.(string); first != second || len(text) != 36 {
		t.Errorf("messageId %v, then %v", first, second)
	}
	if at(seen[0], "params", "message", "role") != "user" || fmt.Sprint(at(seen[0], "params", "metadata", "n")) != "9007199254740993" {
		t.Errorf("sent %v", seen[0])
	}
	if at(seen[2], "params", "message", "messageId") != "mine" || at(seen[2], "params", "message", "role") != "agent" {
		t.Errorf("what the author gave was changed: %v", seen[2])
	}
	if at(seen[3], "params", "message", "role") != nil {
		t.Errorf("parameters of another method were changed: %v", seen[3])
	}
	if message := parameters["message"].(object); message["messageId"] != nil {
		t.Error("the arguments were changed")
	}
}

func TestFailures(t *testing.T) { // T54
	r := runner(t, func(c *Config) { c.Bytes, c.Timeout = 4096, 2*time.Second })
	answer := func(status int, media, body string) object {
		return object{"server": object{"endpoint": serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", media)
			w.WriteHeader(status)
			io.WriteString(w, body)
		})}}
	}
	wantFault(t, run(t, r, answer(401, "text/plain", "who are you"), "tasks/get", nil), machine.ErrCommunication, 401, "who are you")
	wantFault(t, run(t, r, answer(503, "", ""), "tasks/get", nil), machine.ErrCommunication, 503)
	wantFault(t, run(t, r, answer(200, "application/json", `{"id":1}`), "tasks/get", nil), machine.ErrRuntime, 500, "neither")
	wantFault(t, run(t, r, answer(200, "application/json", `{`), "tasks/get", nil), machine.ErrRuntime, 500, "cannot be read")
	wantFault(t, run(t, r, answer(200, "application/json", strings.Repeat(" ", 5000)), "tasks/get", nil), machine.ErrRuntime, 500, "4096 bytes")
	stream := "data: {\"result\":1}\n\ndata: {\"error\":{\"code\":-32005,\"message\":\"no\",\"data\":[7]}}\n\n"
	wantFault(t, run(t, r, answer(200, "text/event-stream", stream), "message/stream", nil), machine.ErrRuntime, 500, "-32005", "no", "[7]")
	wantFault(t, run(t, r, answer(200, "text/event-stream", strings.Repeat("data: {\"result\":1}\n\n", 300)), "message/stream", nil), machine.ErrRuntime, 500, "4096 bytes")
	single := run(t, r, answer(200, "application/json", `{"result":{"a":1}}`), "message/stream", nil)
	if text := string(value.Marshal(single.Output)); text != `[{"a":1}]` {
		t.Errorf("a stream of one answer gave %s, %v", text, single.Fault)
	}
	wantFault(t, run(t, r, object{"server": object{"endpoint": "http://127.0.0.1:1/"}}, "tasks/get", nil), machine.ErrCommunication, 500, "refused")
	wantFault(t, run(t, r, object{"server": object{"endpoint": "http://10.0.0.1/"}}, "tasks/get", nil), machine.ErrCommunication, 500, "--allow-egress")
	wantFault(t, run(t, r, object{}, "tasks/get", nil), machine.ErrConfiguration, 400, "agentCard")
	wantFault(t, run(t, r, object{}, "tasks/drop", nil), machine.ErrConfiguration, 400, "tasks/drop")
	hanging := object{"server": object{"endpoint": serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})}}
	slow := runner(t, func(c *Config) { c.Timeout = 100 * time.Millisecond })
	wantFault(t, run(t, slow, hanging, "tasks/get", nil), machine.ErrTimeout, 408, "100ms")
}

func TestCards(t *testing.T) {
	var fetched atomic.Int32
	var authorization atomic.Value
	agent := serve(t, func(w http.ResponseWriter, r *http.Request) {
		authorization.Store(r.Header.Get("Authorization"))
		io.WriteString(w, `{"result":"here"}`)
	})
	var card atomic.Value
	cards := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer tok" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		fetched.Add(1)
		w.Header().Set("Cache-Control", "max-age=300")
		io.WriteString(w, card.Load().(string))
	})
	now := time.Unix(0, 0)
	r := runner(t, func(c *Config) { c.Now = func() time.Time { return now } })
	to := object{"agentCard": object{"endpoint": cards, "authentication": object{"scheme": "bearer", "token": "tok"}}}
	for _, text := range []string{
		`{"url":"` + agent + `"}`,
		`{"url":"grpc.example.com","preferredTransport":"GRPC","additionalInterfaces":[{"url":"` + agent + `","transport":"JSONRPC"}]}`,
		`{"supportedInterfaces":[{"url":"x","protocolBinding":"GRPC"},{"url":"` + agent + `","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`,
	} {
		card.Store(text)
		before := fetched.Load()
		for range 2 {
			if got := run(t, r, to, "tasks/get", nil); got.Output != "here" {
				t.Errorf("card %s: %v, %v", text, got.Output, got.Fault)
			}
		}
		if n := fetched.Load() - before; n != 1 {
			t.Errorf("the card was fetched %d times", n)
		}
		now = now.Add(301 * time.Second)
	}
	if got := authorization.Load(); got != "" {
		t.Errorf("the credentials of the card went to another server: %v", got)
	}
	card.Store(`{"url":"https://example.com","preferredTransport":"HTTP+JSON"}`)
	wantFault(t, run(t, r, to, "tasks/get", nil), machine.ErrConfiguration, 400, "HTTP+JSON at https://example.com")
	now = now.Add(301 * time.Second)
	card.Store(`{"url":"file:///agent"}`)
	wantFault(t, run(t, r, to, "tasks/get", nil), machine.ErrConfiguration, 400, "no http or https address", "offers JSONRPC at file:///agent")
	now = now.Add(301 * time.Second)
	card.Store(`{}`)
	wantFault(t, run(t, r, to, "tasks/get", nil), machine.ErrConfiguration, 400, "it offers none")
	wantFault(t, run(t, r, object{"agentCard": object{"endpoint": "file:card.json"}}, "tasks/get", nil), machine.ErrConfiguration, 400, "not from files")
	to["agentCard"].(object)["authentication"] = nil
	wantFault(t, run(t, r, to, "tasks/get", nil), machine.ErrCommunication, 403, "agent card")
}
