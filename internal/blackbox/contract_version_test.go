package blackbox_test

import (
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/servertest"
	"github.com/chargehand/chargehand/internal/value"
)

// TestContractVersions holds docs/reference/api.md "Versions" and the routes under /workflows.
func TestContractVersions(t *testing.T) {
	t.Parallel()
	s := start(t)
	test := servertest.CreateKey(t, s.DataDir, "--environment", "test", "--preset", "all")
	t.Run("apply", func(t *testing.T) { testApply(t, s) })
	t.Run("pointer", func(t *testing.T) { testPointer(t, s) })
	t.Run("drafts", func(t *testing.T) { testDrafts(t, s, test) })
	t.Run("pinned", func(t *testing.T) { testPinned(t, s) })
	t.Run("delete", func(t *testing.T) { testDelete(t, s) })
	t.Run("validate", func(t *testing.T) { testValidate(t, s) })
	t.Run("problems", func(t *testing.T) { testDefinitionProblems(t, s) })
	t.Run("read", func(t *testing.T) { testReadWorkflow(t, s) })
}

var appliedShape = workflowShape.but(shape{"revision": isCount, "warnings": isList, "draft": isBool})

// apply sends a definition of a workflow whose output is {"is": says}.
func apply(t *testing.T, s *server, name, version, says, query string, headers ...string) answer {
	t.Helper()
	return s.Do(t, "POST", "/workflows"+query, definition(name, version, "do:\n- say: {set: {is: "+says+"}}\n"),
		append([]string{"Content-Type", "application/yaml"}, headers...)...)
}

// says is what a new execution puts out.
func says(t *testing.T, s *server, workflow, query string, headers ...string) string {
	t.Helper()
	a := s.Do(t, "POST", executions(workflow)+"?wait=60s"+query, "{}", headers...)
	wantStatus(t, a, 201)
	return text(fields(a.Object()["output"])["is"])
}

func testApply(t *testing.T, s *server) {
	name := unique("apply")
	first := apply(t, s, name, "1.0.0", "one", "")
	wantStatus(t, first, 201)
	appliedShape.verify(t, "applied workflow", first.JSON)
	id := text(first.Object()["id"])
	if first.Object()["revision"] != 1 || first.Object()["version"] != "1.0.0" {
		t.Errorf("%s", first.Body)
	}
	// "identical content changes nothing, not even updated_at (200)"; nor in other spelling.
	json := `{"document":{"dsl":"1.0.3","namespace":"contract","name":"` + name + `","version":"1.0.0"},"do":[{"say":{"set":{"is":"one"}}}]}`
	for _, a := range []answer{apply(t, s, name, "1.0.0", "one", ""), s.Do(t, "POST", "/workflows", json)} {
		wantStatus(t, a, 200)
		if a.Object()["id"] != id || a.Object()["revision"] != 1 || a.Object()["updated_at"] != first.Object()["updated_at"] {
			t.Errorf("identical content changed something: %s", a.Body)
		}
	}
	// Other content under the same version: a new revision.
	second := apply(t, s, name, "1.0.0", "two", "")
	wantStatus(t, second, 200)
	if second.Object()["id"] != id || second.Object()["revision"] != 2 || second.Object()["created_at"] != first.Object()["created_at"] {
		t.Errorf("%s", second.Body)
	}
	if got := says(t, s, id, ""); got != "two" {
		t.Errorf("the new revision does not run: %q", got)
	}
	// The former content again is other content than the newest.
	third := apply(t, s, name, "1.0.0", "one", "")
	if third.Status != 200 || third.Object()["revision"] != 3 || says(t, s, id, "") != "one" {
		t.Errorf("%d %s", third.Status, third.Body)
	}
	versions := list(s.Do(t, "GET", "/workflows/"+id+"/versions", "").Object()["data"])
	if len(versions) != 1 || fields(versions[0])["revision"] != 3 {
		t.Errorf("versions: %s", value.Marshal(versions))
	}
	for _, media := range []string{"text/plain", "application/xml", ""} {
		a := s.Do(t, "POST", "/workflows", definition(unique("flow"), "1.0.0", echo), "Content-Type", media)
		wantProblem(t, s, a, 415, "unsupported_media_type")
	}
	wantStatus(t, apply(t, s, unique("flow"), "1.0.0", "x", "", "Content-Type", "application/yaml; charset=utf-8"), 201)
}

// testPointer: "One published pointer per workflow: publishing any version moves it, also
// back"; ?version= calls an older one.
func testPointer(t *testing.T, s *server) {
	name := unique("pointer")
	id := text(apply(t, s, name, "1.0.0", "one", "").Object()["id"])
	a := apply(t, s, name, "2.0.0", "two", "")
	if a.Status != 200 || a.Object()["id"] != id || a.Object()["revision"] != 1 {
		t.Errorf("another version: %d %s", a.Status, a.Body)
	}
	if says(t, s, id, "") != "two" || says(t, s, id, "&version=1.0.0") != "one" {
		t.Error("not the version that was asked for")
	}
	batch := s.Do(t, "POST", batches(id)+"?wait=60s&version=1.0.0", `{"items":[{}]}`)
	if batch.Status != 202 || batch.Object()["workflow_version"] != "1.0.0" {
		t.Errorf("a batch of an older version: %d %s", batch.Status, batch.Body)
	}
	published := s.Do(t, "POST", "/workflows/"+id+"/versions/1.0.0/publish", "")
	wantStatus(t, published, 200)
	versionShape := shape{
		"workflow_id": isUUID, "version": isText, "revision": isCount, "title?": isText, "published": isBool, "published_revision?": isCount,
		"draft": isBool, "created_at": isMoment, "updated_at": isMoment, "definition?": isObject, "source?": isText, "source_type?": isText,
		"created_by?": isStarter, "message?": isText, "revisions?": isList,
	}
	versionShape.verify(t, "published version", published.JSON)
	if says(t, s, id, "") != "one" {
		t.Error("publishing an older version does not move the pointer back")
	}
	w := s.Do(t, "GET", "/workflows/"+id, "").Object()
	if w["published_version"] != "1.0.0" || w["version"] != "1.0.0" {
		t.Errorf("after publishing 1.0.0: %v %v", w["published_version"], w["version"])
	}
	for _, v := range list(s.Do(t, "GET", "/workflows/"+id+"/versions", "").Object()["data"]) {
		versionShape.verify(t, "version", v)
		if v := fields(v); v["published"] != (v["version"] == "1.0.0") {
			t.Errorf("%v is published: %v", v["version"], v["published"])
		}
	}
	one := s.Do(t, "GET", "/workflows/"+id+"/versions/2.0.0", "")
	versionShape.but(shape{"definition": isObject}).verify(t, "one version", one.JSON)
	wantStatus(t, s.Do(t, "GET", "/workflows/"+id+"/versions/2.0.0?revision=1", ""), 200)
	wantProblem(t, s, s.Do(t, "GET", "/workflows/"+id+"/versions/2.0.0?revision=9", ""), 404, "version_not_found")
	for _, revision := range []string{"0", "-1", "x", "1.5", ""} {
		refused := s.Do(t, "GET", "/workflows/"+id+"/versions/2.0.0?revision="+revision, "")
		wantParameter(t, wantProblem(t, s, refused, 400, "invalid_parameter"), "revision")
	}
	for _, version := range []string{"3.0.0", "1", "latest", "%00", "1.0.0%2Fx", strings.Repeat("9", 10_000)} {
		wantProblem(t, s, s.Do(t, "GET", "/workflows/"+id+"/versions/"+version, ""), 404, "version_not_found")
		wantProblem(t, s, s.Do(t, "POST", "/workflows/"+id+"/versions/"+version+"/publish", ""), 404, "version_not_found")
	}
	wantProblem(t, s, s.Do(t, "POST", executions(id)+"?version=3.0.0", "{}"), 404, "version_not_found")
	wantProblem(t, s, s.Do(t, "POST", batches(id)+"?version=3.0.0", `{"items":[{}]}`), 404, "version_not_found")
	wantParameter(t, wantProblem(t, s, s.Do(t, "POST", executions(id)+"?version=", "{}"), 400, "invalid_parameter"), "version")
}

// testDrafts: test uses the most recently applied draft, else the pointer; a workflow with
// drafts only is 404 and unlisted in live.
func testDrafts(t *testing.T, s *server, test string) {
	name := unique("draft")
	a := apply(t, s, name, "1.0.0", "drafted", "?draft=true")
	wantStatus(t, a, 201)
	id := text(a.Object()["id"])
	listed := func(key string) bool {
		return strings.Contains(string(s.Do(t, "GET", "/workflows", "", "X-Api-Key", key).Body), id)
	}
	if listed(s.Key) || !listed(test) {
		t.Errorf("drafts only: listed in live %v, in test %v", listed(s.Key), listed(test))
	}
	for _, r := range [][3]string{
		{"GET", "/workflows/" + id, ""}, {"POST", executions(id), "{}"}, {"POST", batches(id), `{"items":[{}]}`}, {"POST", executions(id) + "?version=1.0.0", "{}"},
	} {
		wantProblem(t, s, s.Do(t, r[0], r[1], r[2]), 404, "workflow_not_found")
	}
	if got := says(t, s, id, "", "X-Api-Key", test); got != "drafted" {
		t.Errorf("test runs %q", got)
	}
	wantStatus(t, s.Do(t, "POST", "/workflows/"+id+"/versions/1.0.0/publish", ""), 200)
	if !listed(s.Key) || says(t, s, id, "") != "drafted" {
		t.Error("published, but not there in live")
	}
	// A draft beside what is published.
	for _, d := range [][2]string{{"2.0.0", "second"}, {"1.0.0", "newest"}} {
		wantStatus(t, apply(t, s, name, d[0], d[1], "?draft=true"), 200)
		if got := says(t, s, id, ""); got != "drafted" {
			t.Errorf("live runs the draft %q", got)
		}
		if got := says(t, s, id, "", "X-Api-Key", test); got != d[1] {
			t.Errorf("test runs %q, the newest draft is %q", got, d[1])
		}
	}
	// ?version= reaches no draft in live.
	if got := says(t, s, id, "&version=1.0.0"); got != "drafted" {
		t.Errorf("live runs %q as version 1.0.0, whose newest revision is a draft", got)
	}
	if got := says(t, s, id, "&version=1.0.0", "X-Api-Key", test); got != "newest" {
		t.Errorf("test runs %q as version 1.0.0", got)
	}
	wantProblem(t, s, s.Do(t, "POST", executions(id)+"?version=2.0.0", "{}"), 404, "version_not_found")
	wantStatus(t, s.Do(t, "POST", "/workflows/"+id+"/versions/1.0.0/publish", ""), 200)
	if got := says(t, s, id, ""); got != "newest" {
		t.Errorf("live runs %q after the draft was published", got)
	}
	for _, bad := range []string{"maybe", "", "2"} {
		wantParameter(t, wantProblem(t, s, apply(t, s, name, "1.0.0", "x", "?draft="+bad), 400, "invalid_parameter"), "draft")
	}
}

// testPinned: "Executions stay pinned to the revision they started with."
func testPinned(t *testing.T, s *server) {
	name := unique("pinned")
	rest := func(says string) string {
		return "do:\n- pause: {wait: {milliseconds: 400}}\n- say: {set: {is: " + says + "}}\n"
	}
	id := s.Apply(t, definition(name, "1.0.0", rest("before")))
	path := begin(t, s, id, "{}")
	s.Apply(t, definition(name, "1.0.0", rest("after")))
	s.Apply(t, definition(name, "2.0.0", rest("later")))
	e := finish(t, s, path)
	if text(fields(e["output"])["is"]) != "before" || e["workflow_version"] != "1.0.0" {
		t.Errorf("an execution changed its revision: %v of %v", e["output"], e["workflow_version"])
	}
	// "same input and (unless ?version=) same revision"
	retry := s.Do(t, "POST", path+"/retry?wait=60s", "")
	if retry.Status != 201 || text(fields(retry.Object()["output"])["is"]) != "before" {
		t.Errorf("a retry: %d %s", retry.Status, retry.Body)
	}
	retry = s.Do(t, "POST", path+"/retry?wait=60s", `{"version":"2.0.0"}`)
	if retry.Status != 201 || text(fields(retry.Object()["output"])["is"]) != "later" {
		t.Errorf("a retry of another version: %d %s", retry.Status, retry.Body)
	}
}

// testDelete: "DELETE: 204; unlisted, new starts 404; running executions continue, all stay
// readable; applying it again makes a new id."
func testDelete(t *testing.T, s *server) {
	name := unique("delete")
	rest := "do:\n- pause: {wait: {milliseconds: 300}}\n- say: {set: {is: done}}\n"
	id := s.Apply(t, definition(name, "1.0.0", rest))
	path := begin(t, s, id, "{}")
	batch := batches(id) + "/" + text(s.Do(t, "POST", batches(id), `{"items":[{},{}]}`).Object()["batch_id"])
	gone := s.Do(t, "DELETE", "/workflows/"+id, "")
	if gone.Status != 204 || len(gone.Body) != 0 {
		t.Errorf("%d %s", gone.Status, gone.Body)
	}
	for _, r := range [][3]string{
		{"GET", "/workflows/" + id, ""}, {"DELETE", "/workflows/" + id, ""}, {"POST", executions(id), "{}"}, {"POST", batches(id), `{"items":[{}]}`},
		{"POST", "/workflows/" + id + "/versions/1.0.0/publish", ""}, {"POST", executions(id) + "?version=1.0.0", "{}"},
	} {
		wantProblem(t, s, s.Do(t, r[0], r[1], r[2]), 404, "workflow_not_found")
	}
	if strings.Contains(string(s.Do(t, "GET", "/workflows", "").Body), id) {
		t.Error("a deleted workflow is listed")
	}
	if e := finish(t, s, path); e["status"] != "finished" {
		t.Errorf("the running execution ended %v", e)
	}
	if b := finish(t, s, batch); b["completed"] != 2 {
		t.Errorf("the running batch ended %v", b)
	}
	for _, p := range []string{path, path + "/timeline", batch, batch + "/items", executions(id), batches(id)} {
		if a := s.Do(t, "GET", p, ""); a.Status != 200 {
			t.Errorf("%s is not readable: %d %s", p, a.Status, a.Body)
		}
	}
	a := s.Do(t, "POST", "/workflows", definition(name, "1.0.0", rest), "Content-Type", "application/yaml")
	if a.Status != 201 || a.Object()["id"] == id || a.Object()["revision"] != 1 {
		t.Errorf("applied again: %d %s", a.Status, a.Body)
	}
	wantStatus(t, s.Do(t, "GET", path, ""), 200)
}

func testValidate(t *testing.T, s *server) {
	before := len(list(s.Do(t, "GET", "/workflows", "").Object()["data"]))
	validation := shape{"valid": isBool, "errors": isList, "warnings": isList, "graph?": isObject}
	good := s.Do(t, "POST", "/workflows/validate", definition("valid", "1.0.0", echo), "Content-Type", "application/yaml")
	wantStatus(t, good, 200)
	validation.verify(t, "validation", good.JSON)
	if good.Object()["valid"] != true || len(list(good.Object()["errors"])) != 0 {
		t.Errorf("%s", good.Body)
	}
	for _, bad := range []string{definition("bad", "1.0.0", "do:\n- a: {sit: {}}\n"), "{", "", "a: [", "\t"} {
		a := s.Do(t, "POST", "/workflows/validate", bad, "Content-Type", "application/yaml")
		if a.Status == 400 { // no YAML at all
			continue
		}
		wantStatus(t, a, 200)
		validation.verify(t, "validation", a.JSON)
		if a.Object()["valid"] != false || len(list(a.Object()["errors"])) == 0 {
			t.Errorf("%q is valid: %s", bad, a.Body)
		}
	}
	warned := s.Do(t, "POST", "/workflows/validate", definition("warned", "1.0.0", "do:\n- a: {set: {x: 'a ${ .b } c'}}\n"), "Content-Type", "application/yaml")
	if warned.Object()["valid"] != true || len(list(warned.Object()["warnings"])) == 0 {
		t.Errorf("no warning of an expression in the middle of a text (T5): %s", warned.Body)
	}
	if n := len(list(s.Do(t, "GET", "/workflows", "").Object()["data"])); n != before {
		t.Error("validate stored something")
	}
}

// testDefinitionProblems: "all problems with line, column (from 1), pointer, code, the
// offending name in detail; no YAML or JSON at all: 400".
func testDefinitionProblems(t *testing.T, s *server) {
	bad := "document: {dsl: '1.0.3', namespace: contract, name: problems, version: '1.0.0'}\n" + // 1
		"do:\n" + // 2
		"- first:\n" + // 3
		"    set: {x: 1}\n" + // 4
		"    unknown: 5\n" + // 5
		"- second:\n" + // 6
		"    set: {x: 1}\n" + // 7
		"    then: nowhere\n" // 8
	wantLines(t, wantProblem(t, s, s.Do(t, "POST", "/workflows", bad, "Content-Type", "application/yaml"), 422, "definition_invalid"),
		problemPosition{"/do/0/first/unknown", 5, "unknown"}, problemPosition{"/do/1/second/then", 8, "nowhere"})
	bad = "document: {dsl: '1.0.3', namespace: contract, name: problems, version: '1.0.0'}\n" + // 1
		"do:\n" + // 2
		"- first:\n" + // 3
		"    set: {x: '${ .a | nosuchfunction }'}\n" + // 4
		"- second:\n" + // 5
		"    raise: {error: nosuch}\n" + // 6
		"- third:\n" + // 7
		"    call: nosuchcall\n" // 8
	wantLines(t, wantProblem(t, s, s.Do(t, "POST", "/workflows", bad, "Content-Type", "application/yaml"), 422, "definition_invalid"),
		problemPosition{"/do/0/first/set/x", 4, "nosuchfunction"}, problemPosition{"/do/1/second/raise/error", 6, "nosuch"}, problemPosition{"/do/2/third/call", 8, "nosuchcall"})
	for _, unreadable := range []string{"a: [", "{", "\t- x", "a: b: c", "%", "\x00", "a: \xff", "'"} {
		a := s.Do(t, "POST", "/workflows", unreadable, "Content-Type", "application/yaml")
		if a.Status != 400 || len(list(a.Object()["errors"])) == 0 {
			t.Errorf("%q is no YAML: %d %s", unreadable, a.Status, a.Body)
		}
	}
	good := `{"document":{"dsl":"1.0.3","namespace":"contract","name":"comma","version":"1.0.0"},"do":[{"a":{"set":{"x":1}}}]`
	for _, unreadable := range []string{"{", `{"a":1,}`, "document: {}", "NaN", good, good + ",}", good + "}}", good + "} # end", strings.ReplaceAll(good, `"`, "'") + "}"} {
		p := wantProblem(t, s, s.Do(t, "POST", "/workflows", unreadable), 400, "invalid_json")
		if e := fields(list(p["errors"])[0]); !isCount(e["line"]) || !isCount(e["column"]) {
			t.Errorf("%q: no place: %v", unreadable, e)
		}
	}
	for _, other := range []string{"5", "[]", "text", "null", "true"} {
		wantProblem(t, s, s.Do(t, "POST", "/workflows", other, "Content-Type", "application/yaml"), 422, "definition_invalid")
	}
	many := "document: {dsl: '1.0.3', namespace: contract, name: many, version: '1.0.0'}\ndo:\n" + strings.Repeat("- a: {sit: 1}\n", 500)
	p := wantProblem(t, s, s.Do(t, "POST", "/workflows", many, "Content-Type", "application/yaml"), 422, "definition_invalid")
	if n := len(list(p["errors"])); n != 100 {
		t.Errorf("%d problems are listed, at most 100", n)
	}
	refused := wantProblem(t, s, s.Do(t, "POST", "/workflows", definition("run", "1.0.0", "do:\n- a: {run: {shell: {command: 'true'}}}\n"), "Content-Type", "application/yaml"), 422, "definition_invalid")
	if e := fields(list(refused["errors"])[0]); e["code"] != "run_not_allowed" {
		t.Errorf("a run that the installation does not allow (T80): %v", e)
	}
}

// A place is where a problem of a definition is to be found, and the name that its detail tells.
type problemPosition struct {
	pointer string
	line    int
	name    string
}

func wantLines(t *testing.T, p object, positions ...problemPosition) {
	t.Helper()
	for _, want := range positions {
		e := wantPointer(t, p, want.pointer)
		if e["line"] != want.line || !isCount(e["column"]) || e["column"] == 0 || !strings.Contains(text(e["detail"]), want.name) || !isText(e["code"]) {
			t.Errorf("%s: %v, want line %d and %q in the detail", want.pointer, e, want.line, want.name)
		}
	}
}

func testReadWorkflow(t *testing.T, s *server) {
	id := deploy(t, s, "input: {schema: {document: {type: object, properties: {n: {type: integer}}}}}\n"+echo)
	w := s.Do(t, "GET", "/workflows/"+id, "")
	wantStatus(t, w, 200)
	workflowShape.but(shape{
		"input_schema": isObject, "definition": isObject, "published_version": isText, "revision": isCount, "source?": isText, "source_type?": isText,
	}).verify(t, "workflow", w.JSON)
	if !equal(w.Object()["input_schema"], parse(t, `{"type":"object","properties":{"n":{"type":"integer"}}}`)) {
		t.Errorf("input_schema: %s", value.Marshal(w.Object()["input_schema"]))
	}
	plain := s.Do(t, "GET", "/workflows/"+deploy(t, s, echo), "").Object()
	if _, has := plain["input_schema"]; has {
		t.Error("a workflow without a schema shows one")
	}
}
