package blackbox_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/servertest"
)

// in is a definition of a namespace.
func in(namespace, name, version, rest string) string {
	return "document: {dsl: '1.0.3', namespace: " + namespace + ", name: " + name + ", version: '" + version + "'}\n" + rest
}

const leak = "use: {secrets: [prod-token]}\ndo:\n- a: {set: {stolen: '${ $secrets[\"prod-token\"] | @base64 | @base64 }'}}\n"

// TestContractTestKeyAndLive: whatever a key of test does, live runs what it ran before, and its secrets stay with it.
func TestContractTestKeyAndLive(t *testing.T) {
	t.Parallel()
	s := start(t)
	yaml := []string{"Content-Type", "application/yaml"}
	live := s.Do(t, "POST", "/workflows", in("shop", "order", "1.0.0", echo), yaml...)
	wantStatus(t, live, 201)
	id := text(live.Object()["id"])
	wantStatus(t, s.Do(t, "PUT", "/secrets/prod-token", `{"value":"a-live-secret"}`), 201)
	for _, key := range []string{
		servertest.CreateKey(t, s.DataDir, "--environment", "test", "--preset", "deploy"),
		servertest.CreateKey(t, s.DataDir, "--environment", "test", "--preset", "all"),
		servertest.CreateKey(t, s.DataDir, "--scopes", "workflows:read,workflows:write"),
	} {
		header := append([]string{"X-Api-Key", key}, yaml...)
		for version, source := range map[string]string{
			"2.0.0": in("shop", "order", "2.0.0", leak), // a new version
			"1.0.0": in("shop", "order", "1.0.0", leak), // the version that live runs
			"3.0.0": in("shop", "order", "3.0.0", "schedule: {every: PT1S}\n"+leak),
		} {
			for _, query := range []string{"", "?draft=false"} {
				a := s.Do(t, "POST", "/workflows"+query, source, header...)
				if a.Status != 200 || a.Object()["draft"] != true {
					t.Errorf("%s%s: %d %s", version, query, a.Status, a.Body)
				}
			}
			p := wantProblem(t, s, s.Do(t, "POST", "/workflows/"+id+"/versions/"+version+"/publish", "", "X-Api-Key", key), 403, "insufficient_scope")
			if !strings.Contains(text(p["detail"]), "workflows:publish") {
				t.Errorf("%v", p["detail"])
			}
		}
		wantProblem(t, s, s.Do(t, "DELETE", "/workflows/"+id, "", "X-Api-Key", key), 403, "insufficient_scope")
		if e := finish(t, s, begin(t, s, id, `{"n":1}`)); !equal(e["output"], parse(t, `{"n":1}`)) {
			t.Errorf("live runs something else: %v", e["output"])
		}
		wantProblem(t, s, s.Do(t, "POST", executions(id)+"?version=2.0.0", "{}"), 404, "version_not_found")
		metrics := s.Do(t, "GET", s.URL+"/metrics", "", "X-Api-Key", key)
		if metrics.Status != 403 {
			t.Errorf("/metrics: %d", metrics.Status)
		}
	}
	wantStatus(t, s.Do(t, "GET", "/workflows/"+id, ""), 200)
	if n := len(list(s.Do(t, "GET", executions(id), "").Object()["data"])); n != 3 {
		t.Errorf("%d executions in live; the schedule of a draft starts none", n)
	}
}

// TestContractLimitedKeys: a workflow that a limited key has applied starts and uses only what the key sees, and names
// only files that the key may read.
func TestContractLimitedKeys(t *testing.T) {
	t.Parallel()
	s := start(t)
	yaml := []string{"Content-Type", "application/yaml"}
	apply := func(source string, header ...string) servertest.Answer {
		return s.Do(t, "POST", "/workflows", source, append(header, yaml...)...)
	}
	wantStatus(t, apply(in("hr", "salaries", "1.0.0", "do:\n- a: {set: {secret: 42}}\n")), 201)
	for name, lists := range map[string]string{"prod-token": "", "of-finance": `,"namespaces":["finance"]`, "of-hr": `,"namespaces":["hr"]`} {
		wantStatus(t, s.Do(t, "PUT", "/secrets/"+name, `{"value":"value-of-`+name+`"`+lists+`}`), 201)
	}
	key := servertest.CreateKey(t, s.DataDir, "--namespaces", "finance", "--scopes",
		"workflows:read,workflows:write,workflows:publish,executions:create,executions:read,files:write")
	child := "do:\n- a: {run: {workflow: {namespace: hr, name: salaries, version: latest}}}\n"
	uses := func(secret string) string {
		return "use: {secrets: [" + secret + "]}\ndo:\n- a: {set: {n: '${ $secrets[\"" + secret + "\"] | length }'}}\n"
	}
	for _, rest := range []string{child, uses("prod-token"), uses("of-hr"), uses("missing")} {
		p := wantProblem(t, s, apply(in("finance", "thief", "1.0.0", rest), "X-Api-Key", key), 422, "definition_invalid")
		if e := fields(list(p["errors"])[0]); e["code"] != "not_granted" || !isCount(e["line"]) {
			t.Errorf("%v", e)
		}
	}
	good := apply(in("finance", "good", "1.0.0", uses("of-finance")), "X-Api-Key", key)
	wantStatus(t, good, 201)
	id := text(good.Object()["id"])
	if e := finish(t, s, begin(t, s, id, "{}")); !equal(e["output"], parse(t, `{"n":19}`)) {
		t.Errorf("%v %v", e["output"], e["error"])
	}
	// The grant is taken back: what starts from now on does not get the value.
	wantStatus(t, s.Do(t, "PUT", "/secrets/of-finance", `{"value":"value-of-finance-2","namespaces":["hr"]}`), 200)
	if e := finish(t, s, begin(t, s, id, "{}")); e["status"] != "error" || fields(e["error"])["status"] != 403 {
		t.Errorf("%v", e)
	}
	wantProblem(t, s, apply(in("hr", "salaries", "2.0.0", echo), "X-Api-Key", key), 404, "workflow_not_found")
	echoes := apply(in("finance", "echo", "1.0.0", echo), "X-Api-Key", key)
	wantStatus(t, echoes, 201)
	foreign := text(s.Do(t, "POST", "/files?filename=a", "private", "Content-Type", "text/plain").Object()["id"])
	own := text(s.Do(t, "POST", "/files?filename=a", "mine", "Content-Type", "text/plain", "X-Api-Key", key).Object()["id"])
	names := func(file string) string {
		data, err := json.Marshal(map[string]any{"f": map[string]any{"name": "a", "uri": s.URL + "/api/v1/files/" + file}})
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	flow := text(echoes.Object()["id"])
	wantProblem(t, s, s.Do(t, "GET", "/files/"+foreign+"/content", "", "X-Api-Key", key), 404, "file_not_found")
	wantPointer(t, wantProblem(t, s, s.Do(t, "POST", executions(flow), `{"input":`+names(foreign)+`}`, "X-Api-Key", key), 422, "input_invalid"), "/input/f/uri")
	wantPointer(t, wantProblem(t, s, s.Do(t, "POST", batches(flow), `{"items":[{},`+names(foreign)+`]}`, "X-Api-Key", key), 422, "input_invalid"), "/items/1/f/uri")
	wantStatus(t, s.Do(t, "POST", executions(flow), `{"input":`+names(own)+`}`, "X-Api-Key", key), 201)
}
