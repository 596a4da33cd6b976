package api_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/activity/process"
	"github.com/chargehand/chargehand/internal/activity/script"
	"github.com/chargehand/chargehand/internal/api"
	"github.com/chargehand/chargehand/internal/app"
	"github.com/chargehand/chargehand/internal/audit"
	"github.com/chargehand/chargehand/internal/operate"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/store/sqlite"
	"github.com/chargehand/chargehand/internal/testserve"
	"github.com/chargehand/chargehand/internal/value"
)

// TestMain lets this program be the worker in which an installation runs tests of requests.
func TestMain(m *testing.M) {
	process.MaybeHelper(script.Worker(), testserve.Worker())
	os.Exit(m.Run())
}

// installation is a whole server on a free port: service, SQLite and embedded engine.
type installation struct {
	requests atomic.Int64
	*api.Judge
	base, key string
	data      string // its data directory
}

func install(t *testing.T) *installation {
	t.Helper()
	cfg := app.Config{Listen: "127.0.0.1:0"}
	cfg.DataDir = filepath.Join(t.TempDir(), "data")
	return installAt(t, cfg)
}

// installAt is install with other settings.
func installAt(t *testing.T, cfg app.Config) *installation {
	t.Helper()
	key, err := operate.CreateKey(t.Context(), cfg.Settings, operate.NewKey{Name: "test", Preset: "all", Init: true})
	if err != nil {
		t.Fatal(err)
	}
	a, err := app.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	failed := a.Start()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		a.Stop(ctx)
		select {
		case err := <-failed:
			t.Errorf("serve: %v", err)
		default:
		}
	})
	i := &installation{base: "http://" + a.Address().String(), key: key, data: cfg.DataDir}
	i.Judge = api.NewJudge(t, i)
	return i
}

// ServeHTTP passes a request on to the installation, so that tests reach it through a socket. Each request comes from
// another address of the machine: from a single one, a fast machine would send more than strangers may in a second.
func (i *installation) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	out := r.Clone(context.WithoutCancel(r.Context()))
	out.RequestURI = ""
	out.URL.Scheme, out.URL.Host, _ = strings.Cut(i.base, "://")
	out.Host = out.URL.Host
	n := i.requests.Add(1)
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, byte(1+n/250), byte(1+n%250))}}
	resp, err := (&http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}).RoundTrip(out)
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	for name, values := range resp.Header {
		if name != "Date" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(resp.StatusCode)
	io.Copy(w, resp.Body)
}

const greeting = `document:
  dsl: '1.0.3'
  namespace: default
  name: greet
  version: '1.0.0'
  title: Say hello
input:
  schema:
    format: json
    document:
      type: object
      properties:
        name: { type: string }
        count: { type: integer }
do:
  - greet:
      set:
        text: '${ "Hello, " + (.name // "world") }'
        count: ${ .count }
`

const sleeper = `document:
  dsl: '1.0.3'
  namespace: default
  name: sleeper
  version: '1.0.0'
do:
  - sleep:
      wait: { hours: 1 }
`

func (i *installation) apply(t *testing.T, definition string) (path string) {
	t.Helper()
	x := i.Do(t, i.key, api.Exchange{
		Operation: "applyWorkflow", Method: "POST", Path: "/api/v1/workflows", Body: definition, Status: 201,
		Header: map[string]string{"Content-Type": "application/yaml"},
	})
	location := x.AnswerHeader.Get("Location")
	path, ok := strings.CutPrefix(location, i.base)
	if !ok || !strings.HasSuffix(path, "/workflows/"+x.AnswerJSON["id"].(string)) {
		t.Fatalf("Location %q", location)
	}
	return path
}

// TestWholeInstallation drives every operation of a real server and judges each exchange by
// the document.
func TestWholeInstallation(t *testing.T) {
	i := install(t)
	w, sleeping := i.apply(t, greeting), i.apply(t, sleeper)
	do := func(operation, method, path, body string, status int) api.Exchange {
		t.Helper()
		return i.Do(t, i.key, api.Exchange{Operation: operation, Method: method, Path: path, Body: body, Status: status})
	}
	yaml := map[string]string{"Content-Type": "application/yaml"}
	again := i.Do(t, i.key, api.Exchange{Operation: "applyWorkflow", Method: "POST", Path: "/api/v1/workflows", Body: greeting, Header: yaml, Status: 200})
	if again.AnswerJSON["created_at"] != again.AnswerJSON["updated_at"] {
		t.Error("identical content changed updated_at")
	}
	x := i.Do(t, i.key, api.Exchange{Operation: "validateWorkflow", Method: "POST", Path: "/api/v1/workflows/validate", Body: "document: {}", Header: yaml, Status: 200})
	if x.AnswerJSON["valid"] != false || len(x.AnswerJSON["errors"].([]any)) == 0 {
		t.Errorf("validate: %s", x.AnswerBody)
	}
	page := do("listWorkflows", "GET", "/api/v1/workflows?limit=1&include=activity", "", 200)
	next := do("listWorkflows", "GET", "/api/v1/workflows?limit=1&cursor="+url.QueryEscape(page.AnswerJSON["cursor"].(string)), "", 200)
	if next.AnswerJSON["cursor"] != nil || next.AnswerJSON["data"].([]any)[0].(map[string]any)["name"] != "greet" {
		t.Errorf("second page: %s", next.AnswerBody)
	}
	do("getWorkflow", "GET", w+"?include=outline", "", 200)
	do("listVersions", "GET", w+"/versions", "", 200)
	do("getVersion", "GET", w+"/versions/1.0.0", "", 200)
	if x := do("evaluateExpression", "POST", "/api/v1/expressions/evaluate", `{"expression":"${ .n + $i + ($context | length) }","input":{"n":1},"context":[7],"variables":{"i":5}}`, 200); x.AnswerJSON["value"] != json.Number("7") {
		t.Errorf("evaluated: %s", x.AnswerBody)
	}
	do("evaluateExpression", "POST", "/api/v1/expressions/evaluate", `{"expression":"${ . + }"}`, 422)
	do("evaluateExpression", "POST", "/api/v1/expressions/evaluate", `{"expression":"${ .a.b }","input":{"a":1}}`, 422)
	tests := map[string]any{"definition": greeting, "tests": "tests: [{name: greets, input: {name: Ada}}]"}
	if x := do("testWorkflow", "POST", "/api/v1/workflows/test", string(value.Marshal(tests)), 200); x.AnswerJSON["passed"] != json.Number("1") {
		t.Errorf("tested: %s", x.AnswerBody)
	}
	tests["tests"] = "tests:\n  - {name: greets, inputs: {}}"
	do("testWorkflow", "POST", "/api/v1/workflows/test", string(value.Marshal(tests)), 422)
	tests["definition"] = "document: {}"
	do("testWorkflow", "POST", "/api/v1/workflows/test", string(value.Marshal(tests)), 422)
	do("getWorkflowGraph", "GET", w+"/graph", "", 200)
	do("publishVersion", "POST", w+"/versions/1.0.0/publish", "", 200)

	driveSignIn(t, i)
	driveExecutions(t, i, w, sleeping)
	driveBatches(t, i, w, sleeping)
	driveOperations(t, i)
	driveHumanTasks(t, i)
	driveFiles(t, i)
	driveKeys(t, i)
	drivePeople(t, i)
	driveSecrets(t, i)
	driveEvents(t, i)

	if x := do("countExecutions", "GET", "/api/v1/executions/count?status=finished", "", 200); x.AnswerJSON["count"] == json.Number("0") {
		t.Errorf("count: %s", x.AnswerBody)
	}
	do("listFailures", "GET", "/api/v1/executions/failures", "", 200)
	do("getOverview", "GET", "/api/v1/overview?step=1d", "", 200)
	do("getLimits", "GET", "/api/v1/limits", "", 200)
	do("getOpenAPI", "GET", "/api/v1/openapi.json", "", 200)
	do("getWorkflowSchema", "GET", "/api/v1/schemas/workflow.json", "", 200)
	do("getTestSchema", "GET", "/api/v1/schemas/test.json", "", 200)
	do("getProblem", "GET", "/api/v1/problems/internal", "", 200)
	do("getHealth", "GET", "/healthz", "", 200)
	do("getReadiness", "GET", "/readyz", "", 200)
	do("getMetrics", "GET", "/metrics", "", 200)
	do("deleteWorkflow", "DELETE", w, "", 204)
	driveAudit(t, i)
	do("getWorkflow", "GET", w, "", 404)
	// Passkeys and providers need another address of the server: TestPasskeysOverHTTP and TestProvidersOverHTTP. The
	// stream of human tasks does not end by itself: TestContractTaskStream.
	missed := slices.DeleteFunc(i.Missed(), func(id string) bool {
		return id == "followHumanTasks" || strings.Contains(strings.ToLower(id), "passkey") || strings.Contains(id, "ProviderSignIn") || strings.Contains(id, "Identit")
	})
	if slices.Sort(missed); len(missed) > 0 {
		t.Errorf("operations that were not driven: %v", missed)
	}
}

var timeForm = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`)

func driveExecutions(t *testing.T, i *installation, w, sleeping string) {
	create := api.Exchange{
		Operation: "createExecution", Method: "POST", Path: w + "/executions", Status: 201,
		Body: `{"input":{"name":"Ada","count":123456789012345678901234567890}}`, Header: map[string]string{"Idempotency-Key": "one"},
	}
	x := i.Do(t, i.key, create)
	if x.AnswerJSON["status"] != "initial" || x.AnswerJSON["results"] != nil || !timeForm.MatchString(x.AnswerJSON["created_at"].(string)) {
		t.Errorf("created: %s", x.AnswerBody)
	}
	e := strings.TrimPrefix(x.AnswerHeader.Get("Location"), i.base)
	if again := i.Do(t, i.key, create); again.AnswerHeader.Get("Idempotency-Replayed") != "true" || again.AnswerJSON["execution_id"] != x.AnswerJSON["execution_id"] {
		t.Errorf("repeated: %v %s", again.AnswerHeader, again.AnswerBody)
	}
	create.Body, create.Status, create.Code = `{}`, 422, "idempotency_key_reused"
	i.Do(t, i.key, create)

	read := i.Do(t, i.key, api.Exchange{Operation: "getExecution", Path: e + "?wait=30s", Status: 200})
	if read.AnswerJSON["status"] != "finished" || !strings.Contains(string(read.AnswerBody), `"count":123456789012345678901234567890`) {
		t.Fatalf("read: %s", read.AnswerBody)
	}
	i.Do(t, i.key, api.Exchange{Operation: "getExecution", Path: e, Status: 304, Header: map[string]string{"If-None-Match": read.AnswerHeader.Get("ETag")}})
	result := read.AnswerJSON["results"].([]any)[0].(map[string]any)
	link := result["url"].(string)
	if result["filename"] != "output.json" || !strings.HasPrefix(link, i.base+"/api/v1/files/") {
		t.Errorf("result %v", result)
	}
	content := i.Do(t, i.key, api.Exchange{Operation: "getFileContent", Path: strings.TrimPrefix(link, i.base), Status: 200, Keyless: true})
	var output map[string]any
	if err := json.Unmarshal(content.AnswerBody, &output); err != nil || output["text"] != "Hello, Ada" {
		t.Errorf("output.json: %v %s", err, content.AnswerBody)
	}
	i.Do(t, i.key, api.Exchange{Operation: "getFileContent", Path: strings.TrimPrefix(link, i.base) + "0", Status: 404, Keyless: true, Code: "file_not_found"})

	waited := i.Do(t, i.key, api.Exchange{Operation: "createExecution", Method: "POST", Path: w + "/executions?wait=30s", Status: 201})
	if waited.AnswerJSON["status"] != "finished" {
		t.Errorf("create with wait: %s", waited.AnswerBody)
	}
	bad := i.Do(t, i.key, api.Exchange{
		Operation: "createExecution", Method: "POST", Path: w + "/executions", Body: `{"input":{"name":1}}`, Status: 422, Code: "input_invalid",
	})
	if !slices.Equal(bad.ProblemLocations, []string{"/input/name"}) {
		t.Errorf("at %q", bad.ProblemLocations)
	}
	i.Do(t, i.key, api.Exchange{
		Operation: "createExecution", Method: "POST", Path: w + "/executions", Body: `{"inputs":{}}`, Status: 400, Code: "unknown_field", AgainstTheDocument: true,
	})
	i.Do(t, i.key, api.Exchange{
		Operation: "createExecution", Method: "POST", Path: w + "/executions", Body: `{"input":[]}`, Status: 400, Code: "invalid_body", AgainstTheDocument: true,
	})
	i.Do(t, i.key, api.Exchange{Operation: "listExecutions", Path: "/api/v1/executions?status=finished&limit=1", Status: 200})
	i.Do(t, i.key, api.Exchange{Operation: "listWorkflowExecutions", Path: w + "/executions?created_after=2020-01-01T00:00:00Z", Status: 200})
	i.Do(t, i.key, api.Exchange{Operation: "getTimeline", Path: e + "/timeline", Status: 200})
	i.Do(t, i.key, api.Exchange{Operation: "getProgress", Path: e + "/progress", Status: 200})
	i.Do(t, i.key, api.Exchange{Operation: "getExecutionGraph", Path: e + "/graph", Status: 200})
	i.Do(t, i.key, api.Exchange{Operation: "getRecording", Path: e + "/recording", Status: 200})
	i.Do(t, i.key, api.Exchange{Operation: "getArchive", Path: e + "/archive", Status: 200})
	anywhere := "/api/v1/executions/" + e[strings.LastIndexByte(e, '/')+1:]
	i.Do(t, i.key, api.Exchange{Operation: "getExecutionById", Path: anywhere, Status: 200})
	topic := "execution:" + anywhere[strings.LastIndexByte(anywhere, '/')+1:]
	for operation, path := range map[string]string{
		"followExecution": e + "/events", "followExecutionById": anywhere + "/events?after=1", "follow": "/api/v1/stream?topic=" + topic,
	} {
		x := i.Do(t, i.key, api.Exchange{Operation: operation, Path: path, Status: 200})
		if text := string(x.AnswerBody); !strings.Contains(text, "event: execution\n") || !strings.Contains(text, "\nevent: end\ndata: {\"reason\":\"complete\"") ||
			strings.Contains(text, "id: 2\nevent: task.ended") != (operation != "follow") {
			t.Errorf("%s: %s", operation, text)
		}
	}
	i.Do(t, i.key, api.Exchange{Operation: "getLog", Path: e + "/log?level=info&limit=10", Status: 200})
	i.Do(t, i.key, api.Exchange{Operation: "getLog", Path: e + "/log?level=fatal", Status: 400, Code: "invalid_parameter", AgainstTheDocument: true})
	i.Do(t, i.key, api.Exchange{Operation: "getLogById", Path: anywhere + "/log?after=0", Status: 200})
	i.Do(t, i.key, api.Exchange{Operation: "getTimelineById", Path: anywhere + "/timeline?limit=1&cursor=0", Status: 200})
	i.Do(t, i.key, api.Exchange{Operation: "getProgressById", Path: anywhere + "/progress", Status: 200})
	i.Do(t, i.key, api.Exchange{Operation: "getRecordingById", Path: anywhere + "/recording", Status: 200})
	i.Do(t, i.key, api.Exchange{Operation: "getArchiveById", Path: anywhere + "/archive", Status: 200})
	i.Do(t, i.key, api.Exchange{Operation: "getExecutionGraphById", Path: anywhere + "/graph", Status: 200})
	i.Do(t, i.key, api.Exchange{Operation: "retryExecution", Method: "POST", Path: e + "/retry?wait=30s", Status: 201})
	i.Do(t, i.key, api.Exchange{Operation: "cancelExecution", Method: "POST", Path: e + "/cancel", Status: 409, Code: "state_conflict"})
	// The execution stands under another workflow.
	i.Do(t, i.key, api.Exchange{Operation: "getExecution", Path: strings.Replace(e, w, sleeping, 1), Status: 404, Code: "execution_not_found"})

	x = i.Do(t, i.key, api.Exchange{Operation: "createExecution", Method: "POST", Path: sleeping + "/executions?wait=0.2", Status: 201})
	if x.AnswerJSON["status"] != "processing" && x.AnswerJSON["status"] != "initial" {
		t.Errorf("wait for one that sleeps: %s", x.AnswerBody)
	}
	e = strings.TrimPrefix(x.AnswerHeader.Get("Location"), i.base)
	i.Do(t, i.key, api.Exchange{Operation: "resumeExecution", Method: "POST", Path: e + "/resume", Status: 409, Code: "state_conflict"})
	i.Do(t, i.key, api.Exchange{Operation: "deleteExecution", Method: "DELETE", Path: e, Status: 409, Code: "state_conflict"})
	x = i.Do(t, i.key, api.Exchange{Operation: "suspendExecution", Method: "POST", Path: e + "/suspend", Status: 202})
	if x.AnswerJSON["phase"] != "suspended" {
		t.Errorf("suspended: %s", x.AnswerBody)
	}
	i.Do(t, i.key, api.Exchange{Operation: "suspendExecution", Method: "POST", Path: e + "/suspend", Status: 409, Code: "state_conflict"})
	x = i.Do(t, i.key, api.Exchange{Operation: "listExecutions", Path: "/api/v1/executions?phase=suspended", Status: 200})
	if len(x.AnswerJSON["data"].([]any)) != 1 {
		t.Errorf("suspended executions: %s", x.AnswerBody)
	}
	x = i.Do(t, i.key, api.Exchange{Operation: "resumeExecution", Method: "POST", Path: e + "/resume", Status: 202})
	if x.AnswerJSON["phase"] == "suspended" {
		t.Errorf("resumed: %s", x.AnswerBody)
	}
	x = i.Do(t, i.key, api.Exchange{Operation: "cancelExecution", Method: "POST", Path: e + "/cancel", Body: `{"reason":"enough"}`, Status: 202})
	if x.AnswerJSON["status"] != "error" || x.AnswerJSON["results"] != nil || x.AnswerJSON["error"].(map[string]any)["code"] != "cancelled" {
		t.Errorf("cancelled: %s", x.AnswerBody)
	}
	i.Do(t, i.key, api.Exchange{Operation: "deleteExecution", Method: "DELETE", Path: e, Status: 204})
	i.Do(t, i.key, api.Exchange{Operation: "getExecution", Path: e, Status: 404, Code: "execution_not_found"})
}

func driveBatches(t *testing.T, i *installation, w, sleeping string) {
	x := i.Do(t, i.key, api.Exchange{
		Operation: "runBatch", Method: "POST", Path: w + "/batch", Body: `{"items":[{"name":"a"},{"name":"b","count":1},{}],"concurrency":500}`, Status: 202,
	})
	if x.AnswerJSON["effective_concurrency"] != json.Number("100") || len(x.AnswerJSON["executions"].([]any)) != 3 {
		t.Errorf("batch: %s", x.AnswerBody)
	}
	b := strings.TrimPrefix(x.AnswerHeader.Get("Location"), i.base)
	x = i.Do(t, i.key, api.Exchange{Operation: "getBatch", Path: b + "?wait=30s", Status: 200})
	if followed := i.Do(t, i.key, api.Exchange{Operation: "followBatch", Path: b + "/events", Status: 200}); !strings.Contains(string(followed.AnswerBody), "event: batch\n") {
		t.Errorf("followBatch: %s", followed.AnswerBody)
	}
	if x.AnswerJSON["status"] != "completed" || x.AnswerJSON["completed"] != json.Number("3") || x.AnswerHeader.Get("Retry-After") != "" {
		t.Errorf("finished batch: %s", x.AnswerBody)
	}
	i.Do(t, i.key, api.Exchange{Operation: "getBatch", Path: b, Status: 304, Header: map[string]string{"If-None-Match": x.AnswerHeader.Get("ETag")}})
	all := i.Do(t, i.key, api.Exchange{Operation: "listAllBatches", Path: "/api/v1/batches", Status: 200})
	if own := all.AnswerJSON["data"].([]any)[0].(map[string]any); own["batch_id"] != x.AnswerJSON["batch_id"] && x.AnswerJSON != nil || own["phase"] != "completed" {
		t.Errorf("all batches: %s", all.AnswerBody)
	}
	i.Do(t, i.key, api.Exchange{Operation: "getBatchById", Path: "/api/v1/batches/" + b[strings.LastIndexByte(b, '/')+1:] + "?executions=none", Status: 200})
	x = i.Do(t, i.key, api.Exchange{Operation: "listBatchItems", Path: b + "/items?limit=2", Status: 200})
	x = i.Do(t, i.key, api.Exchange{Operation: "listBatchItems", Path: b + "/items?limit=2&cursor=" + x.AnswerJSON["cursor"].(string), Status: 200})
	if x.AnswerJSON["cursor"] != nil || len(x.AnswerJSON["data"].([]any)) != 1 {
		t.Errorf("second page of items: %s", x.AnswerBody)
	}
	i.Do(t, i.key, api.Exchange{Operation: "listBatches", Path: w + "/batch?limit=5", Status: 200})
	x = i.Do(t, i.key, api.Exchange{
		Operation: "runBatch", Method: "POST", Path: w + "/batch", Body: `{"items":[{},{"name":1},{"count":"x"}]}`, Status: 422, Code: "input_invalid",
	})
	if !slices.Equal(x.ProblemLocations, []string{"/items/1/name", "/items/2/count"}) {
		t.Errorf("at %q", x.ProblemLocations)
	}
	i.Do(t, i.key, api.Exchange{Operation: "runBatch", Method: "POST", Path: w + "/batch", Status: 400, Code: "invalid_body", AgainstTheDocument: true})
	i.Do(t, i.key, api.Exchange{Operation: "runBatch", Method: "POST", Path: w + "/batch", Body: `{"items":[]}`, Status: 422, Code: "items_empty", AgainstTheDocument: true})
	i.Do(t, i.key, api.Exchange{Operation: "runBatch", Method: "POST", Path: w + "/batch", Body: `{"items":[{}],"concurrency":0}`, Status: 400, Code: "invalid_body", AgainstTheDocument: true})

	x = i.Do(t, i.key, api.Exchange{Operation: "runBatch", Method: "POST", Path: sleeping + "/batch", Body: `{"items":[{},{}]}`, Status: 202})
	b = strings.TrimPrefix(x.AnswerHeader.Get("Location"), i.base)
	x = i.Do(t, i.key, api.Exchange{Operation: "cancelBatch", Method: "POST", Path: b + "/cancel", Status: 202})
	if x.AnswerJSON["status"] != "failed" || x.AnswerJSON["failed"] != json.Number("2") {
		t.Errorf("cancelled batch: %s", x.AnswerBody)
	}
	i.Do(t, i.key, api.Exchange{Operation: "deleteBatch", Method: "DELETE", Path: b, Status: 204})
	i.Do(t, i.key, api.Exchange{Operation: "deleteBatch", Method: "DELETE", Path: b, Status: 404, Code: "batch_not_found"})
	x = i.Do(t, i.key, api.Exchange{Operation: "runBatch", Method: "POST", Path: sleeping + "/batch", Body: `{"items":[{}]}`, Status: 202})
	b = strings.TrimPrefix(x.AnswerHeader.Get("Location"), i.base)
	i.Do(t, i.key, api.Exchange{Operation: "deleteBatch", Method: "DELETE", Path: b, Status: 409, Code: "state_conflict"})
}

func driveFiles(t *testing.T, i *installation) {
	x := i.Do(t, i.key, api.Exchange{
		Operation: "uploadFile", Method: "POST", Path: "/api/v1/files?filename=h%C3%A9.txt", Body: "0123456789", Status: 201,
		Header: map[string]string{"Content-Type": "application/octet-stream"},
	})
	f := strings.TrimPrefix(x.AnswerHeader.Get("Location"), i.base)
	if x.AnswerJSON["uri"] != f || x.AnswerJSON["size"] != json.Number("10") {
		t.Errorf("uploaded: %s", x.AnswerBody)
	}
	i.Do(t, i.key, api.Exchange{Operation: "getFile", Path: f, Status: 200})
	x = i.Do(t, i.key, api.Exchange{Operation: "getFileContent", Path: f + "/content", Status: 206, Header: map[string]string{"Range": "bytes=3-5"}})
	if string(x.AnswerBody) != "345" {
		t.Errorf("range: %q", x.AnswerBody)
	}
	i.Do(t, i.key, api.Exchange{Operation: "getFileContent", Path: f + "/content", Status: 416, Code: "range_not_satisfiable", Header: map[string]string{"Range": "bytes=30-"}})
	i.Do(t, i.key, api.Exchange{Operation: "deleteFile", Method: "DELETE", Path: f, Status: 204})
	i.Do(t, i.key, api.Exchange{Operation: "getFile", Path: f, Status: 404, Code: "file_not_found"})
}

// activate makes an invited user active, as accepting the invitation does.
func (i *installation) activate(t *testing.T, id string) {
	t.Helper()
	user, err := chargehand.ParseID[struct{}](id)
	if err != nil {
		t.Fatal(err)
	}
	i.update(t, func(tx *store.Tx) error {
		m, err := tx.MemberByID(1, chargehand.UserID(user))
		if err != nil {
			return err
		}
		return tx.SetMemberStatus(m.No, store.Invited, store.Active)
	})
}

// update writes into the database beside the server.
func (i *installation) update(t *testing.T, write func(*store.Tx) error) {
	t.Helper()
	db, err := sqlite.Open(sqlite.Options{Path: filepath.Join(i.data, "chargehand.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := store.New(db).Update(t.Context(), write); err != nil {
		t.Fatal(err)
	}
}

// driveOperations acts on executions that do not exist, and ends an operation that never comes to an end.
func driveOperations(t *testing.T, i *installation) {
	x := i.Do(t, i.key, api.Exchange{Operation: "getSystem", Path: "/api/v1/system", Status: 200})
	if findings := x.AnswerJSON["findings"].([]any); x.AnswerJSON["engine"] != "embedded" || x.AnswerJSON["writer_lag_ms"] == nil || len(findings) < 8 {
		t.Errorf("system: %s", x.AnswerBody)
	}
	const path = "/api/v1/operations"
	do := func(operation, method, path, body string, status int, code ...string) api.Exchange {
		t.Helper()
		x := api.Exchange{Operation: operation, Method: method, Path: path, Body: body, Status: status}
		if len(code) > 0 {
			x.Code, x.AgainstTheDocument = code[0], status == 400
		}
		return i.Do(t, i.key, x)
	}
	x = do("startOperation", "POST", path, `{"action":"retry","filter":{"workflow":["default/none"]},"dry_run":true}`, 200)
	if x.AnswerJSON["count"] != json.Number("0") || x.AnswerJSON["dry_run"] != true {
		t.Errorf("dry run: %s", x.AnswerBody)
	}
	do("startOperation", "POST", path, `{"action":"retry","filter":{"stauts":"error"}}`, 400, "unknown_field")
	x = do("startOperation", "POST", path, `{"action":"cancel","ids":["01900000-0000-7000-8000-000000000000"]}`, 202)
	one := path + "/" + x.AnswerJSON["id"].(string)
	if x.AnswerHeader.Get("Location") != i.base+one {
		t.Errorf("Location %q", x.AnswerHeader.Get("Location"))
	}
	for deadline := time.Now().Add(2 * time.Minute); x.AnswerJSON["status"] != "completed" && time.Now().Before(deadline); {
		x = do("getOperation", "GET", one, "", 200)
	}
	if x.AnswerJSON["failed"] != json.Number("1") || len(x.AnswerJSON["failures"].([]any)) != 1 {
		t.Errorf("an execution that does not exist: %s", x.AnswerBody)
	}
	if x = do("listOperationItems", "GET", one+"/items?outcome=failed", "", 200); len(x.AnswerJSON["data"].([]any)) != 1 {
		t.Errorf("items: %s", x.AnswerBody)
	}
	if x = do("listOperations", "GET", path+"?limit=1", "", 200); len(x.AnswerJSON["data"].([]any)) != 1 {
		t.Errorf("operations: %s", x.AnswerBody)
	}
	do("cancelOperation", "POST", one+"/cancel", "", 409, "state_conflict")
	endless := store.Operation{ID: chargehand.OperationID{1, 2, 3}, Account: 1, Environment: chargehand.Live, Action: store.OperationCancel}
	i.update(t, func(tx *store.Tx) error {
		keys, err := tx.ListKeys(1, chargehand.Live, chargehand.KeyID{}, 100)
		if err != nil {
			return err
		}
		endless.Key = keys[len(keys)-1].No
		endless.StartedBy = endless.Key
		return tx.InsertOperation(&endless, nil)
	})
	if x = do("cancelOperation", "POST", path+"/"+endless.ID.String()+"/cancel", "", 202); x.AnswerJSON["status"] != "cancelled" {
		t.Errorf("cancelled: %s", x.AnswerBody)
	}
}

const approval = `
document: {dsl: '1.0.3', namespace: default, name: approval, version: '1.0.0'}
do:
  - ask:
      call: human:1.0.0@default
      with:
        title: Approve it
        outcomes: [approve, reject]
        form: {type: object, required: [total], properties: {total: {type: number}}}
`

// driveHumanTasks answers a human task, badly too.
func driveHumanTasks(t *testing.T, i *installation) {
	const path = "/api/v1/human-tasks"
	do := func(operation, method, path, body string, status int, code ...string) api.Exchange {
		t.Helper()
		x := api.Exchange{Operation: operation, Method: method, Path: path, Body: body, Status: status}
		if len(code) > 0 {
			x.Code, x.AgainstTheDocument = code[0], status == 400
		}
		return i.Do(t, i.key, x)
	}
	w := i.apply(t, approval)
	do("createExecution", "POST", w+"/executions", "", 201)
	var list []any
	for deadline := time.Now().Add(2 * time.Minute); len(list) == 0 && time.Now().Before(deadline); {
		list = do("listHumanTasks", "GET", path+"?status=open", "", 200).AnswerJSON["data"].([]any)
	}
	if len(list) != 1 {
		t.Fatalf("open tasks: %v", list)
	}
	one := path + "/" + list[0].(map[string]any)["id"].(string)
	do("countHumanTasks", "GET", path+"/counts", "", 200)
	do("getHumanTask", "GET", one, "", 200)
	do("claimHumanTask", "POST", one+"/claim", "{}", 200)
	do("releaseHumanTask", "POST", one+"/release", "{}", 200)
	do("commentHumanTask", "POST", one+"/comments", `{"text":"Which total?"}`, 201)
	do("putHumanTaskDraft", "PUT", one+"/draft", `{"outcome":"approve","data":{"total":"much"}}`, 200)
	made := do("linkHumanTask", "POST", one+"/links", `{"name":"Eve","email":"eve@example.org","expires_in":"7d"}`, 201).AnswerJSON
	do("linkHumanTask", "POST", one+"/links", `{"name":"Eve","email":"eve"}`, 400, "invalid_body")
	do("getHumanTask", "GET", one, "", 200)
	link := one + "/links/" + made["id"].(string)
	do("revokeTaskLink", "DELETE", link, "", 204)
	do("revokeTaskLink", "DELETE", one+"/links/"+strings.Repeat("0", 8)+"-0000-7000-8000-000000000000", "", 404, "task_link_not_found")
	do("reassignHumanTask", "POST", one+"/reassign", `{"users":["ada@example.org"]}`, 200)
	do("putHumanTaskDraft", "PUT", one+"/draft", `{"outcome":"approve"}`, 403, "not_assigned")
	if x := do("getHumanTaskDraft", "GET", one+"/draft", "", 200); x.AnswerJSON["outcome"] != "approve" {
		t.Errorf("draft: %s", x.AnswerBody)
	}
	do("answerHumanTask", "POST", one+"/answer", `{"outcome":"approve","data":{"total":1}}`, 403, "not_assigned")
	do("reassignHumanTask", "POST", one+"/reassign", `{"users":[]}`, 200)
	do("answerHumanTask", "POST", one+"/answer", `{"outcome":"approve","data":{"total":"much"}}`, 422, "answer_invalid")
	id := list[0].(map[string]any)["id"].(string)
	x := do("answerHumanTasks", "POST", path+"/answer", `{"ids":["`+id+`"],"outcome":"approve","data":{"total":"much"}}`, 200)
	if string(x.AnswerBody) != `{"answered":0,"failed":[{"id":"`+id+`","code":"answer_invalid"}]}` {
		t.Errorf("many answers: %s", x.AnswerBody)
	}
	do("answerHumanTasks", "POST", path+"/answer", `{"outcome":"approve"}`, 400, "invalid_body")
	do("answerHumanTask", "POST", one+"/answer", `{"outcome":"approve","data":{"total":1}}`, 200)
	x = do("answerHumanTasks", "POST", path+"/answer", `{"ids":["`+id+`"],"outcome":"approve","data":{"total":1}}`, 200)
	if string(x.AnswerBody) != `{"answered":1,"failed":[]}` {
		t.Errorf("the same answer again: %s", x.AnswerBody)
	}
	do("answerHumanTask", "POST", one+"/answer", `{"outcome":"reject","data":{"total":1}}`, 409, "answer_conflict")
	do("putHumanTaskDraft", "PUT", one+"/draft", `{"outcome":"approve"}`, 409, "state_conflict")
	if x := do("getHumanTask", "GET", one, "", 200); x.AnswerJSON["status"] != "answered" {
		t.Errorf("answered: %s", x.AnswerBody)
	}
}

// drivePeople invites two users and gives one of them roles by a group, badly too.
func drivePeople(t *testing.T, i *installation) {
	do := func(operation, method, path, body string, status int, code ...string) api.Exchange {
		t.Helper()
		x := api.Exchange{Operation: operation, Method: method, Path: "/api/v1" + path, Body: body, Status: status}
		if len(code) > 0 {
			x.Code, x.AgainstTheDocument = code[0], status == 400
		}
		return i.Do(t, i.key, x)
	}
	x := do("inviteUser", "POST", "/users", `{"email":"Ada@Example.org","name":"Ada","grants":[{"role":"viewer"}]}`, 201)
	link, _ := x.AnswerJSON["invitation"].(map[string]any)
	if url, _ := link["url"].(string); !strings.HasPrefix(url, i.base+"/invitation#token=") || x.AnswerJSON["status"] != "invited" {
		t.Errorf("invited: %s", x.AnswerBody)
	}
	ada := strings.TrimPrefix(x.AnswerHeader.Get("Location"), i.base+"/api/v1")
	if again := do("inviteUser", "POST", "/users", `{"email":"ada@EXAMPLE.org","name":"Ada"}`, 201); again.AnswerJSON["id"] != x.AnswerJSON["id"] {
		t.Errorf("invited again: %s", again.AnswerBody)
	}
	for _, bad := range []string{
		`{}`, `{"email":"ada","name":"Ada"}`, `{"email":"x@y.org","name":"A\u202eda"}`, `{"email":"x@y.org","name":"` + strings.Repeat("a", 10_000) + `"}`,
		`{"email":"x@y.org","name":"X","grants":[{"role":"root"}]}`, `{"email":"x@y.org","name":"X","grants":[{"role":"admin","namespace":"a"}]}`,
	} {
		do("inviteUser", "POST", "/users", bad, 400, "invalid_body")
	}
	do("getUser", "GET", ada, "", 200)
	do("updateUser", "PATCH", ada, `{"status":"active"}`, 409, "state_conflict")
	do("updateUser", "PATCH", ada, `{"status":"gone"}`, 400, "invalid_body")
	do("resetUser", "POST", ada+"/reset", "", 409, "state_conflict")
	i.activate(t, x.AnswerJSON["id"].(string))
	do("updateUser", "PATCH", ada, `{"status":"disabled"}`, 200)
	do("updateUser", "PATCH", ada, `{"status":"active"}`, 200)
	do("resetUser", "POST", ada+"/reset", "", 201)
	do("findPeople", "GET", "/people?q=ada", "", 200)
	x = do("createGroup", "POST", "/groups", `{"name":"Finance"}`, 201)
	group, groupID := strings.TrimPrefix(x.AnswerHeader.Get("Location"), i.base+"/api/v1"), x.AnswerJSON["id"].(string)
	do("createGroup", "POST", "/groups", `{"name":"FINANCE"}`, 409, "state_conflict")
	do("updateGroup", "PATCH", group, `{"name":"Treasury"}`, 200)
	member := group + "/members" + strings.TrimPrefix(ada, "/users")
	do("joinGroup", "PUT", member, "", 204)
	if x = do("getGroup", "GET", group, "", 200); len(x.AnswerJSON["members"].([]any)) != 1 {
		t.Errorf("group: %s", x.AnswerBody)
	}
	do("listGroupMembers", "GET", group+"/members", "", 200)
	x = do("giveGrant", "POST", "/grants", `{"group_id":"`+groupID+`","role":"operator","namespace":"finance","environments":["live"]}`, 201)
	grant := x.AnswerJSON["id"].(string)
	do("giveGrant", "POST", "/grants", `{"group_id":"`+groupID+`","role":"operator","environments":["prod"]}`, 400, "invalid_body")
	do("giveGrant", "POST", "/grants", `{"group_id":"`+grant+`","role":"operator"}`, 404, "group_not_found")
	do("listGrants", "GET", "/grants?limit=1", "", 200)
	do("takeGrant", "DELETE", "/grants/"+grant, "", 204)
	do("takeGrant", "DELETE", "/grants/"+grant, "", 404, "grant_not_found")
	do("leaveGroup", "DELETE", member, "", 204)
	do("leaveGroup", "DELETE", member, "", 404, "user_not_found")
	do("listGroups", "GET", "/groups", "", 200)
	do("deleteGroup", "DELETE", group, "", 204)
	do("listUsers", "GET", "/users?limit=1", "", 200)
	if x = do("listUsers", "GET", "/users?q=ADA@example.O&status=active", "", 200); len(x.AnswerJSON["data"].([]any)) != 1 {
		t.Errorf("found: %s", x.AnswerBody)
	}
	if x = do("listUsers", "GET", "/users?status=invited", "", 200); len(x.AnswerJSON["data"].([]any)) != 0 {
		t.Errorf("invited: %s", x.AnswerBody)
	}
	do("listUsers", "GET", "/users?status=gone", "", 400, "invalid_parameter")
	do("removeUser", "DELETE", ada, "", 204)
	do("getUser", "GET", ada, "", 404, "user_not_found")
}

func driveKeys(t *testing.T, i *installation) {
	x := i.Do(t, i.key, api.Exchange{
		Operation: "createAPIKey", Method: "POST", Path: "/api/v1/api-keys", Status: 201,
		Body: `{"name":"narrow","scopes":["workflows:read"],"rate_limit":7}`, Header: map[string]string{"Idempotency-Key": "k"},
	})
	narrow, k := x.AnswerJSON["key"].(string), strings.TrimPrefix(x.AnswerHeader.Get("Location"), i.base)
	x = i.Do(t, i.key, api.Exchange{
		Operation: "createAPIKey", Method: "POST", Path: "/api/v1/api-keys", Status: 201,
		Body: `{"name":"narrow","scopes":["workflows:read"],"rate_limit":7}`, Header: map[string]string{"Idempotency-Key": "k"},
	})
	if x.AnswerJSON["key"] != nil || x.AnswerHeader.Get("Idempotency-Replayed") != "true" {
		t.Errorf("replayed key: %s", x.AnswerBody)
	}
	i.Do(t, narrow, api.Exchange{Operation: "listWorkflows", Path: "/api/v1/workflows", Status: 200})
	i.Do(t, narrow, api.Exchange{Operation: "listAPIKeys", Path: "/api/v1/api-keys", Status: 403, Code: "insufficient_scope"})
	x = i.Do(t, i.key, api.Exchange{Operation: "updateAPIKey", Method: "PATCH", Path: k, Body: `{"name":"narrower","rate_limit":0}`, Status: 200})
	if x.AnswerJSON["name"] != "narrower" || x.AnswerJSON["rate_limit"] != json.Number("0") {
		t.Errorf("changed: %s", x.AnswerBody)
	}
	i.Do(t, i.key, api.Exchange{Operation: "getAPIKey", Path: k, Status: 200})
	i.Do(t, i.key, api.Exchange{Operation: "listAPIKeys", Path: "/api/v1/api-keys?limit=1", Status: 200})
	rotate := api.Exchange{Operation: "rotateAPIKey", Method: "POST", Path: k + "/rotate", Body: `{"grace":"1h"}`, Header: map[string]string{"Idempotency-Key": "r"}, Status: 200}
	i.Do(t, i.key, rotate)
	if x = i.Do(t, i.key, rotate); x.AnswerJSON["key"] != nil || x.AnswerHeader.Get("Idempotency-Replayed") != "true" || x.AnswerJSON["previous_key_until"] == nil {
		t.Errorf("rotated again: %s", x.AnswerBody)
	}
	i.Do(t, narrow, api.Exchange{Operation: "listWorkflows", Path: "/api/v1/workflows", Status: 200})
	x = i.Do(t, i.key, api.Exchange{Operation: "rotateAPIKey", Method: "POST", Path: k + "/rotate", Body: `{"grace":"0s"}`, Status: 200})
	i.Do(t, narrow, api.Exchange{Operation: "listWorkflows", Path: "/api/v1/workflows", Status: 401, Code: "invalid_api_key"})
	narrow = x.AnswerJSON["key"].(string)
	i.Do(t, narrow, api.Exchange{Operation: "listWorkflows", Path: "/api/v1/workflows", Status: 200})
	i.Do(t, i.key, api.Exchange{Operation: "updateAPIKey", Method: "PATCH", Path: k, Body: `{"allowed_addresses":["192.0.2.0/24"]}`, Status: 200})
	i.Do(t, narrow, api.Exchange{Operation: "listWorkflows", Path: "/api/v1/workflows", Status: 403, Code: "address_not_allowed"})
	i.Do(t, i.key, api.Exchange{Operation: "updateAPIKey", Method: "PATCH", Path: k, Body: `{"allowed_addresses":["127.0.0.0/16"]}`, Status: 200})
	i.Do(t, narrow, api.Exchange{Operation: "listWorkflows", Path: "/api/v1/workflows", Status: 200})
	i.Do(t, i.key, api.Exchange{Operation: "revokeAPIKey", Method: "DELETE", Path: k, Status: 204})
	i.Do(t, i.key, api.Exchange{Operation: "getAPIKey", Path: k, Status: 404, Code: "api_key_not_found"})
	i.Do(t, narrow, api.Exchange{Operation: "listWorkflows", Path: "/api/v1/workflows", Status: 401, Code: "invalid_api_key"})
}

// driveSecrets: nothing that is answered holds a value.
func driveSecrets(t *testing.T, i *installation) {
	const one, other = "/api/v1/secrets/team%2Ftoken%20%C3%BC", "/api/v1/secrets/login"
	do := func(x api.Exchange) api.Exchange {
		t.Helper()
		x = i.Do(t, i.key, x)
		if strings.Contains(string(x.AnswerBody), "hunter2") {
			t.Errorf("%s %s shows the value: %s", x.Method, x.Path, x.AnswerBody)
		}
		return x
	}
	x := do(api.Exchange{Operation: "putSecret", Method: "PUT", Path: one, Body: `{"value":"hunter2"}`, Status: 201})
	if x.AnswerJSON["name"] != "team/token ü" || x.AnswerJSON["version"] != json.Number("1") || !strings.HasSuffix(x.AnswerHeader.Get("Location"), one) {
		t.Errorf("created: %s at %s", x.AnswerBody, x.AnswerHeader.Get("Location"))
	}
	x = do(api.Exchange{Operation: "putSecret", Method: "PUT", Path: one, Body: `{"value":"hunter2"}`, Status: 200})
	if x.AnswerJSON["version"] != json.Number("2") {
		t.Errorf("set again: %s", x.AnswerBody)
	}
	do(api.Exchange{Operation: "putSecret", Method: "PUT", Path: other, Body: `{"value":{"username":"ci","password":"hunter2"}}`, Status: 201})
	x = do(api.Exchange{Operation: "listSecrets", Path: "/api/v1/secrets?limit=1", Status: 200})
	first := x.AnswerJSON["data"].([]any)[0].(map[string]any)
	cursor, more := x.AnswerJSON["cursor"].(string)
	if first["name"] != "login" || !more {
		t.Errorf("list: %s", x.AnswerBody)
	}
	x = do(api.Exchange{Operation: "listSecrets", Path: "/api/v1/secrets?limit=1&cursor=" + cursor, Status: 200})
	if second := x.AnswerJSON["data"].([]any)[0].(map[string]any); second["name"] != "team/token ü" || x.AnswerJSON["cursor"] != nil {
		t.Errorf("second page: %s", x.AnswerBody)
	}
	x = do(api.Exchange{Operation: "getSecret", Path: one, Status: 200})
	if versions, ok := x.AnswerJSON["versions"].([]any); !ok || len(versions) != 2 {
		t.Errorf("versions: %s", x.AnswerBody)
	}
	x = do(api.Exchange{Operation: "rollBackSecret", Method: "POST", Path: one + "/rollback", Body: `{"version":1}`, Status: 200})
	if x.AnswerJSON["version"] != json.Number("3") {
		t.Errorf("rolled back: %s", x.AnswerBody)
	}
	do(api.Exchange{Operation: "rollBackSecret", Method: "POST", Path: one + "/rollback", Body: `{"version":9}`, Status: 404, Code: "version_not_found"})
	do(api.Exchange{Operation: "rollBackSecret", Method: "POST", Path: one + "/rollback", Body: `{}`, Status: 400, Code: "invalid_body", AgainstTheDocument: true})
	for _, bad := range []struct{ body, code string }{
		{`{}`, "invalid_body"}, {`{"value":null}`, "invalid_body"}, {`["hunter2"]`, "invalid_body"}, {`{"vlaue":"hunter2"}`, "unknown_field"},
		{`{"value":"hunter2`, "invalid_json"}, {`{"value":"` + strings.Repeat("hunter2", 10_000) + `"}`, "invalid_body"},
	} {
		do(api.Exchange{Operation: "putSecret", Method: "PUT", Path: one, Body: bad.body, Status: 400, Code: bad.code, AgainstTheDocument: true})
	}
	do(api.Exchange{Operation: "putSecret", Method: "PUT", Path: "/api/v1/secrets/%00", Body: `{"value":"hunter2"}`, Status: 400, Code: "invalid_parameter"})
	do(api.Exchange{Operation: "deleteSecret", Method: "DELETE", Path: one, Status: 204})
	do(api.Exchange{Operation: "deleteSecret", Method: "DELETE", Path: one, Status: 404, Code: "secret_not_found"})
	do(api.Exchange{Operation: "getSecret", Path: one, Status: 404, Code: "secret_not_found"})
	do(api.Exchange{Operation: "getSecret", Path: "/api/v1/secrets/%FF", Status: 404, Code: "secret_not_found"})
}

// driveAudit: everything that the test has changed before is on record, and nothing of it that was secret.
func driveAudit(t *testing.T, i *installation) {
	x := i.Do(t, i.key, api.Exchange{Operation: "listAuditLog", Path: "/api/v1/audit-log?limit=2", Status: 200})
	cursor, more := x.AnswerJSON["cursor"].(string)
	if !more || len(x.AnswerJSON["data"].([]any)) != 2 {
		t.Errorf("first page: %s", x.AnswerBody)
	}
	i.Do(t, i.key, api.Exchange{Operation: "listAuditLog", Path: "/api/v1/audit-log?limit=2&cursor=" + cursor, Status: 200})
	i.Do(t, i.key, api.Exchange{Operation: "listAuditLog", Path: "/api/v1/audit-log?action=workflow.publised", Status: 400, Code: "invalid_parameter"})
	i.Do(t, i.key, api.Exchange{Operation: "listAuditLog", Path: "/api/v1/audit-log?actr=system", Status: 400, Code: "unknown_parameter", AgainstTheDocument: true})
	lines := i.Do(t, i.key, api.Exchange{
		Operation: "listAuditLog", Path: "/api/v1/audit-log", Header: map[string]string{"Accept": "application/jsonl"}, Status: 200,
	})
	if media := lines.AnswerHeader.Get("Content-Type"); media != "application/jsonl" {
		t.Errorf("Content-Type %q", media)
	}
	for _, secret := range []string{"hunter2", i.key, "sk_live_", "sk_test_"} {
		if strings.Contains(string(lines.AnswerBody), secret) {
			t.Errorf("the audit log holds %s", secret)
		}
	}
	found := map[string]int{}
	for line := range strings.Lines(string(lines.AnswerBody)) {
		var e struct {
			Action, Address string
			RequestID       string `json:"request_id"`
			Actor           struct{ Kind, ID, Name string }
			Target          struct{ Kind, ID string }
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		found[e.Action]++
		system := e.Actor.Kind == "system" && e.Actor.ID == "system" && e.Actor.Name == "chargehand keys create"
		if byKey := (e.Actor.Kind == "key" || e.Actor.Kind == "user" || e.Actor.Kind == "link") && strings.HasPrefix(e.Address, "127.0.") && e.RequestID != ""; !byKey && !system || e.Target.ID == "" {
			t.Errorf("entry %s", line)
		}
	}
	for _, action := range api.AuditedActions() {
		switch action {
		case audit.PasskeyAdded, audit.PasskeyRemoved, audit.PasskeyRenamed: // TestPasskeysOverHTTP
			continue
		case audit.UserProvisioned, audit.IdentityLinked, audit.IdentityRemoved: // TestProvidersOverHTTP
			continue
		}
		if found[string(action)] == 0 {
			t.Errorf("nothing is on record as %s: %v", action, found)
		}
	}
	old := i.Do(t, i.key, api.Exchange{Operation: "listAuditLog", Path: "/api/v1/audit-log?actor=system&target=none", Status: 200})
	if list, _ := old.AnswerJSON["data"].([]any); len(list) != 0 {
		t.Errorf("filtered: %s", old.AnswerBody)
	}
}

// driveEvents: every mode, a repetition, and refusals of a batch that keep all of it out.
func driveEvents(t *testing.T, i *installation) {
	const one = `{"specversion":"1.0","id":"1","source":"/shop","type":"org.example.order","data":{"n":1}}`
	do := func(x api.Exchange) api.Exchange {
		t.Helper()
		x.Operation, x.Method, x.Path = "publishEvents", "POST", "/api/v1/events"
		return i.Do(t, i.key, x)
	}
	structured, batch := map[string]string{"Content-Type": "application/cloudevents+json"}, map[string]string{"Content-Type": "application/cloudevents-batch+json"}
	do(api.Exchange{Body: one, Header: structured, Status: 202})
	do(api.Exchange{Body: one, Header: structured, Status: 202})
	do(api.Exchange{Body: "[" + one + "," + strings.Replace(one, `"id":"1"`, `"id":"2"`, 1) + "]", Header: batch, Status: 202})
	do(api.Exchange{Body: "plain", Status: 202, Header: map[string]string{
		"Content-Type": "text/plain", "ce-specversion": "1.0", "ce-id": "3", "ce-source": "/shop", "ce-type": "org.example.note",
	}})
	do(api.Exchange{Body: "[" + one + `,{"id":"4"}]`, Header: batch, Status: 400, Code: "invalid_body", AgainstTheDocument: true})
	do(api.Exchange{Body: one, Status: 415, Code: "unsupported_media_type", AgainstTheDocument: true})
	repeated := map[string]string{"Content-Type": "application/cloudevents+json", "Idempotency-Key": "order-1"}
	if x := do(api.Exchange{Body: one, Header: repeated, Status: 202}); x.AnswerHeader.Get("Idempotency-Replayed") != "" {
		t.Error("the first request with a key is answered as a repetition")
	}
	if x := do(api.Exchange{Body: one, Header: repeated, Status: 202}); x.AnswerHeader.Get("Idempotency-Replayed") != "true" {
		t.Error("the answer does not say that it is a repetition")
	}
	do(api.Exchange{Body: strings.Replace(one, "order", "other", 1), Header: repeated, Status: 422, Code: "idempotency_key_reused"})
}
