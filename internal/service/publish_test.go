package service

import (
	"strings"
	"testing"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/store"
)

// everySecond is a schedule that would start executions without a request.
const everySecond = "schedule:\n  every: PT1S\n"

// authors are the keys that write definitions and publish nothing.
func (fx *fixture) authors() map[string]*Principal {
	deploy, _ := ParsePreset("deploy")
	return map[string]*Principal{
		"deploy of test":       fx.authenticate(fx.issue(IssueKey{Environment: chargehand.Test, Scopes: deploy.In(chargehand.Test)})),
		"all of test":          fx.test,
		"write alone of live":  fx.principal(chargehand.Live, ScopeWorkflowsRead|ScopeWorkflowsWrite),
		"forged scope of test": fx.principal(chargehand.Test, PresetAll), // the environment decides, not the row
	}
}

func (fx *fixture) activeSchedules() int {
	fx.t.Helper()
	var due []store.Schedule
	err := fx.rows.View(fx.t.Context(), func(r *store.Reader) (err error) {
		due, err = r.SchedulesDue(1<<60, store.Schedule{}, 10)
		return err
	})
	if err != nil {
		fx.t.Fatal(err)
	}
	return len(due)
}

// A key that does not publish changes nothing that live runs: neither by new versions, nor by new
// content of the published one, nor by deleting.
func TestDraftsOnly(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("flow", "1.0.0"))
	for name, p := range fx.authors() {
		t.Run(name, func(t *testing.T) {
			for version, source := range map[string][]byte{
				"the published version": definition("flow", "1.0.0", everySecond, "# "+name+"\n"),
				"a new version":         definition("flow", "2.0.0", everySecond, "# "+name+"\n"),
			} {
				source = []byte(strings.Replace(string(source), "PT1S\n", "PT2S\n", 1) + "  - more: {set: {by: '" + name + version + "'}}\n")
				if a := fx.applyAs(p, source, false); !a.Draft || a.Created {
					t.Errorf("%s: %+v, want a draft", version, a)
				}
			}
			if got := fx.workflow(fx.p, flow.ID); got.Version != "1.0.0" || got.Revision != 1 || got.PublishedVersion != "1.0.0" {
				t.Errorf("live runs %+v", got)
			}
			if e := fx.create(flow.ID, noInput); e.WorkflowVersion != "1.0.0" || fx.engine.starts[len(fx.engine.starts)-1].Row.Revision != 1 {
				t.Errorf("an execution runs %s", e.WorkflowVersion)
			}
			_, _, err := fx.CreateExecution(t.Context(), fx.p, CreateExecution{Workflow: flow.ID, Version: "2.0.0"})
			wantCode(t, err, chargehand.CodeVersionNotFound)
			if n := fx.activeSchedules(); n != 0 {
				t.Errorf("%d schedules begin with a draft", n)
			}
			for _, version := range []string{"1.0.0", "2.0.0"} {
				_, _, err := fx.PublishVersion(t.Context(), p, PublishVersion{Workflow: flow.ID, Version: version})
				shown := wantCode(t, err, chargehand.CodeInsufficientScope)
				if !strings.Contains(shown.Detail, "workflows:publish") || !strings.Contains(shown.Detail, "live") {
					t.Errorf("it says %q, and not what to do", shown.Detail)
				}
			}
			shown := wantCode(t, fx.DeleteWorkflow(t.Context(), p, flow.ID), chargehand.CodeInsufficientScope)
			if !strings.Contains(shown.Detail, "workflows:publish") {
				t.Errorf("it says %q, and not what to do", shown.Detail)
			}
			fresh := fx.applyAs(p, definition("fresh", "1.0.0", everySecond), false)
			if !fresh.Draft || !fresh.Created || fx.activeSchedules() != 0 {
				t.Errorf("a new workflow is %+v", fresh)
			}
			if err := fx.DeleteWorkflow(t.Context(), p, fresh.ID); err != nil {
				t.Errorf("a workflow that was never published: %v", err)
			}
		})
	}
	publisher := fx.principal(chargehand.Live, ScopeWorkflowsPublish)
	if v, _, err := fx.PublishVersion(t.Context(), publisher, PublishVersion{Workflow: flow.ID, Version: "2.0.0"}); err != nil || !v.Published {
		t.Fatalf("who may publish does not need to write: %+v, %v", v, err)
	}
	wantCode(t, fx.DeleteWorkflow(t.Context(), fx.principal(chargehand.Live, ScopeWorkflowsWrite), flow.ID), chargehand.CodeInsufficientScope)
	if err := fx.DeleteWorkflow(t.Context(), fx.p, flow.ID); err != nil {
		t.Error(err)
	}
}

// To go back to a version does not publish a draft that another key has added to it since.
func TestRollbackPublishesNoForeignDraft(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("flow", "1.0.0"))
	fx.apply(definition("flow", "2.0.0"))
	planted := fx.applyAs(fx.test, append(definition("flow", "1.0.0"), "  - planted: {set: {x: 1}}\n"...), false)
	if !planted.Draft || planted.Revision != 2 {
		t.Fatalf("planted %+v", planted)
	}
	publish := func(revision int) (*Version, error) {
		var body map[string]any
		if revision != 0 {
			body = map[string]any{"revision": revision}
		}
		v, _, err := fx.PublishVersion(t.Context(), fx.p, PublishVersion{Workflow: flow.ID, Version: "1.0.0", Body: body})
		return v, err
	}
	_, err := publish(0)
	shown := wantCode(t, err, chargehand.CodeStateConflict)
	if !strings.Contains(shown.Detail, "revision 1") || !strings.Contains(shown.Detail, "revision 2") {
		t.Errorf("it says %q", shown.Detail)
	}
	if got := fx.workflow(fx.p, flow.ID); got.Version != "2.0.0" {
		t.Errorf("live runs %s", got.Version)
	}
	for body, code := range map[string]chargehand.Code{
		`{"revision": 0}`: chargehand.CodeInvalidBody, `{"revision": "1"}`: chargehand.CodeInvalidBody,
		`{"version": "1.0.0"}`: chargehand.CodeUnknownField, `[]`: chargehand.CodeInvalidBody,
	} {
		_, _, err := fx.PublishVersion(t.Context(), fx.p, PublishVersion{Workflow: flow.ID, Version: "1.0.0", Body: parse(t, body)})
		wantCode(t, err, code)
	}
	_, err = publish(7)
	wantCode(t, err, chargehand.CodeVersionNotFound)
	if _, err = publish(1); err != nil {
		t.Fatal(err)
	}
	if got := fx.workflow(fx.p, flow.ID); got.Version != "1.0.0" || got.Revision != 1 {
		t.Errorf("live runs revision %d of %s", got.Revision, got.Version)
	}
	if e := fx.createAs(fx.test, flow.ID, noInput); e.WorkflowVersion != "1.0.0" || fx.engine.starts[len(fx.engine.starts)-1].Row.Revision != 3 {
		t.Errorf("test does not run the draft any more")
	}
	// Publishing what is published already can mean only the draft.
	if v, err := publish(0); err != nil || v.Revision != 2 || v.Draft {
		t.Errorf("%+v, %v", v, err)
	}
	if got := fx.workflow(fx.p, flow.ID); got.Revision != 2 {
		t.Errorf("live runs revision %d", got.Revision)
	}
}
