package service

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine/embedded"
)

// TestLabelsAndDelays starts executions on the embedded engine that wait for their start, and reads what they say.
func TestLabelsAndDelays(t *testing.T) {
	fx := newFixture(t)
	withEngine(t, fx, embedded.Limits{})
	setting := fx.apply([]byte(settingFlow))
	create := func(body string, wait time.Duration) *Execution {
		t.Helper()
		e, _, err := fx.CreateExecution(t.Context(), fx.p, CreateExecution{Workflow: setting.ID, Body: parse(t, body), View: View{Wait: wait}})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	want := []Label{{Name: "order", Value: "7"}, {Name: "team", Value: "blue"}}
	e := create(`{"input":{"name":"Ada"},"labels":{"team":"blue","order":"7"},"delay":"PT0.3S"}`, 0)
	if w := e.WaitingFor; w == nil || w.Kind != "timer" || w.Until.Sub(e.CreatedAt) > 301*time.Millisecond || !reflect.DeepEqual(e.Labels, want) {
		t.Errorf("accepted: %+v, waits for %+v", e, w)
	}
	e, err := fx.GetExecution(t.Context(), fx.p, setting.ID, e.ID, View{Wait: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if e.Status != chargehand.Finished || e.StartedAt.Sub(e.CreatedAt) < 299*time.Millisecond || e.WaitingFor != nil {
		t.Errorf("ended: %+v", e)
	}
	if !reflect.DeepEqual(e.Labels, want) || e.WorkflowName != "test/setting" || e.Cause.Kind != "api" || string(e.Input) != `{"name":"Ada"}` ||
		e.RetainedUntil.Sub(e.FinishedAt) != fx.retention.Live {
		t.Errorf("read: %+v", e)
	}
	again, _, err := fx.RetryExecution(t.Context(), fx.p, RetryExecution{Workflow: setting.ID, Execution: e.ID, View: View{Wait: 20 * time.Second}})
	if err != nil || !reflect.DeepEqual(again.Labels, want) || again.Cause != (Cause{"retry", e.ID.String()}) {
		t.Errorf("retried: %+v, %v", again, err)
	}
	// A delayed execution is cancelled like a queued one.
	e = create(`{"input":{"name":"Ada"},"delay_until":"`+time.Now().Add(time.Hour).Format(time.RFC3339)+`"}`, 0)
	e, _, err = fx.CancelExecution(t.Context(), fx.p, ChangeExecution{Workflow: setting.ID, Execution: e.ID})
	if err != nil || e.Phase != chargehand.Cancelled || e.WaitingFor != nil {
		t.Errorf("cancelled: %+v, %v", e, err)
	}
	b, _, err := fx.CreateBatch(t.Context(), fx.p, CreateBatch{
		Workflow: setting.ID, Body: parse(t, `{"items":[{"name":"a"},{"name":"b"}],"labels":{"team":"blue"},"delay":"PT0.2S"}`),
		View: View{Wait: 20 * time.Second},
	})
	if err != nil || b.Status != chargehand.BatchCompleted || len(b.Labels) != 1 {
		t.Fatalf("batch: %+v, %v", b, err)
	}
	page, err := fx.ListExecutions(t.Context(), fx.p, ListExecutions{Batch: b.ID, Limit: 10})
	if err != nil || len(page.Data) != 2 {
		t.Fatalf("items: %+v, %v", page, err)
	}
	for _, item := range page.Data {
		if !reflect.DeepEqual(item.Labels, want[1:]) || item.Cause != (Cause{"batch", b.ID.String()}) || item.StartedAt.Sub(b.CreatedAt) < 199*time.Millisecond {
			t.Errorf("item: %+v", item)
		}
	}
}

// TestWaitsAreShown: what an execution waits for is in its row as soon as it is parked.
func TestWaitsAreShown(t *testing.T) {
	fx := newFixture(t)
	withEngine(t, fx, embedded.Limits{})
	for name, one := range map[string]struct{ tasks, kind string }{
		"timer": {"  - rest: {wait: PT1H}\n", "timer"},
		"event": {"  - ask: {listen: {to: {one: {with: {type: order.paid}}}}}\n", "event"},
		"retry": {"  - try:\n      try: [{bad: {raise: {error: {type: 'https://x.test/e', status: 500}}}}]\n" +
			"      catch: {retry: {delay: PT1H, limit: {attempt: {count: 3}}}}\n", "retry"},
	} {
		t.Run(name, func(t *testing.T) {
			flow := fx.apply([]byte("document: {dsl: '1.0.3', namespace: test, name: " + name + ", version: '1.0.0'}\ndo:\n" + one.tasks))
			e := fx.create(flow.ID, map[string]any{})
			for deadline := time.Now().Add(time.Minute); ; {
				var err error
				if e, err = fx.GetExecution(t.Context(), fx.p, flow.ID, e.ID, View{}); err != nil {
					t.Fatal(err)
				}
				if e.WaitingFor != nil && e.WaitingFor.Kind == one.kind {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("it says %+v, phase %v, %+v", e.WaitingFor, e.Phase, e.Error)
				}
			}
			w := e.WaitingFor
			if timed := one.kind != "event"; timed != (time.Until(w.Until) > 50*time.Minute) {
				t.Errorf("it waits until %v", w.Until)
			}
			if one.kind == "event" && strings.Join(w.Types, " ") != "order.paid" {
				t.Errorf("it waits for %q", w.Types)
			}
			if a := e.Attempting; one.kind == "retry" && (a == nil || a.Reference != "/do/0/try" || a.Attempt != 2 || a.Of != 4) {
				t.Errorf("it attempts %+v", a)
			}
		})
	}
}

func TestStartOptionsAreChecked(t *testing.T) {
	fx := newFixture(t)
	setting := fx.apply([]byte(settingFlow))
	many := make([]string, 21)
	for i := range many {
		many[i] = `"l` + string(rune('a'+i)) + `":"x"`
	}
	for body, pointer := range map[string]string{
		`{"labels":[]}`: "/labels",
		`{"labels":{` + strings.Join(many, ",") + `}}`:          "/labels",
		`{"labels":{"Team":"x"}}`:                               "/labels/Team",
		`{"labels":{"":"x"}}`:                                   "/labels/",
		`{"labels":{"a/b":7}}`:                                  "/labels/a~1b",
		`{"labels":{"a":"` + strings.Repeat("é", 256) + `"}}`:   "/labels/a",
		`{"labels":{"a":"\u0000"}}`:                             "/labels/a",
		`{"labels":{"` + strings.Repeat("a", 64) + `":""}}`:     "/labels/" + strings.Repeat("a", 64),
		`{"delay":"soon"}`:                                      "/delay",
		`{"delay":""}`:                                          "/delay",
		`{"delay":7}`:                                           "/delay",
		`{"delay":"P367D"}`:                                     "/delay",
		`{"delay":"P999Y"}`:                                     "/delay",
		`{"delay_until":"tomorrow"}`:                            "/delay_until",
		`{"delay_until":"2999-01-01T00:00:00Z"}`:                "/delay_until",
		`{"delay":"PT1S","delay_until":"2030-01-01T00:00:00Z"}`: "/delay_until",
	} {
		_, _, err := fx.CreateExecution(t.Context(), fx.p, CreateExecution{Workflow: setting.ID, Body: parse(t, body)})
		wantPointers(t, wantCode(t, err, chargehand.CodeInvalidBody), pointer)
		_, _, err = fx.CreateBatch(t.Context(), fx.p, CreateBatch{Workflow: setting.ID, Body: parse(t, `{"items":[{}],`+body[1:])})
		wantPointers(t, wantCode(t, err, chargehand.CodeInvalidBody), pointer)
	}
	if _, _, err := fx.CreateExecution(t.Context(), fx.p, CreateExecution{Workflow: setting.ID, Body: parse(t, `{"labels":{"a.b_/-9":"`+strings.Repeat("é", 255)+`"},"delay_until":"2001-01-01T00:00:00Z"}`)}); err != nil {
		t.Error(err)
	}
}
