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

func (fx *fixture) workflow(p *Principal, id chargehand.WorkflowID) *WorkflowDetail {
	fx.t.Helper()
	got, err := fx.GetWorkflow(fx.t.Context(), p, id)
	if err != nil {
		fx.t.Fatal(err)
	}
	return got
}

// TestOutline: the form for the input has the order of the definition, also for those who do not see that.
func TestOutline(t *testing.T) {
	fx := newFixture(t)
	source := strings.Replace(string(definition("ask", "1.0.0", wantsText)), wantsText,
		"input: {schema: {document: {type: object, properties: {zip: {type: integer}, city: {type: string}, area: {type: string}}}}}\n", 1)
	w := fx.apply([]byte(source))
	fields, err := fx.Outline(t.Context(), fx.p, w.ID)
	if err != nil || len(fields) != 3 || fields[0].Pointer != "/zip" || fields[1].Pointer != "/city" || fields[2].Pointer != "/area" {
		t.Errorf("fields %+v, %v", fields, err)
	}
	bare := fx.apply([]byte(strings.Replace(string(definition("bare", "1.0.0", wantsText)), wantsText, "", 1)))
	if fields, err := fx.Outline(t.Context(), fx.p, bare.ID); fields != nil || err != nil {
		t.Errorf("without a schema: %v, %v", fields, err)
	}
}

func TestPublishMovesThePointer(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("greet", "1.0.0"))
	fx.apply(definition("greet", "2.0.0"))
	fx.applyAs(fx.p, definition("greet", "3.0.0"), true)
	for _, version := range []string{"1.0.0", "2.0.0", "3.0.0", "1.0.0"} {
		fx.pass(time.Minute)
		got, _, err := fx.PublishVersion(t.Context(), fx.p, PublishVersion{Workflow: flow.ID, Version: version})
		if err != nil || !got.Published || got.Draft || got.Version != version {
			t.Fatalf("publishing %s answers %+v, %v", version, got, err)
		}
		if e := fx.create(flow.ID, noInput); e.WorkflowVersion != version {
			t.Errorf("live runs %s after publishing %s", e.WorkflowVersion, version)
		}
		if detail := fx.workflow(fx.p, flow.ID); !detail.UpdatedAt.Equal(fx.now()) || detail.PublishedVersion != version {
			t.Errorf("the workflow is %+v", detail.Workflow)
		}
	}
	// The draft that was published is none any more, so test follows the pointer again.
	if e := fx.createAs(fx.test, flow.ID, noInput); e.WorkflowVersion != "1.0.0" {
		t.Errorf("test runs %s", e.WorkflowVersion)
	}
	before := fx.workflow(fx.p, flow.ID).UpdatedAt
	fx.pass(time.Minute)
	if _, _, err := fx.PublishVersion(t.Context(), fx.p, PublishVersion{Workflow: flow.ID, Version: "1.0.0"}); err != nil || !fx.workflow(fx.p, flow.ID).UpdatedAt.Equal(before) {
		t.Errorf("publishing what is published: %v, or it changed the workflow", err)
	}
	_, _, err := fx.PublishVersion(t.Context(), fx.p, PublishVersion{Workflow: flow.ID, Version: "9.0.0"})
	wantCode(t, err, chargehand.CodeVersionNotFound)
	_, _, err = fx.PublishVersion(t.Context(), fx.stranger(), PublishVersion{Workflow: flow.ID, Version: "1.0.0"})
	wantCode(t, err, chargehand.CodeWorkflowNotFound)
}

// Otherwise a key of live could never publish what it has applied as a draft.
func TestPublishFirstDraftInLive(t *testing.T) {
	fx := newFixture(t)
	flow := fx.applyAs(fx.p, definition("greet", "1.0.0"), true)
	if _, _, err := fx.PublishVersion(t.Context(), fx.p, PublishVersion{Workflow: flow.ID, Version: "1.0.0"}); err != nil {
		t.Fatal(err)
	}
	fx.create(flow.ID, noInput)
}

func TestVersions(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("greet", "1.0.0"))
	fx.pass(time.Minute)
	fx.apply(definition("greet", "2.0.0"))
	fx.pass(time.Minute)
	fx.apply(definition("greet", "1.0.0", wantsText))
	fx.pass(time.Minute)
	fx.applyAs(fx.p, definition("greet", "3.0.0"), true)
	var seen []Version
	for after := (Cursor{}); ; {
		page, err := fx.ListVersions(t.Context(), fx.p, flow.ID, 1, after)
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
	got, err := fx.GetVersion(t.Context(), fx.p, flow.ID, "1.0.0", 0)
	if err != nil || string(got.Source) != string(definition("greet", "1.0.0", wantsText)) || got.SourceType != mediaYAML || len(got.Definition) == 0 {
		t.Errorf("got %+v, %v", got, err)
	}
	if one.PublishedRevision != 2 || seen[0].PublishedRevision != 0 {
		t.Errorf("published revisions %d and %d", one.PublishedRevision, seen[0].PublishedRevision)
	}
	first, err := fx.GetVersion(t.Context(), fx.p, flow.ID, "1.0.0", 1)
	if err != nil || first.Revision != 1 || string(first.Source) == string(got.Source) || first.PublishedRevision != 2 {
		t.Errorf("the first revision: %+v, %v", first, err)
	}
	_, err = fx.GetVersion(t.Context(), fx.p, flow.ID, "1.0.0", 3)
	if shown := wantCode(t, err, chargehand.CodeVersionNotFound); !strings.Contains(shown.Detail, "no revision 3") {
		t.Error(shown.Detail)
	}
	_, err = fx.GetVersion(t.Context(), fx.p, flow.ID, "4.0.0", 0)
	wantCode(t, err, chargehand.CodeVersionNotFound)
	_, err = fx.GetVersion(t.Context(), fx.stranger(), flow.ID, "1.0.0", 0)
	wantCode(t, err, chargehand.CodeWorkflowNotFound)
}

func TestValidateWorkflow(t *testing.T) {
	fx := newFixture(t, func(c *Config) { c.Limits.DefinitionBytes = 400 })
	for source, valid := range map[string]bool{string(definition("x", "1.0.0")): true, "a: 1": false, "a: [": false, "": false} {
		got, err := fx.ValidateWorkflow(t.Context(), fx.p, []byte(source))
		if err != nil || got.Valid != valid || (len(got.Errors) == 0) != valid {
			t.Errorf("%q: %+v, %v", source, got, err)
		}
	}
	got, err := fx.ValidateWorkflow(t.Context(), fx.p, append(definition("x", "1.0.0"), "extra: 1\n"...))
	if err != nil || !got.Valid || len(got.Warnings) != 1 || got.Warnings[0].Line == 0 {
		t.Errorf("a definition with an unknown key gives %+v, %v", got, err)
	}
	large := append(definition("x", "1.0.0"), "# "+strings.Repeat("x", 400)...)
	_, err = fx.ValidateWorkflow(t.Context(), fx.p, large)
	wantCode(t, err, chargehand.CodePayloadTooLarge)
	_, _, err = fx.ApplyWorkflow(t.Context(), fx.p, ApplyWorkflow{Definition: large, MediaType: mediaYAML})
	wantCode(t, err, chargehand.CodePayloadTooLarge)
	page, err := fx.ListWorkflows(t.Context(), fx.test, ListWorkflows{Limit: 10})
	if err != nil || len(page.Data) != 0 {
		t.Errorf("validation stored %+v, %v", page, err)
	}
}

func TestDeleteWorkflow(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("greet", "1.0.0"))
	e := fx.create(flow.ID, noInput)
	wantCode(t, fx.DeleteWorkflow(t.Context(), fx.stranger(), flow.ID), chargehand.CodeWorkflowNotFound)
	if err := fx.DeleteWorkflow(t.Context(), fx.p, flow.ID); err != nil {
		t.Fatal(err)
	}
	wantCode(t, fx.DeleteWorkflow(t.Context(), fx.p, flow.ID), chargehand.CodeWorkflowNotFound)
	_, err := fx.GetWorkflow(t.Context(), fx.p, flow.ID)
	wantCode(t, err, chargehand.CodeWorkflowNotFound)
	_, _, err = fx.CreateExecution(t.Context(), fx.p, CreateExecution{Workflow: flow.ID})
	wantCode(t, err, chargehand.CodeWorkflowNotFound)
	_, _, err = fx.CreateBatch(t.Context(), fx.p, CreateBatch{Workflow: flow.ID})
	wantCode(t, err, chargehand.CodeWorkflowNotFound)
	page, err := fx.ListExecutions(t.Context(), fx.p, ListExecutions{Workflow: flow.ID, Limit: 10})
	if err != nil || len(page.Data) != 1 || page.Data[0].ID != e.ID {
		t.Errorf("executions of a deleted workflow are %+v, %v, want them readable", page, err)
	}
	again := fx.apply(definition("greet", "1.0.0"))
	if !again.Created || again.ID == flow.ID || again.Revision != 1 {
		t.Errorf("applied again it is %+v, want a new id", again)
	}
}

// What another process changes counts within a second.
func TestChangesOfOtherProcessesCountWithinASecond(t *testing.T) {
	fx := newFixture(t)
	flow := fx.apply(definition("greet", "1.0.0"))
	fx.create(flow.ID, noInput)
	other := New(Config{
		Store: fx.rows, Engine: fx.engine, Plans: NewPlans(fx.rows, plan.Options{}), Blobs: fx.blobs, Now: fx.now,
		Pepper: make([]byte, 32), LinkKey: make([]byte, 32), Sealer: fx.sealer,
	})
	if err := other.DeleteWorkflow(t.Context(), fx.p, flow.ID); err != nil {
		t.Fatal(err)
	}
	fx.pass(time.Second)
	_, _, err := fx.CreateExecution(t.Context(), fx.p, CreateExecution{Workflow: flow.ID})
	wantCode(t, err, chargehand.CodeWorkflowNotFound)
}

// Paging: newest first, the cursor is created_at, the next page is strictly older, null as
// soon as there is no next row.
func TestListWorkflows(t *testing.T) {
	fx := newFixture(t)
	var made []chargehand.WorkflowID
	for i := range 5 { // all in the same millisecond
		made = append(made, fx.apply(definition("flow-"+string(rune('a'+i)), "1.0.0")).ID)
	}
	for _, limit := range []int{1, 2, 4, 5, 100} {
		var seen []Workflow
		pages := 0
		for before := (time.Time{}); ; {
			page, err := fx.ListWorkflows(t.Context(), fx.p, ListWorkflows{Limit: limit, Before: before})
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
			page, err := fx.ListWorkflows(t.Context(), fx.p, ListWorkflows{Limit: 10, Before: before})
			if err != nil || len(page.Data) != 0 || !page.Cursor.IsZero() {
				t.Errorf("before %v there are %+v, %v", before, page, err)
			}
		}
	})
	t.Run("between two milliseconds", func(t *testing.T) {
		page, err := fx.ListWorkflows(t.Context(), fx.p, ListWorkflows{Limit: 10, Before: epoch.Add(time.Microsecond)})
		if err != nil || len(page.Data) != 1 {
			t.Errorf("there are %+v, %v", page, err)
		}
	})
	t.Run("of a key with a list", func(t *testing.T) {
		p := fx.principal(chargehand.Live, PresetAll, made[1], newID[chargehand.WorkflowID](3), made[3])
		page, err := fx.ListWorkflows(t.Context(), p, ListWorkflows{Limit: 1})
		if err != nil || len(page.Data) != 1 || page.Data[0].ID != made[3] || page.Cursor.IsZero() {
			t.Fatalf("first page is %+v, %v", page, err)
		}
		page, err = fx.ListWorkflows(t.Context(), p, ListWorkflows{Limit: 1, Before: page.Cursor})
		if err != nil || len(page.Data) != 1 || page.Data[0].ID != made[1] || !page.Cursor.IsZero() {
			t.Fatalf("second page is %+v, %v", page, err)
		}
	})
	t.Run("of another account", func(t *testing.T) {
		page, err := fx.ListWorkflows(t.Context(), fx.stranger(), ListWorkflows{Limit: 10})
		if err != nil || len(page.Data) != 0 {
			t.Errorf("a stranger sees %+v, %v", page, err)
		}
	})
}

func TestPlansAreSharedAndForgotten(t *testing.T) {
	fx := newFixture(t)
	fx.plans.compiled = plan.NewCache(plan.Limits{}, 3*len(definition("flow-a", "1.0.0")))
	var revisions []int64
	for i := range 6 {
		fx.create(fx.apply(definition("flow-"+string(rune('a'+i)), "1.0.0")).ID, noInput)
		revisions = append(revisions, fx.engine.starts[i].Row.Revision)
	}
	if n, _ := fx.plans.compiled.Kept(); n != 3 {
		t.Errorf("%d plans are kept, want 3", n)
	}
	for _, no := range revisions { // forgotten ones are compiled again
		p, err := fx.plans.Plan(t.Context(), no)
		if err != nil || p == nil {
			t.Fatalf("plan of revision %d: %v", no, err)
		}
		again, err := fx.plans.Plan(t.Context(), no)
		if err != nil || again != p {
			t.Errorf("revision %d is compiled twice, %v", no, err)
		}
	}
	if _, err := fx.plans.Plan(t.Context(), 12345); err == nil {
		t.Error("there is a plan of a revision that does not exist")
	}
	// Deleted and applied again, the content is the same and so is the plan.
	last, err := fx.plans.Plan(t.Context(), revisions[5])
	if err != nil {
		t.Fatal(err)
	}
	page, err := fx.ListWorkflows(t.Context(), fx.p, ListWorkflows{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := fx.DeleteWorkflow(t.Context(), fx.p, page.Data[0].ID); err != nil {
		t.Fatal(err)
	}
	fx.create(fx.apply(definition("flow-f", "1.0.0")).ID, noInput)
	if again := fx.engine.starts[6]; again.Plan != last || again.Row.Revision == revisions[5] {
		t.Error("equal contents of two revisions have two plans")
	}
}

// A definition that may not be applied any more, because a setting changed, still loads.
func TestStoredPlansLoadWhateverIsAllowedNow(t *testing.T) {
	fx := newFixture(t)
	source := []byte("document: {dsl: '1.0.3', namespace: test, name: sh, version: '1.0.0'}\ndo:\n  - a:\n      run:\n        shell:\n          command: 'true'\n")
	allowing := NewPlans(fx.rows, plan.Options{Run: []string{"shell"}})
	if c, err := fx.compile(t.Context(), source, true); err != nil || c.plan != nil || c.problems.Errors()[0].Code != plan.CodeRunNotAllowed {
		t.Fatalf("a process that is not allowed is compiled: %+v, %v", c, err)
	}
	fx.Service.plans = allowing
	flow := fx.apply(source)
	fx.Service.plans = fx.plans
	if e := fx.create(flow.ID, noInput); e.Status != chargehand.Initial {
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
	fx := newFixture(t)
	again, err := FirstAccount(t.Context(), fx.rows, epoch.Add(time.Hour))
	if err != nil || again != fx.account {
		t.Errorf("got %+v, %v, want %+v", again, err, fx.account)
	}
	var all []store.Account
	if err := fx.rows.View(t.Context(), func(r *store.Reader) (err error) {
		all, err = r.Accounts()
		return err
	}); err != nil || len(all) != 1 {
		t.Errorf("accounts are %+v, %v", all, err)
	}
}

// TestFindWorkflows by namespace, name and text, page by page.
func TestFindWorkflows(t *testing.T) {
	fx := newFixture(t)
	titled := func(namespace, name, title string) *AppliedWorkflow {
		return fx.apply([]byte("document: {dsl: 1.0.3, namespace: " + namespace + ", name: " + name + ", version: 1.0.0, title: '" + title + "'}\ndo:\n- a: {set: {a: 1}}\n"))
	}
	order := titled("shop", "order", "Bücher bestellen")
	titled("shop", "refund", "Pay back")
	titled("back-office", "order", "")
	titled("back-office", "report", "100% of it_all")
	find := func(p *Principal, q ListWorkflows) (names []string) {
		t.Helper()
		for {
			page, err := fx.ListWorkflows(t.Context(), p, q)
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
	limited := fx.principal(chargehand.Live, PresetAll, order.ID)
	for _, c := range []struct {
		p    *Principal
		q    ListWorkflows
		want []string
	}{
		{fx.p, ListWorkflows{Namespace: "shop"}, []string{"shop/refund", "shop/order"}},
		{fx.p, ListWorkflows{Namespace: "nosuch"}, nil},
		{fx.p, ListWorkflows{Name: "order"}, []string{"back-office/order", "shop/order"}},
		{fx.p, ListWorkflows{Namespace: "shop", Name: "order"}, []string{"shop/order"}},
		{fx.p, ListWorkflows{Text: "BACK"}, []string{"back-office/report", "back-office/order", "shop/refund"}},
		{fx.p, ListWorkflows{Text: "BÜCHER"}, []string{"shop/order"}},
		{fx.p, ListWorkflows{Text: "shop/o"}, []string{"shop/order"}},
		{fx.p, ListWorkflows{Text: "0% of it_"}, []string{"back-office/report"}},
		{fx.p, ListWorkflows{Text: "%"}, []string{"back-office/report"}},
		{fx.p, ListWorkflows{Text: "back", Namespace: "shop"}, []string{"shop/refund"}},
		{limited, ListWorkflows{Name: "order"}, []string{"shop/order"}},
		{limited, ListWorkflows{Namespace: "back-office"}, nil},
		{limited, ListWorkflows{Text: "o"}, []string{"shop/order"}},
		{fx.stranger(), ListWorkflows{Name: "order"}, nil},
	} {
		for _, c.q.Limit = range []int{1, 2, 100} {
			if got := find(c.p, c.q); !slices.Equal(got, c.want) {
				t.Errorf("%+v: %v, want %v", c.q, got, c.want)
			}
		}
	}
	if id, err := fx.WorkflowNamed(t.Context(), fx.p, "shop", "order"); err != nil || id != order.ID {
		t.Errorf("by name: %v, %v", id, err)
	}
	for name, p := range map[string]*Principal{"refund": limited, "order": fx.stranger(), "nosuch": fx.p} {
		_, err := fx.WorkflowNamed(t.Context(), p, "shop", name)
		wantCode(t, err, chargehand.CodeWorkflowNotFound)
	}
}
