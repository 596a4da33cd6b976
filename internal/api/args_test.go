package api

import (
	"context"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/service"
)

func TestLimit(t *testing.T) {
	var got int
	s := newServer(t, &fake{listWorkflows: func(q service.ListWorkflows) (*service.WorkflowPage, error) {
		got = q.Limit
		return &service.WorkflowPage{}, nil
	}})
	for value, want := range map[string]int{
		"": 100, "limit=1": 1, "limit=100": 100, "limit=10.0": 10, "limit=1e1": 10, "limit=%31": 1, "limit=5&limit=5": 5,
		"Limit=3": 100, "other=%zz&limit=7": 7, "l%69mit=8": 8, "limit=1E2": 100,
	} {
		if a := (request{path: "/api/v1/workflows?" + value}).to(s); a.status != 200 || got != want {
			t.Errorf("%s: %d, limit %d, want %d\n%s", value, a.status, got, want, a.body)
		}
	}
	for _, value := range []string{
		"0", "101", "-1", "1.5", "", "abc", "NaN", "Inf", "0x10", "1_0", "1e400", "%00", "%zz", "%ff", "null", "%2210%22", " 10", "+10+",
		strings.Repeat("1", 10_000), "10&limit=11",
	} {
		p := wantProblem(t, request{path: "/api/v1/workflows?limit=" + strings.ReplaceAll(value, " ", "%20")}.to(s), 400, "invalid_parameter")
		if got := locations(p); len(got) != 1 || got[0] != "limit" {
			t.Errorf("%q: at %q", value, got)
		}
	}
}

func TestWorkflowCursor(t *testing.T) {
	var got time.Time
	s := newServer(t, &fake{listWorkflows: func(q service.ListWorkflows) (*service.WorkflowPage, error) {
		got = q.Before
		return &service.WorkflowPage{}, nil
	}})
	for _, value := range []string{
		"2026-01-31T09:30:00.120Z", "2026-01-31T09%3A30%3A00.120Z", "2026-01-31T10:30:00.12%2B01:00",
		"2026-01-31T10:30:00.120+01:00", "2026-01-31T04:30:00.120-05:00",
	} {
		a := request{path: "/api/v1/workflows?cursor=" + value}.to(s)
		if a.status != 200 || !got.Equal(moment0) {
			t.Errorf("%s: %d, %v", value, a.status, got)
		}
		if string(a.body) != `{"data":[],"cursor":null}` {
			t.Errorf("the last page: %s", a.body)
		}
	}
	for _, value := range []string{"", "null", "2026-01-31", "1769851800", "2026-13-01T00:00:00Z", "2026-01-31+09:30:00Z", strings.Repeat("9", 5000)} {
		wantProblem(t, request{path: "/api/v1/workflows?cursor=" + value}.to(s), 400, "invalid_parameter")
	}
}

// TestWorkflowPage is the list answer with all that may be in it, byte by byte.
func TestWorkflowPage(t *testing.T) {
	a := request{path: "/api/v1/workflows"}.to(newServer(t, &fake{}))
	want := `{"data":[{"id":"0197a5c4-1111-7000-8000-000000000001","name":"greet","namespace":"default","title":"Say hello",` +
		`"version":"1.0.0","draft":true,"tags":["team:pay"],"created_at":"2026-01-31T09:30:00.120Z","updated_at":"2026-01-31T10:30:00.120Z",` +
		`"activity":{"last_execution":{"id":"0197a5c4-2222-7000-8000-000000000002","status":"finished","created_at":"2026-01-31T09:30:00.120Z"},` +
		`"next_schedule":"2026-01-31T09:30:00.120Z","created":100,"finished":100,"failed":0,"open":0,"at_least":true}}],"cursor":"2026-01-31T09:30:00.120Z"}`
	if string(a.body) != want {
		t.Errorf("got  %s\nwant %s", a.body, want)
	}
}

// TestOpaqueCursor: what an answer hands out comes back as the same position.
func TestOpaqueCursor(t *testing.T) {
	want := service.Cursor{Milli: 1769851800120, ID: [16]byte(executionID)}
	var got service.Cursor
	s := newServer(t, &fake{listExecutions: func(q service.ListExecutions) (*service.ExecutionPage, error) {
		got = q.After
		return &service.ExecutionPage{Cursor: want}, nil
	}})
	a := request{path: "/api/v1/executions"}.to(s)
	cursor := decode(t, a.body)["cursor"].(string)
	if (request{path: "/api/v1/executions?cursor=" + url.QueryEscape(cursor)}).to(s); got != want {
		t.Errorf("position %+v, want %+v", got, want)
	}
	for _, value := range []string{"", "x", cursor[1:], cursor + "A", strings.Repeat("A", 32), "2026-01-31T09:30:00.120Z", "%00"} {
		wantProblem(t, request{path: "/api/v1/executions?cursor=" + value}.to(s), 400, "invalid_parameter")
	}
}

func TestExecutionFilters(t *testing.T) {
	var got service.ListExecutions
	s := newServer(t, &fake{listExecutions: func(q service.ListExecutions) (*service.ExecutionPage, error) {
		got = q
		return &service.ExecutionPage{}, nil
	}})
	q := "?status=error&phase=cancelled&phase=faulted&status=finished&status=error&limit=3&batch_id=" + batchID.String() + "&created_after=2026-01-31T09:30:00.120Z&created_before=2026-01-31T10:30:00.120+00:00"
	request{path: pathW + "/executions" + q}.to(s)
	if got.Workflow != workflowID || !slices.Equal(got.Statuses, []chargehand.Status{chargehand.Errored, chargehand.Finished}) ||
		!slices.Equal(got.Phases, []chargehand.Phase{chargehand.Cancelled, chargehand.Faulted}) || got.Limit != 3 || got.Batch != batchID ||
		!got.CreatedAfter.Equal(moment0) || !got.CreatedBefore.Equal(moment0.Add(time.Hour)) {
		t.Errorf("query %+v", got)
	}
	request{path: "/api/v1/executions"}.to(s)
	if !got.Workflow.IsZero() || got.Statuses != nil || got.Phases != nil || got.Limit != 100 || !got.CreatedAfter.IsZero() {
		t.Errorf("query %+v", got)
	}
	for _, bad := range []string{"status=done", "status=", "status=error&status=done", "phase=x", "batch_id=1", "batch_id=00000000-0000-0000-0000-000000000000", "created_after=yesterday", "created_before="} {
		p := wantProblem(t, request{path: "/api/v1/executions?" + bad}.to(s), 400, "invalid_parameter")
		name, _, _ := strings.Cut(bad, "=")
		if got := locations(p); len(got) != 1 || got[0] != name {
			t.Errorf("%s: at %q", bad, got)
		}
	}
}

// TestRepeatedParameters: the same value counts once, and no parameter has any number of values.
func TestRepeatedParameters(t *testing.T) {
	var got []string
	s := newServer(t, &fake{listWorkflows: func(q service.ListWorkflows) (*service.WorkflowPage, error) {
		got = q.Tags
		return &service.WorkflowPage{}, nil
	}})
	query := func(n int) (q string) {
		for i := range n {
			q += fmt.Sprintf("&tag=a%d&tag=a%d", i, i)
		}
		return q
	}
	if a := (request{path: "/api/v1/workflows?limit=1" + query(maxRepeats)}).to(s); a.status != 200 || len(got) != maxRepeats {
		t.Errorf("%d values: %d, %s", len(got), a.status, a.body)
	}
	p := wantProblem(t, request{path: "/api/v1/workflows?limit=1" + query(maxRepeats+1)}.to(s), 400, "invalid_parameter")
	if got := locations(p); len(got) != 1 || got[0] != "tag" {
		t.Errorf("at %q", got)
	}
}

func TestWait(t *testing.T) {
	var got time.Duration
	s := newServer(t, &fake{getExecution: func(_ context.Context, v service.View) (*service.Execution, error) {
		got = v.Wait
		return fixtureExecution(), nil
	}})
	tests := []struct {
		query, prefer string
		want          time.Duration // -1: refused
		parameter     string
	}{
		{"", "", 0, ""},
		{"wait=30s", "", 30 * time.Second, ""},
		{"wait=60", "", time.Minute, ""},
		{"wait=1m", "", time.Minute, ""},
		{"wait=1.5", "", 1500 * time.Millisecond, ""},
		{"wait=250ms", "", 250 * time.Millisecond, ""},
		{"wait=0", "wait=5", 0, ""},
		{"", "wait=30", 30 * time.Second, ""},
		{"", "respond-async, WAIT = \"10\"; x=y", 10 * time.Second, ""},
		{"", "respond-async", 0, ""},
		{"wait=2s", "wait=30", 2 * time.Second, ""},
		{"wait=61s", "", -1, "wait"},
		{"wait=-1", "", -1, "wait"},
		{"wait=", "", -1, "wait"},
		{"wait=soon", "", -1, "wait"},
		{"wait=1h", "", -1, "wait"},
		{"wait=NaN", "", -1, "wait"},
		{"wait=" + strings.Repeat("9", 1000), "", -1, "wait"},
		{"", "wait=61", -1, "Prefer"},
		{"", "wait=1.5", -1, "Prefer"},
		{"", "wait=", -1, "Prefer"},
		{"", "wait=30s", -1, "Prefer"},
		{"wait=1s", "wait=x", -1, "Prefer"},
	}
	for _, test := range tests {
		got = -2
		q := request{path: pathE + "?" + test.query}
		if test.prefer != "" {
			q.header = map[string]string{"Prefer": test.prefer}
		}
		a := q.to(s)
		if test.want < 0 {
			p := wantProblem(t, a, 400, "invalid_parameter")
			if at := locations(p); len(at) != 1 || at[0] != test.parameter || got != -2 {
				t.Errorf("%+v: at %q", test, at)
			}
			if test.query == "wait=61s" && p["detail"] != "wait must be from 0s to 60s." {
				t.Errorf("says %q", p["detail"])
			}
			continue
		}
		if a.status != 200 || got != test.want {
			t.Errorf("%+v: %d, waits %v", test, a.status, got)
		}
	}
	r := request{path: pathE}.http()
	r.Header.Add("Prefer", "respond-async")
	r.Header.Add("Prefer", "wait=3")
	if serve(s, r); got != 3*time.Second {
		t.Errorf("two Prefer lines: waits %v", got)
	}
}

func TestIdempotencyKey(t *testing.T) {
	s := newServer(t, &fake{})
	q := request{method: "POST", path: pathW + "/executions"}
	for _, key := range []string{"k", strings.Repeat("k", 255), strings.Repeat("ü", 255)} {
		q.header = map[string]string{"Idempotency-Key": key}
		if a := q.to(s); a.status != 201 {
			t.Errorf("%d characters: %d", len([]rune(key)), a.status)
		}
	}
	for _, key := range []string{"", strings.Repeat("k", 256), strings.Repeat("ü", 256), "\xff", "a\x00b", "a\tb"} {
		q.header = map[string]string{"Idempotency-Key": key}
		p := wantProblem(t, q.to(s), 400, "invalid_parameter")
		if got := locations(p); len(got) != 1 || got[0] != "Idempotency-Key" {
			t.Errorf("%q: at %q", key, got)
		}
	}
	r := request{method: "POST", path: pathW + "/executions"}.http()
	r.Header.Add("Idempotency-Key", "a")
	r.Header.Add("Idempotency-Key", "b")
	wantProblem(t, serve(s, r), 400, "invalid_parameter")
}

func TestBadFlags(t *testing.T) {
	s := newServer(t, &fake{})
	for _, q := range []request{
		{method: "POST", path: "/api/v1/workflows?draft=maybe"},
		{method: "POST", path: pathW + "/executions?version="},
		{path: pathB + "?executions=some"},
		{path: pathB + "/items?cursor=-1"},
		{path: pathB + "/items?cursor=99999999999999999999"},
		{path: pathE + "/timeline?cursor=a"},
		{path: pathE + "/timeline?reference="},
		{path: pathE + "/timeline?reference=do/0/a"},
		{path: pathE + "/timeline?reference=/do/0/a&reference=/do/~2"},
		{path: pathE + "/timeline?reference=/do/%ff"},
		{path: pathE + "/timeline?reference=/do%00"},
		{path: pathE + "/timeline?reference=/0" + manyReferences(100)},
		{path: pathE + "/timeline?under=a"},
		{path: pathE + "/timeline?under=/~"},
		{path: pathE + "/timeline?under=/a&under=/b"},
		{path: pathE + "/timeline?phase=done"},
		{path: pathE + "/timeline?phase=suspended"},
		{path: pathE + "/timeline?after_seq=-1"},
		{path: pathE + "/timeline?after_seq=1.5"},
		{path: pathE + "/timeline?after_seq=99999999999999999999"},
		{path: pathE + "/timeline?order=up"},
		{path: pathE + "/timeline?order=asc&order=desc"},
		{path: pathE + "/timeline?fields=output"},
		{path: pathE + "/timeline?fields="},
		{path: "/api/v1/executions?fields=output"},
		{path: pathW + "/executions?fields="},
		{path: "/api/v1/executions?fields=summary&fields=id"},
		{path: pathB + "/items?fields=inputs"},
		{path: pathE + "/graph?format=svg"},
	} {
		wantProblem(t, q.to(s), 400, "invalid_parameter")
	}
}

// TestUnknownParameters: a misspelt filter must not return everything. Only the routes of the
// contract ignore what they do not know.
func TestUnknownParameters(t *testing.T) {
	s := newServer(t, &fake{})
	contract := map[string]bool{"listWorkflows": true, "createExecution": true, "getExecution": true, "runBatch": true}
	for _, rt := range routes(s) {
		q := samples[rt.id][0]
		q.path, _, _ = strings.Cut(q.path, "?")
		q.path += "?unheard_of=1"
		a := q.to(s)
		if contract[rt.id] || rt.id == "finishProviderSignIn" { // what providers send along is theirs to say
			if a.status >= 400 {
				t.Errorf("%s: %d\n%s", rt.id, a.status, a.body)
			}
			continue
		}
		p := wantProblem(t, a, 400, "unknown_parameter")
		if got := locations(p); len(got) != 1 || got[0] != "unheard_of" {
			t.Errorf("%s: at %q", rt.id, got)
		}
	}
	p := wantProblem(t, request{path: "/api/v1/executions?stauts=error&limit=0&%zz=1&created_aftre=1"}.to(s), 400, "invalid_parameter")
	if got := locations(p); !slices.Equal(got, []string{"limit", "stauts", "%zz", "created_aftre"}) {
		t.Errorf("at %q", got)
	}
	second := p["errors"].([]any)[1].(map[string]any)
	if second["code"] != "unknown_parameter" || second["detail"] != `There is no query parameter "stauts" here. Did you mean status?` {
		t.Errorf("%v", second)
	}
	if !strings.HasPrefix(p["detail"].(string), "4 parameters are wrong. limit must be") {
		t.Errorf("detail %q", p["detail"])
	}
}

// TestWorkflowFilters: the contract's list takes filters, and refuses empty ones.
func TestWorkflowFilters(t *testing.T) {
	var got service.ListWorkflows
	s := newServer(t, &fake{listWorkflows: func(q service.ListWorkflows) (*service.WorkflowPage, error) {
		got = q
		return &service.WorkflowPage{}, nil
	}})
	request{path: "/api/v1/workflows?namespace=shop&name=order&q=Pay%20out&limit=5&cursor=2026-01-31T09:30:00.120Z&unknown=1"}.to(s)
	if want := (service.ListWorkflows{Namespace: "shop", Name: "order", Text: "Pay out", Limit: 5, Before: moment0}); !reflect.DeepEqual(got, want) {
		t.Errorf("query %+v, want %+v", got, want)
	}
	for _, name := range []string{"namespace", "name", "q"} {
		p := wantProblem(t, request{path: "/api/v1/workflows?" + name + "="}.to(s), 400, "invalid_parameter")
		if got := locations(p); len(got) != 1 || got[0] != name {
			t.Errorf("%s: at %q", name, got)
		}
	}
}

// TestWorkflowsByName: namespace.name stands for the id of a workflow in every path.
func TestWorkflowsByName(t *testing.T) {
	s := newServer(t, &fake{})
	for _, rt := range routes(s) {
		if !slices.Contains(rt.params, workflowParam) {
			continue
		}
		q := samples[rt.id][0]
		q.path = strings.Replace(q.path, workflowID.String(), "default.greet", 1)
		if a := q.to(s); a.status >= 300 {
			t.Errorf("%s %s: %d\n%s", q.method, q.path, a.status, a.body)
		}
		q.path = strings.Replace(q.path, "default.greet", "default.other", 1)
		wantProblem(t, q.to(s), 404, "workflow_not_found")
	}
	for _, text := range []string{"default.", ".greet", "a.b.c", "default.gr%65et.", "a%2Fb.c", ".", "default", strings.Repeat("n", 64) + ".greet"} {
		wantProblem(t, request{path: "/api/v1/workflows/" + text}.to(s), 404, "workflow_not_found")
	}
}

// manyReferences are more parameters of that name.
func manyReferences(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "&reference=/do/%d", i)
	}
	return b.String()
}
