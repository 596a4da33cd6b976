package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/engine"
	"github.com/chargehand/chargehand/internal/machine"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
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

func TestWaitAnswersAtTheEnd(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0"))
	fx.engine.waiting = make(chan struct{}, 10)
	type answer struct {
		e   *Execution
		err error
	}
	answers := make(chan answer)
	go func() {
		e, _, err := fx.CreateExecution(context.Background(), fx.p, CreateExecution{Workflow: flow.ID, View: View{Wait: time.Minute}})
		answers <- answer{e, err}
	}()
	<-fx.engine.waiting
	fx.engine.mu.Lock()
	id := fx.engine.starts[0].Row.ID
	fx.engine.mu.Unlock()
	fx.run(id, store.StateActive) // no reason to answer
	<-fx.engine.waiting
	fx.finish(id, `{"a":1}`)
	got := <-answers
	if got.err != nil || got.e.Status != chargehand.Finished || string(got.e.Output) != `{"a":1}` || len(got.e.Results) != 1 {
		t.Errorf("the wait answered %+v, %v", got.e, got.err)
	}
}

// TestWaitShowsWhatIsThere: a start that is waited for in vain answers with the execution as it is then, whether the
// time is over or the client has gone.
func TestWaitShowsWhatIsThere(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0"))
	e, _, err := fx.CreateExecution(t.Context(), fx.p, CreateExecution{Workflow: flow.ID, View: View{Wait: time.Millisecond}})
	if err != nil || e.ID != fx.engine.starts[0].Row.ID || e.Status != chargehand.Initial || e.Output != nil {
		t.Errorf("the time is over: %+v, %v", e, err)
	}
	fx.engine.waiting = make(chan struct{}, 10)
	ctx, gone := context.WithCancel(t.Context())
	defer gone()
	go func() {
		<-fx.engine.waiting // it is started and watched
		fx.engine.mu.Lock()
		id := fx.engine.starts[1].Row.ID
		fx.engine.mu.Unlock()
		fx.run(id, store.StateActive)
		<-fx.engine.waiting // it was read, and is watched again
		gone()
	}()
	e, _, err = fx.CreateExecution(ctx, fx.p, CreateExecution{Workflow: flow.ID, View: View{Wait: time.Minute}})
	if err != nil || e.ID != fx.engine.starts[1].Row.ID || e.Status != chargehand.Processing {
		t.Errorf("the client has gone: %+v, %v", e, err)
	}
}

func TestWaitAnswersWhenAPersonIsNeeded(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0"))
	e := fx.create(flow.ID, noInput)
	err := fx.rows.Update(t.Context(), func(tx *store.Tx) error {
		row, err := tx.FindExecution(e.ID)
		if err != nil {
			return err
		}
		return tx.SetStatus(row.No, chargehand.HumanInTheLoop, chargehand.Waiting, store.StateParked, fx.nowMs(), store.Waits{})
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := fx.GetExecution(t.Context(), fx.p, flow.ID, e.ID, View{Wait: time.Hour})
	if err != nil || got.Status != chargehand.HumanInTheLoop {
		t.Errorf("the wait answered %+v, %v", got, err)
	}
}

func TestWaitAnswersAtTheLimit(t *testing.T) {
	fx := newFixture(t, func(c *Config) { c.Limits.Wait = 20 * time.Millisecond })
	flow := fx.apply(definition("one", "1.0.0"))
	e, _, err := fx.CreateExecution(t.Context(), fx.p, CreateExecution{Workflow: flow.ID, View: View{Wait: time.Hour}})
	if err != nil || e.Status != chargehand.Initial {
		t.Errorf("the limit answered %+v, %v, want the execution as it is", e, err)
	}
}

func TestWaitAnswersWhenTheServerStops(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0"))
	e := fx.create(flow.ID, noInput)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	got, err := fx.GetExecution(ctx, fx.p, flow.ID, e.ID, View{Wait: time.Hour})
	if err != nil || got.ID != e.ID {
		t.Errorf("a stop answered %+v, %v, want the execution as it is", got, err)
	}
}

func TestCancelExecution(t *testing.T) {
	fx := newFixture(t)
	flow, other := fx.apply(definition("one", "1.0.0")), fx.apply(definition("two", "1.0.0"))
	e := fx.create(flow.ID, noInput)
	change := ChangeExecution{Workflow: flow.ID, Execution: e.ID, View: view}
	for _, c := range []struct {
		name   string
		change func(*ChangeExecution)
		code   chargehand.Code
	}{
		{"unknown", func(c *ChangeExecution) { c.Execution = newID[chargehand.ExecutionID](5) }, chargehand.CodeExecutionNotFound},
		{"wrong workflow", func(c *ChangeExecution) { c.Workflow = other.ID }, chargehand.CodeExecutionNotFound},
		{"unknown field", func(c *ChangeExecution) { c.Body = map[string]any{"why": "x"} }, chargehand.CodeUnknownField},
		{"reason of the wrong type", func(c *ChangeExecution) { c.Body = map[string]any{"reason": 1} }, chargehand.CodeInvalidBody},
		{"a reason that is too long", func(c *ChangeExecution) { c.Body = map[string]any{"reason": strings.Repeat("x", 1001)} }, chargehand.CodeInvalidBody},
	} {
		r := change
		c.change(&r)
		_, _, err := fx.CancelExecution(t.Context(), fx.p, r)
		wantCode(t, err, c.code)
	}
	if n := len(fx.engine.reasons); n != 0 {
		t.Fatalf("bad requests cancelled %d times", n)
	}
	change.Body = map[string]any{"reason": "not needed"}
	got, _, err := fx.CancelExecution(t.Context(), fx.p, change)
	if err != nil || got.Status != chargehand.Errored || got.Phase != chargehand.Cancelled || got.Error.Code != "cancelled" || got.Error.Detail != "not needed" {
		t.Errorf("got %+v, %v", got, err)
	}
	_, _, err = fx.CancelExecution(t.Context(), fx.p, change)
	wantCode(t, err, chargehand.CodeStateConflict)
}

func TestSuspendExecution(t *testing.T) {
	fx := newFixture(t)
	flow, other := fx.apply(definition("one", "1.0.0")), fx.apply(definition("two", "1.0.0"))
	e := fx.create(flow.ID, noInput)
	change := ChangeExecution{Workflow: flow.ID, Execution: e.ID, View: view}
	wrong := change
	wrong.Workflow = other.ID
	_, _, err := fx.SuspendExecution(t.Context(), fx.p, wrong)
	wantCode(t, err, chargehand.CodeExecutionNotFound)
	wrong = change
	wrong.Body = map[string]any{"reason": "x"}
	_, _, err = fx.SuspendExecution(t.Context(), fx.p, wrong)
	wantCode(t, err, chargehand.CodeUnknownField)
	_, _, err = fx.ResumeExecution(t.Context(), fx.p, change)
	wantCode(t, err, chargehand.CodeStateConflict)
	fx.run(e.ID, store.StateActive)
	got, _, err := fx.SuspendExecution(t.Context(), fx.p, change)
	if err != nil || got.Status != chargehand.Processing || got.Phase != chargehand.Suspended {
		t.Fatalf("got %+v, %v", got, err)
	}
	_, _, err = fx.SuspendExecution(t.Context(), fx.p, change)
	wantCode(t, err, chargehand.CodeStateConflict)
	if got, _, err = fx.ResumeExecution(t.Context(), fx.p, change); err != nil || got.Phase != chargehand.Running {
		t.Fatalf("got %+v, %v", got, err)
	}
	fx.finish(e.ID, `{}`)
	for _, do := range []func(context.Context, *Principal, ChangeExecution) (*Execution, bool, error){fx.SuspendExecution, fx.ResumeExecution} {
		_, _, err = do(t.Context(), fx.p, change)
		wantCode(t, err, chargehand.CodeStateConflict)
	}
}

func TestDeleteExecution(t *testing.T) {
	fx := newFixture(t)
	flow, other := fx.apply(definition("one", "1.0.0")), fx.apply(definition("two", "1.0.0"))
	e := fx.create(flow.ID, noInput)
	deleted := func(w chargehand.WorkflowID, id chargehand.ExecutionID, code chargehand.Code) {
		t.Helper()
		err := fx.DeleteExecution(t.Context(), fx.p, w, id)
		if code == "" && err == nil {
			_, err = fx.GetExecution(t.Context(), fx.p, w, id, view)
			code = chargehand.CodeExecutionNotFound
		}
		wantCode(t, err, code)
	}
	deleted(flow.ID, e.ID, chargehand.CodeStateConflict) // it runs
	deleted(other.ID, e.ID, chargehand.CodeExecutionNotFound)
	fx.finish(e.ID, `{}`)
	deleted(flow.ID, e.ID, "")
	deleted(flow.ID, e.ID, chargehand.CodeExecutionNotFound)

	b, _, err := fx.CreateBatch(t.Context(), fx.p, CreateBatch{Workflow: flow.ID, Body: parsed(t, `{"items":[{}]}`), View: View{Entries: true}})
	if err != nil {
		t.Fatal(err)
	}
	items, _ := fx.entries(b, BatchEntries{})
	fx.finish(items[0].Execution, `{}`)
	deleted(flow.ID, items[0].Execution, chargehand.CodeStateConflict)

	// A parent goes when its tree has ended; then its child can.
	parent, child := fx.create(flow.ID, noInput), fx.create(other.ID, noInput)
	err = fx.rows.Update(t.Context(), func(tx *store.Tx) error {
		p, err := tx.FindExecution(parent.ID)
		if err != nil {
			return err
		}
		c, err := tx.FindExecution(child.ID)
		if err != nil {
			return err
		}
		return tx.InsertChild(&store.Child{Execution: c.No, Parent: p.No, Command: 1, State: store.ChildDetached})
	})
	if err != nil {
		t.Fatal(err)
	}
	fx.finish(parent.ID, `{}`)
	deleted(flow.ID, parent.ID, chargehand.CodeStateConflict)
	fx.finish(child.ID, `{}`)
	deleted(other.ID, child.ID, chargehand.CodeStateConflict)
	deleted(flow.ID, parent.ID, "")
	deleted(other.ID, child.ID, "")
	fx.pass(31 * 24 * time.Hour)
	if err := fx.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestRetryExecution(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0"))
	e := fx.create(flow.ID, map[string]any{"n": 7})
	retry := RetryExecution{Workflow: flow.ID, Execution: e.ID, View: view}

	_, _, err := fx.RetryExecution(t.Context(), fx.p, retry)
	wantCode(t, err, chargehand.CodeStateConflict)
	fx.finish(e.ID, `{}`)
	fx.apply(definition("one", "2.0.0", wantsText))

	for _, c := range []struct {
		name   string
		change func(*RetryExecution)
		code   chargehand.Code
	}{
		{"unknown execution", func(r *RetryExecution) { r.Execution = newID[chargehand.ExecutionID](5) }, chargehand.CodeExecutionNotFound},
		{"unknown version", func(r *RetryExecution) { r.Body = map[string]any{"version": "7.0.0"} }, chargehand.CodeVersionNotFound},
		{"an empty version", func(r *RetryExecution) { r.Body = map[string]any{"version": ""} }, chargehand.CodeInvalidBody},
		{"a version of the wrong type", func(r *RetryExecution) { r.Body = map[string]any{"version": 2.0} }, chargehand.CodeInvalidBody},
		{"an unknown field", func(r *RetryExecution) { r.Body = map[string]any{"reason": "x"} }, chargehand.CodeUnknownField},
		{"an input of the wrong type", func(r *RetryExecution) { r.Body = map[string]any{"input": nil} }, chargehand.CodeInvalidBody},
		{"an input that the other version refuses", func(r *RetryExecution) { r.Body = map[string]any{"version": "2.0.0"} }, chargehand.CodeInputInvalid},
		{"an input that the published version refuses", func(r *RetryExecution) { r.Body = map[string]any{"version": "published", "input": noInput} }, chargehand.CodeInputInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := retry
			c.change(&r)
			_, _, err := fx.RetryExecution(t.Context(), fx.p, r)
			wantCode(t, err, c.code)
		})
	}
	again, _, err := fx.RetryExecution(t.Context(), fx.p, retry)
	if err != nil || again.ID == e.ID || again.RetryOf != e.ID || again.WorkflowVersion != "1.0.0" || again.Revision != 1 || again.Status != chargehand.Initial {
		t.Fatalf("got %+v, %v, want a new execution of the same revision", again, err)
	}
	last := fx.engine.starts[len(fx.engine.starts)-1]
	if string(last.Row.Input.Inline) != `{"n":7}` || last.Row.Revision != fx.engine.starts[0].Row.Revision {
		t.Errorf("the retry runs %+v", last.Row)
	}
	if got := fx.get(again); got.RetryOf != e.ID {
		t.Errorf("retry_of is %v", got.RetryOf)
	}
	for _, c := range []struct {
		body           string
		version, input string
	}{
		{`{"version":"same"}`, "1.0.0", `{"n":7}`},
		{`{"version":"1.0.0","input":{"n":8}}`, "1.0.0", `{"n":8}`},
		{`{"input":{}}`, "1.0.0", `{}`},
		{`{"version":"published","input":{"text":"Ada"}}`, "2.0.0", `{"text":"Ada"}`},
	} {
		retry.Body = parsed(t, c.body)
		again, _, err := fx.RetryExecution(t.Context(), fx.p, retry)
		last := fx.engine.starts[len(fx.engine.starts)-1]
		if err != nil || again.WorkflowVersion != c.version || again.RetryOf != e.ID || string(last.Row.Input.Inline) != c.input {
			t.Errorf("%s: %+v with %s, %v", c.body, again, last.Row.Input.Inline, err)
		}
	}
	retry.Body = nil
	if err := fx.DeleteWorkflow(t.Context(), fx.p, flow.ID); err != nil {
		t.Fatal(err)
	}
	_, _, err = fx.RetryExecution(t.Context(), fx.p, retry)
	wantCode(t, err, chargehand.CodeWorkflowNotFound)
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

// TestRetryTellsOfANewerRevision: a retry runs the revision that the original ran. If the definition
// was mended under the same version since, the answer says that the retry does not run it.
func TestRetryTellsOfANewerRevision(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("one", "1.0.0"))
	e := fx.create(flow.ID, noInput)
	fx.finish(e.ID, `{}`)
	retry := func(version string, i *Idempotency) *Execution {
		t.Helper()
		again, _, err := fx.RetryExecution(t.Context(), fx.p, RetryExecution{Workflow: flow.ID, Execution: e.ID, Body: versionBody(version), View: view, Idempotency: i})
		if err != nil {
			t.Fatal(err)
		}
		if got := fx.get(again); got.Revision != again.Revision || got.WorkflowVersion != again.WorkflowVersion || got.Newer != nil {
			t.Errorf("read as %+v, retried as %+v", got, again)
		}
		return again
	}
	wantNewer := func(e *Execution, version string, revision int64, newer *NewerRevision) {
		t.Helper()
		if e.WorkflowVersion != version || e.Revision != revision || !reflect.DeepEqual(e.Newer, newer) {
			t.Errorf("runs %s revision %d, newer %+v; want %s revision %d, newer %+v", e.WorkflowVersion, e.Revision, e.Newer, version, revision, newer)
		}
	}
	wantNewer(retry("", nil), "1.0.0", 1, nil)
	fx.apply(definition("one", "1.0.0", wantsText))
	if e := fx.create(flow.ID, map[string]any{"text": "x"}); e.Revision != 2 || e.Newer != nil {
		t.Errorf("a start runs %+v", e)
	}
	wantNewer(retry("", nil), "1.0.0", 1, &NewerRevision{"1.0.0", 2})
	repeated := &Idempotency{Method: "POST", Path: "/retry", Key: "again"}
	first, second := retry("", repeated), retry("", repeated)
	if first.ID != second.ID {
		t.Error("a repeated retry made another execution")
	}
	wantNewer(second, "1.0.0", 1, &NewerRevision{"1.0.0", 2})
	fx.apply(definition("one", "2.0.0"))
	wantNewer(retry("", nil), "1.0.0", 1, &NewerRevision{"2.0.0", 1})
	wantNewer(retry("2.0.0", nil), "2.0.0", 1, nil)
}

// versionBody is the body of a retry that names a version; empty: none.
func versionBody(version string) value.Value {
	if version == "" {
		return nil
	}
	return map[string]any{"version": version}
}
