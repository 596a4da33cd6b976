package api

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/service"
	"github.com/chargehand/chargehand/internal/signin"
	"github.com/chargehand/chargehand/internal/value"
)

// TestBodyReachesService: numbers stay exact on their way to the service.
func TestBodyReachesService(t *testing.T) {
	var got service.CreateExecution
	s := newServer(t, &fake{createExecution: func(_ context.Context, r service.CreateExecution) (*service.Execution, bool, error) {
		got = r
		return fixtureInitial(), true, nil
	}})
	big1, _ := new(big.Int).SetString("123456789012345678901234567890", 10)
	body := `{"input":{"big":123456789012345678901234567890,"one":1.0,"nul":"\u0000","list":[1,-0.5,true,null]}}`
	a := request{
		method: "POST", path: pathW + "/executions?version=2.0.0&wait=2s&unknown=%zz", body: "\ufeff" + body,
		header: map[string]string{"Idempotency-Key": "k 1", "Content-Type": "Application/JSON; charset=\"UTF-8\""},
	}.to(s)
	if a.status != 201 {
		t.Fatalf("%d\n%s", a.status, a.body)
	}
	want := map[string]any{"input": map[string]any{
		"big": big1, "one": 1.0, "nul": "\x00", "list": []any{1, -0.5, true, nil},
	}}
	if !reflect.DeepEqual(got.Body, want) {
		t.Errorf("body %#v", got.Body)
	}
	if got.Workflow != workflowID || got.Version != "2.0.0" || got.View.Wait.Seconds() != 2 || got.View.BaseURL != "http://example.com" {
		t.Errorf("request %+v", got)
	}
	i := got.Idempotency
	if i == nil || i.Key != "k 1" || i.Method != "POST" || i.Path != pathW+"/executions" || i.BodyHash == [32]byte{} {
		t.Errorf("idempotency %+v", i)
	}
	if a.header.Get("Idempotency-Replayed") != "true" {
		t.Error("Idempotency-Replayed is missing")
	}
}

// TestEmptyBody: no body is no value, however that is said.
func TestEmptyBody(t *testing.T) {
	calls := 0
	s := newServer(t, &fake{createExecution: func(_ context.Context, r service.CreateExecution) (*service.Execution, bool, error) {
		calls++
		if r.Body != nil || r.Idempotency != nil {
			t.Errorf("body %v, idempotency %v", r.Body, r.Idempotency)
		}
		return fixtureInitial(), false, nil
	}})
	r := request{method: "POST", path: pathW + "/executions"}.http()
	if a := serve(s, r); a.status != 201 {
		t.Errorf("no body: %d", a.status)
	}
	r = httptest.NewRequest("POST", pathW+"/executions", io.MultiReader(strings.NewReader("")))
	r.ContentLength = -1
	r.Header.Set("x-api-key", goodKey)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if a := serve(s, r); a.status != 201 {
		t.Errorf("empty chunked body: %d\n%s", a.status, a.body)
	}
	if calls != 2 {
		t.Errorf("%d calls", calls)
	}
}

func TestBadBodies(t *testing.T) {
	s := newServer(t, &fake{
		createExecution: func(_ context.Context, r service.CreateExecution) (*service.Execution, bool, error) {
			t.Errorf("the service was called with %v", r.Body)
			return nil, false, errors.New("called")
		},
	})
	json := map[string]string{"Content-Type": "application/json"}
	tests := []struct {
		name   string
		body   string
		header map[string]string
		status int
		code   string
		at     string
	}{
		{"cut off", `{"input":{"a":`, json, 400, "invalid_json", "/input/a"},
		{"duplicate key", `{"input":{"a":1,"a":2}}`, json, 400, "invalid_json", "/input/a"},
		{"text after the value", `{} {}`, json, 400, "invalid_json", ""},
		{"depth", strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000), json, 400, "invalid_json", strings.Repeat("/a", 64)},
		{"NaN", `{"input":{"a":NaN}}`, json, 400, "invalid_json", "/input/a"},
		{"invalid UTF-8", "{\"input\":{\"a\":\"\xff\"}}", json, 400, "invalid_json", "/input/a"},
		{"lone surrogate", `{"input":{"a":"\ud800"}}`, json, 400, "invalid_json", "/input/a"},
		{"NUL", "\x00", json, 400, "invalid_json", ""},
		{"white space", "  \n", json, 400, "invalid_json", ""},
		{"null", "null", json, 400, "invalid_body", ""},
		{"too large", strings.Repeat(" ", 10<<20), json, 413, "payload_too_large", "-"},
		{"no media type", "{}", map[string]string{"Content-Type": ""}, 415, "unsupported_media_type", "-"},
		{"form", "a=b", map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, 415, "unsupported_media_type", "-"},
		{"malformed media type", "{}", map[string]string{"Content-Type": "application/json; ="}, 415, "unsupported_media_type", "-"},
		{"latin1", "{}", map[string]string{"Content-Type": "application/json; charset=latin1"}, 415, "unsupported_media_type", "-"},
		{"gzip", "\x1f\x8b\x08", map[string]string{"Content-Type": "application/json", "Content-Encoding": "gzip"}, 415, "unsupported_media_type", "-"},
	}
	for _, test := range tests {
		for _, chunked := range []bool{false, true} {
			name := test.name
			if chunked {
				name += ", chunked"
			}
			t.Run(name, func(t *testing.T) {
				r := request{method: "POST", path: pathW + "/executions", body: test.body, header: test.header}.http()
				if test.header["Content-Type"] == "" {
					r.Header.Del("Content-Type")
				}
				if chunked {
					r.ContentLength = -1
				}
				p := wantProblem(t, serve(s, r), test.status, test.code)
				if test.at == "-" {
					return
				}
				if got := locations(p); len(got) != 1 || got[0] != test.at {
					t.Errorf("at %q, want %q", got, test.at)
				}
			})
		}
	}
	r := request{method: "POST", path: pathW + "/executions", body: "{}"}.http()
	r.Header.Add("Content-Type", "text/plain")
	wantProblem(t, serve(s, r), 415, "unsupported_media_type")
}

// countingReader counts what was read of an endless body.
type countingReader struct{ n int64 }

func (r *countingReader) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	r.n += int64(len(b))
	return len(b), nil
}

// TestTooLargeIsRefusedEarly: an announced length is refused before it is read, an endless body
// soon after the limit. What is read after the answer is bounded.
func TestTooLargeIsRefusedEarly(t *testing.T) {
	s := newServer(t, &fake{})
	for _, test := range []struct {
		length, most int64
	}{{1 << 62, drainBytes}, {1<<20 + 1, drainBytes}, {-1, 2<<20 + drainBytes}} {
		endless := &countingReader{}
		r := httptest.NewRequest("POST", pathW+"/executions", endless)
		r.ContentLength = test.length
		r.Header.Set("x-api-key", goodKey)
		r.Header.Set("Content-Type", "application/json")
		a := serve(s, r)
		wantProblem(t, a, 413, "payload_too_large")
		if endless.n > test.most {
			t.Errorf("length %d: read %d bytes", test.length, endless.n)
		}
		if a.header.Get("Connection") != "close" {
			t.Error("the connection is kept, so the rest would be read")
		}
	}
}

// TestShortBody: a body that ends before its announced length is the client's mistake.
func TestShortBody(t *testing.T) {
	s := newServer(t, &fake{})
	for _, length := range []int64{10, 1<<20 - 1} {
		r := httptest.NewRequest("POST", pathW+"/executions", strings.NewReader("{}"))
		r.ContentLength = length
		r.Header.Set("x-api-key", goodKey)
		r.Header.Set("Content-Type", "application/json")
		wantProblem(t, serve(s, r), 400, "invalid_body")
	}
	r := httptest.NewRequest("POST", pathW+"/batch", bytes.NewReader(make([]byte, 2<<20)))
	r.ContentLength = 3 << 20
	r.Header.Set("x-api-key", goodKey)
	r.Header.Set("Content-Type", "application/json")
	wantProblem(t, serve(s, r), 400, "invalid_body")
}

// TestBatchBodyLimit: a batch may be larger than other bodies.
func TestBatchBodyLimit(t *testing.T) {
	var got value.Value
	s := newServer(t, &fake{createBatch: func(r service.CreateBatch) (*service.Batch, bool, error) {
		got = r.Body
		return fixtureBatch(), false, nil
	}})
	body := `{"items":[{"a":"` + strings.Repeat("x", 20<<20) + `"}]}`
	if a := (request{method: "POST", path: pathW + "/batch", body: body}).to(s); a.status != 202 {
		t.Fatalf("%d\n%s", a.status, a.body)
	}
	items := got.(map[string]any)["items"].([]any)
	if text := items[0].(map[string]any)["a"].(string); len(text) != 20<<20 {
		t.Errorf("%d bytes arrived", len(text))
	}
	wantProblem(t, request{method: "POST", path: pathW + "/batch", body: strings.Repeat(" ", 33<<20)}.to(s), 413, "payload_too_large")
}

// TestAnswerAfterSlowStoring: what takes longer to store, or to delete, than an answer may take to be written is
// answered too.
func TestAnswerAfterSlowStoring(t *testing.T) {
	const long = 3 * time.Second
	s := newServer(t, &fake{
		uploadFile: func(r service.UploadFile) (*service.File, bool, error) {
			_, err := io.Copy(io.Discard, r.Content)
			<-time.After(long)
			return fixtureFile(), false, err
		},
		putSecret: func(string, value.Value) (*service.Secret, bool, error) {
			<-time.After(long)
			return fixtureSecret(), true, nil
		},
		deleteBatch: func() error {
			<-time.After(long)
			return nil
		},
	})
	s.http.WriteTimeout, s.idle = long/3, long/3
	addr := start(t, s)
	const key = " HTTP/1.1\r\nHost: h\r\nx-api-key: " + goodKey + "\r\n"
	if a := raw(t, addr, "POST /api/v1/files"+key+"Content-Length: 3\r\n\r\nabc"); a.status != 201 {
		t.Errorf("a file: %d\n%s", a.status, a.body)
	}
	if a := raw(t, addr, "PUT /api/v1/secrets/s"+key+"Content-Type: application/json\r\nContent-Length: 13\r\n\r\n"+`{"value":"x"}`); a.status != 201 {
		t.Errorf("JSON: %d\n%s", a.status, a.body)
	}
	if a := raw(t, addr, "DELETE "+pathB+key+"\r\n"); a.status != 204 {
		t.Errorf("no body: %d\n%s", a.status, a.body)
	}
}

// TestEndBehindStoring: the last chunk of a form that comes while the file is stored ends the request, even if that
// takes longer than the body may pause: the connection is kept.
func TestEndBehindStoring(t *testing.T) {
	const long = 600 * time.Millisecond
	read := make(chan struct{})
	s := newServer(t, &fake{uploadFile: func(r service.UploadFile) (*service.File, bool, error) {
		_, err := io.Copy(io.Discard, r.Content)
		close(read)
		<-time.After(long)
		return fixtureFile(), false, err
	}})
	s.idle = long / 3
	conn, err := net.Dial("tcp", start(t, s))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	body, contentType := multipartForm(t, [2]string{"@a.png", "PNG"})
	const key = " HTTP/1.1\r\nHost: h\r\nx-api-key: " + goodKey + "\r\n"
	fmt.Fprintf(conn, "POST /api/v1/files%sContent-Type: %s\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", key, contentType, len(body), body)
	select {
	case <-read:
	case <-time.After(10 * time.Second):
		t.Fatal("the form was not read")
	}
	io.WriteString(conn, "0\r\n\r\n")
	r := bufio.NewReader(conn)
	if a := readAnswer(t, r); a.status != 201 || a.header.Get("Connection") != "" {
		t.Fatalf("%d %v\n%s", a.status, a.header, a.body)
	}
	io.WriteString(conn, "GET "+pathE+key+"\r\n")
	if a := readAnswer(t, r); a.status != 200 {
		t.Errorf("the next request: %d\n%s", a.status, a.body)
	}
}

// slowSignIn takes longer for a sign-in than the body of one may take.
type slowSignIn struct {
	fakeSignIn
	takes time.Duration
}

func (f *slowSignIn) SignIn(ctx context.Context, email, password string, from signin.Client) (*signin.Session, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(f.takes):
	}
	return f.fakeSignIn.SignIn(ctx, email, password, from)
}

// TestNoTimeLimitBehindABody: the time limit of a body that has come to its end does not end the request.
func TestNoTimeLimitBehindABody(t *testing.T) {
	s := New(Config{Service: &fake{}, SignIn: &slowSignIn{takes: 500 * time.Millisecond}})
	s.http.ReadHeaderTimeout = 200 * time.Millisecond
	addr := start(t, s)
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	body := `{"email":"ada@example.com","password":"x"}`
	io.WriteString(conn, "POST /api/v1/session HTTP/1.1\r\nHost: "+addr+"\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
	<-time.After(50 * time.Millisecond) // longReader moves its limit with the second read
	fmt.Fprintf(conn, "%x\r\n%s\r\n0\r\n\r\n", len(body), body)
	if a := readAnswer(t, bufio.NewReader(conn)); a.status >= 300 {
		t.Errorf("%d\n%s", a.status, a.body)
	}
}
