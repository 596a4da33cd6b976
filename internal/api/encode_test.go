package api

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/service"
)

func FuzzText(f *testing.F) {
	for _, s := range []string{"", "plain", "\"\\\n\r\t\x00\x1f\x7f", "ü€𝄞\u2028", "\xff\xc3", "<a&b>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var back string
		if err := json.Unmarshal([]byte(quoteJSON(s)), &back); err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		if want := strings.ToValidUTF8(s, "\ufffd"); utf8.ValidString(s) && back != want {
			t.Errorf("%q came back as %q", s, back)
		}
	})
}

func TestTimes(t *testing.T) {
	for want, when := range map[string]time.Time{
		`"2026-01-31T09:30:00.120Z"`: moment0,
		`"1970-01-01T00:00:00.001Z"`: time.UnixMilli(1),
		`"2026-01-31T08:30:00.000Z"`: time.Date(2026, 1, 31, 9, 30, 0, 999_999, time.FixedZone("", 3600)),
	} {
		if got := string(appendTime(nil, when.UnixMilli())); got != want {
			t.Errorf("%v: %s, want %s", when, got, want)
		}
	}
}

// TestExecutionAnswers are the contract's answers about executions, byte by byte.
func TestExecutionAnswers(t *testing.T) {
	f := &fake{}
	s := newServer(t, f)
	const created = `{"execution_id":"0197a5c4-2222-7000-8000-000000000002","id":"0197a5c4-2222-7000-8000-000000000002",` +
		`"workflow_id":"0197a5c4-1111-7000-8000-000000000001","status":"initial","created_at":"2026-01-31T09:30:00.120Z",` +
		`"results":null,"phase":"pending","workflow_version":"1.0.0","revision":2,"environment":"test","workflow":"shop/order","cause":{"kind":"api"}}`
	a := request{method: "POST", path: pathW + "/executions"}.to(s)
	if a.status != 201 || string(a.body) != created {
		t.Errorf("create: %d\ngot  %s\nwant %s", a.status, a.body, created)
	}
	if got := a.header.Get("Location"); got != "http://example.com"+pathE {
		t.Errorf("Location %q", got)
	}
	const read = `{"id":"0197a5c4-2222-7000-8000-000000000002","workflow_id":"0197a5c4-1111-7000-8000-000000000001",` +
		`"status":"finished","created_at":"2026-01-31T09:30:00.120Z","results":[{"filename":"sheet \"1\".png",` +
		`"url":"http://files.test/api/v1/files/0197a5c4-4444-7000-8000-000000000004/content?expires=1&signature=s&x=<>",` +
		`"size":42,"content_type":"image/png","sha256":"0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f",` +
		`"expires_at":"2026-01-31T10:30:00.120Z"}],"phase":"completed","workflow_version":"1.0.0","revision":2,"environment":"live",` +
		`"batch_id":"0197a5c4-3333-7000-8000-000000000003","retry_of":"0197a5c4-2222-7000-8000-000000000002",` +
		`"workflow":"shop/order","cause":{"kind":"api"},"started_by":{"kind":"user","id":"0197a5c4-7777-7000-8000-000000000007","name":"Ada"},` +
		`"started_at":"2026-01-31T09:30:00.121Z","finished_at":"2026-01-31T09:30:01.120Z","output":{"n":12345678901234567890123}}`
	a = request{path: pathE}.to(s)
	if a.status != 200 || string(a.body) != read {
		t.Errorf("read: %d\ngot  %s\nwant %s", a.status, a.body, read)
	}
	if a.header.Get("Retry-After") != "" || a.header.Get("ETag") != `"tag-1"` {
		t.Errorf("Retry-After %q, ETag %s", a.header.Get("Retry-After"), a.header.Get("ETag"))
	}
}

// TestConditionalReads: 304 for the same tag, however it is sent; a hint while not final.
func TestConditionalReads(t *testing.T) {
	f := &fake{}
	s := newServer(t, f)
	for value, want := range map[string]int{
		`"tag-1"`: 304, `W/"tag-1"`: 304, `"x", "tag-1"`: 304, `*`: 304, `"tag-2"`: 200, `tag-1`: 200, ``: 200,
	} {
		a := request{path: pathE, header: map[string]string{"If-None-Match": value}}.to(s)
		if a.status != want || (want == 304) != (len(a.body) == 0) {
			t.Errorf("If-None-Match %s: %d with %d bytes", value, a.status, len(a.body))
		}
	}
	b := request{path: pathB + "?executions=none"}.to(s)
	if b.header.Get("Retry-After") == "" || b.header.Get("ETag") != `"batch-1"` {
		t.Errorf("a running batch: Retry-After %q, ETag %s", b.header.Get("Retry-After"), b.header.Get("ETag"))
	}
}

func TestBatchAnswers(t *testing.T) {
	s := newServer(t, &fake{})
	const head = `{"batch_id":"0197a5c4-3333-7000-8000-000000000003","id":"0197a5c4-3333-7000-8000-000000000003","workflow_id":"0197a5c4-1111-7000-8000-000000000001",` +
		`"status":"running","total":3,"completed":1,"failed":1,"cancelled":1,"running":1,"waiting":0,"queued":0,"concurrency":500,` +
		`"effective_concurrency":100,"workflow_version":"1.0.0","revision":2,"phase":"running","eta_ms":1500,"environment":"live",` +
		`"started_by":{"kind":"key","id":"0197a5c4-5555-7000-8000-000000000005","name":"ci"},"created_at":"2026-01-31T09:30:00.120Z",` +
		`"started_at":"2026-01-31T09:30:00.120Z","completed_at":"2026-01-31T09:30:00.120Z"`
	const entry = `{"execution_id":"0197a5c4-2222-7000-8000-000000000002","inputs":{"i":1.0},`
	const full = head + `,"executions":[` + entry + `"status":"finished","phase":"completed","duration_ms":0,"index":0,"item_id":"item"},` +
		entry + `"status":"error","phase":"faulted","duration_ms":10,"index":1,"item_id":"item","error":{` +
		`"type":"https://open-workflow-specification.org/spec/1.0.0/errors/timeout","status":408,"title":"Timeout",` +
		`"detail":"took \"too\" long","instance":"/do/0/wait","code":"timeout","origin":"workflow","retryable":true}},` +
		entry + `"status":"processing","phase":"running","index":2,"item_id":"item"}]}`
	for path, want := range map[string]string{pathB: full, pathB + "?executions=full": full, pathB + "?executions=none": head + "}"} {
		if a := (request{path: path}).to(s); a.status != 200 || string(a.body) != want {
			t.Errorf("%s: %d\ngot  %s\nwant %s", path, a.status, a.body, want)
		}
	}
	a := request{method: "POST", path: pathW + "/batch", body: `{"items":[{}]}`}.to(s)
	if a.status != 202 || string(a.body) != full || a.header.Get("Location") != "http://example.com"+pathB {
		t.Errorf("run: %d, Location %s\n%s", a.status, a.header.Get("Location"), a.body)
	}
	items := decode(t, request{path: pathB + "/items?limit=2"}.to(s).body)
	if items["cursor"] != "2" || len(items["data"].([]any)) != 2 {
		t.Errorf("first page of items: %v", items)
	}
	items = decode(t, request{path: pathB + "/items?limit=2&cursor=2"}.to(s).body)
	if items["cursor"] != nil || len(items["data"].([]any)) != 1 {
		t.Errorf("last page of items: %v", items)
	}
	first := `{"data":[{"execution_id":"` + executionID.String() + `","status":"finished",`
	if a := (request{path: pathB + "/items?limit=1&fields=summary"}).to(s); a.status != 200 || !strings.HasPrefix(string(a.body), first) {
		t.Errorf("a summary of items: %d %s", a.status, a.body)
	}
	items = decode(t, request{path: pathB + "/items?cursor=4000000000"}.to(s).body)
	if items["cursor"] != nil || len(items["data"].([]any)) != 0 {
		t.Errorf("beyond the end: %v", items)
	}
}

// TestPartOfBatch: executions=page gives the first hundred and says where the next page begins.
func TestPartOfBatch(t *testing.T) {
	f := &fake{entries: manyEntries(250, nil)}
	v := decode(t, request{path: pathB + "?executions=page"}.to(newServer(t, f)).body)
	if len(v["executions"].([]any)) != 100 || v["executions_cursor"] != "100" {
		t.Errorf("%d entries, cursor %v", len(v["executions"].([]any)), v["executions_cursor"])
	}
}

// manyEntries is a batch of n items; after them comes err.
func manyEntries(n int, err error) func(service.BatchEntries, func(*service.BatchEntry) error) (int, error) {
	return func(q service.BatchEntries, each func(*service.BatchEntry) error) (int, error) {
		e := service.BatchEntry{Execution: executionID, Inputs: []byte(`{"name":"Ada","n":1}`), Status: chargehand.Initial}
		for i := q.From; i < n; i++ {
			if q.Limit > 0 && i == q.From+q.Limit {
				return i, nil
			}
			e.Index = i
			if err := each(&e); err != nil {
				return -1, err
			}
		}
		return -1, err
	}
}

func TestStreamedBatch(t *testing.T) {
	a := request{method: "POST", path: pathW + "/batch", body: `{"items":[{}]}`}.to(newServer(t, &fake{entries: manyEntries(10_000, nil)}))
	entries := decode(t, a.body)["executions"].([]any)
	if a.status != 202 || len(entries) != 10_000 {
		t.Fatalf("%d with %d entries", a.status, len(entries))
	}
	for i, e := range entries {
		if e.(map[string]any)["index"] != json.Number(itoa(i)) {
			t.Fatalf("entry %d is %v", i, e)
		}
	}
}

// TestTimelinePage: the cursor is the last seq.
func TestTimelinePage(t *testing.T) {
	var list service.ListTimeline
	s := newServer(t, &fake{timeline: func(l service.ListTimeline) (*service.TimelinePage, error) {
		list = l
		return &service.TimelinePage{Next: 7}, nil
	}})
	a := request{path: pathE + "/timeline?limit=5&cursor=2"}.to(s)
	if string(a.body) != `{"data":[],"cursor":"7","truncated":false}` || list.Limit != 5 || list.After != 2 {
		t.Errorf("%s for %+v", a.body, list)
	}
	request{path: pathE + "/timeline?reference=/do/0/a&reference=/do/1/b~1c&under=/do&phase=running&phase=waiting&after_seq=9&order=desc&fields=summary"}.to(s)
	list.Workflow, list.Execution, list.View = chargehand.WorkflowID{}, chargehand.ExecutionID{}, service.View{}
	want := service.ListTimeline{
		References: []string{"/do/0/a", "/do/1/b~1c"}, Under: "/do", Phases: []chargehand.Phase{chargehand.Running, chargehand.Waiting},
		AfterSeq: 9, Descending: true, Summary: true, Limit: 100,
	}
	if !reflect.DeepEqual(list, want) {
		t.Errorf("the filters are %+v, want %+v", list, want)
	}
}

// TestExecutionsAreEncodedAsTheirTypesSay compares what is written field by field with what encoding/json makes of the
// types: with all fields, and with each of them empty.
func TestExecutionsAreEncodedAsTheirTypesSay(t *testing.T) {
	compare := func(what string, v any) {
		t.Helper()
		want, err := encodeAny(v)
		if err != nil {
			t.Fatal(err)
		}
		if got := encodeKnown(v); string(got) != string(want) {
			t.Errorf("%s:\n%s\nwant\n%s", what, got, want)
		}
	}
	var full Execution
	fill(reflect.ValueOf(&full).Elem())
	var empty Execution
	all := []Execution{full, empty}
	for i, field := range reflect.VisibleFields(reflect.TypeFor[Execution]()) {
		cleared, only := full, Execution{}
		reflect.ValueOf(&cleared).Elem().Field(i).SetZero()
		reflect.ValueOf(&only).Elem().Field(i).Set(reflect.ValueOf(full).Field(i))
		compare("without "+field.Name, cleared)
		compare("only "+field.Name, only)
		all = append(all, cleared, only)
	}
	for _, sparse := range []Execution{
		{WaitingFor: &waitingFor{}, Attempting: &attempting{}, StartedBy: &startedBy{}, Error: &executionError{}, Results: []result{}},
		{WaitingFor: &waitingFor{Filter: &eventFilter{}}, Results: []result{{}, {}}, Labels: map[string]string{"b": "<&>", "a": "\u2028", "ü": "\xff"}},
	} {
		compare("sparse", sparse)
		all = append(all, sparse)
	}
	text := "next"
	compare("a page", executionPage{Data: all, Cursor: &text})
	compare("the last page", executionPage{Data: all[:1]})
	compare("an empty page", executionPage{Data: []Execution{}})
	compare("no page", executionPage{})
	created := CreatedExecution{ExecutionID: full.ID, Execution: full}
	compare("a new one", retriedExecution{CreatedExecution: created})
	compare("a retry", retriedExecution{created, "1.2.3", 7})
}

// fill sets every field of a value to something.
func fill(v reflect.Value) {
	switch {
	case v.Type() == reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte(`{"a":[1,"<x>"]}`))
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0))
		fill(v.Index(1))
	case v.Kind() == reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{"team": "a\"b", "x": "é"}))
	case v.Kind() == reflect.String:
		v.SetString("a \"text\" & <more>\n")
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.Kind() == reflect.Uint8:
		v.SetUint(0xa7)
	case v.Kind() == reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i))
		}
	default:
		v.SetInt(1_700_000_000_123 % (1 << 31))
	}
}

func BenchmarkEncodeExecution(b *testing.B) {
	e := retriedExecution{CreatedExecution: CreatedExecution{Execution: Execution{
		Status: "initial", Phase: "pending", CreatedAt: 1_700_000_000_123, WorkflowVersion: "1.0.0", Revision: 1, Environment: "live",
		WorkflowName: "bench/set", Cause: cause{Kind: "api"}, StartedBy: &startedBy{"key", "01890a5d-ac96-774b-bcce-b302099a8057", "bench"},
	}}}
	for name, encode := range map[string]func(any) ([]byte, error){"known": encode, "any": encodeAny} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := encode(e); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
