package api

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/service"
)

func TestCredentials(t *testing.T) {
	tests := []struct {
		name    string
		headers map[string][]string
		status  int
		code    string
	}{
		{"x-api-key", map[string][]string{"x-api-key": {goodKey}}, 200, ""},
		{"bearer", map[string][]string{"Authorization": {"Bearer " + goodKey}}, 200, ""},
		{"bearer in any case", map[string][]string{"Authorization": {"bEARER   " + goodKey + " "}}, 200, ""},
		{"both the same", map[string][]string{"x-api-key": {goodKey}, "Authorization": {"Bearer " + goodKey}}, 200, ""},
		{"the same twice", map[string][]string{"x-api-key": {goodKey, goodKey}}, 200, ""},
		{"empty beside a key", map[string][]string{"x-api-key": {""}, "Authorization": {"Bearer " + goodKey}}, 200, ""},
		{"another scheme beside a key", map[string][]string{"x-api-key": {goodKey}, "Authorization": {"Basic Zm9v"}}, 200, ""},
		{"both different", map[string][]string{"x-api-key": {goodKey}, "Authorization": {"Bearer x"}}, 400, "ambiguous_credentials"},
		{"twice different", map[string][]string{"x-api-key": {goodKey, "x"}}, 400, "ambiguous_credentials"},
		{"two bearers", map[string][]string{"Authorization": {"Bearer x", "Bearer y"}}, 400, "ambiguous_credentials"},
		{"none", nil, 401, "missing_api_key"},
		{"empty", map[string][]string{"x-api-key": {" "}}, 401, "missing_api_key"},
		{"no token", map[string][]string{"Authorization": {"Bearer"}}, 401, "missing_api_key"},
		{"basic", map[string][]string{"Authorization": {"Basic Zm9v"}}, 401, "missing_api_key"},
		{"key without scheme", map[string][]string{"Authorization": {goodKey}}, 401, "missing_api_key"},
		{"wrong", map[string][]string{"x-api-key": {"x"}}, 401, "invalid_api_key"},
		{"hostile", map[string][]string{"x-api-key": {strings.Repeat("\xff\x00", 5000)}}, 401, "invalid_api_key"},
	}
	s := newServer(t, &fake{})
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, q := range []request{{path: "/api/v1/workflows"}, {method: "POST", path: pathW + "/batch", body: `{"items":[{}]}`}} {
				q.keyless = true
				r := q.http()
				for name, values := range test.headers {
					for _, v := range values {
						r.Header.Add(name, v)
					}
				}
				a := serve(s, r)
				if test.status == 200 {
					if a.status >= 300 {
						t.Errorf("status %d\n%s", a.status, a.body)
					}
					continue
				}
				wantProblem(t, a, test.status, test.code)
			}
		})
	}
	q := request{path: "/api/v1/workflows?x-api-key=" + goodKey + "&api_key=" + goodKey + "&access_token=" + goodKey, keyless: true}
	wantProblem(t, q.to(s), 401, "missing_api_key")
}

// TestCheckOrder starts from a request in which everything is wrong and repairs one thing
// after the other: each time the next check of docs/reference/api.md must speak.
func TestCheckOrder(t *testing.T) {
	f := &fake{
		scopes: service.ScopeEventsWrite,
		allow:  func() error { return chargehand.NewError(chargehand.CodeRateLimited, "Slow down.") },
		fail:   chargehand.NewError(chargehand.CodeIdempotencyKeyReused, "Reused."),
	}
	s := newServer(t, f)
	q := request{
		method: "PUT", path: "/api/v1/workflows/nope/executions?wait=x", body: strings.Repeat("[", 2<<20), keyless: true,
		header: map[string]string{"Content-Type": "text/plain", "Idempotency-Key": strings.Repeat("k", 256)},
	}
	step := func(status int, code string, repair func()) {
		t.Helper()
		wantProblem(t, q.to(s), status, code)
		q.header = maps.Clone(q.header)
		repair()
	}
	step(401, "missing_api_key", func() { q.keyless = false; q.header["Authorization"] = "Bearer x" })
	step(400, "ambiguous_credentials", func() { delete(q.header, "Authorization") })
	step(429, "rate_limited", func() { f.allow = nil })
	step(405, "method_not_allowed", func() { q.method = "POST" })
	step(404, "workflow_not_found", func() { q.path = pathW + "/executions?wait=x" })
	step(403, "insufficient_scope", func() { f.scopes = 0 })
	step(400, "invalid_parameter", func() { q.path = pathW + "/executions?wait=1s" })
	step(400, "invalid_parameter", func() { q.header["Idempotency-Key"] = "k" })
	step(415, "unsupported_media_type", func() { q.header["Content-Type"] = "application/json" })
	step(413, "payload_too_large", func() { q.body = strings.Repeat("[", 100) })
	step(400, "invalid_json", func() { q.body = "{}" })
	step(422, "idempotency_key_reused", func() { f.fail = nil })
	if a := q.to(s); a.status != 201 {
		t.Errorf("the repaired request: %d\n%s", a.status, a.body)
	}
}

// TestErrorsOfTheService: codes keep their status, hints and pointers; anything else is
// internal and tells nothing.
func TestErrorsOfTheService(t *testing.T) {
	f := &fake{}
	s := newServer(t, f)
	q := request{method: "POST", path: pathW + "/executions"}

	f.fail = &chargehand.Error{
		Code: chargehand.CodeInputInvalid, Detail: "Bad.",
		Fields: []chargehand.FieldError{{Pointer: "", Code: "type", Detail: "no"}, {Pointer: "/input/a~1b", Code: "type", Detail: "n\"o", Line: 2, Column: 3}},
	}
	p := wantProblem(t, q.to(s), 422, "input_invalid")
	if got := locations(p); len(got) != 2 || got[0] != "" || got[1] != "/input/a~1b" {
		t.Errorf("at %q", got)
	}
	f.fail = &chargehand.Error{Code: chargehand.CodeInputInvalid, Detail: "Bad.", Fields: make([]chargehand.FieldError, 1000)}
	if got := locations(wantProblem(t, q.to(s), 422, "input_invalid")); len(got) != 100 {
		t.Errorf("%d entries", len(got))
	}
	f.fail = errors.Join(errors.New("outer"), &chargehand.Error{Code: chargehand.CodeQueueFull, Detail: "Full.", RetryAfter: 7})
	a := q.to(s)
	wantProblem(t, a, 429, "queue_full")
	if a.header.Get("Retry-After") != "7" {
		t.Errorf("Retry-After %q", a.header.Get("Retry-After"))
	}
	for _, err := range []error{
		errors.New("SECRET table"), chargehand.NewError("no_such_code", "SECRET"), chargehand.NewError(chargehand.CodeInternal, "SECRET"),
		context.DeadlineExceeded,
	} {
		f.fail = err
		a := q.to(s)
		wantProblem(t, a, 500, "internal")
		if strings.Contains(string(a.body), "SECRET") {
			t.Errorf("the answer shows our insides: %s", a.body)
		}
	}
	f.fail = errors.Join(errors.New("SECRET disk"), chargehand.NewError(chargehand.CodeUnavailable, "Full."))
	if a := q.to(s); strings.Contains(string(a.body), "SECRET") {
		t.Errorf("the answer shows our insides: %s", a.body)
	} else {
		wantProblem(t, a, 503, "unavailable")
	}
	f.fail = nil
	f.createExecution = func(context.Context, service.CreateExecution) (*service.Execution, bool, error) {
		panic("SECRET state")
	}
	a = q.to(s)
	wantProblem(t, a, 500, "internal")
	if strings.Contains(string(a.body), "SECRET") || strings.Contains(string(a.body), ".go:") {
		t.Errorf("the answer shows our insides: %s", a.body)
	}
}

// TestRequestID: a client's name for its request is kept, if logs and headers can hold it.
func TestRequestID(t *testing.T) {
	s := newServer(t, &fake{})
	const path = "/api/v1/executions?limit=0"
	for _, id := range []string{"a", "0197a5c4-1111-7000-8000-000000000001", "Root=1-5759e988-bd862e3fe1be46a994272793", "a/b+c=@d.e:f_g", strings.Repeat("x", 128)} {
		p := wantProblem(t, request{path: path, header: map[string]string{"X-Request-Id": id}}.to(s), 400, "invalid_parameter")
		if p["request_id"] != id {
			t.Errorf("%q became %v", id, p["request_id"])
		}
	}
	for _, id := range []string{"", " ", "a b", "a\nb", "ü", "<script>", `"`, strings.Repeat("x", 129)} {
		p := wantProblem(t, request{path: path, header: map[string]string{"X-Request-Id": id}}.to(s), 400, "invalid_parameter")
		if text := p["request_id"].(string); !strings.HasPrefix(text, "req_") || len(text) != 20 {
			t.Errorf("%q became %q", id, text)
		}
	}
	r := request{path: path}.http()
	r.Header["X-Request-Id"] = []string{"one", "two"}
	if p := wantProblem(t, serve(s, r), 400, "invalid_parameter"); p["request_id"] == "one" || p["request_id"] == "two" {
		t.Errorf("two names became %v", p["request_id"])
	}
}

// TestRateHeaders: every answer to a key says what is left, and a refused one when to come back.
func TestRateHeaders(t *testing.T) {
	f := &fake{rate: service.Rate{Limit: 25, Burst: 50, Remaining: 49, Reset: 40 * time.Millisecond}}
	s := newServer(t, f)
	for _, q := range []request{{path: "/api/v1/workflows"}, {path: "/api/v1/nothing"}, {path: "/api/v1/workflows?limit=0"}} {
		a := q.to(s)
		if got := a.header.Get("RateLimit-Policy"); got != `"key";q=50;w=2` {
			t.Errorf("%s: RateLimit-Policy %q", q.path, got)
		}
		if got := a.header.Get("RateLimit"); got != `"key";r=49;t=1` {
			t.Errorf("%s: RateLimit %q", q.path, got)
		}
	}
	f.rate.Remaining, f.rate.Reset = 0, 2*time.Second
	f.allow = func() error {
		return &chargehand.Error{Code: chargehand.CodeRateLimited, Detail: "Slow down.", RetryAfter: 3}
	}
	a := request{path: "/api/v1/workflows"}.to(s)
	wantProblem(t, a, 429, "rate_limited")
	if a.header.Get("RateLimit") != `"key";r=0;t=2` || a.header.Get("Retry-After") != "3" {
		t.Errorf("%v", a.header)
	}
	f.rate, f.allow = service.Rate{}, nil // no limit
	if a := (request{path: "/api/v1/workflows"}).to(s); a.header.Get("RateLimit") != "" || a.header.Get("RateLimit-Policy") != "" {
		t.Errorf("without a limit: %v", a.header)
	}
}
