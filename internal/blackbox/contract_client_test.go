package blackbox_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/servertest"
	"github.com/chargehand/chargehand/internal/value"
)

// The tests in this package know the product only as its users do: the built binary, HTTP and
// the pages docs/reference/api.md and docs/reference/cli.md. Each names the sentence that it holds the product to.

type (
	server = servertest.Server
	answer = servertest.Answer
	object = map[string]any
)

// start runs a server that this test and its subtests share.
func start(t *testing.T, args ...string) *server {
	t.Helper()
	return servertest.Start(t, servertest.Options{Args: append([]string{"--rate-limit", "0"}, args...)})
}

var names atomic.Int64

// unique is a name that no other workflow of the test process has.
func unique(prefix string) string { return fmt.Sprintf("%s-%d", prefix, names.Add(1)) }

// definition is a workflow of its own name with these lines after the document.
func definition(name, version, rest string) string {
	return "document: {dsl: '1.0.3', namespace: contract, name: " + name + ", version: '" + version + "'}\n" + rest
}

// The bodies of the workflows that most tests run.
const (
	echo   = "do:\n- echo: {set: '${ . }'}\n"
	sleep  = "do:\n- sleep: {wait: {minutes: 10}}\n"
	failed = "do:\n- fail: {raise: {error: {type: 'https://example.com/broken', status: 418, title: Broken, detail: Because}}}\n"
	// fallible raises where the input says so, and otherwise gives its input back.
	fallible = "do:\n- decide: {switch: [{bad: {when: '.bad == true', then: fail}}, {good: {then: good}}]}\n" +
		"- fail: {raise: {error: {type: 'https://example.com/bad', status: 400, title: Bad}}}\n- good: {set: '${ . }'}\n"
)

// deploy applies a workflow of a new name and returns its id.
func deploy(t *testing.T, s *server, rest string) string {
	t.Helper()
	return s.Apply(t, definition(unique("flow"), "1.0.0", rest))
}

func executions(workflow string) string { return "/workflows/" + workflow + "/executions" }
func batches(workflow string) string    { return "/workflows/" + workflow + "/batch" }

// begin starts an execution and returns its path.
func begin(t *testing.T, s *server, workflow, input string) string {
	t.Helper()
	a := s.Do(t, "POST", executions(workflow), `{"input":`+input+`}`)
	wantStatus(t, a, 201)
	return executions(workflow) + "/" + text(a.Object()["execution_id"])
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func fields(v any) object {
	o, _ := v.(object)
	return o
}

func wantStatus(t *testing.T, a answer, status int) {
	t.Helper()
	if a.Status != status {
		t.Fatalf("status %d, want %d\n%.2000s", a.Status, status, a.Body)
	}
}

// equal compares JSON values; numbers count as equal if they are written alike.
func equal(a, b value.Value) bool { return bytes.Equal(value.Marshal(a), value.Marshal(b)) }

// parse reads a JSON text of the test itself.
func parse(t *testing.T, s string) value.Value {
	t.Helper()
	v, err := value.Parse([]byte(s), value.Limits{Depth: 300})
	if err != nil {
		t.Fatalf("%.100s: %v", s, err)
	}
	return v
}

var problemAddresses sync.Map // every type that was seen and answered

// wantProblem checks that an answer is a whole problem document with that code (docs/reference/api.md
// "Errors"), and that the address in type is answered without a key.
func wantProblem(t *testing.T, s *server, a answer, status int, code string) object {
	t.Helper()
	p := a.Object()
	if a.Status != status || text(p["code"]) != code {
		t.Fatalf("status %d, code %v; want %d %s\n%.2000s", a.Status, p["code"], status, code, a.Body)
	}
	if got := a.Header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("Content-Type %q of a problem", got)
	}
	if p["status"] != status {
		t.Errorf("member status is %v, the answer's is %d", p["status"], status)
	}
	for _, name := range []string{"type", "title", "detail", "instance", "request_id"} {
		if text(p[name]) == "" {
			t.Errorf("problem without %s: %s", name, a.Body)
		}
	}
	if id := a.Header.Get("X-Request-Id"); id != text(p["request_id"]) {
		t.Errorf("request_id %v, header %q", p["request_id"], id)
	}
	for _, e := range list(p["errors"]) {
		e := fields(e)
		if text(e["code"]) == "" || text(e["detail"]) == "" || (e["pointer"] == nil) == (e["parameter"] == nil) {
			t.Errorf("incomplete entry in errors: %s", a.Body)
		}
	}
	if status == 401 && !strings.HasPrefix(a.Header.Get("WWW-Authenticate"), "Bearer") {
		t.Errorf("401 without WWW-Authenticate: Bearer: %v", a.Header)
	}
	if (status == 429 || status == 503) && a.Header.Get("Retry-After") == "" {
		t.Errorf("%d without Retry-After", status)
	}
	address := text(p["type"])
	if _, seen := problemAddresses.LoadOrStore(address, true); !seen {
		page := s.Do(t, "GET", address, "", "X-Api-Key", "")
		if page.Status != 200 || text(page.Object()["code"]) != code {
			t.Errorf("type %s answers %d %s", address, page.Status, page.Body)
		}
	}
	return p
}

// wantPointer checks that a problem names that place of the body.
func wantPointer(t *testing.T, p object, pointer string) object {
	t.Helper()
	for _, e := range list(p["errors"]) {
		if e := fields(e); e["pointer"] == pointer {
			return e
		}
	}
	t.Errorf("no entry for %q: %s", pointer, value.Marshal(p["errors"]))
	return nil
}

// wantParameter checks that a problem names that query parameter or header.
func wantParameter(t *testing.T, p object, name string) {
	t.Helper()
	for _, e := range list(p["errors"]) {
		if strings.EqualFold(text(fields(e)["parameter"]), name) {
			return
		}
	}
	t.Errorf("no entry for the parameter %q: %s", name, value.Marshal(p["errors"]))
}

// A check tells whether a value is what its field must hold.
type check func(v any) bool

var (
	uuidText   = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	momentText = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)
)

func isUUID(v any) bool   { return uuidText.MatchString(text(v)) }
func isMoment(v any) bool { return momentText.MatchString(text(v)) }
func isText(v any) bool   { return text(v) != "" }
func isCount(v any) bool  { n, ok := v.(int); return ok && n >= 0 }
func isNull(v any) bool   { return v == nil }
func isObject(v any) bool { _, ok := v.(object); return ok }
func isList(v any) bool   { _, ok := v.([]any); return ok }
func isBool(v any) bool   { _, ok := v.(bool); return ok }
func isAny(any) bool      { return true }
func oneOf(values ...string) check {
	return func(v any) bool { return slices.Contains(values, text(v)) }
}

func orNull(c check) check { return func(v any) bool { return v == nil || c(v) } }

// shape is what an object must hold. A name that ends in ? may be absent; a name that is not in the
// shape is an error, because no page documents it.
type shape map[string]check

func (want shape) verify(t *testing.T, what string, v any) {
	t.Helper()
	got, ok := v.(object)
	if !ok {
		t.Errorf("%s is no object: %s", what, value.Marshal(v))
		return
	}
	for name, is := range want {
		plain, optional := strings.CutSuffix(name, "?")
		field, found := got[plain]
		switch {
		case !found && !optional:
			t.Errorf("%s has no %s: %s", what, plain, value.Marshal(v))
		case found && !is(field):
			t.Errorf("%s has a bad %s: %s", what, plain, value.Marshal(field))
		}
	}
	for name := range got {
		if want[name] == nil && want[name+"?"] == nil {
			t.Errorf("%s has a field %s, of which the pages say nothing", what, name)
		}
	}
}

// endTime is how long a test waits for something that must happen at some time. It is longer than an engine
// takes to notice that a call was lost and to repeat it: a Temporal without a free processor loses calls
// between its queue and the worker, which shows only when the heartbeat is missed.
const endTime = 4 * time.Minute

// Between two questions for what has no signal that is seen from outside there is askPause at first, and longer and
// longer up to maxAskPause, so that asking leaves the processors to what is waited for.
const (
	askPause    = 3 * time.Millisecond
	maxAskPause = 50 * time.Millisecond
)

// eventually asks again and again until done; that it happens at all is what matters.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	until(t, endTime, what, done)
}

// until asks again and again, because a server that is looked at from outside has no other
// signal, until done or the time is over.
func until(t *testing.T, most time.Duration, what string, done func() bool) {
	t.Helper()
	deadline := time.NewTimer(most)
	defer deadline.Stop()
	for pause := askPause; !done(); pause = min(pause+pause/4, maxAskPause) {
		select {
		case <-deadline.C:
			t.Fatalf("still not after %s: %s", most, what)
		case <-time.After(pause):
		}
	}
}

// await reads a resource until its status is one of these.
func await(t *testing.T, s *server, path string, statuses ...string) object {
	t.Helper()
	var last answer
	eventually(t, path+" is "+strings.Join(statuses, " or "), func() bool {
		last = s.Do(t, "GET", path, "")
		wantStatus(t, last, 200)
		return slices.Contains(statuses, text(last.Object()["status"]))
	})
	return last.Object()
}

// finish waits for the end of an execution or batch with the API's own means.
func finish(t *testing.T, s *server, path string) object {
	t.Helper()
	end, err := ended(s, path)
	if err != nil {
		t.Fatal(err)
	}
	return end
}

// ended is finish for goroutines, which must not end the test. It asks again where a wait ends because a person is
// awaited: on Temporal, the status says so for a moment after the answer.
func ended(s *server, path string) (object, error) {
	for deadline := time.Now().Add(endTime); ; time.Sleep(askPause) {
		a, err := s.Try("GET", path+"?wait=60s", "")
		switch {
		case err != nil:
			return nil, err
		case a.Status != 200:
			return nil, fmt.Errorf("%s: status %d\n%.2000s", path, a.Status, a.Body)
		case oneOf("finished", "error", "completed", "failed")(a.Object()["status"]):
			return a.Object(), nil
		case time.Now().After(deadline):
			return nil, fmt.Errorf("%s has not ended: %s", path, a.Body)
		}
	}
}

// raw sends bytes that net/http would never send, and reads one answer.
func raw(t *testing.T, s *server, request string) answer {
	t.Helper()
	conn := dial(t, s)
	if _, err := io.WriteString(conn, request); err != nil {
		t.Logf("the server did not read everything: %v", err)
	}
	return readAnswer(t, conn, request)
}

// common are the headers that a good raw request has, up to the body's.
func common(s *server) string {
	return "Host: " + strings.TrimPrefix(s.URL, "http://") + "\r\nConnection: close\r\nX-Api-Key: " + s.Key + "\r\n"
}

func dial(t *testing.T, s *server) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(2 * time.Minute))
	return conn
}

func readAnswer(t *testing.T, conn net.Conn, request string) answer {
	t.Helper()
	method, _, _ := strings.Cut(request, " ")
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%.200q: no answer: %v", request, err)
	}
	defer resp.Body.Close()
	a := answer{Status: resp.StatusCode, Header: resp.Header}
	if a.Body, err = io.ReadAll(resp.Body); err != nil {
		t.Fatalf("%.200q: half an answer: %v", request, err)
	}
	if method != http.MethodHead && strings.Contains(resp.Header.Get("Content-Type"), "json") {
		if a.JSON, err = value.Parse(a.Body, value.Limits{Depth: 300}); err != nil {
			t.Fatalf("%.200q: %v\n%.500s", request, err, a.Body)
		}
	}
	return a
}
