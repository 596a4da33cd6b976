package api_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/api"
	"github.com/chargehand/chargehand/internal/store"
)

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
