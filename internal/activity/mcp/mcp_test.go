package mcp

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/activity/process"
	"github.com/chargehand/chargehand/internal/activity/remote"
	"github.com/chargehand/chargehand/internal/credential"
	"github.com/chargehand/chargehand/internal/egress"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

func TestMain(m *testing.M) {
	process.MaybeHelper()
	if kind := os.Getenv(serverVariable); kind != "" {
		os.Exit(serveStdio(kind))
	}
	os.Exit(m.Run())
}

type object = map[string]any

const testBytes = 256 << 10

// noFiles is a store without files.
type noFiles struct{}

func (noFiles) Open(context.Context, chargehand.AccountID, chargehand.Environment, chargehand.ExecutionID, string) (machine.File, io.ReadCloser, error) {
	return machine.File{}, nil, activity.ErrFileNotFound
}

func (noFiles) Put(context.Context, chargehand.AccountID, chargehand.Environment, string, string, io.Reader) (machine.File, error) {
	return machine.File{}, activity.ErrFileNotFound
}

func runner(t *testing.T, edit func(*Config)) *Runner {
	t.Helper()
	policy, err := egress.New(egress.Config{Allow: []string{"127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	transport := policy.Transport()
	t.Cleanup(transport.CloseIdleConnections)
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	confiner, err := process.New(process.Config{
		Logger: slog.New(slog.DiscardHandler), Scratch: t.TempDir(), ReadPaths: []string{filepath.Dir(executable)}, Slots: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{
		Remote:         remote.Config{Transport: transport, Authenticate: remote.AuthenticateBy(credential.New(credential.Config{Transport: transport}))},
		AllowProcesses: true, Confiner: confiner, Files: noFiles{}, Version: "9", Bytes: testBytes, Timeout: 20 * time.Second,
	}
	if edit != nil {
		edit(&cfg)
	}
	return New(cfg)
}

// stdio is the transport to a server process of that kind.
func stdio(t *testing.T, kind string) object {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return object{"command": executable, "arguments": []any{"-test.run=none"},
		"environment": object{serverVariable: kind, "TOKEN": "t0"}}
}

// serve is the transport to a server of the SDK behind wrap.
func serve(t *testing.T, options *sdk.StreamableHTTPOptions, wrap func(http.Handler) http.Handler) (object, *httptest.Server) {
	t.Helper()
	server := newServer()
	var handler http.Handler = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, options)
	if wrap != nil {
		handler = wrap(handler)
	}
	web := httptest.NewServer(handler)
	t.Cleanup(web.Close)
	return object{"endpoint": web.URL + "/mcp"}, web
}

func run(t *testing.T, r *Runner, transport string, to object, method string, parameters any) activity.Result {
	t.Helper()
	args := object{"method": method, transport: to}
	if parameters != nil {
		args["parameters"] = parameters
	}
	return r.Run(t.Context(), activity.Call{Kind: "mcp", Args: args, Key: "k"})
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

// allMethods calls each method, and tells what of its result is wrong.
func allMethods(t *testing.T, r *Runner, transport string, to object) {
	t.Helper()
	for _, c := range []struct {
		method     string
		parameters any
		want       string
	}{
		{"tools/list", nil, `"name":"echo"`},
		// What Go would round, or turn into another kind of number, stays as it is.
		{"tools/call", object{"name": "echo", "arguments": object{"n": 9007199254740993, "s": "ü"}},
			`{"content":[],"structuredContent":{"n":9007199254740993,"s":"ü"}}`},
		{"tools/call", object{"name": "broken"}, `"isError":true`},
		{"tools/call", object{"name": "ask"}, "ping <nil>"},
		{"prompts/list", object{}, `"name":"greet"`},
		{"prompts/get", object{"name": "greet", "arguments": object{"name": "Ada"}}, `"description":"for Ada"`},
		{"resources/list", nil, `"uri":"test://page"`},
		{"resources/read", object{"uri": "test://pages/7"}, `"uri":"test://pages/7"`},
		{"resources/templates/list", nil, `"uriTemplate":"test://pages/{n}"`},
	} {
		got := run(t, r, transport, to, c.method, c.parameters)
		if got.Fault != nil {
			t.Errorf("%s: %v", c.method, got.Fault)
			continue
		}
		if text := string(value.Marshal(got.Output)); !strings.Contains(text, c.want) {
			t.Errorf("%s gave %s, want %s", c.method, text, c.want)
		}
	}
}

func TestEveryMethodOverHTTP(t *testing.T) {
	for name, options := range map[string]*sdk.StreamableHTTPOptions{"events": nil, "json": {JSONResponse: true}} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			var methods []string
			versions := map[string]bool{}
			to, _ := serve(t, options, func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					mu.Lock()
					methods = append(methods, r.Method)
					versions[r.Header.Get("MCP-Protocol-Version")] = true
					mu.Unlock()
					next.ServeHTTP(w, r)
				})
			})
			if name == "json" { // without a stream the server cannot ask during a call
				got := run(t, runner(t, nil), "http", to, "tools/list", nil)
				if got.Fault != nil || !strings.Contains(string(value.Marshal(got.Output)), `"echo"`) {
					t.Errorf("tools/list: %s, %v", value.Marshal(got.Output), got.Fault)
				}
			} else {
				allMethods(t, runner(t, nil), "http", to)
			}
			mu.Lock()
			defer mu.Unlock()
			if all := strings.Join(methods, " "); strings.Contains(all, "GET") || !strings.HasSuffix(all, "DELETE") {
				t.Errorf("requests %s: want no GET, and a DELETE at the end of each session", all)
			}
			if !versions["2025-06-18"] || len(versions) != 2 { // the first request has none
				t.Errorf("headers MCP-Protocol-Version: %v", versions)
			}
		})
	}
}

func TestEveryMethodOverStdio(t *testing.T) {
	allMethods(t, runner(t, nil), "stdio", stdio(t, serverGood))
}

// What a server asks of a client that offers nothing is refused, and the session continues.
func TestServerMayOnlyPing(t *testing.T) {
	ours, theirs := sdk.NewInMemoryTransports()
	client, err := ours.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	server, err := theirs.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	defer client.Close()
	answered := make(chan error, 1)
	go func() {
		_, err := (&session{conn: client}).request(t.Context(), "tools/list", nil)
		answered <- err
	}()
	asked, err := server.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for method, code := range map[string]int64{"ping": 0, "sampling/createMessage": jsonrpc.CodeMethodNotFound} {
		id, _ := jsonrpc.MakeID("s")
		if err := server.Write(t.Context(), &jsonrpc.Request{ID: id, Method: method}); err != nil {
			t.Fatal(err)
		}
		got, err := server.Read(t.Context())
		response, ok := got.(*jsonrpc.Response)
		if err != nil || !ok {
			t.Fatalf("%v, %v", got, err)
		}
		var refusal *jsonrpc.Error
		if errors.As(response.Error, &refusal); (refusal != nil) != (code != 0) || refusal != nil && refusal.Code != code {
			t.Errorf("%s answered by %v", method, response.Error)
		}
	}
	if err := server.Write(t.Context(), &jsonrpc.Response{ID: asked.(*jsonrpc.Request).ID, Result: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

func TestSessionTellsClientAndVersion(t *testing.T) {
	to, _ := serve(t, nil, nil)
	r := runner(t, nil)
	args := object{"method": "tools/call", "parameters": object{"name": "who"}, "http": to}
	want := func(text string) {
		t.Helper()
		got := r.Run(t.Context(), activity.Call{Args: args})
		if got.Fault != nil || !strings.Contains(string(value.Marshal(got.Output)), text) {
			t.Errorf("%s, %v; want %s", value.Marshal(got.Output), got.Fault, text)
		}
	}
	want("chargehand 9 2025-06-18") // T53
	args["client"] = object{"name": "mine", "version": "1.2"}
	args["protocolVersion"] = "2025-03-26"
	want("mine 1.2 2025-03-26")
}

func TestServerErrorIsRuntime(t *testing.T) { // T54
	to, _ := serve(t, nil, nil)
	r := runner(t, nil)
	for name, transport := range map[string]object{"http": to, "stdio": stdio(t, serverGood)} {
		wantFault(t, run(t, r, name, transport, "tools/call", object{"name": "nothing"}), machine.ErrRuntime, 500, "-32602", "nothing")
		wantFault(t, run(t, r, name, transport, "resources/read", object{"uri": "test://none"}), machine.ErrRuntime, 500, "not found")
	}
}

func TestHTTPFailureIsCommunication(t *testing.T) { // T54
	answer := func(status int) func(http.Handler) http.Handler {
		return func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status)
				io.WriteString(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"not today"}}`)
			})
		}
	}
	r := runner(t, nil)
	for _, status := range []int{400, 401, 404, 429, 503} {
		to, _ := serve(t, nil, answer(status))
		got := run(t, r, "http", to, "tools/list", nil)
		wantFault(t, got, machine.ErrCommunication, status, "not today")
		if got.Fault != nil && got.Fault.Retryable != (status == 429 || status == 503) {
			t.Errorf("%d: retryable %t", status, got.Fault.Retryable)
		}
	}
	to, web := serve(t, nil, nil)
	web.Close()
	wantFault(t, run(t, r, "http", to, "tools/list", nil), machine.ErrCommunication, 500, "refused")
	got := run(t, r, "http", object{"endpoint": "http://127.0.0.2:1/"}, "tools/list", nil)
	wantFault(t, got, machine.ErrCommunication, 500, "--allow-egress")
}

func TestHTTPSendsCredentialsWithinOriginOnly(t *testing.T) {
	seen := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer tok" || r.Header.Get("X-Team") != "7" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			if r.URL.Path == "/mcp" {
				http.Redirect(w, r, "/mcp/", http.StatusTemporaryRedirect)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
	to, _ := serve(t, nil, seen)
	to["authentication"] = object{"scheme": "bearer", "token": "tok"}
	to["headers"] = object{"X-Team": 7}
	r := runner(t, nil)
	if got := run(t, r, "http", to, "tools/list", nil); got.Fault != nil {
		t.Error(got.Fault)
	}
	stolen := make(chan string, 1)
	thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		stolen <- r.Header.Get("Authorization")
	}))
	defer thief.Close()
	away, _ := serve(t, nil, func(http.Handler) http.Handler {
		return http.RedirectHandler(thief.URL, http.StatusTemporaryRedirect)
	})
	away["authentication"] = to["authentication"]
	wantFault(t, run(t, r, "http", away, "tools/list", nil), machine.ErrCommunication, 307, "another server")
	if len(stolen) > 0 {
		t.Errorf("the other server got %q", <-stolen)
	}
}

func TestLimits(t *testing.T) {
	web, _ := serve(t, nil, nil)
	r := runner(t, nil)
	for name, to := range map[string]object{"http": web, "stdio": stdio(t, serverGood)} {
		wantFault(t, run(t, r, name, to, "tools/call", object{"name": "large"}), machine.ErrRuntime, 500, map[string]string{"http": "262144 bytes", "stdio": "256 KiB"}[name])
		args := object{"method": "tools/call", "parameters": object{"name": "wait"}, name: to, "timeoutMs": 1500}
		wantFault(t, r.Run(t.Context(), activity.Call{Args: args}), machine.ErrTimeout, 408, "1.5s")
	}
	args := object{"method": "tools/list", "stdio": stdio(t, serverSilent), "timeoutMs": 300}
	wantFault(t, r.Run(t.Context(), activity.Call{Args: args}), machine.ErrTimeout, 408, "300ms")
}

func TestStdioIsConfined(t *testing.T) {
	t.Setenv("SERVER_SECRET", "hidden")
	r := runner(t, nil)
	got := run(t, r, "stdio", stdio(t, serverGood), "tools/call", object{"name": "environment"})
	if got.Fault != nil || !strings.Contains(string(value.Marshal(got.Output)), `"t0|-test.run=none|"`) {
		t.Errorf("%s, %v", value.Marshal(got.Output), got.Fault)
	}
	refused := runner(t, func(c *Config) { c.AllowProcesses = false })
	wantFault(t, run(t, refused, "stdio", stdio(t, serverGood), "tools/list", nil), machine.ErrConfiguration, 400, "--allow-run shell")
	wantFault(t, run(t, r, "stdio", object{"command": "no-such-server"}, "tools/list", nil), machine.ErrConfiguration, 400, "not installed")
	wantFault(t, run(t, r, "stdio", object{"command": "./server"}, "tools/list", nil), machine.ErrConfiguration, 400, "absolute")
	wantFault(t, run(t, r, "stdio", stdio(t, serverDies), "tools/list", nil), machine.ErrCommunication, 500, "exit code 3", "no token")
	wantFault(t, run(t, r, "stdio", object{"command": "echo", "arguments": []any{"hello"}}, "tools/list", nil), machine.ErrCommunication, 500)
}

func TestStdioTakesASlotAndEndsWithItsContext(t *testing.T) {
	r := runner(t, nil)
	release, err := r.cfg.Confiner.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan activity.Result, 1)
	go func() {
		done <- r.Run(ctx, activity.Call{Args: object{"method": "tools/call", "parameters": object{"name": "wait"}, "stdio": stdio(t, serverGood)}})
	}()
	select {
	case got := <-done:
		t.Fatalf("ran without a slot: %v", got)
	case <-time.After(50 * time.Millisecond):
	}
	release()
	other, cancelOther := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancelOther()
	<-other.Done()
	cancel()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("the run continues after it was cancelled")
	}
	release, err = r.cfg.Confiner.Acquire(t.Context()) // the slot is free again
	if err != nil {
		t.Fatal(err)
	}
	release()
}

func TestBadArguments(t *testing.T) {
	r := runner(t, nil)
	for detail, args := range map[string]object{
		"not a method":     {"method": "tools/drop", "http": object{"endpoint": "http://127.0.0.1/"}},
		"one of http":      {"method": "tools/list"},
		"must be an objec": {"method": "tools/list", "parameters": []any{}, "http": object{}},
		"not an absolute":  {"method": "tools/list", "http": object{"endpoint": "file:///etc/passwd"}},
		"cannot be given":  {"method": "tools/list", "http": object{"endpoint": "http://127.0.0.1/", "headers": object{"host": "x"}}},
	} {
		wantFault(t, r.Run(t.Context(), activity.Call{Args: args}), machine.ErrConfiguration, 400, detail)
	}
}
