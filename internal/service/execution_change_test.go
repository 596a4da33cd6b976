package service

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
	"github.com/chargehand/chargehand/internal/value"
)

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
