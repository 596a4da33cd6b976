package blackbox_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/servertest"
)

// between is the time from one moment to the other, in milliseconds.
func between(t *testing.T, from, to any) int64 {
	t.Helper()
	var at [2]time.Time
	for i, v := range []any{from, to} {
		var err error
		if at[i], err = time.Parse(time.RFC3339Nano, text(v)); err != nil {
			t.Fatal(err)
		}
	}
	return at[1].Sub(at[0]).Milliseconds()
}

// A mistake is something wrong with a request to start an execution.
type mistake struct {
	name   string
	status int
	code   string
	spoil  func(*startRequest)
}

type startRequest struct{ key, workflow, query, media, body, idempotency string }

// TestContractOrderOfChecks makes requests with two mistakes each: the check that comes first
// in docs/reference/api.md answers ("Checks run in one order, so that the same request always gives the same
// error").
func TestContractOrderOfChecks(t *testing.T) {
	t.Parallel()
	s := start(t)
	workflow := deploy(t, s, "input: {schema: {document: {type: object, required: [n]}}}\n"+echo)
	reader := servertest.CreateKey(t, s.DataDir, "--preset", "observe")
	// A deleted workflow with an Idempotency-Key of its own: the only path on which both the
	// repetition and the workflow can be wrong.
	gone := deploy(t, s, echo)
	for _, w := range []string{workflow, gone} {
		wantStatus(t, s.Do(t, "POST", executions(w), `{"input":{"n":1}}`, "Idempotency-Key", "used"), 201)
	}
	wantStatus(t, s.Do(t, "DELETE", "/workflows/"+gone, ""), 204)
	mistakes := []mistake{
		{"key", 401, "invalid_api_key", func(r *startRequest) { r.key = "sk_live_nothing" }},
		{"ids", 404, "workflow_not_found", func(r *startRequest) { r.workflow = "not-an-id" }},
		{"scope", 403, "insufficient_scope", func(r *startRequest) { r.key = reader }},
		{"query", 400, "invalid_parameter", func(r *startRequest) { r.query = "?wait=soon" }},
		{"media type", 415, "unsupported_media_type", func(r *startRequest) { r.media = "text/plain" }},
		{"size", 413, "payload_too_large", func(r *startRequest) { r.body += strings.Repeat(" ", 1<<20) }},
		{"JSON", 400, "invalid_json", func(r *startRequest) { r.body = "{" + r.body }},
		{"idempotency", 422, "idempotency_key_reused", func(r *startRequest) { r.idempotency = "used" }},
		{"workflow", 404, "workflow_not_found", func(r *startRequest) { r.workflow = gone }},
		{"fields", 400, "unknown_field", func(r *startRequest) { r.body = strings.Replace(r.body, "input", "inputs", 1) }},
		{"schema", 422, "input_invalid", func(r *startRequest) { r.body = strings.Replace(r.body, `"n"`, `"m"`, 1) }},
	}
	for i, first := range mistakes {
		for _, second := range mistakes[i:] {
			if first.name == "key" && second.name == "scope" || first.name == "ids" && second.name == "workflow" {
				continue // one excludes the other
			}
			t.Run(first.name+" before "+second.name, func(t *testing.T) {
				r := startRequest{s.Key, workflow, "", "application/json", `{"input":{"n":2}}`, ""}
				second.spoil(&r)
				if first.name != second.name {
					first.spoil(&r)
				}
				a := s.Do(t, "POST", executions(r.workflow)+r.query, r.body,
					"X-Api-Key", r.key, "Content-Type", r.media, "Idempotency-Key", r.idempotency)
				wantProblem(t, s, a, first.status, first.code)
			})
		}
	}
	if n := len(list(s.Do(t, "GET", executions(workflow), "").Object()["data"])); n != 1 {
		t.Errorf("%d executions, one was started well", n)
	}
}

// TestContractRateBeforeRoute: the rate is checked after the key and before the route.
func TestContractRateBeforeRoute(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t, servertest.Options{Args: []string{"--rate-limit", "2"}})
	seen := map[int]int{}
	for seen[429] == 0 && seen[404] < 50 {
		a := s.Do(t, "GET", "/nothing", "")
		seen[a.Status]++
		if a.Status == 429 {
			p := wantProblem(t, s, a, 429, "rate_limited")
			if after := a.Header.Get("Retry-After"); after != "1" {
				t.Errorf("Retry-After %q; at 2 requests a second one second is enough (%v)", after, p["detail"])
			}
		}
	}
	// "burst twice that": four at once, and what accrued meanwhile.
	if seen[429] != 1 || seen[404] < 4 || seen[404] > 8 {
		t.Errorf("%v requests were answered before the limit of 2 a second, burst 4", seen)
	}
	wantProblem(t, s, s.Do(t, "GET", "/workflows", "", "X-Api-Key", "sk_live_x"), 401, "invalid_api_key")
	// The bucket is the key's: another key has one of its own.
	other := servertest.CreateKey(t, s.DataDir)
	wantStatus(t, s.Do(t, "GET", "/workflows", "", "X-Api-Key", other), 200)
	// A key may have a rate of its own, and 0 is none.
	eventually(t, "the bucket has a token", func() bool { return s.Do(t, "GET", "/limits", "").Status == 200 })
	free := ""
	eventually(t, "a key is made", func() bool {
		a := s.Do(t, "POST", "/api-keys", `{"name":"free","preset":"run","rate_limit":0}`)
		free = text(a.Object()["key"])
		return a.Status == 201
	})
	for i := range 20 {
		if a := s.Do(t, "GET", "/workflows", "", "X-Api-Key", free); a.Status != 200 {
			t.Fatalf("request %d of a key without a limit: %d %s", i, a.Status, a.Body)
		}
	}
	for _, bad := range []string{"-1", `"5"`, "1.5", "[]"} {
		eventually(t, "rate_limit "+bad+" is refused", func() bool {
			a := s.Do(t, "POST", "/api-keys", fmt.Sprintf(`{"name":"bad","rate_limit":%s}`, bad))
			if a.Status == 429 {
				return false
			}
			wantPointer(t, wantProblem(t, s, a, 400, "invalid_body"), "/rate_limit")
			return true
		})
	}
}
