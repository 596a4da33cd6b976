package service

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chargehand/chargehand"
	"github.com/chargehand/chargehand/internal/dsl"
	"github.com/chargehand/chargehand/internal/plan"
	"github.com/chargehand/chargehand/internal/store"
)

func (w *world) workflow(p *Principal, id chargehand.WorkflowID) *WorkflowDetail {
	w.t.Helper()
	got, err := w.GetWorkflow(w.t.Context(), p, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return got
}

func TestApplyNewWorkflow(t *testing.T) {
	w := newWorld(t)
	source := definition("greet", "1.0.0", wantsText)
	source = []byte(strings.Replace(string(source), "  name: greet\n", "  name: greet\n  title: Greeting\n", 1))
	got := w.apply(source)
	if !got.Created || got.Draft || got.Revision != 1 || got.Version != "1.0.0" || got.Namespace != "test" || got.Name != "greet" || got.Title != "Greeting" {
		t.Errorf("apply answers %+v", got)
	}
	if !got.CreatedAt.Equal(epoch) || !got.UpdatedAt.Equal(epoch) {
		t.Errorf("times are %v and %v", got.CreatedAt, got.UpdatedAt)
	}
	detail := w.workflow(w.p, got.ID)
	if detail.PublishedVersion != "1.0.0" || string(detail.Source) != string(source) || detail.SourceType != mediaYAML || detail.Title != "Greeting" {
		t.Errorf("detail is %+v", detail)
	}
	if want := `{"properties":{"text":{"type":"string"}},"required":["text"],"type":"object"}`; string(detail.InputSchema) != want {
		t.Errorf("input_schema is %s, want %s", detail.InputSchema, want)
	}
	if v, ok := parse(t, string(detail.Definition)).(map[string]any); !ok || v["document"].(map[string]any)["name"] != "greet" {
		t.Errorf("definition is %s", detail.Definition)
	}
	if plain := w.workflow(w.p, w.apply(definition("plain", "1.0.0")).ID); plain.InputSchema != nil {
		t.Errorf("a definition without schema has %s", plain.InputSchema)
	}
}

func TestIdenticalContentChangesNothing(t *testing.T) {
	w := newWorld(t)
	source := definition("greet", "1.0.0")
	first := w.apply(source)
	w.apply(definition("greet", "2.0.0"))
	w.pass(time.Hour)
	before := w.workflow(w.p, first.ID)
	asJSON := []byte(`{"do":[{"greet":{"wait":"PT1S"}}],"document":{"dsl":"1.0.3","name":"greet","namespace":"test","version":"1.0.0"}}`)
	for name, again := range map[string][]byte{
		"the same text": source, "another comment": append([]byte("# comment\n"), source...), "as JSON": asJSON,
	} {
		for _, draft := range []bool{false, true} {
			got := w.applyAs(w.p, again, draft)
			if got.Created || got.Draft || got.Revision != 1 || got.ID != first.ID || got.Version != "1.0.0" {
				t.Errorf("%s answers %+v", name, got)
			}
		}
	}
	after := w.workflow(w.p, first.ID)
	if !after.UpdatedAt.Equal(before.UpdatedAt) || after.PublishedVersion != "2.0.0" || string(after.Source) != string(before.Source) {
		t.Errorf("it was changed from %+v to %+v", before.Workflow, after.Workflow)
	}
}

func TestOtherContentUnderTheSameVersionIsARevision(t *testing.T) {
	w := newWorld(t)
	first := w.apply(definition("greet", "1.0.0"))
	old := w.create(first.ID, noInput)
	w.pass(time.Minute)
	second := w.apply(definition("greet", "1.0.0", wantsText))
	if second.Created || second.Revision != 2 || second.ID != first.ID || !second.UpdatedAt.Equal(epoch.Add(time.Minute)) || !second.CreatedAt.Equal(epoch) {
		t.Errorf("apply answers %+v", second)
	}
	_, _, err := w.CreateExecution(t.Context(), w.p, CreateExecution{Workflow: first.ID})
	wantCode(t, err, chargehand.CodeInputInvalid) // the new revision counts at once
	w.createAs(w.p, first.ID, map[string]any{"text": "x"})
	if w.engine.starts[0].Row.Revision == w.engine.starts[1].Row.Revision {
		t.Error("both executions run the same revision")
	}
	if got := w.get(old); got.WorkflowVersion != "1.0.0" {
		t.Errorf("the old execution shows %+v", got)
	}
	third := w.apply(definition("greet", "1.0.0"))
	if third.Revision != 3 {
		t.Errorf("going back to an older content makes revision %d, want 3", third.Revision)
	}
}

func TestDrafts(t *testing.T) {
	w := newWorld(t)
	draft := w.applyAs(w.p, definition("greet", "1.0.0"), true)
	if !draft.Created || !draft.Draft {
		t.Errorf("apply answers %+v", draft)
	}
	t.Run("a workflow with drafts only is not there in live", func(t *testing.T) {
		_, err := w.GetWorkflow(t.Context(), w.p, draft.ID)
		wantCode(t, err, chargehand.CodeWorkflowNotFound)
		_, err = w.ListVersions(t.Context(), w.p, draft.ID, 10, Cursor{})
		wantCode(t, err, chargehand.CodeWorkflowNotFound)
		_, err = w.GetVersion(t.Context(), w.p, draft.ID, "1.0.0", 0)
		wantCode(t, err, chargehand.CodeWorkflowNotFound)
		_, err = w.ListExecutions(t.Context(), w.p, ListExecutions{Workflow: draft.ID, Limit: 1})
		wantCode(t, err, chargehand.CodeWorkflowNotFound)
		for _, version := range []string{"", "1.0.0"} {
			_, _, err = w.CreateExecution(t.Context(), w.p, CreateExecution{Workflow: draft.ID, Version: version})
			wantCode(t, err, chargehand.CodeWorkflowNotFound)
		}
		page, err := w.ListWorkflows(t.Context(), w.p, ListWorkflows{Limit: 10})
		if err != nil || len(page.Data) != 0 {
			t.Errorf("live lists %+v, %v", page, err)
		}
	})
	t.Run("test runs it", func(t *testing.T) {
		if e := w.createAs(w.test, draft.ID, noInput); e.WorkflowVersion != "1.0.0" || e.Environment != chargehand.Test {
			t.Errorf("test runs %+v", e)
		}
		page, err := w.ListWorkflows(t.Context(), w.test, ListWorkflows{Limit: 10})
		if err != nil || len(page.Data) != 1 || page.Data[0].Version != "1.0.0" {
			t.Errorf("test lists %+v, %v", page, err)
		}
		if got := w.workflow(w.test, draft.ID); got.PublishedVersion != "" || got.Version != "1.0.0" {
			t.Errorf("test sees %+v", got)
		}
	})
	t.Run("the same content without draft publishes it", func(t *testing.T) {
		got := w.apply(definition("greet", "1.0.0"))
		if got.Draft || got.Created || got.Revision != 1 {
			t.Errorf("apply answers %+v", got)
		}
		w.create(draft.ID, noInput)
	})
	t.Run("live follows the pointer, test the newest draft", func(t *testing.T) {
		w.applyAs(w.p, definition("greet", "2.0.0"), true)
		w.applyAs(w.p, definition("greet", "3.0.0"), true)
		if live, test := w.create(draft.ID, noInput), w.createAs(w.test, draft.ID, noInput); live.WorkflowVersion != "1.0.0" || test.WorkflowVersion != "3.0.0" {
			t.Errorf("live runs %s, test %s", live.WorkflowVersion, test.WorkflowVersion)
		}
	})
	t.Run("a version that is a draft is not there in live", func(t *testing.T) {
		_, _, err := w.CreateExecution(t.Context(), w.p, CreateExecution{Workflow: draft.ID, Version: "2.0.0"})
		wantCode(t, err, chargehand.CodeVersionNotFound)
		e, _, err := w.CreateExecution(t.Context(), w.test, CreateExecution{Workflow: draft.ID, Version: "2.0.0"})
		if err != nil || e.WorkflowVersion != "2.0.0" {
			t.Errorf("test runs %+v, %v", e, err)
		}
	})
	t.Run("a draft revision of a published version stays out of live", func(t *testing.T) {
		w.applyAs(w.p, definition("greet", "1.0.0", wantsText), true)
		for _, version := range []string{"", "1.0.0"} {
			if _, _, err := w.CreateExecution(t.Context(), w.p, CreateExecution{Workflow: draft.ID, Version: version}); err != nil {
				t.Errorf("version %q: %v", version, err)
			}
			_, _, err := w.CreateExecution(t.Context(), w.test, CreateExecution{Workflow: draft.ID, Version: version})
			wantCode(t, err, chargehand.CodeInputInvalid)
		}
	})
}

func TestPublishMovesThePointer(t *testing.T) {
	w := newWorld(t)
	flow := w.apply(definition("greet", "1.0.0"))
	w.apply(definition("greet", "2.0.0"))
	w.applyAs(w.p, definition("greet", "3.0.0"), true)
	for _, version := range []string{"1.0.0", "2.0.0", "3.0.0", "1.0.0"} {
		w.pass(time.Minute)
		got, _, err := w.PublishVersion(t.Context(), w.p, PublishVersion{Workflow: flow.ID, Version: version})
		if err != nil || !got.Published || got.Draft || got.Version != version {
			t.Fatalf("publishing %s answers %+v, %v", version, got, err)
		}
		if e := w.create(flow.ID, noInput); e.WorkflowVersion != version {
			t.Errorf("live runs %s after publishing %s", e.WorkflowVersion, version)
		}
		if detail := w.workflow(w.p, flow.ID); !detail.UpdatedAt.Equal(w.now()) || detail.PublishedVersion != version {
			t.Errorf("the workflow is %+v", detail.Workflow)
		}
	}
	// The draft that was published is none any more, so test follows the pointer again.
	if e := w.createAs(w.test, flow.ID, noInput); e.WorkflowVersion != "1.0.0" {
		t.Errorf("test runs %s", e.WorkflowVersion)
	}
	before := w.workflow(w.p, flow.ID).UpdatedAt
	w.pass(time.Minute)
	if _, _, err := w.PublishVersion(t.Context(), w.p, PublishVersion{Workflow: flow.ID, Version: "1.0.0"}); err != nil || !w.workflow(w.p, flow.ID).UpdatedAt.Equal(before) {
		t.Errorf("publishing what is published: %v, or it changed the workflow", err)
	}
	_, _, err := w.PublishVersion(t.Context(), w.p, PublishVersion{Workflow: flow.ID, Version: "9.0.0"})
	wantCode(t, err, chargehand.CodeVersionNotFound)
	_, _, err = w.PublishVersion(t.Context(), w.stranger(), PublishVersion{Workflow: flow.ID, Version: "1.0.0"})
	wantCode(t, err, chargehand.CodeWorkflowNotFound)
}

// Otherwise a key of live could never publish what it has applied as a draft.
func TestPublishFirstDraftInLive(t *testing.T) {
	w := newWorld(t)
	flow := w.applyAs(w.p, definition("greet", "1.0.0"), true)
	if _, _, err := w.PublishVersion(t.Context(), w.p, PublishVersion{Workflow: flow.ID, Version: "1.0.0"}); err != nil {
		t.Fatal(err)
	}
	w.create(flow.ID, noInput)
}

func TestVersions(t *testing.T) {
	w := newWorld(t)
	flow := w.apply(definition("greet", "1.0.0"))
	w.pass(time.Minute)
	w.apply(definition("greet", "2.0.0"))
	w.pass(time.Minute)
	w.apply(definition("greet", "1.0.0", wantsText))
	w.pass(time.Minute)
	w.applyAs(w.p, definition("greet", "3.0.0"), true)
	var seen []Version
	for after := (Cursor{}); ; {
		page, err := w.ListVersions(t.Context(), w.p, flow.ID, 1, after)
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, page.Data...)
		if after = page.Cursor; after.IsZero() {
			break
		}
	}
	if len(seen) != 3 || seen[0].Version != "3.0.0" || seen[1].Version != "1.0.0" || seen[2].Version != "2.0.0" {
		t.Fatalf("versions are %+v", seen)
	}
	one := seen[1]
	if one.Revision != 2 || !one.Published || one.Draft || !one.CreatedAt.Equal(epoch) || !one.UpdatedAt.Equal(epoch.Add(2*time.Minute)) {
		t.Errorf("version 1.0.0 is %+v", one)
	}
	if !seen[0].Draft || seen[0].Published || seen[2].Published {
		t.Errorf("versions are %+v", seen)
	}
	got, err := w.GetVersion(t.Context(), w.p, flow.ID, "1.0.0", 0)
	if err != nil || string(got.Source) != string(definition("greet", "1.0.0", wantsText)) || got.SourceType != mediaYAML || len(got.Definition) == 0 {
		t.Errorf("got %+v, %v", got, err)
	}
	if one.PublishedRevision != 2 || seen[0].PublishedRevision != 0 {
		t.Errorf("published revisions %d and %d", one.PublishedRevision, seen[0].PublishedRevision)
	}
	first, err := w.GetVersion(t.Context(), w.p, flow.ID, "1.0.0", 1)
	if err != nil || first.Revision != 1 || string(first.Source) == string(got.Source) || first.PublishedRevision != 2 {
		t.Errorf("the first revision: %+v, %v", first, err)
	}
	_, err = w.GetVersion(t.Context(), w.p, flow.ID, "1.0.0", 3)
	if shown := wantCode(t, err, chargehand.CodeVersionNotFound); !strings.Contains(shown.Detail, "no revision 3") {
		t.Error(shown.Detail)
	}
	_, err = w.GetVersion(t.Context(), w.p, flow.ID, "4.0.0", 0)
	wantCode(t, err, chargehand.CodeVersionNotFound)
	_, err = w.GetVersion(t.Context(), w.stranger(), flow.ID, "1.0.0", 0)
	wantCode(t, err, chargehand.CodeWorkflowNotFound)
}

func TestApplyRefusesBadDefinitions(t *testing.T) {
	w := newWorld(t)
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
			_, _, err := w.ApplyWorkflow(t.Context(), w.p, ApplyWorkflow{Definition: []byte(c.source), MediaType: c.media})
			shown := wantCode(t, err, c.code)
			if len(shown.Fields) == 0 || shown.Fields[0].Line < 1 || shown.Fields[0].Column < 1 || shown.Fields[0].Code == "" {
				t.Errorf("problems are %+v, want line, column and code", shown.Fields)
			}
		})
	}
	page, err := w.ListWorkflows(t.Context(), w.test, ListWorkflows{Limit: 10})
	if err != nil || len(page.Data) != 0 {
		t.Errorf("bad definitions made %+v, %v", page, err)
	}
}

func TestValidateWorkflow(t *testing.T) {
	w := newWorld(t, func(c *Config) { c.Limits.DefinitionBytes = 400 })
	for source, valid := range map[string]bool{string(definition("x", "1.0.0")): true, "a: 1": false, "a: [": false, "": false} {
		got, err := w.ValidateWorkflow(t.Context(), w.p, []byte(source))
		if err != nil || got.Valid != valid || (len(got.Errors) == 0) != valid {
			t.Errorf("%q: %+v, %v", source, got, err)
		}
	}
	got, err := w.ValidateWorkflow(t.Context(), w.p, append(definition("x", "1.0.0"), "extra: 1\n"...))
	if err != nil || !got.Valid || len(got.Warnings) != 1 || got.Warnings[0].Line == 0 {
		t.Errorf("a doubtful definition gives %+v, %v", got, err)
	}
	large := append(definition("x", "1.0.0"), "# "+strings.Repeat("x", 400)...)
	_, err = w.ValidateWorkflow(t.Context(), w.p, large)
	wantCode(t, err, chargehand.CodePayloadTooLarge)
	_, _, err = w.ApplyWorkflow(t.Context(), w.p, ApplyWorkflow{Definition: large, MediaType: mediaYAML})
	wantCode(t, err, chargehand.CodePayloadTooLarge)
	page, err := w.ListWorkflows(t.Context(), w.test, ListWorkflows{Limit: 10})
	if err != nil || len(page.Data) != 0 {
		t.Errorf("validation stored %+v, %v", page, err)
	}
}

func TestApplyAnswersWarnings(t *testing.T) {
	w := newWorld(t)
	got := w.apply(append(definition("x", "1.0.0"), "extra: 1\n"...))
	if len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0].Detail, "extra") {
		t.Errorf("warnings are %+v", got.Warnings)
	}
}

func TestDeleteWorkflow(t *testing.T) {
	w := newWorld(t)
	flow := w.apply(definition("greet", "1.0.0"))
	e := w.create(flow.ID, noInput)
	wantCode(t, w.DeleteWorkflow(t.Context(), w.stranger(), flow.ID), chargehand.CodeWorkflowNotFound)
	if err := w.DeleteWorkflow(t.Context(), w.p, flow.ID); err != nil {
		t.Fatal(err)
	}
	wantCode(t, w.DeleteWorkflow(t.Context(), w.p, flow.ID), chargehand.CodeWorkflowNotFound)
	_, err := w.GetWorkflow(t.Context(), w.p, flow.ID)
	wantCode(t, err, chargehand.CodeWorkflowNotFound)
	_, _, err = w.CreateExecution(t.Context(), w.p, CreateExecution{Workflow: flow.ID})
	wantCode(t, err, chargehand.CodeWorkflowNotFound)
	_, _, err = w.CreateBatch(t.Context(), w.p, CreateBatch{Workflow: flow.ID})
	wantCode(t, err, chargehand.CodeWorkflowNotFound)
	page, err := w.ListExecutions(t.Context(), w.p, ListExecutions{Workflow: flow.ID, Limit: 10})
	if err != nil || len(page.Data) != 1 || page.Data[0].ID != e.ID {
		t.Errorf("executions of a deleted workflow are %+v, %v, want them readable", page, err)
	}
	again := w.apply(definition("greet", "1.0.0"))
	if !again.Created || again.ID == flow.ID || again.Revision != 1 {
		t.Errorf("applied again it is %+v, want a new id", again)
	}
}

// What another process changes counts within a second.
func TestChangesOfOtherProcessesCountWithinASecond(t *testing.T) {
	w := newWorld(t)
	flow := w.apply(definition("greet", "1.0.0"))
	w.create(flow.ID, noInput)
	other := New(Config{
		Store: w.rows, Engine: w.engine, Plans: NewPlans(w.rows, plan.Options{}), Blobs: w.blobs, Now: w.now,
		Pepper: make([]byte, 32), LinkKey: make([]byte, 32), Sealer: w.sealer,
	})
	if err := other.DeleteWorkflow(t.Context(), w.p, flow.ID); err != nil {
		t.Fatal(err)
	}
	w.pass(time.Second)
	_, _, err := w.CreateExecution(t.Context(), w.p, CreateExecution{Workflow: flow.ID})
	wantCode(t, err, chargehand.CodeWorkflowNotFound)
}

// Paging: newest first, the cursor is created_at, the next page is strictly older, null as
// soon as there is no next row.
func TestListWorkflows(t *testing.T) {
	w := newWorld(t)
	var made []chargehand.WorkflowID
	for i := range 5 { // all in the same millisecond
		made = append(made, w.apply(definition("flow-"+string(rune('a'+i)), "1.0.0")).ID)
	}
	for _, limit := range []int{1, 2, 4, 5, 100} {
		var seen []Workflow
		pages := 0
		for before := (time.Time{}); ; {
			page, err := w.ListWorkflows(t.Context(), w.p, ListWorkflows{Limit: limit, Before: before})
			if err != nil {
				t.Fatal(err)
			}
			pages++
			seen = append(seen, page.Data...)
			if before = page.Cursor; before.IsZero() {
				break
			}
			if last := page.Data[len(page.Data)-1]; !before.Equal(last.CreatedAt) || len(page.Data) != limit {
				t.Fatalf("cursor is %v after %+v", before, last)
			}
		}
		if want := (5 + limit - 1) / limit; len(seen) != 5 || pages != want {
			t.Fatalf("limit %d: %d workflows on %d pages, want 5 on %d", limit, len(seen), pages, want)
		}
		for i, got := range seen {
			if got.ID != made[4-i] || got.Name != "flow-"+string(rune('e'-i)) || got.Version != "1.0.0" || got.Namespace != "test" {
				t.Errorf("workflow %d is %+v", i, got)
			}
			if i > 0 && !got.CreatedAt.Before(seen[i-1].CreatedAt) {
				t.Error("two workflows have the same created_at")
			}
		}
	}
	t.Run("from before the first", func(t *testing.T) {
		for _, before := range []time.Time{epoch, time.UnixMilli(0), time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC)} {
			page, err := w.ListWorkflows(t.Context(), w.p, ListWorkflows{Limit: 10, Before: before})
			if err != nil || len(page.Data) != 0 || !page.Cursor.IsZero() {
				t.Errorf("before %v there are %+v, %v", before, page, err)
			}
		}
	})
	t.Run("between two milliseconds", func(t *testing.T) {
		page, err := w.ListWorkflows(t.Context(), w.p, ListWorkflows{Limit: 10, Before: epoch.Add(time.Microsecond)})
		if err != nil || len(page.Data) != 1 {
			t.Errorf("there are %+v, %v", page, err)
		}
	})
	t.Run("of a key with a list", func(t *testing.T) {
		p := w.principal(chargehand.Live, PresetAll, made[1], newID[chargehand.WorkflowID](3), made[3])
		page, err := w.ListWorkflows(t.Context(), p, ListWorkflows{Limit: 1})
		if err != nil || len(page.Data) != 1 || page.Data[0].ID != made[3] || page.Cursor.IsZero() {
			t.Fatalf("first page is %+v, %v", page, err)
		}
		page, err = w.ListWorkflows(t.Context(), p, ListWorkflows{Limit: 1, Before: page.Cursor})
		if err != nil || len(page.Data) != 1 || page.Data[0].ID != made[1] || !page.Cursor.IsZero() {
			t.Fatalf("second page is %+v, %v", page, err)
		}
	})
	t.Run("of another account", func(t *testing.T) {
		page, err := w.ListWorkflows(t.Context(), w.stranger(), ListWorkflows{Limit: 10})
		if err != nil || len(page.Data) != 0 {
			t.Errorf("a stranger sees %+v, %v", page, err)
		}
	})
}

func TestApplyWithALimitedKey(t *testing.T) {
	w := newWorld(t)
	mine, other := w.apply(definition("mine", "1.0.0")), w.apply(definition("other", "1.0.0"))
	p := w.principal(chargehand.Live, PresetAll, mine.ID)
	w.applyAs(p, definition("mine", "2.0.0"), false)
	for _, name := range []string{"other", "new"} {
		_, _, err := w.ApplyWorkflow(t.Context(), p, ApplyWorkflow{Definition: definition(name, "2.0.0"), MediaType: mediaYAML})
		wantCode(t, err, chargehand.CodeWorkflowNotFound)
	}
	wantCode(t, w.DeleteWorkflow(t.Context(), p, other.ID), chargehand.CodeWorkflowNotFound)
}

func TestConcurrentAppliesMakeOneWorkflow(t *testing.T) {
	w := newWorld(t)
	results := make(chan *AppliedWorkflow)
	for i := range 8 {
		go func() {
			applied, _, err := w.ApplyWorkflow(t.Context(), w.p, ApplyWorkflow{
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
	page, err := w.ListVersions(t.Context(), w.p, onlyKey(ids), 10, Cursor{})
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
	w := newWorld(t)
	applied, err := w.ApplyFromOperator(t.Context(), definition("greet", "1.0.0"))
	if err != nil || !applied.Created {
		t.Fatalf("got %+v, %v", applied, err)
	}
	w.create(applied.ID, noInput)
}

func TestPlansAreSharedAndForgotten(t *testing.T) {
	w := newWorld(t)
	w.plans.compiled = plan.NewCache(plan.Limits{}, 3*len(definition("flow-a", "1.0.0")))
	var revisions []int64
	for i := range 6 {
		w.create(w.apply(definition("flow-"+string(rune('a'+i)), "1.0.0")).ID, noInput)
		revisions = append(revisions, w.engine.starts[i].Row.Revision)
	}
	if n, _ := w.plans.compiled.Kept(); n != 3 {
		t.Errorf("%d plans are kept, want 3", n)
	}
	for _, no := range revisions { // forgotten ones are compiled again
		p, err := w.plans.Plan(t.Context(), no)
		if err != nil || p == nil {
			t.Fatalf("plan of revision %d: %v", no, err)
		}
		again, err := w.plans.Plan(t.Context(), no)
		if err != nil || again != p {
			t.Errorf("revision %d is compiled twice, %v", no, err)
		}
	}
	if _, err := w.plans.Plan(t.Context(), 12345); err == nil {
		t.Error("there is a plan of a revision that does not exist")
	}
	// Deleted and applied again, the content is the same and so is the plan.
	last, err := w.plans.Plan(t.Context(), revisions[5])
	if err != nil {
		t.Fatal(err)
	}
	page, err := w.ListWorkflows(t.Context(), w.p, ListWorkflows{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.DeleteWorkflow(t.Context(), w.p, page.Data[0].ID); err != nil {
		t.Fatal(err)
	}
	w.create(w.apply(definition("flow-f", "1.0.0")).ID, noInput)
	if again := w.engine.starts[6]; again.Plan != last || again.Row.Revision == revisions[5] {
		t.Error("equal contents of two revisions have two plans")
	}
}

// A definition that may not be applied any more, because a setting changed, still loads.
func TestStoredPlansLoadWhateverIsAllowedNow(t *testing.T) {
	w := newWorld(t)
	source := []byte("document: {dsl: '1.0.3', namespace: test, name: sh, version: '1.0.0'}\ndo:\n  - a:\n      run:\n        shell:\n          command: 'true'\n")
	allowing := NewPlans(w.rows, plan.Options{Run: []string{"shell"}})
	if c, err := w.compile(t.Context(), source, true); err != nil || c.plan != nil || c.problems.Errors()[0].Code != plan.CodeRunNotAllowed {
		t.Fatalf("a process that is not allowed is compiled: %+v, %v", c, err)
	}
	w.Service.plans = allowing
	flow := w.apply(source)
	w.Service.plans = w.plans
	if e := w.create(flow.ID, noInput); e.Status != chargehand.Initial {
		t.Errorf("got %+v", e)
	}
}

func TestFieldErrorsAreBounded(t *testing.T) {
	problems := make(dsl.Problems, 250)
	if got := fieldErrors(problems); len(got) != 100 {
		t.Errorf("%d problems are shown, want 100", len(got))
	}
	hinted := fieldErrors(dsl.Problems{{Detail: "This is wrong.", Hint: "Do that."}})
	if hinted[0].Detail != "This is wrong. Do that." {
		t.Errorf("detail is %q", hinted[0].Detail)
	}
}

func TestFirstAccountIsMadeOnce(t *testing.T) {
	w := newWorld(t)
	again, err := FirstAccount(t.Context(), w.rows, epoch.Add(time.Hour))
	if err != nil || again != w.account {
		t.Errorf("got %+v, %v, want %+v", again, err, w.account)
	}
	var all []store.Account
	if err := w.rows.View(t.Context(), func(r *store.Reader) (err error) {
		all, err = r.Accounts()
		return err
	}); err != nil || len(all) != 1 {
		t.Errorf("accounts are %+v, %v", all, err)
	}
}

// TestFindWorkflows by namespace, name and text, page by page.
func TestFindWorkflows(t *testing.T) {
	w := newWorld(t)
	titled := func(namespace, name, title string) *AppliedWorkflow {
		return w.apply([]byte("document: {dsl: 1.0.3, namespace: " + namespace + ", name: " + name + ", version: 1.0.0, title: '" + title + "'}\ndo:\n- a: {set: {a: 1}}\n"))
	}
	order := titled("shop", "order", "Bücher bestellen")
	titled("shop", "refund", "Pay back")
	titled("back-office", "order", "")
	titled("back-office", "report", "100% of it_all")
	find := func(p *Principal, q ListWorkflows) (names []string) {
		t.Helper()
		for {
			page, err := w.ListWorkflows(t.Context(), p, q)
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range page.Data {
				names = append(names, found.Namespace+"/"+found.Name)
			}
			if q.Before = page.Cursor; q.Before.IsZero() {
				return names
			}
		}
	}
	limited := w.principal(chargehand.Live, PresetAll, order.ID)
	for _, c := range []struct {
		p    *Principal
		q    ListWorkflows
		want []string
	}{
		{w.p, ListWorkflows{Namespace: "shop"}, []string{"shop/refund", "shop/order"}},
		{w.p, ListWorkflows{Namespace: "nosuch"}, nil},
		{w.p, ListWorkflows{Name: "order"}, []string{"back-office/order", "shop/order"}},
		{w.p, ListWorkflows{Namespace: "shop", Name: "order"}, []string{"shop/order"}},
		{w.p, ListWorkflows{Text: "BACK"}, []string{"back-office/report", "back-office/order", "shop/refund"}},
		{w.p, ListWorkflows{Text: "BÜCHER"}, []string{"shop/order"}},
		{w.p, ListWorkflows{Text: "shop/o"}, []string{"shop/order"}},
		{w.p, ListWorkflows{Text: "0% of it_"}, []string{"back-office/report"}},
		{w.p, ListWorkflows{Text: "%"}, []string{"back-office/report"}},
		{w.p, ListWorkflows{Text: "back", Namespace: "shop"}, []string{"shop/refund"}},
		{limited, ListWorkflows{Name: "order"}, []string{"shop/order"}},
		{limited, ListWorkflows{Namespace: "back-office"}, nil},
		{limited, ListWorkflows{Text: "o"}, []string{"shop/order"}},
		{w.stranger(), ListWorkflows{Name: "order"}, nil},
	} {
		for _, c.q.Limit = range []int{1, 2, 100} {
			if got := find(c.p, c.q); !slices.Equal(got, c.want) {
				t.Errorf("%+v: %v, want %v", c.q, got, c.want)
			}
		}
	}
	if id, err := w.WorkflowNamed(t.Context(), w.p, "shop", "order"); err != nil || id != order.ID {
		t.Errorf("by name: %v, %v", id, err)
	}
	for name, p := range map[string]*Principal{"refund": limited, "order": w.stranger(), "nosuch": w.p} {
		_, err := w.WorkflowNamed(t.Context(), p, "shop", name)
		wantCode(t, err, chargehand.CodeWorkflowNotFound)
	}
}
