package service

import (
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
)

func TestApplyNewWorkflow(t *testing.T) {
	fx := newFixture(t)
	source := definition("greet", "1.0.0", wantsText)
	source = []byte(strings.Replace(string(source), "  name: greet\n", "  name: greet\n  title: Greeting\n", 1))
	got := fx.apply(source)
	if !got.Created || got.Draft || got.Revision != 1 || got.Version != "1.0.0" || got.Namespace != "test" || got.Name != "greet" || got.Title != "Greeting" {
		t.Errorf("apply answers %+v", got)
	}
	if !got.CreatedAt.Equal(epoch) || !got.UpdatedAt.Equal(epoch) {
		t.Errorf("times are %v and %v", got.CreatedAt, got.UpdatedAt)
	}
	detail := fx.workflow(fx.p, got.ID)
	if detail.PublishedVersion != "1.0.0" || string(detail.Source) != string(source) || detail.SourceType != mediaYAML || detail.Title != "Greeting" {
		t.Errorf("detail is %+v", detail)
	}
	if want := `{"properties":{"text":{"type":"string"}},"required":["text"],"type":"object"}`; string(detail.InputSchema) != want {
		t.Errorf("input_schema is %s, want %s", detail.InputSchema, want)
	}
	if v, ok := parse(t, string(detail.Definition)).(map[string]any); !ok || v["document"].(map[string]any)["name"] != "greet" {
		t.Errorf("definition is %s", detail.Definition)
	}
	if plain := fx.workflow(fx.p, fx.apply(definition("plain", "1.0.0")).ID); plain.InputSchema != nil {
		t.Errorf("a definition without schema has %s", plain.InputSchema)
	}
}

func TestIdenticalContentChangesNothing(t *testing.T) {
	fx := newFixture(t)
	source := definition("greet", "1.0.0")
	first := fx.apply(source)
	fx.apply(definition("greet", "2.0.0"))
	fx.pass(time.Hour)
	before := fx.workflow(fx.p, first.ID)
	asJSON := []byte(`{"do":[{"greet":{"wait":"PT1S"}}],"document":{"dsl":"1.0.3","name":"greet","namespace":"test","version":"1.0.0"}}`)
	for name, again := range map[string][]byte{
		"the same text": source, "another comment": append([]byte("# comment\n"), source...), "as JSON": asJSON,
	} {
		for _, draft := range []bool{false, true} {
			got := fx.applyAs(fx.p, again, draft)
			if got.Created || got.Draft || got.Revision != 1 || got.ID != first.ID || got.Version != "1.0.0" {
				t.Errorf("%s answers %+v", name, got)
			}
		}
	}
	after := fx.workflow(fx.p, first.ID)
	if !after.UpdatedAt.Equal(before.UpdatedAt) || after.PublishedVersion != "2.0.0" || string(after.Source) != string(before.Source) {
		t.Errorf("it was changed from %+v to %+v", before.Workflow, after.Workflow)
	}
}

func TestOtherContentUnderTheSameVersionIsARevision(t *testing.T) {
	fx := newFixture(t)
	first := fx.apply(definition("greet", "1.0.0"))
	old := fx.create(first.ID, noInput)
	fx.pass(time.Minute)
	second := fx.apply(definition("greet", "1.0.0", wantsText))
	if second.Created || second.Revision != 2 || second.ID != first.ID || !second.UpdatedAt.Equal(epoch.Add(time.Minute)) || !second.CreatedAt.Equal(epoch) {
		t.Errorf("apply answers %+v", second)
	}
	_, _, err := fx.CreateExecution(t.Context(), fx.p, CreateExecution{Workflow: first.ID})
	wantCode(t, err, chargehand.CodeInputInvalid) // the new revision counts at once
	fx.createAs(fx.p, first.ID, map[string]any{"text": "x"})
	if fx.engine.starts[0].Row.Revision == fx.engine.starts[1].Row.Revision {
		t.Error("both executions run the same revision")
	}
	if got := fx.get(old); got.WorkflowVersion != "1.0.0" {
		t.Errorf("the old execution shows %+v", got)
	}
	third := fx.apply(definition("greet", "1.0.0"))
	if third.Revision != 3 {
		t.Errorf("going back to an older content makes revision %d, want 3", third.Revision)
	}
}

func TestDrafts(t *testing.T) {
	fx := newFixture(t)
	draft := fx.applyAs(fx.p, definition("greet", "1.0.0"), true)
	if !draft.Created || !draft.Draft {
		t.Errorf("apply answers %+v", draft)
	}
	t.Run("a workflow with drafts only is not there in live", func(t *testing.T) {
		_, err := fx.GetWorkflow(t.Context(), fx.p, draft.ID)
		wantCode(t, err, chargehand.CodeWorkflowNotFound)
		_, err = fx.ListVersions(t.Context(), fx.p, draft.ID, 10, Cursor{})
		wantCode(t, err, chargehand.CodeWorkflowNotFound)
		_, err = fx.GetVersion(t.Context(), fx.p, draft.ID, "1.0.0", 0)
		wantCode(t, err, chargehand.CodeWorkflowNotFound)
		_, err = fx.ListExecutions(t.Context(), fx.p, ListExecutions{Workflow: draft.ID, Limit: 1})
		wantCode(t, err, chargehand.CodeWorkflowNotFound)
		for _, version := range []string{"", "1.0.0"} {
			_, _, err = fx.CreateExecution(t.Context(), fx.p, CreateExecution{Workflow: draft.ID, Version: version})
			wantCode(t, err, chargehand.CodeWorkflowNotFound)
		}
		page, err := fx.ListWorkflows(t.Context(), fx.p, ListWorkflows{Limit: 10})
		if err != nil || len(page.Data) != 0 {
			t.Errorf("live lists %+v, %v", page, err)
		}
	})
	t.Run("test runs it", func(t *testing.T) {
		if e := fx.createAs(fx.test, draft.ID, noInput); e.WorkflowVersion != "1.0.0" || e.Environment != chargehand.Test {
			t.Errorf("test runs %+v", e)
		}
		page, err := fx.ListWorkflows(t.Context(), fx.test, ListWorkflows{Limit: 10})
		if err != nil || len(page.Data) != 1 || page.Data[0].Version != "1.0.0" {
			t.Errorf("test lists %+v, %v", page, err)
		}
		if got := fx.workflow(fx.test, draft.ID); got.PublishedVersion != "" || got.Version != "1.0.0" {
			t.Errorf("test sees %+v", got)
		}
	})
	t.Run("the same content without draft publishes it", func(t *testing.T) {
		got := fx.apply(definition("greet", "1.0.0"))
		if got.Draft || got.Created || got.Revision != 1 {
			t.Errorf("apply answers %+v", got)
		}
		fx.create(draft.ID, noInput)
	})
	t.Run("live follows the pointer, test the newest draft", func(t *testing.T) {
		fx.applyAs(fx.p, definition("greet", "2.0.0"), true)
		fx.applyAs(fx.p, definition("greet", "3.0.0"), true)
		if live, test := fx.create(draft.ID, noInput), fx.createAs(fx.test, draft.ID, noInput); live.WorkflowVersion != "1.0.0" || test.WorkflowVersion != "3.0.0" {
			t.Errorf("live runs %s, test %s", live.WorkflowVersion, test.WorkflowVersion)
		}
	})
	t.Run("a version that is a draft is not there in live", func(t *testing.T) {
		_, _, err := fx.CreateExecution(t.Context(), fx.p, CreateExecution{Workflow: draft.ID, Version: "2.0.0"})
		wantCode(t, err, chargehand.CodeVersionNotFound)
		e, _, err := fx.CreateExecution(t.Context(), fx.test, CreateExecution{Workflow: draft.ID, Version: "2.0.0"})
		if err != nil || e.WorkflowVersion != "2.0.0" {
			t.Errorf("test runs %+v, %v", e, err)
		}
	})
	t.Run("a draft revision of a published version stays out of live", func(t *testing.T) {
		fx.applyAs(fx.p, definition("greet", "1.0.0", wantsText), true)
		for _, version := range []string{"", "1.0.0"} {
			if _, _, err := fx.CreateExecution(t.Context(), fx.p, CreateExecution{Workflow: draft.ID, Version: version}); err != nil {
				t.Errorf("version %q: %v", version, err)
			}
			_, _, err := fx.CreateExecution(t.Context(), fx.test, CreateExecution{Workflow: draft.ID, Version: version})
			wantCode(t, err, chargehand.CodeInputInvalid)
		}
	})
}

func TestApplyRefusesBadDefinitions(t *testing.T) {
	fx := newFixture(t)
	for _, c := range []struct {
		name, source, media string
		code                chargehand.Code
	}{
		{"no YAML", "a: [", mediaYAML, chargehand.CodeInvalidBody},
		{"no JSON", `{"document": `, mediaJSON, chargehand.CodeInvalidJSON},
		{"YAML without a document", "a: 1", mediaYAML, chargehand.CodeDefinitionInvalid},
		{"an empty text", "", mediaYAML, chargehand.CodeDefinitionInvalid},
		{"an unknown keyword", string(definition("x", "1.0.0")) + "  - b:\n      sett: {}\n", mediaYAML, chargehand.CodeDefinitionInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := fx.ApplyWorkflow(t.Context(), fx.p, ApplyWorkflow{Definition: []byte(c.source), MediaType: c.media})
			shown := wantCode(t, err, c.code)
			if len(shown.Fields) == 0 || shown.Fields[0].Line < 1 || shown.Fields[0].Column < 1 || shown.Fields[0].Code == "" {
				t.Errorf("problems are %+v, want line, column and code", shown.Fields)
			}
		})
	}
	page, err := fx.ListWorkflows(t.Context(), fx.test, ListWorkflows{Limit: 10})
	if err != nil || len(page.Data) != 0 {
		t.Errorf("bad definitions made %+v, %v", page, err)
	}
}

func TestApplyAnswersWarnings(t *testing.T) {
	fx := newFixture(t)
	got := fx.apply(append(definition("x", "1.0.0"), "extra: 1\n"...))
	if len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0].Detail, "extra") {
		t.Errorf("warnings are %+v", got.Warnings)
	}
}

func TestApplyWithALimitedKey(t *testing.T) {
	fx := newFixture(t)
	mine, other := fx.apply(definition("mine", "1.0.0")), fx.apply(definition("other", "1.0.0"))
	p := fx.principal(chargehand.Live, PresetAll, mine.ID)
	fx.applyAs(p, definition("mine", "2.0.0"), false)
	for _, name := range []string{"other", "new"} {
		_, _, err := fx.ApplyWorkflow(t.Context(), p, ApplyWorkflow{Definition: definition(name, "2.0.0"), MediaType: mediaYAML})
		wantCode(t, err, chargehand.CodeWorkflowNotFound)
	}
	wantCode(t, fx.DeleteWorkflow(t.Context(), p, other.ID), chargehand.CodeWorkflowNotFound)
}

func TestConcurrentAppliesMakeOneWorkflow(t *testing.T) {
	fx := newFixture(t)
	results := make(chan *AppliedWorkflow)
	for i := range 8 {
		go func() {
			applied, _, err := fx.ApplyWorkflow(t.Context(), fx.p, ApplyWorkflow{
				Definition: definition("greet", "1.0."+string(rune('0'+i%4))), MediaType: mediaYAML,
			})
			if err != nil {
				t.Error(err)
			}
			results <- applied
		}()
	}
	created, ids := 0, map[chargehand.WorkflowID]bool{}
	for range 8 {
		if applied := <-results; applied != nil {
			ids[applied.ID] = true
			if applied.Created {
				created++
			}
			if applied.Revision != 1 {
				t.Errorf("equal contents made revision %d", applied.Revision)
			}
		}
	}
	if created != 1 || len(ids) != 1 {
		t.Errorf("%d workflows were created with %d ids", created, len(ids))
	}
	page, err := fx.ListVersions(t.Context(), fx.p, onlyKey(ids), 10, Cursor{})
	if err != nil || len(page.Data) != 4 {
		t.Errorf("there are %d versions, %v", len(page.Data), err)
	}
}

func onlyKey[K comparable, V any](m map[K]V) (key K) {
	for key = range m {
	}
	return key
}

func TestApplyFromOperator(t *testing.T) {
	fx := newFixture(t)
	applied, err := fx.ApplyFromOperator(t.Context(), definition("greet", "1.0.0"))
	if err != nil || !applied.Created {
		t.Fatalf("got %+v, %v", applied, err)
	}
	fx.create(applied.ID, noInput)
}
