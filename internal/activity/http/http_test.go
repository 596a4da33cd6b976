package http

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	nethttp "net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/activity"
	"github.com/chargehand/chargehand/internal/egress"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/value"
)

// memoryFiles keeps files in a map; the tests read what was stored.
type memoryFiles struct {
	content map[string]string
	media   string
}

func (m *memoryFiles) Open(_ context.Context, _ chargehand.AccountID, _ chargehand.Environment, _ chargehand.ExecutionID, uri string) (machine.File, io.ReadCloser, error) {
	text, ok := m.content[uri]
	if !ok {
		return machine.File{}, nil, activity.ErrFileNotFound
	}
	return machine.File{MediaType: m.media, Size: int64(len(text))}, io.NopCloser(strings.NewReader(text)), nil
}

func (m *memoryFiles) Put(_ context.Context, _ chargehand.AccountID, _ chargehand.Environment, name, media string, r io.Reader) (machine.File, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return machine.File{}, err
	}
	id := fmt.Sprintf("00000000-0000-7000-8000-%012d", len(m.content))
	m.content["/api/v1/files/"+id] = string(data)
	return machine.File{ID: id, Name: name, MediaType: media, Size: int64(len(data)), Digest: "sha256:0"}, nil
}

func caller(t *testing.T, edit func(*Config)) *Caller {
	t.Helper()
	policy, err := egress.New(egress.Config{Allow: []string{"127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	transport := policy.Transport()
	t.Cleanup(transport.CloseIdleConnections)
	cfg := Config{Transport: transport, Files: &memoryFiles{content: map[string]string{}}}
	if edit != nil {
		edit(&cfg)
	}
	return New(cfg)
}

func serve(t *testing.T, handler nethttp.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func run(t *testing.T, c *Caller, args map[string]any) activity.Result {
	t.Helper()
	if args["method"] == nil {
		args["method"] = "get"
	}
	return c.Run(t.Context(), activity.Call{Kind: "http", Args: args, Key: "key-1"})
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

func TestContentIsReadByMediaType(t *testing.T) {
	answers := map[string]struct{ media, body, want string }{
		"json":    {"application/json; charset=utf-8", `{"n":12345678901234567890,"f":1.0}`, `{"f":1.0,"n":12345678901234567890}`},
		"suffix":  {"application/problem+json", `[1]`, `[1]`},
		"text":    {"text/plain", "hi", `"hi"`},
		"xml":     {"application/xml", "<a/>", `"<a/>"`},
		"latin1":  {"text/plain; charset=iso-8859-1", "\xe9", `"é"`},
		"bytes":   {"application/octet-stream", "\x00\x01", `"AAE="`},
		"not-utf": {"text/plain", "\xff", `"/w=="`},
		"empty":   {"application/json", "", `null`},
	}
	base := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		a := answers[r.URL.Path[1:]]
		w.Header().Set("Content-Type", a.media)
		io.WriteString(w, a.body)
	})
	c := caller(t, nil)
	for name, a := range answers {
		got := run(t, c, map[string]any{"endpoint": base + "/" + name})
		if got.Fault != nil || string(value.Marshal(got.Output)) != a.want {
			t.Errorf("%s: %s, %v; want %s", name, value.Marshal(got.Output), got.Fault, a.want)
		}
	}
	raw := run(t, c, map[string]any{"endpoint": base + "/text", "output": "raw"})
	if raw.Output != "aGk=" {
		t.Errorf("raw output %v", raw.Output)
	}
}

func TestResponseOutputRedactsCredentials(t *testing.T) {
	base := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if user, password, _ := r.BasicAuth(); user != "u" || password != "p" {
			w.WriteHeader(401)
			return
		}
		w.Header().Set("Set-Cookie", "session=1")
		w.Header().Set("X-Answer", "42")
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"ok":true}`)
	})
	got := run(t, caller(t, nil), map[string]any{
		"endpoint": base + "/a?b=1", "output": "response", "query": map[string]any{"c": []any{1, "x y"}},
		"headers":        map[string]any{"Cookie": "secret=1", "X-Api-Key": "k"},
		"authentication": map[string]any{"scheme": "basic", "username": "u", "password": "p"},
	})
	if got.Fault != nil {
		t.Fatal(got.Fault)
	}
	text := string(value.Marshal(got.Output))
	for _, want := range []string{`"statusCode":200`, `"X-Answer":"42"`, `"content":{"ok":true}`, `"method":"GET"`, `?b=1&c=1&c=x+y"`, `"Authorization":"[redacted]"`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s lacks %s", text, want)
		}
	}
	for _, secret := range []string{"secret=1", "session=1", "dTpw", `"k"`} {
		if strings.Contains(text, secret) {
			t.Errorf("%s shows %s", text, secret)
		}
	}
}

func TestStatusOutsideTheRangeIsACommunicationError(t *testing.T) {
	base := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		status := 500
		fmt.Sscanf(r.URL.Path, "/%d", &status)
		w.Header().Set("Location", "/200")
		w.WriteHeader(status)
		io.WriteString(w, "because")
	})
	c := caller(t, nil)
	for _, status := range []int{301, 304, 401, 404, 503} {
		got := run(t, c, map[string]any{"endpoint": fmt.Sprintf("%s/%d?token=x", base, status)})
		wantFault(t, got, machine.ErrCommunication, status, fmt.Sprint(status))
		if strings.Contains(got.Fault.Detail, "token") {
			t.Errorf("detail %q shows the query", got.Fault.Detail)
		}
		if got.Fault.Retryable != (status == 503) {
			t.Errorf("%d: retryable %v", status, got.Fault.Retryable)
		}
	}
	if got := run(t, c, map[string]any{"endpoint": base + "/301", "redirect": true}); got.Fault != nil || got.Output != "because" {
		t.Errorf("followed redirect: %v, %v", got.Output, got.Fault)
	}
	if got := run(t, c, map[string]any{"endpoint": base + "/304", "redirect": true}); got.Fault != nil {
		t.Errorf("a remaining 3xx with redirect: %v", got.Fault)
	}
}

// Any header may hold a key, such as the X-Key of the reference: another origin gets those only
// that hold none, and so does the way back from it, which it chose.
func TestRedirectsDropHeadersAcrossOrigins(t *testing.T) {
	var there, back, own nethttp.Header
	var base string
	other := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		there = r.Header
		if r.URL.Path == "/back" {
			nethttp.Redirect(w, r, base+"/chosen", nethttp.StatusFound)
		}
	})
	base = serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		switch r.URL.Path {
		case "/loop":
			nethttp.Redirect(w, r, "/loop", nethttp.StatusFound)
		case "/own":
			nethttp.Redirect(w, r, "/mine", nethttp.StatusTemporaryRedirect)
		case "/mine":
			own = r.Header
		case "/chosen":
			back = r.Header
		default:
			nethttp.Redirect(w, r, other+r.URL.Path, nethttp.StatusTemporaryRedirect)
		}
	})
	c := caller(t, nil)
	call := func(path string) {
		t.Helper()
		got := run(t, c, map[string]any{
			"method": "post", "endpoint": base + path, "redirect": true, "body": map[string]any{"a": 1},
			"headers": map[string]any{
				"X-Key": "k", "X-Api-Key": "k", "Cookie": "k", "X-Plain": "p", "Idempotency-Key": "i",
				"Accept": "text/plain", "Accept-Language": "en", "User-Agent": "mine",
			},
			"authentication": map[string]any{"scheme": "bearer", "token": "t"},
		})
		if got.Fault != nil {
			t.Fatal(got.Fault)
		}
	}
	names := func(h nethttp.Header) string {
		h = h.Clone()
		h.Del("Accept-Encoding") // the connection's own
		h.Del("Content-Length")
		return strings.Join(slices.Sorted(maps.Keys(h)), " ")
	}
	call("/there")
	if got := names(there); got != "Accept Accept-Language Content-Type User-Agent" {
		t.Errorf("headers at the other origin: %v", got)
	}
	call("/back")
	if got := names(back); got != "Accept Accept-Language User-Agent" {
		t.Errorf("headers after the way back, without a body: %v", back)
	}
	call("/own")
	if own.Get("X-Key") != "k" || own.Get("X-Plain") != "p" {
		t.Errorf("headers at the same origin: %v", own)
	}
	if got := run(t, c, map[string]any{"endpoint": base + "/loop", "redirect": true}); got.Fault != nil {
		t.Errorf("more than ten redirects: the last answer is the result, got %v", got.Fault)
	}
}

func TestBodyFollowsTheContentType(t *testing.T) {
	base := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		data, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprintf(w, "%s|%s|%s", r.Header.Get("Content-Type"), r.Header.Get("Idempotency-Key"), data)
	})
	c := caller(t, func(cfg *Config) {
		cfg.Files.(*memoryFiles).content["/api/v1/files/0190"] = "file content"
	})
	cases := []struct {
		media string
		body  any
		want  string
	}{
		{"", map[string]any{"b": 1, "a": "x"}, `application/json|key-1|{"a":"x","b":1}`},
		{"", "text", `application/json|key-1|"text"`},
		{"text/csv", "a,b", `text/csv|key-1|a,b`},
		{"application/x-www-form-urlencoded", map[string]any{"a": "1 2", "b": []any{1, 2}}, `application/x-www-form-urlencoded|key-1|a=1+2&b=1&b=2`},
		{"image/png", map[string]any{"uri": "/api/v1/files/0190"}, `image/png|key-1|file content`},
	}
	for _, tc := range cases {
		headers := map[string]any{}
		if tc.media != "" {
			headers["content-type"] = tc.media
		}
		got := run(t, c, map[string]any{"method": "POST", "endpoint": base, "body": tc.body, "headers": headers})
		if got.Fault != nil || got.Output != tc.want {
			t.Errorf("%s %v: %v, %v; want %s", tc.media, tc.body, got.Output, got.Fault, tc.want)
		}
	}
	keyed := c.Run(t.Context(), activity.Call{Args: map[string]any{"method": "post", "endpoint": base}, Key: "key-1",
		Metadata: map[string]any{"idempotencyKey": true}})
	if keyed.Output != "|key-1|" {
		t.Errorf("with metadata.idempotencyKey: %v", keyed.Output)
	}
}

func TestArgumentsThatCannotBeSentAreConfigurationErrors(t *testing.T) {
	c := caller(t, nil)
	for name, args := range map[string]map[string]any{
		"endpoint":  {"endpoint": "ftp://x/y"},
		"relative":  {"endpoint": "/path"},
		"method":    {"endpoint": "http://x.example", "method": "GE T"},
		"header":    {"endpoint": "http://x.example", "headers": map[string]any{"a b": "1"}},
		"crlf":      {"endpoint": "http://x.example", "headers": map[string]any{"a": "1\r\nb: 2"}},
		"framing":   {"endpoint": "http://x.example", "headers": map[string]any{"content-length": "1"}},
		"nested":    {"endpoint": "http://x.example", "query": map[string]any{"a": map[string]any{}}},
		"not a map": {"endpoint": "http://x.example", "headers": "x"},
		"output":    {"endpoint": "http://x.example", "output": "all"},
		"scheme":    {"endpoint": "http://x.example", "authentication": map[string]any{"scheme": "ntlm"}},
	} {
		t.Run(name, func(t *testing.T) { wantFault(t, run(t, c, args), machine.ErrConfiguration, 400) })
	}
}

func TestNoAnswerIsACommunicationError(t *testing.T) {
	release := make(chan struct{})
	base := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if r.URL.Path == "/hang" {
			<-release
		}
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"broken":`)
	})
	defer close(release)
	c := caller(t, func(cfg *Config) { cfg.Timeout = 50 * time.Millisecond })
	wantFault(t, run(t, c, map[string]any{"endpoint": base + "/hang"}), machine.ErrCommunication, 500, "50ms")
	wantFault(t, run(t, c, map[string]any{"endpoint": base + "/json"}), machine.ErrCommunication, 500, "cannot be read")
	wantFault(t, run(t, c, map[string]any{"endpoint": "http://127.0.0.1:1/"}), machine.ErrCommunication, 500, "refused")
	refused := run(t, c, map[string]any{"endpoint": "http://10.0.0.1/"})
	wantFault(t, refused, machine.ErrCommunication, 500, "--allow-egress")
	if refused.Fault.Retryable {
		t.Error("a refused address is retryable")
	}
}

func TestLargeBodiesBecomeFiles(t *testing.T) {
	base := serve(t, func(w nethttp.ResponseWriter, r *nethttp.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/chunked.json" {
			w.(nethttp.Flusher).Flush()
		}
		w.Write(bytes.Repeat([]byte("1"), 100))
	})
	c := caller(t, func(cfg *Config) { cfg.InlineBytes, cfg.FileBytes = 64, 128 })
	for _, path := range []string{"/known.json", "/chunked.json"} {
		got := run(t, c, map[string]any{"endpoint": base + path})
		if got.Fault != nil || len(got.Files) != 1 || got.Files[0].Size != 100 || got.Files[0].Name != path[1:] {
			t.Fatalf("%s: %v %v", path, got.Files, got.Fault)
		}
		if !value.Equal(got.Output, got.Files[0].Reference()) {
			t.Errorf("%s: output %s is not the reference", path, value.Marshal(got.Output))
		}
	}
	small := caller(t, func(cfg *Config) { cfg.InlineBytes, cfg.FileBytes = 64, 99 })
	wantFault(t, run(t, small, map[string]any{"endpoint": base + "/chunked.json"}), machine.ErrCommunication, 500, "99 bytes")
}

func TestOwnFilesAreReadWithoutAConnection(t *testing.T) {
	const uri = "/api/v1/files/01900000-0000-7000-8000-000000000001"
	c := caller(t, func(cfg *Config) {
		cfg.PublicURL = "https://flows.example.com"
		cfg.Files = &memoryFiles{content: map[string]string{uri: `{"a":1}`}, media: "application/json"}
	})
	for _, endpoint := range []string{uri, uri + "/content", "https://flows.example.com" + uri} {
		got := run(t, c, map[string]any{"endpoint": endpoint})
		if got.Fault != nil || string(value.Marshal(got.Output)) != `{"a":1}` {
			t.Errorf("%s: %s, %v", endpoint, value.Marshal(got.Output), got.Fault)
		}
	}
	missing := strings.Replace(uri, "0001", "0002", 1)
	wantFault(t, run(t, c, map[string]any{"endpoint": missing}), machine.ErrCommunication, 404)
}

// TestRefusedMethodsAndHeaders are those that are not meant for the server that is called.
func TestRefusedMethodsAndHeaders(t *testing.T) {
	reached := false
	base := serve(t, func(nethttp.ResponseWriter, *nethttp.Request) { reached = true })
	c := caller(t, nil)
	for _, method := range []string{"CONNECT", "trace"} {
		got := run(t, c, map[string]any{"method": method, "endpoint": base})
		if got.Fault == nil || !strings.Contains(got.Fault.Detail, strings.ToUpper(method)+" cannot be called") {
			t.Errorf("%s: %v", method, got.Fault)
		}
	}
	for _, name := range []string{"expect", "Proxy-Authorization", "Transfer-Encoding", "Connection"} {
		got := run(t, c, map[string]any{"method": "get", "endpoint": base, "headers": map[string]any{name: "x"}})
		if got.Fault == nil || !strings.Contains(got.Fault.Detail, "cannot be given") {
			t.Errorf("%s: %v", name, got.Fault)
		}
	}
	if reached {
		t.Error("the server was called")
	}
}
