package service

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
)

func TestCreateExecutionAnswersInitialAndIsStored(t *testing.T) {
	fx := newFixture(t)
	fx.engine.atOnce = true // the answer says initial, although it has ended
	flow := fx.apply(definition("greet", "1.0.0"))
	fx.pass(time.Minute)
	e := fx.create(flow.ID, map[string]any{"b": 1.0, "a": "x"})
	if e.Status != chargehand.Initial || e.Phase != chargehand.Pending || e.Results != nil || !e.StartedAt.IsZero() {
		t.Errorf("creation answers %+v, want initial, pending, without results and start", e)
	}
	if e.Workflow != flow.ID || e.WorkflowVersion != "1.0.0" || e.Environment != chargehand.Live {
		t.Errorf("creation answers %+v", e)
	}
	if want := epoch.Add(time.Minute); !e.CreatedAt.Equal(want) || e.CreatedAt.Location() != time.UTC {
		t.Errorf("created_at is %v, want %v in UTC", e.CreatedAt, want)
	}
	if e.ID[6]>>4 != 7 || e.ID[8]>>6 != 2 {
		t.Errorf("%v is no UUID of version 7", e.ID)
	}
	if got := string(fx.engine.starts[0].Row.Input.Inline); got != `{"a":"x","b":1.0}` {
		t.Errorf("stored input is %s, want the canonical form", got)
	}
	if got := fx.get(e); got.Status != chargehand.Finished {
		t.Errorf("status is %v after the end", got.Status)
	}
}

func TestCreateExecutionTakesEmptyInput(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("greet", "1.0.0"))
	for _, body := range []any{nil, map[string]any{}, map[string]any{"input": map[string]any{}}} {
		_, _, err := fx.CreateExecution(t.Context(), fx.p, CreateExecution{Workflow: flow.ID, Body: body})
		if err != nil {
			t.Fatalf("body %v: %v", body, err)
		}
		last := fx.engine.starts[len(fx.engine.starts)-1]
		if string(last.Row.Input.Inline) != "{}" {
			t.Errorf("body %v: stored input is %s, want {}", body, last.Row.Input.Inline)
		}
	}
}

func TestCreateExecutionRefusesBadBodies(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("typed", "1.0.0", wantsText))
	for _, c := range []struct {
		name, body string
		code       chargehand.Code
		pointers   []string
		says       string
	}{
		{"a body that is no object", `[]`, chargehand.CodeInvalidBody, []string{""}, "an array"},
		{"a text as body", `"x"`, chargehand.CodeInvalidBody, []string{""}, "a string"},
		{"an input that is no object", `{"input": []}`, chargehand.CodeInvalidBody, []string{"/input"}, "an array"},
		{"an input that is null", `{"input": null}`, chargehand.CodeInvalidBody, []string{"/input"}, "null"},
		{"inputs instead of input", `{"inputs": {}}`, chargehand.CodeUnknownField, []string{"/inputs"}, `"input"`},
		{"items instead of input", `{"items": []}`, chargehand.CodeUnknownField, []string{"/items"}, `"input"`},
		{"a slip of the pen", `{"imput": {}}`, chargehand.CodeUnknownField, []string{"/imput"}, `"input"`},
		{"two unknown fields", `{"zz": 1, "a/b~c": 2}`, chargehand.CodeUnknownField, []string{"/a~1b~0c", "/zz"}, "Known fields: input"},
		{"unknown before wrong", `{"input": 1, "zz": 1}`, chargehand.CodeUnknownField, []string{"/zz"}, ""},
		{"no input where the schema wants a field", `{}`, chargehand.CodeInputInvalid, []string{"/input/text"}, "/input/text: the property"},
		{"a field of the wrong type", `{"input": {"text": 1}}`, chargehand.CodeInputInvalid, []string{"/input/text"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := fx.CreateExecution(t.Context(), fx.p, CreateExecution{Workflow: flow.ID, Body: parse(t, c.body)})
			shown := wantCode(t, err, c.code)
			wantPointers(t, shown, c.pointers...)
			if !strings.Contains(shown.Detail+shown.Fields[0].Detail, c.says) {
				t.Errorf("detail is %q, want it to say %s", shown.Detail, c.says)
			}
		})
	}
	if n := len(fx.engine.starts); n != 0 {
		t.Errorf("%d executions were started", n)
	}
}

// The order of checks in docs/reference/api.md: workflow, then fields, then input_schema.
func TestCreateExecutionChecksInOrder(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("typed", "1.0.0", wantsText))
	unknown := newID[chargehand.WorkflowID](1)
	bad := map[string]any{"zz": 1}
	_, _, err := fx.CreateExecution(t.Context(), fx.p, CreateExecution{Workflow: unknown, Body: bad})
	wantCode(t, err, chargehand.CodeWorkflowNotFound)
	_, _, err = fx.CreateExecution(t.Context(), fx.p, CreateExecution{Workflow: flow.ID, Version: "9.9.9", Body: bad})
	wantCode(t, err, chargehand.CodeVersionNotFound)
	_, _, err = fx.CreateExecution(t.Context(), fx.p, CreateExecution{Workflow: flow.ID, Body: bad})
	wantCode(t, err, chargehand.CodeUnknownField)
	_, _, err = fx.CreateExecution(t.Context(), fx.p, CreateExecution{Workflow: flow.ID})
	wantCode(t, err, chargehand.CodeInputInvalid)
}

func TestCreateExecutionHidesWhatTheKeyMayNotSee(t *testing.T) {
	fx := newFixture(t)
	flow, other := fx.apply(definition("one", "1.0.0")), fx.apply(definition("two", "1.0.0"))
	for name, p := range map[string]*Principal{
		"another account":                    fx.stranger(),
		"a workflow outside the key's list":  fx.principal(chargehand.Live, PresetAll, other.ID),
		"an empty list, which names nothing": {AccountNo: fx.account.No, Environment: chargehand.Live, Workflows: []chargehand.WorkflowID{}},
	} {
		_, _, err := fx.CreateExecution(t.Context(), p, CreateExecution{Workflow: flow.ID})
		if shown := wantCode(t, err, chargehand.CodeWorkflowNotFound); shown.Detail != workflowNotFound().(*chargehand.Error).Detail {
			t.Errorf("%s: the detail %q tells it from an unknown workflow", name, shown.Detail)
		}
	}
}

func TestCreateExecutionFullQueue(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("greet", "1.0.0"))
	fx.engine.refuse = fmt.Errorf("start: %w", engine.ErrQueueFull)
	_, _, err := fx.CreateExecution(t.Context(), fx.p, CreateExecution{Workflow: flow.ID})
	if shown := wantCode(t, err, chargehand.CodeQueueFull); shown.RetryAfter < 1 {
		t.Error("queue_full has no Retry-After")
	}
}

func TestUnavailableStorage(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("greet", "1.0.0"))
	fx.engine.refuse = fmt.Errorf("start: %w", store.ErrUnavailable)
	_, _, err := fx.CreateExecution(t.Context(), fx.p, CreateExecution{Workflow: flow.ID})
	if shown := wantCode(t, err, chargehand.CodeUnavailable); shown.RetryAfter < 1 || strings.Contains(shown.Detail, "start:") {
		t.Errorf("unavailable is shown as %+v", shown)
	}
	if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "start:") {
		t.Errorf("the log gets %v, want the cause", err)
	}
	fx.engine.refuse = fmt.Errorf("start: %w", store.InDoubt(errors.New("the connection was lost")))
	_, _, err = fx.CreateExecution(t.Context(), fx.p, CreateExecution{Workflow: flow.ID})
	if shown := wantCode(t, err, chargehand.CodeUnavailable); !strings.Contains(shown.Detail, "whether it was carried out is not known") {
		t.Errorf("in doubt is shown as %+v", shown)
	}
	fx.db.broken.Store(true)
	fx.pass(time.Hour)
	_, err = fx.GetWorkflow(t.Context(), fx.p, flow.ID)
	wantCode(t, err, chargehand.CodeUnavailable)
	if fx.Ready(t.Context()) {
		t.Error("the service is ready without storage")
	}
}

func TestHotCreateCostsNoQuery(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("greet", "1.0.0"))
	fx.create(flow.ID, noInput)
	views, updates := fx.db.views.Load(), fx.db.updates.Load()
	for range 10 {
		fx.create(flow.ID, noInput)
	}
	if n := fx.db.views.Load() - views; n != 0 {
		t.Errorf("10 creations cost %d queries, want none", n)
	}
	if n := fx.db.updates.Load() - updates; n != 10 {
		t.Errorf("10 creations cost %d transactions, want one each", n)
	}
}

var noInput = map[string]any{}

func TestGetExecution(t *testing.T) {
	fx := newFixture(t)
	flow, other := fx.apply(definition("one", "1.0.0")), fx.apply(definition("two", "1.0.0"))
	e := fx.create(flow.ID, noInput)
	t.Run("before the end", func(t *testing.T) {
		got := fx.get(e)
		if got.Status != chargehand.Initial || got.Results != nil || got.Output != nil || got.Error != nil {
			t.Errorf("got %+v", got)
		}
		fx.run(e.ID, store.StateActive)
		if got := fx.get(e); got.Status != chargehand.Processing || got.Phase != chargehand.Running || got.StartedAt.IsZero() {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("after the end", func(t *testing.T) {
		fx.finish(e.ID, `{"total":3}`)
		got := fx.get(e)
		if got.Status != chargehand.Finished || got.Phase != chargehand.Completed || string(got.Output) != `{"total":3}` || got.FinishedAt.IsZero() {
			t.Errorf("got %+v", got)
		}
		if len(got.Results) != 1 {
			t.Fatalf("results are %+v, want output.json", got.Results)
		}
		r := got.Results[0]
		if r.Filename != "output.json" || r.Size != 11 || r.ContentType != "application/json" || len(r.SHA256) != 64 {
			t.Errorf("result is %+v", r)
		}
		if !strings.HasPrefix(r.URL, "https://example.com/api/v1/files/"+e.ID.String()+"/content?") {
			t.Errorf("address is %s, want an absolute one", r.URL)
		}
		if left := r.ExpiresAt.Sub(fx.now()); left < time.Hour || left > time.Hour+time.Second {
			t.Errorf("the link lives %v, want an hour", left)
		}
	})
	t.Run("hidden", func(t *testing.T) {
		for name, c := range map[string]struct {
			p        *Principal
			workflow chargehand.WorkflowID
			id       chargehand.ExecutionID
		}{
			"unknown":                           {fx.p, flow.ID, newID[chargehand.ExecutionID](5)},
			"under the wrong workflow":          {fx.p, other.ID, e.ID},
			"under an unknown workflow":         {fx.p, newID[chargehand.WorkflowID](5), e.ID},
			"another environment":               {fx.test, flow.ID, e.ID},
			"another account":                   {fx.stranger(), flow.ID, e.ID},
			"a workflow outside the key's list": {fx.principal(chargehand.Live, PresetAll, other.ID), flow.ID, e.ID},
		} {
			_, err := fx.GetExecution(t.Context(), c.p, c.workflow, c.id, view)
			if wantCode(t, err, chargehand.CodeExecutionNotFound); err.Error() != executionNotFound().Error() {
				t.Errorf("%s: reported as %v", name, err)
			}
		}
	})
	t.Run("of a deleted workflow", func(t *testing.T) {
		if err := fx.DeleteWorkflow(t.Context(), fx.p, flow.ID); err != nil {
			t.Fatal(err)
		}
		if got := fx.get(e); got.Status != chargehand.Finished {
			t.Errorf("got %+v", got)
		}
	})
}

func TestGetExecutionError(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0"))
	e := fx.create(flow.ID, noInput)
	fault := &machine.Fault{
		Type: machine.ErrTimeout, Status: 408, Title: "Timeout", Detail: "too late", Instance: "/do/0/greet", System: true, Retryable: true,
	}
	if err := fx.engine.end(t.Context(), e.ID, chargehand.Errored, chargehand.Faulted, &store.Outcome{Fault: engine.EncodeFault(fault)}); err != nil {
		t.Fatal(err)
	}
	got := fx.get(e)
	want := ExecutionError{
		Type: machine.ErrTimeout, Status: 408, Title: "Timeout", Detail: "too late", Instance: "/do/0/greet",
		Code: "timeout", Origin: "system", Retryable: true, Line: 7, Column: 5,
	}
	if got.Status != chargehand.Errored || got.Phase != chargehand.Faulted || got.Error == nil || *got.Error != want {
		t.Errorf("got %+v with error %+v, want %+v", got, got.Error, want)
	}
	if got.Results != nil || got.Output != nil {
		t.Errorf("an execution that failed has results %v and output %s", got.Results, got.Output)
	}
}

// A 304 never leaves a link with less than 30 minutes to live.
func TestExecutionTagCoversRowAndHalfHour(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0"))
	e := fx.create(flow.ID, noInput)
	tags := []string{fx.get(e).ETag}
	fx.run(e.ID, store.StateActive)
	tags = append(tags, fx.get(e).ETag)
	fx.finish(e.ID, `{}`)
	tags = append(tags, fx.get(e).ETag)
	if slices.Sort(tags); len(slices.Compact(tags)) != 3 {
		t.Errorf("tags of three states are %q", tags)
	}
	for range 200 {
		first := fx.get(e)
		fx.pass(7 * time.Minute)
		if second := fx.get(e); second.ETag == first.ETag {
			if left := first.Results[0].ExpiresAt.Sub(fx.now()); left < 30*time.Minute {
				t.Fatalf("not modified, but the link has %v to live", left)
			}
		}
	}
}

func TestLargeInputAndOutputAreBlobs(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0"))
	large := strings.Repeat("x", 200<<10)
	e := fx.create(flow.ID, map[string]any{"text": large})
	row := fx.engine.starts[0].Row
	if row.Input.Inline != nil || len(row.Input.Blob) != 32 || row.Input.Size != int64(len(large)+len(`{"text":""}`)) {
		t.Fatalf("the input is stored as %d inline bytes, digest %x, size %d", len(row.Input.Inline), row.Input.Blob, row.Input.Size)
	}
	data, _ := json.Marshal(map[string]string{"text": large})
	payload, err := fx.pack(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	if err := fx.engine.end(t.Context(), e.ID, chargehand.Finished, chargehand.Completed, &store.Outcome{Output: payload}); err != nil {
		t.Fatal(err)
	}
	if got := fx.get(e); string(got.Output) != string(data) || got.Results[0].Size != int64(len(data)) {
		t.Errorf("output of %d bytes comes back as %d, result %+v", len(data), len(got.Output), got.Results)
	}
	again, _, err := fx.RetryExecution(t.Context(), fx.p, RetryExecution{Workflow: flow.ID, Execution: e.ID})
	if err != nil || again.RetryOf != e.ID {
		t.Errorf("retry: %+v, %v", again, err)
	}
	if in := fx.engine.starts[1].Input.(map[string]any); in["text"] != large {
		t.Error("the retry runs with another input")
	}
}

func TestSchemaKeywordsBecomeCodes(t *testing.T) {
	for keyword, want := range map[string]string{"required": "required", "minLength": "min_length", "$schema": "schema", "additionalProperties": "additional_properties"} {
		if got := snakeCase(keyword); got != want {
			t.Errorf("%s becomes %s, want %s", keyword, got, want)
		}
	}
}
