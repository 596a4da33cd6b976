package api

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/logtest"
	"github.com/chargehand/chargehand/internal/service"
)

func logging(level slog.Level, f *fake) (*Server, *logtest.Buffer) {
	log, out := logtest.New(level)
	return New(Config{Service: f, Log: log}), out
}

// TestFailuresAreLogged: at info, a request that failed has one line, and its request_id leads there.
func TestFailuresAreLogged(t *testing.T) {
	f := &fake{}
	s, out := logging(slog.LevelInfo, f)
	tests := []struct {
		name    string
		request request
		fail    error
		want    map[string]any
	}{
		{"not found", request{path: pathW}, chargehand.NewError(chargehand.CodeWorkflowNotFound, "no"), map[string]any{
			"level": "INFO", "msg": "request failed", "status": 404., "code": "workflow_not_found", "method": "GET", "route": "/api/v1/workflows/{workflowId}",
		}},
		{"storage", request{path: pathW}, errors.New("disk on fire"), map[string]any{
			"level": "ERROR", "msg": "request failed", "status": 500., "code": "internal", "error": "disk on fire",
		}},
		{"no key", request{path: pathW, keyless: true}, nil, map[string]any{
			"level": "INFO", "msg": "sign-in failed", "status": 401., "code": "missing_api_key", "route": "/api/v1/workflows/{workflowId}", "from": "192.0.2.1",
		}},
		{"wrong key", request{path: pathW, keyless: true, header: map[string]string{"x-api-key": "sk_live_wrong"}}, nil, map[string]any{
			"msg": "sign-in failed", "status": 401., "from": "192.0.2.1",
		}},
		{"no route", request{path: "/api/v1/nothing-here"}, nil, map[string]any{"msg": "request failed", "status": 404., "route": "none"}},
	}
	for _, test := range tests {
		f.fail = test.fail
		a := test.request.to(s)
		lines := out.Take()
		if len(lines) != 1 {
			t.Errorf("%s: %d lines: %v", test.name, len(lines), lines)
			continue
		}
		for name, want := range test.want {
			if lines[0][name] != want {
				t.Errorf("%s: %s is %v, want %v", test.name, name, lines[0][name], want)
			}
		}
		if lines[0]["request_id"] != a.header.Get("X-Request-Id") || lines[0]["ms"] == nil {
			t.Errorf("%s: %v, answered %v", test.name, lines[0], a.header)
		}
		if actor, signedIn := lines[0]["actor"]; signedIn != !test.request.keyless || signedIn && actor == "" {
			t.Errorf("%s: actor %v", test.name, actor)
		}
	}
	f.fail = nil
	if a := (request{path: pathW}).to(s); a.status != 200 || out.String() != "" {
		t.Errorf("a request that went well is logged at info: %d %s", a.status, out.String())
	}
}

// TestSecretsOfTaskLinksAreKept: whatever becomes of a request for a link to a human task, neither the log nor the
// answer repeats its secret.
func TestSecretsOfTaskLinksAreKept(t *testing.T) {
	l := &fakeLink{}
	_, f := linkServer(l)
	s, out := logging(slog.LevelDebug, f)
	const secret = linkSecret
	for _, path := range []string{"/t/" + secret, "/t/" + secret + "/", "//t/" + secret, "/%74/" + secret, "/t/x/" + secret} {
		for _, method := range []string{"GET", "POST", "DELETE"} {
			a := serve(s, taskRequest(method, path, "--b--", "Content-Type", "multipart/form-data; boundary=b"))
			if found := method != "DELETE" && (path == "/t/"+secret || path == "/%74/"+secret); found != (a.status == 200) || strings.Contains(string(a.body), secret) {
				t.Errorf("%s %s: %d %s", method, path, a.status, a.body)
			}
			if lines := out.String(); !strings.Contains(lines, `"path":"/t/{token}"`) || strings.Contains(lines, secret) {
				t.Errorf("%s %s is logged as %s", method, path, lines)
			}
			out.Take()
		}
	}
	for _, path := range []string{"/T/" + secret, "/t;/" + secret, "/./t/" + secret, "/api/v1/t/" + secret, "/x/-" + secret + "="} {
		serve(s, taskRequest("GET", path, ""))
		if lines := out.String(); !strings.Contains(lines, "{token}") || strings.Contains(lines, secret) {
			t.Errorf("%s is logged as %s", path, lines)
		}
		out.Take()
	}
}

// TestRefusalsAreLogged: also the request_id of what net/http refused is in the log.
func TestRefusalsAreLogged(t *testing.T) {
	s, out := logging(slog.LevelInfo, &fake{})
	a := raw(t, start(t, s), "GET /x\x00y HTTP/1.1\r\nHost: h\r\n\r\n")
	if a.status != 400 || !strings.Contains(out.String(), a.header.Get("X-Request-Id")) || !strings.Contains(out.String(), `"from":"127.0.0.1"`) {
		t.Errorf("%d %v, logged %q", a.status, a.header, out.String())
	}
}

// TestChangesAreLogged: who changed keys, secrets and workflows, or cancelled something, is in the log.
func TestChangesAreLogged(t *testing.T) {
	s, out := logging(slog.LevelInfo, &fake{})
	key := "/api/v1/api-keys/" + fixtureKey().ID.String()
	for _, test := range []struct {
		request request
		message string
		names   []string
	}{
		{request{method: "POST", path: "/api/v1/api-keys", body: `{"name": "x"}`}, "API key created", []string{"key", "name", "scopes"}},
		{request{method: "PATCH", path: key, body: `{"name": "x"}`}, "API key changed", []string{"key", "scopes"}},
		{request{method: "DELETE", path: key}, "API key revoked", []string{"key"}},
		{request{method: "PUT", path: "/api/v1/secrets/token", body: `{"value": "hush-hush"}`}, "secret set", []string{"of"}},
		{request{method: "DELETE", path: "/api/v1/secrets/token"}, "secret deleted", []string{"of"}},
		{request{method: "POST", path: "/api/v1/workflows", body: `{}`}, "workflow applied", []string{"workflow", "name", "version", "draft"}},
		{request{method: "POST", path: pathW + "/versions/1.0.0/publish"}, "version published", []string{"workflow", "of"}},
		{request{method: "DELETE", path: pathW}, "workflow deleted", []string{"workflow"}},
		{request{method: "POST", path: pathE + "/cancel", body: `{}`}, "execution cancelled", []string{"workflow", "execution"}},
		{request{method: "POST", path: pathE + "/suspend"}, "execution suspended", []string{"workflow", "execution"}},
		{request{method: "POST", path: pathE + "/resume"}, "execution resumed", []string{"workflow", "execution"}},
		{request{method: "DELETE", path: pathE}, "execution deleted", []string{"workflow", "execution"}},
		{request{method: "POST", path: pathB + "/cancel", body: `{}`}, "batch cancelled", []string{"workflow", "batch"}},
	} {
		a := test.request.to(s)
		text := out.String()
		lines := out.Take()
		if a.status >= 300 || len(lines) != 1 || lines[0]["msg"] != test.message || lines[0]["level"] != "INFO" {
			t.Errorf("%s: %d %s, lines %v", test.message, a.status, a.body, lines)
			continue
		}
		for _, name := range append(test.names, "actor", "environment", "request_id") {
			if v := lines[0][name]; v == nil || v == "" {
				t.Errorf("%s: no %s in %v", test.message, name, lines[0])
			}
		}
		if strings.Contains(text, "hush-hush") || strings.Contains(text, "sk_live_") {
			t.Errorf("%s tells a secret: %s", test.message, text)
		}
	}
}

// TestEveryChangeIsLogged: a route that changes a workflow, or writes to the audit log, has a line for it.
func TestEveryChangeIsLogged(t *testing.T) {
	for _, e := range endpoints() {
		managed := e.audits != nil || e.scopes&(service.ScopeWorkflowsWrite|service.ScopeWorkflowsPublish) != 0 && e.unaudited == ""
		if managed && e.method != http.MethodGet && e.change == "" {
			t.Errorf("%s %s has no line in the log", e.method, e.path)
		}
	}
}

// TestChangesAreDocumented: the page of the log has every message about a change, and no other.
func TestChangesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/log.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Changes\n")
	section, _, _ = strings.Cut(section, "\n## ")
	quoted, aside := regexp.MustCompile("`([^`]+)`"), regexp.MustCompile(`\([^)]*\)`)
	var documented, said []string
	for row := range strings.Lines(section) {
		if cells := strings.Split(row, "|"); len(cells) == 4 {
			for _, message := range quoted.FindAllStringSubmatch(aside.ReplaceAllString(cells[2], ""), -1) {
				documented = append(documented, message[1])
			}
		}
	}
	for _, e := range endpoints() {
		if e.change != "" {
			said = append(said, e.change)
		}
	}
	slices.Sort(documented)
	slices.Sort(said)
	if said = slices.Compact(said); !slices.Equal(documented, said) {
		t.Errorf("docs/reference/log.md has\n%q\nthe routes say\n%q", documented, said)
	}
}

// TestNoSecretsInTheLog: not even at debug are signed addresses, queries or keys told.
func TestNoSecretsInTheLog(t *testing.T) {
	f := &fake{}
	s, out := logging(slog.LevelDebug, f)
	request{path: pathF + "/content?expires=1&signature=SIGNATURE", keyless: true}.to(s)
	request{method: "DELETE", path: pathF + "/content?expires=1&signature=SIGNATURE", keyless: true}.to(s)
	request{path: pathW + "?token=QUERY"}.to(s)
	request{path: pathW, keyless: true, header: map[string]string{"Authorization": "Bearer sk_live_HEADER"}}.to(s)
	file, _, _ := strings.Cut(strings.TrimPrefix(pathF, "/api/v1/files/"), "/")
	for _, hidden := range []string{"SIGNATURE", "QUERY", "HEADER", goodKey, file} {
		if strings.Contains(out.String(), hidden) {
			t.Errorf("the log holds %s: %s", hidden, out.String())
		}
	}
	if n := len(out.Take()); n != 4 {
		t.Errorf("%d lines at debug, want all 4", n)
	}
}

// TestFloodOfFailures: a client that fails again and again causes a few lines a minute, and a count.
func TestFloodOfFailures(t *testing.T) {
	s, out := logging(slog.LevelInfo, &fake{})
	for range 3000 {
		request{path: pathW, keyless: true}.to(s)
	}
	request{path: "/api/v1/nothing-here"}.to(s)
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	lines := out.Take()
	if len(lines) > 20 {
		t.Errorf("%d lines", len(lines))
	}
	last := lines[len(lines)-1]
	if last["lines"] == nil || last["lines"].(float64)+float64(len(lines)-2) != 3000 {
		t.Errorf("the log does not count what it left out: %v after %d lines", last, len(lines))
	}
	if !strings.Contains(out.String()+string(mustJSON(lines)), `"status":404`) {
		t.Error("the other failure is drowned by the flood")
	}
}

// TestSlowRequests: a request that takes too long is logged; the time that a client asked to wait does not count.
func TestSlowRequests(t *testing.T) {
	for _, test := range []struct {
		took, wait time.Duration
		slow       bool
	}{{900 * time.Millisecond, 0, false}, {time.Second, 0, true}, {30 * time.Second, 30 * time.Second, false}, {31 * time.Second, 30 * time.Second, true}} {
		c := &call{status: 200}
		c.args.wait = test.wait
		if _, message, _ := c.outcome(test.took); (message == "request was slow") != test.slow {
			t.Errorf("%+v: %q", test, message)
		}
	}
}

func mustJSON(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}
