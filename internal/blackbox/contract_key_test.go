package blackbox_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand/internal/servertest"
	"github.com/chargehand/chargehand/internal/value"
)

var keyText = regexp.MustCompile(`^sk_(live|test)_[0-9A-Za-z]{38}$`)

// TestContractKeys holds docs/reference/api.md "Keys".
func TestContractKeys(t *testing.T) {
	t.Parallel()
	s := start(t)
	workflow := deploy(t, s, echo)
	t.Run("headers", func(t *testing.T) { testKeyHeaders(t, s, workflow) })
	t.Run("refused", func(t *testing.T) { testRefusedKeys(t, s) })
	t.Run("made beside the server", func(t *testing.T) { testKeyBeside(t, s) })
	t.Run("revoked", func(t *testing.T) { testKeyRevoked(t, s) })
	t.Run("expiry", func(t *testing.T) { testKeyExpiry(t, s) })
	t.Run("shown once", func(t *testing.T) { testKeyShownOnce(t, s) })
	t.Run("grants", func(t *testing.T) { testKeyGrants(t, s) })
	t.Run("list of workflows", func(t *testing.T) { testKeyWorkflows(t, s, workflow) })
	t.Run("environments", func(t *testing.T) { testKeyEnvironments(t, s) })
	t.Run("at rest", func(t *testing.T) { testKeyAtRest(t, s) })
}

// testKeyHeaders: both headers work on every endpoint of the contract, the scheme in any
// case; two different keys are 400; a key in a query string is none.
func testKeyHeaders(t *testing.T, s *server, workflow string) {
	path := begin(t, s, workflow, "{}")
	requests := []struct{ method, path, body string }{
		{"GET", "/workflows", ""}, {"POST", executions(workflow), "{}"}, {"GET", path, ""}, {"POST", batches(workflow), `{"items":[{}]}`},
	}
	for _, r := range requests {
		for _, headers := range [][]string{
			{"X-Api-Key", s.Key}, {"x-api-key", s.Key}, {"X-Api-Key", "", "Authorization", "Bearer " + s.Key},
			{"X-Api-Key", "", "Authorization", "bearer " + s.Key}, {"X-Api-Key", "", "Authorization", "BEARER " + s.Key},
			{"X-Api-Key", s.Key, "Authorization", "Bearer " + s.Key},
		} {
			if a := s.Do(t, r.method, r.path, r.body, headers...); a.Status >= 300 {
				t.Errorf("%s %s with %q: %d %s", r.method, r.path, headers, a.Status, a.Body)
			}
		}
		other := servertest.CreateKey(t, s.DataDir)
		a := s.Do(t, r.method, r.path, r.body, "X-Api-Key", s.Key, "Authorization", "Bearer "+other)
		wantProblem(t, s, a, 400, "ambiguous_credentials")
		a = s.Do(t, r.method, r.path+"?api_key="+s.Key+"&x-api-key="+s.Key+"&key="+s.Key, r.body, "X-Api-Key", "")
		wantProblem(t, s, a, 401, "missing_api_key")
		if strings.Contains(string(a.Body), s.Key) {
			t.Errorf("the answer repeats a key: %s", a.Body)
		}
	}
}

func testRefusedKeys(t *testing.T, s *server) {
	last := s.Key[len(s.Key)-1]
	typo := s.Key[:len(s.Key)-1] + string('A'+(last-'A'+1+26)%26)
	for name, headers := range map[string][]string{
		"none":           {"X-Api-Key", ""},
		"other scheme":   {"X-Api-Key", "", "Authorization", "Basic dXNlcjpwYXNz"},
		"no token":       {"X-Api-Key", "", "Authorization", "Bearer"},
		"key, no scheme": {"X-Api-Key", "", "Authorization", s.Key},
	} {
		t.Run(name, func(t *testing.T) {
			wantProblem(t, s, s.Do(t, "GET", "/workflows", "", headers...), 401, "missing_api_key")
		})
	}
	other := start(t)
	for name, key := range map[string]string{
		"typo": typo, "half": s.Key[:20], "text": "secret", "long": strings.Repeat("sk_live_", 1000), "prefix": "sk_live_",
		"other installation": other.Key, "other prefix": strings.Replace(s.Key, "sk_live_", "sk_test_", 1),
		"upper case": strings.ToUpper(s.Key), "with quotes": `"` + s.Key + `"`,
	} {
		t.Run(name, func(t *testing.T) {
			wantProblem(t, s, s.Do(t, "GET", "/workflows", "", "X-Api-Key", key), 401, "invalid_api_key")
			wantProblem(t, s, s.Do(t, "GET", "/workflows", "", "X-Api-Key", "", "Authorization", "Bearer "+key), 401, "invalid_api_key")
		})
	}
}

// testKeyBeside: "works beside a running server"; a new key counts within 1 s.
func testKeyBeside(t *testing.T, s *server) {
	for _, environment := range []string{"live", "test"} {
		key := servertest.CreateKey(t, s.DataDir, "--environment", environment, "--name", "beside")
		if m := keyText.FindStringSubmatch(key); m == nil || m[1] != environment {
			t.Errorf("not a key of %s by its form", environment)
		}
		until(t, time.Second, "the new key counts", func() bool {
			return s.Do(t, "GET", "/workflows", "", "X-Api-Key", key).Status == 200
		})
		wantProblem(t, s, s.Do(t, "GET", "/api-keys", "", "X-Api-Key", key), 403, "insufficient_scope") // default preset: run
	}
}

func testKeyRevoked(t *testing.T, s *server) {
	made := s.Do(t, "POST", "/api-keys", `{"name":"short-lived","preset":"run"}`)
	wantStatus(t, made, 201)
	key := text(made.Object()["key"])
	wantStatus(t, s.Do(t, "GET", "/workflows", "", "X-Api-Key", key), 200)
	wantStatus(t, s.Do(t, "DELETE", "/api-keys/"+text(made.Object()["id"]), ""), 204)
	until(t, time.Second, "the revoked key counts no more", func() bool {
		return s.Do(t, "GET", "/workflows", "", "X-Api-Key", key).Status == 401
	})
	wantProblem(t, s, s.Do(t, "GET", "/workflows", "", "X-Api-Key", key), 401, "invalid_api_key")
	wantProblem(t, s, s.Do(t, "DELETE", "/api-keys/"+text(made.Object()["id"]), ""), 404, "api_key_not_found")
}

func testKeyExpiry(t *testing.T, s *server) {
	key := servertest.CreateKey(t, s.DataDir, "--expires", "3s") // the command needs some of it to open the installation
	until(t, 10*time.Second, "the key expires", func() bool {
		return s.Do(t, "GET", "/workflows", "", "X-Api-Key", key).Status == 401
	})
	wantProblem(t, s, s.Do(t, "GET", "/workflows", "", "X-Api-Key", key), 401, "expired_api_key")
	made := s.Do(t, "POST", "/api-keys", `{"name":"later","expires_at":"2090-01-31T12:00:00+02:00"}`)
	wantStatus(t, made, 201)
	if made.Object()["expires_at"] != "2090-01-31T10:00:00.000Z" {
		t.Errorf("expires_at: %s", made.Body)
	}
	for _, bad := range []string{`"tomorrow"`, "1", `"2001-01-01T00:00:00Z"`, "true", `"2090-02-31T12:00:00Z"`} {
		p := wantProblem(t, s, s.Do(t, "POST", "/api-keys", `{"name":"bad","expires_at":`+bad+`}`), 400, "invalid_body")
		wantPointer(t, p, "/expires_at")
	}
}

var keyShape = shape{
	"id": isUUID, "name": isText, "environment": oneOf("live", "test"), "scopes": isList, "created_at": isMoment,
	"prefix": oneOf("sk_live_", "sk_test_"), "last_four": isText, "workflows?": isList, "rate_limit?": isCount,
	"expires_at?": isMoment, "last_used_at?": isMoment, "created_by?": isUUID,
}

// testKeyShownOnce: "Shown once; lists show prefix and last four".
func testKeyShownOnce(t *testing.T, s *server) {
	body := `{"name":"once","scopes":["workflows:read"]}`
	made := s.Do(t, "POST", "/api-keys", body, "Idempotency-Key", "once")
	wantStatus(t, made, 201)
	keyShape.but(shape{"key": isText}).verify(t, "new key", made.JSON)
	key, id := text(made.Object()["key"]), text(made.Object()["id"])
	if !keyText.MatchString(key) || !strings.HasSuffix(key, text(made.Object()["last_four"])) {
		t.Errorf("form of the key: %s", made.Body)
	}
	again := s.Do(t, "POST", "/api-keys", body, "Idempotency-Key", "once")
	wantStatus(t, again, 201)
	if again.Header.Get("Idempotency-Replayed") != "true" || again.Object()["id"] != id {
		t.Errorf("not the original answer: %v %s", again.Header, again.Body)
	}
	wantStatus(t, s.Do(t, "GET", "/workflows", "", "X-Api-Key", key), 200)
	read := s.Do(t, "GET", "/api-keys/"+id, "")
	keyShape.but(shape{"last_used_at": isMoment}).verify(t, "key", read.JSON)
	for _, a := range []answer{again, read, s.Do(t, "GET", "/api-keys", "")} {
		wantStatus(t, a, map[bool]int{true: 201, false: 200}[a.Header.Get("Location") != ""])
		if strings.Contains(string(a.Body), key) {
			t.Errorf("the key is shown again: %s", a.Body)
		}
	}
	wantStatus(t, s.Do(t, "PATCH", "/api-keys/"+id, `{"scopes":["executions:read"]}`), 200)
	until(t, time.Second, "the changed scopes count", func() bool {
		return s.Do(t, "GET", "/workflows", "", "X-Api-Key", key).Status == 403
	})
}

// testKeyGrants: "A key grants at most its own scopes, in its own environment".
func testKeyGrants(t *testing.T, s *server) {
	admin := servertest.CreateKey(t, s.DataDir, "--scopes", "admin,workflows:read")
	for _, body := range []string{`{"name":"more","scopes":["executions:create"]}`, `{"name":"more"}`, `{"name":"more","preset":"all"}`} {
		wantProblem(t, s, s.Do(t, "POST", "/api-keys", body, "X-Api-Key", admin), 403, "insufficient_scope")
	}
	wantStatus(t, s.Do(t, "POST", "/api-keys", `{"name":"less","scopes":["workflows:read"]}`, "X-Api-Key", admin), 201)
	made := s.Do(t, "POST", "/api-keys", `{"name":"victim","preset":"run"}`)
	wantStatus(t, made, 201)
	path := "/api-keys/" + text(made.Object()["id"])
	wantProblem(t, s, s.Do(t, "PATCH", path, `{"scopes":["executions:manage"]}`, "X-Api-Key", admin), 403, "insufficient_scope")
	for body, pointer := range map[string]string{
		`{"name":"x","scopes":["nothing"]}`: "/scopes/0", `{"name":"x","scopes":"admin"}`: "/scopes", `{"name":"x","scopes":[1]}`: "/scopes/0",
		`{"name":"x","preset":"root"}`: "/preset", `{"name":5}`: "/name", `{"name":"x","environment":"prod"}`: "/environment",
		`{"name":"x","workflows":["nope"]}`: "/workflows/0", `{"name":"x","workflows":{}}`: "/workflows", `{}`: "/name", `{"name":""}`: "/name",
	} {
		wantPointer(t, wantProblem(t, s, s.Do(t, "POST", "/api-keys", body), 400, "invalid_body"), pointer)
	}
	test := servertest.CreateKey(t, s.DataDir, "--environment", "test", "--preset", "all")
	for _, m := range []string{"GET", "DELETE"} {
		wantProblem(t, s, s.Do(t, m, path, "", "X-Api-Key", test), 404, "api_key_not_found")
	}
}

// testKeyWorkflows: what lies outside of the key's list does not exist for it.
func testKeyWorkflows(t *testing.T, s *server, allowed string) {
	other := deploy(t, s, echo)
	path, batch := begin(t, s, other, "{}"), s.Do(t, "POST", batches(other), `{"items":[{}]}`)
	wantStatus(t, batch, 202)
	own := begin(t, s, allowed, "{}")
	finish(t, s, path)
	wantStatus(t, s.Do(t, "GET", "/files/"+path[strings.LastIndex(path, "/")+1:]+"/content", ""), 200) // its output.json
	made := s.Do(t, "POST", "/api-keys", `{"name":"few","scopes":["workflows:read","workflows:write","workflows:publish",
		"executions:create","executions:read","executions:manage","files:write"],"workflows":["`+allowed+`"]}`)
	wantStatus(t, made, 201)
	key := text(made.Object()["key"])
	seen := list(s.Do(t, "GET", "/workflows", "", "X-Api-Key", key).Object()["data"])
	if len(seen) != 1 || fields(seen[0])["id"] != allowed {
		t.Errorf("the key sees %s", value.Marshal(seen))
	}
	wantStatus(t, s.Do(t, "GET", own, "", "X-Api-Key", key), 200)
	for _, r := range []struct{ method, path, body, code string }{
		{"GET", "/workflows/" + other, "", "workflow_not_found"}, {"POST", executions(other), "{}", "workflow_not_found"},
		{"POST", batches(other), `{"items":[{}]}`, "workflow_not_found"}, {"GET", path, "", "execution_not_found"},
		{"POST", path + "/cancel", "", "execution_not_found"}, {"GET", path + "/timeline", "", "execution_not_found"},
		{"GET", path + "/progress", "", "execution_not_found"}, {"GET", path + "/graph", "", "execution_not_found"},
		{"GET", path + "/recording", "", "execution_not_found"}, {"GET", path + "/archive", "", "execution_not_found"},
		{"POST", path + "/retry", "", "execution_not_found"}, {"DELETE", "/workflows/" + other, "", "workflow_not_found"},
		{"GET", batches(other) + "/" + text(batch.Object()["batch_id"]), "", "batch_not_found"},
		{"GET", "/workflows/" + other + "/versions", "", "workflow_not_found"}, {"GET", executions(other), "", "workflow_not_found"},
		{"POST", "/workflows/" + other + "/versions/1.0.0/publish", "", "workflow_not_found"},
		{"GET", batches(other), "", "workflow_not_found"}, {"GET", "/files/" + path[strings.LastIndex(path, "/")+1:] + "/content", "", "file_not_found"},
		{"GET", "/files/" + path[strings.LastIndex(path, "/")+1:], "", "file_not_found"},
	} {
		t.Run(r.method+" "+strings.ReplaceAll(r.path, other, "W"), func(t *testing.T) {
			wantProblem(t, s, s.Do(t, r.method, r.path, r.body, "X-Api-Key", key), 404, r.code)
		})
	}
	wantStatus(t, s.Do(t, "POST", batches(other), `{"items":[{}`+strings.Repeat(",{}", 300)+`]}`), 202)
	begin(t, s, allowed, "{}")
	limited := &server{URL: s.URL, Key: key}
	for _, limit := range []int{1, 2, 100} { // pages are full although most rows are not the key's
		mine := walk(t, limited, "/executions", limit)
		for _, e := range mine {
			if e["workflow_id"] != allowed {
				t.Errorf("the key sees the execution %s", value.Marshal(e))
			}
		}
		if all := walk(t, s, executions(allowed), 100); len(mine) != len(all) {
			t.Errorf("with limit %d the key sees %d of its %d executions", limit, len(mine), len(all))
		}
	}
	wantProblem(t, s, s.Do(t, "POST", "/api-keys", `{"name":"all","preset":"run"}`, "X-Api-Key", key), 403, "insufficient_scope")
	for _, limit := range []string{`"workflows":["` + allowed + `"]`, `"namespaces":["contract"]`} {
		wantProblem(t, s, s.Do(t, "POST", "/api-keys", `{"name":"admin","preset":"all",`+limit+`}`), 400, "invalid_body")
	}
}

// testKeyEnvironments: executions, batches, files and idempotency keys belong to one
// environment, workflows are shared.
func testKeyEnvironments(t *testing.T, s *server) {
	test := servertest.CreateKey(t, s.DataDir, "--environment", "test", "--preset", "all")
	workflow := deploy(t, s, echo)
	path := begin(t, s, workflow, "{}")
	batch := batches(workflow) + "/" + text(s.Do(t, "POST", batches(workflow), `{"items":[{}]}`).Object()["batch_id"])
	file := "/files/" + text(s.Do(t, "POST", "/files?filename=a", "x", "Content-Type", "text/plain").Object()["id"])
	for _, p := range []string{path, path + "/timeline", path + "/progress", path + "/graph", batch, batch + "/items", file, file + "/content"} {
		wantStatus(t, s.Do(t, "GET", p, ""), 200)
		if a := s.Do(t, "GET", p, "", "X-Api-Key", test); a.Status != 404 {
			t.Errorf("the other environment reads %s: %d", p, a.Status)
		}
	}
	for _, p := range []string{path + "/cancel", path + "/retry", batch + "/cancel"} {
		if a := s.Do(t, "POST", p, "", "X-Api-Key", test); a.Status != 404 {
			t.Errorf("POST %s in the other environment: %d", p, a.Status)
		}
	}
	for _, p := range []string{"/executions", executions(workflow), batches(workflow)} {
		if a := s.Do(t, "GET", p, "", "X-Api-Key", test); a.Status != 200 || len(list(a.Object()["data"])) != 0 {
			t.Errorf("the other environment lists %s", a.Body)
		}
	}
	live := s.Do(t, "POST", executions(workflow), `{"input":{"a":1}}`, "Idempotency-Key", "both")
	tried := s.Do(t, "POST", executions(workflow), `{"input":{"a":2}}`, "Idempotency-Key", "both", "X-Api-Key", test)
	wantStatus(t, live, 201)
	wantStatus(t, tried, 201)
	if tried.Object()["environment"] != "test" || live.Object()["environment"] != "live" {
		t.Errorf("environments: %s %s", live.Body, tried.Body)
	}
	sees := func(w any) bool { return fields(w)["id"] == workflow }
	if data := list(s.Do(t, "GET", "/workflows", "", "X-Api-Key", test).Object()["data"]); !slices.ContainsFunc(data, sees) {
		t.Error("the workflow is not shared with the other environment")
	}
}

// testKeyAtRest: keys are stored as digests; the master key is for the owner's eyes only.
func testKeyAtRest(t *testing.T, s *server) {
	err := filepath.WalkDir(s.DataDir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), s.Key[len("sk_live_"):]) {
			t.Errorf("%s holds an API key in plain text", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(s.Log(), s.Key) {
		t.Error("the log holds an API key")
	}
	info, err := os.Stat(filepath.Join(s.DataDir, "master.key"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the master key: %v %v", info, err)
	}
}
