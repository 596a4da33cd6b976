package blackbox_test

import (
	"fmt"
	"strings"
	"testing"
)

// A refusal is what every bad request gets: 4xx, problem+json, and the place of the mistake.
// statuses restrict which; none means any of 400 to 499.
func wantRefusal(t *testing.T, what string, a answer, statuses ...int) {
	t.Helper()
	if a.Status < 400 || a.Status > 499 {
		t.Errorf("%.200s: status %d\n%.500s", what, a.Status, a.Body)
		return
	}
	for _, want := range statuses {
		if a.Status == want {
			statuses = nil
		}
	}
	p := a.Object()
	switch {
	case len(statuses) > 0:
		t.Errorf("%.200s: status %d, want %v\n%.500s", what, a.Status, statuses, a.Body)
	case a.Header.Get("Content-Type") != "application/problem+json" || p["status"] != a.Status:
		t.Errorf("%.200s: no problem document: %v %.500s", what, a.Header, a.Body)
	case text(p["code"]) == "" || text(p["detail"]) == "" || text(p["type"]) == "":
		t.Errorf("%.200s: incomplete: %.500s", what, a.Body)
	case (a.Status == 400 || a.Status == 422) && len(list(p["errors"])) == 0:
		t.Errorf("%.200s: no place is named: %.500s", what, a.Body)
	case len(a.Body) > 64<<10:
		t.Errorf("%.200s: the answer has %d bytes", what, len(a.Body))
	}
}

// state is everything that requests could have changed, as far as lists show it.
func state(t *testing.T, s *server, workflow string) string {
	t.Helper()
	var b strings.Builder
	for _, path := range []string{"/workflows", "/executions", batches(workflow) + "?executions=none", "/api-keys", "/workflows/" + workflow + "/versions"} {
		for _, row := range walk(t, s, path, 100) {
			delete(row, "last_used_at") // of keys: reading them uses one
			delete(row, "results")      // signed anew on each read
			fmt.Fprintln(&b, row)
		}
	}
	return b.String()
}

// values of every kind; the position of a value is its position in acceptable, which says whether a field accepts it.
var values = []string{
	"null", "true", "false", "0", "-1", "1", "1.5", "1e308", "-1e308", strings.Repeat("9", 1000), `""`, `"x"`, `"\u0000"`, `"` + strings.Repeat("n", 10_000) + `"`,
	"[]", "[[]]", "[null]", "[1]", `["x"]`, "[{}]", "{}", `{"":null}`, `{"a":{"b":[]}}`, `"2026-01-31T00:00:00Z"`, `"` + nobody + `"`, `["` + nobody + `"]`, `"run"`, `"live"`, `"test"`,
}

// TestHostileBodies sends wrong types in every field of every JSON body.
func TestHostileBodies(t *testing.T) {
	t.Parallel()
	s := start(t)
	flow := deploy(t, s, "input: {schema: {document: {type: object, required: [n], properties: {n: {type: string, maxLength: 3}}}}}\n"+sleep)
	path := begin(t, s, flow, `{"n":"x"}`)
	batch := batches(flow) + "/" + text(s.Do(t, "POST", batches(flow), `{"items":[{"n":"x"}]}`).Object()["batch_id"])
	key := "/api-keys/" + text(s.Do(t, "POST", "/api-keys", `{"name":"victim"}`).Object()["id"])
	await(t, s, path, "processing")
	eventually(t, "the item waits", func() bool { return s.Do(t, "GET", batch, "").Object()["waiting"] == 1 })
	bodies := []struct{ method, path, body, field, acceptable string }{
		{"POST", executions(flow), `{"input":%s}`, "/input", ``},
		{"POST", executions(flow), `{"input":{"n":%s}}`, "/input/n", `"" "x" "\u0000" "run"`},
		{"POST", batches(flow), `{"items":%s}`, "/items", ``},
		{"POST", batches(flow), `{"items":[{"n":"x"},%s]}`, "/items/1", ``},
		{"POST", batches(flow), `{"items":[{"n":"x"},{"n":%s}]}`, "/items/1/n", `"" "x" "\u0000" "run"`},
		{"POST", batches(flow), `{"items":[{"n":"x"}],"concurrency":%s}`, "/concurrency", `1 1e308 ` + strings.Repeat("9", 1000)},
		{"POST", path + "/cancel", `{"reason":%s}`, "/reason", `"" "x" "\u0000" "2026-01-31T00:00:00Z" "` + nobody + `" "run" "live" "test"`},
		{"POST", batch + "/cancel", `{"reason":%s}`, "/reason", `"" "x" "\u0000" "2026-01-31T00:00:00Z" "` + nobody + `" "run" "live" "test"`},
		{"POST", "/api-keys", `{"name":%s}`, "/name", `"x" "\u0000" "2026-01-31T00:00:00Z" "` + nobody + `" "run" "live" "test"`},
		{"POST", "/api-keys", `{"name":"x","environment":%s}`, "/environment", `"live"`},
		{"POST", "/api-keys", `{"name":"x","preset":%s}`, "/preset", `"run"`},
		{"POST", "/api-keys", `{"name":"x","scopes":%s}`, "/scopes", ``},
		{"POST", "/api-keys", `{"name":"x","workflows":%s}`, "/workflows", `null`},
		{"POST", "/api-keys", `{"name":"x","expires_at":%s}`, "/expires_at", `null`},
		{"POST", "/api-keys", `{"name":"x","rate_limit":%s}`, "/rate_limit", `null 0 1`},
		{"PATCH", key, `{"name":%s}`, "/name", `"x" "\u0000" "2026-01-31T00:00:00Z" "` + nobody + `" "run" "live" "test"`},
		{"PATCH", key, `{"preset":%s}`, "/preset", `"run"`},
		{"PATCH", key, `{"scopes":%s}`, "/scopes", ``},
		{"PATCH", key, `{"workflows":%s}`, "/workflows", `null`},
		{"PATCH", key, `{"expires_at":%s}`, "/expires_at", `null`},
		{"PATCH", key, `{"rate_limit":%s}`, "/rate_limit", `null 0 1`},
	}
	before := state(t, s, flow)
	for _, b := range bodies {
		for _, value := range values {
			if strings.Contains(" "+b.acceptable+" ", " "+value+" ") {
				continue
			}
			a := s.Do(t, b.method, b.path, fmt.Sprintf(b.body, value))
			what := fmt.Sprintf("%s %s %s", b.method, b.path, fmt.Sprintf(b.body, value))
			if a.Status < 300 && b.field == "/scopes" && value == "[]" {
				t.Errorf("%s: a key without a scope: %s", what, a.Body)
				continue
			}
			if a.Status == 404 && b.field == "/workflows" || a.Status == 403 && value == `"test"` {
				continue // a well-formed id that names nothing; the other environment
			}
			wantRefusal(t, what, a, 400, 422)
			if !strings.Contains(string(a.Body), `"pointer":"`+b.field) && a.Object()["code"] != "items_empty" {
				t.Errorf("%.200s: not at %s: %.500s", what, b.field, a.Body)
			}
		}
	}
	for _, top := range values {
		for _, r := range [][2]string{{"POST", executions(flow)}, {"POST", batches(flow)}, {"POST", "/api-keys"}, {"PATCH", key}, {"POST", path + "/cancel"}, {"POST", batch + "/cancel"}, {"POST", path + "/retry"}} {
			if top == "{}" && (strings.HasSuffix(r[1], "/cancel") || r[0] == "PATCH") {
				continue
			}
			what := fmt.Sprintf("%s %s %s", r[0], r[1], top)
			if a := s.Do(t, r[0], r[1], top); a.Status != 409 { // a retry of what runs: there is no use
				wantRefusal(t, what, a, 400, 422)
			}
		}
	}
	if after := state(t, s, flow); after != before {
		t.Errorf("refused requests changed something:\n%s\n%s", before, after)
	}
}

// TestHostileJSON breaks good bodies at every byte.
func TestHostileJSON(t *testing.T) {
	t.Parallel()
	s := start(t)
	flow := deploy(t, s, echo)
	before := state(t, s, flow)
	for path, good := range map[string]string{
		executions(flow): `{"input":{"a":[1,-2.5e3,"x\u00e9\n",true,false,null,{"b":{}}]}}`,
		batches(flow):    `{"items":[{"a":1},{"b":"y"}],"concurrency":3}`,
		"/api-keys":      `{"name":"k","scopes":["executions:read"],"expires_at":null}`,
		"/workflows":     `{"document":{"dsl":"1.0.3","namespace":"a","name":"b","version":"1.0.0"},"do":[{"c":{"set":{"d":1}}}]}`,
	} {
		for i := 1; i < len(good); i++ {
			wantRefusal(t, "POST "+path+" "+good[:i], s.Do(t, "POST", path, good[:i]), 400)
			for _, bad := range []string{"\x00", "\xff", "\x1b"} {
				what := good[:i] + bad + good[i:]
				wantRefusal(t, "POST "+path+" "+what, s.Do(t, "POST", path, what), 400)
			}
		}
	}
	deep := func(open, close string, levels int) string {
		return strings.Repeat(open, levels) + strings.Repeat(close, levels)
	}
	for _, value := range []string{
		deep("[", "]", 10_000), deep(`{"a":`, "}", 10_000), strings.Repeat("[", 10_000), strings.Repeat(`{"a":`, 10_000), deep("[", "]", 500_000),
		`{"input":` + deep(`{"a":`, "}", 10_000) + `}`, `{"input":{"a":` + deep("[", "]", 10_000) + `}}`, `{"items":[` + deep("[", "]", 10_000) + `]}`,
		`{"` + strings.Repeat("k", 10_000) + `":1}`, `{"input":` + strings.Repeat("9", 10_000) + `}`, `{"input":{"` + strings.Repeat("k", 10_000),
	} {
		for _, path := range []string{executions(flow), batches(flow), "/api-keys", "/workflows"} {
			wantRefusal(t, "POST "+path, s.Do(t, "POST", path, value), 400, 413, 422)
		}
	}
	// 10 MB are too much for all but a batch.
	large := `{"input":{"a":"` + strings.Repeat("x", 10<<20) + `"}}`
	for _, path := range []string{executions(flow), "/api-keys", "/workflows", "/workflows/validate"} {
		wantRefusal(t, "10 MB to "+path, s.Do(t, "POST", path, large), 413)
	}
	wantRefusal(t, "10 MB to a batch", s.Do(t, "POST", batches(flow), large), 400)
	wantRefusal(t, "10 MB of empty arrays", s.Do(t, "POST", batches(flow), `{"items":[`+strings.Repeat("[],", 10<<20/3)+`[]]}`), 400, 422)
	wantRefusal(t, "10 MB of empty items", s.Do(t, "POST", batches(flow), `{"items":[`+strings.Repeat("{},", 10<<20/3)+`{}]}`), 400, 422)
	if after := state(t, s, flow); after != before {
		t.Errorf("refused requests changed something:\n%s\n%s", before, after)
	}
	// Names of 10,000 characters are data.
	name := strings.Repeat("n", 10_000)
	a := s.Do(t, "POST", executions(flow)+"?wait=60s", `{"input":{"`+name+`":"`+name+`"}}`)
	if a.Status != 201 || !strings.Contains(string(a.Body), `"`+name+`":"`+name+`"`) {
		t.Errorf("a long name in the input: %d %.300s", a.Status, a.Body)
	}
}
