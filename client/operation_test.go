package client

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestOperationRequest: what is sent for executions that are named, and for those that a filter selects.
func TestOperationRequest(t *testing.T) {
	for _, test := range []struct {
		request OperationRequest
		body    string
	}{
		{OperationRequest{Action: ActionCancel, IDs: []string{"e-1", "e-2"}, Reason: "a mistake"}, `{"action":"cancel","ids":["e-1","e-2"],"reason":"a mistake"}`},
		{OperationRequest{Action: ActionDelete, Filter: &ExecutionFilter{}}, `{"action":"delete","filter":{}}`},
		{
			OperationRequest{Action: ActionRetry, Filter: &ExecutionFilter{Workflow: "w-1", ErrorCodes: []string{"timeout"}, MinDurationMs: 5}, Version: "published"},
			`{"action":"retry","filter":{"error_code":["timeout"],"min_duration_ms":5,"workflow_id":["w-1"]},"version":"published"}`,
		},
		{OperationRequest{Action: ActionResume, Filter: &ExecutionFilter{Workflow: "shop.order"}}, `{"action":"resume","filter":{"workflow":["shop/order"]}}`},
	} {
		c, s := serve(t, nil, problemAnswer(503, "unavailable"), answer(202, `{"id":"o-1","status":"selecting"}`))
		o, err := c.StartOperation(t.Context(), test.request)
		if err != nil || o.ID != "o-1" || o.Final() {
			t.Errorf("%+v, %v", o, err)
		}
		if len(s.seen) != 2 || s.seen[0].idempotency == "" || s.seen[0].idempotency != s.seen[1].idempotency {
			t.Errorf("sent %+v", s.seen)
		}
		for _, got := range s.seen {
			if got.method != "POST" || got.uri != "/api/v1/operations" || got.body != test.body {
				t.Errorf("sent %+v, want %s", got, test.body)
			}
		}
	}
}

// TestOperationFilter: an operation can be started with every filter that the API has for it.
func TestOperationFilter(t *testing.T) {
	text, err := os.ReadFile("../api/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Components struct{ Schemas schemas }
	}
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	some := []string{"x"}
	whole := ExecutionFilter{
		Workflow: "x", Statuses: some, Phases: some, Batch: "x", CreatedAfter: "x", CreatedBefore: "x", ErrorCodes: some, Causes: some, Labels: some,
		WaitingFor: some, Versions: some, Root: "x", RetryOf: "x", Failure: "x", MinDurationMs: 1, Search: "x",
	}
	sent := whole.object()
	for name := range document.Components.Schemas["OperationFilter"].Properties {
		if _, ok := sent[name]; !ok && name != "workflow" { // it takes the place of workflow_id
			t.Errorf("there is no way to filter by %s", name)
		}
		delete(sent, name)
	}
	if len(sent) > 0 {
		t.Errorf("the API has no filter %v", sent)
	}
}

// TestFollowOperation: an operation is asked for until it has ended, and each state is reported.
func TestFollowOperation(t *testing.T) {
	c, s := serve(t, nil, answer(200, `{"id":"o-1","status":"selecting"}`), problemAnswer(503, "unavailable"),
		answer(200, `{"id":"o-1","status":"running","total":2,"pending":1}`), answer(200, `{"id":"o-1","status":"stopped","total":2,"error":{"code":"quota_exceeded","detail":"D"}}`))
	var reported []string
	o, err := c.FollowOperation(t.Context(), "o-1", func(o *Operation) { reported = append(reported, o.Status) })
	if err != nil || !o.Final() || o.Error == nil || o.Error.Code != "quota_exceeded" {
		t.Errorf("%+v, %v", o, err)
	}
	if !slices.Equal(reported, []string{"selecting", "running", "stopped"}) || len(s.seen) != 4 {
		t.Errorf("reported %q in %d requests", reported, len(s.seen))
	}
}

// TestOperationKeepsItsText: what is written again is what the server has sent, with fields that the client does
// not know.
func TestOperationKeepsItsText(t *testing.T) {
	const text = `{"id":"o-1","new":[1,2]}`
	var o Operation
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(o)
	if err != nil || strings.TrimSpace(string(again)) != text {
		t.Errorf("%s, %v", again, err)
	}
}
