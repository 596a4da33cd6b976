package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
)

// answered is what came back, read to its end.
type answered struct {
	status int
	header http.Header
	body   []byte
}

// request is one request to a handler, with the usual key unless keyless is set.
type request struct {
	method, path string
	body         string
	header       map[string]string
	keyless      bool
}

var (
	requests   atomic.Int64
	signInPath = regexp.MustCompile(`^/api/v1/(auth|setup|session|invitation|password-reset|device|me)\b`)
)

func (q request) http() *http.Request {
	method := q.method
	if method == "" {
		method = http.MethodGet
	}
	var body io.Reader
	if q.body != "" {
		body = strings.NewReader(q.body)
	}
	r := httptest.NewRequest(method, q.path, body)
	if signInPath.MatchString(q.path) { // sign-in is for the machine itself, and its addresses have a rate
		sent := requests.Add(1)
		r.RemoteAddr = fmt.Sprintf("127.%d.%d.1:1234", sent>>8&255, sent&255)
	}
	if q.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if !q.keyless {
		r.Header.Set("x-api-key", goodKey)
	}
	for name, value := range q.header {
		r.Header.Set(name, value)
	}
	return r
}

func (q request) to(h http.Handler) answered {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, q.http())
	return answered{w.Code, w.Header(), w.Body.Bytes()}
}

// newServer returns a server over f that writes its log to the test.
func newServer(t testing.TB, f *fake) *Server {
	t.Helper()
	s := New(Config{Service: f, SignIn: &fakeSignIn{}, System: f.System, Log: slog.New(slog.NewTextHandler(testLog{t}, nil))})
	t.Cleanup(s.lines.Flush) // nothing is logged when the test has ended
	return s
}

type testLog struct{ t testing.TB }

func (l testLog) Write(b []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(b)))
	return len(b), nil
}

// decode reads a JSON answer with exact numbers.
func decode(t testing.TB, body []byte) map[string]any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("answer is no JSON object: %v\n%s", err, body)
	}
	return v
}

// wantProblem checks everything that every problem has.
func wantProblem(t testing.TB, a answered, status int, code string) map[string]any {
	t.Helper()
	if a.status != status {
		t.Fatalf("status %d, want %d %s\n%s", a.status, status, code, a.body)
	}
	if got := a.header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("Content-Type %q", got)
	}
	p := decode(t, a.body)
	if p["code"] != code {
		t.Errorf("code %v, want %s: %v", p["code"], code, p["detail"])
	}
	if typ, _ := p["type"].(string); !strings.HasSuffix(typ, "/api/v1/problems/"+code) || !strings.HasPrefix(typ, "http") {
		t.Errorf("type %q is not the address of %s", typ, code)
	}
	if p["status"] != json.Number(itoa(status)) {
		t.Errorf("status in the body is %v, want %d", p["status"], status)
	}
	for _, name := range []string{"title", "detail", "instance"} {
		if text, _ := p[name].(string); text == "" {
			t.Errorf("%s is missing", name)
		}
	}
	if id := a.header.Get("X-Request-Id"); id == "" || p["request_id"] != id {
		t.Errorf("request_id %v, header %q", p["request_id"], id)
	}
	switch status {
	case http.StatusUnauthorized:
		if a.header.Get("WWW-Authenticate") != "Bearer" {
			t.Error("401 without WWW-Authenticate: Bearer")
		}
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		if a.header.Get("Retry-After") == "" {
			t.Errorf("%d without Retry-After", status)
		}
	case http.StatusMethodNotAllowed:
		if a.header.Get("Allow") == "" {
			t.Error("405 without Allow")
		}
	}
	return p
}

func itoa(n int) string {
	b, _ := json.Marshal(n)
	return string(b)
}

// locations lists the pointers and parameters that a problem names.
func locations(p map[string]any) []string {
	var found []string
	entries, _ := p["errors"].([]any)
	for _, e := range entries {
		entry := e.(map[string]any)
		if pointer, ok := entry["pointer"].(string); ok {
			found = append(found, pointer)
		} else {
			found = append(found, entry["parameter"].(string))
		}
	}
	return found
}

// serve answers a request that was built by hand.
func serve(h http.Handler, r *http.Request) answered {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return answered{w.Code, w.Header(), w.Body.Bytes()}
}
