package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/service"
)

// start serves s on a free port of the loopback address.
func start(t testing.TB, s *Server) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		s.Shutdown(ctx) // some tests leave connections behind
		if err := <-ended; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return l.Addr().String()
}

// raw sends bytes as they are and reads one answer.
func raw(t *testing.T, addr, text string) answered {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(20 * time.Second))
	go io.WriteString(c, text) // the server may hang up before it has read all
	return readAnswer(t, bufio.NewReader(c))
}

func readAnswer(t *testing.T, r *bufio.Reader) answered {
	t.Helper()
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("the answer ends too early: %v", err)
	}
	return answered{resp.StatusCode, resp.Header, body}
}

// TestHostileBytes: what net/http refuses before a handler runs is a problem too.
func TestHostileBytes(t *testing.T) {
	s := newServer(t, &fake{})
	addr := start(t, s)
	const key = "Host: h\r\nx-api-key: " + goodKey + "\r\n"
	tests := []struct {
		name, text string
		status     int
		code       string
	}{
		{"NUL in the path", "GET /api/v1/work\x00flows HTTP/1.1\r\n" + key + "\r\n", 400, "invalid_parameter"},
		{"invalid UTF-8 in the path", "GET /api/v1/workflows/\xff\xfe HTTP/1.1\r\n" + key + "\r\n", 404, "workflow_not_found"},
		{"bad escape", "GET /api/v1/workflows/%zz HTTP/1.1\r\n" + key + "\r\n", 400, "invalid_parameter"},
		{"NUL in a header", "GET /api/v1/workflows HTTP/1.1\r\n" + key + "X-A: \x00\r\n\r\n", 400, "invalid_parameter"},
		{"space in a header name", "GET /api/v1/workflows HTTP/1.1\r\n" + key + "X A: b\r\n\r\n", 400, "invalid_parameter"},
		{"no host", "GET /api/v1/workflows HTTP/1.1\r\nx-api-key: k\r\n\r\n", 400, "invalid_parameter"},
		{"two hosts", "GET /api/v1/workflows HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, "invalid_parameter"},
		{"malformed host", "GET /healthz HTTP/1.1\r\nHost: a b\r\n\r\n", 400, "invalid_parameter"},
		{"garbage", "\x16\x03\x01\x02\x00\r\n\r\n", 400, "invalid_parameter"},
		{"HTTP/9", "GET / HTTP/9.9\r\nHost: h\r\n\r\n", 400, "invalid_parameter"},
		{"headers too long", "GET / HTTP/1.1\r\nHost: h\r\nX-A: " + strings.Repeat("a", 80<<10) + "\r\n\r\n", 400, "invalid_parameter"},
		{"path too long", "GET /" + strings.Repeat("a", 80<<10) + " HTTP/1.1\r\nHost: h\r\n\r\n", 400, "invalid_parameter"},
		{"negative length", "POST " + pathW + "/executions HTTP/1.1\r\n" + key + "Content-Length: -1\r\n\r\n", 400, "invalid_parameter"},
		{"two lengths", "POST " + pathW + "/executions HTTP/1.1\r\n" + key + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}", 400, "invalid_parameter"},
		{"absurd length", "POST " + pathW + "/executions HTTP/1.1\r\n" + key + "Content-Type: application/json\r\nContent-Length: 9223372036854775807\r\n\r\n{", 413, "payload_too_large"},
		{"length beyond numbers", "POST " + pathW + "/executions HTTP/1.1\r\n" + key + "Content-Length: 99999999999999999999\r\n\r\n", 400, "invalid_parameter"},
		{"unknown transfer encoding", "POST " + pathW + "/executions HTTP/1.1\r\n" + key + "Transfer-Encoding: gzip\r\n\r\n", 400, "invalid_parameter"},
		{"unknown expectation", "POST " + pathW + "/executions HTTP/1.1\r\n" + key + "Expect: money\r\nContent-Length: 2\r\n\r\n{}", 400, "invalid_parameter"},
		{"bad chunk", "POST " + pathW + "/executions HTTP/1.1\r\n" + key + "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n", 400, "invalid_body"},
		{"unknown method", "BREW /api/v1/workflows HTTP/1.1\r\n" + key + "\r\n", 405, "method_not_allowed"},
		{"asterisk", "GET * HTTP/1.1\r\n" + key + "\r\n", 404, "route_not_found"},
		{"connect", "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n", 404, "route_not_found"},
		{"h2c", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 404, "route_not_found"},
		{"two content types", "POST " + pathW + "/executions HTTP/1.1\r\n" + key + "Content-Type: application/json\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}", 415, "unsupported_media_type"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := wantProblem(t, raw(t, addr, test.text), test.status, test.code)
			if strings.Contains(p["detail"].(string), "400 Bad Request") {
				t.Errorf("detail %q", p["detail"])
			}
		})
	}
	if a := raw(t, addr, "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n"); a.status != 200 {
		t.Errorf("OPTIONS *: %d", a.status)
	}
}

// memory is content of a file.
type memory struct{ *bytes.Reader }

func (memory) Close() error { return nil }

// TestContentThatResemblesARefusal: an author of content cannot put the bytes of another
// answer between two answers. The last piece of the content goes out in a write of its own.
func TestContentThatResemblesARefusal(t *testing.T) {
	for name, tail := range map[string]string{
		"expectation": "HTTP/1.1 417 Expectation Failed\r\n\r\n",
		"bad request": "HTTP/1.1 400 Bad Request" + refusalHeaders + "400 Bad Request: no",
	} {
		t.Run(name, func(t *testing.T) {
			content := strings.Repeat("x", 64<<10) + tail
			addr := start(t, newServer(t, &fake{openFile: func() (*service.File, io.ReadSeekCloser, error) {
				return fixtureFile(), memory{bytes.NewReader([]byte(content))}, nil
			}}))
			c, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			c.SetDeadline(time.Now().Add(20 * time.Second))
			r := bufio.NewReader(c)
			for range 2 {
				fmt.Fprintf(c, "GET %s/content HTTP/1.1\r\nHost: h\r\nx-api-key: %s\r\n\r\n", pathF, goodKey)
				if a := readAnswer(t, r); a.status != 200 || string(a.body) != content {
					t.Fatalf("%d, %d bytes, the last %q", a.status, len(a.body), a.body[max(0, len(a.body)-len(tail)):])
				}
			}
			io.WriteString(c, "GET / HTTP/9.9\r\nHost: h\r\n\r\n")
			wantProblem(t, readAnswer(t, r), 400, "invalid_parameter")
		})
	}
}

// TestOverlongNames: 10,000 characters in any place are no reason for more than a 4xx.
func TestOverlongNames(t *testing.T) {
	addr := start(t, newServer(t, &fake{}))
	long := strings.Repeat("n", 10_000)
	const key = " HTTP/1.1\r\nHost: h\r\nx-api-key: " + goodKey + "\r\n"
	for text, want := range map[string]int{
		"GET /api/v1/workflows/" + long + key + "\r\n":                  404,
		"GET /api/v1/" + long + key + "\r\n":                            404,
		"GET /api/v1/workflows?limit=" + long + key + "\r\n":            400,
		"GET /api/v1/workflows?" + long + "=1" + key + "\r\n":           200,
		"GET /api/v1/workflows" + key + long + ": 1\r\n\r\n":            200,
		"GET /api/v1/workflows HTTP/1.1\r\nHost: " + long + "\r\n\r\n":  401,
		long + " /api/v1/workflows" + key + "\r\n":                      405,
		"GET " + pathW + "/versions/" + long + key + "\r\n":             200,
		"POST " + pathW + "/executions?version=" + long + key + "\r\n":  201,
		"GET /api/v1/problems/" + long + " HTTP/1.1\r\nHost: h\r\n\r\n": 404,
	} {
		a := raw(t, addr, text)
		if a.status != want {
			t.Errorf("%.60q: %d, want %d\n%s", text, a.status, want, a.body)
		}
		if a.status >= 400 && len(a.body) > 8<<10 {
			t.Errorf("%.60q: the problem repeats %d bytes", text, len(a.body))
		}
	}
}

// TestKeepAlive: problems that read their request keep the connection usable.
func TestKeepAlive(t *testing.T) {
	addr := start(t, newServer(t, &fake{}))
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(20 * time.Second))
	r := bufio.NewReader(c)
	for i := range 20 {
		body := []string{"{}", "{", `{"input":{"a":1}}`}[i%3]
		fmt.Fprintf(c, "POST %s/executions HTTP/1.1\r\nHost: h\r\nx-api-key: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
			pathW, goodKey, len(body), body)
		want := 201
		if i%3 == 1 {
			want = 400
		}
		if a := readAnswer(t, r); a.status != want {
			t.Fatalf("request %d: %d\n%s", i, a.status, a.body)
		}
	}
}

// TestTrickle: a body that comes too slowly is refused, with and without a length.
func TestTrickle(t *testing.T) {
	s := newServer(t, &fake{})
	s.http.ReadTimeout, s.idle = 200*time.Millisecond, 200*time.Millisecond
	addr := start(t, s)
	for _, framing := range []string{"Content-Length: 1000\r\n\r\n{", "Content-Length: 20000000\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n", "Transfer-Encoding: chunked\r\n\r\n"} {
		a := raw(t, addr, "POST "+pathW+"/batch HTTP/1.1\r\nHost: h\r\nx-api-key: "+goodKey+"\r\nContent-Type: application/json\r\n"+framing)
		p := wantProblem(t, a, 400, "invalid_body")
		if !strings.Contains(p["detail"].(string), "in time") {
			t.Errorf("%q: %v", framing, p["detail"])
		}
	}
	a := raw(t, addr, "POST /api/v1/files HTTP/1.1\r\nHost: h\r\nx-api-key: "+goodKey+"\r\nContent-Length: 100\r\n\r\nabc")
	wantProblem(t, a, 400, "invalid_body")
}

// TestDrip: a body of a byte now and then holds its connection for the first pause and not longer, whatever length
// it announces; one that keeps coming fast enough may take longer than that.
func TestDrip(t *testing.T) {
	s := newServer(t, &fake{uploadFile: func(r service.UploadFile) (*service.File, bool, error) {
		_, err := io.Copy(io.Discard, r.Content)
		return fixtureFile(), false, err
	}})
	s.http.ReadTimeout, s.http.WriteTimeout, s.idle, s.slowest = time.Minute, 800*time.Millisecond, 300*time.Millisecond, 1000
	addr := start(t, s)
	drip := func(head string, piece func() string, pieces int) answered {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(20 * time.Second))
		io.WriteString(c, head)
		go func() {
			tick := time.NewTicker(10 * time.Millisecond)
			defer tick.Stop()
			for range pieces {
				<-tick.C
				if _, err := io.WriteString(c, piece()); err != nil {
					return
				}
			}
		}()
		return readAnswer(t, bufio.NewReader(c))
	}
	const key = " HTTP/1.1\r\nHost: h\r\nx-api-key: " + goodKey + "\r\n"
	for name, head := range map[string]string{
		"upload":           "POST /api/v1/files" + key + "Content-Length: 900000\r\n\r\n",
		"batch":            "POST " + pathW + "/batch" + key + "Content-Type: application/json\r\nContent-Length: 20000000\r\n\r\n",
		"short, unlimited": "POST " + pathW + "/batch" + key + "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
	} {
		piece := " "
		if strings.Contains(head, "chunked") {
			piece = "1\r\n \r\n"
		}
		began := time.Now()
		p := wantProblem(t, drip(head, func() string { return piece }, 1500), 400, "invalid_body")
		if took := time.Since(began); took > 12*time.Second {
			t.Errorf("%s: hung up on after %v", name, took)
		}
		if !strings.Contains(p["detail"].(string), "in time") {
			t.Errorf("%s: %v", name, p["detail"])
		}
	}
	// 100 pieces of 100 bytes, 10 ms apart: a second, over three times the pause, at ten times the slowest rate. It takes
	// longer than an answer may, whose time begins when the body has come.
	if a := drip("POST /api/v1/files"+key+"Content-Length: 10000\r\n\r\n", func() string { return strings.Repeat("x", 100) }, 100); a.status != 201 {
		t.Errorf("a body that keeps coming: %d %s", a.status, a.body)
	}
}

// TestSlowHeaders: a client that does not finish its headers is hung up on.
func TestSlowHeaders(t *testing.T) {
	s := newServer(t, &fake{})
	s.http.ReadHeaderTimeout = 100 * time.Millisecond
	c, err := net.Dial("tcp", start(t, s))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(20 * time.Second))
	io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost:")
	if _, err := io.ReadAll(c); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the connection stays open: %v", err)
	}
}

// TestWaitIsLongerThanTimeouts: neither the read timeout nor a stop of the server takes the answer away from
// a client that waits.
func TestWaitIsLongerThanTimeouts(t *testing.T) {
	waiting := make(chan struct{}, 2)
	proceed := make(chan struct{})
	s := newServer(t, &fake{getExecution: func(ctx context.Context, v service.View) (*service.Execution, error) {
		waiting <- struct{}{}
		select {
		case <-ctx.Done(): // the service answers what it has
		case <-proceed:
			if ctx.Err() != nil {
				t.Error("the context ended while the client was waiting")
			}
		}
		return fixtureInitial(), nil
	}})
	s.http.ReadTimeout = 50 * time.Millisecond
	addr := start(t, s)
	get := func() <-chan answered {
		done := make(chan answered, 1)
		go func() {
			done <- raw(t, addr, "GET "+pathE+"?wait=60 HTTP/1.1\r\nHost: h\r\nx-api-key: "+goodKey+"\r\n\r\n")
		}()
		return done
	}
	first := get()
	<-waiting
	time.AfterFunc(300*time.Millisecond, func() { close(proceed) }) // well beyond the read timeout
	if a := <-first; a.status != 200 || a.header.Get("Preference-Applied") != "wait=60" || a.header.Get("Retry-After") == "" {
		t.Errorf("%d %v", a.status, a.header)
	}
	proceed = make(chan struct{})
	second := get()
	<-waiting
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Errorf("shutdown: %v", err)
	}
	if a := <-second; a.status != 200 || decode(t, a.body)["status"] != "initial" {
		t.Errorf("at the stop: %d %s", a.status, a.body)
	}
}

// TestBrokenStream: an error after the first piece cuts the connection, so that no client takes
// half an answer for a whole one; before it, the answer is a problem.
func TestBrokenStream(t *testing.T) {
	f := &fake{}
	s := newServer(t, f)
	f.entries = manyEntries(10, errors.New("disk"))
	wantProblem(t, request{path: pathB}.to(s), 500, "internal")
	f.entries = manyEntries(5000, errors.New("disk"))
	addr := start(t, s)
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(20 * time.Second))
	io.WriteString(c, "GET "+pathB+" HTTP/1.1\r\nHost: h\r\nx-api-key: "+goodKey+"\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("a whole answer of %d bytes", len(b))
	}
}

// TestHead: the headers of GET and no body, also where GET streams.
func TestHead(t *testing.T) {
	addr := start(t, newServer(t, &fake{entries: manyEntries(10_000, nil)}))
	for _, path := range []string{pathE, pathB, pathF + "/content", "/api/v1/nothing"} {
		var got [2]*http.Response
		for i, method := range []string{"GET", "HEAD"} {
			r, err := http.NewRequestWithContext(t.Context(), method, "http://"+addr+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("x-api-key", goodKey)
			if got[i], err = http.DefaultClient.Do(r); err != nil {
				t.Fatal(err)
			}
			defer got[i].Body.Close()
			if b, err := io.ReadAll(got[i].Body); err != nil || (method == "HEAD") != (len(b) == 0) {
				t.Errorf("%s %s: %d bytes, %v", method, path, len(b), err)
			}
		}
		for _, name := range []string{"Content-Type", "Content-Length", "Etag"} {
			if g, h := got[0].Header.Get(name), got[1].Header.Get(name); g != h || got[0].StatusCode != got[1].StatusCode {
				t.Errorf("%s: %d and %d, %s %q and %q", path, got[0].StatusCode, got[1].StatusCode, name, g, h)
			}
		}
	}
}

// TestAddresses: absolute, from the configuration or from a Host header that can be trusted
// to be no more than a host.
func TestAddresses(t *testing.T) {
	location := func(s *Server, host string, header map[string]string) string {
		r := request{method: "POST", path: pathW + "/executions", header: header}.http()
		r.Host = host
		return serve(s, r).header.Get("Location")
	}
	s := newServer(t, &fake{})
	for host, want := range map[string]string{
		"flows.example.com": "http://flows.example.com", "127.0.0.1:8080": "http://127.0.0.1:8080", "[::1]:80": "http://[::1]:80",
		"evil.com/x?": "http://localhost", "a@b": "http://localhost", "": "http://localhost", "a\"b": "http://localhost",
		strings.Repeat("h", 300): "http://localhost",
	} {
		if got := location(s, host, map[string]string{"X-Forwarded-Host": "evil.com", "X-Forwarded-Proto": "https", "Forwarded": "host=evil.com"}); got != want+pathE {
			t.Errorf("Host %q: %s", host, got)
		}
	}
	s = New(Config{Service: &fake{}, PublicURL: "https://flows.example.com/sub/"})
	if got := location(s, "other", nil); got != "https://flows.example.com/sub"+pathE {
		t.Errorf("public URL: %s", got)
	}
	p := wantProblem(t, request{path: "/api/v1/nothing"}.to(s), 404, "route_not_found")
	if p["type"] != "https://flows.example.com/sub/api/v1/problems/route_not_found" || p["instance"] != "/api/v1/nothing" {
		t.Errorf("type %v, instance %v", p["type"], p["instance"])
	}
}

func TestReadiness(t *testing.T) {
	ready := false
	s := New(Config{Service: &fake{}, Ready: func() bool { return ready }})
	a := request{path: "/readyz", keyless: true}.to(s)
	wantProblem(t, a, 503, "unavailable")
	if a := (request{path: "/healthz", keyless: true}).to(s); a.status != 200 {
		t.Errorf("alive: %d", a.status)
	}
	ready = true
	if a := (request{path: "/readyz", keyless: true}).to(s); a.status != 200 || string(a.body) != `{"status":"ready"}` {
		t.Errorf("ready: %d %s", a.status, a.body)
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantProblem(t, request{path: "/readyz", keyless: true}.to(s), 503, "unavailable")
}

func TestMetrics(t *testing.T) {
	f := &fake{scopes: service.PresetObserve}
	s := newServer(t, f)
	request{path: pathE}.to(s)
	request{path: pathE}.to(s)
	request{path: "/api/v1/nothing"}.to(s)
	a := request{path: "/metrics"}.to(s)
	for _, line := range []string{
		`chargehand_http_requests_total{route="GET /api/v1/workflows/{workflowId}/executions/{executionId}",status="200"} 2`,
		`chargehand_http_requests_total{route="none",status="404"} 1`,
		`chargehand_http_request_duration_seconds_count{route="GET /api/v1/workflows/{workflowId}/executions/{executionId}"} 2`,
	} {
		if !bytes.Contains(a.body, []byte(line+"\n")) {
			t.Errorf("no line %s", line)
		}
	}
	f.scopes = service.PresetRun
	wantProblem(t, request{path: "/metrics"}.to(s), 403, "insufficient_scope")
}

// TestLog: one line per request, those that fail at info or error, no keys and no bodies.
func TestLog(t *testing.T) {
	var mu sync.Mutex
	var buf bytes.Buffer
	handler := slog.NewJSONHandler(writerFunc(func(b []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return buf.Write(b)
	}), &slog.HandlerOptions{Level: slog.LevelDebug})
	f := &fake{}
	s := New(Config{Service: f, Log: slog.New(handler)})
	request{method: "POST", path: pathW + "/executions?wait=1s", body: `{"input":{"pin":"1234"}}`}.to(s)
	f.fail = errors.New("disk on fire")
	request{path: pathE}.to(s)
	f.fail = chargehand.NewError(chargehand.CodeExecutionNotFound, "No.")
	request{path: pathE}.to(s)
	text := buf.String()
	if strings.Contains(text, goodKey) || strings.Contains(text, "1234") {
		t.Errorf("the log holds secrets: %s", text)
	}
	var levels []string
	for line := range strings.Lines(text) {
		var entry map[string]any
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Fatal(err)
		}
		levels = append(levels, entry["level"].(string))
		if entry["request_id"] == nil || entry["path"] == nil {
			t.Errorf("entry %v", entry)
		}
	}
	if got := strings.Join(levels, " "); got != "DEBUG ERROR INFO" {
		t.Errorf("levels %s\n%s", got, text)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }
