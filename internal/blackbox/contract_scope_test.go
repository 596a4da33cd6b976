package blackbox_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/servertest"
)

// Ids of the right form that name nothing.
const nobody = "01900000-0000-7000-8000-000000000000"

// scopes is the table of docs/reference/api.md "All other routes", and the four endpoints, as far as
// they exist by now: the scope that each route needs. An empty one is any key.
var scopes = []struct{ method, path, scope, body string }{
	{"GET", "/workflows", "workflows:read", ""},
	{"POST", "/workflows/W/executions", "executions:create", "{}"},
	{"GET", "/workflows/W/executions/E", "executions:read", ""},
	{"POST", "/workflows/W/batch", "executions:create", `{"items":[{}]}`},
	{"POST", "/workflows", "workflows:write", "{}"},
	{"POST", "/workflows/validate", "workflows:read", "{}"},
	{"POST", "/expressions/evaluate", "workflows:write", `{"expression":"1"}`},
	{"POST", "/workflows/test", "workflows:write", "{}"},
	{"GET", "/workflows/W", "workflows:read", ""},
	{"DELETE", "/workflows/W", "workflows:write", ""},
	{"GET", "/workflows/W/versions", "workflows:read", ""},
	{"GET", "/workflows/W/versions/1.0.0", "workflows:read", ""},
	{"POST", "/workflows/W/versions/1.0.0/publish", "workflows:publish", ""},
	{"GET", "/executions", "executions:read", ""},
	{"GET", "/executions/count", "executions:read", ""},
	{"GET", "/executions/failures", "executions:read", ""},
	{"GET", "/overview", "executions:read", ""},
	{"GET", "/workflows/W/executions", "executions:read", ""},
	{"POST", "/workflows/W/executions/E/cancel", "executions:manage", ""},
	{"POST", "/workflows/W/executions/E/retry", "executions:manage", ""},
	{"POST", "/workflows/W/executions/E/suspend", "executions:manage", ""},
	{"POST", "/workflows/W/executions/E/resume", "executions:manage", ""},
	{"DELETE", "/workflows/W/executions/E", "executions:manage", ""},
	{"DELETE", "/workflows/W/batch/B", "executions:manage", ""},
	{"GET", "/workflows/W/executions/E/timeline", "executions:read", ""},
	{"GET", "/workflows/W/executions/E/progress", "executions:read", ""},
	{"GET", "/workflows/W/executions/E/recording", "executions:read", ""},
	{"GET", "/workflows/W/executions/E/archive", "executions:read", ""},
	{"GET", "/executions/E/archive", "executions:read", ""},
	{"GET", "/workflows/W/executions/E/graph", "executions:read", ""},
	{"GET", "/workflows/W/executions/E/events", "executions:read", ""},
	{"GET", "/executions/E/events", "executions:read", ""},
	{"GET", "/workflows/W/batch/B/events", "executions:read", ""},
	{"GET", "/stream?topic=execution:" + nobody, "executions:read", ""},
	{"GET", "/batches", "executions:read", ""},
	{"GET", "/batches/B", "executions:read", ""},
	{"GET", "/workflows/W/executions/E/log", "executions:read", ""},
	{"GET", "/executions/E/log", "executions:read", ""},
	{"GET", "/workflows/W/batch", "executions:read", ""},
	{"GET", "/workflows/W/batch/B", "executions:read", ""},
	{"GET", "/workflows/W/batch/B/items", "executions:read", ""},
	{"POST", "/workflows/W/batch/B/cancel", "executions:manage", ""},
	{"GET", "/operations", "executions:manage", ""},
	{"POST", "/operations", "executions:manage", `{"action":"cancel","ids":["` + nobody + `"]}`},
	{"GET", "/operations/O", "executions:manage", ""},
	{"GET", "/operations/O/items", "executions:manage", ""},
	{"POST", "/operations/O/cancel", "executions:manage", ""},
	{"POST", "/files", "files:write", "{}"},
	{"GET", "/files/F", "executions:read", ""},
	{"GET", "/files/F/content", "executions:read", ""},
	{"GET", "/api-keys", "admin", ""},
	{"POST", "/api-keys", "admin", "{}"},
	{"GET", "/api-keys/K", "admin", ""},
	{"PATCH", "/api-keys/K", "admin", `{"name":"n"}`},
	{"DELETE", "/api-keys/K", "admin", ""},
	{"GET", "/secrets", "admin", ""},
	{"GET", "/secrets/none", "admin", ""},
	{"PUT", "/secrets/none", "admin", "{}"},
	{"DELETE", "/secrets/none", "admin", ""},
	{"GET", "/system", "admin", ""},
	{"GET", "/limits", "", ""},
	{"GET", "/human-tasks", "tasks:read", ""},
	{"GET", "/human-tasks/counts", "tasks:read", ""},
	{"GET", "/human-tasks/stream?no=1", "tasks:read", ""}, // it would not end
	{"GET", "/human-tasks/T", "tasks:read", ""},
	{"POST", "/human-tasks/T/claim", "tasks:respond", "{}"},
	{"POST", "/human-tasks/T/release", "tasks:respond", "{}"},
	{"POST", "/human-tasks/T/answer", "tasks:respond", `{"outcome":"o"}`},
	{"POST", "/human-tasks/T/comments", "tasks:respond", `{"text":"t"}`},
	{"POST", "/human-tasks/answer", "tasks:respond", `{"ids":["T"],"outcome":"o"}`},
	{"GET", "/human-tasks/T/draft", "tasks:respond", ""},
	{"PUT", "/human-tasks/T/draft", "tasks:respond", `{}`},
	{"POST", "/human-tasks/T/links", "tasks:respond", `{"name":"n"}`},
	{"DELETE", "/human-tasks/T/links/L", "tasks:respond", ""},
	{"POST", "/human-tasks/T/reassign", "executions:manage", `{"users":[]}`},
}

// ids puts an id that names nothing in place of the letters.
func ids(path string) string {
	for _, letter := range []string{"W", "E", "B", "F", "K", "O", "T", "L"} {
		path = strings.ReplaceAll(path, "/"+letter, "/"+nobody)
	}
	return path
}

// TestContractScopes asks every route with a key of each scope: without the route's scope it
// is 403, and with it anything else.
func TestContractScopes(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, scope := range []string{
		"workflows:read", "workflows:write", "workflows:publish", "executions:create", "executions:read", "executions:manage",
		"tasks:read", "tasks:respond", "files:write", "events:write", "admin",
	} {
		key := servertest.CreateKey(t, s.DataDir, "--scopes", scope)
		for _, r := range scopes {
			a := s.Do(t, r.method, ids(r.path), r.body, "X-Api-Key", key)
			if r.scope == "" || r.scope == scope {
				if a.Status == 403 || a.Status >= 500 {
					t.Errorf("%s %s with %s: %d %s", r.method, r.path, scope, a.Status, a.Body)
				}
				continue
			}
			p := wantProblem(t, s, a, 403, "insufficient_scope")
			if !strings.Contains(text(p["detail"]), r.scope) {
				t.Errorf("the detail does not name %s: %v", r.scope, p["detail"])
			}
		}
	}
}

// TestContractPresets: run is the four endpoints, the others what their names say.
func TestContractPresets(t *testing.T) {
	t.Parallel()
	s := start(t)
	granted := map[string][]string{
		"run":     {"workflows:read", "executions:create", "executions:read"},
		"observe": {"workflows:read", "executions:read", "tasks:read"},
		"operate": {"workflows:read", "executions:create", "executions:read", "executions:manage", "tasks:read", "tasks:respond", "files:write"},
		"deploy":  {"workflows:read", "workflows:write", "workflows:publish"},
		"all":     {"workflows:read", "workflows:write", "workflows:publish", "executions:create", "executions:read", "executions:manage", "tasks:read", "tasks:respond", "files:write", "admin"},
	}
	for preset, scopesOfPreset := range granted {
		key := servertest.CreateKey(t, s.DataDir, "--preset", preset)
		for _, r := range scopes {
			a := s.Do(t, r.method, ids(r.path), r.body, "X-Api-Key", key)
			if may := r.scope == "" || slices.Contains(scopesOfPreset, r.scope); may == (a.Status == 403) {
				t.Errorf("%s %s with the preset %s: %d", r.method, r.path, preset, a.Status)
			}
		}
		metrics := s.Do(t, "GET", s.URL+"/metrics", "", "X-Api-Key", key)
		if may := preset != "run" && preset != "deploy"; may != (metrics.Status == 200) {
			t.Errorf("/metrics with the preset %s: %d", preset, metrics.Status)
		}
	}
	plain := servertest.CreateKey(t, s.DataDir)
	wantProblem(t, s, s.Do(t, "POST", "/files", "x", "X-Api-Key", plain), 403, "insufficient_scope")
	wantStatus(t, s.Do(t, "GET", "/workflows", "", "X-Api-Key", plain), 200)
}

// TestContractNoAnonymousMode walks every route of the document without a key.
func TestContractNoAnonymousMode(t *testing.T) {
	t.Parallel()
	s := start(t)
	document := s.Do(t, "GET", "/openapi.json", "", "X-Api-Key", "")
	wantStatus(t, document, 200)
	if v := text(document.Object()["openapi"]); !strings.HasPrefix(v, "3.1") {
		t.Errorf("openapi %q", v)
	}
	public := []string{"/healthz", "/readyz", "/openapi.json", "/problems/internal", "/schemas/workflow.json", "/schemas/test.json"}
	for _, path := range public {
		address := path
		if strings.HasSuffix(path, "z") {
			address = s.URL + path
		}
		wantStatus(t, s.Do(t, "GET", address, "", "X-Api-Key", ""), 200)
	}
	// Who signs in has no key yet.
	signIn := []string{"GET /auth/methods", "POST /setup", "POST /session", "POST /invitation", "POST /password-reset",
		"POST /device", "POST /device/token", "POST /auth/passkey/options", "POST /auth/passkey",
		"GET /auth/oidc/{provider}", "GET /auth/oidc/{provider}/callback",
	}
	wantStatus(t, s.Do(t, "GET", "/auth/methods", "", "X-Api-Key", ""), 200)
	for _, route := range signIn[1:] {
		method, path, _ := strings.Cut(route, " ")
		if a := s.Do(t, method, path, "{}", "X-Api-Key", ""); a.Status < 400 || a.Status >= 500 {
			t.Errorf("%s with an empty body: %d", route, a.Status)
		}
	}
	documented := map[string]bool{}
	for path, item := range fields(document.Object()["paths"]) {
		for method := range fields(item) {
			method = strings.ToUpper(method)
			if !slices.Contains([]string{"GET", "POST", "PUT", "PATCH", "DELETE"}, method) {
				continue
			}
			address := s.URL + path
			if !strings.HasPrefix(path, "/api/v1") && !slices.Contains([]string{"/healthz", "/readyz", "/metrics"}, path) {
				address = s.URL + "/api/v1" + path
			}
			for _, name := range []string{"workflowId", "executionId", "batchId", "fileId", "keyId", "userId", "groupId", "grantId", "operationId", "taskId", "linkId"} {
				address = strings.ReplaceAll(address, "{"+name+"}", nobody)
			}
			address = strings.ReplaceAll(address, "{name}", "none") // of a secret
			plain := strings.TrimPrefix(strings.TrimPrefix(address, s.URL), "/api/v1")
			documented[method+" "+plain] = true
			if slices.Contains(public, plain) || strings.HasPrefix(plain, "/problems/") || slices.Contains(signIn, method+" "+plain) {
				continue
			}
			a := s.Do(t, method, strings.ReplaceAll(strings.ReplaceAll(address, "{version}", "1.0.0"), "{code}", "x"), "", "X-Api-Key", "")
			if a.Status != http.StatusUnauthorized {
				t.Errorf("%s %s without a key: %d", method, path, a.Status)
				continue
			}
			code := "missing_api_key"
			if strings.HasPrefix(plain, "/session") || strings.HasPrefix(plain, "/me/pass") || strings.HasPrefix(plain, "/me/identities") {
				code = "invalid_credentials" // a key would not help
			}
			wantProblem(t, s, a, 401, code)
		}
	}
	for _, r := range scopes {
		path, _, _ := strings.Cut(ids(r.path), "?")
		if path = strings.ReplaceAll(path, "1.0.0", "{version}"); !documented[r.method+" "+path] {
			t.Errorf("the document does not have %s %s", r.method, r.path)
		}
	}
	// Closed also: what does not exist, other methods, and files without a good signature.
	for _, path := range []string{"/nothing", "/workflows/" + nobody + "/nothing", "", "/files/" + nobody + "/content"} {
		wantProblem(t, s, s.Do(t, "GET", path, "", "X-Api-Key", ""), 401, "missing_api_key")
	}
	wantProblem(t, s, s.Do(t, "PUT", "/workflows", "{}", "X-Api-Key", ""), 401, "missing_api_key")
	wantProblem(t, s, s.Do(t, "GET", s.URL+"/metrics", "", "X-Api-Key", ""), 401, "missing_api_key")
	wantProblem(t, s, s.Do(t, "GET", "/files/"+nobody+"/content?expires=99999999999&signature=x", "", "X-Api-Key", ""), 404, "file_not_found")
}
