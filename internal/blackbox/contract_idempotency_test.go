package blackbox_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chargehand/chargehand/internal/servertest"
)

// TestContractIdempotency holds docs/reference/api.md "Limits, repetition, waiting" to what it says of
// Idempotency-Key.
func TestContractIdempotency(t *testing.T) {
	t.Parallel()
	s := start(t, egress...)
	flow := deploy(t, s, fallible)
	t.Run("start", func(t *testing.T) { testRepeatedStart(t, s, flow) })
	t.Run("every POST", func(t *testing.T) { testRepeatedPosts(t, s) })
	t.Run("upload", func(t *testing.T) { testRepeatedUpload(t, s) })
	t.Run("not stored", func(t *testing.T) { testErrorsNotStored(t, s) })
	t.Run("scope", func(t *testing.T) { testIdempotencyScope(t, s, flow) })
	t.Run("in progress", func(t *testing.T) { testIdempotencyInProgress(t, s) })
	t.Run("at once", func(t *testing.T) { testRepeatedAtOnce(t, s, flow) })
	t.Run("keys", func(t *testing.T) { testIdempotencyKeys(t, s, flow) })
	t.Run("after a restart", testRepeatedAfterRestart)
}

// again sends the same request twice with one key and wants the original answer again.
func again(t *testing.T, s *server, key, path, body string, headers ...string) (first, second answer) {
	t.Helper()
	headers = append(headers, "Idempotency-Key", key)
	first, second = s.Do(t, "POST", path, body, headers...), s.Do(t, "POST", path, body, headers...)
	if first.Header.Get("Idempotency-Replayed") != "" || first.Status >= 300 {
		t.Fatalf("the first request: %d %v %s", first.Status, first.Header, first.Body)
	}
	if second.Status != first.Status || second.Header.Get("Idempotency-Replayed") != "true" {
		t.Fatalf("the second request: %d %v %s", second.Status, second.Header, second.Body)
	}
	for _, name := range []string{"Location", "Content-Type"} {
		if second.Header.Get(name) != first.Header.Get(name) {
			t.Errorf("%s %q, then %q", name, first.Header.Get(name), second.Header.Get(name))
		}
	}
	wantProblem(t, s, s.Do(t, "POST", path, "{ }"+strings.Repeat(" ", 7), headers...), 422, "idempotency_key_reused")
	return first, second
}

func testRepeatedStart(t *testing.T, s *server, flow string) {
	first, second := again(t, s, "start", executions(flow), `{"input":{"n":1}}`)
	if string(first.Body) != string(second.Body) {
		t.Errorf("not the original answer again:\n%s\n%s", first.Body, second.Body)
	}
	path := executions(flow) + "/" + text(first.Object()["execution_id"])
	finish(t, s, path)
	third := s.Do(t, "POST", executions(flow), `{"input":{"n":1}}`, "Idempotency-Key", "start")
	if string(first.Body) != string(third.Body) {
		t.Errorf("not the original answer after the end:\n%s\n%s", first.Body, third.Body)
	}
	// "wait applies anew"
	waited := s.Do(t, "POST", executions(flow)+"?wait=60s", `{"input":{"n":1}}`, "Idempotency-Key", "start")
	wantStatus(t, waited, 201)
	if waited.Object()["status"] != "finished" || waited.Object()["execution_id"] != first.Object()["execution_id"] {
		t.Errorf("a repetition with wait: %s", waited.Body)
	}
	bad := s.Do(t, "POST", executions(flow)+"?wait=60s", `{"input":{"bad":true}}`, "Idempotency-Key", "fails")
	if bad.Object()["status"] != "error" {
		t.Fatalf("%s", bad.Body)
	}
	repeated := s.Do(t, "POST", executions(flow), `{"input":{"bad":true}}`, "Idempotency-Key", "fails")
	if repeated.Status != 201 || repeated.Object()["execution_id"] != bad.Object()["execution_id"] {
		t.Errorf("an execution that ended in error is not a request that failed: %s", repeated.Body)
	}
	if n := len(list(s.Do(t, "GET", executions(flow), "").Object()["data"])); n != 2 {
		t.Errorf("%d executions of two requests", n)
	}
}

func testRepeatedPosts(t *testing.T, s *server) {
	flow := deploy(t, s, sleep)
	first, second := again(t, s, "batch", batches(flow), `{"items":[{"a":1},{"a":2}]}`)
	if string(first.Body) != string(second.Body) {
		t.Errorf("not the original batch:\n%s\n%s", first.Body, second.Body)
	}
	path := begin(t, s, flow, "{}")
	await(t, s, path, "processing")
	again(t, s, "cancel", path+"/cancel", `{"reason":"enough"}`)
	again(t, s, "retry", path+"/retry", "{}")
	batch := batches(flow) + "/" + text(first.Object()["batch_id"])
	again(t, s, "cancel batch", batch+"/cancel", `{"reason":"enough"}`)
	again(t, s, "publish", "/workflows/"+flow+"/versions/1.0.0/publish", "")
	again(t, s, "key", "/api-keys", `{"name":"k"}`)
	first, second = again(t, s, "apply", "/workflows", definition(unique("flow"), "1.0.0", echo), "Content-Type", "application/yaml")
	if first.Status != 201 || !equal(first.JSON, second.JSON) {
		t.Errorf("applied as %s, then %s", first.Body, second.Body)
	}
	wantStatus(t, s.Do(t, "DELETE", "/workflows/"+flow, ""), 204)
	a := s.Do(t, "POST", batches(flow), `{"items":[{"a":1},{"a":2}]}`, "Idempotency-Key", "batch")
	if a.Status != 202 || a.Header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("the repetition comes before the workflow in the order of checks: %d %s", a.Status, a.Body)
	}
}

func testRepeatedUpload(t *testing.T, s *server) {
	upload := func(name, content string) answer {
		return s.Do(t, "POST", "/files?filename="+name, content, "Content-Type", "text/plain", "Idempotency-Key", "file")
	}
	first, second := upload("a.txt", "content"), upload("a.txt", "content")
	wantStatus(t, first, 201)
	wantStatus(t, second, 201)
	if first.Object()["id"] != second.Object()["id"] || second.Header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("%s\n%s", first.Body, second.Body)
	}
	wantProblem(t, s, upload("a.txt", "other content"), 422, "idempotency_key_reused")
}

// testErrorsNotStored: "Validation errors and 5xx are not stored".
func testErrorsNotStored(t *testing.T, s *server) {
	strict := deploy(t, s, "input: {schema: {document: {type: object, required: [n]}}}\n"+echo)
	for i, bad := range []string{`{"input":{}}`, `{"input":5}`, `{"inputs":{}}`, `{"input"`} {
		key := "fix-" + string(rune('a'+i))
		if a := s.Do(t, "POST", executions(strict), bad, "Idempotency-Key", key); a.Status < 400 || a.Status > 499 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		good := s.Do(t, "POST", executions(strict), `{"input":{"n":1}}`, "Idempotency-Key", key)
		if good.Status != 201 || good.Header.Get("Idempotency-Replayed") != "" {
			t.Errorf("after the mistake was corrected: %d %s", good.Status, good.Body)
		}
	}
	wantProblem(t, s, s.Do(t, "POST", batches(strict), `{"items":[{}]}`, "Idempotency-Key", "b"), 422, "input_invalid")
	wantStatus(t, s.Do(t, "POST", batches(strict), `{"items":[{"n":1}]}`, "Idempotency-Key", "b"), 202)
	wantProblem(t, s, s.Do(t, "POST", "/workflows", "do: []", "Content-Type", "application/yaml", "Idempotency-Key", "w"), 422, "definition_invalid")
	wantStatus(t, s.Do(t, "POST", "/workflows", definition(unique("flow"), "1.0.0", echo), "Content-Type", "application/yaml", "Idempotency-Key", "w"), 201)
}

// testIdempotencyScope: "scope: person or key, environment, method, concrete path".
func testIdempotencyScope(t *testing.T, s *server, flow string) {
	other := deploy(t, s, echo)
	test := servertest.CreateKey(t, s.DataDir, "--environment", "test", "--preset", "all")
	second := servertest.CreateKey(t, s.DataDir)
	var ids []any
	for _, r := range []struct{ path, key string }{
		{executions(flow), s.Key}, {executions(other), s.Key}, {executions(flow), test}, {executions(flow), second},
	} {
		a := s.Do(t, "POST", r.path, `{"input":{}}`, "Idempotency-Key", "shared", "X-Api-Key", r.key)
		wantStatus(t, a, 201)
		if a.Header.Get("Idempotency-Replayed") != "" || slices.Contains(ids, a.Object()["execution_id"]) {
			t.Errorf("%s repeats another request", r.path)
		}
		ids = append(ids, a.Object()["execution_id"])
	}
	wantStatus(t, s.Do(t, "POST", batches(flow), `{"items":[{}]}`, "Idempotency-Key", "shared"), 202)
	a := s.Do(t, "POST", executions(flow)+"?trace=1", `{"input":{}}`, "Idempotency-Key", "shared")
	if a.Header.Get("Idempotency-Replayed") != "true" || a.Object()["execution_id"] != ids[0] {
		t.Errorf("the same path with another query: %v %s", a.Header, a.Body)
	}
	wantStatus(t, s.Do(t, "GET", "/workflows", "", "Idempotency-Key", "shared"), 200)
}

// testIdempotencyInProgress: "still running in this process: 409".
func testIdempotencyInProgress(t *testing.T, s *server) {
	calls := newBarrier(t)
	flow := deploy(t, s, calls.flow())
	first := make(chan answer)
	go func() {
		a, err := s.Try("POST", executions(flow)+"?wait=60s", `{"input":{"n":1}}`, "Idempotency-Key", "slow")
		if err != nil {
			t.Error(err)
		}
		first <- a
	}()
	calls.await(1) // the first request made its execution and waits for its end
	wantProblem(t, s, s.Do(t, "POST", executions(flow), `{"input":{"n":1}}`, "Idempotency-Key", "slow"), 409, "idempotency_in_progress")
	wantStatus(t, s.Do(t, "POST", executions(flow), `{"input":{"n":1}}`, "Idempotency-Key", "other"), 201)
	calls.release()
	a := <-first
	if a.Status != 201 || a.Object()["status"] != "finished" {
		t.Fatalf("the first request: %d %s", a.Status, a.Body)
	}
	b := s.Do(t, "POST", executions(flow), `{"input":{"n":1}}`, "Idempotency-Key", "slow")
	if b.Status != 201 || b.Object()["execution_id"] != a.Object()["execution_id"] {
		t.Errorf("after the end: %d %s", b.Status, b.Body)
	}
}

func testRepeatedAtOnce(t *testing.T, s *server, flow string) {
	var mu sync.Mutex
	var group sync.WaitGroup
	made, originals := map[any]bool{}, 0
	for range 24 {
		group.Go(func() {
			a, err := s.Try("POST", executions(flow), `{"input":{"once":true}}`, "Idempotency-Key", "at once")
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case a.Status == 201:
				made[a.Object()["execution_id"]] = true
				if a.Header.Get("Idempotency-Replayed") == "" {
					originals++
				}
			case a.Status != 409 || a.Object()["code"] != "idempotency_in_progress":
				t.Errorf("%d %s", a.Status, a.Body)
			}
		})
	}
	group.Wait()
	if len(made) != 1 || originals != 1 {
		t.Errorf("%d executions, %d answers that are no repetition", len(made), originals)
	}
}

func testIdempotencyKeys(t *testing.T, s *server, flow string) {
	for _, good := range []string{"x", strings.Repeat("k", 255), "with spaces, \"quotes\" and ; signs", strings.Repeat("é", 255)} {
		wantStatus(t, s.Do(t, "POST", executions(flow), "{}", "Idempotency-Key", good), 201)
	}
	request := func(headers string) answer {
		return raw(t, s, "POST /api/v1"+executions(flow)+" HTTP/1.1\r\n"+common(s)+
			"Content-Type: application/json\r\nContent-Length: 2\r\n"+headers+"\r\n{}")
	}
	for _, bad := range []string{
		"Idempotency-Key:\r\n", "Idempotency-Key:   \r\n", "Idempotency-Key: " + strings.Repeat("k", 256) + "\r\n",
		"Idempotency-Key: a\xffb\r\n", "Idempotency-Key: a\r\nIdempotency-Key: b\r\n", "Idempotency-Key: a\tb\r\n",
	} {
		a := request(bad)
		wantParameter(t, wantProblem(t, s, a, 400, "invalid_parameter"), "Idempotency-Key")
	}
}

func testRepeatedAfterRestart(t *testing.T) {
	s := start(t)
	flow := deploy(t, s, echo)
	first := s.Do(t, "POST", executions(flow), `{"input":{"a":1}}`, "Idempotency-Key", "durable")
	wantStatus(t, first, 201)
	s.Kill()
	revived := servertest.Launch(t, servertest.Options{DataDir: s.DataDir})
	revived.Key = s.Key
	second := revived.Do(t, "POST", executions(flow), `{"input":{"a":1}}`, "Idempotency-Key", "durable")
	if second.Header.Get("Idempotency-Replayed") != "true" || second.Object()["execution_id"] != first.Object()["execution_id"] {
		t.Errorf("after a kill: %v %s", second.Header, second.Body)
	}
}
