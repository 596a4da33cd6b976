package api

import (
	"testing"
)

// TestStandby: a process that waits for the database says that it is alive and that it is not
// ready, and answers nothing else.
func TestStandby(t *testing.T) {
	s := New(Config{})
	for _, path := range []string{"/readyz", "/metrics", "/api/v1/workflows", "/api/v1/limits", "/api/v1/nothing", "/api/v1/files/01890a5d-ac96-774b-bcce-b302099a8057/content?expires=1&signature=x"} {
		wantProblem(t, request{method: "GET", path: path}.to(s), 503, "unavailable")
		wantProblem(t, request{method: "GET", path: path, keyless: true}.to(s), 503, "unavailable")
	}
	if got := (request{method: "GET", path: "/healthz", keyless: true}).to(s); got.status != 200 {
		t.Errorf("/healthz answers %d", got.status)
	}
	if got := (request{method: "GET", path: "/api/v1/openapi.json", keyless: true}).to(s); got.status != 200 {
		t.Errorf("the document is answered with %d", got.status)
	}
}

// TestBare: a process that only works has no API, and its metrics need a key all the same.
func TestBare(t *testing.T) {
	s := New(Config{Service: &fake{}, ProbesOnly: true})
	wantProblem(t, request{method: "GET", path: "/api/v1/workflows"}.to(s), 404, "route_not_found")
	wantProblem(t, request{method: "GET", path: "/metrics", keyless: true}.to(s), 401, "missing_api_key")
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		if got := (request{method: "GET", path: path}).to(s); got.status != 200 {
			t.Errorf("%s answers %d", path, got.status)
		}
	}
}
