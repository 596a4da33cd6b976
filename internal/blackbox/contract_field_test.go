package blackbox_test

import (
	"strings"
	"testing"

	"github.com/chargehand/chargehand/internal/servertest"
)

var (
	workflowShape = shape{
		"id": isUUID, "name": isText, "created_at": isMoment, "updated_at": isMoment,
		"title?": isText, "namespace": isText, "version": isText, "draft?": isBool, "tags?": isList,
	}
	resultShape = shape{
		"filename": isText, "url": isText, "size": isCount, "content_type": isText, "sha256": isText, "expires_at": isMoment,
	}
	errorShape = shape{
		"type": isText, "status": isCount, "title?": isText, "detail?": isText, "instance?": isText,
		"line?": isCount, "column?": isCount,
		"code": isText, "origin": oneOf("workflow", "system"), "retryable": isBool,
	}
	executionStatus = oneOf("initial", "processing", "human_in_the_loop", "finished", "error")
	executionPhase  = oneOf("pending", "running", "waiting", "suspended", "cancelled", "faulted", "completed")
	// executionShape is every field of a read; each state narrows it.
	executionShape = shape{
		"id": isUUID, "workflow_id": isUUID, "status": executionStatus, "created_at": isMoment, "results": orNull(isList),
		"phase": executionPhase, "workflow_version": isText, "revision": isCount, "environment": oneOf("live", "test"),
		"error?": isObject, "batch_id?": isUUID, "started_at?": isMoment, "finished_at?": isMoment, "output?": isAny, "retry_of?": isUUID,
		"started_by?": isStarter, "workflow": isText, "title?": isText, "cause": isObject, "labels?": isObject, "item_id?": isText,
		"parent_id?": isUUID, "root_id?": isUUID, "retained_until?": isMoment, "waiting_for?": isObject, "attempting?": isObject, "input?": isObject,
	}
	batchShape = shape{
		"batch_id": isUUID, "id": isUUID, "workflow_id": isUUID, "status": oneOf("pending", "running", "completed", "failed"),
		"total": isCount, "completed": isCount, "failed": isCount, "cancelled": isCount, "running": isCount, "waiting": isCount, "queued": isCount,
		"executions?": isList, "started_at?": isMoment, "completed_at?": isMoment, "created_at": isMoment,
		"concurrency": isCount, "effective_concurrency": isCount, "workflow_version": isText, "revision": isCount, "environment": oneOf("live", "test"),
		"started_by?": isStarter, "labels?": isObject, "phase": oneOf("pending", "running", "completed", "failed", "cancelled"), "eta_ms?": isCount,
	}
	entryShape = shape{
		"execution_id": isUUID, "inputs": isObject, "status": executionStatus, "phase": executionPhase,
		"duration_ms?": isCount, "index": isCount, "item_id?": isText, "error?": isObject,
	}
)

// isStarter is who started an execution or batch by a request.
func isStarter(v any) bool {
	by, ok := v.(object)
	fields := 2
	name, named := by["name"] // a key may have no name
	if named {
		fields++
	}
	return ok && len(by) == fields && oneOf("user", "key")(by["kind"]) && isUUID(by["id"]) && (!named || isText(name))
}

// but is a copy of a shape with other rules for some names; nil forbids a name.
func (want shape) but(changes shape) shape {
	changed := shape{}
	for name, is := range want {
		changed[name] = is
	}
	for name, is := range changes {
		delete(changed, name)
		delete(changed, name+"?")
		if is != nil {
			changed[name] = is
		}
	}
	return changed
}

// TestContractFields holds every field of docs/reference/api.md to its name, type and null-ness, and
// the additional ones to docs/reference/api.md.
func TestContractFields(t *testing.T) {
	t.Parallel()
	s := start(t)
	quick, slow, bad := deploy(t, s, echo), deploy(t, s, sleep), deploy(t, s, failed)
	t.Run("workflow list", func(t *testing.T) { testWorkflowFields(t, s, quick) })
	t.Run("creation", func(t *testing.T) { testCreationFields(t, s, quick) })
	t.Run("unfinished", func(t *testing.T) { testUnfinishedFields(t, s, slow) })
	t.Run("finished", func(t *testing.T) { testFinishedFields(t, s, quick) })
	t.Run("error", func(t *testing.T) { testErrorFields(t, s, bad) })
	t.Run("batch", func(t *testing.T) { testBatchFields(t, s, quick) })
	t.Run("bodies of a start", func(t *testing.T) { testStartBodies(t, s, quick) })
	t.Run("addresses", func(t *testing.T) { testAddresses(t, s, quick) })
}

func testWorkflowFields(t *testing.T, s *server, workflow string) {
	a := s.Do(t, "GET", "/workflows", "")
	wantStatus(t, a, 200)
	if got := a.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type %q", got)
	}
	shape{"data": isList, "cursor": isNull}.verify(t, "page", a.JSON)
	found := false
	for _, w := range list(a.Object()["data"]) {
		workflowShape.verify(t, "workflow", w)
		if w := fields(w); w["id"] == workflow {
			found = true
			if name := text(w["name"]); !strings.HasPrefix(name, "flow-") || w["namespace"] != "contract" || w["version"] != "1.0.0" {
				t.Errorf("name is not the definition's: %v", w)
			}
		}
	}
	if !found {
		t.Error("the workflow is not in the list")
	}
}

func testCreationFields(t *testing.T, s *server, workflow string) {
	a := s.Do(t, "POST", executions(workflow), `{"input":{"a":1}}`)
	wantStatus(t, a, 201)
	executionShape.but(shape{
		"execution_id": isUUID, "status": oneOf("initial"), "results": isNull, "phase": oneOf("pending"),
		"error": nil, "output": nil, "started_at": nil, "finished_at": nil, "batch_id": nil, "retry_of": nil,
		"retained_until": nil, "waiting_for": nil, "input": nil,
	}).verify(t, "creation", a.JSON)
	e := a.Object()
	if e["id"] != e["execution_id"] || e["workflow_id"] != workflow {
		t.Errorf("ids do not agree: %s", a.Body)
	}
	want := s.URL + "/api/v1" + executions(workflow) + "/" + text(e["execution_id"])
	if got := a.Header.Get("Location"); got != want {
		t.Errorf("Location %q, want %q", got, want)
	}
	read := s.Do(t, "GET", want, "")
	wantStatus(t, read, 200)
	if r := read.Object(); r["created_at"] != e["created_at"] || r["id"] != e["execution_id"] {
		t.Errorf("created as %s, read as %s", a.Body, read.Body)
	}
}

func testUnfinishedFields(t *testing.T, s *server, workflow string) {
	path := begin(t, s, workflow, "{}")
	e := await(t, s, path, "processing")
	executionShape.but(shape{
		"results": isNull, "started_at": isMoment, "phase": oneOf("running", "waiting"),
		"error": nil, "output": nil, "finished_at": nil, "batch_id": nil, "retry_of": nil,
	}).verify(t, "unfinished execution", e)
}

func testFinishedFields(t *testing.T, s *server, workflow string) {
	e := finish(t, s, begin(t, s, workflow, `{"a":[1,"x",null]}`))
	executionShape.but(shape{
		"status": oneOf("finished"), "results": isList, "started_at": isMoment, "finished_at": isMoment, "output": isObject,
		"phase": oneOf("completed"), "environment": oneOf("live"), "retained_until": isMoment, "input": isObject, "waiting_for": nil, "error": nil, "batch_id": nil, "retry_of": nil,
	}).verify(t, "finished execution", e)
	if len(list(e["results"])) == 0 {
		t.Error("results of a finished execution are empty")
	}
	for _, r := range list(e["results"]) {
		resultShape.verify(t, "result", r)
	}
	if text(e["created_at"]) > text(e["started_at"]) || text(e["started_at"]) > text(e["finished_at"]) {
		t.Errorf("times out of order: %v %v %v", e["created_at"], e["started_at"], e["finished_at"])
	}
}

func testErrorFields(t *testing.T, s *server, workflow string) {
	e := finish(t, s, begin(t, s, workflow, "{}"))
	executionShape.but(shape{
		"status": oneOf("error"), "results": isNull, "error": isObject, "finished_at": isMoment, "phase": oneOf("faulted"),
		"output": nil, "batch_id": nil, "retry_of": nil,
	}).verify(t, "failed execution", e)
	errorShape.verify(t, "error", e["error"])
	fault := fields(e["error"])
	if fault["type"] != "https://example.com/broken" || fault["status"] != 418 || fault["title"] != "Broken" ||
		fault["detail"] != "Because" || fault["instance"] != "/do/0/fail" || fault["origin"] != "workflow" {
		t.Errorf("not the error that was raised: %v", fault)
	}
}

func testBatchFields(t *testing.T, s *server, workflow string) {
	items := []string{`{"n":1}`, `{"n":2,"x":[{}]}`, `{}`}
	a := s.Do(t, "POST", batches(workflow), `{"items":[`+strings.Join(items, ",")+`],"concurrency":2}`)
	wantStatus(t, a, 202)
	batchShape.but(shape{"executions": isList}).verify(t, "batch", a.JSON)
	path := batches(workflow) + "/" + text(a.Object()["batch_id"])
	if got, want := a.Header.Get("Location"), s.URL+"/api/v1"+path; got != want {
		t.Errorf("Location %q, want %q", got, want)
	}
	b := finish(t, s, path)
	batchShape.but(shape{
		"executions": isList, "status": oneOf("completed"), "started_at": isMoment, "completed_at": isMoment,
	}).verify(t, "ended batch", b)
	if b["total"] != 3 || b["completed"] != 3 || b["failed"] != 0 || b["workflow_id"] != workflow {
		t.Errorf("counts: %v", b)
	}
	for i, entry := range list(b["executions"]) {
		entryShape.but(shape{"duration_ms": isCount, "status": oneOf("finished")}).verify(t, "entry", entry)
		e := fields(entry)
		if e["index"] != i || !equal(e["inputs"], parse(t, items[i])) {
			t.Errorf("entry %d is %v", i, e)
		}
		read := s.Do(t, "GET", executions(workflow)+"/"+text(e["execution_id"]), "").Object()
		if read["batch_id"] != b["batch_id"] || read["status"] != e["status"] {
			t.Errorf("entry %v reads %v", e, read)
		}
		if took := between(t, read["started_at"], read["finished_at"]); e["duration_ms"] != int(took) {
			t.Errorf("duration_ms %v, finish - start is %d", e["duration_ms"], took)
		}
	}
}

func testStartBodies(t *testing.T, s *server, workflow string) {
	for _, body := range []string{"", "{}", `{"input":{}}`, " { } "} {
		a := s.Do(t, "POST", executions(workflow)+"?wait=60s", body)
		wantStatus(t, a, 201)
		if !equal(a.Object()["output"], object{}) {
			t.Errorf("body %q runs with %s", body, a.Body)
		}
	}
	for _, input := range []string{"null", "[]", "1", `"x"`, "true"} {
		p := wantProblem(t, s, s.Do(t, "POST", executions(workflow), `{"input":`+input+`}`), 400, "invalid_body")
		wantPointer(t, p, "/input")
		p = wantProblem(t, s, s.Do(t, "POST", batches(workflow), `{"items":[{},`+input+`]}`), 400, "invalid_body")
		wantPointer(t, p, "/items/1")
		p = wantProblem(t, s, s.Do(t, "POST", batches(workflow), `{"items":`+input+`}`), map[bool]int{true: 422, false: 400}[input == "[]"],
			map[bool]string{true: "items_empty", false: "invalid_body"}[input == "[]"])
		wantPointer(t, p, "/items")
	}
	for body, meant := range map[string]string{`{"inputs":{}}`: "input", `{"items":[]}`: "input", `{"item":{}}`: "input"} {
		p := wantProblem(t, s, s.Do(t, "POST", executions(workflow), body), 400, "unknown_field")
		if !strings.Contains(text(p["detail"]), `"`+meant+`"`) {
			t.Errorf("%s: no suggestion of %q: %v", body, meant, p["detail"])
		}
	}
	for _, name := range []string{"input", "inputs", "item"} {
		p := wantProblem(t, s, s.Do(t, "POST", batches(workflow), `{"`+name+`":[{}]}`), 400, "unknown_field")
		wantPointer(t, p, "/"+name)
		if !strings.Contains(text(p["detail"]), `"items"`) {
			t.Errorf("%s: no suggestion of items: %v", name, p["detail"])
		}
	}
	// Unknown query parameter: ignored.
	wantStatus(t, s.Do(t, "POST", executions(workflow)+"?colour=red", `{}`), 201)
	strict := deploy(t, s, "input: {schema: {document: {type: object, required: [n]}}}\n"+echo)
	for _, body := range []string{"", "{}", `{"input":{}}`} {
		p := wantProblem(t, s, s.Do(t, "POST", executions(strict), body), 422, "input_invalid")
		if e := fields(list(p["errors"])[0]); !strings.HasPrefix(text(e["pointer"]), "/input") {
			t.Errorf("body %q: %v", body, p["errors"])
		}
	}
	if n := len(list(s.Do(t, "GET", executions(strict), "").Object()["data"])); n != 0 {
		t.Errorf("%d executions were made of refused inputs", n)
	}
}

// testAddresses: "Addresses are absolute: --public-url, else scheme and host of the request".
func testAddresses(t *testing.T, s *server, workflow string) {
	path := begin(t, s, workflow, "{}")
	finish(t, s, path)
	a := raw(t, s, "GET /api/v1"+path+" HTTP/1.1\r\nHost: flows.example.org:8443\r\nX-Api-Key: "+s.Key+"\r\nConnection: close\r\n\r\n")
	wantStatus(t, a, 200)
	url := text(fields(list(a.Object()["results"])[0])["url"])
	if !strings.HasPrefix(url, "http://flows.example.org:8443/api/v1/files/") {
		t.Errorf("address %s is not on the host of the request", url)
	}
	public := servertest.Start(t, servertest.Options{Args: []string{"--public-url", "https://run.example.org/flows/"}})
	const base = "https://run.example.org/flows/api/v1/"
	workflow = deploy(t, public, echo)
	created := public.Do(t, "POST", executions(workflow)+"?wait=60s", "{}")
	wantStatus(t, created, 201)
	for _, address := range []string{created.Header.Get("Location"), text(fields(list(created.Object()["results"])[0])["url"])} {
		if !strings.HasPrefix(address, base) {
			t.Errorf("address %s does not stand below the public address", address)
		}
	}
	missing := public.Do(t, "GET", "/nothing", "").Object()
	if !strings.HasPrefix(text(missing["type"]), base+"problems/") {
		t.Errorf("type %v does not stand below the public address", missing["type"])
	}
}
