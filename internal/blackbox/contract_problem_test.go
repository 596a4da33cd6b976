package blackbox_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/chargehand/chargehand/internal/servertest"
)

// codes are those of the table in docs/reference/api.md "Errors", as far as this version knows them.
var codes = map[int][]string{
	400: {"invalid_json", "invalid_parameter", "invalid_body", "unknown_field", "ambiguous_credentials"},
	401: {"missing_api_key", "invalid_api_key", "expired_api_key"},
	403: {"insufficient_scope", "not_assigned", "excluded"},
	404: {"workflow_not_found", "execution_not_found", "batch_not_found", "human_task_not_found", "route_not_found"},
	409: {"idempotency_in_progress", "state_conflict", "answer_conflict", "claimed_by_other", "task_withdrawn"},
	410: {"result_expired"},
	413: {"payload_too_large"},
	415: {"unsupported_media_type"},
	412: {"revision_conflict"},
	422: {"input_invalid", "answer_invalid", "items_empty", "too_many_items", "too_many_tasks", "item_ids_not_unique", "definition_invalid", "expression_invalid", "expression_failed", "tests_invalid", "tests_stopped", "idempotency_key_reused"},
	429: {"rate_limited", "queue_full"},
	500: {"internal"},
	503: {"unavailable"},
}

// TestContractProblems holds docs/reference/api.md "Errors" where no other test does.
func TestContractProblems(t *testing.T) {
	t.Parallel()
	s := start(t)
	flow := deploy(t, s, echo)
	t.Run("pages", func(t *testing.T) { testProblemPages(t, s) })
	t.Run("routes", func(t *testing.T) { testRoutes(t, s, flow) })
	t.Run("sizes", func(t *testing.T) { testSizes(t, s, flow) })
	t.Run("media types", func(t *testing.T) { testMediaTypes(t, s, flow) })
	t.Run("many places", func(t *testing.T) { testManyPositions(t, s) })
	t.Run("limits", func(t *testing.T) { testLimits(t, s) })
	t.Run("health", func(t *testing.T) { testHealth(t, s) })
	t.Run("strict client", func(t *testing.T) { testHeadersOfAnswers(t, s, flow) })
}

// testProblemPages: type is an address that this server answers, offline and without a key.
func testProblemPages(t *testing.T, s *server) {
	for status, all := range codes {
		for _, code := range all {
			a := s.Do(t, "GET", "/problems/"+code, "", "X-Api-Key", "")
			wantStatus(t, a, 200)
			page := a.Object()
			if page["code"] != code || page["status"] != status || !isText(page["title"]) || page["type"] != s.URL+"/api/v1/problems/"+code {
				t.Errorf("%s: %s", code, a.Body)
			}
		}
	}
	a := s.Do(t, "GET", "/problems/nothing", "", "X-Api-Key", "")
	if a.Status != 404 {
		t.Errorf("a problem that does not exist: %d", a.Status)
	}
	// What the document says that an operation may answer has a page as well.
	document := string(s.Do(t, "GET", "/openapi.json", "", "X-Api-Key", "").Body)
	for _, all := range codes {
		for _, code := range all {
			if code != "item_ids_not_unique" && code != "route_not_found" && !strings.Contains(document, code) {
				t.Errorf("the document does not mention %s", code)
			}
		}
	}
}

func testRoutes(t *testing.T, s *server, flow string) {
	for _, path := range []string{"/nothing", "", "/", "/workflows/", "/workflows/" + flow + "/", "/workflows//executions", "/Workflows", "/workflows/" + flow + "/execution", "/workflows%2F" + flow, "/./workflows", "/x/../workflows"} {
		wantProblem(t, s, rawGet(t, s, "/api/v1"+path), 404, "route_not_found")
	}
	for _, path := range []string{"/", "/api", "/api/v2/workflows", "/favicon.ico", "/api/v1workflows"} {
		wantProblem(t, s, rawGet(t, s, path), 404, "route_not_found")
	}
	for path, allowed := range map[string]string{
		"/workflows": "GET HEAD POST", "/workflows/" + flow: "GET HEAD DELETE", executions(flow): "GET HEAD POST", batches(flow): "GET HEAD POST",
		executions(flow) + "/" + nobody: "GET HEAD DELETE", executions(flow) + "/" + nobody + "/cancel": "POST", "/limits": "GET HEAD",
	} {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW", "get"} {
			if slices.Contains(strings.Fields(allowed), method) {
				continue
			}
			a := raw(t, s, method+" /api/v1"+path+" HTTP/1.1\r\n"+common(s)+"\r\n")
			if a.Status != 405 {
				t.Errorf("%s %s: %d %s", method, path, a.Status, a.Body)
				continue
			}
			if method != "HEAD" { // whose answers have no body
				wantProblem(t, s, a, 405, "method_not_allowed")
			}
			for method := range strings.FieldsSeq(allowed) {
				if !strings.Contains(a.Header.Get("Allow"), method) {
					t.Errorf("%s: Allow %q", path, a.Header.Get("Allow"))
				}
			}
		}
	}
	head := raw(t, s, "HEAD /api/v1/workflows HTTP/1.1\r\n"+common(s)+"\r\n")
	if head.Status != 200 || len(head.Body) != 0 {
		t.Errorf("HEAD: %d %q", head.Status, head.Body)
	}
}

func rawGet(t *testing.T, s *server, target string) answer {
	t.Helper()
	return raw(t, s, "GET "+target+" HTTP/1.1\r\n"+common(s)+"\r\n")
}

// testSizes: 1 MiB for one execution, 32 MiB for a batch, 413 before the rest is read.
func testSizes(t *testing.T, s *server, flow string) {
	pad := func(prefix, suffix string, size int) string {
		return prefix + strings.Repeat(" ", size-len(prefix)-len(suffix)) + suffix
	}
	wantStatus(t, s.Do(t, "POST", executions(flow), pad(`{"input":{}`, "}", 1<<20)), 201)
	wantProblem(t, s, s.Do(t, "POST", executions(flow), pad(`{"input":{}`, "}", 1<<20+1)), 413, "payload_too_large")
	wantStatus(t, s.Do(t, "POST", batches(flow), pad(`{"items":[{}]`, "}", 4<<20)), 202)
	definition := definition(unique("large"), "1.0.0", echo)
	wantStatus(t, s.Do(t, "POST", "/workflows", definition+strings.Repeat("#", 1<<20-len(definition)), "Content-Type", "application/yaml"), 201)
	wantProblem(t, s, s.Do(t, "POST", "/workflows", definition+strings.Repeat("#", 1<<20), "Content-Type", "application/yaml"), 413, "payload_too_large")
	for path, size := range map[string]int{executions(flow): 1<<20 + 1, batches(flow): 32<<20 + 1, "/workflows": 10 << 20, "/workflows/validate": 10 << 20, "/api-keys": 10 << 20, executions(flow) + "/" + nobody + "/cancel": 10 << 20} {
		// Only the headers are sent.
		a := raw(t, s, fmt.Sprintf("POST /api/v1%s HTTP/1.1\r\n%sContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", path, common(s), size))
		wantProblem(t, s, a, 413, "payload_too_large")
		if !strings.Contains(text(a.Object()["detail"]), "bytes") {
			t.Errorf("the answer does not name the limit: %s", a.Body)
		}
	}
	// Without a length the limit counts as well.
	conn := dial(t, s)
	request := "POST /api/v1" + executions(flow) + " HTTP/1.1\r\n" + common(s) + "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
	chunk := "10000\r\n" + strings.Repeat(" ", 1<<16) + "\r\n"
	go func() { // until the server closes the connection
		_, err := io.WriteString(conn, request)
		for i := 0; i < 4096 && err == nil; i++ {
			_, err = io.WriteString(conn, chunk)
		}
	}()
	wantProblem(t, s, readAnswer(t, conn, request), 413, "payload_too_large")
}

func testMediaTypes(t *testing.T, s *server, flow string) {
	for _, good := range []string{"application/json", "application/json; charset=utf-8", "Application/JSON", "application/json;charset=UTF-8", `application/json; charset="utf-8"`} {
		wantStatus(t, s.Do(t, "POST", executions(flow), "{}", "Content-Type", good), 201)
	}
	for _, bad := range []string{"", "text/plain", "application/xml", "application/jsonx", "json", "application/json, text/plain", ";", "application/json; charset=latin-1", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"} {
		for _, path := range []string{executions(flow), batches(flow), "/api-keys"} {
			wantProblem(t, s, s.Do(t, "POST", path, `{}`, "Content-Type", bad), 415, "unsupported_media_type")
		}
	}
	for _, encoding := range []string{"gzip", "br", "x"} {
		wantProblem(t, s, s.Do(t, "POST", executions(flow), "{}", "Content-Encoding", encoding), 415, "unsupported_media_type")
	}
	wantStatus(t, s.Do(t, "POST", executions(flow), "", "Content-Type", ""), 201) // "Empty body on create is {}"
}

func testManyPositions(t *testing.T, s *server) {
	flow := deploy(t, s, "input: {schema: {document: {type: object, additionalProperties: {type: integer}}}}\n"+echo)
	var body strings.Builder
	body.WriteString(`{"input":{"a~b/c":"x"`)
	for i := range 500 {
		fmt.Fprintf(&body, `,"k%d":"x"`, i)
	}
	body.WriteString("}}")
	p := wantProblem(t, s, s.Do(t, "POST", executions(flow), body.String()), 422, "input_invalid")
	if n := len(list(p["errors"])); n != 100 {
		t.Errorf("%d places, at most 100", n)
	}
	p = wantProblem(t, s, s.Do(t, "POST", executions(flow), `{"input":{"a~b/c":"x","":null}}`), 422, "input_invalid")
	wantPointer(t, p, "/input/a~0b~1c")
	wantPointer(t, p, "/input/")
}

// testLimits: GET /limits tells every limit that docs/explanation/architecture.md names.
func testLimits(t *testing.T, s *server) {
	a := s.Do(t, "GET", "/limits", "")
	wantStatus(t, a, 200)
	reported := map[string]any{}
	for _, v := range list(a.Object()["data"]) {
		l := fields(v)
		shape{"name": isText, "value": isCount, "description": isText, "used?": isCount, "setting?": isText}.verify(t, "limit", v)
		reported[text(l["name"])] = l["value"]
	}
	for name, value := range map[string]int{
		"body_bytes": 1 << 20, "batch_body_bytes": 32 << 20, "definition_bytes": 1 << 20, "json_depth": 64, "batch_items": 10_000,
		"batch_concurrency": 100, "page_items": 100, "wait_seconds": 60, "upload_bytes": 1 << 30, "queued_executions": 10_000, "processes": 8,
		"scripts": 8, "script_seconds": 30, "processes_of_test": 4, "processes_of_workflow": 8, "outgoing_calls_of_test": 128,
		"process_seconds": 600, "process_memory_bytes": 1 << 30, "process_output_bytes": 16 << 20, "outgoing_calls": 256, "streams": 1024, "outgoing_call_seconds": 30,
		"http_inline_bytes": 8 << 20, "http_answer_bytes": 1 << 30, "openapi_document_bytes": 8 << 20, "grpc_message_bytes": 8 << 20, "grpc_stream_bytes": 16 << 20,
		"grpc_messages": 10_000, "asyncapi_message_bytes": 1 << 20, "nats_queue_messages": 10_000, "nats_queue_bytes": 16 << 20, "mcp_call_seconds": 60,
		"mcp_answer_bytes": 16 << 20, "a2a_call_seconds": 600, "a2a_stream_seconds": 3600, "a2a_answer_bytes": 16 << 20,
		"result_files": 1_000, "detached_processes": 100, "child_depth": 32, "open_children": 1_000, "tree_executions": 10_000, "resources": 64, "resource_bytes": 1 << 20,
		"definition_tasks": 10_000, "definition_depth": 256, "fork_branches": 1_000, "pure_steps": 100_000, "state_bytes": 16 << 20,
		"activity_output_bytes": 64 << 20, "expression_steps": 10_000_000, "expression_value_bytes": 16 << 20, "payload_inline_bytes": 128 << 10,
	} {
		if reported[name] != value {
			t.Errorf("limit %s is reported as %v, want %d", name, reported[name], value)
		}
	}
}

func testHealth(t *testing.T, s *server) {
	for _, path := range []string{"/healthz", "/readyz"} {
		wantStatus(t, s.Do(t, "GET", s.URL+path, "", "X-Api-Key", ""), 200)
		wantStatus(t, s.Do(t, "GET", s.URL+path, "", "X-Api-Key", "nonsense"), 200)
	}
	a := s.Do(t, "GET", s.URL+"/metrics", "")
	if a.Status != 200 || !strings.Contains(string(a.Body), "chargehand_") {
		t.Errorf("/metrics: %d %.200s", a.Status, a.Body)
	}
}

// testHeadersOfAnswers: every answer has a request id, and none may be sniffed.
func testHeadersOfAnswers(t *testing.T, s *server, flow string) {
	ids := map[string]bool{}
	for _, r := range [][3]string{{"GET", "/workflows", ""}, {"POST", executions(flow), "{}"}, {"GET", "/nothing", ""}, {"POST", executions(flow), "{"}, {"GET", "/limits", ""}} {
		a := s.Do(t, r[0], r[1], r[2])
		id := a.Header.Get("X-Request-Id")
		if id == "" || ids[id] || a.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s %s: %v", r[0], r[1], a.Header)
		}
		ids[id] = true
	}
}

// TestContractQueueFull: "Queued executions per workflow 10,000 (queue_full; batch items
// exempt)", with Retry-After, and another workflow is not hurt.
func TestContractQueueFull(t *testing.T) {
	t.Parallel()
	s := start(t, "--max-running", "1", "--allow-run", "shell")
	// A process may take longer than all that follows, on a busy machine too; an outgoing call may not.
	blocker := deploy(t, s, "do:\n- sleep: {run: {shell: {command: sleep, arguments: ['590']}}}\n")
	flow, other := deploy(t, s, echo), deploy(t, s, echo)
	first := begin(t, s, blocker, "{}")
	eventually(t, "the only slot is taken", func() bool {
		return text(s.Do(t, "GET", first, "").Object()["phase"]) == "running"
	})
	// A batch fills no queue.
	wantStatus(t, s.Do(t, "POST", batches(flow)+"?executions=none", `{"items":[{}`+strings.Repeat(",{}", 9_999)+`]}`), 202)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32}}
	var sent, refused atomic.Int64
	var group sync.WaitGroup
	for range 32 {
		group.Go(func() {
			for refused.Load() == 0 && sent.Add(1) <= 10_100 {
				req, _ := http.NewRequest("POST", s.URL+"/api/v1"+executions(flow), strings.NewReader(`{}`))
				req.Header = http.Header{"X-Api-Key": {s.Key}, "Content-Type": {"application/json"}}
				resp, err := client.Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				if resp.StatusCode != 201 {
					refused.Add(1)
				}
			}
		})
	}
	group.Wait()
	if n := sent.Load() - refused.Load(); refused.Load() == 0 || n < 9_900 || n > 10_032 {
		t.Errorf("%d executions were queued before the first of %d was refused", n, refused.Load())
	}
	wantProblem(t, s, s.Do(t, "POST", executions(flow), "{}"), 429, "queue_full")
	wantStatus(t, s.Do(t, "POST", executions(other), "{}"), 201)
	test := servertest.CreateKey(t, s.DataDir, "--environment", "test")
	wantStatus(t, s.Do(t, "POST", executions(flow), "{}", "X-Api-Key", test), 201) // each environment has its own queue
	wantStatus(t, s.Do(t, "POST", first+"/cancel", ""), 202)
}
